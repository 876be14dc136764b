/** The five purities of a step: what is recorded of each, and what a resume does with it. */
import { JournalError } from "./errors.ts";

/**
 * What a step does to the world, and so what a resume may do with it.
 *
 * | purity        | started record       | completed record | on resume                          |
 * |---------------|----------------------|------------------|------------------------------------|
 * | `pure`        | no                   | no               | run again                          |
 * | `world`       | no                   | yes              | run again: its truth may have moved |
 * | `side_effect` | yes, durable first   | yes              | recall; an open start is in doubt  |
 * | `external`    | yes, durable first   | yes              | recall; an open start is in doubt  |
 * | `llm`         | no                   | yes, with usage  | recall; the tokens count as saved  |
 */
export type Purity = (typeof purities)[number];

export const purities = ["pure", "world", "side_effect", "external", "llm"] as const;

/** Must the start be durable before the call? Then a start without an outcome is in doubt. */
export const startsDurably = (purity: Purity): boolean => purity === "side_effect" || purity === "external";

/** @throws JournalError `STEP_PURITY`: what a call does to the world has to be known before it is made */
export function assertPurity({ name, purity }: { readonly name: string; readonly purity: unknown }): void {
	if (purities.includes(purity as Purity)) return;
	const found = purity === undefined ? "none" : typeof purity === "string" ? `"${purity}"` : typeof purity;
	const why = `the purity of ${name} has to be one of ${purities.join(", ")}; found ${found}. Nothing was called`;
	throw new JournalError("STEP_PURITY", why, { name });
}

/** @throws JournalError `STEP_PURITY`: what a call is prepared with is recorded with its start, which only an effect has */
export function assertPreparable({ name, purity }: { readonly name: string; readonly purity: Purity }): void {
	if (startsDurably(purity)) return;
	const why = `${name} prepares its call, so its purity has to be side_effect or external; found "${purity}". Nothing was called`;
	throw new JournalError("STEP_PURITY", why, { name });
}

/** Is the outcome recorded at all? */
export const leavesOutcome = (purity: Purity): boolean => purity !== "pure";
