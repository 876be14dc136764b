/** `task list | show | add | assign | set`: tasks in another system, and who has them here. */
import { randomUUID } from "node:crypto";
import { type Runtime, taskLine, taskText } from "@reyn/runtime";
import { skillNamed } from "@reyn/skill-resume";
import { type TaskStart, taskStatusSchema } from "@reyn/tasks";
import { z } from "zod";
import { OperatorError } from "../errors.ts";
import { sessionText } from "../lines/scope.ts";
import { choice, option, type Param, text, word } from "../param.ts";
import { list, taskEntryShape, taskShownShape } from "../shapes.ts";
import { clean, oneLine } from "../text.ts";
import { readVerb, workVerb } from "../verb.ts";
import { session } from "./ref.ts";

const task = word("task", "the id of a task, as task list has them", z.string().min(1));

export const taskList = readVerb({
	name: "task list",
	summary: "tasks as they are now, and who has them",
	isWithoutHistory: true,
	params: { status: choice("status", "only those", taskStatusSchema.options) },
	example: "--status ready",
	result: list(taskEntryShape),
	read: (runtime, { status }) => runtime.tasks.list(status && { status: [status] }),
	lines: (found) => (found.length > 0 ? found.map((entry) => clean(taskLine(entry))) : ["no task"]),
});

export const taskShow = readVerb({
	name: "task show",
	summary: "a task: what is to be done, what it waits for, and its comments",
	params: { task },
	example: "t1",
	result: taskShownShape,
	read: (runtime, { task }) => runtime.tasks.show(task),
	lines: ({ comments, ...entry }) => taskText(entry, comments).flatMap((text) => text.split("\n").map(clean)),
});

const ids = z
	.string()
	.transform((given) => given.split(",").map((each) => each.trim()))
	.pipe(z.array(z.string().min(1)));

const input: Param = { ...option("json", "what the skill is given, as JSON: default {}", z.unknown()), reads: "json" };

const addedShape = z.object({
	...taskEntryShape.shape,
	/** What it waits for. Absent: nothing. */
	waits: list(taskEntryShape.shape.task).exactOptional(),
});

export const taskAdd = workVerb({
	name: "task add",
	summary: "make a task; it may start a skill or a turn once what it waits for is done",
	params: {
		title: text("title", "what is to be done, in a line", z.string().min(1).max(500)),
		for: option(
			"session",
			"who is told what comes of it, and where it is started: default main",
			sessionText.optional(),
		),
		about: option("text", "what is to be done, in full", z.string().optional()),
		after: option("ids", "the tasks that have to be done before, with commas between", ids.optional()),
		skill: option("name", "a skill to start", z.string().optional()),
		input,
		prompt: option("text", "a prompt to give to the session", z.string().min(1).optional()),
	},
	example: `"Sum it up" --after t1,t2 --prompt "what has changed?"`,
	begun: addedShape,
	isAlone: true,
	isAtOnce: true,
	async begin(runtime, { title, for: requester, about: description, after: waitsFor, skill, input, prompt }) {
		const starts = startOf(skill, input, prompt);
		if (skill !== undefined) {
			const found = await runtime.skills();
			// One that does not load yet is waited for.
			if (!found.problems.some(({ name }) => name === skill)) skillNamed(found, skill);
		}
		const added = await runtime.tasks.add({
			...{ title, key: `add/${randomUUID()}` },
			...(description !== undefined && { description }),
			...(waitsFor && { waitsFor }),
			...(requester && { requester }),
			...(starts && { starts }),
		});
		const waits = added.task.status === "blocked" ? await openOf(runtime, added.task.waitsFor) : [];
		return { ...added, ...(waits.length > 0 && { waits }) };
	},
	lines: (entry, say) => {
		const { waits = [] } = entry;
		const before = waits.map(({ id, title, status }) => `${id} (${oneLine(title, 60)}, ${status})`);
		const then = waits.length === 0 ? "" : waits.length === 1 ? "once that is done, " : "once these are done, ";
		return [
			clean(taskLine(entry)),
			...(before.length > 0 ? [clean(`it waits for ${before.join(", ")}`)] : []),
			...(entry.starts ? [`it is started ${then}where work goes on: in an open chat, or by ${say`resume`}`] : []),
		];
	},
});

/** Of these tasks those that are not done. The new one is made, whether they can be read now or not. */
async function openOf(runtime: Runtime, ids: readonly string[]): Promise<z.infer<typeof taskEntryShape>["task"][]> {
	const all = await Promise.all(ids.map((id) => runtime.tasks.show(id).catch(() => undefined)));
	return all.flatMap((each) => (each && each.task.status !== "done" ? [each.task] : []));
}

/** @throws OperatorError `OPERATOR_ARGS` */
function startOf(skill: string | undefined, input: unknown, prompt: string | undefined): TaskStart | undefined {
	const wrong = (why: string) => new OperatorError("OPERATOR_ARGS", `task add: ${why}; nothing was made`, {});
	if (skill !== undefined && prompt !== undefined) throw wrong("give a skill or a prompt, not both");
	if (skill === undefined && input !== undefined) throw wrong("an input is for a skill, and none is given");
	if (skill !== undefined) return { skill, ...(input !== undefined && { input }) };
	return prompt === undefined ? undefined : { prompt };
}

export const taskAssign = workVerb({
	name: "task assign",
	summary: "give a task to a session; rewinds of it take that back, and never the task",
	params: { task, session },
	example: "t1 --session work",
	begun: taskEntryShape,
	isAlone: true,
	isAtOnce: true,
	begin: (runtime, { task, session }) => runtime.tasks.assign(task, session, `assign/${randomUUID()}`),
	lines: (entry) => [clean(taskLine(entry))],
});

/** `blocked` comes by itself. */
const settable = taskStatusSchema.exclude(["blocked"]);

export const taskSet = workVerb({
	name: "task set",
	summary: "say how a task goes, where it was done by hand; no rewind takes it back",
	params: {
		task,
		status: { ...word("status", "what it is from now on", settable), choices: settable.options },
		outcome: option("text", "what came of it, or why it ended", z.string().max(20_000).optional()),
	},
	example: 't1 done --outcome "sent by post"',
	begun: taskEntryShape,
	isAlone: true,
	isAtOnce: true,
	begin: (runtime, { task, status, outcome }) => runtime.tasks.setStatus(task, status, `set/${randomUUID()}`, outcome),
	lines: (entry) => [clean(taskLine(entry))],
});
