/** The error class of tasks, and its codes. */
import { ReynError } from "@reyn/wal";

export type TaskCode =
	| "TASK_BACKEND_DOWN"
	| "TASK_CYCLE"
	| "TASK_DAMAGED"
	| "TASK_FOREIGN"
	| "TASK_INVALID"
	| "TASK_NEWER_FORMAT"
	| "TASK_STATUS"
	| "TASK_UNKNOWN";

/** An error of this package; each code is a heading in its README. */
export class TaskError extends ReynError<TaskCode> {}
