/** Each purity performed, recalled, and killed at any append; steps in doubt. */
import type { Appender } from "@reyn/wal";
import { beforeEach, describe, expect, test } from "vitest";
import {
	type InDoubtPolicy,
	journal,
	Lane,
	laneClosed,
	type Purity,
	type Step,
	type StepEvent,
	type Using,
} from "../src/index.ts";
import { lanesOf } from "../src/journal.ts";
import { DyingLog, using as observed, scope } from "./dying-log.ts";

let calls: string[];
let events: StepEvent[];
beforeEach(() => {
	calls = [];
	events = [];
});

const using = (log: DyingLog, more: Partial<Using> = {}): Using =>
	observed(log, { observe: (event) => events.push(event), ...more });

function step(name: string, purity: Purity, more: Partial<Step<string>> = {}): Step<string> {
	return {
		kind: "step",
		name,
		args: {},
		purity,
		async call({ idempotencyKey }) {
			calls.push(idempotencyKey ? `${name} ${idempotencyKey}` : name);
			return `${name} done`;
		},
		...more,
	};
}

describe("each purity leaves its own records, and a replay calls only what it may", () => {
	test.each<[Purity, string[], number]>([
		["pure", [], 2],
		["world", ["step_completed"], 2],
		["side_effect", ["step_started", "step_completed"], 1],
		["external", ["step_started", "step_completed"], 1],
		["llm", ["step_completed"], 1],
	])("%s", async (purity, kinds, callsAfterReplay) => {
		const log = new DyingLog();
		expect(await new Lane("a", scope, using(log)).perform(step("x", purity))).toBe("x done");
		expect(log.kinds).toEqual(kinds);
		expect(await new Lane("a", scope, using(log)).perform(step("x", purity))).toBe("x done");
		expect(calls).toHaveLength(callsAfterReplay);
		expect(log.kinds).toEqual(kinds); // the same answer is not recorded twice
	});
});

test("two equal calls in a lane are two entries; equal calls in two lanes are two entries", async () => {
	const log = new DyingLog();
	for (const path of ["a", "b"]) {
		const lane = new Lane(path, scope, using(log));
		await lane.perform(step("x", "llm"));
		await lane.perform(step("x", "llm"));
	}
	expect(calls).toHaveLength(4);
	const again = new Lane("a", scope, using(log));
	await again.perform(step("x", "llm"));
	await again.perform(step("x", "llm"));
	await again.perform(step("x", "llm"));
	expect(calls).toHaveLength(5);
});

test("killed at any append, a resumed lane makes every effect at most twice and re-pays at most the open call", async () => {
	const story = async (lane: Lane): Promise<string[]> => [
		await lane.perform(step("ask", "llm")),
		await lane.perform(step("write", "side_effect")),
		await lane.perform(step("ask", "llm")),
		await lane.perform(step("send", "external")),
	];
	for (let death = 0; death <= 6; death++) {
		calls = [];
		const log = new DyingLog(death);
		await story(new Lane("a", scope, using(log))).catch(() => undefined);
		const paidBefore = [...calls];
		log.revive();
		expect(await story(new Lane("a", scope, using(log)))).toEqual(["ask done", "write done", "ask done", "send done"]);
		expect(calls.length - paidBefore.length, `death after ${death} appends`).toBeLessThanOrEqual(
			4 - Math.max(0, paidBefore.length - 1),
		);
		for (const name of ["write", "send"]) {
			const effects = calls.filter((call) => call.startsWith(name));
			expect(effects.length).toBeLessThanOrEqual(2);
			expect(new Set(effects).size, "a repeat carries the same key").toBe(1);
		}
	}
});

test("a side effect does not happen when its start cannot be made durable", async () => {
	const log = new DyingLog(0);
	await expect(new Lane("a", scope, using(log)).perform(step("write", "side_effect"))).rejects.toThrow("killed");
	const full = new DyingLog();
	const failing: Appender = {
		append: (draft, at) => ({ ...full.append(draft, at), durable: Promise.reject(new Error("disk full")) }),
	};
	await expect(
		new Lane("a", scope, { ...using(full), log: failing }).perform(step("write", "side_effect")),
	).rejects.toThrow("disk full");
	expect(calls).toEqual([]);
});

describe("a step in doubt", () => {
	const inDoubt = async (): Promise<DyingLog> => {
		const log = new DyingLog(1); // the start is kept, the completion is not
		await new Lane("a", scope, using(log)).perform(step("send", "external")).catch(() => undefined);
		log.revive();
		calls = [];
		return log;
	};

	test.each<[InDoubtPolicy, string[], unknown]>([
		["retry", ["send log:1"], "send done"],
		["skip", [], "nothing"],
	])("%s", async (policy, expected, result) => {
		const log = await inDoubt();
		const lane = new Lane("a", scope, using(log, { whenInDoubt: () => policy }));
		expect(await lane.perform(step("send", "external", { empty: "nothing" }))).toBe(result);
		expect(calls).toEqual(expected);
		expect(events).toContainEqual({ type: "in_doubt", lane: "a", kind: "step", name: "send", decision: policy });
	});

	test("discard stops, and calls nothing", async () => {
		const log = await inDoubt();
		const lane = new Lane("a", scope, using(log, { whenInDoubt: () => "discard" }));
		await expect(lane.perform(step("send", "external"))).rejects.toMatchObject({ code: "STEP_DISCARDED" });
		expect(calls).toEqual([]);
	});

	test("the far side is asked before the policy", async () => {
		const log = await inDoubt();
		const asked: string[] = [];
		const reconcile = async (key: string) => {
			asked.push(key);
			return { kind: "done", result: "it was sent" } as const;
		};
		const lane = new Lane("a", scope, using(log, { whenInDoubt: () => "discard" }));
		expect(await lane.perform(step("send", "external", { reconcile }))).toBe("it was sent");
		expect([asked, calls]).toEqual([["log:1"], []]);
	});
});

