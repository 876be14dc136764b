/** The recorded steps of a program that it has not asked for in this run. */
import type { Seq } from "@reyn/wal";
import { type Identity, innerLane, type RecordedStep } from "./entry.ts";

export interface Unheard extends RecordedStep {
	readonly lane: string;
	describe(): string;
}

export class Unasked {
	readonly #all = new Map<string, Unheard>();
	readonly #byLane = new Map<string, Set<string>>();
	/** The steps with a place, the smallest last. Steps that were asked for meanwhile stay in it, and are skipped when they come up. */
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

	/** Takes out the steps that were asked for after a place was told. */
	*takeAfter(place: Seq): Generator<Unheard> {
		for (const [key, each] of this.#all) {
			if (each.after < place) continue;
			this.#all.delete(key);
			yield each;
		}
	}

	/** The step that has to be told before a place; without a place, any step that is left. */
	next(place: number | undefined): Unheard | undefined {
		if (!this.#isSorted) this.#places.sort((a, b) => (b.place ?? 0) - (a.place ?? 0));
		this.#isSorted = true;
		for (let last = this.#places.at(-1); last; last = this.#places.at(-1)) {
			if (this.#all.get(keyOf(last)) === last)
				return place === undefined || (last.place ?? 0) < place ? last : undefined;
			this.#places.pop();
		}
		// Steps without a place were started and cut: they have to be asked for before anything new begins.
		return place === undefined ? this.first() : undefined;
	}
}

/** The name of the step's inner lane: more is not known of a call that was cut. */
const keyOf = (call: Called): string => innerLane(call);

type Called = Pick<Identity, "lane" | "fp" | "occ">;
