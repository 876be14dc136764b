/** Which status may follow which, what holds a task up, and which way a cycle goes: pure, the same for every backend. */
import { TaskError } from "./errors.ts";
import type { Task, TaskStatus } from "./task.ts";

/** What somebody may set a task to. `blocked` is set by nobody. */
const mayFollow: Readonly<Record<TaskStatus, readonly TaskStatus[]>> = {
	unassigned: ["unassigned", "ready", "done", "aborted"],
	blocked: ["unassigned", "ready", "done", "aborted"],
	ready: ["unassigned", "ready", "running", "done", "failed", "aborted"],
	running: ["unassigned", "ready", "running", "done", "failed", "aborted"],
	done: ["unassigned", "ready", "done"],
	failed: ["unassigned", "ready", "failed"],
	aborted: ["unassigned", "ready", "aborted"],
};

/**
 * The status that a task gets where somebody asks for one.
 *
 * @param undone what it waits for, and is not done
 * @throws TaskError `TASK_STATUS`
 */
export function nextStatus(
	{ id, status }: Pick<Task, "id" | "status">,
	wanted: TaskStatus,
	undone: readonly string[],
): TaskStatus {
	if (mayFollow[status].includes(wanted)) return settledStatus(wanted, undone);
	const held = undone.length > 0 ? ` (it waits for ${undone.join(", ")})` : "";
	const why = wanted === "blocked" ? "which comes by itself: set it to ready" : "which may not follow";
	const text = `${id} is ${status}${held}, and was to be ${wanted}, ${why}. It may become ${mayFollow[status].filter((each) => each !== status).join(", ")}`;
	throw new TaskError("TASK_STATUS", text, { id, status, wanted, undone });
}

/** `blocked` or `ready` by what it waits for, where somebody has taken it and has not begun; else the status that it has. */
export function settledStatus(status: TaskStatus, undone: readonly string[]): TaskStatus {
	if (status !== "ready" && status !== "blocked") return status;
	return undone.length > 0 ? "blocked" : "ready";
}

/**
 * Nothing waits for itself.
 *
 * @param waitsFor what a task waits for now
 * @throws TaskError `TASK_CYCLE`: with `detail.path`, from `id` by `other` back to `id`
 */
export function assertNoCycle(id: string, other: string, waitsFor: (id: string) => readonly string[]): void {
	const cameFrom = new Map<string, string>([[other, id]]);
	for (const at of cameFrom.keys()) {
		if (at === id) throw cycle(id, cameFrom);
		for (const next of waitsFor(at)) if (!cameFrom.has(next)) cameFrom.set(next, at);
	}
}

function cycle(id: string, cameFrom: ReadonlyMap<string, string>): TaskError {
	const path = [id];
	let at = id;
	do {
		at = cameFrom.get(at) ?? id;
		path.unshift(at);
	} while (at !== id);
	const text = `no task may wait for itself: ${path.join(" → ")}. Leave one of these links out`;
	return new TaskError("TASK_CYCLE", text, { path });
}
