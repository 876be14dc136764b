/** What of a record stands in the audit trail: every kind of record has its line, or is said to have none. */
import { stepCompleted, stepFailed, stepStarted } from "@reyn/journal";
import { taskBegun, taskRebound, taskReported, taskSeen, taskSubscribed, taskUnbound } from "@reyn/tasks";
import { type Draft, type Scope, type WalRecord, walEpoch, walLost, walRecovered, walRepaired } from "@reyn/wal";
import { describe, expect, test } from "vitest";
import { builtIn } from "../src/features/index.ts";
import { allRecords } from "../src/index.ts";
import { type Audited, auditOwn, brief } from "../src/kernel/audit.ts";

const scope: Scope = { agent: "default", session: "main" };
const audits = [auditOwn, ...builtIn({}).list.flatMap((feature) => feature.audit?.bind(feature) ?? [])];

/** As JSON, as it is written. */
function audited(kind: string, data: object, seq = 7): Audited | undefined {
	const record = { seq, ts: 0, kind, scope, data, crc: "" } as WalRecord;
	const found = audits.flatMap((audit) => audit(record) ?? []);
	expect(found.length, "no record has two lines").toBeLessThan(2);
	return found[0] && JSON.parse(JSON.stringify(found[0]));
}

const step = { lane: "turn/2", fp: "f", occ: 0, kind: "tool", name: "write", purity: "side_effect" } as const;
const model = { ...step, kind: "model", name: "offline", purity: "llm" } as const;
const cost = { calls: 2, inputTokens: 30, outputTokens: 4 };
const long = "word ".repeat(100);
const cut = `${"word ".repeat(23)}word…`;

