/** A system of tasks in memory, as another program would have it: it outlives the processes of a test, and may be away. */
import {
	type Task,
	type TaskBackend,
	type TaskComment,
	TaskError,
	type TaskStatus,
	type TaskWritten,
} from "@reyn/tasks";

export interface MemoryTasks extends TaskBackend {
	/** Each write that was made, by its key. */
	readonly writes: ReadonlyMap<string, TaskWritten>;
	isDown: boolean;
	/** How often it was asked for anything. */
	asked: number;
	/** What another program does. */
	put(id: string, change: Partial<Task>): void;
	remove(id: string): void;
	ids(): readonly string[];
	now(id: string): Task | undefined;
	/** Brings back, as often as it is called, what there is now; ids are given once all the same. */
	saved(): () => void;
}

/** @param createdAt of all its tasks */
export function memoryTasks(createdAt = 0): MemoryTasks {
	const tasks = new Map<string, Task>();
	const comments = new Map<string, TaskComment[]>();
	const writes = new Map<string, TaskWritten>();
	const changes: string[] = [];
	let made = 0;

	const known = (id: string): Task => {
		const task = tasks.get(id);
		if (!task) throw new TaskError("TASK_UNKNOWN", `no task ${id}`, { task: id });
		return task;
	};
	const settled = (task: Task): Task => {
		if (task.status !== "ready" && task.status !== "blocked") return task;
		const isFree = task.waitsFor.every((id) => tasks.get(id)?.status === "done");
		return { ...task, status: isFree ? "ready" : "blocked" };
	};
	const store = (task: Task): Task => {
		const is = settled(task);
		tasks.set(is.id, is);
		changes.push(is.id);
		for (const each of tasks.values())
			if (each.waitsFor.includes(is.id) && settled(each).status !== each.status) store(each);
		return is;
	};
	const up = (): void => {
		backend.asked++;
		if (backend.isDown) throw new TaskError("TASK_BACKEND_DOWN", "memory does not answer", {});
	};
	const once = (key: string, write: () => TaskWritten): TaskWritten => {
		up();
		const written = writes.get(key) ?? write();
		writes.set(key, written);
		return written;
	};
	const taskOnce = (key: string, write: () => Task): Task =>
		(once(key, () => ({ task: write() })) as { readonly task: Task }).task;
	const follows = (from: TaskStatus, to: TaskStatus): boolean =>
		to !== "blocked" && (["running", "failed"].includes(to) ? ["ready", "running", to].includes(from) : true);

	const backend: MemoryTasks = {
		name: "memory",
		capabilities: { transactions: true, supportsRewind: false },
		writes,
		isDown: false,
		asked: 0,
		put: (id, change) =>
			void store({
				...{ id, title: id, description: "", status: "unassigned", waitsFor: [], createdAt, changedAt: 0 },
				...tasks.get(id),
				...change,
			}),
		remove(id) {
			tasks.delete(id);
			changes.push(id);
		},
		ids: () => [...tasks.keys()],
		now: (id) => tasks.get(id),
		saved() {
			const [was, said, made] = [new Map(tasks), new Map(comments), new Map(writes)];
			return () => {
				// A cursor from before gives all that there is then.
				changes.push(...tasks.keys(), ...was.keys());
				for (const [now, then] of [
					[tasks, was],
					[comments, said],
					[writes, made],
				] as [Map<string, unknown>, Map<string, unknown>][]) {
					now.clear();
					for (const [key, value] of then) now.set(key, value);
				}
			};
		},
		async get(id) {
			up();
			return tasks.get(id);
		},
		async list({ status, limit = 1000, after } = {}) {
			up();
			const all = [...tasks.values()];
			const from = after === undefined ? 0 : all.findIndex(({ id }) => id === after) + 1;
			return all
				.slice(from)
				.filter((task) => !status || status.includes(task.status))
				.slice(0, limit);
		},
		async comments(id) {
			up();
			known(id);
			return comments.get(id) ?? [];
		},
		create: async ({ title, description = "", waitsFor = [] }, key) =>
			taskOnce(key, () => {
				waitsFor.forEach(known);
				made++;
				const status = "unassigned" as const;
				return store({
					id: `t${made}`,
					title,
					description,
					status,
					waitsFor: [...waitsFor],
					createdAt,
					changedAt: 0,
				});
			}),
		setStatus: async (id, status, key, outcome) =>
			taskOnce(key, () => {
				const task = known(id);
				if (!follows(task.status, status))
					throw new TaskError("TASK_STATUS", `${id} is ${task.status}, and may not become ${status}`, { id });
				return store({ ...task, status, ...(outcome !== undefined && { outcome }) });
			}),
		comment: async (id, text, key) =>
			(
				once(key, () => {
					known(id);
					const comment = { id: `c${writes.size}`, task: id, text, at: 0 };
					comments.set(id, [...(comments.get(id) ?? []), comment]);
					return { comment };
				}) as { readonly comment: TaskComment }
			).comment,
		link: async (id, other, key) =>
			taskOnce(key, () => {
				const task = known(id);
				known(other);
				return store({ ...task, waitsFor: [...new Set([...task.waitsFor, other])] });
			}),
		async written(key) {
			up();
			return writes.get(key);
		},
		async changedSince(cursor) {
			up();
			const ids = cursor === undefined ? [] : new Set(changes.slice(Number(cursor)));
			const found = [...ids].map((id) => tasks.get(id) ?? id);
			return {
				tasks: found.filter((each) => typeof each !== "string"),
				gone: found.filter((each) => typeof each === "string"),
				cursor: String(changes.length),
			};
		},
		close: async () => {},
	};
	return backend;
}
