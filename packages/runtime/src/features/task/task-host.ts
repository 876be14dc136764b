/** Hosts tasks: binds them to sessions, reads them anew, and starts what they have started. */

import { isDeepStrictEqual } from "node:util";
import type { Tool } from "@reyn/journal";
import { reasonOf } from "@reyn/journal/internal";
import {
	type Binding,
	isOfTask,
	type Task,
	type TaskBackend,
	type TaskComment,
	type TaskDraft,
	TaskError,
	type TaskFilter,
	type TaskHolder,
	type TaskRole,
	type TaskStart,
	type TaskStatus,
	taskRebound,
	taskSeen,
	taskSubscribed,
} from "@reyn/tasks";
import type { Moved } from "@reyn/timetravel";
import type { Wal } from "@reyn/wal";
import { RuntimeError } from "../../kernel/errors.ts";
import type { FeatureHost, Frame, Kernel } from "../../kernel/feature.ts";
import type { Session, SessionScope } from "../../kernel/session.ts";
import { mainSession } from "../../kernel/sessions.ts";
import type { TaskEvent } from "./events.ts";
import { Reread } from "./reread.ts";
import { Starts } from "./starts.ts";
import { taskPort } from "./task-port.ts";
import { rewindable, TaskRestore, takenBy } from "./task-restore.ts";
import { taskTools } from "./task-tools.ts";

export interface TaskOptions {
	/** Where tasks live, or what opens it over the runtime's log when it is first asked. It is closed with the runtime. */
	readonly backend: TaskBackend | OpenTasks;
	/**
	 * Do moves that take all of history back take tasks back too, to what they were then? For tasks that are the agent's own: what others
	 * have written since is gone as well, until `undo` of the move brings it again. The backend has to be a `RewindableTasks`. Default: false.
	 */
	readonly rewind?: boolean;
	/** Are tools for tasks offered to models? It is asked for each turn and step. Default: they are. */
	offers?(): boolean;
	/** After how many milliseconds it is looked again while something waits to be started. Default: 5,000. */
	readonly lookMs?: number;
}

/** Opens tasks over a runtime. */
export type OpenTasks = (over: OverRuntime) => TaskBackend | Promise<TaskBackend>;

export interface OverRuntime {
	/** What is kept of tasks is of its records. */
	readonly log: Pick<Wal, "id" | "first" | "durableTip" | "read">;
	/** It only reads, perhaps beside a process that has the same tasks. */
	readonly readOnly: boolean;
}

/** A task as it is now, and who has it. */
export interface TaskEntry {
	readonly task: Task;
	/** Absent: nobody here. */
	readonly assignee?: TaskHolder;
	readonly requester?: TaskHolder;
	readonly starts?: TaskStart;
}

/** What a person adds. */
export interface TaskAddition extends TaskDraft {
	/** The key of the write: the same one adds the same task. */
	readonly key: string;
	/** For whom: it is told what comes of it. Default: the main session. */
	readonly requester?: SessionScope;
	/** What is started in that session once the task is ready, which it is as soon as what it waits for is done. */
	readonly starts?: TaskStart;
}

export class Tasks implements FeatureHost {
	readonly #kernel: Kernel;
	readonly #options: TaskOptions | undefined;
	readonly #reread: Reread | undefined;
	readonly #starts: Starts | undefined;
	readonly #port: TaskBackend | undefined;
	/** Undefined: no move takes tasks along. */
	readonly restore: TaskRestore | undefined;
	#opened: Promise<TaskBackend> | undefined;
	#last: Promise<unknown> = Promise.resolve();
	/** May work begin by itself? */
	#isGoing = false;
	#isClosed = false;
	#isDown = false;
	/** Is a look asked for that has not begun? */
	#isDue = false;
	#due: Promise<void> | undefined;
	/** The works that go on here by themselves: the tasks that have started them are told, though nothing else goes on. */
	readonly #followed = new Set<string>();
	#timer: (() => void) | undefined;
	#isOpen = false;
	#looked: Promise<unknown> = Promise.resolve();
	/** The moves after which it was not looked yet, oldest first. */
	#unlooked: Moved[] = [];

