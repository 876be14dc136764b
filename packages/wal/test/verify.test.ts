/** Every way that a log can be less than sound, and what is said of it. */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { appendFile, cp, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { startSource } from "../../../tests/kit/killable.ts";
import { pointsOf, sample, some } from "../../../tests/sample.ts";
import { decide } from "../src/file/decide.ts";
import { survey } from "../src/file/survey.ts";
import { type Disk, defineRecord, fileEngine, openWal } from "../src/index.ts";
import { MemoryDisk } from "../src/testing/index.ts";
import { proposeRepair, statLog, verifyLog } from "../src/tools.ts";

const said = defineRecord("said", z.object({ text: z.string() }));

let library: string;
beforeAll(async () => {
	library = await mkdtemp(join(tmpdir(), "reyn-verify-library-"));
});
afterAll(() => rm(library, { recursive: true, force: true }));

let root: string;
let directory: string;
let path: string;

beforeEach(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-verify-"));
	directory = join(root, "log");
	path = join(directory, "wal.jsonl");
});
afterEach(() => rm(root, { recursive: true, force: true }));

/** `count` records after the epoch's, in small segments or in one: written once, and copied. */
async function history(count: number, at = directory, segmentBytes = 1024): Promise<void> {
	const written = join(library, `${count}-${segmentBytes}`);
	if (!existsSync(written)) await write(count, written, segmentBytes);
	await cp(written, at, { recursive: true });
}

async function write(count: number, at: string, segmentBytes = 1024): Promise<void> {
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

/** The same line with the checksum that it has to have. */
function resealed(line: Buffer): Buffer {
	const body = line.subarray(0, -18);
	return Buffer.concat([body, Buffer.from(`,"crc":"${crc32(body).toString(16).padStart(8, "0")}"}`)]);
}

const asVersion = (version: string, line: string): string => line.replace('{"v":1,', `{"v":${version},`);
const resealedAs = (version: string, line: string): string =>
	resealed(Buffer.from(asVersion(version, line))).toString();

async function changeBytes(file: string, line: number, to: (line: Buffer) => Buffer): Promise<void> {
	const lines = (await readFile(file, "latin1")).split("\n");
	lines[line - 1] = to(Buffer.from(lines[line - 1] as string, "latin1")).toString("latin1");
	await writeFile(file, lines.join("\n"), "latin1");
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
	expect(verdict).toMatchObject({ state: "sound", problems: [], torn: undefined, acknowledged: 31 });
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
	await write(30, join(root, "other"));
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
		for (const at of pointsOf(0, whole.length - 1, 7, 13)) {
			const broken = Buffer.from(whole);
			broken[at] = (broken[at] as number) ^ 0x10;
			await writeFile(file, broken);
			const { state } = await verifyLog(directory);
			expect(["damaged", "missing"], `${file}, byte ${at}: ${state}`).toContain(state);
		}
		await writeFile(file, whole);
	}
});

test.each([
	["a control character in its data", "\u0001"],
	["a quote in its data", '"'],
	["bytes that are no UTF-8 in its data", "\u00ff"],
])("a record with %s is damaged, though its checksum fits", async (_, bytes) => {
	await history(3, directory, 65_536);
	await changeBytes(path, 5, (line) => resealed(Buffer.from(line.toString("latin1").replace("t 2", bytes), "latin1")));
	expect(await verifyLog(directory)).toMatchObject({ state: "damaged", problems: [{ line: 5, seq: 4 }] });
	await expect(openWal(directory, { records: [said] })).rejects.toMatchObject({ code: "WAL_CORRUPT" });
});

test("a record behind what the head vouches for is read whole at the open too", async () => {
	await history(3, directory, 65_536);
	const { prev, seq } = { prev: /"crc":"(.{8})"\}\n$/.exec(await readFile(path, "utf8"))?.[1], seq: 5 };
	const line = `{"v":1,"seq":${seq},"ts":1,"kind":"said","scope":{},"data":{"text":"\u0001"},"dur":4,"prev":"${prev}","crc":"00000000"}`;
	await appendFile(path, Buffer.concat([resealed(Buffer.from(line)), Buffer.from("\n")]));
	expect(await verifyLog(directory)).toMatchObject({ state: "torn", torn: { seq } });
	await using wal = await openWal(directory, { records: [said] });
	expect(wal.torn).toMatchObject({ seq });
});

