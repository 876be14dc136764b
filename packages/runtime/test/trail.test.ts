/** The audit trail over a log and a disk in memory: each line once and in order, whatever was cut; and which files there are. */
import { defineRecord, memoryEngine, openWal, type Wal } from "@reyn/wal";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { SEED, seeded } from "../../../tests/kit/seeded.ts";
import { atOnce } from "../../../tests/kit/timers.ts";
import { sample } from "../../../tests/sample.ts";
import { TrailReader } from "../src/index.ts";
import type { KernelEvent } from "../src/kernel/events.ts";
import { Trail } from "../src/kernel/trail.ts";
import { fileFor, outdated, type TrailLimits, trailFiles } from "../src/stores/trail-files.ts";
import { MAX_LINE_BYTES, parseTrailLine, trailLine } from "../src/stores/trail-line.ts";
import { Drawer } from "./drawer.ts";
import { until } from "./project.ts";

const told = defineRecord("told", z.object({ n: z.int(), text: z.string().optional() }));
const silent = defineRecord("silent", z.object({}));

const HOUR = 3_600_000;
const start = Date.parse("2026-11-27T00:00:00Z");
const plenty: TrailLimits = { keepDays: 10_000, maxBytes: 1e12, maxFileBytes: 1e9 };

let now = start;
const clock = { now: () => now };
let wal: Wal;
let events: KernelEvent[];
beforeEach(async () => {
	now = start;
	events = [];
	wal = await openWal(memoryEngine(), { records: [told, silent], clock });
});
afterEach(() => wal.close());

const trailOf = (directory: Drawer, limits = plenty, more: Partial<ConstructorParameters<typeof Trail>[0]> = {}) =>
	new Trail({
		...{ wal, directory, limits, timers: atOnce },
		audits: [(record) => (told.is(record) ? { kind: "note", what: "made", ...record.data } : undefined)],
		tell: (event) => events.push(event),
		...more,
	});

async function say(count: number, text?: string): Promise<void> {
	let last: Promise<void> | undefined;
	for (let n = 0; n < count; n++) last = wal.append(told({ n, ...(text !== undefined && { text }) })).durable;
	await last;
}

/** The seqs of all records that are worth a line. */
async function audited(): Promise<readonly number[]> {
	const seqs: number[] = [];
	for await (const record of wal.read()) if (told.is(record)) seqs.push(record.seq);
	return seqs;
}

const seqsIn = async (drawer: Drawer): Promise<readonly number[]> =>
	(await new TrailReader(drawer).newest({}, Number.POSITIVE_INFINITY)).lines.map(({ seq }) => seq);

const newestOf = ({ files }: Drawer): string =>
	trailFiles([...files.keys()].map((name) => ({ name, bytes: 0 }))).at(-1)?.name ?? "";

test.each(Array.from({ length: sample(40, 400) }, (_, at) => SEED + at))(
	"in any history, with kills, cuts, full disks and deletions, each line is there once and in order: %i",
	async (seed) => {
		const random = seeded(seed);
		let drawer = new Drawer();
		// Files of some hundred bytes, or one a day; none of them goes.
		const isSmall = random.chance(0.5);
		const limits = { ...plenty, maxFileBytes: isSmall ? 700 : 1e9 };
		const open = () => trailOf(drawer, limits);
		let trail = open();
		for (let round = 0; round < 25; round++) {
			now += random.chance(0.2) ? random.below(48 * HOUR) - 4 * HOUR : random.below(1000);
			const count = random.below(6);
			for (let n = 0; n < count; n++) {
				wal.append(random.chance(0.3) ? silent({}) : told({ n, text: "é".repeat(random.below(80)) }));
				if (random.chance(0.2)) await new Promise(setImmediate);
			}
			await wal.ready();
			switch (random.below(8)) {
				case 0: // It ends, and begins again.
					await trail.end();
					trail = open();
					break;
				case 1: {
					// It is killed, perhaps in a write, and a power cut may take the end of the newest file.
					drawer = drawer.next();
					await trail.end();
					const name = newestOf(drawer);
					const bytes = drawer.files.get(name);
					if (bytes && random.chance(0.7)) drawer.files.set(name, bytes.subarray(0, bytes.length - random.below(300)));
					trail = open();
					break;
				}
				case 2: // The disk is full for a while.
					drawer.room = random.below(400);
					await say(random.below(4));
					await new Promise(setImmediate);
					drawer.room = Number.POSITIVE_INFINITY;
					break;
				case 3: // Somebody takes it all away.
					if (random.chance(0.3)) drawer.files.clear();
					break;
			}
		}
		await say(1);
		await trail.end();
		// What an end did not wait for, since the disk was full, the next start writes.
		await open().end();
		expect(await seqsIn(drawer)).toEqual(await audited());
	},
);

