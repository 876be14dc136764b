/**
 * Twenty recorded plans, with all that can befall one, whose process dies after every record, and whose resume dies too, after
 * records of it that differ from cut to cut: what each comes to is what its log says, nothing recorded is paid again, and its answer is told once.
 */
import { expect, test } from "vitest";
import { pointsOf, sample, some } from "../../../tests/sample.ts";
import { type Met, PlanLife } from "./plan-life.ts";

/** Together they meet everything: failures, each limit and each answer to it, amendments, pauses, further tries, discards, large results. */
const seeds = [37, 467, 437, 406, 401, 332, 452, 255, 153, 173, 313, 289, 29, 357, 265, 428, 245, 340, 325, 449];

/** Every so-many-th record of a resume is cut after; 1 is each, and takes an hour. */
const EVERY = Number(process.env.REYN_EVERY ?? sample(40, 400));

test.each(some(seeds, 10))("the plan of seed %i, cut after every record, and its resume too", async (seed) => {
	const met: Met = {};
	const whole = await lived(seed, []);
	let lives = 0;
	for (const cut of pointsOf(1, whole.written, 5)) {
		const resumed = await lived(seed, [cut]);
		lives++;
		// Behind each cut others of its resume: that of all would take an hour.
		for (let again = 1 + (cut % EVERY); again <= resumed.written; again += EVERY) {
			await lived(seed, [cut, again], met);
			lives++;
		}
	}
	expect(met.killed).toBeGreaterThan(0);
	expect(lives).toBeGreaterThan(sample(1, whole.written));
});

async function lived(seed: number, cuts: readonly number[], met: Met = {}): Promise<PlanLife> {
	const life = new PlanLife(seed, met, cuts);
	await life.live().catch((error: Error) => {
		error.message = `seed ${seed}, cut after ${cuts.join(" and then ")}: ${error.message}`;
		throw error;
	});
	return life;
}
