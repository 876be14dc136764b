/** The benchmarks run: small ones, for their shape and not for their figures. */
import { expect, test } from "vitest";
import { bench, namesOf } from "./bench.ts";

test("`pnpm bench append --json` prints one document with a row for each store at each workload and a verdict for each goal", async () => {
	const report = JSON.parse(await bench("append", "--rounds", "2", "--ms", "12", "--json"));
	expect(report).toMatchObject({ bench: "append", rounds: 2, skipped: [] });
	const ours = ["reyn file", "reyn file, no thread of its own", "reyn sqlite"];
	const others = ["appendFile + fsync", "better-sqlite3", "classic-level", "lmdb", ...ours];
	const awaited = (appenders: number) =>
		report.awaited.filter((row: { appenders: number }) => row.appenders === appenders);
	expect(namesOf(awaited(1))).toEqual(["raw", ...others]);
	expect(namesOf(awaited(64))).toEqual(others);
	expect(namesOf(awaited(256))).toEqual(others);
	expect(namesOf(report.unawaited)).toEqual(ours);
	expect(namesOf(report.paced)).toEqual(["raw", ...others]);
	expect(report.goals).toHaveLength(22);
	for (const { perSecond, ratio, p50Ms } of report.awaited)
		expect(Math.min(perSecond, ratio, p50Ms)).toBeGreaterThan(0);
	for (const { met } of report.goals) expect(met).toBeTypeOf("boolean");
});

test("`pnpm bench snapshot --json` prints one document with a row for each contender and a verdict for each goal", async () => {
	const report = JSON.parse(
		await bench("snapshot", "--steps", "8", "--rounds", "1", "--histories", "100,200", "--json"),
	);
	expect(report).toMatchObject({ bench: "snapshot", rounds: 1, skipped: [] });
	const ours = ["whole snapshots", "reyn", "reyn, random text"];
	const all = ["LangGraph, sqlite", "LangGraph, sqlite, delta channels", ...ours];
	expect(namesOf(report.rows)).toEqual(all);
	for (const { stepMs, stepBytes, disk, middleMs, lateMs } of report.rows)
		expect(Math.min(stepMs, stepBytes, disk, middleMs, lateMs)).toBeGreaterThan(0);
	for (const { name, forkIsRight } of report.rows) if (ours.includes(name)) expect(forkIsRight).toBe(true);
	expect(namesOf(report.loops)).toEqual(["whole snapshots", "whole snapshots", "reyn", "reyn"]);
	// What is made up packs no better than what people wrote.
	expect(report.packed.prose).toBeGreaterThanOrEqual(report.packed.documents);
	expect(report.goals).toHaveLength(10);
});

test("`pnpm bench tasks --json` prints one document with a row for each write and each number of tasks, and a verdict for each goal", async () => {
	const report = JSON.parse(
		await bench("tasks", "--writes", "4", "--tasks", "10,100", "--kept", "2,3", "--rounds", "1", "--json"),
	);
	expect(report).toMatchObject({ bench: "tasks", rounds: 1, sizes: [{ tasks: 10 }, { tasks: 100 }] });
	expect(report.kept).toMatchObject([{ tasks: 2 }, { tasks: 3 }]);
	expect(namesOf(report.rows)).toEqual(["bare insert", "create", "setStatus", "comment"]);
	for (const { perSecond, ofBare } of report.rows) expect(Math.min(perSecond, ofBare)).toBeGreaterThan(0);
	for (const { lookUs, writeUs } of report.sizes) expect(Math.min(lookUs, writeUs)).toBeGreaterThan(0);
	expect(report.goals).toHaveLength(3);
});

