/** A budget's no inside a child: the child is kept with the work around it, wherever the process dies, and what goes on is that child. */
import { join } from "node:path";
import { defineSkill, done, isLive, type Skill, skillRuns, skillRunsOf } from "@reyn/skill-resume";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { pointsOf } from "../../../tests/sample.ts";
import type { BudgetOptions, Runtime } from "../src/index.ts";
import { ANSWER, audit, type Ledger, life, paidIn, recordsOf, said, toEnd } from "./child-plans.ts";
import { copyState, eachCut, kindsIn, linesOf, removeState } from "./cut.ts";
import { emptyArea, makeProject, type Project } from "./project.ts";

let project: Project;
beforeEach(async () => {
	project = await makeProject();
});
afterEach(() => project[Symbol.asyncDispose]());

const around = defineSkill({
	...{ name: "around", description: "has an audit made", input: z.unknown(), start: "only" },
	phases: { only: async ({ skill }) => done(await skill("audit", { topic: "tea" })) },
}) as Skill;

interface Parent {
	/** In tokens: the child has been answered once, and paid, when they are spent. */
	readonly budget: number;
	readonly begin: (runtime: Runtime) => Promise<unknown>;
	/** After a rewind into it. */
	readonly goOn: (runtime: Runtime) => Promise<unknown>;
	readonly answer: string;
	readonly paid: number;
	/** Of the work to its end. */
	readonly calls: number;
	/** How many runs there are, with those that are no children. */
	readonly runs: number;
}

const parents: Readonly<Record<string, Parent>> = {
	"a step of a plan": {
		...{ budget: 33, answer: ANSWER, paid: 3, calls: 6, runs: 1 },
		begin: (runtime) => runtime.prompt("plan!"),
		goOn: (runtime) => runtime.resumePlan(runtime.plans()[0]?.plan ?? ""),
	},
	"a phase": {
		...{ budget: 11, answer: "seen, signed", paid: 2, calls: 2, runs: 2 },
		begin: (runtime) => runtime.runSkill("around", {}),
		goOn: (runtime) => runtime.resumeSkillRun(runtime.restored().runs.find(({ parent }) => !parent)?.run ?? ""),
	},
};

const opened = (at: Project, ledger: Ledger, session: BudgetOptions["session"]) =>
	life(at, ledger, {
		...{ skills: [around, audit(ledger)], budget: { session }, permissions: { mode: "all" } },
	});

const runsIn = (runtime: Runtime) => skillRunsOf(runtime.view().get(skillRuns)).map(([, run]) => run);

describe.each(Object.keys(parents))("a child of %s that a budget has stopped", (name) => {
	const parent = parents[name] as Parent;

	/** A person has said no, and the process is gone. */
	async function stopped(): Promise<Ledger> {
		const ledger: Ledger = new Map();
		const { runtime, events } = await opened(project, ledger, { tokens: parent.budget });
		await parent.begin(runtime);
		await toEnd(runtime, "no");
		expect([said(runtime), [...ledger.values()], runsIn(runtime).every(isLive)]).toEqual([[], [1, 1], true]);
		expect(events.at(-1)).toMatchObject({
			outcome: "stopped",
			reason: expect.stringMatching(
				/^audit has stopped for now, and is kept as it is: .* ada says no: raise the budget/,
			),
		});
		await runtime.close();
		return ledger;
	}

	test("goes on where the budget was raised, killed after any record: nothing is paid or made twice, and it is no other one", async () => {
		await stopped();
		const from = (await kindsIn(project)).lastIndexOf("skill_run_started") + 1;
		await eachCut(project, from, async (state, kinds) => {
			const lines = (await linesOf(state)).slice(1).map((line) => JSON.parse(line));
			await emptyArea(state, "snapshots");
			const ledger: Ledger = new Map(paidIn(lines, true).map((seq) => [seq, 1]));
			const recorded = lines.filter(({ kind, data }) => kind === "step_completed" && data.kind === "model").length;
			const { runtime, model } = await opened({ ...project, state }, ledger, { tokens: 1000 });
			runtime.resume();
			await toEnd(runtime, "yes");
			const told = `${kinds.length} ${kinds.at(-1)}`;
			expect([told, said(runtime), model.asked.length + recorded]).toEqual([told, [parent.answer], parent.calls]);
			expect([told, [...ledger.values()]]).toEqual([told, Array(parent.paid).fill(1)]);
			const started = (await recordsOf(runtime)).filter(({ kind }) => kind === "skill_run_started");
			expect([told, started.length, runsIn(runtime).filter(isLive)]).toEqual([told, parent.runs, []]);
			await runtime.close();
		});
	});

	test("is taken along by a rewind, and goes on from there once more", async () => {
		const ledger = await stopped();
		const kinds = await kindsIn(project);
		for (const seq of pointsOf(kinds.lastIndexOf("skill_run_started") + 1, kinds.length, 4)) {
			const state = await copyState(project.state, join(project.root, `rewound-${seq}`));
			const paid: Ledger = new Map(ledger);
			const { runtime } = await opened({ ...project, state }, paid, { tokens: 1000 });
			await runtime.checkout(seq, "test");
			expect([seq, runsIn(runtime).length]).toEqual([seq, parent.runs]);
			await parent.goOn(runtime);
			await toEnd(runtime, "yes");
			expect([seq, said(runtime), runsIn(runtime).filter(isLive)]).toEqual([seq, [parent.answer], []]);
			expect([seq, runsIn(runtime).length, Math.max(...paid.values())]).toEqual([seq, parent.runs, 1]);
			await runtime.close();
			await removeState(state);
		}
	});
});
