/** A runtime on a disk that fills up at any point: work waits, and goes on when there is space. */
import { PLAN_TOOL, planAborted, planCompleted } from "@reyn/plan";
import { defineSkill, done, skillResumeSchema, skillRunCompleted, skillRunDiscarded } from "@reyn/skill-resume";
import { Timeline } from "@reyn/timetravel";
import { fileEngine, openWal } from "@reyn/wal";
import { afterEach, describe, expect, test, vi } from "vitest";
import { FillingDisk, noSpace } from "../../../tests/kit/filling-disk.ts";
import { atOnce } from "../../../tests/kit/timers.ts";
import { some } from "../../../tests/sample.ts";
import { allRecords, fileStore, type RuntimeEvent, type RuntimeOptions } from "../src/index.ts";
import { compose } from "../src/kernel/compose.ts";
import { DiskSpace } from "../src/kernel/disk-space.ts";
import { startKernel } from "../src/kernel/kernel.ts";
import { SharedLock } from "../src/kernel/shared-lock.ts";
import { partsOf, Runtime } from "../src/runtime.ts";
import { audit, CALLS, type Ledger, pay, saying } from "./child-plans.ts";
import { emptyArea, gate, lastOf, makeProject, type Project, scripted, until } from "./project.ts";
import { recordsOf, runToEnd, script } from "./script-runs.ts";

afterEach(() => vi.restoreAllMocks());

async function openOn(
	disk: FillingDisk,
	{ state }: Project,
	options: Pick<RuntimeOptions, "model" | "skills" | "skillResume" | "onMessage"> & {
		readonly tools?: NonNullable<RuntimeOptions["tools"]>;
	},
) {
	const events: RuntimeEvent[] = [];
	const onEvent = (event: RuntimeEvent): void => void events.push(event);
	const space = new DiskSpace(onEvent);
	const onWait: DiskSpace["heard"] = (why) => space.heard(why);
	const store = fileStore(state);
	const wal = await openWal(fileEngine("/log", { disk }), { records: allRecords, timers: atOnce, onWait });
	const { kernel, builtIn } = partsOf({ store, tools: [], onEvent, ...options });
	const parts = { composition: compose(kernel.features), space, wal };
	const runtime = new Runtime(await startKernel(kernel, parts), builtIn);
	const types = (): readonly string[] => events.map(({ type }) => type);
	return { runtime, events, types };
}

/** Answers, and the disk is full from then on. */
const filling = (disk: FillingDisk) =>
	scripted(() => {
		disk.isFull = true;
		return "done";
	});

/**
 * The disk is full from the nth file beside the log on: this one is refused once, and the log takes nothing until what waits for
 * that file has been refused too.
 */
function fillingAt(nth: number, disk: FillingDisk, fill: () => Promise<void>): void {
	const { shared } = SharedLock.prototype;
	let passes = 0;
	vi.spyOn(SharedLock.prototype, "shared").mockImplementation(async function (this: SharedLock, work) {
		passes++;
		if (passes === nth) {
			await fill();
			throw noSpace();
		}
		const kept = await shared.call(this, work);
		if (passes > nth)
			setImmediate(() => {
				disk.isFull = false;
			});
		return kept;
	});
}

/** Fills the disk, and resolves when the log knows: somebody else's prompt has found no space. */
function filler(disk: FillingDisk, { runtime, types }: Awaited<ReturnType<typeof openOn>>) {
	const waiting: Promise<unknown>[] = [];
	return {
		waiting,
		async fill(): Promise<void> {
			disk.isFull = true;
			waiting.push(runtime.prompt("and here?", { agent: "default", session: "other" }));
			await until(() => types().includes("disk_full"));
		},
	};
}

/** Is there an end in the log, as far as it is durable? */
async function isRecorded({ wal }: Runtime, kind: string): Promise<boolean> {
	for await (const record of wal.read({ through: wal.durableTip })) if (record.kind === kind) return true;
	return false;
}

/** What gets as far as it can without space has done so: it is tried again each quarter of a second. */
const aWhile = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 600));

const waits = (events: readonly RuntimeEvent[]): readonly string[] =>
	events.flatMap((event) =>
		event.type === "waits_for_space" ? [`${event.work}: ${event.keeping}, ${event.code}`] : [],
	);

