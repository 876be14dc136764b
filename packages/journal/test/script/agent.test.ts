/** Agents of scripts: tools, schemas, limits, and which change makes another call of them. */
import { describe, expect, test } from "vitest";
import type { Model, ModelPart, ModelRequest, Tool } from "../../src/index.ts";
import { Process, script, writer } from "./script-process.ts";

/** What a model says next, by how often it has answered: a text, or the tool that it wants called. */
type Reply = string | { readonly tool: string; readonly args?: unknown };

function model(reply: (turn: number, request: ModelRequest) => Reply): Model {
	return {
		id: "turns",
		async *generate(request): AsyncIterable<ModelPart> {
			const turn = request.messages.filter(({ role }) => role === "assistant").length;
			const said = reply(turn, request);
			if (typeof said === "string") yield { type: "text", text: said };
			else yield { type: "toolCall", call: { id: `c${turn}`, name: said.tool, args: said.args ?? {} } };
			yield { type: "usage", usage: { inputTokens: 10, outputTokens: 1 } };
		},
	};
}

const lastText = ({ messages }: ModelRequest): string => messages.at(-1)?.text ?? "";

describe("an agent with tools", () => {
	const reader: Tool = { ...writer(() => "the file"), name: "read", purity: "external" };
	const calls = model((turn, request) =>
		turn === 0 ? { tool: "read", args: { path: "a" } } : `saw ${lastText(request)}`,
	);
	const source = script('return ctx.agent("look", { tools: ["read"] });');

	test("works until it answers, and costs what its turns cost", async () => {
		const run = new Process({ model: calls, tools: [reader] });
		expect(await run.work(source)).toMatchObject({ result: "saw the file" });
		expect(run.made).toEqual(["look", 'read {"path":"a"}', "look"]);
		const end = run.log.records.findLast(({ kind }) => kind === "step_completed");
		expect(end?.data).toMatchObject({ kind: "agent", usage: { inputTokens: 20, outputTokens: 2 } });
		const replay = run.next();
		expect([await replay.work(source), replay.made]).toEqual([{ status: "completed", result: "saw the file" }, []]);
	});

	test.each([
		["asks for the tool", 0, ["look", 'read {"path":"a"}', "look"]],
		["calls the tool", 2, ['read {"path":"a"}', "look"]],
		["asks for the answer", 3, ["look"]],
		["is over", 4, []],
	])("that is killed while it %s pays only what was open", async (_, appends, made) => {
		const run = new Process({ model: calls, tools: [reader], appends });
		expect(await run.work(source)).toMatchObject({ status: "killed" });
		const again = run.next();
		expect(await again.work(source)).toMatchObject({ result: "saw the file" });
		expect(again.made).toEqual(made);
	});

	test("is told what a tool failed with, and that there is no such tool", async () => {
		const broken: Tool = { ...reader, call: () => Promise.reject(new Error("no such file")) };
		const told = model((turn, request) => (turn === 0 ? { tool: "read" } : lastText(request)));
		const run = new Process({ model: told, tools: [broken] });
		expect(await run.work(source)).toMatchObject({ result: "ERROR: no such file" });
		const lost = model((turn, request) => (turn === 0 ? { tool: "find" } : lastText(request)));
		expect(await new Process({ model: lost, tools: [reader] }).work(source)).toMatchObject({
			result: 'ERROR: there is no tool "find" here; there are read',
		});
	});

	test("may not name one that there is none of", async () => {
		const ended = await new Process({ model: calls, tools: [writer()] }).work(source);
		expect(ended).toMatchObject({
			status: "failed",
			error: { code: "SCRIPT_UNKNOWN_TOOL", detail: { known: ["write"] } },
		});
	});

	test("that never answers is ended after its turns, and a replay asks for none of them again", async () => {
		const endless = model(() => ({ tool: "read" }));
		const source = script('return ctx.agent("look", { tools: ["read"], maxTurns: 3 });');
		const run = new Process({ model: endless, tools: [reader] });
		expect(await run.work(source)).toMatchObject({ error: { code: "AGENT_TURNS", detail: { maxTurns: 3 } } });
		expect(run.made.filter((each) => each === "look")).toHaveLength(3);
		const replay = run.next();
		expect(await replay.work(source)).toMatchObject({ error: { code: "AGENT_TURNS" } });
		expect(replay.made).toEqual([]);
	});
});

