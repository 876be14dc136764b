/** The writer over engines that leave it in the dark. `REYN_SEED` and `REYN_RUNS` set the random ones. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { SEED, seeded } from "../../../tests/kit/seeded.ts";
import { atOnce } from "../../../tests/kit/timers.ts";
import { delegate } from "../src/engine/delegate.ts";
import { Poller } from "../src/engine/poller.ts";
import {
	defineRecord,
	type LogEngine,
	memoryEngine,
	openWal,
	type StoredRecord,
	type Timers,
	type Wal,
	WalError,
} from "../src/index.ts";
import { faultyEngine } from "../src/testing/index.ts";

const RUNS = Number(process.env.REYN_RUNS ?? 60);
const said = defineRecord("said", z.object({ text: z.string() }));

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const open = (engine: LogEngine, steal = false): Promise<Wal> =>
	openWal(engine, { records: [said], timers: atOnce, steal });

async function textsOf(engine: LogEngine): Promise<[seq: number, text: string][]> {
	const found: [number, string][] = [];
	await using wal = await openWal(engine, { records: [said], readOnly: true });
	let last = 0;
	for await (const record of wal.read()) {
		expect(record.seq).toBe(++last);
		if (said.is(record)) found.push([record.seq, record.data.text]);
	}
	return found;
}

/** Small batches, so that there are many. */
const inSmallBatches = (engine: LogEngine): LogEngine => ({ ...engine, caps: { ...engine.caps, maxBatchRecords: 4 } });

describe("answers that are lost", () => {
	test.each([false, true])(
		`everything is stored once and in order, whatever is lost (parts of batches too: %s; ${RUNS} runs, seed ${SEED})`,
		async (parts) => {
			for (let run = 0; run < RUNS; run++) {
				const random = seeded(SEED * 1000 + run);
				const engine = memoryEngine();
				const wal = await open(inSmallBatches(faultyEngine(engine, { random, parts })));
				const told: [number, string][] = [];
				const waiting: Promise<unknown>[] = [];
				for (let n = 0; n < 60; n++) {
					const { seq, durable } = wal.append(said({ text: String(n) }), {});
					waiting.push(durable.then(() => told.push([seq, String(n)])));
					if (random.chance(0.3)) await durable;
				}
				await Promise.all(waiting);
				await wal.close();
				const found = await textsOf(engine);
				expect(found, `run ${run}`).toEqual(told.sort(([a], [b]) => a - b));
				expect(found.map(([, text]) => text)).toEqual(Array.from({ length: 60 }, (_, n) => String(n)));
			}
		},
	);

	test(`a writer that is fenced stops: what it acknowledged is there, and nothing of it comes later (${RUNS} runs)`, async () => {
		let lost = 0;
		for (let run = 0; run < RUNS; run++) {
			const random = seeded(SEED * 1000 + run);
			const engine = memoryEngine();
			const old = await open(inSmallBatches(faultyEngine(engine, { random, parts: true })));
			const told: [number, string][] = [];
			const codes = new Set<unknown>();
			const waiting: Promise<unknown>[] = [];
			const append = (n: number): void => {
				try {
					const { seq, durable } = old.append(said({ text: `old ${n}` }), {});
					waiting.push(
						durable.then(
							() => told.push([seq, `old ${n}`]),
							(error: WalError) => codes.add(error.code),
						),
					);
				} catch (error) {
					codes.add((error as WalError).code);
				}
			};
			const fenceAt = random.below(30);
			let fresh: Wal | undefined;
			for (let n = 0; n < 40; n++) {
				append(n);
				if (n === fenceAt) fresh = await open(engine, true);
				if (random.chance(0.3)) await new Promise((resolve) => setImmediate(resolve));
			}
			await Promise.all(waiting);
			await fresh?.append(said({ text: "new" }), {}).durable;
			await expect(old.close()).rejects.toMatchObject({ code: "WAL_FENCED" });
			await fresh?.close();
			lost += codes.size;
			expect([...codes].filter((code) => code !== "WAL_FENCED")).toEqual([]);
			const found = await textsOf(engine);
			for (const each of told) expect(found).toContainEqual(each);
			const isNew = found.findIndex(([, text]) => text === "new");
			expect(found.slice(isNew + 1)).toEqual([]);
		}
		expect(lost).toBeGreaterThan(0);
	});

	test("a record at our place that is not ours is WAL_CORRUPT, not taken for it", async () => {
		const engine = memoryEngine();
		const log = engine.log("main");
		let calls = 0;
		const wal = await open({
			...engine,
			log: () =>
				delegate(log, {
					async append(lease, expect, lines) {
						if (++calls > 1) return log.append(lease, expect, lines);
						const other = lines.map((line) => line.replace("mine", "theirs"));
						// Its checksum is made anew, as another writer would.
						const { storedRecords } = await import("../src/record/stored-records.ts");
						const { encodeRecord } = await import("../src/record/codec.ts");
						const [record] = storedRecords(lines, expect + 1);
						if (record) other[0] = encodeRecord({ ...record, data: JSON.stringify({ text: "theirs" }) }).line;
						await log.append(lease, expect, other);
						throw new WalError("WAL_INDETERMINATE", "the answer was lost");
					},
				}),
		});
		await expect(wal.append(said({ text: "mine" }), {}).durable).rejects.toMatchObject({
			code: "WAL_POISONED",
			message: expect.stringContaining("this writer has not written"),
		});
	});
});

