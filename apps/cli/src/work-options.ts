/** The options of commands that let an agent work: what its tools do without a question, and what is answered to the others. */
import { permissionModes } from "@reyn/runtime";
import { skillResumeSchema } from "@reyn/skill-resume";
import { type Command, Option } from "commander";
import type { Globals } from "./context.ts";

/** Of the process, and of another kind than the mode of a rewind, which has the same name. */
class ProcessOption extends Option {}

export type ProcessOptions = Pick<Globals, "mode" | "answers" | "plan" | "policy">;

export const modeOption = (): Option =>
	new ProcessOption("--mode <mode>", "what tools do without a question (default: as configured, else ask)").choices(
		permissionModes,
	);

export const answersOption = (): Option =>
	new ProcessOption("--answers <file>", "what is answered to questions: a list of { to: <pattern>, answer } in YAML");

export const planOption = (): Option =>
	new ProcessOption("--plan <when>", "may the model propose a plan? (default: as configured, else auto)").choices([
		"auto",
		"never",
	]);

export const policyOption = (): Option =>
	new ProcessOption(
		"--policy <policy>",
		"what becomes of effects of skills that may or may not have happened, this once; prompt means retry, and nobody is asked (default: as configured)",
	).choices(skillResumeSchema.shape.default.unwrap().options);

/** Those that were given with a command. */
export function processOptionsOf(command: Command): ProcessOptions {
	const names = command.options.flatMap((each) => (each instanceof ProcessOption ? [each.attributeName()] : []));
	return Object.fromEntries(names.map((name) => [name, command.getOptionValue(name)]));
}
