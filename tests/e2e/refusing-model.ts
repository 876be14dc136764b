/** Loaded into the real command line before all else: its model refuses as many calls as a file says, each for an hour. */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { registerHooks } from "node:module";
import type { Model } from "@reyn/journal";

registerHooks({
	load(url, context, next) {
		if (!url.endsWith("/offline-model/src/traced-model.ts")) return next(url, context);
		const source = `export { tracedModel } from ${JSON.stringify(import.meta.url)};`;
		return { format: "module", shortCircuit: true, source };
	},
});

/** In the place of the one that counts calls; it counts them too. */
export function tracedModel(model: Model, trace: string): Model {
	return {
		id: model.id,
		async *generate(request, options) {
			const refusals = `${trace}.refusals`;
			const left = existsSync(refusals) ? Number(readFileSync(refusals, "utf8")) : 0;
			appendFileSync(trace, `${left > 0 ? "refused" : "paid"}\n`);
			if (left > 0) {
				writeFileSync(refusals, String(left - 1));
				throw Object.assign(new Error("429: too many requests"), { retryable: true, retryAfterMs: 3_600_000 });
			}
			yield* model.generate(request, options);
		},
	};
}