test("work waits for space and says so; it goes on when there is some, and says that too", async () => {
	await using project = await makeProject();
	const disk = new FillingDisk();
	const { runtime, types } = await openOn(disk, project, { model: filling(disk) });
	await runtime.prompt("well?");
	await until(() => types().includes("disk_full"));
	expect(types()).not.toContain("turn_end");
	disk.isFull = false;
	await runtime.idle();
	expect(types().filter((type) => type !== "text")).toEqual(["disk_full", "disk_free", "turn_end", "checkpoint"]);
	await runtime.close();
});

test("closed while the disk is full, a turn is open at the next start, which does again what was not recorded", async () => {
	await using project = await makeProject();
	const disk = new FillingDisk();
	const first = await openOn(disk, project, { model: filling(disk) });
	const turn = await first.runtime.prompt("well?");
	await until(() => first.types().includes("disk_full"));
	await expect(first.runtime.close()).rejects.toMatchObject({ code: "WAL_FULL" });
	expect(first.events.at(-1)).toMatchObject({ type: "turn_end", turn, outcome: "interrupted" });

	disk.isFull = false;
	const model = scripted(() => "done again");
	const { runtime } = await openOn(disk, project, { model });
	expect(runtime.restored().turns).toMatchObject([{ turn, text: "well?" }]);
	runtime.resume();
	await runtime.idle();
	expect(runtime.conversation().items.toArray()).toMatchObject([{ type: "prompt" }, { text: "done again" }]);
	expect(model.asked).toHaveLength(1);
	await runtime.close();
});

test("closed while the disk is full, a script is stopped, and goes on from what was recorded", async () => {
	await using project = await makeProject();
	const disk = new FillingDisk();
	const script = {
		name: "three.ts",
		source: "export default async (ctx) => [await ctx.agent('1'), await ctx.agent('2'), await ctx.agent('3')];",
	};
	let calls = 0;
	const model = scripted(() => {
		disk.isFull = ++calls === 2;
		return `answer ${calls}`;
	});
	const first = await openOn(disk, project, { model });
	const { run, end } = await first.runtime.scripts.start(script, undefined);
	await until(() => first.types().includes("disk_full"));
	await expect(first.runtime.close()).rejects.toMatchObject({ code: "WAL_FULL" });
	expect(await end).toMatchObject({ status: "stopped" });

	disk.isFull = false;
	const { runtime } = await openOn(disk, project, { model });
	const resumed = await runtime.scripts.resume(run);
	expect(await resumed.end).toEqual({ status: "completed", result: ["answer 1", "answer 3", "answer 4"] });
	await runtime.close();
});

test("what other turns are answered meanwhile waits too, and is paid for once", async () => {
	await using project = await makeProject();
	const disk = new FillingDisk();
	const { opened, open } = gate();
	const model = scripted(async () => {
		await opened;
		return "done";
	});
	const { runtime, events, types } = await openOn(disk, project, { model });
	const other = { agent: "default", session: "other" };
	await runtime.prompt("well?");
	await runtime.prompt("and here?", other);
	disk.isFull = true;
	const waiting = runtime.prompt("and then?");
	await until(() => types().includes("disk_full"));
	open();
	await until(() => events.filter(({ type }) => type === "text").length >= 2);
	expect(types()).not.toContain("turn_end");
	disk.isFull = false;
	await waiting;
	await runtime.idle();
	const ends = events.filter(({ type }) => type === "turn_end");
	expect(ends.map((end) => (end as { outcome: string }).outcome)).toEqual(["completed", "completed", "completed"]);
	expect(model.asked).toHaveLength(3);
	expect(runtime.restored().turns).toEqual([]);
	await runtime.close();
});

test("a turn that fails while the disk is full has failed once there is space, and is asked for once", async () => {
	await using project = await makeProject();
	const disk = new FillingDisk();
	const { opened, open } = gate();
	const model = scripted(async () => {
		await opened;
		throw new Error("no model");
	});
	const { runtime, events, types } = await openOn(disk, project, { model });
	const turn = await runtime.prompt("well?");
	disk.isFull = true;
	const waiting = runtime.prompt("and here?", { agent: "default", session: "other" });
	await until(() => types().includes("disk_full"));
	open();
	// The failure gets to where it is recorded.
	await new Promise((resolve) => setImmediate(resolve));
	expect(types()).not.toContain("turn_end");
	disk.isFull = false;
	await waiting;
	await runtime.idle();
	expect(events.find((event) => event.type === "turn_end" && event.turn === turn)).toMatchObject({
		outcome: "interrupted",
		reason: "no model",
	});
	expect(model.asked.filter((request) => lastOf(request) === "well?")).toHaveLength(1);
	expect(runtime.restored().turns).toEqual([]);
	await runtime.close();
});

