/** Skills in files, found by Node's own loader: what loads, and what is said of what does not. */
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { startSource } from "../../../../tests/kit/killable.ts";
import type { Search } from "./finding.ts";

let root: string;
beforeEach(() => {
	root = mkdtempSync(join(tmpdir(), "reyn-found-"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function write(name: string, text: string): string {
	const path = join(root, name);
	mkdirSync(dirname(path), { recursive: true });
	writeFileSync(path, text);
	return path;
}

interface Found {
	readonly skills: readonly { name: string; path: string; hash: string; phases: readonly string[] }[];
	readonly problems: readonly { name: string; path: string; code: string; message: string; detail: object }[];
	readonly files: readonly { name: string; hash: string }[];
}

async function find(how: Omit<Search, "directories"> & Partial<Search> = {}): Promise<readonly Found[]> {
	const given = JSON.stringify({ directories: [join(root, "skills")], ...how });
	const { stdout, stderr, code } = await startSource(join(import.meta.dirname, "finding.ts"), [given]).ended;
	expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
	return stdout
		.trimEnd()
		.split("\n")
		.map((line) => JSON.parse(line));
}

const skill = (name: string, more = ""): string => `
import { defineSkill, done } from "@reyn/skill-resume";
import { z } from "zod";
${more}
interface Given { readonly about: string }
export default defineSkill<Given>({ name: "${name}", description: "", input: z.object({ about: z.string() }), start: "one", phases: {
	one: async (_context, { about }: Given) => done(about),
} });
`;

test("a file in TypeScript is a skill, with what it imports beside it and nothing installed", async () => {
	write("package.json", '{ "type": "commonjs" }');
	write(
		"skills/report.ts",
		skill(
			"report",
			'import { two } from "./lib/two.ts";\nimport data from "./data.json" with { type: "json" };\nif (two + data !== 3) throw new Error("no");',
		),
	);
	write("skills/lib/two.ts", "export const two: number = 2;");
	write("skills/data.json", "1");
	write(
		"skills/plain.js",
		skill("plain")
			.replace(/interface.*\n/, "")
			.replaceAll("<Given>", "")
			.replace(": Given", ""),
	);
	write("skills/README.md", "no code");
	write("skills/types.d.ts", "export type A = 1;");
	const [found] = await find();
	expect(found?.problems).toEqual([]);
	expect(found?.skills.map(({ name, phases }) => [name, phases])).toEqual([
		["plain", ["one"]],
		["report", ["one"]],
	]);
	expect(found?.files.map(({ name }) => name)).toEqual([
		"data.json",
		"lib/two.ts",
		"plain.js",
		"report.ts",
		"types.d.ts",
	]);
	expect(found?.skills[0]?.hash).toBe(found?.files.find(({ name }) => name === "plain.js")?.hash);
});

test.each([
	[
		"throws.ts",
		"\n\nthrow new Error('no data');",
		"SKILL_LOAD",
		"%:3: it throws when it is loaded: no data",
		{ line: 3 },
	],
	["word.ts", "throw 'a word';", "SKILL_LOAD", "%: it throws when it is loaded: a word", {}],
	["types.ts", "const a = 1;\nexport default {{;", "SKILL_LOAD", /^%:2: (?!it throws)./, { line: 2 }],
	["syntax.js", "const a = 1;\nexport default {{;", "SKILL_LOAD", "%:2: Unexpected token '{'", { line: 2 }],
	[
		"enum.ts",
		"\nenum A { b }\nexport default 1;",
		"SKILL_LOAD",
		"%:2: TypeScript enum is not supported in strip-only mode",
		{ line: 2 },
	],
	[
		"none.ts",
		"export const a = 1;",
		"SKILL_LOAD",
		"%: it has no default export; expected export default defineSkill({ … })",
		{},
	],
	["text.ts", "export default 'a';", "SKILL_LOAD", /^%: its default export is no skill: it: .*expected object/, {}],
	[
		"phase.ts",
		"export default { name: 'phase', description: '', input: { '~standard': { validate() {} } }, start: 'a', phases: { a: 1 } };",
		"SKILL_LOAD",
		"%: its default export is no skill: phases.a: expected a function, or { instructions, tools, output, next } for a model",
		{ phase: "a" },
	],
	[
		"input.ts",
		"export default { name: 'input', description: '', start: 'a', phases: { a() {} } };",
		"SKILL_LOAD",
		/input: expected a schema/,
		{},
	],
	[
		"other.ts",
		skill("another"),
		"SKILL_LOAD",
		'%: it defines the skill "another", and a file is called as its skill: call one as the other',
		{ skill: "another" },
	],
	[
		"graph.ts",
		'import { defineSkill } from "@reyn/skill-resume";\nimport { z } from "zod";\n\nexport default defineSkill({ name: "graph", description: "", input: z.unknown(), start: "a",\n phases: { a: { instructions: "", next: "b" } } });',
		"SKILL_GRAPH",
		'%:4: graph goes from phase "a" to "b", which it lacks; its phases are a',
		{ line: 4, phase: "a", skill: "graph" },
	],
	[
		"beyond.ts",
		'import "../outside.ts";',
		"SKILL_LOAD",
		/^%: it imports .*outside\.ts, which lies outside of its directory/,
		{},
	],
	[
		"gone.ts",
		'import "./gone-too.ts";',
		"SKILL_LOAD",
		/gone-too\.ts cannot be read: expected a file of at most 1 MiB$/,
		{},
	],
	["missing.ts", 'import "none-such-package";', "SKILL_LOAD", /Cannot find package 'none-such-package'/, {}],
	[
		"waits.ts",
		"await new Promise(() => {});",
		"SKILL_LOAD",
		"%: its module waits at its top for more than 10 s; do in a phase what takes time",
		{},
	],
])("%s is named, and the others load", async (name, text, code, message, detail) => {
	const path = write(`skills/${name}`, text);
	write("outside.ts", "export {};");
	write("skills/sound.ts", skill("sound"));
	const [found] = await find();
	expect(found?.skills.map((each) => each.name)).toEqual(["sound"]);
	const [problem] = found?.problems ?? [];
	expect(found?.problems).toHaveLength(1);
	expect(problem).toMatchObject({ name: name.replace(/\..*/, ""), path, code, detail: { ...detail, path } });
	const said = problem?.message.replaceAll(path, "%");
	if (typeof message === "string") expect(said?.replace(/\n[\s\S]*/, "")).toBe(message);
	else expect(said).toMatch(message);
	if (!("line" in detail)) expect(problem?.detail).not.toHaveProperty("line");
});

test("of two that are called the same the first stays, and the other is named", async () => {
	const first = write(
		"skills/same.js",
		skill("same")
			.replace(/interface.*\n/, "")
			.replaceAll("<Given>", "")
			.replace(": Given", ""),
	);
	const second = write("skills/same.ts", skill("same"));
	const built = write("skills/digest.ts", skill("digest"));
	const [found] = await find({ taken: ["digest"] });
	expect(found?.skills.map(({ path }) => path)).toEqual([first]);
	expect(found?.problems.map(({ code, message }) => [code, message])).toEqual([
		["SKILL_TWICE", `${built}: there is a skill digest already, a skill that is built in; call this one otherwise`],
		["SKILL_TWICE", `${second}: there is a skill same already, ${first}; call this one otherwise`],
	]);
});

test("nothing runs that is not trusted, nor what it would import", async () => {
	const ran = join(root, "ran");
	const path = write("skills/mine.ts", skill("mine", 'import "./lib/helper.ts";'));
	write("skills/lib/helper.ts", `import { writeFileSync } from "node:fs"; writeFileSync(${JSON.stringify(ran)}, "");`);
	const said = (file: string) => [
		{ code: "SKILL_UNTRUSTED", message: `${path}: nobody has said yet that ${file} may run, as it is now` },
	];
	const [none] = await find({ trusted: [] });
	expect(none).toMatchObject({ skills: [], problems: said("mine.ts") });
	const [helper = "", mine = ""] = none?.files.map(({ hash }) => hash) ?? [];
	const [half] = await find({ trusted: [mine] });
	expect(half).toMatchObject({ skills: [], problems: said("lib/helper.ts") });
	expect(existsSync(ran)).toBe(false);
	const [all] = await find({ trusted: [mine, helper] });
	expect(all).toMatchObject({ skills: [{ name: "mine" }], problems: [] });
	expect(existsSync(ran)).toBe(true);
});

test("what was edited is another skill at the next search, and what it imports counts", async () => {
	const path = write("skills/mine.ts", skill("mine", 'import "./lib/helper.ts";'));
	const helper = write("skills/lib/helper.ts", "export {};");
	const found = await find({
		edits: [
			[helper, "export {};"],
			[helper, "export const a = 1;"],
			[path, "throw 1;"],
			[path, skill("mine", 'import "./lib/helper.ts";')],
		],
	});
	const hashes = found.map(({ skills }) => skills[0]?.hash);
	expect(hashes[1]).toBe(hashes[0]);
	expect(hashes[2]).not.toBe(hashes[1]);
	expect(hashes[3]).toBeUndefined();
	expect(hashes[4]).toBe(hashes[2]);
});

test("a package is found from a directory, with one skill or several, or is named", async () => {
	const text = (name: string): string =>
		`{ name: "${name}", description: "", input: { "~standard": { validate() {} } }, start: "a", phases: { a() {} } }`;
	write("own/node_modules/one/package.json", '{ "name": "one", "type": "module", "exports": "./one.js" }');
	write("own/node_modules/one/one.js", `export default ${text("first")};`);
	write("own/node_modules/two/package.json", '{ "name": "two", "type": "module", "exports": "./two.js" }');
	write("own/node_modules/two/two.js", `export default [${text("second")}, ${text("third")}];`);
	const from = join(root, "own");
	const [found] = await find({
		packages: [
			{ name: "one", from },
			{ name: "two", from },
			{ name: "none-such-package", from },
		],
	});
	expect(found?.skills.map(({ name, path }) => [name, path])).toEqual([
		["first", "one"],
		["second", "two"],
		["third", "two"],
	]);
	expect(found?.skills[0]?.hash).toMatch(/^[0-9a-f]{64}$/);
	expect(found?.problems).toMatchObject([{ name: "none-such-package", path: "none-such-package", code: "SKILL_LOAD" }]);
});
