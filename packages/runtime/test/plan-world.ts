/** What random plans work with: an engine that dies at any change, a model, tools and a skill that do as their fates say, and what was paid. */
import type { Model, ModelPart, ModelRequest, Tool } from "@reyn/journal";
import { type Decomposition, PLAN_TOOL, type PlanLimits, type PlanStep } from "@reyn/plan";
import { defineSkill, done, next, type Skill } from "@reyn/skill-resume";
import type { Clock, LogEngine, Timers } from "@reyn/wal";
import { mortalEngine } from "@reyn/wal/testing";
import { expect } from "vitest";
import { z } from "zod";
import { CHILD_TOKENS, Fates, factsIn, hashOf, marked, TOKENS, textOf } from "../../../tests/kit/plan-fates.ts";
import type { Random } from "../../../tests/kit/seeded.ts";
import { atOnce } from "../../../tests/kit/timers.ts";
import { Copies } from "./plan-copies.ts";

/** A log and blobs in memory, of which the last change that the process lives for may be a part of a batch. */
export interface FragileEngine extends LogEngine {
	/** Records and blobs that may still be written; it dies at the next one. */
	left: number;
	readonly isDead: boolean;
	revive(): void;
}

export function fragileEngine(): FragileEngine {
	const engine = mortalEngine();
	let isDead = false;
	const change = (): void => {
		if (!isDead && fragile.left-- > 0) return;
		isDead = true;
		throw new Error("killed");
	};
	const fragile = {
		...engine,
		caps: { ...engine.caps, atomicBatch: false },
		left: Number.POSITIVE_INFINITY,
		get isDead() {
			return isDead;
		},
		revive() {
			isDead = false;
			fragile.left = Number.POSITIVE_INFINITY;
		},
		log: (realm: string) => {
			const log = engine.log(realm);
			const changed: Pick<typeof log, "append" | "truncateBefore"> = {
				async append(lease, expected, lines) {
					const kept = isDead ? 0 : Math.min(lines.length, fragile.left);
					if (kept > 0) await log.append(lease, expected, lines.slice(0, kept));
					fragile.left -= kept;
					if (kept < lines.length) change();
				},
				async truncateBefore(lease, seq) {
					change();
					return log.truncateBefore(lease, seq);
				},
			};
			return { ...log, ...changed };
		},
		blobs: (realm: string) => {
			const blobs = engine.blobs(realm);
			return {
				...blobs,
				async put(name: string, bytes: Uint8Array) {
					change();
					return blobs.put(name, bytes);
				},
				async delete(name: string) {
					change();
					return blobs.delete(name);
				},
			};
		},
	};
	return fragile;
}

const STEP_MS = 100_000_000;
/** The time of a step, in seconds: no pause between two tries comes near it. */
export const STEP_SECONDS = STEP_MS / 1000;

/** Time that is over when somebody waits for it, but for the time of a step, which passes when its model hangs, and for what may take its time. */
class StepTime implements Clock, Timers {
	readonly #limits = new Set<() => void>();
	#now = 1_000_000;

	now(): number {
		return this.#now;
	}

	after(ms: number, run: () => void): () => void {
		if (ms === 600_000) return () => {};
		const pass = (): void => {
			this.#now += ms;
			run();
		};
		if (ms < STEP_MS / 10) return atOnce.after(ms, pass);
		const over = (): void => {
			this.#limits.delete(over);
			pass();
		};
		this.#limits.add(over);
		return () => void this.#limits.delete(over);
	}

