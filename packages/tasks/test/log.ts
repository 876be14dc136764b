/** The part of a log that generations look at, with ten durable records. */
import type { RewindableSqliteTasksOptions } from "../src/sqlite/index.ts";

export const log: RewindableSqliteTasksOptions["log"] = {
	id: "log-a",
	first: 1,
	durableTip: 9,
	async *read({ through: seq = 9 } = {}) {
		yield { seq, ts: 0, kind: "said", scope: {}, data: {}, crc: `of ${seq}` };
	},
};
