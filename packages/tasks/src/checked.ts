/** A backend whose both sides are checked: what it is given, and what it gives. */
import { z } from "zod";
import type { TaskBackend } from "./backend.ts";
import { TaskError } from "./errors.ts";
import { taskCommentSchema, taskSchema, taskStatusSchema } from "./task.ts";

/** Half a character is none, and is stored nowhere as it is. */
const whole = (text: z.ZodString) => text.refine((each) => each.isWellFormed(), "has half a character in it");

const keySchema = whole(z.string().min(1).max(500));
const { title, description, waitsFor } = taskSchema.shape;
const draftSchema = z.strictObject({
	title: whole(title),
	description: whole(description).optional(),
	waitsFor: z.readonly(waitsFor).optional(),
});
const filterSchema = z.strictObject({
	status: z.readonly(z.array(taskStatusSchema)).optional(),
	limit: z.int().min(1).optional(),
	after: z.string().optional(),
});
const textSchema = whole(taskCommentSchema.shape.text);
const saidSchema = textSchema.optional();
const writtenSchema = z.union([z.strictObject({ task: taskSchema }), z.strictObject({ comment: taskCommentSchema })]);
const changesSchema = z.strictObject({ tasks: z.array(taskSchema), gone: z.array(z.string()), cursor: z.string() });

/**
 * The same backend, which never sees what is beyond the limits of a task (`TASK_INVALID`), and of which nobody sees what is no task
 * (`TASK_DAMAGED`).
 */
export function checkedTasks(backend: TaskBackend): TaskBackend {
	const given = <T>(schema: z.ZodType, value: T, what: string): T => {
		parsed(schema, value, (problem) => {
			const message = `${what} is not what ${backend.name} takes: ${problem}. Nothing was written`;
			return new TaskError("TASK_INVALID", message, { what, backend: backend.name });
		});
		return value;
	};
	const key = (value: string): string => given(keySchema, value, "the key of the write");
	const got = <T>(schema: z.ZodType<T>, value: unknown): T =>
		parsed(schema, value, (problem) => {
			const message = `what ${backend.name} gave is not what was asked for: ${problem}. Look there, and mend it`;
			return new TaskError("TASK_DAMAGED", message, { backend: backend.name });
		});
	return {
		name: backend.name,
		capabilities: backend.capabilities,
		get: async (id) => got(taskSchema.optional(), await backend.get(id)),
		list: async (filter = {}) =>
			got(z.array(taskSchema), await backend.list(given(filterSchema, filter, "the filter"))),
		comments: async (id) => got(z.array(taskCommentSchema), await backend.comments(id)),
		create: async (draft, by) => got(taskSchema, await backend.create(given(draftSchema, draft, "the task"), key(by))),
		async setStatus(id, status, by, said) {
			given(taskStatusSchema, status, "the status");
			given(saidSchema, said, "the outcome");
			return got(taskSchema, await backend.setStatus(id, status, key(by), said));
		},
		comment: async (id, said, by) =>
			got(taskCommentSchema, await backend.comment(id, given(textSchema, said, "the comment"), key(by))),
		link: async (id, other, by) => got(taskSchema, await backend.link(id, other, key(by))),
		written: async (by) => got(writtenSchema.optional(), await backend.written(by)),
		changedSince: async (cursor) => got(changesSchema, await backend.changedSince(cursor)),
		close: () => backend.close(),
	};
}

function parsed<T>(schema: z.ZodType<T>, value: unknown, failed: (problem: string) => TaskError): T {
	const { success, data, error } = schema.safeParse(value);
	if (success) return data;
	const [{ path, message } = { path: [], message: "" }] = error.issues;
	throw failed(`${path.length > 0 ? `${path.join(".")}: ` : ""}${message}`);
}
