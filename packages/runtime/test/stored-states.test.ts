/** Of a log that was taken over, nothing that its giver knows how to name is read: neither a shortcut nor what stands for records. */
import { createHash } from "node:crypto";
import { existsSync, writeFileSync } from "node:fs";
import { cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import { defineRecord, openWal } from "@reyn/wal";
import { afterAll, afterEach, beforeEach, expect, test, vi } from "vitest";
import { z } from "zod";
import {
	fileStore,
	type Layout,
	layoutOf,
	openRuntime,
	stateFingerprint,
	stateOrigin,
	trustState,
} from "../src/index.ts";
import { areaIn, areasIn } from "../src/stores/layout.ts";
import { seal } from "./kept-files.ts";
import { makeProject, open, type Project, scripted } from "./project.ts";

/** With which code openings fail behind their last step; undefined where they do not. */
const opening = vi.hoisted((): { failsWith: "WAL_FULL" | undefined } => ({ failsWith: undefined }));
// Files of tests share their modules: a mock has some of its own.
vi.hoisted(() => vi.resetModules());
afterAll(() => {
	vi.doUnmock("@reyn/wal");
	vi.resetModules();
});
vi.mock("@reyn/wal", async (original) => {
	const wal = await original<typeof import("@reyn/wal")>();
	const openWal: typeof wal.openWal = async (...args) => {
		const opened = await wal.openWal(...args);
		if (opening.failsWith === undefined) return opened;
		await opened.close();
		throw new wal.WalError(opening.failsWith, "the disk is full");
	};
	return { ...wal, openWal };
});

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

const filesBelow = async (directory: string): Promise<string[]> =>
	(await readdir(directory, { recursive: true, withFileTypes: true }))
		.filter((each) => each.isFile())
		.map(({ parentPath, name }) => relative(directory, join(parentPath, name)))
		.sort();

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
	const said = runtime.timeline.checkpoints().length;
	await runtime.close();
	const notices = events.flatMap((event) =>
		event.type === "snapshot_failed" || event.type === "untold" ? [event.reason] : [],
	);
	return { open: turns.length, asked: prompts, said, notices };
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

test("a log that was taken over, and then failed, keeps its copy: it has no other", async () => {
	await makeGiven();
	const first = await goOn();
	opening.failsWith = "WAL_FULL";
	await expect(trustState(project.state, secrets)).rejects.toMatchObject({ code: "WAL_FULL" });
	opening.failsWith = undefined;
	expect(basename(areaIn(layoutOf(project.state), "kept"))).toMatch(/^kept-[0-9a-f]{32}$/);
	expect(await goOn()).toEqual(first);
	await trustState(project.state, secrets);
	expect(await goOn()).toEqual(first);
});

test("of what lies where states are kept, only what they are made of is copied", async () => {
	await makeGiven();
	const kept = areaIn(layoutOf(project.state), "kept");
	const before = await filesBelow(kept);
	const first = await goOn();
	const [root = ""] = before.filter((name) => name.startsWith("roots/"));
	const planted = [
		"x",
		"chunks/x",
		`chunks/${"f".repeat(64)}/x`,
		"broken/log",
		root.replace(/\d{20}/, "0".repeat(19) + 7),
	];
	let deep = join(kept, "chunks");
	for (let i = 0; i < 38; i++) {
		await writeFile(join(deep, "%61"), "", { mode: 0o600 });
		deep = join(deep, "a");
		await mkdir(deep, { mode: 0o700 });
	}
	for (const name of planted) {
		await mkdir(join(kept, dirname(name)), { recursive: true, mode: 0o700 });
		await writeFile(join(kept, name.endsWith(".blob") ? name : `${name}.blob`), "planted", { mode: 0o600 });
	}
	await trustState(project.state, secrets);
	expect(await filesBelow(areaIn(layoutOf(project.state), "kept"))).toEqual(before);
	expect(await goOn()).toEqual(first);
});

test("more than states can have is neither read nor copied, and nothing is trusted", async () => {
	await seal(project.state);
	const layout = layoutOf(project.state);
	const kept = areaIn(layout, "kept");
	const chunks = join(kept, "chunks");
	await mkdir(chunks, { recursive: true, mode: 0o700 });
	const names = await readdir(layout.wal);
	const write = (i: number) => writeFileSync(join(chunks, `${String(i).padStart(64, "0")}.blob`), "", { mode: 0o600 });
	for (let i = 0; i < 20_000; i++) write(i);
	const ofAll = { code: "WAL_TOO_LARGE", detail: { limit: 20_000 } };
	await expect(stateFingerprint(project.state)).rejects.toMatchObject(ofAll);
	write(20_000);
	await expect(trustState(project.state, secrets)).rejects.toMatchObject({
		code: "WAL_TOO_LARGE",
		detail: { path: kept },
		message: expect.stringContaining("run its gc"),
	});
	expect(await readdir(layout.wal)).toEqual(names);
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
		message: expect.stringContaining("verifyLog"),
	});
});

