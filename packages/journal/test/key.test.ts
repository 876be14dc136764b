import { expect, test } from "vitest";
import { canonicalJson, fingerprint } from "../src/index.ts";

test("the order of keys does not matter, the order of items does", () => {
	expect(canonicalJson({ b: [1, { y: null, x: "" }], a: undefined, c: true })).toBe(
		'{"b":[1,{"x":"","y":null}],"c":true}',
	);
	expect(fingerprint("model", "m", { a: 1, b: 2 })).toBe(fingerprint("model", "m", { b: 2, a: 1 }));
	expect(fingerprint("model", "m", [1, 2])).not.toBe(fingerprint("model", "m", [2, 1]));
	expect(fingerprint("model", "m", {})).not.toBe(fingerprint("tool", "m", {}));
});

test("what is not JSON is refused with its place", () => {
	const cycle: Record<string, unknown> = {};
	cycle.self = { cycle };
	for (const [value, path] of [
		[{ a: [1, () => 1] }, "$.a[1]"],
		[{ a: 1n }, "$.a"],
		[{ a: Number.NaN }, "$.a"],
		[{ a: new Map() }, "$.a"],
		[cycle, "$.self.cycle"],
	] as const) {
		expect(() => canonicalJson(value)).toThrow(expect.objectContaining({ code: "STEP_NOT_JSON", detail: { path } }));
	}
});
