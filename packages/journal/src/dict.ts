/**
 * An immutable map that is plain JSON: a trie over the hashes of the keys, so that a change copies a few small nodes however
 * many entries there are (Bagwell, "Ideal Hash Trees", 2001, without its bitmaps).
 */
import { z } from "zod";

/** A leaf holds entries by key; a branch holds a subtree for each next digit of the hash. */
export type Dict<V> = Leaf<V> | readonly (Dict<V> | null)[];
type Leaf<V> = { readonly [key: string]: V };

const WIDTH_BITS = 4;
const WIDTH = 1 << WIDTH_BITS;
/** How many digits a 32-bit hash has: below that depth a leaf is not split any more. */
const DEPTH = 32 / WIDTH_BITS;

export const emptyDict: Dict<never> = {};

export function dictOf<V>(value: z.ZodType<V>): z.ZodType<Dict<V>> {
	// Parsed as pairs, since `z.record` drops a key `__proto__`.
	const pairs = z.preprocess(
		(node) => (typeof node === "object" && node && !Array.isArray(node) ? Object.entries(node) : undefined),
		z.array(z.tuple([z.string(), value])),
	);
	const leaf = pairs.transform(leafOf<V>);
	const dict: z.ZodType<Dict<V>> = z.lazy(() => z.union([z.array(dict.nullable()).length(WIDTH), leaf]));
	return dict;
}

export function getIn<V>(dict: Dict<V>, key: string): V | undefined {
	let node: Dict<V> | null | undefined = dict;
	for (let hash = hashOf(key); isBranch(node); hash >>>= WIDTH_BITS) node = node[hash % WIDTH];
	return node && Object.hasOwn(node, key) ? node[key] : undefined;
}

/** The map with one more entry, or another value for the key. */
export function setIn<V>(dict: Dict<V>, key: string, value: V): Dict<V> {
	return put(dict, hashOf(key), 0, key, value);
}

export function deleteIn<V>(dict: Dict<V>, key: string): Dict<V> {
	return remove(dict, hashOf(key), key) ?? emptyDict;
}

/** The entries in the order of their hashes: meaningless, but always the same. */
export function* entriesIn<V>(dict: Dict<V>): Generator<readonly [key: string, value: V]> {
	if (!isBranch(dict)) yield* Object.entries(dict);
	else for (const node of dict) if (node) yield* entriesIn(node);
}

function put<V>(node: Dict<V> | null, hash: number, depth: number, key: string, value: V): Dict<V> {
	if (isBranch(node)) {
		const digit = hash % WIDTH;
		return node.with(digit, put(node[digit] ?? null, hash >>> WIDTH_BITS, depth + 1, key, value));
	}
	const leaf = withEntry(node ?? {}, key, value);
	const keys = Object.keys(leaf);
	return keys.length <= WIDTH || depth === DEPTH ? leaf : split(leaf, keys, depth);
}

function split<V>(leaf: Leaf<V>, keys: readonly string[], depth: number): Dict<V> {
	const branch: (Dict<V> | null)[] = Array.from({ length: WIDTH }, () => null);
	for (const key of keys) {
		const hash = hashOf(key) >>> (WIDTH_BITS * depth);
		const digit = hash % WIDTH;
		branch[digit] = put(branch[digit] ?? null, hash >>> WIDTH_BITS, depth + 1, key, leaf[key] as V);
	}
	return branch;
}

/** The node without a key; null when it is empty then. */
function remove<V>(node: Dict<V>, hash: number, key: string): Dict<V> | null {
	if (isBranch(node)) {
		const digit = hash % WIDTH;
		const child = node[digit];
		const left = node.with(digit, child ? remove(child, hash >>> WIDTH_BITS, key) : null);
		return left.some((each) => each !== null) ? left : null;
	}
	const rest = Object.entries(node).filter(([each]) => each !== key);
	return rest.length > 0 ? leafOf(rest) : null;
}

function withEntry<V>(node: Leaf<V>, key: string, value: V): Leaf<V> {
	const entries = Object.entries(node);
	const at = Object.hasOwn(node, key) ? entries.findIndex(([each]) => each === key) : entries.length;
	return leafOf(entries.toSpliced(at, 1, [key, value]));
}

/**
 * Makes a leaf that stays small in memory. V8 stores keys that look like numbers in an array as long as the largest of them, which
 * costs some KB for a leaf of a few entries. It does not do so when one of these properties is read-only.
 */
function leafOf<V>(entries: readonly (readonly [key: string, value: V])[]): Leaf<V> {
	const numbered = entries.find(([key]) => /^\d+$/.test(key));
	if (!numbered) return Object.fromEntries(entries);
	const leaf = Object.defineProperty({}, numbered[0], { value: numbered[1], enumerable: true });
	for (const each of entries) {
		if (each === numbered) continue;
		const [key, value] = each;
		Object.defineProperty(leaf, key, { value, enumerable: true, writable: true, configurable: true });
	}
	return leaf;
}

const isBranch = <V>(node: Dict<V> | null | undefined): node is readonly (Dict<V> | null)[] => Array.isArray(node);

/** FNV-1a, 32 bits. */
function hashOf(key: string): number {
	let hash = 0x811c9dc5;
	for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193);
	return hash >>> 0;
}
