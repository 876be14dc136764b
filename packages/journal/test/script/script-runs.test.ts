/** The projection of script runs. */
import { View } from "@reyn/snapshot";
import type { Draft } from "@reyn/wal";
import { expect, test } from "vitest";
import { stepCompleted } from "../../src/records.ts";
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

test.each([
	["the same text", { script: "s", args: "a" }, 1],
	["another text", { script: "t", args: "a" }, 2],
	["another text that says the same", { script: "t", program: "p", args: "a" }, 1],
	["another text that says something else", { script: "t", program: "q", args: "a" }, 2],
	["other arguments", { script: "s", program: "p", args: "b" }, 2],
])("%s begins a revision, or does not", (_, version, revision) => {
	const session = { agent: "default", session: "main" };
	const drafts = [
		scriptStarted({ run: "r", name: "s.ts", script: "s", program: "p", args: "a" }),
		scriptResumed({ run: "r", ...version, reuse: "prefix" }),
		scriptResumed({ run: "r", ...version, reuse: "prefix" }),
	];
	const view = drafts.reduce(
		(before, draft) => before.apply({ seq: before.seq + 1, ts: 0, crc: "", scope: session, ...draft }),
		View.empty(session, [scriptRuns]),
	);
	expect(view.get(scriptRuns)).toMatchObject({ r: { ...version, revision } });
	expect("program" in (view.get(scriptRuns).r ?? {})).toBe("program" in version);
});

test("the model of a run is the one that has answered in its revision, or that it is to ask first", () => {
	const scope = { agent: "default", session: "main", run: "r" };
	const answered = (name: string) =>
		stepCompleted({ lane: "script/r", fp: "", occ: 0, kind: "agent", name, result: "" } as never);
	const resumed = (model: string, script = "s") =>
		scriptResumed({ run: "r", script, args: "a", reuse: "prefix", model });
	const modelAfter = (...drafts: readonly Draft[]) => {
		const all = [scriptStarted({ run: "r", name: "s.ts", script: "s", args: "a", model: "first" }), ...drafts];
		return all
			.reduce(
				(before, draft) => before.apply({ seq: before.seq + 1, ts: 0, crc: "", scope, ...draft }),
				View.empty({ agent: "default", session: "main" }, [scriptRuns]),
			)
			.get(scriptRuns).r?.model;
	};
	expect(modelAfter()).toBe("first");
	expect(modelAfter(resumed("second"))).toBe("second");
	expect(modelAfter(resumed("second"), answered("second"), resumed("third"))).toBe("second");
	// It was stopped, as its calls are of the first.
	expect(modelAfter(answered("first"), resumed("second"))).toBe("first");
	expect(modelAfter(answered("first"), resumed("second", "edited"))).toBe("second");
});
