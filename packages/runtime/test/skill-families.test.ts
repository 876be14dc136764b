/** Phases that ask people and have children: each is asked once, each call has one child, wherever the process is killed or taken back. */
import { join } from "node:path";
import { defineSkill, done, type Skill, skillRuns } from "@reyn/skill-resume";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { SEED } from "../../../tests/kit/seeded.ts";
import { pointsOf } from "../../../tests/sample.ts";
import { mainSession, type Runtime } from "../src/index.ts";
import { paidIn, recordsOf } from "./child-plans.ts";
import { copyState, eachCut, keepLines, linesOf, removeState } from "./cut.ts";
import { emptyArea, makeProject, type Project, until } from "./project.ts";
import { ANSWER, CALLS, childrenIn, life, liveIn, said, toEnd } from "./skill-families.ts";

let project: Project;
beforeEach(async () => {
	project = await makeProject();
});
afterEach(() => project[Symbol.asyncDispose]());

const asksOf = (runtime: Runtime) =>
	runtime
		.questions()
		.map(({ question }) => question)
		.sort();

test("each question is one of the run, and is answered from outside; what children find is what their calls give", async () => {
	const { runtime, model, ledger, shown, events } = await life(project, new Map(), { unanswered: "wait" });
	const run = await runtime.runSkill("root", {});
	await until(() => runtime.questions().length === 4);
	expect(asksOf(runtime)).toEqual(["pay milk?", "pay tea?", "pay tea?", "what else?"]);
	for (const { from, choices, question } of runtime.questions()) {
		expect(from).toEqual({ kind: "skill", id: run });
		expect(choices).toEqual(question === "what else?" ? undefined : ["yes", "no"]);
	}
	await expect(runtime.answer(runtime.questions()[1]?.seq ?? 0, "perhaps", "ada")).rejects.toThrow('found "perhaps"');
	for (const { seq } of runtime.questions()) await runtime.answer(seq, "yes", "ada");
	await runtime.idle();
	expect([said(runtime), shown.length, model.asked.length, [...ledger.values()]]).toEqual([
		[ANSWER],
		1,
		CALLS,
		[1, 1, 1],
	]);
	expect(childrenIn(runtime).map(([, { skill, status }]) => `${skill} ${status}`)).toEqual(
		expect.arrayContaining(["middle completed", "leaf completed"]),
	);
	expect(childrenIn(runtime)).toHaveLength(5);
	const ended = events.flatMap((event) => (event.type === "skill_end" && event.parent ? [event.parent] : []));
	expect(ended).toHaveLength(5);
	for (const parent of ended) expect(parent).toEqual({ kind: "skill", id: run, step: "gather", attempt: 1 });
	expect(JSON.stringify(runtime.view().get(skillRuns))).not.toContain("milk?");
	await runtime.close();
});

test("a no ends the child that asked, and the phase that has called it may go on", async () => {
	const { runtime } = await life(project);
	await runtime.runSkill("root", {});
	await toEnd(runtime, "no");
	const failed = ["seen, leaf has failed: tea is not paid", "seen, leaf has failed: tea is not paid"];
	expect(said(runtime)).toEqual([["said: asked: no", "leaf has failed: milk is not paid", ...failed].join("; ")]);
	expect([liveIn(runtime), runtime.questions()]).toEqual([[], []]);
	await runtime.close();
});

test("a run that is discarded while its children ask ends with them and their questions, wherever a crash cuts that; an undo takes all up again", async () => {
	const { runtime, ledger, events } = await life(project, new Map(), { unanswered: "wait" });
	const run = await runtime.runSkill("root", {});
	await until(() => runtime.questions().length === 4);
	const from = runtime.wal.tip;
	const before = childrenIn(runtime);
	await runtime.discardSkillRun(run);
	expect([runtime.questions(), liveIn(runtime), runtime.restored().runs]).toEqual([[], [], []]);
	const ended = events.filter((event) => event.type === "skill_end" && event.outcome === "discarded");
	expect(ended).toHaveLength(1 + before.length);
	await runtime.undo("test");
	await until(() => runtime.questions().length === 4);
	expect(childrenIn(runtime)).toEqual(before);
	await runtime.resumeSkillRun(run);
	for (const { seq } of runtime.questions()) await runtime.answer(seq, "yes", "ada");
	await runtime.idle();
	expect([said(runtime).at(-1), [...ledger.values()], liveIn(runtime)]).toEqual([ANSWER, [1, 1, 1], []]);
	await runtime.close();
	await eachCut(project, from, async (state, kinds) => {
		const next = await life({ ...project, state }, new Map());
		next.runtime.resume();
		await next.runtime.idle();
		const isOver = kinds.includes("skill_run_discarded") && !kinds.includes("reset");
		if (isOver) expect([next.runtime.questions(), liveIn(next.runtime)], kinds.at(-1)).toEqual([[], []]);
		await next.runtime.close();
	});
});

