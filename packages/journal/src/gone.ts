/**
 * Recorded effects that a program may not ask for again, since it knows something else now than it did then. They are kept in mind,
 * because a new effect may be meant in the place of one of them, and would then be made twice.
 */
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

	/** Takes a call off the list, since it is asked for after all, and the steps inside it: those it will ask for, or not, by itself. */
	delete(asked: Called): void {
		if (this.#all.size === 0) return;
		const inside = innerLane(asked);
		this.#all.delete(inside);
		this.forget(inside);
	}

	/** Takes off all effects in a lane and below it, where nothing more will be asked for. */
	forget(lane: string): void {
		for (const [key, each] of this.#all) if (`${each.lane}/`.startsWith(`${lane}/`)) this.#all.delete(key);
	}

	/**
	 * The gone effect that a new one may repeat: it has the same name and the same arguments, in whatever lane.
	 *
	 * @param inPlace does the same name in the same place suffice? Where calls overlapped, the arguments may differ
	 */
	sameAs({ lane, name, fp }: Called & { readonly name: string }, inPlace: boolean): Unheard | undefined {
		const where = placeOf(lane);
		const isSame = (each: Unheard): boolean =>
			each.name === name && (each.fp === fp || (inPlace && placeOf(each.lane) === where));
		return this.#all.values().find(isSame);
	}
}

/** A lane's path without the fingerprints of the calls around it, which depend on their arguments. */
const placeOf = (lane: string): string => lane.replace(/\/[0-9a-f]{16}:/g, "/:");

type Called = Pick<Identity, "lane" | "fp" | "occ">;
