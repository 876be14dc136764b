/** Row 16: no room for a snapshot. The log goes on, the old snapshot stays, and the error says what it is. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { offlineModel } from "@reyn/offline-model";
import { openRuntime } from "@reyn/runtime";
import { createFileTools } from "@reyn/tools";
import { type Case, type Fault, runCases } from "../fault.ts";
import { needsAll } from "../lab/needs.ts";
import { withDirectory } from "../lab/start.ts";
import { mounted } from "../lab/tmpfs.ts";
import type { SnapshotReport } from "./writer.ts";

const cases: readonly Case[] = [
	{
		name: "a limit on the size of files",
		needs: () => needsAll("prlimit"),
		run: () =>
			withDirectory(async (root) => {
				const { code, acknowledged } = await withoutRoom(join(root, "log"), join(root, "snapshots"), "limit");
				return `${code}; the old one stays; ${acknowledged} more records acknowledged; with room the next is stored`;
			}),
	},
	{
		name: "a tmpfs that is full, but for some pages",
		privileged: true,
		needs: () => needsAll("root", "mount"),
		async run({ short }) {
			const pages = short ? [0, 1] : Array.from({ length: 33 }, (_, i) => i);
			const codes = new Set<string>();
			for (const each of pages)
				await onTmpfs("2m", async (root, mounted) => {
					codes.add((await withoutRoom(join(root, "log"), mounted, "ballast", each * 4096)).code);
				});
			return `${pages.length} of ${pages.length} sizes: ${[...codes].join(", ")}; the old one stays, the log goes on`;
		},
	},
	{
		name: "the error has a name",
		needs: () => needsAll("prlimit"),
		run: () =>
			withDirectory(async (root) => {
				const { code, message } = await withoutRoom(join(root, "log"), join(root, "snapshots"), "limit");
				assert.match(code, /^SNAPSHOT_/, `${message}: it does not say that only a snapshot was not stored`);
				return code;
			}),
	},
	{
		name: "the command line: what was asked is answered all the same",
		privileged: true,
		needs: () => needsAll("root", "mount"),
		run: answered,
	},
];

export const fault: Fault = {
	name: "snapshots",
	title: "no room for a snapshot",
	promise: "the log goes on, the old one stays",
	rows: [
		{
			row: 16,
			title: "no room for a snapshot",
			how: "a tmpfs with 0 to 32 pages left; `prlimit --fsize`; the real command line. A spilled result was not tried; a database: `vitest run packages/snapshot/test/generations.test.ts`",
			promise: "the log goes on, the old snapshot stays, an error with a name",
			seen: "33 of 33 sizes: the old one as it was, nothing beside it, 20 more records acknowledged, the next process folds the same state, with room the next is stored. The error is `SNAPSHOT_NOT_STORED`, and no turn is given up for it",
		},
	],
	needs: () => undefined,
	run: (settings) => runCases(cases, settings),
};

/** In a process of its own, since a limit is a process's. It checks by itself that the old one stays and the log goes on. */
async function withoutRoom(log: string, store: string, ...how: readonly (string | number)[]): Promise<SnapshotReport> {
	await mkdir(store, { recursive: true });
	const program = join(import.meta.dirname, "writer.ts");
	const args = ["--conditions=@reyn/source", program, log, store, ...how.map(String)];
	const { stdout } = await promisify(execFile)(process.execPath, args, { env: { ...process.env, NODE_OPTIONS: "" } });
	return JSON.parse(stdout) as SnapshotReport;
}

/** A snapshot is only a shortcut, so a turn does not fail for the want of one. */
async function answered(): Promise<string> {
	const { run } = await import("../../cli.ts");
	return withDirectory(async (root) => {
		const here = {
			cwd: join(root, "project"),
			state: join(root, "reyn"),
			trace: join(root, "calls.jsonl"),
		};
		const snapshots = join(here.state, "state/snapshots");
		await mkdir(here.cwd);
		await writeFile(join(here.cwd, "foxes.md"), "# Foxes\n\nA fox sleeps by day.\n");
		// Made by the command line, so that it keeps its snapshots where the disk will be full.
		assert.equal((await run(here, ["run", "-p", "hello"])).code, 0);
		await mkdir(snapshots, { recursive: true });
		return mounted(snapshots, "64k", async () => {
			await writeFile(join(snapshots, "ballast"), Buffer.alloc(1 << 20)).catch(() => {});
			await talk(here);
			const full = await run(here, ["run", "-p", "where does a fox sleep?"]);
			await rm(join(snapshots, "ballast"));
			const sound = await run(here, ["wal", "verify"]);
			assert.equal(sound.code, 0, sound.stdout);
			assert.equal((await run(here, ["run", "-p", "where does a fox sleep by night?"])).code, 0);
			assert.match(full.stderr, /snapshot at seq \d+ could not be stored/);
			assert.equal(
				(await readdir(join(snapshots, "roots"), { recursive: true })).length,
				2,
				"none was stored with room",
			);
			assert.equal(full.code, 0, `exit ${full.code}: ${full.stderr.match(/^.*interrupted.*$/m)?.[0] ?? full.stderr}`);
			return "exit 0";
		});
	});
}

/** So long that a snapshot is due at every turn that comes. */
async function talk({ state, cwd }: { readonly state: string; readonly cwd: string }): Promise<void> {
	const runtime = await openRuntime({ state, model: offlineModel(), tools: createFileTools(cwd) });
	while (!runtime.view().isDue) {
		await runtime.prompt("hello");
		await runtime.idle();
	}
	await runtime.close();
}

const onTmpfs = (size: string, use: (root: string, mounted: string) => Promise<void>): Promise<void> =>
	withDirectory(async (root) => {
		const where = join(root, "small");
		await mkdir(where);
		await mounted(where, size, () => use(root, where));
	});
