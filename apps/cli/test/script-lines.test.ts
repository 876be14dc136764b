import { emptyRunView, nextRunView, type ScriptEvent } from "@reyn/runtime";
import { expect, test } from "vitest";
import { viewLines } from "../src/script-lines.ts";

test("a watched run that goes on says what it paid, and what it recalled once that is known", () => {
	const begun: ScriptEvent = { type: "begun", name: "five.ts", isResumed: true, isReadBack: true };
	const paid: ScriptEvent = { type: "part", lane: "script/r1/a", state: "live", tokens: 11 };
	const open = [begun, paid].reduce(nextRunView, emptyRunView);
	expect(viewLines(open)).toEqual(["five.ts: open   recalled: unknown, 11 tokens paid"]);
	const ended = nextRunView(open, { type: "ended", status: "completed", recalled: 33 });
	expect(viewLines(ended)).toEqual(["five.ts: completed   33 tokens recalled, 11 tokens paid"]);
});
