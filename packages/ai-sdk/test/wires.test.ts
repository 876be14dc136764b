/** Real providers of the AI SDK against servers that speak as they do: what becomes of an answer, whole, cut or refused. */
import type { AttachedFile, Model, ModelPart, ModelRequest } from "@reyn/journal";
import { attachedAs } from "@reyn/journal/internal";
import { testModel } from "@reyn/journal/testing";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { anthropic } from "./anthropic-wire.ts";
import { google } from "./google-wire.ts";
import { KEY, type Spoken, spoken } from "./spoken.ts";
import { openWire, type Reply, signatureOf, type Wire } from "./wire.ts";

const tools = ["look", "pay"].map((name) => ({
	...{ name, description: `${name}s`, parameters: { type: "object", properties: { what: { type: "string" } } } },
}));

const asking = (...messages: ModelRequest["messages"]): ModelRequest => ({
	...{ system: "Be short.", tools, messages: [{ role: "user", text: "Where does a fox sleep?" }, ...messages] },
});

async function collect(
	model: Model,
	request: ModelRequest,
	signal = new AbortController().signal,
): Promise<ModelPart[]> {
	const parts: ModelPart[] = [];
	for await (const part of model.generate(request, { signal })) parts.push(part);
	return parts;
}

/** A file by its name, with the smallest bytes that say what it is. */
function fileOf(name: string): AttachedFile & { readonly data: Uint8Array } {
	const data = Buffer.from(`${begins[name.slice(name.indexOf("."))] ?? ""} and more`, "latin1");
	return { ...attachedAs(name, data), data };
}

const begins: Readonly<Record<string, string>> = {
	".png": "\x89PNG\r\n\x1a\n",
	".jpg": "\xff\xd8\xff\xe0",
	".gif": "GIF89a",
	".webp": "RIFF\x04\0\0\0WEBP",
	".pdf": "%PDF-1.7",
};

const textOf = (parts: readonly ModelPart[]): string =>
	parts.flatMap((part) => (part.type === "text" ? part.text : "")).join("");

const usage: ModelPart = { type: "usage", usage: { inputTokens: 48, outputTokens: 7, cachedInputTokens: 8 } };

