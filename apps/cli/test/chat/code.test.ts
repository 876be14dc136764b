/** Code in colours: a line at a time, the same text, and as few lines read again as can be. */
import { expect, test } from "vitest";
import { HOSTILE } from "../../../../tests/kit/hostile.ts";
import { seeded } from "../../../../tests/kit/seeded.ts";
import { type Code, codeOf, codeRow, type Highlight, hasFence } from "../../src/chat/code.ts";
import { highlight } from "../../src/chat/highlight.ts";
import { hljs } from "../../src/chat/hljs.js";
import { LateColours } from "../../src/chat/late-colours.ts";
import { ended, grown, noMarkdown } from "../../src/chat/markdown.ts";
import { coloured, type Look, uncoloured } from "../../src/chat/text.ts";

const ESC = "\x1b";
const bare = (row: string): string => row.replace(new RegExp(`${ESC}\\[\\d+m`, "g"), "");

/** A look that says its name. */
const named = Object.fromEntries(
	Object.keys(coloured).map((name) => [name, (text: string) => (text.trim() === "" ? text : `<${name} ${text}>`)]),
) as unknown as Look;

function rowsOf(language: string, lines: readonly string[], look: Look, by: Highlight | "none" = highlight) {
	let code: Code = codeOf(language);
	return lines.map((line) => {
		const { row, next } = codeRow(code, line, { look, highlight: by === "none" ? undefined : by });
		code = next;
		return row;
	});
}

const samples: Readonly<Record<string, readonly string[]>> = {
	ts: [
		"/* a comment",
		"\tof two lines */ const a = `text $" + "{b + 1}",
		"\tgoes on`; // end",
		'if (a < 2 && b) return "<x>";',
	],
	python: ["def f(a):", '\t"""said', '\tof it"""', "\treturn a + 1  # sum"],
	json: ['{ "a": [1, true, "x"],', '  "b": null }'],
	bash: ["for f in *.md; do", '  echo "$f" | grep -c fox # how many', "done"],
	html: ["<style>", "a { color: red }", "</style>", '<p class="x">a &amp; b</p>'],
	yaml: ["a: 1", "b:", "  - text: |", "      of two", "      lines"],
	sql: ["select a, count(*) from t -- all", "where b = 'x';"],
	rust: ["fn main() { /* a", "b */ let x: u8 = 1; }"],
	go: ["package main", "func f() string { return `a", "b` }"],
	css: ["a {", "  color: red; /* b", "  c */ }"],
	md: ["# One", "**two** `three`"],
	java: ["/** A */", "class A { int b = 1; }"],
	toml: ["[a]", 'b = "c"'],
};

test.each(Object.entries(samples))("%s has colours, and the text that it had", (language, lines) => {
	const rows = rowsOf(language, lines, coloured);
	expect(rows.map(bare)).toEqual(lines);
	expect(rows.join("")).toContain(ESC);
	expect(rowsOf(language, lines, uncoloured)).toEqual(lines);
	expect(rowsOf(language, lines, coloured, "none")).toEqual(lines);
});

test("what goes over lines has its colour in each of them", () => {
	expect(rowsOf("ts", samples.ts ?? [], named)).toEqual([
		"<dim /* a comment>",
		"<dim \tof two lines */> <magenta const> a = <green `text >$" + "{b + <yellow 1>}",
		"<green \tgoes on`>; <dim // end>",
		'<magenta if> (a < <yellow 2> && b) <magenta return> <green "<x>">;',
	]);
});

test("all that is known by name can be coloured", () => {
	const known = ["ts", "js", "json", "sh", "py", "yml", "sql", "md", "html", "css", "go", "rs", "java", "toml"].map(
		(name) => codeOf(name).language,
	);
	expect(known.toSorted()).toEqual([...hljs.listLanguages()].sort());
	expect(["", "text", "constructor", "brainf*ck", "c++"].map((name) => codeOf(name).language)).toEqual(
		Array.from({ length: 5 }, () => undefined),
	);
});

test("a diff has colours of its own, for which nothing is loaded", () => {
	const lines = ["--- a.ts", "+++ a.ts", "@@ -1 +1 @@", "-const a = 1;", "+const a = 2;", " b"];
	expect(rowsOf("diff", lines, named, "none")).toEqual([
		"<bold --- a.ts>",
		"<bold +++ a.ts>",
		"<cyan @@ -1 +1 @@>",
		"<red -const a = 1;>",
		"<green +const a = 2;>",
		" b",
	]);
	expect([hasFence("a\n```diff\n"), hasFence("a\n```\n"), hasFence("a\n  ~~~ ts\n")]).toEqual([false, false, true]);
});

test("what is read again is what a line is a part of, and never much", () => {
	let [most, all] = [0, 0];
	const counting: Highlight = (language, text) => {
		most = Math.max(most, text.length);
		all += text.length;
		return highlight(language, text);
	};
	const lines = Array.from({ length: 500 }, (_, n) => `\tconst a${n} = f("x", ${n});`);
	rowsOf("ts", lines, coloured, counting);
	expect(all).toBe(lines.join("").length);
	rowsOf("ts", ["/*", ...lines, "x".repeat(100_000)], coloured, counting);
	expect(most).toBeLessThan(5100);
});

test("whatever a model writes as code, it is that text and nothing else", () => {
	const random = seeded(7);
	const words = [
		HOSTILE,
		'<span class="hljs-x">',
		"</span>",
		"&lt;",
		"&amp;",
		"/*",
		"*/",
		"`",
		"${",
		'"',
		"'''",
		"<b>",
		"{",
		"}",
		"a",
		" ",
	];
	for (const language of Object.keys(samples)) {
		for (let round = 0; round < 10; round++) {
			const text = Array.from({ length: 12 }, () =>
				Array.from({ length: random.below(8) }, () => random.pick(words)).join(""),
			).join("\n");
			const rows = (on: Parameters<typeof grown>[2]) => {
				const { rows: first, next } = grown(noMarkdown, `\`\`\`${language}\n${text}\n`, on);
				return [...first, ...ended(next, on)];
			};
			const plain = rows({ columns: 80, look: uncoloured });
			expect(rows({ columns: 80, look: coloured, highlight }).map(bare)).toEqual(plain);
		}
	}
});

test("what is told while the colours are loaded waits for them, in order; where they do not come it goes on without", async () => {
	for (const comes of [true, false]) {
		const told: string[] = [];
		let answer: { resolve(by: Highlight): void; reject(error: Error): void } | undefined;
		const colours = new LateColours(
			() =>
				new Promise<Highlight>((resolve, reject) => {
					answer = { resolve, reject };
				}),
		);
		const tell = (what: string, wants = false) =>
			colours.tell(wants, () => told.push(`${what}${colours.highlight ? " in colour" : ""}`));
		tell("prose");
		tell("a fence", true);
		tell("code");
		tell("another", true);
		expect(told).toEqual(["prose"]);
		if (comes) answer?.resolve(highlight);
		else answer?.reject(new Error("gone"));
		await new Promise((resolve) => setImmediate(resolve));
		tell("after");
		const how = comes ? " in colour" : "";
		expect(told).toEqual(["prose", `a fence${how}`, `code${how}`, `another${how}`, `after${how}`]);
	}
});
