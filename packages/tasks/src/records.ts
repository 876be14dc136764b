/** The records of tasks: who is bound to which, and what was known of it. They lie in the scopes of sessions, and follow rewinds. */
import { defineRecord } from "@reyn/wal";
import { z } from "zod";
import { taskStatusSchema } from "./task.ts";

const task = z.string();
/** The assignee works on it; the requester is told what comes of it. */
const role = z.enum(["assignee", "requester"]);
/** A session, or a task that has this one made for itself. */
export const holderSchema = z.union([
	z.object({ agent: z.string(), session: z.string() }),
	z.object({ task: z.string() }),
]);
/** What was known of it then. */
const seen = { title: z.string(), status: taskStatusSchema };

export type TaskRole = z.infer<typeof role>;
export type TaskHolder = z.infer<typeof holderSchema>;

/** What is started once it becomes `ready`; what comes of it is its comment. */
export const taskStartSchema = z.union([
	z.object({ skill: z.string(), input: z.unknown().optional() }),
	z.object({ prompt: z.string() }),
]);

export type TaskStart = z.infer<typeof taskStartSchema>;

const claim = {
	...seen,
	/** What its assignee has started for it, in the session of the record. */
	starts: taskStartSchema.optional(),
	/** The key of the write to its system that came before. Absent: there was none. */
	key: z.string().optional(),
	/** When the task was made, as its system says: one of the same id that was made at another time is another task. Absent: unknown. */
	createdAt: z.number().optional(),
};

/** Bound anew: in the scope of the session that it is bound to, or whose task it is for. */
export const taskSubscribed = defineRecord("task_subscribed", z.object({ task, role, holder: holderSchema, ...claim }));
/**
 * Bound to another one: in the scope of whoever has it from now on. Who had it keeps no record of that: the newest claim on the active
 * line counts, so that a rewind of the one that has it gives it back.
 */
export const taskRebound = defineRecord(
	"task_rebound",
	z.object({ task, role, from: holderSchema, to: holderSchema, ...claim }),
);
/** What the conversation is told of it, once. */
const tell = z.string().optional();
/** `gone`: its system does not have it any more. `released`: somebody said so. */
export const taskUnbound = defineRecord(
	"task_unbound",
	z.object({ task, role, holder: holderSchema, why: z.enum(["gone", "released"]), tell }),
);
/** It was read anew, and is not as it was known to be. */
export const taskSeen = defineRecord("task_seen", z.object({ task, ...seen, tell }));
/** The conversation was told. It is not waited for: where it is lost, the conversation itself says so. */
export const taskTold = defineRecord("task_told", z.object({ task, of: z.int().positive() }));
/** What it starts is started, as the work of this id: the record comes before. */
export const taskBegun = defineRecord("task_begun", z.object({ task, work: z.string() }));
/** What came of that is its comment now, written with this key. */
export const taskReported = defineRecord(
	"task_reported",
	z.object({
		...{ task, work: z.string(), key: z.string() },
		/** Of the record that the work ended by. Absent in older logs, as is `status`: it had ended before. */
		end: z.int().positive().exactOptional(),
		/** What the task was to be then. */
		status: z.enum(["done", "failed"]).exactOptional(),
	}),
);

/** Nothing but a record of which tasks that go back can be kept, where what was kept of the one before it is not what there is now. */
export const taskKept = defineRecord("task_kept", z.object({}));

export const taskRecords = [
	...[taskSubscribed, taskRebound, taskUnbound, taskSeen],
	...[taskTold, taskBegun, taskReported, taskKept],
] as const;
