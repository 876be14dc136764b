/** The projection of script runs. */
import { View } from "@reyn/snapshot";
import { expect, test } from "vitest";
import { scriptCompleted, scriptResumed, scriptRuns, scriptStarted } from "../../src/script/index.ts";

test("a run whose start is not on the path does not come to life, though every object has its name", () => {
	const session = { agent: "default", session: "main" };
	const resumed = scriptResumed({ run: "constructor", script: "s", args: "a", reuse: "prefix" });
	const started = scriptStarted({ run: "toString", name: "s.ts", script: "s", args: "a" });
	const drafts = [resumed, scriptCompleted({ run: "valueOf" }), started, scriptCompleted({ run: "toString" })];
	const view = drafts.reduce(
		(before, draft) => before.apply({ seq: before.seq + 1, ts: 0, crc: "", scope: session, ...draft }),
		View.empty(session, [scriptRuns]),
	);
	expect(Object.entries(view.get(scriptRuns))).toMatchObject([["toString", { started: 3, status: "completed" }]]);
});
