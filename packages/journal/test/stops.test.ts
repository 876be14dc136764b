/** A stop is over once no call is made any more, and what is stopped has time to clean up. */
import { setTimeout as wait } from "node:timers/promises";
import { memoryEngine } from "@reyn/wal";
import { describe, expect, test } from "vitest";
import { type Lane, openJournal, runProgram, type Step, type StepContext, type Using } from "../src/index.ts";
import { DyingLog, quiet, SimulatedTime, scope, using } from "./dying-log.ts";

const step = <T>(name: string, call: (context: StepContext) => Promise<T>, more: Partial<Step<T>> = {}): Step<T> => ({
	kind: "step",
	name,
	args: {},
	purity: "side_effect",
	call,
	...more,
});

/** An effect that hears of no stop: it goes on until it is let. */
function pay() {
	const { promise, resolve } = Promise.withResolvers<void>();
	const keys: unknown[] = [];
	const call = async ({ idempotencyKey }: StepContext): Promise<string> => {
		keys.push(idempotencyKey);
		await promise;
		return "paid";
	};
	return { step: step("pay", call), keys, end: resolve };
}

/** Has this promise come to its end, once all that needs no time has happened? */
async function isOver(promise: Promise<unknown>): Promise<boolean> {
	let over = false;
	const end = (): void => {
		over = true;
	};
	promise.then(end, end);
	for (let i = 0; i < 10; i++) await quiet();
	return over;
}

const short = step("short", ({ signal }) => wait(60_000, "", { signal }), { purity: "external" });

test.each(["in the program", "in a call of it"])(
	"a stop waits for the effect beside a step that is refused: %s",
	async (where) => {
		const [controller, log, paying] = [new AbortController(), new DyingLog(), pay()];
		const ran = runProgram("p", scope, using(log, { signal: controller.signal }), (lane) => {
			const both = (of: typeof lane) => Promise.all([of.perform(short), of.perform(paying.step)]);
			return where === "in the program"
				? both(lane)
				: lane.perform(step("outer", ({ lane: of }) => both(of), { purity: "llm" }));
		});
		await quiet();
		controller.abort(new Error("closing"));
		expect(await isOver(ran)).toBe(false);
		paying.end();
		await expect(ran).rejects.toThrow("closing");
		expect(log.records.at(-1)).toMatchObject({ kind: "step_completed", data: { name: "pay", result: "paid" } });
	},
);

test("a call is not tried again while an effect of its last try is under way", async () => {
	const [paying, log] = [pay(), new DyingLog()];
	let tries = 0;
	const outer = step(
		"outer",
		async ({ lane }) => {
			const fails = async (): Promise<void> => {
				await quiet();
				if (++tries === 1) throw Object.assign(new Error("down"), { retryable: true });
			};
			return (await Promise.all([lane.perform(paying.step), fails()]))[0];
		},
		{ purity: "external", retry: { maxAttempts: 2, initialIntervalMs: 0, backoffFactor: 1, maxIntervalMs: 0 } },
	);
	const ran = runProgram("p", scope, using(log), (lane) => lane.perform(outer));
	expect(await isOver(ran)).toBe(false);
	paying.end();
	expect(await ran).toBe("paid");
	expect([tries, paying.keys.length]).toEqual([2, 1]);
});

test("what was begun inside a call that took too long is not waited for", async () => {
	const [time, paying] = [new SimulatedTime(), pay()];
	const ran = runProgram("p", scope, using(new DyingLog(), { timers: time }), (lane) =>
		lane.perform(step("outer", ({ lane: of }) => of.perform(paying.step), { timeoutMs: 100 })),
	);
	const ended = expect(ran).rejects.toMatchObject({ code: "STEP_TIMEOUT" });
	await time.pass(100);
	await ended;
	expect(paying.keys).toHaveLength(1);
});

test.each([
	["asks for nothing at all", 0, 9_999, true],
	["asks for nothing at all, and never ends", 0, 10_000, false],
	["asks for nothing more", 1, 9_999, true],
	["asks for nothing more, and never ends", 1, 10_000, false],
	["asks for another step", 2, 999, true],
	["asks for another step, and never ends", 2, 1_000, false],
])("who is stopped cleans up: one that %s", async (_, steps, ms, hasTime) => {
	const [controller, time] = [new AbortController(), new SimulatedTime()];
	const cleaned = Promise.withResolvers<void>();
	const ran = runProgram(
		"p",
		scope,
		using(new DyingLog(), { signal: controller.signal, timers: time }),
		async (lane) => {
			await lane.perform(short).catch(() => {});
			for (let i = 0; i < steps; i++) await lane.perform(step("more", async () => "")).catch(() => {});
			await cleaned.promise;
		},
	);
	await quiet();
	controller.abort(new Error("closing"));
	const ended = expect(ran).rejects.toThrow("closing");
	await time.pass(ms);
	expect(await isOver(ran)).toBe(!hasTime);
	cleaned.resolve();
	await ended;
});

