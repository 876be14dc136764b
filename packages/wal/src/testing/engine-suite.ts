/** The contract of the log and of the port under it, for any engine. */

import type { Acquire, Lease, LogEngine, RealmLog } from "../engine/engine.ts";
import { codeOf } from "../errors.ts";
import type { Timers } from "../ports.ts";
import { encodeRecord, type StoredRecord } from "../record/codec.ts";
import { defineRecord, type Scope, type Seq, type WalRecord } from "../record/record.ts";
import type { StandardSchemaV1 } from "../record/standard-schema.ts";
import { areChecked, crcOf } from "../record/stored-records.ts";
import { openWal, type Wal } from "../wal.ts";
import { testBlobStore } from "./blob-suite.ts";
import type { Runner } from "./runner.ts";

export interface EngineUnderTest {
	readonly name: string;
	/** A fresh, empty store; each call of what it gives is another engine over the same one, as another process would have. */
	make(): Promise<() => LogEngine>;
	/** Lets so many milliseconds pass, by a clock of the engine's or in truth, for leases that last for a time. Absent: the suite does not see whether a lease ends, and is kept. */
	passTime?(ms: number): Promise<void>;
	/**
	 * Loses the answer of the next such call of any engine over the newest store, before or after it has happened. Absent: the suite
	 * does not see what becomes of a call whose answer is lost.
	 */
	cut?(call: Cut, when: "before" | "after"): void;
	/** Does it lose answers on purpose? Then only the log above it is held to its contract, since the port's own says what it may not do. */
	readonly losesAnswers?: boolean;
}

/** The calls whose answers a suite has cut. */
export type Cut = "acquire" | "append" | "truncateBefore" | "release";

/**
 * Runs the contract over an engine. What it cannot see: whether an acknowledgement survives a power cut (that needs a disk
 * that forgets: `CrashDisk`); whether epoch and tail are checked in one step under contention of several machines; without `passTime`,
 * whether a lease ends, or lives through awaited appends; without `cut`, what becomes of a call whose answer is lost.
 */
export function testEngine(runner: Runner, engine: EngineUnderTest): void {
	if (!engine.losesAnswers) {
		runner.describe(`the port over ${engine.name}`, () => testPort(runner, engine));
		runner.describe(`blobs over ${engine.name}`, () =>
			testBlobStore(runner, async (use) => {
				await using at = await store(engine.make);
				await use(() => at.engine().blobs("main"));
			}),
		);
	}
	runner.describe(`the log over ${engine.name}`, () => testLog(runner, engine));
}

