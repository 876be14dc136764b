/** The plans that are measured, and the model that answers their steps. */
import type { Model } from "@reyn/journal";

/** Of each plan; the last one needs the others. */
export const STEPS = 7;

const ids = Array.from({ length: STEPS }, (_, n) => `s${n}`);
const last = ids.at(-1);

/** Six steps that need nobody, and one that needs them all. */
export const wide = {
	goal: "Compare what is written in six places",
	steps: ids.map((id) => ({ id, description: `Read ${id}`, depends_on: id === last ? ids.slice(0, -1) : [] })),
};

/** Each step needs the one before it. */
export const chain = {
	goal: "Follow a trail",
	steps: ids.map((id, n) => ({ id, description: `Read ${id}`, depends_on: ids.slice(Math.max(0, n - 1), n) })),
};

const SHORT = "It is written in src/log.ts:12 that each line has a checksum. ".repeat(12);
const LONG = SHORT.repeat(60);

/** Answers after so many milliseconds, of each plan one step at length. `held`: it never answers the last step. */
export function modelOf(
	ms: number,
	{ held = false }: { readonly held?: boolean } = {},
): Model & { readonly calls: () => number } {
	let calls = 0;
	return {
		id: "bench",
		calls: () => calls,
		async *generate({ messages: [asked] }, { signal }) {
			const step = stepIn(asked?.text ?? "");
			if (held && step === last) await new Promise((_, reject) => signal.addEventListener("abort", reject));
			calls++;
			if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
			yield { type: "text", text: step === "s1" ? LONG : SHORT };
			yield { type: "usage", usage: { inputTokens: 100, outputTokens: 10 } };
		},
	};
}

const stepIn = (text: string): string => /^Step (\w+):/m.exec(text)?.[1] ?? "";
