/** Row 13 on a real ext4 and XFS: power cuts while an SQLite database is captured, restored and pruned. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { seeded } from "../../kit/seeded.ts";
import type { Case, Settings } from "../fault.ts";
import { type FileSystem, type LoopDisk, needsDisk, withDisk } from "../lab/loop-disk.ts";
import { needsAll } from "../lab/needs.ts";
import { runToEnd, type Started, sleep, start } from "../lab/start.ts";
import { type Checked, checkDatabase } from "./database-ledger.ts";
import type { DatabaseOptions } from "./database-writer.ts";

const PROGRAM = join(import.meta.dirname, "database-writer.ts");

/** Some pages of rows, before and after the capture. */
const adds = Array.from({ length: 6 }, () => "add" as const);
const yesterday: DatabaseOptions = { schema: "yesterday", after: 0, script: [...adds, "capture", ...adds] };
const load: DatabaseOptions = {
	schema: "today",
	after: 100,
	script: ["add", "add", "capture", "add", "restore", "add", "capture", "add", "restore", "add", "prune"],
	forever: true,
};

/** What is told under that load. */
const steps: readonly string[] = [
	"added",
	"at capture copied",
	"at capture placed",
	"at capture sealed",
	"captured",
	"at restore copied",
	"at restore detached",
	"at restore cleared",
	"at restore replaced",
	"at restore reopened",
	"restored",
	"at prune unsealed",
	"pruned",
];

export function powerCuts(kind: FileSystem): readonly Case[] {
	// A copy that shares its blocks with a generation would be durable before it is synced.
	const format = kind === "xfs" ? ["-m", "reflink=0"] : [];
	const on = (name: string, run: (disk: LoopDisk, settings: Settings) => Promise<string>): Case => ({
		name: `${kind}: ${name}`,
		privileged: true,
		needs: () => needsAll("root", "gcc", "mount", "losetup") ?? needsDisk(kind),
		run: (settings) => withDisk(kind, (disk) => run(disk, settings), undefined, format),
	});
	return [on("power cut after each step", afterSteps), on("power cut under load", underLoad)];
}

/** The writer stands still there, so that the cut meets this moment and no other. */
async function afterSteps(disk: LoopDisk, { short }: Settings): Promise<string> {
	let [cuts, ahead] = [0, 0];
	for (const line of steps)
		for (const times of short ? [1] : [1, 2, 3]) {
			const found = await cut(disk, `after "${line}" ${times}`, { ...load, stop: { line, times } }, stopped);
			cuts++;
			if (found.ahead) ahead++;
		}
	return `${cuts} of ${cuts} cuts; what was begun was there after ${ahead}`;
}

async function underLoad(disk: LoopDisk, { short, rounds = short ? 3 : 25, seed }: Settings): Promise<string> {
	const random = seeded(seed);
	let [told, whole, ahead] = [0, 0, 0];
	for (let round = 1; round <= rounds; round++) {
		const found = await cut(disk, `round ${round}`, load, async ({ line }) => {
			await line("opened");
			await sleep(random() * 600);
		});
		told += found.told;
		whole += found.generations;
		if (found.ahead) ahead++;
	}
	return `${rounds} of ${rounds} rounds, ${told} changes told, lost 0; ${whole} generations whole; what was begun was there after ${ahead}`;
}

async function cut(
	disk: LoopDisk,
	when: string,
	options: DatabaseOptions,
	until: (writer: Started) => Promise<void>,
): Promise<Checked & { readonly told: number }> {
	try {
		await disk.fresh();
		const earlier = await runToEnd(PROGRAM, disk.state, yesterday);
		const writer = start(PROGRAM, disk.state, options);
		await until(writer);
		const before = [...earlier, ...writer.lines];
		disk.cut();
		await writer.kill();
		disk.again();
		const checked = await checkDatabase(disk.state, [...earlier, ...writer.lines], before.length);
		return { ...checked, told: before.filter((line) => /^(add|captur|restor|prun)ed /.test(line)).length };
	} catch (error) {
		throw new Error(`${when}: ${(error as Error).message}`, { cause: error });
	} finally {
		disk.unmount();
	}
}

/** Until the kernel says so: a signal is not there at once. */
async function stopped({ child, lines, stderr }: Started): Promise<void> {
	while (!/^State:\sT/m.test(readFileSync(`/proc/${child.pid}/status`, "latin1"))) {
		assert.ok(child.exitCode === null && lines.length < 1000, `it does not come to that step: ${stderr()}`);
		await sleep(5);
	}
	// What it has told is on its way.
	await sleep(20);
}
