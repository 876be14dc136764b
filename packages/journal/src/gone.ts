/** Effects of a program that it may not ask for as it did, since it knows something else now: another one may be meant in their place. */
import { type Identity, innerLane } from "./entry.ts";
import type { Unheard } from "./unasked.ts";

export class GoneEffects {
	readonly #all = new Map<string, Unheard>();

	get isEmpty(): boolean {
		return this.#all.size === 0;
	}

	add(each: Unheard): void {
		if (each.isEffect) this.#all.set(innerLane(each), each);
	}

	/** It is asked for: with what is inside it, it says itself what it asks for. */
	delete(asked: Called): void {
		if (this.#all.size === 0) return;
		const inside = innerLane(asked);
		this.#all.delete(inside);
		this.forget(inside);
	}

	/** Nothing more is asked for in a lane, or below it. */
	forget(lane: string): void {
		for (const [key, each] of this.#all) if (`${each.lane}/`.startsWith(`${lane}/`)) this.#all.delete(key);
	}

	/**
	 * The one that an effect may be: it asks the same.
	 *
	 * @param inPlace or it is asked for in its place
	 */
	sameAs({ lane, name, fp }: Called & { readonly name: string }, inPlace: boolean): Unheard | undefined {
		const where = placeOf(lane);
		const isSame = (each: Unheard): boolean =>
			each.name === name && (each.fp === fp || (inPlace && placeOf(each.lane) === where));
		return this.#all.values().find(isSame);
	}
}

/** A lane without the arguments of the calls that it is inside of. */
const placeOf = (lane: string): string => lane.replace(/\/[0-9a-f]{16}:/g, "/:");

type Called = Pick<Identity, "lane" | "fp" | "occ">;
