/** What is said of tasks in a move, where they go along and where they stay. */
import { expect, test } from "vitest";
import { radiusLines } from "../src/lines/blast-radius.ts";
import { sidesOf } from "../src/lines/sides.ts";
import { tasksAlongLines, tasksAsOf, tasksDoneLines } from "../src/tasks-along.ts";

const extent = { records: 1, turns: 1, sessions: [], plans: [], runs: [], scripts: [] };
const held = { all: 0, unfinished: 0 };
const holding = { sessions: 1, messages: 1, questions: 0, plans: held, runs: held, scripts: held, others: held };
const radius = {
	...{ leaves: extent, returns: { ...extent, records: 0 }, stays: { ...extent, records: 0 } },
	...{ cancels: {}, relaunches: {}, pauses: {}, interrupts: [], config: [], grants: 0, tasks: ["t1", "t2"] },
	...{ withdraws: { questions: [], messages: [] }, before: holding, after: holding },
} as unknown as Parameters<typeof radiusLines>[0];

test("each preview says that they go back, to when, and what that takes with it; else that they stay", () => {
	const along =
		"tasks go back too, all of them, to what they were at #12: what anybody has written in them since goes, until this move is taken back";
	const stay = "does not take back: tasks (t1, t2), which stay as they are now, whoever has them then";
	expect(radiusLines(radius, 12, { to: 9 }).slice(1)).toEqual([along]);
	expect(radiusLines(radius, 12).slice(1)).toEqual([stay]);
	expect(tasksAlongLines({ to: 14 }, 12)[0]).toContain("at #14, since nothing older is kept of them: what anybody");
	expect(tasksAlongLines({}, 12)).toEqual([
		"tasks would go back too, and nothing is kept of them yet: they stay as they are",
	]);
	const rowOf = (to?: number) => sidesOf(radius, undefined, to).find(({ name }) => name === "tasks");
	expect([rowOf(tasksAsOf({ to: 9 }, 12)), rowOf(tasksAsOf({}, 12)), rowOf()]).toEqual([
		{ name: "tasks", before: "as they are", after: "as they were at #12" },
		...[undefined, undefined],
	]);
});

test("what is done says where they are, and how to have them forward again", () => {
	expect(tasksDoneLines({ to: 9 }, 12, "redo")).toEqual(["tasks are what they were at #12; redo brings them forward"]);
	expect(tasksDoneLines({}, 12)).toEqual(["tasks stay as they are: nothing is kept of them"]);
	expect(tasksDoneLines(undefined, 12)).toEqual([]);
});
