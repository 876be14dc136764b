/** A skill as a tool of a model. As a child of the call its output is the answer; or it is only started. */
import type { Tool, ToolAnswer } from "@reyn/journal";
import { startOf } from "@reyn/journal/internal";
import type { Seq } from "@reyn/wal";
import type { ChildCall, ChildEnd, SkillChildren } from "./children.ts";
import type { Skill } from "./define-skill.ts";
import { jsonSchemaOf } from "./json-schema.ts";

/** What one tool is called by, so that every provider takes it. */
const callable = /^[A-Za-z0-9_-]{1,58}$/;

/** The name of the tool of a skill, `skill_<name>`; undefined: no tool can be called so, and it is not offered. */
export const skillToolName = ({ name }: Pick<Skill, "name">): string | undefined =>
	callable.test(name) ? `skill_${name}` : undefined;

/** Each skill as a tool that runs a child, but for those by whose names no tool can be called. */
export const skillTools = ({ found: { skills }, run, endOf }: SkillChildren): readonly Tool[] =>
	skills.flatMap((skill) => {
		const calls: SkillCalls = {
			run: async (input, call) => answerOf(await run(skill, input, call)),
			answer(started) {
				const end = endOf(started);
				return end && answerOf(end);
			},
		};
		return skillTool(skill, calls) ?? [];
	});

/** What a call of the tool of a skill does. */
export interface SkillCalls {
	/** @returns the answer of the call. @throws what leaves it open */
	run(input: unknown, call: ChildCall): Promise<string | ToolAnswer>;
	/** The answer of a call that was cut; undefined: it has none, and is made again. @param started as in {@link ChildCall} */
	answer(started: Seq): string | ToolAnswer | undefined;
}

/** @returns undefined for a skill by whose name no tool can be called */
export function skillTool(skill: Skill, { run, answer }: SkillCalls): Tool | undefined {
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
			return run(input, { lane: lane.path, started: startOf(idempotencyKey), signal });
		},
		async reconcile(idempotencyKey) {
			const result = answer(startOf(idempotencyKey));
			return result === undefined ? { kind: "not_done" } : { kind: "done", result };
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
