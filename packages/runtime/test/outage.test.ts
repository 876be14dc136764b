/** A provider that refuses or is away, at any point of a turn, and with kills. */
import { join } from "node:path";
import type { Model, Tool } from "@reyn/journal";
import { defineSkill, done, type Skill } from "@reyn/skill-resume";
import type { Clock } from "@reyn/wal";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { pauseless } from "../../../tests/kit/timers.ts";
import { pointsOf } from "../../../tests/sample.ts";
import { type Runtime, turnInterrupted } from "../src/index.ts";
import { copyState, keepLines, linesOf, removeState } from "./cut.ts";
import { lastOf, makeProject, type Opened, open, type Project, until } from "./project.ts";

let project: Project;
beforeEach(async () => {
	project = await makeProject();
});
afterEach(() => project[Symbol.asyncDispose]());

const QUESTION = "charge them";

/** For exact pauses: what is left of one is what a clock says, and a real one goes on meanwhile. */
const still: Clock = { now: () => 1_767_225_600_000 };

/** The calls of a turn: it looks, charges, and says so. */
const CALLS = ["look", "charge", "say"] as const;
type Call = (typeof CALLS)[number];

/** A provider and a bank, over all lives of the process. */
class World {
	/** Each call of the model as it began, with the tip that it began at. */
	readonly asked: { readonly call: Call; readonly tip: number; isAnswered: boolean }[] = [];
	/** The keys of the charges, with the tip that they were made at. */
	readonly charges: { readonly key: string | undefined; readonly tip: number }[] = [];
	readonly waits: number[] = [];
	/** What the next tries of a call throw. */
	readonly refusals: Record<Call, unknown[]> = { look: [], charge: [], say: [] };
	#runtime: Runtime | undefined;

	refuse(call: Call, times: number, more: object = {}): this {
		for (let i = 0; i < times; i++)
			this.refusals[call].push(Object.assign(new Error("429: slow down"), { retryable: true }, more));
		return this;
	}

	get paid(): readonly Call[] {
		return this.asked.filter(({ isAnswered }) => isAnswered).map(({ call }) => call);
	}

	async open(skills: readonly Skill[] = [], state = project.state): Promise<Opened> {
		const opened = await open(
			{ ...project, state },
			{ model: this.#model, tools: [this.#look, this.#charge], skills, timers: pauseless(this.waits) },
		);
		this.#runtime = opened.runtime;
		return opened;
	}

	get #tip(): number {
		return this.#runtime?.wal.tip ?? 0;
	}

	get #model(): Model {
		const world = this;
		return {
			id: "provider",
			async *generate(request) {
				// Of this turn alone: what came before its question is history.
				const from = request.messages.findLastIndex(({ role }) => role === "user");
				const answers = request.messages.slice(from).filter(({ role }) => role === "assistant").length;
				const call = CALLS[answers] as Call;
				const asked = { call, tip: world.#tip, isAnswered: false };
				world.asked.push(asked);
				if (world.refusals[call].length > 0) throw world.refusals[call].shift();
				asked.isAnswered = true;
				if (call === "say") yield { type: "text", text: `${lastOf(request)}: done` };
				else yield { type: "toolCall", call: { id: call, name: call, args: {} } };
				yield { type: "usage", usage: { inputTokens: 10, outputTokens: 1 } };
			},
		};
	}

	readonly #look: Tool = {
		name: "look",
		description: "",
		parameters: {},
		purity: "world",
		call: async () => "one customer",
	};

	get #charge(): Tool {
		const call: Tool["call"] = async (_, { idempotencyKey }) => {
			this.charges.push({ key: idempotencyKey, tip: this.#tip });
			return "charged";
		};
		return { name: "charge", description: "", parameters: {}, purity: "side_effect", call };
	}
}

async function recordsOf(runtime: Runtime): Promise<readonly { readonly kind: string; readonly data: unknown }[]> {
	const records = [];
	for await (const record of runtime.wal.read()) records.push(record);
	return records;
}

const replies = (runtime: Runtime): readonly string[] =>
	runtime
		.conversation()
		.items.toArray()
		.flatMap((item) => (item.type === "reply" ? [item.text] : []));

