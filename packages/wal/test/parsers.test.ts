/**
 * Lines that are damaged, forged or written in another way, before all that reads lines: the quick reader of records, the whole one, a
 * file's lines, an engine's lines, and beside them a plain one that is written from docs/formats/wal-v1.md. They say the same, and say it.
 */
import { isDeepStrictEqual } from "node:util";
import { crc32 } from "node:zlib";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { type Random, seeded } from "../../../tests/kit/seeded.ts";
import { histories } from "../../../tests/sample.ts";
import { checkedLines, recordLines } from "../src/file/records.ts";
import { survey } from "../src/file/survey.ts";
import { defineRecord, fileEngine, openWal, WalError, type WalRecord } from "../src/index.ts";
import {
	decodeLine,
	encodeBase,
	encodeFooter,
	encodeHead,
	encodeHeader,
	encodeRecord,
	MAX_LINE_BYTES,
	type StoredRecord,
} from "../src/record/codec.ts";
import { RecordLine } from "../src/record/record-line.ts";
import { storedRecords } from "../src/record/stored-records.ts";
import { MemoryDisk } from "../src/testing/index.ts";
import { proposeRepair, statLog, verifyLog } from "../src/tools.ts";

const lineRuns = histories(1000, 20_000);
const logRuns = histories(30, 500);

describe("one line", () => {
	test(`is the same to all that read it (${lineRuns.numRuns} lines, seed ${lineRuns.seed})`, () => {
		const found = { record: 0, quick: 0, other: 0, bad: 0 };
		for (let run = 0; run < lineRuns.numRuns; run++) {
			const random = seeded(lineRuns.seed + run);
			const line = changed(random, soundLine(random));
			const shown = (): string => `run ${run}: ${line.toString("latin1")}`;
			const record = told(line);
			const decoded = decodeLine(line);
			same(decoded.type === "record" ? decoded.record : undefined, record, shown);
			const quick = quickly(line);
			if (quick) same(quick, record, shown);
			same(amidOthers(line), decoded, shown);
			if (!line.includes(0x0a) && line.some((byte) => byte !== 0)) {
				same(inFile(line), { decoded, record }, shown);
				same(byEngine(line, record?.seq ?? 1), record ?? "WAL_CORRUPT", shown);
			}
			found[record ? "record" : decoded.type === "bad" ? "bad" : "other"]++;
			if (quick) found.quick++;
		}
		// Else it would be about nothing.
		for (const [kind, count] of Object.entries(found))
			expect(count, kind).toBeGreaterThan(lineRuns.numRuns / (kind === "other" ? 100 : 20));
	});

	test.each([
		["a number with an exponent", (line: string) => line.replace('"seq":12', '"seq":1.2e1'), { seq: 12 }],
		["minus nothing", (line: string) => line.replace('"dur":11', '"dur":-0'), { dur: -0 }],
		["a name that is escaped", (line: string) => line.replace('"note"', '"n\\u006fte"'), { kind: "note" }],
		["half a character, escaped", (line: string) => line.replace('"note"', '"\\ud800"'), { kind: "\ud800" }],
		["a key that comes twice", (line: string) => line.replace('"ts":34', '"ts":33,"ts":34'), { ts: 34 }],
		["another order", (line: string) => line.replace('"seq":12,"ts":34', '"ts":34,"seq":12'), { seq: 12 }],
		["white space", (line: string) => line.replaceAll('":', '": '), { seq: 12, data: { x: "y" } }],
		["keys of nobody", (line: string) => line.replace('"ts"', '"__proto__":{"seq":9},"ts"'), { seq: 12 }],
		["a number that is too large", (line: string) => line.replace('"seq":12', '"seq":9007199254740993'), undefined],
		["a number that begins with 0", (line: string) => line.replace('"seq":12', '"seq":012'), undefined],
		["a mark of the byte order", (line: string) => `\ufeff${line}`, undefined],
		["a scope of other parts", (line: string) => line.replace('"agent"', '"__proto__"'), undefined],
		["no data", (line: string) => line.replace(',"data":{"x":"y"}', ""), undefined],
	])("%s is read in one way", (_, change, expected) => {
		const line = sealed(Buffer.from(change(plain)));
		expect(told(line)).toEqual(expected && expect.objectContaining(expected));
		const decoded = decodeLine(line);
		expect(decoded.type === "record" ? decoded.record : undefined).toStrictEqual(told(line));
		expect(byEngine(line, 12)).toStrictEqual(told(line) ?? "WAL_CORRUPT");
	});

	test.each([
		["a return before its newline", (line: Buffer) => Buffer.concat([line, Buffer.from("\r")])],
		[
			"a byte that is no character",
			(line: Buffer) => sealed(Buffer.from(line.map((byte) => (byte === 0x79 ? 0xc3 : byte)).subarray(0, -18))),
		],
		["a space behind it", (line: Buffer) => Buffer.concat([line, Buffer.from(" ")])],
		["8 MiB", (line: Buffer) => sealed(Buffer.concat([line.subarray(0, -18), Buffer.alloc(MAX_LINE_BYTES, " ")]))],
	])("a line with %s is none", (_, change) => {
		const line = change(sealed(Buffer.from(plain)));
		expect([told(line), quickly(line), decodeLine(line).type, byEngine(line, 12)]).toEqual([
			undefined,
			undefined,
			"bad",
			"WAL_CORRUPT",
		]);
	});
});