describe("a full disk", () => {
	/** Full until it is told otherwise; counts what is asked of it. */
	function fullEngine() {
		const engine = memoryEngine();
		const log = engine.log("main");
		const state = { isFull: false, isBroken: false, tries: 0 };
		const timers: (() => void)[] = [];
		return {
			state,
			/** Lets the time of all waits pass. */
			tick: () => {
				for (const run of timers.splice(0)) run();
			},
			pending: () => timers.length,
			engine: {
				...engine,
				log: () =>
					delegate(log, {
						async append(lease, expect, lines) {
							state.tries++;
							if (state.isBroken) throw new Error("EIO");
							if (state.isFull) throw new WalError("WAL_FULL", "the disk is full");
							await log.append(lease, expect, lines);
						},
					}),
			} satisfies LogEngine,
			timers: {
				after(_, run) {
					timers.push(run);
					return () => {
						const at = timers.indexOf(run);
						if (at !== -1) timers.splice(at, 1);
					};
				},
			} satisfies Timers,
		};
	}

	test("what waits goes out when there is space, and the log goes on for as long as one likes", async () => {
		const { engine, state, tick, pending, timers } = fullEngine();
		const wal = await openWal(engine, { records: [said], timers });
		state.isFull = true;
		const waiting = wal.append(said({ text: "a" }), {}).durable;
		await expect.poll(() => state.tries).toBe(1);
		expect(() => wal.append(said({ text: "refused" }), {})).toThrow("full");
		await expect.poll(() => state.tries).toBe(2);
		state.isFull = false;
		expect(() => wal.append(said({ text: "refused, and tries again" }), {})).toThrow("full");
		await waiting;
		expect(pending()).toBe(0);
		tick();
		await wal.append(said({ text: "b" }), {}).durable;
		await turn();
		await wal.append(said({ text: "c" }), {}).durable;
		await wal.close();
	});

	test("is told once when the wait begins and once when it is over, however often it is tried", async () => {
		const { engine, state, tick, timers } = fullEngine();
		const told: (string | undefined)[] = [];
		const wal = await openWal(engine, { records: [said], timers, onWait: (why) => told.push(why?.code) });
		for (const text of ["a", "b"]) {
			state.isFull = true;
			const waiting = wal.append(said({ text }), {}).durable;
			for (let tries = 0; tries < 3; tries++) {
				await turn();
				tick();
			}
			await turn();
			expect(told.splice(0)).toEqual(["WAL_FULL"]);
			state.isFull = false;
			tick();
			await waiting;
			expect(told.splice(0)).toEqual([undefined]);
		}
		state.isFull = true;
		wal.append(said({ text: "c" }), {});
		await expect(wal.close()).rejects.toMatchObject({ code: "WAL_FULL" });
		// It did not go on: it was closed.
		expect(told).toEqual(["WAL_FULL"]);
	});

	test("and then a broken one: it is poisoned, and can be closed", async () => {
		const { engine, state, tick, pending, timers } = fullEngine();
		const wal = await openWal(engine, { records: [said], timers });
		state.isFull = true;
		const waiting = wal.append(said({ text: "a" }), {}).durable;
		await turn();
		state.isBroken = true;
		tick();
		await expect(waiting).rejects.toMatchObject({ code: "WAL_POISONED" });
		const { tries } = state;
		tick();
		await turn();
		expect([state.tries, pending()]).toEqual([tries, 0]);
		await expect(wal.close()).rejects.toMatchObject({ code: "WAL_POISONED" });
	});

	test("closed while it is full: what waited is rejected, and so is who asks later", async () => {
		const { engine, state, pending, timers } = fullEngine();
		const wal = await openWal(engine, { records: [said], timers });
		state.isFull = true;
		const appended = wal.append(said({ text: "a" }), {});
		const waiting = expect(appended.durable).rejects.toMatchObject({ code: "WAL_FULL" });
		await turn();
		await expect(wal.close()).rejects.toMatchObject({ code: "WAL_FULL", detail: { durableTip: wal.durableTip } });
		await waiting;
		await expect(appended.durable).rejects.toMatchObject({ code: "WAL_FULL" });
		expect(pending()).toBe(0);
	});
});

