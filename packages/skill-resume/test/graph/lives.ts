/** Runs a random skill through `openSkills` in several lives, over a log that is cut where its process died. */
import { setImmediate } from "node:timers/promises";
import type { Model } from "@reyn/journal";
import type { LogEngine } from "@reyn/wal";
import { z } from "zod";
import { type Random, seeded } from "../../../../tests/kit/seeded.ts";
import {
	type AnySkill,
	defineSkill,
	done,
	next,
	openSkills,
	type PhaseContext,
	type SkillEnd,
} from "../../src/index.ts";
import { callId, type Form, type Op, outputOf, wayOf } from "./program.ts";

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

	async call(id: string, fails: number): Promise<string> {
		for (let turns = this.#random.below(4); turns > 0; turns--) await setImmediate();
		const failed = this.count(id, true) < fails;
		this.made.push({ id, at: this.tip(), failed });
		for (let turns = this.#random.below(4); turns > 0; turns--) await setImmediate();
		if (failed) throw new Error(`${id} has failed`);
		return `said ${id}`;
	}

	/** The process died when the log had these lines: nothing has happened since. What happened at that moment may have, or not. */
	cut(lines: readonly string[]): void {
		const after = lines.length;
		const isOver = (at: number): boolean => at < after || (at === after && this.#random.chance(0.5));
		this.made = this.made.filter(({ at }) => isOver(at));
		const kept = lines.join("\n");
		// Dice are drawn from their place, and are in no record.
		this.told = this.told.filter(({ id, value }) => id.endsWith(":dice") || kept.includes(value));
	}
}

export const said = (id: string): string => `said ${id}`;

export function skillOf(form: Form, world: World): AnySkill {
	const phases = Object.entries(form.phases).map(([phase, body]) => [
		phase,
		async (context: PhaseContext, _input: unknown, before: unknown) => {
			const found: string[] = [];
			for (const op of body.ops) found.push(...(await follow(op, phase, context, world)));
			const output = outputOf(phase, before, found);
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
	const { visit, step, model, parallel } = context;
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
		note(callId(phase, visit, op.name, "dice"), `${context.random()} ${context.uuid()}`);
		note(callId(phase, visit, op.name, "clock"), String(await context.now()));
		return [];
	}
	const id = callId(phase, visit, op.name, op.text);
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

/** One life to its end: what failed by a call is tried again, as a person would. */
export async function live(
	engine: LogEngine & { readonly tip: number },
	form: Form,
	world: World,
	policy: Policy,
): Promise<Life> {
	world.tip = () => engine.tip;
	const told: SkillEnd[] = [];
	const failed: string[] = [];
	const skills = await openSkills(engine, {
		...{ skills: [skillOf(form, world)], model: modelOf(world), policy: { default: policy } },
		clock: world.clock,
		deliver: (end) => void told.push(end),
		failed: (_, { message }) => void failed.push(message),
	});
	await skills.start("r", "random", null);
	await skills.idle();
	const isPaused = (): boolean => skills.list().some(([, { status }]) => status === "paused");
	for (let tries = 0, seen = 0; tries < 40; tries++) {
		const isAgain = failed.length > seen && failed.at(-1)?.includes(" has failed");
		if (!isAgain && !isPaused()) break;
		seen = failed.length;
		await skills.resume("r");
		await skills.idle();
	}
	await skills.close();
	return { told, failed };
}
