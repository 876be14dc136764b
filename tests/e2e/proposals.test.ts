/** What becomes of a plan that a model proposes, whatever is wrong with it or with its server: nothing is begun of one that cannot be run, and the next one works. */
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineTool, type Tool } from "@reyn/journal";
import { layoutOf, openRuntime, type Runtime, type RuntimeEvent } from "@reyn/runtime";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { type Spoken, spoken } from "../../packages/ai-sdk/test/spoken.ts";
import { openWire, type Reply, type Wire } from "../../packages/ai-sdk/test/wire.ts";

let root: string;
let states = 0;
beforeAll(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-proposals-"));
});
afterAll(() => rm(root, { recursive: true, force: true }));

const of = spoken.find(({ name }) => name.startsWith("chat completions")) as Spoken;

const step = (id: string, more: object = {}) => ({ id, description: `Do ${id}`, ...more });
const after = (...needs: string[]) => ({ depends_on: needs });
const a = step("a");
const b = step("b", after("a"));
const sound = { goal: "Find out", steps: [a, b] };
const steps = (...all: unknown[]) => ({ goal: "Find out", steps: all });
const many = (count: number) => Array.from({ length: count }, (_, i) => step(`s${i}`, i > 0 ? after(`s${i - 1}`) : {}));

const proposal = (args: unknown, id = "call_1") => ({
	id,
	name: "plan",
	args: typeof args === "string" ? args : JSON.stringify(args),
});

interface Opened {
	readonly runtime: Runtime;
	readonly events: RuntimeEvent[];
	readonly wire: Wire;
	/** How often the tool `look` was called. */
	readonly looks: () => number;
	/** The texts that plans have brought. */
	readonly brought: string[];
	replies(): readonly string[];
	/** What is kept of plans: their records, and their files. */
	kept(): Promise<readonly [started: number, files: number]>;
}

/** The last thing said in a request. */
const lastOf = ({ messages = [] }: { readonly messages?: unknown } = {}): string =>
	String((messages as readonly { readonly content?: unknown }[]).at(-1)?.content);

/** Gives the replies to turns one after the other, and has a step say its name. */
const speaking = (replies: Reply[]) =>
	openWire(of.speaker, ({ messages }) => {
		const last = lastOf({ messages });
		const [, id] = /^Goal:.*?\nStep (\w+):/s.exec(last) ?? [];
		return id === undefined ? (replies.shift() ?? { text: "nothing more" }) : { text: `did ${id}` };
	});

async function opened(wire: Wire, state: string, timeoutMs = 20_000): Promise<Opened> {
	const events: RuntimeEvent[] = [];
	const brought: string[] = [];
	let looked = 0;
	const look = defineTool({
		...{ name: "look", description: "looks", purity: "side_effect", input: z.object({}) },
		call: async () => `a den ${looked++}`,
	});
	const runtime = await openRuntime({
		...{ state, model: of.model(wire), tools: [look as Tool] },
		onEvent: (event) => void events.push(event),
		onMessage: async ({ text }) => void brought.push(text),
		modelPolicy: { retry: { initialIntervalMs: 1, maxAttempts: 3 }, timeoutMs },
	});
	return {
		...{ runtime, events, wire, brought, looks: () => looked },
		replies: () =>
			runtime
				.conversation()
				.items.toArray()
				.flatMap((item) => (item.type === "reply" ? item.text : [])),
		async kept() {
			let started = 0;
			for await (const { kind } of runtime.wal.read()) if (kind === "plan_started") started++;
			const files = await readdir(join(layoutOf(state).root, "state/plans"), { recursive: true }).catch(() => []);
			return [started, files.filter((name) => /[0-9a-f]{64}/.test(name)).length];
		},
	};
}

