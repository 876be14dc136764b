/** The projection of skill runs. */
import { laneClosed, stepCompleted } from "@reyn/journal";
import { View } from "@reyn/snapshot";
import type { Draft } from "@reyn/wal";
import { describe, expect, test, vi } from "vitest";
import {
	childrenBelow,
	findRun,
	inFlightRuns,
	phaseCompleted,
	phaseEntered,
	runLane,
	type SkillRuns,
	skillRunCompleted,
	skillRunDiscarded,
	skillRunIn,
	skillRunPaused,
	skillRunResumed,
	skillRunStarted,
	skillRuns,
	skillRunsOf,
} from "../src/index.ts";
import { session } from "./skill-process.ts";

const started = (run = "r1") => skillRunStarted({ run, skill: "report", input: { to: "bob" } });
const entered = (phase: string, visit = 1) => phaseEntered({ run: "r1", phase, visit });
const left = (phase: string, next?: string) =>
	phaseCompleted({ run: "r1", phase, visit: 1, output: `${phase} done`, ...(next ? { next } : {}) });
const paused = skillRunPaused({ run: "r1" });
const resumed = skillRunResumed({ run: "r1" });
const completed = skillRunCompleted({ run: "r1" });
const discarded = skillRunDiscarded({ run: "r1", reason: "discarded by the user" });

const fold = (...drafts: readonly Draft[]): SkillRuns => viewOf(drafts).get(skillRuns);

const viewOf = (drafts: readonly Draft[]): View => drafts.reduce(applied, View.empty(session, [skillRuns]));

const applied = (view: View, draft: Draft): View =>
	view.apply({ seq: view.seq + 1, ts: 0, crc: "", scope: session, ...draft });

describe("a child", () => {
	const parent = "plan/p1/a/0/abc:0";
	const begun = skillRunStarted({ run: "c9", skill: "report", input: { to: "bob" }, parent });
	const over = [
		phaseEntered({ run: "c9", phase: "write", visit: 1 }),
		phaseCompleted({ run: "c9", phase: "write", visit: 1, output: "written" }),
		skillRunCompleted({ run: "c9" }),
	];
	const asked = (lane: string): Draft =>
		stepCompleted({
			...{ lane, fp: "f", occ: 0, kind: "model", name: "m", purity: "llm", after: 0, result: "said" },
			usage: { inputTokens: 5, outputTokens: 2 },
		});

	test("is found below the lanes around its call, and nowhere else", () => {
		const runs = fold(begun, started());
		const found = (lane: string) => childrenBelow(runs, lane).map(([id]) => id);
		for (const lane of ["plan", "plan/p1", "plan/p1/a", "plan/p1/a/0", parent]) expect(found(lane)).toEqual(["c9"]);
		for (const lane of ["plan/p", "plan/p1/a/01", `${parent}/skill/c9`, "skill/r1", "plan/p12"])
			expect(found(lane)).toEqual([]);
	});

	test("is found in each state of a history, whichever was asked about before, and runs are gone through once", () => {
		const at = (n: number) => `plan/p${n % 3}/s${n % 2}/0/abc:${n}`;
		const all = vi.spyOn(Object, "entries");
		let view = View.empty(session, [skillRuns]);
		const states: SkillRuns[] = [];
		const apply = (draft: Draft): void => {
			view = view.apply({ seq: view.seq + 1, ts: 0, crc: "", scope: session, ...draft });
		};
		let times = 0;
		for (let n = 0; n < 60; n++) {
			const parent = n % 5 === 0 ? {} : { parent: at(n) };
			apply(skillRunStarted({ run: `c${n}`, skill: "report", input: {}, ...parent }));
			apply(phaseEntered({ run: `c${n}`, phase: "write", visit: 1 }));
			if (n % 4 === 0) apply(skillRunCompleted({ run: `c${n}` }));
			const runs = view.get(skillRuns);
			states.push(runs);
			const before = all.mock.calls.length;
			childrenBelow(runs, "plan/p1");
			times += all.mock.calls.slice(before).length;
		}
		all.mockRestore();
		expect(times).toBe(1);
		for (const [n, runs] of [...states.entries(), ...states.toReversed().entries()])
			for (const lane of ["plan", "plan/p1", "plan/p2/s0", at(n), "plan/p"]) {
				const naive = skillRunsOf(runs).filter(([, { parent }]) => parent && `${parent}/`.startsWith(`${lane}/`));
				expect(childrenBelow(runs, lane)).toEqual(naive);
			}
	});

	test("knows what its own models cost", () => {
		const lane = runLane("c9", parent);
		const runs = fold(
			begun,
			asked(`${lane}/write/1`),
			asked("plan/p1/a/0"),
			asked(`${lane}/write/1`),
			asked("skill/c9/write/1"),
		);
		expect(skillRunIn(runs, "c9")?.cost).toEqual({ calls: 2, inputTokens: 10, outputTokens: 4 });
	});

	test("that is over keeps what its call may ask for until the lane around that is closed, and then that it was", () => {
		const kept = fold(begun, ...over, laneClosed({ lane: runLane("c9", parent) }), laneClosed({ lane: "plan/p1/b/0" }));
		expect(skillRunIn(kept, "c9")).toMatchObject({ status: "completed", last: { output: "written" } });
		const gone = fold(begun, ...over, laneClosed({ lane: "plan/p1/a/0" }));
		expect(skillRunIn(gone, "c9")).toEqual({
			skill: "report",
			started: 1,
			since: 3,
			parent,
			status: "completed",
			visits: {},
		});
	});

	test("says who has ended it, and why", () => {
		const runs = fold(begun, skillRunDiscarded({ run: "c9", reason: "no ink", by: "parent" }));
		expect(skillRunIn(runs, "c9")?.ended).toEqual({ seq: 2, reason: "no ink", by: "parent" });
		expect(() => findRun(fold(begun), "c9")).toThrow(/^skill run "c9" goes on and ends with plan p1/);
	});
});

