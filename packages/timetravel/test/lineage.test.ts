/** Which records are on a path, after full, scoped and partial resets. */
import type { Scope, Seq } from "@reyn/wal";
import { describe, expect, test } from "vitest";
import { Lineage, type Reset } from "../src/lineage.ts";
import { isMeta } from "./naive-model.ts";

const alice: Scope = { agent: "alice" };
const main: Scope = { agent: "alice", session: "main" };
const side: Scope = { agent: "alice", session: "side" };
const plan: Scope = { ...main, run: "p1" };
const bob: Scope = { agent: "bob", session: "main" };

describe("full resets", () => {
	test.each([
		{ resets: [], tip: 0, active: [] },
		{ resets: [], tip: 3, active: [1, 2, 3] },
		{ resets: [to(6, 11)], tip: 13, active: [1, 2, 3, 4, 5, 6, 11, 12, 13] },
		{ resets: [to(5, 11), to(8, 16)], tip: 16, active: [1, 2, 3, 4, 5, 6, 7, 8, 16] },
		{ resets: [to(5, 11), to(8, 16), to(13, 17)], tip: 17, active: [1, 2, 3, 4, 5, 11, 12, 13, 17] },
		{ resets: [to(1, 3), to(4, 6)], tip: 6, active: [1, 3, 4, 6] },
		{ resets: [to(0, 4)], tip: 5, active: [4, 5] },
		{ resets: [to(0, 1)], tip: 1, active: [1] },
		{ resets: [to(3, 4)], tip: 5, active: [1, 2, 3, 4, 5] },
	])("$resets with the tip at $tip leave $active", ({ resets, tip, active }) => {
		const lineage = history(resets, tip);
		expect(activeSeqs(lineage, main)).toEqual(active);
		expect(seqsOf(lineage.path(tip, {}).rangesAfter(0))).toEqual(active);
	});

	test("a path to an older seq knows nothing of the resets after it", () => {
		const lineage = history([to(5, 11), to(8, 16)], 16);
		expect(lineage.path(13, {}).rangesAfter(0)).toEqual([
			{ after: 0, through: 5 },
			{ after: 10, through: 13 },
		]);
		expect(lineage.path(9, {}).rangesAfter(0)).toEqual([{ after: 0, through: 9 }]);
		expect(lineage.path(0, {}).rangesAfter(0)).toEqual([]);
	});

	test("a path to a reset is the one that it has made, whether it is the newest or not", () => {
		const lineage = history([to(5, 11), to(8, 16)], 16);
		expect(seqsOf(lineage.path(11, {}).rangesAfter(0))).toEqual([1, 2, 3, 4, 5, 11]);
		expect(seqsOf(lineage.path(16, {}).rangesAfter(0))).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 16]);
		expect(lineage.path(11, main).has(note(6, main))).toBe(false);
	});

	test("a path has no record after its tip", () => {
		const path = history([to(5, 11)], 20).path(15, {});
		expect(path.has(note(15, main))).toBe(true);
		expect(path.has(note(16, main))).toBe(false);
		expect(path.isBase(16, ["note"])).toBe(false);
	});
});

describe("a scoped reset", () => {
	const lineage = history([to(4, 9, main)], 12);

	test("covers its session and the runs in it", () => {
		expect(activeSeqs(lineage, main)).toEqual([1, 2, 3, 4, 9, 10, 11, 12]);
		expect(activeSeqs(lineage, plan)).toEqual([1, 2, 3, 4, 9, 10, 11, 12]);
	});

	test.each([{}, alice, side, bob])("leaves %o alone", (scope) => {
		expect(activeSeqs(lineage, scope)).toHaveLength(12);
	});

	test("takes nothing from the ranges of a scope that has other classes", () => {
		expect(lineage.path(12, {}).rangesAfter(0)).toEqual([{ after: 0, through: 12 }]);
		expect(lineage.path(12, plan).rangesAfter(0)).toEqual([
			{ after: 0, through: 4 },
			{ after: 8, through: 12 },
		]);
	});

	test("spoils the states of all scopes that hold its session, and no others, as a base", () => {
		for (const scope of [{}, alice, main, plan]) expect(lineage.path(12, scope).isBase(6, ["note"])).toBe(false);
		for (const scope of [side, bob]) expect(lineage.path(12, scope).isBase(6, ["note"])).toBe(true);
		expect(lineage.path(12, {}).isBase(4, ["note"])).toBe(true);
		expect(lineage.path(12, {}).isBase(0, ["note"])).toBe(true);
	});

	test("into the dead part revives what only its own scope sees again", () => {
		const revived = history([to(6, 11), to(8, 16, plan)], 16);
		expect(activeSeqs(revived, plan)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 16]);
		expect(activeSeqs(revived, main)).toEqual([1, 2, 3, 4, 5, 6, 11, 12, 13, 14, 15, 16]);
		expect(seqsOf(revived.path(16, main).rangesAfter(0))).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 14, 15, 16]);
	});

	test("is undone for its session by a global checkout to before it", () => {
		const lineage = history([to(4, 9, main), to(7, 12)], 13);
		expect(activeSeqs(lineage, main)).toEqual([1, 2, 3, 4, 5, 6, 7, 12, 13]);
		expect(activeSeqs(lineage, side)).toEqual([1, 2, 3, 4, 5, 6, 7, 12, 13]);
	});
});

