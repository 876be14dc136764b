/** Each verb is offered by each face: as a command, and behind a slash. */
import { isOptional, type Verb, verbs } from "@reyn/operator";
import { describe, expect, test } from "vitest";
import { commands } from "../src/main.ts";
import { inShellAlone, readSlash, usage } from "../src/slash.ts";

/** Where a face has no verb of this name, and why. */
const elsewhere: Readonly<Record<"command" | "slash", Readonly<Record<string, string>>>> = {
	command: { ask: "`run` asks, and can be given the question in more ways" },
	slash: inShellAlone,
};

/** Commands that are no verbs, and why. */
const commandsAlone: Readonly<Record<string, string>> = {
	chat: "it is a face itself",
	run: "it is `ask`, and ends when all is over",
	demo: "it tells a story in processes of its own, and kills one",
	doctor: "it looks at the machine, and needs no state",
	archive: "renames the directory that everything else is in, so nothing else may work in it",
	completion: "it is for shells",
	schema: "it is about this program, and not about a history",
	ui: "it serves another face, for as long as it is not stopped",
	export: "it writes another face into a file",
	"config print": "it is about this program, and not about a history",
	"config schema": "it is for editors",
	"config set": "it is about this program, and checks what it knows of its keys",
	"config unset": "it is about this program, and checks what it knows of its keys",
	"config path": "it is about this program, and not about a history",
	init: "it prepares a directory, before there is a history",
	"script watch": "it is `script show`, told as the run goes on: other faces are told that by events anyway",
	"script save": "it writes a file of a person's, which no verb does",
	"skill new": "it writes a file of a person's, which no verb does",
};

const program = commands(() => {});
const find = ({ name }: Verb) =>
	name
		.split(" ")
		.reduce<typeof program | undefined>((in_, word) => in_?.commands.find((each) => each.name() === word), program);

describe.each(verbs.map((verb) => [verb.name, verb] as const))("%s", (name, verb) => {
	test("is a command that takes what the verb takes, and shows an example", () => {
		const command = find(verb);
		if (elsewhere.command[name]) return expect(command).toBeUndefined();
		expect(command?.description()).toBe(verb.summary);
		const params = Object.entries(verb.params);
		const words = params.filter(([, { as }]) => as === "word" || as === "text");
		expect(command?.registeredArguments.map((each) => [each.name(), each.required])).toEqual(
			words.map(([, param]) => [param.value, !isOptional(param)]),
		);
		const options = params.filter((param) => !words.includes(param)).map(([key]) => key);
		expect(command?.options.map((each) => each.attributeName())).toEqual(expect.arrayContaining(options));
		let help = "";
		command?.configureOutput({ writeOut: (text) => (help += text) }).outputHelp();
		expect(help).toContain(`Example: reyn ${name}`);
		expect(Math.max(...help.split("\n").map((line) => line.length))).toBeLessThanOrEqual(80);
	});

	test("is read behind a slash, as its own example writes it", () => {
		if (elsewhere.slash[name])
			return expect(() => readSlash(`/${name} ${verb.example}`)).toThrow(
				expect.objectContaining({ code: "CLI_USAGE", message: expect.stringContaining(elsewhere.slash[name]) }),
			);
		const read = readSlash(`/${name} ${verb.example}`);
		expect(read.verb).toBe(verb);
		expect(usage(verb)).toMatch(new RegExp(`^/${name}`));
	});
});

test("a command that is no verb says why", () => {
	const named = program.commands.flatMap((command) =>
		command.commands.length > 0 ? command.commands.map((each) => `${command.name()} ${each.name()}`) : [command.name()],
	);
	const ofVerbs = verbs.map(({ name }) => name);
	expect(named.filter((name) => !ofVerbs.includes(name)).sort()).toEqual(Object.keys(commandsAlone).sort());
	for (const name of Object.keys(inShellAlone)) expect(named).toContain(name);
});

test("what is no text is typed as one: a path, JSON, and an option that may come again", () => {
	const run = program.commands.find((each) => each.name() === "script")?.commands.find((each) => each.name() === "run");
	expect(run?.options.map(({ long }) => long)).toEqual(
		expect.arrayContaining(["--args", "--args-file", "--answer", "--isolate", "--output-format"]),
	);
	const { raw } = readSlash('/script resume r1 a.ts --answer "two doors" --strict --args {"n": 1} --answer by day');
	expect(raw).toEqual({ run: "r1", script: "a.ts", answer: ["two doors", "by day"], strict: true, args: '{"n": 1}' });
	expect(readSlash('/answer 12 "by day"').raw).toEqual({ question: "12", answer: "by day" });
	expect(readSlash('/answer 12 "day" or "night"').raw).toEqual({ question: "12", answer: '"day" or "night"' });
	expect(() => readSlash("/wal repair --apply")).toThrow(/reyn wal repair is a command of a shell: .* leave first/);
});

test("behind a slash a mode may stand without its name, a text is all that is left, and what is missing is said", () => {
	expect(readSlash("/rewind 142 code_only --yes")).toMatchObject({ raw: { ref: "142", mode: "code_only" }, yes: true });
	expect(readSlash(`/skill run digest --input '{"topic":"the old ferry"}'`).raw).toEqual({
		...{ name: "digest", input: '{"topic":"the old ferry"}' },
	});
	expect(readSlash("/search the old ferry").raw).toEqual({ words: "the old ferry" });
	expect(readSlash("/tree").raw).toEqual({ graph: true });
	for (const [line, what] of [
		["/rewind", "<ref> is missing"],
		["/rewind 1 sideways", 'takes no "sideways"'],
		["/rewind 1 --modes both", "has no --modes"],
		["/rewnd 1", "there is no /rewnd"],
		["/plan discards p1", "/plan knows list, show, pause, resume, retry, amend, discard"],
		["/constructor", "there is no /constructor"],
	] as const)
		expect(() => readSlash(line), line).toThrow(
			expect.objectContaining({ code: "CLI_USAGE", message: expect.stringContaining(what) }),
		);
});