test("a failed effect is remembered, unless it says that it may be tried again", async () => {
	const log = new DyingLog();
	const fail = (retryable: boolean): Partial<Step<string>> => ({
		async call() {
			calls.push("tried");
			throw Object.assign(new Error("no such channel"), { retryable });
		},
	});
	await expect(new Lane("a", scope, using(log)).perform(step("send", "external", fail(true)))).rejects.toThrow(
		"no such channel",
	);
	await expect(new Lane("a", scope, using(log)).perform(step("send", "external", fail(false)))).rejects.toThrow(
		"no such channel",
	);
	await expect(new Lane("a", scope, using(log)).perform(step("send", "external", fail(false)))).rejects.toMatchObject({
		message: "no such channel",
		cause: { code: "STEP_FAILED" },
	});
	expect(calls).toHaveLength(2);
});

test("a try that is repeated keeps the key of the first, and a crash in the middle of it leaves the step in doubt", async () => {
	const log = new DyingLog();
	const failing = step("pay", "external", {
		async call({ idempotencyKey }) {
			calls.push(idempotencyKey ?? "");
			throw Object.assign(new Error("timed out"), { retryable: true });
		},
	});
	await expect(new Lane("a", scope, using(log)).perform(failing)).rejects.toThrow("timed out");
	log.revive(2); // that the failure no longer counts is kept, and the second start; its outcome is not
	await expect(new Lane("a", scope, using(log)).perform(failing)).rejects.toThrow();
	log.revive();
	const lane = new Lane("a", scope, using(log, { whenInDoubt: () => "skip" }));
	expect(await lane.perform(step("pay", "external", { empty: "nothing" }))).toBe("nothing");
	expect(calls).toEqual(["log:1", "log:1"]);
});

test("a failed or cancelled model call is no result", async () => {
	const log = new DyingLog();
	const controller = new AbortController();
	const cancelled = step("ask", "llm", {
		async call() {
			controller.abort(new Error("cancelled"));
			throw controller.signal.reason;
		},
	});
	await expect(new Lane("a", scope, using(log, { signal: controller.signal })).perform(cancelled)).rejects.toThrow(
		"cancelled",
	);
	expect(log.kinds).toEqual([]);
});

test("a cancelled effect stays open: its outcome is in doubt", async () => {
	const log = new DyingLog();
	const controller = new AbortController();
	const cancelled = step("send", "external", {
		async call() {
			controller.abort(new Error("cancelled"));
			throw controller.signal.reason;
		},
	});
	await expect(new Lane("a", scope, using(log, { signal: controller.signal })).perform(cancelled)).rejects.toThrow(
		"cancelled",
	);
	expect(log.kinds).toEqual(["step_started"]);
});

test("a world answer is asked again, until an effect rests on it", async () => {
	const log = new DyingLog();
	let weather = "sun";
	const look = step("look", "world", { call: async () => weather });
	expect(await new Lane("a", scope, using(log)).perform(look)).toBe("sun");
	weather = "rain";
	expect(await new Lane("a", scope, using(log)).perform(look)).toBe("rain");
	const lane = new Lane("a", scope, using(log));
	await lane.perform(look);
	await lane.perform(step("write", "side_effect"));
	weather = "snow";
	expect(await new Lane("a", scope, using(log)).perform(look)).toBe("rain");
	expect(events).toContainEqual({ type: "world_kept", lane: "a", kind: "step", name: "look" });
});

test("a closed lane is forgotten with all below it; its neighbours stay", async () => {
	const log = new DyingLog();
	for (const path of ["plan/p1", "plan/p1/s1", "plan/p10"])
		await new Lane(path, scope, using(log)).perform(step("x", "llm"));
	log.append(laneClosed({ lane: "plan/p1" }), scope);
	expect(lanesOf(log.view.get(journal))).toEqual(["plan/p10"]);
});

test("the first run and the replay see the same result, as JSON gives it back", async () => {
	const log = new DyingLog();
	const odd = step("ask", "llm", { call: async () => ({ at: new Date(0), none: undefined }) as never });
	const first = await new Lane("a", scope, using(log)).perform(odd);
	expect(first).toEqual({ at: "1970-01-01T00:00:00.000Z" });
	expect(await new Lane("a", scope, using(log)).perform(odd)).toEqual(first);
});

test("a model is not asked before its lane's last answer is on disk; another lane does not wait for it", async () => {
	const log = new DyingLog();
	const { promise, resolve } = Promise.withResolvers<void>();
	const slow: Appender = { append: (draft, at) => ({ ...log.append(draft, at), durable: promise }) };
	const lane = new Lane("a", scope, { ...using(log), log: slow });
	await lane.perform(step("first", "llm"));
	const second = lane.perform(step("second", "llm"));
	await new Lane("b", scope, { ...using(log), log: slow }).perform(step("other", "llm"));
	expect(calls).toEqual(["first", "other"]);
	resolve();
	await second;
	expect(calls).toEqual(["first", "other", "second"]);
});
