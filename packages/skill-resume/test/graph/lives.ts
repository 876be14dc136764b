/** Runs a random skill through `openSkills` in several lives, over a log that is cut where its process died. */
import { setImmediate } from "node:timers/promises";
import type { GatedCall, Model, Verdict } from "@reyn/journal";
import type { LogEngine } from "@reyn/wal";
import { z } from "zod";
import { type Random, seeded } from "../../../../tests/kit/seeded.ts";
import {
	type AnySkill,
	defineSkill,
	done,
	next,
	type OpenSkillsOptions,
	openSkills,
	type PhaseContext,
	type SkillEnd,
	type Skills,
} from "../../src/index.ts";
import { aroundOf, callId, type Form, givenOf, type Op, outputOf, type PhaseForm, wayOf } from "./program.ts";

/** What became of a step in doubt that is skipped. */
export const EMPTY = "(nothing)";

/** A call that was made, and the tip of the log then. */
export interface Made {
	readonly id: string;
	readonly at: number;
	readonly failed: boolean;
}

/** What a program was told: what is in the log by that is told again. */
export interface Told {
	readonly id: string;
	readonly value: string;
}

export class World {
	made: Made[] = [];
	told: Told[] = [];
	readonly #random: Random;
	/** Says no time twice, so that a time in the log is of one call. */
	readonly clock = { now: () => ++this.#now };
	#now = 1_000_000_000_000;
	/** The tip of the log that is written now. */
	tip: () => number = () => 0;

	constructor(seed: number) {
		this.#random = seeded(seed);
	}

	count = (id: string, failed = false): number =>
		this.made.filter((each) => each.id === id && each.failed === failed).length;

	/** A person answers, or not now. */
	ask(id: string): Promise<string | undefined> {
		return this.#random.chance(0.7) ? this.call(id, 0) : Promise.resolve(undefined);
	}

	async call(id: string, fails: number): Promise<string> {
		for (let turns = this.#random.below(4); turns > 0; turns--) await setImmediate();
		const failed = this.count(id, true) < fails;
		this.made.push({ id, at: this.tip(), failed });
		for (let turns = this.#random.below(4); turns > 0; turns--) await setImmediate();
		if (failed) throw new Error(`${id} has failed`);
		return `said ${id}`;
	}

	/** How many calls of models the budget lasts for: most go far, and some end in the middle of what is under way. */
	#left = Number.POSITIVE_INFINITY;

	/** Somebody looks at the budget, and raises it: for good, or by little. */
	raise(): void {
		this.#left = this.#random.chance(0.5) ? Number.POSITIVE_INFINITY : this.#random.below(3);
	}

	readonly gate = async ({ type }: GatedCall): Promise<Verdict> =>
		type !== "model" || this.#left-- > 0
			? { kind: "pass" }
			: { kind: "deny", code: "BUDGET", reason: "the budget is spent", forNow: true };

	/** What a phase gives of an output: one that somebody has to mend first gives what is not JSON, once. */
	given(phase: string, form: PhaseForm, output: string): unknown {
		if (form.gives !== "mended" || this.#mended.has(phase)) return givenOf(form, output);
		this.#mended.add(phase);
		return this.#random.pick([new Date(0), [undefined], { share: Number.NaN }]);
	}

	readonly #mended = new Set<string>();

	/** The process died when the log had these lines: nothing has happened since. What happened at that moment may have, or not. */
	cut(lines: readonly string[]): void {
		const after = lines.length;
		const isOver = (at: number): boolean => at < after || (at === after && this.#random.chance(0.5));
		this.made = this.made.filter(({ at }) => isOver(at));
		const kept = lines.join("\n");
		// Dice are drawn from their place, and are in no record; the place of a child is where it was begun.
		const isDrawn = (id: string): boolean => {
			const around = aroundOf(id);
			return id.endsWith(":dice") && (around === undefined || kept.includes(`"${around}"`));
		};
		this.told = this.told.filter(({ id, value }) => isDrawn(id) || kept.includes(value));
	}
}

export const said = (id: string): string => `said ${id}`;

/** The skill of a form, and those that it runs. */
export function skillsOf(form: Form, world: World): readonly AnySkill[] {
	const children = childrenIn(Object.values(form.phases).flatMap(({ ops }) => ops));
	return [skillOf(form, world), ...children.map((child) => childOf(child, world))];
}

type Child = Extract<Op, { kind: "child" }>;

const childrenIn = (ops: readonly Op[]): readonly Child[] =>
	ops.flatMap((op) => {
		if (op.kind === "together") return op.branches.flatMap(childrenIn);
		return op.kind === "child" ? [op, ...childrenIn(op.ops)] : [];
	});

const childOf = ({ name, ops }: Child, world: World): AnySkill =>
	defineSkill({
		...{ name, description: "Does what it is told", input: z.string(), start: "only" },
		phases: {
			only: async (context: PhaseContext, id) => {
				const found: string[] = [];
				for (const op of ops) found.push(...(await follow(op, id, context, world)));
				return done(outputOf(name, id, found));
			},
		},
	});

function skillOf(form: Form, world: World): AnySkill {
	const phases = Object.entries(form.phases).map(([phase, body]) => [
		phase,
		async (context: PhaseContext, _input: unknown, before: unknown) => {
			const found: string[] = [];
			for (const op of body.ops) found.push(...(await follow(op, phase, context, world)));
			const output = world.given(phase, body, outputOf(phase, before, found));
			const way = wayOf(body, context.visit);
			return way === "done" ? done(output) : next(way, output);
		},
	]);
	return defineSkill({
		...{ name: "random", description: "Does what it is told", input: z.unknown(), start: "p0" },
		...{ maxVisits: form.maxVisits, phases: Object.fromEntries(phases) },
	});
}

async function follow(op: Op, phase: string, context: PhaseContext, world: World): Promise<readonly string[]> {
	const { visit, step, model, ask, skill, parallel } = context;
	const note = (id: string, value: string): string => {
		world.told.push({ id, value });
		return value;
	};
	if (op.kind === "together") {
		const found: string[] = [];
		const branch = (ops: readonly Op[]) => async (): Promise<void> => {
			for (const each of ops) found.push(...(await follow(each, phase, context, world)));
		};
		await parallel(op.branches.map(branch));
		return found.sort();
	}
	if (op.kind === "draw") {
		note(callId(phase, visit, op.name, op.isBeside ? "dice beside" : "dice"), `${context.random()} ${context.uuid()}`);
		note(callId(phase, visit, op.name, "clock"), String(await context.now()));
		return [];
	}
	const id = callId(phase, visit, op.name, op.text);
	if (op.kind === "ask") return [note(id, await ask(id))];
	if (op.kind === "child") return [String(await skill(op.name, id))];
	if (op.kind === "model") {
		const reply = await model({ system: "", messages: [{ role: "user", text: id }], tools: [] });
		return [note(id, reply.text)];
	}
	const { name, text, purity, asks, fails } = op;
	const value = await step<string>(name, () => world.call(id, fails), {
		...{ purity, empty: EMPTY, args: { text } },
		...(asks && {
			reconcile: async () => (world.count(id) > 0 ? { kind: "done", result: said(id) } : { kind: "not_done" }),
		}),
	});
	return [purity === "side_effect" || purity === "external" ? note(id, value) : value];
}

const modelOf = (world: World): Model => ({
	id: "far",
	async *generate({ messages: [first] }) {
		yield { type: "text", text: await world.call(first?.role === "user" ? first.text : "", 0) };
		yield { type: "usage", usage: { inputTokens: 1, outputTokens: 1 } };
	},
});

export type Policy = "retry" | "skip" | "discard_skill";

export interface Life {
	readonly told: readonly SkillEnd[];
	readonly failed: readonly string[];
}

/** One life to its end. */
export async function live(
	engine: LogEngine & { readonly tip: number },
	form: Form,
	world: World,
	policy: Policy,
): Promise<Life> {
	world.tip = () => engine.tip;
	const life = { told: [] as SkillEnd[], failed: [] as string[] };
	const skills = await openSkills(engine, optionsOf(form, world, policy, life));
	await toEnd(skills, life, world);
	await skills.close();
	return life;
}

export const optionsOf = (
	form: Form,
	world: World,
	policy: Policy,
	{ told, failed }: { readonly told: SkillEnd[]; readonly failed: string[] },
): OpenSkillsOptions => ({
	...{ skills: skillsOf(form, world), model: modelOf(world), policy: { default: policy }, clock: world.clock },
	ask: ({ question }) => world.ask(question),
	gate: world.gate,
	deliver: (end) => void told.push(end),
	failed: (_, { message }) => void failed.push(message),
});

/** Runs it to its end: what failed by a call, waits for somebody, or has no money left is tried again, as a person would. */
export async function toEnd(skills: Skills, { failed }: Pick<Life, "failed">, world: World): Promise<void> {
	world.raise();
	await skills.start("r", "random", null);
	await skills.idle();
	for (let tries = 0; tries < 80; tries++) {
		const [, run] = skills.list().find(([id]) => id === "r") ?? [];
		const isStuck = run?.status === "running" && /its limit is| does not do what is recorded/.test(failed.at(-1) ?? "");
		if (!run || !["running", "paused"].includes(run.status) || isStuck) return;
		world.raise();
		await skills.resume("r");
		await skills.idle();
	}
}