/** Asks, and lets what happens happen. */
async function ask(world: World, question = QUESTION): Promise<Opened> {
	const opened = await world.open();
	await opened.runtime.prompt(question);
	await opened.runtime.idle();
	return opened;
}

describe.each(CALLS)("while the provider refuses to answer when the turn would %s", (call) => {
	test("for a while, the turn waits, and pays each call once", async () => {
		const world = new World().refuse(call, 2);
		const { runtime, events } = await ask(world);
		expect([world.paid, world.charges.length, world.asked.length]).toEqual([CALLS, 1, 5]);
		expect(replies(runtime)).toEqual(["charged: done"]);
		expect(events.filter(({ type }) => type === "model_retry")).toMatchObject([
			{ model: "provider", attempt: 1, limit: 6, reason: "429: slow down" },
			{ model: "provider", attempt: 2, limit: 6, reason: "429: slow down" },
		]);
		await runtime.close();
	});

	test("for longer, the turn stays open and says so; resumed, in any process, it pays and does what is missing", async () => {
		for (const process of ["the same process", "another process"]) {
			await removeState(project.state);
			const world = new World().refuse(call, 6);
			let { runtime, events } = await ask(world);
			expect(events.at(-1)).toMatchObject({
				type: "turn_end",
				outcome: "stopped",
				reason: "provider gave no answer in 6 tries: 429: slow down",
			});
			expect(runtime.restored().turns).toMatchObject([{ text: QUESTION }]);
			expect((await recordsOf(runtime)).filter(({ kind }) => kind === turnInterrupted.kind)).toEqual([]);
			if (process === "another process") {
				await runtime.close();
				({ runtime, events } = await world.open());
			}
			runtime.resume();
			await runtime.idle();
			expect([world.paid, world.charges.length], process).toEqual([CALLS, 1]);
			expect(runtime.restored().turns).toEqual([]);
			expect(replies(runtime)).toEqual(["charged: done"]);
			await runtime.close();
		}
	});

	test("who asks the same again means that turn: no call is paid twice, and no charge made", async () => {
		for (const process of ["the same process", "another process", "another process that resumes"]) {
			await removeState(project.state);
			const world = new World().refuse(call, 6);
			let { runtime } = await ask(world);
			const [first] = runtime.conversation().open;
			if (process !== "the same process") {
				await runtime.close();
				({ runtime } = await world.open());
			}
			if (process === "another process that resumes") runtime.resume();
			expect(await runtime.prompt(QUESTION)).toBe(first);
			await runtime.idle();
			expect([world.paid, world.charges.length], process).toEqual([CALLS, 1]);
			expect(replies(runtime)).toEqual(["charged: done"]);
			await runtime.close();
		}
	});

	test("who asks something else has the open turn answered first, once", async () => {
		const world = new World().refuse(call, 6);
		const { runtime } = await ask(world);
		const [first] = runtime.conversation().open;
		const second = await runtime.prompt("and then?");
		await runtime.idle();
		expect(second).not.toBe(first);
		// A turn of its own each, and the first one's charge is made once.
		expect([world.paid, world.charges.length]).toEqual([[...CALLS, ...CALLS], 2]);
		expect(runtime.restored().turns).toEqual([]);
		await runtime.close();
	});
});

