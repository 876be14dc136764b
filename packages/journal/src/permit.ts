/** Who may forbid a call of a tool or of a model, or hold it, before it is made. */
import { JournalError } from "./errors.ts";
import type { Purity } from "./purity.ts";

/** A call that is about to be made: nothing of it has begun, and no result of it is recorded. */
export interface GatedCall {
	readonly type: "tool" | "model";
	readonly name: string;
	readonly args: unknown;
	/** Names the call for ever, across crashes: one question for one call. */
	readonly key: string;
	readonly lane: string;
	readonly purity: Purity;
	/** It was started before, and nobody knows whether it happened: it may happen a second time. */
	readonly inDoubt?: true;
	readonly signal: AbortSignal;
}

/**
 * `deny`: the call fails with this code. `wait`: the work stops with `CALL_WAITING`, and asks again when it goes on; so it does where
 * there is no verdict, since the gate throws or gives something else.
 */
export type Verdict =
	| { readonly kind: "pass" }
	| { readonly kind: "deny"; readonly code: string; readonly reason: string }
	| { readonly kind: "wait"; readonly for: string };

/** What else a gate gives, without types say, lets nothing pass. */
export const isVerdict = (given: unknown): given is Verdict =>
	(["pass", "deny", "wait"] as readonly unknown[]).includes(
		(given as { readonly kind?: unknown } | null | undefined)?.kind,
	);

/** What a gate decides on; steps of other sorts are the program's own. */
export const isGated = (kind: string): kind is GatedCall["type"] => kind === "tool" || kind === "model";

/** How a call ends that is denied. No further try can help it. */
export const deniedBy = ({ code, reason }: Verdict & { kind: "deny" }): Error =>
	Object.assign(new Error(reason), { code, retryable: false });

/** What the work stops with that has a call which waits. */
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
