/** The list type of states that grow with the history, such as the messages of a conversation. */
import { build, itemAt, joined, leavesOf, type Node, pushed, sharedStart, split, withItem } from "./list-node.ts";

/**
 * An immutable list that mostly grows at its end. A snapshot stores only what is new in it. `append`, `with` and `splice` return another
 * list, which shares all but O(log n) of this one; reading by index is O(log n).
 */
export class List<T> implements Iterable<T> {
	/** The tree that a snapshot stores; undefined when the list is empty. */
	readonly root: Node<T> | undefined;

	/** Use {@link List.of} and {@link List.from}. */
	constructor(root: Node<T> | undefined) {
		this.root = root;
	}

	static of<T>(...items: readonly T[]): List<T> {
		return new List(build(items));
	}

	static from<T>(items: Iterable<T>): List<T> {
		return items instanceof List ? items : new List(build([...items]));
	}

	get length(): number {
		return this.root?.count ?? 0;
	}

	/** The item at an index, counted from the end if it is negative; undefined outside the list. */
	at(index: number): T | undefined {
		const from = index < 0 ? index + this.length : index;
		return this.root && from >= 0 && from < this.length ? itemAt(this.root, Math.trunc(from)) : undefined;
	}

	/** The list with a few items added at its end; use {@link concat} for many. */
	append(...items: readonly T[]): List<T> {
		let root = this.root;
		for (const item of items) root = root ? pushed(root, item) : build([item]);
		return new List(root);
	}

	/** The list with any number of items added at its end. */
	concat(items: Iterable<T>): List<T> {
		return new List(joined(this.root, List.from(items).root));
	}

	/** The list with another item at an index. @throws RangeError for an index outside the list */
	with(index: number, item: T): List<T> {
		const from = index < 0 ? index + this.length : index;
		if (!this.root || !Number.isInteger(from) || from < 0 || from >= this.length)
			throw new RangeError(`expected an index from ${-this.length} to ${this.length - 1}, found ${index}`);
		return new List(withItem(this.root, from, item));
	}

	/** The list with `deleteCount` items from `start` on replaced by others; a negative `start` counts from the end. */
	splice(start: number, deleteCount: number, ...items: readonly T[]): List<T> {
		const from = Math.min(Math.max(start < 0 ? start + this.length : start, 0), this.length);
		const [before, rest] = this.root ? split(this.root, from) : [];
		const [, after] = rest ? split(rest, Math.max(deleteCount, 0)) : [];
		return new List(joined(joined(before, build(items)), after));
	}

	/** How many items both lists share at their beginning, as the same nodes. Equal items in other nodes do not count: none is compared. */
	sharedStart(other: List<T>): number {
		return this.root && other.root ? sharedStart(this.root, other.root) : 0;
	}

	*[Symbol.iterator](): Iterator<T> {
		if (this.root) for (const { items } of leavesOf(this.root)) yield* items;
	}

	toArray(): T[] {
		return this.root ? [...leavesOf(this.root)].flatMap(({ items }) => items) : [];
	}

	/** For `JSON.stringify`: its items. */
	toJSON(): readonly T[] {
		return this.toArray();
	}
}