describe("killed after any record, with refusals and without", () => {
	/** What one life, cut after some of its records, and the next one make of the world together. */
	async function killedAfter(kept: number, world: World, lines: readonly string[]) {
		const state = await copyState(project.state, join(project.root, `cut-${kept}`));
		await keepLines(state, kept);
		const tip = (JSON.parse(lines[kept - 1] ?? "{}") as { seq?: number }).seq ?? 0;
		const asked = world.asked.filter((each) => each.tip <= tip);
		const charges = world.charges.filter((each) => each.tip <= tip);
		const next = new World();
		const { runtime } = await next.open([], state);
		if (runtime.conversation().items.length === 0) await runtime.prompt(QUESTION);
		runtime.resume();
		await runtime.idle();
		expect(replies(runtime), `cut after #${tip}`).toEqual(["charged: done"]);
		expect(runtime.restored().turns).toEqual([]);
		await runtime.close();
		await removeState(state);
		return {
			tip,
			paid: [...asked.filter(({ isAnswered }) => isAnswered).map(({ call }) => call), ...next.paid],
			refused: asked.filter(({ isAnswered }) => !isAnswered).length,
			keys: [...charges, ...next.charges].map(({ key }) => key),
		};
	}

	/** The kinds of the records that a kill leaves, without the tries that were refused: the same point in both histories. */
	const point = (lines: readonly string[], kept: number): string =>
		lines
			.slice(0, kept)
			.map((line) => (JSON.parse(line) as { kind?: string }).kind)
			.filter((kind) => kind !== "step_failed" && kind !== "lane_closed")
			.join(" ");

	test("a refusal never costs a call or a charge more than a kill at the same point", async () => {
		const calm = new World();
		await (await ask(calm)).runtime.close();
		const whole = await linesOf(project.state);
		const byPoint = new Map<string, { readonly paid: number; readonly charges: number }>();
		for (let kept = 1; kept <= whole.length; kept++) {
			const { paid, keys } = await killedAfter(kept, calm, whole);
			byPoint.set(point(whole, kept), { paid: paid.length, charges: keys.length });
		}
		expect(Math.max(...[...byPoint.values()].map(({ paid }) => paid))).toBe(CALLS.length + 1);

		for (const [call, times] of [
			["look", 1],
			["charge", 6],
			["say", 2],
		] as const) {
			await removeState(project.state);
			const world = new World().refuse(call, times);
			const { runtime } = await ask(world);
			runtime.resume();
			await runtime.idle();
			await runtime.close();
			const lines = await linesOf(project.state);
			const tries = lines.filter((line) => line.includes('"step_failed"') && !line.includes('"forgotten":true'));
			expect(tries).toHaveLength(times);
			for (const kept of pointsOf(1, lines.length, 6)) {
				const { tip, paid, keys, refused } = await killedAfter(kept, world, lines);
				const where = `${times} refusals of ${call}, killed after #${tip}`;
				const reference = byPoint.get(point(lines, kept));
				expect(paid.length, where).toBeLessThanOrEqual(reference?.paid ?? 0);
				expect(keys.length, where).toBeLessThanOrEqual(reference?.charges ?? 0);
				expect(new Set(keys).size, where).toBe(1);
				expect(refused, where).toBeLessThanOrEqual(times);
			}
		}
	});
});

