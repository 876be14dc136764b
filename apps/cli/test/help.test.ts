/** What `--help` says of each command: how it is used, an example, the global options, where the exit codes are; and all of it fits. */
import type { Command } from "commander";
import { expect, test } from "vitest";
import { commands } from "../src/main.ts";

/** A program, its commands and theirs, by what is typed. */
const all = (command: Command, before = ""): readonly (readonly [typed: string, command: Command])[] => {
	const typed = `${before}${command.name()}`;
	return [[typed, command], ...command.commands.flatMap((each) => all(each, `${typed} `))];
};

function helpOf(command: Command): string {
	let help = "";
	command.configureOutput({ writeOut: (text) => (help += text) }).outputHelp();
	return help;
}

test.each(all(commands(() => {})))("%s", (typed, command) => {
	const help = helpOf(command);
	expect(help).toMatch(new RegExp(`^Usage: ${typed}\\b`));
	expect(help).toMatch(command.parent ? /^Exit codes: reyn --help$/m : /^Exit codes: 0 done/m);
	for (const flags of ["--cwd <dir>", "--state <dir>", "--model <name>", "--json", "--trust"])
		expect(help).toContain(flags);
	expect(help.split("\n").filter((line) => line.length > 80)).toEqual([]);
	// A group has those of its commands.
	if (command.commands.length === 0) expect(help).toContain(`Example: `);
});
