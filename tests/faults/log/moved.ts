/** Row 39: the directory is copied over, restored, renamed or taken away under a running writer. */
import assert from "node:assert/strict";
import { appendFile, cp, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileEngine } from "@reyn/wal";
import { MemoryDisk } from "@reyn/wal/testing";
import { type Case, type Fault, runCases } from "../fault.ts";
import { checkLog, codeOf, openLog, readAll } from "../lab/check.ts";
import { ACTIVE, DIRECTORY } from "../lab/memory.ts";
import { numbered } from "../lab/numbered.ts";
import { type Started, startWriter, withDirectory } from "../lab/start.ts";

const cases: readonly Case[] = [
	{
		name: "renamed away, another log in its place",
		run: () =>
			underAWriter(async (writer, state) => {
				await rename(state, `${state}-moved`);
				await another(state);
				return await stopsAndLeaves(writer, state, "close");
			}),
	},
	{
		name: "renamed away, nothing in its place",
		run: () =>
			underAWriter(async (writer, state) => {
				await rename(state, `${state}-moved`);
				await poisons(writer);
				assert.equal(await codeOf(() => readdir(state)), "ENOENT");
				await writer.kill();
				await checkLog(`${state}-moved`, writer.acked);
				return "poisoned, its own records whole";
			}),
	},
	{
		name: "restored from a copy (new files), the writer killed",
		run: () =>
			underAWriter(async (writer, state, copy) => {
				await rm(state, { recursive: true });
				await cp(copy, state, { recursive: true });
				return await stopsAndLeaves(writer, state, "kill");
			}),
	},
	{
		name: "copied over (same files), the writer killed",
		run: () =>
			underAWriter(async (writer, state, copy) => {
				await copyOver(copy, state);
				return await stopsAndLeaves(writer, state, "kill");
			}),
	},
	{
		name: "copied over (same files), the writer closes",
		run: () =>
			underAWriter(async (writer, state, copy) => {
				await copyOver(copy, state);
				return await stopsAndLeaves(writer, state, "close");
			}),
	},
	{
		name: "another program added to the file, the writer closes",
		run: () =>
			underAWriter(async (writer, state) => {
				await appendFile(join(state, "wal.jsonl"), "somebody else's\n");
				return await stopsAndLeaves(writer, state, "close");
			}),
	},
	{
		name: "the lock file removed, a second writer started",
		run: () =>
			underAWriter(async (writer, state) => {
				await rm(join(state, "wal.lock"));
				const second = startWriter(state, { count: 20 });
				await second.ended;
				assert.equal(second.errors[0]?.code, "WAL_LOCKED", second.errors[0]?.message);
				await writer.tell("append 4");
				assert.deepEqual(writer.errors, [], "the first writer was harmed");
				await writer.tell("close");
				await writer.kill();
				await checkLog(state, writer.acked);
				return "the second is refused, the first goes on";
			}),
	},
	{
		name: "another program added to the file where more space is due",
		async run() {
			const disk = new MemoryDisk();
			const wal = await openLog(fileEngine(DIRECTORY, { disk, allocateBytes: 1 }));
			await wal.append(numbered({ n: 1, text: "" }), {}).durable;
			const theirs = Buffer.from("somebody else's\n");
			const file = disk.open(ACTIVE, "write");
			const at = file.size();
			file.write(theirs, at);
			const code = await codeOf(() => wal.append(numbered({ n: 2, text: "" }), {}).durable);
			const now = disk.files.get(ACTIVE)?.bytes.subarray(at, at + theirs.length);
			assert.ok(now && theirs.equals(now), `their bytes were overwritten; the append gave: ${code}`);
			assert.equal(code, "WAL_POISONED");
			return "poisoned, nothing overwritten";
		},
	},
];

export const fault: Fault = {
	name: "moved",
	title: "the directory copied over, restored or renamed under a running writer",
	promise: "it stops, and harms nothing",
	rows: [
		{
			row: 39,
			title: "the directory renamed, restored, copied over, the lock file removed, another program at the file",
			how: "rename, copy, append, under a running writer",
			promise: "it is poisoned, and overwrites nothing",
			seen: "8 of 8 as expected",
		},
	],
	needs: () => undefined,
	run: (settings) => runCases(cases, settings),
};

/** A writer with 8 records on disk, and a copy of the directory as it was after 4 of them. */
async function underAWriter(use: (writer: Started, state: string, copy: string) => Promise<string>): Promise<string> {
	return withDirectory(async (root) => {
		const state = join(root, "state");
		const copy = join(root, "copy");
		const writer = startWriter(state, { count: 4, hold: true });
		try {
			await writer.line("holding");
			await mkdir(copy);
			for (const name of ["wal.jsonl", "wal.head"]) await cp(join(state, name), join(copy, name));
			await writer.tell("append 4");
			return await use(writer, state, copy);
		} finally {
			await writer.kill();
		}
	});
}

/** Another, complete log. */
async function another(directory: string): Promise<void> {
	const wal = await openLog(directory);
	for (let n = 1; n <= 3; n++) await wal.append(numbered({ n, text: "another log's" }), {}).durable;
	await wal.close();
}

/** The writer acknowledges no more, whatever it is asked. */
async function poisons(writer: Started): Promise<void> {
	const { length } = writer.acked;
	await writer.tell("append 4");
	const code = writer.errors.at(-1)?.code;
	assert.equal(code, "WAL_POISONED", `${code ?? "no error"}: ${writer.acked.length - length} more acknowledged`);
	await writer.tell("append 4");
	assert.equal(writer.errors.length, 2);
	assert.equal(writer.acked.length, length, "acknowledged after it was poisoned");
}

/** It stops, and what the other program put there stays as it is. */
async function stopsAndLeaves(writer: Started, state: string, end: "close" | "kill"): Promise<string> {
	const before = await contents(state);
	await poisons(writer);
	if (end === "close") await writer.tell("close");
	await writer.kill();
	for (const [name, bytes] of await contents(state))
		assert.ok(
			before.get(name)?.equals(bytes),
			`${name} was changed: ${before.get(name)?.length} to ${bytes.length} bytes`,
		);
	const looked = await codeOf(() => readAll(state));
	return `poisoned, nothing overwritten; opened afterwards: ${looked === "none" ? "ok" : looked}`;
}

/** As `cp` does it: the bytes are put into the files that are there, and what is cut off was theirs. */
async function copyOver(from: string, to: string): Promise<void> {
	for (const name of await readdir(from)) await writeFile(join(to, name), await readFile(join(from, name)));
}

async function contents(directory: string): Promise<Map<string, Buffer>> {
	const files = new Map<string, Buffer>();
	for (const name of (await readdir(directory)).sort()) files.set(name, await readFile(join(directory, name)));
	return files;
}
