/** Steps inside a step: recorded one by one, so a kill costs the open call alone. */
import { describe, expect, test } from "vitest";
import {
	askModel,
	Lane,
	type Model,
	type ModelPart,
	type Step,
	type StepContext,
	type StepEvent,
} from "../src/index.ts";
import { DyingLog, scope, using } from "./dying-log.ts";

const request = { system: "", messages: [{ role: "user", text: "go on" }], tools: [] } as const;
const usage: ModelPart = { type: "usage", usage: { inputTokens: 10, outputTokens: 1 } };

/** A model that counts its answers. */
function counting(): { model: Model; answers: () => number } {
	let answers = 0;
	const model: Model = {
		id: "counting",
		async *generate() {
			yield { type: "text", text: `answer ${++answers}` };
			yield usage;
		},
	};
	return { model, answers: () => answers };
}

/** A step that asks a model some times, and gives what it said. */
const asking = (model: Model, times: number, more: Partial<Step<string[]>> = {}): Step<string[]> => ({
	kind: "step",
	name: "research",
	args: {},
	purity: "external",
	async call({ lane }: StepContext) {
		const texts: string[] = [];
		for (let i = 0; i < times; i++) texts.push((await askModel(lane, model, request)).text);
		return texts;
	},
	...more,
});

describe("model calls inside a step are recorded one by one", () => {
	test("killed after any append, the step is called again, and pays only for the call that was open", async () => {
		const whole = ["answer 1", "answer 2", "answer 3"];
		// started, answer 1, answer 2, answer 3, completed
		for (let death = 0; death <= 5; death++) {
			const { model, answers } = counting();
			const log = new DyingLog(death);
			await new Lane("a", scope, using(log)).perform(asking(model, 3)).catch(() => {});
			const paid = answers();
			const known = log.kinds.filter((kind) => kind === "step_completed").length;
			log.revive();
			const texts = await new Lane("a", scope, using(log)).perform(asking(model, 3));
			expect(answers() - paid, `death after ${death} appends`).toBe(Math.max(0, 3 - known));
			expect(texts.slice(0, known)).toEqual(whole.slice(0, known));
			expect(answers(), "one call was open at most").toBeLessThanOrEqual(4);
		}
	});

	test("a try after one that failed recalls what that one was told", async () => {
		const { model, answers } = counting();
		const failing = asking(model, 2, { retry: { maxAttempts: 2, initialIntervalMs: 0 } });
		const call = async (context: StepContext): Promise<string[]> => {
			const texts = await failing.call(context);
			if (context.attempt === 1) throw new Error("busy");
			return texts;
		};
		expect(await new Lane("a", scope, using(new DyingLog())).perform({ ...failing, call })).toEqual([
			"answer 1",
			"answer 2",
		]);
		expect(answers()).toBe(2);
	});

	test("once the step is recorded, it is recalled with its result, and nothing inside it is asked", async () => {
		const { model, answers } = counting();
		const log = new DyingLog();
		await new Lane("a", scope, using(log)).perform(asking(model, 2));
		const { length } = log.records;
		const events: string[] = [];
		const observe = ({ name, type }: StepEvent): void => void events.push(`${name} ${type}`);
		expect(await new Lane("a", scope, using(log, { observe })).perform(asking(model, 2))).toHaveLength(2);
		expect([answers(), log.records.length, events]).toEqual([2, length, ["research ghost"]]);
	});

	test("two equal steps of a lane do not share what is inside them, and a step in a step has its own", async () => {
		const { model, answers } = counting();
		const log = new DyingLog();
		const outer: Step<string[]> = {
			...asking(model, 0),
			call: async ({ lane }) => [...(await lane.perform(asking(model, 1))), ...(await lane.perform(asking(model, 1)))],
		};
		const run = async (lane: Lane): Promise<string[]> => [
			...(await lane.perform(outer)),
			...(await lane.perform(outer)),
		];
		const texts = ["answer 1", "answer 2", "answer 3", "answer 4"];
		expect(await run(new Lane("a", scope, using(log)))).toEqual(texts);
		expect(await run(new Lane("a", scope, using(log)))).toEqual(texts);
		expect(answers()).toBe(4);
	});

	test("what a step cost is told by the calls inside it, and the step says that it was they who paid", async () => {
		const { model } = counting();
		const events: StepEvent[] = [];
		const total = () => ({ inputTokens: 20, outputTokens: 2 });
		const lane = new Lane("a", scope, using(new DyingLog(), { observe: (event) => events.push(event) }));
		await lane.perform(asking(model, 2, { usage: total }));
		const live = events.filter((event) => event.type === "live");
		expect(live.map(({ name, inner, usage }) => [name, inner, usage?.inputTokens])).toEqual([
			["counting", false, 10],
			["counting", false, 10],
			["research", true, 20],
		]);
	});
});

