/** Which scripts are taken and which are refused, with the place in the file. */
import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { loadScript } from "../../src/script/load.ts";

/** What a script's file says when it is refused. */
function refusal(source: string): { code: string; message: string; detail: Record<string, unknown> } {
	try {
		loadScript(source, "a.ts");
	} catch (error) {
		const { code, message, detail } = error as Error & { code: string; detail: Record<string, unknown> };
		return { code, message, detail };
	}
	throw new Error("this script was taken");
}

/** The place of each word that is left, as `line:column word`. */
const places = (code: string): string[] =>
	code
		.split("\n")
		.flatMap((line, i) => [...line.matchAll(/\b(?:here|there|f)\b/g)].map((at) => `${i + 1}:${at.index} ${at[0]}`));

test("a module says its file, its text and the hash of the text", () => {
	const source = "export default async () => 1;";
	const script = createHash("sha256").update(source).digest("hex");
	expect(loadScript(source, "a.ts")).toMatchObject({ file: "a.ts", source, version: { script } });
});

describe("a text is another program", () => {
	const text = (body: string): string => `export default async (ctx) => {${body}};`;
	const programOf = (body: string): string | undefined => loadScript(text(body), "a.ts").version.program;

	test.each([
		["a comment", "const a = 1; // one\n", "const a = 1; /* two */"],
		["layout", "if (1) { f(1, 2) }", "if (1) {\n\tf(\n\t\t1,\n\t\t2,\n\t);\n}"],
		["types", "const a: number = 1 as number;", "const a = 1;"],
		["quotes and parentheses", "f('a' + (1 * 2));", 'f("a" + 1 * 2);'],
		["how a name is written", "f(\\u0061);", "f(a);"],
	])("not by %s", (_, one, other) => {
		expect(programOf(one)).toMatch(/^[0-9a-f]{64}$/);
		expect(programOf(other)).toBe(programOf(one));
	});

	test.each([
		["a word", 'f("a");', 'f("b");'],
		["a text that is no number", 'f("1");', "f(1);"],
		["a line end that ends a statement", "return 1;", "return\n1;"],
		["what a template is written as", "f`\\u0061`;", "f`a`;"],
		["a flag of an expression", "f(/a/);", "f(/a/g);"],
		["a number with another end", "f(1n);", "f(1);"],
		["parentheses that group", "f((1 + 2) * 3);", "f(1 + 2 * 3);"],
		["a chain that is cut", "f((a?.b).c);", "f(a?.b.c);"],
		["a name that is none between parentheses", "let g; g = () => 1;", "let g; (g) = () => 1;"],
		["the same in a pattern", "let g; [g = () => 1] = [];", "let g; [(g) = () => 1] = [];"],
		["null and what is too large for a number", "f(null);", "f(1e999);"],
		["what stands first", "f(1); f(2);", "f(2); f(1);"],
	])("by %s", (_, one, other) => {
		expect(programOf(one)).toMatch(/^[0-9a-f]{64}$/);
		expect(programOf(other)).not.toBe(programOf(one));
	});

	test("by a comment, where it can read its own lines", () => {
		for (const body of [
			"f(new Error().stack);",
			'f(e["stack"]);',
			"f(Object.getOwnPropertyNames(e));",
			"f(Reflect.ownKeys(e));",
		])
			expect(programOf(body)).toBeUndefined();
		expect(programOf('f(e["st" + "ack"]);')).toBeDefined();
	});
});

test.each([
	["a value", "const here: number = 1;\nexport default async (there: number): Promise<void> => {};"],
	["a value right after the word", "export default(there: number) => there;"],
	["a value behind a comment and a line end", "export /* why */\n\tdefault /* so */ async (there) => {};"],
	["a function with a name", "export default async function f(here: string) {\n\treturn f(here); }"],
	["a function without a name", "export default async function (here: string) {\n\treturn here; }\n(there);"],
	["constants and functions", "export const here: string = '', there = 2; export async function f() {}"],
	["a list", 'const a = 1; here;\nexport { a, a as "b-c" }; there(f);'],
	["types between them", "import type { X } from 'x';\ninterface Y { z: 'é中😀' } const here: Y = there as Y; f();"],
	["an import of types alone", "import { type A, type B } from 'x'; here; there;"],
])("nothing moves when exports are rewritten: %s", (_, source) => {
	const words = places(source);
	expect(words.length).toBeGreaterThan(0);
	expect(places(loadScript(source, "a.ts").code).slice(0, words.length)).toEqual(words);
});