function testPort({ test, expect }: Runner, { make, passTime }: EngineUnderTest): void {
	test("a realm has no log before there is a writer; the writer begins with its opening lines", async () => {
		await using at = await store(make);
		const log = at.engine().log("main");
		expect(await log.tail()).toBe(undefined);
		const writer = await Writer.open(log);
		expect([writer.lease.epoch, writer.lease.first, writer.lease.tail.seq]).toEqual([1, 1, 1]);
		expect((await log.tail())?.seq).toBe(1);
		expect(seqsOf(await read(log, 0, 1))).toEqual([1]);
		await writer.close();
	});

	test("what was stored is read back in order, in any range", async () => {
		await using at = await store(make);
		const log = at.engine().log("main");
		const writer = await Writer.open(log);
		for (let i = 0; i < 40; i++) await writer.append(25);
		expect((await log.tail())?.seq).toBe(1001);
		expect(seqsOf(await read(log, 0, 1001))).toEqual(upTo(1001));
		expect(seqsOf(await read(log, 499, 502))).toEqual([500, 501, 502]);
		expect(seqsOf(await read(log, 1000, 1001))).toEqual([1001]);
		expect(seqsOf(await read(log, 7, 7))).toEqual([]);
		expect((await read(log, 0, 1001)).map(({ crc }) => crc)).toEqual(writer.crcs);
		await writer.close();
	});

	test("lines are stored only behind the tail that they expect, and once", async () => {
		await using at = await store(make);
		const log = at.engine().log("main");
		const writer = await Writer.open(log);
		const lines = writer.lines(3);
		await log.append(writer.lease, 1, lines);
		for (const expected of [0, 1, 3, 5]) {
			const error = await errorOf(() => log.append(writer.lease, expected, lines));
			expect([error?.code, error?.detail?.actual]).toEqual(["WAL_SEQ_MISMATCH", 4]);
		}
		expect(seqsOf(await read(log, 0, 4))).toEqual([1, 2, 3, 4]);
		await writer.close();
	});

	test("there is one writer: another one is refused while it lives, and fences it afterwards", async () => {
		await using at = await store(make);
		const log = at.engine().log("main");
		const first = await Writer.open(log);
		expect((await errorOf(() => Writer.open(log)))?.code).toBe("WAL_LOCKED");
		expect((await errorOf(() => Writer.open(at.engine().log("main"))))?.code).toBe("WAL_LOCKED");
		await first.append(1);
		await first.close();
		const lines = first.lines(1);
		expect((await errorOf(() => log.append(first.lease, 2, lines)))?.code).toBe("WAL_FENCED");
		const second = await Writer.open(at.engine().log("main"));
		expect([second.lease.epoch, second.lease.tail.seq]).toEqual([2, 3]);
		expect((await errorOf(() => log.append(first.lease, 3, lines)))?.code).toBe("WAL_FENCED");
		expect((await errorOf(() => log.renew(first.lease)))?.code).toBe("WAL_FENCED");
		await second.append(1);
		expect((await second.log.tail())?.seq).toBe(4);
		await second.close();
	});

	test("of several who open at once one gets in, and begins the log once", async () => {
		await using at = await store(make);
		for (let round = 1; round <= 3; round++) {
			const logs = [1, 2, 3].map(() => at.engine().log("main"));
			const opened = await Promise.allSettled(logs.map((log) => Writer.open(log)));
			const writers = opened.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
			const codes = opened.flatMap((each) => (each.status === "rejected" ? [codeOf(each.reason)] : []));
			expect([writers.length, codes]).toEqual([1, ["WAL_LOCKED", "WAL_LOCKED"]]);
			expect(seqsOf(await read(logs[0] as RealmLog, 0, round))).toEqual(upTo(round));
			for (const writer of writers) await writer.close();
		}
	});

	test("the name of a lease that was given back, or taken, gives no lease again", async () => {
		await using at = await store(make);
		const log = at.engine().log("main");
		const writer = await Writer.open(log);
		await writer.close();
		const again = await log.acquire(writer.acquire);
		expect([again.epoch, again.tail.seq]).toEqual([2, 2]);
		if (at.engine().caps.leaseMs === undefined) return log.release(again);
		const thief = await Writer.open(at.engine().log("main"), { steal: true });
		expect((await errorOf(() => log.acquire(writer.acquire)))?.code).toBe("WAL_LOCKED");
		await thief.close();
	});

	test("the tail is never behind what was acknowledged, however often it is asked", async () => {
		await using at = await store(make);
		const log = at.engine().log("main");
		const writer = await Writer.open(log);
		for (let seq = 2; seq <= 20; seq++) {
			await log.tail();
			await writer.append(1);
			expect((await log.tail())?.seq).toBe(seq);
		}
		await writer.close();
	});

	test("a lease that lasts for a time may be stolen; the writer that had it gets WAL_FENCED", async () => {
		await using at = await store(make);
		const engine = at.engine();
		if (engine.caps.leaseMs === undefined) return;
		const frozen = await Writer.open(engine.log("main"));
		const thief = await Writer.open(at.engine().log("main"), { steal: true });
		const lines = frozen.lines(1);
		expect((await errorOf(() => frozen.log.append(frozen.lease, 1, lines)))?.code).toBe("WAL_FENCED");
		expect((await errorOf(() => frozen.log.append(frozen.lease, 2, lines)))?.code).toBe("WAL_FENCED");
		await frozen.close();
		await thief.append(2);
		expect(seqsOf(await read(thief.log, 0, 4))).toEqual([1, 2, 3, 4]);
		await thief.close();
	});

	test("an acquire whose answer was lost gives the same lease when it is asked again", async () => {
		await using at = await store(make);
		const writer = await Writer.open(at.engine().log("main"));
		const again = await writer.log.acquire(writer.acquire);
		expect([again.epoch, again.log, again.tail]).toEqual([writer.lease.epoch, writer.lease.log, writer.lease.tail]);
		await writer.log.append(again, 1, writer.lines(1));
		expect((await writer.log.tail())?.seq).toBe(2);
		await writer.log.release(again);
	});

	if (passTime)
		test("a lease that lasts for a time is kept by renewing it, and ends without", async () => {
			await using at = await store(make);
			const engine = at.engine();
			const { leaseMs = 0 } = engine.caps;
			const writer = await Writer.open(engine.log("main"));
			await passTime(leaseMs / 2 + 1);
			await writer.log.renew(writer.lease);
			await passTime(leaseMs / 2 + 1);
			expect((await errorOf(() => Writer.open(at.engine().log("main"))))?.code).toBe("WAL_LOCKED");
			await writer.append(1);
			await passTime(leaseMs + 1);
			const next = await Writer.open(at.engine().log("main"));
			expect([next.lease.epoch, next.lease.tail.seq]).toEqual([2, 3]);
			const lines = writer.lines(1);
			expect((await errorOf(() => writer.log.append(writer.lease, 2, lines)))?.code).toBe("WAL_FENCED");
			expect((await errorOf(() => writer.log.renew(writer.lease)))?.code).toBe("WAL_FENCED");
			await next.close();
		});

	test("of a batch that breaks off nothing is there, if batches are atomic", async () => {
		await using at = await store(make);
		const engine = at.engine();
		if (!engine.caps.atomicBatch) return;
		const writer = await Writer.open(engine.log("main"));
		const lines = writer.lines(3);
		const broken = [...lines];
		Object.defineProperty(broken, 2, {
			get: () => {
				throw new Error("broken off");
			},
		});
		expect((await errorOf(() => writer.log.append(writer.lease, 1, broken))) === undefined).toBe(false);
		expect((await writer.log.tail())?.seq).toBe(1);
		await writer.log.append(writer.lease, 1, lines);
		expect(seqsOf(await read(writer.log, 0, 4))).toEqual([1, 2, 3, 4]);
		await writer.close();
	});

	test("what is read, and followed, was checked line by line: storedRecords made it", async () => {
		await using at = await store(make);
		const writer = await Writer.open(at.engine().log("main"));
		await writer.append(3);
		const end = new AbortController();
		for await (const records of writer.log.read(0, 4)) expect(areChecked(records)).toBe(true);
		for await (const records of writer.log.subscribe(0, end)) {
			expect(areChecked(records)).toBe(true);
			if ((records.at(-1)?.seq ?? 0) >= 4) break;
		}
		await writer.close();
	});

	test("retention is the writer's, and leaves the tail where it is", async () => {
		await using at = await store(make);
		const log = at.engine().log("main");
		const old = await Writer.open(log);
		for (let i = 0; i < 30; i++) await old.append(10);
		await old.close();
		const writer = await Writer.open(at.engine().log("main"));
		expect((await errorOf(() => log.truncateBefore(old.lease, 200)))?.code).toBe("WAL_FENCED");
		expect(seqsOf(await read(writer.log, 0, 302))).toEqual(upTo(302));
		const first = await writer.log.truncateBefore(writer.lease, 1000);
		expect(first <= 303).toBe(true);
		expect((await writer.log.tail())?.seq).toBe(302);
		await writer.append(1);
		expect(seqsOf(await read(writer.log, 302, 303))).toEqual([303]);
		await writer.close();
	});

	test("the log, its epoch and its id outlive the engine", async () => {
		await using at = await store(make);
		const first = await Writer.open(at.engine().log("main"));
		await first.append(5);
		await first.close();
		const again = at.engine().log("main");
		const tail = await again.tail();
		expect([tail?.log, tail?.first, tail?.seq, tail?.epoch]).toEqual([first.lease.log, 1, 6, 1]);
		expect((await read(again, 0, 6)).map(({ crc }) => crc)).toEqual(first.crcs);
	});

	test("a log that ends before what is proven is refused, and nothing is changed", async () => {
		await using at = await store(make);
		const writer = await Writer.open(at.engine().log("main"));
		await writer.append(2);
		await writer.close();
		const error = await errorOf(() => Writer.open(at.engine().log("main"), { proven: async () => 4 }));
		expect(error?.code).toBe("WAL_CORRUPT");
		const tail = await at.engine().log("main").tail();
		expect([tail?.seq, tail?.epoch]).toEqual([3, 1]);
		const next = await Writer.open(at.engine().log("main"), { proven: async () => 3 });
		await next.close();
	});

	test("what is proven is asked for the log that is there", async () => {
		await using at = await store(make);
		const writer = await Writer.open(at.engine().log("main"));
		await writer.close();
		const asked = new Set<string>();
		const proven = async (id: string): Promise<Seq> => {
			asked.add(id);
			return 1;
		};
		const next = await Writer.open(at.engine().log("main"), { proven });
		expect([...asked]).toEqual([writer.lease.log]);
		await next.close();
	});

	test("a subscription over a long log gives all of it", async () => {
		await using at = await store(make);
		const writer = await Writer.open(at.engine().log("main"));
		for (let i = 0; i < 40; i++) await writer.append(60);
		const end = new AbortController();
		expect(await collect(at.engine().log("main"), 0, 2401, end.signal)).toEqual(upTo(2401));
		end.abort();
		await writer.close();
	});

	test("a subscription that has waited is woken by what another engine stores", async () => {
		await using at = await store(make);
		const writer = await Writer.open(at.engine().log("main"));
		const end = new AbortController();
		const idle = collect(at.engine().log("main"), 1, 2, end.signal);
		for (let turns = 0; turns < 100; turns++) await new Promise((resolve) => setImmediate(resolve));
		await new Promise((resolve) => setTimeout(resolve, 50));
		await writer.append(1);
		expect(await idle).toEqual([2]);
		end.abort();
		await writer.close();
	});

	test("a subscription has what is there and what comes, in order, each once, and ends with its signal", async () => {
		await using at = await store(make);
		const log = at.engine().log("main");
		const writer = await Writer.open(log);
		await writer.append(10);
		const end = new AbortController();
		const [mine, theirs] = [log, at.engine().log("main")].map((each) => collect(each, 4, 211, end.signal));
		for (let i = 0; i < 40; i++) {
			await writer.append(5);
			if (i % 7 === 0) await new Promise((resolve) => setImmediate(resolve));
		}
		expect(await mine).toEqual(upTo(211).slice(4));
		expect(await theirs).toEqual(upTo(211).slice(4));
		const idle = collect(log, 211, 10_000, end.signal);
		end.abort();
		expect(await idle).toEqual([]);
		await writer.close();
	});

	test("what retention takes away is gone for readers, and the tail stays", async () => {
		await using at = await store(make);
		const log = at.engine().log("main");
		const writer = await Writer.open(log);
		for (let i = 0; i < 30; i++) await writer.append(10);
		const first = await log.truncateBefore(writer.lease, 200);
		expect(first <= 200).toBe(true);
		expect(await log.truncateBefore(writer.lease, 150)).toBe(first);
		expect(seqsOf(await read(log, first - 1, 301))).toEqual(upTo(301).slice(first - 1));
		if (first > 1) expect((await errorOf(() => read(log, first - 2, 301)))?.code).toBe("WAL_TRUNCATED");
		await writer.append(1);
		await writer.close();
		const again = await Writer.open(at.engine().log("main"));
		expect([again.lease.first, again.lease.tail.seq]).toEqual([first, 303]);
		expect(seqsOf(await read(again.log, first - 1, 303))).toEqual(upTo(303).slice(first - 1));
		await again.close();
	});

	test("realms are logs of their own", async () => {
		await using at = await store(make);
		const engine = at.engine();
		expect(await engine.realms()).toEqual([]);
		const one = await Writer.open(engine.log("main"));
		const two = await Writer.open(engine.log("Größe / ../x"));
		await one.append(3);
		await two.append(1);
		expect([(await one.log.tail())?.seq, (await two.log.tail())?.seq]).toEqual([4, 2]);
		expect(one.lease.log === two.lease.log).toBe(false);
		expect(await engine.realms()).toEqual(["Größe / ../x", "main"]);
		expect(await engine.realms("Größe / ../x")).toEqual(["main"]);
		expect(await engine.realms("main")).toEqual([]);
		await one.close();
		await two.close();
	});

	test("blobs of realms are stores of their own", async () => {
		await using at = await store(make);
		const engine = at.engine();
		await engine.blobs("main").put("a", Buffer.from("main"));
		expect(await engine.blobs("other").list("")).toEqual([]);
		await engine.blobs("other").put("a", Buffer.from("other"));
		expect(Buffer.from((await engine.blobs("main").get("a")) ?? []).toString()).toBe("main");
	});
}

