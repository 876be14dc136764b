/** What a definition of a skill has to be, before anything rests on it: code without type checks may give anything. */
import { purities } from "@reyn/journal";
import { z } from "zod";
import type { Skill } from "./define-skill.ts";
import { type SkillCode, SkillError } from "./errors.ts";
import { assertGraph } from "./graph.ts";

const isFunction = (value: unknown): boolean => typeof value === "function";
const schema = z.custom<Skill["input"]>(
	(value) => isFunction((value as Partial<Skill["input"]> | null)?.["~standard"]?.validate),
	"expected a schema, such as z.object({ … })",
);
const phase = z.union(
	[
		z.custom<(...all: never) => unknown>(isFunction),
		z.looseObject({
			instructions: z.string(),
			tools: z.array(z.string()).optional(),
			output: schema.optional(),
			next: z.union([z.string(), z.array(z.string())]).optional(),
			maxRounds: z.int().positive().optional(),
		}),
	],
	{ error: "expected a function, or { instructions, tools, output, next } for a model" },
);

/** Names become parts of lanes, and that of a skill is called as its file. */
const name = z
	.string()
	.regex(/^(?!\.{1,2}$)[^/\\\p{Cc}]{1,200}$/u, "expected a name of 1 to 200 characters, without / and \\");

/** As a map: a record of zod has no phase "constructor". */
const phases = z
	.preprocess(
		(value) => (typeof value === "object" && value !== null ? new Map(Object.entries(value)) : value),
		z.map(name, phase, { error: "expected phases by their names" }),
	)
	.transform((all) => Object.fromEntries(all));

/** What another copy of this package has defined is a skill too. */
const skillSchema = z.looseObject({
	name,
	description: z.string(),
	input: schema,
	start: z.string(),
	phases,
	maxVisits: z.int().positive().default(10),
	purity: z.enum(purities).default("side_effect"),
});

/**
 * @param of how the message begins
 * @returns a copy, with what is left out as it is by default
 * @throws SkillError `code` naming the field, `SKILL_GRAPH`
 */
export function asSkill(value: unknown, code: SkillCode, of: string): Skill {
	const found = skillSchema.safeParse(value);
	if (!found.success) {
		const [first] = found.error.issues;
		const wrong = found.error.issues.map(({ path, message }) => `${nameOf(path)}: ${message}`).join("; ");
		const [field, phase] = first?.path ?? [];
		throw new SkillError(code, `${of}: ${wrong}`, {
			...(field === "phases" && phase !== undefined && { phase: String(phase) }),
		});
	}
	const skill = found.data as unknown as Skill;
	assertGraph(skill);
	return skill;
}

/** `phases.gather`; a name that would not be seen, or be taken for two, is quoted. */
const nameOf = (path: readonly PropertyKey[]): string =>
	path
		.map((part) => (typeof part === "string" && !/^[\w-]+$/.test(part) ? JSON.stringify(part) : String(part)))
		.join(".") || "it";
