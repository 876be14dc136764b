/** `plan list | show | pause | resume | retry | amend | discard`: plans, in flight and over. */
import { planAborted, planAmended, planPaused } from "@reyn/plan";
import { tokensOf } from "@reyn/plan/internal";
import type { PlanEntry, Runtime, StepOfPlan, StepWithChildren } from "@reyn/runtime";
import { z } from "zod";
import { OperatorError } from "../errors.ts";
import { contextLine, planLines, stepLines, tokensText } from "../lines/plan.ts";
import { flag, option, type Param, word } from "../param.ts";
import { list, planShape, planStepShape, proposedStepShape, resumePreviewShape, seq, texts } from "../shapes.ts";
import { oneLine } from "../text.ts";
import { readVerb, workVerb, writeVerb } from "../verb.ts";

const id = word("id", "the id of a plan, as plan list has them", z.string());

export const planList = readVerb({
	name: "plan list",
	summary: "plans that are in flight, and with --all those that are over or rewound",
	params: { all: flag("those that are over too: finished, failed, discarded and rewound", z.boolean().default(false)) },
	example: "--all",
	result: list(planShape),
	async read(runtime, { all }) {
		const found = all ? [...runtime.plans(), ...(await runtime.rewoundPlans())] : runtime.restored().plans;
		return Promise.all(found.map((each) => withCost(runtime, each)));
	},
	lines: (found, _say, { all }) => {
		if (found.length > 0) return planLines(found);
		return [all ? "there is no plan" : "no plan is in flight"];
	},
});

/** With all that was paid for it, of steps that are not over too. */
export const withCost = async (runtime: Runtime, plan: PlanEntry): Promise<z.infer<typeof planShape>> => ({
	...plan,
	cost: (await runtime.spentOn(plan.scope, `plan/${plan.plan}`)).cost,
});

export const planShow = readVerb({
	name: "plan show",
	summary: "the steps of a plan: what each waits for, found and cost, and what it would cost again",
	params: { id, step: word("step", "show what this step is shown, and all that it has found", z.string().optional()) },
	example: "p12",
	result: planShape.extend({
		steps: list(planStepShape),
		/** Of the step that was named. */ found: z.string().exactOptional(),
	}),
	async read(runtime, { id, step }) {
		if (runtime.plans().every(({ plan }) => plan !== id)) {
			// One that a move has left is shown as the list has it; where none is, what follows says which there are.
			const left = (await runtime.rewoundPlans()).findLast(({ plan }) => plan === id);
			if (left) return { ...(await withCost(runtime, left)), steps: [] };
		}
		const steps = await runtime.planSteps(id);
		const found = runtime.plans().find(({ plan }) => plan === id);
		// A rewind may have taken it away while they were read.
		if (!found) throw new OperatorError("OPERATOR_NOT_FOUND", `plan ${id} is not on this line of history any more`);
		return {
			...(await withCost(runtime, found)),
			steps: steps.map((each) => stepOf(each, steps)),
			...(step !== undefined && { found: await runtime.planResult(id, step) }),
		};
	},
	lines({ steps, found, ...plan }, say, { step }) {
		if (plan.status === "rewound")
			return [
				...planLines([plan]),
				`bring it back with: ${say`undo`}, if that was the last move, or: ${say`checkout ${String((plan.leftBy ?? 1) - 1)}`}`,
			];
		const named = steps.find(({ id }) => id === step);
		if (named && found !== undefined) return [...stepLines(named), contextLine(named), "", ...found.split("\n")];
		const lost = "its steps are lost: the file that had them is gone or changed";
		return [
			...planLines([plan], `, ${spentOn(plan, steps)}${extendedText(plan)}`),
			...(steps.length > 0 ? steps.flatMap(stepLines) : [lost]),
		];
	},
});

/** How often more tokens were given to it. */
const extendedText = ({ extended: times, allTokens }: Pick<PlanEntry, "extended" | "allTokens">): string =>
	times === undefined
		? ""
		: `, ${tokensText(allTokens)} in all tries (limit extended ${times === 1 ? "once" : `${times} times`})`;

/** What the last tries of its steps have used, those that failed too. */
function spentOn({ tokens }: Pick<PlanEntry, "tokens">, steps: readonly z.infer<typeof planStepShape>[]): string {
	if (steps.length === 0) return `at least ${tokensText(tokens)}`;
	const isAll = steps.every(
		({ status, attempt, tokens }) => attempt === 0 && (tokens !== undefined || status === "pending"),
	);
	const known = steps.reduce((sum, { tokens, atLeast }) => sum + (tokens ?? atLeast ?? 0), 0);
	return `${isAll ? "" : "at least "}${tokensText(known)}`;
}

