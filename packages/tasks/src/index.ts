/** Tasks that live in another system: the port to it, and what of them is bound to sessions. */

export type {
	RewindableTasks,
	TaskBackend,
	TaskCapabilities,
	TaskChanges,
	TaskDraft,
	TaskFilter,
	TaskWritten,
} from "./backend.ts";
export {
	type Binding,
	bindings,
	isOfTask,
	isReportedEnd,
	type SessionTask,
	sessionTasks,
	type TasksOf,
	taskReports,
} from "./bindings.ts";
export { checkedTasks } from "./checked.ts";
export { type Difference, differences, differenceText, recordsOf } from "./differences.ts";
export { type TaskCode, TaskError } from "./errors.ts";
export {
	type TaskHolder,
	type TaskRole,
	type TaskStart,
	taskBegun,
	taskKept,
	taskRebound,
	taskRecords,
	taskReported,
	taskSeen,
	taskStartSchema,
	taskSubscribed,
	taskTold,
	taskUnbound,
} from "./records.ts";
export { assertNoCycle, nextStatus, settledStatus } from "./rules.ts";
export {
	isOver,
	type Task,
	type TaskComment,
	type TaskStatus,
	taskCommentSchema,
	taskSchema,
	taskStatusSchema,
} from "./task.ts";
