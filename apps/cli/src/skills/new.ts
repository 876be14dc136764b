/** What `reyn skill new` does: writes a skill that runs as it is, to begin with. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Command } from "commander";
import { type Globals, stateOf } from "../context.ts";
import { CliError } from "../exit-code.ts";
import { writeNew } from "../new-file.ts";
import { reyn } from "../suggest.ts";
import { skillPlaces } from "./places.ts";
import { remember, untrustedIn } from "./trusted.ts";

type Print = (globals: Globals, value: unknown, lines: readonly string[]) => void;

export function addNewSkill(skill: Command, globals: () => Globals, print: Print): void {
	skill
		.command("new")
		.argument("<name>", "what it is called, and its file: small letters, digits and -")
		.description("write a skill in a file of its own, which runs as it is, to be changed")
		.option("--own", "for all directories, beside your own configuration; else for this one")
		.addHelpText("after", "\nExample: reyn skill new report")
		.action(async (name: string, { own = false }: { readonly own?: boolean }) => {
			const path = await newSkill(globals(), name, own);
			const run = reyn`skill run ${name} --input ${'{"about":"recovery"}'}`;
			print(globals(), { name, path }, [`${path} is the skill ${name}`, `run it: ${run}`]);
		});
}

/** @returns the path of its file @throws CliError `CLI_USAGE`, `CLI_REFUSED` where there is such a file */
async function newSkill(globals: Globals, name: string, isOwn: boolean): Promise<string> {
	if (!/^[a-z][a-z0-9-]{0,57}$/.test(name))
		throw new CliError(
			"CLI_USAGE",
			`a skill is called by small letters, digits and -, such as report; found "${name}"`,
		);
	const state = stateOf(globals);
	const places = skillPlaces(state);
	const directory = isOwn ? places.own : places.project;
	const path = join(directory, `${name}.ts`);
	await mkdir(directory, { recursive: true });
	if (!isOwn) await writeFile(join(dirname(directory), ".gitignore"), "*\n", { flag: "wx" }).catch(() => {});
	// What else lies there is not trusted by this.
	const isTrusted = !isOwn && untrustedIn(directory).length === 0;
	await writeNew(path, template(name), { taken: "give another name" });
	if (isTrusted) await remember(directory);
	return path;
}

const IMPORTS = 'import { defineSkill, done, next } from "@reyn/skill-resume";\nimport { z } from "zod";';

const template = (name: string): string => `/** What this skill does, for people who read it. */
${IMPORTS}

// What it is given, with --input '{"about":"recovery"}' or --input-file.
const input = z.strictObject({ about: z.string().min(1) });

export default defineSkill<z.infer<typeof input>>({
	// A skill is called as its file. Models read the description when they choose a tool.
	name: "${name}",
	description: "Searches the directory for something, and sums up what it says",
	input,
	// What a run does to the world: a person is asked before a model starts one that has effects (side_effect, external).
	purity: "world",
	start: "gather",
	phases: {
		// A phase that is finished never runs again, wherever the process is killed. In the one that is open, whatever goes through its
		// context (tool, model, agent, step, now, sleep …) is recorded, and not made or paid for twice.
		async gather({ tool }, { about }) {
			return next("tell", await tool("search", { query: about }));
		},
		// The last argument is what the phase before gave.
		async tell({ model }, { about }, found) {
			const { text } = await model({
				system: "Sum up the given search results in a few lines, each with its source as path:line.",
				messages: [{ role: "user", text: \`Sum up what is said about: \${about}\\n\\n\${found}\` }],
				tools: [],
			});
			return done(text);
		},
	},
});
`;