describe("a turn whose model is away", () => {
	test("keeps those that wait behind it, and they are answered in their order", async () => {
		const world = new World().refuse("look", 6);
		const { runtime, events } = await world.open();
		await Promise.all([runtime.prompt("first"), runtime.prompt("second")]);
		await runtime.idle();
		expect(runtime.restored().turns.map(({ text }) => text)).toEqual(["first", "second"]);
		expect(events.filter(({ type }) => type === "turn_end")).toHaveLength(1);
		const asked = await runtime.prompt("second");
		expect(asked).toBe(runtime.conversation().open[1]);
		await runtime.idle();
		expect(runtime.restored().turns).toEqual([]);
		expect(world.charges).toHaveLength(2);
		await runtime.close();
	});

	test("is over when a person stops it while it waits", async () => {
		const model: Model = {
			id: "m",
			generate: () => {
				throw Object.assign(new Error("429"), { retryable: true });
			},
		};
		const { runtime, events } = await open(project, { model, timers: { after: () => () => {} } });
		await runtime.prompt("hello");
		await until(() => events.some(({ type }) => type === "model_retry"));
		expect(await runtime.interrupt()).toBe(true);
		expect(runtime.conversation().open).toEqual([]);
		await runtime.close();
	});

	test("is over when a rewind goes back into it, and nothing is asked", async () => {
		const world = new World().refuse("say", 6);
		const { runtime } = await ask(world);
		const [turn = 0] = runtime.conversation().open;
		await runtime.checkout(turn, "test");
		expect(runtime.conversation().open).toEqual([]);
		expect(world.asked).toHaveLength(8);
		await runtime.close();
	});

	test.each([
		["one that refuses for good", Object.assign(new Error("401: no such key"), { retryable: false })],
		["one that fails without a word of trying again", new Error("no credit")],
	])("is another case than %s: after that a turn is over", async (_, error) => {
		const world = new World();
		world.refusals.say.push(error);
		const { runtime, events } = await ask(world);
		expect(events.at(-1)).toMatchObject({ type: "turn_end", outcome: "interrupted", reason: error.message });
		expect([runtime.conversation().open, world.asked.length]).toEqual([[], 3]);
		await runtime.close();
	});

	test("is asked as its options say", async () => {
		const world = new World().refuse("look", 2, { retryAfterMs: 70_000 });
		const { runtime, events } = await open(project, {
			model: {
				id: "m",
				generate: () => {
					throw world.refusals.look.shift() ?? new Error("over");
				},
			},
			timers: pauseless(world.waits),
			clock: still,
			random: () => 0.5,
			modelPolicy: { retry: { maxAttempts: 2, jitter: 1 }, timeoutMs: 600_001 },
		});
		await runtime.prompt("hello");
		await runtime.idle();
		expect(world.waits).toEqual([105_000]);
		expect(events.at(-1)).toMatchObject({ outcome: "stopped", reason: expect.stringContaining("in 2 tries") });
		await runtime.close();
	});

	test("takes no longer than its limit", async () => {
		const limits: number[] = [];
		const { runtime, events } = await open(project, {
			model: {
				id: "mute",
				async *generate(_, { signal }) {
					await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
				},
			},
			timers: {
				after(ms, run, keepsAlive = true) {
					// The audit trail rests, and holds nothing up.
					if (keepsAlive) limits.push(ms);
					setImmediate(run);
					return () => {};
				},
			},
			clock: still,
			modelPolicy: { timeoutMs: 5000, retry: { maxAttempts: 2, jitter: 0 } },
		});
		await runtime.prompt("hello");
		await runtime.idle();
		expect(limits).toEqual([5000, 1000, 5000]);
		expect(events.at(-1)).toMatchObject({ type: "turn_end", outcome: "stopped" });
		await runtime.close();
	});
});

test("a skill whose model is away is kept, and goes on with what it has", async () => {
	const world = new World().refuse("charge", 6);
	const skill = defineSkill<unknown>({
		name: "ask",
		description: "",
		input: z.unknown(),
		start: "only",
		phases: {
			async only(context) {
				const asked = { role: "user", text: "x" } as const;
				const request = { system: "", messages: [asked], tools: [] };
				const { text, toolCalls } = await context.model(request);
				const again = { role: "assistant", text, toolCalls } as const;
				return done((await context.model({ ...request, messages: [asked, again] })).toolCalls[0]?.name);
			},
		},
	});
	const { runtime, events, shown } = await world.open([skill]);
	await runtime.runSkill("ask", {});
	await runtime.idle();
	expect(events.at(-1)).toMatchObject({
		type: "skill_end",
		outcome: "stopped",
		reason: expect.stringContaining("429"),
	});
	expect(runtime.restored().runs).toHaveLength(1);
	runtime.resume();
	await runtime.idle();
	expect([world.paid, shown.map(({ text }) => text)]).toEqual([["look", "charge"], ["charge"]]);
	await runtime.close();
});

