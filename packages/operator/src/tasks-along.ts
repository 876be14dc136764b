/** Tasks that go along with a move of history: where they go back to, and where they have. */
import type { TasksAlong } from "@reyn/runtime";
import { z } from "zod";
import { seq } from "./shapes.ts";

/** As `TasksAlong` of `@reyn/runtime`. */
export const tasksAlong = z.object({ to: seq.exactOptional() });

/** The seq as of which tasks are after a move to a target; undefined: they stay. */
export const tasksAsOf = (tasks: TasksAlong | undefined, target: number): number | undefined =>
	tasks?.to === undefined ? undefined : Math.max(tasks.to, target);

/** @param tasks undefined: they stay, which is said where it is said what stays */
export function tasksAlongLines(tasks: TasksAlong | undefined, target: number): readonly string[] {
	if (!tasks) return [];
	const at = tasksAsOf(tasks, target);
	if (at === undefined) return ["tasks would go back too, and nothing is kept of them yet: they stay as they are"];
	const since = at === target ? "" : ", since nothing older is kept of them";
	return [
		`tasks go back too, all of them, to what they were at #${at}${since}: what anybody has written in them since goes, until this move is taken back`,
	];
}

/** @param back the verb that brings them forward again */
export function tasksDoneLines(
	tasks: TasksAlong | undefined,
	target: number,
	back: "undo" | "redo" = "undo",
): readonly string[] {
	if (!tasks) return [];
	const at = tasksAsOf(tasks, target);
	if (at === undefined) return ["tasks stay as they are: nothing is kept of them"];
	return [`tasks are what they were at #${at}; ${back} brings them forward`];
}
