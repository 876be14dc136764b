/**
 * How much of a long test is run: `pnpm test` runs a sample, `pnpm test:deep` the whole. A file that asks here is run by both, one
 * that is called `*.deep.test.ts` by the latter alone. `REYN_RUNS` sets how many random histories are told, `REYN_SEED` which.
 */
const { REYN_DEEP, REYN_RUNS, REYN_SEED } = process.env;

export const isDeep = REYN_DEEP !== undefined;

export const sample = <T>(fast: T, deep: T): T => (isDeep ? deep : fast);

/** Random histories, for fast-check: the same every day, and with `REYN_RUNS` others each time. A failure says their seed. */
export function histories(fast: number, deep: number = fast): { readonly numRuns: number; readonly seed: number } {
	const usual = REYN_RUNS === undefined ? 2_144_518_759 : Date.now() % 2 ** 31;
	return { numRuns: Number(REYN_RUNS ?? sample(fast, deep)), seed: Number(REYN_SEED ?? usual) };
}

/** The points from one to another that are tried: each, or in the fast run every so-many-th, the first one by the seed. */
export function* pointsOf(from: number, to: number, every: number, step = 1): Generator<number> {
	const first = isDeep ? 0 : Number(REYN_SEED ?? 1) % every;
	for (let at = from + first * step; at <= to; at += isDeep ? step : every * step) yield at;
}

/** The cases of a table that are tried: all, or in the fast run every so-many-th, the first one by the seed. */
export const some = <T>(cases: readonly T[], every: number): readonly T[] => [
	...pointsOf(0, cases.length - 1, every).map((at) => cases[at] as T),
];
