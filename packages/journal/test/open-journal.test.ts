/** `REYN_RUNS` sets how many random histories are told, `REYN_SEED` which. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { View } from "@reyn/snapshot";
import { fileEngine, type LogEngine, memoryEngine, type WalRecord } from "@reyn/wal";
import { MortalDisk, mortalEngine } from "@reyn/wal/testing";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { startSource } from "../../../tests/kit/killable.ts";
import {
	type Identity,
	type Journal,
	type JournalEntry,
	journal as journalProjection,
	laneClosed,
	openJournal,
	purities,
	type Reconciled,
	Recorded,
	recall,
	type StepEvent,
	stepCompleted,
	stepFailed,
	stepStarted,
} from "../src/index.ts";

const RUNS = Number(process.env.REYN_RUNS ?? 200);
const seed = process.env.REYN_SEED === undefined ? {} : { seed: Number(process.env.REYN_SEED) };

let above: string;
let directory: string;
beforeEach(async () => {
	above = await mkdtemp(join(tmpdir(), "reyn-journal-"));
	directory = join(above, "journal");
});
afterEach(() => rm(above, { recursive: true, force: true }));

/** One life of a process, which ends when its work does. */
async function live<T>(at: string | LogEngine, work: (journal: Journal) => Promise<T>): Promise<T> {
	await using journal = await openJournal(at);
	return await work(journal);
}

/** Makes three steps, and counts what it called. */
function order(): { work: (journal: Journal) => Promise<string[]>; calls: string[] } {
	const calls: string[] = [];
	const work = async (journal: Journal): Promise<string[]> => {
		const answers: string[] = [];
		for (const name of ["charge", "pack", "ship"]) {
			const call = (): string => {
				calls.push(name);
				return `${name} ${calls.length}`;
			};
			answers.push(await journal.step(name, call, { args: { order: "a17" } }));
		}
		return answers;
	};
	return { work, calls };
}

const ANSWERS = ["charge 1", "pack 2", "ship 3"];

describe("a function that is called as a step is called once", () => {
	test.each<[string, () => string | LogEngine]>([
		["a directory", () => directory],
		["memory", () => memoryEngine()],
	])("over %s, however often the work is run", async (_, make) => {
		const { work, calls } = order();
		const at = make();
		for (let run = 0; run < 3; run++) expect(await live(at, work)).toEqual(ANSWERS);
		expect(calls).toEqual(["charge", "pack", "ship"]);
	});

	test("also when the first process ends without a close, at any change of its disk", async () => {
		for (let n = 1; ; n++) {
			const disk = new MortalDisk();
			const engine = (): LogEngine => fileEngine("/journal", { disk });
			const { work, calls } = order();
			disk.dieAt(n);
			const told: string[] = await openJournal(engine())
				.then(async (journal) => {
					const answers = await work(journal);
					await journal.durable();
					return answers;
				})
				.catch(() => []);
			const before = calls.length;
			// A process that lived to the end is dropped as well.
			const hasDied = disk.dead;
			disk.live();
			const answers = await live(engine(), work);
			expect(answers.slice(0, told.length)).toEqual(told);
			// Only the last of the first process may be in doubt.
			const repeated = calls.length - 3;
			expect([0, 1]).toContain(repeated);
			expect(calls.slice(before)).toEqual(["charge", "pack", "ship"].slice(before - repeated));
			if (hasDied) continue;
			expect([n > 10, calls.length]).toEqual([true, 3]);
			return;
		}
	});

	test("a process that was killed has made each step once, but for the one that was open; meanwhile it is the only one", async () => {
		const file = join(above, "lines");
		let told: readonly string[] = [];
		for (let round = 1; round <= 2; round++) {
			const worker = startSource(join(import.meta.dirname, "work-forever.ts"), [directory, file]);
			await worker.line("");
			await expect(openJournal(directory)).rejects.toMatchObject({ code: "WAL_LOCKED" });
			await worker.line("", round * 30 - 1);
			await worker.kill();
			told = worker.lines;
			const done = (await readFile(file, "utf8")).trimEnd().split("\n");
			expect(told.length).toBeGreaterThanOrEqual(round * 30);
			// What was told is what was done; a line comes twice only where a process was killed in the midst of its step.
			expect([...new Set(done)].slice(0, told.length)).toEqual(told);
			expect(done.length - new Set(done).size).toBeLessThan(round);
		}
		await live(directory, async (journal) => {
			for (const [n, line] of told.entries())
				expect(await journal.step("write", () => "called again"), `line ${n}`).toBe(line);
		});
	});
});