/** A step without the whole of what it has found, which is a text of any size. */
function stepOf(step: StepWithChildren, all: readonly StepOfPlan[]): z.infer<typeof planStepShape> {
	const { id, description, tools, needs, again, attempt, beginning, model, max_tokens, context, children } = step;
	const status = step.isInterrupted ? "interrupted_with_child" : step.status;
	const tokens = tokensOf(step);
	const againTokens = sumOf(all.filter((each) => again.includes(each.id)).map(tokensOf));
	return {
		...{ id, description, tools: [...tools], needs, again, status, attempt },
		...(model !== undefined && { model }),
		...(max_tokens !== undefined && { max_tokens }),
		...(context && { context: { parts: context.parts, cut: [...context.cut] } }),
		...("reason" in step && { reason: step.reason }),
		...(beginning !== undefined && { beginning }),
		...(tokens !== undefined && { tokens }),
		...(againTokens !== undefined && { againTokens }),
		...(step.atLeast !== undefined && { atLeast: step.atLeast }),
		...("took" in step && step.took !== undefined && { took: step.took }),
		...(children.length > 0 && { children: [...children] }),
	};
}

/** Undefined: one of them is unknown. */
const sumOf = (all: readonly (number | undefined)[]): number | undefined =>
	all.reduce<number | undefined>((sum, each) => (sum === undefined || each === undefined ? undefined : sum + each), 0);

export const planPause = writeVerb({
	name: "plan pause",
	summary: "stop a plan, which waits until it is resumed; what it has done is kept, and undo takes it back",
	params: { id },
	example: "p12",
	isUnsigned: true,
	seen: z.object({ plan: z.string(), tip: seq, paused: z.literal(true).exactOptional() }),
	done: z.object({ plan: z.string(), paused: z.literal(true) }),
	async look(runtime, { id: plan }) {
		const { tip } = runtime.wal;
		const { status } = runtime.findPlan(plan);
		return { plan, tip, ...(status === "paused" && { paused: true as const }) };
	},
	shown: ({ plan }) => [`pause plan ${plan}`],
	nothing: ({ plan, paused }, say) =>
		paused ? [`plan ${plan} is paused already; go on with: ${say`plan resume ${plan}`}`] : undefined,
	async act(runtime, { plan, tip: expect }) {
		await runtime.pausePlan(plan, { expect });
		return { plan, paused: true as const };
	},
	isDoneBy: (record, { plan }) => planPaused.is(record) && record.data.plan === plan && record.data.by !== undefined,
	lines: ({ plan }, say) => [`plan ${plan} is paused; go on with: ${say`plan resume ${plan}`}`],
});

const tip = option(
	"seq",
	"only while the plan is as --dry-run has shown it at this tip",
	z.coerce.number().pipe(seq).optional(),
);
const bound = (expect: number | undefined): { readonly expect?: number } => (expect === undefined ? {} : { expect });

const from = option("step", "run this step and all that depends on it again", z.string().optional());

/** What would run, what stays, and what it took last. @throws PlanError `PLAN_UNKNOWN`, `PLAN_UNKNOWN_STEP`, `PLAN_LOST` */
export async function priceOf(
	runtime: Runtime,
	plan: string,
	from: string | undefined,
): Promise<z.infer<typeof resumePreviewShape>> {
	// First: what comes while it is looked up was not seen.
	const { tip } = runtime.wal;
	const { runs, stays } = await runtime.previewResume(plan, from);
	const tokens = sumOf(runs.map((each) => each.tokens));
	return { plan, tip, runs: [...runs], stays: [...stays], ...(tokens !== undefined && { tokens }) };
}

export const priceLines = ({ runs, stays, tokens }: z.infer<typeof resumePreviewShape>): readonly string[] => [
	`would run: ${runs.map((each) => `${each.id} (${tokensText(each.tokens)})`).join(", ") || "nothing: only its answer is told"}`,
	...(stays.length > 0 ? [`stays, and is not paid again: ${stays.join(", ")}`] : []),
	`price, if they take what they took last: ${tokensText(tokens)}`,
];

export const planResume = workVerb({
	name: "plan resume",
	summary: "go on with a plan that waits, or run a step and all that depends on it again",
	params: { id, from, tip },
	example: "p12 --from s3",
	isAlone: true,
	begun: z.object({ plan: z.string(), again: texts }),
	preview: readVerb({
		name: "plan resume",
		summary: "what would run, what stays, and what it took last",
		params: { id, from },
		example: "p12 --from s3",
		result: resumePreviewShape,
		read: (runtime, { id, from }) => priceOf(runtime, id, from),
		lines: priceLines,
	}),
	// Without a step one whose steps are lost is given up, and says so.
	check: async (runtime, { id: plan, from }) =>
		void (await (from === undefined ? runtime.findPlan(plan) : runtime.previewResume(plan, from))),
	begin: async (runtime, { id: plan, from, tip: expect }) => ({
		plan,
		again: await runtime.resumePlan(plan, from, bound(expect)),
	}),
	lines: ({ plan, again }, say) => [
		again.length > 0
			? `runs again: ${again.join(", ")}`
			: `plan ${plan} goes on; stop it with: ${say`plan pause ${plan}`}`,
	],
});

const step = word("step", "the id of the step, as plan show has them", z.string());