for (const { name, speaker, id, model: make, empty, busy, seesArguments, refuses = [] } of spoken)
	describe(name, () => {
		let wire: Wire;
		let model: Model;
		beforeAll(async () => {
			wire = await openWire(speaker);
			model = make(wire);
		});
		afterEach(() => {
			expect(wire.replies.splice(0)).toEqual([]);
			wire.asked.length = 0;
		});
		afterAll(() => wire[Symbol.asyncDispose]());

		const say = (...replies: readonly Reply[]): void => void wire.replies.push(...replies);
		const fails = async (request = asking()): Promise<Error & Record<string, unknown>> =>
			collect(model, request).then(
				(parts) => expect.fail(`it answered: ${JSON.stringify(parts)}`),
				(error) => error,
			);

		test("an answer is told as it comes, with what it cost, of it what came from a cache", async () => {
			say({ text: "Under a root." });
			const parts = await collect(model, asking());
			expect(model.id).toBe(id);
			expect(parts.filter(({ type }) => type === "text").length).toBeGreaterThan(1);
			expect(textOf(parts)).toBe("Under a root.");
			expect(parts.slice(-2)).toMatchObject([{ type: "finish", reason: "stop" }, usage]);
		});

		test("parallel calls come whole, and their results go back in one valid request", async () => {
			const calls = [
				{ id: "call_1", name: "look", args: '{"what":"roots"}' },
				{ id: "call_2", name: "pay", args: "" },
			];
			say({ text: "I look.", calls }, { text: "Done." });
			const parts = await collect(model, asking());
			const toolCalls = parts.flatMap((part) => (part.type === "toolCall" ? part.call : []));
			expect(toolCalls).toEqual([
				{ id: "call_1", name: "look", args: { what: "roots" } },
				{ id: "call_2", name: "pay", args: {} },
			]);
			const results = toolCalls.map((call) => ({ role: "tool" as const, callId: call.id, name: call.name, text: "" }));
			const said = { role: "assistant" as const, text: textOf(parts), toolCalls };
			expect(textOf(await collect(model, asking(said, ...results, { role: "note", text: "go on" })))).toBe("Done.");
		});

		test.each([
			[
				"bare results, as after a rewind of the conversation alone",
				[{ role: "tool", callId: "x", name: "look", text: "a" }],
			],
			[
				"a call that was cut",
				[
					{ role: "assistant", text: "", toolCalls: [{ id: "c", name: "look" }] },
					{ role: "user", text: "and?" },
				],
			],
			[
				"an answer without a word",
				[
					{ role: "assistant", text: "", toolCalls: [] },
					{ role: "user", text: "" },
				],
			],
			[
				"a result that was cut in an emoji",
				[
					{ role: "assistant", text: "", toolCalls: [{ id: "c", name: "look", args: { "\ud83d": ["\ude00"] } }] },
					{ role: "tool", callId: "c", name: "look", text: "a fox \ud83e" },
				],
			],
		] as const)("%s: the request is valid all the same", async (_, messages) => {
			say({ text: "Good." }, { text: "Good." });
			expect(textOf(await collect(model, asking(...messages)))).toBe("Good.");
			const {
				messages: [, ...rest],
			} = asking(...messages);
			expect(textOf(await collect(model, { ...asking(), messages: [...rest, { role: "user", text: "and?" }] }))).toBe(
				"Good.",
			);
		});

		test.each([
			[429, { "retry-after": "7" }, { retryable: true, retryAfterMs: 7000 }],
			[429, { "retry-after-ms": "150" }, { retryable: true, retryAfterMs: 150 }],
			[503, { "retry-after": new Date(Date.now() + 3_600_000).toUTCString() }, { retryable: true }],
			[500, {}, { retryable: true }],
			[529, {}, { retryable: true }],
			[408, {}, { retryable: true }],
			[400, {}, { retryable: false }],
			[401, {}, { retryable: false }],
			[404, {}, { retryable: false }],
			[413, {}, { retryable: false }],
		])("%i %j says whether to ask again, and when, and tells no key on", async (status, headers, expected) => {
			say({
				refusal: {
					status,
					headers,
					body: { type: "error", error: { type: "t", code: status, status: "T", message: `said with ${status}` } },
				},
			});
			const error = await fails();
			expect(error).toMatchObject(expected);
			expect(error.message).toBe(`${status}: said with ${status}`);
			if (status === 503) expect(error.retryAfterMs).toBeGreaterThan(3_000_000);
			expect(JSON.stringify(error, Object.getOwnPropertyNames(error)) + String(error.cause)).not.toContain(KEY);
			expect(error).not.toHaveProperty("requestBodyValues");
		});

		test("a 429 of an empty account is final", async () => {
			say({ refusal: { status: 429, headers: { "retry-after": "1" }, body: empty } });
			const error = await fails();
			expect(error.retryable).toBe(false);
			expect(error).not.toHaveProperty("retryAfterMs");
		});

		test("an overload in the middle of a stream may pass", async () => {
			say({ text: "Under", failsAs: busy });
			expect(await fails()).toMatchObject({ retryable: true });
		});

		test("a stream that is cut before any of its events is no answer, or the whole one", async () => {
			const reply: Reply = { text: "Under a root.", calls: [{ id: "c", name: "look", args: '{"what":"roots"}' }] };
			const events = speaker.events(reply);
			const ends: string[] = [];
			for (const cutAt of events.keys()) {
				say({ ...reply, cutAt });
				const end = await collect(model, asking()).then(
					(parts) => {
						expect(textOf(parts)).toBe(reply.text);
						expect(parts.slice(-3)).toMatchObject([{ type: "toolCall" }, { type: "finish", reason: "stop" }, usage]);
						return "whole";
					},
					(error) => {
						expect(error, `cut at ${cutAt}`).toMatchObject({ retryable: true });
						return "none";
					},
				);
				ends.push(end);
			}
			// Only what was said after the end may be missing.
			const isWhole = ends.indexOf("whole");
			expect(isWhole === -1 || isWhole >= events.length - 2).toBe(true);
		});

		test.each(["shot.png", "shot.jpg", "shot.gif", "shot.webp", "paper.pdf"])(
			"%s of a prompt goes as what it is",
			async (name) => {
				const file = fileOf(name);
				const { data } = file;
				const request: ModelRequest = { ...asking(), messages: [{ role: "user", text: "What is it?", files: [file] }] };
				if (refuses.includes(name)) {
					expect(await fails(request)).toMatchObject({ retryable: false });
					return;
				}
				say({ text: "A fox." });
				expect(textOf(await collect(model, request))).toBe("A fox.");
				expect(JSON.stringify(wire.asked[0])).toContain(Buffer.from(data).toString("base64"));
			},
		);

		test("an image of a result goes with it, or behind all results, and the calls keep their results", async () => {
			const toolCalls = [
				{ id: "call_1", name: "look", args: { what: "a" } },
				{ id: "call_2", name: "look", args: { what: "b" } },
			];
			const files = [fileOf("shot.png"), fileOf("paper.pdf")];
			const results = toolCalls.map(({ id }, at) => ({
				...{ role: "tool" as const, callId: id, name: "look", text: "is shown", files: [files[at] as AttachedFile] },
			}));
			const said = { role: "assistant" as const, text: "", toolCalls };
			say({ text: "Both." }, { text: "Both." });
			expect(textOf(await collect(model, asking(said, ...results)))).toBe("Both.");
			expect(textOf(await collect(model, asking(said, ...results, { role: "user", text: "and?" })))).toBe("Both.");
			for (const { data = new Uint8Array() } of files)
				expect(JSON.stringify(wire.asked[0])).toContain(Buffer.from(data).toString("base64"));
		});

		test("an image that the model cannot take is refused for good, in the provider's words", async () => {
			say({
				refusal: {
					status: 400,
					body: {
						type: "error",
						error: { type: "invalid_request_error", code: 400, status: "INVALID_ARGUMENT", message: "no images here" },
					},
				},
			});
			const file = fileOf("shot.png");
			const error = await fails({ ...asking(), messages: [{ role: "user", text: "What is it?", files: [file] }] });
			expect(error).toMatchObject({ retryable: false, message: "400: no images here" });
		});

		test.each([
			// What is counted, of words in the prompt before and in the newest part; and what is told.
			["all of it", 5000, 0, 4000, undefined],
			["half of what was asked", 1000, 0, 4000, 4002],
			["less than is there, and as much as is new", 2000, 4000, 1000, 5004],
			["less than is new", 900, 4000, 1000, 5004],
			["next to nothing of a short prompt", 10, 0, 400, undefined],
		] as const)(
			"one that has read %s of a prompt tells so by what it counts, and its answer stands",
			async (_, reads, before, last, least) => {
				say({ text: "Under a root.", reads });
				const said = { role: "assistant" as const, text: "I see.", toolCalls: [] };
				const { messages: _old, ...rest } = asking();
				const messages = [
					{ role: "user" as const, text: "fox's den; ".repeat(before / 2) },
					said,
					{ role: "user" as const, text: "a den ".repeat(last / 2) },
				];
				const parts = await collect(model, { ...rest, messages: before === 0 ? messages.slice(2) : messages });
				const end = parts.find((part) => part.type === "finish");
				expect(end).toMatchObject({ reason: "stop" });
				expect(end?.least).toBe(least);
			},
		);

		test.each(["length", "filter"] as const)("an answer that ends by %s says so", async (finish) => {
			say({ text: "Under a", finish });
			expect((await collect(model, asking())).at(-2)).toMatchObject({ type: "finish", reason: finish });
		});

		test("arguments that are no JSON are told as they are, or are those of no answer", async () => {
			say({ calls: [{ id: "c", name: "look", args: '{"what": ro' }] });
			if (seesArguments) {
				expect(await fails()).toMatchObject({ retryable: true });
				return;
			}
			const parts = await collect(model, asking());
			expect(parts).toContainEqual({ type: "toolCall", call: { id: "c", name: "look", args: '{"what": ro' } });
		});
	});