test("a plan waits for space for its steps and for its start, and is asked for once", async () => {
	await using project = await makeProject();
	const disk = new FillingDisk();
	const plan = {
		goal: "say it",
		steps: [
			{ id: "a", description: "think", tools: [], depends_on: [] },
			{ id: "b", description: "say so", tools: [], depends_on: ["a"] },
		],
	};
	const model = scripted((request) => (lastOf(request) === "plan!" ? [{ name: PLAN_TOOL, args: plan }] : "said"));
	const opened = await openOn(disk, project, { model });
	const { runtime, events } = opened;
	const { fill, waiting } = filler(disk, opened);
	fillingAt(1, disk, fill);
	const turn = await runtime.prompt("plan!");
	await until(() => events.some(({ type }) => type === "plan_end"));
	await Promise.all(waiting);
	await runtime.idle();
	expect(waits(events)).toEqual([`plan p${turn}: steps, ENOSPC`]);
	expect(events.find(({ type }) => type === "plan_end")).toMatchObject({ plan: `p${turn}`, outcome: "completed" });
	expect(model.asked.filter((request) => lastOf(request) === "plan!")).toHaveLength(1);
	await runtime.close();
});

test.each(["begins", "has an answer", "is about to end"])(
	"a step's skill that %s waits for space: it is begun once, and nothing is paid twice",
	async (when) => {
		await using project = await makeProject();
		const disk = new FillingDisk();
		const ledger: Ledger = new Map();
		const planning = saying();
		let times = 0;
		const fill = (): void => {
			disk.isFull = ++times === 1;
		};
		const model = scripted((request) => {
			const isAudit = request.system === "audit";
			if (when === "begins" && !isAudit && /^Step a:/m.test(request.messages[0]?.text ?? "")) fill();
			if (when === "has an answer" && isAudit) fill();
			return planning(request);
		});
		const skills = [audit(ledger, { last: async () => void (when === "is about to end" && fill()) })];
		const { runtime, types } = await openOn(disk, project, { model, skills, tools: [pay(ledger)] });
		const plan = `p${await runtime.prompt("plan!")}`;
		await until(() => types().includes("disk_full"));
		await new Promise(setImmediate);
		expect(types()).not.toContain("plan_end");
		await expect(runtime.prompt("and here?")).rejects.toMatchObject({ code: "WAL_FULL" });
		disk.isFull = false;
		await runtime.idle();
		expect(runtime.plans()).toMatchObject([{ plan, status: "completed", finished: 2 }]);
		expect((await recordsOf(runtime, "skill_run_started")).length).toBe(1);
		expect(model.asked).toHaveLength(CALLS);
		expect(Math.max(...ledger.values())).toBe(1);
		await runtime.close();
	},
);

test("a script waits for space for its result and for its end", async () => {
	await using project = await makeProject();
	const disk = new FillingDisk();
	const opened = await openOn(disk, project, { model: scripted(() => "said") });
	const { runtime, events } = opened;
	const { fill, waiting } = filler(disk, opened);
	// After its text and its arguments.
	fillingAt(3, disk, fill);
	const { run, end } = await runToEnd(runtime, script('return "found";'));
	expect(end).toEqual({ status: "completed", result: "found" });
	expect(waits(events)).toEqual([`script run ${run}: end, ENOSPC`]);
	expect(await runtime.scripts.result(run)).toBe("found");
	expect(await recordsOf(runtime, "script_failed")).toEqual([]);
	await Promise.all(waiting);
	await runtime.close();
});

