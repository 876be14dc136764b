/** Which plans are taken, and what a refused one is told. */
import { describe, expect, test } from "vitest";
import { terminalStep } from "../src/decomposition.ts";
import { PLAN_TOOL, parseDecomposition, planTool, withDependents } from "../src/index.ts";
import { planOf } from "./plan-process.ts";

const tools = ["read_file", "search_files"];

/** A step as a model writes it. */
const step = (id: string, more: Record<string, unknown> = {}) => ({ id, description: `Do ${id}`, ...more });
const after = (...needs: string[]) => ({ depends_on: needs });
const proposal = (...steps: unknown[]) => ({ goal: "Find out", steps });

test("what a model may leave out is filled in", () => {
	expect(parseDecomposition(proposal(step("s1"), step("s2", after("s1"))), tools)).toEqual({
		goal: "Find out",
		steps: [
			{ id: "s1", description: "Do s1", tools: [], depends_on: [] },
			{ id: "s2", description: "Do s2", tools: [], depends_on: ["s1"] },
		],
	});
});

describe("a plan that cannot be run is refused with everything that is wrong, and nothing else", () => {
	const chain = (count: number) =>
		Array.from({ length: count }, (_, i) => step(`s${i}`, i > 0 ? after(`s${i - 1}`) : {}));

	test.each<[wrong: string, proposal: unknown, problems: readonly string[]]>([
		["no plan at all", "do it", ["plan: expected object, received string"]],
		["no goal", { steps: chain(2) }, ["goal: expected string, received undefined"]],
		["too few steps", proposal(...chain(1)), ["steps: a plan has 2 to 7 steps; found 1"]],
		["too many steps", proposal(...chain(8)), ["steps: a plan has 2 to 7 steps; found 8"]],
		[
			"a field that nobody knows",
			{ ...proposal(...chain(2)), mode: "fast" },
			['plan: there is no "mode"; there are goal, steps'],
		],
		[
			"a field of a step that nobody knows",
			proposal(step("s1", { after: [], tool: "x" }), step("s2", after("s1"))),
			['steps.0: there is no "after", "tool"; there are id, description, tools, depends_on, model, max_tokens'],
		],
		["steps in a text", { goal: "x", steps: "[]" }, ["steps: expected a list of steps; found a text"]],
		[
			"texts that are empty, or too long",
			{ goal: "", steps: [step("s1", { description: "d".repeat(501) }), step("s2", after("s1"))] },
			["goal: expected a text; found an empty one", "steps.0.description: expected at most 500 characters; found 501"],
		],
		[
			"an id that is no name",
			proposal(step("step one"), step("s2", after("step one"))),
			[
				'steps.0.id: expected a short name such as s1: a letter, then letters, digits, _ and -, 32 at most; found "step one"',
			],
		],
		["two steps of one name", proposal(step("s1"), step("s1"), step("s2", after("s1"))), ['two steps are called "s1"']],
		[
			"a tool that steps may not use",
			proposal(step("s1", { tools: ["read_file", "plan"] }), step("s2", after("s1"))),
			['step "s1" wants the tool "plan"; a step may use read_file, search_files'],
		],
		[
			"a need that is no step",
			proposal(step("s1"), step("s2", after("s9")), step("s3", after("s1", "s2"))),
			['step "s2" depends on "s9"; the steps are s1, s2, s3'],
		],
		[
			"a cycle",
			proposal(step("s1", after("s3")), step("s2", after("s1")), step("s3", after("s2")), step("s4", after("s3"))),
			["the steps s1, s2, s3, s4 wait for each other; the dependencies must not form a cycle"],
		],
		[
			"a step that waits for itself",
			proposal(step("s1", after("s1")), step("s2")),
			["the steps s1 wait for each other; the dependencies must not form a cycle"],
		],
		[
			"two ends",
			proposal(step("s1"), step("s2", after("s1")), step("s3", after("s1"))),
			["exactly one step comes last and writes the answer; here nothing depends on s2, s3"],
		],
		[
			"a class of models that there is not",
			proposal(step("s1", { model: "huge" }), step("s2", { ...after("s1"), max_tokens: 1000 })),
			['step "s1" wants the model "huge"; there is no choice of models, so leave it out'],
		],
		[
			"a budget that is none",
			proposal(step("s1", { max_tokens: 0 }), step("s2", { ...after("s1"), max_tokens: "9" })),
			[
				"steps.0.max_tokens: Too small: expected number to be >0",
				"steps.1.max_tokens: expected number, received string",
			],
		],
		[
			"several things at once",
			proposal(step("s1", { tools: ["shell"] }), step("s2", after("s7"))),
			[
				'step "s1" wants the tool "shell"; a step may use read_file, search_files',
				'step "s2" depends on "s7"; the steps are s1, s2',
				"exactly one step comes last and writes the answer; here nothing depends on s1, s2",
			],
		],
	])("%s", (_, wrong, problems) => {
		expect(() => parseDecomposition(wrong, tools)).toThrowError(
			expect.objectContaining({
				code: "PLAN_INVALID",
				message: `this plan cannot be run: ${problems.join("; ")}`,
				detail: { problems },
			}),
		);
	});
});