describe("nothing begins in a try that has failed", () => {
	/** An outer call whose first try fails beside what `beside` begins; each inner effect is counted. */
	async function tried(
		beside: (lane: Lane, send: (name: string) => Step<string>) => Promise<unknown>,
		more: Partial<Using> = {},
		ms = 2,
	) {
		const made: string[] = [];
		const send = (name: string): Step<string> => ({
			...step(name, async () => {
				made.push(name);
				await wait(ms);
				return name;
			}),
			kind: "tool",
		});
		let tries = 0;
		const fails = async (): Promise<void> => {
			await wait(5);
			if (++tries === 1) throw Object.assign(new Error("down"), { retryable: true });
		};
		const outer = step("outer", ({ lane }) => Promise.all([beside(lane, send), fails()]), {
			purity: "external",
			retry: { maxAttempts: 2, initialIntervalMs: 1, backoffFactor: 1, maxIntervalMs: 1 },
		});
		await runProgram("p", scope, using(new DyingLog(), more), (lane) => lane.perform(outer as Step<unknown>));
		await wait(20);
		return made;
	}

	test("a chain does not go on beside the next try", async () => {
		const made = await tried(async (lane, send) => {
			for (const name of ["a", "b", "c", "d"]) await lane.perform(send(name));
		});
		expect(made.toSorted()).toEqual(["a", "b", "c", "d"]);
	});

	test("a call whose gate is asked meanwhile", async () => {
		const gate = async () => {
			await wait(20);
			return { kind: "pass" as const };
		};
		expect(await tried((lane, send) => lane.perform(send("a")), { gate }, 50)).toEqual(["a"]);
	});
});

test("a program that fails beside a call that asks for a recorded step ends, and so does the call", async () => {
	const log = new DyingLog(3);
	let life = 0;
	const begun = Promise.withResolvers<void>();
	const inner = step("inner", async () => "sent");
	const outer = step("outer", async ({ lane }) => {
		if (life === 1) return lane.perform(inner);
		await begun.promise;
		return lane.perform(inner);
	});
	const program = (lane: Lane): Promise<unknown> =>
		Promise.all([
			lane.perform(outer),
			(async () => {
				await quiet();
				if (life === 2) setImmediate(() => setImmediate(() => begun.resolve()));
				if (life === 2) throw new Error("no");
			})(),
		]);
	life = 1;
	await expect(runProgram("p", scope, using(log), program)).rejects.toThrow("killed");
	log.revive();
	life = 2;
	await expect(runProgram("p", scope, using(log), program)).rejects.toThrow("no");
});

test("an effect that takes too long while it is stopped has failed so, and is not made again beside itself", async () => {
	const [controller, log, time, paying] = [new AbortController(), new DyingLog(), new SimulatedTime(), pay()];
	const slow = { ...paying.step, timeoutMs: 100 };
	const life = (signal: AbortSignal) =>
		runProgram("p", scope, using(log, { signal, timers: time, clock: time }), (lane) => lane.perform(slow));
	const ran = life(controller.signal);
	await quiet();
	controller.abort(new Error("closing"));
	const ended = expect(ran).rejects.toThrow("closing");
	expect(await isOver(ran)).toBe(false);
	await time.pass(100);
	await ended;
	expect(log.records.at(-1)).toMatchObject({ kind: "step_failed", data: { reason: { code: "STEP_TIMEOUT" } } });
	await expect(life(new AbortController().signal)).rejects.toMatchObject({ code: "STEP_TIMEOUT" });
	expect(paying.keys).toHaveLength(1);
});

test("a journal that is closed has the outcomes of what was under way, and begins nothing more", async () => {
	const [engine, paying] = [memoryEngine(), pay()];
	const journal = await openJournal(engine);
	const lane = journal.lane("p");
	const paid = lane.perform(paying.step);
	await wait(5);
	const closed = journal.close();
	await expect(lane.perform(step("late", async () => ""))).rejects.toMatchObject({ code: "WAL_CLOSED" });
	expect(await isOver(closed)).toBe(false);
	paying.end();
	await closed;
	expect(await paid).toBe("paid");
	await using again = await openJournal(engine);
	expect(await again.lane("p").perform(paying.step)).toBe("paid");
	expect(paying.keys).toHaveLength(1);
});

test.each(["in the program", "in a call of it"])(
	"one that waits for a permit cleans up before it is over: %s",
	async (where) => {
		let cleaned = 0;
		const gated: Step<string> = { ...step("pay", async () => "paid"), kind: "tool" };
		const gate = async () => ({ kind: "wait" as const, for: "ada" });
		const body = async (lane: Lane): Promise<string> => {
			try {
				return await lane.perform(gated);
			} finally {
				await wait(5);
				cleaned++;
			}
		};
		const ran = runProgram("p", scope, using(new DyingLog(), { gate }), (lane) =>
			where === "in the program"
				? body(lane)
				: lane.perform(step("outer", ({ lane: of }) => body(of), { purity: "llm" })),
		);
		await expect(ran).rejects.toMatchObject({ code: "CALL_WAITING" });
		expect(cleaned).toBe(1);
	},
);

