/** Each agent is told, asks and uses what is its own, and the rest is as for all. */
import type { ModelRequest, Tool } from "@reyn/journal";
import { afterEach, beforeEach, expect, test } from "vitest";
import { makeProject, open, type Project, scripted } from "./project.ts";

let project: Project;
beforeEach(async () => {
	project = await makeProject();
});
afterEach(() => project[Symbol.asyncDispose]());

const tool = (name: string): Tool => ({
	name,
	description: name,
	parameters: { type: "object" },
	purity: "world",
	call: async () => name,
});

test("what an agent has of its own takes the place of what all have", async () => {
	const asked: { by: string; system: string; tools: readonly string[] }[] = [];
	const heard = (by: string) => (request: ModelRequest) => {
		asked.push({ by, system: request.system, tools: request.tools.map(({ name }) => name) });
		return "yes";
	};
	const { runtime } = await open(project, {
		model: scripted(heard("all")),
		tools: [tool("look")],
		instructions: "Be brief.",
		agents: {
			cook: { instructions: "You cook.", tools: [tool("stir")] },
			judge: { model: scripted(heard("judge")) },
		},
	});
	for (const agent of ["default", "cook", "judge", "toString"])
		await runtime.prompt("hello", { agent, session: "main" });
	await runtime.idle();
	expect(asked).toHaveLength(4);
	expect(asked).toEqual(
		expect.arrayContaining([
			{ by: "all", system: "Be brief.", tools: ["look", "plan"] },
			{ by: "all", system: "You cook.", tools: ["stir", "plan"] },
			{ by: "judge", system: "Be brief.", tools: ["look", "plan"] },
		]),
	);
	expect(asked.filter(({ system, by }) => by === "all" && system === "Be brief.")).toHaveLength(2);
	await runtime.close();
});

test("a tool of an agent whose purity is none is refused before anything is opened", async () => {
	const wrong = { ...tool("look"), purity: "sideeffect" } as unknown as Tool;
	const refused = open(project, { agents: { cook: { tools: [wrong] } } });
	await expect(refused).rejects.toMatchObject({ code: "STEP_PURITY" });
});