test("`pnpm bench skills --json` prints one document with what a phase costs and the resume of each number of runs, and a verdict for each goal", async () => {
	const report = JSON.parse(await bench("skills", "--runs", "2,8", "--phases", "5", "--rounds", "1", "--json"));
	expect(report).toMatchObject({ bench: "skills", rounds: 1 });
	expect(report.sizes.map(({ runs, calls }: { runs: number; calls: number }) => [runs, calls])).toEqual([
		[2, 2],
		[8, 8],
	]);
	expect(namesOf(report.rows)).toEqual(["bare", "raw", "phase"]);
	for (const { ms, ofRaw } of report.rows) expect(Math.min(ms, ofRaw)).toBeGreaterThan(0);
	for (const { ms, openMs } of report.sizes) expect(Math.min(ms, openMs)).toBeGreaterThan(0);
	expect(report.goals).toHaveLength(2);
});

test.runIf(process.env.REYN_BUILT === "1")(
	"`pnpm bench page --json` prints one document with what the page takes of a machine and a verdict for each goal",
	async () => {
		const report = JSON.parse(
			await bench(
				"page",
				"--records",
				"300",
				"--branches",
				"3",
				"--rounds",
				"1",
				"--prompts",
				"3",
				"--rest",
				"1",
				"--json",
			),
		);
		expect(report).toMatchObject({ bench: "page", rounds: 1, rows: [{ branches: 4, seenMs: { of: 3 } }] });
		const { rowsMs, emptyRowsMs, rowsInDom, firstAnswerKiB, keyMs, frameMs, taskMs, farMs, serverMiB, seenMs } =
			report.rows[0];
		const all = [rowsMs, emptyRowsMs, rowsInDom, firstAnswerKiB, keyMs, frameMs, taskMs, farMs, serverMiB, seenMs.p99];
		for (const each of all) expect(each).toBeGreaterThan(0);
		expect(report.goals).toHaveLength(8);
	},
);

test.runIf(process.env.REYN_BUILT === "1")(
	"`pnpm bench install --json` prints one document with what the command line weighs alone and beside each peer",
	async () => {
		const report = JSON.parse(await bench("install", "--rounds", "1", "--json"));
		expect(report).toMatchObject({ bench: "install", rounds: 1, tarballMiB: expect.any(Number) });
		const providers = ["anthropic", "google", "openai", "openai-compatible"].map((name) => `@ai-sdk/${name}`);
		const peers = [...providers, "better-sqlite3"];
		expect(namesOf(report.rows)).toEqual(["alone", ...peers.map((name) => `with ${name}`)]);
		const [alone, ...beside] = report.rows.map(({ packages }: { packages: number }) => packages);
		expect(Math.min(...beside)).toBeGreaterThan(alone);
	},
);

test.runIf(process.env.REYN_BUILT === "1")(
	"`pnpm bench start --json` prints one document with a row for each command and a verdict for each goal",
	async () => {
		const report = JSON.parse(await bench("start", "--rounds", "1", "--json"));
		expect(report).toMatchObject({ bench: "start", rounds: 1 });
		expect(namesOf(report.rows)).toEqual(["--version", "--help", "log", "branches"]);
		for (const { ms, ratio } of report.rows) expect(Math.min(ms, ratio)).toBeGreaterThan(0);
		expect(report.goals).toHaveLength(4);
	},
);

test("`pnpm bench checkout --json` prints one document with what going back costs after resets, among sessions and a verdict for each goal", async () => {
	const report = JSON.parse(
		await bench("checkout", "--records", "2000", "--sessions", "10", "--rounds", "1", "--json"),
	);
	expect(report).toMatchObject({
		bench: "checkout",
		rounds: 1,
		long: { turns: 200 },
		shared: { sessions: 10, turns: 20 },
	});
	const counts = (rows: readonly { readonly resets: number }[]) => rows.map(({ resets }) => resets);
	expect(counts(report.resets)).toEqual([1, 1000, 10_000]);
	for (const { openMs, sync, rewind, past } of report.resets)
		for (const ms of [openMs, sync.p50, rewind.p50, past.p50]) expect(ms).toBeGreaterThan(0);
	expect(namesOf(report.sessions)).toEqual(["shared", "alone"]);
	expect(report.sessions[1]).toMatchObject({ rewindRatio: 1, pastRatio: 1 });
	for (const { rewindRatio, pastRatio } of report.sessions) expect(Math.min(rewindRatio, pastRatio)).toBeGreaterThan(0);
	expect(counts(report.active)).toEqual([10, 1000, 100_000, 10, 1000, 100_000]);
	// Resets to a few records before leave a range each; those to anywhere leave a few.
	expect(report.active.slice(3).map(({ ranges }: { ranges: number }) => ranges)).toEqual([11, 1001, 100_001]);
	for (const { ns, withMs } of report.active) expect(Math.min(ns, withMs)).toBeGreaterThan(0);
	expect(report.goals).toHaveLength(11);
	for (const { met } of report.goals) expect(met).toBeTypeOf("boolean");
});

