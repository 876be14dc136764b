/** Questions as people ask them, in a directory with what most projects have: what is asked, what is looked at, what is said. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { askIn, inChat, reply, request, type Told, user } from "./talk.ts";

const numbered = (count: number) => Array.from({ length: count }, (_, n) => `row ${n + 1}`).join("\n");

const teapot = {
	LICENSE: "(The MIT License)\n\nCopyright (c) 2020 Ada Brandt\n\nPermission is hereby granted\n",
	"package.json": JSON.stringify(
		{
			name: "teapot",
			version: "2.4.1",
			description: "Pours tea.",
			author: { name: "Ada Brandt" },
			license: "MIT",
			engines: { node: ">=18" },
			dependencies: { "tea-leaf": "^1.0.0" },
			scripts: { version: "echo 9.9.9" },
		},
		null,
		2,
	),
	"README.md": [
		"<h1 align='center'>Teapot</h1>",
		"",
		"[![Build Status](https://ci/badge.svg)](https://ci) [![npm](https://npm/badge.svg)](https://npm)",
		"",
		"![a teapot](pot.png)",
		"",
		"[Docs](docs/) | [Chat](https://chat) | [Français](README.fr.md)",
		"",
		"A teapot that keeps its [tea](https://tea) warm",
		"for an hour. It is made of clay.",
		"",
		"## Behaviour",
		"",
		"The lid serialises every pour.",
		"",
	].join("\n"),
	"src/pour.ts": "/** Pours. */\nexport function pour(cup: number): number {\n\treturn cup;\n}\n",
	"src/use.ts": 'import { pour } from "./pour.ts";\n\nexport const served = pour(pour(2)) + pour(1);\n',
	"lib/pour.js": "// Pours. pour pour\nfunction pour(cup) {\n\treturn cup;\n}\nexports.pour = pour;\n",
	"lib/use.js": 'const { pour } = require("./pour.js");\nexports.served = pour(pour(2)) + pour(1);\n',
	"tools/rows.py": `${numbered(119)}\nrow last\n`,
	"tools/weigh.py": "def weigh(cup):\n    return cup\n",
};

const roots = new Map<string, string>();

async function directory(name: string, files: Readonly<Record<string, string>>): Promise<void> {
	const root = await mkdtemp(join(tmpdir(), "reyn-questions-"));
	roots.set(name, root);
	for (const [path, text] of Object.entries(files)) {
		await mkdir(dirname(join(root, path)), { recursive: true });
		await writeFile(join(root, path), text);
	}
}

beforeAll(async () => {
	await directory("teapot", teapot);
	await directory("python", {
		"pyproject.toml":
			'[build-system]\nrequires = ["x"]\n\n[project]\nname = "kettle"\nversion = "0.3"\ndescription = "Boils water."\nauthors = [\n  { name = "Bo Lind" },\n]\nlicense = { text = "BSD-3-Clause" }\nrequires-python = ">=3.9"\n',
	});
	await directory("pot", {
		"pot/__init__.py": "__version__ = '3.1'\n",
		"lid/lid.py": 'VERSION = "7"\n\ndef lift(lid):\n    """\n    Raises it slowly.\n    """\n    return lid\n',
		"Lid/Knob.pm":
			"package Lid::Knob;\n\n=head1 NAME\n\nLid::Knob - Turns by hand\n\n=head1 AUTHOR\n\nCy Dunn, who turned it.\n\n=cut\n",
		"Test/Stir.pm": "package Test::Stir;\nsub stir(@);\nsub stir(@) {\n\treturn 1;\n}\n",
		"mug.cpp": "class Mug;\nclass MugLid {\n};\nclass Mug : public Cup {\n};\n",
		"long.py": "def brew(water,\n         leaves):\n    return water\n\nbrew(1,\n     2)\n",
		"lid/use.py": "import lid\n\nlid.lift(1)\nlid.lift(2)\n",
	});
	await directory("packed", {
		"README.md": "# jug\n\n> Pours milk, and nothing else.\n\n## Use\n\n```js\nimport { Spout } from 'jug'\n```\n",
		"dist/spout.js": "/** A way out for the milk. */\nclass Spout {\n}\n",
	});
	await directory("headers", {
		"jug.h":
			"/* Distributed under MIT license. */\n\n/** Use with ::JugOpen. */\nAPI Jug* JugOpen(\n    int size);\nint JugClose(Jug* jug);\n",
		"jug.c": "int a(void) {\n\treturn JugClose(0);\n}\n",
	});
	await directory("late", {
		"README.md": "# Jug\n\n## Compared\n\nSee the table of all the other jugs.\n",
		"package.json": '{ "description": "Keeps milk cool." }\n',
	});
	await directory("common", {
		"src/names.js": ["compare", "find", "list", "plan", "Show", "sum", "test", "each"]
			.map((name) => `export const ${name} = (all) => all.${name}er;\n`)
			.join("\n"),
		"src/use.js": "// The total of a bill.\nsum(bill);\nlist(bill);\n",
	});
	await directory("bare", { "a.c": "int version(void) {\n\treturn 7;\n}\n", "b.c": "/* licensed to nobody */\n" });
});
afterAll(() => Promise.all([...roots.values()].map((root) => rm(root, { recursive: true }))));

