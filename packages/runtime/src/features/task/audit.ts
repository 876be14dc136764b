/** The lines of tasks in the audit trail. */
import { taskBegun, taskRebound, taskReported, taskSeen, taskSubscribed, taskUnbound } from "@reyn/tasks";
import type { WalRecord } from "@reyn/wal";
import type { Audited } from "../../kernel/audit.ts";

export function auditTask(record: WalRecord): Audited | undefined {
	if (taskSubscribed.is(record)) {
		const { task, role } = record.data;
		return { kind: "task", what: "bound", task, role };
	}
	if (taskRebound.is(record)) {
		const { task, role } = record.data;
		return { kind: "task", what: "bound anew", task, role };
	}
	if (taskUnbound.is(record)) {
		const { task, role, why } = record.data;
		return { kind: "task", what: "unbound", task, role, why };
	}
	if (taskSeen.is(record)) {
		const { task, status } = record.data;
		return { kind: "task", what: "seen", task, status };
	}
	if (taskBegun.is(record)) return { kind: "task", what: "begun", ...record.data };
	if (!taskReported.is(record)) return undefined;
	const { task, work } = record.data;
	return { kind: "task", what: "reported", task, work };
}
