/**
 * The program whose snapshots find no room: `writer.ts <log> <snapshots> <limit|ballast> [free bytes]`. It stores a
 * snapshot, lets the disk be full for the next, larger one, looks at what is left, and makes room again. With `limit` no file
 * may grow beyond a limit; with `ballast` the file system is filled up but for the free bytes. Prints what it saw as JSON.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { closeSync, openSync, rmSync, truncateSync, writeSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { defineProjection, fileSnapshots, type View } from "@reyn/snapshot";
import { openTimeline, type Timeline, timetravelRecords } from "@reyn/timetravel";
import { fileEngine, openWal } from "@reyn/wal";
import { codeOf } from "../lab/check.ts";
import { numbered } from "../lab/numbered.ts";

export interface SnapshotReport {
	/** The code of the error that the checkpoint failed with. */
	readonly code: string;
	readonly message: string;
	/** Records that were acknowledged while there was no room. */
	readonly acknowledged: number;
}

const [directory = "", store = "", how = "", free = "0"] = process.argv.slice(2);
const LIMIT = 64 * 1024;
const ballast = join(store, "ballast");

/** As large as its records say, so that a snapshot can be large where the log is small. */
const pile = defineProjection<{ readonly seen: number; readonly text: string }>({
	name: "pile",
	version: 1,
	schema: { "~standard": { version: 1, vendor: "faults", validate: (value) => ({ value: value as never }) } },
	init: () => ({ seen: 0, text: "" }),
	handle: (on) => [on(numbered, ({ seen, text }, { n }) => ({ seen: seen + 1, text: text + "x".repeat(n) }))],
});

const records = [numbered, ...timetravelRecords];
const snapshotDue = (): boolean => true;
const open = async () => {
	const wal = await openWal(fileEngine(directory, { allocateBytes: 4096 }), { records });
	return {
		wal,
		timeline: await openTimeline({ wal, snapshots: fileSnapshots(store), projections: [pile], snapshotDue }),
	};
};

const first = await open();
await grow(first.timeline, 10, 100);
await cut(first.timeline);
const before = await stored();
setRoom(false);
await grow(first.timeline, 1, 2 * LIMIT);
const error = await cut(first.timeline).then(
	() => undefined,
	(error: Error & { code?: string }) => error,
);
assert.ok(error, "there was room");
assert.deepEqual(await stored(), before, "the old snapshot is not as it was, or something was left beside it");
await grow(first.timeline, 20, 0);
const hash = (await at(first.timeline)).hash();
assert.equal(await codeOf(() => first.wal.close()), "none");

// A new process would see the same: the old snapshot, and the records after it.
const second = await open();
assert.equal((await at(second.timeline)).hash(), hash, "another state");
assert.equal((await at(second.timeline)).get(pile).seen, 31);
setRoom(true);
await cut(second.timeline);
assert.equal((await stored()).size, before.size + 1, "with room there is no new snapshot");
assert.equal((await at(second.timeline)).hash(), hash);
await second.wal.close();
const report: SnapshotReport = { code: error.code ?? "-", message: error.message, acknowledged: 20 };
console.log(JSON.stringify(report));

async function grow(timeline: Timeline, count: number, by: number): Promise<void> {
	for (let i = 0; i < count; i++) await timeline.handle().append(numbered({ n: by, text: "" }), {}).durable;
}

async function cut(timeline: Timeline): Promise<void> {
	const view = await at(timeline);
	await timeline.checkpoint("turn", "a checkpoint", {}, view);
}

function at(timeline: Timeline): Promise<View> {
	return timeline.at(timeline.lineage.tip, {});
}

function setRoom(room: boolean): void {
	if (how === "limit") {
		execFileSync("prlimit", ["--pid", String(process.pid), `--fsize=${room ? "unlimited" : LIMIT}:unlimited`]);
	} else if (room) rmSync(ballast);
	else {
		const file = openSync(ballast, "w");
		let size = 0;
		try {
			for (;;) size += writeSync(file, Buffer.alloc(4096));
		} catch {}
		closeSync(file);
		truncateSync(ballast, Math.max(0, size - Number(free)));
	}
}

async function stored(): Promise<Map<string, string>> {
	const names = (await readdir(store, { recursive: true })).filter((name) => /\.(blob|tmp)$/.test(name)).sort();
	return new Map(
		await Promise.all(names.map(async (name) => [name, await readFile(join(store, name), "latin1")] as const)),
	);
}
