/** A wrapper that counts the calls of a model in a file, for tests that kill the process. */
import { appendFileSync } from "node:fs";
import { fingerprint, type Model } from "@reyn/journal";
import { asRecorded } from "./files.ts";

/**
 * A model that writes a line to a file for each call that reaches it, before it answers: `{ pid, model, request }`,
 * `request` being the fingerprint that the call's record in the log carries too. So calls are counted where they would be paid for.
 */
export function tracedModel(model: Model, path: string): Model {
	return {
		...model,
		generate(request, options) {
			const asked = asRecorded(request);
			appendFileSync(
				path,
				`${JSON.stringify({ pid: process.pid, model: model.id, request: fingerprint("model", model.id, asked) })}\n`,
				// Readable by its owner alone, like every file of a state.
				{ mode: 0o600 },
			);
			return model.generate(request, options);
		},
	};
}