describe("a version", () => {
	const refused = async (): Promise<unknown> =>
		openWal(directory, { records: [said], readOnly: true }).then(
			() => undefined,
			(error) => error.code,
		);

	test.each(some(["3", "5", "9", "0"], 3))("that rot made a %s is damage, and can be repaired", async (digit) => {
		for (const line of [1, 3, 5]) {
			await rm(directory, { recursive: true, force: true });
			await history(3, directory, 65_536);
			await change(path, line, (text) => asVersion(digit, text));
			const { state, problems } = await verifyLog(directory);
			expect({ state, count: problems.length }, `line ${line}`).toEqual({ state: "damaged", count: 1 });
			expect(await refused()).toBe("WAL_CORRUPT");
			const accept = line === 1 ? "none" : `${line - 1}..${line - 1}`;
			expect(await proposeRepair(directory)).toMatchObject({ kind: "repair", accept });
		}
	});

	test("that rot changed at either end of a sealed segment is damage", async () => {
		await history(30);
		const [, second = ""] = await sealedOf();
		const whole = await readFile(second, "utf8");
		const last = whole.trimEnd().split("\n").length;
		for (const line of [1, last]) {
			await writeFile(second, whole);
			await change(second, line, (text) => asVersion("3", text));
			expect(await verifyLog(directory)).toMatchObject({ state: "damaged" });
			expect(await refused()).toBe("WAL_CORRUPT");
			expect(await proposeRepair(directory)).toMatchObject({ kind: "repair", accept: "none" });
		}
	});

	test("that is not the only thing wrong with its line is damage, if lines of ours follow", async () => {
		for (const line of [1, 3]) {
			await rm(directory, { recursive: true, force: true });
			await history(3, directory, 65_536);
			await change(path, line, (text) => asVersion("3", text).replace("1", "2"));
			expect(await verifyLog(directory)).toMatchObject({ state: "damaged", problems: [{ line }] });
			expect(await refused()).toBe("WAL_CORRUPT");
		}
		await rm(directory, { recursive: true, force: true });
		await history(30);
		const [, second = ""] = await sealedOf();
		const last = (await readFile(second, "utf8")).trimEnd().split("\n").length;
		await change(second, 1, (text) => asVersion("3", text).replace("1", "2"));
		for (const footer of [(text: string) => text, () => "junk"]) {
			await change(second, last, footer);
			expect(await verifyLog(directory)).toMatchObject({ state: "damaged" });
			expect(await refused()).toBe("WAL_CORRUPT");
		}
	});

	test("above 1 is a newer format if its line is sound, or if nothing of ours follows", async () => {
		for (const [line, to] of [
			[5, (text: string) => resealedAs("2", text)],
			[3, (text: string) => resealedAs("999999", text)],
			[1, (text: string) => resealedAs("2", text)],
			[5, (text: string) => asVersion("2", text).replace('"crc"', '"sum"')],
			[5, () => '{"v":2,'],
		] as const) {
			await rm(directory, { recursive: true, force: true });
			await history(3, directory, 65_536);
			await change(path, line, to);
			expect(await refused()).toBe("WAL_NEWER_FORMAT");
			await expect(verifyLog(directory)).rejects.toMatchObject({ code: "WAL_NEWER_FORMAT" });
			await expect(proposeRepair(directory)).rejects.toMatchObject({ code: "WAL_NEWER_FORMAT" });
		}
	});

	test("above 1 is a newer format in any line of a sealed segment", async () => {
		await history(30);
		const [, second = ""] = await sealedOf();
		const whole = await readFile(second, "utf8");
		const last = whole.trimEnd().split("\n").length;
		for (const line of [1, 3, last]) {
			await writeFile(second, whole);
			await change(second, line, (text) => resealedAs("2", text));
			await expect(verifyLog(directory)).rejects.toMatchObject({ code: "WAL_NEWER_FORMAT", detail: { path: second } });
			await expect(proposeRepair(directory)).rejects.toMatchObject({ code: "WAL_NEWER_FORMAT" });
			if (line !== 3) expect(await refused()).toBe("WAL_NEWER_FORMAT");
		}
	});

	test.each(some(["0", "1.5", "01", "-1", "1000000", '"2"', "null"], 3))(
		"%s is no version of any format",
		async (version) => {
			await history(3, directory, 65_536);
			await change(path, 5, (text) => resealedAs(version, text));
			expect(await verifyLog(directory)).toMatchObject({ state: "damaged" });
			expect(await refused()).toBe("WAL_CORRUPT");
		},
	);
});

