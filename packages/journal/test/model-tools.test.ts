/** What a model is told of its tools: their descriptions, whatever else the objects that it was given are. */
import { expect, test } from "vitest";
import { askModel, Lane, type Model, type ModelRequest, type Tool, type ToolSpec } from "../src/index.ts";
import { DyingLog, scope, using } from "./dying-log.ts";

class Search implements Tool {
	readonly name = "search";
	readonly purity = "world";
	readonly parameters = { type: "object", properties: { query: { type: "string" } } };
	#calls = 0;

	get description(): string {
		return "searches";
	}

	async call(): Promise<string> {
		return `answer ${++this.#calls}`;
	}
}

const tool: Tool = {
	name: "send",
	description: "sends",
	parameters: { type: "object" },
	purity: "side_effect",
	call: async () => "sent",
};
const { name, description, parameters } = new Search();
const specs: readonly ToolSpec[] = [
	{ name: "send", description: "sends", parameters: { type: "object" } },
	{ name, description, parameters },
];

/** Answers, and notes what it was asked. */
function listening(): { readonly model: Model; readonly asked: ModelRequest[] } {
	const asked: ModelRequest[] = [];
	return {
		asked,
		model: {
			id: "listening",
			async *generate(request) {
				asked.push(request);
				yield { type: "text", text: "done" };
				yield { type: "usage", usage: { inputTokens: 1, outputTokens: 1 } };
			},
		},
	};
}

test("tools themselves may be given: the model is told what it may know of them", async () => {
	const { model, asked } = listening();
	const request = { system: "", messages: [], tools: [tool, new Search()] };
	const reply = await askModel(new Lane("a", scope, using(new DyingLog())), model, request);
	expect(reply.text).toBe("done");
	expect(asked).toEqual([{ ...request, tools: specs }]);
});

test("a call with tools and one with their descriptions are the same call", async () => {
	const { model, asked } = listening();
	const log = new DyingLog();
	await askModel(new Lane("a", scope, using(log)), model, { system: "", messages: [], tools: specs });
	await askModel(new Lane("a", scope, using(log)), model, { system: "", messages: [], tools: [tool, new Search()] });
	expect(asked).toHaveLength(1);
});
