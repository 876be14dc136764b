/**
 * What becomes of random plans: how their models and tools behave, what is said at their limits, and what each step must come to of
 * that. All of it follows from a seed, and from nothing that was executed.
 */
import {
	type AtLimit,
	type Decomposition,
	type LimitKind,
	type PlanAmendment,
	type PlanLimits,
	type PlanStep,
	parseDecomposition,
} from "@reyn/plan";
import { type Random, seeded } from "./seeded.ts";

/** How a step goes in one of its attempts, as its model and its tools make it. */
export interface Behaviour {
	/** The calls of tools in each round, before the round that has the text. */
	readonly rounds: readonly (readonly FatedCall[])[];
	/** In a round, so many tries fail that may pass. */
	readonly passing: { readonly turn: number; readonly times: number; readonly retryAfterMs: number | undefined };
	/** In a round, so many calls hang until the time of the step is over. */
	readonly hanging: { readonly turn: number; readonly times: number };
	/** The round that fails for good; -1: none does. */
	readonly final: number;
	/** How long the text is, in characters. */
	readonly long: number;
}

export interface FatedCall {
	readonly name: string;
	readonly args: { readonly to?: string; readonly step?: string; readonly round?: number; readonly of?: string };
	/** Does the tool fail? */
	readonly fails: boolean;
}

/** What a step comes to. `children`: the model calls of the skills that it runs. */
export type Outcome =
	| { readonly kind: "completed"; readonly text: string; readonly calls: number; readonly children: number }
	| { readonly kind: "failed" };

/** What a plan comes to: its text, or what its steps have found where the last one has failed. */
export type FatedAnswer =
	| { readonly kind: "text"; readonly text: string }
	| { readonly kind: "none"; readonly found: readonly string[] };

/** What the model call of a step takes: 100 tokens in, 10 out. */
export const TOKENS = 110;
/** What a model call of a skill takes where that counts. */
export const CHILD_TOKENS = 30;
/** A step that runs this skill is told what becomes of its child: one that a person agrees to asks its model twice, another once. */
export const CHILD = "skill_audit";

export interface FatesOptions {
	/** Where nobody can be asked: so often is each limit extended. Default: a person decides. */
	readonly unattended?: number | undefined;
	/** Do the model calls of skills take tokens? Default: no. */
	readonly childrenCost?: boolean;
}

export class Fates {
	readonly seed: number;
	readonly limits: PlanLimits;
	readonly #options: FatesOptions;

	constructor(seed: number, limits: PlanLimits, options: FatesOptions = {}) {
		this.seed = seed;
		this.limits = limits;
		this.#options = options;
	}

	behaviour({ id, tools }: PlanStep, attempt: number): Behaviour {
		const random = drawn(this.seed, "step", id, attempt);
		const calls = (round: number): readonly FatedCall[] =>
			Array.from({ length: 1 + random.below(2) }, (_, at) => {
				const name = random.pick(tools);
				const fails = random.chance(0.1);
				// What is sent is the same in all steps and rounds.
				if (name === "send") return { name, fails, args: { to: random.pick(["bob", "eve"]) } };
				if (name === CHILD) return { name, fails, args: { of: `${id}.${attempt}.${round}.${at}` } };
				return { name, fails, args: { step: id, round } };
			});
		const rounds = Array.from({ length: tools.length === 0 ? 0 : random.pick([0, 1, 1, 2, 3, 4]) }, (_, i) => calls(i));
		const turn = (): number => random.below(rounds.length + 1);
		return {
			rounds,
			passing: {
				turn: turn(),
				times: random.pick([0, 0, 0, 0, 1, 2, 3, 4, 7]),
				retryAfterMs: random.pick([undefined, 1, 5_000, 200_000]),
			},
			hanging: { turn: turn(), times: random.pick([0, 0, 1, 2]) },
			final: random.chance(0.12) ? turn() : -1,
			long: random.pick([0, 0, 0, 0, 0, 0, 1100, 3000, random.chance(0.2) ? 40_000 : 0]),
		};
	}

	/** What is said of a limit, whoever asks; `isLater`: not at once. */
	decision(step: string, attempt: number, limit: LimitKind, extended: number) {
		const { unattended } = this.#options;
		const random = drawn(this.seed, "decision", step, attempt, limit, extended);
		const decision: AtLimit = random.pick(["extend", "extend", "extend", "extend", "pause", "fail"]);
		const isLater = random.chance(0.2);
		if (unattended === undefined) return { decision, isLater };
		return { decision: extended < unattended ? ("extend" as const) : ("fail" as const), isLater: false };
	}