describe("a lease that lasts for a time", () => {
	test("is renewed while the log is open, and a writer that lost it is told before its next append", async () => {
		const engine = memoryEngine();
		const log = engine.log("main");
		const runs: (() => void)[] = [];
		let renewals = 0;
		const timers: Timers = {
			after(_, run) {
				runs.push(run);
				return () => {};
			},
		};
		const wal = await openWal(
			{
				...engine,
				caps: { ...engine.caps, leaseMs: 3000 },
				log: () =>
					delegate(log, {
						async renew(lease) {
							renewals++;
							await log.renew(lease);
						},
					}),
			},
			{ records: [said], timers },
		);
		for (let i = 0; i < 3; i++) {
			runs.shift()?.();
			await new Promise((resolve) => setImmediate(resolve));
		}
		expect(renewals).toBe(3);
		await using thief = await open(engine, true);
		runs.shift()?.();
		await new Promise((resolve) => setImmediate(resolve));
		expect(() => wal.append(said({ text: "late" }), {})).toThrow("epoch");
		expect(thief.tip).toBe(2);
	});
});

describe("an engine that is wrong", () => {
	test.each(["read", "follow"] as const)(
		"skips a record: WAL_CORRUPT when it is met by %s, and nothing after it",
		async (how) => {
			const engine = memoryEngine();
			const log = engine.log("main");
			type Batches = AsyncIterable<readonly StoredRecord[]>;
			async function* skipping(rest: Batches): AsyncGenerator<readonly StoredRecord[]> {
				yield* log.read(0, 3);
				yield* rest;
			}
			const wrong: LogEngine = {
				...engine,
				log: () =>
					delegate(log, {
						read: (_, through) => skipping(log.read(4, through)),
						subscribe: (_, options) => skipping(log.subscribe(4, options)),
					}),
			};
			await using wal = await open(wrong);
			for (const text of ["a", "b", "c", "d"]) await wal.append(said({ text }), {}).durable;
			const seqs: number[] = [];
			const all = async (): Promise<void> => {
				for await (const { seq } of how === "read" ? wal.read() : wal.follow({ after: 0 })) seqs.push(seq);
			};
			await expect(all()).rejects.toMatchObject({ code: "WAL_CORRUPT", detail: { seq: 4, found: 5 } });
			expect(seqs.every((seq) => seq < 4)).toBe(true);
		},
	);
});

