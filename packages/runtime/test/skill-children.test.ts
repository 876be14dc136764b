/** A step of a plan runs a skill as its child: paid once wherever it is killed, one child a call, and none is left over. */
import { join } from "node:path";
import { childrenBelow, SkillError, skillRunIn, skillRuns, skillRunsOf } from "@reyn/skill-resume";
import { systemTimers } from "@reyn/wal";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { isDeep, pointsOf } from "../../../tests/sample.ts";
import { blastRadius, mainSession, type Runtime } from "../src/index.ts";
import { ANSWER, CALLS, type Ledger, life, model, paidIn, recordsOf, said, saying, toEnd } from "./child-plans.ts";
import { copyState, cutAfter, eachCut, keepLines, kindsIn, linesOf, removeState } from "./cut.ts";
import { emptyArea, makeProject, type Project, scripted, until } from "./project.ts";

let project: Project;
beforeEach(async () => {
	project = await makeProject();
});
afterEach(() => project[Symbol.asyncDispose]());

const childrenIn = (runtime: Runtime) =>
	childrenBelow(runtime.view().get(skillRuns), "plan").map(([run, { status }]) => `${run} ${status}`);

const plan = (runtime: Runtime): string => runtime.plans()[0]?.plan ?? "";

test("a skill that a step calls runs to its end in it, says nothing, and its output is the answer of the call", async () => {
	const { runtime, model, ledger, shown, events } = await life(project);
	await runtime.prompt("plan!");
	await toEnd(runtime);
	expect([said(runtime), shown.length, model.asked.length]).toEqual([[ANSWER], 1, CALLS]);
	expect([...ledger.values()]).toEqual([1, 1, 1]);
	expect(childrenIn(runtime)).toEqual([expect.stringMatching(/^c\d+ completed$/)]);
	// What its model calls cost is of the step.
	expect(runtime.plans()).toMatchObject([{ calls: CALLS - 1, tokens: 11 * (CALLS - 1) }]);
	const [{ children } = { children: [] }] = await runtime.planSteps(plan(runtime));
	expect(children).toMatchObject([{ skill: "audit", status: "completed", attempt: 0, tokens: 22 }]);
	const asks = events.flatMap((event) => (event.type === "question" ? [[event.question, event.from.kind]] : []));
	expect(asks).toEqual([
		["skill audit?", "plan"],
		["sign it?", "plan"],
	]);
	// Nothing of it stays but that it was.
	expect(JSON.stringify(runtime.view().get(skillRuns))).not.toContain("seen");
	await runtime.close();
});

test("what a child has cost counts for the tokens of its step from the next answer on, also in the process after", async () => {
	const held = Promise.withResolvers<void>();
	const script = scripted(async (request) => {
		if (request.messages.at(-1)?.role === "tool") await held.promise;
		return saying()(request);
	});
	// The first answer takes 11, the child 22; then there is nothing more to ask for.
	const options = { permissions: { mode: "all" as const }, limits: { stepTokens: 30 } };
	const { runtime, ledger } = await life(project, new Map(), { ...options, model: script });
	await runtime.prompt("plan!");
	await until(() => script.asked.some(({ messages }) => messages.at(-1)?.role === "tool"));
	await runtime.close();
	const { runtime: next } = await life(project, ledger, options);
	next.resume();
	await next.idle();
	expect([next.questions(), said(next)]).toEqual([[], [ANSWER]]);
	await next.close();
});

test("an input that does not fit is refused, with what is wrong, and nothing is begun", async () => {
	const asked = model({ topic: "" });
	const { runtime } = await life(project, new Map(), { model: asked });
	await runtime.prompt("plan!");
	await toEnd(runtime);
	const told = asked.asked.flatMap(({ messages }) => messages.filter(({ role }) => role === "tool"));
	expect(told.map(({ text }) => text)).toContainEqual(
		expect.stringMatching(/^ERROR: the input of audit does not fit: topic: /),
	);
	expect(childrenIn(runtime)).toEqual([]);
	await runtime.close();
});