describe("what cannot be run says where and what to do", () => {
	test.each([
		["a syntax error", "const a = 1;\n  const = 3;", "SCRIPT_INVALID", "a.ts:2:9: ", { line: 2, column: 9 }],
		["one behind a tab", "\tconst a: string = 3 3;", "SCRIPT_INVALID", "a.ts:1:22: ", { line: 1, column: 22 }],
		["an end that is missing", "export default () => {", "SCRIPT_INVALID", "a.ts:1:", { line: 1 }],
		["an enum", "\n  enum A { B }", "SCRIPT_INVALID", "a.ts:2:3: TypeScript enum", { line: 2, column: 3 }],
		[
			"an enum of several lines",
			"\n  enum A {\n B }",
			"SCRIPT_INVALID",
			"an object for an enum",
			{ line: 2, column: 3 },
		],
		["a namespace", "namespace N { export const a = 1 }", "SCRIPT_INVALID", "a.ts:1:1: ", { line: 1 }],
		["a parameter property", "class A { constructor(private x: 1) {} }", "SCRIPT_INVALID", "a field for", { line: 1 }],
		["a decorator", "@d class A {}", "SCRIPT_INVALID", "a.ts:1:1: ", { line: 1, column: 1 }],
		["an await outside of functions", "const a = 1;\nawait a;", "SCRIPT_INVALID", "a.ts:2:1: ", { line: 2, column: 1 }],
		[
			"a loop that waits outside of functions",
			"for await (const a of []);",
			"SCRIPT_INVALID",
			"a.ts:1:1: ",
			{ line: 1 },
		],
		["a comment of HTML", "1 <!--x;", "SCRIPT_INVALID", "a.ts:1:3: ", { line: 1, column: 3 }],
		[
			"an import",
			'\n import { b } from "lodash";',
			"DETERMINISM",
			"import type",
			{ line: 2, column: 2, name: "lodash" },
		],
		["an import for its effects", 'import "./x.ts";', "DETERMINISM", "a script is one file", { name: "./x.ts" }],
		["an import of crypto", 'import c from "node:crypto";', "DETERMINISM", "ctx.uuid()", { name: "node:crypto" }],
		["an import of files", 'import fs from "fs";', "DETERMINISM", "ctx.tool()", { name: "fs" }],
		["an export from elsewhere", 'export { a } from "a";', "DETERMINISM", "a.ts:1:1", { name: "a" }],
		["all exports from elsewhere", 'export * from "a";', "DETERMINISM", "a.ts:1:1", { name: "a" }],
		["a dynamic import", 'const f = () => import("fs");', "DETERMINISM", "a.ts:1:17", { column: 17, name: "fs" }],
		["a dynamic import of a name", "const f = (a) => [import(a)];", "DETERMINISM", "a.ts:1:19", { column: 19 }],
		["import.meta", "const f = () => import.meta.url;", "DETERMINISM", "args", { column: 17, name: "import.meta" }],
	])("%s", (_, source, code, words, detail) => {
		const found = refusal(source);
		expect(found.code).toBe(code);
		expect(found.message).toContain(words);
		expect(found.message).toMatch(/^a\.ts:\d+:\d+: /);
		expect(found.detail).toMatchObject({ file: "a.ts", ...detail });
	});

	test.each([
		["an escape", "a();\n /* \x1b[2J */", "U+001B", "\\u001b", 2, 5],
		["a carriage return", "a(); // \r b", "U+000D", "\\u000d", 1, 9],
		["a form feed", "\fa();", "U+000C", "\\u000c", 1, 1],
		["a C1 control", "'\x9b'", "U+009B", "\\u009b", 1, 2],
		["a bidi control", "'\u202e'", "U+202E", "\\u202e", 1, 2],
		["a line separator", "'\u2028'", "U+2028", "\\u2028", 1, 2],
		["a space of no width", "'\u200b'", "U+200B", "\\u200b", 1, 2],
		["a tag", "'\u{e0041}'", "U+E0041", "\\udb40\\udc41", 1, 2],
		["half a character", "'\ud83d'", "U+D83D", "\\ud83d", 1, 2],
		["a second mark of an encoding", "\ufeff\ufeffa();", "U+FEFF", "\\ufeff", 1, 2],
	])("%s in the text", (_, source, name, written, line, column) => {
		const found = refusal(source);
		expect(found).toMatchObject({ code: "SCRIPT_INVALID", detail: { file: "a.ts", line, column } });
		expect(found.message).toContain(`a.ts:${line}:${column}: the character ${name} `);
		expect(found.message.endsWith(`write it in a text as ${written}`)).toBe(true);
	});

	test("a name that acts on a terminal", () => {
		expect(() => loadScript("export default () => 1;", "a\x1b]0;b\u202e.ts")).toThrow(
			expect.objectContaining({
				code: "SCRIPT_INVALID",
				message:
					'the name of the script "a<U+001B>]0;b<U+202E>.ts" has the character U+001B, which is not drawn or acts on a terminal: rename it',
			}),
		);
	});

	test("what words are spelt with, lines that end in CRLF, and the mark of an encoding are taken, in the same columns", () => {
		const { code } = loadScript("\ufeffconst here = '👩\u200d👧 ❤\ufe0f می\u200cخواهم';\r\n\tthere();", "a.ts");
		expect(code).not.toContain("\ufeff");
		expect(places(code).slice(0, 2)).toEqual(["1:7 here", "2:1 there"]);
	});

	test("what only looks like it is taken", () => {
		expect(() =>
			loadScript('const a = { import: (b) => b };\na.import("fs"); "<!--"; `<!--`; // import("x")\n1 < !--b;', "a.ts"),
		).not.toThrow();
	});
});
