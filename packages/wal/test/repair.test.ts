/** Giving up what is damaged: nothing is lost but what was accepted, the originals are kept, and a killed repair is run again. */
import { expect, test } from "vitest";
import { z } from "zod";
import { type Random, SEED, seeded } from "../../../tests/kit/seeded.ts";
import { sample } from "../../../tests/sample.ts";
import { defineRecord, fileEngine, openWal, type StoredRecord, type WalRecord } from "../src/index.ts";
import { CrashDisk, MemoryDisk } from "../src/testing/index.ts";
import { applyRepair, proposeRepair, verifyLog } from "../src/tools.ts";

const STATES = Number(process.env.REYN_STATES ?? sample(2, 24));
const said = defineRecord("said", z.object({ text: z.string() }));
const ACTIVE = "/log/wal.jsonl";
const clock = { now: () => 1_795_194_450_898 };

const openOn = (disk: MemoryDisk, segmentBytes = 65_536) =>
	openWal(fileEngine("/log", { disk, segmentBytes, allocateBytes: 512 }), { records: [said] });

async function recordsOn(disk: MemoryDisk): Promise<WalRecord[]> {
	await using wal = await openOn(disk);
	const records: WalRecord[] = [];
	for await (const record of wal.read()) records.push(record);
	return records;
}

/** A log of `count` records after the epoch's. */
async function history(count: number, segmentBytes?: number): Promise<MemoryDisk> {
	const disk = new MemoryDisk();
	await using wal = await openOn(disk, segmentBytes);
	for (let i = 2; i < count + 2; i++) await wal.append(said({ text: `text ${i}` }), { agent: "a" }).durable;
	return disk;
}

const textOf = (disk: MemoryDisk, path = ACTIVE): string => Buffer.from(disk.files.get(path)?.bytes ?? []).toString();

function put(disk: MemoryDisk, path: string, text: string | Uint8Array): void {
	const inode = disk.files.get(path);
	if (inode) inode.bytes = Uint8Array.from(Buffer.from(text));
	else disk.files.set(path, { id: 1_000_000 + disk.files.size, bytes: Uint8Array.from(Buffer.from(text)) });
}

const spoil = (disk: MemoryDisk, seq: number, path = ACTIVE): void =>
	put(disk, path, textOf(disk, path).replace(`"text ${seq}"`, `"TEXT ${seq}"`));

const sealedOf = (disk: MemoryDisk): string[] =>
	[...disk.files.keys()].filter((path) => /wal-\d{20}\.jsonl$/.test(path)).sort();

const keptOf = (disk: MemoryDisk): string[] => [...disk.files.keys()].filter((path) => path.includes(".repaired-"));

const at = (disk: MemoryDisk, acceptLoss: string) => applyRepair("/log", { disk, acceptLoss, clock });

/** Every record but the lost ones as it was, under its own seq; the lost ones named. */
function check(records: readonly WalRecord[], lost: readonly number[], last: number): void {
	expect(records.map(({ seq }) => seq)).toEqual(records.map((_, i) => i + 1));
	for (const { seq, kind, data, scope } of records.slice(1, last)) {
		if (lost.includes(seq)) expect(kind).toBe("wal_lost");
		else expect({ kind, data, scope }).toEqual({ kind: "said", data: { text: `text ${seq}` }, scope: { agent: "a" } });
	}
	expect(records[last]?.kind).toBe("wal_repaired");
}

test("a sound log and a torn one need no repair, and are left as they are", async () => {
	const disk = await history(5);
	for (const tail of ["", '{"v":1,"seq":7']) {
		put(disk, ACTIVE, textOf(disk) + tail);
		const before = textOf(disk);
		expect(await proposeRepair("/log", { disk })).toMatchObject({ kind: "nothing", accept: "none", changes: [] });
		expect(await at(disk, "1..6")).toMatchObject({ kind: "nothing" });
		expect(textOf(disk)).toBe(before);
		expect(keptOf(disk)).toEqual([]);
	}
});