for (const { name, speaker, model: make } of spoken) {
	const wire = await openWire(speaker);
	const model = make(wire);
	afterAll(() => wire[Symbol.asyncDispose]());
	const saying = (...replies: readonly Reply[]) => {
		wire.replies.splice(0, wire.replies.length, ...replies);
		return model;
	};
	testModel({ describe, test, expect } as never, {
		name: `${model.id}, over its wire (${name})`,
		make: () => saying(...Array.from({ length: 3 }, () => ({ text: "Under a root." }))),
		makeSilent: () => saying({ isSilent: true }),
	});
}

test("a rate limit of Google, which calls it a quota, passes when it says so", async () => {
	await using wire = await openWire(google);
	const model = (spoken.find(({ speaker }) => speaker === google) as Spoken).model(wire);
	const details = [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "36.5s" }];
	const message = "You exceeded your current quota, please check your plan and billing details.";
	const error = { code: 429, status: "RESOURCE_EXHAUSTED", message };
	for (const [body, expected] of [
		[{ error: { ...error, details } }, { retryable: true, retryAfterMs: 36_500 }],
		[{ error }, { retryable: false }],
	] as const) {
		wire.replies.push({ refusal: { status: 429, body } });
		await expect(collect(model, asking())).rejects.toMatchObject(expected);
	}
});

