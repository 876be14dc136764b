/** The tools by which a model looks at tasks, makes them, takes them, and says how they go. */
import { defineTool, type Tool } from "@reyn/journal";
import {
	type Task,
	type TaskBackend,
	type TaskComment,
	type TaskHolder,
	type TaskRole,
	taskStatusSchema,
} from "@reyn/tasks";
import { z } from "zod";
import type { TaskEntry } from "./task-host.ts";

export interface TaskToolPorts {
	entry(task: Task): TaskEntry;
	/** Writes one after the other, each with its record. */
	inTurn<T>(act: () => Promise<T>): Promise<T>;
	/** Binds the session that asks, or the task that it works on. */
	bind(task: Task, role: TaskRole, holder?: TaskHolder): Promise<void>;
	/** The task for which the work was begun that asks; undefined: it was begun for none. */
	worksFor(): string | undefined;
	/** Binds it as the assignee of a task, which becomes ready where nobody had it. */
	take(id: string, key: string): Promise<Task>;
	/** The session that asks knows it so. */
	wrote(task: Task): Promise<void>;
}

/** At most so many are listed. */
const LISTED = 50;

const id = z.string().min(1).max(200).describe("The id of a task, as task_list has them");
const waitsFor = z.array(z.string().min(1).max(200)).max(100);

/** What each is called with: read into schemas once, and not for each who is offered them. */
const inputs = {
	list: z.strictObject({
		status: z.array(taskStatusSchema).optional().describe("Only those of these"),
		after: z.string().optional().describe("Only those behind this id in the list"),
	}),
	get: z.strictObject({ id }),
	create: z.strictObject({
		title: z.string().min(1).max(500),
		description: z.string().max(20_000).optional(),
		waits_for: waitsFor.optional().describe("The ids of tasks that have to be done before"),
		take: z.boolean().optional().describe("You do it yourself"),
	}),
	update: z
		.strictObject({
			id,
			take: z.boolean().optional().describe("It is yours from now on"),
			status: taskStatusSchema.optional(),
			outcome: z.string().max(20_000).optional().describe("What came of it, or why it ended; with a status"),
			waits_for: waitsFor.optional().describe("The ids of tasks that it has to wait for besides"),
		})
		.refine(({ take, status, waits_for = [] }) => take || status || waits_for.length > 0, "nothing is to be changed")
		.refine(({ status, outcome }) => outcome === undefined || status !== undefined, "an outcome needs a status"),
	comment: z.strictObject({ id, text: z.string().min(1).max(20_000) }),
};

/** What a write has to be followed by; durable with its start, so that a process that goes on with it knows. */
const afterwards = z.object({
	binds: z.array(z.enum(["assignee", "requester"])),
	/** The task that asks for it. Absent: the session does. */
	for: z.string().exactOptional(),
});

