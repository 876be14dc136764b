/** One step: a narrow loop of model and tools until the model has nothing more to ask. */
import {
	askModel,
	callTool,
	failureMessage,
	type Lane,
	type Message,
	type Model,
	type ModelRequest,
	type Tool,
	type ToolCall,
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
): Promise<{ text: string; cost: Cost }> {
	const messages: Message[] = [...request.messages];
	const cost = { calls: 0, inputTokens: 0, outputTokens: 0 };
	for (let turn = 0; turn < maxIterations; turn++) {
		const { text, toolCalls, usage } = await askModel(lane, model, { ...request, messages: [...messages] });
		cost.calls++;
		cost.inputTokens += usage.inputTokens;
		cost.outputTokens += usage.outputTokens;
		if (toolCalls.length === 0) return { text, cost };
		messages.push({ role: "assistant", text, toolCalls });
		for (const call of toolCalls)
			messages.push({ role: "tool", callId: call.id, name: call.name, text: await answer(lane, tools, call) });
	}
	throw new PlanError(
		"PLAN_STEP_ITERATIONS",
		`the step still asked for tools after ${maxIterations} turns; raise plan.step_max_iterations or split the step`,
		{ maxIterations },
	);
}

/** A tool that fails tells the model so: it may know another way. What fails beneath it, the log above all, ends the step. */
async function answer(lane: Lane, tools: readonly Tool[], { name, args }: ToolCall): Promise<string> {
	const tool = tools.find((each) => each.name === name);
	if (!tool)
		return `ERROR: there is no tool "${name}" here; this step has ${tools.map((each) => each.name).join(", ") || "none"}`;
	let failure: unknown;
	const call: Tool["call"] = async (...given) => {
		try {
			return await tool.call(...given);
		} catch (error) {
			failure = error;
			throw error;
		}
	};
	try {
		return await callTool(lane, { ...tool, call }, args);
	} catch (error) {
		lane.signal.throwIfAborted();
		const isRecalled = (error as { code?: unknown }).code === "STEP_FAILED";
		if (error !== failure && !isRecalled) throw error;
		return `ERROR: ${failureMessage(error)}`;
	}
}
