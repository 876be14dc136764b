/** An engine whose answers are lost, or never come: what is said then is true, nobody waits for ever, and nothing is left behind. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { SEED, seeded } from "../../../tests/kit/seeded.ts";
import { atOnce } from "../../../tests/kit/timers.ts";
import { unhandled } from "../../../tests/kit/unhandled.ts";
import { delegate } from "../src/engine/delegate.ts";
import { subscription } from "../src/engine/index.ts";
import {
	defineRecord,
	type LogEngine,
	memoryEngine,
	openWal,
	type RealmLog,
	type Timers,
	type Wal,
	WalError,
} from "../src/index.ts";
import { faultyEngine } from "../src/testing/index.ts";

const said = defineRecord("said", z.object({ text: z.string() }));
const lost = (): WalError => new WalError("WAL_INDETERMINATE", "the answer was lost");
const away = (): WalError => new WalError("WAL_UNAVAILABLE", "the engine is away");
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const never = new Promise<never>(() => {});

let heard: readonly unknown[] = [];
beforeEach(() => {
	heard = unhandled();
});
afterEach(() => expect(heard).toEqual([]));

/** Over memory, with some calls in another way. */
function over(
	change: (log: RealmLog) => Partial<RealmLog>,
	caps: Partial<LogEngine["caps"]> = { leaseMs: 10_000, answerMs: 1000 },
): { engine: LogEngine; under: LogEngine } {
	const memory = memoryEngine();
	const under = { ...memory, caps: { ...memory.caps, ...caps } };
	const log = (realm: string): RealmLog => delegate(memory.log(realm), change(memory.log(realm)));
	return { under, engine: { ...under, log } };
}

const open = (engine: LogEngine, more: Partial<Parameters<typeof openWal>[1]> = {}): Promise<Wal> =>
	openWal(engine, { records: [said], timers: patient, ...more });

/** Short waits are over at once; leases and limits of time are not. */
const patient: Timers = { after: (ms, run) => (ms >= 1000 ? () => {} : atOnce.after(ms, run)) };

/** A timer whose time the test says. */
function kept(runs: (() => void)[], run: () => void): () => void {
	runs.push(run);
	return () => {};
}

async function textsOf(engine: LogEngine): Promise<string[]> {
	await using wal = await openWal(engine, { records: [said], readOnly: true });
	const texts: string[] = [];
	for await (const record of wal.read()) if (said.is(record)) texts.push(record.data.text);
	return texts;
}

