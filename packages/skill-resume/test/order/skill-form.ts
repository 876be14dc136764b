/**
 * Random programs as phases of a skill: the same ones as in scripts and journals, all in the one lane that a phase has. People are asked,
 * and half of the calls that are made of calls are skills of their own, which run as children.
 */
import type { Model } from "@reyn/journal";
import { memoryEngine } from "@reyn/wal";
import { z } from "zod";
import { type CutEngine, cutEngine } from "../../../journal/test/order/cut-engine.ts";
import { FarSide, failedIn, tokenStore, tokensIn } from "../../../journal/test/order/far-side.ts";
import {
	insideProgram,
	insides,
	isRefusal,
	journalCalls,
	nestedStepOf,
	outcomeOf,
	recordsOf,
	stepOf,
} from "../../../journal/test/order/journal-form.ts";
import type { Form, Note } from "../../../journal/test/order/life.ts";
import {
	type At,
	type Call,
	type Calls,
	callsOf,
	follow,
	type Nested,
	type Program,
} from "../../../journal/test/order/program.ts";
import { defineSkill, done, type PhaseContext, type Skill } from "../../src/index.ts";
import { Process, question } from "../skill-process.ts";

interface Skills {
	engine: CutEngine;
	readonly store: ReturnType<typeof tokenStore>;
}

export const skills: Form<Skills> = {
	name: "skills",
	forgets: "after a failure",
	fresh: () => {
		const store = tokenStore(memoryEngine().blobs("main"));
		return { store, engine: cutEngine(store) };
	},
	cut: async ({ engine, store }, after) => ({ store, engine: await engine.cut(after) }),
	async live({ engine, store }, program, { delays, policy, number: life }, made, now) {
		const from = engine.tip;
		const tip = (): number => engine.tip;
		const far = new FarSide(program, { life, delays, tip, made, now });
		const notes: Note[] = [];
		// What its branches are told while a program that has thrown waits for what is under way goes nowhere.
		let isOver = false;
		const note = (line: string): void => void (isOver || notes.push({ line, tip: tip() }));
		const over = (): void => {
			isOver = true;
		};
		const disk = { ...engine, die() {}, revive() {} };
		const skills = [...callsOf(program)].flatMap((part) => (isChild(part) ? [childOf(part, far, note)] : []));
		const ask = ({ question: text }: { question: string }): Promise<string> => far.answer("ask", text);
		const process = await Process.start({ disk, model: modelOf(far), policy, skills, ask });
		const ports = { results: store, clock: far.time, timers: far.time };
		const ended = await outcomeOf(far, notes, () => process.work(skillOf(program, far, note, over), {}, ports));
		await process[Symbol.asyncDispose]();
		const failed = failedIn(await recordsOf(engine, tip()), from);
		const tokens = async (through: number, inside?: boolean): Promise<ReadonlySet<string>> =>
			tokensIn(await recordsOf(engine, through), store.begins, inside);
		return { number: life, ...ended, failed, notes, from, made: far.made, tip: tip(), now: far.time.now(), tokens };
	},
};

function skillOf(program: Program, far: FarSide, note: (line: string) => void, over: () => void): Skill<unknown> {
	return defineSkill({
		name: "program",
		description: "Follows a program.",
		input: z.unknown(),
		start: "follow",
		phases: {
			follow: async (context) => done(await follow(program, skillCalls(far, context, note)).finally(over)),
		},
	});
}

/** Is it a skill of its own, and not a step that is made of steps? */
const isChild = (part: Call | Nested): part is Nested => part.type === "nested" && part.kind === "post";

/** What it is made of, as a phase; its calls note what they are told, and share that among themselves. */
function childOf(part: Nested, far: FarSide, note: (line: string) => void): Skill {
	const program = insideProgram(part);
	return defineSkill({
		name: part.id,
		description: "Is made of calls.",
		input: z.object({ text: z.string(), path: z.string() }),
		start: "follow",
		phases: {
			follow: async (context, { path }) =>
				done(await follow(program, { ...skillCalls(far, context, note), root: path }, "asked*")),
		},
	}) as Skill;
}

function skillCalls(far: FarSide, context: PhaseContext, note: (line: string) => void): Calls {
	const { ask, model, now, parallel, random, skill, sleep, step } = context;
	const same = ({ path }: At): At => ({ path, forks: 0 });
	const insideOf = insides();
	const made = ({ name, call, ...options }: ReturnType<typeof stepOf>) => step(name, call, options);
	return {
		...journalCalls(far, () => undefined as never, note),
		call: async (_, call, text) => {
			if (call.kind === "ask") return ask(text);
			return call.kind === "llm" && call.tries === 1
				? (await model(question(text))).text
				: made(stepOf(far, call, text));
		},
		nested: (_, part, text) => {
			const path = insideOf(part);
			return isChild(part)
				? (skill(part.id, { text, path }) as Promise<string>)
				: made(nestedStepOf(far, part, text, path, note));
		},
		lanes: (at, bodies) => parallel(bodies.map((body) => () => body(same(at)))),
		pipeline: (at, items, stages) =>
			parallel(
				items.map((item) => async () => {
					let value = item;
					for (const stage of stages) value = await stage(value, same(at));
					return value;
				}),
			),
		phase: (at, _, body) => body(same(at)),
		sleep: (_, ms) => sleep(ms),
		now: async () => `now${await now()}`,
		random: () => `r${random()}`,
		isFatal: isRefusal,
	};
}

function modelOf(far: FarSide): Model {
	return {
		id: "far",
		async *generate({ messages: [first] }) {
			yield {
				type: "text",
				text: await far.answer("llm", first?.role === "user" ? first.text : "", { isModel: true }),
			};
			yield { type: "usage", usage: { inputTokens: 1, outputTokens: 1 } };
		},
	};
}
