/** The port to the system that tasks live in. It is the master of them: nothing here is taken back by a rewind, unless it is asked to. */
import type { Seq } from "@reyn/wal";
import type { Task, TaskComment, TaskStatus } from "./task.ts";

/**
 * Each write has a key, unique for ever: a write whose key was used already is not made again, and gives what the first one gave, whatever
 * it is given this time. A key of a comment is none of a change of a task: `TASK_INVALID`. What is refused has used no key. Reads see each
 * write that was acknowledged. A backend that cannot be asked, or is closed, throws TaskError `TASK_BACKEND_DOWN`, and has then written
 * nothing that `written` does not tell of. Values beyond the limits of `taskSchema` are refused with `TASK_INVALID`.
 */
export interface TaskBackend {
	/** What people call it, as in messages. */
	readonly name: string;
	readonly capabilities: TaskCapabilities;
	/** @returns undefined for a task that is not there, or is not there any more */
	get(id: string): Promise<Task | undefined>;
	/** Oldest first. @throws TaskError `TASK_UNKNOWN` for an `after` that is not there */
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
	 * itself then: nobody sets `blocked`. What is over may be set going again, and what waits for it and has not begun is blocked again.
	 * `nextStatus` has the table.
	 *
	 * @param outcome what came of it, or why it ended; absent: none, also where there was one
	 * @throws TaskError `TASK_UNKNOWN`, `TASK_STATUS` for one that may not follow the present one
	 */
	setStatus(id: string, status: TaskStatus, key: string, outcome?: string): Promise<Task>;
	/** It is no change of the task. @throws TaskError `TASK_UNKNOWN` */
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
	 * The tasks that have changed since a cursor, each as it is now; without one: none, and the cursor of now. What becomes `blocked` or
	 * `ready` by itself has changed too.
	 *
	 * @param cursor that this call has given before; one that is too old, or of another life of the backend, gives all tasks
	 */
	changedSince(cursor?: string): Promise<TaskChanges>;
	close(): Promise<void>;
}

/**
 * A backend that is the agent's own: it can be brought back to what it was at a seq of the log. Nobody does so unless it was asked for.
 * What was written after that is gone then, with its keys: `written` knows nothing of it, and a write that is made again is a new one.
 */
export interface RewindableTasks extends TaskBackend {
	readonly capabilities: TaskCapabilities & { readonly supportsRewind: true };
	/** Keeps what there is now as the generation of a seq, whose record is durable. @throws SnapshotError, and nothing was kept */
	capture(seq: Seq): Promise<void>;
	/**
	 * Goes back to the newest generation at or before a seq, and gives its seq. Killed at any moment, the tasks are the old ones or those
	 * of the generation, whole. Cursors from before give all tasks.
	 *
	 * @param isBase is what was kept at this seq on the path that is gone back to?
	 * @throws SnapshotError `SNAPSHOT_NO_GENERATION` and others: nothing was changed; `SNAPSHOT_NOT_RESTORED`
	 */
	restoreToSeq(seq: Seq, isBase: (seq: Seq) => boolean): Promise<Seq>;
	/** Removes the generations that are not to be kept, and gives their seqs, newest first; `dryRun` only gives them. */
	prune(keep: (seq: Seq) => boolean, options?: { readonly dryRun?: boolean }): Promise<readonly Seq[]>;
}

export interface TaskCapabilities {
	/** All of a write is there, or nothing of it, also where the machine dies. */
	readonly transactions: boolean;
	/** It is the agent's own, and can be brought back to a seq of the log: a `RewindableTasks`. */
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

/** A task as the write left it, or the comment. */
export type TaskWritten = { readonly task: Task } | { readonly comment: TaskComment };

export interface TaskChanges {
	/** Oldest change first. */
	readonly tasks: readonly Task[];
	/** The ids of tasks that are gone since; a backend that cannot know gives none. */
	readonly gone: readonly string[];
	readonly cursor: string;
}