const plain = '{"v":1,"seq":12,"ts":34,"kind":"note","scope":{"agent":"a"},"data":{"x":"y"},"dur":11,"prev":"0011aabb"';

/** As an expectation that they are equal, for what is asked a million times. */
function same(found: unknown, expected: unknown, shown: () => string): void {
	if (!isDeepStrictEqual(found, expected)) expect(found, shown()).toStrictEqual(expected);
}

/** A record as the page on the format says: the whole line, one thing after the other. */
function told(line: Buffer): StoredRecord | undefined {
	if (line.length >= MAX_LINE_BYTES) return undefined;
	const [, crc] = /^,"crc":"([0-9a-f]{8})"\}$/.exec(line.subarray(-18).toString("latin1")) ?? [];
	if (crc !== crcOf(line.subarray(0, -18))) return undefined;
	let value: Record<string, unknown>;
	try {
		value = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(line));
	} catch {
		return undefined;
	}
	const { v, seq, ts, kind, scope, dur, prev } = value;
	const isWhole = (number: unknown, least: number): number is number =>
		typeof number === "number" && Number.isInteger(number) && number >= least && number < 2 ** 53;
	const isScope = (given: unknown): given is Record<string, string> =>
		typeof given === "object" &&
		given !== null &&
		!Array.isArray(given) &&
		Object.entries(given).every(([key, part]) => /^(agent|session|run)$/.test(key) && typeof part === "string");
	if (v !== 1 || !isWhole(seq, 1) || !isWhole(dur, 0) || typeof ts !== "number") return undefined;
	if (typeof kind !== "string" || typeof prev !== "string" || !isScope(scope)) return undefined;
	return Object.hasOwn(value, "data") ? { seq, ts, kind, scope, data: value.data, dur, prev, crc } : undefined;
}

/** As the quick reader has it, from bytes and from text: what it does not read is for the whole one. */
function quickly(line: Buffer): StoredRecord | undefined {
	const cursor = new RecordLine();
	if (!cursor.read(line, 0, line.length)) return undefined;
	const record = cursor.record(undefined);
	if (line.every((byte) => byte < 0x80)) same(cursor.record(line.toString("latin1")), record, String);
	if (record) {
		same([cursor.seq, cursor.dur], [record.seq, record.dur], String);
		same(
			cursor.record(undefined, () => false),
			{ ...record, data: undefined },
			String,
		);
	}
	return record;
}

/** As `decodeLine` has it in the middle of a buffer. */
function amidOthers(line: Buffer) {
	const buffer = Buffer.concat([Buffer.from('{"v":1,"seq":1\n'), line, Buffer.from('\n,"crc":"00000000"}')]);
	return decodeLine(buffer, 15, 15 + line.length);
}

/** As the lines of a file have it, which are read some at a time, and twice: the first one may not be what the next one is taken for. */
function inFile(line: Buffer) {
	const disk = new MemoryDisk([["/file", Buffer.concat([line, Buffer.from("\n"), line])]]);
	const [first, second] = checkedLines(disk.open("/file", "read"));
	same(second?.decoded, first?.decoded, String);
	same([first?.offset, first?.end, second?.offset], [0, line.length + 1, line.length + 1], String);
	const [record] = recordLines(disk.open("/file", "read"));
	return { decoded: first?.decoded, record: record?.record };
}

/** As an engine's lines have it; the code of the error where it is none. */
function byEngine(line: Buffer, seq: number): unknown {
	const all = [line, Buffer.concat([line, Buffer.from("\n")])].map((each) => {
		try {
			return storedRecords([each], seq)[0];
		} catch (error) {
			return error instanceof WalError ? error.code : error;
		}
	});
	same(all[1], all[0], String);
	return all[0];
}

