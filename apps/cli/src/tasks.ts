/** The tasks of a state directory: an SQLite database that is made with the first task, and opened when it is asked. */
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { layoutOf, type OverRuntime, type TaskOptions } from "@reyn/runtime";
import { type RewindableTasks, type TaskBackend, TaskError } from "@reyn/tasks";
import { assertOwnDirectory } from "@reyn/wal/internal";

/**
 * Its tools are offered once there is a task.
 *
 * @param rewind do moves take tasks along? What is kept of them lies beside them
 */
export function tasksOf(state: string, rewind: boolean): TaskOptions {
	const { tasks: directory } = layoutOf(state);
	const path = join(directory, "tasks.db");
	const isThere = (): boolean => existsSync(path);
	const own = async (): Promise<void> => {
		await mkdir(directory, { recursive: true, mode: 0o700 });
		assertOwnDirectory(directory);
	};
	const plain = async (): Promise<TaskBackend> => {
		await own();
		const { sqliteTasks } = await import("@reyn/tasks/sqlite");
		return sqliteTasks({ path });
	};
	const keeping = async (over: OverRuntime): Promise<RewindableTasks> => {
		await own();
		const { rewindableSqliteTasks } = await import("@reyn/tasks/sqlite");
		return rewindableSqliteTasks({ path, directory: join(directory, "generations"), ...over });
	};
	return {
		offers: isThere,
		rewind,
		backend: rewind
			? (over) => keptWhenAsked(path, isThere, () => keeping(over))
			: whenAsked(path, isThere, plain).backend,
	};
}

/** A backend whose database is made with the first task; `asked` opens it. */
function whenAsked<B extends TaskBackend>(path: string, isThere: () => boolean, open: () => Promise<B>) {
	let opened: Promise<B> | undefined;
	const asked = (): Promise<B> => {
		opened ??= open().catch((error: unknown) => {
			// It may be there, or be sound, the next time.
			opened = undefined;
			throw error;
		});
		return opened;
	};
	const known = async (): Promise<B> => {
		if (isThere()) return asked();
		throw new TaskError("TASK_BACKEND_DOWN", `${path} is not there; put it back, or make a task for a new one`, {
			path,
		});
	};
	const backend: TaskBackend = {
		name: "tasks.db",
		capabilities: { transactions: true, supportsRewind: false },
		get: async (id) => (isThere() ? (await asked()).get(id) : undefined),
		list: async (filter) => (isThere() ? (await asked()).list(filter) : []),
		comments: async (id) => (await known()).comments(id),
		create: async (...given) => (await asked()).create(...given),
		setStatus: async (...given) => (await known()).setStatus(...given),
		comment: async (...given) => (await known()).comment(...given),
		link: async (...given) => (await known()).link(...given),
		written: async (key) => (isThere() ? (await asked()).written(key) : undefined),
		changedSince: async (cursor) => (await known()).changedSince(cursor),
		close: async () => (await opened?.catch(() => undefined))?.close(),
	};
	return { backend, asked, known };
}

/** The same, of which something is kept. Where there is no database yet, nothing is, but before its first task. */
function keptWhenAsked(path: string, isThere: () => boolean, open: () => Promise<RewindableTasks>): RewindableTasks {
	const { backend, asked, known } = whenAsked(path, isThere, open);
	return {
		...backend,
		capabilities: { transactions: true, supportsRewind: true },
		capture: async (seq) => (await asked()).capture(seq),
		restoreToSeq: async (seq, isBase) => (await known()).restoreToSeq(seq, isBase),
		prune: async (keep, options) => (isThere() ? (await asked()).prune(keep, options) : []),
	};
}