test("closed while there is no space for its result, a script is stopped and open, and pays for nothing again", async () => {
	await using project = await makeProject();
	const disk = new FillingDisk();
	const model = scripted(() => "said");
	const first = await openOn(disk, project, { model });
	// The log has space all the while.
	fillingAt(3, disk, async () => {});
	const { run, end } = await first.runtime.scripts.start(script('return ctx.agent("say");'), undefined);
	await until(() => waits(first.events).length > 0);
	await first.runtime.close();
	expect(await end).toMatchObject({ status: "stopped" });

	const { runtime } = await openOn(disk, project, { model });
	expect(runtime.restored().scripts).toMatchObject([{ run }]);
	const resumed = await runtime.scripts.resume(run);
	expect(await resumed.end).toEqual({ status: "completed", result: "said" });
	expect(model.asked).toHaveLength(1);
	expect(await recordsOf(runtime, "script_failed")).toEqual([]);
	await runtime.close();
});

/** A script whose only call fails while the disk is full. */
async function failing(disk: FillingDisk, project: Project) {
	const model = scripted(async (request) => {
		if (lastOf(request) !== "say") return "said";
		await fill();
		throw new Error("no model");
	});
	const opened = await openOn(disk, project, { model });
	const { fill, waiting } = filler(disk, opened);
	const { run, end } = await opened.runtime.scripts.start(script('return ctx.agent("say");'), undefined);
	await until(() => opened.types().includes("disk_full"));
	// The failure gets to where it is recorded.
	await new Promise((resolve) => setImmediate(resolve));
	return { ...opened, run, end, waiting };
}

test("a script that fails while the disk is full has failed once there is space", async () => {
	await using project = await makeProject();
	const disk = new FillingDisk();
	const { runtime, run, end, waiting } = await failing(disk, project);
	disk.isFull = false;
	expect(await end).toMatchObject({ status: "failed", reason: { message: expect.stringContaining("no model") } });
	expect(await recordsOf(runtime, "script_failed")).toMatchObject([{ data: { run } }]);
	await Promise.all(waiting);
	await runtime.close();
});

test("closed while its failure cannot be recorded, a script is stopped and open", async () => {
	await using project = await makeProject();
	const disk = new FillingDisk();
	const first = await failing(disk, project);
	const refused = Promise.allSettled(first.waiting);
	await expect(first.runtime.close()).rejects.toMatchObject({ code: "WAL_FULL" });
	expect(await first.end).toMatchObject({ status: "stopped" });
	expect(await refused).toMatchObject([{ status: "rejected" }]);

	disk.isFull = false;
	const { runtime } = await openOn(disk, project, { model: scripted(() => "said") });
	expect(runtime.restored().scripts).toMatchObject([{ run: first.run }]);
	await runtime.close();
});

