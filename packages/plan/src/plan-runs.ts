/** A projection of plans: which there are in a session, and how far each step of them is. */
import { laneClosed } from "@reyn/journal";
import { spilledTextSchema } from "@reyn/journal/internal";
import { defineProjection, entryAt } from "@reyn/snapshot";
import type { Seq } from "@reyn/wal";
import { z } from "zod";
import {
	costSchema,
	planAborted,
	planCompleted,
	planLane,
	planPaused,
	planResumed,
	planStarted,
	planStepCompleted,
	planStepFailed,
	planStepStarted,
	planStepsReset,
} from "./records.ts";

const stepRun = z.discriminatedUnion("status", [
	z.object({ status: z.literal("pending"), attempt: z.int() }),
	z.object({ status: z.literal("running"), attempt: z.int() }),
	z.object({
		status: z.literal("completed"),
		attempt: z.int(),
		/** Absent if the result lies beside the log (`spilled`). */
		result: z.string().optional(),
		spilled: spilledTextSchema.optional(),
		cost: costSchema,
	}),
	z.object({ status: z.literal("failed"), attempt: z.int(), reason: z.string() }),
]);

const planRun = z.object({
	goal: z.string(),
	/** The seq of `plan_started`. */
	started: z.int(),
	/** The seq of the start, or of the last change of a step. An answer that was delivered after it is the answer of these steps. */
	since: z.int(),
	decomposition: z.string(),
	/** The id of the model that it was begun with; absent: unknown. */
	model: z.string().optional(),
	/** How many steps it has. */
	size: z.int(),
	status: z.enum(["running", "paused", "completed", "aborted"]),
	/** By step id; a step that never started is absent. */
	steps: z.record(z.string(), stepRun),
	/** The seq and the content of `plan_aborted`, until the plan's lane is closed: its notice is still to be delivered. */
	ended: z.object({ seq: z.int(), reason: z.string(), tell: z.string().optional() }).optional(),
});

const planRunsState = z.record(z.string(), planRun);

export type StepRun = z.infer<typeof stepRun>;
export type PlanRun = z.infer<typeof planRun>;
/** By plan id. */
export type PlanRuns = z.infer<typeof planRunsState>;

/** Every plan of a session and how far it has come. */
export const planRuns = defineProjection<PlanRuns>({
	name: "plans",
	version: 4,
	schema: planRunsState,
	init: () => ({}),
	handle: (on) => [
		on(planStarted, (state, { plan, goal, steps, decomposition, model }, { seq }) => ({
			...state,
			[plan]: {
				...{ goal, started: seq, since: seq, decomposition, size: steps, status: "running" as const, steps: {} },
				...(model === undefined ? {} : { model }),
			},
		})),
		on(planStepStarted, (state, { plan, step, attempt }, { seq }) =>
			withStep(state, plan, step, seq, () => ({ status: "running", attempt })),
		),
		on(planStepCompleted, (state, { plan, step, result, spilled, cost }, { seq }) =>
			withStep(state, plan, step, seq, ({ attempt }) => ({
				status: "completed",
				attempt,
				...(result === undefined ? {} : { result }),
				...(spilled ? { spilled } : {}),
				cost,
			})),
		),
		on(planStepFailed, (state, { plan, step, reason }, { seq }) =>
			withStep(state, plan, step, seq, ({ attempt }) => ({ status: "failed", attempt, reason })),
		),
		// A new attempt has a lane of its own, so nothing of the old one is recalled.
		on(planStepsReset, (state, { plan, steps }, { seq }) =>
			steps.reduce(
				(next, step) => withStep(next, plan, step, seq, ({ attempt }) => ({ status: "pending", attempt: attempt + 1 })),
				state,
			),
		),
		on(planPaused, (state, { plan }) => withPlan(state, plan, (run) => ({ ...run, status: "paused" }))),
		on(planResumed, (state, { plan }) => withPlan(state, plan, (run) => ({ ...run, status: "running" }))),
		on(planCompleted, (state, { plan }) =>
			withPlan(state, plan, (run) => ({ ...run, status: "completed", steps: {} })),
		),
		on(planAborted, (state, { plan, reason, tell }, { seq }) =>
			withPlan(state, plan, (run) => ({
				...run,
				status: "aborted",
				steps: {},
				ended: { seq, reason, ...(tell === undefined ? {} : { tell }) },
			})),
		),
		on(laneClosed, (state, { lane }) => {
			const plan = lane.slice(planLane("").length);
			if (lane !== planLane(plan) || !entryAt(state, plan)?.ended) return state;
			return withPlan(state, plan, ({ ended: _told, ...run }) => run);
		}),
	],
	// States of older versions are valid here: this version only added optional fields.
	migrate: (state) => state,
	floor: (state) => {
		const live = Object.values(state).filter(isInFlight);
		return live.length > 0 ? Math.min(...live.map(({ started }) => started)) : undefined;
	},
});

/** Is the plan running, or paused until a person resumes it? */
export const isInFlight = ({ status }: PlanRun): boolean => status === "running" || status === "paused";

function withPlan(state: PlanRuns, plan: string, next: (run: PlanRun) => PlanRun): PlanRuns {
	const run = entryAt(state, plan);
	// Records of a plan whose start is not on the path do not count.
	return run ? { ...state, [plan]: next(run) } : state;
}

function withStep(
	state: PlanRuns,
	plan: string,
	step: string,
	since: Seq,
	next: (before: StepRun) => StepRun,
): PlanRuns {
	return withPlan(state, plan, (run) => ({
		...run,
		since,
		steps: { ...run.steps, [step]: next(entryAt(run.steps, step) ?? { status: "pending", attempt: 0 }) },
	}));
}