const lines: readonly (readonly [kind: string, data: object, line: object])[] = [
	["user_prompt", { text: "a secret matter", by: "person" }, { kind: "turn", what: "begun", turn: 7, by: "person" }],
	["turn_completed", { turn: 2 }, { kind: "turn", what: "ended", turn: 2 }],
	["turn_interrupted", { turn: 2, reason: long }, { kind: "turn", what: "interrupted", turn: 2, why: cut }],
	["compaction_asked", { model: "offline" }, { kind: "turn", what: "begun", turn: 7, by: "person", to: "compact" }],
	["conversation_compacted", { turn: 2, upTo: 1, text: "private" }, { kind: "turn", what: "compacted", turn: 2 }],
	[
		"conversation_compacted",
		{ turn: 2, upTo: 2, text: "private", by: "person", tokens: { before: 90, after: 9 } },
		{ kind: "turn", what: "compacted", turn: 2, by: "person", tokens: { before: 90, after: 9 } },
	],
	[
		"step_completed",
		{ ...model, result: { text: "private" }, usage: { inputTokens: 5, outputTokens: 1 } },
		{ kind: "model", what: "ended", name: "offline", inputTokens: 5, outputTokens: 1, paid: true },
	],
	[
		"step_completed",
		{ ...model, adopts: 3, usage: { inputTokens: 5, outputTokens: 1, cachedInputTokens: 2 } },
		{ kind: "model", what: "ended", adopts: 3, inputTokens: 5, outputTokens: 1, cachedInputTokens: 2, paid: false },
	],
	// Nobody has said what it cost.
	["step_completed", model, { kind: "model", what: "ended", name: "offline", lane: "turn/2", purity: "llm" }],
	[
		"step_failed",
		{ ...model, attempt: 2, retryable: true, reason: { message: "away\n\nnow", code: 503 } },
		{ kind: "model", what: "failed", attempt: 2, code: 503, why: "away now", retried: true },
	],
	[
		"step_started",
		{ ...step, prepared: { path: "src/a.ts", says: "private" } },
		{ kind: "tool", what: "started", name: "write", lane: "turn/2", subject: "src/a.ts", purity: "side_effect" },
	],
	[
		"step_started",
		{ ...step, name: "shell", prepared: { command: `npm\ntest ${"x".repeat(300)}` } },
		{ kind: "tool", what: "started", name: "shell", subject: `npm test ${"x".repeat(110)}…` },
	],
	["step_started", { ...step, started: 3 }, { kind: "tool", what: "again", started: 3 }],
	["step_completed", { ...step, started: 3, result: "private" }, { kind: "tool", what: "ended", started: 3 }],
	[
		"step_failed",
		{ ...step, retryable: false, told: true, reason: { message: "denied: write a", code: "PERMISSION_DENIED" } },
		{ kind: "tool", what: "denied", code: "PERMISSION_DENIED", why: "denied: write a" },
	],
	[
		"step_failed",
		{ ...step, retryable: true, told: true, forgotten: true, reason: { message: "once" } },
		{ kind: "tool", what: "forgotten", why: "once" },
	],
	["step_started", { ...step, kind: "step", name: "pay" }, { kind: "step", what: "started", name: "pay" }],
	[
		"step_started",
		{ ...step, kind: "ask", name: "ask", place: { at: 0, chain: "c", loose: "l", label: "How much?", fields: {} } },
		{ kind: "question", what: "asked", subject: "How much?", lane: "turn/2" },
	],
	[
		"step_completed",
		{ ...step, kind: "ask", name: "ask", started: 3, result: "private" },
		{ kind: "question", what: "answered", lane: "turn/2", started: 3 },
	],
	[
		"step_late",
		{ reset: 6, kind: "step_completed", data: { ...step, result: "private" } },
		{ kind: "tool", what: "late", name: "write", lane: "turn/2", of: "step_completed", reset: 6 },
	],
	[
		"question_asked",
		{ key: "k", from: { kind: "turn", id: "2" }, question: "write src/a.ts?", lines: ["private"] },
		{ kind: "question", what: "asked", from: { kind: "turn", id: "2" }, subject: "write src/a.ts?" },
	],
	[
		"question_answered",
		{ question: 5, text: "no: that is private", by: "ada" },
		{ kind: "question", what: "answered", question: 5, by: "ada", answer: "no" },
	],
	[
		"question_answered",
		{ question: 5, text: "nothing private", by: "ada" },
		{ kind: "question", what: "answered", question: 5, by: "ada" },
	],
	[
		"fact_permission_granted",
		{ action: "run", on: "npm test", agent: "default", session: "main", by: "ada" },
		{ kind: "permission", what: "granted", action: "run", subject: "npm test", session: "main", by: "ada" },
	],
	[
		"fact_budget_extended",
		{ limit: "turn_usd", of: "turn/2", to: 3, by: "ada" },
		{ kind: "budget", what: "extended", limit: "turn_usd", of: "turn/2", to: 3, by: "ada" },
	],
	["fact_permission_revoked", { grant: 5, by: "ada" }, { kind: "permission", what: "revoked", grant: 5, by: "ada" }],
	[
		"plan_started",
		{ plan: "p2", goal: long, steps: 3, decomposition: "d" },
		{ kind: "plan", what: "started", plan: "p2", subject: cut, steps: 3 },
	],
	[
		"plan_step_started",
		{ plan: "p2", step: "a", attempt: 1 },
		{ kind: "plan", what: "step started", plan: "p2", step: "a", attempt: 1 },
	],
	[
		"plan_step_completed",
		{ plan: "p2", step: "a", result: "private", cost },
		{ kind: "plan", what: "step ended", plan: "p2", step: "a", ...cost },
	],
	[
		"plan_step_failed",
		{ plan: "p2", step: "a", reason: long },
		{ kind: "plan", what: "step failed", plan: "p2", step: "a", why: cut },
	],
	["plan_steps_reset", { plan: "p2", steps: ["a"] }, { kind: "plan", what: "steps reset", plan: "p2", steps: ["a"] }],
	[
		"plan_steps_reset",
		{ plan: "p2", steps: ["a"], why: "its result is lost" },
		{ kind: "plan", what: "steps reset", plan: "p2", steps: ["a"], why: "its result is lost" },
	],
	[
		"plan_step_extended",
		{ plan: "p2", step: "a", limit: "retries" },
		{ kind: "plan", what: "limit extended", plan: "p2", step: "a", limit: "retries" },
	],
	[
		"plan_amended",
		{ plan: "p2", steps: 3, decomposition: "private", by: "person" },
		{ kind: "plan", what: "amended", plan: "p2", steps: 3, by: "person" },
	],
	["plan_paused", { plan: "p2" }, { kind: "plan", what: "paused", plan: "p2" }],
	["plan_resumed", { plan: "p2" }, { kind: "plan", what: "resumed", plan: "p2" }],
	["plan_completed", { plan: "p2" }, { kind: "plan", what: "ended", plan: "p2" }],
	[
		"plan_aborted",
		{ plan: "p2", reason: "no", by: "person", tell: "private" },
		{ kind: "plan", what: "discarded", plan: "p2", by: "person", why: "no" },
	],
	[
		"skill_run_started",
		{ run: "r1", skill: "digest", input: "private" },
		{ kind: "skill", what: "started", run: "r1", name: "digest" },
	],
	[
		"skill_phase_entered",
		{ run: "r1", phase: "a", visit: 1 },
		{ kind: "skill", what: "phase started", run: "r1", phase: "a", visit: 1 },
	],
	[
		"skill_phase_completed",
		{ run: "r1", phase: "a", visit: 1, output: "private", next: "b" },
		{ kind: "skill", what: "phase ended", run: "r1", phase: "a", visit: 1, next: "b" },
	],
	["skill_run_completed", { run: "r1" }, { kind: "skill", what: "ended", run: "r1" }],
	["skill_run_paused", { run: "r1" }, { kind: "skill", what: "paused", run: "r1" }],
	[
		"skill_run_paused",
		{ run: "r1", reason: "it has failed" },
		{ kind: "skill", what: "paused", run: "r1", why: "it has failed" },
	],
	[
		"skill_run_failed",
		{ run: "r1", phase: "a", visit: 2, place: "a/2 no mail", reason: "no mail" },
		{ kind: "skill", what: "failed", run: "r1", phase: "a", visit: 2, why: "no mail" },
	],
	["skill_run_went_on", { run: "r1" }, { kind: "skill", what: "went on", run: "r1" }],
	["skill_run_stopped", { run: "r1" }, { kind: "skill", what: "stopped", run: "r1" }],
	["skill_run_resumed", { run: "r1" }, { kind: "skill", what: "resumed", run: "r1" }],
	[
		"skill_run_discarded",
		{ run: "r1", reason: "no", tell: "private" },
		{ kind: "skill", what: "discarded", run: "r1", why: "no" },
	],
	[
		"script_started",
		{ run: "s1", name: "review.ts", script: "abc", args: "def" },
		{ kind: "script", what: "started", run: "s1", name: "review.ts", script: "abc" },
	],
	[
		"script_resumed",
		{ run: "s1", script: "abc", args: "def", reuse: "prefix" },
		{ kind: "script", what: "resumed", run: "s1", script: "abc" },
	],
	["script_completed", { run: "s1", result: "hash" }, { kind: "script", what: "ended", run: "s1" }],
	[
		"script_failed",
		{ run: "s1", reason: { message: long, code: "X", detail: "private" } },
		{ kind: "script", what: "failed", run: "s1", code: "X", why: cut },
	],
	[
		"file_changed",
		{ path: "settings.yaml", content: "private" },
		{ kind: "config", what: "changed", path: "settings.yaml" },
	],
	[
		"file_changed",
		{ path: "settings.yaml", content: null },
		{ kind: "config", what: "removed", path: "settings.yaml" },
	],
	["session_opened", {}, { kind: "session", what: "opened" }],
	[
		"reset",
		{ target: 2, mode: "both", actor: "ada" },
		{ kind: "move", what: "moved", target: 2, mode: "both", actor: "ada" },
	],
	["reset", { target: 2, mode: "undo", actor: "ada", undoes: 5 }, { kind: "move", what: "undone", undoes: 5 }],
	["reset", { target: 2, mode: "redo", actor: "ada", redoes: 5 }, { kind: "move", what: "redone", redoes: 5 }],
	[
		"label",
		{ name: "good", target: 2, actor: "ada" },
		{ kind: "move", what: "labelled", label: "good", target: 2, actor: "ada" },
	],
	[
		"label",
		{ name: "good", target: 9, was: 2, actor: "ada" },
		{ kind: "move", what: "labelled", label: "good", target: 9, was: 2, actor: "ada" },
	],
	[
		"reset",
		{ target: 2, drop: [], mode: "adopt", actor: "ada", along: { files: { theirs: [], only: ["a.ts"] } } },
		{ kind: "move", what: "adopted", target: 2, actor: "ada" },
	],
	[
		"message_adopted",
		{ from: 9, source: { message: 4 }, text: "private", actor: "ada" },
		{ kind: "move", what: "adopted", target: 9, message: 4, actor: "ada" },
	],
	[
		"message_adopted",
		{ from: 9, source: { plan: "p2", step: "s1" }, text: "private", actor: "ada" },
		{ kind: "move", what: "adopted", target: 9, plan: "p2", step: "s1", actor: "ada" },
	],
	["label", { name: "good", target: 2, gone: true, actor: "ada" }, { kind: "move", what: "unlabelled", label: "good" }],
	[
		"rewind_note",
		{ target: 2, actor: "ada", text: "private", counts: {} },
		{ kind: "move", what: "noted", target: 2, actor: "ada" },
	],
	[
		walEpoch.kind,
		{ epoch: 2, pid: 5, host: "here" },
		{ kind: "process", what: "opened", epoch: 2, pid: 5, host: "here" },
	],
	[
		taskSubscribed.kind,
		{ task: "t1", role: "assignee", holder: { agent: "default", session: "main" }, title: "private", status: "ready" },
		{ kind: "task", what: "bound", task: "t1", role: "assignee" },
	],
	[
		taskRebound.kind,
		{
			...{ task: "t1", role: "assignee", title: "private", status: "ready" },
			...{ from: { task: "t2" }, to: { agent: "default", session: "main" } },
		},
		{ kind: "task", what: "bound anew", task: "t1", role: "assignee" },
	],
	[
		taskUnbound.kind,
		{ task: "t1", role: "assignee", holder: { task: "t2" }, why: "gone", tell: "private" },
		{ kind: "task", what: "unbound", task: "t1", role: "assignee", why: "gone" },
	],
	[
		taskSeen.kind,
		{ task: "t1", title: "private", status: "done", tell: "private" },
		{ kind: "task", what: "seen", task: "t1", status: "done" },
	],
	[taskBegun.kind, { task: "t1", work: "t0f" }, { kind: "task", what: "begun", task: "t1", work: "t0f" }],
	[
		taskReported.kind,
		{ task: "t1", work: "t0f", key: "private" },
		{ kind: "task", what: "reported", task: "t1", work: "t0f" },
	],
	[
		walRecovered.kind,
		{ seq: 3, bytes: 9, sha256: "x", keptIn: "wal.jsonl.broken-1" },
		{ kind: "log", what: "recovered", bytes: 9, keptIn: "wal.jsonl.broken-1" },
	],
	[
		walRepaired.kind,
		{ lost: [[3, 4]], why: "rot", keptIn: ["a"] },
		{ kind: "log", what: "repaired", lost: [[3, 4]], why: "rot", keptIn: ["a"] },
	],
];