const crcOf = (bytes: Buffer): string => crc32(bytes).toString(16).padStart(8, "0");

const sealed = (body: Buffer): Buffer => Buffer.concat([body, Buffer.from(`,"crc":"${crcOf(body)}"}`)]);

const words = [
	"note",
	"wal_epoch",
	"ü😀\u2028",
	'"',
	"\\",
	"\n\t\u0000",
	"\ud800",
	"__proto__",
	"",
	'","scope":{',
	'},"data":',
];

function recordLine(random: Random): string {
	const text = (): string => Array.from({ length: random.below(3) }, () => random.pick(words)).join("");
	const value = (depth: number): unknown =>
		[
			() => text(),
			() => random.below(1e6) - 5e5,
			() => random() * 1e21,
			() => random.pick([null, true, {}, []]),
			() => [value(depth + 1), value(depth + 1)],
			() => ({ [text()]: value(depth + 1), x: value(depth + 1) }),
		][random.below(depth > 3 ? 4 : 6)]?.();
	const [agent, session, run] = [text(), text(), text()];
	return encodeRecord({
		seq: random.pick([1, 2, 12, 2 ** 31, Number.MAX_SAFE_INTEGER]),
		ts: random.chance(0.7) ? 1767225601000 : random.pick([0, -5, 0.5, 1e300]),
		kind: random.chance(0.2) ? text() : "note",
		scope: random.pick([{}, { agent: "a" }, { agent: "ü", session: "b" }, { agent, session, run }]),
		data: JSON.stringify(value(0)),
		dur: random.pick([0, 1, 11, 2 ** 31]),
		prev: random.pick(["00000000", "0011aabb", "ffffffff"]),
	}).line;
}

/** A line as it is written, without its newline: most are records. */
function soundLine(random: Random): Buffer {
	const log = "c1".repeat(16);
	const others = [
		() =>
			encodeHeader({
				log,
				first: 1,
				prev: "00000000",
				epoch: 0,
				created: 5,
				...(random.chance(0.5) && { adopted: log }),
			}),
		() => encodeFooter({ first: 1, last: 12, prev: "0011aabb", epoch: 3 }),
		() => encodeHead({ log, segment: 1, seq: 12, offset: 300, sum: "0011aabb", epoch: 2 }).trimEnd(),
		() => encodeBase({ log, first: 7 }),
	];
	return Buffer.from((random.chance(0.8) ? recordLine(random) : random.pick(others)()).trimEnd());
}

const marks = [
	...[
		'"',
		"}",
		"{",
		",",
		":",
		"\\",
		"[",
		"]",
		"0",
		"-0",
		"-",
		"1e3",
		"1.0",
		"9007199254740993",
		"1e999",
		"null",
		"true",
	],
	...[
		" ",
		"\t",
		"\r",
		"\n",
		"\u0000",
		"\ufeff",
		"\\u0022",
		"\\ud83d",
		"\\u0000",
		"\u00fc",
		"😀",
		'"v":2,',
		'"crc":"00000000",',
	],
	...['"data":', '"seq":9,', '"__proto__":{},', '"kind":"x",', ',"dur":3', ',"prev":"00000000"', "NaN", "//"],
].map((mark) => Buffer.from(mark));

/** What rot, people and other programs make of a line; most get the checksum that they have to have then. */
function changed(random: Random, line: Buffer): Buffer {
	if (random.chance(0.2)) return line;
	let body = random.chance(0.85) ? line.subarray(0, -18) : line;
	for (let n = 1 + random.below(3); n > 0; n--) body = changedOnce(random, body);
	return random.chance(0.85) ? sealed(body) : body;
}

function changedOnce(random: Random, bytes: Buffer): Buffer {
	const at = random.below(bytes.length + 1);
	const to = Math.min(bytes.length, at + random.below(12));
	const spliced = (...middle: readonly Uint8Array[]): Buffer =>
		Buffer.concat([bytes.subarray(0, at), ...middle, bytes.subarray(to)]);
	const some = (): Buffer => Buffer.from(Array.from({ length: 1 + random.below(4) }, () => random.below(256)));
	const ways: readonly (() => Buffer)[] = [
		// A bit.
		() => Buffer.from(bytes.map((byte, i) => (i === at ? byte ^ (1 << random.below(8)) : byte))),
		// Bytes by chance, a piece gone, a piece twice, the end gone.
		() => spliced(some()),
		() => spliced(),
		() => spliced(bytes.subarray(at, to), bytes.subarray(at, to)),
		() => bytes.subarray(0, at),
		// What looks like something.
		() => spliced(random.pick(marks)),
		() => Buffer.concat([bytes.subarray(0, at), random.pick(marks), bytes.subarray(at)]),
		// Another number, where one stands.
		() => Buffer.from(bytes.toString("latin1").replace(/\d+/, random.pick(marks).toString("latin1")), "latin1"),
		// Fields in another order, and twice.
		() => otherFields(random, bytes),
	];
	return random.pick(ways)();
}

