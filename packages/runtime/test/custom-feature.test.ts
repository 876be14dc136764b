/** A feature that nothing of the runtime names: it goes on after any kill, and every rewind, undo and gc take it along. */
import { join } from "node:path";
import { stepCompleted } from "@reyn/journal";
import { defineProjection, type View } from "@reyn/snapshot";
import { type Draft, defineRecord } from "@reyn/wal";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { type Board, pollFeature, pollOver, polls } from "../../../examples/custom-feature/poll.ts";
import { pointsOf, sample } from "../../../tests/sample.ts";
import {
	backgroundMessages,
	blastRadius,
	type Feature,
	type FeatureHost,
	facets,
	inBackground,
	mainSession,
	type Piece,
	type Runtime,
	trustState,
} from "../src/index.ts";
import { copyState, keepLines, linesOf } from "./cut.ts";
import { filesTest } from "./files-test.ts";
import { exists } from "./kept-files.ts";
import { emptyArea, lastOf, makeProject, open, type Project, scripted, storeAt } from "./project.ts";

let project: Project;
let posted: Map<string, string>;
beforeEach(async () => {
	project = await makeProject();
	posted = new Map();
});
afterEach(() => project[Symbol.asyncDispose]());

const board = (): Board => ({
	post: async (result, key) => void posted.set(`${key}#${posted.size}`, result),
	has: async (key) => [...posted.keys()].some((each) => each.startsWith(`${key}#`)),
});

/** Opens a poll of two where it is asked to. */
const model = scripted((request) =>
	lastOf(request) === "ask them"
		? [{ name: "open_poll", args: { question: "Tea?", voters: 2 } }]
		: `echo ${lastOf(request)}`,
);

async function opened(at: Project = project) {
	const feature = pollFeature(board());
	const found = await open(at, { model, tools: [], features: [feature] });
	return { ...found, polls: found.runtime.hostOf(feature) };
}

const stateOf = (runtime: Runtime) => runtime.view().get(polls);

const messages = (runtime: Runtime): readonly string[] =>
	runtime
		.conversation()
		.items.toArray()
		.flatMap((item) => (item.type === "message" ? [`${item.from}: ${item.text}`] : []));

/** Gives the poll that it opens. */
async function ask(runtime: Runtime): Promise<string> {
	await runtime.prompt("ask them");
	await runtime.idle();
	return Object.keys(stateOf(runtime)).at(-1) ?? "";
}

test("a turn may open two, and each brings its own result", async () => {
	const feature = pollFeature(board());
	const twice = scripted((request) =>
		lastOf(request) === "ask them"
			? ["Tea?", "Cake?"].map((question) => ({ name: "open_poll", args: { question, voters: 1 } }))
			: `echo ${lastOf(request)}`,
	);
	const { runtime } = await open(project, { model: twice, tools: [], features: [feature] });
	await ask(runtime);
	for (const id of Object.keys(stateOf(runtime))) await runtime.hostOf(feature).vote(id, "ada", "yes");
	await runtime.idle();
	expect([...posted.values()].toSorted()).toEqual(["Cake? yes (1 of 1)", "Tea? yes (1 of 1)"]);
	await runtime.close();
});

test("a turn opens it, and it brings its result by itself", async () => {
	const { runtime, polls, shown } = await opened();
	const id = await ask(runtime);
	expect(stateOf(runtime)).toMatchObject({ [id]: { question: "Tea?", status: "waiting" } });
	await polls.vote(id, "ada", "yes");
	await polls.vote(id, "bo", "yes");
	await runtime.idle();
	expect([...posted.values()]).toEqual(["Tea? yes (2 of 2)"]);
	expect(shown.map(({ from, text }) => [from, text])).toEqual([[id, "Tea? yes (2 of 2)"]]);
	await runtime.prompt("and?");
	await runtime.idle();
	expect(messages(runtime)).toEqual([`${id}: Tea? yes (2 of 2)`]);
	await runtime.close();
});