test("steps are offered skills with their input, and neither a question nor a plan", async () => {
	const { runtime, model } = await life(project, new Map(), { askUser: true });
	await runtime.prompt("plan!");
	await toEnd(runtime);
	const [turn, step] = model.asked;
	const [ofTurn, ofStep] = [turn, step].map((each) => each?.tools.map(({ name }) => name));
	expect([ofTurn, ofStep]).toEqual([
		["pay", "ask_user", "plan", "skill_audit"],
		["pay", "skill_audit"],
	]);
	expect(turn?.tools.find(({ name }) => name === "plan")?.description).toContain("A step may use: pay, skill_audit.");
	expect(step?.tools.at(-1)).toMatchObject({
		description: "audits a topic",
		parameters: { type: "object", properties: { topic: { type: "string" } }, required: ["topic"] },
	});
	await runtime.close();
});

describe("killed", () => {
	/** What a life over the beginning of a log comes to: it pays what is not recorded, and makes each effect once. */
	async function goneOn(from: string, name: string, kept: number, happened: boolean): Promise<string> {
		const lines = (await linesOf(from)).slice(1, kept).map((line) => JSON.parse(line));
		const state = await copyState(from, join(project.root, name));
		await keepLines(state, kept);
		await emptyArea(state, "snapshots");
		const ledger: Ledger = new Map();
		for (const key of paidIn(lines, happened)) ledger.set(key, 1);
		const recorded = lines.filter(({ kind, data }) => kind === "step_completed" && data.kind === "model").length;
		const { runtime, model, ...next } = await life({ ...project, state }, ledger);
		runtime.resume();
		await runtime.idle();
		if (!lines.some(({ kind }) => kind === "user_prompt")) await runtime.prompt("plan!");
		await toEnd(runtime);
		const records = await recordsOf(runtime);
		const calls = records.filter(
			({ kind, data }) => kind === "step_completed" && (data as { name?: string }).name === "skill_audit",
		);
		const begun = records.filter(({ kind }) => kind === "skill_run_started");
		expect([name, said(runtime), model.asked.length + recorded]).toEqual([name, [ANSWER], CALLS]);
		expect([name, [...ledger.values()], calls.length, begun.length]).toEqual([name, [1, 1, 1], 1, 1]);
		expect([name, childrenIn(runtime)]).toEqual([name, [expect.stringMatching(/ completed$/)]]);
		expect(runtime.restored()).toMatchObject({ plans: [], runs: [], undelivered: [] });
		expect(next.shown.length).toBeLessThanOrEqual(1);
		await runtime.close();
		return state;
	}

	test("after any record, and again after any record of the resume, it comes to the same, pays nothing twice and begins one child", async () => {
		const { runtime } = await life(project);
		await runtime.prompt("plan!");
		await toEnd(runtime);
		await runtime.close();
		const { length } = await linesOf(project.state);
		const kinds = await kindsIn(project);
		// Where a child has just begun, and where its call has no answer of it yet.
		const always = ["skill_run_started", "skill_run_completed"].map((kind) => kinds.indexOf(kind) + 2);
		for (const kept of new Set([...always, ...pointsOf(2, length, 7)])) {
			for (const happened of [false, true]) {
				const state = await goneOn(project.state, `cut-${kept}-${happened}`, kept, happened);
				const again = await linesOf(state);
				// Of the second deaths a part: all of them are some thousands of lives.
				const every = isDeep ? 17 : 23;
				if (happened)
					for (let second = kept + 1 + (kept % every); second < again.length; second += every)
						await removeState(await goneOn(state, `cut-${kept}-${second}`, second, true));
				await removeState(state);
			}
		}
	});
});

/** Never over, unless it is cut. */
const held = (signal: AbortSignal): Promise<never> =>
	new Promise((_, reject) => {
		if (signal.aborted) reject(signal.reason);
		signal.addEventListener("abort", () => reject(signal.reason), { once: true });
	});

