/** A system of tasks in memory, as another program would have it: it outlives the processes of a test, and may be away. */
import {
	assertNoCycle,
	checkedTasks,
	nextStatus,
	settledStatus,
	type Task,
	type TaskBackend,
	type TaskComment,
	TaskError,
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
	/** The same tasks, as another process has them: it may be closed. */
	opened(): TaskBackend;
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
	const undone = ({ waitsFor }: Pick<Task, "waitsFor">): readonly string[] =>
		waitsFor.filter((id) => tasks.has(id) && tasks.get(id)?.status !== "done");
	const settled = (task: Task): Task => ({ ...task, status: settledStatus(task.status, undone(task)) });
	const settleBehind = (id: string): void => {
		for (const each of tasks.values())
			if (each.waitsFor.includes(id) && settled(each).status !== each.status) store(each);
	};
	const store = (task: Task): Task => {
		const is = settled(task);
		tasks.set(is.id, is);
		changes.push(is.id);
		settleBehind(is.id);
		return is;
	};
	const up = (): void => {
		memory.asked++;
		if (memory.isDown) throw down("memory does not answer");
	};
	const once = <Kind extends "task" | "comment">(key: string, kind: Kind, write: () => TaskWritten) => {
		up();
		const written = writes.get(key) ?? write();
		if (!(kind in written)) throw new TaskError("TASK_INVALID", `the key ${key} is none of a ${kind}`, { key });
		writes.set(key, written);
		return written as Extract<TaskWritten, Record<Kind, unknown>>;
	};
	const taskOnce = (key: string, write: () => Task): Task => once(key, "task", () => ({ task: write() })).task;

	const core: TaskBackend = {
		name: "memory",
		capabilities: { transactions: true, supportsRewind: false },
		async get(id) {
			up();
			return tasks.get(id);
		},
		async list({ status, limit = 1000, after } = {}) {
			up();
			const all = [...tasks.values()];
			const from = after === undefined ? 0 : all.indexOf(known(after)) + 1;
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
				return store({
					...{ id: `t${made}`, title, description, status: "unassigned", waitsFor: [...new Set(waitsFor)] },
					...{ createdAt, changedAt: 0 },
				});
			}),
		setStatus: async (id, wanted, key, said) =>
			taskOnce(key, () => {
				const { outcome: _before, ...task } = known(id);
				const status = nextStatus(task, wanted, undone(task));
				return store({ ...task, status, ...(said !== undefined && { outcome: said }) });
			}),
		comment: async (id, text, key) =>
			once(key, "comment", () => {
				known(id);
				const comment = { id: `c${writes.size}`, task: id, text, at: 0 };
				comments.set(id, [...(comments.get(id) ?? []), comment]);
				return { comment };
			}).comment,
		link: async (id, other, key) =>
			taskOnce(key, () => {
				const task = known(id);
				known(other);
				assertNoCycle(id, other, (each) => tasks.get(each)?.waitsFor ?? []);
				return task.waitsFor.includes(other) ? task : store({ ...task, waitsFor: [...task.waitsFor, other] });
			}),
		async written(key) {
			up();
			return writes.get(key);
		},
		async changedSince(cursor) {
			up();
			const [, at = ""] = /^memory:(\d+)$/.exec(cursor ?? `memory:${changes.length}`) ?? [];
			const isKnown = at !== "" && Number(at) <= changes.length;
			const found = [...new Set(isKnown ? changes.slice(Number(at)) : tasks.keys())].map((id) => tasks.get(id) ?? id);
			return {
				tasks: found.filter((each) => typeof each !== "string"),
				gone: found.filter((each) => typeof each === "string"),
				cursor: `memory:${changes.length}`,
			};
		},
		close: async () => {},
	};
	const checked = checkedTasks(core);
	const memory: MemoryTasks = {
		...checked,
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
			settleBehind(id);
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
		opened() {
			let isClosed = false;
			const open =
				<Given extends unknown[], T>(call: (...given: Given) => Promise<T>) =>
				async (...given: Given): Promise<T> => {
					if (isClosed) throw down("these tasks are closed");
					return call(...given);
				};
			const { get, list, comments, create, setStatus, comment, link, written, changedSince } = checked;
			return {
				...{ name: core.name, capabilities: core.capabilities },
				...{ get: open(get), list: open(list), comments: open(comments), create: open(create) },
				...{ setStatus: open(setStatus), comment: open(comment), link: open(link), written: open(written) },
				changedSince: open(changedSince),
				async close() {
					isClosed = true;
				},
			};
		},
	};
	return memory;
}

const down = (why: string): TaskError => new TaskError("TASK_BACKEND_DOWN", why, {});