test("killed after any record, it goes on where it was, posts once and says it once", async () => {
	const { runtime, polls } = await opened();
	const first = await ask(runtime);
	await polls.vote(first, "ada", "yes");
	await polls.vote(first, "bo", "no");
	await runtime.idle();
	await runtime.close();
	const lines = await linesOf(project.state);
	const key = [...posted.keys()][0] as string;
	const kindAt = (line: number): string => JSON.parse(lines[line] as string).kind;
	let cuts = 0;
	for (const cut of pointsOf(2, lines.length, 5)) {
		// Before its start was durable nothing was posted. Between start and outcome it may have been, or not.
		const before = lines.slice(0, cut);
		const isStarted = before.some((line) => line.includes("step_started") && line.includes('"name":"post"'));
		for (const happened of isStarted ? [true, ...(kindAt(cut - 1) === "step_started" ? [false] : [])] : [false]) {
			posted = new Map(happened ? [[key, "Tea? yes (1 of 2)"]] : []);
			const copy = { ...project, state: join(project.root, `cut-${cut}-${happened}`) };
			await copyState(project.state, copy.state);
			await emptyArea(copy.state, "snapshots");
			await keepLines(copy.state, cut);
			const { runtime, polls, shown } = await opened(copy);
			runtime.resume();
			await runtime.idle();
			if (Object.keys(stateOf(runtime)).length === 0) await ask(runtime);
			const id = Object.keys(stateOf(runtime))[0] as string;
			for (const [voter, choice] of [
				["ada", "yes"],
				["bo", "no"],
			] as const)
				if (!stateOf(runtime)[id]?.votes[voter]) await polls.vote(id, voter, choice);
			await runtime.idle();
			expect([cut, happened, [...posted.values()]]).toEqual([cut, happened, ["Tea? yes (1 of 2)"]]);
			expect(messages(runtime)).toEqual([`${id}: Tea? yes (1 of 2)`]);
			expect(shown.length).toBeLessThanOrEqual(1);
			expect(runtime.conversation().undelivered).toEqual([]);
			await runtime.close();
			cuts++;
		}
	}
	expect(cuts).toBeGreaterThan(sample(2, 15));
});

test("a rewind takes it back, whole or by mode, and an undo brings it again", async () => {
	const { runtime, polls } = await opened();
	await runtime.prompt("hello");
	await runtime.idle();
	const start = runtime.wal.tip;
	const id = await ask(runtime);
	await polls.vote(id, "ada", "yes");
	const then = stateOf(runtime);
	const away = await blastRadius(runtime, { target: start, scope: {} });
	expect(away).toMatchObject({ leaves: { others: [`poll ${id}`], runs: [] }, cancels: { others: [`poll ${id}`] } });
	expect(away.returns).not.toHaveProperty("others");
	await runtime.checkout(start, "test");
	expect(stateOf(runtime)).toEqual({});
	await runtime.undo("test");
	expect(stateOf(runtime)).toEqual(then);
	await runtime.applyRewind(await runtime.previewRewind(start, "conversation_only"), "test");
	expect(stateOf(runtime)).toEqual(then);
	await runtime.undo("test");
	await runtime.applyRewind(await runtime.previewRewind(start, "code_only"), "test");
	expect(stateOf(runtime)).toEqual({});
	expect(facets.code).not.toContain("poll_opened");
	expect(runtime.facets.code).toContain("poll_opened");
	await runtime.undo("test");
	await polls.vote(id, "bo", "no");
	await runtime.idle();
	expect(messages(runtime)).toEqual([`${id}: Tea? yes (1 of 2)`]);
	await runtime.close();
});

test("what was counted before a rewind is counted again from where it went back to, and only then", async () => {
	const { runtime, polls } = await opened();
	const id = await ask(runtime);
	await polls.vote(id, "ada", "yes");
	const before = runtime.wal.tip;
	await polls.vote(id, "bo", "yes");
	await runtime.idle();
	await runtime.checkout(before, "test");
	expect(stateOf(runtime)[id]).toMatchObject({ status: "waiting", votes: { ada: "yes" } });
	await polls.vote(id, "bo", "no");
	await runtime.idle();
	expect([...posted.values()]).toEqual(["Tea? yes (2 of 2)", "Tea? yes (1 of 2)"]);
	await runtime.close();
});

test("a person's stop is taken back by undo", async () => {
	const { runtime, polls } = await opened();
	const id = await ask(runtime);
	await polls.vote(id, "ada", "yes");
	await polls.stop(id);
	await runtime.idle();
	expect(stateOf(runtime)[id]?.status).toBe("over");
	await runtime.undo("test");
	expect(stateOf(runtime)[id]).toMatchObject({ status: "waiting", votes: { ada: "yes" } });
	await runtime.close();
});

