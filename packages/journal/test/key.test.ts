/** Fingerprints of calls. */
import { expect, test } from "vitest";
import { fingerprint } from "../src/index.ts";

test("a fingerprint is over kind, name and arguments, whatever the order of their keys", () => {
	expect(fingerprint("model", "m", { a: 1, b: 2 })).toBe(fingerprint("model", "m", { b: 2, a: 1 }));
	expect(fingerprint("model", "m", [1, 2])).not.toBe(fingerprint("model", "m", [2, 1]));
	expect(fingerprint("model", "m", {})).not.toBe(fingerprint("tool", "m", {}));
	expect(fingerprint("model", "m", {})).not.toBe(fingerprint("model", "n", {}));
});
