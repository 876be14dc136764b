/** Of a log that was taken over, nothing that its giver knows how to name is read: neither a shortcut nor what stands for records. */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Layout, layoutOf, readHistory, stateOrigin, trustState } from "../src/index.ts";
import { areaIn, areasIn } from "../src/stores/layout.ts";
import { seal } from "./kept-files.ts";
import { makeProject, open, type Project, scripted } from "./project.ts";

let project: Project;
let secrets: string;
let prompts: number;
beforeEach(async () => {
	project = await makeProject();
	secrets = join(project.root, "secrets");
	prompts = 0;
});
afterEach(() => project[Symbol.asyncDispose]());

/** Those that are read. */
const storedStatesOf = (layout: Layout): readonly string[] => ["snapshots", "kept"].map((area) => areaIn(layout, area));

const model = scripted(() => {
	prompts++;
	return "yes";
});

/** What a stored state says of its conversation is changed, and its checksum with it. */
async function forge(directory: string): Promise<number> {
	let forged = 0;
	for (const name of await readdir(directory, { recursive: true })) {
		if (!name.startsWith("roots/") || !name.endsWith(".blob")) continue;
		const [, text = ""] = (await readFile(join(directory, name), "utf8")).split("\n");
		const said = text.replace('"open":[]', `"open":[${JSON.parse(text).seq}]`);
		if (said === text) continue;
		await writeFile(join(directory, name), `${createHash("sha256").update(said).digest("hex")}\n${said}\n`);
		forged++;
	}
	return forged;
}

/** A log with snapshots, whose front is gone, and what stands for it. */
async function makeGiven(): Promise<void> {
	const { runtime } = await open(project, { model });
	for (let turn = 0; turn < 45; turn++) {
		await runtime.prompt(`hello for the ${turn}th time`);
		await runtime.idle();
	}
	await runtime.close();
	await seal(project.state);
	const { runtime: again } = await open(project, { model });
	for (let turn = 0; turn < 3; turn++) {
		await again.prompt(`good morning for the ${turn}th time`);
		await again.idle();
	}
	expect((await again.gc({ keepDays: 0, keepCheckpoints: 1 })).retainedFrom).toBeGreaterThan(200);
	await again.close();
}

/** How many prompts are open, how often a model is asked then, and what was said. */
async function goOn(): Promise<{ open: number; asked: number; said: number; notices: string[] }> {
	prompts = 0;
	const { runtime, events } = await open(project, { model });
	const { turns } = runtime.restored();
	runtime.resume();
	await runtime.idle();
	const { entries } = await readHistory(runtime);
	await runtime.close();
	const notices = events.flatMap((event) => (event.type === "notice" ? [event.text] : []));
	return { open: turns.length, asked: prompts, said: entries.length, notices };
}

test("states that come after a state was trusted are not believed", async () => {
	await makeGiven();
	const layout = layoutOf(project.state);
	const theirs = storedStatesOf(layout);
	const before = join(project.root, "before");
	await cp(project.state, before, { recursive: true });
	const copies = theirs.map((directory) => join(before, "state", basename(directory)));
	expect(await Promise.all(copies.map(forge))).toEqual([expect.any(Number), expect.any(Number)]);

	// Nobody has trusted it: what it says is what it is looked at by.
	await trustState(project.state, secrets);
	const ours = storedStatesOf(layout);
	expect(ours.map((directory) => basename(directory).replace(/[0-9a-f]{32}$/, "*"))).toEqual(["snapshots-*", "kept-*"]);
	const known = await goOn();
	expect(known).toMatchObject({ open: 0, asked: 0, notices: [] });
	// They unpack it all again, where it lay, and once more where it may lie.
	for (const copy of copies) await cp(copy, join(layout.wal, basename(copy)), { recursive: true });
	expect(await stateOrigin(project.state, secrets)).toBe("own");
	expect(await goOn()).toEqual(known);
});

test("a state that is trusted twice, or was cut in the middle, has all that was kept", async () => {
	await makeGiven();
	const layout = layoutOf(project.state);
	const first = await goOn();
	for (let time = 0; time < 2; time++) {
		await trustState(project.state, secrets);
		expect(await goOn()).toEqual(first);
	}
	// As a cut before the log is taken over leaves it.
	const orphan = join(layout.wal, `kept-${"0".repeat(32)}`);
	await mkdir(orphan, { mode: 0o700 });
	await writeFile(join(orphan, "log.blob"), "half", { mode: 0o600 });
	expect(await goOn()).toEqual(first);

	const { runtime } = await open(project, { model });
	await runtime.gc({ keepDays: 0, keepCheckpoints: 1 });
	await runtime.close();
	const ours = storedStatesOf(layout);
	const stored = areasIn(layout).filter(({ directory }) => /^(kept|snapshots)/.test(basename(directory)));
	expect(stored.length).toBeGreaterThan(3);
	for (const { directory } of stored) {
		const files = (await readdir(directory, { recursive: true, withFileTypes: true })).filter((each) => each.isFile());
		expect([directory, files.length > 0]).toEqual([directory, ours.includes(directory)]);
	}
	expect(await goOn()).toEqual(first);
});

test("a log that cannot be taken over leaves no copy", async () => {
	await makeGiven();
	const { wal } = layoutOf(project.state);
	const names = await readdir(wal);
	await writeFile(join(wal, "wal.jsonl"), "not a header\n");
	await expect(trustState(project.state, secrets)).rejects.toMatchObject({ code: "WAL_CORRUPT" });
	expect(await readdir(wal)).toEqual(names);
	expect(existsSync(join(dirname(wal), "own"))).toBe(false);
});

test("cut between two segments, and damaged there, a log that was taken over is known by the one before", async () => {
	await makeGiven();
	await trustState(project.state, secrets);
	const { wal } = layoutOf(project.state);
	const ours = storedStatesOf(layoutOf(project.state));
	const first = await goOn();
	await seal(project.state);
	const head = await readFile(join(wal, "wal.head"));
	await seal(project.state);
	const last = await readFile(join(wal, "wal.jsonl"));
	await rm(join(wal, "wal.jsonl"));
	await writeFile(join(wal, "wal.head"), head);
	expect(storedStatesOf(layoutOf(project.state))).toEqual(ours);
	expect((await goOn()).open).toBe(first.open);
	await writeFile(join(wal, "wal.jsonl"), last.subarray(3));
	await expect(goOn()).rejects.toMatchObject({
		code: "WAL_CORRUPT",
		message: expect.stringContaining("reyn wal verify"),
	});
});
