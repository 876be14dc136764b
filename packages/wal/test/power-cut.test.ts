/**
 * Power cuts, enumerated: the real writer and the real recovery over a disk that forgets what was not synced. After every
 * operation, every state that a cut there may leave is recovered; then the recovery itself is cut, and recovered again.
 * `REYN_STATES` sets how many states are looked at for each cut (default 24), `REYN_SEED` which, when there are more.
 */
import { expect, test } from "vitest";
import { z } from "zod";
import { defineRecord, fileEngine, openWal, type WalRecord } from "../src/index.ts";
import { CrashDisk, type MemoryDisk } from "../src/testing/index.ts";

const STATES = Number(process.env.REYN_STATES ?? 24);
const SEED = Number(process.env.REYN_SEED ?? 1);
const said = defineRecord("said", z.object({ text: z.string() }));
const options = { segmentBytes: 4096, allocateBytes: 1024 };

const openOn = (disk: MemoryDisk) => openWal(fileEngine("/log", { disk, ...options }), { records: [said] });

function random(seed: number): () => number {
	let state = seed;
	return () => {
		state = (Math.imul(state, 1664525) + 1013904223) | 0;
		return (state >>> 0) / 4294967296;
	};
}

/** What was acknowledged, and at which operation. */
interface Acknowledged {
	readonly cut: number;
	readonly records: readonly Pick<WalRecord, "seq" | "crc">[];
}

/** Appends in batches of one to three, through two seals, and notes what was acknowledged when. */
async function history(disk: CrashDisk): Promise<Acknowledged[]> {
	const acknowledged: Acknowledged[] = [];
	const records: Pick<WalRecord, "seq" | "crc">[] = [];
	const wal = await openOn(disk);
	for (let batch = 0; batch < 14; batch++) {
		const appends = Array.from({ length: 1 + (batch % 3) }, (_, i) =>
			wal.append(said({ text: `${batch}.${i} `.repeat(20 + 13 * batch) }), {}),
		);
		await appends.at(-1)?.durable;
		records.push(...appends.map(({ record: { seq, crc } }) => ({ seq, crc })));
		acknowledged.push({ cut: disk.cuts, records: [...records] });
	}
	await wal.close();
	return acknowledged;
}

async function recordsOn(disk: MemoryDisk): Promise<WalRecord[]> {
	const wal = await openOn(disk);
	const records: WalRecord[] = [];
	for await (const record of wal.read()) records.push(record);
	await wal.close();
	return records;
}

function check(records: readonly WalRecord[], expected: Acknowledged | undefined): void {
	expect(records.map(({ seq }) => seq)).toEqual(records.map((_, i) => i + 1));
	for (const { seq, crc } of expected?.records ?? []) expect(records[seq - 1]).toMatchObject({ seq, crc });
}

test(`after a power cut at any operation, everything acknowledged is there (${STATES} states a cut, seed ${SEED})`, async () => {
	const disk = new CrashDisk();
	const acknowledged = await history(disk);
	const next = random(SEED);
	let states = 0;
	for (let cut = 0; cut <= disk.cuts; cut++) {
		const expected = acknowledged.findLast((each) => each.cut <= cut);
		for (const state of disk.states(cut, { limit: STATES, random: next })) {
			states++;
			const records = await recordsOn(state);
			check(records, expected);
			// What one recovery made, the next one has to accept.
			const again = await recordsOn(state);
			expect(again.slice(0, records.length)).toEqual(records);
		}
	}
	console.log(`${disk.cuts} cuts, ${states} states`);
	expect([...disk.files.keys()].filter((path) => /wal-\d+\.jsonl$/.test(path)).length).toBeGreaterThan(1);
}, 120_000);

test(`a recovery that is cut itself comes to the same (seed ${SEED})`, async () => {
	const disk = new CrashDisk();
	const acknowledged = await history(disk);
	const next = random(SEED + 1);
	let states = 0;
	for (let cut = 0; cut <= disk.cuts; cut += 3) {
		const expected = acknowledged.findLast((each) => each.cut <= cut);
		for (const state of disk.states(cut, { limit: 2, random: next })) {
			const again = new CrashDisk(
				[...state.files].map(([path, { bytes }]) => [path, bytes] as const),
				state.directories,
			);
			await recordsOn(again);
			for (let second = 0; second <= again.cuts; second++) {
				for (const twice of again.states(second, { limit: 3, random: next })) {
					states++;
					check(await recordsOn(twice), expected);
				}
			}
		}
	}
	console.log(`${states} states of cut recoveries`);
	expect(states).toBeGreaterThan(1000);
}, 120_000);

test("what was shown after a recovery survives the next power cut", async () => {
	const disk = new CrashDisk();
	const acknowledged = await history(disk);
	const next = random(SEED + 2);
	for (let cut = acknowledged[0]?.cut ?? 0; cut <= disk.cuts; cut += 7) {
		for (const state of disk.states(cut, { limit: 4, random: next })) {
			const again = new CrashDisk(
				[...state.files].map(([path, { bytes }]) => [path, bytes] as const),
				state.directories,
			);
			const wal = await openOn(again);
			const shown: WalRecord[] = [];
			for await (const record of wal.read()) shown.push(record);
			const at = again.cuts;
			for (const later of again.states(at, { limit: 8, random: next })) {
				const kept = await recordsOn(later);
				for (const { seq, crc } of shown) expect(kept[seq - 1]).toMatchObject({ seq, crc });
			}
		}
	}
}, 120_000);