describe("the end of background work, on a disk that fills up just then,", () => {
	const PLAN = {
		goal: "say it",
		steps: [
			{ id: "a", description: "think", tools: [], depends_on: [] },
			{ id: "b", description: "say so", tools: [], depends_on: ["a"] },
		],
	};
	const planning = () =>
		scripted((request) => (lastOf(request) === "plan!" ? [{ name: PLAN_TOOL, args: PLAN }] : "said"));
	const skill = defineSkill({
		name: "say",
		description: "says it",
		input: { "~standard": { version: 1, vendor: "test", validate: (value) => ({ value }) } },
		start: "one",
		phases: { one: async ({ step }) => done(await step("say", async () => "said", { purity: "external" })) },
	});

	/** A runtime that notes who is told what, and whether its end is recorded by then. */
	async function listening(disk: FillingDisk, project: Project, more: Partial<RuntimeOptions> = {}) {
		const told: { readonly text: string; readonly isOver: boolean }[] = [];
		const isOver = async (): Promise<boolean> =>
			(await isRecorded(opened.runtime, planCompleted.kind)) ||
			(await isRecorded(opened.runtime, planAborted.kind)) ||
			(await isRecorded(opened.runtime, skillRunCompleted.kind)) ||
			isRecorded(opened.runtime, skillRunDiscarded.kind);
		const opened = await openOn(disk, project, {
			model: planning(),
			skills: [skill],
			onMessage: async ({ text }) => void told.push({ text, isOver: await isOver() }),
			...more,
		});
		return { ...opened, ...filler(disk, opened), told };
	}

	/** The disk is full when the checkpoint of this title is there, and the log knows. */
	function fillingAfter(title: RegExp, fill: () => Promise<void>): void {
		const { checkpoint } = Timeline.prototype;
		vi.spyOn(Timeline.prototype, "checkpoint").mockImplementation(async function (this: Timeline, ...args) {
			const seq = await checkpoint.apply(this, args);
			if (title.test(args[1])) await fill();
			return seq;
		});
	}

	const work: Record<string, { begin(runtime: Runtime): Promise<unknown>; last: RegExp; end: string }> = {
		"a plan": { begin: (runtime) => runtime.prompt("plan!"), last: /^p\d+ b: /, end: "plan_end" },
		"a skill run": { begin: (runtime) => runtime.runSkill("say", {}), last: /^say one$/, end: "skill_end" },
	};

	test.each(some(Object.keys(work), 3))(
		"is told once, when it is recorded, and nobody is told before (%s)",
		async (what) => {
			const { begin, last, end } = work[what] as (typeof work)[string];
			await using project = await makeProject();
			const disk = new FillingDisk();
			const { runtime, events, types, told, fill, waiting } = await listening(disk, project);
			fillingAfter(last, fill);
			await begin(runtime);
			await until(() => types().includes("disk_full"));
			await aWhile();
			expect([told, types().filter((type) => type === end)]).toEqual([[], []]);
			disk.isFull = false;
			await until(() => types().includes(end));
			await Promise.all(waiting);
			await runtime.idle();
			expect(told).toEqual([{ text: "said", isOver: true }]);
			expect(events.filter(({ type }) => type === end)).toMatchObject([{ outcome: "completed" }]);
			expect(runtime.restored()).toMatchObject({ plans: [], runs: [], undelivered: [] });
			await runtime.close();
		},
	);

	test.each(some(Object.keys(work), 3))(
		"is not told again while there is no space to record that it was (%s)",
		async (what) => {
			const { begin, end } = work[what] as (typeof work)[string];
			await using project = await makeProject();
			const disk = new FillingDisk();
			const texts: string[] = [];
			const opened = await openOn(disk, project, {
				model: planning(),
				skills: [skill],
				async onMessage({ text }) {
					texts.push(text);
					if (texts.length === 1) await fill();
				},
			});
			const { runtime, types } = opened;
			const { fill, waiting } = filler(disk, opened);
			await begin(runtime);
			await until(() => types().includes("disk_full"));
			await aWhile();
			runtime.resume();
			await aWhile();
			// That it is over is recorded, and so told; that the text was shown waits.
			expect([texts, types().filter((type) => type === end)]).toEqual([["said"], [end]]);
			expect(runtime.restored().undelivered).toHaveLength(1);
			disk.isFull = false;
			await Promise.all(waiting);
			await runtime.idle();
			expect([texts, types().filter((type) => type === end)]).toEqual([["said"], [end]]);
			expect(runtime.restored().undelivered).toEqual([]);
			await runtime.close();
		},
	);

	/** Work that was under way when its process ended, and is given up at the next start. */
	const givenUp: Record<string, { begin(runtime: Runtime): Promise<unknown>; end: string; says: RegExp }> = {
		"a plan whose steps are lost": {
			begin: (runtime) => runtime.prompt("plan!"),
			end: "plan_end",
			says: /steps are lost/,
		},
		"a skill run that policy discards": {
			begin: (runtime) => runtime.runSkill("say", {}),
			end: "skill_end",
			says: /say was started before .* nobody knows whether it happened/,
		},
	};

	test.each(some(Object.keys(givenUp), 2))(
		"that it was given up is told once, when it is recorded (%s)",
		async (what) => {
			const { begin, end, says } = givenUp[what] as (typeof givenUp)[string];
			await using project = await makeProject();
			const disk = new FillingDisk();
			const held = gate();
			let isHeld = false;
			const hold = async (): Promise<string> => {
				isHeld = true;
				await held.opened;
				return "said";
			};
			const first = await listening(disk, project, {
				model: scripted((request) => (lastOf(request) === "plan!" ? [{ name: PLAN_TOOL, args: PLAN }] : hold())),
				skills: [
					{
						...skill,
						phases: {
							one: async ({ step, signal }) =>
								done(
									await step(
										"say",
										() => Promise.race([hold(), new Promise<string>((_, no) => signal.addEventListener("abort", no))]),
										{ purity: "external" },
									),
								),
						},
					},
				],
			});
			await begin(first.runtime);
			await until(() => isHeld);
			await first.runtime.close();
			await emptyArea(project.state, "plans");

			const skillResume = skillResumeSchema.parse({ default: "discard_skill" });
			const { runtime, events, types, told, fill, waiting } = await listening(disk, project, { skillResume });
			await fill();
			runtime.resume();
			await aWhile();
			expect([told, types().filter((type) => type === end)]).toEqual([[], []]);
			disk.isFull = false;
			await until(() => types().includes(end));
			await Promise.all(waiting);
			await runtime.idle();
			expect(told).toEqual([{ text: expect.stringMatching(says), isOver: true }]);
			expect(events.filter(({ type }) => type === end)).toMatchObject([{ outcome: "discarded" }]);
			expect(runtime.restored()).toMatchObject({ plans: [], runs: [], undelivered: [] });
			await runtime.close();
		},
	);

	test("a person who discards it is refused, nobody is told, and asked again it is told once", async () => {
		await using project = await makeProject();
		const disk = new FillingDisk();
		const held = gate();
		let isHeld = false;
		const model = scripted(async (request) => {
			if (lastOf(request) === "plan!") return [{ name: PLAN_TOOL, args: PLAN }];
			isHeld ||= lastOf(request).startsWith("Goal:");
			if (lastOf(request).startsWith("Goal:")) await held.opened;
			return "said";
		});
		const { runtime, types, told, fill, waiting } = await listening(disk, project, { model });
		const plan = `p${await runtime.prompt("plan!")}`;
		await until(() => isHeld);
		await fill();
		await expect(runtime.discardPlan(plan)).rejects.toMatchObject({ code: "WAL_FULL" });
		expect(told).toEqual([]);
		disk.isFull = false;
		await Promise.all(waiting);
		await runtime.discardPlan(plan);
		await runtime.idle();
		expect(told).toEqual([{ text: expect.stringContaining("was discarded"), isOver: true }]);
		expect(types().filter((type) => type === "plan_end")).toHaveLength(2);
		expect(runtime.restored()).toMatchObject({ plans: [], undelivered: [] });
		await runtime.close();
	});

	test.each(some(Object.keys(work), 3))("closed meanwhile, it is told by the life after, once (%s)", async (what) => {
		const { begin, last } = work[what] as (typeof work)[string];
		await using project = await makeProject();
		const disk = new FillingDisk();
		const first = await listening(disk, project);
		fillingAfter(last, first.fill);
		await begin(first.runtime);
		await until(() => first.types().includes("disk_full"));
		await aWhile();
		const refused = Promise.allSettled(first.waiting);
		await expect(first.runtime.close()).rejects.toMatchObject({ code: "WAL_FULL" });
		expect([first.told, await refused]).toMatchObject([[], [{ status: "rejected" }]]);
		vi.restoreAllMocks();
		disk.isFull = false;
		const { runtime, told } = await listening(disk, project);
		runtime.resume();
		await runtime.idle();
		expect(told).toEqual([{ text: "said", isOver: true }]);
		await runtime.close();
	});

	test.each(some(Object.keys(work), 3))(
		"closed before it is recorded that it was told, it is told again (%s)",
		async (what) => {
			const { begin } = work[what] as (typeof work)[string];
			await using project = await makeProject();
			const disk = new FillingDisk();
			const model = planning();
			const unseen = await openOn(disk, project, { model, skills: [skill] });
			await begin(unseen.runtime);
			await unseen.runtime.idle();
			await unseen.runtime.close();

			const first = await openOn(disk, project, { model, onMessage: () => fill() });
			const { fill, waiting } = filler(disk, first);
			first.runtime.resume();
			await until(() => first.types().includes("disk_full"));
			await aWhile();
			const refused = Promise.allSettled(waiting);
			await expect(first.runtime.close()).rejects.toMatchObject({ code: "WAL_FULL" });
			expect(await refused).toMatchObject([{ status: "rejected" }]);

			disk.isFull = false;
			const { runtime, told } = await listening(disk, project);
			runtime.resume();
			await runtime.idle();
			expect(told).toEqual([{ text: "said", isOver: true }]);
			await runtime.close();
		},
	);
});
