/** What a model cannot read at once is shortened for it, in random conversations: `REYN_SEED` sets which. */
import { describe, expect, test } from "vitest";
import { type Random, SEED, seeded } from "../../../tests/kit/seeded.ts";
import { sample } from "../../../tests/sample.ts";
import {
	type AttachedFile,
	agentLoop,
	Lane,
	type Message,
	type Model,
	type ModelRequest,
	type Tool,
	type Usage,
} from "../src/index.ts";
import { approximateTokens, Window } from "../src/window.ts";
import { DyingLog, scope, using } from "./dying-log.ts";

const told = sample(300, 5000);

const nothing: Usage = { inputTokens: 0, outputTokens: 0 };

const sizes = [0, 10, 200, 500, 5000, 30_000];

const textOf = (random: Random, most = sizes.length): string =>
	random.pick(["a word ", "ほん", "🙂", "0"]).repeat(random.below(sizes[random.below(most)] ?? 1) + 1);

/** A conversation that ends with a prompt: turns of rounds, whose calls have their results. */
function conversationOf(random: Random): Message[] {
	const messages: Message[] = [];
	for (let turn = random.below(6); turn > 0; turn--) {
		messages.push({ role: "user", text: textOf(random, 4), ...filesOf(random) });
		for (let round = random.below(3); round > 0; round--) messages.push(...roundOf(random, `${turn}.${round}`));
		if (random.chance(0.2)) messages.push({ role: "note", text: textOf(random, 3) });
		messages.push({ role: "assistant", text: textOf(random), toolCalls: [] });
	}
	return [...messages, { role: "user", text: textOf(random, 4), ...filesOf(random) }];
}

/** At times a file or two; an image is as large as a small window. */
function filesOf(random: Random): { files?: AttachedFile[] } {
	if (!random.chance(0.1)) return {};
	const of = (mediaType: string, bytes: number) => ({ name: "a", mediaType, bytes, sha256: "ab".repeat(32) });
	return { files: random.pick([[of("image/png", 3e6)], [of("image/png", 9), of("application/pdf", 40_000)]]) };
}

function roundOf(random: Random, id: string): Message[] {
	const toolCalls = Array.from({ length: 1 + random.below(3) }, (_, at) => ({
		id: `${id}.${at}`,
		name: "look",
		args: random.chance(0.3) ? { path: "a", text: textOf(random), lines: [textOf(random, 3)] } : { path: "a" },
	}));
	const echo = random.chance(0.5) ? { echo: { model: "m", parts: [{ signature: textOf(random, 4) }] } } : {};
	return [
		{ role: "assistant", text: textOf(random, 3), toolCalls, ...echo },
		...toolCalls.map(
			({ id: callId, name }): Message => ({
				...{ role: "tool", callId, name, text: textOf(random), ...filesOf(random) },
			}),
		),
	];
}

/** Each call has its result behind it, and no result is without its call. */
function assertPaired(messages: readonly Message[]): void {
	const open: string[] = [];
	for (const message of messages) {
		if (message.role === "tool") expect(open.shift()).toBe(message.callId);
		else expect(open.splice(0)).toEqual([]);
		if (message.role === "assistant") open.push(...message.toolCalls.map(({ id }) => id));
	}
	expect(open).toEqual([]);
}

const system = "You answer.";
const tools = [{ name: "look", description: "looks", parameters: {} }];

