/** A projection of plans: which there are in a session, and how far each step of them is. */
import { laneClosed, laneFailed, stepCompleted } from "@reyn/journal";
import { spilledTextSchema } from "@reyn/journal/internal";
import { defineProjection, entryAt, List } from "@reyn/snapshot";
import type { WalRecord } from "@reyn/wal";
import { z } from "zod";
import {
	attemptOf,
	costSchema,
	type LimitKind,
	limitKinds,
	planAborted,
	planAmended,
	planCompleted,
	planLane,
	planPaused,
	planResumed,
	planStarted,
	planStepCompleted,
	planStepExtended,
	planStepFailed,
	planStepStarted,
	planStepsReset,
} from "./records.ts";

/** From the start of an attempt to its end, in milliseconds: with the time in which a person was asked, and between processes. Absent: unknown. */
const took = z.number().nonnegative().optional();

const stepRun = z.discriminatedUnion("status", [
	z.object({
		status: z.literal("pending"),
		attempt: z.int(),
		/** What the attempt before this one cost. Absent: there was none, or it is unknown. */
		cost: costSchema.optional(),
	}),
	z.object({
		status: z.literal("running"),
		attempt: z.int(),
		/** When it began, in milliseconds since 1970. Absent: unknown. */
		at: z.number().optional(),
		/** How often each of its limits was extended. */
		extended: z.partialRecord(z.enum(limitKinds), z.int()).optional(),
		/** How often the failure of its model was forgotten, so that it is asked anew: each follows an extension of `retries`. */
		forgotten: z.int().optional(),
	}),
	z.object({
		status: z.literal("completed"),
		attempt: z.int(),
		/** Absent if the result lies beside the log (`spilled`). */
		result: z.string().optional(),
		spilled: spilledTextSchema.optional(),
		cost: costSchema,
		took,
	}),
	z.object({
		status: z.literal("failed"),
		attempt: z.int(),
		reason: z.string(),
		/** What it had cost until then. Absent: unknown. */
		cost: costSchema.optional(),
		took,
	}),
]);

const planRun = z.object({
	goal: z.string(),
	/** The seq of `plan_started`. */
	started: z.int(),
	/** The seq of the start, or of the last change of a step. An answer that was delivered after it is the answer of these steps. */
	since: z.int(),
	/** The `since` of the answer that these steps had, which may have been told: some of them run again since their results are lost. Absent: they had none. */
	answered: z.int().optional(),
	decomposition: z.string(),
	/** The id of the model that it was begun with; absent: unknown. */
	model: z.string().optional(),
	/** Who waits for its answer, by a name of theirs; absent: nobody. */
	chain: z.string().optional(),
	/** How many steps it has. */
	size: z.int(),
	status: z.enum(["running", "paused", "completed", "aborted"]),
	/** Its last step has failed, so it is completed without an answer of its own. Absent: it has not, or it is unknown. */
	failed: z.literal(true).optional(),
	/** Why it is paused, or was given up; absent: it is not, or nobody has said why. */
	why: z.string().optional(),
	/** A person has paused it; absent: it is not, or that came about by itself. */
	by: z.literal("person").optional(),
	/** The tokens of all answers of models in it and below, of tries of steps before too. Absent: none, or in part unknown, from an older version. */
	tokens: z.int().optional(),
	/** How often its limit of tokens was extended. */
	extended: z.int().optional(),
	/** By step id; a step that never started is absent. */
	steps: z.record(z.string(), stepRun),
	/** The seq and the content of `plan_aborted`, until the plan's lane is closed: its notice is still to be delivered. */
	ended: z.object({ seq: z.int(), reason: z.string(), tell: z.string().optional() }).optional(),
});

const liveRuns = z.record(z.string(), planRun);
const overRun = planRun.extend({ plan: z.string() });

export type StepRun = z.infer<typeof stepRun>;
export type PlanRun = z.infer<typeof planRun>;

/** The plans of a session. See {@link planIn} and {@link plansOf}. */
export interface PlanRuns {
	/** By plan id: those in flight, and those whose end is still to be said. */
	readonly live: Readonly<Record<string, PlanRun>>;
	/** The others, in the order in which they ended. */
	readonly over: List<OverPlan>;
}

type OverPlan = z.infer<typeof overRun>;

