/** Skill runs whose phases ask people and run other skills: branches that share what they find, with a child in each, and questions below. */
import { childrenBelow, defineSkill, done, isLive, next, type Skill, skillRuns } from "@reyn/skill-resume";
import { z } from "zod";
import type { Runtime, RuntimeOptions } from "../src/index.ts";
import { doing, known, type Ledger, said, toEnd } from "./child-plans.ts";
import { lastOf, open, type Project, scripted } from "./project.ts";

export interface Family {
	/** What each leaf does beyond that, before it pays. */
	readonly look?: (signal: AbortSignal) => Promise<void>;
}

/** A run of `root` has two equal children and another one, each of which has a child that asks, and pays where that is allowed. */
export function family(ledger: Ledger, { look }: Family = {}): readonly Skill[] {
	const leaf = defineSkill({
		...{ name: "leaf", description: "asks and pays", input: z.object({ of: z.string() }), start: "ask" },
		phases: {
			ask: async ({ ask }, { of }) => next("pay", await ask(`pay ${of}?`, { choices: ["yes", "no"] })),
			async pay({ step, signal, abort }, { of }, before) {
				if (before !== "yes") abort(`${of} is not paid`);
				await look?.(signal);
				await step("pay", doing(ledger), { purity: "side_effect", reconcile: known(ledger) });
				return done(`paid ${of}`);
			},
		},
	}) as Skill;
	const middle = defineSkill({
		...{ name: "middle", description: "looks, and has a leaf", input: z.object({ of: z.string() }), start: "both" },
		phases: {
			async both({ skill, model }, { of }) {
				const { text } = await model({ system: "look", messages: [{ role: "user", text: of }], tools: [] });
				return done(`${text}, ${await skill("leaf", { of }).catch((error: Error) => error.message)}`);
			},
		},
	}) as Skill;
	const root = defineSkill({
		...{ name: "root", description: "has children", input: z.unknown(), start: "gather" },
		phases: {
			async gather({ parallel, skill, ask }) {
				const found: unknown[] = [];
				await parallel([
					async () => void found.push(await skill("middle", { of: "tea" })),
					async () => void found.push(await skill("middle", { of: "tea" })),
					async () => void found.push(await skill("leaf", { of: "milk" }).catch((error: Error) => error.message)),
					async () => void found.push(`asked: ${await ask("what else?")}`),
				]);
				return next("say", found.sort().join("; "));
			},
			say: async ({ model }, _input, before) => {
				const { text } = await model({ system: "say", messages: [{ role: "user", text: "say it" }], tools: [] });
				return done(`${text}: ${before}`);
			},
		},
	}) as Skill;
	return [root, middle, leaf];
}

/** The model calls of a run. */
export const CALLS = 3;

export const ANSWER = "said: asked: yes; paid milk; seen, paid tea; seen, paid tea";

/** One process over a state. */
export async function life(at: Project, ledger: Ledger = new Map(), more: Family & Partial<RuntimeOptions> = {}) {
	const { look, ...options } = more;
	const model = scripted((request) => (lastOf(request) === "say it" ? "said" : "seen"));
	const skills = family(ledger, { ...(look && { look }) });
	return { ...(await open(at, { model, tools: [], skills, unanswered: "stop", ...options })), model, ledger };
}

export const childrenIn = (runtime: Runtime) => childrenBelow(runtime.view().get(skillRuns), "skill");

export const liveIn = (runtime: Runtime) => childrenIn(runtime).filter(([, run]) => isLive(run));

export { said, toEnd };
