/** What a person is told of a task that they have made: what it waits for, and when it is started. */
import { defineSkill, done, type Skill } from "@reyn/skill-resume";
import { expect, test } from "vitest";
import { z } from "zod";
import { memoryTasks } from "../../runtime/test/memory-tasks.ts";
import type { WorkVerb } from "../src/index.ts";
import { asJson } from "../src/text.ts";
import { openHouse, say, verbOf } from "./house.ts";

const report = defineSkill({
	...{ name: "report", description: "Reports", input: z.unknown(), start: "only" },
	phases: { only: async () => done("so") },
}) as Skill;

test("it waits for what is not done yet, by its name and state, and is started then; with nothing to wait for it is said as before", async () => {
	const backend = memoryTasks();
	await using house = await openHouse({ tasks: { backend }, skills: [report] });
	const { begin, lines, begun } = verbOf("task add") as WorkVerb;
	const add = async (given: object) => {
		const added = await begin(house.runtime, { title: "Report", ...given });
		begun.parse(JSON.parse(asJson(added)));
		return lines(added, say).slice(1);
	};
	const started = "where work goes on: in an open chat, or by resume";
	expect(await add({ title: "Gather" })).toEqual([]);
	expect(await add({ title: "Count" })).toEqual([]);
	expect(await add({ skill: "report" })).toEqual([`it is started ${started}`]);
	backend.put("t1", { status: "running" });
	expect(await add({ skill: "report", after: ["t1", "t2"] })).toEqual([
		"it waits for t1 (Gather, running), t2 (Count, unassigned)",
		`it is started once these are done, ${started}`,
	]);
	backend.put("t1", { status: "done" });
	expect(await add({ skill: "report", after: ["t1", "t2"] })).toEqual([
		"it waits for t2 (Count, unassigned)",
		`it is started once that is done, ${started}`,
	]);
	backend.put("t2", { status: "done" });
	expect(await add({ prompt: "report", after: ["t1", "t2"] })).toEqual([`it is started ${started}`]);
});
