/** Each verb is offered by each face: as a command, and behind a slash. */
import { isOptional, type Verb, verbs } from "@reyn/operator";
import { describe, expect, test } from "vitest";
import { commands } from "../src/main.ts";
import { readSlash, usage } from "../src/slash.ts";

/** Where a face has no verb of this name, and why. */
const elsewhere: Readonly<Record<"command" | "slash", Readonly<Record<string, string>>>> = {
	command: { ask: "`run` asks, and can be given the question in more ways" },
	slash: {},
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
		const read = readSlash(`/${name} ${verb.example}`);
		expect(read.verb).toBe(verb);
		expect(usage(verb)).toMatch(new RegExp(`^/${name}`));
	});
});

test("behind a slash a mode may stand without its name, a text is all that is left, and what is missing is said", () => {
	expect(readSlash("/rewind 142 code_only --yes")).toMatchObject({ raw: { ref: "142", mode: "code_only" }, yes: true });
	expect(readSlash("/skill run digest the old ferry").raw).toEqual({ name: "digest", topic: "the old ferry" });
	expect(readSlash("/tree").raw).toEqual({ graph: true });
	for (const [line, what] of [
		["/rewind", "<ref> is missing"],
		["/rewind 1 sideways", 'takes no "sideways"'],
		["/rewind 1 --modes both", "has no --modes"],
		["/rewnd 1", "there is no /rewnd"],
		["/plan discards p1", "/plan knows list, discard, resume"],
	] as const)
		expect(() => readSlash(line), line).toThrow(
			expect.objectContaining({ code: "CLI_USAGE", message: expect.stringContaining(what) }),
		);
});
