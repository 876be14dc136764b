/** What a skill is as a tool. */
import { expect, test } from "vitest";
import { z } from "zod";
import { defineSkill, done, type Skill, skillTool } from "../src/index.ts";

const skill = (more: object = {}): Skill =>
	defineSkill({
		...{ name: "count", description: "counts", input: z.unknown(), start: "one" },
		phases: { one: async () => done(1) },
		...more,
	}) as Skill;

const calls = { run: async () => "one", answer: () => undefined };
const tool = (more?: object) => skillTool(skill(more), calls);

test("one whose name no tool can have is not offered", () => {
	expect(tool()?.name).toBe("skill_count");
	for (const name of ["weekly report", "naïve", "a/b", "", "a".repeat(59)]) {
		// What was not defined by `defineSkill` may be called anything.
		const named = { ...skill(), name };
		expect(skillTool(named, calls)).toBeUndefined();
	}
});

test("takes what its schema says, where JSON Schema has words for it, and an object in any case", () => {
	const anything = { type: "object" };
	expect(tool()?.parameters).toEqual(anything);
	expect(tool({ input: z.string() })?.parameters).toEqual(anything);
	expect(tool({ input: z.object({ at: z.date() }) })?.parameters).toEqual(anything);
	const standard = { version: 1, vendor: "own", validate: (value: unknown) => ({ value }) };
	expect(tool({ input: { "~standard": standard } })?.parameters).toEqual(anything);
	expect(tool({ input: z.object({ n: z.int() }) })?.parameters).toMatchObject({ ...anything, required: ["n"] });
});

test.each([
	["side_effect", [{ action: "skill", subject: "count" }]],
	["external", [{ action: "skill", subject: "count" }]],
	["world", []],
	["pure", []],
] as const)("that is %s is asked about where it has effects", async (purity, wants) => {
	expect(await tool({ purity })?.wants?.({}, { signal: new AbortController().signal })).toEqual(wants);
});