function otherFields(random: Random, body: Buffer): Buffer {
	const text = body.toString("latin1");
	const fields = text.slice(1).split(/,(?="(?:seq|ts|kind|scope|data|dur|prev|v)":)/);
	const [from, to] = [random.below(fields.length), random.below(fields.length)];
	const moved = fields[from] as string;
	if (random.chance(0.5)) fields.splice(from, 1);
	fields.splice(to, 0, moved);
	return Buffer.from(`{${fields.join(",")}`, "latin1");
}

const said = defineRecord("said", z.object({ text: z.string() }));

describe("a log", () => {
	test(`whose files were changed is one thing to all that open it (${logRuns.numRuns} logs, seed ${logRuns.seed})`, async () => {
		const found = { sound: 0, torn: 0, damaged: 0, missing: 0, refused: 0 };
		for (let run = 0; run < logRuns.numRuns; run++) {
			const random = seeded(logRuns.seed + run);
			const files = await changedLog(random);
			const told = (what: string): string => `${what} of run ${run}`;
			const disk = (): MemoryDisk => new MemoryDisk(files, ["/log"]);

			const verdict = await outcome(() => verifyLog("/log", { disk: disk() }));
			const writer = await outcome(() => opened(disk(), false));
			const reader = await outcome(() => opened(disk(), true));
			const recovered = await outcome(() => opened(disk(), "as recovered"));
			const repair = await outcome(() => proposeRepair("/log", { disk: disk() }));
			await outcome(() => statLog("/log", { disk: disk() }));

			// Where nothing is left there is nothing to look at, and a writer begins anew.
			if (verdict.code === "WAL_IO") {
				expect([reader.code, recovered.code, repair.code], told("nothing")).toEqual(["WAL_IO", "WAL_IO", "WAL_IO"]);
				expect(writer.value?.records, told("nothing")).toEqual([]);
				continue;
			}
			// Who looks sees what who writes would, and is refused where that is.
			expect(reader.code, told("reader")).toBe(writer.code);
			expect(recovered.code, told("recovered")).toBe(writer.code);
			expect(verdict.code ?? repair.code, told("repair")).toBe(verdict.code);
			// Of a newer format, inside a sealed segment: a writer finds it when it reads, if nothing else is found before.
			if (writer.code === "WAL_NEWER_FORMAT") expect(verdict.code, told("verdict")).toBe(writer.code);
			if (verdict.code !== undefined) expect(writer.code ?? writer.value?.bad, told("verdict")).toBeDefined();
			found[verdict.value?.state ?? "refused"]++;
			const isWhole = verdict.value?.state === "sound" || verdict.value?.state === "torn";
			if (verdict.value && isWhole) {
				expect(writer.value?.torn !== undefined, told("torn")).toBe(verdict.value.state === "torn");
				expect(writer.value?.bad, told("records")).toBe(undefined);
			}
			if (writer.code === "WAL_CORRUPT") expect(isWhole, told("state")).toBe(false);
			if (repair.value && verdict.value) expect(repair.value.kind === "nothing", told("repair")).toBe(isWhole);
			if (!writer.value || !reader.value || !recovered.value) continue;

			// The same records, each as it stands in its line; a reader's are the first of them.
			const all = writer.value.records;
			expect(recovered.value.records, told("recovered")).toStrictEqual(all);
			expect(recovered.value.bad, told("recovered")).toBe(writer.value.bad);
			expect(reader.value.records, told("reader")).toStrictEqual(all.slice(0, reader.value.records.length));
			const lines = new Map(linesOf(files).map((record) => [`${record.seq} ${record.crc}`, record]));
			for (const record of all) same(lines.get(`${record.seq} ${record.crc}`), record, () => told("line"));

			// What the head vouches for, and what is read line by line.
			const [quick, whole] = [survey(disk(), "/log", "quick"), survey(disk(), "/log", "whole")];
			for (const key of ["next", "prev", "end", "unended", "bad"] as const)
				expect(quick.active?.[key], told(key)).toStrictEqual(whole.active?.[key]);
		}
		for (const [state, count] of Object.entries(found))
			if (logRuns.numRuns >= 80) expect(count, state).toBeGreaterThan(0);
	});
});

