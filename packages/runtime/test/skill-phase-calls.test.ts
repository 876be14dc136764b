/** What phases call in a runtime: children, which a next process adopts or ends as is said of their purity; and tasks, each written once. */
import { defineSkill, done, type Skill, skillRuns, skillRunsOf } from "@reyn/skill-resume";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import type { Runtime, RuntimeOptions } from "../src/index.ts";
import { everyCut } from "./cut.ts";
import { type MemoryTasks, memoryTasks } from "./memory-tasks.ts";
import { emptyArea, makeProject, open, type Project, scripted, until } from "./project.ts";

let project: Project;
beforeEach(async () => {
	project = await makeProject();
});
afterEach(() => project[Symbol.asyncDispose]());

const said = (runtime: Runtime): readonly string[] =>
	runtime
		.conversation()
		.items.toArray()
		.flatMap((item) => ("text" in item ? [item.text] : []));

describe("a child of a phase that a former process has left open", () => {
	/** What it has noted in both lives, and the children in the end. */
	async function twoLives(purity: Skill["purity"] | undefined, options: Partial<RuntimeOptions>) {
		const noted: string[] = [];
		const skills = (hangs: boolean): readonly Skill[] => [
			defineSkill({
				...{ name: "outer", description: "calls", input: z.unknown(), start: "a" },
				phases: { a: async ({ skill }) => done(await skill("inner", {})) },
			}) as Skill,
			defineSkill({
				...{ name: "inner", description: "pays", input: z.unknown(), start: "a", ...(purity && { purity }) },
				phases: {
					a: async ({ step, signal }) => {
						await step("pay", async () => noted.push("pay"), { purity: "side_effect" });
						if (hangs) {
							noted.push("hangs");
							await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
						}
						return done("paid");
					},
				},
			}) as Skill,
		];
		const first = await open(project, { skills: skills(true), ...options });
		await first.runtime.runSkill("outer", {});
		await until(() => noted.includes("hangs"));
		await first.runtime.close();
		const { runtime } = await open(project, { skills: skills(false), ...options });
		runtime.resume();
		await runtime.idle();
		expect([said(runtime), runtime.restored().runs]).toEqual([["paid"], []]);
		const children = [...skillRunsOf(runtime.view().get(skillRuns))].flatMap(([, { parent, status }]) =>
			parent === undefined ? [] : [status],
		);
		await runtime.close();
		return { paid: noted.filter((each) => each === "pay").length, children };
	}

	const adopted = { paid: 1, children: ["completed"] };
	const anew = { paid: 2, children: ["discarded", "completed"] };

	test.each([
		["with effects is adopted", "side_effect", {}, adopted],
		["that says nothing is adopted", undefined, {}, adopted],
		["that is pure is ended, and another one runs", "pure", {}, anew],
		["that is pure is adopted where that is said", "pure", { pure: "adopt" }, adopted],
		["with effects is ended where that is said", "side_effect", { side_effect: "cancel" }, anew],
		["is as is said of its own purity", "external", { side_effect: "cancel" }, adopted],
	] as const)("%s", async (_, purity, childPurity, expected) => {
		expect(await twoLives(purity, { childPurity })).toEqual(expected);
	});
});

