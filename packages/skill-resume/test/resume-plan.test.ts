import type { JournalEntry, JournalState } from "@reyn/journal";
import { describe, expect, test } from "vitest";
import { analyze, type SkillRun } from "../src/index.ts";

const run = (more: Partial<SkillRun> = {}): SkillRun => ({
	skill: "report",
	started: 1,
	since: 1,
	input: {},
	visits: {},
	status: "running",
	...more,
});

const started: JournalEntry = { name: "send", purity: "external", started: 5 };
const completed: JournalEntry = { ...started, outcome: { type: "completed", seq: 6, result: "sent" } };
const failed: JournalEntry = {
	...started,
	outcome: { type: "failed", seq: 6, retryable: true, reason: { message: "busy" } },
};
const answered: JournalEntry = {
	name: "echo",
	purity: "llm",
	outcome: { type: "completed", seq: 7, result: {} },
};

/** A journal with these entries in one lane. */
const journalOf = (lane: string, ...entries: readonly JournalEntry[]): JournalState => ({
	[lane]: { entries: Object.fromEntries(entries.map((entry, i) => [`fp:${i}`, entry])), lastEffect: 0 },
});

describe("a run goes on", () => {
	test.each<[where: string, run: SkillRun, at: unknown]>([
		["at its start, when nothing was entered", run(), { kind: "phase", phase: "gather", visit: 1, entered: false }],
		[
			"inside the phase that was entered",
			run({ phase: "write", visits: { gather: 1, write: 2 } }),
			{ kind: "phase", phase: "write", visit: 2, entered: true },
		],
		[
			"inside a phase that was entered again, not where the one before it led",
			run({ phase: "gather", visits: { gather: 2 }, last: { output: 1, next: "gather" } }),
			{ kind: "phase", phase: "gather", visit: 2, entered: true },
		],
		[
			"at the phase that the last one named",
			run({ visits: { gather: 1 }, last: { output: 1, next: "write" } }),
			{ kind: "phase", phase: "write", visit: 1, entered: false },
		],
		[
			"at the next visit of a phase that was visited before",
			run({ visits: { gather: 3 }, last: { output: 1, next: "gather" } }),
			{ kind: "phase", phase: "gather", visit: 4, entered: false },
		],
		[
			"with nothing but its end, after the last phase",
			run({ visits: { write: 1 }, last: { output: 1 } }),
			{ kind: "end" },
		],
	])("%s", (_, run, at) => {
		expect(analyze("r1", run, "gather", {})).toEqual({ skill: "report", at, inDoubt: [] });
	});
});

describe("in doubt are the steps that were started and never ended", () => {
	const inside = run({ phase: "write", visits: { write: 2 } });
	const inDoubt = (journal: JournalState, of = inside) => analyze("r1", of, "gather", journal).inDoubt;

	test("those, and neither what completed, failed, nor was never a start", () => {
		const other = { ...started, name: "pay" };
		expect(inDoubt(journalOf("skill/r1/write/2", completed, started, failed, answered, other))).toEqual([
			"send",
			"pay",
		]);
	});

	test.each(["skill/r1/write/1", "skill/r1/gather/2", "skill/r2/write/2", "plan/r1/write/2"])(
		"and nothing of the lane %s, which is not this visit's",
		(lane) => {
			expect(inDoubt(journalOf(lane, started))).toEqual([]);
		},
	);

	test("and nothing between phases", () => {
		const between = run({ visits: { write: 2 }, last: { output: 1, next: "write" } });
		expect(inDoubt(journalOf("skill/r1/write/2", started), between)).toEqual([]);
		expect(inDoubt(journalOf("skill/r1/write/2", started), run({ visits: { write: 2 }, last: {} }))).toEqual([]);
	});
});
