/** Tasks in one SQLite database: each write is a transaction that takes its key with it. */
import type { Clock } from "@reyn/wal";
import type Database from "better-sqlite3";
import type { TaskBackend, TaskCapabilities, TaskChanges, TaskDraft, TaskFilter, TaskWritten } from "../backend.ts";
import { TaskError } from "../errors.ts";
import { assertNoCycle, nextStatus, settledStatus } from "../rules.ts";
import type { Task, TaskComment, TaskStatus } from "../task.ts";
import { guarded } from "./guarded.ts";

export interface Connection {
	readonly path: string;
	/** Another one after a restore. */
	readonly database: Database.Database;
	/** Of ids and cursors, so that those of two lives of the database differ. Empty: it has one life. */
	readonly mark: string;
	readonly clock: Clock;
}

interface TaskRow {
	readonly n: number;
	readonly id: string;
	readonly title: string;
	readonly description: string;
	readonly status: TaskStatus;
	readonly outcome: string | null;
	readonly created: number;
	readonly changed: number;
	readonly change: number;
}

interface CommentRow {
	readonly n: number;
	readonly text: string;
	readonly at: number;
}

interface WriteRow {
	readonly task: number;
	readonly comment: number | null;
	/** JSON of {@link Gave}; null of a comment. */
	readonly gave: string | null;
}

/** What of a task a write may change. Title and description stay, so that a key costs little. */
type Gave = Pick<Task, "status" | "outcome" | "waitsFor" | "changedAt">;

export class SqliteTasks implements TaskBackend {
	readonly name: string;
	readonly capabilities: TaskCapabilities = { transactions: true, supportsRewind: false };
	readonly #at: Connection;
	/** By their text, of one connection. */
	#statements = new Map<string, Database.Statement<unknown[]>>();
	#preparedOn: Database.Database | undefined;

	constructor(at: Connection) {
		this.#at = at;
		this.name = at.path;
	}