test("steps are known by name, arguments and order; other arguments are another step", async () => {
	const engine = memoryEngine();
	const calls: unknown[] = [];
	const work = async (journal: Journal, all: readonly unknown[]): Promise<unknown[]> => {
		const answers: unknown[] = [];
		for (const args of all) answers.push(await journal.step("ask", () => calls.push(args), { args }));
		return answers;
	};
	expect(await live(engine, (journal) => work(journal, [{ q: 1 }, { q: 2 }, { q: 1 }]))).toEqual([1, 2, 3]);
	expect(await live(engine, (journal) => work(journal, [{ q: 2 }, { q: 1 }, { q: 3 }, { q: 1 }]))).toEqual([
		2, 1, 4, 3,
	]);
	expect(calls).toEqual([{ q: 1 }, { q: 2 }, { q: 1 }, { q: 3 }]);
});

test("a realm of an engine is a journal of its own", async () => {
	const engine = memoryEngine();
	const { work, calls } = order();
	for (const realm of ["main", "other", "main"]) {
		const journal = await openJournal(engine, { realm });
		await work(journal);
		await journal.close();
	}
	expect(calls).toHaveLength(6);
});

describe("a step in doubt", () => {
	/** A journal whose process died in the midst of an effect. */
	async function inDoubt(): Promise<LogEngine> {
		const engine = memoryEngine();
		const controller = new AbortController();
		const journal = await openJournal(engine, { signal: controller.signal });
		const cut = journal.step("send", () => {
			controller.abort(new Error("cancelled"));
			throw controller.signal.reason;
		});
		await expect(cut).rejects.toThrow("cancelled");
		await journal.close();
		return engine;
	}

	test("is made again unless `whenInDoubt` says otherwise, with the key of its start", async () => {
		await using journal = await openJournal(await inDoubt());
		expect(await journal.step("send", ({ idempotencyKey }) => idempotencyKey)).toMatch(
			new RegExp(`^${journal.id}:\\d+$`),
		);
	});

	test("`whenInDoubt` is told which, and may skip or discard it", async () => {
		const engine = await inDoubt();
		const asked: unknown[] = [];
		let calls = 0;
		for (const decision of ["discard", "skip"] as const) {
			const events: StepEvent[] = [];
			await using journal = await openJournal(engine, {
				whenInDoubt(step) {
					asked.push(step);
					return decision;
				},
				observe: (event) => void events.push(event),
			});
			const sent = journal.step("send", () => String(++calls), { empty: "nobody knows" });
			if (decision === "discard") await expect(sent).rejects.toMatchObject({ code: "STEP_DISCARDED" });
			else expect(await sent).toBe("nobody knows");
			expect(events).toEqual([{ type: "in_doubt", lane: "main", kind: "step", name: "send", decision }]);
		}
		expect([asked, calls]).toEqual([Array(2).fill({ name: "send", lane: "main" }), 0]);
	});

	test.each<[string, object, RegExp]>([
		["`whenInDoubt` gives no policy", { whenInDoubt: () => "Skip" }, /'Skip', which is no policy/],
		["`whenInDoubt` gives a promise", { whenInDoubt: async () => "skip" }, /Promise .*which is no policy/],
		["`whenInDoubt` gives nothing", { whenInDoubt: () => null }, /null, which is no policy/],
		[
			"`whenInDoubt` throws",
			{
				whenInDoubt() {
					throw new Error("no idea");
				},
			},
			/no idea/,
		],
		["its far side gives what is no answer", { reconcile: async () => ({ kind: "completed" }) }, /which is no answer/],
		["its far side gives nothing", { reconcile: async () => undefined }, /undefined, which is no answer/],
	])("stays in doubt, and is not made, where %s", async (_, given, why) => {
		const { reconcile, ...options } = given as { reconcile?: () => Promise<never> };
		const engine = await inDoubt();
		let calls = 0;
		for (let life = 0; life < 2; life++) {
			await using journal = await openJournal(engine, options);
			const sent = journal.step("send", () => String(++calls), reconcile ? { reconcile } : {});
			await expect(sent).rejects.toMatchObject({ code: "CALL_IN_DOUBT", message: expect.stringMatching(why) });
		}
		expect(calls).toBe(0);
		await using journal = await openJournal(engine);
		expect(await journal.step("send", () => String(++calls))).toBe("1");
	});

	test("its far side is asked first", async () => {
		const whenInDoubt = (): never => {
			throw new Error("not asked");
		};
		await using journal = await openJournal(await inDoubt(), { whenInDoubt });
		const reconcile = async (key: string): Promise<Reconciled<string>> => ({ kind: "done", result: key });
		expect(await journal.step("send", () => "called", { reconcile })).toMatch(/:\d+$/);
	});
});