test.each(lines)("%s %j", (kind, data, line) => {
	const found = audited(kind, data);
	expect(found).toMatchObject(line);
	expect(JSON.stringify(found)).not.toContain("private");
});

describe("a record", () => {
	/** What is worth no line: what was said, boundaries, and what another record says too. */
	const silent = [
		...["assistant_message", "message_delivered", "tool_failed"],
		...[
			"checkpoint",
			"reset_settled",
			"config_settled",
			"task_told",
			"task_kept",
			"lane_closed",
			"lane_failed",
			walLost.kind,
		],
	];

	test("of every kind has a line, or is said to have none", () => {
		const known = [
			...allRecords.map(({ kind }) => kind),
			walEpoch.kind,
			walRecovered.kind,
			walRepaired.kind,
			walLost.kind,
		];
		const told = new Set(lines.map(([kind]) => kind));
		expect([...told, ...silent].sort()).toEqual([...new Set(known)].sort());
		for (const kind of silent)
			expect(audited(kind, { text: "x", lane: "l", kind: "turn", title: "t" }), kind).toBeUndefined();
	});

	test("of a step that only thinks or looks at a clock has none", () => {
		const drafts: readonly Draft[] = [
			stepCompleted({ ...step, kind: "now", name: "now", purity: "world" }),
			stepStarted({ ...step, kind: "agent", purity: "llm" }),
			stepFailed({ ...step, kind: "step", purity: "pure", retryable: false, reason: { message: "x" } }),
		];
		for (const { kind, data } of drafts) expect(audited(kind, data as object)).toBeUndefined();
	});

	test("of any kind that nobody knows has none", () => {
		expect(audited("poll_opened", { poll: "p1" })).toBeUndefined();
	});
});

test("a text is cut to a title, however long it is", () => {
	expect(brief("one\n two\tthree ")).toBe("one two three");
	expect(brief(long)).toBe(cut);
	expect(brief("x".repeat(1_000_000))).toHaveLength(120);
	expect(brief(`a${" ".repeat(1000)}b`)).toBe("a…");
});
