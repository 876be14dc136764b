/** What may not reach a terminal is taken out of any text, and nothing else is. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { counted } from "@reyn/rewind-modes/internal";
import { expect, test } from "vitest";
import { HOSTILE, raw } from "../../../tests/kit/hostile.ts";
import { asLine, clean, oneLine } from "../src/text.ts";

test("whatever acts, turns letters round or is not drawn is taken out, each for itself", () => {
	for (let point = 0; point <= 0x10ffff; point++) {
		const character = String.fromCodePoint(point);
		if (raw(character).length > 0 && clean(`a${character}b`) !== "ab") expect.fail(raw(character)[0]);
	}
	expect(clean(`a${HOSTILE}b`)).toBe("a]8;;b");
});

/** Neither package is the other's to ask: what a terminal takes is no business of a journal, nor acorn of all that is printed. */
test("the text of a script is refused for the same characters", () => {
	const [here, there] = ["../src/text.ts", "../../../packages/journal/src/script/load.ts"].map(
		(file) => /\[\[\\p\{Cc\}.*\]\]/.exec(readFileSync(join(import.meta.dirname, file), "utf8"))?.[0],
	);
	expect(here).toContain("Default_Ignorable_Code_Point");
	expect(there).toBe(here);
});

test("what words are written with stays", () => {
	for (const text of [
		"zażółć\tgęślą\njaźń 🦊",
		"👩‍👩‍👧 ❤️‍🔥 🏳️‍🌈 1️⃣",
		"می‌خواهم",
		"क्‍ष",
		"שלום עליכם",
		"مرحبا",
		"ᠮᠣᠩᠭᠣᠯ᠋",
		"日本語\u3000テキスト",
		"\u0600١٢ \u06dd٣",
		"ភាសាខ្មែរ မြန်မာ ᨲᩫ᩠ᩅᩮᩬᩥᨦ",
		"⠗⠑⠽⠝ \ue0b0",
	])
		expect(clean(text)).toBe(text);
});

test("a name with line ends is one line, at once however long it is", () => {
	expect(asLine("a\r\n  b\n\nc  d")).toBe("a b c  d");
	expect(asLine(`${" ".repeat(1_000_000)}x`)).toHaveLength(1_000_001);
});

test("a sequence that is cut between two pieces is as harmless as a whole one", () => {
	const sequence = "\u001b]8;;http://example.test\u001b\\link";
	for (let cut = 0; cut <= sequence.length; cut++)
		expect(clean(sequence.slice(0, cut)) + clean(sequence.slice(cut))).toBe(clean(sequence));
});

test("one line is one line, and not longer than it may be", () => {
	expect(oneLine("a\n  b\tc", 10)).toBe("a b c");
	expect(oneLine("abcdefghij", 5)).toBe("abcd…");
});

test("of one thing there is one", () => {
	expect([0, 1, 2].map((count) => counted(count, "record"))).toEqual(["0 records", "1 record", "2 records"]);
});
