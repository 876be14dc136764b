import { expect, test } from "vitest";
import { clean, oneLine } from "../src/clean.ts";

test("control codes, escape sequences and bidi overrides lose what makes them act", () => {
	for (const hostile of [
		"\u001b[2J",
		"\u001b]0;title\u0007",
		"\u009b31m",
		"\u001bP",
		"\u202eabc\u2066",
		"\r",
		"\u0008",
		"\u0000",
	]) {
		// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this looks for
		expect(clean(`a${hostile}b`)).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
	}
	expect(clean("zażółć\tgęślą\njaźń 🦊")).toBe("zażółć\tgęślą\njaźń 🦊");
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