/** A conversation; the last turn of it. */
async function ask(where: string, ...questions: readonly string[]): Promise<Told> {
	let told: Told | undefined;
	for (const question of questions)
		told = await askIn(roots.get(where) ?? "", [...(told?.messages ?? []), user(question)]);
	if (told === undefined) throw new Error("nothing was asked");
	return told;
}

const saying = (said: string | RegExp) =>
	typeof said === "string" ? expect.stringContaining(said) : expect.stringMatching(said);

type Row = readonly [question: string, said: string | RegExp, where?: string];

const rows = (name: string, table: readonly Row[]) =>
	describe(name, () => {
		test.each(table.map(([question, said, where = "teapot"]) => [question, said, where] as const))(
			"%s",
			async (question, said, where) => {
				expect((await ask(where, question)).text).toEqual(saying(said));
			},
		);
	});

rows("what a project says of itself", [
	["What licence is this under?", /^The licence is MIT \(package\.json:8\)\. “\(The MIT License\)” \(LICENSE:1\)$/],
	["which license does teapot have?", "The licence is MIT (package.json:8)."],
	["Is it open source?", "The licence is MIT (package.json:8)."],
	["Who wrote it?", /^The author is Ada Brandt \(package\.json:6\)\. “Copyright \(c\) 2020 Ada Brandt” \(LICENSE:3\)$/],
	["What version is it?", /^The version is 2\.4\.1 \(package\.json:3\)\.$/],
	["What version of node does it need?", "It needs node >=18 (package.json:10)."],
	["What does it depend on?", "It depends on tea-leaf ^1.0.0 (package.json:13)."],
	[
		"What does this project do?",
		/^“A teapot that keeps its \[tea\]\(https:\/\/tea\) warm for an hour\. It is made of clay\.” \(README\.md:9-10\)/,
	],
	["What licence is it under and who wrote it?", /licence is MIT[\s\S]*author is Ada Brandt/],
	["What version is it?", "The version is 0.3 (pyproject.toml:6).", "python"],
	["who is the author?", "The author is Bo Lind (pyproject.toml:9).", "python"],
	["What is the license?", "The licence is BSD-3-Clause (pyproject.toml:11).", "python"],
	["What does this project do?", "“Boils water.” (pyproject.toml:7)", "python"],
	["Which Python does it need?", "It needs python >=3.9 (pyproject.toml:12).", "python"],
	["What version is it?", "version is defined at a.c:1.", "bare"],
	["What version is it?", "“__version__ = '3.1'” (pot/__init__.py:1)", "pot"],
	["Who wrote Lid::Knob?", "“Cy Dunn, who turned it.” (Lid/Knob.pm:9)", "pot"],
	["what does Lid::Knob do?", "“Lid::Knob - Turns by hand” (Lid/Knob.pm:5)", "pot"],
	["What does this project do?", /^“Pours milk, and nothing else\.” \(README\.md:3\)$/, "packed"],
	["What does it do?", /^“Keeps milk cool\.”/, "late"],
	["What is the licence?", "“/* Distributed under MIT license. */” (jug.h:1)", "headers"],
	["What is teapot?", /^“A teapot that keeps its/],
	["What version of lid is it?", '“VERSION = "7"” (lid/lid.py:1)', "pot"],
	["What licence is this under?", "licensed to nobody", "bare"],
	["Where is the licence checked?", /^(?!The licence is)/],
]);

rows("one thing in two spellings", [
	["how does the lid serialize?", "serialises every pour"],
	["what is the behavior?", "Behaviour"],
]);