test("what a program leaves under way is told, so that whoever runs it again can wait", async () => {
	const paying = pay();
	const left: Promise<void>[] = [];
	const more = { left: (over: Promise<void>) => void left.push(over) };
	await runProgram("p", scope, using(new DyingLog(), more), async (lane) => {
		void lane.perform(paying.step);
		await lane.perform(step("a", async () => "a"));
	});
	expect(left).toHaveLength(1);
	expect(await isOver(Promise.all(left))).toBe(false);
	paying.end();
	await Promise.all(left);
	await runProgram("q", scope, using(new DyingLog(), more), (lane) => lane.perform(step("a", async () => "a")));
	expect(left).toHaveLength(1);
});

describe("a limit of time around other steps", () => {
	test("fails no step inside it for good: the next try makes it", async () => {
		const time = new SimulatedTime();
		let made = 0;
		const inner = step("inner", async ({ signal }) => {
			if (++made > 1) return "paid";
			await new Promise((resolve) => signal.addEventListener("abort", resolve));
			throw signal.reason;
		});
		const outer = step("outer", ({ lane }) => lane.perform({ ...inner, purity: "llm" }), {
			timeoutMs: 100,
			retry: { maxAttempts: 2, initialIntervalMs: 1, backoffFactor: 1, maxIntervalMs: 1 },
			purity: "external",
		});
		const ran = runProgram("p", scope, using(new DyingLog(), { timers: time, clock: time }), (lane) =>
			lane.perform(outer),
		);
		expect(await time.until(ran)).toBe("paid");
	});

	test("does not hide why its try has failed, beside a step that waits for its next try", async () => {
		const retry = { maxAttempts: 2, initialIntervalMs: 10_000, backoffFactor: 1, maxIntervalMs: 10_000 };
		const down = Object.assign(new Error("down"), { retryable: true });
		const inner = step("inner", () => Promise.reject(down), { purity: "llm", retry });
		const failing = async (): Promise<never> => {
			await wait(5);
			throw new Error("no");
		};
		const outer = step<unknown>("outer", ({ lane }) => Promise.all([lane.perform(inner), failing()]), {
			timeoutMs: 60_000,
		});
		const ran = runProgram("p", scope, using(new DyingLog()), (lane) => lane.perform(outer));
		await expect(ran).rejects.toThrow("no");
	});

	test("lets no program end beside an effect, when a step of it waits for a permit", async () => {
		const [time, paying] = [new SimulatedTime(), pay()];
		const gate = async () => ({ kind: "wait" as const, for: "ada" });
		const gated: Step<string> = { ...step("send", async () => "sent"), kind: "tool" };
		const outer = step<unknown>("outer", ({ lane }) => Promise.all([lane.perform(paying.step), lane.perform(gated)]), {
			timeoutMs: 100,
		});
		const ran = runProgram("p", scope, using(new DyingLog(), { gate, timers: time, clock: time }), (lane) =>
			lane.perform(outer),
		);
		const ended = expect(ran).rejects.toMatchObject({ code: "CALL_WAITING" });
		await time.pass(100);
		expect(await isOver(ran)).toBe(false);
		paying.end();
		await ended;
	});
});

describe("a close of a journal", () => {
	const retry = { maxAttempts: 2, initialIntervalMs: 60_000, backoffFactor: 1, maxIntervalMs: 60_000 };
	const never = (): Promise<never> => new Promise(() => {});
	test.each<[string, Step<unknown>, object]>([
		["a step between two tries", step("x", () => Promise.reject(new Error("down")), { purity: "llm", retry }), {}],
		["a gate that has not answered", { ...step("x", async () => ""), kind: "tool" }, { gate: never }],
		[
			"a gate inside a call",
			step("outer", ({ lane }) => lane.perform({ ...step("x", async () => ""), kind: "tool" })),
			{ gate: never },
		],
	])("waits for nothing that is not made: %s", async (_, waiting, options) => {
		const journal = await openJournal(memoryEngine(), options);
		const told = expect(journal.lane("p").perform(waiting)).rejects.toMatchObject({ code: "WAL_CLOSED" });
		await wait(10);
		await journal.close();
		await told;
	});
});

test("who waits for a permit, and is cancelled then, ends with the next step that it asks for", async () => {
	const [controller, time] = [new AbortController(), new SimulatedTime()];
	const gate = async () => ({ kind: "wait" as const, for: "ada" });
	const gated: Step<string> = { ...step("send", async () => "sent"), kind: "tool" };
	const on = Promise.withResolvers<void>();
	const signal = controller.signal;
	const ran = runProgram(
		"p",
		scope,
		using(new DyingLog(), { gate, signal, timers: time, clock: time }),
		async (lane) => {
			await lane.perform(gated).catch(() => {});
			await on.promise;
			await lane.perform(step("more", async () => ""));
		},
	);
	const ended = expect(ran).rejects.toThrow("closing");
	await quiet();
	controller.abort(new Error("closing"));
	on.resolve();
	expect(await isOver(ran)).toBe(true);
	await ended;
});
