/** What `gc` takes away beside the log: nothing that is somebody else's, nothing of work under way, and nothing before the cut is durable. */
import { cp, mkdir, readdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { stepCompleted, type Tool } from "@reyn/journal";
import { callName } from "@reyn/journal/internal";
import { PLAN_TOOL } from "@reyn/plan";
import { stepLate } from "@reyn/timetravel";
import { type Clock, defineRecord, openWal, systemClock } from "@reyn/wal";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { pointsOf } from "../../../tests/sample.ts";
import { allRecords, layoutOf, mainSession, type Runtime } from "../src/index.ts";
import { areaIn } from "../src/stores/layout.ts";
import { filesTest } from "./files-test.ts";
import { blobsOf, exists, seal } from "./kept-files.ts";
import {
	gate,
	lastOf,
	makeProject,
	type Opened,
	open,
	type Project,
	payingPlan,
	scripted,
	storeAt,
	until,
} from "./project.ts";
import { five, resumeToEnd, runToEnd, script, till } from "./script-runs.ts";

let project: Project;
beforeEach(async () => {
	project = await makeProject();
});
afterEach(() => project[Symbol.asyncDispose]());

/** Cuts as far as it can. */
const all = { keepDays: 0, keepCheckpoints: 1 };

/** A model whose answers are too large for a record. */
const wordy = () => scripted((request) => `${lastOf(request)} `.repeat(5000));

async function talk({ runtime }: Opened, turns: number): Promise<void> {
	for (let n = 0; n < turns; n++) {
		await runtime.prompt(`hello ${n}`);
		await runtime.idle();
	}
}

/** Closes, so that a segment ends; and opens again. */
async function nextDay({ runtime }: Opened, model = wordy()): Promise<Opened> {
	await runtime.close();
	await seal(project.state);
	return open(project, { model });
}

const namesOf = async (state = project.state): Promise<readonly string[]> => [...(await blobsOf(state)).keys()];

const nameOf = (area: string, sha256: string): string => `${area}/${sha256.slice(0, 2)}/${sha256}`;

/** The names of what a script run is made of. */
function madeOf({ scripts }: Runtime, run: string): readonly string[] {
	const { script, args, result } = scripts.list().find((each) => each.run === run) ?? {};
	return [script, args, result].map((sha256) => nameOf("scripts", sha256 ?? "")).sort();
}

/** A finished run that is abandoned, a finished one that counts, and enough talk after them for a cut. */
async function twoRuns(): Promise<{
	opened: Opened;
	abandoned: readonly string[];
	kept: readonly string[];
	run: string;
}> {
	const first = await open(project, { model: wordy() });
	await talk(first, 1);
	const [turn] = first.runtime.timeline.checkpoints();
	const { run: other } = await runToEnd(first.runtime, five(), { n: 1 });
	const abandoned = madeOf(first.runtime, other);
	await first.runtime.checkout(turn?.seq ?? 0, "test");
	const { run } = await runToEnd(first.runtime, five({ 1: "another" }), { n: 2 });
	const kept = madeOf(first.runtime, run);
	const opened = await nextDay(first);
	await talk(opened, 2);
	return { opened, abandoned, kept, run };
}

test("what only records had that are gone goes; what a state has that outlives them stays", async () => {
	const { opened, abandoned, kept, run } = await twoRuns();
	const { runtime } = opened;
	const before = await blobsOf(project.state);
	expect([...before.keys()].filter((path) => path.startsWith("results/")).length).toBeGreaterThan(5);
	const { artifacts, first } = await runtime.gc(all);
	expect(first).toBeGreaterThan(runtime.scripts.list()[0]?.started ?? Number.POSITIVE_INFINITY);
	// Its steps are gone with their lane; what the run is made of is in the state at the cut.
	expect(await namesOf()).toEqual(kept);
	const gone = [...before].filter(([path]) => !kept.includes(path));
	expect(gone.map(([path]) => path)).toEqual(expect.arrayContaining([...abandoned]));
	expect(artifacts).toEqual({ files: gone.length, bytes: gone.reduce((sum, [, { bytes }]) => sum + bytes, 0) });
	await runtime.close();

	// The log is truncated past all that it said of the run: it is restored, has its result, and its text for another run.
	const next = await open(project, { model: wordy() });
	expect(await next.runtime.scripts.result(run)).toHaveLength(5);
	expect((await runToEnd(next.runtime, await next.runtime.scripts.text(run))).end).toMatchObject({
		status: "completed",
	});
	await next.runtime.close();
});

filesTest("what is kept of calls lies in files")(
	"what is kept of a call goes with its records, and not before; nor what is none",
	async () => {
		const { commands } = layoutOf(project.state);
		/** Keeps something of each of its calls, as a shell does. */
		const keeping: Tool = {
			...{ name: "keep", description: "keeps", parameters: { type: "object" }, purity: "external" },
			async call(_, { idempotencyKey = "" }) {
				const directory = join(commands, callName(idempotencyKey), "1-aaaaaa");
				await mkdir(directory, { recursive: true });
				for (const name of ["output", "status.json"]) await writeFile(join(directory, name), "kept");
				return "kept";
			},
		};
		const model = () =>
			scripted((request) =>
				request.messages.at(-1)?.role === "user" ? [{ name: "keep", args: { n: Math.random() } }] : "kept",
			);
		const calls = (): Promise<readonly string[]> => readdir(commands).then((names) => names.sort());
		const opened = async (): Promise<Opened> => open(project, { model: model(), tools: [keeping] });
		const first = await opened();
		await talk(first, 2);
		const old = await calls();
		expect(old).toHaveLength(2);
		// One that was abandoned has its records still.
		await first.runtime.checkout(first.runtime.timeline.checkpoints()[0]?.seq ?? 0, "test");
		expect((await first.runtime.gc(all)).artifacts).toMatchObject({ files: 0 });
		await first.runtime.close();
		await seal(project.state);
		const second = await opened();
		await talk(second, 2);
		await mkdir(join(commands, "else"));
		const foreign = "0".repeat(24);
		await mkdir(join(commands, foreign));
		const planned = await second.runtime.gc({ ...all, dryRun: true });
		expect([await calls(), planned.artifacts.files >= 4]).toEqual([[...(await calls())], true]);
		const { artifacts } = await second.runtime.gc(all);
		expect(artifacts.files).toBeGreaterThanOrEqual(4);
		const left = await calls();
		expect(left).toHaveLength(3);
		expect(left).toContain("else");
		for (const gone of [...old, foreign]) expect(left).not.toContain(gone);
		await second.runtime.close();
	},
);

test("a label keeps what its state has, through the next cut too", async () => {
	const first = await open(project, { model: wordy() });
	const { run } = await runToEnd(first.runtime, five());
	await talk(first, 1);
	await first.runtime.timeline.label(first.runtime.wal.tip, "here");
	await first.runtime.checkout(0, "test");
	let opened = first;
	for (let cut = 0; cut < 2; cut++) {
		opened = await nextDay(opened);
		await talk(opened, 2);
		expect((await opened.runtime.gc(all)).retainedFrom).toBeGreaterThan(1);
	}
	expect(await namesOf()).toHaveLength(3);
	const [here] = await opened.runtime.timeline.labels();
	await opened.runtime.checkout(here?.seq ?? 0, "test");
	expect(await opened.runtime.scripts.result(run)).toHaveLength(5);
	const text = await opened.runtime.scripts.text(run);
	expect((await runToEnd(opened.runtime, text)).end).toMatchObject({ status: "completed" });
	await opened.runtime.close();
});

test("a label in the midst of a plan holds the log: the plan goes on from it, with what a tool of its open step has given", async () => {
	let paid = 0;
	const pay: Tool = { ...till(), call: async () => `receipt ${++paid} `.repeat(5000) };
	const paying = (isHeld: boolean) =>
		scripted(async (request) => {
			if (lastOf(request) === "plan it") return [{ name: PLAN_TOOL, args: payingPlan }];
			if (/Step a/.test(lastOf(request))) return [{ name: "pay", args: {} }];
			if (isHeld && lastOf(request).startsWith("receipt")) await new Promise(() => {});
			return "done";
		});
	const held = paying(true);
	const first = await open(project, { model: held, tools: [pay] });
	await first.runtime.prompt("plan it");
	await until(() => held.asked.some((request) => lastOf(request).startsWith("receipt")));
	// Behind the record of the result: its state alone names that.
	const { timeline } = first.runtime;
	await timeline.label(await timeline.checkpoint("turn", "paid", mainSession, first.runtime.view()), "paid");
	await first.runtime.checkout(0, "test");
	const opened = await nextDay(first);
	await talk(opened, 2);
	const [label] = await opened.runtime.timeline.labels();
	expect(await opened.runtime.gc(all)).toMatchObject({ retainedFrom: 1, heldBy: { label: "paid" } });
	expect((await namesOf()).map((path) => path.split("/")[0])).toEqual(expect.arrayContaining(["plans", "results"]));
	await opened.runtime.close();

	const next = await open(project, { model: paying(false), tools: [pay] });
	await next.runtime.checkout(label?.seq ?? 0, "test");
	const [plan] = next.runtime.restored().plans;
	await next.runtime.resumePlan(plan?.plan ?? "");
	await next.runtime.idle();
	expect(next.events.find(({ type }) => type === "plan_end")).toMatchObject({ outcome: "completed", failed: [] });
	expect(paid).toBe(1);
	await next.runtime.close();
});

test("what would go is counted and stays; where nothing is cut it is what then goes", async () => {
	const { opened } = await twoRuns();
	const { runtime } = opened;
	const before = await blobsOf(project.state);
	const planned = await runtime.gc({ ...all, dryRun: true });
	expect(await blobsOf(project.state)).toEqual(before);
	const done = await runtime.gc(all);
	expect(planned.artifacts.files).toBeGreaterThanOrEqual(done.artifacts.files);

	const sha256 = "ab".repeat(32);
	await storeAt(project.state).blobs("scripts").put(`ab/${sha256}`, Buffer.from("an orphan"));
	const exact = { files: 1, bytes: 9 };
	expect(await runtime.gc({ ...all, dryRun: true })).toMatchObject({ artifacts: exact });
	expect(await namesOf()).toContain(nameOf("scripts", sha256));
	expect(await runtime.gc(all)).toMatchObject({ artifacts: exact });
	expect(await namesOf()).not.toContain(nameOf("scripts", sha256));
	await runtime.close();
});

filesTest("what others put into a directory")(
	"what is somebody else's stays, and what a killed write has left goes",
	async () => {
		const opened = await open(project);
		await talk(opened, 1);
		const sha256 = "ab".repeat(32);
		const theirs = [
			"runs/notes.md",
			"runs/r0/script-0123456789abcdef.ts",
			"runs/r00000000/script-mine.ts",
			"runs/r00000000/script-0123456789abcdef.ts",
			"runs/r00000000/notes.tmp",
			"config/notes.tmp",
			"runs/r00000000/deeper/script-0123456789abcdef.ts",
			"agents/default/state/plans/notes/decomposition.json",
			"agents/default/state/plans/p1/notes.json",
			"agents/default/workspace/0123456789abcdef.tmp",
			"agents/notes.md",
			`state/results/${sha256}.blob`,
			`state/results/cd/${sha256}.blob`,
			`state/results/ab/${sha256}.blob.bak`,
			"state/scripts/notes.blob",
			"state/snapshots/chunks/notes.tmp",
			"state/notes/0123456789abcdef.tmp",
		];
		const left = [
			"runs/r00000000/0123456789abcdef.tmp",
			"config/0123456789abcdef.tmp",
			"agents/default/state/plans/p1/decomposition.json",
			"agents/default/state/plans/p1/0123456789abcdef.tmp",
			...["results", "scripts", "plans"].map((area) => `state/${area}/ab/${sha256}.blob`),
			...["results", "scripts", "plans"].map((area) => `state/${area}/ab/0123456789abcdef.tmp`),
			"state/snapshots/chunks/0123456789abcdef.tmp",
			"state/kept/0123456789abcdef.tmp",
		];
		let bytes = 0;
		for (const path of [...theirs, ...left]) {
			await mkdir(dirname(join(project.state, path)), { recursive: true });
			await writeFile(join(project.state, path), path);
			if (left.includes(path)) bytes += path.length;
		}
		for (const dryRun of [true, false])
			expect(await opened.runtime.gc({ ...all, dryRun })).toMatchObject({ artifacts: { files: left.length, bytes } });
		const there = async (paths: readonly string[]) =>
			(await Promise.all(paths.map((path) => exists(join(project.state, path))))).map((is, i) => is && paths[i]);
		expect(await there(theirs)).toEqual(theirs);
		expect((await there(left)).filter(Boolean)).toEqual([]);
		await opened.runtime.close();
	},
);

describe("what lies behind a link is somebody else's, and is refused", () => {
	const linkTest = filesTest("links in a directory");
	const file = "script-0123456789abcdef.ts";
	const sha256 = "ab".repeat(32);
	linkTest.each([
		["all runs", "runs", `r00000000/${file}`],
		["a run", "runs/r00000000", file],
		["all agents", "agents", "default/state/plans/p1/decomposition.json"],
		["an agent", "agents/guest", "state/plans/p1/decomposition.json"],
		["the state of an agent", "agents/default/state", "plans/p1/decomposition.json"],
		["a plan", "agents/default/state/plans/p1", "decomposition.json"],
		["all results", "state/results", `ab/${sha256}.blob`],
		["some results", "state/results/ab", `${sha256}.blob`],
		["all of scripts", "state/scripts", `ab/${sha256}.blob`],
		["some plans", "state/plans/ab", `${sha256}.blob`],
		["temporary files of all snapshots", "state/snapshots", "chunks/0123456789abcdef.tmp"],
		["temporary files of some", "state/snapshots/chunks", "0123456789abcdef.tmp"],
		["temporary files of what is kept", "state/kept", "0123456789abcdef.tmp"],
	])("%s", async (_, link, below) => {
		const { runtime } = await open(project);
		const outside = join(project.root, "outside");
		const theirs = join(outside, below);
		await mkdir(dirname(theirs), { recursive: true });
		await writeFile(theirs, "somebody else's");
		const at = join(project.state, link);
		await rm(at, { recursive: true, force: true });
		await mkdir(dirname(at), { recursive: true });
		await symlink(outside, at, "junction");
		await expect(runtime.gc(all)).rejects.toMatchObject({ code: "WAL_UNSAFE", detail: { path: at } });
		expect(await exists(theirs)).toBe(true);
		await runtime.close();
	});

	linkTest.each([
		["all snapshots", "state/snapshots", "chunks/", "a chunk that nobody needs"],
		["all chunks", "state/snapshots/chunks", "", "a chunk that nobody needs"],
		["all roots", "state/snapshots/roots", "", "a root that is damaged"],
		["the roots of a session", "state/snapshots/roots/guest", "", "a root that is damaged"],
		["all that is kept", "state/kept", "chunks/", "a chunk that nobody needs"],
	])("%s, when snapshots are collected", async (_, link, below, text) => {
		const { runtime } = await open(project);
		await talk({ runtime, events: [], shown: [] }, 3);
		const make = async (path: string): Promise<void> => {
			await mkdir(dirname(path), { recursive: true, mode: 0o700 });
			await writeFile(path, text);
		};
		const name = `${below}${"0".repeat(20)}.blob`;
		const at = join(project.state, link);
		// It is one that goes, where there is no link.
		await make(join(at, name));
		await runtime.gc(all);
		expect(await exists(join(at, name))).toBe(false);
		await rm(at, { recursive: true, force: true });
		const outside = join(project.root, "outside");
		await mkdir(outside);
		await symlink(outside, at, "junction");
		await make(join(outside, name));
		for (const dryRun of [true, false])
			await expect(runtime.gc({ ...all, dryRun })).rejects.toMatchObject({ code: "WAL_UNSAFE", detail: { path: at } });
		expect(await exists(join(outside, name))).toBe(true);
		await runtime.close();
	});

	linkTest(
		"a state directory that is a link itself is not opened; one that is reached through a link is collected",
		async () => {
			const { opened, kept } = await twoRuns();
			await opened.runtime.close();
			const moved = join(project.root, "moved");
			await mkdir(moved);
			await rename(project.state, join(moved, "state"));
			await symlink(join(moved, "state"), project.state, "junction");
			await expect(open(project)).rejects.toMatchObject({ code: "WAL_UNSAFE", detail: { path: project.state } });
			await symlink(moved, join(project.root, "var"), "junction");
			const { runtime } = await open({ ...project, state: join(project.root, "var/state") });
			expect((await runtime.gc(all)).artifacts.files).toBeGreaterThan(0);
			expect(await namesOf(join(moved, "state"))).toEqual(kept);
			await runtime.close();
		},
	);
});

test("nothing goes of work that is under way, which puts a blob before the record that names it", async () => {
	const held = gate();
	const [put, store] = [Promise.withResolvers<string>(), storeAt(project.state)];
	/** Each is there, and whoever put it does not know yet. */
	const slow: typeof store = {
		...store,
		blobs(area) {
			const blobs = store.blobs(area);
			if (area !== "results") return blobs;
			return {
				...blobs,
				async put(name, bytes) {
					await blobs.put(name, bytes);
					put.resolve(name);
					await held.opened;
				},
			};
		},
	};
	const { runtime } = await open(project, { model: wordy() }, slow);
	const { run, end } = await runtime.scripts.start(script("return await ctx.agent('say much')"), undefined);
	const name = await put.promise;
	expect(await namesOf()).toContain(`results/${name}`);
	// No put is cut by a collection, so this one waits for the step.
	const collected = runtime.gc(all);
	held.open();
	expect(await collected).toMatchObject({ artifacts: { files: 0, bytes: 0 } });
	expect(await end).toMatchObject({ status: "completed" });
	expect(await namesOf()).toContain(`results/${name}`);
	expect(madeOf(runtime, run)).toHaveLength(3);
	await runtime.close();
});

test("an open run keeps the results of its steps, and goes on with them", async () => {
	const model = scripted(async (request) => {
		if (lastOf(request) === "call 3") await new Promise(() => {});
		return `${lastOf(request)} `.repeat(5000);
	});
	const first = await open(project, { model });
	const { run } = await first.runtime.scripts.start(five(), undefined);
	await until(() => model.asked.length === 3);
	const opened = await nextDay(first);
	await talk(opened, 2);
	const before = await namesOf();
	expect(await opened.runtime.gc(all)).toMatchObject({ artifacts: { files: 0 } });
	expect(await namesOf()).toEqual(before);
	const asked = wordy();
	const next = await nextDay(opened, asked);
	expect(await resumeToEnd(next.runtime, run)).toMatchObject({ status: "completed" });
	expect(asked.asked).toHaveLength(3);
	await next.runtime.close();
});

test("an outcome that came too late keeps its result, until its record is gone", async () => {
	const first = await open(project);
	await talk(first, 1);
	const [sha256, bytes] = ["ef".repeat(32), 5];
	await storeAt(project.state).blobs("results").put(`ef/${sha256}`, Buffer.from("large"));
	const outcome = { lane: "turn/1", fp: "", occ: 0, kind: "tool", name: "pay", purity: "side_effect", started: 1 };
	const data = { ...outcome, spilled: { sha256, bytes } };
	const late = stepLate({ reset: 1, kind: stepCompleted.kind, data });
	const { seq, durable } = first.runtime.wal.append(late, mainSession);
	await durable;
	expect(await first.runtime.gc()).toMatchObject({ artifacts: { files: 0 } });
	const opened = await nextDay(first);
	await opened.runtime.timeline.label(seq, "late");
	await talk(opened, 2);
	// A record that has a label is kept without the log.
	expect(await opened.runtime.gc(all)).toMatchObject({ artifacts: { files: 0 } });
	expect(opened.runtime.wal.first).toBeGreaterThan(seq);
	await opened.runtime.undo("test");
	await talk(opened, 2);
	expect(await opened.runtime.gc(all)).toMatchObject({ artifacts: { files: 1, bytes } });
	await opened.runtime.close();
});

test("a record of a kind that is not known here may refer to anything: nothing goes", async () => {
	const { opened } = await twoRuns();
	await opened.runtime.close();
	const unknown = defineRecord("photo_taken", z.object({ sha256: z.string() }));
	const log = await openWal(storeAt(project.state).engine, { records: [...allRecords, unknown] });
	const { seq, durable } = log.append(unknown({ sha256: "" }), { agent: "default" });
	await durable;
	await log.close();
	const { runtime } = await open(project);
	const before = await namesOf();
	const { artifacts } = await runtime.gc(all);
	expect(artifacts).toEqual({ files: 0, bytes: 0, undecided: { seq, kind: "photo_taken" } });
	expect(await namesOf()).toEqual(before);
	await runtime.close();
});

filesTest("a file where a directory of the cut is needed")(
	"as long as the cut is not durable, nothing goes",
	async () => {
		const { opened } = await twoRuns();
		const before = await namesOf();
		const kept = areaIn(layoutOf(project.state), "kept");
		await rm(kept, { recursive: true, force: true });
		await writeFile(kept, "no directory");
		await expect(opened.runtime.gc(all)).rejects.toThrow();
		expect(await namesOf()).toEqual(before);
		await rename(kept, `${kept}.aside`);
		expect((await opened.runtime.gc(all)).artifacts.files).toBeGreaterThan(0);
		await opened.runtime.close();
	},
);

filesTest("copies of a directory")("killed after any removal, the next time comes to the same", async () => {
	const { opened } = await twoRuns();
	// As far as a process comes that is killed between the cut and the first removal.
	await opened.runtime.timeline.gc({ ...all, now: systemClock.now() });
	await opened.runtime.close();
	const before = await namesOf();
	const copyOf = async (name: string): Promise<Project> => {
		const state = join(project.root, name);
		await cp(project.state, state, { recursive: true, preserveTimestamps: true });
		return { ...project, state };
	};
	const whole = await copyOf("whole");
	const { runtime } = await open(whole);
	const { artifacts } = await runtime.gc(all);
	await runtime.close();
	const after = await namesOf(whole.state);
	const gone = before.filter((path) => !after.includes(path));
	expect([gone.length, after.length]).toEqual([artifacts.files, before.length - artifacts.files]);
	expect(gone.length).toBeGreaterThan(5);
	for (const removed of pointsOf(1, gone.length, 4)) {
		const cut = await copyOf(`cut-${removed}`);
		for (const path of gone.slice(0, removed)) await rm(join(cut.state, "state", `${path}.blob`));
		const again = await open(cut);
		expect(await again.runtime.gc(all)).toMatchObject({ artifacts: { files: gone.length - removed } });
		expect(again.runtime.scripts.list()).toHaveLength(1);
		await again.runtime.close();
		expect(await namesOf(cut.state)).toEqual(after);
		await rm(cut.state, { recursive: true });
	}
});

test("a gc waits for the one that is under way, and takes place whatever becomes of that", async () => {
	const told: string[] = [];
	let isBroken = false;
	const clock: Clock = {
		now() {
			told.push("asked");
			if (isBroken) throw new Error("no clock");
			return systemClock.now();
		},
	};
	const { runtime } = await open(project, { clock });
	told.length = 0;
	isBroken = true;
	const collections = [1, 2, 3].map(() =>
		runtime.gc().finally(() => {
			told.push("over");
			isBroken = false;
		}),
	);
	const ends = await Promise.allSettled(collections);
	expect(ends.map(({ status }) => status)).toEqual(["rejected", "fulfilled", "fulfilled"]);
	expect(told).toEqual(["asked", "over", "asked", "over", "asked", "over"]);
	await runtime.close();
});
