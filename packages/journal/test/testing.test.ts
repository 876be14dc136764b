/** The suites of `@reyn/journal/testing` are themselves tested: what holds passes, and each planted defect is named by the test that it concerns. */
import { describe, expect, test } from "vitest";
import type { Model, ModelPart, Tool } from "../src/index.ts";
import { testModel, testTool } from "../src/testing/index.ts";

const model = (generate: Model["generate"], id = "m"): Model => ({ id, generate });
const usage: ModelPart = { type: "usage", usage: { inputTokens: 3, outputTokens: 1 } };
const text: ModelPart = { type: "text", text: "In a den." };
const callOf = (name: string, id = "c1"): ModelPart => ({ type: "toolCall", call: { id, name, args: {} } });

/** A model that gives these parts, and hears that it is cancelled. */
const saying = (...parts: readonly unknown[]): Model =>
	model(async function* (_request, { signal }) {
		for (const part of parts) {
			signal.throwIfAborted();
			yield part as ModelPart;
		}
		signal.throwIfAborted();
	});
const silent: Model = model(async function* (_request, { signal }) {
	await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
	signal.throwIfAborted();
	yield usage;
});
const parts = "gives parts that the log can keep, and says once, at the end, what they cost";
const calls = "calls tools that it was given, each call under an id of its own, and none where there are none";
const before = "gives nothing to whoever has cancelled before";
const middle = "gives nothing more to whoever cancels in the middle";

describe("testModel", () => {
	test("passes a model that holds to it", async () => {
		const good = model((request, options) =>
			(request.tools.length > 0 ? saying(callOf("search"), usage) : saying(text, usage)).generate(request, options),
		);
		expect(
			await failed((runner) => testModel(runner, { name: "good", make: () => good, makeSilent: () => silent })),
		).toEqual([]);
	});

	let made = 0;
	let shared = false;
	test.each<[string, () => Model, readonly string[]]>([
		["an id that changes", () => ({ ...saying(text, usage), id: `m${++made}` }), ["has an id, each time the same"]],
		["no id", () => ({ ...saying(text, usage), id: "" }), ["has an id, each time the same"]],
		["no usage", () => saying(text, text), [parts, "answers several requests at once, each whole"]],
		["two usages", () => saying(text, usage, usage), [parts, "answers several requests at once, each whole"]],
		["a part behind the usage", () => saying(usage, text), [parts]],
		["no word", () => saying(usage), [parts]],
		["tokens by halves", () => saying(text, { type: "usage", usage: { inputTokens: 0.5, outputTokens: 1 } }), [parts]],
		["a part of an unknown kind", () => saying({ type: "thought", text: "hm" }, text, usage), [parts]],
		[
			"a call whose arguments are no JSON",
			() => saying({ type: "toolCall", call: { id: "c", name: "search", args: { at: new Date(0) } } }, text, usage),
			[parts, calls],
		],
		["a tool that there is not", () => saying(text, callOf("fly"), usage), [calls]],
		["two calls of one id", () => saying(text, callOf("search"), callOf("search"), usage), [calls]],
		[
			"one answer for all who ask",
			() =>
				model(async function* (_request, { signal }) {
					signal.throwIfAborted();
					yield text;
					signal.throwIfAborted();
					if (shared) return;
					shared = true;
					await new Promise((resolve) => setImmediate(resolve));
					shared = false;
					yield usage;
				}),
			["answers several requests at once, each whole"],
		],
		[
			"a request that it writes into",
			() =>
				model(async function* (request, { signal }) {
					signal.throwIfAborted();
					(request.messages as unknown[]).push("me");
					yield* saying(text, usage).generate(request, { signal });
				}),
			[parts, calls, "answers several requests at once, each whole", middle, "can be left in the middle"],
		],
		[
			"no ear for its signal",
			() => model((request) => saying(text, usage).generate(request, { signal: new AbortController().signal })),
			[before, middle],
		],
		[
			"an answer that looks whole where it was cancelled",
			() =>
				model(async function* (_request, { signal }) {
					for (const part of [text, usage]) if (!signal.aborted) yield part;
				}),
			[before, middle],
		],
	])("names %s", async (_defect, make, names) => {
		expect(await failed((runner) => testModel(runner, { name: "bad", make }))).toEqual(names);
	});

	test("names an answer that cannot be left, and one that waits for ever", async () => {
		const clinging = (): Model => {
			const generate: Model["generate"] = (request, options) => {
				const answer = saying(text, usage).generate(request, options)[Symbol.asyncIterator]();
				const held = { next: () => answer.next(), return: () => new Promise<never>(() => {}) };
				return { [Symbol.asyncIterator]: () => held };
			};
			return model(generate);
		};
		const deaf = (): Model =>
			model(async function* () {
				await new Promise(() => {});
				yield usage;
			});
		expect(await failed((runner) => testModel(runner, { name: "bad", make: clinging, makeSilent: deaf }))).toEqual([
			"can be left in the middle",
			"stops waiting for its far side when it is cancelled",
		]);
	});
});

