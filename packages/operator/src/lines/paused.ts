/** What waits for a person, after a move too, and how it goes on. */
import type { Runtime } from "@reyn/runtime";
import type { z } from "zod";
import type { Say } from "../say.ts";
import type { pausedShape } from "../shapes.ts";

type Paused = z.infer<typeof pausedShape>;

export function pausedWork(runtime: Runtime): Paused {
	const { plans, runs } = runtime.restored();
	return [
		...plans.map(({ plan: id, status }) => ({ kind: "plan" as const, id, status })),
		...runs.map(({ run: id, status }) => ({ kind: "skill" as const, id, status })),
	]
		.filter(({ status }) => status === "paused")
		.map(({ kind, id }) => ({ kind, id }));
}

export const pausedLines = (all: Paused, say: Say): string[] =>
	all.map(({ kind, id }) => `${kind} ${id} is unfinished there and waits; go on with: ${goOn[kind](id, say)}`);

const goOn = {
	plan: (id: string, say: Say) => say`plan resume ${id}`,
	skill: (id: string, say: Say) => say`skill resume ${id}`,
};
