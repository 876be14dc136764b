/** The line that is typed: every edit, and the way back from all of them. */
import { expect, test } from "vitest";
import { seeded } from "../../../../tests/kit/seeded.ts";
import { sample } from "../../../../tests/sample.ts";
import { emptyLine, type Line, lineOf, pasted, shown, toRow, typed, undone, wholeText } from "../../src/chat/editor.ts";
import { clusters, width } from "../../src/chat/text.ts";
import { edited } from "../../src/chat/typing.ts";

/** A text with `|` where the cursor is. */
function at(text: string): Line {
	const cursor = text.indexOf("|");
	const line = typed(emptyLine, text.replace("|", ""));
	return { ...line, cursor };
}

const seen = ({ text, cursor }: Line): string => `${text.slice(0, cursor)}|${text.slice(cursor)}`;

test.each<[before: string, key: string, after: string]>([
	["ab|c", "left", "a|bc"],
	["a👩‍👩‍👧|c", "left", "a|👩‍👩‍👧c"],
	["a|👍🏽c", "right", "a👍🏽|c"],
	["one two| three", "alt+b", "one |two three"],
	["one |two three", "alt+f", "one two| three"],
	["日本語テキスト|", "ctrl+left", "日本語|テキスト"],
	["a\nbc|", "home", "a\n|bc"],
	["|a\nbc", "end", "a|\nbc"],
	["a\nb|", "ctrl+a", "a\n|b"],
	["|\na", "ctrl+a", "|\na"],
	["a\n|b", "left", "a|\nb"],
	["a|\nb", "right", "a\n|b"],
	["one two|", "ctrl+w", "one |"],
	["one| two", "alt+d", "one|"],
	["one\ntwo th|ree", "ctrl+u", "one\n|ree"],
	["one t|wo\nthree", "ctrl+k", "one t|\nthree"],
	["a👍🏽|", "backspace", "a|"],
	["|a", "delete", "|"],
	["a|b", "ctrl+j", "a\n|b"],
])("%j, %s: %j", (before, name, after) => {
	expect(seen(edited(at(before), { name }) ?? emptyLine)).toBe(after);
});

test("what was cut is put back, and what was done is taken back word by word", () => {
	const keys = (line: Line, ...names: readonly string[]): Line =>
		names.reduce((now, name) => edited(now, { name }) ?? now, line);
	expect(seen(keys(at("one two|"), "ctrl+w", "ctrl+a", "ctrl+y"))).toBe("two|one ");
	const line = [..."one two"].reduce(typed, emptyLine);
	expect(keys(line, "ctrl+_").text).toBe("one ");
	expect(keys(line, "ctrl+_", "ctrl+_", "ctrl+_").text).toBe("");
	expect(keys(line, "ctrl+_", "ctrl+_", "alt+_", "alt+_").text).toBe("one two");
});

test("a paste of many lines is a chip, which stands for all of it, and is opened by Ctrl-O", () => {
	const text = Array.from({ length: 300 }, (_, n) => `line ${n}`).join("\n");
	const line = pasted(typed(emptyLine, "see "), text);
	expect(shown(line, 60)).toEqual({ rows: ["see [300 lines pasted]"], row: 0, column: 22 });
	expect(wholeText(line)).toBe(`see ${text}`);
	expect(edited(line, { name: "ctrl+o" })?.text).toBe(`see ${text}`);
	expect(edited(line, { name: "backspace" })?.text).toBe("see ");
	expect(shown(pasted(emptyLine, "x".repeat(20_000)), 60).rows).toEqual(["[20000 characters pasted]"]);
	expect(pasted(emptyLine, "one line\n").text).toBe("one line");
	// One that was copied from here and there is no chip of this line.
	expect(pasted(emptyLine, String.fromCodePoint(0xf0000)).text).toBe("");
});

test("what was sent before is looked at again as it was, and a long one as a chip", () => {
	expect(lineOf("a\nb").text).toBe("a\nb");
	const long = Array.from({ length: 40 }, (_, n) => `${n}`).join("\n");
	expect([lineOf(long).text.length, wholeText(lineOf(long))]).toEqual([2, long]);
});

test("rows up and down keep the column as far as they can", () => {
	const line = at("abcdef\nab\nabcd|ef");
	const up = toRow(line, -1, 40) as Line;
	expect(seen(up)).toBe("abcdef\nab|\nabcdef");
	expect(toRow(at("a|b"), -1, 40)).toBeUndefined();
	expect(seen(toRow(at("abcdefgh|"), -1, 4) as Line)).toBe("abcd|efgh");
});

test("after any edits the cursor is on a character, rows fit, and the way back ends at the beginning", () => {
	const names =
		"left right alt+b alt+f home end ctrl+w alt+d ctrl+u ctrl+k ctrl+y backspace delete ctrl+j ctrl+_ alt+_ ctrl+o";
	const texts = ["a", "word ", "日本", "👩‍👩‍👧", "é", "\u0301", "ŻÓŁW"];
	const random = seeded(3);
	for (let round = 0; round < sample(60, 600); round++) {
		let line = emptyLine;
		for (let edit = 0; edit < 40; edit++) {
			if (random.chance(0.5)) line = typed(line, random.pick(texts));
			else if (random.chance(0.1)) line = pasted(line, "1\n2\n3");
			else line = edited(line, { name: random.pick(names.split(" ")) }) ?? line;
			const columns = 4 + random.below(40);
			const { rows, row, column } = shown(line, columns);
			expect(rows.every((each) => width(each) <= columns)).toBe(true);
			expect(column <= columns && row < rows.length).toBe(true);
			const begins = line.text.lastIndexOf("\n", line.cursor - 1) + 1;
			const whole = clusters(line.text.slice(begins).split("\n")[0] ?? "");
			const before = clusters(line.text.slice(begins, line.cursor));
			// A sign that joins the character before it is typed behind that.
			if (!line.text.includes("\u0301")) expect(before).toEqual(whole.slice(0, before.length));
		}
		while (line.past.length > 0) line = undone(line);
		expect(line.text).toBe("");
	}
});
