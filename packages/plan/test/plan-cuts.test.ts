/**
 * Twenty recorded plans, with all that can befall one, whose process dies after every record, and whose resume dies after every record
 * of it too: what each comes to is what its log says, nothing recorded is paid again, and its answer is told once.
 */
import { expect, test } from "vitest";
import { pointsOf, some } from "../../../tests/sample.ts";
import { type Met, PlanLife } from "./plan-life.ts";

/** Together they meet everything: failures, each limit and each answer to it, amendments, pauses, further tries, discards, large results. */
const seeds = [37, 467, 437, 406, 401, 332, 452, 255, 153, 173, 313, 289, 29, 357, 265, 428, 245, 340, 325, 449];

test.each(some(seeds, 7))("the plan of seed %i, cut after every record, and so its resume", async (seed) => {
	const met: Met = {};
	const whole = await lived(seed, []);
	let lives = 0;
	for (const cut of pointsOf(1, whole.written, 5)) {
		const resumed = await lived(seed, [cut]);
		lives++;
		for (const again of pointsOf(1, resumed.written, 7)) {
			await lived(seed, [cut, again], met);
			lives++;
		}
	}
	expect(met.killed).toBeGreaterThan(0);
	if (process.env.REYN_DEEP) console.info(`seed ${seed}: ${whole.written} records, ${lives} lives`);
});

async function lived(seed: number, cuts: readonly number[], met: Met = {}): Promise<PlanLife> {
	const life = new PlanLife(seed, met, cuts);
	await life.live().catch((error: Error) => {
		error.message = `seed ${seed}, cut after ${cuts.join(" and then ")}: ${error.message}`;
		throw error;
	});
	return life;
}
