/** The gate: an embedder's function that may deny a call of a tool or a model, or let it wait, before it is made. */
import { JournalError } from "./errors.ts";
import { asForNow } from "./failure.ts";
import type { Want } from "./ports.ts";
import type { Purity } from "./purity.ts";

/** A call that is about to be made. Nothing of it has begun, and no result is recorded. */
export interface GatedCall {
	readonly type: "tool" | "model";
	readonly name: string;
	readonly args: unknown;
	/** Identifies the call, also after a crash: so a person is asked once for one call. */
	readonly key: string;
	readonly lane: string;
	readonly purity: Purity;
	/** What the tool says that the call would touch. Absent: it does not say. */
	readonly wants?: readonly Want[];
	/** Present when the call was started before and its outcome is unknown: it may then happen a second time. */
	readonly inDoubt?: true;
	readonly signal: AbortSignal;
}

/**
 * What a gate decides. `pass`: the call is made. `deny`: the call fails with this code; with `forNow` what is said is no answer to the
 * call (a budget is spent), so a call around it that ends by it stops with `CALL_HELD`, and is asked about anew when its work goes on. `wait`: the work stops with `CALL_WAITING`,
 * and the gate is asked again when the work goes on. A gate that throws, or returns anything else, counts as `wait`.
 */
export type Verdict =
	| { readonly kind: "pass" }
	| { readonly kind: "deny"; readonly code: string; readonly reason: string; readonly forNow?: true }
	| { readonly kind: "wait"; readonly for: string };

/** Is this a verdict? A gate without type checks may return anything, and that must let nothing pass. */
export const isVerdict = (given: unknown): given is Verdict =>
	(["pass", "deny", "wait"] as readonly unknown[]).includes(
		(given as { readonly kind?: unknown } | null | undefined)?.kind,
	);

/** Is this what a tool may want? One without type checks may give anything, and nobody could decide on that. */
export const isWants = (given: unknown): given is readonly Want[] =>
	Array.isArray(given) &&
	given.every((each: unknown) => {
		const { action, subject, covers, shows } = (each ?? {}) as Partial<Record<keyof Want, unknown>>;
		const isText = (value: unknown): boolean => typeof value === "string";
		return (
			isText(action) &&
			isText(subject) &&
			(covers === undefined || isText(covers)) &&
			(shows === undefined || (Array.isArray(shows) && shows.every(isText)))
		);
	});

/** Does a gate decide on this kind of step? Only tools and models; other steps are the program's own code. */
export const isGated = (kind: string): kind is GatedCall["type"] => kind === "tool" || kind === "model";

/** The error of a denied call. It is final: no further try can help. */
export const deniedBy = ({ code, reason, forNow }: Verdict & { kind: "deny" }): Error => {
	const denied = Object.assign(new Error(reason), { code, retryable: false });
	return forNow ? asForNow(denied) : denied;
};

/** A call whose wants are others after each verdict is asked about so often, and then fails. */
export const MOST_LOOKS = 3;

/** The error of a call about which nobody could decide: it would touch something else each time. It is final. */
export const changedAgain = (
	{ name, lane, key }: Pick<GatedCall, "name" | "lane" | "key">,
	times: number,
): JournalError =>
	new JournalError(
		"CALL_CHANGED",
		`what ${name} would do changed each time while it was decided on (${times} times); look again, and decide anew`,
		{ name, lane, key },
	);

/** The error that stops work whose call has to wait. */
export const waitingFor = (
	what: string,
	{ name, lane, key }: Pick<GatedCall, "name" | "lane" | "key">,
	options?: ErrorOptions,
): JournalError =>
	new JournalError(
		"CALL_WAITING",
		`${name} in ${lane} waits for ${what}, and was not called; run this again when that is there`,
		{ name, lane, key, for: what },
		options,
	);