test("its state outlives its records", async () => {
	let { runtime, polls } = await opened();
	const id = await ask(runtime);
	await polls.vote(id, "ada", "yes");
	for (let turn = 0; turn < 4; turn++) {
		await runtime.prompt(`hello ${turn}`);
		await runtime.idle();
	}
	const then = stateOf(runtime);
	expect((await runtime.gc({ keepDays: 0, keepCheckpoints: 1 })).retainedFrom).toBeGreaterThan(20);
	await runtime.close();
	({ runtime, polls } = await opened());
	expect(stateOf(runtime)).toEqual(then);
	await polls.vote(id, "bo", "yes");
	await runtime.idle();
	expect(messages(runtime)).toEqual([`${id}: Tea? yes (2 of 2)`]);
	await runtime.close();
});

test("left out for one opening, it is as it was", async () => {
	const { runtime, polls } = await opened();
	await runtime.prompt("hello");
	await runtime.idle();
	const start = runtime.wal.tip;
	const id = await ask(runtime);
	await polls.vote(id, "ada", "yes");
	const then = stateOf(runtime);
	await runtime.close();
	const { runtime: without } = await open(project, { model, tools: [] });
	without.resume();
	for (let turn = 0; turn < 3; turn++) {
		await without.prompt(`meanwhile ${turn}`);
		await without.idle();
	}
	await without.checkout(start, "test");
	await without.undo("test");
	// It may be folded by whoever knows it: so nothing of it, and nothing after it, goes.
	const { retainedFrom, heldBy } = await without.gc({ keepDays: 0, keepCheckpoints: 1 });
	expect(heldBy).toMatchObject({ kind: "poll_opened" });
	expect(retainedFrom).toBeLessThanOrEqual(heldBy?.seq ?? 0);
	await without.close();
	const again = await opened();
	expect(stateOf(again.runtime)).toEqual(then);
	expect(again.runtime.restored().others).toEqual([
		{ scope: mainSession, kind: "poll", id, title: "Tea?", status: "waiting" },
	]);
	await again.polls.vote(id, "bo", "yes");
	await again.runtime.idle();
	expect([...posted.values()]).toEqual(["Tea? yes (2 of 2)"]);
	await again.runtime.close();
});

test("left out after its records were taken away, its kept state holds the next cut", async () => {
	const { runtime, polls } = await opened();
	const id = await ask(runtime);
	await polls.vote(id, "ada", "yes");
	const say = async (runtime: Runtime) => {
		for (const text of ["a", "b", "c"]) {
			await runtime.prompt(text);
			await runtime.idle();
		}
		return runtime.gc({ keepDays: 0, keepCheckpoints: 1 });
	};
	const { retainedFrom } = await say(runtime);
	const then = stateOf(runtime);
	await runtime.close();
	const { runtime: without } = await open(project, { model, tools: [] });
	expect(await say(without)).toMatchObject({ retainedFrom, heldBy: { seq: retainedFrom - 1, unknown: "polls" } });
	await without.close();
	const again = await opened();
	expect(stateOf(again.runtime)).toEqual(then);
	expect(await say(again.runtime)).not.toHaveProperty("heldBy.unknown");
	await again.runtime.close();
});

