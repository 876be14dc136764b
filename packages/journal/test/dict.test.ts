/** `REYN_RUNS` sets how many random histories are told, `REYN_SEED` which. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { sample } from "../../../tests/sample.ts";
import { type Dict, deleteIn, dictOf, emptyDict, entriesIn, getIn, setIn } from "../src/dict.ts";

const RUNS = Number(process.env.REYN_RUNS ?? 200);
const seed = process.env.REYN_SEED === undefined ? {} : { seed: Number(process.env.REYN_SEED) };
const schema = dictOf(z.object({ n: z.number() }));

type Value = { readonly n: number };

/** Texts of one FNV-1a hash: three characters each, the last of which makes up for the others. */
function colliding(count: number): string[] {
	const prime = 0x01000193;
	const texts: string[] = [];
	const target = 0x5eed5eed;
	for (let first = 0x100; texts.length < count; first++) {
		const start = Math.imul(0x811c9dc5 ^ first, prime);
		for (let second = 0x100; second < 0xd800; second++) {
			const last = Math.imul(start ^ second, prime) ^ target;
			if (last >>> 0 >= 0xd800 || last < 0x20) continue;
			texts.push(String.fromCharCode(first, second, last));
		}
	}
	return texts.slice(0, count);
}

/** More than a leaf holds before it is split. */
const ONE_HASH = colliding(40);

const names = ["__proto__", "constructor", "toString", "length", "0", "16", "", ...ONE_HASH.slice(0, 20)];
const key = fc.oneof(fc.constantFrom(...names), fc.nat(400).map(String), fc.string({ maxLength: 3 }));
const change = fc.oneof(
	{ weight: 3, arbitrary: fc.record({ do: fc.constant("set" as const), key, n: fc.nat() }) },
	fc.record({ do: fc.constant("delete" as const), key }),
	fc.record({ do: fc.constant("get" as const), key }),
	fc.record({ do: fc.constant("fill" as const), from: fc.nat(300), count: fc.nat(60) }),
	fc.record({ do: fc.constant("store" as const) }),
);

const sorted = (entries: Iterable<readonly [string, Value]>): (readonly [string, Value])[] =>
	[...entries].sort(([a], [b]) => (a < b ? -1 : 1));

test("a dict does what a Map does, its older versions stay as they were, and JSON gives it back", () => {
	fc.assert(
		fc.property(fc.array(change, { maxLength: 60 }), (changes) => {
			const map = new Map<string, Value>();
			let dict: Dict<Value> = emptyDict;
			const set = (at: string, n: number): void => {
				dict = setIn(dict, at, { n });
				map.set(at, { n });
			};
			for (const each of changes) {
				const [before, was] = [dict, sorted(map)];
				if (each.do === "set") set(each.key, each.n);
				else if (each.do === "fill") for (let i = each.from; i < each.from + each.count; i++) set(String(i), i);
				else if (each.do === "delete") {
					dict = deleteIn(dict, each.key);
					map.delete(each.key);
				} else if (each.do === "get") expect(getIn(dict, each.key)).toEqual(map.get(each.key));
				else dict = schema.parse(JSON.parse(JSON.stringify(dict)));
				expect(sorted(entriesIn(before))).toEqual(was);
			}
			expect(sorted(entriesIn(dict))).toEqual(sorted(map));
			for (const at of names) expect(getIn(dict, at)).toEqual(map.get(at));
			for (const [at, value] of map) expect(getIn(dict, at)).toEqual(value);
			for (const at of map.keys()) dict = deleteIn(dict, at);
			expect(dict).toEqual(emptyDict);
		}),
		{ numRuns: RUNS, ...seed },
	);
});

