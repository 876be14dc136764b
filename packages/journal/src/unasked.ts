/** What is recorded of a program, and was not asked for in this life. */
import type { Seq } from "@reyn/wal";
import type { Identity, RecordedStep } from "./entry.ts";

export interface Unheard extends RecordedStep {
	readonly lane: string;
	describe(): string;
}

export class Unasked {
	readonly #all = new Map<string, Unheard>();
	/** Effects that may not be asked for again. */
	readonly #gone = new Map<string, Unheard>();
	readonly #byLane = new Map<string, Set<string>>();
	/** Those with a place that have to be asked for, the smallest last; what was asked for meanwhile is still among them. */
	#places: Unheard[] = [];
	#isSorted = true;

	get size(): number {
		return this.#all.size;
	}

	get isEmpty(): boolean {
		return this.#all.size + this.#gone.size === 0;
	}

	first(): Unheard | undefined {
		return this.#all.values().next().value;
	}

	/** An effect that may not be asked for as it was, and that another one of its name may be: it asks the same, or in its place. */
	sameAs({ lane, name, fp }: Called & { readonly name: string }): Unheard | undefined {
		const where = placeOf(lane);
		return this.#gone.values().find((each) => each.name === name && (each.fp === fp || placeOf(each.lane) === where));
	}

	add(lane: string, step: RecordedStep, describe: () => string): void {
		if (step.mayBeGone && !step.isEffect) return;
		const each: Unheard = { ...step, lane, describe };
		const key = keyOf(each);
		if (step.mayBeGone) this.#gone.set(key, each);
		else this.#all.set(key, each);
		const keys = this.#byLane.get(lane);
		if (keys) keys.add(key);
		else this.#byLane.set(lane, new Set([key]));
		if (step.mayBeGone || each.place === undefined) return;
		this.#places.push(each);
		this.#isSorted = false;
	}

	delete(asked: Called): void {
		const key = keyOf(asked);
		this.#gone.delete(key);
		if (this.#all.delete(key)) this.#byLane.get(asked.lane)?.delete(key);
	}

	forget(lane: string): void {
		const below = this.#gone.size > 0 ? this.#byLane.keys().filter((each) => each.startsWith(`${lane}/`)) : [];
		for (const each of [lane, ...below]) {
			for (const key of this.#byLane.get(each) ?? []) {
				this.#all.delete(key);
				this.#gone.delete(key);
			}
			this.#byLane.delete(each);
		}
	}

	/** What was asked for after a place was told may not be asked for again. */
	moved(place: Seq): void {
		for (const [key, each] of this.#all) {
			if (each.after < place) continue;
			this.#all.delete(key);
			if (each.isEffect) this.#gone.set(key, each);
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

const keyOf = ({ lane, fp, occ }: Called): string => `${lane} ${fp}:${occ}`;

/** A lane without the arguments of the calls that it is inside of. */
const placeOf = (lane: string): string => lane.replace(/\/[0-9a-f]{16}:/g, "/:");

type Called = Pick<Identity, "lane" | "fp" | "occ">;
