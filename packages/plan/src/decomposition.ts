/** The decomposition of a plan: 2 to 7 steps without a cycle, of which one comes last. Checks what a model proposes. */
import type { ToolSpec } from "@reyn/journal";
import { z } from "zod";
import { PlanError } from "./errors.ts";

const stepFields = {
	id: z.string().regex(/^[A-Za-z][A-Za-z0-9_-]{0,31}$/, {
		error: ({ input }) =>
			`expected a short name such as s1: a letter, then letters, digits, _ and -, 32 at most; found ${quoted(input)}`,
	}),
	description: words(500),
	/** Names of the tools that the step may use. */
	tools: z.array(z.string()).default([]),
	/** Ids of the steps whose results it needs. */
	depends_on: z.array(z.string()).default([]),
	/** The class of models that does it. Absent: the model of the plan. */
	model: z.string().optional(),
	/** The most tokens, in and out, that its model calls may use before it has failed. Absent: any number. */
	max_tokens: z.int().positive().max(1e9).optional(),
};
const step = z.strictObject(stepFields, onlyThese(stepFields));

const fields = {
	goal: words(2000),
	steps: z
		.array(step, {
			error: ({ input }) => (typeof input === "string" ? "expected a list of steps; found a text" : undefined),
		})
		.min(2, { error: twoToSeven })
		.max(7, { error: twoToSeven }),
};

export const decompositionSchema = z.strictObject(fields, onlyThese(fields));

export type PlanStep = z.infer<typeof step>;
export type Decomposition = z.infer<typeof decompositionSchema>;

/** The stored text of a decomposition, which has at most {@link MAX_BYTES}. */
export const textOf = (decomposition: Decomposition): string => `${JSON.stringify(decomposition, null, "\t")}\n`;
export const MAX_BYTES = 1024 * 1024;

/** The name of the tool by which a model proposes a plan. */
export const PLAN_TOOL = "plan";

/** The tool as a model sees it, for steps that may use these tools. Classes of models are offered where there is more than one. */
export function planTool(tools: readonly string[], models: readonly string[] = []): ToolSpec {
	return {
		name: PLAN_TOOL,
		description: `Work on a question that needs several sources in the background: 2 to 7 small steps, exactly one of them last, which depends (directly or not) on all others and writes the answer. A step may use: ${tools.join(", ")}. Steps that do not depend on each other run at the same time.`,
		parameters: parametersFor(models),
	};
}

/** Once for each choice of models: the tool is made for every turn. */
const parameters = new Map<string, Readonly<Record<string, unknown>>>();

function parametersFor(models: readonly string[]): Readonly<Record<string, unknown>> {
	const choice = JSON.stringify(models);
	const known = parameters.get(choice) ?? z.toJSONSchema(schemaFor(models), { io: "input" });
	parameters.set(choice, known);
	return known;
}

/** As far as a model is shown it: {@link parseDecomposition} says more of what is wrong. */
function schemaFor(models: readonly string[]): z.ZodType {
	const { model: _any, max_tokens, ...others } = stepFields;
	const shown = z.strictObject({
		...others,
		...(models.length > 1 && {
			model: z.enum(models).optional().describe("which model does it, in place of the usual one"),
		}),
		max_tokens: max_tokens.describe("tokens, in and out, after which the step fails"),
	});
	return z.strictObject({ ...fields, steps: z.array(shown).min(2).max(7) });
}

/**
 * Checks what a model proposed.
 *
 * @param tools the names of those that steps may use
 * @param models the classes that they may name
 * @throws PlanError `PLAN_INVALID`, whose message tells a model how to correct its plan
 */
export function parseDecomposition(
	proposal: unknown,
	tools: readonly string[],
	models: readonly string[] = [],
): Decomposition {
	const parsed = decompositionSchema.safeParse(proposal);
	if (!parsed.success) throw invalid(problemsOf(parsed.error));
	const problems = [...unknownNames(parsed.data, tools, models), ...cycle(parsed.data), ...ends(parsed.data)];
	const bytes = Buffer.byteLength(textOf(parsed.data));
	if (bytes > MAX_BYTES) problems.push(`the plan has ${bytes} bytes; ${MAX_BYTES} are allowed`);
	if (problems.length > 0) throw invalid(problems);
	return parsed.data;
}

/** The step that no other depends on: its text is the answer. */
export function terminalStep({ steps }: Decomposition): PlanStep {
	return leaves(steps)[0] as PlanStep;
}

/** A step with all that depends on it, directly or not, in the plan's order. */
export function withDependents({ steps }: Decomposition, from: string): readonly string[] {
	if (!steps.some(({ id }) => id === from)) {
		throw new PlanError(
			"PLAN_UNKNOWN_STEP",
			`no step "${from}"; this plan has ${steps.map(({ id }) => id).join(", ")}`,
			{ step: from },
		);
	}
	const reached = new Set([from]);
	for (let size = 0; size !== reached.size; ) {
		size = reached.size;
		for (const { id, depends_on } of steps) if (depends_on.some((need) => reached.has(need))) reached.add(id);
	}
	return steps.map(({ id }) => id).filter((id) => reached.has(id));
}

