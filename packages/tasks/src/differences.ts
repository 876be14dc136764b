/** What is not with a task as the sessions that are bound to it know it: found out without asking anybody, recorded, then told. */
import type { Draft } from "@reyn/wal";
import { type Binding, isOfTask, type TasksOf } from "./bindings.ts";
import { type TaskRole, taskSeen, taskUnbound } from "./records.ts";
import { isOver, type Task } from "./task.ts";

/** What a session has to learn of a task. */
export interface Difference {
	readonly scope: TasksOf["scope"];
	readonly task: string;
	/** All that the session is to it. */
	readonly bindings: readonly [Binding, ...Binding[]];
	/** Undefined: it is gone. */
	readonly now: Pick<Task, "title" | "status"> | undefined;
	/** A move has brought the binding back, or what was known of it. */
	readonly isAgain: boolean;
}

/**
 * @param now the tasks as they are; undefined for what is gone. One that is not in it was not read, and does not differ
 * @param before the bindings before a move. Absent: there was none
 */
export function differences(
	bound: readonly Binding[],
	now: ReadonlyMap<string, (Pick<Task, "title" | "status"> & Partial<Pick<Task, "createdAt">>) | undefined>,
	before?: readonly Binding[],
): readonly Difference[] {
	const isAgain = (binding: Binding): boolean => {
		const then = before?.find((each) => each.task === binding.task && each.role === binding.role);
		return before !== undefined && (then === undefined || !isSession(then, binding) || then.status !== binding.status);
	};
	const all = new Map<string, Difference>();
	for (const binding of bound) {
		const { task, scope, title, status, role } = binding;
		if (!now.has(task)) continue;
		const found = now.get(task);
		const is = found && isOfTask(binding, { id: task, ...found }) ? found : undefined;
		const isBack = role === "assignee" && isAgain(binding);
		if (is && is.title === title && is.status === status && !isBack) continue;
		const key = `${scope.agent}/${scope.session} ${is ? "" : "gone "}${task}`;
		const known = all.get(key);
		all.set(key, {
			...{ scope, task, now: is },
			bindings: known ? [...known.bindings, binding] : [binding],
			isAgain: isBack || known?.isAgain === true,
		});
	}
	return [...all.values()];
}

/** Here, or for a task that is worked on here. */
const forWhom = (bindings: Difference["bindings"]): string =>
	bindings.flatMap(({ holder }) => ("task" in holder ? [`by ${holder.task}`] : [])).at(0) ?? "here";

const isSession = (a: Binding, b: Binding): boolean =>
	a.scope.agent === b.scope.agent && a.scope.session === b.scope.session;

/** The records of a difference; the first of them has what the conversation is told. */
export function recordsOf(difference: Difference): readonly Draft[] {
	const { task, bindings, now } = difference;
	const tell = differenceText(difference);
	if (now) return [taskSeen({ task, title: now.title, status: now.status, tell })];
	return bindings.map(({ role, holder }, at) =>
		taskUnbound({ task, role, holder, why: "gone", ...(at === 0 && { tell }) }),
	);
}

/** What the conversation is told: `t12 "Write it down" is yours again, and is done since.` */
export function differenceText({ task, bindings, now, isAgain }: Difference): string {
	const [{ title, status }] = bindings;
	const has = (role: TaskRole): boolean => bindings.some((each) => each.role === role);
	const name = `${task} "${title}"`;
	const whose = has("assignee") ? "" : `, which was asked for ${forWhom(bindings)},`;
	if (!now) return `${name}${whose} is not there any more; nothing is bound to it now.`;
	const renamed = now.title === title ? "" : ` It is called "${now.title}" now.`;
	if (isAgain) {
		const since = now.status === status ? `; it is ${now.status}` : `, and is ${now.status} since`;
		return `${name} is yours again${since}.${renamed}`;
	}
	if (now.status === status) return `${name}${whose} is called "${now.title}" now.`;
	const was = isOver({ status }) ? `; it was ${status}` : "";
	return `${name}${whose} is ${now.status} now${was}.${renamed}`;
}
