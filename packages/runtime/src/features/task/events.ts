/** The events of tasks. */
import type { TaskStatus } from "@reyn/tasks";
import type { Scope } from "@reyn/wal";

export type TaskEvent =
	/** A task is not as the session knew it; `gone`: its system does not have it any more. */
	| {
			readonly type: "task_changed";
			readonly scope: Scope;
			readonly task: string;
			readonly status: TaskStatus | "gone";
			readonly text: string;
	  }
	/** What a task starts was started, as the work of this id. */
	| { readonly type: "task_begun"; readonly scope: Scope; readonly task: string; readonly work: string }
	/** What a ready task starts cannot be started as it is: a skill does not load, or nobody has trusted it. Other tasks go on; it is begun once that is mended. */
	| { readonly type: "task_waits"; readonly scope: Scope; readonly task: string; readonly reason: string }
	/** Tasks cannot be read or written. It is tried again later, and told once until it works again. */
	| { readonly type: "tasks_unread"; readonly backend: string; readonly reason: string };