test("of a state that is not known no snapshot is read: it would say what whoever gave it likes", async () => {
	await makeGiven();
	const { runtime } = await open(project, { model });
	for (let turn = 0; turn < 45; turn++) {
		await runtime.prompt(`good evening for the ${turn}th time`);
		await runtime.idle();
	}
	await runtime.close();
	const honest = runtime.view().hash();
	const snapshots = areaIn(layoutOf(project.state), "snapshots");
	expect(await forge(snapshots)).toBeGreaterThan(0);
	const { state, ...rest } = { ...project, store: undefined };
	const hashOf = async (withoutSnapshots: boolean): Promise<string> => {
		const store = fileStore(state, { withoutSnapshots });
		const opened = await openRuntime({ ...rest, store, model, tools: [], readOnly: true });
		const hash = opened.view().hash();
		await opened.close();
		return hash;
	};
	expect(await hashOf(false)).not.toBe(honest);
	expect(await hashOf(true)).toBe(honest);
});

test("the index of a log that was taken over is not the one that its giver left, or puts there later", async () => {
	// So long that a part of the index is due at the next checkpoint.
	const noise = defineRecord("noise", z.object({}));
	await using wal = await openWal(layoutOf(project.state).wal, { records: [noise] });
	for (let i = 0; i < 2100; i++) wal.append(noise({}), {});
	await wal.close();
	const { runtime } = await open(project, { model });
	await runtime.prompt("hello");
	await runtime.idle();
	await runtime.close();
	const index = join(areaIn(layoutOf(project.state), "snapshots"), "index");
	const [part = ""] = await filesBelow(index);
	const [, text = ""] = (await readFile(join(index, part), "utf8")).split("\n");
	const { checkpoints, ...rest } = JSON.parse(text);
	const titles = checkpoints.titles.map(() => "forged");
	const said = JSON.stringify({ ...rest, checkpoints: { ...checkpoints, titles } });
	await writeFile(join(index, part), `${createHash("sha256").update(said).digest("hex")}\n${said}\n`);
	const forged = join(project.root, "forged");
	await cp(index, forged, { recursive: true });

	const tells = async (store = fileStore(project.state)): Promise<boolean> => {
		const { runtime } = await open(project, { model, readOnly: true }, store);
		const checkpoints = runtime.timeline.checkpoints();
		await runtime.close();
		return JSON.stringify(checkpoints).includes("forged");
	};
	// Its checksum fits, and the log has the record that it names: only where it lies tells.
	expect(await tells()).toBe(true);
	expect(await tells(fileStore(project.state, { withoutSnapshots: true }))).toBe(false);
	await trustState(project.state, secrets);
	expect(await tells()).toBe(false);
	await cp(forged, index, { recursive: true });
	expect(await tells()).toBe(false);
});
