/** Lets a model propose a plan for a prompt, by the `plan` tool. What it has answered is recorded, and not paid again after a crash. */
import { agentLoop, Lane, type Model, type Tool, type Using } from "@reyn/journal";
import type { Scope } from "@reyn/wal";
import { type Decomposition, PLAN_TOOL, parseDecomposition, planTool } from "./decomposition.ts";
import { PlanError } from "./errors.ts";
import { planLane } from "./records.ts";

const SYSTEM = `You plan work, and do none of it. Call the tool "${PLAN_TOOL}" once, with the steps that answer what you are asked.`;

/** A proposal that is no plan may be mended so often. */
const MENDINGS = 1;

/** The lane of a proposal. It ends with that of its plan. */
export const proposalLane = (plan: string): string => `${planLane(plan)}/proposal`;

/** @throws PlanError `PLAN_INVALID` when the model has mended its proposal and it still is no plan; what `agentLoop` throws */
export async function propose(
	plan: string,
	prompt: string,
	{ model, tools, scope, using }: ProposePorts,
): Promise<Decomposition> {
	let made: Decomposition | undefined;
	let missed = 0;
	const names = tools.map(({ name }) => name);
	const propose: Tool = {
		...planTool(names),
		// It only checks, so a replay checks again what is recorded.
		purity: "pure",
		endsTurn: true,
		wants: async () => [],
		async call(args) {
			try {
				made = parseDecomposition(args, names);
				return "this plan can be run";
			} catch (error) {
				return { text: (error as Error).message, isError: true };
			}
		},
	};
	const { handedOver, reply } = await agentLoop(
		new Lane(proposalLane(plan), scope, using),
		model,
		{ system: SYSTEM, messages: [{ role: "user", text: prompt }] },
		[propose],
		{
			maxRounds: 2 + MENDINGS,
			handsOver: { mendings: MENDINGS },
			mend: ({ text }) => (missed++ < MENDINGS ? `Call the tool "${PLAN_TOOL}"; found only text: ${text}` : undefined),
			tooMany: () => noPlan(`the model called other tools than "${PLAN_TOOL}"`),
		},
	);
	if (made && handedOver?.error === undefined) return made;
	throw noPlan(handedOver?.error ?? `the model called no tool; it said: ${reply.text.slice(0, MAX_SAID)}`);
}

interface ProposePorts {
	readonly model: Model;
	readonly tools: readonly Tool[];
	readonly scope: Scope;
	readonly using: Using;
}

/** So much of an answer is told in an error, in characters. */
const MAX_SAID = 200;

const noPlan = (why: string): PlanError =>
	new PlanError("PLAN_INVALID", `the model proposed no plan that can be run: ${why}. Ask for something else, or again`);
