/** Row 5: the last batch torn at every byte, in memory; what comes after the tear is cut, zeros, stale, or arrived before it. */
import assert from "node:assert/strict";
import { MemoryDisk } from "@reyn/wal/testing";
import type { Fault } from "../fault.ts";
import { checkLog, checkRecords, openLog, readAll } from "../lab/check.ts";
import { ACTIVE, diskOf, engineOn, type Files, filesOf } from "../lab/memory.ts";
import { numbered } from "../lab/numbered.ts";

const BATCH = 3;

export const fault: Fault = {
	name: "torn",
	title: "the last batch torn at every byte",
	promise: "what was acknowledged stays, the rest is set aside whole",
	rows: [
		{
			row: 5,
			title: "the last batch torn at every byte",
			how: "in memory: the rest cut, zeros, blank, stale; or only the end arrived",
			promise: "the tail is set aside, byte for byte",
			seen: "2,544 cases over 423 bytes, lost 0; 2,519 tails set aside whole",
		},
	],
	needs: () => undefined,
	async run({ short }) {
		const { before, acked, batch, at } = await history();
		let cases = 0;
		let setAside = 0;
		for (let length = 0; length <= batch.length; length += short ? 5 : 1) {
			for (const bytes of tears(before.get(ACTIVE) as Uint8Array, batch, at, length)) {
				cases++;
				const disk = diskOf(new Map([...before, [ACTIVE, bytes]]));
				const { torn, records } = short ? await readAll(engineOn(disk)) : await checkLog(engineOn(disk), acked);
				checkRecords(records, acked);
				// Whole records may stay; what is no record is kept elsewhere, byte for byte.
				const sound = records.filter(({ kind, seq }) => kind === "numbered" && seq > acked.length).length;
				const junk = trimmed(bytes.subarray(at + soundBytes(batch, sound)));
				if (torn) {
					setAside++;
					assert.ok(torn.keptIn !== undefined, "what was cut is kept nowhere");
					const kept = disk.files.get(torn.keptIn)?.bytes;
					assert.ok(kept && Buffer.from(kept).equals(junk), `torn at ${length}: what was cut is not what is kept`);
					assert.equal(torn.bytes, junk.length);
				} else assert.equal(junk.length, 0, `torn at ${length}: ${junk.length} bytes were cut and kept nowhere`);
			}
		}
		return { "bytes of the batch": batch.length, cases, "set aside whole": setAside, lost: 0 };
	},
};

/** A log of acknowledged records, and the bytes of the batch that comes next. */
async function history(): Promise<{ before: Files; acked: { seq: number; crc: string }[]; batch: Buffer; at: number }> {
	const disk = new MemoryDisk();
	const wal = await openLog(engineOn(disk));
	for (let n = 1; n <= 4; n++) await wal.append(numbered({ n, text: "acknowledged" }), {}).durable;
	const acked = [];
	for await (const { seq, crc } of wal.read()) acked.push({ seq, crc });
	const before = filesOf(disk);
	let last: Promise<void> | undefined;
	for (let n = 5; n < 5 + BATCH; n++) last = wal.append(numbered({ n, text: "in flight" }), {}).durable;
	await last;
	const [old, now] = [before.get(ACTIVE) as Uint8Array, filesOf(disk).get(ACTIVE) as Uint8Array];
	const at = trimmed(old).length + 1;
	return { before, acked, batch: Buffer.from(now.subarray(at, trimmed(now).length + 1)), at };
}

/** The file as a tear after `length` bytes may leave it. */
function* tears(before: Uint8Array, batch: Buffer, at: number, length: number): Generator<Uint8Array> {
	const head = batch.subarray(0, length);
	const missing = batch.length - length;
	const rest = before.subarray(at + batch.length);
	const put = (...pieces: readonly Uint8Array[]): Buffer => Buffer.concat([before.subarray(0, at), ...pieces]);
	yield put(head);
	yield put(head, Buffer.alloc(missing, 0x0a), rest);
	yield put(head, Buffer.alloc(missing), rest);
	yield put(head, Buffer.alloc(missing, '{"stale":true}\n'), rest);
	yield put(Buffer.alloc(length, 0x0a), batch.subarray(length), rest);
	yield put(Buffer.alloc(length), batch.subarray(length), rest);
}

/** Where the first `count` lines end. */
function soundBytes(batch: Buffer, count: number): number {
	let end = 0;
	for (let i = 0; i < count; i++) end = batch.indexOf(0x0a, end) + 1 || batch.length;
	return end;
}

/** Without the padding at its end: blank lines and NULs that a line of NULs ends with. */
function trimmed(bytes: Uint8Array): Buffer {
	const text = Buffer.from(bytes);
	const lines = text.toString("latin1").split("\n");
	while (lines.length > 0 && /^\0*$/.test(lines.at(-1) as string)) lines.pop();
	return text.subarray(0, Buffer.byteLength(lines.join("\n"), "latin1"));
}
