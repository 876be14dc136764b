/** A text that has come to its end makes nothing when it is edited back: whatever was cut before and between, and found by content meanwhile. */
import { expect, test } from "vitest";
import { type Random, SEED, seeded } from "../../../../tests/kit/seeded.ts";
import { sample } from "../../../../tests/sample.ts";
import type { Model, ModelPart } from "../../src/index.ts";
import type { Reuse } from "../../src/script/index.ts";
import type { ProcessOptions } from "../script/script-process.ts";
import { script } from "../script/script-process.ts";
import { Run } from "./lives.ts";

/** An agent of two rounds that mails in between, one of a single round, and an effect: equal wherever they stand. */
const calls = [
	'await ctx.agent("mails", { tools: ["mail"] });',
	'await ctx.agent("f");',
	'await ctx.tool("post", { text: "t" });',
];

type Branches = readonly (readonly string[])[];

const textOf = (branches: Branches): string =>
	script(
		`await ctx.parallel([${branches.map((branch) => `async () => { ${branch.join(" ")} }`).join()}]); ${calls[0]} return null;`,
	);

/** With a call more at the front of a branch, or without one. */
function edited(branches: Branches, random: Random): Branches {
	const at = random.below(branches.length);
	return branches.map((branch, i) => {
		if (i !== at) return branch;
		return branch.length > 1 && random.chance(0.3) ? branch.slice(1) : [random.pick(calls), ...branch];
	});
}

class Lives {
	readonly random: Random;
	readonly #more: { -readonly [Key in keyof ProcessOptions]: ProcessOptions[Key] } = {};
	readonly #run: Run;
	#answers = 0;

	constructor(seed: number) {
		this.random = seeded(seed);
		const later = (): number => 1 + this.random.below(4);
		this.#run = new Run(() => ({ ms: later() }), this.#more);
		const { time } = this.#run;
		const answer = (): string => `answer ${++this.#answers}`;
		const made = (what: string): void => void this.#run.process.made.push(what);
		const model: Model = {
			id: "m",
			async *generate({ messages }): AsyncIterable<ModelPart> {
				const [first] = messages;
				const text = first?.role === "user" ? first.text : "";
				made(text);
				await new Promise<void>((resolve) => void time.after(later(), resolve));
				yield text === "mails" && messages.length === 1
					? { type: "toolCall", call: { id: "1", name: "mail", args: { text: "to all" } } }
					: { type: "text", text: answer() };
				yield { type: "usage", usage: { inputTokens: 1, outputTokens: 1 } };
			},
		};
		this.#more.model = model;
	}

	get made(): readonly string[] {
		return this.#run.process.made;
	}

	/** @param appends that it lives for; undefined: to its end */
	async live(branches: Branches, reuse: Reuse, appends?: number) {
		delete this.#more.appends;
		if (appends !== undefined) this.#more.appends = appends;
		const ended = await this.#run.live(textOf(branches), { reuse });
		this.#run.time.kill();
		return ended;
	}
}

interface Texts {
	readonly whole: Branches;
	/** What it was edited to before it came to its end, and behind that. */
	readonly before: Branches;
	readonly between: Branches;
}

function anyTexts(random: Random): Texts {
	const whole = Array.from({ length: 2 + random.below(2) }, () =>
		Array.from({ length: 1 + random.below(2) }, () => random.pick(calls)),
	);
	return { whole, before: edited(whole, random), between: edited(whole, random) };
}

const [mails = "", f = "", post = ""] = calls;

/** Cut at about these places, every third history once made a payment again: a neighbour went on with rounds that were another call's in the text before. */
const known: Texts = {
	whole: [[f], [post], [f, mails]],
	before: [[f], [f, post, mails], [f, mails]],
	between: [[f], [mails, post], [f, mails]],
};

const first = SEED * 1_000_000;
const RUNS = Number(process.env.REYN_RUNS ?? sample(20, 80));

test(`a text that has completed makes nothing when it is edited back (${RUNS} histories)`, async () => {
	for (let seed = first; seed < first + RUNS; seed++) {
		const lives = new Lives(seed);
		const { random } = lives;
		const isKnown = seed % 2 === 0;
		const reuse = (): Reuse => (isKnown || random.chance(0.7) ? "content" : "prefix");
		const { whole, before, between } = isKnown ? known : anyTexts(random);
		const near = (appends: number): number => appends - 2 + random.below(5);
		const cuts: readonly (readonly [Branches, number])[] = isKnown
			? [
					[whole, near(8)],
					[before, near(12)],
					[whole, near(2)],
					[whole, near(7)],
				]
			: Array.from({ length: random.below(5) }, () => [random.chance(0.3) ? before : whole, 1 + random.below(14)]);
		for (const [text, appends] of cuts) await lives.live(text, reuse(), appends);
		const ended = await lives.live(whole, reuse());
		expect(ended, `seed ${seed}`).toMatchObject({ status: "completed" });
		for (let i = isKnown ? 2 : 1 + random.below(2); i > 0; i--)
			await lives.live(between, reuse(), isKnown ? near(8) : 1 + random.below(16));
		const again = await lives.live(whole, reuse());
		expect({ again, made: lives.made }, `seed ${seed}`).toEqual({ again: ended, made: [] });
	}
});
