/** Cards say what is recorded, so they are the same in the next process: plans, what failed in them, what was asked. */
import type { StepOfPlan } from "@reyn/runtime";
import { expect, test } from "vitest";
import { type PlanCard, planLines, recordedPlan, toldPlans, waitingLines } from "../../src/chat/cards.ts";

const scope = { agent: "default", session: "main" };
const cost = { calls: 2, inputTokens: 10, outputTokens: 1 };
const attempt = 0;
const recorded: readonly StepOfPlan[] = [
	{
		id: "s1",
		tools: [],
		needs: [],
		again: [],
		description: "list files",
		status: "completed",
		attempt,
		cost,
		result: "a\nb",
	},
	{
		id: "s2",
		tools: [],
		needs: [],
		again: [],
		description: "read the scanner",
		status: "failed",
		attempt,
		reason: "HTTP\n500",
	},
	{ id: "s3", tools: [], needs: [], again: [], description: "find tests", status: "running", attempt },
	{ id: "s4", tools: [], needs: [], again: [], description: "compare", status: "pending", attempt },
];
const plan = { plan: "p2", goal: "compare four parsers", status: "running", finished: 1, failed: 1 } as const;

/** What the process knows that was told as it happened. */
function told(): PlanCard {
	const steps = recorded.map(({ id, description }) => ({ id, description, depends_on: [], tools: [] }));
	const [card] = toldPlans(toldPlans([], { type: "plan_started", scope, ...plan, steps }), {
		type: "plan_step",
		scope,
		plan: "p2",
		step: "s3",
		index: 3,
		size: 4,
		done: 2,
		description: "find tests",
		change: { status: "retrying", retry: 1, limit: 3, reason: "429" },
	});
	return card as PlanCard;
}

test("a plan has all of its steps where nobody was told of them, and says more where somebody was", () => {
	expect(planLines(recordedPlan(plan, recorded, undefined))).toEqual([
		"compare four parsers   2/4",
		"✓ s1  list files  (completed, 11 tokens)",
		"✗ s2  read the scanner  (failed, HTTP 500)",
		"▸ s3  find tests  (running, not in this process)",
		"· s4  compare  (waits)",
	]);
	expect(planLines(recordedPlan({ ...plan, status: "paused" }, recorded, told()))).toContain(
		"· s3  find tests  (waits, begun)",
	);
	expect(planLines(recordedPlan(plan, recorded, told()))).toContain("▸ s3  find tests  (running, retry 1 of 3)");
});

test("what failed and what was asked is said again at the next start, with what to do", () => {
	const questions = [
		{ seq: 7, scope: {}, from: { kind: "script", id: "r2" }, question: "Which\nrelease?" },
		{
			...{ seq: 9, scope: {}, from: { kind: "turn", id: "8" }, question: "write a?" },
			...{ lines: ["- b", "+ c"], choices: ["once", "no"], explained: "no" },
		},
	];
	expect(waitingLines([recordedPlan(plan, recorded, undefined)], questions)).toEqual([
		"✗ step s2 of plan p2 failed: HTTP 500 · /plan retry p2 s2",
		"? #7 script r2 asks: Which release?",
		'  answer with: /answer 7 "…"',
		"? #9 turn 8 asks: write a?",
		"    - b",
		"    + c",
		'  answer with: /answer 9 once|no|"no: …"',
	]);
});

test("a plan that is amended has its new steps, and what became of those that stay", () => {
	const kept = recorded.slice(0, 3).map(({ id, description }) => ({ id, description: `${description} again` }));
	const steps = [...kept, { id: "s5", description: "say it" }];
	const [card] = toldPlans([told()], { type: "plan_amended", scope, plan: "p2", steps });
	expect(planLines(card as PlanCard).slice(-2)).toEqual([
		"▸ s3  find tests again  (running, retry 1 of 3)",
		"· s5  say it  (waits)",
	]);
});