test("`pnpm bench resume --json` prints one document with what steps cost and how a new process goes on, and a verdict for each goal", async () => {
	const report = JSON.parse(await bench("resume", "--steps", "100", "--rounds", "1", "--json"));
	expect(report).toMatchObject({ bench: "resume", rounds: 1 });
	const ours = ["reyn, model calls", "reyn, effects", "reyn, effects, each outcome waited for"];
	const all = ["raw", ...ours, "LangGraph, sqlite", "DBOS, PostgreSQL"];
	// Only a PostgreSQL may be missing.
	const skipped = namesOf(report.skipped);
	expect(["", "DBOS, PostgreSQL"]).toContain(skipped.join());
	expect(namesOf(report.rows)).toEqual(all.filter((name) => !skipped.includes(name)));
	for (const { stepMs, ofRaw, growth, resumeMs } of report.rows)
		for (const { median } of [stepMs, ofRaw, growth, resumeMs]) expect(median).toBeGreaterThan(0);
	// What was on disk is not called again; the last outcome of the effects was not waited for.
	const calls = (name: string) => report.rows.find((row: { name: string }) => row.name === name).calls;
	expect(ours.map(calls)).toEqual([0, expect.toBeOneOf([0, 1]), 0]);
	for (const { name, ofParse } of report.rows) if (ours.includes(name)) expect(ofParse.median).toBeGreaterThan(0);
	expect(report.goals).toHaveLength(11 - skipped.length);
});

test("`pnpm bench open --json` prints one document with a row for each log, and a verdict for each goal", async () => {
	const report = JSON.parse(
		await bench("open", "--records", "200,3000", "--sessions", "10", "--rounds", "1", "--json"),
	);
	expect(report).toMatchObject({ bench: "open", rounds: 1 });
	const logs = report.rows.map(({ records, sessions, parts }: Record<string, number>) => [records, sessions, parts]);
	expect(logs).toEqual([
		[200, 1, 0],
		[200, 10, 0],
		[3000, 1, 1],
		[3000, 10, 1],
	]);
	for (const { storedMs, readMs, ratio } of report.rows) expect(Math.min(storedMs, readMs, ratio)).toBeGreaterThan(0);
	expect(report.goals).toHaveLength(6);
	for (const { met } of report.goals) expect(met).toBeTypeOf("boolean");
});

test("`pnpm bench plan --json` prints one document with a step's cost, many plans at once and their resume, and a verdict for each goal", async () => {
	const report = JSON.parse(await bench("plan", "--plans", "8", "--repetitions", "3", "--rounds", "1", "--json"));
	expect(report).toMatchObject({ bench: "plan", rounds: 1, plans: 8, again: 8 });
	expect(namesOf(report.steps)).toEqual(["bare", "raw", "plan"]);
	for (const { ms } of report.steps) expect(ms).toBeGreaterThan(0);
	expect(report.repetitions).toHaveLength(3);
	for (const { ms, cpuMs, peakMiB, heapMiB, p99Ms } of report.repetitions)
		expect(Math.min(ms, cpuMs, peakMiB, heapMiB, p99Ms)).toBeGreaterThan(0);
	expect(Math.min(report.resumeMs, report.stateBytes)).toBeGreaterThan(0);
	expect(report.goals).toHaveLength(5);
	for (const { met } of report.goals) expect(met).toBeTypeOf("boolean");
});