describe("a kind of work of one's own", () => {
	const begun = defineRecord("job_begun", z.object({ job: z.string(), kind: z.string() }));
	const over = defineRecord("job_over", z.object({ job: z.string() }));
	const refused = defineRecord("job_refused", z.object({ job: z.string() }));
	const job = z.object({ kind: z.string(), since: z.int(), status: z.enum(["running", "over"]) });
	const jobs = defineProjection<Readonly<Record<string, z.infer<typeof job>>>>({
		name: "jobs",
		version: 1,
		schema: z.record(z.string(), job),
		init: () => ({}),
		handle: (on) => [
			on(begun, (state, { job, kind }, { seq }) => ({ ...state, [job]: { kind, since: seq, status: "running" } })),
			...[over, refused].map((kind) =>
				on(kind, (state, { job }) => {
					const before = state[job];
					return before ? { ...state, [job]: { ...before, status: "over" as const } } : state;
				}),
			),
		],
	});
	const piecesIn = (view: View): readonly Piece[] =>
		Object.entries(view.get(jobs)).map(([job, { kind, since, status }]) => ({
			kind,
			id: job.split("/")[1] ?? job,
			work: { name: job, scope: { ...view.scope, run: job }, kinds: ["job_over", "job_refused", "step_started"] },
			status,
			title: job,
			since,
		}));
	const made: string[] = [];
	/** @param ends does the end of a job end it? */
	const feature = (ends = true): Feature<FeatureHost & { append(draft: Draft): Promise<void> }> => ({
		name: "jobs",
		records: { code: [begun, over, refused] },
		projections: [jobs],
		undo: { [refused.kind]: ({ scope }) => ({ takenBackBy: { scope, drop: [refused.kind] } }) },
		needs: [backgroundMessages],
		pieces: piecesIn,
		settle: () => ({ becomes: "running" }),
		start: (kernel) => ({
			async append(draft) {
				const session = await kernel.sessions.ensure(mainSession);
				await session.log.append(draft, { ...session.scope, run: (draft.data as { job: string }).job }).durable;
				for (const piece of piecesIn(session.view)) if (piece.status === "running") kernel.goOn(piece);
			},
			goOn: (session, piece) =>
				inBackground(kernel, session, piece, async (lane) => {
					const call = async () => void made.push(piece.title);
					await lane.perform({ kind: "step", name: "do", args: {}, purity: "side_effect", call });
					return { records: ends ? [over({ job: piece.title })] : [], say: `${piece.title} is done` };
				}),
		}),
	});
	const openedJobs = async (ends = true) => {
		made.length = 0;
		const jobFeature = feature(ends);
		const opened = await open(project, { model, tools: [], features: [jobFeature] });
		return { ...opened, jobs: opened.runtime.hostOf(jobFeature) };
	};

	test("says its text beside another of the same id and another kind", async () => {
		const { runtime, jobs } = await openedJobs();
		const both = ["a", "b"].map((kind) => jobs.append(begun({ job: `${kind}/1`, kind })));
		await Promise.all(both);
		await runtime.idle();
		expect(messages(runtime)).toEqual(["1: a/1 is done", "1: b/1 is done"]);
		await runtime.close();
	});

	test("whose end leaves it running has stopped, and does nothing again", async () => {
		const { runtime, jobs, events } = await openedJobs(false);
		await jobs.append(begun({ job: "a/1", kind: "a" }));
		await runtime.idle();
		for (let i = 0; i < 2; i++) {
			runtime.resume();
			await runtime.idle();
		}
		expect(made).toEqual(["a/1"]);
		expect(events.filter(({ type }) => type === "stopped")).toMatchObject([
			{ work: "a/1", reason: expect.stringContaining("leave it running") },
			{},
			{},
		]);
		await runtime.close();
	});

	test.each([true, false])("that an undo sets running runs where this process goes on: %s", async (goesOn) => {
		const first = await openedJobs();
		const log = await first.runtime.timeline.handle();
		const scope = { ...mainSession, run: "a/1" };
		log.append(begun({ job: "a/1", kind: "a" }), scope);
		await log.append(refused({ job: "a/1" }), scope).durable;
		await first.runtime.close();
		const { runtime } = await openedJobs();
		if (goesOn) runtime.resume();
		await runtime.undo("ada");
		await runtime.idle();
		expect(made).toEqual(goesOn ? ["a/1"] : []);
		await runtime.close();
	});
});

test("what a feature keeps beside the log goes with gc once nothing of its refers to it", async () => {
	const held = new Set<string>();
	const feature: Feature = {
		name: "photos",
		blobs: [{ area: "photos", isName: (name) => name !== "notes", ofRecord: () => [...held], ofView: () => [] }],
		start: () => ({}),
	};
	for (const name of ["here", "gone", "notes"])
		await storeAt(project.state).blobs("photos").put(name, Buffer.from(name));
	held.add("here");
	const { runtime } = await open(project, { model, tools: [], features: [feature] });
	expect((await runtime.gc()).artifacts).toEqual({ files: 1, bytes: 4 });
	expect(await storeAt(project.state).blobs("photos").list("")).toEqual(["here", "notes"]);
	await runtime.close();
});

