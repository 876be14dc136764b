/**
 * Power cuts, enumerated: the real writer and the real recovery over a disk that forgets what was not synced. After every
 * operation, every state that a cut there may leave is recovered; then the recovery itself is cut, and recovered again.
 * `REYN_STATES` sets how many states are looked at for each cut (default 512; no cut of the history has as many today),
 * `REYN_SEED` which, when there are more. And what was shown once, after whatever, has to survive the next cut.
 */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { SEED, seeded } from "../../../tests/kit/seeded.ts";
import { pointsOf, sample } from "../../../tests/sample.ts";
import { readAt } from "../src/disk/disk.ts";
import { defineRecord, fileEngine, openWal, type Wal, type WalRecord } from "../src/index.ts";
import { CrashDisk, MemoryDisk, MortalDisk } from "../src/testing/index.ts";

const STATES = Number(process.env.REYN_STATES ?? sample(8, 512));
const EVERY = 5;
const said = defineRecord("said", z.object({ text: z.string() }));
/** Two directories have to be made. */
const ABOVE = "/state";
const options = { segmentBytes: 4096, allocateBytes: 1024 };

const openOn = (disk: MemoryDisk, adopt?: string) =>
	openWal(fileEngine(`${ABOVE}/log`, { disk, ...options, ...(adopt === undefined ? {} : { adopt }) }), {
		records: [said],
	});

type Shown = readonly Pick<WalRecord, "seq" | "crc">[];

/** What was acknowledged, and at which operation. */
interface Acknowledged {
	readonly cut: number;
	readonly records: Shown;
}

/** Appends in batches of one to three, through two seals, and notes what was acknowledged when; a failure ends it. */
async function history(disk: CrashDisk): Promise<Acknowledged[]> {
	const acknowledged: Acknowledged[] = [];
	const records: Pick<WalRecord, "seq" | "crc">[] = [];
	let wal: Wal | undefined;
	try {
		wal = await openOn(disk);
		for (let batch = 0; batch < 14; batch++) {
			const appends = Array.from({ length: 1 + (batch % 3) }, (_, i) =>
				(wal as Wal).append(said({ text: `${batch}.${i} `.repeat(20 + 13 * batch) }), {}),
			);
			await Promise.all(appends.map(({ durable }) => durable));
			records.push(...appends.map(({ record: { seq, crc } }) => ({ seq, crc })));
			acknowledged.push({ cut: disk.cuts, records: [...records] });
		}
		await wal.close();
	} catch {
		await wal?.close().catch(() => {});
	}
	return acknowledged;
}

async function recordsOn(disk: MemoryDisk): Promise<WalRecord[]> {
	const wal = await openOn(disk);
	try {
		const records: WalRecord[] = [];
		for await (const record of wal.read()) records.push(record);
		return records;
	} finally {
		await wal.close();
	}
}

function check(records: readonly WalRecord[], expected: Shown = []): void {
	expect(records.map(({ seq }) => seq)).toEqual(records.map((_, i) => i + 1));
	for (const { seq, crc } of expected) expect(records[seq - 1]).toMatchObject({ seq, crc });
}

/** The same disk, everything on it durable. */
const settled = (disk: MemoryDisk): CrashDisk =>
	new CrashDisk(
		[...disk.files].map(([path, { bytes }]) => [path, bytes] as const),
		disk.directories,
	);

