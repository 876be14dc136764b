/** A runtime whose disk is full: it says so and waits, and its end waits for nothing. */
import { PLAN_TOOL } from "@reyn/plan";
import { memorySnapshots } from "@reyn/snapshot";
import { type DiskFile, fileEngine, openWal, type Timers } from "@reyn/wal";
import { MemoryDisk } from "@reyn/wal/testing";
import { afterEach, expect, test, vi } from "vitest";
import { Gate } from "../src/gate.ts";
import { allRecords, type RuntimeEvent, type RuntimeOptions } from "../src/index.ts";
import { layoutOf } from "../src/layout.ts";
import { Runtime } from "../src/runtime.ts";
import { Space } from "../src/space.ts";
import { gate, lastOf, makeProject, type Project, scripted, until } from "./project.ts";
import { recordsOf, runToEnd, script } from "./script-runs.ts";

afterEach(() => vi.restoreAllMocks());

/** Takes no byte while it is full. */
class FillingDisk extends MemoryDisk {
	isFull = false;

	protected override file(...args: Parameters<MemoryDisk["file"]>): DiskFile {
		const file = super.file(...args);
		return {
			...file,
			write: (bytes, position) => {
				if (this.isFull) throw noSpace();
				return file.write(bytes, position);
			},
		};
	}
}

const noSpace = (): Error => Object.assign(new Error("ENOSPC: no space left on device"), { code: "ENOSPC" });

/** Waits are over at once. */
const impatient: Timers = {
	after(_, run) {
		const timer = setImmediate(run);
		return () => clearImmediate(timer);
	},
};

async function openOn(disk: FillingDisk, { state }: Project, options: Pick<RuntimeOptions, "model">) {
	const events: RuntimeEvent[] = [];
	const onEvent = (event: RuntimeEvent): void => void events.push(event);
	const space = new Space(onEvent);
	const onFull: Space["heard"] = (why) => space.heard(why);
	const wal = await openWal(fileEngine("/log", { disk }), { records: allRecords, timers: impatient, onFull });
	const runtime = new Runtime(
		{ state, tools: [], onEvent, ...options },
		wal,
		layoutOf(state),
		memorySnapshots(),
		space,
	);
	await runtime.open();
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
	const { pass } = Gate.prototype;
	let passes = 0;
	vi.spyOn(Gate.prototype, "pass").mockImplementation(async function (this: Gate, work) {
		passes++;
		if (passes === nth) {
			await fill();
			throw noSpace();
		}
		const kept = await pass.call(this, work);
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

const notices = (events: readonly RuntimeEvent[]): readonly string[] =>
	events.flatMap((event) => (event.type === "notice" ? [event.text] : []));

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
	expect(notices(events)).toEqual([`plan p${turn} waits for space to keep its steps: ENOSPC: no space left on device`]);
	expect(events.find(({ type }) => type === "plan_end")).toMatchObject({ plan: `p${turn}`, outcome: "completed" });
	expect(model.asked.filter((request) => lastOf(request) === "plan!")).toHaveLength(1);
	await runtime.close();
});

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
	expect(notices(events)).toEqual([
		`script run ${run} waits for space to keep how it ended: ENOSPC: no space left on device`,
	]);
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
	await until(() => notices(first.events).length > 0);
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