describe("wal.head", () => {
	const head = (): string => join(directory, "wal.head");
	const padded = (line: string): string => `${line.padEnd(255)}\n`;

	test("of a newer format is refused, and stays as it is", async () => {
		await history(3);
		const newer = padded(resealedAs("2", (await readFile(head(), "utf8")).trimEnd()));
		await writeFile(head(), newer);
		const newerFormat = { code: "WAL_NEWER_FORMAT", detail: { version: 2, path: head() } };
		await expect(openWal(directory, { records: [said] })).rejects.toMatchObject(newerFormat);
		await expect(openWal(directory, { records: [said], readOnly: true })).rejects.toMatchObject(newerFormat);
		await expect(verifyLog(directory)).rejects.toMatchObject(newerFormat);
		await expect(proposeRepair(directory)).rejects.toMatchObject(newerFormat);
		expect(await readFile(head(), "utf8")).toBe(newer);
	});

	test("and so is wal.base", async () => {
		await history(3);
		const line = '{"v":2,"base":{"log":"whatever","first":1},"crc":"00000000"}';
		await writeFile(join(directory, "wal.base"), `${resealed(Buffer.from(line))}\n`);
		await expect(openWal(directory, { records: [said] })).rejects.toMatchObject({ code: "WAL_NEWER_FORMAT" });
		await expect(proposeRepair(directory)).rejects.toMatchObject({ code: "WAL_NEWER_FORMAT" });
	});

	test("whose version rot has changed says nothing, and so does one that is not padded with spaces", async () => {
		await history(3);
		const line = (await readFile(head(), "utf8")).trimEnd();
		expect((await verifyLog(directory)).head).toMatchObject({ seq: 4 });
		for (const text of [asVersion("3", padded(line)), `${line.padEnd(255, "\t")}\n`, padded(line).trimEnd()]) {
			await writeFile(head(), text);
			expect(await verifyLog(directory)).toMatchObject({ state: "sound", head: undefined });
		}
	});
});

test("a writer that goes on while we look is not taken for damage: the head is read before what it speaks of", async () => {
	const disk = new MemoryDisk();
	await using wal = await openWal(fileEngine("/log", { disk }), { records: [said] });
	const before = new Map([...disk.files].map(([name, { bytes }]) => [name, Uint8Array.from(bytes)]));
	await wal.append(said({ text: "meanwhile" }), {}).durable;
	/** As it was until `wal.jsonl` has been read, and then as it is now. */
	class Racing extends MemoryDisk {
		override open(name: string, how: Parameters<Disk["open"]>[1]): ReturnType<Disk["open"]> {
			const file = super.open(name, how);
			const close = (): void => {
				file.close();
				if (name !== "/log/wal.jsonl") return;
				for (const [each, { bytes }] of disk.files) {
					const inode = this.files.get(each);
					if (inode) inode.bytes = Uint8Array.from(bytes);
				}
			};
			return { ...file, close };
		}
	}
	for (const how of ["quick", "whole"] as const)
		expect(decide(survey(new Racing(before, disk.directories), "/log", how), 0)).toMatchObject({ kind: "open" });
});

test("anything behind the footer of wal.jsonl is damage, and is neither cut nor sealed", async () => {
	await history(30);
	const sealed = await sealedOf();
	await rm(path);
	await rename(sealed.at(-1) as string, path);
	await rm(join(directory, "wal.head"));
	await appendFile(path, "junk\n");
	const before = await bytesOf(directory);
	for (const readOnly of [true, false])
		await expect(openWal(directory, { records: [said], readOnly })).rejects.toMatchObject({ code: "WAL_CORRUPT" });
	expect({ ...(await bytesOf(directory)), "wal.lock": "" }).toEqual({ ...before, "wal.lock": "" });
	expect(await verifyLog(directory)).toMatchObject({ state: "damaged", problems: [{ path }] });
});

test("a log of a newer format and a place without a log are refused by name", async () => {
	await expect(verifyLog(join(root, "none"))).rejects.toMatchObject({ code: "WAL_IO" });
	await history(1);
	// A newer format may have another trailer.
	const newer = (await readFile(path, "utf8")).replaceAll('{"v":1,', '{"v":2,').replaceAll('"crc"', '"sum"');
	await writeFile(path, newer);
	await expect(verifyLog(directory)).rejects.toMatchObject({ code: "WAL_NEWER_FORMAT" });
});

test("beside a live writer that seals all the while, the log is never called damaged", async () => {
	const writer = startSource(join(import.meta.dirname, "append-forever.ts"), [directory]);
	await writer.line("");
	for (let i = 0; i < sample(3, 8); i++) {
		const promised = Number(writer.lines.at(-1));
		const verdict = await verifyLog(directory);
		expect(verdict.problems).toEqual([]);
		expect(["sound", "torn"]).toContain(verdict.state);
		expect(verdict.segments.at(-1)?.last).toBeGreaterThanOrEqual(promised);
		const stats = await statLog(directory);
		expect(stats.records).toBeGreaterThanOrEqual(promised);
	}
	await writer.kill();
});

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
