/** What a task is, in whatever system it lives. */
import { z } from "zod";

/**
 * `unassigned`: nobody has taken it. `blocked`: somebody has, and a task that it waits for is not done. `ready`: it may begin. `done`,
 * `failed` and `aborted` are over.
 */
export const taskStatusSchema = z.enum(["unassigned", "blocked", "ready", "running", "done", "failed", "aborted"]);

export type TaskStatus = z.infer<typeof taskStatusSchema>;

const id = z.string().min(1).max(200);

/** A task as its system has it now. What a backend gives is parsed with this. */
export const taskSchema = z.object({
	id,
	title: z.string().max(500),
	/** What is to be done, as text. Empty: nothing is said. */
	description: z.string().max(100_000),
	status: taskStatusSchema,
	/** What came of it, or why it ended. Absent: nothing is said. */
	outcome: z.string().max(100_000).optional(),
	/** The ids of the tasks that have to be done before it may begin. */
	waitsFor: z.array(id).max(1000),
	/** Milliseconds since 1970. */
	createdAt: z.number(),
	/** Milliseconds since 1970. */
	changedAt: z.number(),
});

export type Task = z.infer<typeof taskSchema>;

export const taskCommentSchema = z.object({
	id,
	task: id,
	text: z.string().max(100_000),
	/** Who says it, in the words of the backend. Absent: unknown. */
	by: z.string().max(200).optional(),
	/** Milliseconds since 1970. */
	at: z.number(),
});

export type TaskComment = z.infer<typeof taskCommentSchema>;

export const isOver = ({ status }: Pick<Task, "status">): boolean =>
	status === "done" || status === "failed" || status === "aborted";
