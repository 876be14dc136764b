/** Canonical JSON. */
import { expect, test } from "vitest";
import { canonicalJson } from "../src/index.ts";

test("the order of keys does not matter, the order of items does", () => {
	expect(canonicalJson({ b: [1, { y: null, x: "" }], a: undefined, c: true })).toBe(
		'{"b":[1,{"x":"","y":null}],"c":true}',
	);
	expect(canonicalJson([2, 1])).toBe("[2,1]");
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
		expect(() => canonicalJson(value)).toThrow(expect.objectContaining({ code: "WAL_NOT_JSON", detail: { path } }));
	}
});
