/** Steps as they are typed: what is sent of them, what is kept of them, and where an error about them is shown. */
import { expect, test } from "vitest";
import { amendmentOf, type Draft, doubled, draftsOf, newDraft, placed } from "../src/page/amendment.ts";

const step = (id: string, status = "pending", more: object = {}) => ({
	...{ id, status, description: `do ${id}`, tools: ["read"], needs: [], again: [id], attempt: 0 },
	...more,
});
const steps = [step("a", "completed"), step("b"), step("c", "pending", { needs: ["a", "b"], max_tokens: 900 })];
const typed = (id: string, to: Partial<Draft>, of = draftsOf(steps)): readonly Draft[] =>
	of.map((draft) => (draft.id === id ? { ...draft, ...to } : draft));

test("what was not changed is not sent, and a step is sent whole", () => {
	expect(amendmentOf(draftsOf(steps))).toEqual({ put: [], drop: [] });
	expect(amendmentOf(typed("c", { description: "say it" }))).toEqual({
		put: [{ id: "c", description: "say it", tools: ["read"], depends_on: ["a", "b"], max_tokens: 900 }],
		drop: [],
	});
	expect(amendmentOf(typed("b", { isDropped: true, description: "x" }))).toEqual({ put: [], drop: ["b"] });
	// What has begun is not touched, whatever is typed.
	expect(amendmentOf(typed("a", { isDropped: true, description: "x" }))).toEqual({ put: [], drop: [] });
});

test("lists are typed with commas or blanks, numbers with commas; what is no number is sent as it is", () => {
	const sent = (most: string) =>
		amendmentOf(typed("b", { needs: " a  c,,", tools: "", model: " small ", most })).put[0];
	expect(sent("2,500")).toEqual({
		...{ id: "b", description: "do b", tools: [], depends_on: ["a", "c"] },
		...{ model: "small", max_tokens: 2500 },
	});
	expect(sent("many")).toMatchObject({ max_tokens: "many" });
	expect(sent(" ")).not.toHaveProperty("max_tokens");
});

test("an error is shown at what it is about, behind steps that are left out too; else it is about all", () => {
	const drafts = [...typed("b", { isDropped: true }), { ...newDraft("+1"), id: "d" }];
	const problems = [
		"steps.1.description: expected at most 500 characters; found 600",
		"steps.2.depends_on.0: expected a string",
		'step "d" wants the tool "saw"; a step may use read',
		'step "c" is running',
		"steps.0.description: not of a step that can be mended",
		"the steps c, d wait for each other; the dependencies must not form a cycle",
	];
	const { at, all } = placed(problems, drafts);
	expect([...at]).toEqual([
		["step-c-description", 'expected at most 500 characters; found 600; step "c" is running'],
		["step-+1-needs", "expected a string"],
		["step-+1-tools", problems[2]],
	]);
	expect(all).toEqual(problems.slice(4));
});

test("a new step of a name that there is would take its place, and is said before", () => {
	expect(doubled([...draftsOf(steps), { ...newDraft("+1"), id: " b" }]).at.get("step-+1-id")).toContain('"b"');
	expect(doubled(draftsOf(steps)).at.size).toBe(0);
});

test("what was typed is kept for steps that have not begun; what was not typed is as it is now", () => {
	const kept = [...typed("c", { description: "mine" }), { ...newDraft("+1"), id: "d" }];
	const now = [step("a", "completed"), step("b", "pending", { description: "theirs" }), steps[2] as (typeof steps)[0]];
	expect(draftsOf(now, kept).map(({ id, description }) => [id, description])).toEqual([
		["a", "do a"],
		["b", "theirs"],
		["c", "mine"],
		["d", ""],
	]);
	const begun = [...now.slice(0, 2), step("c", "running")];
	expect(draftsOf(begun, kept)[2]?.description).toBe("do c");
});
