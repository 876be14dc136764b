/** What is said of work whose end nobody knows: which step it is, and what becomes of it. */
import type { RuntimeEvent } from "@reyn/runtime";
import { expect, test } from "vitest";
import { eventLines } from "../src/event-lines.ts";

const scope = { agent: "default", session: "main" };

test.each([
	["retry", "it is made again"],
	["skip", "it is skipped, so data may be missing"],
	["discard", "the run is discarded"],
	["reconciled", "it had happened"],
	["waits", "its far side cannot be asked, so the work waits"],
] as const)("an effect in doubt is named with its step, and with what %s does", (decision, what) => {
	const [line, ...more] = eventLines({ type: "in_doubt", scope, lane: "plan/p2/s3", name: "pay", decision });
	expect(more).toEqual([]);
	expect(line).toMatch(
		decision === "reconciled"
			? /^pay \(plan\/p2\/s3\) was under way when the process ended: /
			: /^pay \(plan\/p2\/s3\) was under way .* nobody knows whether it happened: /,
	);
	expect(line).toContain(what);
});

test("a skill run that goes on says what was replayed, what has moved, and what was decided of what was in doubt", () => {
	const of = { type: "skill_resumed", scope, run: "s3", skill: "report", phase: "send", replayed: 3 } as const;
	expect(eventLines({ ...of, again: ["search"], moved: [], inDoubt: [] })).toEqual([
		"resumed report in phase send: 3 steps replayed, 1 asked again (nothing moved)",
	]);
	const inDoubt = [{ name: "pay", decision: "skip" }] as const;
	expect(eventLines({ ...of, replayed: 1, again: ["search", "search", "list"], moved: ["search"], inDoubt })).toEqual([
		"resumed report in phase send: 1 step replayed, 3 asked again (search moved), pay in doubt: it is skipped, so data may be missing",
	]);
});

test("a move that a crash has cut is not said to be a rewind: it may have been an undo", () => {
	const cut = { type: "files_restored", to: 4, changes: [] } as const;
	expect(eventLines({ ...cut, kept: [] })).toEqual([
		"a move that was cut is finished: files hold what they held at #4",
	]);
	expect(eventLines({ ...cut, kept: [{ path: "a.md", why: "it is a directory" }] })).toEqual([
		"a move that was cut is finished, but 1 file was not taken back to #4: a.md (it is a directory)",
	]);
});

test("a configuration file that was put aside is said with both of its names, one that is not recorded with why", () => {
	const [line = ""] = eventLines({ type: "config_kept", path: "a\u001b[2J.yaml", keptIn: "a.yaml.unrecorded-1" });
	expect(line).toMatch(/^the configuration file a.*\.yaml held .*: that is in a\.yaml\.unrecorded-1 now$/);
	expect(line).not.toContain("\u001b");
	expect(eventLines({ type: "config_unrecorded", reason: "it is not UTF-8" })[0]).toContain("it is not UTF-8");
	expect(eventLines({ type: "config_unfinished", reason: "ENOSPC" })[0]).toMatch(/is recorded.*tries again: ENOSPC$/);
});

test("a step of a plan that runs again by itself says why", () => {
	const step = { plan: "p2", step: "s1", index: 1, size: 3, done: 1, description: "Look" };
	const change = { status: "again", reason: "its result\nis lost" } as const;
	expect(eventLines({ type: "plan_step", scope, ...step, change })).toEqual([
		"plan p2 ▸ 1/3 s1 Look runs again: its result is lost",
	]);
});

test("a call that was denied is said, in one line", () => {
	const text = "ERROR: denied: write sum.js: nobody is here\nwho could allow it";
	expect(eventLines({ type: "tool_failed", scope, turn: 2, text })).toEqual([
		"✗ denied: write sum.js: nobody is here who could allow it",
	]);
});

test("a change of a plan is a line: how many steps are over, which one it is, what it took", () => {
	const step = {
		type: "plan_step",
		scope,
		plan: "p3",
		step: "b",
		index: 1,
		size: 5,
		done: 2,
		description: "verify",
	} as const;
	const cost = { calls: 2, inputTokens: 1800, outputTokens: 40 };
	const linesOf = (change: Extract<RuntimeEvent, { type: "plan_step" }>["change"]) => eventLines({ ...step, change });
	expect(linesOf({ status: "running" })).toEqual(["plan p3 ▸ 2/5 b verify …"]);
	expect(linesOf({ status: "retrying", reason: "429", retry: 1, limit: 3 })).toEqual([
		"plan p3 ▸ 2/5 b verify (retry 1/3: 429)",
	]);
	expect(linesOf({ status: "completed", cost, took: 12_400 })).toEqual([
		"plan p3 ▸ 2/5 b verify ✓ after 12 s, 1,840 tokens",
	]);
	expect(linesOf({ status: "failed", reason: "no key", cost: { ...cost, calls: 0 }, took: 185_000 })).toEqual([
		"plan p3 ▸ 2/5 b verify ✗ no key (after 3 min 5 s, tokens unknown)",
	]);
	const other = { id: "c", description: "say it", model: "small", max_tokens: 5000 };
	expect(eventLines({ type: "plan_started", scope, plan: "p3", goal: "g", finished: 0, steps: [other] })).toEqual([
		"plan p3 ▸ 1 steps",
		"    c  by small  5,000 tokens at most  say it",
	]);
	const steps = [{ id: "b", description: "verify" }];
	expect(eventLines({ type: "plan_amended", scope, plan: "p3", steps })).toEqual([
		"plan p3 ▸ 1 steps from here on",
		"    b  verify",
	]);
});
