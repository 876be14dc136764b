/** Fingerprints of calls. */
import { expect, test } from "vitest";
import { fingerprint } from "../src/index.ts";
import { Line } from "../src/key.ts";

test("a fingerprint is over kind, name and arguments, whatever the order of their keys", () => {
	expect(fingerprint("model", "m", { a: 1, b: 2 })).toBe(fingerprint("model", "m", { b: 2, a: 1 }));
	expect(fingerprint("model", "m", [1, 2])).not.toBe(fingerprint("model", "m", [2, 1]));
	expect(fingerprint("model", "m", {})).not.toBe(fingerprint("tool", "m", {}));
	expect(fingerprint("model", "m", {})).not.toBe(fingerprint("model", "n", {}));
});

test("what people are shown of a call is as the log gives it back: half a character is U+FFFD, also where a text is cut", () => {
	const args = { "a\ud83d": 1, "a\udea7": 2, long: `${"x".repeat(58)}\u{1f6a7}${"x".repeat(100)}` };
	const { label, fields } = new Line().next("fp", args, "half of it \ud83d");
	expect(label).toBe("half of it \ufffd");
	expect(fields).toEqual({ "a\ufffd": "2", long: expect.stringMatching(/^"x{58}\ufffd… /) });
});