test("`durable` and `close` wait until all is on disk; before that a kill may take it", async () => {
	const engine = mortalEngine();
	let calls = 0;
	const ask = (journal: Journal): Promise<number> => journal.step("ask", () => ++calls, { purity: "llm" });
	const journal = await openJournal(engine);
	expect(await ask(journal)).toBe(1);
	await journal.durable();
	engine.die();
	expect(await journal.step("ask", () => ++calls, { purity: "llm" })).toBe(2);
	await expect(journal.durable()).rejects.toThrow("killed");
	await expect(journal.close()).rejects.toThrow();
	engine.revive();
	const again = await openJournal(engine);
	await again.durable(); // nothing was recorded yet
	expect([await ask(again), await ask(again)]).toEqual([1, 3]);
	await again.close();
	expect(await live(engine, async (last) => [await ask(last), await ask(last)])).toEqual([1, 3]);
});

describe("lanes", () => {
	const ask = (journal: Journal, path: string, call: () => number): Promise<number> =>
		journal.lane(path).perform({ kind: "step", name: "ask", args: {}, purity: "llm", call: async () => call() });

	test("a path names one line of steps: the same handle in one life, the same steps in the next", async () => {
		const engine = memoryEngine();
		let calls = 0;
		const work = async (journal: Journal): Promise<number[]> => {
			expect(journal.lane("jobs/1")).toBe(journal.lane("jobs/1"));
			const answers: number[] = [];
			for (const path of ["jobs/1", "jobs/2", "jobs/1"]) answers.push(await ask(journal, path, () => ++calls));
			return answers;
		};
		expect([await live(engine, work), await live(engine, work), calls]).toEqual([[1, 2, 3], [1, 2, 3], 3]);
	});

	test("a closed one is forgotten with all below it, in this life and in the next; its neighbours stay", async () => {
		const engine = memoryEngine();
		let calls = 0;
		const paths = ["jobs/1", "jobs/1/part", "jobs/10"];
		const work = async (journal: Journal): Promise<number[]> => {
			const answers: number[] = [];
			for (const path of paths) answers.push(await ask(journal, path, () => ++calls));
			return answers;
		};
		await live(engine, async (journal) => {
			expect(await work(journal)).toEqual([1, 2, 3]);
			journal.closeLane("jobs/1");
			journal.closeLane("jobs/never");
			expect(await work(journal)).toEqual([4, 5, 6]);
		});
		// What was called after the close is the beginning of the lane; of the other one it was the second call.
		expect(await live(engine, work)).toEqual([4, 5, 3]);
		await live(engine, async (journal) => journal.closeLane("jobs/1"));
		expect(await live(engine, work)).toEqual([7, 8, 3]);
	});

	test("half a character in a path is refused: the next life would find another one", async () => {
		await using journal = await openJournal(memoryEngine());
		const path = `jobs/${"Party \u{1f389}".slice(0, 7)}`;
		for (const refused of [() => journal.lane(path), () => journal.closeLane(path)])
			expect(refused).toThrow(
				expect.objectContaining({
					code: "WAL_INVALID_RECORD",
					message: expect.stringContaining("a path without half a character; found 'jobs/Party \\ud83c'"),
				}),
			);
		expect(await ask(journal, "jobs/Party \u{1f389}", () => 1)).toBe(1);
	});

	test("one in which a call is under way, or below it, is not closed, and all goes on as if nobody had tried", async () => {
		const engine = memoryEngine();
		await using journal = await openJournal(engine);
		expect(await ask(journal, "jobs/1", () => 1)).toBe(1);
		const call = Promise.withResolvers<number>();
		const open = journal
			.lane("jobs/1/part")
			.perform({ kind: "step", name: "ask", args: {}, purity: "llm", call: () => call.promise });
		expect(() => journal.closeLane("jobs/1")).toThrow(
			expect.objectContaining({ code: "CONCURRENT_LANE", message: expect.stringContaining("jobs/1/part") }),
		);
		expect(await ask(journal, "jobs/1", () => 2), "the second call of this lane").toBe(2);
		call.resolve(3);
		expect(await open).toBe(3);
		journal.closeLane("jobs/1");
	});
});

