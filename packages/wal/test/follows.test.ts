/** A log that goes on behind another one: no seq is of both, and it says what it follows. */
import { expect, test } from "vitest";
import { z } from "zod";
import { defineRecord, fileEngine, openWal, type Wal, type WalRecord, walEpoch } from "../src/index.ts";
import { MemoryDisk, MortalDisk } from "../src/testing/index.ts";

const said = defineRecord("said", z.object({ text: z.string() }));
const follows = { log: "a log before", seq: 41 };
const options = { segmentBytes: 4096, allocateBytes: 1024 };

const openOn = (disk: MemoryDisk, isNew = true): Promise<Wal> =>
	openWal(fileEngine("/log", { disk, ...options, ...(isNew && { follows }) }), { records: [said] });

async function recordsOf(wal: Wal): Promise<readonly WalRecord[]> {
	const records: WalRecord[] = [];
	for await (const record of wal.read()) records.push(record);
	return records;
}

test("begins with the seq behind it, and its first record names that; later openings, told or not, change nothing", async () => {
	const disk = new MemoryDisk();
	const wal = await openOn(disk);
	expect([wal.first, wal.tip]).toEqual([42, 42]);
	await wal.append(said({ text: "one" }), {}).durable;
	const { id } = wal;
	await wal.close();
	for (const isNew of [false, true]) {
		const again = await openOn(disk, isNew);
		const records = await recordsOf(again);
		expect([again.id, again.first, records.map(({ seq }) => seq).slice(0, 2)]).toEqual([id, 42, [42, 43]]);
		expect(records.flatMap((record) => (walEpoch.is(record) && record.data.follows) || [])).toEqual([follows]);
		await again.close();
	}
});

test("loses its front like any other", async () => {
	const disk = new MemoryDisk();
	const wal = await openOn(disk);
	for (let n = 0; n < 60; n++) await wal.append(said({ text: `${n} `.repeat(100) }), {}).durable;
	const before = wal.tip - 10;
	await wal.truncate({ before });
	expect(wal.first).toBeGreaterThan(42);
	const { first, id } = wal;
	await wal.close();
	const again = await openOn(disk, false);
	expect([again.id, again.first]).toEqual([id, first]);
	await again.close();
});

test("killed anywhere in its making, it begins there at the next try", async () => {
	for (let n = 1; ; n++) {
		const disk = new MortalDisk();
		disk.dieAt(n);
		const made = await openOn(disk).catch(() => undefined);
		const wasWhole = !disk.dead;
		disk.live();
		if (wasWhole) {
			await made?.close();
			expect(n).toBeGreaterThan(10);
			return;
		}
		const wal = await openOn(disk);
		await wal.append(said({ text: "one" }), {}).durable;
		const [first] = await recordsOf(wal);
		expect([n, wal.first, first?.seq]).toEqual([n, 42, 42]);
		await wal.close();
		const again = await openOn(disk, false);
		expect(again.first).toBe(42);
		await again.close();
	}
});

test("what it follows has to be a seq of a log", () => {
	expect(() => fileEngine("/log", { disk: new MemoryDisk(), follows: { log: "x", seq: -1 } })).toThrow(/follows/);
});
