/**
 * Rows 3, 4 and 24: a real power cut. The log lies on an ext4 or XFS image; the "going down" ioctl stops it with nothing
 * flushed, as if the plug were pulled, and what was never synced is gone when it is mounted again.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { type Random, seeded } from "../../kit/seeded.ts";
import { type Case, type Fault, runCases, type Settings } from "../fault.ts";
import { type Acked, checkLog, checkRecords, codeOf, openLog, readAll } from "../lab/check.ts";
import { type FileSystem, type LoopDisk, needsDisk, withDisk } from "../lab/loop-disk.ts";
import { needsAll } from "../lab/needs.ts";
import { sleep, startWriter } from "../lab/start.ts";
import { strace } from "../lab/strace.ts";

export const fault: Fault = {
	name: "powercut",
	title: "power cuts on a real ext4 and XFS, with fdatasync a lie too",
	promise: "everything acknowledged is there, and the loss by a lie is found at the open",
	rows: [
		{
			row: 3,
			title: "power cut under load",
			how: 'ext4 and XFS on a loop device, the "going down" ioctl without a flush, remount',
			promise: "all acknowledged is there",
			seen: "ext4: 25 of 25 rounds, 20,404 acknowledged, lost 0; XFS: 25 of 25, 18,524, lost 0",
		},
		{
			row: 4,
			title: "killed, recovered, power cut",
			how: "as row 3, with a recovery that shows what it found in between",
			promise: "what was shown is there",
			seen: "ext4: 25 of 25 rounds, 10,818 records shown, lost 0; XFS: 25 of 25, 10,466, lost 0",
		},
		{
			row: 24,
			title: "`fdatasync` a lie",
			how: "strace `retval=0`, then a power cut, on ext4 and XFS",
			promise: "the loss is found at the open whenever the head survives",
			seen: "on each 10 of 10 rounds lost acknowledged records; found 5 of 5 where the head survived, 0 of 5 where it was lost too",
		},
	],
	privileged: true,
	needs: () => needsAll("root", "gcc", "mount", "losetup"),
	run: (settings) => runCases([...casesOn("ext4"), ...casesOn("xfs")], settings),
};

type Try = (disk: LoopDisk, rounds: number, random: Random) => Promise<string>;

function casesOn(kind: FileSystem): Case[] {
	const on = (name: string, run: Try, more?: string): Case => ({
		name: `${kind}: ${name}`,
		needs: () => needsDisk(kind) ?? (more === undefined ? undefined : needsAll(more)),
		run: ({ rounds, seed, short }: Settings) =>
			withDisk(kind, (disk) => run(disk, rounds ?? (short ? 2 : 25), seeded(seed))),
	});
	return [
		on("cut under load (row 3)", underLoad),
		on("killed, recovered, cut (row 4)", killRecoverCut),
		on("fdatasync a no-op (row 24)", lyingSync, "strace"),
	];
}

async function underLoad(disk: LoopDisk, rounds: number, random: Random): Promise<string> {
	let acked = 0;
	let torn = 0;
	for (let i = 0; i < rounds; i++) {
		await disk.fresh();
		const writer = startWriter(disk.state, { segmentBytes: 64 * 1024, allocateBytes: 16 * 1024 });
		await writer.line("acked");
		await sleep(20 + random() * 250);
		disk.cut();
		await writer.kill();
		disk.again();
		const { torn: tail } = await checkLog(disk.state, writer.acked);
		if (tail) torn++;
		acked += writer.acked.length;
		disk.unmount();
	}
	return `${rounds} of ${rounds} rounds, ${acked} acknowledged, lost 0; torn tails set aside ${torn}`;
}

/** Killed, recovered by another process that shows what it found, and cut before anything more is written. */
async function killRecoverCut(disk: LoopDisk, rounds: number, random: Random): Promise<string> {
	let shown = 0;
	for (let i = 0; i < rounds; i++) {
		await disk.fresh();
		const writer = startWriter(disk.state, {});
		await writer.line("acked");
		await sleep(20 + random() * 100);
		await writer.kill();
		const wal = await openLog(disk.state);
		const records: Acked[] = [];
		for await (const { seq, crc } of wal.read()) records.push({ seq, crc });
		checkRecords((await collect(wal)).records, writer.acked);
		disk.cut();
		await wal.close().catch(() => {});
		disk.again();
		await checkLog(disk.state, records);
		shown += records.length;
		disk.unmount();
	}
	return `${rounds} of ${rounds} rounds, ${shown} records shown, lost 0`;
}

/** The negative control: with a sync that does nothing acknowledged records are lost, and this test sees it. */
async function lyingSync(disk: LoopDisk, rounds: number, random: Random): Promise<string> {
	let lost = 0;
	let lostWithHead = 0;
	let found = 0;
	let foundWithHead = 0;
	const tries = Math.max(2, Math.min(rounds, 10));
	for (let i = 0; i < tries; i++) {
		const headSurvives = i % 2 === 0;
		await disk.fresh();
		// The directory, header and first space are honest; the lie begins under load.
		const honest = startWriter(disk.state, { count: 4 });
		await honest.ended;
		const paths = ["wal.jsonl", "wal.head"].map((name) => join(disk.state, name));
		const writer = startWriter(disk.state, {}, strace("/dev/null", paths, "-e", "inject=fdatasync:retval=0:when=6+"));
		await writer.line("acked");
		await sleep(100 + random() * 150);
		if (headSurvives) spawnSync("sync", ["-d", join(disk.state, "wal.head")]);
		disk.cut();
		await writer.kill();
		disk.again();
		const acked = [...honest.acked, ...writer.acked];
		let missing = 0;
		const code = await codeOf(async () => {
			const { records } = await readAll(disk.state);
			missing = acked.filter(({ seq, crc }) => records[seq - 1]?.crc !== crc).length;
		});
		if (code !== "none" || missing > 0) {
			lost++;
			if (headSurvives) lostWithHead++;
		}
		if (code === "WAL_CORRUPT") {
			found++;
			if (headSurvives) foundWithHead++;
		}
		disk.unmount();
	}
	assert.ok(lost > 0, "a sync that does nothing loses nothing: this test sees no power cut");
	assert.equal(foundWithHead, lostWithHead, "the head survived, and the loss was not found");
	return `${lost} of ${tries} rounds lost acknowledged records; found at the open ${found}; where the head survived ${foundWithHead} of ${lostWithHead}`;
}

async function collect(wal: Awaited<ReturnType<typeof openLog>>) {
	const records = [];
	for await (const record of wal.read()) records.push(record);
	return { records };
}
