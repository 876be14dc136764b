/** The format of a part of the stored index of a timeline (docs/formats/index-v1.md): what a stretch of the log adds to it. */
import { sealed } from "@reyn/snapshot";
import { unsealed } from "@reyn/snapshot/internal";
import { type Scope, type Seq, scopeKey, type WalRecord } from "@reyn/wal";
import { z } from "zod";
import { move, parsed, record, seq } from "./branch-index.ts";
import { Marks } from "./marks.ts";
import { SessionRanges, type Spans } from "./session-ranges.ts";
import type { MoveStep, Stacks } from "./undo.ts";

/** A reader passes a larger one over. */
const VERSION = 1;

/** What a part is only good for. */
export interface PartKey {
	/** The id of the log. */
	readonly log: string;
	/** A hash of the kinds that outlive `gc` and of the undo rules: what is in a part depends on them. */
	readonly rules: string;
}

/** What the records in `(after, through]` add to the index. */
export interface IndexPart {
	readonly after: Seq;
	readonly through: Seq;
	/** The crc of the record at `after`; empty where the index begins. */
	readonly prev: string;
	/** The crc of the record at `through`, which all records before it have a part in. */
	readonly crc: string;
	/** The records that outlive `gc`, as they stand in the log: unparsed. */
	readonly records: readonly WalRecord[];
	readonly checkpoints: Marks;
	readonly spans: Spans;
	/** The newest reset that was settled there, or 0. */
	readonly settled: Seq;
	/** What the records under an undo rule did to the stacks. Those of resets and labels are not among them: they are in `records`. */
	readonly steps: readonly MoveStep[];
}

/** A record that a part ends with, and the next one begins behind. */
export interface PartEnd {
	readonly seq: Seq;
	readonly crc: string;
}

/** A part while it grows. */
export class GrowingPart implements IndexPart {
	readonly after: Seq;
	readonly prev: string;
	through: Seq;
	crc: string;
	readonly records: WalRecord[] = [];
	readonly checkpoints = new Marks();
	settled: Seq = 0;
	readonly steps: MoveStep[] = [];
	/** The stacks of undo and redo at its end. */
	readonly stacks: Stacks;
	readonly #ranges: SessionRanges;

	/** @param from where it begins; what is folded there are the stacks */
	constructor({ seq, crc }: PartEnd, stacks: Stacks) {
		this.after = seq;
		this.prev = crc;
		this.through = seq;
		this.crc = crc;
		this.stacks = stacks;
		this.#ranges = new SessionRanges(seq);
	}

	get end(): PartEnd {
		return { seq: this.through, crc: this.crc };
	}

	get spans(): Spans {
		return this.#ranges.spans;
	}

	/** Takes note of the next record. */
	add({ seq, crc, scope }: WalRecord): void {
		this.through = seq;
		this.crc = crc;
		this.#ranges.add(seq, scope);
	}

	/** Adds the part that follows. */
	append(next: IndexPart): void {
		this.through = next.through;
		this.crc = next.crc;
		for (const record of next.records) this.records.push(record);
		this.checkpoints.append(next.checkpoints);
		for (const step of next.steps) this.steps.push(step);
		this.settled = Math.max(this.settled, next.settled);
		this.#ranges.addAll(next.through, next.spans);
	}
}

const step = z.discriminatedUnion("kind", [
	z.strictObject({
		kind: z.literal("made"),
		move,
		undoes: z.int().positive().optional(),
		redoes: z.int().positive().optional(),
	}),
	z.strictObject({ kind: z.literal("began"), seq }),
]) as z.ZodType<MoveStep>;

/** A long list of whole numbers. Looked at as a whole: a schema for each of a million costs as much as reading them again. */
const wholes = (least: number) =>
	z.custom<readonly number[]>((value) => Array.isArray(value) && value.every((each) => isWhole(each) && each >= least));

const isWhole = (value: unknown): value is number => Number.isSafeInteger(value);

/** Seqs that ascend, each as what it is more than the one before. */
const ascending = wholes(1);

/** The agent, the session and the run of a scope; null for what it does not name. */
const scopeParts = z.custom<readonly (string | null)[]>(
	(value) =>
		Array.isArray(value) && value.length === 3 && value.every((part) => part === null || typeof part === "string"),
);

/** The name of a session, and where its records lie: a seq, and each further edge as what it is more than the one before. */
const session = z.custom<readonly [string, Seq, ...number[]]>(
	(value) =>
		Array.isArray(value) &&
		value.length % 2 === 1 &&
		value.length > 1 &&
		value.every((each, i) => (i === 0 ? typeof each === "string" : isWhole(each) && each >= (i === 1 ? 0 : 1))),
);

const stored = z.strictObject({
	v: z.literal(VERSION),
	log: z.string(),
	rules: z.string(),
	after: seq,
	through: seq,
	prev: z.string(),
	crc: z.string(),
	records: z.array(record),
	/** By column, since there are many: the n-th of each column is of the n-th checkpoint. */
	checkpoints: z.strictObject({
		seqs: ascending,
		/** Each as what it is more than the one before; a clock may have been set back. */
		times: wholes(Number.MIN_SAFE_INTEGER),
		/** In the lists below. */
		scopes: wholes(0),
		kinds: wholes(0),
		titles: z.custom<readonly string[]>(
			(value) => Array.isArray(value) && value.every((each) => typeof each === "string"),
		),
	}),
	/** Of the times, what is no whole number: by place. A clock may say so. */
	fractions: z.array(z.tuple([z.int().nonnegative(), z.number()])).optional(),
	scopes: z.array(scopeParts),
	kinds: z.array(z.string()),
	sessions: z.array(session),
	settled: seq,
	steps: z.array(step),
});

