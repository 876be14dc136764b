/** Loaded into the real command line before all else: its model says what stands in a file, a few letters at a time. */
import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import type { Model } from "@reyn/journal";

registerHooks({
	load(url, context, next) {
		if (!url.endsWith("/offline-model/src/traced-model.ts")) return next(url, context);
		const source = `export { tracedModel } from ${JSON.stringify(import.meta.url)};`;
		return { format: "module", shortCircuit: true, source };
	},
});

/** In the place of the one that counts calls. */
export function tracedModel({ id }: Model, trace: string): Model {
	return {
		id,
		async *generate() {
			for (const piece of readFileSync(`${trace}.says`, "utf8").match(/[\s\S]{1,7}/g) ?? [])
				yield { type: "text", text: piece };
			yield { type: "usage", usage: { inputTokens: 1, outputTokens: 1 } };
		},
	};
}
