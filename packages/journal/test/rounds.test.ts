/**
 * A loop that goes on in another life, with other tools, instructions or another model: what is recorded of it counts, is not paid again,
 * and no effect of it is made twice. Random loops, kills and changes: `REYN_RUNS` sets how many are told, `REYN_SEED` which.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { histories } from "../../../tests/sample.ts";
import { agentLoop, Lane, type Model, stepCompleted, type Tool, type Using } from "../src/index.ts";
import { DyingLog, scope, using } from "./dying-log.ts";

const told = histories(100, 1000);

interface Loop {
	readonly prompt: string;
	/** The tools that each round asks for; then it answers. */
	readonly rounds: readonly (readonly string[])[];
	readonly lane: string;
}
interface Life {
	/** Killed after so many records. */
	readonly records: number;
	readonly system: string;
	readonly model: string;
	/** How the tools are described. */
	readonly words: string;
	/** One that is not there. */
	readonly without: string | undefined;
}

const anyLoop: fc.Arbitrary<Loop> = fc.record({
	prompt: fc.constantFrom("a", "b", "c", "d"),
	rounds: fc.array(fc.array(fc.constantFrom("pay", "mail", "look"), { minLength: 1, maxLength: 2 }), { maxLength: 3 }),
	lane: fc.constantFrom("x", "x", "y"),
});
const anyLife: fc.Arbitrary<Life> = fc.record({
	records: fc.integer({ min: 0, max: 14 }),
	system: fc.constantFrom("short", "long"),
	model: fc.constantFrom("m", "n"),
	words: fc.constantFrom("does", "can do"),
	without: fc.constantFrom(undefined, undefined, undefined, "pay", "look"),
});

/** What all lives see of the world. */
class World {
	/** Effects by key of the call. */
	readonly made = new Map<string, string>();
	readonly doubled: string[] = [];
	/** What tools had said when a model was asked last. */
	shown: readonly string[] = [];
	/** Answers that were paid for. */
	paid = 0;
	#nonce = 0;
	/** Does a model say all in other words when it is asked again? Else equal calls come in many rounds. */
	readonly #isFresh: boolean;

	constructor(isFresh = true) {
		this.#isFresh = isFresh;
	}

