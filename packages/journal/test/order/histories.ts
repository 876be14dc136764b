/** Tells random histories of a form, and says which of them went wrong, with the smallest that does. */
import fc from "fast-check";
import { histories } from "../../../../tests/sample.ts";
import { anyHistory, isWrong, run, type Seen } from "./history.ts";
import type { Form } from "./life.ts";

export interface Tally {
	/** Histories, those that went wrong, and lives. */
	readonly histories: number;
	readonly wrong: number;
	readonly lives: number;
	/** How much went wrong, by what. */
	readonly times: Readonly<Record<string, number>>;
	/** In how many histories. */
	readonly in: Readonly<Record<string, number>>;
}

/**
 * `REYN_RUNS` sets how many are told, and prints each that went wrong and what was counted; `REYN_SEED` which.
 *
 * @throws the smallest of the sample that went wrong
 */
export async function tellHistories<State>(form: Form<State>, count: number): Promise<void> {
	const { REYN_RUNS } = process.env;
	const { numRuns, seed } = histories(count);
	const times: Record<string, number> = {};
	const within: Record<string, number> = {};
	let [wrong, lives] = [0, 0];
	const told = (seen: Seen): void => {
		lives += seen.lives;
		if (isWrong(seen.wrong)) wrong++;
		for (const each of seen.wrong) times[each.kind] = (times[each.kind] ?? 0) + each.times;
		for (const kind of new Set(seen.wrong.map((each) => each.kind))) within[kind] = (within[kind] ?? 0) + 1;
	};
	for (const history of fc.sample(anyHistory, { numRuns, seed })) {
		const seen = await run(form, history);
		told(seen);
		if (REYN_RUNS !== undefined && isWrong(seen.wrong)) console.log(form.name, JSON.stringify({ ...seen, history }));
	}
	if (REYN_RUNS !== undefined)
		console.log(form.name, JSON.stringify({ seed, histories: numRuns, wrong, lives, times, in: within }));
	if (wrong === 0) return;
	if (REYN_RUNS !== undefined) throw new Error(`${wrong} of ${numRuns} histories went wrong (seed: ${seed})`);
	await fc.assert(
		fc.asyncProperty(anyHistory, async (history) => {
			const seen = await run(form, history);
			if (isWrong(seen.wrong)) throw new Error(JSON.stringify(seen.wrong, undefined, "\t"));
		}),
		{ numRuns, seed },
	);
}
