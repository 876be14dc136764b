/** Engines that break one rule of the port each: the suite has to be red for every one of them. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { some } from "../../../tests/sample.ts";
import { delegate } from "../src/engine/delegate.ts";
import { subscription } from "../src/engine/index.ts";
import { type Lease, type LogEngine, memoryEngine, type RealmLog, type StoredRecord, WalError } from "../src/index.ts";
import { sqliteEngine } from "../src/sqlite/index.ts";
import { type Cut, type EngineUnderTest, testEngine } from "../src/testing/index.ts";

/** Over memory; every realm's log is changed. */
const overMemory = (change: (log: RealmLog) => Partial<RealmLog>): EngineUnderTest => ({
	name: "mutant",
	async make() {
		const engine = memoryEngine();
		const logs = new Map<string, RealmLog>();
		const log = (realm: string): RealmLog => {
			const under = engine.log(realm);
			const made = logs.get(realm) ?? delegate(under, change(under));
			logs.set(realm, made);
			return made;
		};
		return () => ({ ...engine, log });
	},
});

/** Over memory, its answers cut as the suite says. @param lose what becomes of a call whose answer is lost */
function overCut(lose: () => void): EngineUnderTest {
	const cuts: string[] = [];
	const memory = overMemory((log) => {
		const cut = async <T>(call: Cut, run: () => Promise<T>): Promise<T> => {
			const [next = ""] = cuts;
			if (!next.startsWith(call)) return run();
			cuts.shift();
			if (next.endsWith("after")) await run();
			lose();
			return undefined as T;
		};
		return {
			acquire: (options) => cut("acquire", () => log.acquire(options)),
			append: (...args) => cut("append", () => log.append(...args)),
			truncateBefore: (...args) => cut("truncateBefore", () => log.truncateBefore(...args)),
			release: (lease) => cut("release", () => log.release(lease)),
		};
	});
	return { ...memory, cut: (call, when) => void cuts.push(`${call} ${when}`) };
}

const losing = (): never => {
	throw new WalError("WAL_INDETERMINATE", "the answer was lost");
};

/** By the names of their calls, for the engine that forgets no lease. */
const leases = new Map<string, Lease>();

const scratch = mkdtempSync(join(tmpdir(), "reyn-mutants-"));
let databases = 0;
afterAll(() => rmSync(scratch, { recursive: true }));

/** Over a database, whose leases last for a time. */
function overSqlite(change: (log: RealmLog) => Partial<RealmLog>, clock = (ahead: number) => ahead): EngineUnderTest {
	let ahead = 0;
	return {
		name: "mutant",
		async make() {
			const engine = sqliteEngine(join(scratch, `${++databases}.db`), { clock: { now: () => clock(ahead) } });
			const log = (realm: string): RealmLog => delegate(engine.log(realm), change(engine.log(realm)));
			return () => ({ ...engine, log, close: async () => {} });
		},
		async passTime(ms) {
			ahead += ms;
		},
	};
}

/** What reads of another way than the log below does. */
const reading = (change: (records: StoredRecord[]) => readonly StoredRecord[]) => (log: RealmLog) => ({
	async *read(...range: Parameters<RealmLog["read"]>) {
		for await (const records of log.read(...range)) yield change([...records]);
	},
});

/** The lease of whoever acquired last, whatever lease a call comes with. */
function anyLease(change: (log: RealmLog, newest: () => Lease) => Partial<RealmLog>) {
	return (log: RealmLog): Partial<RealmLog> => {
		let newest!: Lease;
		const acquire: RealmLog["acquire"] = async (options) => {
			newest = await log.acquire(options);
			return newest;
		};
		return { acquire, ...change(log, () => newest) };
	};
}

