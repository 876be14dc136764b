/** The model calls that are recorded of unfinished work, and are not paid again. */
import { type JournalState, journal } from "@reyn/journal";
import { entriesOf, lanesOf } from "@reyn/journal/internal";
import type { Runtime, SessionScope } from "@reyn/runtime";
import type { z } from "zod";
import type { callsShape } from "./shapes.ts";

type Calls = z.infer<typeof callsShape>;

/** @param lane those of this one, and of all below it */
export function paidBelow(runtime: Runtime, scope: SessionScope | undefined, lane: string): Calls {
	const state = runtime.view(scope).get(journal);
	const usages = lanesBelow(state, lane).flatMap((each) =>
		entriesOf(state, each).flatMap(({ outcome }) => (outcome?.type === "completed" ? (outcome.usage ?? []) : [])),
	);
	const tokens = usages.reduce((sum, { inputTokens, outputTokens }) => sum + inputTokens + outputTokens, 0);
	return { calls: usages.length, tokens };
}

export const lanesBelow = (state: JournalState, lane: string): readonly string[] =>
	lanesOf(state).filter((each) => each === lane || each.startsWith(`${lane}/`));

export const callsText = ({ calls, tokens }: Calls): string =>
	`${calls} model ${calls === 1 ? "call" : "calls"}, ${tokens} tokens`;