export function taskTools(backend: TaskBackend, ports: TaskToolPorts): readonly Tool[] {
	/** The records of a write that was made. */
	const follow = async (task: Task, prepared: unknown): Promise<string> => {
		const { binds, for: asks } = afterwards.parse(prepared);
		for (const role of binds)
			await ports.bind(task, role, role === "requester" && asks !== undefined ? { task: asks } : undefined);
		await ports.wrote(task);
		return taskLine(ports.entry(task));
	};
	/** A write that is in doubt is asked for by its key. What is not there is written again, of which the key makes one. */
	const reconcile: Tool["reconcile"] = (key, prepared) =>
		ports.inTurn(async () => {
			const written = await backend.written(key);
			if (!written) return { kind: "not_done" };
			if ("comment" in written) return { kind: "done", result: commentLine(written.comment) };
			// As it is by now: others may have changed it since.
			const now = (await backend.get(written.task.id)) ?? written.task;
			return { kind: "done", result: await follow(now, prepared) };
		});
	return [
		defineTool({
			name: "task_list",
			description: "List tasks: id, status, title, who has it. Oldest first.",
			input: inputs.list,
			purity: "world",
			wants: async () => [],
			async call({ status, after }) {
				const found = await backend.list({
					...{ limit: LISTED },
					...(status && { status }),
					...(after !== undefined && { after }),
				});
				if (found.length === 0) return "no task";
				const more = found.length === LISTED ? [`there may be more: list those after ${found.at(-1)?.id}`] : [];
				return [...found.map((task) => taskLine(ports.entry(task))), ...more].join("\n");
			},
		}),
		defineTool({
			name: "task_get",
			description: "Show a task: what is to be done, what it waits for, what came of it, and its comments.",
			input: inputs.get,
			purity: "world",
			wants: async () => [],
			async call({ id }) {
				const task = await backend.get(id);
				if (!task) return { text: `there is no task ${id}; task_list says which there are`, isError: true };
				return taskText(ports.entry(task), await backend.comments(id)).join("\n");
			},
		}),
		defineTool({
			name: "task_create",
			description: "Make a task. You are told what comes of it; with `take` it is yours to do.",
			input: inputs.create,
			purity: "external",
			wants: async ({ title }) => [{ action: TASK, subject: title }],
			prepare: async ({ take }) => {
				const asks = ports.worksFor();
				const binds = take ? ["requester", "assignee"] : ["requester"];
				return asks === undefined ? { binds } : { binds, for: asks };
			},
			call: ({ title, description, waits_for, take }, { idempotencyKey: key = "", prepared }) =>
				ports.inTurn(async () => {
					const draft = {
						title,
						...(description !== undefined && { description }),
						...(waits_for && { waitsFor: waits_for }),
					};
					// The last write has the key itself.
					const made = await backend.create(draft, take ? `${key}/1` : key);
					return follow(take ? await backend.setStatus(made.id, "ready", key) : made, prepared);
				}),
			reconcile,
		}),
		defineTool({
			name: "task_update",
			description:
				"Change a task: take it (`take`), say how it goes (`status`, with `outcome` for what came of it), or what it waits for.",
			input: inputs.update,
			purity: "external",
			wants: async ({ id }) => [{ action: TASK, subject: id }],
			prepare: async ({ take }) => ({ binds: take ? ["assignee"] : [] }),
			call: ({ id, take, status, outcome, waits_for = [] }, { idempotencyKey: key = "", prepared }) =>
				ports.inTurn(async () => {
					const writes: ((by: string) => Promise<Task>)[] = waits_for.map(
						(other) => (by) => backend.link(id, other, by),
					);
					if (take) writes.push((by) => ports.take(id, by));
					if (status) writes.push((by) => backend.setStatus(id, status, by, outcome));
					let task: Task | undefined;
					for (const [at, write] of writes.entries())
						task = await write(at === writes.length - 1 ? key : `${key}/${at + 1}`);
					return follow(task as Task, prepared);
				}),
			reconcile,
		}),
		defineTool({
			name: "task_comment",
			description: "Write a comment to a task.",
			input: inputs.comment,
			purity: "external",
			wants: async ({ id }) => [{ action: TASK, subject: id }],
			call: ({ id, text }, { idempotencyKey: key = "" }) =>
				ports.inTurn(async () => commentLine(await backend.comment(id, text, key))),
			reconcile,
		}),
	];
}

const TASK = "task";

/** The names of those that write: they change no file of a workspace. */
export const TASK_TOOLS: readonly string[] = ["task_create", "task_update", "task_comment"];

/** A task in a line: `t12  ready  Write it down  (default/main; for t9; waits for t3)`. */
export function taskLine({ task: { id, status, title, waitsFor }, assignee, requester }: TaskEntry): string {
	const who = assignee && ("task" in assignee ? assignee.task : `${assignee.agent}/${assignee.session}`);
	const asks = requester && "task" in requester ? `for ${requester.task}` : undefined;
	const waits = waitsFor.length > 0 ? `waits for ${waitsFor.join(", ")}` : undefined;
	const notes = [who, asks, waits].filter((each) => each !== undefined);
	return `${id}  ${status}  ${title}${notes.length > 0 ? `  (${notes.join("; ")})` : ""}`;
}

/** A task in full. */
export function taskText(entry: TaskEntry, comments: readonly TaskComment[]): readonly string[] {
	const { description, outcome } = entry.task;
	return [
		taskLine(entry),
		...(description ? [description] : []),
		...(outcome === undefined ? [] : [`outcome: ${outcome}`]),
		...comments.map(commentLine),
	];
}

const commentLine = ({ by, text }: TaskComment): string => `comment${by === undefined ? "" : ` of ${by}`}: ${text}`;
