/** A skill as a tool of a model: it runs as a child of the call, and its output is the answer. */
import type { Tool, ToolAnswer } from "@reyn/journal";
import { startOf } from "@reyn/journal/internal";
import type { ChildEnd, SkillChildren } from "./children.ts";
import type { Skill } from "./define-skill.ts";
import { jsonSchemaOf } from "./json-schema.ts";

/** What one tool is called by, so that every provider takes it. */
const callable = /^[A-Za-z0-9_-]{1,58}$/;

/** The name of the tool of a skill, `skill_<name>`; undefined: no tool can be called so, and it is not offered. */
export const skillToolName = ({ name }: Pick<Skill, "name">): string | undefined =>
	callable.test(name) ? `skill_${name}` : undefined;

/** Each skill as a tool, but for those by whose names no tool can be called. */
export const skillTools = (children: SkillChildren): readonly Tool[] =>
	children.skills.flatMap((skill) => skillTool(skill, children) ?? []);

/** @returns undefined for a skill by whose name no tool can be called */
export function skillTool(skill: Skill, { run, endOf }: Pick<SkillChildren, "run" | "endOf">): Tool | undefined {
	const name = skillToolName(skill);
	if (name === undefined) return undefined;
	const hasEffects = skill.purity === "side_effect" || skill.purity === "external";
	return {
		name,
		description: skill.description,
		parameters: parametersOf(skill),
		// Whatever the skill does, its start is durable before: it names the child, so that no second one is begun.
		purity: "side_effect",
		wants: async () => (hasEffects ? [{ action: "skill", subject: skill.name }] : []),
		async call(input, { signal, idempotencyKey = "", lane }) {
			if (!lane) throw new Error(`${name} runs in the call of a step; start the skill by itself to run it elsewhere`);
			return answerOf(await run(skill, input, { lane: lane.path, started: startOf(idempotencyKey), signal }));
		},
		async reconcile(idempotencyKey) {
			const end = endOf(startOf(idempotencyKey));
			return end ? { kind: "done", result: answerOf(end) } : { kind: "not_done" };
		},
	};
}

/** The output of a run as a text. */
export const runText = (output: unknown): string =>
	typeof output === "string" ? output : (JSON.stringify(output) ?? "");

const answerOf = (end: ChildEnd): string | ToolAnswer =>
	end.kind === "done" ? runText(end.output) : { text: end.reason, isError: true };

/** Its input as JSON Schema, where its schema can say so; else the refusal of an input says what is wrong with it. */
function parametersOf({ input }: Skill): Tool["parameters"] {
	const schema = jsonSchemaOf(input);
	// Providers take objects alone.
	return schema?.type === "object" ? schema : { type: "object" };
}