describe("a request", () => {
	test("of any conversation is never above what the model reads, keeps its prompt, and each result its call", () => {
		let [whole, cut, refused] = [0, 0, 0];
		for (let run = 0; run < told; run++) {
			const random = seeded(SEED * 10_000 + run);
			const given = conversationOf(random);
			const maxInputTokens = 500 + random.below(random.pick([2000, 20_000]));
			const window = new Window({ id: "m", maxInputTokens });
			const messages = [...given];
			for (let round = 0; round < 4; round++) {
				const request: ModelRequest = { system, messages: [...messages], tools };
				let fitted: ModelRequest;
				try {
					fitted = window.fit(request, given.length);
				} catch (error) {
					expect(error).toMatchObject({ code: "MODEL_WINDOW", detail: { maxInputTokens } });
					refused++;
					break;
				}
				expect(approximateTokens(fitted), `run ${run}, round ${round}`).toBeLessThanOrEqual(maxInputTokens);
				expect(fitted.messages).toContain(given.at(-1));
				assertPaired(fitted.messages);
				expect(window.fit(request, given.length)).toEqual(fitted);
				expect(fitted.messages.every(({ text }) => text.isWellFormed())).toBe(true);
				if (approximateTokens(request) <= maxInputTokens) {
					expect(fitted).toEqual(request);
					whole++;
				} else cut++;
				window.read(fitted, nothing);
				messages.push(...roundOf(random, `now.${round}`));
			}
		}
		// A generator that never comes to one of these would prove nothing.
		expect(Math.min(whole, cut, refused)).toBeGreaterThan(told / 10);
	});

	test("loses old results first, then old turns, and what the last round said only in the end", () => {
		const long = "word ".repeat(2000);
		const round = (id: string, text: string): Message[] => [
			{ role: "assistant", text: "", toolCalls: [{ id, name: "look", args: {} }] },
			{ role: "tool", callId: id, name: "look", text },
		];
		const turn = (id: string): Message[] => [{ role: "user", text: `${id}?` }, ...round(id, long), ...answer(id)];
		const answer = (id: string): Message[] => [{ role: "assistant", text: `${id}! ${long}`, toolCalls: [] }];
		const given: Message[] = [...turn("a"), ...turn("b"), { role: "user", text: "now?" }];
		const shown = (maxInputTokens: number, more: Message[] = []): readonly string[] =>
			new Window({ id: "m", maxInputTokens })
				.fit({ system, messages: [...given, ...more], tools }, given.length)
				.messages.map(
					({ role, text }) => `${role} ${text.length > 1000 ? "long" : text.length > 100 ? "short" : text}`,
				);
		const whole = shown(20_000);
		expect(whole).toEqual([
			...["user a?", "assistant ", "tool long", "assistant long"],
			...["user b?", "assistant ", "tool long", "assistant long", "user now?"],
		]);
		expect(shown(12_000)).toEqual(whole.with(2, "tool short").with(6, "tool short"));
		expect(shown(5000)).toEqual([
			"note 4 earlier messages are not shown, since they do not fit what you can read at once",
			...whole.slice(4).with(2, "tool short"),
		]);
		const now = round("c", long);
		expect(shown(5000, now)).toEqual([expect.stringMatching(/^note 8 /), "user now?", "assistant ", "tool long"]);
		expect(shown(2000, [...now])).toEqual(shown(5000, now));
		const [, , , last] = new Window({ id: "m", maxInputTokens: 2000 }).fit(
			{ system, messages: [...given, ...now], tools },
			given.length,
		).messages;
		expect(last?.text).toMatch(/^(word ){300,}.*\n\[the rest of 10000 bytes is not shown: it does not fit\]$/s);
	});

	test("loses old files before anything else, the oldest first, and never those of what was asked last", () => {
		const image = { name: "a.png", mediaType: "image/png", bytes: 3e6, sha256: "ab".repeat(32) };
		const call = { id: "c", name: "look", args: {} };
		const given: Message[] = [
			{ role: "user", text: "a?", files: [image] },
			{ role: "assistant", text: "", toolCalls: [call] },
			{ role: "tool", callId: "c", name: "look", text: `seen ${"word ".repeat(200)}`, files: [image] },
			{ role: "assistant", text: "a!", toolCalls: [] },
			{ role: "user", text: "b?", files: [image] },
		];
		const shown = (maxInputTokens: number): readonly string[] =>
			new Window({ id: "m", maxInputTokens })
				.fit({ system, messages: given, tools }, given.length)
				.messages.map((message) => `${message.text.slice(0, 9)} ${"files" in message ? message.files?.length : 0}`);
		const whole = ["a? 1", " 0", "seen word 1", "a! 0", "b? 1"];
		expect(shown(6000)).toEqual(whole);
		expect(shown(5000)).toEqual(whole.with(0, "a?\n(a.png 0"));
		expect(shown(3000)).toEqual(whole.with(0, "a?\n(a.png 0").with(2, "seen word 0"));
		expect(() => shown(1700)).not.toThrow();
		expect(() => shown(1600)).toThrow(expect.objectContaining({ code: "MODEL_WINDOW" }));
	});

	test("has as many files as providers take, the newest, whatever its model reads", () => {
		const image = (n: number) => ({ name: `${n}.png`, mediaType: "image/png", bytes: 10, sha256: "ab".repeat(32) });
		const ask = (bytes: number): readonly string[] => {
			const messages: Message[] = Array.from({ length: 30 }, (_, n) => ({
				...{ role: "user", text: "", files: [{ ...image(n), bytes }] },
			}));
			const fitted = new Window({ id: "m" }).fit({ system, messages, tools }, messages.length);
			expect(fitted.messages.length).toBe(30);
			return fitted.messages.flatMap((each) => ("files" in each ? (each.files ?? []) : [])).map(({ name }) => name);
		};
		expect(ask(10)).toEqual(Array.from({ length: 20 }, (_, n) => `${n + 10}.png`));
		expect(ask(3e6)).toEqual(Array.from({ length: 6 }, (_, n) => `${n + 24}.png`));
	});

	test("is cut earlier where the model has read more than was guessed", () => {
		const dense: Message[] = [{ role: "user", text: "0".repeat(3000) }];
		const more: Message[] = [
			...dense,
			...roundOf(seeded(1), "a")
				.slice(0, 1)
				.map((whole) => ({ ...whole, toolCalls: [] }) as Message),
			{ role: "tool", callId: "x", name: "look", text: "1".repeat(3000) },
		];
		const ask = (readTokens: number): number => {
			const window = new Window({ id: "m", maxInputTokens: 4000 });
			const first = window.fit({ system, messages: dense, tools }, 1);
			window.read(first, { inputTokens: readTokens, outputTokens: 0 });
			return approximateTokens(window.fit({ system, messages: more, tools }, 1));
		};
		expect(ask(1000)).toBeGreaterThan(2000);
		// That cannot be.
		expect(ask(9e15)).toBe(ask(1000));
		expect(ask(2500)).toBeLessThan(1700);
	});
});

