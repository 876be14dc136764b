/** What is found wrong with a call once it has been made: that is how it ended, and no later life makes it again. */
import { memoryEngine } from "@reyn/wal";
import { describe, expect, test } from "vitest";
import {
	askModel,
	type Journal,
	type Model,
	type ModelPart,
	openJournal,
	type Purity,
	type StepContext,
	type StepOptions,
} from "../src/index.ts";

const LIVES = 3;

/** What each of three lives of a process is told of the same work. */
async function lives(work: (journal: Journal) => Promise<unknown>): Promise<unknown[]> {
	const engine = memoryEngine();
	const told: unknown[] = [];
	for (let life = 0; life < LIVES; life++) {
		await using journal = await openJournal(engine);
		told.push(await work(journal).catch(({ code, message, name }) => ({ code, message, name })));
	}
	return told;
}

/** Makes a call in three lives: what they were told, which is the same, and how often it was made. */
async function called(
	call: (context: StepContext) => unknown,
	options: StepOptions<unknown> = {},
): Promise<{ told: unknown; calls: number }> {
	let calls = 0;
	const make = (context: StepContext): unknown => {
		calls++;
		return call(context);
	};
	const [told, ...later] = await lives((journal) => journal.step("pay", make, options));
	expect(later).toEqual([told, told]);
	return { told, calls };
}

/** Lists within lists. */
function nested(levels: number): unknown {
	let list: unknown[] = [];
	for (let i = 1; i < levels; i++) list = [list];
	return list;
}

const fail = (): never => {
	throw new Error("it has a trap");
};
const trap = (): object => new Proxy({}, { get: fail, getPrototypeOf: fail, ownKeys: fail });
/** Says something else each time that it is read. */
function moving(): object {
	let reads = 0;
	return {
		get reads() {
			return ++reads;
		},
	};
}

describe.each<Purity>(["side_effect", "external", "llm"])("a result of %s that cannot be kept", (purity) => {
	test.each<[string, () => unknown, string, RegExp]>([
		["nested 61 deep", () => nested(61), "WAL_TOO_LARGE", /60 deep; found more at \/0\/0/],
		["nested 5,000 deep", () => nested(5000), "WAL_TOO_LARGE", /60 deep/],
		["a getter that throws", () => ({ a: [{ get b() { return fail(); } }] }), "WAL_NOT_JSON", /a trap.* at \/a\/0\/b$/], // biome-ignore format: one line
		["a Proxy that throws", () => ({ a: trap() }), "WAL_NOT_JSON", /a trap.* at \/a$/],
		["toJSON throws", () => ({ a: { toJSON: fail } }), "WAL_NOT_JSON", /a trap.* at \/a$/],
		["toJSON gives itself", () => ({ toJSON() { return this; } }), "WAL_NOT_JSON", /when it is read/], // biome-ignore format: one line
	])("%s: the call has failed, and is not made again", async (_, give, code, message) => {
		const { told, calls } = await called(give, { purity });
		expect(told).toMatchObject({ code, message: expect.stringMatching(message) });
		expect(calls).toBe(1);
	});

	test.each<[string, () => unknown, RegExp]>([
		["throws", fail, /it threw: it has a trap/],
		["is negative", () => ({ inputTokens: -1, outputTokens: 0 }), /inputTokens: /],
		["is no number", () => ({ inputTokens: 0, outputTokens: Number.NaN }), /outputTokens: /],
		["is a fraction", () => ({ inputTokens: 0.5, outputTokens: 0 }), /inputTokens: /],
		["is beyond all counting", () => ({ inputTokens: 1e300, outputTokens: 0 }), /inputTokens: /],
		["is null", () => null, /object/],
	])("whose usage %s: the call has failed with STEP_USAGE, and is not made again", async (_, usage, message) => {
		const { told, calls } = await called(() => "paid", { purity, usage: usage as () => never });
		expect(told).toMatchObject({ code: "STEP_USAGE", message: expect.stringMatching(message) });
		expect(calls).toBe(1);
	});

	test("nested 60 deep, or with a getter, it is kept: as it was read the first time", async () => {
		expect(await called(() => nested(60), { purity })).toEqual({ told: nested(60), calls: 1 });
		expect(await called(moving, { purity })).toEqual({ told: { reads: 1 }, calls: 1 });
	});
});

const odd = (fields: object): Error => Object.assign(new Error("odd"), fields);