	async get(id: string): Promise<Task | undefined> {
		return this.#reading(() => {
			const row = this.#row(id);
			return row && this.#task(row);
		});
	}

	async list({ status, limit = 1000, after }: TaskFilter = {}): Promise<readonly Task[]> {
		return this.#reading(() => {
			const from = after === undefined ? 0 : this.#found(after).n;
			const such = status ? `AND status IN (${status.map(() => "?").join(", ")})` : "";
			const rows = this.#all<TaskRow>(
				`SELECT * FROM reyn_task WHERE n > ? ${such} ORDER BY n LIMIT ?`,
				from,
				...(status ?? []),
				limit,
			);
			return rows.map((row) => this.#task(row));
		});
	}

	async comments(id: string): Promise<readonly TaskComment[]> {
		return this.#reading(() => {
			const { n } = this.#found(id);
			return this.#all<CommentRow>("SELECT * FROM reyn_comment WHERE task = ? ORDER BY n", n).map(commentOn(id));
		});
	}

	async create({ title, description = "", waitsFor = [] }: TaskDraft, key: string): Promise<Task> {
		return this.#changing(key, () => {
			const others = [...new Set(waitsFor)].map((id) => this.#found(id).n);
			const last = this.#get<{ seq: number }>("SELECT seq FROM sqlite_sequence WHERE name = 'reyn_task'")?.seq ?? 0;
			const id = `t${last + 1}${this.#at.mark}`;
			const now = this.#at.clock.now();
			this.#run(
				"INSERT INTO reyn_task (n, id, title, description, status, created, changed, change) VALUES (?, ?, ?, ?, 'unassigned', ?, ?, ?)",
				...[last + 1, id, title, description, now, now, this.#lastChange() + 1],
			);
			for (const other of others) this.#run("INSERT INTO reyn_wait (task, other) VALUES (?, ?)", last + 1, other);
			return id;
		});
	}

	async setStatus(id: string, status: TaskStatus, key: string, outcome?: string): Promise<Task> {
		return this.#changing(key, () => {
			const row = this.#found(id);
			const next = nextStatus(row, status, this.#undone(row.n));
			if (next !== row.status || (outcome ?? null) !== row.outcome) this.#change(row, next, outcome);
			return id;
		});
	}

	async comment(id: string, text: string, key: string): Promise<TaskComment> {
		return this.#writing(() => {
			const written = this.#written(key);
			if (written && "comment" in written) return written.comment;
			if (written) throw otherWrite(key, "a change of a task");
			const { n: task } = this.#found(id);
			const at = this.#at.clock.now();
			const { lastInsertRowid } = this.#run(
				"INSERT INTO reyn_comment (task, text, at) VALUES (?, ?, ?)",
				task,
				text,
				at,
			);
			const n = Number(lastInsertRowid);
			this.#run("INSERT OR REPLACE INTO reyn_write (key, task, comment) VALUES (?, ?, ?)", key, task, n);
			return commentOn(id)({ n, text, at });
		});
	}

	async link(id: string, other: string, key: string): Promise<Task> {
		return this.#changing(key, () => {
			const [row, awaited] = [this.#found(id), this.#found(other)];
			assertNoCycle(id, other, (each) => this.#waitsFor(this.#found(each).n));
			const { changes } = this.#run("INSERT OR IGNORE INTO reyn_wait (task, other) VALUES (?, ?)", row.n, awaited.n);
			if (changes > 0) this.#change(row, settledStatus(row.status, this.#undone(row.n)), row.outcome ?? undefined);
			return id;
		});
	}

	async written(key: string): Promise<TaskWritten | undefined> {
		return this.#reading(() => this.#written(key));
	}

	async changedSince(cursor?: string): Promise<TaskChanges> {
		return this.#reading(() => {
			const last = this.#lastChange();
			const life = `${this.#get<{ id: string }>("SELECT id FROM reyn_life")?.id}${this.#at.mark}`;
			const since = cursor === undefined ? last : sinceOf(cursor, life, last);
			const rows = this.#all<TaskRow>("SELECT * FROM reyn_task WHERE change > ? ORDER BY change", since);
			return { tasks: rows.map((row) => this.#task(row)), gone: [], cursor: `${life}:${last}` };
		});
	}

	async close(): Promise<void> {
		this.#at.database.close();
	}

	/** A write that changes a task: made once, and it gives what it gave. */
	#changing(key: string, make: () => string): Task {
		return this.#writing(() => {
			const written = this.#written(key);
			if (written && "task" in written) return written.task;
			if (written) throw otherWrite(key, "a comment");
			const row = this.#found(make());
			const task = this.#task(row);
			const { status, outcome, waitsFor, changedAt } = task;
			const gave: Gave = { status, waitsFor, changedAt, ...(outcome !== undefined && { outcome }) };
			this.#run(
				"INSERT OR REPLACE INTO reyn_write (key, task, gave) VALUES (?, ?, ?)",
				key,
				row.n,
				JSON.stringify(gave),
			);
			return task;
		});
	}

	#written(key: string): TaskWritten | undefined {
		const write = this.#get<WriteRow>("SELECT task, comment, gave FROM reyn_write WHERE key = ?", key);
		if (!write) return undefined;
		const row = this.#get<TaskRow>("SELECT * FROM reyn_task WHERE n = ?", write.task);
		// Who removes a task by `sqlite3` leaves what names it: foreign keys are off there.
		if (!row) return undefined;
		if (write.gave !== null) {
			const { outcome: _now, ...task } = this.#task(row);
			return { task: { ...task, ...(JSON.parse(write.gave) as Gave) } };
		}
		const comment = this.#get<CommentRow>("SELECT * FROM reyn_comment WHERE n = ?", write.comment);
		return comment && { comment: commentOn(row.id)(comment) };
	}

	/** And what waits for it: that becomes ready, or is blocked again. */
	#change(row: TaskRow, status: TaskStatus, outcome: string | undefined): void {
		this.#run(
			"UPDATE reyn_task SET status = ?, outcome = ?, changed = ?, change = ? WHERE n = ?",
			...[status, outcome ?? null, this.#at.clock.now(), this.#lastChange() + 1, row.n],
		);
		if ((status === "done") === (row.status === "done")) return;
		const sql = "SELECT t.* FROM reyn_wait w JOIN reyn_task t ON t.n = w.task WHERE w.other = ? ORDER BY t.n";
		for (const waiting of this.#all<TaskRow>(sql, row.n)) {
			const settled = settledStatus(waiting.status, this.#undone(waiting.n));
			if (settled !== waiting.status) this.#change(waiting, settled, waiting.outcome ?? undefined);
		}
	}

	#undone(n: number): readonly string[] {
		const sql =
			"SELECT o.id FROM reyn_wait w JOIN reyn_task o ON o.n = w.other WHERE w.task = ? AND o.status <> 'done' ORDER BY w.n";
		return this.#all<{ id: string }>(sql, n).map(({ id }) => id);
	}

	#waitsFor(n: number): string[] {
		const sql = "SELECT o.id FROM reyn_wait w JOIN reyn_task o ON o.n = w.other WHERE w.task = ? ORDER BY w.n";
		return this.#all<{ id: string }>(sql, n).map(({ id }) => id);
	}

	#lastChange(): number {
		return this.#get<{ last: number | null }>("SELECT max(change) AS last FROM reyn_task")?.last ?? 0;
	}

	#task({ n, id, title, description, status, outcome, created, changed }: TaskRow): Task {
		const said = outcome === null ? {} : { outcome };
		return {
			id,
			title,
			description,
			status,
			...said,
			waitsFor: this.#waitsFor(n),
			createdAt: created,
			changedAt: changed,
		};
	}

	/** @throws TaskError `TASK_UNKNOWN` */
	#found(id: string): TaskRow {
		const row = this.#row(id);
		if (row) return row;
		throw new TaskError("TASK_UNKNOWN", `there is no task ${id} in ${this.name}. List those that there are`, { id });
	}

	#row(id: string): TaskRow | undefined {
		return this.#get<TaskRow>("SELECT * FROM reyn_task WHERE id = ?", id);
	}

	/** As of one moment. */
	#reading<T>(run: () => T): T {
		return guarded(this.name, () => this.#open().transaction(run).deferred());
	}

	/** In one transaction, which takes the right to write at its start. */
	#writing<T>(run: () => T): T {
		return guarded(this.name, () => this.#open().transaction(run).immediate());
	}

	#open(): Database.Database {
		const { database } = this.#at;
		if (database.open) return database;
		throw new TaskError("TASK_BACKEND_DOWN", `${this.name} is closed: nothing was written. Open it again`, {});
	}

	#get<Row>(sql: string, ...values: readonly unknown[]): Row | undefined {
		return this.#prepared(sql).get(...values) as Row | undefined;
	}

	#all<Row>(sql: string, ...values: readonly unknown[]): Row[] {
		return this.#prepared(sql).all(...values) as Row[];
	}

	#run(sql: string, ...values: readonly unknown[]): Database.RunResult {
		return this.#prepared(sql).run(...values);
	}

	#prepared(sql: string): Database.Statement<unknown[]> {
		const { database } = this.#at;
		if (this.#preparedOn !== database) this.#statements = new Map();
		this.#preparedOn = database;
		const statement = this.#statements.get(sql) ?? database.prepare(sql);
		this.#statements.set(sql, statement);
		return statement;
	}
}

const commentOn =
	(task: string) =>
	({ n, text, at }: CommentRow): TaskComment => ({ id: `c${n}`, task, text, at });

function otherWrite(key: string, of: string): TaskError {
	return new TaskError(
		"TASK_INVALID",
		`the key "${key}" is one of ${of}: nothing was written. Give each write a key of its own`,
		{ key },
	);
}

/** 0 for a cursor that this life has not given. */
function sinceOf(cursor: string, life: string, last: number): number {
	const since = cursor.startsWith(`${life}:`) ? Number(cursor.slice(life.length + 1)) : Number.NaN;
	return Number.isSafeInteger(since) && since <= last ? since : 0;
}
