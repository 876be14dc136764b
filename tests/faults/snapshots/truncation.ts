/** Row 10: killed at every system call on a log's files, of a process that truncates it and of the one that comes next. */
import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { fileSnapshots } from "@reyn/snapshot";
import type { Seq, Wal } from "@reyn/wal";
import { type Case, type Fault, runCases } from "../fault.ts";
import { type Acked, codeOf, openLog } from "../lab/check.ts";
import { killAtCalls } from "../lab/kill-points.ts";
import { needsAll } from "../lab/needs.ts";
import { runToEnd, start } from "../lab/start.ts";
import { strace } from "../lab/strace.ts";
import { ackedIn, seqsIn } from "./captures.ts";
import type { Command, KeeperOptions } from "./keeper.ts";
import { foldTo, readFrom, stateAt } from "./talk.ts";

const PROGRAM = join(import.meta.dirname, "keeper.ts");
/** Some five records. */
const segmentBytes = 1500;

interface Before {
	readonly acked: readonly Acked[];
	/** The log's first record. */
	readonly first: Seq;
	/** What must stay: the record of the newest snapshot, and those after it. */
	readonly floor: Seq;
	/** The state there and at the tip, from the whole log. */
	readonly atFloor: string;
	readonly atTip: string;
}

const cases: readonly Case[] = [
	killedIn("the first truncation", [["append", 20], ["capture"], ["append", 6]]),
	killedIn(
		"another truncation",
		[["append", 12], ["capture"], ["append", 12], ["capture"], ["append", 6]],
		"once more",
	),
	killedIn("a truncation that leaves the active segment", [["append", 21], ["capture"]]),
	killedIn("an opening beside what one has left", [["append", 20], ["capture"], ["append", 6]], "was cut"),
];

export const fault: Fault = {
	name: "truncation",
	title: "SIGKILL before every system call of a truncation",
	promise: "what is after the floor stays, and no hole",
	rows: [
		{
			row: 10,
			title: "killed at every system call of a truncation, and of an opening beside what one has left",
			how: "strace: SIGKILL before the N-th call on each of the log's files; a ledger in the parent",
			promise:
				"a reader and two writers see the same: from the floor on every record with its crc, below it `WAL_TRUNCATED` or all that was there, no hole; the snapshot at the floor gives the state without a record before it; run again it finishes. This is the bare log; `gc` of a timeline, and what live work holds back, is row 11",
			seen: "434 of 434 points",
		},
	],
	needs: () => undefined,
	run: (settings) => runCases(cases, settings),
};

/** @param earlier was there a truncation before, to the oldest snapshot; or this very one, cut where a segment goes? */
function killedIn(what: string, story: readonly Command[], earlier?: "once more" | "was cut"): Case {
	return {
		name: `killed in ${what}`,
		needs: () => needsAll("strace"),
		run: (settings) =>
			killAtCalls<Before>(
				{
					program: PROGRAM,
					options: ({ floor }) => ({ script: earlier === "was cut" ? [] : [["truncate", floor]], segmentBytes }),
					below: "log",
					counted: "first seq",
					async prepare(directory) {
						const lines = await keep(directory, story);
						const snapshots = seqsIn(lines, "captured");
						const floor = snapshots.at(-1) ?? 0;
						const wal = await openLog(join(directory, "log"), true);
						const before = {
							acked: ackedIn(lines),
							floor,
							atFloor: await foldTo(wal, floor),
							atTip: await foldTo(wal, wal.tip),
						};
						await wal.close();
						if (earlier === "once more") await keep(directory, [["truncate", snapshots[0] ?? 0]]);
						if (earlier === "was cut") await cutTruncation(directory, floor);
						const again = await openLog(join(directory, "log"), true);
						await again.close();
						return { ...before, first: again.first };
					},
					async check(directory, before, lines) {
						const [told] = seqsIn(lines, "truncated");
						const first = await checkTruncated(directory, before);
						assert.equal(told ?? first, first);
						await keep(directory, [["truncate", before.floor]]);
						const last = await checkTruncated(directory, before);
						const gone = before.acked.filter(({ seq }) => seq < last);
						assert.ok(first === before.first || first === last, `it began at ${first}, between two truncations`);
						assert.ok(last > 1 && gone.length > 0, `run again it took nothing away: the log begins at ${last}`);
						return first;
					},
				},
				settings,
			),
	};
}

const keep = (directory: string, script: readonly Command[]): Promise<readonly string[]> =>
	runToEnd(PROGRAM, directory, { script, segmentBytes } satisfies KeeperOptions);

/** What is kept is durable by then, and no segment is gone yet. */
async function cutTruncation(directory: string, before: Seq): Promise<void> {
	const [oldest = ""] = await segmentNames(directory);
	const atUnlink = strace("/dev/null", [join(directory, "log", oldest)], "-e", "inject=/^unlink:signal=SIGKILL");
	const { ended, stderr } = start(PROGRAM, directory, { script: [["truncate", before]], segmentBytes }, atUnlink);
	const { code, signal } = await ended;
	assert.ok(signal === "SIGKILL" || code === 137, `it was not cut: ${stderr()}`);
	assert.equal((await segmentNames(directory))[0], oldest);
}

/** A reader and then two writers see the same. Gives the first seq of the log. */
async function checkTruncated(directory: string, before: Before): Promise<Seq> {
	const firsts = new Set<Seq>();
	for (const readOnly of [true, false, false]) {
		const wal = await openLog(join(directory, "log"), readOnly);
		try {
			firsts.add(wal.first);
			await checkRecords(wal, before);
			const kept = readFrom(wal, before.floor);
			const snapshots = fileSnapshots(join(directory, "snapshots"));
			assert.equal(await stateAt(kept, snapshots, before.floor), before.atFloor, "the state at the floor");
			assert.equal(await stateAt(kept, snapshots, wal.tip), before.atTip, "the state at the tip");
			// What a cut truncation has left goes with the next one, which changes nothing else: a timeline asks for it when it settles.
			if (!readOnly) await wal.truncate({ before: wal.first });
		} finally {
			await wal.close();
		}
	}
	const [first = 0, ...more] = firsts;
	assert.deepEqual(more, [], `the log began at ${first}, and then at ${more}`);
	assert.ok(first >= before.first && first <= before.floor, `it begins at ${first}; the floor is ${before.floor}`);
	const [oldest = first] = (await segmentNames(directory)).map((name) => Number(/\d+/.exec(name)));
	assert.equal(oldest, first, "the writer has left a segment from before the log's beginning");
	return first;
}

/** From the first one on all are there, and before it is nothing, which is said. */
async function checkRecords(wal: Wal, { acked }: Before): Promise<void> {
	const crcs = new Map<Seq, string>();
	for await (const { seq, crc } of wal.read({ after: wal.first - 1 })) {
		assert.equal(seq, wal.first + crcs.size, "a hole");
		crcs.set(seq, crc);
	}
	assert.equal(crcs.size, wal.tip - wal.first + 1);
	for (const { seq, crc } of acked) if (seq >= wal.first) assert.equal(crcs.get(seq), crc, `seq ${seq} is lost`);
	if (wal.first === 1) return;
	for (const after of [0, wal.first - 2])
		assert.equal(
			await codeOf(async () => {
				for await (const { seq } of wal.read({ after })) assert.fail(`seq ${seq} was read, after ${after}`);
			}),
			"WAL_TRUNCATED",
		);
}

/** Of the sealed ones, oldest first. */
const segmentNames = async (directory: string): Promise<readonly string[]> =>
	(await readdir(join(directory, "log"))).filter((name) => /^wal-\d+\.jsonl$/.test(name)).sort();
