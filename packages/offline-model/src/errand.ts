/** The questions that are answered in a way of their own, and not by ranking what a search finds: which one a question is. */
import { counting } from "./counts.ts";
import { stating } from "./facts.ts";
import { unfolding } from "./folder.ts";
import { showing } from "./line-numbers.ts";
import { recalling } from "./recall.ts";
import { refusing } from "./refusal.ts";
import type { Draft } from "./reply.ts";
import type { Turn } from "./situation.ts";

/** What to do next for such a question, from what the turn has shown so far: look, answer, or pass it on. */
export type Errand = (turn: Turn, tools: ReadonlySet<string>) => Draft | Passed;

/** It has to be searched for after all: so many rounds were spent before that was clear. */
export interface Passed {
	readonly passed: number;
}

/** What is asked of the conversation so far, beside the question itself. */
export type Recogniser = (question: string, earlier: readonly string[]) => Errand | undefined;

const kinds: readonly Recogniser[] = [recalling, refusing, showing, counting, unfolding, stating];

/** The next move for a question of its own kind, or the turn as a search has to see it. */
export function errand(
	question: string,
	earlier: readonly string[],
	turn: Turn,
	tools: ReadonlySet<string>,
): Draft | { readonly rest: Turn } {
	const found = kinds.map((recognise) => recognise(question, earlier)).find((each) => each !== undefined);
	const move = found?.(turn, tools);
	if (move === undefined) return { rest: turn };
	return "passed" in move ? { rest: since(turn, move.passed) } : move;
}

const since = (turn: Turn, round: number): Turn => ({
	rounds: turn.rounds - round,
	lookups: turn.lookups.filter((lookup) => lookup.round >= round),
});