	/** Says the same in other words each time. */
	model(id: string, loops: readonly Loop[]): Model {
		const world = this;
		return {
			id,
			async *generate({ messages }) {
				const [first] = messages;
				const loop = loops.find(({ prompt }) => prompt === first?.text);
				const round = messages.filter(({ role }) => role === "assistant").length;
				const nonce = ++world.#nonce;
				world.paid++;
				world.shown = messages.flatMap((each) => (each.role === "tool" ? [each.text] : []));
				const calls = loop?.rounds[round] ?? [];
				for (const [i, name] of calls.entries())
					yield { type: "toolCall", call: { id: `${nonce}-${i}`, name, args: world.#isFresh ? { nonce, i } : {} } };
				if (calls.length === 0) yield { type: "text", text: `done ${nonce}` };
				yield { type: "usage", usage: { inputTokens: 1, outputTokens: 1 } };
			},
		};
	}

	tools({ words, without }: Pick<Life, "words" | "without">): readonly Tool[] {
		const effect = (name: string): Tool => ({
			name,
			description: `${words} ${name}`,
			parameters: {},
			purity: "side_effect",
			call: async (args, { idempotencyKey = "" }) => {
				if (this.made.has(idempotencyKey)) this.doubled.push(idempotencyKey);
				this.made.set(idempotencyKey, `${name} ${JSON.stringify(args)}`);
				return `${name} is done`;
			},
			reconcile: async (key) =>
				this.made.has(key) ? { kind: "done", result: `${name} is done` } : { kind: "not_done" },
		});
		const look: Tool = { ...effect("look"), purity: "external", call: async () => "sunny" };
		return [effect("pay"), effect("mail"), look].filter(({ name }) => name !== without);
	}
}

async function live(log: DyingLog, world: World, loops: readonly Loop[], life: Omit<Life, "records">): Promise<number> {
	const lanes = new Map<string, Lane>();
	const ports = using(log);
	const ended = await Promise.allSettled(
		loops.map(({ prompt, lane: path }) => {
			const lane = lanes.get(path) ?? new Lane(path, scope, ports);
			lanes.set(path, lane);
			const request = { system: life.system, messages: [{ role: "user" as const, text: prompt }] };
			return agentLoop(lane, world.model(life.model, loops), request, world.tools(life), { maxRounds: 9 });
		}),
	);
	// While one waits for its tool, an effect of another in the same lane may be refused: nothing was made then.
	const refused = life.without === undefined ? /killed/ : /killed|waits for the tool|steps are not asked for/;
	for (const each of ended)
		if (each.status === "rejected" && !refused.test(String(each.reason.message))) throw each.reason;
	return ended.filter(({ status }) => status === "fulfilled").length;
}

test("random loops over lives with other tools, instructions and models pay each round once", async () => {
	let recalled = 0;
	await fc.assert(
		fc.asyncProperty(
			fc.uniqueArray(anyLoop, { minLength: 1, maxLength: 3, selector: ({ prompt }) => prompt }),
			fc.array(anyLife, { minLength: 1, maxLength: 4 }),
			fc.boolean(),
			fc.boolean(),
			async (different, lives, isFresh, hasTwin) => {
				// Two loops that cannot be told apart but by their order.
				const loops = hasTwin ? [...different, different[0] as Loop] : different;
				const [world, log] = [new World(isFresh), new DyingLog()];
				let kills = 0;
				for (const life of lives) {
					log.revive(life.records);
					if ((await live(log, world, loops, life)) < loops.length) kills++;
				}
				log.revive();
				const answers = () => log.records.filter((each) => stepCompleted.is(each) && each.data.kind === "model").length;
				recalled += answers();
				const last = { system: "last", model: "last", words: "last", without: undefined };
				expect(await live(log, world, loops, last)).toBe(loops.length);
				const rounds = loops.reduce((sum, { rounds }) => sum + rounds.length + 1, 0);
				// Recorded once each; those that were open at a kill may have been paid once more each time.
				expect(answers()).toBe(rounds);
				expect(world.paid).toBeLessThanOrEqual(rounds + kills * loops.length);
				const effects = loops.flatMap((each) => each.rounds.flat()).filter((name) => name !== "look");
				expect(world.doubled).toEqual([]);
				const missing = lives.some(({ without }) => without === "pay");
				// A tool that was not there was told so, and that is all.
				if (missing) expect(world.made.size).toBeLessThanOrEqual(effects.length);
				else expect(world.made.size).toBe(effects.length);
			},
		),
		told,
	);
	expect(recalled).toBeGreaterThan(told.numRuns);
});

describe("a tool that is not there any more", () => {
	const loops: readonly Loop[] = [{ prompt: "a", rounds: [["pay"]], lane: "x" }];
	const life = { system: "s", model: "m", words: "does", without: undefined };
	const records = async (): Promise<number> => {
		const log = new DyingLog();
		await live(log, new World(), loops, life);
		return log.records.length;
	};

	test("whose call is over: what it said counts", async () => {
		const [world, log] = [new World(), new DyingLog()];
		log.revive((await records()) - 1);
		expect(await live(log, world, loops, life)).toBe(0);
		log.revive();
		expect(await live(log, world, loops, { ...life, without: "pay" })).toBe(1);
		expect([world.made.size, world.shown]).toEqual([1, ["pay is done"]]);
		expect(log.records.filter((each) => stepCompleted.is(each) && each.data.kind === "tool")).toHaveLength(1);
	});

	test("whose call is in doubt: the work waits until it is there, and then asks it", async () => {
		const [world, log] = [new World(), new DyingLog()];
		// The answer, and the start of the payment.
		log.revive(2);
		expect(await live(log, world, loops, life)).toBe(0);
		expect(world.made.size).toBe(1);
		log.revive();
		expect(await live(log, world, loops, { ...life, without: "pay" })).toBe(0);
		expect(log.records).toHaveLength(2);
		expect(await live(log, world, loops, life)).toBe(1);
		expect([world.made.size, world.paid]).toEqual([1, 2]);
	});
});

test("an answer is given to one loop alone, also where another with the same messages is asked by its model now", async () => {
	const log = new DyingLog();
	const world = new World();
	const loops: readonly Loop[] = [{ prompt: "a", rounds: [], lane: "x" }];
	const ask = (ids: readonly string[], held?: string) => {
		const gate: Using["gate"] = async ({ name }) =>
			name === held ? { kind: "wait", for: "its provider" } : { kind: "pass" };
		const lane = new Lane("x", scope, using(log, { gate }));
		const request = { system: "s", messages: [{ role: "user" as const, text: "a" }] };
		const all = ids.map((id) => agentLoop(lane, world.model(id, loops), request, [], { maxRounds: 2 }));
		return Promise.all(
			all.map((each) =>
				each.then(
					({ reply }) => reply.text,
					({ code }) => code,
				),
			),
		);
	};
	expect(await ask(["m", "n"], "m")).toEqual(["CALL_WAITING", "done 1"]);
	expect(await ask(["n", "n"])).toEqual(["done 2", "done 1"]);
	expect(await ask(["n", "n"])).toEqual(["done 2", "done 1"]);
	expect(world.paid).toBe(2);
});

test("what a tool failed with waits for it, where it may be tried again and is gone", async () => {
	const log = new DyingLog();
	const loops: readonly Loop[] = [{ prompt: "a", rounds: [["pay"]], lane: "x" }];
	const world = new World();
	let isClosed = true;
	const [found] = world.tools({ words: "does", without: undefined });
	const pay: Tool = {
		...(found as Tool),
		async call() {
			if (isClosed) throw Object.assign(new Error("the bank is closed"), { retryable: true });
			return "pay is done";
		},
	};
	const life = (tools: readonly Tool[], records = Number.POSITIVE_INFINITY) => {
		log.revive(records);
		const request = { system: "s", messages: [{ role: "user" as const, text: "a" }] };
		const ended = agentLoop(new Lane("x", scope, using(log)), world.model("m", loops), request, tools, {
			maxRounds: 3,
		});
		return ended.then(
			() => world.shown,
			(error: { code?: string; message: string }) => error.code ?? error.message,
		);
	};
	// The answer, the start and the failure; no more.
	expect(await life([pay], 3)).toBe("killed");
	const { length } = log.records;
	expect(await life([])).toBe("CALL_WAITING");
	expect(log.records).toHaveLength(length);
	isClosed = false;
	expect(await life([pay])).toEqual(["pay is done"]);
});

test("a round does not count behind others that do not: it is of another conversation", async () => {
	const log = new DyingLog();
	const world = new World();
	const loops: readonly Loop[] = [{ prompt: "a", rounds: [["look"], ["look"]], lane: "x" }];
	const { append } = log;
	// As written before there were rounds.
	log.append = (draft, at) => {
		const { round: _, ...data } = draft.data as { round?: string };
		return append.call(log, { ...draft, data }, at);
	};
	const loop = (maxRounds: number, system = "short") => {
		const request = { system, messages: [{ role: "user" as const, text: "a" }] };
		const tools = world.tools({ words: "does", without: undefined });
		return agentLoop(new Lane("x", scope, using(log)), world.model("m", loops), request, tools, { maxRounds });
	};
	await expect(loop(1)).rejects.toMatchObject({ code: "AGENT_TURNS" });
	log.append = append;
	await expect(loop(2)).rejects.toMatchObject({ code: "AGENT_TURNS" });
	expect(world.paid).toBe(2);
	const { reply } = await loop(3, "long");
	expect([world.paid, reply.text]).toEqual([5, "done 5"]);
	expect((await loop(3, "short, again")).reply.text).toBe("done 5");
	expect(world.paid).toBe(5);
});