/** Every plan of a session and how far it has come. */
export const planRuns = defineProjection({
	name: "plans",
	version: 8,
	schema: z.object({ live: liveRuns }),
	lists: { over: overRun },
	init: () => ({ live: {}, over: List.of<OverPlan>() }),
	handle: (on) => [
		on(planStarted, (state, { plan, goal, steps, decomposition, model, chain }, { seq }) =>
			placed(state, plan, {
				...{ goal, started: seq, since: seq, decomposition, size: steps, status: "running", steps: {} },
				...(model === undefined ? {} : { model }),
				...(chain === undefined ? {} : { chain }),
			}),
		),
		on(planStepStarted, (state, { plan, step, attempt }, record) =>
			withStep(state, plan, step, record, () => ({ status: "running", attempt, at: record.ts })),
		),
		on(planStepCompleted, (state, { plan, step, result, spilled, cost }, record) =>
			withStep(state, plan, step, record, (before) => ({
				status: "completed",
				attempt: before.attempt,
				...(result === undefined ? {} : { result }),
				...(spilled ? { spilled } : {}),
				cost,
				...tookOf(before, record),
			})),
		),
		on(planStepFailed, (state, { plan, step, reason, cost }, record) =>
			withStep(state, plan, step, record, (before) => ({
				...{ status: "failed", attempt: before.attempt, reason },
				...(cost && { cost }),
				...tookOf(before, record),
			})),
		),
		on(planStepExtended, (state, { plan, step, limit }, record) =>
			limit === "plan_tokens"
				? withPlan(state, plan, extended)
				: withStep(state, plan, step, record, (before) =>
						before.status === "running"
							? { ...before, extended: { ...before.extended, [limit]: extensionsOf(before, limit) + 1 } }
							: before,
					),
		),
		on(stepCompleted, (state, { lane, kind, usage }) => {
			const plan = kind === "model" && usage ? planAround(lane, state) : undefined;
			if (plan === undefined || !usage) return state;
			const more = usage.inputTokens + usage.outputTokens;
			return withPlan(state, plan, (run) => ({ ...run, tokens: (run.tokens ?? 0) + more }));
		}),
		on(laneFailed, (state, { lane }, record) => {
			const of = attemptOf(lane);
			const before = of && entryAt(entryAt(state.live, of.plan)?.steps ?? {}, of.step);
			if (before?.status !== "running" || before.attempt !== of?.attempt) return state;
			return withStep(state, of.plan, of.step, record, () => ({ ...before, forgotten: forgottenIn(before) + 1 }));
		}),
		// A new attempt has a lane of its own, so nothing of the old one is recalled.
		on(planStepsReset, (state, { plan, steps, why }, record) =>
			steps.reduce(
				(next, step) => withStep(next, plan, step, record, again),
				why === undefined ? reopened(state, plan) : withPlan(state, plan, unanswered),
			),
		),
		on(planAmended, (state, { plan, steps: size, decomposition }) =>
			withPlan(state, plan, (run) => ({ ...run, size, decomposition })),
		),
		on(planPaused, (state, { plan, why, by }) =>
			withPlan(state, plan, (run) => ({
				...{ ...running(run), status: "paused" },
				...(why === undefined ? {} : { why }),
				...(by && { by }),
			})),
		),
		on(planResumed, (state, { plan }) => withPlan(state, plan, running)),
		on(planCompleted, (state, { plan, failed }) =>
			withPlan(state, plan, (run) => ({ ...running(run), status: "completed", ...(failed && { failed }) })),
		),
		on(planAborted, (state, { plan, reason, tell }, { seq }) =>
			withPlan(state, plan, (run) => ({
				...{ ...running(run), status: "aborted", why: reason },
				ended: { seq, reason, ...(tell === undefined ? {} : { tell }) },
			})),
		),
		on(laneClosed, (state, { lane }) => {
			const plan = lane.slice(planLane("").length);
			if (lane !== planLane(plan) || !entryAt(state.live, plan)?.ended) return state;
			return withPlan(state, plan, ({ ended: _told, ...run }) => run);
		}),
	],
	migrate: (state, from) => (from < 5 ? fromFourth(liveRuns.parse(state)) : state),
	floor: ({ live }) => {
		const needed = Object.values(live).filter(isInFlight);
		return needed.length > 0 ? Math.min(...needed.map(({ started }) => started)) : undefined;
	},
});

/** A plan by its id, in flight or over. */
export const planIn = ({ live, over }: PlanRuns, plan: string): PlanRun | undefined =>
	entryAt(live, plan) ?? over.at(placeOver(over, plan));

/** All plans, oldest first. */
export const plansOf = ({ live, over }: PlanRuns): readonly (readonly [id: string, run: PlanRun])[] =>
	[...Object.entries(live), ...over.toArray().map(({ plan, ...run }) => [plan, run] as const)].sort(
		([, a], [, b]) => a.started - b.started,
	);