rows("lines of a file", [
	["show me line 100 of tools/rows.py", /^tools\/rows\.py:100\n {2}100\| row 100$/],
	["show me line 100 of rows.py", /^tools\/rows\.py:100\n/],
	["lines 3 to 5 of tools/rows.py", /^tools\/rows\.py:3-5\n {2}3\| row 3\n {2}4\| row 4\n {2}5\| row 5$/],
	["what are the first 2 lines of rows.py?", /^tools\/rows\.py:1-2\n/],
	["show me the last line of rows.py", /^tools\/rows\.py:120\n {2}120\| row last$/],
	["show me line 3 of src/use.ts", "  3| export const served"],
	["show me line 2 of src/use.ts", /^src\/use\.ts:2 is blank\.$/],
	["show me line 500 of rows.py", /^tools\/rows\.py has only 120 lines\.$/],
	["show me line 1 of gone.py", /^There is no gone\.py\b/],
]);

rows("counts", [
	["How many files are there?", /^There are 9 files: 3 \.py|^There are 9 files/],
	["how many python files are there?", "There are 2 .py files."],
	["how many .go files?", "There is no .go file."],
	["How many files are in src?", "There are 2 files in src"],
	["How many folders are there?", "There are 3 folders at the top: lib/, src/, tools/."],
	["how many lines does rows.py have?", /^tools\/rows\.py has 120 lines\.$/],
	["how many lines mention pour?", /^\d+ lines in \d files mention pour/],
	["what is in the src folder?", /^src: 2 files \(2 \.ts\)\.\n- at the top: pour\.ts, use\.ts$/],
	["how many functions are there?", /^I cannot count functions/],
]);

rows("what it cannot do", [
	["delete index.js", /^I cannot delete[^.]*: I only search, read and quote the files of this directory\.$/],
	["Please write a test for pour", /^I cannot write/],
	["can you run the tests?", /^I cannot run/],
	["fix the bug in pour.ts", /^I cannot fix/],
	["search the web for teapots", /^I cannot browse/],
	["open https://example.org", /^I cannot browse/],
	["lösche index.js", /^I cannot delete/],
	["index.jsを削除して", /^I cannot delete/],
]);

rows("in other languages", [
	["Wo ist pour definiert?", "pour is defined at src/pour.ts:2."],
	["Où est définie la fonction weigh ?", "weigh is defined at tools/weigh.py:1."],
	["¿Dónde está definida la función weigh?", "weigh is defined at tools/weigh.py:1."],
	["weighはどこで定義されていますか？", "weigh is defined at tools/weigh.py:1."],
	["Wie viele Dateien gibt es hier?", "There are 9 files"],
	["Combien de fichiers y a-t-il ?", "There are 9 files"],
	["¿Cuántos archivos hay?", "There are 9 files"],
	["ファイルはいくつありますか？", "There are 9 files"],
	["Welche Lizenz hat das?", "The licence is MIT"],
	["Quelle est la licence ?", "The licence is MIT"],
	["¿Qué licencia tiene?", "The licence is MIT"],
	["ライセンスは何ですか？", "The licence is MIT"],
	["Was macht dieses Projekt?", "A teapot that keeps"],
	["Que fait ce projet ?", "A teapot that keeps"],
	["¿Qué hace este proyecto?", "A teapot that keeps"],
	["このプロジェクトのバージョンは何ですか？", "The version is 2.4.1"],
	["このプロジェクトの作者は誰ですか？", "The author is Ada Brandt"],
	["このプロジェクトは何をしますか？", "A teapot that keeps"],
	["Zeig mir Zeile 100 von rows.py", "  100| row 100"],
	["rows.pyの100行目を見せて", "  100| row 100"],
]);

describe("what is called by a common word", () => {
	const said = (name: string, line: number) => `${name} is defined at src/names.js:${line}.`;
	rows("in any language", [
		["where is sum defined?", said("sum", 11), "common"],
		["where is the function list defined?", said("list", 5), "common"],
		["what does find do?", said("find", 3), "common"],
		["what does test do?", said("test", 13), "common"],
		["where is test defined?", said("test", 13), "common"],
		["wo ist Show definiert?", said("Show", 9), "common"],
		["où est défini compare ?", said("compare", 1), "common"],
		["¿dónde está definida la función sum?", said("sum", 11), "common"],
		["planはどこで定義されていますか？", said("plan", 7), "common"],
	]);

	test.each([
		["where is sum?", "sum"],
		["wo ist sum?", "sum"],
		["que fait sum ?", "sum"],
		["¿Dónde está sum?", "sum"],
		["sumはどこ？", "sum"],
		["sum", "sum"],
		["tell me about list", "list"],
		["explain how compare works", "compare"],
		["who calls list?", "list"],
		["what does the sum function do?", "sum"],
	])("%s", async (question, name) => {
		expect((await ask("common", question)).did.find((look) => look.startsWith("search"))).toBe(`search ${name}`);
	});

	test.each(["where is it defined?", "Can you find it?", "what did you find?", "explain"])(
		"%s: nothing is looked for that no one asked for",
		async (question) => {
			expect((await ask("common", question)).did.join()).not.toMatch(/defin|find/);
		},
	);
});