describe("a trail", () => {
	test("begins with the first record that there is, and goes on behind its last line", async () => {
		await say(3);
		const drawer = new Drawer();
		await trailOf(drawer).end();
		const before = drawer.files.get("2026-11-27.jsonl");
		await say(2);
		await trailOf(drawer).end();
		expect(await seqsIn(drawer)).toEqual(await audited());
		const after = drawer.files.get("2026-11-27.jsonl");
		expect(after?.subarray(0, before?.length)).toEqual(before);
	});

	test("writes what becomes durable in the time of one write at once", async () => {
		const drawer = new Drawer();
		const trail = trailOf(drawer);
		await say(5000);
		await trail.end();
		expect((await seqsIn(drawer)).length).toBe(5000);
		expect(drawer.writes).toBeLessThan(100);
	});

	test("says that records went before it could be written, and goes on", async () => {
		const drawer = new Drawer();
		await say(3);
		await trailOf(drawer).end();
		await say(6);
		await wal.truncate({ before: 9 });
		await trailOf(drawer).end();
		expect(wal.first).toBe(9);
		const { lines } = await new TrailReader(drawer).newest({}, 100);
		expect(lines.slice(0, 3).map(({ seq }) => seq)).toEqual([2, 3, 4]);
		expect(lines[3]).toMatchObject({ kind: "trail", what: "missing", from: 5, to: 8, seq: 8, scope: {} });
		expect(lines.slice(4).map(({ seq }) => seq)).toEqual(await audited());
	});

	test("begins anew in the log that is in the place of its own, and in an older copy of it", async () => {
		const drawer = new Drawer();
		await say(6);
		await trailOf(drawer).end();
		const first = await audited();
		await wal.close();
		wal = await openWal(memoryEngine(), { records: [told, silent], clock });
		await say(2);
		await trailOf(drawer).end();
		const second = await audited();
		expect(await seqsIn(drawer)).toEqual([...first, ...second]);
		// An older copy of the same log, which has other records now under seqs that the trail has seen.
		const far = trailLine({ ts: now, seq: 999, scope: {}, log: wal.id, kind: "note", what: "made" });
		drawer.files.set("2026-11-28.jsonl", Buffer.from(far));
		await say(1);
		await trailOf(drawer).end();
		await trailOf(drawer).end();
		expect(await seqsIn(drawer)).toEqual([...first, ...second, 999, ...(await audited())]);
	});

	test("takes any torn end for what it is, and leaves its bytes where they are", async () => {
		await say(4, "zwölf");
		const whole = new Drawer();
		await trailOf(whole).end();
		const [[name = "", bytes = Buffer.alloc(0)] = []] = whole.files;
		for (let cut = 0; cut <= bytes.length; cut++) {
			const drawer = new Drawer(new Map([[name, bytes.subarray(0, cut)]]));
			await trailOf(drawer).end();
			expect(await seqsIn(drawer), `cut at ${cut}`).toEqual(await audited());
			expect(drawer.files.get(name)?.subarray(0, cut)).toEqual(bytes.subarray(0, cut));
		}
	});

	test("has a line of what cannot be told, and goes on", async () => {
		const drawer = new Drawer();
		await say(1);
		await trailOf(drawer, plenty, {
			audits: [
				() => {
					throw new Error("no words");
				},
			],
		}).end();
		const { lines } = await new TrailReader(drawer).newest({}, 100);
		expect(lines.at(-1)).toMatchObject({ kind: "trail", what: "untold", of: "told", why: "no words" });
	});

	test("that is far behind lets nobody wait for it: the next start goes on", async () => {
		await say(10_002);
		const drawer = new Drawer();
		await trailOf(drawer).end();
		expect((await seqsIn(drawer)).length).toBeLessThan(10_002);
		for (let tries = 0; tries < 20 && (await seqsIn(drawer)).length < 10_002; tries++) {
			const trail = trailOf(drawer);
			await until(() => drawer.writes > 0);
			await trail.end();
		}
		expect(await seqsIn(drawer)).toEqual(await audited());
	});
});