const mutants: Readonly<Record<string, EngineUnderTest>> = {
	"a lease that never ends": overSqlite(
		() => ({}),
		() => 0,
	),
	"a renewal that renews nothing": overSqlite(() => ({ renew: async () => {} })),
	"a lease that ends at once": overSqlite(
		() => ({}),
		(
			(now) => () =>
				(now += 20_000)
		)(0),
	),
	"batches that break off in the middle": overMemory((log) => ({
		async append(lease, expected, lines) {
			for (let i = 0; i < lines.length; i++) await log.append(lease, expected + i, [lines[i] as string]);
		},
	})),
	"retention by a writer that is fenced": overMemory(
		anyLease((log, newest) => ({ truncateBefore: (_, seq) => log.truncateBefore(newest(), seq) })),
	),
	"retention past the tail": overMemory((log) => ({
		async truncateBefore(lease, seq) {
			await log.truncateBefore(lease, seq);
			return seq;
		},
	})),
	"records that nobody has checked": overMemory(reading((records) => records.map((record) => ({ ...record })))),
	"appends of a writer that is fenced": overMemory(
		anyLease((log, newest) => ({ append: (_, ...rest) => log.append(newest(), ...rest) })),
	),
	"appends behind whatever tail there is": overMemory((log) => ({
		async append(lease, _, lines) {
			await log.append(lease, (await log.tail())?.seq ?? 0, lines);
		},
	})),
	"an acknowledgement of nothing": overMemory(() => ({ append: async () => {} })),
	"a second writer beside the first": overMemory((log) => ({
		acquire: (options) => log.acquire({ ...options, steal: true }),
	})),
	"an acquire that forgets its own call": overMemory((log) => {
		let calls = 0;
		return { acquire: (options) => log.acquire({ ...options, nonce: `${++calls}` }) };
	}),
	"a log that is shorter than what is proven": overMemory((log) => ({
		acquire: (options) => log.acquire({ ...options, proven: async () => 0 }),
	})),
	"reads that begin one too early": overMemory((log) => ({
		read: (after, through, wants) => log.read(Math.max(0, after - 1), through, wants),
	})),
	"reads that end one too early": overMemory((log) => ({
		read: (after, through, wants) => log.read(after, through - 1, wants),
	})),
	"a tail that lags": overMemory((log) => ({
		async tail() {
			const tail = await log.tail();
			return tail && { ...tail, seq: Math.max(tail.first, tail.seq - 1) };
		},
	})),
	"a subscription that tells what comes twice": overMemory((log) => ({
		async *subscribe(after, options) {
			for await (const records of log.subscribe(after, options)) {
				yield records;
				yield records;
			}
		},
	})),
	"a subscription that does not end with its signal": overMemory((log) => ({
		subscribe: (after) => log.subscribe(after, { signal: new AbortController().signal }),
	})),
	"an acquire that looks first and takes afterwards": overMemory((log) => {
		let isHeld = false;
		return {
			async acquire(options) {
				if (isHeld) return log.acquire(options);
				await new Promise((resolve) => setImmediate(resolve));
				const lease = await log.acquire({ ...options, steal: true });
				isHeld = true;
				return lease;
			},
			async release(lease) {
				isHeld = false;
				await log.release(lease);
			},
		};
	}),
	"a lease for whoever had one by that name": overSqlite((log) => {
		return {
			async acquire(options) {
				const known = leases.get(options.nonce);
				if (known) return known;
				const lease = await log.acquire(options);
				leases.set(options.nonce, lease);
				return lease;
			},
		};
	}),
	"a tail that is told once more": overMemory((log) => {
		let kept: Awaited<ReturnType<RealmLog["tail"]>>;
		return {
			async tail() {
				const before = kept;
				kept = before ? undefined : await log.tail();
				return before ?? kept;
			},
		};
	}),
	"a look for what is proven of another log": overMemory((log) => ({
		acquire: (options) => log.acquire({ ...options, proven: () => options.proven(options.fresh.log) }),
	})),
	"a subscription that gives its first page, and then what comes": overMemory((log) => ({
		async *subscribe(after, { signal }) {
			const last = (await log.tail())?.seq ?? 0;
			yield* log.read(after, Math.min(last, after + 1000));
			yield* log.subscribe(Math.max(last, after), { signal });
		},
	})),
	"a subscription that falls asleep": overMemory((log) => ({
		subscribe(after, { signal }) {
			let [looks, from] = [0, after];
			const more = (reached: number): Promise<void> => {
				if (reached > from) [looks, from] = [0, reached];
				return ++looks > 40 ? new Promise(() => {}) : new Promise((resolve) => setImmediate(resolve));
			};
			return subscription(log, after, signal, more);
		},
	})),
	"an answer for what never happened, once it is lost": overCut(() => {}),
	"one log for all realms": {
		name: "mutant",
		async make() {
			const engine = memoryEngine();
			return () => ({ ...engine, log: () => engine.log("main") });
		},
	},
	"one store of blobs for all realms": {
		name: "mutant",
		async make() {
			const engine = memoryEngine();
			return () => ({ ...engine, blobs: () => engine.blobs("main") });
		},
	},
	"realms that begin anew on each page": {
		name: "mutant",
		async make() {
			const engine = memoryEngine();
			return (): LogEngine => ({ ...engine, realms: () => engine.realms() });
		},
	},
};

/** The titles of the tests that an engine does not pass; a test that does not end does not pass. */
async function redFor(engine: EngineUnderTest, patienceMs = 2000): Promise<string[]> {
	const all: { readonly title: string; readonly run: () => unknown }[] = [];
	testEngine(
		{ describe: (_, define) => define(), test: (title, run) => void all.push({ title, run }), expect: expect as never },
		engine,
	);
	const red: string[] = [];
	for (const { title, run } of all) {
		const tooLong = new Promise<never>((_, reject) =>
			setTimeout(() => reject(new Error("never ends")), patienceMs).unref(),
		);
		await Promise.race([Promise.resolve().then(run), tooLong]).catch(() => red.push(title));
		if (red.length > 0) break;
	}
	return red;
}

test.each(some(Object.entries(mutants), 3))("the suite is red for %s", async (_, mutant) => {
	expect(await redFor(mutant)).not.toEqual([]);
});

test("and green for engines that keep the rules", async () => {
	for (const engine of [overMemory(() => ({})), overSqlite(() => ({})), overCut(losing)])
		expect(await redFor(engine, 120_000)).toEqual([]);
});
