/** One step: a narrow loop of model and tools until the model has nothing more to ask. */
import {
	askModel,
	callTool,
	type Lane,
	type Message,
	type Model,
	type ModelReply,
	type ModelRequest,
	type Tool,
} from "@reyn/journal";
import { PlanError } from "./errors.ts";
import type { Cost } from "./records.ts";

/** @throws PlanError `PLAN_STEP_ITERATIONS` when the model still wants tools after `maxIterations` turns */
export async function runStep(
	lane: Lane,
	model: Model,
	request: ModelRequest,
	tools: readonly Tool[],
	maxIterations: number,
): Promise<{ reply: ModelReply; cost: Cost }> {
	const messages: Message[] = [...request.messages];
	const cost = { calls: 0, inputTokens: 0, outputTokens: 0 };
	for (let turn = 0; turn < maxIterations; turn++) {
		const reply = await askModel(lane, model, { ...request, messages: [...messages] });
		const { text, toolCalls, usage } = reply;
		cost.calls++;
		cost.inputTokens += usage.inputTokens;
		cost.outputTokens += usage.outputTokens;
		if (toolCalls.length === 0) return { reply, cost };
		messages.push({ role: "assistant", text, toolCalls });
		for (const call of toolCalls) {
			const { text: answer } = await callTool(lane, tools, call);
			messages.push({ role: "tool", callId: call.id, name: call.name, text: answer });
		}
	}
	throw new PlanError(
		"PLAN_STEP_ITERATIONS",
		`the step still asked for tools after ${maxIterations} turns; raise plan.step_max_iterations or split the step`,
		{ maxIterations },
	);
}
