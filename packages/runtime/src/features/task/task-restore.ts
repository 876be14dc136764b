/** Takes tasks that are the agent's own back with a move: they are kept by seq, and restored once the move is durable. */
import { reasonOf } from "@reyn/journal/internal";
import { type RewindableTasks, type TaskBackend, taskKept } from "@reyn/tasks";
import { type Moved, reset } from "@reyn/timetravel";
import { isReynError, type Seq } from "@reyn/wal";
import { z } from "zod";
import { RuntimeError } from "../../kernel/errors.ts";
import type { Kernel } from "../../kernel/feature.ts";
import { mainSession } from "../../kernel/sessions.ts";

/** What a move does with tasks that go back. */
export interface TasksAlong {
	/** They are as they were at this seq: the newest of which they are kept at or before the target, or where there is none the oldest. Absent: they stay as they are, since nothing is kept. */
	readonly to?: Seq;
}

/** What stands in the reset of a move that takes tasks along. */
const along = z.object({ to: z.int().nonnegative().exactOptional() });

/** The name by which it stands there. */
const TASKS = "tasks";

export class TaskRestore {
	readonly #kernel: Kernel;
	readonly #open: () => Promise<RewindableTasks>;
	/** The move whose restore is not finished. */
	#due: Moved | undefined;
	/** Are tasks kept as they are now? Nobody knows what a process before this one has left. */
	#isKept = false;
	/** The newest durable record as of the last write: what is kept of that is without it. */
	#before: Seq = 0;
	/** Has the act under way written? */
	#hasWritten = false;
	/** The seqs as of which tasks are kept; undefined: nobody has looked yet, who writes. */
	#kept: Set<Seq> | undefined;
	/** Resolves when the move is over that has been told where tasks go back to: until then nobody writes. */
	#moving: Promise<void> | undefined;
	#last: Promise<unknown> = Promise.resolve();
	#done: { readonly seq: Seq; readonly along: TasksAlong }[] = [];

	/** @param open gives the backend, the same each time */
	constructor(kernel: Kernel, open: () => Promise<RewindableTasks>) {
		this.#kernel = kernel;
		this.#open = open;
	}

	/**
	 * Keeps what a process before this one has written last, and was killed before it kept that. Where the newest record has a keeping, the
	 * first write sees to it.
	 */
	async opened(): Promise<void> {
		await this.#alone(async () => {
			const { kept } = await this.#own();
			if (this.#isKept || kept.has(this.#kernel.wal.durableTip)) return;
			if (await this.#hasTasks()) await this.#keep();
		});
	}

	/** Makes a write. What there was before is kept then, unless the act under way has written that itself. */
	async write<T>(make: () => Promise<T>): Promise<T> {
		for (;;) {
			await this.#moving;
			const made = await this.#alone(async () => {
				if (this.#moving) return undefined;
				await this.#finish();
				if (!this.#hasWritten && !this.#isKept) await this.#keep();
				this.#hasWritten = true;
				this.#isKept = false;
				this.#before = this.#kernel.wal.durableTip;
				return { value: await make() };
			});
			if (made) return made.value;
		}
	}

