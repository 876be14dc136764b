/** `plan list | discard | resume`: plans that are in flight. */
import { planAborted } from "@reyn/plan";
import { z } from "zod";
import { option, word } from "../param.ts";
import { list, planShape, seq, texts } from "../shapes.ts";
import { oneLine } from "../text.ts";
import { readVerb, workVerb, writeVerb } from "../verb.ts";

const id = word("id", "the id of a plan in flight, as plan list has them", z.string());

export const planList = readVerb({
	name: "plan list",
	summary: "plans that are in flight",
	params: {},
	example: "",
	result: list(planShape),
	read: async (runtime) => runtime.restored().plans,
	lines: (found) =>
		found.length > 0
			? found.map((each) => `${each.plan}  ${each.status}  ${each.finished}/${each.size}  ${oneLine(each.goal, 70)}`)
			: ["no plan is in flight"],
});

export const planDiscard = writeVerb({
	name: "plan discard",
	summary: "give a plan up; what it has done is kept, and undo takes it up again",
	params: { id },
	example: "p12",
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
