/** Where a run goes on, and which of its steps are in doubt. */
import { type JournalState, journal, stepCompleted, stepFailed, stepStarted } from "@reyn/journal";
import { View } from "@reyn/snapshot";
import type { Draft } from "@reyn/wal";
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

/** What is recorded of one step. */
type Story = (step: { lane: string; fp: string }) => readonly Draft[];

const step = (name: string, purity: "external" | "llm") => ({ occ: 0, kind: "step", name, purity });
const startedAs =
	(name: string): Story =>
	(at) => [stepStarted({ ...at, ...step(name, "external") })];
const started = startedAs("send");
const completed: Story = (at) => [
	...started(at),
	stepCompleted({ ...at, ...step("send", "external"), result: "sent" }),
];
const failed: Story = (at) => [
	...started(at),
	stepFailed({ ...at, ...step("send", "external"), retryable: true, reason: { message: "busy" } }),
];
const answered: Story = (at) => [stepCompleted({ ...at, ...step("echo", "llm"), result: {} })];

/** A journal with these steps in one lane. */
function journalOf(lane: string, ...stories: readonly Story[]): JournalState {
	const drafts = stories.flatMap((story, i) => story({ lane, fp: `fp${i}` }));
	return drafts
		.reduce(
			(view, draft, i) => view.apply({ ...draft, seq: i + 1, ts: 0, scope: {}, crc: "" }),
			View.empty({}, [journal]),
		)
		.get(journal);
}

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
		expect(analyze("r1", run, "gather", journalOf("skill/r1"))).toEqual({ skill: "report", at, inDoubt: [] });
	});
});

describe("in doubt are the steps that were started and never ended", () => {
	const inside = run({ phase: "write", visits: { write: 2 } });
	const inDoubt = (state: JournalState, of = inside) => analyze("r1", of, "gather", state).inDoubt;

	test("those, and neither what completed, failed, nor was never a start", () => {
		expect(inDoubt(journalOf("skill/r1/write/2", completed, started, failed, answered, startedAs("pay")))).toEqual([
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