describe("a writer that is fenced while an answer is missing", () => {
	/** Stores `stored` lines of the first batch, and then another writer takes over before the answer is lost. */
	function stolen(stored: number, more: (log: RealmLog) => Partial<RealmLog> = () => ({})) {
		let thief: Promise<Wal> | undefined;
		const { engine, under } = over((log) => ({
			async append(lease, expected, lines) {
				if (thief) return log.append(lease, expected, lines);
				await log.append(lease, expected, lines.slice(0, stored));
				thief = open(under, { steal: true });
				await thief;
				throw lost();
			},
			...more(log),
		}));
		return { engine, under, thief: () => thief };
	}

	test("is told of what was stored that it is durable, and of the rest that it is not", async () => {
		const { engine, under, thief } = stolen(2);
		const wal = await open(engine);
		const [a, b, c] = ["a", "b", "c"].map((text) => wal.append(said({ text })));
		const fate = await Promise.allSettled([a?.durable, b?.durable, c?.durable]);
		expect(fate.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected"]);
		await expect(c?.durable).rejects.toMatchObject({
			code: "WAL_FENCED",
			detail: { epoch: 1, newest: 2, durableTip: 3 },
		});
		await expect(c?.durable).rejects.toThrow("every record up to seq 3 is durable; what comes after it is not there");
		expect(wal.signal.reason).toMatchObject({ code: "WAL_FENCED" });
		expect(await textsOf(under)).toEqual(["a", "b"]);
		await expect(wal.close()).rejects.toMatchObject({ code: "WAL_FENCED" });
		await (await thief())?.close();
	});

	test("closes in peace where all of it was stored", async () => {
		const { engine, under, thief } = stolen(1);
		const wal = await open(engine);
		await wal.append(said({ text: "a" })).durable;
		expect(() => wal.append(said({ text: "b" }))).toThrow(expect.objectContaining({ code: "WAL_FENCED" }));
		expect(await textsOf(under)).toEqual(["a"]);
		await wal.close();
		await (await thief())?.close();
	});

	test("says that nobody knows where it cannot look", async () => {
		const { engine, thief } = stolen(1, (log) => ({
			tail: () => (thief() ? Promise.reject(away()) : log.tail()),
		}));
		const wal = await open(engine);
		const { durable } = wal.append(said({ text: "a" }));
		await expect(durable).rejects.toMatchObject({ code: "WAL_FENCED", detail: { durableTip: 1, doubted: 2 } });
		await expect(durable).rejects.toThrow("up to seq 2 may be there or not");
		await (await thief())?.close();
	});

	test("waits for the answer that is on its way when its renewal is refused", async () => {
		let answer: (() => void) | undefined;
		const renewals: (() => void)[] = [];
		const timers: Timers = {
			after: (ms, run) => (ms === 10_000 / 3 ? kept(renewals, run) : patient.after(ms, run)),
		};
		const { engine, under } = over((log) => ({
			async append(...args) {
				await log.append(...args);
				await new Promise<void>((resolve) => {
					answer = resolve;
				});
			},
		}));
		const wal = await open(engine, { timers });
		const { durable } = wal.append(said({ text: "a" }));
		await expect.poll(() => answer).toBeDefined();
		const thief = await open(under, { steal: true });
		renewals[0]?.();
		await turn();
		expect(wal.signal.reason).toMatchObject({ code: "WAL_FENCED" });
		expect(() => wal.append(said({ text: "b" }))).toThrow(expect.objectContaining({ code: "WAL_FENCED" }));
		answer?.();
		await durable;
		await wal.close();
		await thief.close();
	});
});

test.each([
	["an answer was lost", lost, "up to seq 2 may be there or not"],
	["nothing was asked", away, "what comes after it is not there"],
])("a close that gives up says what it knows: %s", async (_, error, text) => {
	let isAway = false;
	const { engine } = over((log) => ({
		append: () => {
			if (isAway) return Promise.reject(away());
			isAway = true;
			return Promise.reject(error());
		},
		tail: () => (isAway ? Promise.reject(away()) : log.tail()),
	}));
	const wal = await open(engine, { timers: { after: (ms, run) => (ms > 1000 ? () => {} : atOnce.after(ms, run)) } });
	const { durable } = wal.append(said({ text: "a" }));
	await expect(wal.close()).rejects.toMatchObject({ code: "WAL_UNAVAILABLE", message: expect.stringContaining(text) });
	await expect(durable).rejects.toThrow(text);
});

describe("the helper for subscriptions, with a hint that rejects", () => {
	test("is not troubled by one that nobody waits for, and ends with one that is", async () => {
		const { engine } = over(() => ({}));
		const wal = await open(engine);
		await wal.append(said({ text: "a" })).durable;
		const seqs: number[] = [];
		const following = async (): Promise<void> => {
			const more = async (): Promise<never> => {
				throw away();
			};
			for await (const records of subscription(engine.log("main"), 0, new AbortController().signal, more)) {
				await turn();
				seqs.push(...records.map(({ seq }) => seq));
			}
		};
		await expect(following()).rejects.toMatchObject({ code: "WAL_UNAVAILABLE" });
		expect(seqs).toEqual([1, 2]);
		await wal.close();
	});

	test("ends with its signal, whether the hint ever comes or not", async () => {
		const { engine } = over(() => ({}));
		const wal = await open(engine);
		const end = new AbortController();
		const ended = (async () => {
			for await (const _ of subscription(engine.log("main"), 1, end.signal, () => never));
		})();
		await turn();
		end.abort();
		await ended;
		await wal.close();
	});
});

describe.each(["tail", "read"] as const)("over an engine whose %s never answers", (call) => {
	test.each(["its signal", "a close"])("follow ends with %s", async (how) => {
		const log = (under: RealmLog): Partial<RealmLog> => {
			const silent = {
				tail: () => (call === "tail" ? never : under.tail()),
				async *read(...range: Parameters<RealmLog["read"]>) {
					if (call === "read") await never;
					yield* under.read(...range);
				},
			};
			return { subscribe: (after, { signal }) => subscription(silent, after, signal, () => never) };
		};
		const { engine } = over(log);
		const wal = await open(engine);
		const end = new AbortController();
		const followed = (async () => {
			for await (const _ of wal.follow({ after: 0, signal: end.signal }));
		})();
		await turn();
		if (how === "its signal") end.abort();
		else await wal.close();
		await followed;
		await wal.close();
	});
});

test.each([
	["answers too late", 0],
	["loses its answers", 6],
])("an open that gave up leaves no lease behind: an engine that %s", async (_, lostAnswers) => {
	let calls = 0;
	const late: (() => void)[] = [];
	const { engine, under } = over((log) => ({
		async acquire(options) {
			const lease = await log.acquire(options);
			if (++calls <= lostAnswers) throw lost();
			if (lostAnswers === 0 && calls <= 3) await new Promise<void>((resolve) => late.push(resolve));
			return lease;
		},
	}));
	// Over at once, the limit of time of an answer too.
	await expect(open(engine, { timers: atOnce })).rejects.toMatchObject({ code: "WAL_INDETERMINATE" });
	let wal: Wal | undefined;
	while (!wal) {
		await new Promise((resolve) => setTimeout(resolve, 1));
		wal = await open(under).catch(() => undefined);
	}
	for (let i = 0; i < 200; i++) await turn();
	await wal.append(said({ text: "a" })).durable;
	await wal.close();
});

describe("a truncation whose answer is lost", () => {
	async function filled(engine: LogEngine, timers = patient): Promise<Wal> {
		const wal = await open(engine, { timers });
		for (let i = 0; i < 9; i++) wal.append(said({ text: String(i) }));
		await wal.append(said({ text: "9" })).durable;
		return wal;
	}

	async function first(wal: Wal): Promise<number | undefined> {
		for await (const { seq } of wal.read()) return seq;
		return undefined;
	}

	test.each(["before", "after"])("%s it happened is asked for again", async (when) => {
		let calls = 0;
		const { engine } = over((log) => ({
			async truncateBefore(lease, seq) {
				if (++calls > 2) return log.truncateBefore(lease, seq);
				if (when === "after") await log.truncateBefore(lease, seq);
				throw lost();
			},
		}));
		const wal = await filled(engine);
		await wal.truncate({ before: 5 });
		expect([wal.first, await first(wal)]).toEqual([5, 5]);
		await wal.close();
	});

	test("is WAL_UNAVAILABLE where nobody answers, and reading begins where the log does", async () => {
		const { engine } = over((log) => ({
			async truncateBefore(lease, seq) {
				await log.truncateBefore(lease, seq);
				throw lost();
			},
		}));
		const wal = await filled(engine, atOnce);
		await expect(wal.truncate({ before: 5 })).rejects.toMatchObject({ code: "WAL_UNAVAILABLE" });
		expect([await first(wal), wal.first]).toEqual([5, 5]);
		await wal.close();
	});
});

describe("a lease", () => {
	test("whose release is lost is given back again; one that cannot be given back is no reason to reject", async () => {
		let calls = 0;
		const { engine, under } = over((log) => ({
			release: (lease) => (++calls <= 2 ? Promise.reject(away()) : log.release(lease)),
		}));
		await (await open(engine)).close();
		await (await open(under)).close();
		for (const error of [away(), new TypeError("no such call")]) {
			const { engine } = over(() => ({ release: () => Promise.reject(error) }));
			await (await open(engine, { timers: atOnce })).close();
		}
	});

	test("that cannot be renewed is told, and so is that it can again", async () => {
		const ticks: (() => void)[] = [];
		const timers: Timers = {
			after: (ms, run) => (ms < 1000 && ms > 100 ? kept(ticks, run) : patient.after(ms, run)),
		};
		let why: unknown = away();
		const { engine } = over((log) => ({ renew: (lease) => (why ? Promise.reject(why) : log.renew(lease)) }), {
			leaseMs: 1500,
		});
		const told: (string | undefined)[] = [];
		const wal = await open(engine, { timers, onWait: (each) => told.push(each?.message) });
		for (const next of [{ gone: true }, undefined]) {
			ticks.shift()?.();
			await turn();
			why = next;
		}
		expect(told).toEqual(["the lease could not be renewed (the engine is away)"]);
		ticks.shift()?.();
		await turn();
		expect(told.slice(1)).toEqual([undefined]);
		await wal.close();
	});
});

test.each([
	["a text", "disk on fire", "disk on fire"],
	["an object", { reason: "on fire" }, "reason: 'on fire'"],
	["nothing", undefined, "undefined"],
])("what an engine throws that is no error can be read: %s", async (_, thrown, text) => {
	const { engine } = over(() => ({ append: () => Promise.reject(thrown) }));
	const wal = await open(engine);
	await expect(wal.append(said({ text: "a" })).durable).rejects.toMatchObject({
		code: "WAL_POISONED",
		message: expect.stringContaining(text),
	});
	await expect(wal.close()).rejects.toMatchObject({ code: "WAL_POISONED" });
});

test("an engine may have another copy of this package: its errors are known by their codes", async () => {
	let calls = 0;
	const other = (): Error => {
		const error = new Error("away");
		return Object.assign(error, { code: "WAL_UNAVAILABLE", detail: {}, [Symbol.for("@reyn/error")]: true });
	};
	const { engine } = over((log) => ({
		append: (...args) => (++calls === 1 ? Promise.reject(other()) : log.append(...args)),
	}));
	const wal = await open(engine);
	await wal.append(said({ text: "a" })).durable;
	await wal.close();
});

test.each([false, true])(
	"an engine that loses answers gives who reads all that is durable, whatever it does (parts: %s)",
	async (parts) => {
		for (let run = 0; run < 40; run++) {
			const engine = faultyEngine(memoryEngine(), { random: seeded(SEED * 1000 + run), parts });
			await using wal = await open(engine, { timers: atOnce });
			for (let n = 0; n < 10; n++) {
				await wal.append(said({ text: String(n) })).durable;
				const texts: string[] = [];
				for await (const record of wal.read()) if (said.is(record)) texts.push(record.data.text);
				expect(texts.length, `run ${run}`).toBe(n + 1);
			}
		}
	},
);