/** What came of it: no other error than one of ours has a place here. */
async function outcome<T>(run: () => Promise<T>): Promise<{ value?: T; code?: string }> {
	try {
		return { value: await run() };
	} catch (error) {
		if (error instanceof WalError) return { code: error.code };
		throw error;
	}
}

/** The records of a log, up to its first one that cannot be read; for a writer without those that it begins with. */
async function opened(disk: MemoryDisk, readOnly: boolean | "as recovered") {
	await using wal = await openWal(fileEngine("/log", { disk, ...small }), { records: [], readOnly });
	const records: WalRecord[] = [];
	let bad: string | undefined;
	try {
		for await (const record of wal.read()) {
			if (!readOnly && record.kind === "wal_epoch" && (record.data as { pid: number }).pid === process.pid) {
				if (record.seq > wal.tip - 3 && record.ts > BEFORE) break;
			}
			records.push(record);
		}
	} catch (error) {
		if (!(error instanceof WalError)) throw error;
		bad = error.code;
	}
	return { records, bad, torn: wal.torn };
}

/** Logs that are changed say an earlier time than those that open them. */
const BEFORE = 1e12;
const small = { segmentBytes: 1024, allocateBytes: 512 };

/** The files of a log of one segment or several, closed or left as a kill leaves it, with something changed in them. */
async function changedLog(random: Random): Promise<[string, Buffer][]> {
	const disk = new MemoryDisk();
	const engine = fileEngine("/log", { disk, ...small, ...(random.chance(0.4) && { segmentBytes: 1e6 }) });
	let now = 0;
	const wal = await openWal(engine, { records: [said], clock: { now: () => ++now } });
	const count = 1 + random.below(12);
	for (let i = 0; i < count; i++) {
		const { durable } = wal.append(said({ text: random.pick(words).repeat(1 + random.below(3)) }), {});
		if (random.chance(0.7) || i === count - 1) await durable;
	}
	const killed = new Map<string, Buffer>([...disk.files].map(([path, { bytes }]) => [path, Buffer.from(bytes)]));
	await wal.close();
	const files = random.chance(0.5)
		? killed
		: new Map<string, Buffer>([...disk.files].map(([path, { bytes }]) => [path, Buffer.from(bytes)]));
	files.delete("/log/wal.lock");
	for (let n = random.below(3); n > 0; n--) {
		const path = random.pick([...files.keys()]);
		const was = files.get(path) as Buffer;
		if (random.chance(0.1)) files.delete(path);
		else files.set(path, changedFile(random, was));
		if (files.size === 0) files.set(path, was);
	}
	return [...files];
}

function changedFile(random: Random, bytes: Buffer): Buffer {
	const text = bytes.toString("latin1");
	const lines = text.replace(/\n+$/, "").split("\n");
	const i = random.below(lines.length);
	const line = Buffer.from(lines[i] as string, "latin1");
	const joined = (...middle: readonly (string | Buffer)[]): Buffer => {
		const all = [...lines.slice(0, i), ...middle.map((each) => each.toString("latin1")), ...lines.slice(i + 1)];
		return Buffer.from(`${all.join("\n")}${text.slice(text.trimEnd().length)}`, "latin1");
	};
	const j = random.below(lines.length);
	const ways: readonly (() => Buffer)[] = [
		() => joined(changed(random, line)),
		() => joined(sealed(Buffer.from(line.toString("latin1").slice(0, -18).replace('"v":1', '"v":2'), "latin1"))),
		() => joined(line, line),
		() => joined(),
		() => joined("", line),
		() => joined(`${line.toString("latin1")}\r`),
		() => joined(line, Buffer.alloc(3)),
		() => joined(lines[j] as string, line),
		() => bytes.subarray(0, random.below(bytes.length)),
		() => Buffer.concat([bytes.subarray(0, text.trimEnd().length + 1), Buffer.from(random.pick(marks))]),
		() => Buffer.from(bytes.map((byte, at) => (at === j ? byte ^ (1 << random.below(8)) : byte))),
	];
	return random.pick(ways)();
}

/** Each line of the files that is a record by the book. */
const linesOf = (files: readonly [string, Buffer][]): StoredRecord[] =>
	files.flatMap(([, bytes]) =>
		bytes
			.toString("latin1")
			.split("\n")
			.flatMap((line) => told(Buffer.from(line, "latin1")) ?? []),
	);
