/** A runtime whose disk is full: it says so and waits, and its end waits for nothing. */
import { memorySnapshots } from "@reyn/snapshot";
import { type DiskFile, fileEngine, openWal, type Timers } from "@reyn/wal";
import { MemoryDisk } from "@reyn/wal/testing";
import { expect, test } from "vitest";
import { allRecords, type RuntimeEvent, type RuntimeOptions } from "../src/index.ts";
import { layoutOf } from "../src/layout.ts";
import { Runtime } from "../src/runtime.ts";
import { Space } from "../src/space.ts";
import { gate, makeProject, type Project, scripted, until } from "./project.ts";

/** Takes no byte while it is full. */
class FillingDisk extends MemoryDisk {
	isFull = false;

	protected override file(...args: Parameters<MemoryDisk["file"]>): DiskFile {
		const file = super.file(...args);
		return {
			...file,
			write: (bytes, position) => {
				if (this.isFull) throw Object.assign(new Error("ENOSPC: no space left on device"), { code: "ENOSPC" });
				return file.write(bytes, position);
			},
		};
	}
}

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

test("a turn whose end cannot be recorded stays open, and is not asked for again and again", async () => {
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
	await until(() => types().includes("turn_end"));
	expect(events.find(({ type }) => type === "turn_end")).toMatchObject({ turn, outcome: "interrupted" });
	expect(model.asked).toHaveLength(1);
	disk.isFull = false;
	await waiting;
	await runtime.idle();
	expect(runtime.restored().turns).toMatchObject([{ turn }]);
	await runtime.close();
});
