/** Tasks that are the agent's own, and go back with it: the same database, and generations of it by seq. */
import type { GenerationStep, SqliteGenerationsOptions } from "@reyn/snapshot/sqlite";
import { type Clock, type Ids, randomIds, systemClock } from "@reyn/wal";
import type { RewindableTasks } from "../backend.ts";
import { checkedTasks } from "../checked.ts";
import { bringUpToDate, openDatabase } from "./database.ts";
import { guarded } from "./guarded.ts";
import { SqliteTasks } from "./tasks.ts";

export interface RewindableSqliteTasksOptions {
	/** The database file; made when it is missing. Who has it open by another connection holds a restore up. */
	readonly path: string;
	/** Where its generations lie, each a whole copy. */
	readonly directory: string;
	/** The log whose seqs they are of. */
	readonly log: SqliteGenerationsOptions["log"];
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
	clock = systemClock,
	ids = randomIds,
	onStep = () => {},
}: RewindableSqliteTasksOptions): Promise<RewindableTasks> {
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
