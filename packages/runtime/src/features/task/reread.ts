/** Reads tasks anew, and tells sessions what is not as they know it: the record comes first, then it is said, once. */

import type { View } from "@reyn/snapshot";
import {
	type Binding,
	bindings,
	type Difference,
	differences,
	recordsOf,
	sessionTasks,
	type Task,
	type TaskBackend,
	taskRecords,
	taskTold,
} from "@reyn/tasks";
import type { Moved } from "@reyn/timetravel";
import type { Kernel } from "../../kernel/feature.ts";
import { backgroundMessages, type From } from "../../kernel/services.ts";
import type { Session } from "../../kernel/session.ts";
import { kindsOf, type Work } from "../../kernel/work.ts";

export class Reread {
	readonly #kernel: Kernel;
	readonly #backend: TaskBackend;
	/** Of the backend, up to which all changes were read here. */
	#cursor: string | undefined;

	constructor(kernel: Kernel, backend: TaskBackend) {
		this.#kernel = kernel;
		this.#backend = backend;
	}

	/** Who is bound to what, on the present line of history. */
	bindings(): readonly Binding[] {
		return bindings([...this.#kernel.sessions].map(({ scope, view }) => ({ scope, tasks: view.get(sessionTasks) })));
	}

	/**
	 * Tells what has changed since it was looked last; the first time, and after a move, all that is bound is read.
	 *
	 * @param move after which it is looked. Absent: none
	 * @throws TaskError `TASK_BACKEND_DOWN` and others of the backend; it is looked again next time then
	 */
	async look(move?: Moved): Promise<void> {
		const bound = this.bindings();
		if (bound.length > 0) {
			const before = move && (await this.#before(move));
			const now = await this.#read(bound, move !== undefined);
			// Who is bound may have changed meanwhile.
			for (const difference of differences(this.bindings(), now, before))
				if (!(await this.#tell(difference))) this.#cursor = undefined;
		}
		for (const session of this.#kernel.sessions) await this.#sayUnsaid(session);
	}

	async #before({ seq }: Moved): Promise<readonly Binding[]> {
		const { sessions, timeline } = this.#kernel;
		const then = [...sessions].map(async ({ scope }) => {
			const view: View = await timeline.at(seq - 1, scope);
			return { scope, tasks: view.get(sessionTasks) };
		});
		return bindings(await Promise.all(then));
	}

	async #read(bound: readonly Binding[], isAnew: boolean): Promise<ReadonlyMap<string, Task | undefined>> {
		const since = isAnew ? undefined : this.#cursor;
		// Where reading fails, all is read the next time.
		this.#cursor = undefined;
		const { tasks, gone, cursor } = await this.#backend.changedSince(since);
		const found = new Map<string, Task | undefined>(tasks.map((task) => [task.id, task]));
		for (const id of gone) found.set(id, undefined);
		if (since === undefined)
			for (const { task } of bound) if (!found.has(task)) found.set(task, await this.#backend.get(task));
		this.#cursor = cursor;
		return found;
	}

	/** @returns is it recorded? */
	async #tell(difference: Difference): Promise<boolean> {
		const session = this.#kernel.sessions.find(difference.scope);
		return (
			session !== undefined &&
			this.#within(session, async (signal) => {
				const drafts = recordsOf(difference);
				const append = () => drafts.map((draft) => session.log.append(draft, session.scope));
				const appended = await this.#kernel.space.keep("tasks", "said", append, signal);
				await appended.at(-1)?.durable;
			})
		);
	}

	/** What is recorded, and was not said for a crash, too. */
	async #sayUnsaid(session: Session): Promise<void> {
		const messages = this.#kernel.get(backgroundMessages);
		for (const { task, told } of session.view.get(sessionTasks)) {
			if (!told) continue;
			await this.#within(session, async (signal) => {
				const from: From = { kind: "task", id: task };
				const say = () => {
					const said = messages.record(session, from, told.seq, told.text);
					session.log.append(taskTold({ task, of: told.seq }), session.scope);
					return said;
				};
				await (await this.#kernel.space.keep("tasks", "said", say, signal))?.durable;
				await messages.show(session, from, signal);
			});
		}
	}

	/** @returns was it done? Not where a move of the session is under way, a close, or where the log takes nothing any more */
	async #within(session: Session, body: (signal: AbortSignal) => Promise<void>): Promise<boolean> {
		let isDone = false;
		const done = session.start(tasksWork(session), async (signal) => {
			isDone = await body(signal).then(
				() => true,
				() => false,
			);
		});
		await done;
		return isDone;
	}
}

const tasksWork = ({ scope }: Session): Work => ({ name: "tasks", scope, kinds: kindsOf(taskRecords) });
