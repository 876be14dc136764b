/** Starts a run: its input is checked, and its first record is written. */
import type { Using } from "@reyn/journal";
import { toJson } from "@reyn/journal/internal";
import type { Scope } from "@reyn/wal";
import type { Skill } from "./define-skill.ts";
import { SkillError } from "./errors.ts";
import { fit } from "./json-schema.ts";
import { skillRunStarted } from "./records.ts";

/**
 * Writes the start of a run.
 *
 * @param model the id of the model that it is begun with
 * @param parent the lane of the call that a child runs in: its own lanes lie below
 * @throws SkillError `SKILL_INVALID_INPUT` naming the field; nothing is written
 */
export async function startRun<Input>(
	id: string,
	skill: Skill<Input>,
	input: unknown,
	scope: Scope,
	log: Using["log"],
	model: string,
	parent?: string,
): Promise<void> {
	parseInput(skill, input);
	const { name, source } = skill;
	const more = { ...(source && { hash: source.hash }), ...(parent !== undefined && { parent }) };
	const started = { run: id, skill: name, input: asKept(input), model, ...more };
	await log.append(skillRunStarted(started), scope).durable;
}

/** @throws SkillError `SKILL_INVALID_INPUT` */
export function parseInput<Input>(skill: Skill<Input>, input: unknown): Input {
	const found = fit(skill.input, input);
	if (found.kind === "fits") return found.value;
	const { name } = skill;
	throw new SkillError("SKILL_INVALID_INPUT", `the input of ${name} does not fit: ${found.why}`, { skill: name });
}

/** As JSON has it, so that the first run goes on with what a resumed one will find. What JSON lacks is refused by the log. */
export function asKept(value: unknown): unknown {
	try {
		const { json, binary } = toJson(value);
		return binary.length > 0 ? value : json;
	} catch {
		return value;
	}
}
