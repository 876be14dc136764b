/**
 * Tasks as a directory of files that people and programs edit while it is open: `<id>.json` is a task, with the keys of its writes, and
 * `<id>.<n>.comment.json` a comment, with its own. There are no transactions: each write is one file that takes the place of another.
 */
import { createHash, randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { codeOf, nodeDisk } from "@reyn/wal";
import { atomicWrite } from "@reyn/wal/internal";
import { z } from "zod";
import {
	assertNoCycle,
	checkedTasks,
	nextStatus,
	settledStatus,
	type Task,
	type TaskBackend,
	type TaskChanges,
	type TaskComment,
	type TaskDraft,
	TaskError,
	type TaskFilter,
	type TaskStatus,
	type TaskWritten,
	taskSchema,
	taskStatusSchema,
} from "../src/index.ts";

const { title, description, outcome, waitsFor } = taskSchema.shape;
/** What a write of this file gave. */
const gaveSchema = z.object({ status: taskStatusSchema, outcome, waitsFor, changed: z.number() });
/** `ready` stands for `blocked` too: what holds a task up lies in other files, and is looked for by whoever reads. */
const fileSchema = gaveSchema.extend({
	title,
	description,
	created: z.number(),
	keys: z.record(z.string(), gaveSchema),
});
type File = z.infer<typeof fileSchema>;
const commentSchema = z.object({ text: z.string(), at: z.number(), key: z.string() });

export const directoryTasks = (directory: string): TaskBackend => checkedTasks(new DirectoryTasks(directory));

class DirectoryTasks implements TaskBackend {
	readonly name: string;
	readonly capabilities = { transactions: false, supportsRewind: false };
	readonly #life = randomBytes(8).toString("hex");
	/** What each looked like when it was last asked for, and since which change. Of this process alone, so that it has a life of its own. */
	readonly #seen = new Map<string, { readonly json: string; readonly change: number }>();
	#change = 0;
	#isClosed = false;
	#writing: Promise<unknown> = Promise.resolve();

	constructor(directory: string) {
		this.name = directory;
		mkdirSync(directory, { recursive: true });
		this.#look();
	}

	async get(id: string): Promise<Task | undefined> {
		return this.#all().get(id);
	}

	async list({ status, limit = 1000, after }: TaskFilter = {}): Promise<readonly Task[]> {
		const all = this.#all();
		if (after !== undefined && !all.has(after)) throw unknown(after);
		const list = [...all.values()];
		const from = after === undefined ? 0 : list.findIndex(({ id }) => id === after) + 1;
		return list
			.slice(from)
			.filter((task) => status?.includes(task.status) ?? true)
			.slice(0, limit);
	}

	async comments(id: string): Promise<readonly TaskComment[]> {
		this.#found(id);
		return this.#commentsOf(id).map(({ comment }) => comment);
	}

	create({ title, description = "", waitsFor = [] }: TaskDraft, key: string): Promise<Task> {
		return this.#changing(key, async () => {
			for (const other of waitsFor) this.#found(other);
			const last = numberOf([...this.#all().keys()].at(-1) ?? "0");
			const id = `${last + 1}-${createHash("sha256").update(key).digest("hex").slice(0, 8)}`;
			const now = Date.now();
			const state = { status: "unassigned" as const, waitsFor: [...new Set(waitsFor)], changed: now };
			await this.#put(id, { ...state, title, description, created: now, keys: { [key]: state } });
			return id;
		});
	}

	setStatus(id: string, status: TaskStatus, key: string, outcome?: string): Promise<Task> {
		return this.#changing(key, async () => {
			const task = this.#found(id);
			const next = nextStatus(task, status, this.#undone(task.waitsFor));
			const isSame = next === task.status && outcome === task.outcome;
			const said = outcome === undefined ? {} : { outcome };
			const state = { status: next, waitsFor: task.waitsFor, changed: isSame ? task.changedAt : Date.now(), ...said };
			await this.#putState(id, key, state);
			return id;
		});
	}

	link(id: string, other: string, key: string): Promise<Task> {
		return this.#changing(key, async () => {
			const task = this.#found(id);
			this.#found(other);
			const all = this.#all();
			assertNoCycle(id, other, (each) => all.get(each)?.waitsFor ?? []);
			const isThere = task.waitsFor.includes(other);
			const waitsFor = isThere ? task.waitsFor : [...task.waitsFor, other];
			const said = task.outcome === undefined ? {} : { outcome: task.outcome };
			const status = settledStatus(task.status, this.#undone(waitsFor));
			await this.#putState(id, key, { status, waitsFor, changed: isThere ? task.changedAt : Date.now(), ...said });
			return id;
		});
	}

	comment(id: string, text: string, key: string): Promise<TaskComment> {
		return this.#alone(async () => {
			const before = this.#written(key);
			if (before && "comment" in before) return before.comment;
			if (before) throw otherWrite(key);
			this.#found(id);
			const last = this.#commentsOf(id).at(-1);
			const n = (last?.n ?? 0) + 1;
			const at = Date.now();
			await atomicWrite(this.#path(`${id}.${n}.comment`), JSON.stringify({ text, at, key }));
			return { id: `${id}.${n}`, task: id, text, at };
		});
	}

	async written(key: string): Promise<TaskWritten | undefined> {
		this.#assertOpen();
		return this.#written(key);
	}

	async changedSince(cursor?: string): Promise<TaskChanges> {
		const { all, gone } = this.#look();
		const now = `${this.#life}:${this.#change}`;
		if (cursor === undefined) return { tasks: [], gone: [], cursor: now };
		const since = cursor.startsWith(`${this.#life}:`) ? Number(cursor.slice(this.#life.length + 1)) : -1;
		const from = since <= this.#change ? since : -1;
		const changed = [...this.#seen]
			.filter(([, { change }]) => change > from)
			.sort(([, a], [, b]) => a.change - b.change);
		return {
			tasks: changed.flatMap(([id]) => all.get(id) ?? []),
			gone: from < 0 ? [] : changed.flatMap(([id]) => (gone.has(id) ? [id] : [])),
			cursor: now,
		};
	}

	async close(): Promise<void> {
		await this.#writing.catch(() => {});
		this.#isClosed = true;
	}

	#changing(key: string, make: () => Promise<string>): Promise<Task> {
		return this.#alone(async () => {
			const before = this.#written(key);
			if (before && "task" in before) return before.task;
			if (before) throw otherWrite(key);
			return this.#found(await make());
		});
	}

	/** One write at a time: in this process by a queue, among those that keep to it by a lock. An editor does not: the later one wins. */
	#alone<T>(run: () => Promise<T>): Promise<T> {
		const turn = this.#writing
			.catch(() => {})
			.then(async () => {
				this.#assertOpen();
				let unlock = (): void => {};
				try {
					unlock = await lock(join(this.name, ".lock"));
					return await run();
				} catch (error) {
					throw error instanceof TaskError ? error : down(this.name, error);
				} finally {
					unlock();
				}
			});
		this.#writing = turn;
		return turn;
	}

	#putState(id: string, key: string, state: z.infer<typeof gaveSchema>): Promise<void> {
		const file = this.#file(id);
		if (!file) throw unknown(id);
		const { outcome: _before, ...rest } = file;
		return this.#put(id, { ...rest, ...state, keys: { ...file.keys, [key]: state } });
	}

	#put(id: string, file: File): Promise<void> {
		return atomicWrite(this.#path(id), `${JSON.stringify(file, undefined, "\t")}\n`);
	}

	#written(key: string): TaskWritten | undefined {
		for (const id of this.#ids()) {
			const file = this.#file(id);
			const gave = file && Object.hasOwn(file.keys, key) ? file.keys[key] : undefined;
			if (file && gave) return { task: taskOf(id, { ...withoutOutcome(file), ...gave }) };
			const said = this.#commentsOf(id).find((each) => each.key === key);
			if (said) return { comment: said.comment };
		}
		return undefined;
	}

	/** What there is now, each with what holds it up: oldest first. */
	#all(): Map<string, Task> {
		this.#assertOpen();
		const files = new Map(
			this.#ids().flatMap((id) => {
				const file = this.#file(id);
				return file ? [[id, file] as const] : [];
			}),
		);
		const settled = ([id, file]: readonly [string, File]): readonly [string, Task] => {
			const there = file.waitsFor.filter((other) => files.has(other));
			const undone = there.filter((other) => files.get(other)?.status !== "done");
			return [id, taskOf(id, { ...file, waitsFor: there, status: settledStatus(file.status, undone) })];
		};
		return new Map([...files].map(settled));
	}

	/** Notes which have changed since it looked last. */
	#look(): { all: Map<string, Task>; gone: ReadonlySet<string> } {
		const all = this.#all();
		for (const [id, task] of all) {
			const json = JSON.stringify(task);
			if (this.#seen.get(id)?.json !== json) this.#seen.set(id, { json, change: ++this.#change });
		}
		const gone = new Set([...this.#seen.keys()].filter((id) => !all.has(id)));
		for (const id of gone)
			if (this.#seen.get(id)?.json !== "") this.#seen.set(id, { json: "", change: ++this.#change });
		return { all, gone };
	}

	#undone(ids: readonly string[]): string[] {
		const all = this.#all();
		return ids.filter((id) => all.has(id) && all.get(id)?.status !== "done");
	}

	#found(id: string): Task {
		const task = this.#all().get(id);
		if (!task) throw unknown(id);
		return task;
	}

	/** Undefined where another program has just taken it away. */
	#file(id: string): File | undefined {
		const text = unlessMissing(() => readFileSync(this.#path(id), "utf8"));
		if (text === undefined) return undefined;
		try {
			return fileSchema.parse(JSON.parse(text));
		} catch (cause) {
			const message = `${this.#path(id)} is no task: ${(cause as Error).message}. Mend the file, or take it away`;
			throw new TaskError("TASK_DAMAGED", message, { id }, { cause });
		}
	}

	#commentsOf(id: string): { n: number; key: string; comment: TaskComment }[] {
		const numbers = this.#names().flatMap((name) => {
			const n = name.startsWith(`${id}.`) ? /^(\d+)\.comment\.json$/.exec(name.slice(id.length + 1)) : null;
			return n ? [Number(n[1])] : [];
		});
		return numbers
			.sort((a, b) => a - b)
			.map((n) => {
				const { text, at, key } = commentSchema.parse(
					JSON.parse(readFileSync(this.#path(`${id}.${n}.comment`), "utf8")),
				);
				return { n, key, comment: { id: `${id}.${n}`, task: id, text, at } };
			});
	}

	#ids(): string[] {
		const ids = this.#names().flatMap((name) => /^(\d+-[0-9a-f]{8})\.json$/.exec(name)?.[1] ?? []);
		return ids.sort((a, b) => numberOf(a) - numberOf(b));
	}

	#names(): readonly string[] {
		try {
			return readdirSync(this.name);
		} catch (error) {
			throw down(this.name, error);
		}
	}

	#path(name: string): string {
		return join(this.name, `${name}.json`);
	}

	#assertOpen(): void {
		if (this.#isClosed) throw new TaskError("TASK_BACKEND_DOWN", `${this.name} is closed. Open it again`, {});
	}
}

