/** Entries of a state by any name. */
import { expect, test } from "vitest";
import { entryAt } from "../src/index.ts";

test("an entry is what a state has of its own, whatever name every object has", () => {
	const state = { a: 1, ["__proto__"]: 2, hasOwnProperty: 3 };
	expect(["a", "__proto__", "hasOwnProperty"].map((id) => entryAt(state, id))).toEqual([1, 2, 3]);
	for (const id of ["b", "constructor", "toString"]) expect(entryAt(state, id)).toBeUndefined();
	expect(entryAt({}, "__proto__")).toBeUndefined();
});