describe("a disk that fails", () => {
	test("is told once, stops nothing, and what it missed is written when it can be", async () => {
		const drawer = new Drawer();
		drawer.room = 300;
		const trail = trailOf(drawer);
		await say(20);
		await until(() => events.length > 0);
		for (let tries = drawer.writes; drawer.writes < tries + 5; ) await new Promise(setImmediate);
		expect(events).toEqual([{ type: "trail_failed", reason: "ENOSPC: on purpose" }]);
		drawer.room = Number.POSITIVE_INFINITY;
		await until(() =>
			Buffer.concat([...drawer.files.values()])
				.toString()
				.includes('"n":19'),
		);
		await trail.end();
		expect(await seqsIn(drawer)).toEqual(await audited());
		expect(events).toHaveLength(1);
	});

	test("holds no end up", async () => {
		const drawer = new Drawer();
		drawer.room = 0;
		const trail = trailOf(drawer, plenty, { timers: { after: () => () => {} } });
		await say(20);
		await trail.end();
		expect(events).toHaveLength(1);
	});

	test("keeps what it cannot take away, and goes on", async () => {
		const old = ["2020-01-01.jsonl", "2020-01-02.jsonl"];
		const drawer = new Drawer(new Map(old.map((name) => [name, Buffer.from("\n")])));
		drawer.sticks = new Error("it sticks");
		const trail = trailOf(drawer, { ...plenty, keepDays: 1 });
		await say(3);
		await say(3);
		await trail.end();
		expect(events).toEqual([{ type: "trail_failed", reason: "it sticks" }]);
		expect(await seqsIn(drawer)).toEqual(await audited());
	});
});

test("lines are asked for by their age, as a clock says", async () => {
	const drawer = new Drawer();
	const trail = trailOf(drawer);
	for (const hour of [0, 1, 30]) {
		now = start + hour * HOUR;
		await say(1);
	}
	await trail.end();
	now = start + 31 * HOUR;
	const aged = async (maxAge: number) =>
		(await new TrailReader(drawer, clock).newest({ maxAge }, 100)).lines.map(({ seq }) => seq);
	const all = await audited();
	expect(await aged(31 * HOUR)).toEqual(all);
	expect(await aged(30 * HOUR)).toEqual(all.slice(1));
	expect(await aged(HOUR)).toEqual(all.slice(2));
	expect(await aged(HOUR - 1)).toEqual([]);
});

