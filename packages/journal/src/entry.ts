/** One step as the log knows it, folded from its records, and what that means for the next call of it. Pure functions. */
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
		/** How long that pause is, in milliseconds; absent in records of older versions. */
		pauseMs: z.number().optional(),
		retryable: z.boolean(),
		/** Was the caller told of this failure? Else another try follows. */
		told: z.boolean(),
		reason: reasonSchema,
	}),
]);

export const entrySchema = z.object({
	name: z.string(),
	/** For a call of a script: its name for people. */
	label: z.string().optional(),
	purity: z.enum(purities),
	/** The seq of the first durable start: the idempotency key is made of it. */
	started: z.int().optional(),
	/** What `prepare` gave for the newest start. */
	prepared: z.unknown().optional(),
	/** The number of the last recorded try; 0 when the tries so far do not count any more. */
	attempt: z.int(),
	outcome: outcome.optional(),
	/** For a call in a loop: which loop, round and tool call it belongs to. */
	round: z.string().optional(),
	/** The place of the call: the seq of the first outcome that its caller may have been told. Absent: the caller was not told. */
	order: z.int().optional(),
	/** The largest place that the program had been told when it asked for the call. */
	after: z.int(),
	/**
	 * The program may not ask for this call again, since it asked with knowledge that a new run does not have: of a failure that was
	 * forgotten, or of a world answer that has changed.
	 */
	mayBeGone: z.literal(true).optional(),
});

export type JournalEntry = z.infer<typeof entrySchema>;

/** Identifies a call: `fp` is a hash of kind, name and arguments; `occ` counts the earlier equal calls of its lane, from 0. */
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

/** Where a call of a script stands; the fields are explained in `records.ts`. */
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

/** A recorded step, as far as the order of a replay needs it. */
export interface RecordedStep extends Pick<Identity, "fp" | "occ" | "name"> {
	/** The seq of the outcome that the program was told; absent: it was not told. */
	readonly place?: Seq | undefined;
	readonly started?: Seq | undefined;
	/** The largest place that had been told when the step was asked for. */
	readonly after: Seq;
	/** The program may not ask for the step again. */
	readonly mayBeGone?: boolean | undefined;
	readonly isEffect?: boolean | undefined;
	readonly purity?: Purity | undefined;
	readonly round?: string | undefined;
}

/** Names a call among all of a log, for ever. */
export const callKey = ({ lane, ...of }: Pick<Identity, "lane" | "fp" | "occ">): string => `${lane} ${entryKey(of)}`;

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
 * The calls of a lane that a crash has cut: only their inner steps are recorded. They count as recorded, or a replay would not
 * wait for them.
 *
 * @param keys the lane's own steps, as {@link entryKey} makes them
 * @param lanes the lanes below: their names, and the steps in them and below
 */
