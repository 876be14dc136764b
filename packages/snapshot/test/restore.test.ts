/** `REYN_RUNS` sets how many random histories are told (default 40), `REYN_SEED` which. */
import { createHash } from "node:crypto";
import { defineRecord, memoryBlobs, memoryEngine, openWal, type Seq, type Wal } from "@reyn/wal";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { histories } from "../../../tests/sample.ts";
import {
	capture,
	collect,
	defineProjection,
	List,
	memorySnapshots,
	restore,
	SnapshotStore,
	type Sources,
	straightPath,
	View,
} from "../src/index.ts";
import { leavesOf, type Node } from "../src/list-node.ts";
import { readRoot } from "../src/snapshot.ts";
import { chunkName, sealed, unsealed } from "../src/store.ts";

const put = defineRecord("put", z.object({ key: z.string(), value: z.number() }));
const noise = defineRecord("noise", z.object({}));

const table = defineProjection({
	name: "table",
	version: 1,
	schema: z.record(z.string(), z.number()),
	init: () => ({}) as Record<string, number>,
	handle: (on) => [on(put, (state, { key, value }) => ({ ...state, [key]: value }))],
});

const main = { agent: "default", session: "main" };

const { numRuns: RUNS, seed } = histories(40);

let wal: Wal;
beforeEach(async () => {
	wal = await openWal(memoryEngine(), { records: [put, noise] });
});
afterEach(async () => {
	await wal.close();
});

const sources = (more: Partial<Sources> = {}): Sources => ({
	wal,
	snapshots: memorySnapshots(),
	projections: [table],
	...more,
});

async function fill(entries: readonly { key: string; value: number }[]): Promise<Seq[]> {
	const seqs = entries.map((entry) => wal.append(put(entry), main).seq);
	await wal.append(noise({}), main).durable;
	return seqs;
}

/** Captures the state at `seq` as a checkpoint there would. */
async function captureAt(from: Sources, seq: Seq): Promise<void> {
	await capture(from, await restore({ ...from, snapshots: memorySnapshots() }, straightPath(seq, main)));
}

test("the state at any seq, from any set of snapshots, is the full fold up to it", async () => {
	await fc.assert(
		fc.asyncProperty(
			fc.array(fc.record({ key: fc.constantFrom("a", "b", "c"), value: fc.nat(9) }), { minLength: 1, maxLength: 12 }),
			fc.array(fc.nat(14), { maxLength: 4 }),
			async (entries, captures) => {
				await using own = await openWal(memoryEngine(), { records: [put, noise] });
				wal = own;
				await fill(entries);
				const from = sources();
				for (const seq of captures) if (seq > 0 && seq <= own.tip) await captureAt(from, seq);
				for (let seq = 0; seq <= own.tip; seq++) {
					const full = await restore(sources(), straightPath(seq, main));
					const based = await restore(from, straightPath(seq, main));
					expect(based.get(table)).toEqual(full.get(table));
					expect(based.seq).toBe(seq);
				}
			},
		),
		histories(60),
	);
});

test("records of another scope are not folded", async () => {
	wal.append(put({ key: "a", value: 1 }), main);
	wal.append(put({ key: "a", value: 2 }), { agent: "default", session: "other" });
	wal.append(put({ key: "b", value: 3 }), { ...main, run: "p1" });
	const view = await restore(sources(), straightPath(wal.tip, main));
	expect(view.get(table)).toEqual({ a: 1, b: 3 });
});

test("a snapshot of another log, or of another life of its seq, is not used", async () => {
	const [first = 0] = await fill([{ key: "a", value: 1 }]);
	const from = sources();
	await captureAt(from, first);
	const text = (await from.snapshots.root(main, first)) ?? "";
	const changed = (change: (root: string) => string): string => {
		const json = change(text.split("\n")[1] ?? "").replace('"a":1', '"a":42');
		return `${createHash("sha256").update(json).digest("hex")}\n${json}\n`;
	};
	const state = async (): Promise<unknown> => (await restore(from, straightPath(wal.tip, main))).get(table);
	await from.snapshots.putRoot(
		main,
		first,
		changed((json) => json.replace(wal.id, "f".repeat(32))),
	);
	expect(await state()).toEqual({ a: 1 });
	await from.snapshots.putRoot(
		main,
		first,
		changed((json) => json.replace(/"crc":"[0-9a-f]{8}"/, '"crc":"00000000"')),
	);
	expect(await state()).toEqual({ a: 1 });
	await from.snapshots.putRoot(
		main,
		first,
		changed((json) => json.replace('"v":1', '"v":2')),
	);
	await expect(state()).rejects.toMatchObject({ code: "SNAPSHOT_NEWER_FORMAT", detail: { version: 2 } });
	// Its checksum does not fit: it is set aside.
	await from.snapshots.putRoot(main, first, text.replace('"a":1', '"a":42'));
	expect(await state()).toEqual({ a: 1 });
	expect(await from.snapshots.roots(main, true)).toEqual([]);
	// The harness can see a snapshot that is used: the same change with all else as it was.
	await from.snapshots.putRoot(
		main,
		first,
		changed((json) => json),
	);
	expect(await state()).toEqual({ a: 42 });
});