type Stored = z.input<typeof stored>;

/** The text of a part: a line with a checksum, and a line of JSON. */
export function encodePart(part: IndexPart, { log, rules }: PartKey): string {
	const { after, through, prev, crc, records, checkpoints, spans, settled, steps } = part;
	const marks = [...checkpoints];
	const scopes = new Numbered<readonly (string | null)[]>();
	const kinds = new Numbered<string>();
	const fractions = marks.flatMap(({ ts }, i): [number, number][] => (isWhole(ts) ? [] : [[i, ts]]));
	const all: Stored = {
		v: VERSION,
		log,
		rules,
		after,
		through,
		prev,
		crc,
		records: records.map(plain),
		checkpoints: {
			seqs: differences(
				marks.map((mark) => mark.seq),
				after,
			),
			times: differences(marks.map(({ ts }) => (isWhole(ts) ? ts : 0))),
			scopes: marks.map(({ scope }) => scopes.numberOf(scopeKey(scope), partsOf(scope))),
			kinds: marks.map(({ kind }) => kinds.numberOf(kind, kind)),
			titles: marks.map(({ title }) => title),
		},
		...(fractions.length > 0 && { fractions }),
		scopes: scopes.all,
		kinds: kinds.all,
		sessions: Array.from(spans, ([key, edges]) => [key, ...differences(edges)] as [string, Seq, ...number[]]),
		settled,
		steps: [...steps],
	};
	return sealed(JSON.stringify(all));
}

/** Undefined for a text that is none, is damaged, of a newer version, or made for something else. */
export function decodePart(text: string, { log, rules }: PartKey): IndexPart | undefined {
	const json = unsealed(text);
	if (json === undefined) return undefined;
	const { data } = stored.safeParse(parsed(json));
	if (data?.log !== log || data.rules !== rules) return undefined;
	const { after, through, prev, crc, records, settled, steps } = data;
	const checkpoints = marksOf(data);
	const spans = data.sessions.map((session) => [session[0], edgesOf(session)] as const);
	const isWithin = (each: Seq | undefined): boolean => each === undefined || (each > after && each <= through);
	const isSound =
		checkpoints !== undefined &&
		after < through &&
		(checkpoints.length === 0 || isWithin(checkpoints.newest)) &&
		records.every(({ seq }, i) => isWithin(seq) && seq > (records[i - 1]?.seq ?? 0)) &&
		spans.every(([, edges]) => (edges[0] as Seq) >= after && isWithin(edges.at(-1)));
	return isSound ? { after, through, prev, crc, records, checkpoints, spans, settled, steps } : undefined;
}

/** Undefined when the columns do not fit each other. */
function marksOf(data: z.output<typeof stored>): Marks | undefined {
	const { after, checkpoints, fractions = [], kinds } = data;
	const seqs = sums(checkpoints.seqs, after);
	const times = sums(checkpoints.times, 0);
	if (Object.values(checkpoints).some((column) => column.length !== seqs.length)) return undefined;
	for (const [i, ts] of fractions) times[i] = ts;
	const allScopes = data.scopes.map(scopeOf);
	const isKnown = (list: readonly unknown[]) => (number: number) => number < list.length;
	if (!checkpoints.scopes.every(isKnown(allScopes)) || !checkpoints.kinds.every(isKnown(kinds))) return undefined;
	return Marks.of({ ...checkpoints, seqs, times, allScopes, allKinds: kinds });
}

const partsOf = ({ agent = null, session = null, run = null }: Nullable<Scope>) => [agent, session, run];

type Nullable<T> = { readonly [Key in keyof T]: T[Key] | null };

const scopeOf = ([agent, session, run]: readonly (string | null | undefined)[]): Scope => ({
	...(typeof agent === "string" && { agent }),
	...(typeof session === "string" && { session }),
	...(typeof run === "string" && { run }),
});

/** The record without further fields that a log may have given it. */
const plain = ({ seq, ts, kind, scope, data, crc }: WalRecord): WalRecord => ({ seq, ts, kind, scope, data, crc });

/** Of each number to the one before; {@link sums} takes it back. */
function differences(numbers: readonly number[], from = 0): number[] {
	let last = from;
	return numbers.map((number) => {
		const more = number - last;
		last = number;
		return more;
	});
}

/** As {@link sums}, behind the name. */
function edgesOf(session: readonly [string, Seq, ...number[]]): Seq[] {
	const edges: Seq[] = [];
	let last = 0;
	for (let i = 1; i < session.length; i++) {
		last += session[i] as number;
		edges.push(last);
	}
	return edges;
}

function sums(differences: readonly number[], from: number): number[] {
	let last = from;
	return differences.map((more) => {
		last += more;
		return last;
	});
}

/** Values that come again and again, each once, by number. */
class Numbered<T> {
	readonly all: T[] = [];
	readonly #numbers = new Map<string, number>();

	numberOf(key: string, value: T): number {
		let number = this.#numbers.get(key);
		if (number === undefined) {
			number = this.all.push(value) - 1;
			this.#numbers.set(key, number);
		}
		return number;
	}
}
