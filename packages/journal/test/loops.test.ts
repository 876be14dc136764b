/** A loop around a step that fails does not spin once nothing is made any more, and whoever asks once is told. */
import { setImmediate as nextTurn, setTimeout as wait } from "node:timers/promises";
import { memoryEngine } from "@reyn/wal";
import { describe, expect, test } from "vitest";
import { type Journal, type Lane, openJournal, runProgram, type Step } from "../src/index.ts";
import { DyingLog, scope, using } from "./dying-log.ts";

/** Far more than anybody is refused, and so few that a loop that spins ends. */
const ROUNDS = 20_000;

const down: Step<string> = {
	kind: "step",
	name: "pay",
	args: {},
	purity: "side_effect",
	async call() {
		await wait(1);
		throw new Error("down");
	},
};

/** Tries again and again, as programs do. */
function looping() {
	const rounds = { count: 0 };
	const loop = async (perform: () => Promise<string>): Promise<string> => {
		while (rounds.count < ROUNDS) {
			rounds.count++;
			try {
				return await perform();
			} catch {
				// Perhaps the next time.
			}
		}
		return "gave up";
	};
	return { rounds, loop };
}

test.concurrent.each<
	[string, (lane: Lane, loop: (perform: () => Promise<string>) => Promise<string>) => Promise<unknown>]
>([
	["of one step", (lane, loop) => loop(() => lane.perform(down))],
	["in two branches", (lane, loop) => Promise.all([1, 2].map(() => loop(() => lane.perform(down))))],
	["inside a call", (lane, loop) => loop(() => lane.perform({ ...down, call: (of) => of.lane.perform(down) }))],
])("a program that is cancelled: a loop %s", async (_, body) => {
	const { rounds, loop } = looping();
	const controller = new AbortController();
	const ran = runProgram("p", scope, using(new DyingLog(), { signal: controller.signal }), (lane) => body(lane, loop));
	await wait(20);
	controller.abort(new Error("closing"));
	await expect(ran).rejects.toThrow("closing");
	await wait(5);
	expect(rounds.count).toBeLessThan(ROUNDS);
});

test.concurrent("one that is cancelled clears up first, with as many steps as it has", async () => {
	const controller = new AbortController();
	const cleared: string[] = [];
	const ran = runProgram("p", scope, using(new DyingLog(), { signal: controller.signal }), async (lane) => {
		try {
			await lane.perform({ ...down, call: ({ signal }) => wait(60_000, "", { signal }) });
		} finally {
			for (const name of ["a", "b", "c"])
				await lane.perform({ ...down, name }).catch(({ message }) => cleared.push(`${name}: ${message}`));
			await wait(5);
			cleared.push("all");
		}
	});
	await wait(5);
	controller.abort(new Error("closing"));
	await expect(ran).rejects.toThrow("closing");
	expect(cleared).toEqual(["a: closing", "b: closing", "c: closing", "all"]);
});

test.concurrent("a call that has taken too long: a loop inside it", async () => {
	const { rounds, loop } = looping();
	const outer: Step<string> = {
		...down,
		name: "outer",
		timeoutMs: 20,
		call: ({ lane }) => loop(() => lane.perform(down)),
	};
	const ran = runProgram("p", scope, using(new DyingLog(), {}), (lane) => lane.perform(outer));
	await expect(ran).rejects.toMatchObject({ code: "STEP_TIMEOUT" });
	await wait(5);
	expect(rounds.count).toBeLessThan(ROUNDS);
});

test.concurrent.each(["cancelled", "closed", "waiting"] as const)("a journal that is %s", async (how) => {
	const { rounds, loop } = looping();
	const controller = new AbortController();
	const journal = await openJournal(memoryEngine(), {
		signal: controller.signal,
		...(how === "waiting" && { gate: async () => ({ kind: "wait" as const, for: "ada" }) }),
	});
	const step = how === "waiting" ? { ...down, kind: "tool" as const } : down;
	void loop(() => journal.lane("p").perform(step));
	await wait(20);
	if (how === "cancelled") controller.abort();
	await journal.close();
	await wait(5);
	expect(rounds.count).toBeLessThan(ROUNDS);
});

