/** The differences of two states, and a preview, as people read them. */
import type { BlastRadius, StateDiff } from "@reyn/runtime";
import { expect, test } from "vitest";
import { radiusLines } from "../src/lines/blast-radius.ts";
import { diffText, statOf } from "../src/lines/diff.ts";

const diff: StateDiff = {
	from: 2,
	to: 9,
	scope: { agent: "default", session: "main" },
	projections: {
		talk: [
			{ kind: "spliced", path: ["items"], at: 1, before: ["a"], after: ["b", "c"] },
			{ kind: "added", path: ["open"], after: 1 },
			{ kind: "removed", path: ["shut"], before: 1 },
			{ kind: "changed", path: ["state"], before: 1, after: 2 },
		],
		work: [],
	},
};

test("every item that a list lost or won is counted, and every field", () => {
	expect(statOf(diff)).toEqual({
		talk: { added: 3, removed: 2, changed: 1 },
		work: { added: 0, removed: 0, changed: 0 },
	});
});

test("a difference is shown without control codes, and each value on one line of bounded width", () => {
	const text = `\u009b2J\u202e${"long ".repeat(100)}\n`;
	const lines = diffText({ ...diff, projections: { talk: [{ kind: "added", path: ["text"], after: text }] } });
	expect(lines).toHaveLength(3);
	// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this looks for
	expect(lines.join("")).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202e]/);
	expect(lines[2]).toMatch(/^ {2}\+ text: "2Jlong /);
	expect(lines[2]?.length).toBeLessThan(170);
});

test("equal states are said to be equal", () => {
	expect(diffText({ ...diff, projections: { talk: [] } })).toEqual(["#2 → #9 of default/main", "nothing differs"]);
});

test("a preview says what there is to say, and no more", () => {
	const nothing = { records: 0, turns: 0, sessions: [], plans: [], runs: [], scripts: [] };
	const held = { all: 1, unfinished: 1 };
	const holding = { sessions: 1, messages: 4, plans: held, runs: held, scripts: held, others: held, questions: 1 };
	const rest = { before: holding, after: holding, withdraws: { questions: [], messages: [] }, config: [], grants: 0 };
	const paid = { calls: 2, tokens: 40, cost: { usd: "0.5", unknown: 0 } };
	const quiet: BlastRadius = {
		...rest,
		leaves: nothing,
		returns: nothing,
		stays: nothing,
		cancels: { turns: [], plans: [], runs: [], scripts: [] },
		interrupts: [],
		relaunches: { plans: [], runs: [] },
		pauses: { plans: [], runs: [] },
	};
	expect(radiusLines(quiet, 7)).toEqual(["leaves behind 0 records, 0 turns"]);
	expect(
		radiusLines(
			{
				...rest,
				leaves: {
					...{ records: 1, turns: 1, sessions: ["default/main"], plans: ["p3"] },
					runs: ["s1"],
					scripts: ["r2"],
					paid,
				},
				returns: { records: 2, turns: 0, sessions: ["default/side"], plans: [], runs: [], scripts: [] },
				stays: { records: 3, turns: 2, sessions: ["bob/main"], plans: [], runs: [], scripts: [] },
				cancels: { turns: [8], plans: ["p9"], runs: [], scripts: [] },
				interrupts: [5],
				relaunches: { plans: ["p3"], runs: [], paid },
				pauses: { plans: [], runs: ["s1"] },
				withdraws: { questions: [{ seq: 8, scope: {}, text: "May I?\u001b[2J" }], messages: [] },
				config: [{ path: "settings.yaml", change: "changed" }],
				grants: 1,
			},
			7,
		),
	).toEqual([
		"leaves behind 1 record, 1 turn in default/main: plan p3, skill run s1, script run r2",
		"brings back 2 records, 0 turns in default/side",
		"keeps, of what came after #7, 3 records, 2 turns in bob/main",
		"ends unfinished work that is not there at #7: turn #8, plan p9",
		"closes without an answer: turn #5",
		"starts again from #7: plan p3; 2 model calls, 40 tokens ($0.5000) are paid again",
		"leaves unfinished and paused: skill run s1; who resumes it pays an unknown number of tokens again",
		"withdraws the question #8: May I?[2J",
		"takes the configuration along: settings.yaml changed back",
		"does not take back: 2 model calls, 40 tokens ($0.5000) stay paid; 1 permission given since stays",
	]);
});
