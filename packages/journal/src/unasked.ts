/** What is recorded of a program, and was not asked for in this life. */
import type { Seq } from "@reyn/wal";
import { type Identity, innerLane, type RecordedStep } from "./entry.ts";

export interface Unheard extends RecordedStep {
	readonly lane: string;
	describe(): string;
}

export class Unasked {
	readonly #all = new Map<string, Unheard>();
	readonly #byLane = new Map<string, Set<string>>();
	/** Those with a place that have to be asked for, the smallest last; what was asked for meanwhile is still among them. */
	#places: Unheard[] = [];
	#isSorted = true;

	get size(): number {
		return this.#all.size;
	}

	first(): Unheard | undefined {
		return this.#all.values().next().value;
	}

	add(each: Unheard): void {
		const key = keyOf(each);
		this.#all.set(key, each);
		const keys = this.#byLane.get(each.lane);
		if (keys) keys.add(key);
		else this.#byLane.set(each.lane, new Set([key]));
		if (each.place === undefined) return;
		this.#places.push(each);
		this.#isSorted = false;
	}

	delete(asked: Called): void {
		const key = keyOf(asked);
		if (this.#all.delete(key)) this.#byLane.get(asked.lane)?.delete(key);
	}

	forget(lane: string): void {
		for (const key of this.#byLane.get(lane) ?? []) this.#all.delete(key);
		this.#byLane.delete(lane);
	}

	/** Takes out what was asked for after a place was told. */
	*takeAfter(place: Seq): Generator<Unheard> {
		for (const [key, each] of this.#all) {
			if (each.after < place) continue;
			this.#all.delete(key);
			yield each;
		}
	}

	/** What has to come before a place; without one, whatever there is. */
	next(place: number | undefined): Unheard | undefined {
		if (!this.#isSorted) this.#places.sort((a, b) => (b.place ?? 0) - (a.place ?? 0));
		this.#isSorted = true;
		for (let last = this.#places.at(-1); last; last = this.#places.at(-1)) {
			if (this.#all.get(keyOf(last)) === last)
				return place === undefined || (last.place ?? 0) < place ? last : undefined;
			this.#places.pop();
		}
		// What has only begun is asked for before anything new begins.
		return place === undefined ? this.first() : undefined;
	}
}

/** As the lane of the steps inside it is named: of a call that was cut no more is known. */
const keyOf = (call: Called): string => innerLane(call);

type Called = Pick<Identity, "lane" | "fp" | "occ">;
