/** Which models are taken, and what their streams mean, whoever made them. */
import type { LanguageModelV4 } from "@ai-sdk/provider";
import type { Model, ModelPart } from "@reyn/journal";
import type { LanguageModelV3 } from "ai-sdk-provider-3";
import { expect, test } from "vitest";
import { fromAiSdk } from "../src/index.ts";

/** Compiles as long as both are. */
const take = (model: LanguageModelV3 | LanguageModelV4): Model => fromAiSdk(model);

const model = (version: string) =>
	({ specificationVersion: version, provider: "acme.chat", modelId: "m-1" }) as unknown as LanguageModelV4;

test.each(["v3", "v4"])("a model of specification %s has the id of its provider and its own", (version) => {
	expect(take(model(version)).id).toBe("acme/m-1");
});

test.each(["v2", "v5", undefined])("one of specification %s is refused, with what to install", (version) => {
	expect(() => take(model(version as string))).toThrow(
		expect.objectContaining({
			code: "AI_SDK_VERSION",
			message: expect.stringContaining("install a provider of ai 6 or 7"),
		}),
	);
});

const request = { system: "", messages: [{ role: "user" as const, text: "Hm?" }], tools: [] };

/** Gives these parts, and then ends or throws. */
const giving = (parts: readonly unknown[], thrown?: unknown): Model =>
	fromAiSdk({
		...{ specificationVersion: "v3", provider: "acme.chat", modelId: "m-1" },
		doStream: async () => ({
			stream: new ReadableStream({
				async pull(stream) {
					for (const part of parts) stream.enqueue(part);
					if (thrown === undefined) stream.close();
					else stream.error(thrown);
				},
			}),
		}),
	});

async function partsOf(model: Model, signal = new AbortController().signal): Promise<ModelPart[]> {
	const parts: ModelPart[] = [];
	for await (const part of model.generate(request, { signal })) parts.push(part);
	return parts;
}

const text = (delta: string, id = "1") => ({ type: "text-delta", id, delta });
const finish = (unified: string, raw?: string, tokens: { total?: number } = { total: 5 }) => ({
	...{ type: "finish", finishReason: { unified, raw }, usage: { inputTokens: tokens, outputTokens: tokens } },
});

test.each([
	["says what of it came from a cache, beside the rest", { total: 100, noCache: 100, cacheRead: 3000 }, undefined],
	["does not count", {}, undefined],
	["counts nothing", { total: 0 }, undefined],
	["counts too little", { total: 2000 }, 3000],
])("of a provider that %s it is known whether it has read all", async (_, tokens, least) => {
	const asked = { ...request, messages: [{ role: "user" as const, text: "fox ".repeat(3000) }] };
	const parts: ModelPart[] = [];
	for await (const part of giving([finish("stop", "stop", tokens)]).generate(asked, {
		signal: new AbortController().signal,
	}))
		parts.push(part);
	expect((parts[0] as { least?: number }).least).toBe(least);
});

test.each([
	["no letters, as tables of digits", "12 345 6.78 ".repeat(2000)],
	["a script without blanks", "狐は昼に眠る。".repeat(2000)],
	["an image, whose tokens nobody knows", ""],
])("of a prompt with %s nothing is said", async (_, text) => {
	const files = [{ name: "a.png", mediaType: "image/png", bytes: 9, sha256: "ab", data: new Uint8Array(100_000) }];
	const asked = { ...request, messages: [{ role: "user" as const, text, files }] };
	const parts: ModelPart[] = [];
	for await (const part of giving([finish("stop", "stop", { total: 4096 })]).generate(asked, {
		signal: new AbortController().signal,
	}))
		parts.push(part);
	expect(parts[0]).toEqual({ type: "finish", reason: "stop" });
});

test.each([
	["other", undefined],
	["interrupted", "cut"],
	["error", "server_error"],
])("an answer that ends by %s (%s) is none, and may come whole later", async (unified, raw) => {
	await expect(partsOf(giving([text("Un"), finish(unified, raw)]))).rejects.toMatchObject({ retryable: true });
});

test("one that ends for a reason of the provider's own is not whole", async () => {
	expect((await partsOf(giving([text("Un"), finish("other", "pause")]))).at(-2)).toEqual({
		type: "finish",
		reason: "other",
	});
});

test("parts that nobody needs are passed over, and tokens that nobody counts are said to be uncounted", async () => {
	const others = [
		{ type: "stream-start", warnings: [] },
		{ type: "ping" },
		{ type: "raw", rawValue: 1 },
		{ type: "from tomorrow" },
	];
	const call = { type: "tool-call", toolCallId: "s", toolName: "web_search", input: "{}", providerExecuted: true };
	expect(await partsOf(giving([...others, call, text("Under."), finish("stop", "stop", {})]))).toEqual([
		{ type: "text", text: "Under." },
		{ type: "finish", reason: "stop" },
		{ type: "usage", usage: { inputTokens: 0, outputTokens: 0, uncounted: true } },
	]);
});

test.each([
	["a text that is none", { type: "text-delta", id: "1", delta: 7 }],
	["a call without an id", { type: "tool-call", toolCallId: "", toolName: "look", input: "{}" }],
	["no object", 5],
])("a part that is not as it has to be (%s) is final: it would be so again", async (_, part) => {
	await expect(partsOf(giving([part, finish("stop", "stop")]))).rejects.toMatchObject({ retryable: false });
});

test("several texts, and blocks under one id, go back as they came", async () => {
	const meta = (id: string) => ({ providerMetadata: { acme: { id } } });
	const parts = await partsOf(
		giving([
			...[text("a"), { type: "text-end", id: "1", ...meta("x") }, text("b"), { type: "text-end", id: "1" }],
			...[{ type: "reasoning-delta", id: "1", delta: "hm" }, finish("stop", "stop")],
		]),
	);
	expect(parts.at(-2)).toEqual({
		...{ type: "finish", reason: "stop" },
		echo: [
			{ type: "text", text: "a", meta: { acme: { id: "x" } } },
			{ type: "text", text: "b" },
			{ type: "reasoning", text: "hm" },
		],
	});
});

test("whoever cancels hears why, whatever the provider makes of it", async () => {
	const control = new AbortController();
	const why = new Error("enough");
	const asking = partsOf(
		fromAiSdk({
			...{ specificationVersion: "v4", provider: "acme.chat", modelId: "m-1" },
			async doStream({ abortSignal }) {
				await new Promise((resolve) => abortSignal?.addEventListener("abort", resolve));
				throw Object.assign(new Error("socket closed"), { retryable: true });
			},
		}),
		control.signal,
	);
	control.abort(why);
	await expect(asking).rejects.toBe(why);
});

test("a network that is away says its code, and may be there later", async () => {
	const cause = Object.assign(new Error("connect"), { code: "ECONNREFUSED" });
	const thrown = Object.assign(new Error("Cannot connect to API", { cause }), { isRetryable: true });
	await expect(partsOf(giving([], thrown))).rejects.toMatchObject({ retryable: true, code: "ECONNREFUSED" });
});
