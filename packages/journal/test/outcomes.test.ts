/** What a timeline is told of steps: which record begins one, which ends it, and what of that can be read at all. */
import type { Draft } from "@reyn/wal";
import { expect, test } from "vitest";
import { Lane, laneClosed, stepCompleted, stepFailed, stepOutcomes, stepStarted } from "../src/index.ts";
import { DyingLog, scope, using } from "./dying-log.ts";

const step = { lane: "a", fp: "f", occ: 0, kind: "tool", name: "pay", purity: "side_effect" } as const;
const failure = { retryable: false, reason: { message: "no" } };

test.each<[Draft, object | undefined]>([
	[stepStarted(step), { of: "a f:0", what: "begun" }],
	[stepCompleted({ ...step, started: 3, result: 1 }), { of: "a f:0", what: "done", start: 3 }],
	[stepFailed({ ...step, started: 3, ...failure }), { of: "a f:0", what: "failed", start: 3 }],
	[stepCompleted({ ...step, purity: "llm", result: 1 }), { of: "a f:0", what: "done" }],
	[laneClosed({ lane: "a" }), undefined],
	// What lies in a `step_late` has passed no schema.
	[{ kind: stepCompleted.kind, data: { lane: "a", started: "3" } }, undefined],
	[{ kind: stepCompleted.kind, data: null }, undefined],
])("%j says %j", (draft, said) => {
	expect(stepOutcomes.read(draft)).toEqual(said);
});

test("an outcome is awaited while its start is open, and the one that repeats it names the first", async () => {
	const log = new DyingLog(1);
	const pay = { kind: "tool", name: "pay", args: {}, purity: "side_effect" as const, call: async () => "paid" };
	await expect(new Lane("a", scope, using(log)).perform(pay)).rejects.toThrow("killed");
	expect(stepOutcomes.openStarts(log.view)).toEqual([1]);
	const identity = log.records[0]?.data as object;
	const outcome: Draft = { kind: stepCompleted.kind, data: { ...identity, started: 1, result: "paid" } };
	expect(stepOutcomes.isAwaited(log.view, outcome)).toBe(true);
	const once = stepOutcomes.adopting(outcome, 7);
	expect(once.data).toMatchObject({ adopts: 7, started: 1, result: "paid" });
	expect(stepOutcomes.adopting(once, 9).data).toMatchObject({ adopts: 7 });
	log.revive();
	log.append(once, scope);
	expect([stepOutcomes.openStarts(log.view), stepOutcomes.isAwaited(log.view, outcome)]).toEqual([[], false]);
});