describe("a partial reset", () => {
	test("covers the kinds that it drops", () => {
		const lineage = history([to(2, 5, {}, ["note"])], 6);
		expect(activeSeqs(lineage, main, "note")).toEqual([1, 2, 5, 6]);
		expect(activeSeqs(lineage, main, "tool_result")).toEqual([1, 2, 3, 4, 5, 6]);
		expect(lineage.path(6, {}).isBase(4, ["note"])).toBe(false);
		expect(lineage.path(6, {}).isBase(4, ["tool_result"])).toBe(true);
		expect(lineage.path(6, {}).isBase(4, ["tool_result", "note"])).toBe(false);
	});

	test("covers nothing with an empty drop list", () => {
		const lineage = history([to(2, 5, {}, [])], 6);
		expect(activeSeqs(lineage, main)).toEqual([1, 2, 3, 4, 5, 6]);
		expect(lineage.isAncestor(4, {})).toBe(true);
	});

	test("covers no meta record, even one that it lists", () => {
		const lineage = history([to(2, 5, {}, ["checkpoint"])], 6);
		expect(lineage.isActive({ seq: 4, scope: main, kind: "checkpoint" })).toBe(true);
	});

	test("follows another one that dropped other kinds", () => {
		const lineage = history([to(2, 5, {}, ["note"]), to(4, 8, {}, ["note", "tool_result"])], 8);
		expect(activeSeqs(lineage, main, "note")).toEqual([1, 2, 3, 4, 8]);
		expect(activeSeqs(lineage, main, "tool_result")).toEqual([1, 2, 3, 4, 8]);
		expect(activeSeqs(lineage, main, "config")).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
	});
});

describe("a meta record", () => {
	test("counts while it is an ancestor in every class in its scope", () => {
		const lineage = history([to(4, 9, plan)], 12);
		for (const scope of [{}, alice, main, plan]) expect(lineage.isActive(checkpoint(6, scope))).toBe(false);
		for (const scope of [side, bob]) expect(lineage.isActive(checkpoint(6, scope))).toBe(true);
		for (const seq of [4, 9, 12]) expect(lineage.isActive(checkpoint(seq, {}))).toBe(true);
	});

	test("is left behind by a reset of one kind, for it stands for all of them", () => {
		const lineage = history([to(4, 9, {}, ["note"])], 12);
		expect(lineage.isActive(checkpoint(6, main))).toBe(false);
		expect(lineage.abandonedBy(checkpoint(6, main))).toBe(9);
	});

	test("is a base only for a state that all classes in the scope descend from", () => {
		const path = history([to(4, 9, {}, ["note"])], 12).path(12, {});
		expect(path.isBase(6, ["config"])).toBe(true);
		expect(path.isBase(6, ["config", "label"])).toBe(false);
	});
});

describe("isAncestor", () => {
	const lineage = history([to(4, 9, main, ["note"])], 12);

	test("asks the classes that a reset of this scope and drop would cover", () => {
		expect(lineage.isAncestor(6, {})).toBe(false);
		expect(lineage.isAncestor(6, main)).toBe(false);
		expect(lineage.isAncestor(6, plan, ["note"])).toBe(false);
		expect(lineage.isAncestor(6, {}, ["tool_result"])).toBe(true);
		expect(lineage.isAncestor(6, side)).toBe(true);
		expect(lineage.isAncestor(6, {}, [])).toBe(true);
		expect(lineage.isAncestor(6, {}, ["label"])).toBe(true);
	});

	test("holds for genesis and the seq itself, and for nothing after it", () => {
		expect(lineage.isAncestor(0, {})).toBe(true);
		expect(lineage.isAncestor(12, {})).toBe(true);
		expect(lineage.isAncestor(13, {})).toBe(false);
	});

	test("asks about another seq than the tip", () => {
		expect(lineage.isAncestor(6, {}, undefined, 8)).toBe(true);
		expect(lineage.isAncestor(6, {}, undefined, 10)).toBe(false);
		expect(lineage.isAncestor(6, {}, undefined, 5)).toBe(false);
	});
});

