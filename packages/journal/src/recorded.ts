/** The journal of one log as mutable maps in memory: the same fold as the projection, for a process that is the only writer. */
import type { WalRecord } from "@reyn/wal";
import {
	cutCalls,
	entryAfter,
	entryKey,
	forgotten,
	goneFrom,
	type Identity,
	innerLane,
	type JournalEntry,
	letThrough,
	letThroughLast,
	newestBegun,
	type Recall,
	type RecordedStep,
	recallEntry,
	recordedOf,
	stepKinds,
} from "./entry.ts";
import { startsDurably } from "./purity.ts";
import { type CallKey, laneClosed, laneFailed, stepStarted } from "./records.ts";
import { scriptFailed, scriptLane } from "./script/records.ts";

interface RecordedLane {
	readonly entries: Map<string, JournalEntry>;
	/** The fields have the meaning of `JournalState`: the newest effect in the lane or below. */
	lastEffect: number;
	/** The largest `after` of the lane's steps. */
	asked: number;
	/** The smallest `after` in the lane and below. */
	begun: number;
	readonly lanes: Map<string, RecordedLane>;
}

export class Recorded {
	readonly #root: RecordedLane = newLane();

	/** @param seed records in the order of their seqs; records that are not about steps are passed over */
	constructor(seed: Iterable<WalRecord> = []) {
		for (const record of seed) this.record(record);
	}

	/** The entry of a step; undefined: nothing is recorded. */
	lookup(step: Pick<Identity, "lane" | "fp" | "occ">): JournalEntry | undefined {
		return this.#laneAt(step.lane)?.entries.get(entryKey(step));
	}

	/**
	 * What the log knows of a step that is about to be called.
	 *
	 * @param program the root lane of the step's program; "" is the whole journal. Default: the step's lane
	 */
	recall(step: Identity, program = step.lane): Recall {
		const depth = program === "" ? 0 : program.split("/").length;
		const path = this.#pathTo(step.lane);
		const lane = step.lane.split("/").length + 1 === path.length ? path.at(-1) : undefined;
		const entry = lane?.entries.get(entryKey(step));
		const own = path.slice(depth);
		// Other lanes matter only for a failure: whether any of them began with knowledge of it.
		const beside = entry?.outcome?.type === "failed" ? newestBeside(own) : 0;
		const asked = Math.max(beside, ...own.map((each) => each.asked));
		return recallEntry(entry, { lastEffect: own[0]?.lastEffect ?? 0, asked });
	}

	/** The steps of one lane, as the order of a replay needs them. */
	*stepsIn(lane: string): Generator<RecordedStep> {
		const found = this.#laneAt(lane);
		if (!found) return;
		for (const [key, entry] of found.entries) yield recordedOf(key, entry);
		yield* cutCalls(
			found.entries.keys(),
			found.lanes.entries().map(([name, below]) => [name, entriesBelow(below)]),
		);
	}

	/** The largest place that had been told when the first step in a lane or below was asked for; undefined: it has no steps. */
	firstBelow(lane: string): number | undefined {
		return this.#laneAt(lane)?.begun;
	}

	/** Folds one more record. */
	record(record: WalRecord): void {
		if (laneClosed.is(record)) close(this.#root, record.data.lane.split("/"));
		if (laneFailed.is(record)) this.#forgetFailures(record.data.lane, record.data.by, () => 0);
		// Branches of a script may share variables, so a call in any of them may rest on a failure.
		if (scriptFailed.is(record)) this.#forgetFailures(scriptLane(record.data.run), record.data.by, newestAsked);
		if (!stepKinds.includes(record.kind)) return;
		const step = record.data as Identity & {
			readonly within?: number;
			readonly moves?: string;
			readonly closed?: true;
		};
		if (step.closed && !this.lookup(step)) return;
		const isEffect = record.kind === stepStarted.kind && startsDurably(step.purity);
		const path = [this.#root];
		for (const part of step.lane.split("/")) {
			const { lanes } = path.at(-1) as RecordedLane;
			const below = lanes.get(part) ?? newLane();
			lanes.set(part, below);
			path.push(below);
		}
		const lane = path.at(-1) as RecordedLane;
		const key = entryKey(step);
		const before = lane.entries.get(key);
		const program = step.moves === "" ? this.#root : step.moves && this.#laneAt(step.moves);
		if (program) changeAll(program, (each) => goneFrom(each, before?.order ?? record.seq));
		const entry = entryAfter(before, record);
		lane.entries.set(key, entry);
		lane.asked = Math.max(lane.asked, entry.after);
		if (isEffect) for (const each of path) each.lastEffect = record.seq;
		for (const each of path) each.begun = Math.min(each.begun, step.within ?? entry.after);
	}

	/** Folds the end of a program by throwing. The parameters are those of `failedBy` in `journal.ts`. */
	#forgetFailures(program: string, by: readonly CallKey[] | undefined, around: (lane: RecordedLane) => number): void {
		const lane = this.#laneAt(program);
		if (!lane) return;
		for (const call of by ?? []) {
			const entries = this.#laneAt(call.lane)?.entries;
			const entry = entries?.get(entryKey(call));
			const next = entry && letThrough(entry);
			if (!next || next === entry) continue;
			changeAll(lane, (each) => goneFrom(each, entry.order ?? 0));
			entries?.set(entryKey(call), next);
			const inside = this.#laneAt(innerLane(call));
			if (inside) forgetFailures(inside, letThroughLast, 0);
		}
		forgetFailures(lane, forgotten, around(lane));
	}

