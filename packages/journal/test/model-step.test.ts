/** How often a model is asked that refuses, with what pauses, and across kills. */
import { describe, expect, test } from "vitest";
import {
	askModel,
	JournalError,
	Lane,
	type Model,
	type ModelPolicy,
	NonRetryableError,
	type StepEvent,
} from "../src/index.ts";
import { DyingLog, quiet, SimulatedTime, scope, using } from "./dying-log.ts";

const request = { system: "", messages: [], tools: [] };

const coded = (code: string, more: object = {}): Error =>
	Object.assign(new Error(`it says ${code}`), { code, ...more });

function circular(): Error {
	const error = new Error("round and round");
	error.cause = error;
	return error;
}

const busy = (more: object = {}): Error => Object.assign(new Error("busy"), { retryable: true, ...more });

/** A provider that refuses calls on cue, over all lives of the process. */
class Provider implements Model {
	readonly id = "m";
	readonly time = new SimulatedTime();
	readonly log = new DyingLog(Number.POSITIVE_INFINITY, this.time);
	readonly events: StepEvent[] = [];
	/** What is drawn for the pauses, from 0 to below 1. */
	draw = 0;
	calls = 0;
	/** What the calls throw, one after the other; then it answers. */
	refusals: unknown[];

	constructor(...refusals: unknown[]) {
		this.refusals = refusals;
	}

	async *generate(): AsyncGenerator<never> {
		this.calls++;
		if (this.refusals.length > 0) throw this.refusals.shift();
		yield { type: "text", text: "hello" } as never;
		yield { type: "usage", usage: { inputTokens: 10, outputTokens: 1 } } as never;
	}

	/** One life of a process, without what makes time pass. */
	start(modelPolicy: ModelPolicy = {}, model: Model = this, signal = new AbortController().signal) {
		const { time, events } = this;
		const observe = (event: StepEvent) => void events.push(event);
		const ports = { clock: time, timers: time, random: () => this.draw, signal, observe, modelPolicy };
		return askModel(new Lane("a", scope, using(this.log, ports)), model, request);
	}

	async live(policy: ModelPolicy = {}, model: Model = this): Promise<string> {
		return (await this.time.until(this.start(policy, model))).text;
	}

	/** How long the pauses were; the limit of each try is a wait too. */
	get pauses(): readonly number[] {
		return this.time.waits.filter((ms) => ms !== LIMIT);
	}

	get failedTries(): readonly unknown[] {
		return this.log.records.filter(({ kind }) => kind === "step_failed").map(({ data }) => data);
	}
}

const LIMIT = 600_000;

const refusals = (count: number): Error[] => Array.from({ length: count }, () => busy());

describe("a model that refuses a call for now", () => {
	test("is asked again after pauses that grow, six times in all, and each try is in the log", async () => {
		const provider = new Provider(...refusals(5));
		expect(await provider.live()).toBe("hello");
		expect(provider.calls).toBe(6);
		expect(provider.pauses).toEqual([1000, 2000, 4000, 8000, 16_000]);
		expect(provider.failedTries).toMatchObject(
			[1, 2, 3, 4, 5].map((attempt) => ({ attempt, retryable: true, reason: { message: "busy" } })),
		);
	});

	test("is asked up to a quarter of the pause later, as chance has it, so that not all come back at once", async () => {
		const provider = new Provider(...refusals(2));
		provider.draw = 0.8;
		await provider.live();
		expect(provider.pauses).toEqual([1200, 2400]);
	});

	test("is not asked sooner than it said", async () => {
		const provider = new Provider(busy({ retryAfterMs: 7000 }), busy({ retryAfterMs: 10 }));
		provider.draw = 0.4;
		await provider.live();
		expect(provider.pauses).toEqual([7700, 2200]);
	});

	test.each([Number.NaN, -5, "7", Number.POSITIVE_INFINITY, null])(
		"that says %s for how long keeps the policy's pause",
		async (retryAfterMs) => {
			const provider = new Provider(busy({ retryAfterMs }));
			await provider.live();
			expect(provider.pauses).toEqual([1000]);
		},
	);

	test("for longer than anybody waits is not asked again now; the next run asks at once", async () => {
		const provider = new Provider(busy({ retryAfterMs: 3_600_000 }));
		await expect(provider.live()).rejects.toMatchObject({
			code: "MODEL_UNAVAILABLE",
			message: "m gave no answer in 1 try: busy (it says to ask again in 3600 s)",
			detail: { retryAfterMs: 3_600_000 },
		});
		expect([provider.calls, provider.pauses]).toEqual([1, []]);
		expect(await provider.live()).toBe("hello");
		expect([provider.calls, provider.pauses]).toEqual([2, []]);
	});

	test("after the last try says so, and each further run has all its tries again", async () => {
		const provider = new Provider(...refusals(7));
		await expect(provider.live({ retry: { maxAttempts: 3 } })).rejects.toMatchObject({
			code: "MODEL_UNAVAILABLE",
			message: "m gave no answer in 3 tries: busy",
			detail: { model: "m", attempts: 3, reason: { message: "busy" } },
		});
		expect(provider.failedTries).toMatchObject([
			{ attempt: 1, retryable: true },
			{ attempt: 2, retryable: true },
			{ attempt: 3, told: true, reason: { code: "MODEL_UNAVAILABLE" } },
		]);
		await expect(provider.live({ retry: { maxAttempts: 3 } })).rejects.toMatchObject({ code: "MODEL_UNAVAILABLE" });
		expect(await provider.live({ retry: { maxAttempts: 3 } })).toBe("hello");
		expect(provider.calls).toBe(8);
		expect(provider.pauses).toEqual([1000, 2000, 1000, 2000, 1000]);
	});

	test("is asked again for what the policy says, and what fails beneath is not taken for its refusal", async () => {
		const reset = new Error("ECONNRESET");
		const provider = new Provider(reset, reset, reset);
		const policy = { retry: { maxAttempts: 2, shouldRetry: () => true } };
		await expect(provider.live(policy)).rejects.toMatchObject({ code: "MODEL_UNAVAILABLE", cause: reset });
		provider.log.revive(0);
		await expect(provider.live(policy)).rejects.toThrow(/^killed$/);
	});

	test("says nothing in the end that must not be written", async () => {
		const provider = new Provider(busy({ message: "429 for key sk-1" }));
		const redact = (text: string): string => text.replace(/sk-\w+/, "…");
		const modelPolicy = { retry: { maxAttempts: 1 } };
		const lane = new Lane("a", scope, using(provider.log, { redact, modelPolicy }));
		await expect(askModel(lane, provider, request)).rejects.toMatchObject({
			message: "m gave no answer in 1 try: 429 for key …",
			detail: { reason: { message: "429 for key …" } },
		});
	});

	test("waits no longer when it is cancelled", async () => {
		const provider = new Provider(...refusals(1));
		const controller = new AbortController();
		const asked = provider.start({}, provider, controller.signal);
		await quiet();
		controller.abort(new Error("cancelled"));
		await expect(asked).rejects.toThrow("cancelled");
		expect([provider.calls, provider.time.waiting]).toEqual([1, 0]);
	});
});