test("what was thought and signed goes back byte for byte, before the call that it led to; another model passes it over", async () => {
	await using wire = await openWire(anthropic);
	const [{ model: make }] = spoken as [Spoken];
	const model = make(wire);
	wire.replies.push(
		{
			thinking: "A fox … \u2028 dens?",
			text: "I look.",
			calls: [{ id: "toolu_1", name: "look", args: '{"what":"dens"}' }],
		},
		{ text: "In a den." },
		{ text: "In a den." },
	);
	const parts = await collect(model, asking());
	const echo = parts.flatMap((part) => (part.type === "finish" ? part.echo : []));
	const toolCalls = parts.flatMap((part) => (part.type === "toolCall" ? part.call : []));
	const said = { role: "assistant" as const, text: textOf(parts), toolCalls };
	const result = { role: "tool" as const, callId: "toolu_1", name: "look", text: "two dens" };
	// As a log gives it back.
	const kept = JSON.parse(JSON.stringify(echo));
	await collect(model, asking({ ...said, echo: { model: model.id, parts: kept } }, result));
	const [, second] = wire.asked as {
		messages: { content: { type: string; signature?: string; thinking?: string }[] }[];
	}[];
	expect(second?.messages[1]?.content.map(({ type }) => type)).toEqual(["thinking", "text", "tool_use"]);
	expect(second?.messages[1]?.content[0]).toMatchObject({ thinking: "A fox … \u2028 dens?" });
	await collect(model, asking({ ...said, echo: { model: "other/model", parts: kept } }, result));
	const third = wire.asked[2] as typeof second;
	expect(third?.messages[1]?.content.map(({ type }) => type)).toEqual(["text", "tool_use"]);
});

test.each([
	["Google", { functionCall: expect.objectContaining({ name: "look" }), thoughtSignature: signatureOf("A fox dens?") }],
	["OpenAI, responses", { type: "item_reference", id: "rs_1" }],
])(
	"what %s wants back of its thinking comes back with the call that it led to, from a log too",
	async (name, wanted) => {
		const of = spoken.find((each) => each.name === name) as Spoken;
		await using wire = await openWire(of.speaker);
		const model = of.model(wire);
		wire.replies.push(
			{ thinking: "A fox dens?", calls: [{ id: "c", name: "look", args: '{"what":"dens"}' }] },
			{ text: "In a den." },
		);
		const parts = await collect(model, asking());
		const [toolCalls, echo] = [
			parts.flatMap((part) => (part.type === "toolCall" ? part.call : [])),
			parts.flatMap((part) => (part.type === "finish" ? part.echo : [])),
		];
		const said = { role: "assistant" as const, text: "", toolCalls };
		const result = { role: "tool" as const, callId: "c", name: "look", text: "two dens" };
		const kept = JSON.parse(JSON.stringify({ model: model.id, parts: echo }));
		await collect(model, asking({ ...said, echo: kept }, result));
		const { contents, input } = wire.asked[1] as { contents?: { parts: unknown[] }[]; input?: unknown[] };
		expect(contents?.flatMap((each) => each.parts) ?? input).toContainEqual(expect.objectContaining(wanted));
	},
);