describe("a run", () => {
	test("that starts knows its skill, its input and where it began", () => {
		expect(fold(started())).toEqual({
			r1: { skill: "report", started: 1, since: 1, input: { to: "bob" }, visits: {}, status: "running" },
		});
	});

	test("is in the phase that it entered, and counts its visits", () => {
		const r1 = skillRunIn(fold(started(), entered("gather"), left("gather", "gather"), entered("gather", 2)), "r1");
		expect(r1).toMatchObject({ phase: "gather", visits: { gather: 2 }, last: { next: "gather" } });
	});

	test("is in no phase once one is left, and knows what that gave and where it leads", () => {
		const r1 = skillRunIn(fold(started(), entered("gather"), left("gather", "write")), "r1");
		expect(r1).not.toHaveProperty("phase");
		expect(r1).toMatchObject({ visits: { gather: 1 }, last: { output: "gather done", next: "write" } });
		const end = fold(started(), entered("gather"), left("gather", "write"), entered("write"), left("write"));
		expect(skillRunIn(end, "r1")?.last).toEqual({ output: "write done" });
	});

	test.each([
		["paused", [paused]],
		["running", [paused, resumed]],
		["completed", [completed]],
		["discarded", [discarded]],
	])("is %s by its last record, and keeps what it had", (status, drafts) => {
		expect(skillRunIn(fold(started(), entered("gather"), ...drafts), "r1")).toMatchObject({
			status,
			visits: { gather: 1 },
		});
	});

	test("counts what it delivers from what its phases came to last, and not from where it was resumed", () => {
		expect(skillRunIn(fold(started(), paused, resumed), "r1")).toMatchObject({ started: 1, since: 1 });
		expect(skillRunIn(fold(started(), entered("gather"), left("gather"), paused, resumed), "r1")).toMatchObject({
			since: 3,
		});
	});

	test("whose start is not on the path does not come to life by its later records", () => {
		expect(fold(entered("gather"), left("gather"), paused, resumed, completed)).toEqual({});
	});

	test("does not touch another one", () => {
		expect(skillRunIn(fold(started("r1"), started("r2"), entered("gather"), completed), "r2")).toMatchObject({
			visits: {},
			status: "running",
		});
	});
});

describe("many runs", () => {
	const starts = Array.from({ length: 300 }, (_, n) => started(`r${n}`));
	const ids = starts.map((_, n) => `r${n}`);

	test("are found by their ids and listed oldest first, and a change of one copies few of the others", () => {
		const before = viewOf(starts);
		const runs = before.get(skillRuns);
		expect(skillRunsOf(runs).map(([id]) => id)).toEqual(ids);
		const next = applied(before, entered("gather")).get(skillRuns);
		expect(copied(next, runs)).toBeLessThan(30);
		expect(skillRunIn(next, "r1")).toMatchObject({ phase: "gather" });
		expect(skillRunIn(next, "r2")).toBe(skillRunIn(runs, "r2"));
	});

	test("of a state in which all lay in one object are found, and the state is that of a fold", () => {
		const folded = fold(...starts);
		const stored = JSON.parse(JSON.stringify(Object.fromEntries(skillRunsOf(folded))));
		expect(skillRuns.migrate?.(stored, 6)).toEqual(folded);
		expect(skillRuns.migrate?.(folded, 7)).toBe(folded);
	});
});

/** How many entries stand in parts of a state that are no parts of the one before. */
function copied(now: SkillRuns | null, before: SkillRuns | null | undefined): number {
	if (now === before || now === null) return 0;
	if (!Array.isArray(now)) return Object.keys(now).length;
	return now.reduce((sum: number, part, n) => sum + copied(part, Array.isArray(before) ? before[n] : undefined), 0);
}

describe("the runs in flight", () => {
	const runs = fold(started("r9"), started("r1"), started("r5"), completed, skillRunPaused({ run: "r5" }));

	test("are those that run or are paused, oldest first", () => {
		expect(inFlightRuns(runs).map(([id]) => id)).toEqual(["r9", "r5"]);
		expect(inFlightRuns({})).toEqual([]);
	});

	test("are found by their id", () => {
		expect(findRun(runs, "r5")).toBe(skillRunIn(runs, "r5"));
	});

	test.each(["r1", "r99", "constructor"])("are named when %s is asked for", (id) => {
		expect(() => findRun(runs, id)).toThrowError(
			expect.objectContaining({
				code: "SKILL_UNKNOWN_RUN",
				message: `no skill run "${id}" is in flight; these are: r9, r5`,
				detail: { run: id, inFlight: ["r9", "r5"] },
			}),
		);
	});

	test("may be none, and the refusal says so", () => {
		expect(() => findRun(fold(started(), discarded), "r1")).toThrow('no skill run "r1" is in flight; none is');
	});

	test("say which records are still needed", () => {
		expect(skillRuns.floor(runs)).toBe(1);
		expect(skillRuns.floor(fold(started("r1"), completed, started("r2")))).toBe(3);
		expect(skillRuns.floor(fold(started(), completed))).toBeUndefined();
	});
});

test("the state of every stage is of the shape that a snapshot is checked against", () => {
	const nothing = skillRunStarted({ run: "r2", skill: "wait", input: undefined });
	const state = fold(started(), entered("gather"), left("gather", "write"), entered("write"), nothing, paused);
	const stored = JSON.parse(JSON.stringify(state));
	expect(skillRuns.schema["~standard"].validate(stored)).toEqual({ value: stored });
});
