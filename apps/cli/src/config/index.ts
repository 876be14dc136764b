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
		.command("set")
		.description("set a value for this state: recorded, and so it follows rewinds")
		.argument("<key>", "such as plan.concurrency")
		.argument("<value>", "as it would stand in reyn.yaml")
		.addHelpText("after", "\nExample: reyn config set plan.concurrency 2")
		.action(async (key: string, value: string) => (await import("./command.ts")).setSetting(globals(), key, value));
	config
		.command("unset")
		.description("take a value out that was set so")
		.argument("<key>", "such as plan.concurrency")
		.addHelpText("after", "\nExample: reyn config unset plan.concurrency")
		.action(async (key: string) => (await import("./command.ts")).setSetting(globals(), key, undefined));
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