describe.each<[string, unknown, string]>([
	["a text", "it broke", "it broke"],
	["nothing", undefined, "undefined"],
	["an object", { message: "overloaded" }, "overloaded"],
])("a model that throws %s and no Error", (_, thrown, reason) => {
	const model: Model = {
		id: "thrower",
		generate: () => {
			throw thrown;
		},
	};

	test("ends the turn with that", async () => {
		const { runtime, events } = await open(project, { model });
		await runtime.prompt("hello");
		await runtime.idle();
		expect(events.at(-1)).toMatchObject({ type: "turn_end", outcome: "interrupted", reason });
		expect(runtime.conversation().open).toEqual([]);
		await runtime.close();
	});

	test("stops a skill with that", async () => {
		const skill = defineSkill<unknown>({
			name: "ask",
			description: "",
			input: z.unknown(),
			start: "only",
			phases: { only: async (context) => done((await context.model({ system: "", messages: [], tools: [] })).text) },
		});
		const { runtime, events } = await open(project, { model, skills: [skill] });
		await runtime.runSkill("ask", {});
		await runtime.idle();
		expect(events).toContainEqual(expect.objectContaining({ type: "skill_end", outcome: "stopped", reason }));
		await runtime.close();
	});

	test("fails a script with that, and the script may catch it", async () => {
		const { runtime } = await open(project, { model });
		const caught = "try { return await ctx.agent('x') } catch (error) { return error.message }";
		const script = (body: string) => ({ name: "a.ts", source: `export default async (ctx) => { ${body} }` });
		const first = await runtime.scripts.start(script(caught), {});
		expect(await first.end).toMatchObject({ status: "completed", result: reason });
		const second = await runtime.scripts.start(script("return await ctx.agent('x')"), {});
		expect(await second.end).toMatchObject({ status: "failed", reason: { message: reason } });
		await runtime.close();
	});
});

test("a script whose model is away fails with a code, after all its tries, and resumed pays and does what is missing", async () => {
	const world = new World().refuse("say", 6);
	const { runtime, events } = await world.open();
	const source = "export default async (ctx) => ctx.agent('x', { tools: ['look', 'charge'] })";
	const { run, end } = await runtime.scripts.start({ name: "a.ts", source }, {});
	expect(await end).toMatchObject({ status: "failed", reason: { code: "MODEL_UNAVAILABLE" } });
	expect(world.asked).toHaveLength(2 + 6);
	expect(events.filter(({ type }) => type === "model_retry")).toHaveLength(5);
	const again = await runtime.scripts.resume(run);
	expect(await again.end).toMatchObject({ status: "completed", result: "charged: done" });
	expect([world.paid, world.charges.length]).toEqual([CALLS, 1]);
	await runtime.close();
});

describe("a turn that goes on with something else than it began with", () => {
	/** Asks for the payment in other words each time. */
	const payer = (world: { paid: string[]; asked: number; isDown: boolean }, id = "m"): Model => ({
		id,
		async *generate({ messages }) {
			if (world.isDown) throw Object.assign(new Error("429"), { retryable: true });
			world.asked++;
			if (messages.some(({ role }) => role === "tool")) yield { type: "text", text: "paid" };
			else yield { type: "toolCall", call: { id: "1", name: "pay", args: { note: world.asked } } };
			yield { type: "usage", usage: { inputTokens: 1, outputTokens: 1 } };
		},
	});
	const pay = (world: { paid: string[]; isDown: boolean }): Tool => ({
		name: "pay",
		description: "pays",
		parameters: {},
		purity: "side_effect",
		async call(args) {
			world.paid.push(JSON.stringify(args));
			// A rate limit comes right after the payment.
			world.isDown = true;
			return "receipt";
		},
	});
	const other: Tool = { ...pay({ paid: [], isDown: false }), name: "weather" };

	test.each([
		["a tool more", () => ({ more: [other] })],
		["other instructions", () => ({ instructions: "Be brief." })],
		["another model", () => ({ id: "n" })],
		["its tool gone", () => ({ without: true })],
	])("pays nothing again: %s", async (_, change) => {
		const world = { paid: [] as string[], asked: 0, isDown: false };
		const first = await open(project, { model: payer(world), tools: [pay(world)] });
		await first.runtime.prompt("pay bo");
		await first.runtime.idle();
		await first.runtime.close();
		world.isDown = false;
		const {
			more = [],
			instructions,
			id,
			without,
		}: { more?: Tool[]; instructions?: string; id?: string; without?: boolean } = change();
		const { runtime } = await open(project, {
			model: payer(world, id),
			tools: [...(without ? [] : [pay(world)]), ...more],
			...(instructions === undefined ? {} : { instructions }),
		});
		runtime.resume();
		await runtime.idle();
		expect(world).toMatchObject({ paid: ['{"note":1}'], asked: 2 });
		expect(runtime.conversation().items.toArray().at(-1)).toMatchObject({ type: "reply", text: "paid" });
		await runtime.close();
	});
});