/** Half a character of it would be refused by providers. */
function words(most: number) {
	return z
		.string()
		.overwrite((text) => text.toWellFormed())
		.min(1, "expected a text; found an empty one")
		.max(most, { error: ({ input }) => `expected at most ${most} characters; found ${String(input).length}` });
}

function twoToSeven({ input }: { readonly input?: unknown }): string {
	return `a plan has 2 to 7 steps; found ${(input as readonly unknown[]).length}`;
}

/** Says which fields there are, where there is another one. */
function onlyThese(fields: object) {
	const error = ({ code, keys = [] }: { readonly code?: string; readonly keys?: readonly string[] }) =>
		code === "unrecognized_keys"
			? `there is no ${keys.map(quoted).join(", ")}; there are ${Object.keys(fields).join(", ")}`
			: undefined;
	return { error };
}

function unknownNames({ steps }: Decomposition, tools: readonly string[], models: readonly string[]): string[] {
	const ids = steps.map(({ id }) => id);
	const problems = ids.filter((id, i) => ids.indexOf(id) !== i).map((id) => `two steps are called ${quoted(id)}`);
	for (const { id, tools: wanted, depends_on, model } of steps) {
		if (model !== undefined && !models.includes(model))
			problems.push(
				`step "${id}" wants the model ${quoted(model)}; ${models.length > 0 ? `there are ${models.join(", ")}` : "there is no choice of models, so leave it out"}`,
			);
		for (const tool of wanted) {
			if (!tools.includes(tool))
				problems.push(`step "${id}" wants the tool ${quoted(tool)}; a step may use ${tools.join(", ") || "none"}`);
		}
		for (const need of depends_on) {
			if (!ids.includes(need))
				problems.push(`step "${id}" depends on ${quoted(need)}; the steps are ${ids.join(", ")}`);
		}
	}
	return problems;
}

function cycle({ steps }: Decomposition): string[] {
	const ids = steps.map(({ id }) => id);
	// A dependency that is no step is another mistake, which was reported already.
	const isMet = (need: string) => done.has(need) || !ids.includes(need);
	const done = new Set<string>();
	for (let size = -1; size !== done.size; ) {
		size = done.size;
		for (const { id, depends_on } of steps) if (depends_on.every(isMet)) done.add(id);
	}
	const stuck = steps.filter(({ id }) => !done.has(id)).map(({ id }) => id);
	return stuck.length > 0
		? [`the steps ${stuck.join(", ")} wait for each other; the dependencies must not form a cycle`]
		: [];
}

function ends({ steps }: Decomposition): string[] {
	const last = leaves(steps).map(({ id }) => id);
	return last.length > 1
		? [`exactly one step comes last and writes the answer; here nothing depends on ${last.join(", ")}`]
		: [];
}

function leaves(steps: readonly PlanStep[]): readonly PlanStep[] {
	return steps.filter(({ id }) => !steps.some(({ depends_on }) => depends_on.includes(id)));
}

/** What a schema says against a value, each with its place in it: `steps.0.id: …`. */
export const problemsOf = ({ issues }: z.ZodError): string[] =>
	issues
		// The length of a text where a list is expected is not worth a word.
		.filter(({ path, code }) => (code !== "too_big" && code !== "too_small" ? true : !isOfType(issues, path)))
		.map(({ path, message }) => `${path.join(".") || "plan"}: ${message.replace(/^Invalid input: /, "")}`);

/** Is something of another type than is expected there? */
const isOfType = (issues: z.ZodError["issues"], at: readonly PropertyKey[]): boolean =>
	issues.some(({ path, code }) => code === "invalid_type" && path.join(".") === at.join("."));

/** A model that is told is asked again with this text, so it is short, however much is wrong. */
const MOST_PROBLEMS = 10;
const MOST_CHARACTERS = 500;

function invalid(all: readonly string[]): PlanError {
	const left = all.length - MOST_PROBLEMS;
	const problems = all.slice(0, MOST_PROBLEMS).map((each) => cut(each, MOST_CHARACTERS));
	if (left > 0) problems.push(`and ${left} more`);
	return new PlanError("PLAN_INVALID", `this plan cannot be run: ${problems.join("; ")}`, { problems });
}

/** What a model wrote, short and on one line. */
const quoted = (text: unknown): string => JSON.stringify(cut(String(text), 60));

const cut = (text: string, most: number): string =>
	(text.length > most ? `${text.slice(0, most - 1)}…` : text).toWellFormed();