export function* cutCalls(
	keys: Iterable<string>,
	lanes: Iterable<readonly [name: string, steps: Iterable<JournalEntry>]>,
): Generator<RecordedStep> {
	let known: Set<string> | undefined;
	for (const [name, steps] of lanes) {
		const [, fp, occ] = innerName.exec(name) ?? [];
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

/** The name of the lane inside a call, as {@link innerLane} makes it. */
const innerName = /^([0-9a-f]{16}):(\d+)$/;

export const isInnerName = (name: string): boolean => innerName.test(name);

/** A lane and what is below it, as far as {@link newestBegun} needs it. */
interface Begun {
	/** The smallest `after` in the lane and below. */
	readonly begun: Seq;
	readonly hasSteps: boolean;
	below(): Iterable<readonly [name: string, lane: Begun]>;
}

/**
 * When the newest of a lane and the lanes below it began. What is but a part of names, as of all forks of one kind, is none itself; and
 * the inside of a call begins nothing, since the lane of that call began before.
 */
export function newestBegun({ begun, hasSteps, below }: Begun): Seq {
	let newest = hasSteps ? begun : 0;
	for (const [name, lane] of below())
		if (!hasSteps || !innerName.test(name)) newest = Math.max(newest, newestBegun(lane));
	return newest;
}

/** The key as it stands in the name of a lane below: with 16 digits of the fingerprint. */
const shortKey = (key: string): string => key.replace(/^([0-9a-f]{16})[0-9a-f]*/, "$1");

/** The entry after one more record of its step, or of another call of the same name: an edited script may ask for one there. */
export function entryAfter(known: JournalEntry | undefined, { kind, data, seq, ts }: StepRecord): JournalEntry {
	const step = data as Identity & { attempt?: number; started?: Seq; after?: Seq; adopts?: Seq; prepared?: unknown };
	// The far side knows a call by the key of its first start. Older versions did not name that in the starts that followed.
	const first = kind === stepStarted.kind && (step.attempt ?? 1) === 1 ? seq : undefined;
	const start = step.started ?? first;
	const isOther = start !== undefined && known?.started !== undefined && known.started !== start;
	const before = isOther ? undefined : known;
	const { name, purity, place, round, attempt = Math.max(1, before?.attempt ?? 1) } = step;
	const started = start ?? before?.started ?? (kind === stepStarted.kind ? seq : undefined);
	const label = place ? { label: place.label } : {};
	// A call that was told, and is no more, is asked for anew, with what is known then.
	const isForgotten = before?.attempt === 0;
	const isAdopted = step.adopts !== undefined;
	const isAnew = !isAdopted && (isForgotten || before?.mayBeGone);
	const after = (isAnew ? step.after : before?.after) ?? step.after ?? seq - 1;
	const { prepared = before?.prepared } = step;
	const begun = { ...(started === undefined ? {} : { started }), ...(prepared === undefined ? {} : { prepared }) };
	// What another line knows of it does not say that this one asks for it.
	const gone = isAdopted && before?.mayBeGone ? { mayBeGone: true as const } : {};
	const next = { name, ...label, purity, attempt, after, ...(round === undefined ? {} : { round }), ...begun, ...gone };
	// A second result of the same call (a world asked again) keeps the place of the first, but of one that was asked for with what another
	// answer led to; an adopted outcome has its place here.
	const isSecond = before?.outcome?.type === "completed" && !isAdopted && !before.mayBeGone;
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

/** Was the step started, and is its call not over? No outcome is recorded, or a failed try that another one follows. */
export const isOpen = (entry: JournalEntry): entry is JournalEntry & { started: Seq } =>
	entry.started !== undefined && (!entry.outcome || isBetweenTries(entry));

/** Has a try failed, and does another one follow? */
export const isBetweenTries = ({ outcome }: JournalEntry): boolean => outcome?.type === "failed" && !outcome.told;

/** Did the step fail in a way that another try may help against, and was its caller told? */
const isForgettable = ({ purity, outcome }: JournalEntry): boolean =>
	outcome?.type === "failed" &&
	outcome.told &&
	!outcome.reason.made &&
	(outcome.retryable || purity === "llm" || purity === "world");

/**
 * The entry after its program ended by throwing. A failure that no later call rests on is forgotten: a new run calls the step again.
 *
 * @param asked see {@link Around}
 */
export function forgotten(entry: JournalEntry, asked: Seq): JournalEntry {
	const { outcome, order = 0 } = entry;
	return outcome?.type === "failed" && isForgettable(entry) && asked < order ? withoutFailure(entry, outcome) : entry;
}

/** The entry with its failure taken back: it has all its tries again, under the same idempotency key. */
function withoutFailure(
	{ order: _, ...rest }: JournalEntry,
	outcome: JournalEntry["outcome"] & { type: "failed" },
): JournalEntry {
	return { ...rest, attempt: 0, outcome: { ...outcome, told: false, retryable: true } };
}

/**
 * The entry after its program let this failure through and ended by it. Whoever runs the program again wants the call made again,
 * except an effect that timed out: nobody knows whether that happened.
 */
export function letThrough(entry: JournalEntry): JournalEntry {
	const { outcome, purity } = entry;
	// A call that was made, but whose result cannot be kept, is not made again.
	if (outcome?.type !== "failed" || !outcome.told || outcome.reason.made) return entry;
	return startsDurably(purity) && outcome.reason.code === "STEP_TIMEOUT" ? entry : withoutFailure(entry, outcome);
}

/** The entry of a step inside a call whose failure was let through: what that was told of last, with nothing made after it, failed it. */
export const letThroughLast = (entry: JournalEntry, asked: Seq): JournalEntry =>
	asked < (entry.order ?? 0) ? letThrough(entry) : entry;

/** The entry after the outcome at `seq` is no longer told: a call that was asked for with knowledge of it may not be asked for again. */
export const goneFrom = (entry: JournalEntry, seq: Seq): JournalEntry =>
	entry.after < seq ? entry : { ...entry, mayBeGone: true };

/**
 * What the log says of a step that is about to be called. `order` is the place at which the program is told. `from` is present where
 * the outcome was recorded before an edit of the script, and has to be adopted.
 */
export type Recall =
	/** The step has to be called; `failed` is the try before. */
	| { readonly kind: "fresh"; readonly failed?: FailedTry }
	/** The call is over: its recorded result stands for it. */
	| {
			readonly kind: "ghost";
			readonly kept: StoredResult;
			readonly usage?: Usage | undefined;
			readonly started?: Seq;
			readonly prepared?: unknown;
			readonly from?: From;
			readonly order: Seq;
	  }
	/** The answer of a world step. It is asked again, unless it is `settled`: an effect of the program came after it and may rest on it. */
	| {
			readonly kind: "world";
			readonly kept: StoredResult;
			readonly settled: boolean;
			readonly from?: From;
			readonly order: Seq;
	  }
	/** The call failed, and the program was told. `again` is present where another try may help and nothing rests on the failure. */
	| {
			readonly kind: "failed";
			readonly reason: Reason;
			readonly started?: Seq;
			readonly from?: From;
			readonly order: Seq;
			readonly again?: FailedTry;
	  }
	/** An effect was started, and its outcome is unknown. */
	| { readonly kind: "in_doubt"; readonly started: Seq; readonly prepared?: unknown; readonly attempt: number };

/** An outcome that was recorded before an edit of the script. */
export interface From {
	readonly seq: Seq;
	/** How many edits ago: what a newer text was told comes before what only an older one was. */
	readonly edits: number;
}

/** An earlier try that may be followed by another. */
export interface FailedTry {
	/** The number of the try, from 1; 0 where the tries so far do not count. */
	readonly attempt: number;
	/** When it failed, in milliseconds since 1970. */
	readonly at: number;
	/** The pause before the next try, in milliseconds from `at`. */
	readonly pauseMs?: number | undefined;
	readonly reason: Reason;
	/** The seq of the first durable start. */
	readonly started?: Seq;
	/** What `prepare` gave for the newest start. */
	readonly prepared?: unknown;
}

/** What the rest of the program means for a step. */
export interface Around {
	/** The newest effect that was started in the program, or 0. */
	readonly lastEffect: Seq;
	/**
	 * The largest `after` of the calls in the step's lane and in the lanes above, and the largest `begun` of all other lanes: calls up
	 * to here may rest on what was told before.
	 */
	readonly asked: Seq;
}

/** Decides from a step's entry how its next call is answered. */
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

/** The lane of a step's inner steps; 16 digits of the fingerprint keep the path short. */
export const innerLane = ({ lane, fp, occ }: Pick<Identity, "lane" | "fp" | "occ">): string =>
	`${lane}/${fp.slice(0, 16)}:${occ}`;
