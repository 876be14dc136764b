/** Rows 34 and 43: names, depths and sizes that are meant to hurt, appended, and as lines that somebody put into a log. */
import assert from "node:assert/strict";
import { crc32 } from "node:zlib";
import { type Draft, defineRecord, fileEngine, openWal, type WalRecord } from "@reyn/wal";
import { MemoryDisk } from "@reyn/wal/testing";
import { type Case, type Fault, runCases } from "../fault.ts";
import { codeOf, openLog } from "../lab/check.ts";
import { ACTIVE, DIRECTORY, diskOf, engineOn, HEAD, linesOf, sample } from "../lab/memory.ts";
import { numbered } from "../lab/numbered.ts";
import { prototypes } from "../lab/prototypes.ts";

const anything = defineRecord<unknown, unknown>("anything", {
	"~standard": { version: 1, vendor: "faults", validate: (value) => ({ value }) },
});

const cases: readonly Case[] = [
	{
		name: "appended __proto__, constructor, toString",
		async run() {
			const disk = new MemoryDisk();
			const data: unknown = JSON.parse(
				'{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"toString":1}',
			);
			assert.deepEqual(JSON.stringify(await throughTheLog(disk, data)), JSON.stringify(data));
			return "back as it went in";
		},
	},
	{
		name: "appended depth 64, 65, 10000, a cycle",
		async run() {
			const disk = new MemoryDisk();
			await throughTheLog(disk, nested(64));
			const cycle: Record<string, unknown> = {};
			cycle.self = cycle;
			for (const data of [nested(65), nested(10_000), cycle]) {
				const code = await codeOf(() => throughTheLog(disk, data));
				assert.ok(["WAL_TOO_LARGE", "WAL_INVALID_RECORD"].includes(code), code);
			}
			return "64 accepted, the rest refused";
		},
	},
	{
		name: "appended 7 MB, 9 MB, 10^8 characters",
		async run() {
			const disk = new MemoryDisk();
			const seven = "x".repeat(7_000_000);
			assert.equal(await throughTheLog(disk, seven), seven);
			assert.equal(await codeOf(() => throughTheLog(disk, "x".repeat(9_000_000))), "WAL_TOO_LARGE");
			assert.equal(await codeOf(() => throughTheLog(disk, "\u{1F600}".repeat(2_500_000))), "WAL_TOO_LARGE");
			assert.equal(await codeOf(() => throughTheLog(disk, "x".repeat(1e8))), "WAL_TOO_LARGE");
			return "7 MB accepted, the rest refused before a seq is taken";
		},
	},
	{
		name: "appended NUL, line ends, lone surrogates, quotes; hostile scopes and kinds",
		async run() {
			const disk = new MemoryDisk();
			for (const text of ["\0", "\n\r\u2028\u2029", '\\","crc":"00000000"}', "\ud800", "\u001b[31m"])
				assert.equal(await throughTheLog(disk, text), text.toWellFormed());
			const kind = defineRecord<unknown, unknown>("__proto__", anything.schema);
			const wal = await openWal(engineOn(disk), { records: [kind] });
			const scope = { agent: '"},"crc":"', session: "__proto__", run: "\n" };
			await wal.append(kind({ a: 1 }), scope).durable;
			assert.equal(await codeOf(async () => wal.append({ kind: "constructor", data: {} }, {})), "WAL_INVALID_RECORD");
			let back: WalRecord | undefined;
			for await (const record of wal.read({ after: wal.tip - 1 })) back = record;
			assert.deepEqual({ ...back?.scope }, scope);
			await wal.close();
			return "back as they went in, half a character as U+FFFD";
		},
	},
	{
		name: "sound lines put in: __proto__ in data, scope, envelope, header, head; depth 10^4; 10^8 characters",
		async run({ short }) {
			let refused = 0;
			let read = 0;
			let newer = 0;
			for (const line of [
				(seq: number, prev: string) => envelope(seq, prev, '{"__proto__":{"polluted":1}}'),
				(seq: number, prev: string) => envelope(seq, prev, '{"constructor":{"prototype":{"polluted":1}}}'),
				(seq: number, prev: string) => envelope(seq, prev, "1", '{"__proto__":{"polluted":1}}'),
				(seq: number, prev: string) => envelope(seq, prev, "1", '{"agent":{"toString":1}}'),
				(seq: number, prev: string) => envelope(seq, prev, "1", "{}", '"__proto__":{"polluted":1},'),
				(seq: number, prev: string) => envelope(seq, prev, `${"[".repeat(10_000)}${"]".repeat(10_000)}`),
				(seq: number, prev: string) => envelope(seq, prev, `${'{"a":'.repeat(10_000)}1${"}".repeat(10_000)}`),
				(seq: number, prev: string) => envelope(seq, prev, `"${"x".repeat(short ? 1e7 : 1e8)}"`),
				(seq: number) => `{"v":1,"__proto__":{"log":"x"},"head":{"seq":${seq}}`,
				() => '{"v":1,"sealed":{"__proto__":{"first":1,"last":1,"prev":"x"}}',
				() => '{"v":1e999',
				() => "[1",
			]) {
				const { files, records } = await sample(3);
				const bytes = Buffer.concat([
					...linesOf(files.get(ACTIVE) as Uint8Array),
					sealedLine(line(records.length + 1, records.at(-1)?.crc ?? "")),
				]);
				const disk = diskOf(new Map([...files, [ACTIVE, bytes]]));
				const wal = await openWal(engineOn(disk), { records: [numbered, anything] }).catch(({ code }) => code);
				if (wal === "WAL_NEWER_FORMAT") {
					newer++;
					continue;
				}
				const shown: WalRecord[] = [];
				for await (const record of wal.read()) shown.push(record);
				if (wal.torn) refused++;
				else read++;
				for (const { seq, crc } of records) assert.equal(shown[seq - 1]?.crc, crc);
				await wal.close();
			}
			return `${read} read as data, ${refused} set aside as a torn tail, ${newer} refused as a newer format`;
		},
	},
	{
		name: "a head, a header and a lock that are hostile",
		async run() {
			for (const text of [
				'{"v":1,"head":{"__proto__":{"seq":9}}',
				'{"v":1,"head":null',
				'{"v":1,"head":{"log":1,"seq":1e99}',
			]) {
				const { files, records } = await sample(3);
				const disk = diskOf(new Map([...files, [HEAD, sealedLine(text)]]));
				const wal = await openLog(engineOn(disk));
				assert.equal(wal.tip, records.length + 1);
				await wal.close();
			}
			const { files } = await sample(3);
			const header = sealedLine('{"v":1,"log":"x","first":1e308,"prev":"x","epoch":0,"created":0');
			assert.equal(await codeOf(() => openLog(engineOn(diskOf(new Map([...files, [ACTIVE, header]]))))), "WAL_CORRUPT");
			for (const text of ['{"pid":1,"__proto__":{"polluted":1}}', "null", "[".repeat(1e6), ""]) {
				const disk = new MemoryDisk([], [DIRECTORY]);
				disk.lock(`${DIRECTORY}/wal.lock`, text);
				assert.equal(await codeOf(() => openLog(fileEngine(DIRECTORY, { disk }))), "WAL_LOCKED");
			}
			return "the head is ignored, the header refused, the lock a lock";
		},
	},
];