test.each([
	["the same for each request", [1000, 1000, 1000, 1000]],
	["without what it had in a cache", [5000, 600, 599, 598]],
	["nothing", [0, 0, 0, 0]],
	["what cannot be, once", [9e15, 5000, 5000, 5000]],
])("a model that counts %s is shown all that it is said to read", (_, counts) => {
	const window = new Window({ id: "m", maxInputTokens: 100_000 });
	const messages: Message[] = [{ role: "user", text: "work" }];
	for (const [round, inputTokens] of counts.entries()) {
		const request = window.fit({ system, messages: [...messages], tools }, 1);
		expect(request.messages).toEqual(messages);
		window.read(request, { inputTokens, outputTokens: 0 });
		const call = { id: `c${round}`, name: "look", args: {} };
		messages.push({ role: "assistant", text: "", toolCalls: [call] });
		messages.push({ role: "tool", callId: call.id, name: "look", text: "word ".repeat(2000) });
	}
});

test("rounds of a long loop are left out too, the oldest first, and what was asked stays", () => {
	const window = new Window({ id: "m", maxInputTokens: 2000 });
	const messages: Message[] = [{ role: "user", text: "work" }];
	for (let round = 0; round < 30; round++) {
		const call = { id: `c${round}`, name: "look", args: { many: Array.from({ length: 20 }, () => ({ a: 1, b: 2 })) } };
		messages.push({ role: "assistant", text: "I look. ".repeat(20), toolCalls: [call] });
		messages.push({ role: "tool", callId: call.id, name: "look", text: "seen" });
		const fitted = window.fit({ system, messages: [...messages], tools }, 1);
		expect(approximateTokens(fitted)).toBeLessThanOrEqual(2000);
		expect(fitted.messages[0]).toEqual(messages[0]);
		expect(fitted.messages.slice(-2)).toEqual(messages.slice(-2));
		assertPaired(fitted.messages);
	}
});

test.each([0, -1, Number.NaN, null, "8000"])("a model that reads %j tokens is refused", (maxInputTokens) => {
	expect(() => new Window({ id: "m", maxInputTokens: maxInputTokens as number })).toThrow(TypeError);
});

describe("a loop", () => {
	test("that is killed anywhere asks the same questions, and pays none of them twice", async () => {
		for (const maxInputTokens of [1500, 4000]) {
			const whole = await lived(maxInputTokens, []);
			expect(whole.asked.length).toBe(6);
			for (const request of whole.asked) expect(approximateTokens(request)).toBeLessThanOrEqual(maxInputTokens);
			expect(whole.asked.some(({ messages }) => messages.some(({ text }) => text.includes("is not shown")))).toBe(true);
			for (let records = 0; records < whole.records; records++) {
				const { asked, answer } = await lived(maxInputTokens, [records]);
				expect(answer).toBe(whole.answer);
				// What was asked for and is not recorded is asked for once more.
				expect(asked.filter((each, at) => JSON.stringify(each) !== JSON.stringify(asked[at - 1]))).toEqual(whole.asked);
				expect(asked.length).toBeLessThanOrEqual(whole.asked.length + 1);
			}
		}
	});
});

/** A loop of five rounds, killed after so many records. */
async function lived(maxInputTokens: number, kills: readonly number[]) {
	const asked: ModelRequest[] = [];
	const model: Model = {
		id: "m",
		maxInputTokens,
		async *generate(request) {
			asked.push(request);
			const last = request.messages.at(-1);
			const round = last?.role === "tool" ? Number(last.callId.slice(1)) + 1 : 0;
			if (round < 5) yield { type: "toolCall", call: { id: `c${round}`, name: "look", args: { round } } };
			else yield { type: "text", text: "done" };
			// It reads more than anybody guesses.
			yield { type: "usage", usage: { inputTokens: Math.ceil(approximateTokens(request) * 1.1), outputTokens: 1 } };
		},
	};
	const look: Tool = {
		...{ name: "look", description: "looks", parameters: {}, purity: "side_effect" },
		call: async (args) => `${JSON.stringify(args)} ${"word ".repeat(500)}`,
	};
	const log = new DyingLog();
	for (const records of kills) {
		log.revive(records);
		await loop().catch(() => {});
	}
	log.revive();
	return { asked, answer: (await loop()).reply.text, records: log.records.length };

	function loop() {
		const request = { system, messages: [{ role: "user" as const, text: "work" }] };
		return agentLoop(new Lane("a", scope, using(log)), model, request, [look], { maxRounds: 9 });
	}
}