/** A plan whose child has got so far that it hangs, in its first phase, behind its model call. */
async function hanging(more: Parameters<typeof life>[2] = {}) {
	const opened = await life(project, new Map(), { look: held, ...more });
	await opened.runtime.prompt("plan!");
	await until(() => opened.runtime.questions().length === 1 || opened.model.asked.length === 3);
	const [question] = opened.runtime.questions();
	if (question) await opened.runtime.answer(question.seq, "once", "ada");
	await until(() => opened.model.asked.length === 3);
	await until(() => childrenIn(opened.runtime).length === 1);
	return opened;
}

/** The records between the first of a kind and a later one, without what no child is about. */
async function around(runtime: Runtime, kind: string): Promise<readonly string[]> {
	const kinds = (await recordsOf(runtime)).map((record) => record.kind);
	return kinds.slice(kinds.indexOf(kind), kinds.indexOf(kind) + 3);
}

test("a child whose skill does not load at a start waits with its step, and goes on when it loads again", async () => {
	const first = await hanging();
	await first.runtime.close();
	const path = "/skills/audit.ts";
	const error = new SkillError("SKILL_LOAD", `${path}:3: it throws when it is loaded: no`);
	const broken = { skills: [], findSkills: async () => ({ skills: [], problems: [{ name: "audit", path, error }] }) };
	const second = await life(project, new Map(), broken);
	second.runtime.resume();
	await second.runtime.idle();
	expect(childrenIn(second.runtime)).toEqual([expect.stringMatching(/^c\d+ running$/)]);
	const why = expect.stringContaining("waits for the tool skill_audit, which is not here now");
	expect(second.events).toContainEqual(expect.objectContaining({ type: "plan_end", outcome: "stopped", reason: why }));
	expect([second.model.asked.length, second.runtime.plans()]).toMatchObject([0, [{ status: "running", failed: 0 }]]);
	await second.runtime.close();
	const third = await life(project);
	third.runtime.resume();
	await toEnd(third.runtime);
	expect([said(third.runtime), third.model.asked.length]).toEqual([[ANSWER], 3]);
	expect(childrenIn(third.runtime)).toEqual([expect.stringMatching(/^c\d+ completed$/)]);
	await third.runtime.close();
});