test("a question that a child has left open is nobody's once the child is over", async () => {
	const child = defineSkill({
		...{ name: "child", description: "asks, and ends itself", input: z.unknown(), start: "a" },
		phases: {
			async a({ ask, abort, step }) {
				void ask("in vain?").catch(() => {});
				await step("wait", () => until(() => runtime.questions().length === 1), { purity: "pure" });
				return abort("enough");
			},
		},
	}) as Skill;
	const root = defineSkill({
		...{ name: "parent", description: "has a child, and asks", input: z.unknown(), start: "a" },
		phases: {
			a: async ({ skill, ask }) =>
				done([await skill("child").catch((error: Error) => error.message), await ask("and?")]),
		},
	}) as Skill;
	const { runtime } = await life(project, new Map(), { skills: [root, child], unanswered: "wait" });
	await runtime.runSkill("parent", {});
	await until(() => asksOf(runtime).includes("and?"));
	expect(asksOf(runtime)).toEqual(["and?"]);
	await runtime.answer(runtime.questions()[0]?.seq ?? 0, "yes", "ada");
	await runtime.idle();
	expect(said(runtime)).toEqual(['["child has failed: enough","yes"]']);
	await runtime.close();
});

describe("killed", () => {
	async function goneOn(name: string, kept: number, happened: boolean): Promise<void> {
		const lines = (await linesOf(project.state)).slice(1, kept).map((line) => JSON.parse(line));
		const state = await copyState(project.state, join(project.root, name));
		await keepLines(state, kept);
		await emptyArea(state, "snapshots");
		const ledger = new Map(paidIn(lines, happened).map((seq) => [seq, 1]));
		const recorded = lines.filter(({ kind, data }) => kind === "step_completed" && data.kind === "model").length;
		const next = await life({ ...project, state }, ledger);
		const { runtime } = next;
		const answered = new Set(
			lines.filter(({ kind }) => kind === "question_answered").map(({ data }) => data.question as number),
		);
		runtime.resume();
		if (!lines.some(({ kind }) => kind === "skill_run_started")) await runtime.runSkill("root", {});
		await runtime.idle();
		// An answer that is recorded is not asked for again.
		for (const { seq } of runtime.questions()) expect([name, answered.has(seq)]).toEqual([name, false]);
		await toEnd(runtime, "yes");
		const records = await recordsOf(runtime);
		const count = (kind: string): number => records.filter((each) => each.kind === kind).length;
		expect([name, said(runtime), next.model.asked.length + recorded]).toEqual([name, [ANSWER], CALLS]);
		expect([name, [...ledger.values()], count("skill_run_started"), count("question_asked")]).toEqual([
			...[name, [1, 1, 1]],
			...[6, 4],
		]);
		expect([name, liveIn(runtime), runtime.restored().runs, runtime.questions()]).toEqual([name, [], [], []]);
		await runtime.close();
		await removeState(state);
	}

	test("after any record it comes to the same: one child a call, one question a person, one payment", async () => {
		const { runtime } = await life(project);
		await runtime.runSkill("root", {});
		await toEnd(runtime, "yes");
		await runtime.close();
		const { length } = await linesOf(project.state);
		// Each is a life of a second: REYN_RUNS=1 tries them all.
		const every = Number(process.env.REYN_RUNS ?? 41);
		for (let kept = 2 + (SEED % every); kept <= length; kept += every)
			for (const happened of [false, true]) await goneOn(`cut-${kept}-${happened}`, kept, happened);
	});
});

describe("a rewind", () => {
	test.each(["of all", "of the run alone"])("%s takes the children along, and goes on from there", async (of) => {
		const { runtime, ledger } = await life(project);
		const run = await runtime.runSkill("root", {});
		await runtime.idle();
		const asking = runtime.wal.tip;
		const hash = runtime.view().hash();
		const before = childrenIn(runtime);
		await toEnd(runtime, "yes");
		const records = await recordsOf(runtime);
		const over = runtime.view().hash();
		const scope = of === "of all" ? {} : { ...mainSession, run };
		const entered = records.find(({ kind }) => kind === "skill_phase_entered")?.seq ?? 0;
		const seqs = pointsOf(entered, asking, 4, 2);
		for (const seq of seqs) {
			await runtime.checkout(seq, "test", scope);
			expect([seq, childrenIn(runtime).length]).toEqual([
				seq,
				records.filter((each) => each.kind === "skill_run_started" && each.seq <= seq).length - 1,
			]);
			await runtime.resumeSkillRun(run);
			await toEnd(runtime, "yes");
			expect([seq, said(runtime).at(-1)]).toEqual([seq, ANSWER]);
			expect([seq, Math.max(...ledger.values())]).toEqual([seq, 1]);
			expect([seq, liveIn(runtime), runtime.questions(), runtime.restored().runs]).toEqual([seq, [], [], []]);
		}
		// What came of a call of an effect is known from the other line; what had not begun is paid anew.
		expect(ledger.size).toBeGreaterThan(3);
		await runtime.checkout(asking, "test", scope);
		expect(childrenIn(runtime).map(([id]) => id)).toEqual(before.map(([id]) => id));
		await runtime.undo("test");
		await runtime.redo("test");
		await runtime.undo("test");
		await runtime.checkout(records.length, "test", scope);
		await runtime.idle();
		if (of === "of all") expect([runtime.view().hash(), hash === over]).toEqual([over, false]);
		await runtime.close();
	});
});