export const fault: Fault = {
	name: "hostile",
	title: "names, depths and sizes that are meant to hurt",
	promise: "refused or plain data, prototypes unchanged",
	rows: [
		{
			row: 34,
			title: "records of 7 MB, 9 MB, 10^8 characters",
			how: "appended",
			promise: "7 MB accepted, the rest refused before a seq is taken",
			seen: "as expected; peak memory not measured",
		},
		{
			row: 43,
			title: "`__proto__`, `constructor`, depth 10^4, 10^8 characters, hostile lines, head, header, lock",
			how: "appended, and put into a log with sound checksums",
			promise: "data or refused; prototypes unchanged",
			seen: "all as expected, prototypes unchanged",
		},
	],
	needs: () => undefined,
	async run(settings) {
		const before = prototypes();
		const figures = await runCases(cases, settings);
		assert.deepEqual(prototypes(), before, "a prototype was changed");
		assert.equal(({} as { polluted?: unknown }).polluted, undefined);
		return { ...figures, prototypes: "unchanged" };
	},
};

/** Appends it, closes, opens again and reads it back. */
async function throughTheLog(disk: MemoryDisk, data: unknown): Promise<unknown> {
	const first = await openWal(engineOn(disk), { records: [anything] });
	const { tip } = first;
	let seq = 0;
	try {
		const appended = first.append(anything(data as never) as Draft, {});
		seq = appended.seq;
		await appended.durable;
	} catch (error) {
		assert.equal(first.tip, tip, "a seq was taken for what was refused");
		throw error;
	} finally {
		await first.close();
	}
	const again = await openWal(engineOn(disk), { records: [anything] });
	let back: unknown;
	for await (const record of again.read({ after: seq - 1, through: seq })) back = record.data;
	await again.close();
	return back;
}

function nested(depth: number): unknown {
	let value: unknown = 1;
	for (let i = 0; i < depth; i++) value = { in: value };
	return value;
}

function envelope(seq: number, prev: string, data: string, scope = "{}", more = ""): string {
	return `{"v":1,"seq":${seq},"ts":1,"kind":"anything","scope":${scope},${more}"data":${data},"dur":${seq - 1},"prev":"${prev}"`;
}

const sealedLine = (body: string): Buffer =>
	Buffer.from(`${body},"crc":"${crc32(body).toString(16).padStart(8, "0")}"}\n`);