describe("the files", () => {
	test("are one a day, by the days of the records, and a clock that goes back changes no order", async () => {
		const drawer = new Drawer();
		const trail = trailOf(drawer);
		for (const day of [0, 1, 1, 3, 2, 3]) {
			now = start + day * 24 * HOUR;
			await say(1);
		}
		await trail.end();
		expect([...drawer.files.keys()]).toEqual(["2026-11-27.jsonl", "2026-11-28.jsonl", "2026-11-30.jsonl"]);
		expect(await seqsIn(drawer)).toEqual(await audited());
	});

	test("get no larger than they may, and the oldest go by days and by bytes", async () => {
		const limits = { keepDays: 2, maxBytes: 4000, maxFileBytes: 1000 };
		const drawer = new Drawer();
		let trail = trailOf(drawer, limits);
		const size = (): number => Buffer.concat([...drawer.files.values()]).length;
		for (let n = 0; n < 40; n++) {
			await say(1, "x".repeat(100));
			if (n % 5 === 4) {
				await trail.end();
				trail = trailOf(drawer, limits);
			}
		}
		await trail.end();
		for (const { length } of drawer.files.values()) expect(length).toBeLessThanOrEqual(1000);
		expect(size()).toBeLessThanOrEqual(4000);
		expect(size()).toBeGreaterThan(2000);
		expect([...drawer.files.keys()].sort()).toContain("2026-11-27-10.jsonl");
		const kept = await seqsIn(drawer);
		expect(kept).toEqual((await audited()).slice(-kept.length));
		// Nothing is written twice because it is gone.
		await trailOf(drawer, limits).end();
		expect(await seqsIn(drawer)).toEqual(kept);
		for (let day = 0; day < 3; day++) {
			now += 3 * 24 * HOUR;
			trail = trailOf(drawer, limits);
			await say(1);
			await trail.end();
		}
		await trailOf(drawer, limits).end();
		expect(await seqsIn(drawer)).toEqual((await audited()).slice(-3));
		expect([...drawer.files.keys()]).toEqual(["2026-11-30.jsonl", "2026-12-03.jsonl", "2026-12-06.jsonl"]);
	});

	test("of other days stay where a clock was wrong once, or somebody else's file says so", async () => {
		const limits = { ...plenty, keepDays: 2 };
		const drawer = new Drawer();
		for (const year of [0, 73 * 365, 0]) {
			now = start + year * 24 * HOUR;
			const trail = trailOf(drawer, limits);
			await say(2);
			await trail.end();
		}
		expect(await seqsIn(drawer)).toEqual(await audited());
		drawer.files.set("9999-12-31.jsonl", Buffer.from("garbage"));
		await trailOf(drawer, limits).end();
		expect([...drawer.files.keys()].length).toBe(3);
	});

	test("are in the order of their days and parts, and other names are left alone", () => {
		const names = ["2026-11-27-10.jsonl", "2026-11-27-2.jsonl", "2026-11-27.jsonl", "2026-11-26-3.jsonl"];
		const others = [
			"notes.txt",
			"2026-11-27-1.jsonl",
			"2026-11-27.jsonl.gz",
			"x2026-11-27.jsonl",
			"2026-11-27-02.jsonl",
		];
		const found = trailFiles([...names, ...others].map((name) => ({ name, bytes: 5 })));
		expect(found.map(({ name }) => name)).toEqual(names.toReversed());
		const limits = { keepDays: 1, maxBytes: 14, maxFileBytes: 5 };
		const tomorrow = [...found, ...trailFiles([{ name: "2026-11-28.jsonl", bytes: 5 }])];
		expect(outdated(found, { ...limits, keepDays: 9 }).map(({ name }) => name)).toEqual([
			"2026-11-26-3.jsonl",
			"2026-11-27.jsonl",
		]);
		expect(outdated(tomorrow, { ...limits, maxBytes: 1e12 }).map(({ name }) => name)).toEqual(["2026-11-26-3.jsonl"]);
		expect(outdated(found, { ...limits, maxBytes: 0 })).toHaveLength(3);
		expect(outdated([], limits)).toEqual([]);
		expect(fileFor(found.at(-1), { day: "2026-11-27", bytes: 1 }, limits)).toEqual({ day: "2026-11-27", part: 11 });
	});
});

describe("a line", () => {
	const entry = { ts: start, seq: 3, scope: { agent: "a" }, log: "l", kind: "note", what: "made" };

	test("says what every line says, whatever its kind adds", () => {
		const text = trailLine(entry, { n: 1, seq: 99, v: 7, kind: "other" });
		expect(text).toBe(
			'{"v":1,"at":"2026-11-27T00:00:00.000Z","seq":3,"kind":"note","what":"made","scope":{"agent":"a"},"n":1,"log":"l"}\n',
		);
		expect(parseTrailLine(text)).toMatchObject({ seq: 3, n: 1 });
	});

	test("acts on no terminal, and is the same value", () => {
		const hostile = "\u001b[2J\u009b\u202e\u2028\u{e0041}é";
		const text = trailLine(entry, { hostile });
		expect(text).toMatch(/^[\x20-\x7eé]*\n$/);
		expect(parseTrailLine(text)).toMatchObject({ hostile });
	});

	test("that is too long loses its details, and has all that every line has", () => {
		const text = trailLine(entry, { n: "é".repeat(MAX_LINE_BYTES / 2) });
		expect(Buffer.byteLength(text)).toBeLessThan(200);
		expect(parseTrailLine(text)).toMatchObject({ seq: 3, cut: true });
		expect(parseTrailLine(trailLine(entry, { n: "é".repeat(MAX_LINE_BYTES / 3) }))).toHaveProperty("n");
	});

	test("is written whatever the clock says", () => {
		for (const ts of [-1, 1e300]) expect(parseTrailLine(trailLine({ ...entry, ts }))).toBeDefined();
	});

	test.each(["", "{}", "[1]", "null", '{"v":2}', "\0\0\0"])("%j is none", (text) => {
		expect(parseTrailLine(text)).toBeUndefined();
	});
});

