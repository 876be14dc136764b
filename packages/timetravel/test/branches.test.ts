/** The tree of branches. */
import { describe, expect, test } from "vitest";
import { branchTree } from "../src/branches.ts";
import { Lineage } from "../src/lineage.ts";
import { isMeta } from "./naive-model.ts";

const main = { agent: "alice", session: "main" };
const resets = [
	{ seq: 11, target: 5, scope: {} },
	{ seq: 16, target: 8, scope: {} },
	{ seq: 17, target: 13, scope: main },
	{ seq: 20, target: 0, scope: {} },
];

describe("the tree of branches", () => {
	test("is main alone while nothing was rewound", () => {
		expect(branchTree([], 7)).toEqual([
			{ id: 0, name: "main", parent: undefined, forkedAt: 0, first: 1, last: 7, active: true, scope: {} },
		]);
		expect(branchTree([], 0)).toMatchObject([{ first: 1, last: 0, active: true }]);
	});

	test("has a branch from each reset to the next, below the one that holds its target", () => {
		expect(branchTree(resets, 22)).toEqual([
			{ id: 0, name: "main", parent: undefined, forkedAt: 0, first: 1, last: 10, active: false, scope: {} },
			{ id: 11, name: "b11", parent: 0, forkedAt: 5, first: 11, last: 15, active: false, scope: {} },
			{ id: 16, name: "b16", parent: 0, forkedAt: 8, first: 16, last: 16, active: false, scope: {} },
			{ id: 17, name: "b17", parent: 11, forkedAt: 13, first: 17, last: 19, active: false, scope: main },
			{ id: 20, name: "b20", parent: 0, forkedAt: 0, first: 20, last: 22, active: true, scope: {} },
		]);
	});

	test("takes a reset as the first record of its own branch", () => {
		const [, , fork] = branchTree([...resets.slice(0, 1), { seq: 14, target: 11, scope: {} }], 14);
		expect(fork).toMatchObject({ id: 14, parent: 11, first: 14, last: 14 });
		expect(branchTree([{ seq: 1, target: 0, scope: {} }], 1)[0]).toMatchObject({ first: 1, last: 0, active: false });
	});

	test("never renames, moves or re-parents a branch as the log grows", () => {
		const lasting = (length: number) =>
			branchTree(resets.slice(0, length), 19 + length).map(({ last, active, ...rest }) => rest);
		for (let length = 0; length < resets.length; length++) {
			expect(lasting(length + 1).slice(0, length + 1)).toEqual(lasting(length));
		}
	});

	test("is what a lineage shows", () => {
		expect(new Lineage(resets, 22, { isMeta }).branches()).toEqual(branchTree(resets, 22));
	});
});
