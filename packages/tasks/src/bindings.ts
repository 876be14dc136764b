/** Who is bound to which task: what each session has recorded, and over all sessions the newest claim. */
import { defineProjection } from "@reyn/snapshot";
import type { Seq } from "@reyn/wal";
import { z } from "zod";
import {
	holderSchema,
	type TaskHolder,
	type TaskRole,
	type TaskStart,
	taskBegun,
	taskRebound,
	taskReported,
	taskSeen,
	taskStartSchema,
	taskSubscribed,
	taskTold,
	taskUnbound,
} from "./records.ts";
import { type Task, taskStatusSchema } from "./task.ts";

const claim = z.object({
	/** Of the newest record about this role in the session. */
	seq: z.int(),
	/** Absent: it was given up. */
	holder: holderSchema.optional(),
	starts: taskStartSchema.optional(),
	createdAt: z.number().optional(),
});

const sessionTask = z.object({
	task: z.string(),
	/** What was last known of it. */
	title: z.string(),
	status: taskStatusSchema,
	assignee: claim.optional(),
	requester: claim.optional(),
	/** What the conversation is still to be told of it, and the seq of its record. */
	told: z.object({ seq: z.int(), text: z.string() }).optional(),
	begun: z
		.object({
			...{ seq: z.int(), work: z.string(), isReported: z.boolean() },
			/** Which end of the work was reported last. */
			end: z.int().exactOptional(),
			/** Of a report that does not say which: whatever had ended before this seq. Neither is there: it counts for all. */
			before: z.int().exactOptional(),
		})
		.optional(),
});

/** What a session has recorded of a task. */
export type SessionTask = z.infer<typeof sessionTask>;

/**
 * The tasks that a session has records of, in the order of their first ones. On a line of history it has no claims that were rewound;
 * which of the claims of several sessions counts, {@link bindings} says.
 */
export const sessionTasks = defineProjection<readonly SessionTask[]>({
	name: "tasks",
	version: 3,
	level: "session",
	schema: z.array(sessionTask),
	init: () => [],
	// What versions added is optional.
	migrate: (state) => state,
	handle: (on) => [
		on(taskSubscribed, (state, { task, role, holder, title, status, starts, createdAt }, { seq }) =>
			changed(state, task, { title, status, [role]: claimed({ seq, holder, starts, createdAt }) }),
		),
		on(taskRebound, (state, { task, role, to: holder, title, status, starts, createdAt }, { seq }) =>
			changed(state, task, { title, status, [role]: claimed({ seq, holder, starts, createdAt }) }),
		),
		on(taskUnbound, (state, { task, role, tell: text }, { seq }) =>
			changed(state, task, { [role]: { seq }, ...(text !== undefined && { told: { seq, text } }) }),
		),
		on(taskSeen, (state, { task, title, status, tell: text }, { seq }) =>
			changed(state, task, { title, status, ...(text !== undefined && { told: { seq, text } }) }),
		),
		on(taskTold, (state, { of }) =>
			state.map(({ told, ...each }) => (told === undefined || told.seq === of ? each : { ...each, told })),
		),
		on(taskBegun, (state, { task, work }, { seq }) =>
			changed(state, task, { begun: { seq, work, isReported: false } }),
		),
		on(taskReported, (state, { task, work, end }, { seq: before }) => {
			const begun = state.find((each) => each.task === task)?.begun;
			if (begun?.work !== work) return state;
			const of = end === undefined ? { before } : { end };
			return changed(state, task, { begun: { seq: begun.seq, work, isReported: true, ...of } });
		}),
	],
});

/** Was it reported that what was begun has ended by the record of this seq? */
export const isReportedEnd = ({ isReported, end, before }: NonNullable<SessionTask["begun"]>, of: Seq): boolean =>
	isReported && (end === undefined ? of < (before ?? Number.POSITIVE_INFINITY) : of === end);

/** An older version does not say what it was. */
const reportedAs = z.enum(["done", "failed", "unknown"]);

/**
 * What was last reported of each task of a session, by its id, on whatever line of history: the task is as it was set then until somebody
 * sets it, since no rewind takes it back.
 */
export const taskReports = defineProjection<Readonly<Record<string, z.infer<typeof reportedAs>>>>({
	name: "task_reports",
	version: 1,
	schema: z.record(z.string(), reportedAs),
	init: () => ({}),
	follows: "log",
	level: "session",
	handle: (on) => [on(taskReported, (state, { task, status }) => ({ ...state, [task]: status ?? "unknown" }))],
	// What nobody knows of was said by somebody else.
	mayBeginLate: true,
});

const claimed = ({ seq, holder, starts, createdAt }: z.infer<typeof claim>): z.infer<typeof claim> => ({
	...{ seq, holder },
	...(starts && { starts }),
	...(createdAt !== undefined && { createdAt }),
});

function changed(state: readonly SessionTask[], task: string, change: Partial<SessionTask>): readonly SessionTask[] {
	const at = state.findIndex((each) => each.task === task);
	// A record about what was never bound here says nothing of a title, and counts for nothing.
	if (at < 0) return change.title === undefined ? state : [...state, { task, ...change } as SessionTask];
	return state.with(at, { ...(state[at] as SessionTask), ...change });
}

/** The state of a session, and which one it is. */
export interface TasksOf {
	readonly scope: { readonly agent: string; readonly session: string };
	readonly tasks: readonly SessionTask[];
}

/** Somebody is bound to a task. */
export interface Binding {
	readonly task: string;
	readonly role: TaskRole;
	readonly holder: TaskHolder;
	/** The session that has recorded it: it is told of the task. */
	readonly scope: TasksOf["scope"];
	/** The seq of the claim. */
	readonly since: Seq;
	/** What this session last knew of it. */
	readonly title: string;
	readonly status: Task["status"];
	/** When the task that it is of was made. Absent: unknown. */
	readonly createdAt?: number;
	/** What becomes of it is started here, once it is ready. */
	readonly starts?: TaskStart;
	/** What was last started for it since the claim. */
	readonly begun?: NonNullable<SessionTask["begun"]>;
}

/** Is it of this very task? Where a system begins anew it may give the same ids to others. */
export const isOfTask = (
	{ task, createdAt }: Pick<Binding, "task" | "createdAt">,
	now: Pick<Task, "id"> & Partial<Pick<Task, "createdAt">>,
): boolean => task === now.id && (createdAt === undefined || (now.createdAt ?? createdAt) === createdAt);

const roles: readonly TaskRole[] = ["assignee", "requester"];

/**
 * All bindings, oldest claim first. Of the claims that sessions have to a task the newest one counts, so that a rewind of the session that has it
 * gives it back to whoever had it before.
 */
export function bindings(sessions: Iterable<TasksOf>): readonly Binding[] {
	const newest = new Map<string, Binding | { readonly since: Seq; readonly holder: undefined }>();
	for (const { scope, tasks } of sessions)
		for (const { task, title, status, begun, ...claims } of tasks)
			for (const role of roles) {
				const { seq: since = 0, holder, starts, createdAt } = claims[role] ?? {};
				const key = `${role} ${task}`;
				if (since <= (newest.get(key)?.since ?? 0)) continue;
				const isOfClaim = role === "assignee" && begun !== undefined && begun.seq > since;
				const more = {
					...(starts && { starts }),
					...(createdAt !== undefined && { createdAt }),
					...(isOfClaim && { begun }),
				};
				newest.set(key, holder ? { task, role, holder, scope, since, title, status, ...more } : { since, holder });
			}
	return [...newest.values()].filter((each) => each.holder !== undefined).sort((a, b) => a.since - b.since);
}
