/** Every way that a log can be less than sound, and what is said of it. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFile, cp, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { defineRecord, fileEngine, openWal, statLog, verifyLog } from "../src/index.ts";

const said = defineRecord("said", z.object({ text: z.string() }));

let root: string;
let directory: string;
let path: string;

beforeEach(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-verify-"));
	directory = join(root, "log");
	path = join(directory, "wal.jsonl");
});
afterEach(() => rm(root, { recursive: true, force: true }));

/** `count` records after the epoch's, in small segments or in one. */
async function history(count: number, at = directory, segmentBytes = 1024): Promise<void> {
	const engine = fileEngine(at, { segmentBytes, allocateBytes: 512 });
	await using wal = await openWal(engine, { records: [said] });
	for (let i = 0; i < count; i++) await wal.append(said({ text: `text ${i}` }), {}).durable;
}

const sealedOf = async (at = directory): Promise<string[]> =>
	(await readdir(at))
		.filter((name) => /^wal-\d{20}\.jsonl$/.test(name))
		.sort()
		.map((name) => join(at, name));

async function change(file: string, line: number, to: (line: string) => string): Promise<void> {
	const lines = (await readFile(file, "utf8")).split("\n");
	lines[line - 1] = to(lines[line - 1] as string);
	await writeFile(file, lines.join("\n"));
}

async function bytesOf(at: string): Promise<Record<string, string>> {
	const names = (await readdir(at)).sort();
	return Object.fromEntries(
		await Promise.all(names.map(async (name) => [name, await readFile(join(at, name), "latin1")])),
	);
}

test("a sound log is sound, in all its segments, and nothing is touched", async () => {
	await history(30);
	const before = await bytesOf(directory);
	const verdict = await verifyLog(directory);
	expect(verdict).toMatchObject({ state: "sound", problems: [], torn: undefined, acknowledged: 31, next: [] });
	expect(verdict.segments.length).toBeGreaterThan(2);
	expect(verdict.segments.reduce((sum, { records }) => sum + records, 0)).toBe(31);
	expect(verdict.segments.at(-1)).toMatchObject({ path, sealed: false, last: 31, state: "sound" });
	expect(await bytesOf(directory)).toEqual(before);
});

test("a torn tail is a note and no damage", async () => {
	await history(3);
	await appendFile(path, '{"v":1,"seq":5,');
	const verdict = await verifyLog(directory);
	expect(verdict).toMatchObject({ state: "torn", problems: [], torn: { seq: 5, bytes: 15 } });
});

test("each damaged line is one problem, with its place and both checksums", async () => {
	await history(6, directory, 65_536);
	await change(path, 3, (line) => line.replace("text 0", "text x"));
	await change(path, 5, (line) => line.replace("text 2", "text y"));
	const { state, problems, segments } = await verifyLog(directory);
	expect(state).toBe("damaged");
	expect(problems).toMatchObject([
		{ path, line: 3, seq: 2, acknowledged: true, expectedCrc: expect.stringMatching(/^[0-9a-f]{8}$/) },
		{ path, line: 5, seq: 4, acknowledged: true },
	]);
	expect(problems[0]?.actualCrc).not.toBe(problems[0]?.expectedCrc);
	const text = await readFile(path);
	expect(text.subarray(problems[1]?.offset).toString().startsWith('{"v":1,"seq":4,')).toBe(true);
	expect(segments).toMatchObject([{ state: "damaged", records: 5, first: 1, last: 7 }]);
});

test("a line without a newline before it, a doubled and a swapped line, a blank one: each is found", async () => {
	await history(6, directory, 65_536);
	const whole = await readFile(path, "utf8");
	const lines = whole.split("\n");
	const [head, a, b, c, ...rest] = lines as [string, string, string, string, ...string[]];
	for (const [broken, seq] of [
		[[head, a, c, b, ...rest], 2],
		[[head, a, b, b, c, ...rest], 3],
		[[head, a, c, ...rest], 2],
		[[head, a, "", b, c, ...rest], 2],
	] as const) {
		await writeFile(path, broken.join("\n"));
		const verdict = await verifyLog(directory);
		expect(verdict.state).toBe("damaged");
		expect(verdict.problems[0]).toMatchObject({ path, seq, line: seq + (broken[2] === "" ? 2 : 1) });
	}
});

test("acknowledged records missing from the end are named", async () => {
	await history(6, directory, 65_536);
	const lines = (await readFile(path, "utf8")).split("\n");
	await writeFile(path, `${lines.slice(0, 5).join("\n")}\n`);
	const verdict = await verifyLog(directory);
	expect(verdict).toMatchObject({
		state: "missing",
		acknowledged: 7,
		problems: [{ path, seq: 5, acknowledged: true }],
	});
	expect(verdict.next.join()).toContain("reyn wal repair");
});