	/** The time of the step is over. */
	end(): void {
		for (const over of [...this.#limits]) over();
	}
}

const TOOL_NAMES = ["look", "send", "skill_audit"];

export interface WorldOptions {
	readonly limits: PlanLimits;
	/** So often is each limit extended where nobody can be asked. Undefined: people are asked. */
	readonly unattended: number | undefined;
	/** Is a child that a process has left run again, instead of adopted? */
	readonly isPure: boolean;
	/** Is nothing rewound? A call whose end is adopted has its result, and not what its child has cost by then. */
	readonly isStraight: boolean;
}

export class PlanWorld {
	readonly engine = fragileEngine();
	readonly time = new StepTime();
	readonly copies: Copies;
	readonly model: Model;
	readonly tools: readonly Tool[];
	readonly skill: Skill;
	readonly options: WorldOptions;
	/** The calls of models for plans that were begun in all lives, and those of them that hung until their time was over. */
	readonly paid = { calls: 0, hung: 0 };
	/** How often each effect was made, by its key: those whose end nobody can say afterwards, and those of skills, which can be asked for. */
	readonly sent = new Map<string, number>();
	readonly signed = new Map<string, number>();
	/** By plan: the calls of models that are open. */
	readonly #open = new Map<string, number>();
	/** What skills were seen to do, and what steps were told. */
	readonly #meet: (what: string) => void;
	readonly #seed: number;
	readonly #random: Random;

	constructor(seed: number, random: Random, options: WorldOptions, meet: (what: string) => void) {
		this.#seed = seed;
		this.#random = random;
		this.#meet = meet;
		this.options = options;
		this.copies = new Copies((goal) => this.fatesOf(goal), !options.isPure && options.isStraight);
		this.model = { id: "world", generate: (request, { signal }) => this.#generate(request, signal) };
		this.tools = [this.#look(), this.#send()];
		this.skill = this.#audit();
	}

	/** The first thing that was not as it must be: what runs may take it for a failure of its own. */
	failure: unknown;

	/** Checks something while others run. */
	checked<T>(check: () => T): T {
		try {
			return check();
		} catch (error) {
			this.failure ??= error;
			throw error;
		}
	}

	/** Nobody can be asked what a child asks, where nobody can be asked. */
	get toolNames(): readonly string[] {
		return this.options.unattended === undefined ? TOOL_NAMES : TOOL_NAMES.slice(0, 2);
	}

	fatesOf(goal: string): Fates {
		const { limits, unattended } = this.options;
		return new Fates(this.#seed ^ hashOf(goal), limits, { unattended, childrenCost: this.#childrenCost });
	}

	get #childrenCost(): boolean {
		return !this.options.isPure && this.options.isStraight;
	}

	/** Those that were paid, and are not recorded. */
	get lost(): number {
		return this.paid.calls - this.paid.hung - this.copies.recorded;
	}

	#alive(): void {
		if (this.engine.isDead) throw new Error("killed");
	}

	async *#generate(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelPart> {
		this.#alive();
		const [first] = request.messages;
		const prompt = first && "text" in first ? first.text : "";
		if (request.system === "audit") return yield* this.#child(prompt, signal);
		const [, goal, id] = /^Goal: (.*)\nStep (\w+):/m.exec(prompt) ?? [];
		if (goal === undefined || id === undefined) return yield* this.#turn(request, signal);
		const turn = request.messages.filter(({ role }) => role === "assistant").length;
		const { now, of } = this.checked(() => this.copies.asks(goal, id, turn));
		this.paid.calls++;
		const step = this.copies.stepsOf(now).find((each) => each.id === id) as PlanStep;
		this.checked(() => expect(prompt).toContain(`Step ${id}: ${step.description}`));
		using _open = this.#opens(now.plan);
		const { attempt, fails, extended } = of;
		const { rounds, passing, hanging, final, long } = this.fatesOf(goal).behaviour(step, attempt);
		await this.#whileItThinks(signal);
		if (turn === final) throw Object.assign(new Error("no key"), { retryable: false });
		if (turn === passing.turn && fails < passing.times)
			throw Object.assign(new Error("busy"), { retryable: true, retryAfterMs: passing.retryAfterMs });
		if (
			turn === hanging.turn &&
			this.options.limits.stepSeconds !== undefined &&
			(extended.seconds ?? 0) < hanging.times
		) {
			this.paid.hung++;
			this.time.end();
			signal.throwIfAborted();
			throw new Error("its time should be over");
		}
		const calls = rounds[turn];
		if (calls)
			for (const [at, { name, args, fails: doesFail }] of calls.entries()) {
				const all = {
					skill_audit: { of: `${goal}|${now.plan}|${args.of}|${doesFail ? "no" : "yes"}` },
					look: { ...args, attempt, fails: doesFail },
					send: { ...args, fails: doesFail },
				}[name];
				yield { type: "toolCall", call: { id: `${id}-${turn}-${at}`, name, args: all } };
			}
		else {
			const [, given = ""] = prompt.split(`Step ${id}:`);
			const results = request.messages.flatMap((each) =>
				each.role === "tool" ? [factsIn(each.text)[0] ?? "ERROR"] : [],
			);
			yield { type: "text", text: textOf(step, attempt, factsIn(given), results, long) };
		}
		yield { type: "usage", usage: { inputTokens: TOKENS - 10, outputTokens: 10 } };
	}

	/** As many calls of a plan, those of children included, may be open as steps may run. */
	#opens(plan: string): Disposable {
		const count = (by: number): number => {
			const open = (this.#open.get(plan) ?? 0) + by;
			this.#open.set(plan, open);
			return open;
		};
		this.checked(() => expect(count(1), `open calls of ${plan}`).toBeLessThanOrEqual(this.options.limits.concurrency));
		return { [Symbol.dispose]: () => void count(-1) };
	}

	/** Some answers take longer, and some calls hear late that they are cut. */
	async #whileItThinks(signal: AbortSignal): Promise<void> {
		for (let turns = 1 + this.#random.below(3); turns > 0; turns--) await new Promise(setImmediate);
		signal.throwIfAborted();
		this.#alive();
	}

	async *#turn({ messages }: ModelRequest, signal: AbortSignal): AsyncIterable<ModelPart> {
		await this.#whileItThinks(signal);
		const last = messages.at(-1);
		const goal = last?.role === "user" ? /^plan (.*)$/.exec(last.text)?.[1] : undefined;
		if (goal === undefined) yield { type: "text", text: "hello" };
		else {
			const { steps } = this.copies.made.get(goal) as Decomposition;
			yield { type: "toolCall", call: { id: "1", name: PLAN_TOOL, args: { goal, steps } } };
		}
		yield { type: "usage", usage: { inputTokens: 10, outputTokens: 1 } };
	}

	async *#child(prompt: string, signal: AbortSignal): AsyncIterable<ModelPart> {
		const [part = "", of = ""] = prompt.split(" ");
		this.checked(() => this.copies.asksChild(of.split("|")[1] ?? "", of, Number(part)));
		this.paid.calls++;
		using _open = this.#opens(of.split("|")[1] ?? "");
		await this.#whileItThinks(signal);
		yield { type: "text", text: `seen ${part}` };
		const cost = this.#childrenCost ? CHILD_TOKENS : 0;
		yield { type: "usage", usage: { inputTokens: cost, outputTokens: 0 } };
	}

