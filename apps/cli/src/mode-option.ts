/** `--mode`, of the commands that let an agent work: what its tools do without a question. */
import { permissionModes } from "@reyn/runtime";
import { type Command, Option } from "commander";
import type { Globals } from "./context.ts";

/** Of another kind than the mode of a rewind, which has the same name. */
class ModeOption extends Option {}

export const modeOption = (): Option =>
	new ModeOption("--mode <mode>", "what tools do without a question (default: as configured, else ask)").choices(
		permissionModes,
	);

/** The mode that was given with a command. */
export const modeOf = (command: Command): Pick<Globals, "mode"> =>
	command.options.some((each) => each instanceof ModeOption)
		? { mode: command.opts<Pick<Globals, "mode">>().mode }
		: {};
