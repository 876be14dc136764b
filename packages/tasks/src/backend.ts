/** The port to the system that tasks live in. It is the master of them: nothing here is ever taken back by a rewind. */
import type { Task, TaskComment, TaskStatus } from "./task.ts";

/**
 * Each write has a key, unique for ever: a write whose key was used already is not made again, and gives what the first one gave. Reads
 * see each write that was acknowledged. A backend that cannot be asked throws TaskError `TASK_BACKEND_DOWN`, and has then written nothing
 * that `written` does not tell of.
 */
export interface TaskBackend {
	/** What people call it, as in messages. */
	readonly name: string;
	readonly capabilities: TaskCapabilities;
	/** @returns undefined for a task that is not there, or is not there any more */
	get(id: string): Promise<Task | undefined>;
	/** Oldest first. */
	list(filter?: TaskFilter): Promise<readonly Task[]>;
	/** Oldest first. @throws TaskError `TASK_UNKNOWN` */
	comments(id: string): Promise<readonly TaskComment[]>;
	/**
	 * A new task is `unassigned`.
	 *
	 * @throws TaskError `TASK_UNKNOWN` for a task to wait for that is not there
	 */
	create(draft: TaskDraft, key: string): Promise<Task>;
	/**
	 * Whoever takes a task sets it to `ready`; it is `blocked` as long as something that it waits for is not done, and becomes `ready` by
	 * itself then. What is over may be set going again.
	 *
	 * @param outcome what came of it, or why it ended
	 * @throws TaskError `TASK_UNKNOWN`, `TASK_STATUS` for one that may not follow the present one
	 */
	setStatus(id: string, status: TaskStatus, key: string, outcome?: string): Promise<Task>;
	/** @throws TaskError `TASK_UNKNOWN` */
	comment(id: string, text: string, key: string): Promise<TaskComment>;
	/**
	 * From now on `id` waits for `other`; a link that is there stays as it is.
	 *
	 * @throws TaskError `TASK_UNKNOWN`, `TASK_CYCLE` with the path as `detail.path`
	 */
	link(id: string, other: string, key: string): Promise<Task>;
	/** Was the write of a key made, and what did it give? For writes that are in doubt. */
	written(key: string): Promise<TaskWritten | undefined>;
	/**
	 * The tasks that have changed since a cursor, each as it is now; without one: none, and the cursor of now.
	 *
	 * @param cursor that this call has given before; one that is too old, or of another life of the backend, gives all tasks
	 */
	changedSince(cursor?: string): Promise<TaskChanges>;
	close(): Promise<void>;
}

export interface TaskCapabilities {
	/** All of a write is there, or nothing of it, also where the machine dies. */
	readonly transactions: boolean;
	/** It is the agent's own, and can be brought back to a seq of the log: see `RewindableTasks`. */
	readonly supportsRewind: boolean;
}

export interface TaskFilter {
	readonly status?: readonly TaskStatus[];
	/** At most so many, from 1. Default: 1,000. */
	readonly limit?: number;
	/** Those behind this one in the order of the list. */
	readonly after?: string;
}

export interface TaskDraft {
	readonly title: string;
	readonly description?: string;
	/** The ids of tasks that have to be done before it may begin. */
	readonly waitsFor?: readonly string[];
}

export type TaskWritten = { readonly task: Task } | { readonly comment: TaskComment };

export interface TaskChanges {
	/** Oldest change first. */
	readonly tasks: readonly Task[];
	/** The ids of tasks that are gone since; a backend that cannot know gives none. */
	readonly gone: readonly string[];
	readonly cursor: string;
}
