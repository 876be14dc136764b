/** A log that does not feed what `recall` reads: nobody would know what was done, so nothing is done over it. */
import { View } from "@reyn/snapshot";
import { type Appender, memoryEngine, openWal, type Wal } from "@reyn/wal";
import { expect, test } from "vitest";
import { journal, journalRecords, Lane, type Purity, recall, type Using } from "../src/index.ts";
import { DyingLog, scope, using } from "./dying-log.ts";

/** The mistake: the log itself, and a view that nobody feeds. */
const over = (wal: Wal): Using => {
	const view = View.empty(scope, [journal]);
	return { ...using(new DyingLog()), log: wal, recall: (step) => recall(view.get(journal), step) };
};

async function attempt(log: Using, purity: Purity, call: () => Promise<string>): Promise<unknown> {
	const step = { kind: "tool", name: "charge", args: {}, purity, call };
	return new Lane("job", scope, log).perform(step).catch((error: unknown) => error);
}

test.each<[Purity, number]>([
	["side_effect", 0],
	["external", 0],
	// What no start announces is known to be unknown only when it is over.
	["llm", 1],
	["world", 1],
])("a log that is not folded is refused at its first record: %s is called %i times", async (purity, times) => {
	const wal = await openWal(memoryEngine(), { records: journalRecords });
	let calls = 0;
	const found = await attempt(over(wal), purity, async () => `receipt ${++calls}`);
	expect(found).toMatchObject({ code: "LOG_NOT_FOLDED", detail: { lane: "job", name: "charge", seq: wal.tip } });
	expect(calls).toBe(times);
	await wal.close();
});

test("a state of another scope is refused too", async () => {
	const log = new DyingLog();
	let calls = 0;
	const step = { kind: "tool", name: "charge", args: {}, purity: "side_effect" as const, call: async () => ++calls };
	const other = { agent: "default", session: "other" };
	await expect(new Lane("job", other, using(log)).perform(step)).rejects.toMatchObject({ code: "LOG_NOT_FOLDED" });
	expect(calls).toBe(0);
});

test("a log that is folded is asked once a lane, not at every step", async () => {
	const log = new DyingLog();
	let asked = 0;
	const base = using(log);
	const counting: Using = {
		...base,
		recall(step, program) {
			asked++;
			return base.recall(step, program);
		},
	};
	const lane = new Lane("job", scope, counting);
	const ask = (): Promise<string> =>
		lane.perform({ kind: "model", name: "ask", args: {}, purity: "llm", call: async () => "answer" });
	await ask();
	const first = asked;
	await ask();
	await ask();
	expect([first, asked]).toEqual([2, 4]);
});

test("a failure that may be tried again is known, and refuses no log", async () => {
	const log = new DyingLog();
	const retryable = Object.assign(new Error("busy"), { retryable: true });
	const failing: Appender = log;
	const found = await attempt({ ...using(log), log: failing }, "side_effect", async () => {
		throw retryable;
	});
	expect(found).toBe(retryable);
});
