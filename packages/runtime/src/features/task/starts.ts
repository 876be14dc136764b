/** Starts what a task has started for it once it is ready, and writes what comes of it as a comment: each once, wherever it is killed. */
import { reasonOf } from "@reyn/journal/internal";
import {
	type Binding,
	isOver,
	sessionTasks,
	type TaskBackend,
	TaskError,
	type TaskStart,
	taskBegun,
	taskReported,
	taskSeen,
} from "@reyn/tasks";
import { codeOf, isReynError } from "@reyn/wal";
import type { Kernel } from "../../kernel/feature.ts";
import { type CameOf, type StartedFor, type Starter, skillStarter, turnStarter } from "../../kernel/services.ts";
import type { Session } from "../../kernel/session.ts";
import type { TaskEvent } from "./events.ts";

/** More than this of what comes of it is not in its comment. */
const MAX_TEXT = 20_000;

export class Starts {
	readonly #kernel: Kernel;
	readonly #backend: TaskBackend;
	/** Called when what was started is over. */
	readonly #over: () => void;
	/** Why tasks that are ready are not begun. */
	readonly #waiting = new Map<string, string>();
	/** The works that are waited for. */
	readonly #waited = new Set<string>();

	constructor(kernel: Kernel, backend: TaskBackend, over: () => void) {
		this.#kernel = kernel;
		this.#backend = backend;
		this.#over = over;
	}

	/** Is anything to be started, or to be told of? */
	static isPending({ role, starts, begun, status }: Binding): boolean {
		return role === "assignee" && starts !== undefined && (begun ? !begun.isReported || !isOver({ status }) : true);
	}

	/** Goes on with one binding as far as it goes now. @throws TaskError of the backend */
	async goOn({ task, scope, since, starts }: Binding, signal: AbortSignal): Promise<void> {
		const session = this.#kernel.sessions.find(scope);
		if (!session || !starts) return;
		const { begun, status } = session.view.get(sessionTasks).find((each) => each.task === task) ?? {};
		const known = begun && begun.seq > since && !begun.isReported ? begun : undefined;
		if (!known && !(await this.#mayBegin(session, task, starts))) return;
		const open = known ?? (await this.#begin(session, task, signal));
		if (!open) return;
		// Also where a process has died since it was recorded: of one key it is written once.
		if (!known || status !== "running")
			await this.#setStatus(session, task, "running", this.#key(open.seq, "running"), signal);
		const came = await this.#cameOf(session, task, starts, { id: open.work, since: open.seq });
		if (came) await this.#report(session, task, open, came, signal);
	}

	/** Is it ready, and can it be started now, or never? What has to be mended before holds up no other task. */
	async #mayBegin(session: Session, task: string, starts: TaskStart): Promise<boolean> {
		if ((await this.#backend.get(task))?.status !== "ready") return false;
		if (!("skill" in starts)) return true;
		try {
			await this.#kernel.get(skillStarter).check(starts);
		} catch (error) {
			if (this.#isHeldUp(session, task, error)) return false;
			if (!isNever(error)) throw error;
		}
		this.#waiting.delete(task);
		return true;
	}

	/** Can it be started once somebody has mended its skill? That is said, once for each reason. */
	#isHeldUp({ scope }: Session, task: string, error: unknown): boolean {
		if (!isReynError(error) || !error.code.startsWith("SKILL_") || isNever(error)) return false;
		const reason = error.message;
		if (this.#waiting.get(task) !== reason) this.#kernel.emit<TaskEvent>({ type: "task_waits", scope, task, reason });
		this.#waiting.set(task, reason);
		return true;
	}

	/** Records that it begins. */
	async #begin(session: Session, task: string, signal: AbortSignal) {
		const work = `t${this.#kernel.ids.hex(4)}`;
		const draft = taskBegun({ task, work });
		const { seq, durable } = await this.#keep(() => session.log.append(draft, session.scope), signal);
		await durable;
		return { seq, work };
	}

	/** Starts it, unless there is such a work. Undefined: it is under way, or waits for somebody. */
	async #cameOf(session: Session, task: string, starts: TaskStart, work: StartedFor): Promise<CameOf | undefined> {
		const went = async <What>(starter: Starter<What>, what: What): Promise<CameOf | undefined> => {
			await starter.begin(session, work, what);
			this.#wait(starter.under(session, work), work.id);
			return starter.ended(session, work);
		};
		try {
			return await ("skill" in starts
				? went(this.#kernel.get(skillStarter), starts)
				: went(this.#kernel.get(turnStarter), starts));
		} catch (error) {
			if (this.#isHeldUp(session, task, error)) return undefined;
			if (!isNever(error)) throw error;
			return { isDone: false, text: `it was not started: ${reasonOf(error).message}` };
		}
	}

	#wait(under: Promise<void> | undefined, work: string): void {
		if (!under || this.#waited.has(work)) return;
		this.#waited.add(work);
		const over = (): void => {
			this.#waited.delete(work);
			this.#over();
		};
		void under.then(over, over);
	}

	async #report(
		session: Session,
		task: string,
		{ seq, work }: { readonly seq: number; readonly work: string },
		{ isDone, text }: CameOf,
		signal: AbortSignal,
	): Promise<void> {
		const said = (text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text || "(nothing)").toWellFormed();
		const key = this.#key(seq, "came");
		const isThere = await this.#backend.comment(task, said, key).then(
			() => true,
			(error: unknown) => {
				if (codeOf(error) !== "TASK_UNKNOWN") throw error;
				return false;
			},
		);
		const status = isDone ? "done" : "failed";
		if (isThere) await this.#setStatus(session, task, status, this.#key(seq, "over"), signal, said.slice(0, 500));
		const reported = taskReported({ task, work, key });
		await (await this.#keep(() => session.log.append(reported, session.scope), signal)).durable;
	}

	/** What may not follow any more was set by somebody else, who is right. */
	async #setStatus(
		session: Session,
		task: string,
		status: "running" | "done" | "failed",
		key: string,
		signal: AbortSignal,
		outcome?: string,
	): Promise<void> {
		try {
			const written = await this.#backend.setStatus(task, status, key, outcome?.toWellFormed());
			// A write that was made before says how the task was then.
			const { title, status: is } = (await this.#backend.get(task)) ?? written;
			const known = session.view.get(sessionTasks).find((each) => each.task === task);
			if (known?.title === title && known.status === is) return;
			await this.#keep(() => session.log.append(taskSeen({ task, title, status: is }), session.scope), signal);
		} catch (error) {
			if (!(error instanceof TaskError) || !["TASK_STATUS", "TASK_UNKNOWN"].includes(error.code)) throw error;
		}
	}

	#keep<T>(write: () => T, signal: AbortSignal): Promise<T> {
		return this.#kernel.space.keep("tasks", "said", write, signal);
	}

	/** Of a write for what the record of this seq has begun. */
	#key(begun: number, what: string): string {
		return `${this.#kernel.wal.id}:${begun}/${what}`;
	}
}

/** What another try would not mend. */
const isNever = (error: unknown): boolean =>
	isReynError(error, "SKILL_UNKNOWN") || isReynError(error, "SKILL_INVALID_INPUT");
