/** The index of a timeline as one value: opened with what is stored of it, it has to be the one that is read from the log alone. */
import { memorySnapshots, type SnapshotStore } from "@reyn/snapshot";
import type { BlobStore, Wal, WalRecord } from "@reyn/wal";
import { type Unparsed, unparsed } from "@reyn/wal/internal";
import { expect } from "vitest";
import type { UndoRules } from "../src/index.ts";
import { Retained } from "../src/retained.ts";
import { StoredIndex } from "../src/stored-index.ts";
import { rulesOf, TimelineIndex } from "../src/timeline-index.ts";

export interface Shelf {
	readonly wal: Wal;
	readonly snapshots: SnapshotStore;
	readonly kept: BlobStore;
	readonly undoRules?: UndoRules | undefined;
	readonly keptKinds?: readonly string[];
}

/** @returns how many parts were believed */
export async function expectSameIndex({
	wal,
	snapshots,
	kept,
	undoRules = {},
	keptKinds = [],
}: Shelf): Promise<number> {
	const of = { wal, branches: (await Retained.open(kept, wal)).index, undoRules, keptKinds, readOnly: true };
	const stored = await TimelineIndex.open({ ...of, snapshots });
	const read = await TimelineIndex.open({ ...of, snapshots: memorySnapshots() });
	expect(held(stored)).toEqual(held(read));
	return (await partsOf({ wal, snapshots, kept, undoRules, keptKinds })).length;
}

/** Those that are believed. */
export async function partsOf({ wal, snapshots, kept, undoRules = {}, keptKinds = [] }: Shelf) {
	const from = (await Retained.open(kept, wal)).retainedFrom - 1;
	const rules = rulesOf({ undoRules, keptKinds });
	return new StoredIndex(snapshots, { wal, from, rules }).load((unparsed(wal) as Unparsed).parsed);
}

const held = (index: TimelineIndex) => ({
	seen: index.seen,
	settled: index.settled,
	spans: [...index.sessionRanges.spans],
	checkpoints: [...index.checkpoints],
	labels: [...index.labels],
	moves: index.moves,
	retained: index.retained.map(plain),
	facts: [...index.factsAfter(0)].map(plain),
});

const plain = ({ seq, ts, kind, scope, data, crc }: WalRecord) => ({ seq, ts, kind, scope, data, crc });