describe("an answer with a schema", () => {
	const source = script(`return ctx.agent("count", {
		schema: { type: "object", properties: { n: { type: "integer" } }, required: ["n"], additionalProperties: false },
	});`);
	const answers = (...texts: string[]): Process => new Process({ model: model((turn) => texts[turn] ?? "no more") });

	test.each([
		["plain", '{"n":4}'],
		["in a fence", 'Here it is:\n```json\n{"n":4}\n```\n'],
	])("is read as JSON: %s", async (_, text) => {
		expect(await answers(text).work(source)).toEqual({ status: "completed", result: { n: 4 } });
	});

	test.each([
		["what is no JSON", "four"],
		["what does not fit", '{"n":"four"}'],
	])("is mended once: %s", async (_, text) => {
		const run = answers(text, '{"n":4}');
		expect(await run.work(source)).toEqual({ status: "completed", result: { n: 4 } });
		expect(run.made).toHaveLength(2);
		const replay = run.next();
		expect([await replay.work(source), replay.made]).toEqual([{ status: "completed", result: { n: 4 } }, []]);
	});

	test("that is wrong twice is none", async () => {
		const run = answers("four", '{"n":4.5}', '{"n":4}');
		const ended = await run.work(source);
		expect(ended).toMatchObject({ status: "failed", error: { code: "AGENT_ANSWER", detail: { answer: '{"n":4.5}' } } });
		expect(run.made).toHaveLength(2);
	});

	test("the model is shown the schema, and what was wrong", async () => {
		const seen: string[] = [];
		const shown = model((turn, request) => {
			seen.push(lastText(request));
			return turn === 0 ? '{"n":"x"}' : '{"n":1}';
		});
		await new Process({ model: shown }).work(source);
		expect(seen[0]).toContain('"additionalProperties":false');
		expect(seen[1]).toMatch(/^That does not fit: .*n.*\. Answer again, with JSON alone\.$/);
	});
});

describe("what makes it another call", () => {
	const source = script('return ctx.agent("look", { label: "a look", estimate: 100, system: "Be brief." });');

	test.each([
		["not its label", '"a look"', '"another look"', 0],
		["not its estimate", "estimate: 100", "estimate: 7", 0],
		["its prompt", '"look"', '"look well"', 1],
		["its system prompt", "Be brief.", "Be long.", 1],
	])("is %s", async (_, from, to, made) => {
		const run = new Process({ model: model(() => "done") });
		await run.work(source);
		const next = run.next();
		await next.work(source.replace(from, to));
		expect(next.made).toHaveLength(made);
	});

	test("is the model: an unchanged script then stops before anything is called, and goes on once it is edited", async () => {
		const run = new Process({ model: model(() => "done") });
		await run.work(source);
		const other = run.next({ model: { ...model(() => "done"), id: "other" } });
		expect(await other.work(source)).toMatchObject({
			error: {
				code: "REPLAY_DIVERGENCE",
				expected: expect.stringMatching(/^agent turns/),
				got: expect.stringMatching(/^agent other/),
			},
		});
		expect(other.made).toEqual([]);
		const edited = other.next({ model: { ...model(() => "done"), id: "other" } });
		expect(await edited.work(`${source}// with the other model\n`)).toMatchObject({
			error: { message: expect.stringContaining("a comment is no edit") },
		});
		await edited.work(`${source}void 0;\n`);
		expect(edited.made).toEqual(["look"]);
	});

	test("is how many turns it may take, though what the model was asked before it need not be asked again", async () => {
		const run = new Process({ model: model(() => "done") });
		await run.work(source);
		const edited = source.replace("estimate", "maxTurns: 3, estimate");
		const prefix = run.next();
		await prefix.work(edited);
		expect(prefix.made).toEqual(["look"]);
		const content = new Process({ model: model(() => "done") });
		await content.work(source);
		const reused = content.next();
		await reused.work(edited, { reuse: "content" });
		expect(reused.made).toEqual([]);
	});
});
