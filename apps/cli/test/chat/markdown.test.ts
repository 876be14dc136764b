/** Markdown as it comes: the same rows, whatever it is cut into; and widths as terminals have them. */
import { expect, test } from "vitest";
import { HOSTILE, raw } from "../../../../tests/kit/hostile.ts";
import { seeded } from "../../../../tests/kit/seeded.ts";
import { ended, grown, type Markdown, noMarkdown, type Paper, tail } from "../../src/chat/markdown.ts";
import { coloured, cut, uncoloured, width, wrap } from "../../src/chat/text.ts";

const looks = new RegExp(`${"\x1b"}\\[[\\d;]*m|\\s`, "g");

const paper: Paper = { columns: 40, look: uncoloured };

function rows(pieces: readonly string[], on: Paper = paper): readonly string[] {
	let now: Markdown = noMarkdown;
	const all: string[] = [];
	for (const piece of pieces) {
		const { rows: more, next } = grown(now, piece, on);
		all.push(...more);
		now = next;
	}
	return [...all, ...ended(now, on)];
}

test.each<[text: string, rows: readonly string[]]>([
	["# Title #\n\n#no title", ["Title", "", "#no title"]],
	["**b** and *i*, `**c**` 2 * 3 * 4, a*b*c", ["b and i, `**c**` 2 * 3 * 4, a*b*c"]],
	["[a page](https://a.test) ![p](x.png)", ["a page (https://a.test) p (x.png)"]],
	["> said\n---\n1. one\n  - two", ["│ said", "─".repeat(40), "1. one", "  • two"]],
	["- a list item that is longer than the row", ["• a list item that is longer than the", "  row"]],
	[
		"```ts\nconst a = 1; // this line of code is not broken anywhere\n**b**\n```\nx",
		["```ts", "const a = 1; // this line of code is not broken anywhere", "**b**", "```", "x"],
	],
	["````\n```\n````\n**x**", ["````", "```", "````", "x"]],
	["|a|b|\n|-|-|\n|1|22|\nend", ["a │ b", "1 │ 22", "end"]],
	[
		"|name|what it is|\n|-|-|\n|wal|the log that everything else follows from|",
		["name: wal", "what it is: the log that everything else", "  follows from"],
	],
	["no end", ["no end"]],
	["crlf\r\nend\r\n", ["crlf", "end"]],
])("%j", (text, expected) => {
	expect(rows([text])).toEqual(expected);
	expect(rows([...text])).toEqual(expected);
});

test("what is not final is drawn as if it ended there, and whatever it is cut into, the rows are the same", () => {
	const text = "# One\n\n**two** `three`\n\n```\ncode\n```\n|a|b|\n|-|-|\n|1|2|\n\nlast";
	const whole = rows([text]);
	const random = seeded(5);
	for (let round = 0; round < 100; round++) {
		const pieces: string[] = [];
		for (let at = 0; at < text.length; ) {
			const length = 1 + random.below(9);
			pieces.push(text.slice(at, at + length));
			at += length;
		}
		expect(rows(pieces)).toEqual(whole);
	}
	expect(tail(grown(noMarkdown, "done\n**ha", paper).next, paper)).toEqual(["**ha"]);
	expect(tail(grown(noMarkdown, "|a|\n|b", paper).next, paper)).toEqual(["a", "b"]);
	expect(tail(grown(noMarkdown, "x".repeat(1_000_000), paper).next, paper).length).toBeLessThan(300);
});

test("nothing of a model's text acts on the terminal, final or not, wherever it is cut", () => {
	const text = `a ${HOSTILE}\u001b]52;c;aGk=\u0007b\u001b[2J\n\`\`\`\n${HOSTILE}\n\`\`\`\n| ${HOSTILE} |\n> ${HOSTILE}`;
	for (const pieces of [[text], [...text], text.match(/.{1,3}/gs) ?? []]) {
		expect(raw(rows(pieces).join(""))).toEqual([]);
		let now: Markdown = noMarkdown;
		for (const piece of pieces) {
			now = grown(now, piece, paper).next;
			expect(raw(tail(now, paper).join(""))).toEqual([]);
		}
	}
});

test.each<[text: string, cells: number]>([
	["abc żółć", 8],
	["日本語", 6],
	["👍🏽", 2],
	["👩‍👩‍👧", 2],
	["❤️", 2],
	["🇵🇱", 2],
	["1️⃣", 2],
	["e\u0301", 1],
	["한글", 4],
	["│─❯✓⏳", 6],
	["\u001b[1mbold\u001b[22m", 4],
])("%j takes %i cells", (text, cells) => {
	expect(width(text)).toBe(cells);
});

test("rows fit, keep all that is not a space, and what is cut is seen", () => {
	const words = ["a", "word", "日本語", "👩‍👩‍👧", "https://a.test/a/very/long/path", coloured.bold("bold"), "é,"];
	const random = seeded(11);
	const bare = (text: string): string => text.replace(looks, "");
	for (let round = 0; round < 300; round++) {
		const text = Array.from({ length: random.below(30) }, () => random.pick(words)).join(random.pick([" ", "  ", ""]));
		const columns = 2 + random.below(50);
		const broken = wrap(text, columns, random.pick(["", "  "]));
		expect(
			broken.every((row) => width(row) <= columns),
			JSON.stringify([text, columns]),
		).toBe(true);
		expect(bare(broken.join(""))).toBe(bare(text));
		expect(width(cut(text, columns))).toBeLessThanOrEqual(columns);
		if (width(text) > columns) expect(bare(cut(text, columns))).toMatch(/…$/);
	}
});