describe("an engine that is away", () => {
	/** Over memory; each call of the writer is answered as `how` says. */
	function shaky(answerMs?: number) {
		const engine = memoryEngine();
		const state: { how: "fine" | "away" | "silent" } = { how: "fine" };
		const answered = <T>(call: () => Promise<T>): Promise<T> => {
			if (state.how === "fine") return call();
			if (state.how === "silent") return new Promise(() => {});
			return Promise.reject(new WalError("WAL_UNAVAILABLE", "the network is down"));
		};
		const caps = { ...engine.caps, leaseMs: 60_000, answerMs };
		const log = (realm: string) => {
			const under = engine.log(realm);
			return delegate(under, {
				append: (...args) => answered(() => under.append(...args)),
				tail: () => answered(() => under.tail()),
				renew: (lease) => answered(() => under.renew(lease)),
				release: (lease) => answered(() => under.release(lease)),
			});
		};
		return { state, under: engine, engine: { ...engine, caps, log } };
	}

	test("is waited for; who listens is told once of that, and once of its end", async () => {
		const { state, engine } = shaky();
		const told: (string | undefined)[] = [];
		const timers: Timers = { after: (ms, run) => (ms > 2000 ? () => {} : atOnce.after(ms, run)) };
		const wal = await openWal(engine, { records: [said], timers, onWait: (why) => told.push(why?.code) });
		for (const text of ["a", "b"]) {
			state.how = "away";
			const { durable } = wal.append(said({ text }));
			while (told.length === 0) await turn();
			for (let i = 0; i < 20; i++) await turn();
			expect(told).toEqual(["WAL_UNAVAILABLE"]);
			state.how = "fine";
			await durable;
			await turn();
			expect(told.splice(0)).toEqual(["WAL_UNAVAILABLE", undefined]);
		}
		await wal.close();
	});

	test.each([
		["cannot be reached", "away", undefined],
		["never answers", "silent", 50],
	] as const)("holds up no close: it %s", async (_, how, answerMs) => {
		const { state, engine, under } = shaky(answerMs);
		const wal = await openWal(engine, { records: [said], timers: atOnce });
		await wal.append(said({ text: "a" })).durable;
		state.how = how;
		const waiting = wal.append(said({ text: "b" }));
		const { durable } = waiting;
		const expected = { code: "WAL_UNAVAILABLE", detail: { durableTip: 2 } };
		await expect(wal.close()).rejects.toMatchObject(expected);
		await expect(durable).rejects.toMatchObject(expected);
		await expect(waiting.durable).rejects.toMatchObject(expected);
		state.how = "fine";
		expect(await textsOf(under)).toEqual([[2, "a"]]);
	});

	test("and a close with nothing to write leaves the lease to its end", async () => {
		const { state, engine } = shaky();
		const wal = await openWal(engine, { records: [said], timers: atOnce });
		await wal.append(said({ text: "a" })).durable;
		state.how = "away";
		await wal.close();
	});
});

describe("the right to write", () => {
	test.each(["fenced", "poisoned", "closed"] as const)("a writer that is %s hears of it", async (how) => {
		const engine = memoryEngine();
		const leased = { ...engine, caps: { ...engine.caps, leaseMs: 90 } };
		const isBroken = { now: false };
		const log = (realm: string) => {
			const under = engine.log(realm);
			const append: typeof under.append = (...args) =>
				isBroken.now ? Promise.reject(new Error("EIO")) : under.append(...args);
			return delegate(under, { append });
		};
		const wal = await openWal({ ...leased, log }, { records: [said] });
		expect(wal.signal.aborted).toBe(false);
		const aborted = new Promise((resolve) => wal.signal.addEventListener("abort", resolve, { once: true }));
		let thief: Wal | undefined;
		if (how === "fenced") thief = await open(leased, true);
		if (how === "poisoned") {
			isBroken.now = true;
			wal.append(said({ text: "a" }));
		}
		if (how === "closed") await wal.close();
		await aborted;
		expect(wal.signal.reason).toMatchObject({ code: `WAL_${how.toUpperCase()}` });
		await wal.close().catch(() => {});
		await thief?.close();
	});

	test("a lease says until when it is, and is kept", async () => {
		const engine = memoryEngine();
		let now = 1000;
		const ticks: (() => void)[] = [];
		const timers: Timers = {
			after(_, run) {
				ticks.push(run);
				return () => {};
			},
		};
		const wal = await openWal(
			{ ...engine, caps: { ...engine.caps, leaseMs: 90 } },
			{ records: [said], timers, clock: { now: () => now } },
		);
		expect(wal.leaseUntil).toBe(1090);
		now = 1030;
		ticks.shift()?.();
		await turn();
		expect(wal.leaseUntil).toBe(1120);
		await wal.close();
		await using plain = await openWal(memoryEngine(), { records: [said] });
		expect(plain.leaseUntil).toBe(undefined);
	});
});

