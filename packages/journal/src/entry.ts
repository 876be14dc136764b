/** One step as the log knows it, and what that means for the next call of it. Pure. */
import type { Seq } from "@reyn/wal";
import { z } from "zod";
import type { Reason } from "./errors.ts";
import type { Usage } from "./ports.ts";
import { type Purity, purities } from "./purity.ts";
import { keptSchema, stepCompleted, stepFailed, stepStarted } from "./records.ts";
import type { Kept } from "./results.ts";

const outcome = z.discriminatedUnion("type", [
	z.object({
		type: z.literal("completed"),
		seq: z.int(),
		kept: keptSchema,
		usage: z.object({ inputTokens: z.int(), outputTokens: z.int() }).optional(),
	}),
	z.object({
		type: z.literal("failed"),
		seq: z.int(),
		/** Milliseconds since 1970: a pause before the next try counts from here. */
		at: z.number(),
		/** How long that pause is; absent where an older program wrote it. */
		pauseMs: z.number().optional(),
		retryable: z.boolean(),
		reason: z.object({ message: z.string(), code: z.string().optional() }),
	}),
]);

export const entrySchema = z.object({
	name: z.string(),
	/** Of a script's call: what it is, for people. */
	label: z.string().optional(),
	purity: z.enum(purities),
	/** The first durable start. */
	started: z.int().optional(),
	/** The last try that is known of. */
	attempt: z.int(),
	outcome: outcome.optional(),
});

export type JournalEntry = z.infer<typeof entrySchema>;

/** Which call: kind, name and arguments are in `fp`; `occ` counts the earlier equal ones of its lane. */
export interface Identity {
	readonly lane: string;
	readonly fp: string;
	readonly occ: number;
	readonly kind: string;
	readonly name: string;
	readonly purity: Purity;
	readonly place?: Place | undefined;
}

export interface Place {
	readonly at: number;
	readonly chain: string;
	readonly loose: string;
	readonly label: string;
	readonly fields: Readonly<Record<string, string>>;
}

/** Names a call within its lane. */
export const entryKey = ({ fp, occ }: Pick<Identity, "fp" | "occ">): string => `${fp}:${occ}`;

type StepRecord = { readonly seq: Seq; readonly ts: number; readonly kind: string; readonly data: unknown };

export const stepKinds: readonly string[] = [stepStarted.kind, stepCompleted.kind, stepFailed.kind];

/** The entry after one more record of its step. */
export function entryAfter(before: JournalEntry | undefined, { kind, data, seq, ts }: StepRecord): JournalEntry {
	const step = data as Identity & { attempt?: number; started?: Seq };
	const { name, purity, place, attempt = Math.max(1, before?.attempt ?? 1) } = step;
	// The key that the far side knows is that of the first start.
	const started = kind === stepStarted.kind ? (before?.started ?? seq) : (step.started ?? before?.started);
	const label = place ? { label: place.label } : {};
	const next = { name, ...label, purity, attempt, ...(started === undefined ? {} : { started }) };
	switch (kind) {
		case stepCompleted.kind: {
			const { result, binary, spilled, usage } = data as Kept & { usage?: Usage };
			const kept = { result, ...(binary ? { binary } : {}), ...(spilled ? { spilled } : {}) };
			return { ...next, outcome: { type: "completed", seq, kept, ...(usage ? { usage } : {}) } };
		}
		case stepFailed.kind: {
			const { retryable, reason, pauseMs } = data as { retryable: boolean; reason: Reason; pauseMs?: number };
			const paused = pauseMs === undefined ? {} : { pauseMs };
			return { ...next, outcome: { type: "failed", seq, at: ts, ...paused, retryable, reason } };
		}
		default:
			return next;
	}
}

/** Started, and nothing is known of how it ended. */
export const isOpen = (entry: JournalEntry): entry is JournalEntry & { started: Seq } =>
	entry.started !== undefined && !entry.outcome;

/** What the log says of a step that is about to be called. */
export type Recall =
	/** To be called. */
	| { readonly kind: "fresh"; readonly failed?: FailedTry }
	/** The call is over, and its result stands for it; `from` is its outcome's seq where that was recorded at another place. */
	| {
			readonly kind: "ghost";
			readonly kept: Kept;
			readonly usage?: Usage | undefined;
			readonly started?: Seq;
			readonly from?: Seq;
	  }
	/** A world answer: to be asked again, unless an effect that came after it rests on it. */
	| { readonly kind: "world"; readonly kept: Kept; readonly settled: boolean }
	/** It failed for good; `from` as above. */
	| { readonly kind: "failed"; readonly reason: Reason; readonly started?: Seq; readonly from?: Seq }
	/** Started, and the outcome unknown. */
	| { readonly kind: "in_doubt"; readonly started: Seq; readonly attempt: number };

/** An earlier try that may be followed by another. */
export interface FailedTry {
	readonly attempt: number;
	/** Milliseconds since 1970. */
	readonly at: number;
	/** From then on, until the next try. */
	readonly pauseMs?: number | undefined;
	readonly reason: Reason;
	/** Its first durable start, where it has one. */
	readonly started?: Seq;
}

/** @param lastEffect the newest effect that was started in the step's lane, or 0 */
export function recallEntry(entry: JournalEntry | undefined, lastEffect: Seq): Recall {
	if (!entry) return { kind: "fresh" };
	const { started, attempt, outcome } = entry;
	const start = started === undefined ? {} : { started };
	switch (outcome?.type) {
		case "completed": {
			const { kept, usage, seq } = outcome;
			if (entry.purity === "world") return { kind: "world", kept, settled: lastEffect > seq };
			return { kind: "ghost", kept, usage, ...start };
		}
		case "failed": {
			const { reason, at, pauseMs } = outcome;
			return outcome.retryable
				? { kind: "fresh", failed: { attempt, at, pauseMs, reason, ...start } }
				: { kind: "failed", reason, ...start };
		}
		default:
			return started === undefined ? { kind: "fresh" } : { kind: "in_doubt", started, attempt };
	}
}