	/** Keeps what an act has written. Where that fails, the next write keeps it before, or is refused. */
	async keepAfter<T>(act: () => Promise<T>): Promise<T> {
		try {
			return await act();
		} finally {
			await this.#alone(async () => {
				if (this.#hasWritten && !this.#isKept) await this.#keep();
			}).catch(() => {});
			this.#hasWritten = false;
		}
	}

	/** Where tasks go back to in a move to a seq. */
	async preview(target: Seq): Promise<TasksAlong> {
		// What is kept of a record that is gone is nothing: nobody can tell whether it was one of this log.
		const { first, tip } = this.#kernel.wal;
		const all = [...(this.#kept ?? (await keptIn(await this.#open())))];
		const seqs = all.filter((seq) => seq >= first && seq <= tip).sort((a, b) => b - a);
		const to = seqs.find((seq) => seq <= target) ?? seqs.at(-1);
		return to === undefined ? {} : { to };
	}

	/** What stands in the reset of a move to a seq that takes them along. All is quiet: so undo of it leads back to what is kept here. */
	async along(target: Seq): Promise<NonNullable<Moved["along"]>> {
		return this.#alone(async () => {
			await this.#finish();
			const { kept } = await this.#own();
			// Where there never were any, what there is now is what the first write finds.
			if (!this.#isKept && (kept.size > 0 || (await this.#hasTasks()))) await this.#keep();
			const moving = this.#kernel.sessions.rewinding?.then(() => {
				if (this.#moving === moving) this.#moving = undefined;
			});
			this.#moving = moving;
			return { [TASKS]: await this.preview(target) };
		});
	}

	/** Has this move taken tasks along? Then `undo` and `redo` of it do. Of one whose record `gc` has taken away nobody knows, and none do. */
	async hasTaken(move: Seq): Promise<boolean> {
		const record = await this.#kernel.timeline.record(move).catch((error: unknown) => {
			if (isReynError(error, "TIMETRAVEL_PRUNED")) return undefined;
			throw error;
		});
		return record !== undefined && reset.is(record) && takenBy(record.data) !== undefined;
	}

	/** What the newest of the moves from a reset on has done, of those that this process has made or finished; undefined: none took any along. */
	doneFrom(seq: Seq): TasksAlong | undefined {
		this.#done = this.#done.filter((each) => each.seq >= seq);
		return this.#done.at(-1)?.along;
	}

	/** Twice is once: a move as of which tasks are kept is finished. */
	async moved(move: Moved): Promise<void> {
		if (!takenBy(move)) return;
		await this.#alone(async () => {
			this.#due = move;
			await this.#finish();
		});
	}

	/** Removes what is kept as of records that are gone; where that is all, tasks are kept as they are now. */
	async collect(): Promise<void> {
		await this.#alone(async () => {
			const { first } = this.#kernel.wal;
			const { backend, kept } = await this.#own();
			const gone = await backend.prune((seq) => seq >= first);
			for (const seq of gone) kept.delete(seq);
			if (gone.length > 0 && kept.size === 0) await this.#keep();
		});
	}

	async #hasTasks(): Promise<boolean> {
		const { backend } = await this.#own();
		return (await backend.list({ limit: 1 })).length > 0;
	}

	/** Goes on with a move that could not be finished, before anything else is written. */
	async #finish(): Promise<void> {
		const move = this.#due;
		if (!move) return;
		try {
			await this.#restore(move);
		} catch (error) {
			const { seq } = move;
			throw new RuntimeError(
				"RUNTIME_TASKS",
				`the move at seq ${seq} is made, and tasks could not go back with it (${reasonOf(error).message}). Mend that: they go back before anything else is written to them, or at the next start`,
				{ move: seq },
				{ cause: error },
			);
		}
		this.#due = undefined;
	}

	async #restore(move: Moved): Promise<void> {
		const { to } = takenBy(move) ?? {};
		const { backend, kept } = await this.#own();
		let done: TasksAlong = {};
		if (to !== undefined && !kept.has(move.seq)) {
			this.#isKept = false;
			const restored = await backend
				.restoreToSeq(to, (seq) => seq <= to)
				.catch((error: unknown) => {
					// Somebody has removed all of it, and another try would not bring it back.
					if (isReynError(error, "SNAPSHOT_NO_GENERATION")) return undefined;
					throw error;
				});
			await this.#capture(move.seq);
			if (restored !== undefined) done = { to: restored };
		}
		this.#done.push({ seq: move.seq, along: done });
	}

	/** One at a time: nobody writes while tasks are kept or go back. */
	#alone<T>(act: () => Promise<T>): Promise<T> {
		const done = this.#last.then(act);
		this.#last = done.catch(() => {});
		return done;
	}

	async #keep(): Promise<void> {
		const { wal, sessions } = this.#kernel;
		const { kept } = await this.#own();
		let seq = wal.durableTip;
		if (kept.has(seq) || seq <= this.#before || seq < wal.first) {
			const appended = sessions.at(mainSession).log.append(taskKept({}), mainSession);
			await appended.durable;
			({ seq } = appended);
		}
		await this.#capture(seq);
	}

	async #capture(seq: Seq): Promise<void> {
		const { backend, kept } = await this.#own();
		await backend.capture(seq);
		kept.add(seq);
		this.#isKept = true;
	}

	/**
	 * The backend, and as of which seqs tasks are kept: none of a record that this log has not written yet, but in another life of it, before
	 * it was brought back from a copy.
	 */
	async #own(): Promise<{ readonly backend: RewindableTasks; readonly kept: Set<Seq> }> {
		const backend = await this.#open();
		if (!this.#kept) {
			const { tip } = this.#kernel.wal;
			await backend.prune((seq) => seq <= tip);
			this.#kept = new Set(await keptIn(backend));
		}
		return { backend, kept: this.#kept };
	}
}

const keptIn = (backend: RewindableTasks): Promise<readonly Seq[]> => backend.prune(() => false, { dryRun: true });

/** What a move has said of tasks; undefined: they stay. */
export function takenBy({ along: said }: { readonly along?: Moved["along"] | undefined }): TasksAlong | undefined {
	return along.safeParse(said?.[TASKS]).data;
}

/** @throws RuntimeError `RUNTIME_TASKS` for a backend that cannot be brought back */
export function rewindable(backend: TaskBackend): RewindableTasks {
	if (backend.capabilities.supportsRewind && "restoreToSeq" in backend) return backend as RewindableTasks;
	throw new RuntimeError(
		"RUNTIME_TASKS",
		`tasks are to go back with moves (\`rewind\`), and ${backend.name} cannot: it is the master of its tasks. Leave \`rewind\` out, or give a backend that is the agent's own, such as \`rewindableSqliteTasks\` of @reyn/tasks/sqlite`,
		{ backend: backend.name },
	);
}
