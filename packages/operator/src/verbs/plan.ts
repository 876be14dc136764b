/** `plan list | show | discard | resume`: plans that are in flight. */
import { costInWords } from "@reyn/journal";
import { planAborted } from "@reyn/plan";
import type { Runtime, StepOfPlan } from "@reyn/runtime";
import { z } from "zod";
import { OperatorError } from "../errors.ts";
import { option, word } from "../param.ts";
import { list, planShape, planStepShape, seq, texts } from "../shapes.ts";
import { oneLine } from "../text.ts";
import { readVerb, workVerb, writeVerb } from "../verb.ts";

const id = word("id", "the id of a plan in flight, as plan list has them", z.string());

export const planList = readVerb({
	name: "plan list",
	summary: "plans that are in flight",
	params: {},
	example: "",
	result: list(planShape),
	read: (runtime) => Promise.all(runtime.restored().plans.map((each) => withCost(runtime, each))),
	lines: (found) => (found.length > 0 ? planLines(found) : ["no plan is in flight"]),
});

export const planLines = (all: readonly z.infer<typeof planShape>[]): readonly string[] =>
	all.map(
		({ plan, status, finished, size, cost, goal }) =>
			`${plan}  ${status}  ${finished}/${size}${costText(cost)}  ${oneLine(goal, 70)}`,
	);

type Plan = Omit<z.infer<typeof planShape>, "cost">;

/** With all that was paid for it, of steps that are not over too. */
export const withCost = async (runtime: Runtime, plan: Plan): Promise<z.infer<typeof planShape>> => ({
	...plan,
	cost: (await runtime.spentOn(plan.scope, `plan/${plan.plan}`)).cost,
});

/** Of what costs nothing, nothing. */
const costText = (cost: z.infer<typeof planShape>["cost"]): string =>
	cost.usd === "0" && cost.unknown === 0 ? "" : `, ${costInWords(cost)}`;

export const planShow = readVerb({
	name: "plan show",
	summary: "the steps of a plan in flight: what each waits for, what became of it, and what it cost",
	params: { id },
	example: "p12",
	result: planShape.extend({ steps: list(planStepShape) }),
	async read(runtime, { id }) {
		const steps = await runtime.planSteps(id);
		const found = runtime.restored().plans.find(({ plan }) => plan === id);
		// It may have ended while they were read.
		if (!found) throw new OperatorError("OPERATOR_NOT_FOUND", `plan ${id} is over: its answer is in the conversation`);
		return { ...(await withCost(runtime, found)), steps: steps.map(stepOf) };
	},
	lines: ({ plan, status, goal, finished, size, tokens, cost, steps }) => [
		`${plan}  ${status}  ${finished}/${size}, ${tokens} tokens${costText(cost)}  ${oneLine(goal, 70)}`,
		...(steps.length === 0 ? ["its steps are lost: the file that had them is gone or changed"] : []),
		...steps.map(({ id, status, attempt, needs, description, reason, tokens }) =>
			[
				`${id}  ${status}${attempt > 1 ? `, try ${attempt}` : ""}`,
				...(needs.length > 0 ? [`after ${needs.join(", ")}`] : []),
				...(tokens === undefined ? [] : [`${tokens} tokens`]),
				oneLine(reason === undefined ? description : `${description}: ${reason}`, 70),
			].join("  "),
		),
	],
});

/** A step without what it has found, which is a text of any size. */
function stepOf({
	id,
	description,
	needs,
	again,
	status,
	attempt,
	...step
}: StepOfPlan): z.infer<typeof planStepShape> {
	return {
		...{ id, description, needs, again, status, attempt },
		...("reason" in step && { reason: step.reason }),
		...("cost" in step && step.cost && { tokens: step.cost.inputTokens + step.cost.outputTokens }),
	};
}

export const planDiscard = writeVerb({
	name: "plan discard",
	summary: "give a plan up; what it has done is kept, and undo takes it up again",
	params: { id },
	example: "p12",
	isUnsigned: true,
	seen: z.object({ plan: z.string(), tip: seq }),
	done: z.object({ plan: z.string(), discarded: z.literal(true) }),
	async look(runtime, { id: plan }) {
		runtime.findPlan(plan);
		return { plan, tip: runtime.wal.tip };
	},
	shown: ({ plan }) => [`discard plan ${plan}`],
	async act(runtime, { plan, tip: expect }) {
		await runtime.discardPlan(plan, { expect });
		return { plan, discarded: true as const };
	},
	isDoneBy: (record, { plan }) => planAborted.is(record) && record.data.plan === plan,
	lines: ({ plan }) => [`plan ${plan} is discarded`],
});

export const planResume = workVerb({
	name: "plan resume",
	summary: "go on with a plan that waits, or run a step and all that depends on it again",
	params: { id, from: option("step", "run this step and all that depends on it again", z.string().optional()) },
	example: "p12 --from s3",
	isAlone: true,
	begun: z.object({ plan: z.string(), again: texts }),
	check: async (runtime, { id: plan }) => void runtime.findPlan(plan),
	begin: async (runtime, { id: plan, from }) => ({ plan, again: await runtime.resumePlan(plan, from) }),
	lines: ({ plan, again }) => [again.length > 0 ? `runs again: ${again.join(", ")}` : `plan ${plan} goes on`],
});