	/** A child asks its model, a person, and its model again, and signs once, where it is allowed to. */
	#audit(): Skill {
		const ask = (part: number, of: string) => ({
			...{ system: "audit", messages: [{ role: "user" as const, text: `${part} ${of}` }], tools: [] },
		});
		return defineSkill<{ of: string }>({
			...{ name: "audit", description: "audits", purity: this.options.isPure ? "pure" : "side_effect" },
			...{ input: z.looseObject({ of: z.string() }), start: "look" },
			phases: {
				look: async ({ model, ask: askPerson }, { of }) => {
					await model(ask(0, of));
					return next("sign", await askPerson(`sign ${of}?`, { choices: ["yes", "no"] }));
				},
				sign: async ({ model, step, abort }, { of }, before) => {
					if (before !== "yes") abort("it is not signed");
					await step("sign", async ({ idempotencyKey = "" }) => this.#does(this.signed, idempotencyKey), {
						purity: "side_effect",
						reconcile: async (key) => (this.signed.has(key) ? { kind: "done", result: "done" } : { kind: "not_done" }),
					});
					await model(ask(1, of));
					this.#meet("child, signed");
					return done(marked(`audited ${of.split("|")[2]}`));
				},
			},
		}) as Skill;
	}

	#does(ledger: Map<string, number>, key: string): string {
		this.#alive();
		ledger.set(key, (ledger.get(key) ?? 0) + 1);
		return "done";
	}

	/** What it sees is of the attempt, as the world changes until somebody tries again. */
	#look(): Tool {
		const tool = { name: "look", description: "looks", parameters: {}, purity: "world" as const };
		return {
			...tool,
			call: async (args) => {
				const { step, attempt, round, fails } = args as Record<string, unknown>;
				if (fails) throw Object.assign(new Error("fog"), { retryable: false });
				return marked(`look ${step} ${attempt} ${round}`);
			},
		};
	}

	#send(): Tool {
		const tool = { name: "send", description: "sends", parameters: {}, purity: "side_effect" as const };
		return {
			...tool,
			call: async (args, { idempotencyKey = "" }) => {
				const { to, fails } = args as { to: string; fails?: boolean };
				this.#does(this.sent, idempotencyKey);
				if (fails) throw Object.assign(new Error("no such person"), { retryable: false });
				return marked(`sent ${to}`);
			},
		};
	}
}
