/** The steps of one log in memory, for who is their only writer: the fold of the projection, in place. */
import type { WalRecord } from "@reyn/wal";
import {
	entryAfter,
	entryKey,
	forgotten,
	type Identity,
	type JournalEntry,
	type Recall,
	type Recorded as RecordedStep,
	recallEntry,
	recordedOf,
	stepKinds,
} from "./entry.ts";
import { startsDurably } from "./purity.ts";
import { laneClosed, laneFailed, stepStarted } from "./records.ts";

interface RecordedLane {
	readonly entries: Map<string, JournalEntry>;
	/** In it or below. */
	lastEffect: number;
	/** The newest `after` of its steps. */
	asked: number;
	readonly lanes: Map<string, RecordedLane>;
}

export class Recorded {
	readonly #root: RecordedLane = newLane();

	/** @param seed records in the order of their seqs; those of no step are passed over */
	constructor(seed: Iterable<WalRecord> = []) {
		for (const record of seed) this.record(record);
	}

	/** What is known of a step. */
	lookup(step: Pick<Identity, "lane" | "fp" | "occ">): JournalEntry | undefined {
		return this.#laneAt(step.lane)?.entries.get(entryKey(step));
	}

	/**
	 * What that means for a step that is about to be called.
	 *
	 * @param program the lane that all lanes of the step's program are below; "" is all of them. Default: the step's own
	 */
	recall(step: Identity, program = step.lane): Recall {
		const depth = program === "" ? 0 : program.split("/").length;
		const path = this.#pathTo(step.lane);
		const lane = step.lane.split("/").length + 1 === path.length ? path.at(-1) : undefined;
		const asked = Math.max(...path.map((each) => each.asked));
		return recallEntry(lane?.entries.get(entryKey(step)), { lastEffect: path[depth]?.lastEffect ?? 0, asked });
	}

	/** The steps of one lane, as an order of replay wants them. */
	*stepsIn(lane: string): Generator<RecordedStep> {
		for (const [key, entry] of this.#laneAt(lane)?.entries ?? []) yield recordedOf(key, entry);
	}

	/** Takes one more record. */
	record(record: WalRecord): void {
		if (laneClosed.is(record)) close(this.#root, record.data.lane.split("/"));
		if (laneFailed.is(record)) {
			const lane = this.#laneAt(record.data.lane);
			if (lane) forgetFailures(lane, 0);
		}
		if (!stepKinds.includes(record.kind)) return;
		const step = record.data as Identity;
		const isEffect = record.kind === stepStarted.kind && startsDurably(step.purity);
		let lane = this.#root;
		if (isEffect) lane.lastEffect = record.seq;
		for (const part of step.lane.split("/")) {
			const below = lane.lanes.get(part) ?? newLane();
			lane.lanes.set(part, below);
			lane = below;
			if (isEffect) lane.lastEffect = record.seq;
		}
		const key = entryKey(step);
		const entry = entryAfter(lane.entries.get(key), record);
		lane.entries.set(key, entry);
		lane.asked = Math.max(lane.asked, entry.after);
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

	/** All lanes from the first to this one, as far as they are there. */
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

const newLane = (): RecordedLane => ({ entries: new Map(), lastEffect: 0, asked: 0, lanes: new Map() });

function forgetFailures({ entries, lanes, asked }: RecordedLane, around: number): void {
	const newest = Math.max(around, asked);
	for (const [key, entry] of entries) entries.set(key, forgotten(entry, newest));
	for (const lane of lanes.values()) forgetFailures(lane, newest);
}

function* entriesBelow({ entries, lanes }: RecordedLane): Generator<JournalEntry> {
	yield* entries.values();
	for (const lane of lanes.values()) yield* entriesBelow(lane);
}

function close(lane: RecordedLane, [part, ...rest]: readonly string[]): void {
	const below = part === undefined ? undefined : lane.lanes.get(part);
	if (part === undefined || !below) return;
	if (rest.length > 0) close(below, rest);
	if (rest.length === 0 || below.entries.size + below.lanes.size === 0) lane.lanes.delete(part);
}
