/** A record's line read from where its parts stand, against the same line parsed whole. */
import { crc32 } from "node:zlib";
import { expect, test } from "vitest";
import { SEED, seeded } from "../../../tests/kit/seeded.ts";
import { decodeLine, encodeRecord } from "../src/record/codec.ts";
import { RecordLine } from "../src/record/record-line.ts";
import { crcOf } from "../src/record/stored-records.ts";

const RUNS = Number(process.env.REYN_RUNS ?? 4000);

/** Pieces that look like parts of a line, put where they are none. */
const tricky = [
	"plain",
	'"',
	"\\",
	"}",
	"{",
	'","scope":{',
	'},"data":',
	',"dur":3,"prev":"00000000"',
	'"}',
	"ü😀\u2028",
	"\u0000\n\t",
	"__proto__",
	"",
];

const sealed = (body: string): Buffer => Buffer.from(`${body},"crc":"${crc32(body).toString(16).padStart(8, "0")}"}`);

function fast(line: Buffer): unknown {
	const cursor = new RecordLine();
	// In the middle of a buffer, as a reader has it.
	const buffer = Buffer.concat([Buffer.from("before\n"), line, Buffer.from("\nafter")]);
	if (!cursor.read(buffer, 7, 7 + line.length)) return undefined;
	const isAscii = buffer.every((byte) => byte < 0x80);
	const record = cursor.record(undefined);
	if (isAscii) expect(cursor.record(buffer.toString("latin1"))).toEqual(record);
	return record;
}

test(`what is read is what would be parsed, for any record (${RUNS} runs, seed ${SEED})`, () => {
	const random = seeded(SEED);
	const text = (): string => Array.from({ length: random.below(4) }, () => random.pick(tricky)).join("");
	const value = (depth: number): unknown =>
		[
			() => text(),
			() => random.below(1000) - 500,
			() => null,
			() => [value(depth + 1), value(depth + 1)],
			() => JSON.parse(`{${JSON.stringify(text())}:${JSON.stringify(value(depth + 1)) ?? 1}}`),
		][random.below(depth > 3 ? 3 : 5)]?.();
	let read = 0;
	for (let run = 0; run < RUNS; run++) {
		const scope = [
			{},
			{ agent: text() },
			{ agent: text(), session: text() },
			{ agent: "a", session: "b", run: text() },
		];
		const { line } = encodeRecord({
			seq: 1 + random.below(1e6),
			ts: random.below(2) ? random.below(1e9) : random.below(1e9) / 7 - 1e6,
			kind: random.below(2) ? text() : random.pick(["wal_epoch", "note_put"]),
			scope: scope[random.below(4)] ?? {},
			data: JSON.stringify(value(0)),
			dur: random.below(1e6),
			prev: random
				.below(2 ** 31)
				.toString(16)
				.padStart(8, "0"),
		});
		const bytes = Buffer.from(line.slice(0, -1));
		const whole = decodeLine(bytes);
		expect(whole.type).toBe("record");
		const found = fast(bytes);
		if (found === undefined) continue;
		read++;
		expect(whole).toEqual({ type: "record", record: found });
	}
	// Escapes in a name, and a time that is no whole number, are left to the other one.
	expect(read).toBeGreaterThan(RUNS / 5);
});

test(`a line whose bytes were changed and whose checksum was made anew is never read as what it is not (${RUNS} runs)`, () => {
	const random = seeded(SEED + 1);
	const body =
		'{"v":1,"seq":12,"ts":34,"kind":"note_put","scope":{"agent":"a","session":"b"},"data":{"x":"y","z":[1,{}]},"dur":11,"prev":"0011aabb"';
	const marks = ['"', "}", "{", ",", ":", "\\", "0", "-", "1", " ", "\n", "[", "null", '"dur":', '"data":', "\u00fc"];
	let read = 0;
	for (let run = 0; run < RUNS; run++) {
		let changed = body;
		for (let n = 1 + random.below(3); n > 0; n--) {
			const at = random.below(changed.length);
			changed = changed.slice(0, at) + random.pick(marks) + changed.slice(at + random.below(3));
		}
		const bytes = sealed(changed);
		const found = fast(bytes);
		if (found === undefined) continue;
		read++;
		expect(decodeLine(bytes), changed).toEqual({ type: "record", record: found });
	}
	expect(read).toBeGreaterThan(RUNS / 50);
});

test("a checksum in capitals, a line without one and a line that is no record are not read", () => {
	const body = '{"v":1,"seq":1,"ts":2,"kind":"k","scope":{},"data":{},"dur":0,"prev":"0011aabb"';
	const line = sealed(body);
	expect(fast(line)).toMatchObject({ seq: 1, kind: "k", prev: "0011aabb" });
	expect(fast(Buffer.from(line.toString().replace(/[a-f0-9]{8}"\}$/, (crc) => crc.toUpperCase())))).toBe(undefined);
	expect(fast(Buffer.from(`${body}}`))).toBe(undefined);
	expect(fast(sealed('{"v":1,"sealed":{"first":1,"last":3,"prev":"99c4bce9"}'))).toBe(undefined);
	expect(fast(sealed(body.replace('"v":1', '"v":2')))).toBe(undefined);
	expect(fast(sealed(body.replace('"seq":1', '"seq":01')))).toBe(undefined);
	expect(fast(sealed(body.replace('"seq":1', '"seq":0')))).toBe(undefined);
});

test("the checksum of a line is found with its newline and without", () => {
	const { line, crc } = encodeRecord({ seq: 1, ts: 1, kind: "a", scope: {}, data: "1", dur: 0, prev: "00000000" });
	expect([crcOf(line), crcOf(line.trimEnd()), crcOf("")]).toEqual([crc, crc, ""]);
});
