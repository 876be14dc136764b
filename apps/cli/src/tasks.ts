/** The tasks of a state directory: an SQLite database that is made with the first task, and opened when it is asked. */
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { layoutOf, type TaskOptions } from "@reyn/runtime";
import { type TaskBackend, TaskError } from "@reyn/tasks";
import { assertOwnDirectory } from "@reyn/wal/internal";

/** Its tools are offered once there is a task. */
export function tasksOf(state: string): TaskOptions {
	const { tasks: directory } = layoutOf(state);
	const path = join(directory, "tasks.db");
	const isThere = (): boolean => existsSync(path);
	let opened: Promise<TaskBackend> | undefined;
	const open = async (): Promise<TaskBackend> => {
		await mkdir(directory, { recursive: true, mode: 0o700 });
		assertOwnDirectory(directory);
		const { sqliteTasks } = await import("@reyn/tasks/sqlite");
		return sqliteTasks({ path });
	};
	const backend = (): Promise<TaskBackend> => {
		opened ??= open().catch((error: unknown) => {
			// It may be there, or be sound, the next time.
			opened = undefined;
			throw error;
		});
		return opened;
	};
	const known = async (): Promise<TaskBackend> => {
		if (isThere()) return backend();
		throw new TaskError("TASK_BACKEND_DOWN", `${path} is not there; put it back, or make a task for a new one`, {
			path,
		});
	};
	return {
		offers: isThere,
		backend: {
			name: "tasks.db",
			capabilities: { transactions: true, supportsRewind: false },
			get: async (id) => (isThere() ? (await backend()).get(id) : undefined),
			list: async (filter) => (isThere() ? (await backend()).list(filter) : []),
			comments: async (id) => (await known()).comments(id),
			create: async (...given) => (await backend()).create(...given),
			setStatus: async (...given) => (await known()).setStatus(...given),
			comment: async (...given) => (await known()).comment(...given),
			link: async (...given) => (await known()).link(...given),
			written: async (key) => (isThere() ? (await backend()).written(key) : undefined),
			changedSince: async (cursor) => (await known()).changedSince(cursor),
			close: async () => (await opened?.catch(() => undefined))?.close(),
		},
	};
}
