/** `reyn config`: its commands, whose code is loaded when one is carried out. */
import type { Command } from "commander";
import type { Globals } from "../context.ts";

export function addConfig(program: Command, globals: () => Globals): void {
	const config = program.command("config").description("what is configured, and from where");
	config
		.command("print")
		.description("all settings that hold, each with where it comes from")
		.addHelpText("after", "\nExample: reyn config print")
		.action(async () => (await import("./command.ts")).printSettings(globals()));
	config
		.command("schema")
		.description("the JSON Schema of reyn.yaml, for editors")
		.addHelpText("after", "\nExample: reyn config schema > reyn.schema.json")
		.action(async () => (await import("./command.ts")).printSchema(globals()));
	config
		.command("path")
		.description("the files that are looked for, weakest first")
		.addHelpText("after", "\nExample: reyn config path")
		.action(async () => (await import("./command.ts")).printPaths(globals()));
}