describe("a child that is open is ended by a record", () => {
	test("with a discard of its plan, which gc then passes; an undo takes both back, and the same child goes on", async () => {
		const { runtime } = await hanging();
		await runtime.discardPlan(plan(runtime));
		expect(childrenIn(runtime)).toEqual([expect.stringMatching(/ discarded$/)]);
		expect(await around(runtime, "plan_aborted")).toEqual(["plan_aborted", "skill_run_discarded", "lane_closed"]);
		expect(runtime.restored()).toMatchObject({ plans: [], runs: [] });
		await runtime.undo("ada");
		expect(childrenIn(runtime)).toEqual([expect.stringMatching(/ running$/)]);
		await runtime.close();
		const next = await life(project);
		await next.runtime.resumePlan(plan(next.runtime));
		await toEnd(next.runtime);
		expect([said(next.runtime).at(-1), next.model.asked.length]).toEqual([ANSWER, 3]);
		expect(childrenIn(next.runtime)).toEqual([expect.stringMatching(/ completed$/)]);
		await next.runtime.close();
	});

	test("with a discard, wherever a crash cuts that", async () => {
		const { runtime } = await hanging();
		await runtime.discardPlan(plan(runtime));
		await runtime.close();
		const kinds = await kindsIn(project);
		for (let seq = kinds.indexOf("plan_aborted") + 1; seq <= kinds.length; seq++) {
			const next = await life({ ...project, state: await cutAfter(project, seq) });
			next.runtime.resume();
			await next.runtime.idle();
			expect(next.runtime.restored()).toMatchObject({ plans: [], runs: [], undelivered: [] });
			expect(childrenIn(next.runtime)).toEqual([expect.stringMatching(/ discarded$/)]);
			expect(said(next.runtime)).toEqual([expect.stringMatching(/^Plan p\d+ was discarded/)]);
			await next.runtime.close();
		}
	});

	test("with a new attempt of its step, wherever a crash cuts that", async () => {
		const { runtime } = await hanging();
		await runtime.resumePlan(plan(runtime), "a");
		await runtime.close();
		const from = (await kindsIn(project)).indexOf("plan_steps_reset") + 1;
		for (const seq of [from, from + 1, from + 2]) {
			const next = await life({ ...project, state: await cutAfter(project, seq) });
			next.runtime.resume();
			await toEnd(next.runtime);
			expect([said(next.runtime), next.runtime.restored().runs]).toEqual([[ANSWER], []]);
			expect(childrenIn(next.runtime)).toEqual([
				...[expect.stringMatching(/ discarded$/), expect.stringMatching(/ completed$/)],
			]);
			await next.runtime.close();
		}
	});

	test("with a new attempt of its step, which runs another; an undo of that takes the first up again", async () => {
		const { runtime } = await hanging();
		const [first] = childrenIn(runtime);
		await runtime.close();
		const next = await life(project);
		await next.runtime.resumePlan(plan(next.runtime), "a");
		expect(await around(next.runtime, "plan_steps_reset")).toEqual([
			...["plan_steps_reset", "skill_run_discarded", "lane_closed"],
		]);
		await toEnd(next.runtime);
		expect(said(next.runtime)).toEqual([ANSWER]);
		expect(childrenIn(next.runtime)).toEqual([
			first?.replace("running", "discarded"),
			expect.stringMatching(/^c\d+ completed$/),
		]);
		const [{ children } = { children: [] }] = await next.runtime.planSteps(plan(next.runtime));
		expect(children.map(({ attempt, status }) => `${attempt} ${status}`)).toEqual(["0 discarded", "1 completed"]);
		await next.runtime.undo("ada");
		expect(childrenIn(next.runtime)).toEqual([first]);
		await next.runtime.close();
	});

	test("with the failure of its step", async () => {
		const { runtime } = await hanging({
			unanswered: "deny",
			limits: { stepSeconds: 0.2 },
			timers: systemTimers,
			permissions: { mode: "all" },
		});
		await runtime.idle();
		expect(await around(runtime, "plan_step_failed")).toEqual([
			...["plan_step_failed", "skill_run_discarded", "lane_closed"],
		]);
		expect(runtime.plans()).toMatchObject([{ status: "completed", failed: 1 }]);
		expect(childrenIn(runtime)).toEqual([expect.stringMatching(/ discarded$/)]);
		await runtime.close();
	});

	test("where plan_resume says discard", async () => {
		const { runtime } = await hanging();
		await runtime.close();
		const next = await life(project, new Map(), { planResume: "discard" });
		next.runtime.resume();
		await next.runtime.idle();
		expect(next.runtime.restored()).toMatchObject({ plans: [], runs: [] });
		expect(childrenIn(next.runtime)).toEqual([expect.stringMatching(/ discarded$/)]);
		await next.runtime.close();
	});
});

test("a child that throws is ended, and its call answers with the error, wherever it is killed from then on", async () => {
	const last = () => Promise.reject(new Error("no ink"));
	const { runtime } = await life(project, new Map(), { last });
	await runtime.prompt("plan!");
	await toEnd(runtime);
	const answer = "the answer: ERROR: audit has failed: no ink; paid";
	expect([said(runtime), childrenIn(runtime)]).toEqual([[answer], [expect.stringMatching(/ discarded$/)]]);
	await runtime.close();
	const from = (await kindsIn(project)).indexOf("lane_failed") + 1;
	await eachCut(project, from, async (state) => {
		const next = await life({ ...project, state }, new Map(), { last });
		next.runtime.resume();
		await toEnd(next.runtime);
		expect([said(next.runtime), childrenIn(next.runtime)]).toEqual([
			[answer],
			[expect.stringMatching(/^c\d+ discarded$/)],
		]);
		await next.runtime.close();
	});
});

