/** Skills that were found, as they are told: those that there are, those that do not load, and what a resume of an edited one is said to cost. */
import { defineSkill, done, next, type Skill, SkillError, type SkillProblem } from "@reyn/skill-resume";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
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
	await vi.waitUntil(() => house.runtime.meter.paid.calls > calls, 30_000);
	return id;
};

async function preview(id: string) {
	const { preview } = verbOf("skill resume") as WorkVerb;
	const { read, lines } = preview as ReadVerb;
	const found = await read(house.runtime, givenFor(preview as ReadVerb, { run: id }));
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