test("an older version is migrated; without a migration the log is folded instead; a newer one is refused", async () => {
	const [first] = await fill([{ key: "a", value: 1 }]);
	const from = sources();
	await captureAt(from, first as Seq);
	const doubled = defineProjection({
		name: "table",
		version: 2,
		schema: z.record(z.string(), z.number()),
		init: () => ({}) as Record<string, number>,
		handle: (on) => [on(put, (state, { key, value }) => ({ ...state, [key]: value * 2 }))],
		migrate: (state) =>
			Object.fromEntries(Object.entries(state as Record<string, number>).map(([key, value]) => [key, value * 2])),
	});
	const at = straightPath(wal.tip, main);
	expect((await restore({ ...from, projections: [doubled] }, at)).get(doubled)).toEqual({ a: 2 });
	const { migrate: _none, ...without } = doubled;
	expect((await restore({ ...from, projections: [without] }, at)).get(without)).toEqual({ a: 2 });

	await captureAt({ ...from, projections: [doubled] }, first as Seq);
	await expect(restore(from, at)).rejects.toMatchObject({ code: "SNAPSHOT_NEWER_FORMAT" });
});

test("a snapshot never gets ahead of the durable log", async () => {
	const { record, durable } = wal.append(put({ key: "a", value: 1 }), main);
	const view = View.empty(main, [table]).apply(record);
	await expect(capture(sources(), view)).rejects.toThrow(/not durable yet/);
	await durable;
	await capture(sources(), view);
});

test("a handler that throws is named with its projection and seq", async () => {
	const fragile = defineProjection({
		name: "fragile",
		version: 1,
		schema: z.null(),
		init: () => null,
		handle: (on) => [
			on(put, () => {
				throw new Error("boom");
			}),
		],
	});
	const [first] = await fill([{ key: "a", value: 1 }]);
	await expect(restore(sources({ projections: [fragile] }), straightPath(wal.tip, main))).rejects.toMatchObject({
		code: "SNAPSHOT_PROJECTION",
		detail: { projection: "fragile", seq: first },
	});
});

/** A list, and how long it ever was. */
const log = defineProjection({
	name: "log",
	version: 1,
	schema: z.object({ most: z.int() }),
	lists: { lines: z.string() },
	init: () => ({ most: 0, lines: List.of<string>() }),
	handle: (on) => [
		on(put, ({ most, lines }, { key, value }) => {
			const next =
				key === "a"
					? lines.append(...Array.from({ length: value * 9 }, (_, i) => `${value}.${i}`))
					: lines.splice(value * 11, key === "b" ? 40 : 1, ...(key === "c" ? [`c${value}`] : []));
			return { most: Math.max(most, next.length), lines: next };
		}),
	],
});

const story = fc.array(fc.record({ key: fc.constantFrom("a", "a", "b", "c"), value: fc.nat(30) }), {
	minLength: 1,
	maxLength: 40,
});