describe("keys of one hash", () => {
	test("are told apart, however many there are", () => {
		expect(new Set(ONE_HASH).size).toBe(40);
		let dict: Dict<Value> = emptyDict;
		for (const [n, at] of ONE_HASH.entries()) dict = setIn(dict, at, { n });
		// A leaf at the end of all digits: else the texts would not have one hash.
		expect(depthOf(dict)).toBe(8);
		for (const [n, at] of ONE_HASH.entries()) expect(getIn(dict, at)).toEqual({ n });
		expect(getIn(schema.parse(JSON.parse(JSON.stringify(dict))), ONE_HASH[39] ?? "")).toEqual({ n: 39 });
		for (const at of ONE_HASH.slice(1)) dict = deleteIn(dict, at);
		expect([...entriesIn(dict)]).toEqual([[ONE_HASH[0], { n: 0 }]]);
		expect(deleteIn(dict, ONE_HASH[0] ?? "")).toEqual(emptyDict);
	});
});

test.each(["__proto__", "constructor", "toString", "hasOwnProperty"])("%s is a key like any other", (name) => {
	expect(getIn(emptyDict, name)).toBeUndefined();
	for (const size of [0, 100]) {
		let dict: Dict<Value> = emptyDict;
		for (let n = 0; n < size; n++) dict = setIn(dict, String(n), { n });
		expect(getIn(dict, name)).toBeUndefined();
		dict = setIn(dict, name, { n: 1 });
		dict = schema.parse(JSON.parse(JSON.stringify(dict)));
		expect(getIn(dict, name)).toEqual({ n: 1 });
		expect([...entriesIn(dict)]).toHaveLength(size + 1);
		expect(getIn(deleteIn(dict, name), name)).toBeUndefined();
		expect({}).not.toHaveProperty("n");
	}
});

test("what is no dict is refused", () => {
	for (const wrong of [[], Array(15).fill(null), Array(16).fill(1), { a: 1 }, "text", null])
		expect(schema.safeParse(wrong).success, JSON.stringify(wrong)).toBe(false);
});

test("a change makes a few nodes of at most 16 entries, at a hundred entries and at very many", () => {
	const most = new Map<number, number>();
	let dict: Dict<Value> = emptyDict;
	const many = sample(20_000, 100_000);
	for (let n = 0; n < many; n++) {
		if (n !== 100 && n !== many - 1) {
			dict = setIn(dict, `key ${n}`, { n });
			continue;
		}
		const before = new Set(nodesOf(dict));
		let made = 0;
		for (let i = 0; i < 300; i++) {
			const changed = [setIn(dict, `key ${i}`, { n: -1 }), setIn(dict, `new ${i}`, { n }), deleteIn(dict, `key ${i}`)];
			for (const after of changed) {
				const fresh = newNodesOf(after, before);
				for (const node of fresh) expect(Object.keys(node).length).toBeLessThanOrEqual(16);
				made = Math.max(made, fresh.length);
			}
		}
		most.set(n, made);
	}
	// A path from the root to a leaf, and the 16 leaves of one that is split.
	expect(most.get(100)).toBeLessThanOrEqual(2 + 16);
	expect(most.get(many - 1)).toBeLessThanOrEqual(5 + 16);
});

test("names that are numbers take as much memory as others", async () => {
	const program = join(import.meta.dirname, "dict-weight.ts");
	const { stdout } = await promisify(execFile)(process.execPath, ["--conditions=@reyn/source", program]);
	const { named, numbered } = JSON.parse(stdout);
	expect(named).toEqual({ bytes: expect.any(Number), entries: 20 * 1999 });
	expect(numbered).toEqual({ bytes: expect.any(Number), entries: 20 * 1999 });
	expect(named.bytes).toBeGreaterThan(1_000_000);
	expect(numbered.bytes).toBeLessThan(3 * named.bytes);
});

function nodesOf(node: Dict<Value>): Dict<Value>[] {
	return [node, ...(Array.isArray(node) ? node.flatMap((below) => (below ? nodesOf(below) : [])) : [])];
}

/** What is below a node that is shared is shared too. */
function newNodesOf(node: Dict<Value>, before: ReadonlySet<Dict<Value>>): Dict<Value>[] {
	if (before.has(node)) return [];
	return [node, ...(Array.isArray(node) ? node.flatMap((below) => (below ? newNodesOf(below, before) : [])) : [])];
}

const depthOf = (node: Dict<Value>): number =>
	Array.isArray(node) ? 1 + Math.max(...node.map((below) => (below ? depthOf(below) : 0))) : 0;