describe("a reader", () => {
	const lineAt = (seq: number, ts = start, kind = "note") =>
		trailLine({ ts, seq, scope: {}, log: "l", kind, what: "made" });
	const drawerOf = (files: Readonly<Record<string, string>>) =>
		new Drawer(new Map(Object.entries(files).map(([name, text]) => [name, Buffer.from(text)])));
	const seqsOf = ({ lines }: { readonly lines: readonly { readonly seq: number }[] }) => lines.map(({ seq }) => seq);

	test("gives the newest that are wanted, by time, seq and kind", async () => {
		const drawer = drawerOf({
			"2026-11-27.jsonl": lineAt(1) + lineAt(2, start + HOUR, "turn"),
			"2026-11-28.jsonl": lineAt(3, start + 25 * HOUR) + lineAt(4, start + 26 * HOUR, "turn"),
		});
		const newest = async (...[query, most = 100]: [object, number?]) => {
			const found = await new TrailReader(drawer).newest(query, most);
			return [seqsOf(found), found.isAll];
		};
		expect(await newest({})).toEqual([[1, 2, 3, 4], true]);
		expect(await newest({}, 4)).toEqual([[1, 2, 3, 4], true]);
		expect(await newest({}, 3)).toEqual([[2, 3, 4], false]);
		expect(await newest({ kinds: ["turn"] }, 1)).toEqual([[4], false]);
		expect(await newest({ kinds: ["turn"] })).toEqual([[2, 4], true]);
		expect(await newest({ from: 3 })).toEqual([[3, 4], true]);
		expect(await newest({ since: start + HOUR })).toEqual([[2, 3, 4], true]);
		expect(await newest({ since: start + 25 * HOUR })).toEqual([[3, 4], true]);
		expect(await newest({ since: start + 900 * HOUR })).toEqual([[], true]);
	});

	test("counts and names what it cannot read, but not what is being written", async () => {
		const torn = lineAt(3).slice(0, 20);
		const drawer = drawerOf({
			"2026-11-27.jsonl": `${lineAt(1)}rubbish\n\n${lineAt(2)}${torn}`,
			"2026-11-28.jsonl": `\0\0\n${lineAt(3)}${torn}`,
		});
		const found = await new TrailReader(drawer).newest({}, 100);
		expect(seqsOf(found)).toEqual([1, 2, 3]);
		expect(found.unread).toEqual([
			{ file: "2026-11-27.jsonl", line: 2 },
			{ file: "2026-11-27.jsonl", line: 5 },
			{ file: "2026-11-28.jsonl", line: 1 },
		]);
	});

	test("goes on with what comes: in the same file, cut anywhere, in the next one, and after a deletion", async () => {
		const drawer = drawerOf({ "2026-11-27.jsonl": lineAt(1) });
		const reader = new TrailReader(drawer);
		expect(seqsOf(await reader.newest({}, 100))).toEqual([1]);
		const more = async () => {
			const found = await reader.more({});
			return [...seqsOf(found), ...found.unread];
		};
		expect(await more()).toEqual([]);
		const come = lineAt(2) + lineAt(3);
		let seen: unknown[] = [];
		for (const byte of come) {
			await drawer.append("2026-11-27.jsonl", Buffer.from(byte));
			seen = [...seen, ...(await more())];
		}
		expect(seen).toEqual([2, 3]);
		await drawer.append("2026-11-27.jsonl", Buffer.from(`${lineAt(4)}rubbish\n`));
		await drawer.create("2026-11-28.jsonl", Buffer.from(lineAt(5)));
		expect(await more()).toEqual([4, 5, { file: "2026-11-27.jsonl", line: 5 }]);
		drawer.files.clear();
		expect(await more()).toEqual([]);
		await drawer.create("2026-11-28.jsonl", Buffer.from(lineAt(6)));
		expect(await more()).toEqual([]);
		await drawer.append("2026-11-28.jsonl", Buffer.from(lineAt(7)));
		expect(await more()).toEqual([7]);
	});

	test("of none that is there yet, begins when it comes", async () => {
		const drawer = drawerOf({});
		const reader = new TrailReader(drawer);
		expect(await reader.newest({}, 100)).toEqual({ lines: [], unread: [], isAll: true });
		await drawer.create("2026-11-28.jsonl", Buffer.from(lineAt(1)));
		expect(seqsOf(await reader.more({}))).toEqual([1]);
	});

	test("takes a whole line without its end for one, and gives it once", async () => {
		const drawer = drawerOf({ "2026-11-27.jsonl": lineAt(1) + lineAt(2).trimEnd() });
		const reader = new TrailReader(drawer);
		expect(seqsOf(await reader.newest({}, 100))).toEqual([1, 2]);
		await drawer.append("2026-11-27.jsonl", Buffer.from(`\n${lineAt(3)}`));
		expect(seqsOf(await reader.more({}))).toEqual([3]);
	});
});