test(
	"with lists that grow, are edited and compacted: the state at every seq, from any subset of snapshots, is the full fold",
	async () => {
		await fc.assert(
			fc.asyncProperty(
				story,
				fc.array(fc.nat(), { maxLength: 20 }),
				fc.infiniteStream(fc.boolean()),
				async (entries, captures, keep) => {
					await using own = await openWal(memoryEngine(), { records: [put, noise] });
					wal = own;
					await fill(entries);
					const projections = [log, table];
					const bare = (): Sources => sources({ projections });
					const folded: string[] = [];
					for (let seq = 0; seq <= own.tip; seq++) folded.push((await restore(bare(), straightPath(seq, main))).hash());
					const blobs = memoryBlobs();
					const from = sources({ projections, snapshots: new SnapshotStore(blobs) });
					for (const seq of captures) {
						const at = (seq % own.tip) + 1;
						// From what is stored so far: chunks are shared as they would be in a process that goes on.
						const view = await restore(from, straightPath(at, main));
						await capture(from, view);
					}
					for (const name of await blobs.list("roots/")) if (!keep.next().value) await blobs.delete(name);
					const some = sources({ projections, snapshots: new SnapshotStore(blobs) });
					for (let seq = 0; seq <= own.tip; seq++)
						expect((await restore(some, straightPath(seq, main))).hash()).toBe(folded[seq]);
				},
			),
			{ numRuns: RUNS, seed },
		);
	},
	Math.max(30_000, RUNS * 200),
);

test("a list that a state of an older version kept as an array, and one under another name, are migrated", async () => {
	const [first = 0] = await fill([{ key: "a", value: 30 }]);
	const old = defineProjection({
		name: "log",
		version: 1,
		schema: z.object({ lines: z.array(z.string()) }),
		init: () => ({ lines: [] as string[] }),
		handle: (on) => [on(put, (_, { value }) => ({ lines: Array.from({ length: value * 9 }, (_, i) => `v${i}`) }))],
	});
	const snapshots = memorySnapshots();
	await captureAt(sources({ snapshots, projections: [old] }), first);
	const newer = (version: number, migrate: (state: never) => unknown) =>
		defineProjection({
			name: "log",
			version,
			schema: z.object({}),
			lists: { [version === 2 ? "lines" : "rows"]: z.string() },
			init: () => {
				throw new Error("from the snapshot, not from the start");
			},
			handle: () => [],
			migrate: migrate as (state: unknown) => unknown,
		});
	const second = { ...newer(2, ({ lines }: { lines: string[] }) => ({ lines: List.from(lines) })), init: () => ({}) };
	const view = await restore(sources({ snapshots, projections: [second] }), straightPath(first, main));
	expect([...(view.get(second) as unknown as { lines: List<string> }).lines].length).toBe(270);
	await capture(sources({ snapshots, projections: [second] }), view);
	const third = {
		...newer(3, ({ lines }: { lines: List<string> }) => ({ rows: lines.splice(0, 200) })),
		init: () => ({}),
	};
	const last = await restore(sources({ snapshots, projections: [third] }), straightPath(first, main));
	expect([...(last.get(third) as unknown as { rows: List<string> }).rows].at(0)).toBe("v200");
});

test("what two states share is read once, and is the same in memory", async () => {
	const [first = 0, second = 0] = await fill([
		{ key: "a", value: 30 },
		{ key: "c", value: 9 },
	]);
	const blobs = memoryBlobs();
	let read = 0;
	const get = (name: string) => {
		if (name.startsWith("chunks/")) read++;
		return blobs.get(name);
	};
	const from = sources({ snapshots: new SnapshotStore({ ...blobs, get }), projections: [log] });
	await captureAt(from, first);
	await captureAt(from, second);
	const again = { ...from, snapshots: new SnapshotStore({ ...blobs, get }) };
	const before = (await restore(again, straightPath(first, main))).get(log).lines;
	const [all, after] = [read, (await restore(again, straightPath(second, main))).get(log).lines];
	expect(all).toBe(4);
	expect(read - all).toBeLessThanOrEqual(2);
	const shared = leaves(before).filter((leaf) => leaves(after).includes(leaf));
	expect(shared.length).toBeGreaterThanOrEqual(2);
	expect([...after]).toEqual([...before].toSpliced(99, 1, "c9"));
});

const leaves = (list: List<string>) => [...leavesOf(list.root as Node<string>)];

test("items that do not fit their schema any more: the log is folded instead", async () => {
	const [first = 0] = await fill([{ key: "a", value: 30 }]);
	const snapshots = memorySnapshots();
	await captureAt(sources({ snapshots, projections: [log] }), first);
	let folded = 0;
	const other = { ...log, lists: { lines: z.string().max(3) }, handlers: new Map([["put", counting()]]) };
	function counting() {
		const handler = log.handlers.get("put");
		return {
			kind: "put",
			apply: (...args: Parameters<NonNullable<typeof handler>["apply"]>) => {
				folded++;
				return (handler as NonNullable<typeof handler>).apply(...args);
			},
		};
	}
	await restore(sources({ snapshots, projections: [other] }), straightPath(first, main));
	expect(folded).toBe(1);
	await restore(sources({ snapshots, projections: [{ ...other, lists: log.lists }] }), straightPath(first, main));
	expect(folded).toBe(1);
});

