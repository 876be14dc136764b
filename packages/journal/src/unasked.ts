/** What is recorded of a program, and was not asked for in this life. */
import type { Identity, RecordedStep } from "./entry.ts";

export interface Unheard extends RecordedStep {
	readonly lane: string;
	describe(): string;
}

export class Unasked {
	readonly #all = new Map<string, Unheard>();
	/** The effects among them that may not be asked for again. */
	readonly gone = new Map<string, Unheard>();
	readonly #byLane = new Map<string, Set<string>>();
	/** Those with a place that have to be asked for, the smallest last; what was asked for meanwhile is still among them. */
	#places: Unheard[] = [];
	#isSorted = true;

	/** What the program has to ask for, and effects that it may ask for. */
	get size(): number {
		return this.#all.size;
	}

	values(): MapIterator<Unheard> {
		return this.#all.values();
	}

	add(lane: string, step: RecordedStep, describe: () => string): void {
		if (step.mayBeGone && !step.isEffect) return;
		const each: Unheard = { ...step, lane, describe };
		const key = keyOf(each);
		this.#all.set(key, each);
		if (step.mayBeGone) this.gone.set(key, each);
		const keys = this.#byLane.get(lane);
		if (keys) keys.add(key);
		else this.#byLane.set(lane, new Set([key]));
		if (step.mayBeGone || each.place === undefined) return;
		this.#places.push(each);
		this.#isSorted = false;
	}

	delete(asked: Called): void {
		const key = keyOf(asked);
		this.gone.delete(key);
		if (this.#all.delete(key)) this.#byLane.get(asked.lane)?.delete(key);
	}

	forget(lane: string): void {
		for (const key of this.#byLane.get(lane) ?? []) {
			this.#all.delete(key);
			this.gone.delete(key);
		}
		this.#byLane.delete(lane);
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
		return place === undefined ? this.#all.values().find(({ mayBeGone }) => !mayBeGone) : undefined;
	}
}

const keyOf = ({ lane, fp, occ }: Called): string => `${lane} ${fp}:${occ}`;

type Called = Pick<Identity, "lane" | "fp" | "occ">;
