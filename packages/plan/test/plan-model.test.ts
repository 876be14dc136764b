/**
 * Random plans, against a reader of the log that copies everything: whatever fails, asks, is paused, amended, run again, given up,
 * killed, stopped or taken away by a collection, each step comes to what it must, once, and nothing recorded is paid again.
 * `REYN_RUNS` sets how many there are (default 1,000), `REYN_SEED` the first one's seed.
 */
import { afterAll, expect, test } from "vitest";
import { SEED } from "../../../tests/kit/seeded.ts";
import { sample } from "../../../tests/sample.ts";
import { type Met, PlanLife } from "./plan-life.ts";

const RUNS = Number(process.env.REYN_RUNS ?? sample(80, 500));
/** So many histories are told by one test; the message of one that fails has its own seed. */
const EACH = Math.min(RUNS, 50);

/** What the histories have come to, together: a model that meets nothing proves nothing. */
const met: Met = {};

test.each(Array.from({ length: Math.ceil(RUNS / EACH) }, (_, i) => SEED + i * EACH))(
	"the histories from %i on",
	async (first) => {
		for (let seed = first; seed < first + EACH; seed++)
			await new PlanLife(seed, met).live().catch((error: Error) => {
				error.message = `REYN_SEED=${seed} REYN_RUNS=1: ${error.message}`;
				throw error;
			});
	},
);

afterAll(() => {
	if (RUNS >= 1_000) for (const what of all) expect(met[what] ?? 0, what).toBeGreaterThan(0);
});

const all = [
	...["iterations", "retries", "tokens", "seconds"].map((limit) => `limit, ${limit}`),
	...["extend", "fail", "pause", "later"].map((decision) => `limit, ${decision}`),
	...["running", "paused", "finished"].map((status) => `from, ${status}`),
	...["amend", "amend, drop", "amend, invalid", "amend, under way"],
	...["pause", "discard", "killed", "stopped", "forgotten", "full", "answered", "no answer"],
];
