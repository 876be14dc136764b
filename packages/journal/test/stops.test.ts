/** A stop is over once no call is made any more, and what is stopped has time to clean up. */
import { setTimeout as wait } from "node:timers/promises";
import { expect, test } from "vitest";
import { runProgram, type Step, type StepContext } from "../src/index.ts";
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