describe("an effect that throws", () => {
	test.each<[string, () => unknown, object]>([
		["a message that throws", () => Object.defineProperty(new Error(), "message", { get: fail }), {}],
		["a code that throws", () => Object.defineProperty(new Error("no"), "code", { get: fail }), { message: "no" }],
		["a message that is no text", () => odd({ message: Object.create(null) }), {}],
		["a thing without an error, whose fields throw", () => ({ get message() { return fail(); }, get code() { return fail(); } }), {}], // biome-ignore format: one line
		["a Proxy that throws", trap, {}],
		["a cause that throws", () => new Error("no", { cause: trap() }), { message: "no" }],
		["a detail nested 5,000 deep", () => odd({ detail: nested(5000) }), { message: "odd" }],
		["a code of 9 MB", () => odd({ code: "x".repeat(9 * 2 ** 20) }), { message: "odd" }],
	])("%s has failed, and is not made again", async (_, make, said) => {
		const thrown = make();
		const { told, calls } = await called(() => {
			throw thrown;
		});
		expect(told).toMatchObject({ message: expect.stringMatching(/./), ...said });
		expect(calls).toBe(1);
	});

	test.each(["STEP_DISCARDED", "STALE_LINEAGE", "REPLAY_DIVERGENCE"])(
		"an error of its own with the code %s has failed, and is not made again",
		async (code) => {
			expect(await called(() => Promise.reject(odd({ code })))).toEqual({
				told: { code, message: "odd", name: "Error" },
				calls: 1,
			});
		},
	);

	test("whose policy of tries throws too has failed, and is not made again", async () => {
		const options = { retry: { maxAttempts: 3, shouldRetry: fail } };
		expect(await called(() => Promise.reject(odd({})), options)).toMatchObject({ told: { message: "odd" }, calls: 1 });
	});
});

describe("a purity that is none", () => {
	const purity = "sideeffect" as Purity;
	const refused = { code: "STEP_PURITY", message: expect.stringContaining("side_effect") };

	test("is refused before the call, each time, and a lane can be closed after that", async () => {
		expect(await called(() => "paid", { purity })).toMatchObject({ told: refused, calls: 0 });
		await using journal = await openJournal(memoryEngine());
		let calls = 0;
		const step = { kind: "step", name: "pay", args: {}, purity, call: async () => calls++ };
		await expect(journal.lane("a").perform(step)).rejects.toMatchObject(refused);
		const { purity: _, ...without } = step;
		await expect(journal.lane("a").perform(without as typeof step)).rejects.toMatchObject(refused);
		journal.closeLane("a");
		expect(calls).toBe(0);
	});
});

describe("what a model gives that is no answer", () => {
	const text = { type: "text", text: "hi" };
	const usage = (inputTokens: unknown) => ({ type: "usage", usage: { inputTokens, outputTokens: 1 } });
	const call = (more: object) => ({ type: "toolCall", call: { id: "c1", name: "pay", ...more } });
	const cycle: Record<string, unknown> = {};
	cycle.again = cycle;

	/** Asks a model that gives these parts in three lives: what they were told, which is the same, and how often it was asked. */
	async function asked(parts: readonly unknown[]): Promise<{ told: unknown; calls: number }> {
		let calls = 0;
		const model: Model = {
			id: "m",
			async *generate() {
				calls++;
				yield* parts as ModelPart[];
			},
		};
		const request = { system: "", messages: [], tools: [] };
		const [told, ...later] = await lives((journal) => askModel(journal.lane("a"), model, request));
		expect(later).toEqual([told, told]);
		return { told, calls };
	}

	test.each<[string, readonly unknown[], string, RegExp]>([
		["tokens below 0", [text, usage(-1)], "MODEL_ANSWER", /part 1 .*usage\.inputTokens/],
		["tokens that are no number", [text, usage(Number.NaN)], "MODEL_ANSWER", /usage\.inputTokens/],
		["a fraction of a token", [text, usage(1.5)], "MODEL_ANSWER", /usage\.inputTokens/],
		["tokens that are missing", [text, usage(undefined)], "MODEL_ANSWER", /usage\.inputTokens/],
		["tokens beyond all counting", [text, usage(1e300)], "MODEL_ANSWER", /usage\.inputTokens/],
		["a second usage", [text, usage(1), usage(1)], "MODEL_ANSWER", /part 2 .*exactly one/],
		["null for a part", [null, text, usage(1)], "MODEL_ANSWER", /part 0 .*object/],
		["a part of an unknown type", [{ type: "image" }, usage(1)], "MODEL_ANSWER", /part 0 .*type/],
		["a text that is none", [{ type: "text", text: 5 }, usage(1)], "MODEL_ANSWER", /part 0 .*text/],
		["a tool call without an id", [call({ id: undefined }), usage(1)], "MODEL_ANSWER", /part 0 .*call\.id/],
		["a BigInt for a tool", [call({ args: { x: 1n } }), usage(1)], "WAL_NOT_JSON", /toolCalls\/0\/args\/x/],
		["a cycle for a tool", [call({ args: cycle }), usage(1)], "WAL_NOT_JSON", /toolCalls\/0\/args\/again/],
		["a Map for a tool", [call({ args: { m: new Map() } }), usage(1)], "WAL_NOT_JSON", /toolCalls\/0\/args\/m/],
		["5,000 levels for a tool", [call({ args: nested(5000) }), usage(1)], "WAL_TOO_LARGE", /toolCalls\/0\/args\/0/],
	])("%s: it was paid for, and is not asked again", async (_, parts, code, message) => {
		const { told, calls } = await asked(parts);
		expect(told).toMatchObject({ code, message: expect.stringMatching(message) });
		expect(calls).toBe(1);
	});

	test("what a provider adds to a tool call is given back to it", async () => {
		const { told } = await asked([call({ args: {}, signature: "s" }), { ...usage(1), usage: { inputTokens: 1, outputTokens: 1, cached: 5n } }]); // biome-ignore format: one line
		expect(told).toMatchObject({
			toolCalls: [{ id: "c1", signature: "s" }],
			usage: { inputTokens: 1, outputTokens: 1 },
		});
	});
});
