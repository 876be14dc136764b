/** Tasks that are the agent's own, and go back with it: the same database, and generations of it by seq. */
import type { GenerationStep, SqliteGenerationsOptions } from "@reyn/snapshot/sqlite";
import { type Clock, type Ids, randomIds, systemClock } from "@reyn/wal";
import type { RewindableTasks, TaskBackend } from "../backend.ts";
import { checkedTasks } from "../checked.ts";
import { TaskError } from "../errors.ts";
import { bringUpToDate, openDatabase } from "./database.ts";
import { guarded } from "./guarded.ts";
import { sqliteTasks } from "./open.ts";
import { SqliteTasks } from "./tasks.ts";

export interface RewindableSqliteTasksOptions {
	/** The database file; made when it is missing. Who has it open by another connection holds a restore up. */
	readonly path: string;
	/** Where its generations lie, each a whole copy. */
	readonly directory: string;
	/** The log whose seqs they are of. */
	readonly log: SqliteGenerationsOptions["log"];
	/**
	 * Only look, beside the process that has them: the database is open only while it is asked, so that no restore is held up. Writes are refused.
	 * Default: false.
	 */
	readonly readOnly?: boolean;
	readonly clock?: Clock;
	readonly ids?: Ids;
	/** Called after each step of a capture, a restore and a prune. Default: nothing. */
	readonly onStep?: (step: GenerationStep) => void;
}

/**
 * Opens tasks that can be brought back to a seq. Their ids end in what differs between two lives of the database, such as `t12-5f0c2e`: one
 * that was made in a life that is gone names no other task.
 *
 * @throws TaskError as `sqliteTasks`
 */
export async function rewindableSqliteTasks({
	path,
	directory,
	log,
	readOnly = false,
	clock = systemClock,
	ids = randomIds,
	onStep = () => {},
}: RewindableSqliteTasksOptions): Promise<RewindableTasks> {
	if (readOnly) return lookedAt({ path, directory, log, clock, ids });
	// Also because what is not ours is to be refused before it is made ready for generations.
	openDatabase(path, ids).close();
	const { sqliteGenerations } = await import("@reyn/snapshot/sqlite");
	const migrate: SqliteGenerationsOptions["migrate"] = (database) => bringUpToDate(database, ids);
	const generations = guarded(path, () => sqliteGenerations({ database: path, directory, log, migrate, onStep }));
	const freshMark = (): string => `-${ids.hex(3)}`;
	let mark = freshMark();
	const tasks = new SqliteTasks({
		path,
		clock,
		get database() {
			return generations.database;
		},
		get mark() {
			return mark;
		},
	});
	return {
		...checkedTasks(tasks),
		capabilities: { transactions: true, supportsRewind: true },
		capture: (seq) => generations.capture(seq),
		async restoreToSeq(seq, isBase) {
			const { database } = generations;
			try {
				return await generations.restoreToSeq(seq, isBase);
			} finally {
				// Also where that failed, and it may be the restored one.
				if (generations.database !== database) mark = freshMark();
			}
		},
		prune: async (keep, options) => generations.prune(keep, options),
	};
}

/** Each call opens the database, and lets go of it. */
function lookedAt({
	path,
	directory,
	log,
	...given
}: Pick<RewindableSqliteTasksOptions, "path" | "directory" | "log" | "clock" | "ids">): RewindableTasks {
	const ask = async <T>(about: (tasks: TaskBackend) => Promise<T>): Promise<T> => {
		const tasks = sqliteTasks({ path, ...given });
		try {
			return await about(tasks);
		} finally {
			await tasks.close();
		}
	};
	const refused = async (): Promise<never> => {
		throw new TaskError(
			"TASK_BACKEND_DOWN",
			`${path} was opened with readOnly: nothing was written. Open it to write`,
			{
				path,
			},
		);
	};
	return {
		name: path,
		capabilities: { transactions: true, supportsRewind: true },
		get: (...asked) => ask((tasks) => tasks.get(...asked)),
		list: (...asked) => ask((tasks) => tasks.list(...asked)),
		comments: (...asked) => ask((tasks) => tasks.comments(...asked)),
		written: (...asked) => ask((tasks) => tasks.written(...asked)),
		changedSince: (...asked) => ask((tasks) => tasks.changedSince(...asked)),
		async prune(keep, { dryRun = false } = {}) {
			if (!dryRun) return refused();
			const { generationsIn } = await import("@reyn/snapshot/sqlite");
			return generationsIn({ directory, log }).filter((seq) => !keep(seq));
		},
		...{ create: refused, setStatus: refused, comment: refused, link: refused },
		...{ capture: refused, restoreToSeq: refused },
		async close() {},
	};
}