test("a damaged record is lost alone: the proposal says so, and what comes after keeps its seqs", async () => {
	const disk = await history(9);
	spoil(disk, 5);
	const original = textOf(disk);
	const proposal = await proposeRepair("/log", { disk });
	expect(proposal).toMatchObject({ kind: "repair", accept: "5..5", lost: [[5, 5]], keptAfter: 5, last: 10 });
	expect(textOf(disk)).toBe(original);
	await at(disk, "5..5");
	const records = await recordsOn(disk);
	check(records, [5], 10);
	expect(records[10]?.data).toMatchObject({ lost: [[5, 5]], why: expect.stringContaining("seq 5") });
	const [kept = ""] = keptOf(disk);
	expect(kept).toMatch(/^\/log\/wal\.jsonl\.repaired-5-[0-9a-f]{8}$/);
	expect(textOf(disk, kept)).toBe(original);
	expect(records[10]?.data).toMatchObject({ keptIn: [kept.slice("/log/".length)] });
	expect((await verifyLog("/log", { disk })).state).toBe("sound");
});

test("a log that was taken over still says so when it is repaired, whatever of it is damaged", async () => {
	const adopt = "a".repeat(32);
	const adopted = (disk: MemoryDisk): unknown => JSON.parse(textOf(disk).split("\n")[0] ?? "").adopted;
	const make = async (): Promise<MemoryDisk> => {
		const disk = await history(20, 1024);
		const wal = await openWal(fileEngine("/log", { disk, segmentBytes: 1024, allocateBytes: 512, adopt }), {
			records: [said],
		});
		await wal.truncate({ before: 12 });
		for (let i = 30; i < 45; i++) await wal.append(said({ text: `text ${i}` }), { agent: "a" }).durable;
		await wal.close();
		return disk;
	};
	const proposal = async (disk: MemoryDisk): Promise<string> => (await proposeRepair("/log", { disk })).accept;
	const header = (disk: MemoryDisk, path: string): void =>
		put(disk, path, textOf(disk, path).replace('"first"', '"FIRST"'));
	for (const [what, spoilIt] of [
		["a record of the newest segment", (disk: MemoryDisk) => spoil(disk, 44)],
		["the newest header", (disk: MemoryDisk) => header(disk, ACTIVE)],
		["the oldest segment", (disk: MemoryDisk) => header(disk, sealedOf(disk)[0] ?? "")],
		["all segments but the newest", (disk: MemoryDisk) => void sealedOf(disk).map((path) => header(disk, path))],
	] as const) {
		const disk = await make();
		spoilIt(disk);
		await at(disk, await proposal(disk));
		expect([what, adopted(disk)]).toEqual([what, adopt]);
		expect((await verifyLog("/log", { disk })).state).toBe("sound");
	}
});

test("each damaged record is lost alone: what stands between two of them is kept", async () => {
	const disk = await history(12);
	for (const seq of [4, 7, 8, 11]) spoil(disk, seq);
	const lost = [
		[4, 4],
		[7, 8],
		[11, 11],
	];
	expect(await proposeRepair("/log", { disk })).toMatchObject({ accept: "4..4,7..8,11..11", lost, keptAfter: 6 });
	for (const accept of ["4..11", "4..4", "4..4, 7..8, 11..11", "4..4,7..8,11..11,"])
		await expect(at(disk, accept)).rejects.toMatchObject({ code: "WAL_LOSS_NOT_ACCEPTED" });
	await at(disk, "4..4,7..8,11..11");
	const records = await recordsOn(disk);
	check(records, [4, 7, 8, 11], 13);
	expect(records[13]?.data).toMatchObject({ lost });
	expect((await verifyLog("/log", { disk })).state).toBe("sound");
});