test("a child is no run that is discarded or resumed by itself, and is named with its step", async () => {
	const { runtime } = await hanging();
	const [{ run } = { run: "" }] = runtime.restored().runs;
	expect(runtime.restored().runs).toMatchObject([
		{
			skill: "audit",
			phase: "look",
			status: "running",
			parent: { kind: "plan", id: plan(runtime), step: "a", attempt: 0 },
		},
	]);
	expect(() => runtime.findSkillRun(run)).toThrow(
		/^skill run "c\d+" goes on and ends with plan p\d+, and is not in flight by itself/,
	);
	await expect(runtime.discardSkillRun(run)).rejects.toMatchObject({ code: "SKILL_UNKNOWN_RUN" });
	await expect(runtime.resumeSkillRun(run)).rejects.toMatchObject({ code: "SKILL_UNKNOWN_RUN" });
	const interrupted = async (of: Runtime) => (await of.planSteps(plan(of))).map(({ isInterrupted }) => isInterrupted);
	expect(await interrupted(runtime)).toEqual([undefined, undefined]);
	await runtime.close();
	const next = await life(project);
	expect(await interrupted(next.runtime)).toEqual([true, undefined]);
	await next.runtime.close();
});

describe("a child that a former process left open", () => {
	/** Goes on behind the first model call of the child. @returns the children, and what was paid in vain */
	async function goneOn(more: Parameters<typeof life>[2]) {
		const { runtime } = await life(project, new Map(), more);
		await runtime.prompt("plan!");
		await toEnd(runtime);
		await runtime.close();
		const kinds = await kindsIn(project);
		const at = kinds.indexOf("skill_phase_entered") + 2;
		expect(kinds[at - 1]).toBe("step_completed");
		const state = await cutAfter(project, at);
		const next = await life({ ...project, state }, new Map(), more);
		next.runtime.resume();
		await toEnd(next.runtime);
		expect(said(next.runtime)).toEqual([ANSWER]);
		const found = {
			children: childrenIn(next.runtime).map((each) => each.replace(/^c\d+/, "c")),
			again: next.model.asked.length - 3,
		};
		await next.runtime.close();
		return found;
	}

	const adopted = { children: ["c completed"], again: 0 };
	const cancelled = { children: ["c discarded", "c.2 completed"], again: 1 };
	test.each([
		["with effects goes on", {}, adopted],
		["that is pure is ended, and runs anew", { purity: "pure" }, cancelled],
		["that is pure goes on where that is said", { purity: "pure", childPurity: { pure: "adopt" } }, adopted],
		["with effects runs anew where that is said", { childPurity: { side_effect: "cancel" } }, cancelled],
		["is as is said of its own purity", { childPurity: { external: "cancel" } }, adopted],
	] as const)("%s", async (_, more, expected) => {
		expect(await goneOn(more)).toEqual(expected);
	});

	test("and that is cancelled leaves no second one, wherever it is killed", async () => {
		const { runtime } = await life(project, new Map(), { purity: "pure" });
		await runtime.prompt("plan!");
		await toEnd(runtime);
		await runtime.close();
		await eachCut(project, (await kindsIn(project)).indexOf("skill_run_started") + 1, async (state) => {
			const next = await life({ ...project, state }, new Map(), { purity: "pure" });
			next.runtime.resume();
			await toEnd(next.runtime);
			expect(said(next.runtime)).toEqual([ANSWER]);
			expect(childrenIn(next.runtime).filter((each) => !each.endsWith(" discarded"))).toEqual([
				expect.stringMatching(/ completed$/),
			]);
			await next.runtime.close();
		});
	});

	test("and that is cancelled runs anew, though the crash comes before the new one has begun", async () => {
		const { runtime } = await hanging({ purity: "pure" });
		await runtime.close();
		const next = await life(project, new Map(), { purity: "pure" });
		next.runtime.resume();
		await toEnd(next.runtime);
		await next.runtime.close();
		const state = await cutAfter(project, (await kindsIn(project)).indexOf("skill_run_discarded") + 1);
		const last = await life({ ...project, state }, new Map(), { purity: "pure" });
		last.runtime.resume();
		await toEnd(last.runtime);
		expect([said(last.runtime), last.runtime.restored().runs]).toEqual([[ANSWER], []]);
		await last.runtime.close();
	});
});