test("what is said of it stays short, however much is wrong with it", () => {
	const wrong = proposal(
		step("s1", { tools: Array.from({ length: 1000 }, (_, i) => `${i}${"x".repeat(10_000)}`) }),
		step("s2", after("s1")),
	);
	const said = (): string => {
		try {
			parseDecomposition(wrong, tools);
		} catch (error) {
			return (error as Error).message;
		}
		return "";
	};
	expect(said()).toMatch(/^this plan cannot be run: step "s1" wants the tool "0x+…"; .*; and 991 more$/);
	expect(said().length).toBeLessThan(6000);
});

test("half a character, which providers refuse, is taken out", () => {
	const { goal, steps } = parseDecomposition(
		{ goal: "a \ud83e", steps: [step("s1", { description: "\udd8a" }), step("s2", after("s1"))] },
		tools,
	);
	expect([goal, steps[0]?.description]).toEqual(["a \ufffd", "\ufffd"]);
});

test("a step may have the name of what every object has", () => {
	const plan = proposal(step("constructor"), step("toString", after("constructor")));
	expect(parseDecomposition(plan, tools).steps.map(({ id }) => id)).toEqual(["constructor", "toString"]);
});

test("seven steps are a plan, whatever order they stand in", () => {
	const plan = proposal(
		step("end", after("s6", "s5")),
		...["s2", "s1", "s3", "s4"].map((id) => step(id)),
		step("s5", after("s2", "s1")),
		step("s6", after("s3", "s4", "s5")),
	);
	expect(terminalStep(parseDecomposition(plan, tools)).id).toBe("end");
});

describe("a step with all that depends on it", () => {
	const plan = planOf("s1", "s2 needs s1", "s3", "s4 needs s2", "s5 needs s3 s4");

	test.each([
		["s1", ["s1", "s2", "s4", "s5"]],
		["s2", ["s2", "s4", "s5"]],
		["s3", ["s3", "s5"]],
		["s5", ["s5"]],
	])("%s: %o", (from, expected) => {
		expect(withDependents(plan, from)).toEqual(expected);
	});

	test("is in the plan's order, and found through steps that stand before it", () => {
		expect(withDependents(planOf("end needs s2", "s2 needs s1", "s1"), "s1")).toEqual(["end", "s2", "s1"]);
	});

	test("of a step that there is not is refused with those that there are", () => {
		expect(() => withDependents(plan, "s9")).toThrowError(
			expect.objectContaining({
				code: "PLAN_UNKNOWN_STEP",
				message: 'no step "s9"; this plan has s1, s2, s3, s4, s5',
				detail: { step: "s9" },
			}),
		);
	});
});

test("classes of models are those that there are, and offered where there is more than one", () => {
	const plan = (model: string) => proposal(step("s1", { model, max_tokens: 5000 }), step("s2", after("s1")));
	expect(parseDecomposition(plan("small"), tools, ["small", "large"]).steps[0]).toMatchObject({
		...{ model: "small", max_tokens: 5000 },
	});
	expect(() => parseDecomposition(plan("huge"), tools, ["small", "large"])).toThrow(
		'step "s1" wants the model "huge"; there are small, large',
	);
	const fieldsOf = (models: readonly string[]) =>
		JSON.parse(JSON.stringify(planTool(tools, models).parameters)).properties.steps.items.properties;
	expect(fieldsOf(["small", "large"])).toMatchObject({
		model: { enum: ["small", "large"] },
		max_tokens: { type: "integer" },
	});
	expect(Object.keys(fieldsOf(["small"]))).toEqual(["id", "description", "tools", "depends_on", "max_tokens"]);
});

test("the tool tells the model what a plan looks like and which tools steps may use", () => {
	const { name, description, parameters } = planTool(tools);
	expect(name).toBe(PLAN_TOOL);
	expect(description).toContain("A step may use: read_file, search_files.");
	expect(parameters).toMatchObject({
		type: "object",
		required: ["goal", "steps"],
		properties: { steps: { minItems: 2, maxItems: 7, items: { required: ["id", "description"] } } },
	});
});