describe("what cannot be stored is refused by name, and nothing is written", () => {
	const returning = (state: unknown) =>
		defineProjection({
			name: "odd",
			version: 1,
			schema: z.unknown(),
			init: () => null as unknown,
			handle: (on) => [on(put, () => state)],
		});
	const cycle: { self?: unknown } = {};
	cycle.self = cycle;

	test.each([
		["a Map", { seen: new Map() }, "found Map at $.seen"],
		["a Date", [new Date(0)], "found Date at $[0]"],
		["NaN", Number.NaN, "found NaN at $"],
		["a function", { call: () => 1 }, "found function at $.call"],
		["a BigInt", 1n, "found bigint at $"],
		["a cycle", cycle, "found a cycle at $.self"],
		["undefined", undefined, "found undefined at $"],
	])("%s", async (_name, state, message) => {
		const [first = 0, second = 0] = await fill([
			{ key: "a", value: 1 },
			{ key: "a", value: 2 },
		]);
		const blobs = memoryBlobs();
		const snapshots = new SnapshotStore(blobs);
		await captureAt(sources({ snapshots }), first);
		const before = await blobs.list("");
		const odd = captureAt(sources({ snapshots, projections: [log, returning(state)] }), second);
		await expect(odd).rejects.toMatchObject({ code: "SNAPSHOT_NOT_JSON", detail: { projection: "odd", seq: second } });
		await expect(odd).rejects.toThrow(message);
		expect(await blobs.list("")).toEqual(before);
	});

	test("an item of a list, and what is no list where one was declared", async () => {
		const [first = 0] = await fill([{ key: "a", value: 1 }]);
		const items = (value: unknown) =>
			defineProjection({
				name: "odd",
				version: 1,
				schema: z.object({}),
				lists: { items: z.unknown() },
				init: () => ({ items: List.of<unknown>() }),
				handle: (on) => [on(put, () => value as { items: List<unknown> })],
			});
		const blobs = memoryBlobs();
		const snapshots = new SnapshotStore(blobs);
		const dates = { items: List.from([...Array.from({ length: 100 }, () => 1), new Date(0)]) };
		for (const [value, message] of [
			[dates, "found Date"],
			[{ items: "none" }, 'expected a List at "items"'],
			[null, "a state with lists is an object"],
			[{}, 'expected a List at "items"'],
		] as const) {
			const odd = captureAt(sources({ snapshots, projections: [items(value)] }), first);
			await expect(odd).rejects.toMatchObject({ code: "SNAPSHOT_NOT_JSON", detail: { projection: "odd", seq: first } });
			await expect(odd).rejects.toThrow(message);
		}
		expect(await blobs.list("chunks/")).toEqual([]);
		expect(await blobs.list("roots/")).toEqual([]);
	});

	test("two projections of one name", async () => {
		const [first = 0] = await fill([{ key: "a", value: 1 }]);
		const twice = sources({ projections: [table, { ...table, version: 2 }] });
		await expect(restore(twice, straightPath(first, main))).rejects.toMatchObject({
			code: "SNAPSHOT_SAME_NAME",
			detail: { projection: "table" },
		});
	});
});

test("a snapshot is due when as many records were folded as it would cost to load, and not before", async () => {
	const heavy = defineProjection({
		name: "heavy",
		version: 1,
		schema: z.string(),
		init: () => "",
		handle: (on) => [on(put, (text, { value }) => (value > 1 ? "x".repeat(value) : text))],
	});
	const from = sources({ projections: [heavy] });
	const grow = async (view: View, count: number): Promise<View> => {
		let next = view;
		for (let i = 0; i < count; i++) next = next.apply(wal.append(put({ key: "a", value: 1 }), main).record);
		next = next.apply(wal.append(noise({}), main).record);
		await wal.append(noise({}), main).durable;
		return next;
	};
	let view = await grow(View.empty(main, [heavy]), 99);
	expect(view.isDue).toBe(false);
	view = await grow(view, 1);
	expect(view.isDue).toBe(true);
	view = view.apply(wal.append(put({ key: "a", value: 512 * 256 }), main).record);
	const { record, durable } = wal.append(noise({}), main);
	await durable;
	await capture(from, view.at(record.seq));
	// The root weighs 512 records: so many have to come first, in this process and the next.
	for (let next of [view, await restore(from, straightPath(record.seq, main))]) {
		next = await grow(next, 512);
		expect(next.isDue).toBe(false);
		expect((await grow(next, 2)).isDue).toBe(true);
	}
});