const factSeen = defineRecord("fact_seen", z.object({ what: z.string() }));

/** Everything that was ever seen, whatever became of the line of history that it was seen on. */
const seen = defineProjection<readonly string[]>({
	name: "seen",
	version: 1,
	schema: z.array(z.string()),
	init: () => [],
	handle: (on) => [on(factSeen, (state, { what }) => [...state, what])],
});

test("no rewind takes back what lies outside, and no collection either", async () => {
	const watch: Feature<FeatureHost & { see(what: string): Promise<void> }> = {
		name: "watch",
		records: { outside: [factSeen] },
		projections: [seen],
		start: ({ sessions }) => ({
			async see(what) {
				const { log, scope } = await sessions.ensure(mainSession);
				await log.append(factSeen({ what }), scope).durable;
			},
		}),
	};
	const { runtime } = await open(project, { model, tools: [], features: [watch] });
	const say = async (text: string): Promise<void> => {
		await runtime.prompt(text);
		await runtime.idle();
	};
	await say("hello");
	const start = runtime.wal.tip;
	await runtime.hostOf(watch).see("a door");
	await say("and?");
	const away = await blastRadius(runtime, { target: start, scope: {} });
	expect(away.leaves).toMatchObject({ turns: 1 });
	await runtime.checkout(start, "test");
	expect(runtime.view().get(seen)).toEqual(["a door"]);
	await runtime.hostOf(watch).see("a key");
	for (const mode of ["conversation_only", "code_only"] as const)
		await runtime.applyRewind(await runtime.previewRewind(0, mode), "test");
	expect(runtime.view().get(seen)).toEqual(["a door", "a key"]);
	for (let turn = 0; turn < 3; turn++) await say(`good morning ${turn}`);
	await runtime.gc({ keepDays: 0, keepCheckpoints: 1 });
	await runtime.close();
	const again = await open(project, { model, tools: [], features: [watch] });
	expect(again.runtime.view().get(seen)).toEqual(["a door", "a key"]);
	await again.runtime.close();
});

describe("features that cannot be together are refused before anything is opened", () => {
	const bare = (more: Partial<Feature>): Feature => ({ name: "bare", start: () => ({}), ...more });
	const poll = pollFeature(board());
	type Case = readonly [what: string, features: readonly Feature[], said: string];
	const cases: readonly Case[] = [
		["two of a name", [poll, poll], "the feature poll is of the features poll and poll"],
		[
			"a kind of record twice",
			[poll, bare({ records: { code: poll.records?.code ?? [] } })],
			"the kind of record poll_opened is of the features poll and bare",
		],
		[
			"a projection twice",
			[poll, bare({ projections: [polls] })],
			"the projection polls is of the features poll and bare",
		],
		[
			"a line of more than a session",
			[bare({ projections: [{ ...polls, name: "wide", level: "process" }] })],
			"the projection wide of the feature bare is of a line and of level process",
		],
		[
			"a fact that is said to be code",
			[bare({ records: { code: [factSeen] } })],
			"the kind of record fact_seen of the feature bare is said to be code",
		],
		[
			"code that is said to lie outside",
			[bare({ records: { outside: [pollOver] } })],
			"the kind of record poll_over of the feature bare is said to be outside",
		],
		["a need that nobody meets", [bare({ needs: [{ service: "oracle" }] })], "needs the service oracle"],
		[
			"a service twice",
			[bare({ provides: [{ service: "backgroundMessages" }] })],
			"the service backgroundMessages is of the features conversation and bare",
		],
		[
			"an undo rule of somebody else's record",
			[bare({ undo: { user_prompt: () => undefined } })],
			"says something of user_prompt",
		],
		[
			"an undo rule of a fact",
			[bare({ records: { outside: [factSeen] }, undo: { [factSeen.kind]: () => undefined } })],
			"the feature bare has an undo rule of fact_seen: no move takes back a fact",
		],
		[
			"a fact that begins something",
			[bare({ records: { outside: [factSeen] }, begins: [factSeen] })],
			"the feature bare says that fact_seen begins something: no fact makes a preview stale",
		],
		...["kept", "snapshots", "a name too long", "a/b", ""].map(
			(area): Case => [
				`blobs in the area ${JSON.stringify(area)}`,
				[bare({ blobs: [{ area, isName: () => true, ofRecord: () => [], ofView: () => [] }] })],
				`the feature bare has blobs in the area ${area}`,
			],
		),
	];
	test.each(cases)("%s", async (_, features, said) => {
		const refused = open(project, { model, tools: [], features });
		await expect(refused).rejects.toMatchObject({ code: "RUNTIME_FEATURES", message: expect.stringContaining(said) });
		expect(await exists(project.state)).toBe(false);
	});
});

