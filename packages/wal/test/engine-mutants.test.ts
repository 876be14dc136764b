/** Engines that break one rule of the port each: the suite has to be red for every one of them. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { delegate } from "../src/engine/delegate.ts";
import { type Lease, type LogEngine, memoryEngine, type RealmLog, type StoredRecord } from "../src/index.ts";
import { sqliteEngine } from "../src/sqlite/index.ts";
import { type EngineUnderTest, testEngine } from "../src/testing/index.ts";

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

test.each(Object.entries(mutants))("the suite is red for %s", async (_, mutant) => {
	expect(await redFor(mutant)).not.toEqual([]);
});

test("and green for engines that keep the rules", async () => {
	expect(
		await redFor(
			overMemory(() => ({})),
			25_000,
		),
	).toEqual([]);
	expect(
		await redFor(
			overSqlite(() => ({})),
			25_000,
		),
	).toEqual([]);
});