/** Of each: what a model gives as its arguments, and what it is told. */
const malformed: Readonly<Record<string, readonly [args: unknown, told: RegExp]>> = {
	"no steps": [steps(), /steps: a plan has 2 to 7 steps; found 0/],
	"one step": [steps(a), /steps: a plan has 2 to 7 steps; found 1/],
	"eight steps": [steps(...many(8)), /steps: a plan has 2 to 7 steps; found 8/],
	"steps left out": [{ goal: "x" }, /steps: expected array, received undefined/],
	"steps as JSON in a text": [
		{ goal: "x", steps: JSON.stringify([a, b]) },
		/steps: expected a list of steps; found a text/,
	],
	"steps as an object": [{ goal: "x", steps: { a, b } }, /steps: expected array, received object/],
	"steps that are null": [{ goal: "x", steps: null }, /steps: expected array, received null/],
	"a step that is null": [steps(a, null), /steps.1: expected object, received null/],
	"a step that is a text": [steps("a", "b"), /steps.0: expected object, received string/],
	"no goal": [{ steps: [a, b] }, /goal: expected string, received undefined/],
	"an empty goal": [{ ...sound, goal: "" }, /goal: expected a text; found an empty one/],
	"a goal that is a number": [{ ...sound, goal: 7 }, /goal: expected string, received number/],
	"a goal of 2,001 characters": [
		{ ...sound, goal: "g".repeat(2001) },
		/goal: expected at most 2000 characters; found 2001/,
	],
	"a goal of 1 MB": [
		{ ...sound, goal: "g".repeat(1_000_000) },
		/goal: expected at most 2000 characters; found 1000000/,
	],
	"no description": [steps({ id: "a" }, b), /steps.0.description: expected string, received undefined/],
	"an empty description": [
		steps(step("a", { description: "" }), b),
		/steps.0.description: expected a text; found an empty/,
	],
	"a description of 501 characters": [
		steps(step("a", { description: "d".repeat(501) }), b),
		/steps.0.description: expected at most 500 characters; found 501/,
	],
	"no id": [steps({ description: "Do it" }, b), /steps.0.id: expected string, received undefined/],
	"an empty id": [steps(step(""), b), /steps.0.id: expected a short name .*; found ""/],
	"an id with spaces": [steps(step("step one"), b), /steps.0.id: expected a short name .*; found "step one"/],
	"an id of 33 characters": [steps(step("i".repeat(33)), b), /steps.0.id: expected a short name .*; found "i{33}"/],
	"an id that is a number": [steps(step(1 as never), b), /steps.0.id: expected string, received number/],
	"an id that is __proto__": [steps(step("__proto__"), b), /steps.0.id: expected a short name .*; found "__proto__"/],
	"half a character in an id": [steps(step("a\ud83e"), b), /steps.0.id: expected a short name/],
	"two steps of one id": [steps(a, a, b), /two steps are called "a"/],
	"a tool that is not there": [
		steps(step("a", { tools: ["fly"] }), b),
		/step "a" wants the tool "fly"; a step may use look/,
	],
	"a plan in a plan": [steps(step("a", { tools: ["plan"] }), b), /step "a" wants the tool "plan"; a step may use look/],
	"ten thousand tools": [
		steps(step("a", { tools: Array.from({ length: 10_000 }, (_, i) => `t${i}`) }), b),
		/step "a" wants the tool "t9"; a step may use look; and 9990 more$/,
	],
	"tools as a text": [steps(step("a", { tools: "look" }), b), /steps.0.tools: expected array, received string/],
	"tools that are null": [steps(step("a", { tools: null }), b), /steps.0.tools: expected array, received null/],
	"a need that is no step": [steps(a, step("b", after("a", "z"))), /step "b" depends on "z"; the steps are a, b/],
	"needs as a text": [steps(a, step("b", { depends_on: "a" })), /steps.1.depends_on: expected array, received string/],
	"needs that are null": [
		steps(a, step("b", { depends_on: null })),
		/steps.1.depends_on: expected array, received null/,
	],
	"a step that needs itself": [steps(step("a", after("a")), b), /the steps a, b wait for each other/],
	"a cycle": [steps(step("a", after("c")), b, step("c", after("b"))), /the steps a, b, c wait for each other/],
	"two steps that come last": [
		steps(a, b, step("c", after("a"))),
		/exactly one step comes last .* nothing depends on b, c/,
	],
	"a class of models that is not there": [
		steps(step("a", { model: "huge" }), b),
		/step "a" wants the model "huge"; there is no choice of models, so leave it out/,
	],
	"a budget of 0 tokens": [steps(step("a", { max_tokens: 0 }), b), /steps.0.max_tokens: .*>0/],
	"a field too many": [{ ...sound, mode: "fast" }, /plan: there is no "mode"; there are goal, steps/],
	"a field too many in a step": [steps(step("a", { tool: "look" }), b), /steps.0: there is no "tool"; there are id, /],
	"a field __proto__": [
		'{"goal":"x","__proto__":{"steps":[]}}',
		/plan: there is no "__proto__"; there are goal, steps/,
	],
	"null in place of it": ["null", /plan: expected object, received null/],
	"a number in place of it": ["12345", /plan: expected object, received number/],
	"a list in place of it": [[a, b], /plan: expected object, received array/],
	"it all as JSON in a text": [JSON.stringify(JSON.stringify(sound)), /plan: expected object, received string/],
	"no JSON at all": ["first a, then b", /plan: expected object, received string/],
	"JSON that ends in the middle": [JSON.stringify(sound).slice(0, 40), /plan: expected object, received string/],
	"nothing at all": ["{}", /goal: expected string, received undefined; steps: expected array, received undefined/],
};

