/** The immutable list against an array, and what two lists share. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { seeded } from "../../../tests/kit/seeded.ts";
import { histories } from "../../../tests/sample.ts";
import { List } from "../src/index.ts";
import { inner, isLeaf, LEAF_ITEMS, leavesOf, NODE_CHILDREN, type Node } from "../src/list-node.ts";

const range = (count: number, from = 0): number[] => Array.from({ length: count }, (_, i) => from + i);

const change = fc.oneof(
	fc.record({ do: fc.constant("append" as const), count: fc.oneof(fc.nat(3), fc.nat(300)) }),
	fc.record({ do: fc.constant("with" as const), at: fc.nat() }),
	fc.record({
		do: fc.constant("splice" as const),
		at: fc.nat(),
		drop: fc.oneof(fc.nat(3), fc.nat(500)),
		add: fc.nat(80),
	}),
	fc.record({ do: fc.constant("store" as const) }),
);

test("a list does what an array does, and stays a balanced tree", () => {
	fc.assert(
		fc.property(fc.nat(5000), fc.array(change, { maxLength: 40 }), (size, changes) => {
			let array = range(size);
			let list = List.from(array);
			let next = size;
			for (const each of changes) {
				const before = list;
				const was = array;
				if (each.do === "append") {
					const more = range(each.count, next);
					list = list.append(...more);
					array = [...array, ...more];
					next += each.count;
				} else if (each.do === "with" && array.length > 0) {
					list = list.with(each.at % array.length, next);
					array = array.with(each.at % array.length, next++);
				} else if (each.do === "splice") {
					const more = range(each.add, next);
					const at = each.at % (array.length + 1);
					list = list.splice(at, each.drop, ...more);
					array = array.toSpliced(at, each.drop, ...more);
					next += each.add;
				} else if (each.do === "store" && list.root) markStored(list.root);
				expect(list.toArray()).toEqual(array);
				expect(before.toArray()).toEqual(was);
				check(list);
			}
			for (const index of [0, -1, array.length >> 1, array.length, -array.length - 1])
				expect(list.at(index)).toBe(array.at(index));
			expect([...list]).toEqual(array);
		}),
		histories(100),
	);
});

/** Often where a tree grows by a level: at one leaf, and at one node of leaves. */
const anySize = fc.oneof(fc.nat(70), fc.integer({ min: 1_900, max: LEAF_ITEMS * NODE_CHILDREN }), fc.nat(20_000));

test("what two lists share at their beginning is equal, and is nearly all of it after a fork", () => {
	fc.assert(
		fc.property(anySize, fc.nat(300), fc.nat(300), fc.nat(), fc.boolean(), (size, left, right, at, spliced) => {
			const start = List.from(range(size));
			const one = start.append(...range(left, -1_000));
			const other = spliced ? start.splice(at % (size + 1), 1, -1) : start.append(...range(right, -2_000));
			const shared = one.sharedStart(other);
			expect(other.sharedStart(one)).toBe(shared);
			expect(one.toArray().slice(0, shared)).toEqual(other.toArray().slice(0, shared));
			if (!spliced) expect(shared).toBeGreaterThan(size - LEAF_ITEMS);
		}),
		histories(100),
	);
});

test("two lists share what was stored as the same chunk", () => {
	const [one, other] = [List.from(range(LEAF_ITEMS)), List.from(range(LEAF_ITEMS))];
	expect(one.sharedStart(other)).toBe(0);
	for (const { root } of [one, other]) if (root) root.chunk = "the same";
	expect(one.sharedStart(other)).toBe(LEAF_ITEMS);
});

test("random single deletions leave no crumbs", () => {
	let list = List.from(range(20_000));
	const random = seeded(1);
	while (list.length > 200) {
		list = list.splice(random.below(list.length), 1);
	}
	check(list);
	expect([...leavesOf(list.root as Node<number>)].length).toBeLessThanOrEqual(Math.ceil(200 / (LEAF_ITEMS / 2)) + 2);
});

test("an append copies the path to the end and shares the rest", () => {
	let list = List.from(range(50_000));
	const nodes = new Set(allNodes(list.root));
	list = list.append(1);
	expect([...allNodes(list.root)].filter((node) => !nodes.has(node)).length).toBeLessThanOrEqual(4);
});

test.each([
	["an edit in the middle", (list: List<number>) => list.with(25_000, -1)],
	["an insertion", (list: List<number>) => list.splice(25_000, 0, -1)],
	["a deletion", (list: List<number>) => list.splice(25_000, 1)],
	["a compaction of the front", (list: List<number>) => list.splice(0, 30_001, -1)],
	["a truncation", (list: List<number>) => list.splice(30_001, 20_000)],
])("%s shares all but O(log n)", (_name, edit) => {
	const list = List.from(range(50_000));
	const nodes = new Set(allNodes(list.root));
	const fresh = [...allNodes(edit(list).root)].filter((node) => !nodes.has(node));
	// Five levels at most, and at each the path with a neighbour on either side.
	expect(fresh.length).toBeLessThanOrEqual(15);
	expect(nodes.size).toBeGreaterThan(800);
});

test("a stored leaf that is half full is left as it is, so that nothing in it is stored again", () => {
	const list = List.from(range(LEAF_ITEMS + LEAF_ITEMS / 2));
	const half = [...leavesOf(list.root as Node<number>)].at(-1);
	expect([...allNodes(list.append(1).root)]).not.toContain(half);
	markStored(list.root as Node<number>);
	expect([...allNodes(list.append(1).root)]).toContain(half);
	const short = List.from(range(LEAF_ITEMS + 5));
	markStored(short.root as Node<number>);
	expect([...leavesOf(short.append(1).root as Node<number>)].map(({ count }) => count)).toEqual([LEAF_ITEMS, 6]);
});

test("an index outside the list is refused", () => {
	expect(() => List.of(1, 2).with(2, 0)).toThrow("expected an index from -2 to 1, found 2");
	expect(() => List.of<number>().with(0, 0)).toThrow(RangeError);
	expect(List.of(1).at(1.5)).toBeUndefined();
});

function* allNodes<T>(node: Node<T> | undefined): Generator<Node<T>> {
	if (!node) return;
	yield node;
	if (!isLeaf(node)) for (const child of node.children) yield* allNodes(child);
}

function markStored(node: Node<number>): void {
	for (const each of allNodes(node)) each.chunk = "stored";
}

/** Counts are right, no node is too full or empty, and only those on an edge are less than half full. */
function check(list: List<unknown>): void {
	if (!list.root) return;
	const visit = (node: Node<unknown>, left: boolean, right: boolean, top: boolean): void => {
		if (isLeaf(node)) {
			expect(node.count).toBe(node.items.length);
			expect(node.count).toBeGreaterThan(0);
			expect(node.count).toBeLessThanOrEqual(LEAF_ITEMS);
			if (!left && !right) expect(node.count).toBeGreaterThanOrEqual(LEAF_ITEMS / 2);
			return;
		}
		expect(node.count).toBe(inner(node.children).count);
		expect(node.children.length).toBeLessThanOrEqual(NODE_CHILDREN);
		expect(node.children.length).toBeGreaterThan(top ? 1 : 0);
		if (!left && !right) expect(node.children.length).toBeGreaterThanOrEqual(NODE_CHILDREN / 2);
		for (const [i, child] of node.children.entries()) {
			expect(child.height).toBe(node.height - 1);
			visit(child, left && i === 0, right && i === node.children.length - 1, false);
		}
	};
	visit(list.root, true, true, true);
}
