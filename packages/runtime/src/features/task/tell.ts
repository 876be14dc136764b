/** Derives events from the records of tasks. */
import { taskBegun, taskSeen, taskUnbound } from "@reyn/tasks";
import type { WalRecord } from "@reyn/wal";
import { sessionOf } from "../../kernel/sessions.ts";
import type { TaskEvent } from "./events.ts";

export function tellTask(record: WalRecord): readonly TaskEvent[] {
	const scope = sessionOf(record.scope);
	if (taskBegun.is(record)) return [{ type: "task_begun", scope, ...record.data }];
	if (!taskSeen.is(record) && !taskUnbound.is(record)) return [];
	const { task, tell: text } = record.data;
	if (text === undefined) return [];
	return [{ type: "task_changed", scope, task, status: taskSeen.is(record) ? record.data.status : "gone", text }];
}