describe("in a conversation", () => {
	test.each([
		[
			["What licence is this under?", "Who wrote it?", "What did I ask first?"],
			"You asked first: “What licence is this",
		],
		[["What version is it?", "Who wrote it?", "what was my last question?"], "You asked last: “Who wrote it?”"],
		[["where is pour?", "und die Lizenz?"], "The licence is MIT"],
		[["where is pour?", "wo ist weigh?", "最初に何を質問しましたか？"], "You asked first: “where is pour?”"],
		[["what did I ask first?"], "Nothing: this is the first question"],
		[["show me line 3 of rows.py", "and line 4?"], "  4| row 4"],
		[["where is weigh?", "does pour return it?"], /^(?!.*weigh)/],
	] as const)("%j", async (questions, said) => {
		expect((await ask("teapot", ...questions)).text).toEqual(saying(said));
	});

	test("a full question inherits nothing, an elliptic one does", async () => {
		expect((await ask("teapot", "where is weigh?", "does pour return it?")).did[0]).toBe("search pour return");
		expect((await ask("teapot", "where is weigh?", "and how is it tested?")).did[0]).toBe("search weigh");
	});

	test("that it has told in short, it knows what was asked before", async () => {
		const said = Array.from({ length: 60 }, (_, at) => `Person: question ${at}\nAgent: answer ${at}`).join("\n");
		const told = await reply({ ...request([user(said)]), purpose: "compaction" });
		expect(told.text).toMatch(/^- … 20 more before\n- Person: question 0\n/);
		const note = { role: "note", text: `What was said and done before, in short:\n${told.text}` } as const;
		const asked = (question: string) => reply(request([note, user("where is pour?"), user(question)], inChat));
		expect((await asked("What did I ask first?")).text).toBe("You asked first: “question 0”");
		expect((await asked("How many questions did I ask?")).text).toBe("61 questions before this one.");
	});

	test("what it cannot do it does not try", async () => {
		expect((await ask("teapot", "delete index.js")).did).toEqual([]);
	});
});

rows("what is there of a definition", [
	["what is a Spout?", "Spout is defined at dist/spout.js:2. “A way out for the milk.”", "packed"],
	["where is JugOpen?", "JugOpen is declared at jug.h:4.", "headers"],
	["where is JugClose?", "JugClose is declared at jug.h:6.", "headers"],
]);

describe("definitions and sources", () => {
	test.each(["what does lid.lift do?", "how does lid lift?"])(
		"%s: the definition, and what is said at it",
		async (question) => {
			expect((await ask("pot", question)).text).toMatch(
				/^lift is defined at lid\/lid\.py:3\. “Raises it slowly\.” \(lid\/lid\.py:5\)/,
			);
		},
	);

	test.each([
		["where is stir?", "stir is defined at Test/Stir.pm:3."],
		["where is Mug?", "Mug is defined at mug.cpp:4."],
		["where is brew?", "brew is defined at long.py:1."],
	])("%s, and not where it is only announced or begins a call", async (question, said) => {
		expect((await ask("pot", question)).text).toContain(said);
	});

	test("the definition in the source wins over its uses and what is built of it", async () => {
		const { text } = await ask("teapot", "where is pour?");
		expect(text).toMatch(/^pour is defined at src\/pour\.ts:2\./);
		expect(text).not.toContain("lib/pour.js");
	});
});

describe("an overview", () => {
	test("quotes prose, and no badge", async () => {
		const { text } = await ask("teapot", "give me an overview");
		expect(text).toMatch(/^“A teapot that keeps its/);
		expect(text).not.toContain("[![");
	});
});

describe("a look that was cut off", () => {
	const cut = async (question: string) =>
		(await askIn(roots.get("teapot") ?? "", [user(question)], undefined, [], { maxFiles: 4 })).text;

	test("counts at least", async () => {
		expect(await cut("How many files are there?")).toMatch(/^There are at least \d files/);
	});

	test("does not say that there is nothing", async () => {
		expect(await cut("where is kafka?")).toMatch(/^I found nothing about kafka in the part that I searched: /);
	});
});