export const planRetry = workVerb({
	name: "plan retry",
	summary: "run a step that has failed again, and all that depends on it",
	params: { id, step, tip },
	example: "p12 s3",
	isAlone: true,
	begun: z.object({ plan: z.string(), again: texts }),
	preview: readVerb({
		name: "plan retry",
		summary: "what would run, what stays, and what it took last",
		params: { id, step },
		example: "p12 s3",
		result: resumePreviewShape,
		async read(runtime, { id, step }) {
			await assertFailed(runtime, id, step);
			return priceOf(runtime, id, step);
		},
		lines: priceLines,
	}),
	check: async (runtime, { id, step }) => assertFailed(runtime, id, step),
	async begin(runtime, { id: plan, step, tip: expect }) {
		await assertFailed(runtime, plan, step);
		return { plan, again: await runtime.resumePlan(plan, step, bound(expect)) };
	},
	lines: ({ again }) => [`runs again: ${again.join(", ")}`],
});

/** @throws PlanError `PLAN_UNKNOWN`, `PLAN_UNKNOWN_STEP`, `PLAN_LOST`; OperatorError `OPERATOR_ARGS` */
async function assertFailed(runtime: Runtime, plan: string, step: string): Promise<void> {
	await runtime.previewResume(plan, step);
	const all = await runtime.planSteps(plan);
	const status = all.find(({ id }) => id === step)?.status;
	if (status === "failed") return;
	const failed = all.flatMap((each) => (each.status === "failed" ? [each.id] : []));
	const use =
		status === "pending"
			? "it runs when the plan goes on (plan resume)"
			: "what has not failed runs again with plan resume and --from";
	throw new OperatorError(
		"OPERATOR_ARGS",
		`step ${step} of plan ${plan} is ${status}, and has not failed; ${use}. Failed: ${failed.join(", ") || "none"}`,
		{ plan, step, failed },
	);
}

const many = <T>(value: string, help: string, each: z.ZodType<T>): Param<readonly T[]> => ({
	...option(value, help, list(each).default([])),
	isMany: true,
});

/** Typed as JSON. */
const proposed = z.preprocess(
	(given) => {
		try {
			return typeof given === "string" ? JSON.parse(given) : given;
		} catch {
			return given;
		}
	},
	z.record(z.string(), z.json(), {
		error: 'expected a step as JSON, such as {"id":"s4","description":"check it","depends_on":["s1"]}',
	}),
);

const described = z.string().regex(/^[^=]+=[\s\S]+$/, "expected a step and its description: s2=what to do");

export const planAmend = writeVerb({
	name: "plan amend",
	summary: "change, add or drop steps of a plan that have not begun; undo takes it back",
	params: {
		id,
		describe: many("step=text", "what a step is to do instead; may be given several times", described),
		drop: many("step", "leave a step out; may be given several times", z.string()),
		put: many("json", "a step as JSON, new or in place of that id; may be given several times", proposed),
	},
	example: "p12 --describe s2=compare",
	isUnsigned: true,
	seen: z.object({
		plan: z.string(),
		tip: seq,
		put: list(z.record(z.string(), z.json())),
		drop: texts,
		describe: z.record(z.string(), z.string()),
		before: list(proposedStepShape),
		after: list(proposedStepShape),
	}),
	done: z.object({ plan: z.string(), amended: z.literal(true) }),
	async look(runtime, { id: plan, put, drop, describe: texts }) {
		const { tip } = runtime.wal;
		const describe = Object.fromEntries(
			texts.map((text) => [text.slice(0, text.indexOf("=")), text.slice(text.indexOf("=") + 1)]),
		);
		const amendment = { put, drop, describe };
		return { plan, tip, ...amendment, ...(await runtime.previewAmend(plan, amendment)) };
	},
	shown: ({ plan, before, after }) => [
		`amend plan ${plan}: ${before.length} steps now, ${after.length} then`,
		...changesOf(before, after),
	],
	question: ({ plan }) => `amend plan ${plan}?`,
	async act(runtime, { plan, put, drop, describe, tip: expect }) {
		await runtime.amendPlan(plan, { put, drop, describe }, { expect });
		return { plan, amended: true as const };
	},
	isDoneBy: (record, { plan }) => planAmended.is(record) && record.data.plan === plan && record.data.by !== undefined,
	lines: ({ plan }, _say, { before, after }) => [`plan ${plan} is amended`, ...changesOf(before, after)],
});

type Proposed = z.infer<typeof proposedStepShape>;

/** All steps, with a sign for what becomes of each. */
function changesOf(before: readonly Proposed[], after: readonly Proposed[]): readonly string[] {
	const lineOf = (sign: string, { id, description, depends_on: needs }: Proposed): string =>
		`${sign} ${id}  ${needs.length > 0 ? `after ${needs.join(", ")}  ` : ""}${oneLine(description, 70)}`;
	const all = [...before, ...after.filter(({ id }) => before.every((each) => each.id !== id))];
	return all.flatMap((step) => {
		const [was, is] = [before, after].map((each) => each.find(({ id }) => id === step.id));
		if (was && is && JSON.stringify(was) === JSON.stringify(is)) return [lineOf(" ", is)];
		return [...(was ? [lineOf("-", was)] : []), ...(is ? [lineOf("+", is)] : [])];
	});
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