	/** What is said of the limit of a plan, of whose steps so many have run again. */
	decisionOfPlan(again: number, extended: number): AtLimit {
		return this.decision("", again, "plan_tokens", extended).decision;
	}

	/** What each of these steps must come to in its attempt. @param isCut has it failed by the limit of its plan? Default: none has */
	outcomes(
		{ steps }: Decomposition,
		attemptOf: (step: string) => number,
		isCut: (step: string) => boolean = () => false,
	): (id: string) => Outcome {
		const known = new Map<string, Outcome>();
		const outcome = (id: string): Outcome => {
			if (isCut(id)) return { kind: "failed" };
			const made = known.get(id) ?? this.#work(steps.find((step) => step.id === id) as PlanStep, attemptOf(id), facts);
			known.set(id, made);
			return made;
		};
		const facts = ({ depends_on }: PlanStep): readonly string[] =>
			steps.filter(({ id }) => depends_on.includes(id)).map(({ id }) => factOf(outcome(id)));
		return outcome;
	}

	/** Goes through a step as it must go, limit by limit. */
	#work(step: PlanStep, attempt: number, given: (step: PlanStep) => readonly string[]): Outcome {
		const { id } = step;
		const { rounds, passing, hanging, final, long } = this.behaviour(step, attempt);
		const { stepMaxIterations, retryLimit, stepTokens, stepSeconds } = this.limits;
		const extended: Record<LimitKind, number> = { plan_tokens: 0, iterations: 0, retries: 0, tokens: 0, seconds: 0 };
		const isOver = (limit: LimitKind): boolean =>
			this.decision(id, attempt, limit, extended[limit]++).decision === "fail";
		const childCalls = (upTo: number): number =>
			rounds
				.slice(0, upTo)
				.flatMap((round) => round.map(callsBelow))
				.reduce((sum, each) => sum + each, 0);
		const each = this.#options.childrenCost ? CHILD_TOKENS : 0;
		for (let turn = 0; turn <= rounds.length; turn++) {
			while (turn >= stepMaxIterations * (1 + extended.iterations)) if (isOver("iterations")) return { kind: "failed" };
			if (turn === final) return { kind: "failed" };
			if (turn === passing.turn)
				for (let tries = 1; tries <= passing.times; tries++)
					if (tries % (retryLimit + 1) === 0 && isOver("retries")) return { kind: "failed" };
			if (turn === hanging.turn && stepSeconds !== undefined)
				for (let times = 0; times < hanging.times; times++) if (isOver("seconds")) return { kind: "failed" };
			if (turn < rounds.length && stepTokens !== undefined)
				while (TOKENS * (turn + 1) + each * childCalls(turn) >= stepTokens * (1 + extended.tokens))
					if (isOver("tokens")) return { kind: "failed" };
		}
		const results = rounds.flat().map((call) => resultOf(call, id, attempt));
		const children = childCalls(rounds.length);
		const text = textOf(step, attempt, given(step), results, long);
		return { kind: "completed", text, calls: rounds.length + 1, children };
	}
}

/** What the whole comes to, where each step comes to this. */
export function answerIn({ steps }: Decomposition, outcome: (id: string) => Outcome): FatedAnswer {
	const last = steps.find(({ id }) => !steps.some(({ depends_on }) => depends_on.includes(id))) as PlanStep;
	const of = outcome(last.id);
	if (of.kind === "completed") return { kind: "text", text: of.text };
	return { kind: "none", found: steps.filter(({ id }) => id !== last.id).map(({ id }) => factOf(outcome(id))) };
}

/** What a tool says of a call: what is marked of it is told on. */
export const resultOf = ({ name, args, fails }: FatedCall, id: string, attempt: number): string => {
	if (fails) return "ERROR";
	if (name === CHILD) return `audited ${args.of}`;
	return name === "send" ? `sent ${args.to}` : `look ${id} ${attempt} ${args.round}`;
};

/** The model calls below a call of a step. */
const callsBelow = ({ name, fails }: FatedCall): number => {
	if (name !== CHILD) return 0;
	return fails ? 1 : 2;
};

const factOf = (outcome: Outcome): string =>
	outcome.kind === "failed" ? "FAILED" : (factsIn(outcome.text)[0] as string);

export const marked = (fact: string): string => `«${fact}»`;

