/** Retry policies: pauses, limits, final failures, and what a kill leaves of them. */
import { describe, expect, test } from "vitest";
import { Lane, NonRetryableError, type Purity, type RetryPolicy, type Step, type StepEvent } from "../src/index.ts";
import { DyingLog, quiet, SimulatedTime, scope, using } from "./dying-log.ts";

const thrice: RetryPolicy = { maxAttempts: 3, initialIntervalMs: 1000 };

/** One far side that refuses the first calls, over all lives of the process. */
class FarSide {
	readonly time = new SimulatedTime();
	readonly log = new DyingLog(Number.POSITIVE_INFINITY, this.time);
	/** The attempts that reached it. */
	readonly attempts: number[] = [];
	readonly keys = new Set<string | undefined>();
	readonly events: StepEvent[] = [];
	failures: number;
	error: unknown = new Error("busy");

	constructor(failures = 2) {
		this.failures = failures;
	}

	step(purity: Purity, retry?: RetryPolicy): Step<string> {
		return {
			kind: "step",
			name: "send",
			args: {},
			purity,
			retry,
			call: async ({ attempt, idempotencyKey }) => {
				this.attempts.push(attempt);
				this.keys.add(idempotencyKey);
				if (this.failures-- > 0) throw this.error;
				return "sent";
			},
		};
	}

	/** One life of a process, without what makes time pass. */
	start(purity: Purity, retry?: RetryPolicy, signal = new AbortController().signal): Promise<string> {
		const { time, events } = this;
		const observe = (event: StepEvent) => void events.push(event);
		const lane = new Lane("a", scope, using(this.log, { clock: time, timers: time, signal, observe }));
		return lane.perform(this.step(purity, retry));
	}

	live(purity: Purity, retry?: RetryPolicy): Promise<string> {
		return this.time.until(this.start(purity, retry));
	}
}

describe("pauses", () => {
	test("the tries are counted from 1, each pause is longer than the one before, and none above the cap", async () => {
		const far = new FarSide(5);
		const retry = { maxAttempts: 6, initialIntervalMs: 100, backoffFactor: 3, maxIntervalMs: 1000 };
		expect(await far.live("external", retry)).toBe("sent");
		expect(far.attempts).toEqual([1, 2, 3, 4, 5, 6]);
		expect(far.time.waits).toEqual([100, 300, 900, 1000, 1000]);
		expect(far.events.filter(({ type }) => type === "retrying")).toMatchObject(
			[100, 300, 900, 1000, 1000].map((pauseMs, i) => ({ attempt: i + 1, reason: "busy", pauseMs })),
		);
	});

	test("by default the first is a second, each twice the one before, and none above a minute", async () => {
		const far = new FarSide(9);
		await far.live("external", { maxAttempts: 10 });
		expect(far.time.waits).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60].map((seconds) => seconds * 1000));
	});

	test("a try is not made before its pause is over", async () => {
		const far = new FarSide(1);
		const sent = far.start("external", thrice);
		await far.time.pass(999);
		expect(far.attempts).toEqual([1]);
		await far.time.pass(1);
		expect(far.attempts).toEqual([1, 2]);
		expect(await sent).toBe("sent");
	});

	test("a cancelled one stops at once and leaves nothing, and the next start waits for the rest of it", async () => {
		const far = new FarSide(1);
		const controller = new AbortController();
		const sent = far.start("external", thrice, controller.signal);
		await far.time.pass(300);
		const { kinds } = far.log;
		controller.abort(new Error("cancelled"));
		await expect(sent).rejects.toThrow("cancelled");
		await far.time.pass(10_000);
		expect([far.time.waiting, far.log.kinds, far.attempts]).toEqual([0, kinds, [1]]);
	});
});

describe("a failure that says that it is final ends the tries at once", () => {
	test.each([
		["NonRetryableError", new NonRetryableError("no such channel")],
		["retryable: false", Object.assign(new Error("no such channel"), { retryable: false })],
	])("%s", async (_, error) => {
		const far = new FarSide();
		far.error = error;
		await expect(far.live("external", thrice)).rejects.toBe(error);
		expect([far.attempts, far.time.waits]).toEqual([[1], []]);
		const { message } = error;
		await expect(far.live("external", thrice)).rejects.toMatchObject({ message, cause: { code: "STEP_FAILED" } });
		expect(far.attempts).toEqual([1]);
	});

	test("a NonRetryableError has a code, details and a cause", () => {
		const cause = new Error("404");
		const error = new NonRetryableError("no such channel", { channel: "x" }, { cause });
		expect(error).toMatchObject({ code: "NON_RETRYABLE", detail: { channel: "x" }, cause });
	});
});