function testLog({ test, expect }: Runner, { make, cut, passTime }: EngineUnderTest): void {
	if (cut)
		test("what was asked for happens once, though an answer is lost", async () => {
			for (const when of ["before", "after"] as const) {
				await using at = await store(make);
				cut("acquire", when);
				const opening = (): Promise<Wal> => openWal(at.engine(), { records: [said] });
				// Of one that certainly has not happened nobody asks again by himself.
				const wal = await opening().catch(opening);
				expect(wal.tip).toBe(1);
				for (const text of ["a", "b"]) {
					cut("append", when);
					await wal.append(said({ text }), {}).durable;
				}
				expect(await texts(wal)).toEqual(["a", "b"]);
				cut("truncateBefore", when);
				await wal.truncate({ before: 3 });
				expect(wal.first).toBe((await at.engine().log("main").tail())?.first);
				cut("release", when);
				await wal.close();
				const next = await opening();
				expect(next.tip).toBe(4);
				await next.close();
			}
		});

	const open = (engine: LogEngine, readOnly = false): Promise<Wal> => openWal(engine, { records: [said], readOnly });

	test("seqs start at 1 and have no gaps, over a restart too", async () => {
		await using at = await store(make);
		await using first = await open(at.engine());
		const seqs = ["a", "b", "c"].map((text) => first.append(said({ text }), {}).seq);
		expect(seqs).toEqual([2, 3, 4]); // 1 is the writer's own wal_epoch
		await first.close();
		await using second = await open(at.engine());
		expect(second.append(said({ text: "d" }), {}).seq).toBe(6);
		expect((await all(second)).map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6]);
	});

	test("a record comes back as it was appended, with its scope", async () => {
		await using at = await store(make);
		const scope: Scope = { agent: "default", session: "main", run: "p1" };
		await using wal = await open(at.engine());
		const { record, durable } = wal.append(said({ text: "żółw\n\u2028\"'" }), scope);
		await durable;
		expect(await texts(wal)).toEqual(["żółw\n\u2028\"'"]);
		await wal.close();
		await using again = await open(at.engine());
		const [back] = await all(again, { after: record.seq - 1, through: record.seq });
		expect(
			back && { seq: back.seq, ts: back.ts, kind: back.kind, scope: back.scope, data: back.data, crc: back.crc },
		).toEqual({ ...record });
	});

	test("durable resolves in order, and the durable tip follows", async () => {
		await using at = await store(make);
		await using wal = await open(at.engine());
		const order: number[] = [];
		const appends = Array.from({ length: 100 }, (_, i) => wal.append(said({ text: String(i) }), {}));
		await Promise.all(appends.map(({ seq, durable }) => durable.then(() => order.push(seq))));
		expect(order).toEqual(appends.map(({ seq }) => seq));
		expect(wal.durableTip).toBe(wal.tip);
	});

	test("a later change of the argument changes nothing", async () => {
		await using at = await store(make);
		await using wal = await open(at.engine());
		const data = { text: "before" };
		wal.append(said(data), {});
		data.text = "after";
		expect(await texts(wal)).toEqual(["before"]);
	});

	test("a range is read by seq, scope and kind", async () => {
		await using at = await store(make);
		await using wal = await open(at.engine());
		for (let i = 0; i < 600; i++) wal.append(said({ text: String(i) }), { agent: i % 2 === 0 ? "even" : "odd" });
		expect((await all(wal, { after: 599, through: 601 })).map(({ seq }) => seq)).toEqual([600, 601]);
		expect((await all(wal, { after: 597, scope: { agent: "odd" } })).map(({ seq }) => seq)).toEqual([599, 601]);
		expect(await all(wal, { after: wal.tip })).toEqual([]);
		expect((await all(wal, { kinds: { except: ["said"] } })).map(({ kind }) => kind)).toEqual(["wal_epoch"]);
		for (const range of [{ after: -1 }, { through: 1.5 }, { after: Number.NaN }, { after: 602 }, { through: 602 }])
			expect((await errorOf(() => all(wal, range)))?.code).toBe("WAL_OUT_OF_RANGE");
	});

	test("what does not fit is refused before a seq is taken", async () => {
		await using at = await store(make);
		await using wal = await open(at.engine());
		const { tip } = wal;
		expect(codeThrownBy(() => wal.append({ kind: "unheard_of", data: {} }, {}))).toBe("WAL_INVALID_RECORD");
		expect(codeThrownBy(() => wal.append({ kind: "said", data: { text: 7 } }, {}))).toBe("WAL_INVALID_RECORD");
		expect(codeThrownBy(() => wal.append(said({ text: "x".repeat(9_000_000) }), {}))).toBe("WAL_TOO_LARGE");
		expect(codeThrownBy(() => wal.append(said({ text: "x" }), { run: "alone" }))).toBe("WAL_INVALID_RECORD");
		expect(wal.tip).toBe(tip);
	});

	test("there is one writer; a reader looks on, and sees what was durable when it opened", async () => {
		await using at = await store(make);
		await using wal = await open(at.engine());
		await wal.append(said({ text: "a" }), {}).durable;
		expect((await errorOf(() => open(at.engine())))?.code).toBe("WAL_LOCKED");
		await using reader = await open(at.engine(), true);
		expect(await texts(reader)).toEqual(["a"]);
		expect(codeThrownBy(() => reader.append(said({ text: "b" }), {}))).toBe("WAL_READ_ONLY");
		expect((await errorOf(() => openWal(at.engine(), { records: [], realm: "none", readOnly: true })))?.code).toBe(
			"WAL_IO",
		);
	});

	test("a reader gets the records of the scopes and kinds that it asks for, and the data of those alone that it wants", async () => {
		await using at = await store(make);
		await using wal = await open(at.engine());
		const first = wal.tip;
		for (let i = 0; i < 6; i++) wal.append(said({ text: String(i) }), i % 2 === 0 ? { agent: "a" } : { agent: "b" });
		await wal.append(said({ text: "é" }), { agent: "a" }).durable;
		await using reader = await open(at.engine(), true);
		for (const from of [wal, reader]) {
			const whole = await all(from, { after: first });
			expect(whole.map(({ data }) => (data as { text: string }).text).join("")).toBe("012345é");
			const ofA = whole.filter(({ scope }) => scope.agent === "a");
			expect(await all(from, { after: first, scope: { agent: "a" } })).toEqual(ofA);
			expect(await all(from, { after: first, kinds: { except: ["said"] } })).toEqual([]);
			expect(await all(from, { after: first, dataOf: ["said"] })).toEqual(whole);
			expect(await all(from, { after: first, dataOf: (kind) => kind.startsWith("sa") })).toEqual(whole);
			const bare = await all(from, { after: first, scope: { agent: "a" }, dataOf: [] });
			expect(bare).toEqual(ofA.map((record) => ({ ...record, data: undefined })));
			expect(await all(from, { after: first, scope: { agent: "a" }, dataOf: () => false })).toEqual(bare);
		}
	});

	test("following goes on where reading stopped, for the writer and for others", async () => {
		await using at = await store(make);
		await using wal = await open(at.engine());
		await wal.append(said({ text: "0" }), {}).durable;
		await using reader = await open(at.engine(), true);
		const found = [wal, reader].map(async (from) => {
			const seen: string[] = [];
			for await (const record of from.follow({ after: 1, kinds: { only: ["said"] } })) {
				seen.push((record.data as { text: string }).text);
				if (seen.length === 50) break;
			}
			return seen;
		});
		for (let i = 1; i < 50; i++) {
			const { durable } = wal.append(said({ text: String(i) }), {});
			if (i % 5 === 0) await durable;
		}
		const expected = Array.from({ length: 50 }, (_, i) => String(i));
		expect(await Promise.all(found)).toEqual([expected, expected]);
	});

	test("awaited appends in a loop leave timers their turns", async () => {
		await using at = await store(make);
		await using wal = await open(at.engine());
		let fired = 0;
		const tick = (): void => {
			fired++;
			if (fired < 3) setTimeout(tick, 5);
		};
		setTimeout(tick, 5);
		// Far more than it takes, so that a loop that starves the timers ends too.
		for (const end = performance.now() + 5000; fired < 3 && performance.now() < end; )
			await wal.append(said({ text: "x" })).durable;
		expect(fired).toBe(3);
	});

	if (passTime)
		test("a lease that lasts for a time lives through awaited appends in a loop", async () => {
			await using at = await store(make);
			const engine = at.engine();
			const { leaseMs } = engine.caps;
			if (leaseMs === undefined) return;
			const time = new PassingTime();
			const { clock, timers } = time;
			await using wal = await openWal(engine, { records: [said], clock, timers });
			for (let halves = 0; halves < 4; halves++) {
				const { leaseUntil } = wal;
				await passTime(leaseMs / 2);
				time.pass(leaseMs / 2);
				// Far more than it takes, so that a loop that starves the renewal ends too.
				for (const end = performance.now() + 5000; wal.leaseUntil === leaseUntil && performance.now() < end; )
					await wal.append(said({ text: "x" })).durable;
				expect(wal.leaseUntil).toBe(clock.now() + leaseMs);
			}
			expect((await errorOf(() => open(at.engine())))?.code).toBe("WAL_LOCKED");
			expect(wal.signal.aborted).toBe(false);
			await wal.append(said({ text: "still the writer" })).durable;
		});

	test("closing waits for what is queued; nothing can be appended afterwards", async () => {
		await using at = await store(make);
		const wal = await open(at.engine());
		const last = wal.append(said({ text: "last words" }), {});
		await wal.close();
		await wal.close();
		await last.durable;
		expect(codeThrownBy(() => wal.append(said({ text: "too late" }), {}))).toBe("WAL_CLOSED");
		expect((await errorOf(() => all(wal)))?.code).toBe("WAL_CLOSED");
		await using again = await open(at.engine());
		expect(await texts(again)).toEqual(["last words"]);
	});
}