test("a feature that is left out, or another value of its name, has no host here", async () => {
	const { runtime } = await opened();
	const other = pollFeature(board());
	const left: Feature = { name: "left", start: () => ({}) };
	for (const [feature, said] of [
		[other, "a feature named poll was given to openRuntime, and it is another object"],
		[left, "no feature named left was given to openRuntime"],
	] as const)
		expect(() => runtime.hostOf(feature)).toThrowError(
			expect.objectContaining({ code: "RUNTIME_FEATURES", message: expect.stringContaining(said) }),
		);
	await runtime.close();
});

describe("a feature that folds what others record", () => {
	const calls = defineProjection<number>({
		name: "calls",
		version: 1,
		schema: z.int(),
		init: () => 0,
		follows: "log",
		mayBeginLate: true,
		handle: (on) => [on(stepCompleted, (state, { kind }) => (kind === "model" ? state + 1 : state))],
	});
	/** Counts every call of a model that was ever paid, in this directory. */
	const meter: Feature<FeatureHost & { paid(): Promise<number> }> = {
		name: "meter",
		projections: [calls],
		start: ({ timeline }) => ({ paid: async () => (await timeline.wholeLog.live()).view.get(calls) }),
	};
	const opened = async (features: readonly Feature[]) => {
		const { runtime } = await open(project, { model, tools: [], features });
		const say = async (...texts: readonly string[]) => {
			for (const text of texts) await runtime.prompt(text);
			await runtime.idle();
		};
		const cut = async () => {
			const { retainedFrom } = await runtime.gc({ keepCheckpoints: 1, keepDays: 0 });
			expect(retainedFrom).toBeGreaterThan(1);
		};
		return { runtime, say, cut, paid: () => runtime.hostOf(meter).paid() };
	};

	test("counts what a rewind has left, over any store, and behind a cut", async () => {
		const first = await opened([meter]);
		await first.say("a");
		const { tip } = first.runtime.wal;
		await first.say("b", "c");
		expect(await first.paid()).toBe(3);
		await first.runtime.checkout(tip, "ada");
		await first.say("d");
		expect(await first.paid()).toBe(4);
		await first.cut();
		expect(await first.paid()).toBe(4);
		await first.runtime.close();
		const again = await opened([meter]);
		expect(await again.paid()).toBe(4);
		await again.runtime.close();
	});

	filesTest("a directory is trusted")("what it has kept is trusted with the state", async () => {
		const first = await opened([meter]);
		await first.say("a", "b", "c");
		await first.cut();
		await first.runtime.close();
		await trustState(project.state, join(project.root, "secrets"));
		const trusted = await opened([meter]);
		expect(await trusted.paid()).toBe(3);
		await trusted.runtime.close();
	});

	test("is added behind a cut, left out for another, and put back: it begins at the last cut", async () => {
		const without = await opened([]);
		await without.say("a", "b", "c");
		await without.cut();
		await without.runtime.close();
		const added = await opened([meter]);
		const since = await added.paid();
		await added.say("d");
		expect([since, await added.paid()]).toEqual([0, 1]);
		await added.runtime.close();
		const absent = await opened([]);
		await absent.say("e");
		await absent.cut();
		await absent.runtime.close();
		const back = await opened([meter]);
		await back.say("f");
		expect(await back.paid()).toBe(1);
		await back.runtime.close();
	});
});

test("a service that was not asked for is not given", async () => {
	const feature: Feature = { name: "curious", start: (kernel) => kernel.get({ service: "oracle" }) as never };
	const refused = open(project, { model, tools: [], features: [feature] });
	await expect(refused).rejects.toMatchObject({ code: "RUNTIME_NO_SERVICE" });
	const { runtime } = await open(project, { model, tools: [] });
	expect(runtime.conversation(mainSession).items.length).toBe(0);
	await runtime.close();
});
