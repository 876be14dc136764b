/** A model that answers at once, in about as many words as a short answer has. */
import type { Model } from "@reyn/journal";

const SENTENCE =
	"It was appended after the one before it and synced before anybody was told. Its sum is over all that stands before, so nothing can be taken out unseen. ";

export const ANSWER = SENTENCE.repeat(3);
export const USAGE = { inputTokens: 120, outputTokens: 90 };

export const model: Model = {
	id: "bench",
	async *generate() {
		yield { type: "text", text: ANSWER };
		yield { type: "usage", usage: USAGE };
	},
};
