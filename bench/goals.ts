/** What is asked of a figure, and whether it was met. */
import { short, table } from "./table.ts";

export interface Goal {
	readonly goal: string;
	readonly measured: number;
	readonly bound: "at most" | "at least";
	readonly limit: number;
	readonly met: boolean;
}

export function atMost(goal: string, measured: number, limit: number): Goal {
	return { goal, measured, bound: "at most", limit, met: measured <= limit };
}

export function atLeast(goal: string, measured: number, limit: number): Goal {
	return { goal, measured, bound: "at least", limit, met: measured >= limit };
}

export function goalTable(goals: readonly Goal[]): string {
	return table(
		["goal", "measured", "limit", ""],
		goals.map(({ goal, measured, bound, limit, met }) => [
			goal,
			short(measured),
			`${bound} ${limit}`,
			met ? "met" : "**missed**",
		]),
	);
}