describe("steps in memory, without a log", () => {
	const id = (lane: string, name: string, occ = 0): Omit<Identity, "purity"> => ({
		lane,
		fp: name,
		occ,
		kind: "step",
		name,
	});
	const started = (lane: string, name: string, occ = 0) => stepStarted({ ...id(lane, name, occ), purity: "external" });
	const completed = (lane: string, name: string, result: unknown, occ = 0) =>
		stepCompleted({ ...id(lane, name, occ), purity: "llm", result });
	const records = (...drafts: readonly { kind: string; data: unknown }[]): WalRecord[] =>
		drafts.map(({ kind, data }, i) => ({ seq: i + 1, ts: i, kind, data, scope: {}, crc: "" }));

	test("are seeded from records, looked up, added to, and listed in the order of their first records", () => {
		const [one, two, three, other] = records(
			completed("a", "ask", 1),
			started("a", "send"),
			completed("a", "ask", 3, 1),
			{ kind: "said", data: { lane: "a" } },
		) as [WalRecord, WalRecord, WalRecord, WalRecord];
		const recorded = new Recorded([one, two, other]);
		expect(recorded.lookup({ lane: "a", fp: "ask", occ: 0 })).toMatchObject({ outcome: { kept: { result: 1 } } });
		expect(recorded.lookup({ lane: "a", fp: "ask", occ: 1 })).toBeUndefined();
		expect(recorded.lookup({ lane: "a/b", fp: "ask", occ: 0 })).toBeUndefined();
		recorded.record(three);
		expect(recorded.recall({ ...id("a", "ask", 1), purity: "llm" })).toMatchObject({
			kind: "ghost",
			kept: { result: 3 },
		});
		expect(recorded.recall({ ...id("a", "send"), purity: "external" })).toMatchObject({ kind: "in_doubt", started: 2 });
		const seqOf = ({ started, outcome }: JournalEntry): number | undefined => started ?? outcome?.seq;
		expect([...recorded.entries()].map(seqOf)).toEqual([1, 2, 3]);
		expect([...new Recorded().entries()]).toEqual([]);
	});

	test("and what they say is what the projection says, after any history", () => {
		const lane = fc.constantFrom("a", "a/b", "a/b/c", "ab", "c");
		const step = fc.record({
			lane,
			fp: fc.constantFrom("x", "y"),
			occ: fc.nat(1),
			purity: fc.constantFrom(...purities.slice(1)),
		});
		const draft = fc.oneof(
			{ weight: 2, arbitrary: step.map((each) => stepStarted({ ...each, kind: "step", name: each.fp })) },
			{
				weight: 2,
				arbitrary: fc
					.tuple(step, fc.nat(), fc.option(fc.integer({ min: 1, max: 5 }), { nil: undefined }))
					.map(([each, result, attempt]) =>
						stepCompleted({ ...each, kind: "step", name: each.fp, result, ...(attempt ? { attempt } : {}) }),
					),
			},
			fc
				.tuple(step, fc.boolean())
				.map(([each, retryable]) =>
					stepFailed({ ...each, kind: "step", name: each.fp, retryable, reason: { message: "no" } }),
				),
			lane.map((path) => laneClosed({ lane: path })),
		);
		fc.assert(
			fc.property(fc.array(draft, { maxLength: 40 }), fc.nat(40), (drafts, at) => {
				const all = records(...drafts);
				const recorded = new Recorded(all.slice(0, at));
				for (const record of all.slice(at)) recorded.record(record);
				const view = all.reduce((before, record) => before.apply(record), View.empty({}, [journalProjection]));
				for (const path of ["a", "a/b", "a/b/c", "ab", "c"])
					for (const fp of ["x", "y"])
						for (const occ of [0, 1]) {
							const asked = { ...id(path, fp, occ), purity: "llm" } as const;
							expect(recorded.recall(asked)).toEqual(recall(view.get(journalProjection), asked));
						}
			}),
			{ numRuns: RUNS, ...seed },
		);
	});
});