describe("a fold that goes on from a snapshot", () => {
	test("a state from a snapshot has its keys in the order that the handlers gave them", async () => {
		const oldest = defineProjection({
			name: "oldest",
			version: 1,
			schema: z.record(z.string(), z.number()),
			init: () => ({}) as Record<string, number>,
			// Two at most: the one that came first goes.
			handle: (on) => [
				on(put, (state, { key, value }) => Object.fromEntries(Object.entries({ ...state, [key]: value }).slice(-2))),
			],
		});
		const [, second = 0, third = 0] = await fill(["c", "a", "b"].map((key) => ({ key, value: 1 })));
		const from = sources({ projections: [oldest] });
		await captureAt(from, second);
		expect((await restore(from, straightPath(third, main))).get(oldest)).toEqual({ a: 1, b: 1 });
	});

	test("a collection beside restores and captures leaves no snapshot that names what is gone", async () => {
		const seqs = await fill(
			Array.from({ length: 40 }, (_, i) => ({ key: i % 9 === 8 ? "b" : "a", value: 20 + (i % 7) })),
		);
		const blobs = memoryBlobs();
		let collecting: Promise<unknown> | undefined;
		let starts = false;
		const snapshots: SnapshotStore = new SnapshotStore({
			...blobs,
			// A collection comes between the reading of a chunk and what is made of it, where it can.
			async get(name) {
				const bytes = await blobs.get(name);
				if (!name.startsWith("chunks/")) return bytes;
				if (starts) collecting ??= collect(snapshots, { keep: () => false });
				await new Promise((resolve) => setImmediate(resolve));
				return bytes;
			},
		});
		const from = sources({ snapshots, projections: [log] });
		for (let i = 8; i < seqs.length; i += 8) {
			await captureAt({ ...from, snapshots: new SnapshotStore(blobs) }, seqs[i - 4] as Seq);
			[starts, collecting] = [true, undefined];
			const view = await restore(from, straightPath(seqs[i - 3] as Seq, main));
			starts = false;
			await collecting;
			await capture(from, view);
			let folded = 0;
			const handler = log.handlers.get("put") as NonNullable<ReturnType<typeof log.handlers.get>>;
			const counting = (args: Parameters<typeof handler.apply>) => {
				folded++;
				return handler.apply(...args);
			};
			const counted = {
				...log,
				handlers: new Map([
					["put", { ...handler, apply: (...args: Parameters<typeof handler.apply>) => counting(args) }],
				]),
			};
			await restore(
				{ ...from, snapshots: new SnapshotStore(blobs), projections: [counted] },
				straightPath(view.seq, main),
			);
			expect([i, folded]).toEqual([i, 0]);
		}
	});

	test("what cannot be read just now is passed over and stays where it is; a collection does nothing then", async () => {
		const [first = 0] = await fill([{ key: "a", value: 30 }]);
		const blobs = memoryBlobs();
		await captureAt(sources({ snapshots: new SnapshotStore(blobs), projections: [log] }), first);
		const before = await blobs.list("");
		for (const broken of ["log", "roots/", "chunks/"]) {
			for (const how of ["get", "list"] as const) {
				const failing = (name: string): Promise<never> | undefined =>
					name.startsWith(broken)
						? Promise.reject(Object.assign(new Error("too many open files"), { code: "EMFILE" }))
						: undefined;
				const snapshots = new SnapshotStore({
					...blobs,
					get: (name) => (how === "get" && failing(name)) || blobs.get(name),
					list: (prefix) => (how === "list" && failing(prefix)) || blobs.list(prefix),
				});
				const from = sources({ snapshots, projections: [log] });
				expect((await restore(from, straightPath(first, main))).get(log).lines.length).toBe(270);
				const collecting = collect(snapshots, { keep: () => true });
				if (how === "list" ? broken !== "log" : broken === "roots/")
					await expect(collecting).rejects.toThrow("too many open files");
				else await collecting;
			}
		}
		expect(await blobs.list("")).toEqual(before);
	});

	test("a damaged chunk that many snapshots share is set aside alone; with the next snapshot all are sound again", async () => {
		const seqs = await fill(Array.from({ length: 12 }, () => ({ key: "a", value: 30 })));
		const blobs = memoryBlobs();
		const from = sources({ snapshots: new SnapshotStore(blobs), projections: [log] });
		for (const seq of seqs) await captureAt(from, seq);
		const [chunk = ""] = await blobs.list("chunks/");
		const roots = await blobs.list("roots/");
		await blobs.put(chunk, new Uint8Array());
		const next = sources({ snapshots: new SnapshotStore(blobs), projections: [log] });
		const view = await restore(next, straightPath(wal.tip, main));
		expect(await blobs.list("roots/")).toEqual(roots);
		await capture(next, view);
		expect(await collect(new SnapshotStore(blobs), { keep: () => true, dryRun: true })).toEqual({
			roots: [],
			chunks: 0,
			damaged: [],
		});
		expect((await blobs.list("chunks/")).includes(chunk)).toBe(true);
		// And in this process, where the chunk was bad before: no handler is called.
		const stranger = {
			...log,
			lists: { lines: z.string() },
			handlers: new Map([["put", { kind: "put", apply: () => fail() }]]),
		};
		const fail = () => {
			throw new Error("from the snapshot, not from the log");
		};
		expect((await restore({ ...next, projections: [stranger] }, straightPath(wal.tip, main))).hash()).toBe(view.hash());
	});

	test("whatever is killed at whatever change, no root names a chunk that is not there", async () => {
		const seqs = await fill(Array.from({ length: 8 }, (_, i) => ({ key: "a", value: 20 + i })));
		let changes = Number.POSITIVE_INFINITY;
		const blobs = memoryBlobs();
		const killed = (): Promise<never> | undefined =>
			changes-- > 0 ? undefined : Promise.reject(new Error("the process is dead"));
		const mortal = (): SnapshotStore =>
			new SnapshotStore({
				...blobs,
				put: async (...args) => (await killed()) ?? blobs.put(...args),
				delete: async (...args) => (await killed()) ?? blobs.delete(...args),
			});
		const missing = async (): Promise<string[]> => {
			const found: string[] = [];
			for (const name of await blobs.list("roots/")) {
				const read = readRoot(Buffer.from((await blobs.get(name)) ?? []).toString());
				const lists =
					read.kind === "root" ? Object.values(read.root.states).flatMap((each) => Object.values(each.lists)) : [];
				for (const [id] of lists.flatMap(({ levels }) => levels.flat()))
					if (!(await blobs.get(chunkName(id)))) found.push(`${name}: ${id}`);
			}
			return found;
		};
		for (const seq of seqs)
			for (let n = 0; ; n++) {
				changes = n;
				const isDone = await captureAt(sources({ snapshots: mortal(), projections: [log] }), seq).then(
					() => true,
					() => false,
				);
				expect([seq, n, await missing()]).toEqual([seq, n, []]);
				if (isDone) break;
			}
		expect((await blobs.list("roots/")).length).toBe(seqs.length);
		for (let n = 0; ; n++) {
			changes = n;
			const isDone = await collect(mortal(), { keep: (_, seq) => seq === seqs[1] }).then(
				() => true,
				() => false,
			);
			expect([n, await missing()]).toEqual([n, []]);
			if (isDone) break;
		}
		expect((await blobs.list("roots/")).length).toBe(1);
	});

	test("a snapshot is no base of a line that does not have its records", async () => {
		const [first = 0, second = 0, third = 0] = await fill([1, 2, 3].map((value) => ({ key: `${value}`, value })));
		const from = sources();
		await captureAt(from, first);
		await captureAt(from, second);
		// As after a reset from behind the second record to before it.
		const path = {
			...straightPath(third, main),
			has: ({ seq }: { readonly seq: Seq }) => seq !== second,
			isBase: (seq: Seq) => seq < second,
		};
		expect((await restore(from, path)).get(table)).toEqual({ 1: 1, 3: 3 });
	});

	test("a list that says of a chunk that it holds more or fewer items than it does is not used", async () => {
		const [first = 0] = await fill([{ key: "a", value: 30 }]);
		for (const more of [1, -1]) {
			const blobs = memoryBlobs();
			await captureAt(sources({ snapshots: new SnapshotStore(blobs), projections: [log] }), first);
			const [name = ""] = await blobs.list("roots/");
			const root = JSON.parse(unsealed(Buffer.from((await blobs.get(name)) ?? []).toString()) ?? "");
			root.states.log.lists.lines.levels[0][0][1] += more;
			await blobs.put(name, Buffer.from(sealed(JSON.stringify(root))));
			const from = sources({ snapshots: new SnapshotStore(blobs), projections: [log] });
			expect((await restore(from, straightPath(first, main))).get(log).lines.length).toBe(270);
			expect(await blobs.list("broken/")).toHaveLength(1);
		}
	});

	test("a root that is damaged is set aside by a collection, and no chunk goes with it", async () => {
		const [first = 0] = await fill([{ key: "a", value: 30 }]);
		const blobs = memoryBlobs();
		const snapshots = new SnapshotStore(blobs);
		await captureAt(sources({ snapshots, projections: [log] }), first);
		const [root = ""] = await blobs.list("roots/");
		const chunks = await blobs.list("chunks/");
		await blobs.put(root, new Uint8Array([1, 2, 3]));
		expect(await collect(snapshots, { keep: () => true })).toEqual({ roots: [], chunks: 0, damaged: [root] });
		expect(await blobs.list("chunks/")).toEqual(chunks);
		expect(await blobs.list("broken/")).toEqual([`broken/${root}`]);
		expect(await collect(snapshots, { keep: () => true })).toEqual({ roots: [], chunks: chunks.length, damaged: [] });
	});

	test("the name of the log that does not check out says nothing, and is written again", async () => {
		const [first = 0] = await fill([{ key: "a", value: 1 }]);
		const blobs = memoryBlobs();
		await captureAt(sources({ snapshots: new SnapshotStore(blobs) }), first);
		await blobs.put("log", Buffer.from("abc"));
		const from = sources({ snapshots: new SnapshotStore(blobs) });
		expect((await restore(from, straightPath(first, main))).get(table)).toEqual({ a: 1 });
		await captureAt(from, first);
		expect(Buffer.from((await blobs.get("log")) ?? []).toString()).toContain(wal.id);
	});

	test("a record that a view has seen is refused, and so are a seq that is none and a capture by a reader", async () => {
		const { record, durable } = wal.append(put({ key: "a", value: 1 }), main);
		await durable;
		const view = View.empty(main, [table]).apply(record);
		expect(() => view.apply(record)).toThrow(
			expect.objectContaining({ code: "SNAPSHOT_OUT_OF_ORDER", detail: { seq: record.seq, seen: record.seq } }),
		);
		expect(() => straightPath(Number.NaN, main)).toThrow(RangeError);
		await expect(capture(sources({ readOnly: true }), view)).rejects.toMatchObject({ code: "SNAPSHOT_NOT_STORED" });
	});

	test("a projection that folds other kinds than the snapshot did starts anew; a migration that throws is named", async () => {
		await fill([{ key: "a", value: 1 }]);
		const snapshots = memorySnapshots();
		await captureAt(sources({ snapshots }), wal.tip);
		const more = {
			...table,
			handlers: new Map([
				...table.handlers,
				["noise", { kind: "noise", apply: (state: Record<string, number>) => ({ ...state, noise: 1 }) }],
			]),
		};
		expect((await restore(sources({ snapshots, projections: [more] }), straightPath(wal.tip, main))).get(more)).toEqual(
			{ a: 1, noise: 1 },
		);
		const failing = {
			...table,
			version: 2,
			migrate: () => {
				throw new Error("no idea");
			},
		};
		await expect(restore(sources({ snapshots, projections: [failing] }), straightPath(wal.tip, main))).rejects.toThrow(
			'projection "table" could not migrate its state of version 1 to 2: no idea',
		);
	});

	test("a list takes any number of items at once", () => {
		const many = List.of(1).concat(Array.from({ length: 300_000 }, (_, i) => i));
		expect([many.length, many.at(-1)]).toEqual([300_001, 299_999]);
		expect([...List.from<number>([]).concat([1, 2])]).toEqual([1, 2]);
	});
});
