/** Skills that were found, as they are told: those that there are, those that do not load, and what a resume of an edited one is said to cost. */

import { openRuntime, type RuntimeOptions } from "@reyn/runtime";
import { defineSkill, done, next, type Skill, SkillError, type SkillProblem } from "@reyn/skill-resume";
import { afterEach, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { documentSchema, givenFor, type ReadVerb, type WorkVerb } from "../src/index.ts";
import { type House, openHouse, say, verbOf } from "./house.ts";

let now: { skills: readonly Skill[]; problems: readonly SkillProblem[] };
let hold: boolean;
let house: House;

/** Asks the model in its second phase, and then hangs, as long as it is held. */
const report = (hash: string): Skill => ({
	...(defineSkill({
		...{ name: "report", description: "reports", input: z.object({ to: z.string() }), start: "gather", maxVisits: 3 },
		phases: {
			gather: async ({ visit }) => (visit < 2 ? next("gather", visit) : next("write", visit)),
			async write({ model, signal }) {
				await model({ system: "Sum up.", messages: [{ role: "user", text: "foxes" }], tools: [] });
				if (hold)
					await new Promise((_, reject) =>
						signal.addEventListener("abort", () => reject(signal.reason), { once: true }),
					);
				return done("told");
			},
		},
	}) as Skill),
	source: { path: "/skills/report.ts", hash },
});

const review = defineSkill({
	...{ name: "review", description: "reviews", input: z.date(), start: "judge", purity: "llm" },
	phases: { judge: { instructions: "Judge.", tools: ["read"], next: ["judge", "done"] } },
}) as Skill;

const problem: SkillProblem = {
	name: "report",
	path: "/skills/report.ts",
	error: new SkillError("SKILL_GRAPH", "/skills/report.ts:4: report has no way", { line: 4, phase: "write" }),
};

beforeEach(async () => {
	hold = true;
	now = { skills: [report("a1"), review], problems: [] };
	house = await openHouse({ findSkills: async () => now });
});
afterEach(() => house[Symbol.asyncDispose]());

/** As far as its model call. */
const run = async (): Promise<string> => {
	const { calls } = house.runtime.meter.paid;
	const id = await house.runtime.runSkill("report", { to: "ada" });
	await expect.poll(() => house.runtime.meter.paid.calls).toBeGreaterThan(calls);
	return id;
};

async function preview(id: string, runtime = house.runtime) {
	const { preview } = verbOf("skill resume") as WorkVerb;
	const { read, lines } = preview as ReadVerb;
	const found = await read(runtime, givenFor(preview as ReadVerb, { run: id }));
	expect(documentSchema(preview as ReadVerb).parse(JSON.parse(JSON.stringify(found)))).toEqual(found);
	return lines(found, say, {});
}

test("those that there are, and those that do not load, beside the runs in flight", async () => {
	const id = await run();
	expect((await house.do("skill list")).lines).toEqual([
		`${id}  report  running  write`,
		"report  reports  /skills/report.ts",
		"review  reviews  built in",
	]);
	now = { skills: [review], problems: [problem] };
	const { lines, document } = await house.do("skill list");
	expect(lines).toEqual([
		`${id}  report  running  write  waits: /skills/report.ts:4: report has no way`,
		"review  reviews  built in",
		"report does not load: /skills/report.ts:4: report has no way",
	]);
	expect(document).toMatchObject({
		problems: [{ name: "report", path: "/skills/report.ts", code: "SKILL_GRAPH", line: 4, phase: "write" }],
	});
	expect((await house.do("status")).lines).toContain(lines[0]);
});

test("one is shown with its input, phases, ways and tools, where it lies, and as it lies there", async () => {
	expect((await house.do("skill show", { name: "report" })).lines).toEqual([
		"report  reports",
		"from /skills/report.ts  sha256 a1",
		"does to the world: side_effect",
		'input {"type":"object","properties":{"to":{"type":"string"}},"required":["to"]}',
		"begins with gather; each phase at most 3 times",
		"  gather  function  to any phase, or done",
		"  write  function  to any phase, or done",
	]);
	expect((await house.do("skill show", { name: "review" })).lines.slice(1)).toEqual([
		"from reyn itself",
		"does to the world: llm",
		"input as its schema has it",
		"begins with judge; each phase at most 10 times",
		"  judge  model  tools read  to judge or done",
	]);
	await expect(house.do("skill show", { name: "none" })).rejects.toMatchObject({ code: "SKILL_UNKNOWN" });
	now = { skills: [], problems: [problem] };
	await expect(house.do("skill show", { name: "report" })).rejects.toBe(problem.error);
});

test("a preview of a resume says where it goes on, and what is paid again at most once it has changed", async () => {
	const { tokens } = house.runtime.meter.paid;
	const id = await run();
	const paid = `1 model call, ${house.runtime.meter.paid.tokens - tokens} tokens`;
	const where = [
		`skill run ${id} of report goes on in phase write, visit 1`,
		"finished, and not run again: gather (2 times)",
	];
	expect(await preview(id)).toEqual([...where, `not paid again: what is recorded of this phase, ${paid}`]);
	now = { skills: [report("b2")], problems: [] };
	expect(await preview(id)).toEqual([
		...where,
		`its skill has changed since it began: calls of this phase that are as they were are not paid again. Which those are is known only when it runs; at most paid again: ${paid}`,
	]);
	expect((await house.do("skill list")).lines[0]).toBe(
		`${id}  report  running  write  its skill has changed since it began`,
	);
	now = { skills: [], problems: [problem] };
	expect((await preview(id))[1]).toBe("it waits: /skills/report.ts:4: report has no way");
});

test("a preview of a resume says that the phase is paid again where another model goes on with it", async () => {
	const { tokens } = house.runtime.meter.paid;
	const id = await run();
	const paid = `1 model call, ${house.runtime.meter.paid.tokens - tokens} tokens`;
	const { model } = house.options;
	const other = { ...model, id: "other", generate: model.generate.bind(model) };
	const read = async (more: Partial<RuntimeOptions>): Promise<readonly string[]> => {
		await using reader = await openRuntime({ ...house.options, model: other, readOnly: true, ...more });
		return (await preview(id, reader)).slice(2);
	};
	const changed = `begun with ${model.id}, goes on with other: this phase asks it anew; at most paid again: ${paid}`;
	expect(await read({})).toEqual([changed]);
	expect(await read({ models: () => model })).toEqual([`not paid again: what is recorded of this phase, ${paid}`]);
	now = { skills: [report("b2")], problems: [] };
	expect(await read({})).toEqual(["its skill has changed since it began", changed]);
});

test("a preview of a resume says what is paid again since a rewind took it away, as the rewind's own has said", async () => {
	hold = false;
	const { tokens } = house.runtime.meter.paid;
	const id = await run();
	await house.runtime.idle();
	const paid = `1 model call, ${house.runtime.meter.paid.tokens - tokens} tokens`;
	const gathered = house.runtime.timeline
		.checkpoints()
		.filter(({ title }) => title === "report gather")
		.map(({ seq }) => seq)
		.sort((a, b) => a - b);
	const ref = { ref: String(gathered[1]) };
	const { lines } = await house.do("rewind", ref, { dryRun: true });
	expect(lines).toContainEqual(expect.stringContaining(`skill run ${id}; who resumes it pays ${paid}`));
	await house.do("rewind", ref);
	const where = [
		`skill run ${id} of report goes on in phase write, visit 1`,
		"finished, and not run again: gather (2 times)",
		"not paid again: what is recorded of this phase, 0 model calls, 0 tokens",
	];
	const again = expect.stringMatching(`^paid again, since a move took it away: ${paid}`);
	expect(await preview(id)).toEqual([...where, again]);
	// A second move further back, and one to where it stands, change nothing of that.
	await house.do("rewind", { ref: String(gathered[0]) });
	expect((await preview(id)).at(-1)).toEqual(again);
	// Resumed, it has paid that: nothing is left to be paid again, also where a third move keeps it.
	const before = house.runtime.meter.paid.tokens;
	hold = true;
	await house.runtime.resumeSkillRun(id);
	await expect.poll(() => house.runtime.meter.paid.tokens).toBeGreaterThan(before);
	expect(`1 model call, ${house.runtime.meter.paid.tokens - before} tokens`).toBe(paid);
	expect(await preview(id)).toEqual([...where.slice(0, 2), `not paid again: what is recorded of this phase, ${paid}`]);
});

test.each([
	["retry", "it is made again, unless it is known to have happened"],
	["skip", "it is left out unless it is known whether it happened, so what it would give may be missing"],
	["discard_skill", "the run is given up, unless it is known whether it happened"],
] as const)("a preview of a resume names the effect in doubt, and that the policy is %s", async (policy, becomes) => {
	const hanging = ({ signal }: { readonly signal: AbortSignal }) =>
		new Promise<void>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
	const send = defineSkill({
		...{ name: "send", description: "sends", input: z.unknown(), start: "mail" },
		phases: {
			async mail({ step, ask }) {
				await step("noted", async () => 1, { purity: "side_effect" });
				await Promise.all([ask("well?"), step("mail ada", hanging, { purity: "side_effect" })]);
				return done("sent");
			},
		},
	}) as Skill;
	await using sending = await openHouse({
		skills: [send],
		skillResume: { default: "retry", per_skill: { send: policy } },
	});
	const id = await sending.runtime.runSkill("send", {});
	let begun = 0;
	const isBegun = async (): Promise<boolean> => {
		for await (const { seq, kind, data } of sending.runtime.wal.read())
			if (kind === "step_started" && (data as { name: string }).name === "mail ada") begun = seq;
		return begun > 0 && sending.runtime.questions().length > 0;
	};
	await expect.poll(isBegun).toBe(true);
	const { read, lines } = (verbOf("skill resume") as WorkVerb).preview as ReadVerb;
	const found = await read(sending.runtime, { run: id });
	expect(lines(found, say, {}).slice(-1)).toEqual([
		`in doubt: mail ada, begun at #${begun}; ${becomes} (policy ${policy === "discard_skill" ? "discard" : policy})`,
	]);
	expect(found).toMatchObject({ inDoubt: [{ name: "mail ada", started: begun }] });
});

test("a task is made for a skill that is there, or that does not load yet, and for no other", async () => {
	const { begin } = verbOf("task add") as WorkVerb;
	const add = (skill: string) => begin(house.runtime, { title: "Report", skill });
	now = { skills: [review], problems: [problem] };
	await expect(add("nope")).rejects.toMatchObject({ code: "SKILL_UNKNOWN" });
	// The next fault is that this house has no tasks: what is looked at before was right.
	for (const name of ["review", "report"]) await expect(add(name)).rejects.not.toMatchObject({ code: "SKILL_UNKNOWN" });
	expect(house.runtime.tasks.pending()).toEqual([]);
});