test("a loss of very many parts is accepted by its ends and a hash", async () => {
	const disk = await history(250, 1_000_000);
	const lost = Array.from({ length: 101 }, (_, i) => 4 + 2 * i);
	for (const seq of lost) spoil(disk, seq);
	const { accept } = await proposeRepair("/log", { disk });
	expect(accept).toMatch(/^4\.\.204#[0-9a-f]{8}$/);
	await expect(at(disk, "4..204#00000000")).rejects.toMatchObject({ code: "WAL_LOSS_NOT_ACCEPTED" });
	await at(disk, accept);
	check(await recordsOn(disk), lost, 251);
});

test("records of another log between two losses are not taken for ours", async () => {
	const disk = await history(12);
	const theirs = textOf(await history(12)).split("\n");
	for (const [damaged, strange] of [
		[[], [5, 6]],
		[[5], [6]],
		[[5], [6, 7]],
	] as const) {
		const each = copyOf(disk);
		for (const seq of damaged) spoil(each, seq);
		put(
			each,
			ACTIVE,
			textOf(each)
				.split("\n")
				.map((line, seq) => (strange.some((s) => s === seq) ? theirs[seq] : line))
				.join("\n"),
		);
		const { accept } = await proposeRepair("/log", { disk: each });
		expect(accept).toBe(`5..${strange.at(-1)}`);
	}
});

test("lines that stand there twice cost nothing", async () => {
	for (const block of [1, 3]) {
		const disk = await history(9);
		const lines = textOf(disk).split("\n");
		put(disk, ACTIVE, lines.toSpliced(6, 0, ...lines.slice(6 - block, 6)).join("\n"));
		const proposal = await proposeRepair("/log", { disk });
		expect(proposal).toMatchObject({ kind: "repair", accept: "none", last: 10 });
		await at(disk, proposal.accept);
		check(await recordsOn(disk), [], 10);
	}
});

test("what a repair keeps is no torn tail: the opens after it report none", async () => {
	for (const segmentBytes of [65_536, 1024]) {
		const disk = await history(40, segmentBytes);
		const path = sealedOf(disk)[1] ?? ACTIVE;
		spoil(disk, segmentBytes === 1024 ? Number(/(\d{20})/.exec(path)?.[1]) + 1 : 5, path);
		const damaged = new Map([...disk.files].map(([name, { bytes }]) => [name, Buffer.from(bytes)]));
		const { accept, changes } = await proposeRepair("/log", { disk });
		await at(disk, accept);
		const kept = keptOf(disk);
		expect(kept).toHaveLength(changes.length);
		for (const each of kept) expect(each).toMatch(/\/wal(-\d{20})?\.jsonl\.repaired-\d+-[0-9a-f]{8}$/);
		for (let n = 0; n < 2; n++) {
			await using wal = await openOn(disk);
			expect(wal.torn).toBeUndefined();
		}
		// Somebody puts the segments of an older copy back, and leaves the rest; in it the damage was not yet there.
		for (const name of disk.files.keys()) if (/wal(-\d{20})?\.jsonl$/.test(name)) disk.files.delete(name);
		disk.files.delete("/log/wal.head");
		for (const [name, bytes] of damaged)
			if (name !== "/log/wal.lock") put(disk, name, name === path ? bytes.toString().replace("TEXT", "text") : bytes);
		await using wal = await openOn(disk);
		expect(wal.torn).toBeUndefined();
	}
});

test("anything but the exact loss is refused, and nothing is changed", async () => {
	const disk = await history(9);
	spoil(disk, 5);
	const before = [...disk.files].map(([path, { bytes }]) => [path, Buffer.from(bytes).toString()]);
	for (const accept of ["", "5", "4..5", "5..6", "5..10", "none", " 5..5"])
		await expect(at(disk, accept)).rejects.toMatchObject({
			code: "WAL_LOSS_NOT_ACCEPTED",
			detail: { expected: "5..5" },
		});
	const after = [...disk.files].map(([path, { bytes }]) => [path, Buffer.from(bytes).toString()]);
	expect(after).toEqual(before);
});

test("while a writer holds the lock there is no repair", async () => {
	const disk = await history(9);
	await using _wal = await openOn(disk);
	spoil(disk, 5);
	await expect(at(disk, "5..5")).rejects.toMatchObject({ code: "WAL_LOCKED" });
});

test("twice is as good as once", async () => {
	const disk = await history(9);
	spoil(disk, 5);
	await at(disk, "5..5");
	const before = textOf(disk);
	expect(await at(disk, "5..5")).toMatchObject({ kind: "nothing" });
	expect(textOf(disk)).toBe(before);
});

test("records that are gone from the end are lost by name, their seqs are never used again, and the old head is content", async () => {
	const disk = await history(9);
	const lines = textOf(disk).split("\n");
	put(disk, ACTIVE, `${lines.slice(0, 7).join("\n")}\n`);
	const head = disk.files.get("/log/wal.head")?.bytes as Uint8Array;
	await expect(recordsOn(disk)).rejects.toMatchObject({ code: "WAL_CORRUPT" });
	expect(await proposeRepair("/log", { disk })).toMatchObject({ accept: "7..10", keptAfter: 0 });
	await at(disk, "7..10");
	put(disk, "/log/wal.head", head);
	check(await recordsOn(disk), [7, 8, 9, 10], 10);
});

test("what something outside the log proves to have been durable counts too", async () => {
	const disk = await history(4);
	expect(await proposeRepair("/log", { disk, proven: 7 })).toMatchObject({ accept: "6..7" });
	await applyRepair("/log", { disk, proven: 7, acceptLoss: "6..7", clock });
	check(await recordsOn(disk), [6, 7], 7);
});

test("a damaged sealed segment is replaced, with all after it, and the sound ones before it stay", async () => {
	const disk = await history(40, 1024);
	const sealed = sealedOf(disk);
	const [first = "", second = ""] = sealed;
	const seq = Number(/(\d{20})/.exec(second)?.[1]) + 1;
	spoil(disk, seq, second);
	const originals = new Map([...sealed.slice(1), ACTIVE].map((path) => [path, textOf(disk, path)]));
	const untouched = textOf(disk, first);
	const proposal = await proposeRepair("/log", { disk });
	expect(proposal).toMatchObject({ accept: `${seq}..${seq}`, last: 41 });
	expect(proposal.changes.map(({ path }) => path).sort()).toEqual([...originals.keys()].sort());
	await at(disk, proposal.accept);
	expect(sealedOf(disk)).toEqual([first]);
	expect(textOf(disk, first)).toBe(untouched);
	for (const { path, keptIn = "" } of proposal.changes) expect(textOf(disk, keptIn)).toBe(originals.get(path));
	check(await recordsOn(disk), [seq], 41);
	expect((await verifyLog("/log", { disk })).state).toBe("sound");
});

test("a header or a footer that is damaged costs no record", async () => {
	for (const which of ["header", "footer", "active header"]) {
		const disk = await history(40, 1024);
		const path = which === "active header" ? ACTIVE : (sealedOf(disk)[1] as string);
		const text = textOf(disk, path);
		put(disk, path, which === "footer" ? text.replace('"sealed"', '"SEALED"') : text.replace('"log"', '"LOG"'));
		expect((await verifyLog("/log", { disk })).state).toBe("damaged");
		expect(await proposeRepair("/log", { disk }), which).toMatchObject({ accept: "none", lost: [], last: 41 });
		await at(disk, "none");
		const records = await recordsOn(disk);
		check(records, [], 41);
		expect(records[41]?.data).toMatchObject({ lost: [] });
	}
});

test("missing segments are lost, whichever they are", async () => {
	const whole = await history(40, 1024);
	const paths = [...sealedOf(whole), ACTIVE];
	const firsts = [...paths.slice(0, -1).map((path) => Number(/(\d{20})/.exec(path)?.[1]))];
	for (const [i, path] of paths.entries()) {
		const disk = new MemoryDisk(
			[...whole.files].map(([name, { bytes }]) => [name, bytes] as const),
			whole.directories,
		);
		disk.remove(path);
		const from = firsts[i] ?? 1 + Number(/"last":(\d+)/.exec(textOf(disk, paths.at(-2)))?.[1]);
		const to =
			i === paths.length - 1 ? 41 : (firsts[i + 1] ?? 1 + Number(/"last":(\d+)/.exec(textOf(whole, path))?.[1])) - 1;
		const proposal = await proposeRepair("/log", { disk });
		expect(proposal.accept).toBe(`${from}..${to}`);
		await at(disk, proposal.accept);
		check(
			await recordsOn(disk),
			Array.from({ length: to - from + 1 }, (_, n) => from + n),
			41,
		);
	}
});

test("a segment of another log is set aside, and none of its records is taken for ours", async () => {
	const disk = await history(40, 1024);
	const other = await history(40, 1024);
	const path = sealedOf(disk)[1] as string;
	const [from, to] = [path, sealedOf(disk)[2] as string].map((name) => Number(/(\d{20})/.exec(name)?.[1])) as [
		number,
		number,
	];
	put(disk, path, textOf(other, path));
	const proposal = await proposeRepair("/log", { disk });
	expect(proposal.accept).toBe(`${from}..${to - 1}`);
	await at(disk, proposal.accept);
	const records = await recordsOn(disk);
	check(
		records,
		Array.from({ length: to - from }, (_, n) => from + n),
		41,
	);
});

test("with nothing left but the head, what it promised is lost, and the log goes on after it", async () => {
	const disk = await history(4);
	disk.remove(ACTIVE);
	expect(await proposeRepair("/log", { disk })).toMatchObject({ accept: "1..5" });
	await at(disk, "1..5");
	const records = await recordsOn(disk);
	expect(records.slice(0, 6).map(({ kind }) => kind)).toEqual([
		...Array.from({ length: 5 }, () => "wal_lost"),
		"wal_repaired",
	]);
});

test("what was never acknowledged is not asked for, and goes with the original", async () => {
	const disk = await history(9);
	spoil(disk, 5);
	put(disk, ACTIVE, `${textOf(disk)}{"v":1,"seq":11,"ts`);
	expect(await proposeRepair("/log", { disk })).toMatchObject({ accept: "5..5", last: 10 });
	await at(disk, "5..5");
	check(await recordsOn(disk), [5], 10);
	expect(textOf(disk, keptOf(disk)[0])).toMatch(/"seq":11,"ts$/);
});

test("a record that was put in another's place is lost with what no longer follows from it", async () => {
	const disk = await history(9);
	const other = await history(9);
	const lines = textOf(disk).split("\n");
	lines[5] = textOf(other).split("\n")[5] as string;
	put(disk, ACTIVE, lines.join("\n"));
	const proposal = await proposeRepair("/log", { disk });
	expect(proposal.accept).toBe("5..5");
	await at(disk, proposal.accept);
	check(await recordsOn(disk), [5], 10);
});

test("the lines before the damage stay byte for byte, and every line after it is chained again", async () => {
	const disk = await history(9);
	spoil(disk, 5);
	const before = textOf(disk).split("\n").slice(1, 5);
	await at(disk, "5..5");
	const lines = textOf(disk).split("\n").slice(1, -1);
	expect(lines.slice(0, 4)).toEqual(before);
	const records = lines.map((line) => JSON.parse(line) as StoredRecord);
	for (const [i, { prev }] of records.entries()) if (i > 0) expect(prev).toBe(records[i - 1]?.crc);
});

const ROUNDS = Number(process.env.REYN_ROUNDS ?? sample(15, 150));

test(`whatever is damaged: the proposal is honest, and what it keeps is what was written (${ROUNDS} rounds, seed ${SEED})`, async () => {
	const whole = await history(40, 1024);
	const original = new Map((await recordsOn(copyOf(whole))).map((record) => [record.seq, record]));
	const files = [...whole.files].filter(([path]) => path.endsWith(".jsonl")).map(([path]) => textOf(whole, path));
	const lineOf = new Map(files.flatMap((text) => text.split("\n")).map((line) => [line.slice(-10, -2), line]));
	const random = seeded(SEED + 7);
	const kinds: Record<string, number> = {};
	for (let round = 0; round < ROUNDS; round++) {
		const disk = copyOf(whole);
		const done: string[] = [];
		for (let n = 1 + random.below(3); n > 0; n--) done.push(harm(disk, random));
		const before = [...disk.files]
			.filter(([path]) => path.endsWith(".jsonl"))
			.map(([, { bytes }]) => Buffer.from(bytes).toString("latin1"));
		const what = `round ${round}: ${done.join("; ")}`;
		const proposal = await proposeRepair("/log", { disk });
		// No record is given up whose line is still there.
		const isLost = (seq: number): boolean => proposal.lost.some(([from, to]) => seq >= from && seq <= to);
		for (const { seq, crc } of original.values())
			if (isLost(seq)) expect(before.join("\n").split("\n"), `${what}: seq ${seq}`).not.toContain(lineOf.get(crc));
		kinds[proposal.kind] = (kinds[proposal.kind] ?? 0) + 1;
		await at(disk, proposal.accept);
		const verdict = await verifyLog("/log", { disk });
		expect(["sound", "torn"], `${what}: ${JSON.stringify(verdict.problems)}`).toContain(verdict.state);
		const records = await recordsOn(disk);
		// Nothing that was acknowledged is gone without a word: each seq is a record, or a loss that was named.
		expect(records.at(-1)?.seq, what).toBeGreaterThanOrEqual(41);
		for (const record of records) {
			const was = original.get(record.seq);
			if (!was || record.seq > proposal.last) continue;
			const { kind, data, scope, ts } = isLost(record.seq)
				? { ...was, kind: "wal_lost", data: {}, scope: {}, ts: record.ts }
				: was;
			expect(record, what).toMatchObject({ kind, data, scope, ts });
		}
		const after = [...disk.files.values()].map(({ bytes }) => Buffer.from(bytes).toString("latin1"));
		if (proposal.kind === "repair")
			for (const bytes of before)
				expect(
					after.some((each) => each === bytes || each.startsWith(bytes)),
					what,
				).toBe(true);
	}
	console.log(kinds);
	expect(kinds.repair).toBeGreaterThan(ROUNDS / 2);
});

/** Does one kind of harm to one file of a log, and says which. */
function harm(disk: MemoryDisk, random: Random): string {
	const paths = [...sealedOf(disk), ...(disk.files.has(ACTIVE) ? [ACTIVE] : [])];
	const path = random.pick(paths);
	if (path === undefined) return "nothing is left";
	const bytes = Buffer.from(disk.files.get(path)?.bytes ?? []);
	const place = random.below(bytes.length);
	const lines = bytes.toString("latin1").split("\n");
	const line = random.below(lines.length - 1);
	switch (random.below(7)) {
		case 0:
			bytes[place] = (bytes[place] as number) ^ (1 << random.below(8));
			put(disk, path, bytes);
			return `${path}: a bit of byte ${place}`;
		case 1:
			put(disk, path, Buffer.concat([bytes.subarray(0, place), Buffer.alloc(bytes.length - place)]));
			return `${path}: zeros from byte ${place}`;
		case 2:
			put(disk, path, bytes.fill(0, place, Math.min(bytes.length, place + 200)));
			return `${path}: 200 zeros at byte ${place}`;
		case 3:
			put(disk, path, bytes.subarray(0, place));
			return `${path}: cut at byte ${place}`;
		case 4:
			put(disk, path, Buffer.from(lines.toSpliced(line, 1).join("\n"), "latin1"));
			return `${path}: line ${line + 1} taken out`;
		case 5:
			put(disk, path, Buffer.from(lines.toSpliced(line, 0, random.pick(lines.slice(0, -1))).join("\n"), "latin1"));
			return `${path}: a line doubled before line ${line + 1}`;
		default:
			disk.remove(path);
			return `${path}: gone`;
	}
}

const copyOf = (disk: MemoryDisk): CrashDisk =>
	new CrashDisk(
		[...disk.files].map(([path, { bytes }]) => [path, bytes] as const),
		disk.directories,
	);

test.each([
	["in the active segment", 0],
	["in a sealed segment", 1024],
])("a repair of damage %s that is cut anywhere is run again and comes to the same (%#)", async (_, segmentBytes) => {
	const damaged = await history(30, segmentBytes || undefined);
	const path = segmentBytes ? (sealedOf(damaged)[1] as string) : ACTIVE;
	const seq = segmentBytes ? Number(/(\d{20})/.exec(path)?.[1]) + 1 : 7;
	spoil(damaged, seq, path);
	const originals = (segmentBytes ? [...sealedOf(damaged).slice(1), ACTIVE] : [ACTIVE]).map((each) =>
		textOf(damaged, each),
	);
	const accept = `${seq}..${seq}`;
	const disk = copyOf(damaged);
	await at(disk, accept);
	const random = seeded(SEED);
	let states = 0;
	for (let cut = 0; cut <= disk.cuts; cut++) {
		for (const state of disk.states(cut, { limit: STATES, random })) {
			states++;
			const kept = (on: MemoryDisk): void => {
				const there = new Set([...on.files.values()].map(({ bytes }) => Buffer.from(bytes).toString()));
				for (const original of originals) expect(there.has(original)).toBe(true);
			};
			kept(state);
			const again = copyOf(state);
			const proposal = await proposeRepair("/log", { disk: again });
			if (proposal.kind !== "nothing") expect(proposal.accept).toBe(accept);
			// And cut once more, in the middle of what goes on.
			await at(again, accept);
			const half = [...again.states(random.below(again.cuts + 1), { limit: 1, random })][0] as MemoryDisk;
			kept(half);
			await at(half, accept);
			kept(half);
			check(await recordsOn(half), [seq], 31);
			expect((await verifyLog("/log", { disk: half })).state).toBe("sound");
		}
	}
	console.log(`${disk.cuts} cuts, ${states} states`);
	expect(states).toBeGreaterThan(sample(20, 50));
});
