/** Row 44: the process dies between the start of a step and its effect, or between the effect and its completion. */
import type { Fault } from "../fault.ts";
import { killInSteps } from "./kills.ts";
import { crashAtPoints } from "./points.ts";

export const fault: Fault = {
	name: "in-doubt",
	rows: [44],
	title: "crashes inside steps",
	promise: "no effect without a durable start, none again but what the policy says",
	needs: () => undefined,
	async run({ points, kills, seed, short, brief }) {
		return {
			...(await crashAtPoints(points ?? (brief ? 40 : short ? 300 : 10_000), seed)),
			...(await killInSteps(kills ?? (brief ? 1 : short ? 5 : 200), seed)),
		};
	},
};