	/** Use `tasks` of a runtime. */
	constructor(kernel: Kernel, options: TaskOptions | undefined) {
		this.#kernel = kernel;
		this.#options = options;
		if (!options) return;
		const { backend, rewind = false } = options;
		if (rewind) {
			if (typeof backend !== "function") rewindable(backend);
			this.restore = new TaskRestore(kernel, async () => rewindable(await this.#open()));
		}
		const { restore } = this;
		this.#port =
			typeof backend !== "function" && !restore
				? backend
				: taskPort(() => this.#open(), restore && ((make) => restore.write(make)));
		this.#reread = new Reread(kernel, this.#port);
		this.#starts = new Starts(kernel, this.#port, () => this.#soon());
	}

	#open(): Promise<TaskBackend> {
		const { backend } = this.#options ?? {};
		const { wal: log, isReadOnly: readOnly } = this.#kernel;
		this.#opened ??= Promise.resolve(typeof backend === "function" ? backend({ log, readOnly }) : backend).catch(
			(error: unknown) => {
				// It may be there, or be sound, the next time.
				this.#opened = undefined;
				throw error;
			},
		) as Promise<TaskBackend>;
		return this.#opened;
	}

	/** @throws RuntimeError `RUNTIME_NO_TASKS` where the runtime was opened without `tasks`; TaskError of the backend */
	async list(filter?: TaskFilter): Promise<readonly TaskEntry[]> {
		return (await this.#backend.list(filter)).map((task) => this.#entry(task));
	}

	/** @throws RuntimeError `RUNTIME_NO_TASKS`; TaskError `TASK_UNKNOWN` and others of the backend */
	async show(id: string): Promise<TaskEntry & { readonly comments: readonly TaskComment[] }> {
		const task = await this.#known(id);
		return { ...this.#entry(task), comments: await this.#backend.comments(id) };
	}

	/** Who is bound to which task, on the present line of history. */
	bindings(): readonly Binding[] {
		return this.#reread?.bindings() ?? [];
	}

	/** The bindings for which something is to be started, or was and is not over. */
	pending(): readonly Binding[] {
		return this.bindings().filter((binding) => this.#starts?.isPending(binding));
	}

	/**
	 * Has the task that has started a work told what comes of it, also where nothing else goes on here; where no task has, nothing is done.
	 * A backend that is away is told at the next start that goes on. Wait until all is idle, or for `looked` where the work is over.
	 */
	follow(work: string): void {
		if (!this.pending().some(({ begun }) => begun?.work === work)) return;
		this.#followed.add(work);
		this.#looked = Promise.all([this.#looked, this.#isDue ? this.#due : this.#lookAt()]);
	}

	/**
	 * Makes a task, and binds who it is for. Killed in between, the same call makes no second one.
	 *
	 * @throws RuntimeError `RUNTIME_CLOSED`, `RUNTIME_NO_TASKS`; TaskError of the backend
	 */
	async add({ key, requester = mainSession, starts, ...draft }: TaskAddition): Promise<TaskEntry> {
		const backend = this.#backend;
		const session = await this.#session(requester);
		return this.#inTurn(async () => {
			const made = await backend.create(draft, starts ? `${key}/1` : key);
			const task = starts ? await backend.setStatus(made.id, "ready", key) : made;
			await this.#bind(session, task, "requester", { key });
			if (starts) await this.#bind(session, task, "assignee", { key, starts });
			this.#soon();
			return this.#entry(task);
		});
	}

	/**
	 * Binds a task to a session as its assignee, and makes it ready where nobody had it.
	 *
	 * @param key of the write
	 * @throws RuntimeError `RUNTIME_CLOSED`, `RUNTIME_NO_TASKS`; TaskError `TASK_UNKNOWN` and others of the backend
	 */
	async assign(id: string, scope: SessionScope, key: string): Promise<TaskEntry> {
		const session = await this.#session(scope);
		return this.#inTurn(async () => {
			const task = await this.#take(session, id, key);
			this.#soon();
			return this.#entry(task);
		});
	}