describe("killed at any append, a model is asked no more often than the policy allows and the kill cost", () => {
	test.each([0, 1, 2, 3, 4, 5, 6])("%d refusals", async (count) => {
		for (let death = 0; death <= count; death++) {
			const provider = new Provider(...refusals(count));
			provider.log.revive(death);
			const first = await provider.live().catch((error: Error) => error.message);
			provider.time.kill();
			const recorded = provider.log.records.length;
			const before = provider.calls;
			provider.log.revive();
			if (first === "killed") {
				// What the log did not take is the call that was open.
				expect(before - recorded).toBe(1);
				await provider.live().catch(() => undefined);
				expect(provider.calls - before).toBeLessThanOrEqual(6 - recorded);
			}
		}
	});

	test("and goes on with the rest of the pause that was drawn, not with another", async () => {
		const provider = new Provider(...refusals(1));
		provider.draw = 0.8;
		void provider.start().catch(() => undefined);
		await quiet();
		await provider.time.pass(200);
		provider.time.kill();
		provider.draw = 0.1;
		const again = provider.start();
		await quiet();
		expect(provider.pauses).toEqual([1200, 1000]);
		await provider.time.until(again);
		expect(provider.calls).toBe(2);
	});

	test("counts the tries of each run that asks anew by themselves", async () => {
		const policy = { retry: { maxAttempts: 3 } };
		const provider = new Provider(...refusals(3 + 3));
		await expect(provider.live(policy)).rejects.toMatchObject({ code: "MODEL_UNAVAILABLE" });
		provider.log.revive(2);
		await expect(provider.live(policy)).rejects.toThrow("killed");
		// Of the second run one try is in the log, and the one that was open when it died is not.
		const [one, two, three, forgotten, anew] = provider.failedTries;
		expect([one, two, three]).toMatchObject([{ attempt: 1 }, { attempt: 2 }, { attempt: 3, told: true }]);
		expect([forgotten, anew]).toMatchObject([{ forgotten: true }, { attempt: 1 }]);
		provider.log.revive();
		expect(provider.calls).toBe(5);
		provider.refusals = refusals(9);
		await expect(provider.live(policy)).rejects.toMatchObject({ code: "MODEL_UNAVAILABLE" });
		expect(provider.calls).toBe(5 + 2);
	});

	test("a log that an older program wrote has no pause, and the policy's own is waited for", async () => {
		const provider = new Provider(...refusals(1));
		provider.draw = 0.8;
		void provider.start().catch(() => undefined);
		await quiet();
		provider.time.kill();
		const [{ kind, data } = { kind: "", data: {} }] = provider.log.records;
		const { pauseMs, ...old } = data as { pauseMs: number };
		expect(pauseMs).toBe(1200);
		const before = new DyingLog(Number.POSITIVE_INFINITY, provider.time);
		before.append({ kind, data: old } as never, scope);
		Object.assign(provider, { log: before });
		expect(await provider.live()).toBe("hello");
		expect(provider.pauses).toEqual([1200, 1000]);
	});

	test("a clock that was put back does not make the pause longer", async () => {
		const provider = new Provider(...refusals(1));
		void provider.start().catch(() => undefined);
		await quiet();
		provider.time.kill();
		await provider.time.pass(-500_000);
		expect(await provider.live()).toBe("hello");
		expect(provider.pauses).toEqual([1000, 1000]);
	});
});

