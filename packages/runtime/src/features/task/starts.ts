/** Starts what a task has started for it once it is ready, and writes what comes of it as a comment: each once, wherever it is killed. */
import { reasonOf } from "@reyn/journal/internal";
import {
	type Binding,
	isOver,
	isReportedEnd,
	sessionTasks,
	type TaskBackend,
	TaskError,
	type TaskStart,
	taskBegun,
	taskReported,
	taskReports,
	taskSeen,
} from "@reyn/tasks";
import { isReynError, type Seq } from "@reyn/wal";
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
	isPending({ role, scope, starts, begun, status }: Binding): boolean {
		if (role !== "assignee" || !starts) return false;
		if (!begun?.isReported || !isOver({ status })) return true;
		const session = this.#kernel.sessions.find(scope);
		return session !== undefined && this.#hasMore(session, starts, begun);
	}

	/** Goes on with one binding as far as it goes now. @throws TaskError of the backend */
	async goOn({ task, scope, since, starts }: Binding, signal: AbortSignal): Promise<void> {
		const session = this.#kernel.sessions.find(scope);
		if (!session || !starts) return;
		const { begun, status } = session.view.get(sessionTasks).find((each) => each.task === task) ?? {};
		const isKnown = begun && begun.seq > since && (!begun.isReported || this.#hasMore(session, starts, begun));
		const known = isKnown ? begun : undefined;
		if (!known && !(await this.#mayBegin(session, task, starts))) return;
		const open = known ?? (await this.#begin(session, task, signal));
		if (!open) return;
		// Also where a process has died since it was recorded: of one key it is written once.
		if (!known || status !== "running")
			await this.#setStatus(session, task, "running", this.#key(open.seq, "running"), signal);
		const came = await this.#cameOf(session, task, starts, workOf(open));
		if (came) await this.#report(session, task, open, came, signal);
	}

	/** Of work that was reported to have ended: was it taken up again, or has it ended again since? */
	#hasMore(session: Session, starts: TaskStart, begun: NonNullable<Binding["begun"]>): boolean {
		const { starter } = this.#starterOf(starts);
		const came = starter.ended(session, workOf(begun));
		return came ? !isReportedEnd(begun, came.end) : starter.isOpen(session, workOf(begun));
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
		const { begin, starter } = this.#starterOf(starts);
		try {
			await begin(session, work);
			this.#wait(starter.under(session, work), work.id);
			return starter.ended(session, work);
		} catch (error) {
			if (this.#isHeldUp(session, task, error)) return undefined;
			if (!isNever(error)) throw error;
			return { end: work.since, isDone: false, text: `it was not started: ${reasonOf(error).message}` };
		}
	}

	/** @returns what starts it, and how */
	#starterOf(starts: TaskStart) {
		const of = <What>(starter: Starter<What>, what: What) => ({
			starter: starter as Omit<Starter<never>, "begin" | "check">,
			begin: (session: Session, work: StartedFor) => starter.begin(session, work, what),
		});
		return "skill" in starts ? of(this.#kernel.get(skillStarter), starts) : of(this.#kernel.get(turnStarter), starts);
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

	/** Says once how it has ended, by the end: what is taken up again is told of at its next end too. */
	async #report(
		session: Session,
		task: string,
		{ seq, work }: { readonly seq: Seq; readonly work: string },
		{ end, isDone, text }: CameOf,
		signal: AbortSignal,
	): Promise<void> {
		if (!(await this.#isDurable(end))) return;
		const said = (text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text || "(nothing)").toWellFormed();
		const before = (await this.#kernel.timeline.wholeLog.live(session.scope)).view.get(taskReports)[task];
		const now = await this.#backend.get(task);
		// What was reported as done stays so: no rewind takes it back.
		const staysDone = !isDone && now?.status === "done" && (before === "done" || before === "unknown");
		const status = isDone || staysDone ? "done" : "failed";
		const by = (await this.#isSaidByStart(seq, said)) ? seq : end;
		const key = this.#key(by, "came");
		if (now && !staysDone) {
			await this.#backend.comment(task, said, key);
			const over = this.#key(by, "over");
			// It was set so here. Nothing else may follow that.
			const isOurs = isDone && now.status === "failed" && (before === "failed" || before === "unknown");
			if (isOurs && !(await this.#backend.written(over)))
				await this.#backend.setStatus(task, "ready", this.#key(by, "again"));
			await this.#setStatus(session, task, status, over, signal, said.slice(0, 500));
		}
		const reported = taskReported({ task, work, key, end, status });
		await (await this.#keep(() => session.log.append(reported, session.scope), signal)).durable;
	}

	/** Lost to a crash, its seq would be that of another record, and what was written by it be taken for that one's. */
	async #isDurable(seq: Seq): Promise<boolean> {
		const { wal } = this.#kernel;
		if (wal.durableTip < seq) for await (const _record of wal.read({ after: seq - 1 })) break;
		return wal.durableTip >= seq;
	}

	/** Has a version said just this that had one key for all ends of a work, by its start? */
	async #isSaidByStart(begun: Seq, said: string): Promise<boolean> {
		const written = await this.#backend.written(this.#key(begun, "came"));
		return written !== undefined && "comment" in written && written.comment.text === said;
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

	/** Of a write for what the record of this seq has begun, or ended. */
	#key(seq: Seq, what: string): string {
		return `${this.#kernel.wal.id}:${seq}/${what}`;
	}
}

const workOf = ({ work, seq }: { readonly work: string; readonly seq: Seq }): StartedFor => ({ id: work, since: seq });

/** What another try would not mend. */
const isNever = (error: unknown): boolean =>
	isReynError(error, "SKILL_UNKNOWN") || isReynError(error, "SKILL_INVALID_INPUT");
