/** Finds the writes of a path among all of a log, without a look at those that do not matter. */
import type { List } from "@reyn/snapshot";
import type { Seq } from "@reyn/wal";
import { type FileWrite, isMade } from "./file-writes.ts";

/** The writes of one path, as seen from a moment. */
export interface PathWrites {
	readonly path: string;
	/** Those after the moment, oldest first. */
	readonly writes: readonly FileWrite[];
	/** Those before them since one was made, with that one. */
	readonly recent: readonly FileWrite[];
	/** Those before all of these. Each is looked up, so it is asked for only where they matter. */
	earlier(): readonly FileWrite[];
}

/** Where in the list of all writes those of each path are: read once, and then on, since a list of writes only grows. */
export class WritesByPath {
	readonly #places = new Map<string, number[]>();
	#read = 0;

	/** Of each path with writes after a moment. */
	after(writes: List<FileWrite>, moment: Seq): readonly PathWrites[] {
		this.#readOn(writes);
		const paths = new Set<string>();
		const first = firstAfter(writes, moment);
		for (let at = first; at < writes.length; at++) paths.add(writeAt(writes, at).path);
		return [...paths].map((path) => this.#of(path, writes, first));
	}

	#of(path: string, writes: List<FileWrite>, first: number): PathWrites {
		const places = this.#places.get(path) ?? [];
		const now = firstIndex(places.length, (at) => (places[at] ?? 0) >= first);
		let made = now - 1;
		while (made > 0 && !isMade(writeAt(writes, places[made] ?? 0))) made--;
		const from = Math.max(0, made);
		const between = (a: number, b?: number) => places.slice(a, b).map((at) => writeAt(writes, at));
		return { path, writes: between(now), recent: between(from, now), earlier: () => between(0, from) };
	}

	#readOn(writes: List<FileWrite>): void {
		for (; this.#read < writes.length; this.#read++) {
			const { path } = writeAt(writes, this.#read);
			const places = this.#places.get(path);
			if (places) places.push(this.#read);
			else this.#places.set(path, [this.#read]);
		}
	}
}

/** Where those after a moment begin, in a list by seq. */
export const firstAfter = (all: List<{ readonly seq: Seq }>, moment: Seq): number =>
	firstIndex(all.length, (at) => (all.at(at)?.seq ?? 0) > moment);

/** The first index from which on something holds; `length`: none. */
function firstIndex(length: number, holds: (at: number) => boolean): number {
	let [low, high] = [0, length];
	while (low < high) {
		const middle = (low + high) >>> 1;
		if (holds(middle)) high = middle;
		else low = middle + 1;
	}
	return low;
}

const writeAt = (writes: List<FileWrite>, at: number): FileWrite => writes.at(at) as FileWrite;