describe("the limits of an engine", () => {
	/** Over memory; keeps the size of each batch, in records and bytes. */
	function limited(caps: Partial<LogEngine["caps"]>) {
		const engine = memoryEngine();
		const batches: [records: number, bytes: number][] = [];
		const log = (realm: string) => {
			const under = engine.log(realm);
			return delegate(under, {
				append(lease, expected, lines) {
					batches.push([lines.length, Buffer.byteLength(lines.join(""))]);
					return under.append(lease, expected, lines);
				},
			});
		};
		return { batches, engine: { ...engine, caps: { ...engine.caps, ...caps }, log } };
	}

	test("of a batch are bytes, whatever characters it has", async () => {
		const { batches, engine } = limited({ maxBatchBytes: 10_000 });
		await using wal = await openWal(engine, { records: [said] });
		for (let i = 0; i < 20; i++) wal.append(said({ text: "木".repeat(1000) }));
		await wal.append(said({ text: "木".repeat(5000) })).durable;
		expect(batches.flatMap(([records]) => records).reduce((sum, n) => sum + n)).toBe(21);
		for (const [records, bytes] of batches) expect(records === 1 || bytes <= 10_000).toBe(true);
	});

	test("of a record are told before it has a seq, and poison nothing", async () => {
		const { engine } = limited({ maxLineBytes: 5000 });
		await using wal = await openWal(engine, { records: [said] });
		const { tip } = wal;
		expect(() => wal.append(said({ text: "木".repeat(2000) }))).toThrow(
			expect.objectContaining({ code: "WAL_TOO_LARGE" }),
		);
		expect(wal.tip).toBe(tip);
		await wal.append(said({ text: "木".repeat(1000) })).durable;
	});
});

test.each([1, 2])("an acquire whose answer is lost %i times does not lock its process out", async (lost) => {
	const engine = memoryEngine();
	let calls = 0;
	const log = (realm: string) => {
		const under = engine.log(realm);
		return delegate(under, {
			async acquire(options) {
				const lease = await under.acquire(options);
				if (++calls <= lost) throw new WalError("WAL_INDETERMINATE", "the answer was lost");
				return lease;
			},
		});
	};
	const wal = await openWal({ ...engine, log }, { records: [said] });
	await wal.append(said({ text: "a" })).durable;
	await wal.close();
	expect(await textsOf(engine)).toEqual([[2, "a"]]);
});

test("records that an engine has not had checked reach nobody", async () => {
	const engine = memoryEngine();
	const wal = await openWal(engine, { records: [said] });
	await wal.append(said({ text: "1250" })).durable;
	await wal.close();
	// As an engine does that parses its lines by itself: a line that was changed in its store looks sound.
	const log = (realm: string) => {
		const under = engine.log(realm);
		return delegate(under, {
			async *read(after, through) {
				for await (const records of under.read(after, through))
					yield records.map((each) => ({ ...each, ...(each.kind === "said" && { data: { text: "9250" } }) }));
			},
		});
	};
	await expect(textsOf({ ...engine, log })).rejects.toMatchObject({ code: "WAL_CORRUPT" });
});

test("however many follow a log of another process, one looks", async () => {
	let looks = 0;
	const ticks: (() => void)[] = [];
	const timers: Timers = {
		after(_, run) {
			ticks.push(run);
			return () => {};
		},
	};
	let last = 1;
	const look = async (): Promise<number> => {
		looks++;
		return last;
	};
	const poller = new Poller(look, 20, timers);
	const end = new AbortController();
	const woken: number[] = [];
	const all = Array.from({ length: 100 }, (_, i) => poller.next(i < 50 ? 1 : 2, end.signal).then(() => woken.push(i)));
	for (let i = 0; i < 3; i++) {
		ticks.shift()?.();
		await turn();
	}
	expect([looks, woken.length, ticks.length]).toEqual([3, 0, 1]);
	last = 2;
	ticks.shift()?.();
	await turn();
	expect([looks, woken.length]).toEqual([4, 50]);
	end.abort();
	await Promise.all(all);
	ticks.shift()?.();
	await turn();
	expect([looks, ticks.length]).toEqual([4, 0]);
});