const says = "says what it is called, what it is for, and what it does to the world";
const takes = "says what it takes as a JSON Schema of an object, which its own arguments fit";
const answers = "answers with a text, and leaves its arguments as they are";
const refuses = "refuses other arguments with an error that has a code and says why in a line";
const cancelled = "does nothing for whoever has cancelled before, and gives the reason";
const meanwhile = "ends soon for whoever cancels meanwhile";

const tool: Tool = {
	name: "double",
	description: "Doubles a number.",
	parameters: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
	purity: "pure",
	async call(args, { signal }) {
		signal.throwIfAborted();
		const { n } = (args ?? {}) as { readonly n?: unknown };
		if (typeof n !== "number") throw Object.assign(new Error('expected "n", a number'), { code: "DOUBLE_ARGS" });
		return String(2 * n);
	},
};

describe("testTool", () => {
	const failures = (made: Tool) =>
		failed((runner) => testTool(runner, { name: "t", make: () => made, args: { n: 2 }, refused: [{ n: "two" }] }));
	const refusing = (error: unknown): Tool => ({
		...tool,
		call: (args, context) => tool.call(args, context).catch((thrown) => Promise.reject(thrown.code ? error : thrown)),
	});

	test("passes a tool that holds to it", async () => {
		expect(await failures(tool)).toEqual([]);
	});

	test.each<[string, Tool, readonly string[]]>([
		["a name that no provider takes", { ...tool, name: "double it" }, [says]],
		["no description", { ...tool, description: " " }, [says]],
		["a purity that there is not", { ...tool, purity: "harmless" as Tool["purity"] }, [says]],
		["parameters that are no object", { ...tool, parameters: { type: "number" } }, [takes]],
		["parameters that are no JSON", { ...tool, parameters: { ...tool.parameters, seen: new Date(0) } }, [takes]],
		[
			"arguments that its schema refuses",
			{ ...tool, parameters: { ...tool.parameters, properties: { n: { type: "string" } } } },
			[takes],
		],
		[
			"an answer that is no text",
			{ ...tool, call: async (...given) => Number(await tool.call(...given)) as never },
			[answers],
		],
		["half a character", { ...tool, call: async (...given) => `${await tool.call(...given)}\ud83d` }, [answers]],
		[
			"arguments that it writes into",
			{
				...tool,
				call: async (args, context) => {
					const answer = await tool.call(args, context);
					(args as { n: number }).n = 0;
					return answer;
				},
			},
			[answers],
		],
		["an answer to anything", { ...tool, call: async (_args, context) => tool.call({ n: 1 }, context) }, [refuses]],
		["an error without a code", refusing(new Error("no")), [refuses]],
		["an error that says nothing", refusing(Object.assign(new Error(""), { code: "NO" })), [refuses]],
		["an error of two lines", refusing(Object.assign(new Error("no\nnever"), { code: "NO" })), [refuses]],
		["what is no error", refusing({ code: "NO", message: "no" }), [refuses]],
		[
			"no ear for its signal",
			{ ...tool, call: (args) => tool.call(args, { signal: new AbortController().signal }) },
			[cancelled],
		],
		[
			"an error of its own for who cancelled",
			{
				...tool,
				call: (...given) => tool.call(...given).catch((error) => Promise.reject(error.code ? error : new Error("no"))),
			},
			[cancelled],
		],
		[
			"a wait that nothing ends",
			{
				...tool,
				call: async (args, context) => {
					const answer = await tool.call(args, context);
					await new Promise((resolve) => setTimeout(resolve, context.signal.aborted ? 0 : 10));
					return context.signal.aborted ? new Promise<never>(() => {}) : answer;
				},
			},
			[meanwhile],
		],
	])("names %s", async (_defect, made, names) => {
		expect(await failures(made)).toEqual(names);
	});
});

/** The tests of a suite that fail, in order. */
async function failed(suite: (runner: Parameters<typeof testModel>[0]) => void): Promise<readonly string[]> {
	const bodies: [string, () => Promise<void>][] = [];
	suite({ describe: (_name, body) => body(), test: (name, body) => void bodies.push([name, body]), expect });
	const names: string[] = [];
	for (const [name, body] of bodies) await body().catch(() => names.push(name));
	return names;
}
