/** The projection of plans. */
import { laneClosed } from "@reyn/journal";
import { List, View } from "@reyn/snapshot";
import type { Draft } from "@reyn/wal";
import { describe, expect, test, vi } from "vitest";
import {
	type PlanRun,
	type PlanRuns,
	planAborted,
	planAmended,
	planCompleted,
	planIn,
	planPaused,
	planResumed,
	planRuns,
	planStarted,
	planStepCompleted,
	planStepExtended,
	planStepFailed,
	planStepStarted,
	planStepsReset,
} from "../src/index.ts";
import { isInFlight } from "../src/plan-runs.ts";
import { attemptLane, attemptOf } from "../src/records.ts";
import { session } from "./plan-process.ts";

const cost = { calls: 1, inputTokens: 100, outputTokens: 10 };
const started = (plan = "p1") => planStarted({ plan, goal: "Find out", steps: 2, decomposition: "hash" });
const begun = (step: string, attempt = 0) => planStepStarted({ plan: "p1", step, attempt });
const done = (step: string, result = "found") => planStepCompleted({ plan: "p1", step, result, cost });
const failed = (step: string, reason = "no key") => planStepFailed({ plan: "p1", step, reason });
const again = (...steps: string[]) => planStepsReset({ plan: "p1", steps });

function view(...drafts: readonly Draft[]): View {
	return drafts.reduce(
		(before, draft) =>
			before.apply({ seq: before.seq + 1, ts: (before.seq + 1) * 1000, crc: "", scope: session, ...draft }),
		View.empty(session, [planRuns]),
	);
}

const fold = (...drafts: readonly Draft[]): PlanRuns => view(...drafts).get(planRuns);
const p1After = (...drafts: readonly Draft[]): PlanRun | undefined => planIn(fold(...drafts), "p1");
const stepsAfter = (...drafts: readonly Draft[]) => p1After(started(), ...drafts)?.steps ?? {};

test("a plan that starts knows its goal, its size and where it began", () => {
	const p1 = { goal: "Find out", started: 1, since: 1, decomposition: "hash", size: 2, status: "running", steps: {} };
	expect(fold(started())).toEqual({ live: { p1 }, over: List.of() });
});

