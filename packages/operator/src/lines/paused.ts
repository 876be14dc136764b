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

/** The verb that goes on with it. */
export const goesOn = ({ kind, id }: Paused[number], say: Say): string =>
	kind === "plan" ? say`plan resume ${id}` : say`skill resume ${id}`;

export const pausedLines = (all: Paused, say: Say): string[] =>
	all.map((each) => `${each.kind} ${each.id} is unfinished there and waits; go on with: ${goesOn(each, say)}`);
