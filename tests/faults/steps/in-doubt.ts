/** Row 44: the process dies between the start of a step and its effect, or between the effect and its completion. */
import type { Fault } from "../fault.ts";
import { killInSteps } from "./kills.ts";
import { crashAtPoints } from "./points.ts";

export const fault: Fault = {
	name: "in-doubt",
	title: "crashes inside steps",
	promise: "no effect without a durable start, none again but what the policy says",
	rows: [
		{
			row: 44,
			title:
				"the process dies between a step's start and its effect, or between the effect and its completion; and in the resumes after that",
			how: "programs of steps by seeds (lanes beside each other, steps in steps, failing tries, limits of time, a far side that can be asked) on a disk in memory; a scheduler says which call goes on, when a timer goes off, and at which change of the disk the process dies or the power goes; a ledger of the effects outside, under each policy",
			promise:
				"no effect without a start that is durable at that moment; a try is called once, under `retry` once more for each call that was left open (2 effects with one crash), under `skip` and `discard` never again; `discard` stops with `STEP_DISCARDED`; one key for all effects of a step; what is durably over, or the far side says is done, is not called; each step in doubt is named with the decision; the results are those without a crash",
			seen: "10,000 points, 14,640 deaths (7,223 of the process alone, 7,417 of the power; 4,640 of them in a resume); 80,379 effects, each with a durable start, 2,656 made again; 23,577 times in doubt, 1,832 of them settled by the far side; histories that differ 0",
		},
		{
			row: 44,
			title: "`kill -9` inside the steps",
			how: "a child over a real directory, killed at a random byte of what it tells, until it comes to its end; a ledger that it syncs at each effect",
			promise: "the same",
			seen: "200 of 200 kills in 75 programs, 528 effects, each after its start, 33 made again; 294 times in doubt; programs that differ 0",
		},
	],
	needs: () => undefined,
	async run({ points, kills, seed, short, brief }) {
		return {
			...(await crashAtPoints(points ?? (brief ? 20 : short ? 300 : 10_000), seed)),
			...(await killInSteps(kills ?? (brief ? 1 : short ? 5 : 200), seed)),
		};
	},
};