test.concurrent("a loop with pauses of its own does not hold up the end of a program that is cancelled", async () => {
	const controller = new AbortController();
	const asked: number[] = [];
	const ran = runProgram("p", scope, using(new DyingLog(), { signal: controller.signal }), async (lane) => {
		for (;;) {
			asked.push(1);
			await lane.perform(down).catch(() => {});
			await wait(400);
		}
	});
	await wait(5);
	controller.abort(new Error("closing"));
	await expect(ran).rejects.toThrow("closing");
	const { length } = asked;
	await wait(450);
	// Over, it gets no answer.
	expect(asked.length).toBeLessThanOrEqual(length + 1);
});

test.concurrent.each<[string, (lane: Lane, step: Step<string>) => Promise<unknown>]>([
	["beside it", (lane, step) => lane.perform(step)],
	["inside a call beside it", (lane, step) => lane.perform({ ...down, call: ({ lane: of }) => of.perform(step) })],
])("a loop in a program that is cancelled does not end it while an effect is made %s", async (_, beside) => {
	const controller = new AbortController();
	const { loop } = looping();
	const over = Promise.withResolvers<string>();
	let isMade = false;
	const deaf: Step<string> = { ...down, name: "deaf", call: () => over.promise };
	const ran = runProgram("p", scope, using(new DyingLog(), { signal: controller.signal }), (lane) =>
		Promise.all([loop(() => lane.perform(down)), beside(lane, deaf)]),
	).catch(({ message }) => [message, isMade]);
	await wait(5);
	controller.abort(new Error("closing"));
	await wait(1200);
	isMade = true;
	over.resolve("made");
	expect(await ran).toEqual(["closing", true]);
});

const MANY = 1000;

describe("many that are refused once each are all told", () => {
	const waits = async () => ({ kind: "wait" as const, for: "ada" });
	const cases: Record<string, (journal: Journal, controller: AbortController) => Promise<unknown>[]> = {
		"in one lane, by a gate": (journal) =>
			Array.from({ length: MANY }, () => journal.lane("p").perform({ ...down, kind: "tool" })),
		"each in a lane of its own, by a gate": (journal) =>
			Array.from({ length: MANY }, (_, i) => journal.lane(`p${i}`).perform({ ...down, kind: "tool" })),
		"under way when all are cancelled": (journal, controller) => {
			const never: Step<string> = { ...down, call: ({ signal }) => wait(60_000, "", { signal }) };
			void wait(5).then(() => controller.abort(new Error("closing")));
			return Array.from({ length: MANY }, () => journal.lane("p").perform(never));
		},
	};
	test.each(Object.entries(cases))("%s", async (_, ask) => {
		const controller = new AbortController();
		await using journal = await openJournal(memoryEngine(), { gate: waits, signal: controller.signal });
		let cleared = 0;
		const told = ask(journal, controller).map((each) =>
			each.finally(async () => {
				await wait(1);
				cleared++;
			}),
		);
		const ended = await Promise.allSettled(told);
		expect(ended.filter(({ status }) => status === "rejected")).toHaveLength(MANY);
		expect(cleared).toBe(MANY);
	});

	test("asked one by one, of a journal that is closed", async () => {
		const journal = await openJournal(memoryEngine());
		await journal.close();
		for (let i = 0; i < 250; i++) await expect(journal.lane("p").perform(down)).rejects.toThrow(/closed/);
	});

	test("a call that is asked for until it is let pass", async () => {
		let asked = 0;
		const gate = async () => (++asked > 250 ? { kind: "pass" as const } : { kind: "wait" as const, for: "ada" });
		await using journal = await openJournal(memoryEngine(), { gate });
		const paid: Step<string> = { ...down, kind: "tool", call: async () => "paid" };
		let said: string | undefined;
		while (said === undefined) {
			said = await journal
				.lane("p")
				.perform(paid)
				.catch(() => undefined);
			await nextTurn();
		}
		expect([said, asked]).toEqual(["paid", 251]);
	});
});

test.concurrent("a gate that gives nothing lets nothing pass in a journal", async () => {
	const gate = async () => undefined as never;
	await using journal = await openJournal(memoryEngine(), { gate });
	const asked = journal.lane("p").perform({ ...down, kind: "tool", call: async () => "made" });
	await expect(asked).rejects.toMatchObject({ code: "CALL_WAITING" });
});
