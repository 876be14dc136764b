/** A model that follows a script: no key, no network. Each call leaves a line in `model-calls.txt`. */
import { appendFileSync } from "node:fs";
import { crash } from "./shop.js";

export const model = {
	id: "scripted",
	async *generate({ messages }) {
		const { role, name, text } = messages.at(-1);
		const [, step] = /^Step \w+: (.*)$/m.exec(text) ?? [];
		appendFileSync("model-calls.txt", `${step ?? name ?? text}\n`);
		const order = Number(/order (\d+)/.exec(text)?.[1]);
		const call = (tool) => ({ type: "toolCall", call: { id: tool, name: tool, args: { order } } });
		if (step === "Compare them") crash("plan");
		if (step)
			yield { type: "text", text: step === "Compare them" ? "The lamp is returned more often." : `${step}: done` };
		else if (role === "user") yield order ? call("look_up") : { type: "text", text: "Which order?" };
		else if (name === "look_up") yield call("refund");
		else yield { type: "text", text: `Done: ${text}.` };
		yield { type: "usage", usage: { inputTokens: 10, outputTokens: 5 } };
	},
};

/** As a model would have made it. */
export const comparison = {
	goal: "Which is returned more often?",
	steps: [
		{ id: "lamps", description: "Look at lamps" },
		{ id: "chairs", description: "Look at chairs" },
		{ id: "answer", description: "Compare them", depends_on: ["lamps", "chairs"] },
	],
};
