/** What waits for a person after a move, and how it goes on. */
import type { Runtime } from "@reyn/runtime";
import type { Say } from "../say.ts";

export const pausedPlans = (runtime: Runtime): string[] =>
	runtime
		.restored()
		.plans.filter(({ status }) => status === "paused")
		.map(({ plan }) => plan);

export const pausedLines = (plans: readonly string[], say: Say): string[] =>
	plans.map((plan) => `plan ${plan} is unfinished there and waits; go on with: ${say`plan resume ${plan}`}`);