	/** Every step, lane by lane, in the order of their first records. */
	entries(): Generator<JournalEntry> {
		return entriesBelow(this.#root);
	}

	#laneAt(path: string): RecordedLane | undefined {
		let lane: RecordedLane | undefined = this.#root;
		for (const part of path.split("/")) lane = lane?.lanes.get(part);
		return lane;
	}

	/** The lanes from the root down to this one, as far as they exist. */
	#pathTo(lane: string): readonly RecordedLane[] {
		const path = [this.#root];
		for (const part of lane.split("/")) {
			const below = path.at(-1)?.lanes.get(part);
			if (!below) break;
			path.push(below);
		}
		return path;
	}
}

const newLane = (): RecordedLane => ({
	entries: new Map(),
	lastEffect: 0,
	asked: 0,
	begun: Number.MAX_SAFE_INTEGER,
	lanes: new Map(),
});

/** The largest `begun` of all lanes off a path. */
function newestBeside(path: readonly RecordedLane[]): number {
	let newest = 0;
	for (const [i, { lanes }] of path.entries())
		for (const lane of lanes.values()) if (lane !== path[i + 1]) newest = Math.max(newest, newestIn(lane));
	return newest;
}

const newestIn = (lane: RecordedLane): number => newestBegun(begunOf(lane));

const begunOf = ({ begun, entries, lanes }: RecordedLane): Parameters<typeof newestBegun>[0] => ({
	begun,
	hasSteps: entries.size > 0,
	*below() {
		for (const [name, lane] of lanes) yield [name, begunOf(lane)] as const;
	},
});

/** The largest `after` in a lane and below. */
function newestAsked(lane: RecordedLane): number {
	let newest = 0;
	for (const { asked } of lanesBelow(lane)) newest = Math.max(newest, asked);
	return newest;
}

/** Forgets the failures in a lane and below that nothing rests on, so that those steps are called again. @param above the lanes above */
function forgetFailures(
	lane: RecordedLane,
	after: typeof forgotten,
	around: number,
	above: readonly RecordedLane[] = [],
): void {
	const path = [...above, lane];
	const asked = Math.max(around, ...path.map((each) => each.asked), newestBeside(path));
	for (const [key, entry] of lane.entries) lane.entries.set(key, after(entry, asked));
	for (const below of lane.lanes.values()) forgetFailures(below, after, around, path);
}

function changeAll(lane: RecordedLane, change: (entry: JournalEntry) => JournalEntry): void {
	for (const { entries } of lanesBelow(lane)) for (const [key, entry] of entries) entries.set(key, change(entry));
}

function* entriesBelow(lane: RecordedLane): Generator<JournalEntry> {
	for (const { entries } of lanesBelow(lane)) yield* entries.values();
}

function* lanesBelow(lane: RecordedLane): Generator<RecordedLane> {
	yield lane;
	for (const below of lane.lanes.values()) yield* lanesBelow(below);
}

function close(lane: RecordedLane, [part, ...rest]: readonly string[]): void {
	const below = part === undefined ? undefined : lane.lanes.get(part);
	if (part === undefined || !below) return;
	if (rest.length > 0) close(below, rest);
	if (rest.length === 0 || below.entries.size + below.lanes.size === 0) lane.lanes.delete(part);
}