describe("a step", () => {
	test("runs, and keeps what it found and cost", () => {
		expect(stepsAfter(begun("s1"))).toEqual({ s1: { status: "running", attempt: 0, at: 2000 } });
		expect(stepsAfter(begun("s1"), done("s1"))).toEqual({
			s1: { status: "completed", attempt: 0, result: "found", cost, took: 1000 },
		});
		expect(stepsAfter(begun("s1"), failed("s1"))).toEqual({
			s1: { status: "failed", attempt: 0, reason: "no key", took: 1000 },
		});
	});

	test("whose limits are extended counts how often, until its attempt is over", () => {
		const more = (limit: "retries" | "tokens") => planStepExtended({ plan: "p1", step: "s1", limit });
		const extended = [begun("s1"), more("retries"), more("tokens"), more("retries")];
		expect(stepsAfter(...extended).s1).toMatchObject({ extended: { retries: 2, tokens: 1 } });
		expect(stepsAfter(...extended, failed("s1"), again("s1"), begun("s1", 1)).s1).not.toHaveProperty("extended");
		expect(stepsAfter(begun("s1"), done("s1"), more("retries")).s1).toMatchObject({ status: "completed" });
	});

	test("that is reset has a new attempt, and the latest one wins", () => {
		const before = [begun("s1"), failed("s1"), again("s1", "s2")];
		expect(stepsAfter(...before)).toEqual({
			s1: { status: "pending", attempt: 1 },
			// It never ran.
			s2: { status: "pending", attempt: 0 },
		});
		expect(stepsAfter(...before, begun("s1", 1), done("s1", "found at last")).s1).toEqual({
			status: "completed",
			attempt: 1,
			result: "found at last",
			cost,
			took: 1000,
		});
		expect(stepsAfter(...before, again("s1")).s1).toEqual({ status: "pending", attempt: 1 });
	});

	test("that is reset leaves the others as they are", () => {
		expect(stepsAfter(begun("s1"), done("s1"), begun("s2"), done("s2"), again("s2"))).toMatchObject({
			s1: { status: "completed" },
			s2: { status: "pending", cost },
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
		const p1 = p1After(started(), begun("s1"), done("s1"), ...drafts);
		expect(p1?.status).toBe(status);
		expect(p1 && isInFlight(p1)).toBe(inFlight);
		expect(Object.keys(p1?.steps ?? {})).toEqual(["s1"]);
	});

	test("that is paused knows why, until it goes on", () => {
		const why = planPaused({ plan: "p1", why: "a limit" });
		expect(p1After(started(), why)).toMatchObject({ status: "paused", why: "a limit" });
		for (const next of [
			planPaused({ plan: "p1" }),
			planResumed({ plan: "p1" }),
			again(),
			planCompleted({ plan: "p1" }),
		])
			expect(p1After(started(), why, next)).not.toHaveProperty("why");
	});

	test("that was given up knows why, also when that was said", () => {
		const over = [planAborted({ plan: "p1", reason: "no more" }), laneClosed({ lane: "plan/p1" })];
		expect(p1After(started(), ...over)).toMatchObject({ status: "aborted", why: "no more" });
	});

	test("that is paused stays so where a step runs again since its result is lost", () => {
		const lost = planStepsReset({ plan: "p1", steps: ["s1"], why: "lost" });
		expect(p1After(started(), begun("s1"), done("s1"), planPaused({ plan: "p1" }), lost)).toMatchObject({
			...{ status: "paused", steps: { s1: { status: "pending", attempt: 1 } } },
		});
	});

	test("that is amended has other steps, and keeps what became of those before", () => {
		const amended = planAmended({ plan: "p1", steps: 3, decomposition: "other" });
		const [before, after] = [
			p1After(started(), begun("s1"), done("s1")),
			p1After(started(), begun("s1"), done("s1"), amended),
		];
		expect(after).toEqual({ ...before, size: 3, decomposition: "other" });
	});

	test("that has its answer goes on where steps are to run again; one that was given up does not", () => {
		const over = [started(), begun("s1"), done("s1"), planCompleted({ plan: "p1" })];
		const told = [planAborted({ plan: "p1", reason: "no" }), laneClosed({ lane: "plan/p1" })];
		expect(fold(...over, again("s1"))).toMatchObject({
			live: { p1: { status: "running", since: 5 } },
			over: List.of(),
		});
		expect(p1After(started(), ...told, again("s1"))).toMatchObject({ status: "aborted", steps: {} });
		// Late records of what is over do not count.
		expect(p1After(...over, begun("s2"), failed("s1"), planPaused({ plan: "p1" }))).toEqual(p1After(...over));
	});

	test("that is over is found without going through all that are, while they become more", () => {
		const all = vi.spyOn(List.prototype, "toArray");
		const over = (plan: string) => [started(plan), planCompleted({ plan })];
		let at = view(...over("p0"));
		const write = (draft: Draft): View =>
			at.apply({ seq: at.seq + 1, ts: (at.seq + 1) * 1000, crc: "", scope: session, ...draft });
		expect(planIn(at.get(planRuns), "p0")?.started).toBe(1);
		for (let n = 1; n < 100; n++) {
			const before = at;
			for (const draft of over(`p${n}`)) at = write(draft);
			expect(planIn(at.get(planRuns), `p${n}`)?.status).toBe("completed");
			expect(planIn(at.get(planRuns), "p9999")).toBeUndefined();
			if (n === 50) expect(planIn(before.get(planRuns), "p50"), "an older state does not know it").toBeUndefined();
		}
		expect(all.mock.calls.length, "for the first, and for the older state").toBe(2);
		all.mockRestore();
		at = write(again("s1"));
		at = write(planStepsReset({ plan: "p7", steps: ["s1"] }));
		expect([planIn(at.get(planRuns), "p7")?.status, planIn(at.get(planRuns), "p8")?.started]).toEqual(["running", 17]);
	});

	test("counts what it delivers from what its steps came to last, and not from where it was resumed", () => {
		const resumed = [planPaused({ plan: "p1" }), planResumed({ plan: "p1" })];
		expect(p1After(started(), ...resumed)).toMatchObject({ started: 1, since: 1 });
		expect(p1After(started(), begun("s1"), done("s1"), ...resumed)).toMatchObject({ since: 3 });
		expect(p1After(started(), begun("s1"), done("s1"), again("s1"), ...resumed)).toMatchObject({ since: 4 });
	});

	test("whose start is not on the path does not come to life by its later records", () => {
		expect(fold(begun("s1"), done("s1"), again("s1"), planPaused({ plan: "p1" }), planResumed({ plan: "p1" }))).toEqual(
			fold(),
		);
	});

	test("does not touch another one", () => {
		const both = fold(started("p1"), started("p2"), begun("s1"), done("s1"), planCompleted({ plan: "p1" }));
		expect(both.live.p2).toMatchObject({ status: "running", steps: {} });
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

test("the lane of an attempt is known again, whatever the plan is called; another is none", () => {
	for (const plan of ["p1", "a/b", "x/s1/0", ""]) {
		const attempt = { plan, step: "s1", attempt: 12 };
		expect(attemptOf(attemptLane(attempt))).toEqual(attempt);
	}
	for (const lane of ["plan/p1", "plan/p1/s1", "plan/p1/s1/0/x", "plan/p1/s1/01", "turn/p1/s1/0", "plan/p1//0", ""])
		expect(attemptOf(lane)).toBeUndefined();
});

test("a plan that was given up is to be told so until its lane is closed", () => {
	const aborted = planAborted({ plan: "p1", reason: "no", tell: "It was discarded." });
	const told = laneClosed({ lane: "plan/p1" });
	expect(p1After(started(), begun("s1"), aborted)).toMatchObject({
		status: "aborted",
		ended: { seq: 3, reason: "no", tell: "It was discarded." },
	});
	expect(p1After(started(), aborted, laneClosed({ lane: "plan/p1/s1/0" }))).toHaveProperty("ended");
	expect(p1After(started(), aborted, told)).not.toHaveProperty("ended");
	expect(p1After(started(), planPaused({ plan: "p1" }), told)).toMatchObject({ status: "paused" });
});

test("a state of an older version keeps its plans, those that are over apart", () => {
	const run = { goal: "Find out", started: 1, since: 1, decomposition: "hash", size: 2, steps: {} };
	const p1 = { ...run, status: "running", steps: { s1: { status: "completed", attempt: 0, result: "found", cost } } };
	const p3 = { ...run, status: "aborted", ended: { seq: 9, reason: "no" } };
	const old = { p1, p2: { ...run, status: "completed" }, p3 };
	expect(planRuns.migrate?.(old, 4)).toEqual({ live: { p1, p3 }, over: [{ ...run, status: "completed", plan: "p2" }] });
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
		started("p3"),
		planCompleted({ plan: "p3" }),
	);
	const { over, ...rest } = state;
	expect(planRuns.schema["~standard"].validate(JSON.parse(JSON.stringify(rest)))).toEqual({ value: rest });
	expect(over.length).toBe(1);
	for (const each of over)
		expect(planRuns.lists.over?.["~standard"].validate(JSON.parse(JSON.stringify(each)))).toEqual({ value: each });
});