const numberOf = (id: string): number => Number.parseInt(id, 10);

const withoutOutcome = ({ outcome: _, ...file }: File): File => file;

function taskOf(id: string, { title, description, status, outcome, waitsFor, created, changed }: File): Task {
	const said = outcome === undefined ? {} : { outcome };
	return { id, title, description, status, ...said, waitsFor, createdAt: created, changedAt: changed };
}

/** Waits until nobody has it. It ends with its holder, killed or not. */
async function lock(path: string): Promise<() => void> {
	for (;;) {
		const held = nodeDisk.lock(path, "");
		if ("release" in held) return () => held.release();
		await new Promise((resolve) => setImmediate(resolve));
	}
}

const unknown = (id: string): TaskError => new TaskError("TASK_UNKNOWN", `there is no task ${id} here`, { id });

const otherWrite = (key: string): TaskError =>
	new TaskError("TASK_INVALID", `the key "${key}" is one of another kind of write`, { key });

const down = (name: string, cause: unknown): TaskError =>
	new TaskError("TASK_BACKEND_DOWN", `${name} cannot be used: ${(cause as Error).message}`, {}, { cause });

function unlessMissing<T>(run: () => T): T | undefined {
	try {
		return run();
	} catch (error) {
		if (codeOf(error) === "ENOENT") return undefined;
		throw error;
	}
}