/** Engines over one store, closed at the end. */
async function store(make: EngineUnderTest["make"]) {
	const open = await make();
	const engines: LogEngine[] = [];
	return {
		engine(): LogEngine {
			const engine = open();
			engines.push(engine);
			return engine;
		},
		async [Symbol.asyncDispose](): Promise<void> {
			for (const engine of engines) await engine.close();
		},
	};
}

/** A clock that stands until it is told, and timers that are due by it: they run in a turn of the event loop of their own, as others do. */
class PassingTime {
	readonly #waiting = new Set<{ readonly due: number; readonly run: () => void }>();
	#now = 0;

	readonly clock = { now: () => this.#now };
	readonly timers: Timers = {
		after: (ms, run) => {
			const timer = { due: this.#now + ms, run };
			this.#waiting.add(timer);
			return () => void this.#waiting.delete(timer);
		},
	};

	pass(ms: number): void {
		this.#now += ms;
		for (const timer of [...this.#waiting].filter(({ due }) => due <= this.#now)) {
			this.#waiting.delete(timer);
			setTimeout(timer.run);
		}
	}
}

let logs = 0;

/** A writer at the port, with lines of its own. */
class Writer {
	readonly log: RealmLog;
	lease!: Lease;
	/** What it was acquired with. */
	acquire!: Acquire;
	/** Of each line that it has made. */
	readonly crcs: string[] = [];
	#seq: Seq = 0;
	#prev = "";

	private constructor(log: RealmLog) {
		this.log = log;
	}

	static async open(log: RealmLog, changed: Partial<Acquire> = {}): Promise<Writer> {
		const writer = new Writer(log);
		const id = (++logs).toString(16);
		writer.acquire = {
			owner: { pid: process.pid, host: "here", started: "2026-01-01T00:00:00.000Z", command: "suite" },
			nonce: id.padStart(32, "0"),
			fresh: { log: id.padStart(32, "0"), salt: id.padStart(8, "0"), now: 1 },
			proven: async () => 0,
			opening: ({ seq, prev, epoch }) => {
				writer.#seq = seq - 1;
				writer.#prev = prev;
				return writer.lines(1, "wal_epoch", { epoch, pid: process.pid, host: "here" });
			},
			...changed,
		};
		writer.lease = await log.acquire(writer.acquire);
		return writer;
	}

	/** The next lines, whether they are stored or not. */
	lines(count: number, kind = "said", data: unknown = { text: "x".repeat(50) }): string[] {
		return Array.from({ length: count }, () => {
			const seq = ++this.#seq;
			const parts = { seq, ts: 1, kind, scope: {}, data: JSON.stringify(data), dur: 0, prev: this.#prev };
			const { line } = encodeRecord(parts);
			this.#prev = crcOf(line);
			this.crcs.push(this.#prev);
			return line;
		});
	}

	async append(count: number): Promise<void> {
		const expect = this.#seq;
		await this.log.append(this.lease, expect, this.lines(count));
	}

	close(): Promise<void> {
		return this.log.release(this.lease);
	}
}

const seqsOf = (records: readonly { readonly seq: Seq }[]): Seq[] => records.map(({ seq }) => seq);
const upTo = (last: Seq): Seq[] => Array.from({ length: last }, (_, i) => i + 1);

async function read(log: RealmLog, after: Seq, through: Seq): Promise<StoredRecord[]> {
	const records: StoredRecord[] = [];
	for await (const some of log.read(after, through)) records.push(...some);
	return records;
}

async function collect(log: RealmLog, after: Seq, through: Seq, signal: AbortSignal): Promise<Seq[]> {
	const seqs: Seq[] = [];
	for await (const some of log.subscribe(after, { signal })) {
		seqs.push(...seqsOf(some));
		if ((seqs.at(-1) ?? 0) >= through) break;
	}
	return seqs;
}

const said = defineRecord("said", {
	"~standard": {
		version: 1,
		vendor: "reyn",
		validate: (value) =>
			typeof (value as { text?: unknown }).text === "string"
				? { value: value as { text: string } }
				: { issues: [{ message: "expected a string", path: ["text"] }] },
	},
} satisfies StandardSchemaV1<{ text: string }>);

async function all(wal: Wal, range?: Parameters<Wal["read"]>[0]): Promise<WalRecord[]> {
	const records: WalRecord[] = [];
	for await (const record of wal.read(range)) records.push(record);
	return records;
}

async function texts(wal: Wal): Promise<string[]> {
	return (await all(wal)).filter((record) => said.is(record)).map(({ data }) => data.text);
}

interface Coded {
	readonly code?: unknown;
	readonly detail?: Readonly<Record<string, unknown>>;
}

function codeThrownBy(run: () => unknown): unknown {
	try {
		run();
		return "no error";
	} catch (error) {
		return codeOf(error);
	}
}

async function errorOf(run: () => Promise<unknown>): Promise<Coded | undefined> {
	try {
		await run();
		return undefined;
	} catch (error) {
		return error as Coded;
	}
}
