/** Calls with a time limit: what is told, and what is asked before another try. */
import { describe, expect, test } from "vitest";
import { Lane, type Reconciled, type Step, type StepContext, type Using } from "../src/index.ts";
import { DyingLog, quiet, SimulatedTime, scope, using } from "./dying-log.ts";

const twice = { maxAttempts: 2, initialIntervalMs: 1000 };

/** A step of 100 ms at most. */
const hasty = (call: Step<string>["call"], more: Partial<Step<string>> = {}): Step<string> => ({
	kind: "step",
	name: "send",
	args: {},
	purity: "external",
	timeoutMs: 100,
	call,
	...more,
});

/** A process over a log. */
function life(time: SimulatedTime, log = new DyingLog(Number.POSITIVE_INFINITY, time), more: Partial<Using> = {}) {
	return { log, lane: new Lane("a", scope, using(log, { clock: time, timers: time, ...more })) };
}

describe("a call that takes longer than its limit", () => {
	test("fails with STEP_TIMEOUT, and its signal aborts with that", async () => {
		const time = new SimulatedTime();
		const { lane } = life(time);
		let signal: AbortSignal | undefined;
		const sent = lane.perform(
			hasty(async (context) => {
				({ signal } = context);
				return new Promise<string>((_, reject) => signal?.addEventListener("abort", () => reject(new Error("told"))));
			}),
		);
		const failed = expect(sent).rejects.toMatchObject({ code: "STEP_TIMEOUT", detail: { timeoutMs: 100 } });
		await time.pass(99);
		expect(signal?.aborted).toBe(false);
		await time.pass(1);
		await failed;
		expect(signal?.reason).toMatchObject({ code: "STEP_TIMEOUT" });
	});

	test.each<[string, (settle: PromiseWithResolvers<string>) => void]>([
		["answer", ({ resolve }) => resolve("sent")],
		["failure", ({ reject }) => reject(new Error("no such channel"))],
	])("is not waited for though it ignores its signal, and its late %s changes nothing", async (_, settle) => {
		const time = new SimulatedTime();
		const { lane, log } = life(time);
		const call = Promise.withResolvers<string>();
		await expect(time.until(lane.perform(hasty(() => call.promise)))).rejects.toMatchObject({ code: "STEP_TIMEOUT" });
		const { records } = log;
		expect(log.kinds).toEqual(["step_started", "step_failed"]);
		settle(call);
		await quiet();
		expect(log.records).toEqual(records);
		const again = life(time, log).lane.perform(hasty(async () => "sent"));
		await expect(again).rejects.toMatchObject({
			code: "STEP_TIMEOUT",
			cause: { code: "STEP_FAILED" },
		});
	});

	test("a model that is late has no answer, and is asked again by the next run", async () => {
		const time = new SimulatedTime();
		const { lane, log } = life(time);
		const late = lane.perform(hasty(() => new Promise(() => {}), { purity: "llm" }));
		await expect(time.until(late)).rejects.toMatchObject({ code: "STEP_TIMEOUT" });
		expect(log.kinds).toEqual(["step_failed"]);
		expect(await life(time, log).lane.perform(hasty(async () => "sent", { purity: "llm" }))).toBe("sent");
	});

	test("a call in time leaves no timer behind, whether it answers or fails", async () => {
		const time = new SimulatedTime();
		const { lane } = life(time);
		expect(await lane.perform(hasty(async () => "sent"))).toBe("sent");
		await expect(lane.perform(hasty(() => Promise.reject(new Error("no such channel"))))).rejects.toThrow("channel");
		expect([time.waits, time.waiting]).toEqual([[100, 100], 0]);
	});

	test("the limit is one of each try, and the pauses between them do not count", async () => {
		const time = new SimulatedTime();
		const { lane } = life(time);
		const attempts: number[] = [];
		const sent = lane.perform(
			hasty(
				async ({ attempt }) => {
					attempts.push(attempt);
					return attempt === 1 ? new Promise(() => {}) : "sent";
				},
				{ retry: twice },
			),
		);
		expect(await time.until(sent)).toBe("sent");
		expect([attempts, time.waits]).toEqual([
			[1, 2],
			[100, 1000, 100],
		]);
	});
});

describe("before an effect that was too late is tried again, the far side is asked", () => {
	/** Its first call hangs, and may have happened. */
	function hanging(found: Reconciled<string>) {
		const seen: string[] = [];
		const step = hasty(
			async ({ attempt, idempotencyKey }: StepContext) => {
				seen.push(`call ${attempt} ${idempotencyKey}`);
				return attempt === 1 ? new Promise(() => {}) : "sent by the second call";
			},
			{
				retry: twice,
				async reconcile(key) {
					seen.push(`ask ${key}`);
					return found;
				},
			},
		);
		return { step, seen };
	}
	const done = { kind: "done", result: "sent by the first call" } as const;

	test.each<[Reconciled<string>, string, string[]]>([
		[done, "sent by the first call", ["call 1 log:1", "ask log:1"]],
		[{ kind: "not_done" }, "sent by the second call", ["call 1 log:1", "ask log:1", "call 2 log:1"]],
		[{ kind: "unknown" }, "sent by the second call", ["call 1 log:1", "ask log:1", "call 2 log:1"]],
	])("and says %j", async (found, result, expected) => {
		const time = new SimulatedTime();
		const { step, seen } = hanging(found);
		const { lane, log } = life(time);
		expect(await time.until(lane.perform(step))).toBe(result);
		expect(seen).toEqual(expected);
		expect(await life(time, log).lane.perform(step), "as every replay says").toBe(result);
		expect(seen).toEqual(expected);
	});

	test.each([
		["in the call", 1],
		["in the pause", 2],
		["as the second try was to start", 2],
		["in the second call", 3],
	])("also when the process died %s", async (when, appends) => {
		const time = new SimulatedTime();
		const { step, seen } = hanging(done);
		const { lane, log } = life(time);
		log.revive(appends);
		// Dead, it neither asks nor calls.
		const dying = lane.perform({ ...step, reconcile: async () => ({ kind: "not_done" }) });
		dying.catch(() => {});
		await time.pass(0);
		if (when !== "in the call") await time.pass(100);
		if (!["in the call", "in the pause"].includes(when)) await time.pass(1000);
		time.kill();
		log.revive();
		const calls = [...seen];
		expect(await time.until(life(time, log).lane.perform(step))).toBe("sent by the first call");
		expect(seen).toEqual([...calls, "ask log:1"]);
	});
});

test("a call that is cancelled from outside is waited for, and its outcome is kept", async () => {
	const time = new SimulatedTime();
	const controller = new AbortController();
	const { lane, log } = life(time, undefined, { signal: controller.signal });
	const call = Promise.withResolvers<string>();
	let isOver = false;
	const sent = lane.perform(hasty(() => call.promise)).finally(() => {
		isOver = true;
	});
	await quiet();
	controller.abort(new Error("cancelled"));
	await quiet();
	expect(isOver).toBe(false);
	call.resolve("sent");
	expect(await sent).toBe("sent");
	expect(log.kinds).toEqual(["step_started", "step_completed"]);
});