test(`after a power cut at any operation, everything acknowledged is there (${STATES} states a cut, seed ${SEED})`, async () => {
	const disk = new CrashDisk();
	const acknowledged = await history(disk);
	const random = seeded(SEED);
	let states = 0;
	for (const cut of pointsOf(0, disk.cuts, EVERY)) {
		const expected = acknowledged.findLast((each) => each.cut <= cut)?.records;
		for (const state of disk.states(cut, { limit: STATES, random })) {
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
});

/** What the newest segment says. */
const adoptedOn = (disk: MemoryDisk): unknown => {
	const [line = ""] = Buffer.from(disk.files.get(`${ABOVE}/log/wal.jsonl`)?.bytes ?? [])
		.toString()
		.split("\n");
	return line === "" ? undefined : JSON.parse(line).adopted;
};

test.each([
	["with records in its newest segment", 3],
	["whose newest segment is empty", 0],
])("a log %s that is taken over loses nothing, wherever that is cut, and says so from then on", async (_, appends) => {
	const [mine, other] = ["a".repeat(32), "b".repeat(32)];
	const first = new CrashDisk();
	const wal = await openOn(first);
	for (let i = 0; i < appends; i++) await wal.append(said({ text: `${i}` }), {}).durable;
	await wal.close();
	const before = await recordsOn(settled(first));
	// In a newest segment that is empty nothing was written since a seal.
	if (appends === 0) await (await openOn(first, other)).close();
	const disk = settled(first);
	const taken = await openOn(disk, mine);
	const known = disk.cuts;
	for (let i = 0; i < 40; i++) await taken.append(said({ text: "more ".repeat(100) }), {}).durable;
	await taken.close();
	expect([...disk.files.keys()].filter((path) => /wal-\d+\.jsonl$/.test(path)).length).toBeGreaterThan(2);
	const random = seeded(SEED);
	for (const cut of pointsOf(0, disk.cuts, EVERY)) {
		for (const state of disk.states(cut, { limit: 4, random })) {
			const records = await recordsOn(state);
			check(records, before.slice(0, -1));
			if (cut >= known) expect(adoptedOn(state)).toBe(mine);
		}
	}
});

/** What the base says, and the newest segment, of whose the log is; undefined where there is no base. */
const baseOn = (disk: MemoryDisk): unknown[] =>
	[`${ABOVE}/log/wal.base`].flatMap((path) => {
		const bytes = disk.files.get(path)?.bytes;
		return bytes ? [JSON.parse(Buffer.from(bytes).toString()).base.adopted] : [];
	});

test.each([
	["", []],
	[", which a cut truncation has left in part,", [2]],
])(
	"a log whose front is gone%s is taken over with its base, wherever that is cut, and again after it",
	async (_, left) => {
		const [mine, other] = ["a".repeat(32), "b".repeat(32)];
		const first = new CrashDisk();
		const wal = await openOn(first);
		for (let i = 0; i < 60; i++) await wal.append(said({ text: `${i} `.repeat(60) }), {}).durable;
		const sealed = [...first.files].filter(([path]) => /wal-\d+\.jsonl$/.test(path)).sort();
		await wal.truncate({ before: 40 });
		const from = wal.first;
		await wal.close();
		for (const at of left) first.files.set(...(sealed[at] as (typeof sealed)[number]));
		const before = await (async () => {
			await using again = await openOn(settled(first));
			const records: WalRecord[] = [];
			for await (const record of again.read()) records.push(record);
			return records;
		})();
		expect(before[0]?.seq).toBe(from);

		const disk = settled(first);
		const taken = await openOn(disk, mine);
		const known = disk.cuts;
		await taken.close();
		const random = seeded(SEED);
		for (let cut = 0; cut <= disk.cuts; cut++) {
			for (const state of disk.states(cut, { limit: 16, random })) {
				if (cut >= known) expect([adoptedOn(state), ...baseOn(state)]).toEqual([mine, mine]);
				// No log says whose it is beside a base that does not.
				if (adoptedOn(state) === mine) expect(baseOn(state)).toEqual([mine]);
				await using again = await openOn(settled(state), other);
				const records: WalRecord[] = [];
				for await (const record of again.read()) records.push(record);
				expect(records.slice(0, before.length - 1)).toEqual(before.slice(0, -1));
			}
		}

		await using last = await openOn(disk);
		for (let i = 0; i < 60; i++) await last.append(said({ text: `${i} `.repeat(60) }), {}).durable;
		await last.truncate({ before: 90 });
		expect([last.first > 60, ...baseOn(disk)]).toEqual([true, mine]);
	},
);

test(`a recovery that is cut itself comes to the same (seed ${SEED})`, async () => {
	const disk = new CrashDisk();
	const acknowledged = await history(disk);
	const random = seeded(SEED + 1);
	let states = 0;
	for (const cut of pointsOf(0, disk.cuts, EVERY, 3)) {
		const expected = acknowledged.findLast((each) => each.cut <= cut)?.records;
		for (const state of disk.states(cut, { limit: 2, random })) {
			const again = settled(state);
			await recordsOn(again);
			for (let second = 0; second <= again.cuts; second++) {
				for (const twice of again.states(second, { limit: 3, random })) {
					states++;
					check(await recordsOn(twice), expected);
				}
			}
		}
	}
	console.log(`${states} states of cut recoveries`);
	expect(states).toBeGreaterThan(sample(50, 1000));
});

test(`behind a kill anywhere in the making of a log, what the next process acknowledges survives a power cut (seed ${SEED})`, async () => {
	const random = seeded(SEED);
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
		const { record, durable } = wal.append(said({ text: "kept" }), {});
		await durable;
		for (const state of disk.states(disk.cuts, { limit: 8, random })) {
			const records = await recordsOn(state);
			expect([n, records[record.seq - 1]?.crc]).toEqual([n, record.crc]);
		}
		await wal.close();
	}
});

/** A disk as something left it, and what had been acknowledged by then. */
interface Left {
	readonly disk: CrashDisk;
	readonly acknowledged: Shown;
}

async function* afterPowerCuts(): AsyncGenerator<Left> {
	const disk = new CrashDisk();
	const acknowledged = await history(disk);
	for (const cut of pointsOf(0, disk.cuts, EVERY, 5)) {
		const expected = acknowledged.findLast((each) => each.cut <= cut)?.records ?? [];
		for (const state of disk.states(cut, { limit: 2, random: seeded(SEED + cut) }))
			yield { disk: settled(state), acknowledged: expected };
	}
}

/** What was written is in the cache, and not all of it on the disk. */
async function* afterKills(step = 1): AsyncGenerator<Left & { disk: MortalDisk }> {
	for (const n of pointsOf(1, Number.POSITIVE_INFINITY, EVERY, step)) {
		const disk = new MortalDisk();
		disk.dieAt(n);
		const acknowledged = await history(disk);
		if (!disk.dead) return;
		disk.live();
		yield { disk, acknowledged: acknowledged.at(-1)?.records ?? [] };
	}
}

/** As after a kill, and a later sync does not make all of it durable. */
async function* afterFailedSyncs(): AsyncGenerator<Left> {
	for (const n of pointsOf(1, Number.POSITIVE_INFINITY, EVERY)) {
		const disk = new CrashDisk();
		disk.failSync(n);
		const acknowledged = await history(disk);
		if (!disk.failed) return;
		yield { disk, acknowledged: acknowledged.at(-1)?.records ?? [] };
	}
}

/** Killed, and then the n-th sync of the recovery fails, for each n. */
async function* afterFailedRecoveries(): AsyncGenerator<Left> {
	for (let n = 1, reached = true; reached; n++) {
		reached = false;
		for await (const left of afterKills(17)) {
			left.disk.failSync(n);
			await recordsOn(left.disk).catch(() => {});
			if (!left.disk.failed) continue;
			reached = true;
			yield left;
		}
	}
}

/** Opens each log, reads it, and cuts the power before, in the midst of and after that. */
async function checkShown(lefts: AsyncGenerator<Left>): Promise<void> {
	const random = seeded(SEED + 2);
	let states = 0;
	for await (const { disk, acknowledged } of lefts) {
		const start = disk.cuts;
		const wal = await openOn(disk);
		const end = disk.cuts;
		const shown: WalRecord[] = [];
		for await (const record of wal.read()) shown.push(record);
		check(shown, acknowledged);
		for (let cut = start; cut <= end; cut++) {
			for (const state of disk.states(cut, { limit: cut === start || cut === end ? 6 : 1, random })) {
				states++;
				check(await recordsOn(state), cut === end ? shown : acknowledged);
			}
		}
	}
	console.log(`${states} states`);
	expect(states).toBeGreaterThan(sample(10, 200));
}

test.each([
	["a power cut", afterPowerCuts],
	["a kill at any change", afterKills],
	["any failed sync", afterFailedSyncs],
	["a kill and a failed sync of the recovery", afterFailedRecoveries],
])(`what is shown after %s survives the next power cut (seed ${SEED})`, (_, lefts) => checkShown(lefts()));

describe("the disk that is cut", () => {
	/** What may stand in the one file on it, a letter a byte. */
	const seen = (disk: CrashDisk): Set<string> =>
		new Set(
			[...disk.states(disk.cuts, { random: seeded(SEED) })].map(({ files }) =>
				Buffer.from(files.get("/f")?.bytes ?? []).toString("latin1"),
			),
		);

	test("what a failed sync left out can be read, no later sync has it, and written again it is synced", () => {
		const disk = new CrashDisk([["/f", Buffer.from("old")]]);
		const file = disk.open("/f", "write");
		file.write(Buffer.from("new"), 0);
		disk.failSync(1);
		expect(() => file.sync()).toThrow("EIO");
		file.sync();
		expect(readAt(file, 0, 10).toString()).toBe("new");
		expect(seen(disk)).toEqual(new Set(["old", "new"]));
		file.write(Buffer.from("new"), 0);
		file.sync();
		expect(seen(disk)).toEqual(new Set(["new"]));
	});

	test("a write over durable bytes may lack its end, any one sector, any one page, and never leaves zeros", () => {
		const disk = new CrashDisk([["/f", Buffer.alloc(8192 + 512, "o")]]);
		disk.open("/f", "write").write(Buffer.alloc(8192 + 512, "n"), 0);
		const sectors = (text: string): string => text.replace(/(.)\1{511}/g, "$1");
		const lacks = (from: number, to = 17): string => "n".repeat(from) + "o".repeat(to - from) + "n".repeat(17 - to);
		const ends = Array.from({ length: 18 }, (_, k) => lacks(k));
		const holes = Array.from({ length: 17 }, (_, k) => lacks(k, k + 1));
		expect(new Set([...seen(disk)].map(sectors))).toEqual(new Set([...ends, ...holes, lacks(0, 8), lacks(8, 16)]));
	});

	test("what a longer file lacks may be absent, zeros or stale, from where it was durable to", () => {
		const disk = new CrashDisk([["/f", Buffer.alloc(600, "o")]]);
		disk.open("/f", "write").write(Buffer.alloc(400, "n"), 500);
		const [o, n] = ["o".repeat(500), "n".repeat(12)];
		const first = `${o}${n}`;
		expect(seen(disk)).toEqual(
			new Set([
				...[`${o}${"o".repeat(100)}`, `${o}${"n".repeat(400)}`, `${first}${"o".repeat(88)}`],
				`${o}${"o".repeat(12)}${"n".repeat(388)}`,
				...["\0", "\xff", "o"].flatMap((stale) => [
					`${o}${"o".repeat(100)}${stale.repeat(300)}`,
					`${first}${"o".repeat(88)}${stale.repeat(300)}`,
				]),
			]),
		);
	});
});

test(`a truncation that is cut anywhere is whole afterwards, or has not begun (seed ${SEED})`, async () => {
	const disk = new CrashDisk();
	const wal = await openOn(disk);
	const crcs: string[] = [""];
	for await (const { crc } of wal.read()) crcs.push(crc);
	for (let n = 0; n < 60; n++) {
		const { record, durable } = wal.append(said({ text: `${n} `.repeat(60) }), {});
		await durable;
		crcs.push(record.crc);
	}
	const from = disk.cuts;
	await wal.truncate({ before: 40 });
	const { first, tip } = wal;
	expect(first).toBeGreaterThan(20);
	const until = disk.cuts;
	await wal.close();
	const random = seeded(SEED);
	const firsts = new Set<number>();
	for (const cut of pointsOf(from, until, 2)) {
		for (const state of disk.states(cut, { limit: sample(16, 64), random })) {
			const again = await openOn(state);
			firsts.add(again.first);
			const found: string[] = [];
			for await (const { crc } of again.read()) found.push(crc);
			expect(found.slice(0, tip - again.first + 1)).toEqual(crcs.slice(again.first));
			// The next truncation takes away what this one has left.
			await again.truncate({ before: again.first });
			const names = [...state.files.keys()].filter((path) => /wal-\d+\.jsonl$/.test(path)).sort();
			expect(Number(/(\d{20})/.exec(names[0] ?? "")?.[1])).toBe(again.first);
			await again.close();
		}
	}
	expect([...firsts].sort((a, b) => a - b)).toEqual([1, first]);
});

test(`a truncation that was killed anywhere, and a power cut anywhere in the opening that ends it (seed ${SEED})`, async () => {
	const random = seeded(SEED);
	for (const n of pointsOf(1, Number.POSITIVE_INFINITY, 3)) {
		const disk = new MortalDisk();
		const wal = await openOn(disk);
		for (let i = 0; i < 60; i++) await wal.append(said({ text: `${i} `.repeat(60) }), {}).durable;
		const { tip } = wal;
		disk.dieAt(n);
		await wal.truncate({ before: 40 }).catch(() => {});
		if (!disk.dead) {
			expect(n).toBeGreaterThan(5);
			return;
		}
		disk.live();
		const from = disk.cuts;
		await (await openOn(disk)).close();
		for (let cut = from; cut <= disk.cuts; cut++) {
			for (const state of disk.states(cut, { limit: 16, random })) {
				const again = await openOn(state);
				const found: number[] = [];
				for await (const { seq } of again.read()) found.push(seq);
				expect(found.slice(0, tip - again.first + 1)).toEqual(
					Array.from({ length: tip - again.first + 1 }, (_, i) => again.first + i),
				);
				await again.close();
			}
		}
	}
});

test("any sync of a truncation that fails: what the log still has can be read, in this process and in the next", async () => {
	for (let n = 1; ; n++) {
		const disk = new CrashDisk();
		const wal = await openOn(disk);
		for (let i = 0; i < 60; i++) await wal.append(said({ text: `${i} `.repeat(60) }), {}).durable;
		disk.failSync(n);
		await wal.truncate({ before: 40 }).catch(() => {});
		if (!disk.failed) {
			expect(n).toBeGreaterThan(2);
			return;
		}
		const seqsOf = async (log: Wal) => {
			const seqs: number[] = [];
			for await (const { seq } of log.read({ through: 61 })) seqs.push(seq);
			return seqs;
		};
		for (const log of [wal, await openOn(settled(disk))]) {
			const { first } = log;
			expect(await seqsOf(log)).toEqual(Array.from({ length: 62 - first }, (_, i) => first + i));
		}
	}
});

test.each([1, 7, 20, 39, 41, 50])(
	"a truncation before seq 40 under a reader that is at seq %i: it reads on, or is told that what comes next is gone",
	async (at) => {
		const wal = await openOn(new MemoryDisk());
		for (let i = 0; i < 60; i++) await wal.append(said({ text: `${i} `.repeat(60) }), {}).durable;
		const seqs: number[] = [];
		const reading = (async () => {
			for await (const { seq } of wal.read()) {
				seqs.push(seq);
				if (seq === at) await wal.truncate({ before: 40 });
			}
		})();
		const code = await reading.then(
			() => undefined,
			(error: { code?: string }) => error.code,
		);
		expect(wal.first).toBeGreaterThan(20);
		expect(seqs).toEqual(Array.from({ length: seqs.length }, (_, i) => i + 1));
		if (code === undefined) expect(seqs).toHaveLength(wal.tip);
		else expect([code, seqs.length < wal.first - 1]).toEqual(["WAL_TRUNCATED", true]);
		if (at >= wal.first) expect(code).toBeUndefined();
		await wal.close();
	},
);