describe("abandonedBy", () => {
	test("names the reset on the path to the tip that skipped the record", () => {
		const lineage = history([to(5, 11), to(8, 16)], 18);
		expect(lineage.abandonedBy(note(9, main))).toBe(16);
		expect(lineage.abandonedBy(note(12, main))).toBe(16);
		expect(lineage.abandonedBy(note(7, main))).toBe(undefined);
	});

	test("ignores a reset that is abandoned itself", () => {
		const lineage = history([to(5, 11), to(8, 16), to(13, 17)], 17);
		expect(lineage.abandonedBy(note(7, main))).toBe(11);
		expect(lineage.abandonedBy(note(16, main))).toBe(17);
	});

	test("is silent about records that are active, not covered, or yet to come", () => {
		const lineage = history([to(4, 9, main, ["note"])], 12);
		expect(lineage.abandonedBy(note(6, main))).toBe(9);
		expect(lineage.abandonedBy(note(4, main))).toBe(undefined);
		expect(lineage.abandonedBy(note(6, side))).toBe(undefined);
		expect(lineage.abandonedBy({ seq: 6, scope: main, kind: "config" })).toBe(undefined);
		expect(lineage.abandonedBy(note(13, main))).toBe(undefined);
	});
});

describe("a lineage that grows", () => {
	test("moves its tip without a look at the resets", () => {
		const before = history([to(6, 11)], 11);
		const after = before.advance(13);
		expect(activeSeqs(after, main)).toEqual([1, 2, 3, 4, 5, 6, 11, 12, 13]);
		expect(before.tip).toBe(11);
		expect(before.isActive(note(12, main))).toBe(false);
	});

	test("takes in a reset, and leaves the old value as it was", () => {
		const before = history([to(5, 11)], 15);
		const after = before.with(to(8, 16));
		expect(after.tip).toBe(16);
		expect(activeSeqs(after, main)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 16]);
		expect(before.isActive(note(12, main))).toBe(true);
	});

	test.each([
		{ wrong: "a reset to itself", resets: [to(5, 5)], tip: 6 },
		{ wrong: "a reset to what is yet to come", resets: [to(7, 5)], tip: 8 },
		{ wrong: "a reset to before genesis", resets: [to(-1, 5)], tip: 8 },
		{ wrong: "resets out of order", resets: [to(2, 5), to(1, 4)], tip: 8 },
		{ wrong: "a tip before the newest reset", resets: [to(2, 5)], tip: 4 },
	])("refuses $wrong", ({ resets, tip }) => {
		expect(() => history(resets, tip)).toThrow(RangeError);
	});
});

test("a scope that no reset names is told from the process and from those that one does", () => {
	const lineage = history([to(4, 9, main)], 12);
	// The same session name, of an agent that no reset knows.
	expect(activeSeqs(lineage, { agent: "carol", session: "main" })).toHaveLength(12);
	expect(lineage.isActive(checkpoint(6, { agent: "carol" }))).toBe(true);
	expect(lineage.isActive(checkpoint(6, { agent: "alice", session: "third" }))).toBe(true);
	expect(lineage.isActive(checkpoint(6, {}))).toBe(false);
});

function history(resets: readonly Reset[], tip: Seq): Lineage {
	return new Lineage(resets, tip, { isMeta });
}

function to(target: Seq, seq: Seq, scope: Scope = {}, drop?: readonly string[]): Reset {
	return drop ? { seq, target, scope, drop } : { seq, target, scope };
}

function note(seq: Seq, scope: Scope) {
	return { seq, scope, kind: "note" };
}

function checkpoint(seq: Seq, scope: Scope) {
	return { seq, scope, kind: "checkpoint" };
}

function activeSeqs(lineage: Lineage, scope: Scope, kind = "note"): Seq[] {
	const seqs = Array.from({ length: lineage.tip + 2 }, (_, i) => i + 1);
	return seqs.filter((seq) => lineage.isActive({ seq, scope, kind }));
}

function seqsOf(ranges: readonly { after: Seq; through: Seq }[]): Seq[] {
	return ranges.flatMap(({ after, through }) => Array.from({ length: through - after }, (_, i) => after + 1 + i));
}
