/** Phases of skills in a runtime: a model's tools are asked about as in a turn, and a run may end itself. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { defineSkill, done, type Skill } from "@reyn/skill-resume";
import { createFileTools } from "@reyn/tools";
import { afterEach, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import type { Runtime, RuntimeOptions } from "../src/index.ts";
import { eachCut } from "./cut.ts";
import { makeProject, open, type Project, scripted, until } from "./project.ts";

let project: Project;
beforeEach(async () => {
	project = await makeProject();
});
afterEach(() => project[Symbol.asyncDispose]());

const read = (): Promise<string> => readFile(join(project.cwd, "src/parser.ts"), "utf8");

const skill = (phases: Skill["phases"]): Skill =>
	defineSkill({ name: "mend", description: "mends", input: z.unknown(), start: "a", phases });

const mends = skill({
	a: { instructions: "Mend it", tools: ["edit"], output: z.object({ isMended: z.boolean() }), next: ["a", "b"] },
	b: async (_context, _input, before) => done(before),
});

const model = () =>
	scripted(({ messages }) =>
		messages.at(-1)?.role === "tool"
			? `{"next":"b","output":{"isMended":${messages.at(-1)?.text.startsWith("ERROR") === false}}}`
			: [{ name: "edit", args: { path: "src/parser.ts", old: "Reads", new: "Parses" } }],
	);

const opened = (options: Partial<RuntimeOptions> = {}, at: Project = project) =>
	open(at, {
		...{ model: model(), skills: [mends], permissions: {}, tools: createFileTools(at.cwd, { writes: true }) },
		...options,
	});

const said = (runtime: Runtime): readonly string[] =>
	runtime
		.conversation()
		.items.toArray()
		.flatMap((item) => ("text" in item ? [item.text] : []));

test("what the model of a phase would write is asked about first, and waits over a restart; the answer pays for no more", async () => {
	const first = await opened();
	const run = await first.runtime.runSkill("mend", {});
	await until(() => first.runtime.questions().length > 0);
	expect(await read()).toContain("Reads");
	await first.runtime.close();

	const asked = model();
	const { runtime } = await opened({ model: asked });
	runtime.resume();
	await until(() => runtime.questions().length > 0);
	const [question] = runtime.questions();
	expect(question).toMatchObject({ from: { kind: "skill", id: run } });
	await runtime.answer(question?.seq ?? 0, "once", "user");
	await runtime.idle();
	expect([await read(), said(runtime)]).toEqual([expect.stringContaining("Parses"), ['{"isMended":true}']]);
	expect(asked.asked.length).toBe(1);
	await runtime.close();
});

test("a run that ends itself is over with its reason, told once wherever the process dies, and is not gone on with", async () => {
	const options = { skills: [skill({ a: async ({ abort }) => abort("there is nothing to mend") })] };
	const { runtime } = await opened(options);
	const from = runtime.wal.tip;
	const run = await runtime.runSkill("mend", {});
	await runtime.idle();
	expect(said(runtime)).toEqual([`The skill run ${run} was discarded: there is nothing to mend.`]);
	await runtime.close();
	await eachCut(project, from, async (state, kinds) => {
		const next = await opened(options, { ...project, state });
		const before = said(next.runtime).length;
		next.runtime.resume();
		await next.runtime.idle();
		if (kinds.includes("skill_run_started")) expect(said(next.runtime), `cut after ${kinds.at(-1)}`).toHaveLength(1);
		expect([before, next.runtime.restored().runs]).toEqual([expect.any(Number), []]);
		await next.runtime.close();
	});
});
