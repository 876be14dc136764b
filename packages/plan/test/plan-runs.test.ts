/** The projection of plans. */
import { laneClosed } from "@reyn/journal";
import { View } from "@reyn/snapshot";
import type { Draft } from "@reyn/wal";
import { describe, expect, test } from "vitest";
import {
	type PlanRuns,
	planAborted,
	planCompleted,
	planPaused,
	planResumed,
	planRuns,
	planStarted,
	planStepCompleted,
	planStepFailed,
	planStepStarted,
	planStepsReset,
} from "../src/index.ts";
import { isInFlight } from "../src/plan-runs.ts";
import { session } from "./plan-process.ts";

const cost = { calls: 1, inputTokens: 100, outputTokens: 10 };
const started = (plan = "p1") => planStarted({ plan, goal: "Find out", steps: 2, decomposition: "hash" });
const begun = (step: string, attempt = 0) => planStepStarted({ plan: "p1", step, attempt });
const done = (step: string, result = "found") => planStepCompleted({ plan: "p1", step, result, cost });
const failed = (step: string, reason = "no key") => planStepFailed({ plan: "p1", step, reason });
const again = (...steps: string[]) => planStepsReset({ plan: "p1", steps });

function view(...drafts: readonly Draft[]): View {
	return drafts.reduce(
		(before, draft) => before.apply({ seq: before.seq + 1, ts: 0, crc: "", scope: session, ...draft }),
		View.empty(session, [planRuns]),
	);
}

const fold = (...drafts: readonly Draft[]): PlanRuns => view(...drafts).get(planRuns);
const stepsAfter = (...drafts: readonly Draft[]) => fold(started(), ...drafts).p1?.steps ?? {};

test("a plan that starts knows its goal, its size and where it began", () => {
	expect(fold(started())).toEqual({
		p1: { goal: "Find out", started: 1, since: 1, decomposition: "hash", size: 2, status: "running", steps: {} },
	});
});

describe("a step", () => {
	test("runs, and keeps what it found and cost", () => {
		expect(stepsAfter(begun("s1"))).toEqual({ s1: { status: "running", attempt: 0 } });
		expect(stepsAfter(begun("s1"), done("s1"))).toEqual({
			s1: { status: "completed", attempt: 0, result: "found", cost },
		});
		expect(stepsAfter(begun("s1"), failed("s1"))).toEqual({ s1: { status: "failed", attempt: 0, reason: "no key" } });
	});

	test("that is reset has a new attempt, and the latest one wins", () => {
		const before = [begun("s1"), failed("s1"), again("s1", "s2")];
		expect(stepsAfter(...before)).toEqual({
			s1: { status: "pending", attempt: 1 },
			s2: { status: "pending", attempt: 1 },
		});
		expect(stepsAfter(...before, begun("s1", 1), done("s1", "found at last")).s1).toEqual({
			status: "completed",
			attempt: 1,
			result: "found at last",
			cost,
		});
		expect(stepsAfter(...before, again("s1")).s1).toEqual({ status: "pending", attempt: 2 });
	});

	test("that is reset leaves the others as they are", () => {
		expect(stepsAfter(begun("s1"), done("s1"), begun("s2"), done("s2"), again("s2"))).toMatchObject({
			s1: { status: "completed" },
			s2: { status: "pending" },
		});
	});
});

describe("a plan", () => {
	test.each<[last: string, status: string, inFlight: boolean, drafts: readonly Draft[]]>([
		["was paused", "paused", true, [planPaused({ plan: "p1" })]],
		["was resumed", "running", true, [planPaused({ plan: "p1" }), planResumed({ plan: "p1" })]],
		["was completed", "completed", false, [planCompleted({ plan: "p1" })]],
		["was aborted", "aborted", false, [planAborted({ plan: "p1", reason: "discarded" })]],
	])("that %s is %s", (_, status, inFlight, drafts) => {
		const { p1 } = fold(started(), begun("s1"), done("s1"), ...drafts);
		expect(p1?.status).toBe(status);
		expect(p1 && isInFlight(p1)).toBe(inFlight);
		// The results of a plan that is over are not dragged along.
		expect(Object.keys(p1?.steps ?? {})).toEqual(inFlight ? ["s1"] : []);
	});

	test("counts what it delivers from what its steps came to last, and not from where it was resumed", () => {
		const resumed = [planPaused({ plan: "p1" }), planResumed({ plan: "p1" })];
		expect(fold(started(), ...resumed).p1).toMatchObject({ started: 1, since: 1 });
		expect(fold(started(), begun("s1"), done("s1"), ...resumed).p1).toMatchObject({ since: 3 });
		expect(fold(started(), begun("s1"), done("s1"), again("s1"), ...resumed).p1).toMatchObject({ since: 4 });
	});

	test("whose start is not on the path does not come to life by its later records", () => {
		expect(fold(begun("s1"), done("s1"), again("s1"), planPaused({ plan: "p1" }), planResumed({ plan: "p1" }))).toEqual(
			{},
		);
	});

	test("does not touch another one", () => {
		const both = fold(started("p1"), started("p2"), begun("s1"), done("s1"), planCompleted({ plan: "p1" }));
		expect(both.p2).toMatchObject({ status: "running", steps: {} });
	});
});

describe("the records that are still needed", () => {
	const floor = (...drafts: readonly Draft[]) => planRuns.floor(fold(...drafts));

	test("begin with the oldest plan in flight, paused ones too", () => {
		expect(floor(started("p1"), started("p2"))).toBe(1);
		expect(floor(started("p1"), planPaused({ plan: "p1" }), started("p2"))).toBe(1);
		expect(floor(started("p1"), started("p2"), planCompleted({ plan: "p1" }))).toBe(2);
	});

	test("are none when no plan is in flight", () => {
		expect(floor()).toBeUndefined();
		expect(floor(started("p1"), planAborted({ plan: "p1", reason: "discarded" }))).toBeUndefined();
	});
});

test("a plan that was given up is to be told so until its lane is closed", () => {
	const aborted = planAborted({ plan: "p1", reason: "no", tell: "It was discarded." });
	const told = laneClosed({ lane: "plan/p1" });
	expect(fold(started(), begun("s1"), aborted).p1).toMatchObject({
		status: "aborted",
		ended: { seq: 3, reason: "no", tell: "It was discarded." },
	});
	expect(fold(started(), aborted, laneClosed({ lane: "plan/p1/s1/0" })).p1).toHaveProperty("ended");
	expect(fold(started(), aborted, told).p1).not.toHaveProperty("ended");
	expect(fold(started(), planPaused({ plan: "p1" }), told).p1).toMatchObject({ status: "paused" });
});

test("a state of version 1 is used as it is", () => {
	const old = {
		p1: {
			goal: "Find out",
			started: 1,
			since: 1,
			decomposition: "hash",
			size: 2,
			status: "running",
			steps: { s1: { status: "completed", attempt: 0, result: "found", cost } },
		},
	};
	expect(planRuns.schema["~standard"].validate(planRuns.migrate?.(old, 1))).toEqual({ value: old });
});

test("the state of every stage is of the shape that a snapshot is checked against", () => {
	const state = fold(
		started("p1"),
		begun("s1"),
		done("s1"),
		failed("s2"),
		again("s3"),
		begun("s4"),
		started("p2"),
		planPaused({ plan: "p2" }),
	);
	expect(planRuns.schema["~standard"].validate(JSON.parse(JSON.stringify(state)))).toEqual({ value: state });
});
