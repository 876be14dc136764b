/** Row 7: killed at every system call on the snapshots' files, in captures and in collections. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { collect, fileSnapshots, SnapshotStore } from "@reyn/snapshot";
import { newestSnapshot } from "@reyn/snapshot/internal";
import { fileBlobs, type Seq } from "@reyn/wal";
import { type Case, type Fault, runCases } from "../fault.ts";
import { type Acked, checkLog, openLog } from "../lab/check.ts";
import { type Killed, killAtCalls } from "../lab/kill-points.ts";
import { needsAll } from "../lab/needs.ts";
import { runToEnd } from "../lab/start.ts";
import type { Command, KeeperOptions } from "./keeper.ts";
import { foldTo, readFrom, scope, stateAt } from "./talk.ts";

const PROGRAM = join(import.meta.dirname, "keeper.ts");

/** A compaction after each snapshot, so that it has chunks of its own and others that it shares. */
const stored: readonly Command[] = [
	["append", 150],
	["capture"],
	["append", 120],
	["capture"],
	["append", 120],
	["capture"],
];
const more: readonly Command[] = [["append", 40], ["capture"]];

const cases: readonly Case[] = [
	killedIn("the first two captures", [["append", 150]], [...more, ...more]),
	killedIn("a capture that shares chunks", stored.slice(0, 4), more),
	killedIn("a collection that leaves the newest", stored, [["collect", "newest"]]),
	killedIn("a collection that leaves the oldest", stored, [["collect", "oldest"]]),
];

export const fault: Fault = {
	name: "captures",
	title: "SIGKILL before every system call on the snapshots' files",
	promise: "the old snapshot or the new one, and the same state",
	rows: [
		{
			row: 7,
			title: "killed at every system call of captures and of collections",
			how: "strace: SIGKILL before the N-th call on each file below the snapshots; a ledger in the parent",
			promise:
				"the old snapshot or the new one, each that is there whole, and used without the log before it; nothing had to be set aside; the state is the log's; what was told is there; run again it finishes",
			seen: "310 of 310 points: 186 of captures, two in one process and one that shares chunks with older ones; 124 of collections",
		},
	],
	needs: () => undefined,
	run: (settings) => runCases(cases, settings),
};

function killedIn(what: string, before: readonly Command[], script: readonly Command[]): Case {
	const options: KeeperOptions = { script };
	const killed: Killed<readonly string[]> = {
		program: PROGRAM,
		options: () => options,
		below: "snapshots",
		counted: "snapshots left",
		prepare: (directory) => runToEnd(PROGRAM, directory, { script: before }),
		async check(directory, earlier, lines) {
			const told = [...earlier, ...lines];
			await checkLog(join(directory, "log"), ackedIn(told));
			const found = await checkSnapshots(directory, told);
			const again = await runToEnd(PROGRAM, directory, options);
			await checkSnapshots(directory, [...told, ...again]);
			if (script.at(-1)?.[0] === "collect") await checkCollected(directory);
			return found;
		},
	};
	return {
		name: `killed in ${what}`,
		needs: () => needsAll("strace"),
		run: (settings) => killAtCalls(killed, settings),
	};
}

/** Gives how many snapshots are there. */
async function checkSnapshots(directory: string, told: readonly string[]): Promise<number> {
	const blobs = fileBlobs(join(directory, "snapshots"));
	const wal = await openLog(join(directory, "log"), true);
	try {
		const seqs = await new SnapshotStore(blobs).roots(scope, true);
		const begun = seqsIn(told, "collecting");
		for (const seq of seqsIn(told, "captured"))
			if (!begun.includes(seq)) assert.ok(seqs.includes(seq), `the snapshot at ${seq} is gone`);
		// Told or not: one that is there is whole, and no record before its own is read.
		for (const seq of seqs)
			assert.equal(
				await stateAt(readFrom(wal, seq), new SnapshotStore(blobs), seq),
				await foldTo(wal, seq),
				`at ${seq}`,
			);
		for (const seq of [1, 100, 151, wal.tip])
			assert.equal(await stateAt(wal, new SnapshotStore(blobs), seq), await foldTo(wal, seq), `at ${seq}`);
		assert.equal(await newestSnapshot(new SnapshotStore(blobs), wal.id, [scope]), seqs[0] ?? 0);
		assert.deepEqual(await blobs.list("broken/"), [], "a snapshot was set aside");
		return seqs.length;
	} finally {
		await wal.close();
	}
}

/** Once it came to its end there is one snapshot, and no chunk that it does not need. */
async function checkCollected(directory: string): Promise<void> {
	const snapshots = fileSnapshots(join(directory, "snapshots"));
	assert.equal((await snapshots.roots(scope, true)).length, 1);
	const rest = await collect(snapshots, { keep: () => true, dryRun: true });
	assert.deepEqual(rest, { roots: [], chunks: 0, damaged: [] });
}

export const ackedIn = (lines: readonly string[]): Acked[] =>
	lines.flatMap((line) => {
		const [, seq, crc = ""] = /^acked (\d+) ([0-9a-f]{8})$/.exec(line) ?? [];
		return seq === undefined ? [] : [{ seq: Number(seq), crc }];
	});

/** What was told with this word. */
export const seqsIn = (lines: readonly string[], word: string): Seq[] =>
	lines.filter((line) => line.startsWith(`${word} `)).map((line) => Number(line.slice(word.length + 1)));