describe("a model that takes too long", () => {
	test("is told to stop, and asked again", async () => {
		const provider = new Provider();
		const stops: unknown[] = [];
		const slow: Model = {
			id: "m",
			async *generate(asked, { signal }) {
				if (provider.calls > 0) return yield* provider.generate();
				provider.calls++;
				await new Promise((_, reject) =>
					signal.addEventListener("abort", () => {
						stops.push(signal.reason);
						reject(signal.reason);
					}),
				);
				yield { type: "text", text: asked.system };
			},
		};
		expect(await provider.live({ timeoutMs: 5000 }, slow)).toBe("hello");
		expect(stops).toMatchObject([{ code: "STEP_TIMEOUT" }]);
		expect(provider.failedTries).toMatchObject([{ attempt: 1, reason: { code: "STEP_TIMEOUT" } }]);
	});

	test.each([1, 3])(
		"each time of %i, it gave no answer: MODEL_UNAVAILABLE, and the next run asks again",
		async (tries) => {
			const provider = new Provider();
			const policy = { timeoutMs: 5000, retry: { maxAttempts: tries } };
			const never: Model = {
				id: "m",
				async *generate() {
					provider.calls++;
					await new Promise(() => {});
					yield* provider.generate();
				},
			};
			const late = { code: "MODEL_UNAVAILABLE", detail: { attempts: tries, reason: { code: "STEP_TIMEOUT" } } };
			await expect(provider.live(policy, never)).rejects.toMatchObject(late);
			expect(provider.calls).toBe(tries);
			expect(provider.failedTries.at(-1)).toMatchObject({ retryable: false, reason: late });
			expect(await provider.live(policy)).toBe("hello");
		},
	);

	test("by default that is ten minutes", async () => {
		const provider = new Provider();
		await provider.live();
		expect(provider.time.waits).toEqual([LIMIT]);
	});
});

describe("a connection that is refused or breaks", () => {
	test.each([
		["by its code", coded("ETIMEDOUT")],
		[
			"by the code of a cause of its cause",
			new Error("no answer", { cause: new TypeError("fetch failed", { cause: coded("EPIPE") }) }),
		],
		["as a fetch that knows no more", new TypeError("fetch failed")],
		["as an object that is no Error", { message: "gone", code: "ECONNREFUSED" }],
	])("is tried again, known %s", async (_, error) => {
		const provider = new Provider(error);
		expect(await provider.live()).toBe("hello");
		expect([provider.calls, provider.pauses]).toEqual([2, [1000]]);
		expect(provider.failedTries).toMatchObject([{ attempt: 1, retryable: true }]);
	});
});

describe("a failure that no try can help", () => {
	test.each([
		["that does not say that it may pass", new Error("no credit")],
		["a NonRetryableError", Object.assign(new NonRetryableError("401"), { retryable: true })],
		["a broken connection that says so", coded("ECONNRESET", { retryable: false })],
		["a bad certificate", new TypeError("fetch failed", { cause: coded("CERT_HAS_EXPIRED") })],
		["a cause of itself", circular()],
	])("%s is thrown as it is, at once", async (_, error) => {
		const provider = new Provider(error);
		await expect(provider.live()).rejects.toMatchObject({ message: error.message });
		expect([provider.calls, provider.pauses]).toEqual([1, []]);
		expect(provider.failedTries).toMatchObject([{ told: true }]);
	});
});

describe("what is thrown and is no Error", () => {
	test.each<[unknown, string]>([
		["it broke", "it broke"],
		[undefined, "undefined"],
		[null, "null"],
		[{ message: "overloaded", type: "overloaded_error" }, "overloaded"],
		[{ error: { type: "overloaded_error" } }, '{"error":{"type":"overloaded_error"}}'],
		[7n, "7"],
	])("%o is an error with its text", async (thrown, message) => {
		const provider = new Provider(thrown);
		const error = await provider.live().catch((each: unknown) => each);
		expect(error).toBeInstanceOf(Error);
		expect(error).toMatchObject({ message });
	});

	test("says as an Error would whether to try again, and when", async () => {
		const provider = new Provider({ message: "429", code: "RATE_LIMIT", retryable: true, retryAfterMs: 3000 });
		expect(await provider.live()).toBe("hello");
		expect(provider.pauses).toEqual([3000]);
		expect(provider.failedTries).toMatchObject([{ reason: { message: "429", code: "RATE_LIMIT" } }]);
	});
});

test("the last try of a model is a JournalError with what it said as its cause", async () => {
	const error = busy();
	const provider = new Provider(error);
	const thrown = await provider.live({ retry: { maxAttempts: 1 } }).catch((each: unknown) => each);
	expect(thrown).toBeInstanceOf(JournalError);
	expect((thrown as Error).cause).toBe(error);
});
