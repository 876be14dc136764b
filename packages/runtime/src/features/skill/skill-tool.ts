/** A skill as a tool: in a step of a plan it runs as a child of the call, and its output is the answer; in a turn it is started. */
import type { Tool, ToolAnswer } from "@reyn/journal";
import { startOf } from "@reyn/journal/internal";
import { jsonSchemaOf, type Skill } from "@reyn/skill-resume";
import type { Seq } from "@reyn/wal";

/** A call of a skill: where it is recorded, and what names it for ever. */
export interface ChildCall {
	/** The lane inside the call. */
	readonly lane: string;
	/** The seq of its first start. */
	readonly started: Seq;
	readonly signal: AbortSignal;
}

export interface ChildPorts {
	/** Runs the child of a call to its end, where one is open that; or starts the run of a call. @throws what leaves it open */
	run(input: unknown, call: ChildCall): Promise<string | ToolAnswer>;
	/** The answer of the child of a call; undefined: it has none yet. */
	answer(started: Seq): string | ToolAnswer | undefined;
}

/** What one tool is called by, so that every provider takes it. */
const callable = /^[A-Za-z0-9_-]{1,58}$/;

/** The name of the tool of a skill; undefined: no tool can be called so, and it is not offered. */
export const skillToolName = ({ name }: Pick<Skill, "name">): string | undefined =>
	callable.test(name) ? `skill_${name}` : undefined;

/** @returns undefined for a skill by whose name no tool can be called */
export function skillTool(skill: Skill, { run, answer }: ChildPorts): Tool | undefined {
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
		call: (input, { signal, idempotencyKey = "", lane }) => {
			if (!lane) throw new Error(`${name} runs in the call of a step; start the skill by itself to run it elsewhere`);
			return run(input, { lane: lane.path, started: startOf(idempotencyKey), signal });
		},
		async reconcile(idempotencyKey) {
			const result = answer(startOf(idempotencyKey));
			return result === undefined ? { kind: "not_done" } : { kind: "done", result };
		},
	};
}

/** Its input as JSON Schema, where its schema can say so; else the refusal of an input says what is wrong with it. */
function parametersOf({ input }: Skill): Tool["parameters"] {
	const schema = jsonSchemaOf(input);
	// Providers take objects alone.
	return schema?.type === "object" ? schema : { type: "object" };
}
