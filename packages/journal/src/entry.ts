/** One step as the log knows it, and what that means for the next call of it. Pure. */
import type { Seq } from "@reyn/wal";
import { z } from "zod";
import type { Reason } from "./errors.ts";
import type { Usage } from "./ports.ts";
import { type Purity, purities, startsDurably } from "./purity.ts";
import { reasonSchema, stepCompleted, stepFailed, stepStarted, storedResultSchema } from "./records.ts";
import type { StoredResult } from "./results.ts";

const outcome = z.discriminatedUnion("type", [
	z.object({
		type: z.literal("completed"),
		seq: z.int(),
		kept: storedResultSchema,
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
		/** Whoever made the call was told. */
		told: z.boolean(),
		reason: reasonSchema,
	}),
]);

export const entrySchema = z.object({
	name: z.string(),
	/** Of a script's call: what it is, for people. */
	label: z.string().optional(),
	purity: z.enum(purities),
	/** The first durable start. */
	started: z.int().optional(),
	/** What the newest start was prepared with. */
	prepared: z.unknown().optional(),
	/** The last try that is known of; 0 when none counts any more. */
	attempt: z.int(),
	outcome: outcome.optional(),
	/** Of a call in a loop: which one it is. */
	round: z.string().optional(),
	/** When whoever made the call was told: the seq of the first outcome that it may have been told of. */
	order: z.int().optional(),
	/** The newest outcome that the program had been told of when it made the call. */
	after: z.int(),
	/** What the program had been told when it was made is told no more: a failure that it ended by, or what the world said. */
	mayBeGone: z.literal(true).optional(),
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
	/** See {@link Step}. */
	readonly round?: string | undefined;
}

/** Where a call of a script stands. */
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

/** A step that is recorded, as far as the order of replay needs it. */
export interface RecordedStep extends Pick<Identity, "fp" | "occ" | "name"> {
	/** When the program was told; absent: it was not. */
	readonly place?: Seq | undefined;
	readonly started?: Seq | undefined;
	/** The newest place that had been told when it was asked for. */
	readonly after: Seq;
	/** The program may not ask for it again. */
	readonly mayBeGone?: boolean | undefined;
	readonly isEffect?: boolean | undefined;
	readonly purity?: Purity | undefined;
	readonly round?: string | undefined;
}

/** @param key as {@link entryKey} makes it */
export function recordedOf(
	key: string,
	{ name, purity, order, started, after, mayBeGone, round }: JournalEntry,
): RecordedStep {
	const [fp = "", occ] = key.split(":");
	const isEffect = startsDurably(purity);
	return { fp, occ: Number(occ), name, place: order, started, after, mayBeGone, isEffect, purity, round };
}

/**
 * The calls of a lane of which nothing is recorded but steps inside them.
 *
 * @param keys of the lane's own steps, as {@link entryKey} makes them
 * @param lanes below it: their names, and the steps in them and below
 */
export function* cutCalls(
	keys: Iterable<string>,
	lanes: Iterable<readonly [name: string, steps: Iterable<JournalEntry>]>,
): Generator<RecordedStep> {
	let known: Set<string> | undefined;
	for (const [name, steps] of lanes) {
		const [, fp, occ] = /^([0-9a-f]{16}):(\d+)$/.exec(name) ?? [];
		if (fp === undefined) continue;
		known ??= new Set([...keys].map(shortKey));
		const [first, ...others] = known.has(name) ? [] : steps;
		if (!first) continue;
		const all = [first, ...others];
		yield {
			fp,
			occ: Number(occ),
			name: "a call that was cut",
			after: Math.min(...all.map(({ after }) => after)),
			mayBeGone: all.every(({ mayBeGone }) => mayBeGone),
			isEffect: all.some(({ purity }) => startsDurably(purity)),
		};
	}
}

/** As a lane below is named. */
const shortKey = (key: string): string => key.replace(/^([0-9a-f]{16})[0-9a-f]*/, "$1");

/** The entry after one more record of its step. */
export function entryAfter(before: JournalEntry | undefined, { kind, data, seq, ts }: StepRecord): JournalEntry {
	const step = data as Identity & { attempt?: number; started?: Seq; after?: Seq; adopts?: Seq; prepared?: unknown };
	const { name, purity, place, round, attempt = Math.max(1, before?.attempt ?? 1) } = step;
	// The key that the far side knows is that of the first start.
	const started = kind === stepStarted.kind ? (before?.started ?? seq) : (step.started ?? before?.started);
	const label = place ? { label: place.label } : {};
	const after = before?.after ?? step.after ?? seq - 1;
	const { prepared = before?.prepared } = step;
	const start = { ...(started === undefined ? {} : { started }), ...(prepared === undefined ? {} : { prepared }) };
	const next = { name, ...label, purity, attempt, after, ...(round === undefined ? {} : { round }), ...start };
	// A result that is called for again is told where the first one was; what is adopted is told where it is adopted.
	const isSecond = before?.outcome?.type === "completed" && step.adopts === undefined;
	const order = isSecond ? (before.order ?? before.outcome?.seq ?? seq) : seq;
	switch (kind) {
		case stepCompleted.kind: {
			const { result, binary, spilled, usage } = data as StoredResult & { usage?: Usage };
			const kept = { result, ...(binary ? { binary } : {}), ...(spilled ? { spilled } : {}) };
			return { ...next, order, outcome: { type: "completed", seq, kept, ...(usage ? { usage } : {}) } };
		}
		case stepFailed.kind: {
			const { retryable, reason, ...how } = data as { retryable: boolean; reason: Reason } & Failed;
			const { told = !retryable, forgotten: isForgotten = false, pauseMs } = how;
			return {
				...next,
				...(isForgotten ? { attempt: 0 } : {}),
				...(told ? { order } : {}),
				outcome: {
					type: "failed",
					seq,
					at: ts,
					...(pauseMs === undefined ? {} : { pauseMs }),
					retryable,
					told,
					reason,
				},
			};
		}
		default:
			return next;
	}
}

interface Failed {
	readonly told?: boolean;
	readonly forgotten?: boolean;
	readonly pauseMs?: number;
}

/** Started, and nothing is known of how it ended. */
export const isOpen = (entry: JournalEntry): entry is JournalEntry & { started: Seq } =>
	entry.started !== undefined && !entry.outcome;

/** A failure that another try may help against, and that whoever made the call was told of. */
const isForgettable = ({ purity, outcome }: JournalEntry): boolean =>
	outcome?.type === "failed" &&
	outcome.told &&
	!outcome.reason.made &&
	(outcome.retryable || purity === "llm" || purity === "world");

/**
 * Its program has ended by throwing: what failed in it, and no later call rests on, is to be called again.
 *
 * @param asked as of {@link Around}
 */
export function forgotten(entry: JournalEntry, asked: Seq): JournalEntry {
	const { outcome, order = 0 } = entry;
	return outcome?.type === "failed" && isForgettable(entry) && asked < order ? withoutFailure(entry, outcome) : entry;
}

/** The far side knows it by the same key, and it has all its tries again. */
function withoutFailure(
	{ order: _, ...rest }: JournalEntry,
	outcome: JournalEntry["outcome"] & { type: "failed" },
): JournalEntry {
	return { ...rest, attempt: 0, outcome: { ...outcome, told: false, retryable: true } };
}

/** Its program has let this failure through: whoever runs it again wants the call again, unless nobody knows whether it happened. */
export function letThrough(entry: JournalEntry): JournalEntry {
	const { outcome, purity } = entry;
	// What was made, and gave what cannot be kept, is not made again.
	if (outcome?.type !== "failed" || !outcome.told || outcome.reason.made) return entry;
	return startsDurably(purity) && outcome.reason.code === "STEP_TIMEOUT" ? entry : withoutFailure(entry, outcome);
}

/** What the program was told at a place is told no more: what it asked for later, it may not ask for again. */
export const goneFrom = (entry: JournalEntry, seq: Seq): JournalEntry =>
	entry.after < seq ? entry : { ...entry, mayBeGone: true };

/** What the log says of a step that is about to be called. `order` is its place where the program is told of it. */
export type Recall =
	/** To be called. */
	| { readonly kind: "fresh"; readonly failed?: FailedTry }
	/** The call is over, and its result stands for it; `from` is its outcome's seq where that was recorded at another place. */
	| {
			readonly kind: "ghost";
			readonly kept: StoredResult;
			readonly usage?: Usage | undefined;
			readonly started?: Seq;
			readonly prepared?: unknown;
			readonly from?: Seq;
			readonly order: Seq;
	  }
	/** A world answer: to be asked again, unless an effect of the program that came after it rests on it. `from` as above. */
	| {
			readonly kind: "world";
			readonly kept: StoredResult;
			readonly settled: boolean;
			readonly from?: Seq;
			readonly order: Seq;
	  }
	/** It failed, and the program was told; `from` as above. `again`: where another try may help, and nothing rests on it. */
	| {
			readonly kind: "failed";
			readonly reason: Reason;
			readonly started?: Seq;
			readonly from?: Seq;
			readonly order: Seq;
			readonly again?: FailedTry;
	  }
	/** Started, and the outcome unknown. */
	| { readonly kind: "in_doubt"; readonly started: Seq; readonly prepared?: unknown; readonly attempt: number };

/** An earlier try that may be followed by another. */
export interface FailedTry {
	/** 0 where those before do not count. */
	readonly attempt: number;
	/** Milliseconds since 1970. */
	readonly at: number;
	/** From then on, until the next try. */
	readonly pauseMs?: number | undefined;
	readonly reason: Reason;
	/** Its first durable start, where it has one. */
	readonly started?: Seq;
	/** What its newest start was prepared with. */
	readonly prepared?: unknown;
}

/** What is known of the program around a step. */
export interface Around {
	/** The newest effect that was started in the program, or 0. */
	readonly lastEffect: Seq;
	/** The newest `after` of a call in the step's lane and in those around it, and when the newest of all other lanes began. */
	readonly asked: Seq;
}

export function recallEntry(entry: JournalEntry | undefined, { lastEffect, asked }: Around): Recall {
	if (!entry) return { kind: "fresh" };
	const { started, prepared, attempt, outcome } = entry;
	const start = started === undefined ? {} : { started };
	const made = prepared === undefined ? {} : { prepared };
	switch (outcome?.type) {
		case "completed": {
			const { kept, usage, seq } = outcome;
			const { order = seq } = entry;
			if (entry.purity === "world") return { kind: "world", kept, settled: lastEffect > order, order };
			return { kind: "ghost", kept, usage, ...start, ...made, order };
		}
		case "failed": {
			const { reason, at, pauseMs, seq } = outcome;
			const { order = seq } = entry;
			const failed: FailedTry = { attempt, at, pauseMs, reason, ...start, ...made };
			if (!outcome.told) return { kind: "fresh", failed };
			const again = isForgettable(entry) && asked < order ? { again: { ...failed, attempt: 0 } } : {};
			return { kind: "failed", reason, ...start, order, ...again };
		}
		default:
			return started === undefined ? { kind: "fresh" } : { kind: "in_doubt", started, ...made, attempt };
	}
}

/** The lane of the steps inside a step. */
export const innerLane = ({ lane, fp, occ }: Pick<Identity, "lane" | "fp" | "occ">): string =>
	`${lane}/${fp.slice(0, 16)}:${occ}`;