describe("a rewind", () => {
	async function finished() {
		const { runtime } = await life(project);
		await runtime.prompt("plan!");
		await toEnd(runtime);
		await runtime.close();
		const kinds = await kindsIn(project);
		return { kinds, start: kinds.indexOf("skill_run_started") + 1, end: kinds.indexOf("skill_run_completed") + 1 };
	}

	test.each(["of all", "of the plan alone"])(
		"%s into the child goes on from there, and pays what was done before for nothing",
		async (of) => {
			const { start, end } = await finished();
			for (const seq of pointsOf(start, end, 3)) {
				const state = await copyState(project.state, join(project.root, `rewound-${seq}`));
				const ledger: Ledger = new Map();
				const { runtime, model } = await life({ ...project, state }, ledger);
				const id = plan(runtime);
				const before = runtime.view().hash();
				const scope = of === "of all" ? {} : { ...mainSession, run: id };
				const recorded = (await recordsOf(runtime)).filter(
					({ kind, seq: at, data }) =>
						at <= seq && kind === "step_completed" && (data as { kind?: string }).kind === "model",
				).length;
				await runtime.checkout(seq, "test", scope);
				await runtime.resumePlan(id);
				await toEnd(runtime);
				expect([seq, said(runtime).at(-1)]).toEqual([seq, ANSWER]);
				// What came of a call of an effect is known from the other line.
				expect([seq, model.asked.length <= CALLS - recorded]).toEqual([seq, true]);
				expect([seq, Math.max(0, ...ledger.values())]).toEqual([seq, Math.min(1, ledger.size)]);
				expect([seq, childrenIn(runtime).filter((each) => each.endsWith("running"))]).toEqual([seq, []]);
				expect([seq, childrenIn(runtime).length, runtime.restored().runs]).toEqual([seq, 1, []]);
				await runtime.checkout((await kindsIn(project)).length, "test", scope);
				await runtime.idle();
				if (of === "of all") expect([seq, runtime.view().hash()]).toEqual([seq, before]);
				await runtime.close();
				await removeState(state);
			}
		},
	);

	test("and its undo bring back exactly what was there; its preview names the child that goes", async () => {
		const { runtime } = await hanging();
		const [run] = runtime.restored().runs;
		const { started } = skillRunIn(runtime.view().get(skillRuns), run?.run ?? "") ?? { started: 0 };
		const radius = await blastRadius(runtime, { target: started - 1, scope: {} });
		expect([radius.cancels.runs, radius.relaunches.plans]).toEqual([[run?.run], [plan(runtime)]]);
		await runtime.pausePlan(plan(runtime));
		const hash = runtime.view().hash();
		await runtime.checkout(started - 1, "test");
		expect([childrenIn(runtime), runtime.restored().runs]).toEqual([[], []]);
		await runtime.undo("test");
		expect([runtime.view().hash(), runtime.restored().runs]).toEqual([hash, [run]]);
		await runtime.redo("test");
		expect(childrenIn(runtime)).toEqual([]);
		await runtime.undo("test");
		await runtime.close();
	});
});

test("gc keeps what an open child needs, and what is known of one that is over", async () => {
	const { runtime } = await hanging();
	await runtime.close();
	const next = await life(project);
	for (const text of ["one", "two", "three"]) await next.runtime.prompt(text);
	await next.runtime.idle();
	const { retainedFrom } = await next.runtime.gc({ keepDays: 0, keepCheckpoints: 1 });
	const [started] = skillRunsOf(next.runtime.view().get(skillRuns)).map(([, run]) => run.started);
	expect(retainedFrom).toBeLessThanOrEqual(started ?? 0);
	next.runtime.resume();
	await toEnd(next.runtime);
	expect(said(next.runtime)).toContain(ANSWER);
	const cut = await next.runtime.gc({ keepDays: 0, keepCheckpoints: 1 });
	expect(cut.retainedFrom).toBeGreaterThan(started ?? Number.POSITIVE_INFINITY);
	await next.runtime.close();
	const last = await life(project);
	expect(childrenIn(last.runtime)[0]).toMatch(/ completed$/);
	await last.runtime.close();
});