test.each(Object.entries(malformed))(
	"%s: the model is told, and where it stays so the person; nothing is kept, and a sound plan behind it works",
	async (_, [args, told]) => {
		const replies: Reply[] = [];
		await using wire = await speaking(replies);
		const { runtime, events, brought, ...at } = await opened(wire, join(root, `${states++}`));
		const wrong: Reply = { calls: [proposal(args)] };
		replies.push(wrong, wrong);
		await runtime.prompt("Find out, in the background.");
		await runtime.idle();
		expect(wire.asked).toHaveLength(2);
		const heard = lastOf(wire.asked[1]);
		expect(heard).toMatch(told);
		expect(heard.length).toBeLessThan(1500);
		expect(at.replies()).toEqual([`No plan was started: ${heard.replace(/^ERROR: /, "")}`]);
		expect(events.filter(({ type }) => type === "turn_end")).toMatchObject([{ outcome: "completed" }]);
		expect(await at.kept()).toEqual([0, 0]);
		replies.push(wrong, { calls: [proposal(sound)] });
		await runtime.prompt("Once more.");
		await runtime.idle();
		expect(brought).toEqual(["did b"]);
		expect(await at.kept()).toEqual([1, 1]);
		await runtime.close();
	},
);

const refused = (status: number, headers = {}): Reply => ({
	refusal: { status, headers, body: { error: { message: "busy", type: "t", code: status } } },
});

const whole: Reply = { calls: [proposal(sound)] };

interface Outcome {
	readonly replies: readonly Reply[];
	/** How often the provider is asked for turns, in both lives. */
	readonly asked: number;
	/** Why no plan is started. */
	readonly fails?: RegExp;
	/** What the plan brings. Default: what the last step of `sound` says. */
	readonly brings?: string;
	readonly looks?: number;
}

const look = { id: "call_2", name: "look", args: "{}" };

const outcomes: Readonly<Record<string, Outcome>> = {
	"a stream that is cut in the middle of it": { replies: [{ ...whole, cutAt: 3 }, whole], asked: 2 },
	"a stream that fails in the middle of it": { replies: [{ ...whole, failsAs: of.busy }, whole], asked: 2 },
	"a 429 with retry-after": { replies: [refused(429, { "retry-after": "0" }), whole], asked: 2 },
	"two 500s": { replies: [refused(500), refused(500), whole], asked: 3 },
	"a hang": { replies: [{ isSilent: true }, whole], asked: 2 },
	"a 400": { replies: [refused(400)], asked: 1, fails: /busy/ },
	"the limit of tokens": { replies: [{ ...whole, finish: "length" }], asked: 1, fails: /was cut after 7 tokens/ },
	"a call beside it": { replies: [{ calls: [proposal(sound), look] }], asked: 1, looks: 1 },
	"words before it": { replies: [{ ...whole, text: "I will plan that." }], asked: 1 },
	"two at once": { replies: [{ calls: [proposal(sound), proposal({ ...sound, goal: "Other" }, "call_3")] }], asked: 1 },
	"one that cannot be run, and one that can": {
		replies: [{ calls: [proposal(steps(a)), proposal(sound, "call_3")] }],
		asked: 1,
	},
	"half a character in its goal": { replies: [{ calls: [proposal({ ...sound, goal: "a fox \ud83e" })] }], asked: 1 },
	"ids that every object has": {
		replies: [{ calls: [proposal(steps(step("constructor"), step("toString", after("constructor"))))] }],
		...{ asked: 1, brings: "did toString" },
	},
	"seven steps, the last one first": {
		replies: [{ calls: [proposal(steps(step("z", after("s5")), ...many(6)))] }],
		...{ asked: 1, brings: "did z" },
	},
};

describe("a proposal, and", () => {
	test.each(Object.entries(outcomes))("%s: one plan, or none and why", async (name, { replies, ...expected }) => {
		await using wire = await speaking([...replies]);
		const state = join(root, `${states++}`);
		const first = await opened(wire, state, name === "a hang" ? 300 : 20_000);
		await first.runtime.prompt("Find out, in the background.");
		await first.runtime.idle();
		await first.runtime.close();
		const second = await opened(wire, state);
		second.runtime.resume();
		await second.runtime.idle();
		const { brings = "did b", fails } = expected;
		const turns = wire.asked.filter(({ messages }) => !JSON.stringify(messages).includes("\\nStep "));
		expect([turns.length, first.looks() + second.looks()]).toEqual([expected.asked, expected.looks ?? 0]);
		expect([...first.brought, ...second.brought]).toEqual(fails ? [] : [brings]);
		expect(await second.kept()).toEqual(fails ? [0, 0] : [1, 1]);
		const ends = first.events.filter(({ type }) => type === "turn_end");
		expect(ends).toMatchObject([
			fails ? { outcome: "interrupted", reason: expect.stringMatching(fails) } : { outcome: "completed" },
		]);
		await second.runtime.close();
	});
});