	/**
	 * Says how a task goes, as a person does. Those who are bound to it are told at the next look.
	 *
	 * @param key of the write
	 * @param outcome what came of it, or why it ended
	 * @throws RuntimeError `RUNTIME_CLOSED`, `RUNTIME_NO_TASKS`; TaskError `TASK_UNKNOWN`, `TASK_STATUS` and others of the backend
	 */
	async setStatus(id: string, status: TaskStatus, key: string, outcome?: string): Promise<TaskEntry> {
		this.#kernel.assertOpen();
		return this.#inTurn(async () => {
			await this.#known(id);
			const task = await this.#backend.setStatus(id, status, key, outcome);
			this.#soon();
			return this.#entry(task);
		});
	}

	tools(frame: Frame): readonly Tool[] {
		const { offers } = this.#options ?? {};
		if (!this.#options || offers?.() === false) return [];
		// What has changed is said beside the turn; its tools read what is so anyway.
		this.#soon();
		const { session } = frame;
		return taskTools(this.#backend, {
			entry: (task) => this.#entry(task),
			inTurn: (act) => this.#inTurn(act),
			bind: (task, role, holder) => this.#bind(session, task, role, holder && { holder }),
			worksFor: () => this.#workedOn(frame),
			take: (id, key) => this.#take(session, id, key),
			wrote: async (task) => {
				await this.#know(session, task);
				this.#soon();
			},
		});
	}

	async opened(): Promise<void> {
		if (this.restore) {
			await this.#assertRewindable();
			// One that is away is told of when it is looked.
			await this.restore.opened().catch(() => {});
		}
		this.#isOpen = true;
		void this.#lookAt();
	}

	resumed(): void {
		this.#isGoing = true;
		this.#soon();
	}

	/** What was rewound is known as it was then. It is read anew once work may begin again. */
	async moved(move: Moved): Promise<void> {
		const { restore } = this;
		if (restore) await restore.moved(move);
		else if (takenBy(move))
			throw new RuntimeError(
				"RUNTIME_TASKS",
				`the move at seq ${move.seq} takes tasks back, and is not finished; open it with those tasks, and \`rewind\``,
				{ move: move.seq },
			);
		if (!this.#options) return;
		this.#unlooked.push(move);
		// One that a crash had cut is finished before it is open.
		if (!this.#isOpen) return;
		const looked = this.#kernel.sessions.rewinding?.then(() => this.#lookAt());
		this.#looked = Promise.all([this.#looked, looked]);
	}

	async #assertRewindable(): Promise<void> {
		const backend = await this.#open().catch(() => undefined);
		try {
			if (backend) rewindable(backend);
		} catch (error) {
			await backend?.close();
			throw error;
		}
	}

	/** Resolves when it was looked after each move and each work that is followed so far, or could not be: before a close, whoever only reads then finds what is said. */
	async looked(): Promise<void> {
		await this.#looked;
	}

	async close(): Promise<void> {
		this.#isClosed = true;
		this.#timer?.();
		await this.#last;
		const { backend } = this.#options ?? {};
		// One that was never asked was not opened.
		const opened = await (typeof backend === "function" ? this.#opened?.catch(() => undefined) : backend);
		await opened?.close();
	}

	get #backend(): TaskBackend {
		if (this.#port) return this.#port;
		throw new RuntimeError(
			"RUNTIME_NO_TASKS",
			"this runtime was opened without `tasks`: it has no backend for them",
			{},
		);
	}

	async #session(scope: SessionScope): Promise<Session> {
		const { sessions } = this.#kernel;
		this.#kernel.assertOpen();
		return this.#kernel.beforeClose(sessions.ensure(scope));
	}

	async #known(id: string): Promise<Task> {
		const task = await this.#backend.get(id);
		if (task) return task;
		const { name } = this.#backend;
		throw new TaskError("TASK_UNKNOWN", `no task ${id} in ${name}; a list of all says which there are`, { task: id });
	}

	#entry(task: Task): TaskEntry {
		const of = (role: TaskRole) => this.bindings().find((each) => isOfTask(each, task) && each.role === role);
		const [assignee, requester] = [of("assignee"), of("requester")];
		return {
			task,
			...(assignee && { assignee: assignee.holder }),
			...(requester && { requester: requester.holder }),
			...(assignee?.starts && { starts: assignee.starts }),
		};
	}

	/** Whoever takes a task makes it ready; one that somebody had goes on as it is. */
	async #take(session: Session, id: string, key: string): Promise<Task> {
		const now = await this.#known(id);
		const task = now.status === "unassigned" ? await this.#backend.setStatus(id, "ready", key) : now;
		await this.#bind(session, task, "assignee", { key });
		return task;
	}

	/** The task for which this work was begun: what that makes is asked for by the task. Undefined: it was begun for none. */
	#workedOn({ session, piece }: Frame): string | undefined {
		const isFor = ({ scope, begun }: Binding): boolean =>
			begun !== undefined && [piece.id, piece.chain].includes(begun.work) && isSame(scope, session.scope);
		return this.bindings().find(isFor)?.task;
	}

	/** Records that a session is bound, or a task that it works on, unless it is so already; resolves once that is durable. */
	async #bind(
		session: Session,
		now: Task,
		role: TaskRole,
		{
			holder = session.scope,
			...more
		}: { readonly holder?: TaskHolder; readonly key?: string; readonly starts?: TaskStart } = {},
	): Promise<void> {
		const { log, scope } = session;
		const { id: task, title, status, createdAt } = now;
		const has = this.bindings().find((each) => isOfTask(each, now) && each.role === role);
		const isOwn = has && isSame(has.scope, scope) && isDeepStrictEqual(has.holder, holder);
		if (isOwn && (!more.starts || isDeepStrictEqual(has.starts, more.starts)))
			return this.#know(session, { id: task, title, status });
		const claim = { task, role, title, status, createdAt, ...more };
		const draft = has ? taskRebound({ ...claim, from: has.holder, to: holder }) : taskSubscribed({ ...claim, holder });
		await log.append(draft, scope).durable;
	}

	/** What a session has done itself it is not told of. */
	async #know(
		{ log, scope }: Session,
		{ id: task, title, status }: Pick<Task, "id" | "title" | "status">,
	): Promise<void> {
		const own = this.bindings().find((each) => each.task === task && isSame(each.scope, scope));
		if (!own || (own.title === title && own.status === status)) return;
		await log.append(taskSeen({ task, title, status }), scope).durable;
	}

	/** Looks soon, unless it is about to anyway. */
	#soon(): void {
		if (!this.#isDue) void this.#lookAt();
	}

	/** It is waited for as for all work; no move stops it, since it begins with what there is then. */
	#lookAt(): Promise<void> | undefined {
		if (!this.#options || this.#isClosed || this.#kernel.isReadOnly) return undefined;
		this.#isDue = true;
		const work = { name: "look at tasks", scope: mainSession, kinds: [] };
		const begun = this.#kernel.sessions.at(mainSession).start(work, (signal) => this.#inTurn(() => this.#look(signal)));
		if (!begun) this.#isDue = false;
		this.#due = begun;
		return begun;
	}

	async #look(signal: AbortSignal): Promise<void> {
		this.#isDue = false;
		this.#timer?.();
		this.#timer = undefined;
		try {
			await this.#readAnew();
			await this.#begin(signal);
			this.#isDown = false;
		} catch (error) {
			// What it wrote goes on from its record at the next look, or the next start.
			if (!signal.aborted) this.#unread(error);
		}
		this.#again();
	}

	async #readAnew(): Promise<void> {
		const moves = this.#unlooked.splice(0);
		try {
			await this.#reread?.look(moves[0]);
		} catch (error) {
			this.#unlooked.unshift(...moves);
			throw error;
		}
	}

	async #begin(signal: AbortSignal): Promise<void> {
		for (const binding of this.pending()) {
			const isFollowed = binding.begun !== undefined && this.#followed.has(binding.begun.work);
			if ((this.#isGoing || isFollowed) && !signal.aborted) await this.#starts?.goOn(binding, signal);
		}
	}

	/** Said once, until it works again; it is tried again at the next look. */
	#unread(error: unknown): void {
		if (this.#isDown || this.#isClosed) return;
		this.#isDown = true;
		const { name: backend } = this.#backend;
		this.#kernel.emit<TaskEvent>({ type: "tasks_unread", backend, reason: reasonOf(error).message });
	}

	/** While something waits to be started, it is looked now and then. */
	#again(): void {
		if (this.#isClosed || !this.#isGoing || this.pending().length === 0) return;
		this.#timer = this.#kernel.timers.after(this.#options?.lookMs ?? LOOK_MS, () => this.#soon(), false);
	}

	/** One at a time, each with what the one before has recorded. */
	#inTurn<T>(act: () => Promise<T>): Promise<T> {
		const { restore } = this;
		const done = this.#last.then(restore ? () => restore.keepAfter(act) : act);
		this.#last = done.catch(() => {});
		return done;
	}
}

const LOOK_MS = 5_000;

const isSame = (a: SessionScope, b: SessionScope): boolean => a.agent === b.agent && a.session === b.session;