/** What a text says, at its beginning or in each of its parts. */
export const factsIn = (text: string): readonly string[] =>
	[...text.matchAll(/«([^»]*)»|\((FAILED):/g)].map(([, fact, failed]) => fact ?? failed ?? "");

/** The text of a step: a short fact, made of all that it rests on, and then as much as it is long. */
export function textOf(
	{ id, description }: PlanStep,
	attempt: number,
	facts: readonly string[],
	results: readonly string[],
	long: number,
): string {
	const sum = hashOf([description, attempt, ...facts, "|", ...results].join("\n"));
	return `${marked(`${id}.${attempt} ${sum.toString(36)}`)} ${"x".repeat(long)}`;
}

/** Limits of every kind of a step. @param isTimed has each step a time, too? */
export const randomLimits = (random: Random, isTimed: boolean, stepSeconds: number): PlanLimits => ({
	// Time passes for all that runs: with more than one step it would be over for steps that do not hang.
	concurrency: isTimed ? 1 : random.pick([1, 2, 3, 7]),
	stepMaxIterations: random.pick([1, 2, 2, 3, 5]),
	retryLimit: random.below(4),
	...(random.chance(0.3) ? { stepTokens: random.pick([100, 150, 250]) } : {}),
	...(isTimed ? { stepSeconds } : {}),
});

/** 2 to 7 steps. */
export function randomPlan(random: Random, goal: string, tools: readonly string[]): Decomposition {
	const size = 2 + random.below(6);
	const steps = Array.from({ length: size }, (_, at) => ({
		id: `s${at + 1}`,
		description: `Do s${at + 1}`,
		tools: tools.filter(() => random.chance(0.5)),
		depends_on: Array.from({ length: at }, (_, i) => `s${i + 1}`).filter(() => random.chance(0.35)),
	}));
	// All that nobody needs is needed by the last one.
	const last = steps[size - 1] as (typeof steps)[number];
	for (const { id } of steps.slice(0, -1))
		if (!steps.some(({ depends_on }) => depends_on.includes(id))) last.depends_on.push(id);
	// A list is not always in the order of its needs.
	if (random.chance(0.3)) steps.reverse();
	return parseDecomposition({ goal, steps }, tools);
}

/** Changes a pending step, adds one or takes one away: it may be invalid. @param nr makes its words its own */
export function randomAmendment(
	random: Random,
	{ steps }: Decomposition,
	pending: readonly string[],
	tools: readonly string[],
	nr: number,
): PlanAmendment {
	const id = random.pick(pending.length > 0 && random.chance(0.9) ? pending : steps.map((step) => step.id));
	const step = steps.find((each) => each.id === id) as PlanStep;
	const description = `Do ${id} anew ${nr}`;
	const others = steps.filter((each) => each.id !== id);
	switch (random.below(4)) {
		case 0:
			return { put: [{ ...step, description, tools: tools.filter(() => random.chance(0.5)) }] };
		case 1: {
			// A new one, or one that was there before, which this step needs.
			const added = random.pick([1, 2, 3, 4, 5, 6, 7, 8].map((at) => `s${at}`));
			const needs = steps.map((each) => each.id).filter((each) => each !== id && random.chance(0.2));
			const put = [{ id: added, description: `Do ${added} too`, tools: ["look"], depends_on: needs }];
			return { put: [...put, { ...step, description, depends_on: [...step.depends_on, added] }] };
		}
		case 2: {
			const put = others
				.filter(({ depends_on }) => depends_on.includes(id))
				.map((each) => ({
					...each,
					depends_on: [...new Set([...each.depends_on.filter((need) => need !== id), ...step.depends_on])],
				}));
			return { drop: [id], ...(put.length > 0 ? { put } : {}) };
		}
		default: {
			const needs = others.map((each) => each.id).filter(() => random.chance(0.4));
			return { put: [{ ...step, depends_on: needs }] };
		}
	}
}

/** The ids that an amendment touches. */
export const touchedBy = ({ put = [], drop = [] }: PlanAmendment): readonly string[] => [
	...drop,
	...put.map((step) => (step as { id: string }).id),
];

/** The steps with an amendment, written out by hand. */
export function copyWith(before: Decomposition, { put = [], drop = [] }: PlanAmendment): Decomposition {
	const steps = structuredClone(before.steps).filter(({ id }) => !drop.includes(id));
	for (const step of put as Decomposition["steps"]) {
		const at = steps.findIndex(({ id }) => id === step.id);
		steps.splice(at < 0 ? steps.length : at, at < 0 ? 0 : 1, structuredClone(step));
	}
	return { ...before, steps };
}

const drawn = (seed: number, ...what: readonly unknown[]): Random => seeded(seed ^ hashOf(what.join(" ")));

/** FNV-1a, of 32 bits. */
export function hashOf(text: string): number {
	let hash = 0x811c9dc5;
	for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
	return hash >>> 0;
}
