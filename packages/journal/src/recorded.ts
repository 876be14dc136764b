/** The steps of one log in memory, for who is their only writer: the fold of the projection, in place. */
import type { WalRecord } from "@reyn/wal";
import {
	entryAfter,
	entryKey,
	type Identity,
	type JournalEntry,
	type Recall,
	recallEntry,
	stepKinds,
} from "./entry.ts";
import { startsDurably } from "./purity.ts";
import { laneClosed, stepStarted } from "./records.ts";

interface RecordedLane {
	readonly entries: Map<string, JournalEntry>;
	lastEffect: number;
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

	/** What that means for a step that is about to be called. */
	recall(step: Identity): Recall {
		const lane = this.#laneAt(step.lane);
		return recallEntry(lane?.entries.get(entryKey(step)), lane?.lastEffect ?? 0);
	}

	/** Takes one more record. */
	record(record: WalRecord): void {
		if (laneClosed.is(record)) close(this.#root, record.data.lane.split("/"));
		if (!stepKinds.includes(record.kind)) return;
		const step = record.data as Identity;
		let lane = this.#root;
		for (const part of step.lane.split("/")) {
			const below = lane.lanes.get(part) ?? newLane();
			lane.lanes.set(part, below);
			lane = below;
		}
		const key = entryKey(step);
		lane.entries.set(key, entryAfter(lane.entries.get(key), record));
		if (record.kind === stepStarted.kind && startsDurably(step.purity)) lane.lastEffect = record.seq;
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
}

const newLane = (): RecordedLane => ({ entries: new Map(), lastEffect: 0, lanes: new Map() });

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