describe("tasks in a phase", () => {
	let backend: MemoryTasks;
	beforeEach(() => {
		backend = memoryTasks();
	});

	const skill = (phase: Skill["phases"][string]): Skill =>
		defineSkill({ name: "note", description: "notes", input: z.unknown(), start: "a", phases: { a: phase } }) as Skill;

	/** The tools that a phase calls, one after the other: that it is made, taken, worked on, looked at, and done. */
	const calls = [
		["task_create", { title: "write it down", take: true }],
		["task_comment", { id: "t1", text: "half of it" }],
		["task_update", { id: "t1", status: "done", outcome: "42" }],
		["task_get", { id: "t1" }],
		["task_list", {}],
	] as const;

	type Calls = readonly (typeof calls)[number][];
	const ways: Readonly<Record<string, (made: Calls) => Skill["phases"][string]>> = {
		"ctx.tool":
			(made) =>
			async ({ tool }) => {
				let last: unknown;
				for (const [name, args] of made) last = await tool(name, args);
				return done(last);
			},
		"a model": (made) => ({ instructions: "Note it.", tools: made.map(([name]) => name) }),
	};

	const model = (made: Calls = calls) =>
		scripted(({ messages }) => {
			const answers = messages.filter(({ role }) => role === "tool");
			const [name, args] = made[answers.length] ?? [];
			return name ? [{ name, args: args as Record<string, unknown> }] : (answers.at(-1)?.text ?? "");
		});

	const optionsOf = (way: string, made: Calls = calls) => ({
		...{ model: model(made), tools: [], tasks: { backend } },
		skills: [skill(ways[way]?.(made) as Skill["phases"][string])],
	});

	const each = Object.keys(ways).flatMap((way) => [1, 2, 3].map((writes) => [writes, way] as const));

	test.each(each)(
		"%d of them by %s are written once each, wherever it is killed behind the last",
		async (writes, way) => {
			const made = [...calls.slice(0, writes), ...calls.slice(3)];
			const { runtime } = await open(project, optionsOf(way, made));
			await runtime.runSkill("note", {});
			await runtime.idle();
			const whole = async () => [
				(await backend.list()).map(({ id, title, status, outcome = "" }) => [id, title, status, outcome].join()),
				(await backend.comments("t1")).map(({ text }) => text),
			];
			const [task, comments] = [writes > 2 ? "done,42" : "ready,", writes > 1 ? ["half of it"] : []];
			const once = [[`t1,write it down,${task}`], comments];
			const listed = `t1  ${writes > 2 ? "done" : "ready"}  write it down  (default/main)`;
			const roles = (of: Runtime) => of.tasks.bindings().map(({ role, holder }) => [role, holder]);
			const bound = ["requester", "assignee"].map((role) => [role, { agent: "default", session: "main" }]);
			expect([await whole(), said(runtime), roles(runtime)]).toEqual([once, [listed], bound]);
			await runtime.close();
			let cuts = 0;
			await everyCut(project, async (state, kinds) => {
				// Its last write is in doubt, or was told; what is over was said.
				const isOver = kinds.includes("assistant_message");
				if (kinds.filter((kind) => kind === "step_started").length < writes || isOver) return;
				await emptyArea(state, "snapshots");
				const again = await open({ ...project, state }, optionsOf(way, made));
				again.runtime.resume();
				await again.runtime.idle();
				const found = [await whole(), said(again.runtime).at(-1), roles(again.runtime)];
				expect(found, kinds.at(-1)).toEqual([once, listed, bound]);
				await again.runtime.close();
				cuts++;
			});
			expect(cuts).toBeGreaterThan(4);
		},
	);

	test.each(Object.keys(ways))(
		"called by %s are asked about as in a turn, and written after a yes alone",
		async (way) => {
			const { runtime } = await open(project, { ...optionsOf(way), permissions: {} });
			const run = await runtime.runSkill("note", {});
			for (let asked = 0; asked < 3; asked++) {
				await until(() => runtime.questions().length === 1);
				const written = [await backend.list(), asked > 0 ? await backend.comments("t1") : []].map(
					({ length }) => length,
				);
				expect(written).toEqual([Math.min(asked, 1), asked > 1 ? 1 : 0]);
				expect(runtime.questions()[0]?.from).toEqual({ kind: "skill", id: run });
				await runtime.answer(runtime.questions()[0]?.seq ?? 0, "once", "ada");
			}
			await runtime.idle();
			expect([said(runtime), backend.now("t1")?.status]).toEqual([["t1  done  write it down  (default/main)"], "done"]);
			await runtime.close();
		},
	);
});