/** Is the plan running, or paused until a person resumes it? */
export const isInFlight = ({ status }: PlanRun): boolean => status === "running" || status === "paused";

/** How often a limit of a step was extended in its attempt. */
export const extensionsOf = (step: StepRun, limit: LimitKind): number =>
	step.status === "running" ? (step.extended?.[limit] ?? 0) : 0;

/** How often the failure of its model was forgotten in a step's attempt. */
export const forgottenIn = (step: StepRun): number => (step.status === "running" ? (step.forgotten ?? 0) : 0);

/** States before the fifth had all plans by id; those that were over had no steps. */
const fromFourth = (all: z.infer<typeof liveRuns>): unknown => ({
	live: Object.fromEntries(Object.entries(all).filter(([, run]) => !isOver(run))),
	over: Object.entries(all).flatMap(([plan, run]) => (isOver(run) ? { ...run, plan } : [])),
});

const isOver = (run: PlanRun): boolean => !isInFlight(run) && run.ended === undefined;

const extended = (run: PlanRun): PlanRun => ({ ...run, extended: (run.extended ?? 0) + 1 });

/** The plan in flight that a lane is of, or of whose steps a call has begun it. */
function planAround(lane: string, { live }: PlanRuns): string | undefined {
	if (!lane.startsWith(planLane(""))) return undefined;
	return Object.keys(live).find((plan) => lane.startsWith(`${planLane(plan)}/`));
}

/** One of whose results one is lost: if it had all, its answer was made. */
const unanswered = (run: PlanRun): PlanRun =>
	Object.values(run.steps).filter(({ status }) => status === "completed" || status === "failed").length === run.size
		? { answered: run.since, ...run }
		: run;

const running = ({ why: _why, by: _by, failed: _failed, ...run }: PlanRun): PlanRun => ({ ...run, status: "running" });

const tookOf = (step: StepRun, { ts }: WalRecord): { readonly took?: number } =>
	step.status === "running" && step.at !== undefined ? { took: Math.max(0, ts - step.at) } : {};

/** One that has not begun has nothing to run again: this attempt is still its first, or its next one. */
const again = (before: StepRun): StepRun =>
	before.status === "pending"
		? before
		: {
				...{ status: "pending", attempt: before.attempt + 1 },
				...("cost" in before && before.cost && { cost: before.cost }),
			};

function withPlan(state: PlanRuns, plan: string, next: (run: PlanRun) => PlanRun): PlanRuns {
	const run = entryAt(state.live, plan);
	// Records of a plan that is over, or whose start is not on the path, do not count.
	return run ? placed(state, plan, next(run)) : state;
}

function withStep(
	state: PlanRuns,
	plan: string,
	step: string,
	{ seq }: WalRecord,
	next: (before: StepRun) => StepRun,
): PlanRuns {
	return withPlan(state, plan, (run) => ({
		...run,
		since: seq,
		steps: { ...run.steps, [step]: next(entryAt(run.steps, step) ?? { status: "pending", attempt: 0 }) },
	}));
}

/** Puts a plan where it belongs: a snapshot shares what is over with earlier ones. */
function placed({ live, over }: PlanRuns, plan: string, run: PlanRun): PlanRuns {
	if (!isOver(run)) return { live: { ...live, [plan]: run }, over };
	const { [plan]: _over, ...others } = live;
	const next = over.append({ ...run, plan });
	const known = places.get(over);
	if (known) {
		places.delete(over);
		places.set(next, known.set(plan, over.length));
	}
	return { live: others, over: next };
}

/** With a plan that waits, or has its answer, running again. One that was given up is taken up again by an undo alone. */
function reopened(state: PlanRuns, plan: string): PlanRuns {
	if (entryAt(state.live, plan)) return withPlan(state, plan, (run) => (isInFlight(run) ? anew(run) : run));
	const place = placeOver(state.over, plan);
	const { plan: _id, ...run } = state.over.at(place) ?? { plan };
	if (!("status" in run) || run.status !== "completed") return state;
	return { live: { ...state.live, [plan]: anew(run) }, over: state.over.splice(place, 1) };
}

/** Running, to come to another answer. */
const anew = ({ answered: _answered, ...run }: PlanRun): PlanRun => running(run);

/** Out of the list: it is not there. */
function placeOver(over: PlanRuns["over"], plan: string): number {
	const known = places.get(over) ?? new Map(over.toArray().map((each, place) => [each.plan, place]));
	places.set(over, known);
	return known.get(plan) ?? Number.POSITIVE_INFINITY;
}

/** Where each plan is in a list. It goes on to the list with one more, so a long history is gone through once. */
const places = new WeakMap<PlanRuns["over"], Map<string, number>>();
