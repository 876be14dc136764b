/** Finding a place in a segment without reading all of it. */
import { describe, expect, test } from "vitest";
import type { DiskFile } from "../src/disk/disk.ts";
import { type Place, seek } from "../src/file/seek.ts";
import { encodeHeader, encodeRecord } from "../src/record/codec.ts";

const COUNT = 3000;

/** A segment with records of these lengths, that counts what is asked of it. */
function segment(dataBytes: (seq: number) => number) {
	let prev = "00000000";
	const header = encodeHeader({ log: "a".repeat(32), first: 1, prev, epoch: 1, created: 0 });
	const lines = [header];
	for (let seq = 1; seq <= COUNT; seq++) {
		const data = JSON.stringify("x".repeat(dataBytes(seq)));
		const { line, crc } = encodeRecord({ seq, ts: 0, kind: "k", scope: {}, data, dur: 0, prev });
		lines.push(line);
		prev = crc;
	}
	const offsets: number[] = [];
	let end = 0;
	for (const line of lines) {
		offsets.push(end);
		end += line.length;
	}
	const bytes = Buffer.from(lines.join(""));
	const reads = { count: 0 };
	const file = {
		size: () => bytes.length,
		read(into: Uint8Array, position: number) {
			reads.count++;
			return bytes.copy(into, 0, position, Math.min(bytes.length, position + into.length));
		},
	} as DiskFile;
	return { file, offsets, end, reads };
}

const lengths: Record<string, (seq: number) => number> = {
	even: () => 300,
	"a few huge ones": (seq) => (seq % 97 === 0 ? 40_000 : 100),
	"short, and then long": (seq) => (seq < COUNT / 2 ? 20 : 3000),
	"long, and then short": (seq) => (seq < COUNT / 10 ? 20_000 : 20),
};

describe.each(Object.keys(lengths))("a segment whose records are %s", (name) => {
	const { file, offsets, end, reads } = segment(lengths[name] as (seq: number) => number);
	const start: Place = { seq: 1, offset: 0 };
	const hints: Record<string, Place> = {
		right: { seq: COUNT + 1, offset: end },
		"of another file": { seq: 7, offset: 4000 },
		none: { seq: Number.MAX_SAFE_INTEGER, offset: Number.POSITIVE_INFINITY },
	};

	test.each(Object.keys(hints))("gives a place before any record, whose line starts there; its hint is %s", (hint) => {
		for (let seq = 1; seq <= COUNT; seq += 7) {
			const found = seek(file, start, hints[hint] as Place, seq);
			expect(found.seq).toBeLessThanOrEqual(seq);
			expect(found === start || found.offset === offsets[found.seq]).toBe(true);
		}
	});

	test("reads little to find it", () => {
		let [worst, skipped] = [0, 0];
		for (let seq = 1; seq <= COUNT; seq += 7) {
			reads.count = 0;
			const found = seek(file, start, hints.right as Place, seq);
			worst = Math.max(worst, reads.count);
			skipped = Math.max(skipped, (offsets[seq] as number) - found.offset);
		}
		// A bisection down to one probe takes 11 of 8 MB; a huge line is read in pieces of 4 KiB.
		expect(worst).toBeLessThanOrEqual(name === "even" ? 6 : 80);
		expect(skipped).toBeLessThanOrEqual(name === "even" ? 4096 : 90_000);
	});
});
