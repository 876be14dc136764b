/** What the log knows of each step: a projection, and the one question that is asked of it. */
import { defineProjection } from "@reyn/snapshot";
import type { Draft, Seq } from "@reyn/wal";
import { z } from "zod";
import { type Purity, purities, startsDurably } from "./purity.ts";
import { laneClosed, stepCompleted, stepFailed, stepStarted } from "./records.ts";

const outcome = z.discriminatedUnion("type", [
	z.object({
		type: z.literal("completed"),
		seq: z.int(),
		result: z.unknown().optional(),
		usage: z.object({ inputTokens: z.int(), outputTokens: z.int() }).optional(),
	}),
	z.object({
		type: z.literal("failed"),
		seq: z.int(),
		retryable: z.boolean(),
		reason: z.object({ message: z.string(), code: z.string().optional() }),
	}),
]);

const entry = z.object({
	name: z.string(),
	purity: z.enum(purities),
	/** The first durable start that has no outcome yet, or the one that the outcome names. */
	started: z.int().optional(),
	outcome: outcome.optional(),
});

const laneState = z.object({
	entries: z.record(z.string(), entry),
	/** The seq of the newest effect that was started here; world answers from before it are settled. */
	lastEffect: z.int(),
});

const journalState = z.record(z.string(), laneState);

export type JournalEntry = z.infer<typeof entry>;
/** By lane, then by `fingerprint:occurrence`. Closed lanes are gone. */
export type JournalState = z.infer<typeof journalState>;

interface Identity {
	readonly lane: string;
	readonly fp: string;
	readonly occ: number;
	readonly name: string;
	readonly purity: Purity;
}

/** The open lanes of a scope and what happened in each. */
export const journal = defineProjection<JournalState>({
	name: "journal",
	version: 1,
	schema: journalState,
	init: () => ({}),
	handle: (on) => [
		on(stepStarted, (state, step, { seq }) =>
			put(state, step, { started: find(state, step)?.started ?? seq }, startsDurably(step.purity) ? seq : 0),
		),
		on(stepCompleted, (state, step, { seq }) => {
			const { started, result, usage } = step;
			return put(state, step, {
				...(started === undefined ? {} : { started }),
				outcome: { type: "completed", seq, result, ...(usage ? { usage } : {}) },
			});
		}),
		on(stepFailed, (state, step, { seq }) => {
			const { started, retryable, reason } = step;
			return put(state, step, {
				...(started === undefined ? {} : { started }),
				outcome: { type: "failed", seq, retryable, reason },
			});
		}),
		on(laneClosed, (state, { lane }) =>
			Object.fromEntries(Object.entries(state).filter(([name]) => name !== lane && !name.startsWith(`${lane}/`))),
		),
	],
	floor: (state) => {
		const starts = Object.values(state).flatMap(({ entries }) =>
			Object.values(entries).map(({ started, outcome }) => started ?? outcome?.seq ?? Number.POSITIVE_INFINITY),
		);
		return starts.length > 0 ? Math.min(...starts) : undefined;
	},
});

/** The starts of the steps that have no outcome here: each is in doubt, unless another line of history knows how it ended. */
export function openStarts(state: JournalState): readonly Seq[] {
	return Object.values(state).flatMap(({ entries }) =>
		Object.values(entries).flatMap(({ started, outcome }) => (started === undefined || outcome ? [] : [started])),
	);
}

/** Is this the outcome of a step that has none here? */
export function isAwaited(state: JournalState, { data }: Draft): boolean {
	const { started, ...step } = data as Identity & { started?: Seq };
	const open = find(state, step);
	return started !== undefined && open?.started === started && !open.outcome;
}

/** What the log says of a step that is about to be called. */
export type Recall =
	/** To be called. `started` is its first durable start, where an earlier try failed and may be repeated. */
	| { readonly kind: "fresh"; readonly started?: Seq }
	/** The call is over, and its result stands for it. */
	| {
			readonly kind: "ghost";
			readonly result: unknown;
			readonly usage?: { readonly inputTokens: number; readonly outputTokens: number } | undefined;
	  }
	/** A world answer: to be asked again, unless an effect that came after it rests on it. */
	| { readonly kind: "world"; readonly result: unknown; readonly settled: boolean }
	| { readonly kind: "failed"; readonly reason: { readonly message: string; readonly code?: string | undefined } }
	/** Started, and the outcome unknown. */
	| { readonly kind: "in_doubt"; readonly started: Seq };

export function recall(state: JournalState, step: Identity): Recall {
	const found = find(state, step);
	if (!found) return { kind: "fresh" };
	const { started, outcome } = found;
	if (outcome?.type === "completed") {
		if (step.purity === "world") {
			return { kind: "world", result: outcome.result, settled: (state[step.lane]?.lastEffect ?? 0) > outcome.seq };
		}
		return { kind: "ghost", result: outcome.result, usage: outcome.usage };
	}
	if (outcome?.type === "failed")
		return outcome.retryable ? fresh(started) : { kind: "failed", reason: outcome.reason };
	return started === undefined ? fresh(started) : { kind: "in_doubt", started };
}

const fresh = (started: Seq | undefined): Recall => ({ kind: "fresh", ...(started === undefined ? {} : { started }) });

const entryKey = ({ fp, occ }: Identity): string => `${fp}:${occ}`;

function find(state: JournalState, step: Identity): JournalEntry | undefined {
	return state[step.lane]?.entries[entryKey(step)];
}

function put(
	state: JournalState,
	step: Identity,
	change: Pick<JournalEntry, "started" | "outcome">,
	effect = 0,
): JournalState {
	const lane = state[step.lane] ?? { entries: {}, lastEffect: 0 };
	const next = { name: step.name, purity: step.purity, ...change };
	return {
		...state,
		[step.lane]: {
			entries: { ...lane.entries, [entryKey(step)]: next },
			lastEffect: Math.max(lane.lastEffect, effect),
		},
	};
}