test("damage in the middle of a sealed segment, which no writer looks at, is found", async () => {
	await history(30);
	const [, second = ""] = await sealedOf();
	await change(second, 3, (line) => line.replace("text", "TEXT"));
	await using wal = await openWal(directory, { records: [said], readOnly: true });
	expect(wal.tip).toBe(31);
	const { state, problems, segments } = await verifyLog(directory);
	expect(state).toBe("damaged");
	expect(problems).toMatchObject([{ path: second, line: 3, acknowledged: true }]);
	expect(segments.map((segment) => segment.state)).toEqual([
		"sound",
		"damaged",
		...segments.slice(2).map(() => "sound"),
	]);
});

test("a missing segment is named with the seqs that it held", async () => {
	await history(30);
	const [, second = "", third = ""] = await sealedOf();
	await rm(second);
	const first = Number(/(\d{20})/.exec(second)?.[1]);
	const next = Number(/(\d{20})/.exec(third)?.[1]);
	const { state, problems, segments } = await verifyLog(directory);
	expect(state).toBe("missing");
	expect(problems).toMatchObject([{ seq: first, why: expect.stringContaining(`seqs ${first} to ${next - 1}`) }]);
	expect(segments[1]).toMatchObject({ path: second, state: "missing", first });
});

test("a missing oldest segment is named", async () => {
	await history(30);
	const [oldest = "", second = ""] = await sealedOf();
	await rm(oldest);
	const begins = Number(/(\d{20})/.exec(second)?.[1]);
	expect(await verifyLog(directory)).toMatchObject({
		state: "missing",
		first: 1,
		problems: [{ path: second, seq: 1, why: expect.stringContaining(`seqs 1 to ${begins - 1}`) }],
	});
});

test("a log without wal.jsonl, and one without anything but its head, are missing", async () => {
	await history(30);
	await rm(path);
	expect(await verifyLog(directory)).toMatchObject({ state: "missing", problems: [{ path }] });
	for (const sealed of await sealedOf()) await rm(sealed);
	expect(await verifyLog(directory)).toMatchObject({
		state: "missing",
		problems: [{ path, seq: 1 }],
		acknowledged: 31,
	});
});

test("a segment of another log is damage, and not taken for ours", async () => {
	await history(30);
	await history(30, join(root, "other"));
	const [, second = ""] = await sealedOf();
	const [, theirs = ""] = await sealedOf(join(root, "other"));
	await cp(theirs, second);
	const { state, problems } = await verifyLog(directory);
	expect(state).toBe("damaged");
	expect(problems[0]).toMatchObject({ path: second, why: expect.stringContaining("another log") });
});

test("a segment under another's name is damage", async () => {
	await history(30);
	const [first = ""] = await sealedOf();
	await rename(first, join(directory, "wal-00000000000000000000.jsonl"));
	expect(await verifyLog(directory)).toMatchObject({ state: "damaged" });
});

test("any one byte that changes, anywhere in any segment, is seen", async () => {
	await history(12);
	for (const file of [...(await sealedOf()), path]) {
		const whole = await readFile(file);
		for (let at = 0; at < whole.length; at += 13) {
			const broken = Buffer.from(whole);
			broken[at] = (broken[at] as number) ^ 0x10;
			await writeFile(file, broken);
			const { state } = await verifyLog(directory);
			expect(["damaged", "missing"], `${file}, byte ${at}: ${state}`).toContain(state);
		}
		await writeFile(file, whole);
	}
});

test("a log of a newer format and a place without a log are refused by name", async () => {
	await expect(verifyLog(join(root, "none"))).rejects.toMatchObject({ code: "WAL_IO" });
	await history(1);
	await writeFile(path, (await readFile(path, "utf8")).replaceAll('{"v":1,', '{"v":2,'));
	await expect(verifyLog(directory)).rejects.toMatchObject({ code: "WAL_NEWER_FORMAT" });
});

test("beside a live writer that seals all the while, the log is never called damaged", async () => {
	const child = spawn(
		process.execPath,
		["--conditions=@reyn/source", join(import.meta.dirname, "append-forever.ts"), directory],
		{ stdio: ["ignore", "pipe", "inherit"] },
	);
	const lines = createInterface({ input: child.stdout });
	let acknowledged = 0;
	lines.on("line", (line) => {
		acknowledged = Number(line);
	});
	await once(lines, "line");
	for (let i = 0; i < 8; i++) {
		const promised = acknowledged;
		const verdict = await verifyLog(directory);
		expect(verdict.problems).toEqual([]);
		expect(["sound", "torn"]).toContain(verdict.state);
		expect(verdict.segments.at(-1)?.last).toBeGreaterThanOrEqual(promised);
		const stats = await statLog(directory);
		expect(stats.records).toBeGreaterThanOrEqual(promised);
	}
	child.kill("SIGKILL");
	await once(child, "close");
}, 60_000);

test("the figures add up to what is there", async () => {
	await history(30);
	const stats = await statLog(directory);
	expect(stats).toMatchObject({ records: 31, first: 1, last: 31, padding: 0 });
	expect(stats.kinds.map(({ kind, records }) => [kind, records])).toEqual([
		["said", 30],
		["wal_epoch", 1],
	]);
	const files = [...(await sealedOf()), path];
	expect(stats.segments).toBe(files.length);
	const total = Number(execFileSync("cat", files).length);
	expect(stats.bytes).toBe(total);
	expect(stats.kinds.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThan(total);
});
