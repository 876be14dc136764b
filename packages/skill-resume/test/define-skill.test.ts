/** Definitions of skills. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { defineSkill, done, next, type Phase } from "../src/index.ts";

const write = async () => done("a report");
const spec = { name: "report", description: "Writes", input: z.object({}), start: "write", phases: { write } };

test("a skill is what it was defined as, with ten visits of a phase and effects unless it says otherwise", () => {
	expect(defineSkill(spec)).toEqual({ ...spec, maxVisits: 10, purity: "side_effect" });
	const more = { maxVisits: 2, purity: "pure" } as const;
	expect(defineSkill({ ...spec, ...more })).toEqual({ ...spec, ...more });
});

test("a phase ends with a next one or with none", () => {
	expect(next("write", { facts: 2 })).toEqual({ kind: "next", phase: "write", output: { facts: 2 } });
	expect(done("a report")).toEqual({ kind: "done", output: "a report" });
});

test.each<[string, Record<string, unknown>, string]>([
	["a phase that is none", { phases: { write: 5 } }, "phases.write: expected a function, or { instructions"],
	["no phases", { phases: null }, "phases: expected phases by their names"],
	["a skill without a name", { name: "" }, "name: expected a name of 1 to 200 characters, without /"],
	["a skill whose name is a path", { name: "A/../b" }, "name: expected a name of 1 to 200 characters, without /"],
	["one that is the directory above", { name: ".." }, "name: expected a name of 1 to 200 characters, without /"],
	[
		"a phase without a name",
		{ start: "", phases: { "": write } },
		'phases."": expected a name of 1 to 200 characters, without /',
	],
	[
		"a phase whose name is a path",
		{ phases: { write, "A/../b": write } },
		'phases."A/../b": expected a name of 1 to 200 characters, without /',
	],
	["no schema of its input", { input: 5 }, "input: expected a schema"],
	["no start", { start: undefined }, "start: Invalid input"],
	["a limit of none", { maxVisits: 0 }, "maxVisits: "],
	["a purity that is none", { purity: "clean" }, "purity: "],
])("a definition with what cannot be is refused, and the field named: %s", (_, wrong, message) => {
	expect(() => defineSkill({ ...spec, ...wrong } as typeof spec)).toThrow(
		expect.objectContaining({
			code: "SKILL_GRAPH",
			message: expect.stringContaining(`what is defined is no skill: ${message}`),
		}),
	);
});

test("what is left out by undefined is as it is by default", () => {
	const left = { ...spec, maxVisits: undefined, purity: undefined } as unknown as typeof spec;
	expect(defineSkill(left)).toEqual({ ...spec, maxVisits: 10, purity: "side_effect" });
});

test("nothing at all is no skill", () => {
	expect(() => defineSkill(undefined as unknown as typeof spec)).toThrow(
		expect.objectContaining({ code: "SKILL_GRAPH", message: expect.stringContaining("it: Invalid input") }),
	);
});

describe("phases that cannot be right are refused when a skill is defined", () => {
	const to = (...ways: readonly string[]): Phase<unknown> => ({ instructions: "Work", next: ways });

	test.each<[string, string, Record<string, Phase<unknown>>, string]>([
		["a start that is none", "gather", { write }, 'begins with phase "gather", which it lacks; its phases are write'],
		["a way to none", "a", { a: to("toString", "done") }, 'goes from phase "a" to "toString", which it lacks'],
		["no way at all", "a", { a: to() }, 'has no way out of phase "a"'],
		["a phase that is called as the end is", "a", { a: to("done"), done: to("a") }, 'calls a phase "done"'],
		["one that nothing leads to", "a", { a: to("done"), b: to("done") }, 'never comes to phase "b"'],
		["a circle", "a", { a: to("b"), b: to("a") }, 'has no way to the end from phase "a"'],
		["a circle that one may fall into", "a", { a: to("b", "done"), b: to("b") }, 'no way to the end from phase "b"'],
	])("%s", (_, start, phases, message) => {
		expect(() => defineSkill({ ...spec, start, phases })).toThrow(
			expect.objectContaining({ code: "SKILL_GRAPH", message: expect.stringContaining(message) }),
		);
	});

	test.each<[string, Record<string, Phase<unknown>>]>([
		["a function may lead anywhere, also to the end", { a: to("b"), b: async () => done(1), c: to("a") }],
		["the end is where nothing else is said", { a: { instructions: "Work" } }],
		["round and out", { a: to("b"), b: to("a", "done") }],
	])("but not: %s", (_, phases) => {
		expect(defineSkill({ ...spec, start: "a", phases }).phases).toBe(phases);
	});
});