describe("a model's stream counts when it is complete", () => {
	/** Says a word, and then what the test says. */
	const model = (then: (signal: AbortSignal) => AsyncIterable<ModelPart>): Model => ({
		id: "m",
		async *generate(_, { signal }) {
			yield { type: "text", text: "half " };
			yield* then(signal);
		},
	});
	const whole = model(async function* () {
		yield { type: "text", text: "an answer" };
		yield usage;
	});

	test("a whole one is recorded with its usage, and given again in one piece", async () => {
		const log = new DyingLog();
		const [first, again]: string[][] = [[], []];
		await askModel(new Lane("a", scope, using(log)), whole, request, (text) => first?.push(text));
		const answer = await askModel(new Lane("a", scope, using(log)), whole, request, (text) => again?.push(text));
		expect([first, again]).toEqual([["half ", "an answer"], ["half an answer"]]);
		expect(answer).toEqual({ text: "half an answer", toolCalls: [], usage: { inputTokens: 10, outputTokens: 1 } });
		expect(log.records.map(({ data }) => data)).toMatchObject([{ usage: { inputTokens: 10, outputTokens: 1 } }]);
	});

	test.each<[string, RegExp, Model]>([
		[
			"breaks with an error",
			/connection reset/,
			model(async function* () {
				yield { type: "text", text: "an" };
				throw new Error("connection reset");
			}),
		],
		[
			"ends before its usage",
			/broke off/,
			model(async function* () {
				yield { type: "text", text: "an" };
			}),
		],
	])("one that %s leaves no answer, and is asked again", async (_, message, broken) => {
		const log = new DyingLog();
		const once = using(log, { modelPolicy: { retry: { maxAttempts: 1 } } });
		await expect(askModel(new Lane("a", scope, once), broken, request)).rejects.toThrow(message);
		expect(log.kinds).not.toContain("step_completed");
		expect((await askModel(new Lane("a", scope, using(log)), whole, request)).text).toBe("half an answer");
	});

	test.each<[string, (signal: AbortSignal) => AsyncIterable<ModelPart>]>([
		[
			"stops",
			async function* (signal) {
				signal.throwIfAborted();
				yield usage;
			},
		],
		[
			"goes on all the same",
			async function* () {
				yield { type: "text", text: "an answer" };
				yield usage;
			},
		],
		["ends early", async function* () {}],
	])("one that is cancelled leaves nothing, whether the model %s", async (_, then) => {
		const log = new DyingLog();
		const controller = new AbortController();
		const lane = new Lane("a", scope, using(log, { signal: controller.signal }));
		const cancel = (): void => controller.abort(new Error("cancelled"));
		await expect(askModel(lane, model(then), request, cancel)).rejects.toThrow(/cancelled|broke off/);
		expect(log.kinds).toEqual([]);
		expect((await askModel(new Lane("a", scope, using(log)), whole, request)).text).toBe("half an answer");
	});
});
