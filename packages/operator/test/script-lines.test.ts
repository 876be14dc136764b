/** The preview and the progress of a script run as lines for people. */
import { callsOf, type Explanation, emptyRunView, nextRunView, type RunView, type ScriptEvent } from "@reyn/runtime";
import { expect, test } from "vitest";
import { explanationLines, scriptViewLines } from "../src/lines/script.ts";

const explanation: Explanation = {
	calls: [
		{
			lane: "script/r1",
			at: 0,
			kind: "agent",
			label: "b",
			state: "live",
			why: "changed",
			saved: 0,
			guessed: 0,
			toPay: 11,
		},
		{ lane: "script/r1", at: 1, kind: "agent", label: "c", state: "hit", seq: 6, saved: 22, guessed: 22, toPay: 0 },
	],
	saved: 22,
	guessed: 22,
	toPay: 11,
	unknown: 0,
	percentFree: undefined,
	isWhole: true,
	assumed: 1,
	unreached: [],
	divergences: [],
};

test("what a preview cannot know to be all is said to be the least", () => {
	expect(explanationLines(explanation)).toEqual([
		"    live  agent b  11 to pay  changed",
		"#6  hit   agent c  22 saved   if what is assumed comes so",
		"unknown % replayed free   22 tokens saved, 22 of them only if what is assumed comes so   at least 11 tokens still to pay",
		"1 of them not recorded: what follows them may come otherwise",
	]);
	const beyond = { ...explanation, guessed: 0, isWhole: false, beyond: "it threw" };
	expect(explanationLines(beyond)).toContain(
		"unknown % replayed free   22 tokens saved   at least 11 tokens still to pay",
	);
	const unreached = Array.from({ length: 7 }, (_, i) => ({ seq: 10 + i, label: `mail ${i}\u202e` }));
	const edited = [{ seq: 4, label: "h", instead: "h2" }];
	expect(explanationLines({ ...explanation, unreached: edited })).toContain(
		"made before, and with another call in its place here: h #4; where an answer comes otherwise it may be made again",
	);
	expect(explanationLines({ ...explanation, unreached })).toContain(
		"made before, and not come to here: mail 0 #10, mail 1 #11, mail 2 #12, mail 3 #13, mail 4 #14, and 2 more; where an answer comes otherwise it may be made again",
	);
	const refused = { expected: 'agent "a\u202e"', got: 'agent "b"', seq: 4, path: "script/r1[0]" };
	expect(explanationLines({ ...explanation, refused }).at(-1)).toBe(
		'would stop, and call nothing: script/r1[0] #4: expected agent "a"; got agent "b"',
	);
	const whole = { ...explanation, guessed: 0, percentFree: 67 };
	expect(explanationLines(whole)).toContain("67 % replayed free   22 tokens saved   11 tokens still to pay");
});

const linesOf = (view: RunView) => scriptViewLines({ ...view, calls: callsOf(view) });

test("a watched run that goes on says what it paid, and what it recalled once that is known", () => {
	const begun: ScriptEvent = { type: "begun", name: "five.ts", isResumed: true, isReadBack: true };
	const paid: ScriptEvent = { type: "part", lane: "script/r1/a", state: "live", tokens: 11 };
	const open = [begun, paid].reduce(nextRunView, emptyRunView);
	expect(linesOf(open)).toEqual(["five.ts: open   recalled: unknown, 11 tokens paid"]);
	const ended = nextRunView(open, { type: "ended", status: "completed", recalled: 33 });
	expect(linesOf(ended)).toEqual(["five.ts: completed   33 tokens recalled, 11 tokens paid"]);
});