describe("killed after each append, the run goes on with the next attempt, never with the first again", () => {
	test.each<[Purity, number[], number[]]>([
		// started 1, failed 1, started 2, failed 2, started 3, completed
		["external", [1, 1, 2, 2, 3, 3], [0, 1, 1, 2, 2, 3]],
		// failed 1, failed 2, completed
		["llm", [1, 2, 3], [1, 2, 3]],
		["world", [1, 2, 3], [1, 2, 3]],
	])("%s", async (purity, nextAttempts, callsBefore) => {
		for (const [death, next] of nextAttempts.entries()) {
			const far = new FarSide();
			far.log.revive(death);
			await expect(far.live(purity, thrice)).rejects.toThrow("killed");
			expect(far.attempts, `before the death after ${death} appends`).toHaveLength(callsBefore[death] ?? -1);
			const before = far.attempts.length;
			far.log.revive();
			far.failures = 3 - next; // the third attempt is the one that it takes
			expect(await far.live(purity, thrice)).toBe("sent");
			// What failed stays counted: the far side is asked once more only for the call that was open.
			expect(far.attempts[before], `after the death after ${death} appends`).toBe(next);
			expect(Math.max(...far.attempts)).toBe(3);
			expect(far.keys.size, "each try has the key of the first").toBe(1);
		}
	});

	test.each<Purity>(["external", "llm", "world"])("%s: and with the rest of the pause", async (purity) => {
		const far = new FarSide(1);
		void far.start(purity, thrice);
		await far.time.pass(400);
		far.time.kill();
		const again = far.start(purity, thrice);
		await quiet();
		expect(far.time.waits).toEqual([1000, 600]);
		await far.time.pass(599);
		expect(far.attempts).toEqual([1]);
		await far.time.pass(1);
		expect(await again).toBe("sent");
		expect(far.attempts).toEqual([1, 2]);
	});
});

describe("when all tries have failed", () => {
	test("the failure of an effect is remembered, and thrown again as it was", async () => {
		const far = new FarSide(99);
		await expect(far.live("external", thrice)).rejects.toThrow("busy");
		expect(far.attempts).toEqual([1, 2, 3]);
		await expect(far.live("external", thrice)).rejects.toMatchObject({
			message: "busy",
			cause: { code: "STEP_FAILED", detail: { lane: "a", reason: { message: "busy" } } },
		});
		expect(far.attempts).toEqual([1, 2, 3]);
	});

	test.each<Purity>(["llm", "world"])(
		"that of a step of purity %s is not: it is asked again, with all its tries",
		async (purity) => {
			const far = new FarSide(3);
			await expect(far.live(purity, thrice)).rejects.toThrow("busy");
			expect(far.attempts).toEqual([1, 2, 3]);
			expect(await far.live(purity, thrice)).toBe("sent");
			expect(far.attempts).toEqual([1, 2, 3, 1]);
		},
	);
});

describe("without a policy of its own, a step is tried once in a run", () => {
	test("an effect whose error may be tried again is started again by the next run, as the first attempt", async () => {
		const far = new FarSide();
		far.error = Object.assign(new Error("busy"), { retryable: true });
		await expect(far.live("external")).rejects.toThrow("busy");
		await expect(far.live("external")).rejects.toThrow("busy");
		expect(await far.live("external")).toBe("sent");
		expect([far.attempts, far.time.waits, far.keys.size]).toEqual([[1, 1, 1], [], 1]);
	});

	test("any other failure of an effect is final; a model is asked again where nothing rests on its failure", async () => {
		const effect = new FarSide();
		await expect(effect.live("external")).rejects.toThrow("busy");
		await expect(effect.live("external")).rejects.toMatchObject({ message: "busy", cause: { code: "STEP_FAILED" } });
		const model = new FarSide(1);
		await expect(model.live("llm")).rejects.toThrow("busy");
		expect(model.log.kinds).toEqual(["step_failed"]);
		expect(await model.live("llm")).toBe("sent");
	});
});
