/** A life of a runtime in which all kinds of work happen, and moves. */
import { PLAN_TOOL } from "@reyn/plan";
import { defineSkill, done } from "@reyn/skill-resume";
import { z } from "zod";
import type { Random } from "../../../tests/kit/seeded.ts";
import type { Runtime } from "../src/index.ts";
import { lastOf, type Script, scripted } from "./project.ts";

const PLAN = {
	goal: "both",
	steps: [
		{ id: "a", description: "the first one", tools: [], depends_on: [] },
		{ id: "b", description: "the second one", tools: [], depends_on: ["a"] },
	],
};

const answers: Script = (request) => {
	const last = lastOf(request);
	if (last === "plan!") return [{ name: PLAN_TOOL, args: PLAN }];
	if (last === "look!") return [{ name: "list_files", args: {} }];
	if (last === "fail!") throw new Error("no credit");
	return last.startsWith("Goal:") ? `did ${/Step (\w+)/.exec(last)?.[1]}` : `echo: ${last.slice(0, 20)}`;
};

const skill = defineSkill({
	name: "say",
	description: "",
	input: z.unknown(),
	start: "only",
	phases: { only: async ({ step }) => done(await step("one", async () => "said", { purity: "external" })) },
});

export const options = () => ({ model: scripted(answers), skills: [skill] });

/** Does things of all kinds, some of them by chance. @param after is called after each */
export async function live(runtime: Runtime, random: Random, after = async (): Promise<void> => {}): Promise<void> {
	const deeds = [
		() => runtime.prompt("hello"),
		() => runtime.prompt("look!"),
		() => runtime.prompt("plan!"),
		() => runtime.prompt("fail!"),
		() => runtime.runSkill("say", {}),
		async () => {
			const source = "export default async (ctx) => { await ctx.agent('x'); return ctx.now(); }";
			const { run, end } = await runtime.scripts.start({ name: "work.ts", source }, {});
			await end;
			if (random.chance(0.5)) await (await runtime.scripts.resume(run)).end;
		},
		() => runtime.prompt("elsewhere", { agent: "default", session: "other" }),
		async () => {
			const seq = Math.ceil(random() * runtime.wal.tip);
			await runtime.checkout(seq, "ada").catch(() => {});
		},
		() => runtime.undo("ada").catch(() => {}),
		() => runtime.redo("ada").catch(() => {}),
	];
	for (let i = 0; i < 14; i++) {
		// Each of them once, and then by chance; not all of them are waited for.
		await deeds[i < deeds.length ? i : random.below(deeds.length)]?.();
		if (random.chance(0.7)) await runtime.idle();
		await after();
	}
	await runtime.idle();
}
