/** Calls of scripts that somebody may forbid, or hold; and tools that say that they came to nothing. */
import { describe, expect, test } from "vitest";
import type { GatedCall, Model, Tool, Verdict } from "../../src/index.ts";
import { Process, script, writer } from "./script-process.ts";

/** Asks for the tool `pay` once, and says then what it was told. */
const payer: Model = {
	id: "m",
	async *generate({ messages }) {
		const last = messages.at(-1);
		if (last?.role === "tool") yield { type: "text", text: last.text };
		else yield { type: "toolCall", call: { id: "1", name: "pay", args: {} } };
		yield { type: "usage", usage: { inputTokens: 10, outputTokens: 1 } };
	},
};

const pay: Tool = { ...writer(() => "paid"), name: "pay" };
const own = script(
	'try { return await ctx.tool("pay", {}); } catch (error) { return error.code + ": " + error.message; }',
);
const agent = script('return ctx.agent("pay", { tools: ["pay"] });');

function gateOf(verdict: (call: GatedCall) => Verdict) {
	const asked: string[] = [];
	const gate = async (call: GatedCall): Promise<Verdict> => {
		asked.push(`${call.type} ${call.name}`);
		return call.type === "model" ? { kind: "pass" } : verdict(call);
	};
	return { asked, gate };
}

const forms = [
	["a script", own, [], { denied: "NOT_ALLOWED: nobody may pay", models: [] }],
	["an agent", agent, ["pay", "pay"], { denied: "ERROR: nobody may pay", models: ["model m"] }],
] as const;

describe.each(forms)("a gate before a tool of %s", (_, source, prompts, { denied, models }) => {
	test("lets it pass once, and is not asked for what is recalled", async () => {
		const { asked, gate } = gateOf(() => ({ kind: "pass" }));
		const run = new Process({ model: payer, tools: [pay], gate });
		expect(await run.work(source)).toEqual({ status: "completed", result: "paid" });
		expect(asked).toEqual([...models, "tool pay", ...models]);
		const again = run.next();
		expect(await again.work(source)).toEqual({ status: "completed", result: "paid" });
		expect([asked.length, again.made]).toEqual([1 + 2 * models.length, []]);
	});

	test("denies it, and whoever called is told so, in a replay too", async () => {
		const { asked, gate } = gateOf(() => ({ kind: "deny", code: "NOT_ALLOWED", reason: "nobody may pay" }));
		const run = new Process({ model: payer, tools: [pay], gate });
		expect(await run.work(source)).toEqual({ status: "completed", result: denied });
		expect([run.made, run.kinds.includes("step_started")]).toEqual([[...prompts], false]);
		const told = asked.length;
		const again = run.next();
		expect(await again.work(source)).toEqual({ status: "completed", result: denied });
		expect([asked.length, again.made]).toEqual([told, []]);
	});

	test("lets it wait: the run ends as waiting, and goes on where it was", async () => {
		let verdict: Verdict = { kind: "wait", for: "a person" };
		const { gate } = gateOf(() => verdict);
		const run = new Process({ model: payer, tools: [pay], gate });
		expect(await run.work(source)).toMatchObject({
			status: "waiting",
			error: { code: "SCRIPT_WAITING", message: expect.stringContaining("waits for a person") },
		});
		expect(run.kinds.filter((kind) => kind === "step_started" || kind === "step_failed")).toEqual([]);
		verdict = { kind: "pass" };
		const again = run.next();
		expect(await again.work(source)).toEqual({ status: "completed", result: "paid" });
		// What was paid for before is not asked for again.
		expect(again.made.filter((each) => each === "pay")).toEqual(prompts.slice(1));
	});
});

test("what else is under way when a call waits comes to its end", async () => {
	const { gate } = gateOf(() => ({ kind: "wait", for: "a person" }));
	const model: Model = {
		id: "slow",
		async *generate() {
			await new Promise((resolve) => setTimeout(resolve, 20));
			yield { type: "text", text: "slow" };
			yield { type: "usage", usage: { inputTokens: 1, outputTokens: 1 } };
		},
	};
	const source = script('return ctx.parallel([() => ctx.tool("pay", {}), () => ctx.agent("a")]);');
	const run = new Process({ model, tools: [pay], gate });
	expect(await run.work(source)).toMatchObject({ status: "waiting" });
	const again = run.next({ gate: async () => ({ kind: "pass" }) });
	expect(await again.work(source)).toEqual({ status: "completed", result: ["paid", "slow"] });
	expect(again.made).toEqual(["pay {}"]);
});

describe("a tool that answers with an error", () => {
	const refusing: Tool = { ...pay, call: async () => ({ text: "no such account", isError: true }) };

	test("fails the call of a script, in a replay too, and it is called again by a run that it has ended", async () => {
		const run = new Process({ tools: [refusing] });
		const caught = { status: "completed", result: "TOOL_ERROR: no such account" };
		expect(await run.work(own)).toEqual(caught);
		const again = run.next();
		expect([await again.work(own), again.made]).toEqual([caught, []]);
		const uncaught = script('return ctx.tool("pay", {});');
		const ended = new Process({ tools: [refusing] });
		expect(await ended.work(uncaught)).toMatchObject({ status: "failed", error: { code: "TOOL_ERROR" } });
		expect(await ended.next({ tools: [pay] }).work(uncaught)).toEqual({ status: "completed", result: "paid" });
	});

	test("as its far side says after a crash, fails the call too", async () => {
		const reconcile: NonNullable<Tool["reconcile"]> = async () => ({
			kind: "done",
			result: { text: "no such account", isError: true },
		});
		const run = new Process({ tools: [{ ...pay, reconcile }], appends: 1 });
		expect(await run.work(own)).toMatchObject({ status: "killed" });
		const again = run.next();
		const caught = { status: "completed", result: "TOOL_ERROR: no such account" };
		expect([await again.work(own), again.made]).toEqual([caught, []]);
		expect(await again.next().work(own)).toEqual(caught);
	});

	test("is shown to an agent as one", async () => {
		const run = new Process({ model: payer, tools: [refusing] });
		expect(await run.work(agent)).toMatchObject({ result: "ERROR: no such account" });
	});
});

test("a preview asks nobody, neither a gate nor the far side of a call in doubt", async () => {
	const asked: string[] = [];
	const careful: Tool = {
		...pay,
		prepare: async () => asked.push("prepare"),
		reconcile: async () => {
			asked.push("reconcile");
			return { kind: "unknown" };
		},
		inDoubt: "ask",
	};
	const run = new Process({ model: payer, tools: [careful], appends: 2 });
	expect(await run.work(agent)).toMatchObject({ status: "killed" });
	expect([run.kinds.at(-1), asked.splice(0)]).toEqual(["step_started", ["prepare"]]);
	const { gate, asked: gated } = gateOf(() => ({ kind: "pass" }));
	await run.next({ gate }).explain(agent);
	expect([asked, gated]).toEqual([[], []]);
});
