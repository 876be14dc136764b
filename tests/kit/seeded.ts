/** Numbers as if by chance, the same ones for a seed: what a random test has done can be done again. */

/** Which random histories are told: `REYN_SEED`, or 1. */
export const SEED = Number(process.env.REYN_SEED ?? 1);

export interface Random {
	/** From 0 to below 1. */
	(): number;
	/** A whole number from 0 to below `n`. */
	below(n: number): number;
	/** One of a list that is not empty. */
	pick<T>(list: readonly T[]): T;
	/** True for such a share of all, from 0 to 1. */
	chance(share: number): boolean;
}

/** mulberry32: seeds side by side have nothing in common from the first number on. */
export function seeded(seed: number): Random {
	let state = seed;
	const random = (): number => {
		state = (state + 0x6d2b79f5) | 0;
		let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
		mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
		return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
	};
	const below = (n: number): number => Math.floor(random() * n);
	return Object.assign(random, {
		below,
		pick: <T>(list: readonly T[]): T => list[below(list.length)] as T,
		chance: (share: number): boolean => random() < share,
	});
}
