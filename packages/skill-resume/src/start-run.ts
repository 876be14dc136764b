/** Starts a run: its input is checked, and its first record is written. */
import type { Using } from "@reyn/journal";
import type { Scope } from "@reyn/wal";
import type { Skill } from "./define-skill.ts";
import { SkillError } from "./errors.ts";
import { fit } from "./json-schema.ts";
import { notJson } from "./not-json.ts";
import { skillRunStarted } from "./records.ts";

/**
 * Writes the start of a run.
 *
 * @param model the id of the model that it is begun with
 * @param parent the lane of the call that a child runs in: its own lanes lie below
 * @throws SkillError `SKILL_INVALID_INPUT` naming the field that does not fit, or is not JSON; nothing is written
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
	const { name, source } = skill;
	const lack = notJson(input, "input");
	if (lack) throw misfit(name, lack.why);
	parseInput(skill, input);
	const more = { ...(source && { hash: source.hash }), ...(parent !== undefined && { parent }) };
	const started = { run: id, skill: name, input, model, ...more };
	await log.append(skillRunStarted(started), scope).durable;
}

/** @throws SkillError `SKILL_INVALID_INPUT` */
export function parseInput<Input>(skill: Skill<Input>, input: unknown): Input {
	const found = fit(skill.input, input);
	if (found.kind === "fits") return found.value;
	throw misfit(skill.name, found.why);
}

const misfit = (skill: string, why: string): SkillError =>
	new SkillError("SKILL_INVALID_INPUT", `the input of ${skill} does not fit: ${why}`, { skill });
