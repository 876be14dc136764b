/** docs/formats/wal-v1.md keeps its word: its example is read here by a reader that knows nothing but that page. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { expect, test } from "vitest";
import { decodeLine, encodeHead, HEAD_BYTES } from "../../packages/wal/src/record/codec.ts";
import { directoryOf } from "./v1.ts";

const page = await readFile(join(import.meta.dirname, "../../docs/formats/wal-v1.md"), "utf8");
const blocks = [...page.matchAll(/^```jsonl\n([\s\S]*?)^```$/gm)].map(([, body = ""]) => body);
const [log = "", head = "", footer = ""] = blocks;

/** A stranger's reader: the trailer, the sequence and the chain, as the page tells them. */
function readLog(bytes: Buffer): { seq: number; kind: string; data: unknown }[] {
	const lines = bytes.toString("latin1").split("\n");
	expect(lines.pop()).toBe("");
	const objects = lines.map((line) => {
		const raw = Buffer.from(line, "latin1");
		const crc = crc32(raw.subarray(0, -18)).toString(16).padStart(8, "0");
		expect(raw.toString("latin1", raw.length - 18)).toBe(`,"crc":"${crc}"}`);
		return JSON.parse(raw.toString("utf8"));
	});
	const [header, ...records] = objects;
	expect(header).toMatchObject({ v: 1, log: expect.stringMatching(/^[0-9a-f]{32}$/), first: 1 });
	let { first: next, prev } = header;
	for (const record of records) {
		expect(record).toMatchObject({ v: 1, seq: next, prev });
		expect(record.dur).toBeLessThan(record.seq);
		next++;
		prev = record.crc;
	}
	return records;
}

test("the example is a log of three records to a reader that knows only the page", () => {
	const records = readLog(Buffer.from(log));
	expect(records.map(({ seq, kind }) => [seq, kind])).toEqual([
		[1, "wal_epoch"],
		[2, "note_put"],
		[3, "note_put"],
	]);
	expect(records[2]?.data).toEqual({ id: "b", text: 'Grüße: "quoted", a tab\tand 😀' });
});

test("the example is the clean golden log to the byte, and its head is that log's head", async () => {
	expect(log).toBe(await readFile(join(directoryOf("clean"), "wal.jsonl"), "utf8"));
	expect(head.trimEnd().padEnd(HEAD_BYTES - 1)).toBe(
		(await readFile(join(directoryOf("clean"), "wal.head"), "utf8")).slice(0, -1),
	);
	const decoded = decodeLine(Buffer.from(head.trimEnd()));
	expect(decoded).toMatchObject({ type: "head", head: { segment: 1, seq: 3, offset: Buffer.byteLength(log) } });
	expect(decoded.type === "head" && encodeHead(decoded.head)).toHaveLength(256);
});

test("every line of the examples is sound to our own reader", () => {
	const lines = [log, head, footer].flatMap((block) => block.trimEnd().split("\n"));
	expect(lines.map((line) => decodeLine(Buffer.from(line)).type)).toEqual([
		"header",
		"record",
		"record",
		"record",
		"head",
		"footer",
	]);
});

test("a changed bit anywhere in the example is found", () => {
	for (const line of log.trimEnd().split("\n")) {
		for (let at = 0; at < Buffer.byteLength(line); at++) {
			const bytes = Buffer.from(line);
			bytes[at] = (bytes[at] ?? 0) ^ (1 << (at % 8));
			expect(["bad", "newer"]).toContain(decodeLine(bytes).type);
		}
	}
});
