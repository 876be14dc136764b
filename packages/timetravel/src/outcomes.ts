/** Outcomes that lie beyond a cut: what is known to have happened is not done again. */
import type { View } from "@reyn/snapshot";
import { type Draft, type Scope, type Seq, scopeKey, type Wal } from "@reyn/wal";
import type { Lineage } from "./lineage.ts";
import { stepLate } from "./records.ts";

/** What a program's records say of what it does to the world: `stepOutcomes` of @reyn/journal says it of steps. */
export interface Outcomes {
	/** The kinds of record by which something begins, and those by which it ends. */
	readonly kinds: readonly string[];
	/** What a draft of one of these kinds says; undefined for what is none of them. */
	read(draft: Draft): OutcomeReport | undefined;
	/** The starts that have no outcome in this state. */
	openStarts(view: View): readonly Seq[];
	/** Is this the outcome of a start that has none in this state? */
	isAwaited(view: View, outcome: Draft): boolean;
	/** The record that repeats an outcome on another line of history, where it was recorded at `from`. */
	adopting(outcome: Draft, from: Seq): Draft;
}

export interface OutcomeReport {
	/** Which thing it is about, among all of its scope. */
	readonly of: string;
	/** What failed may begin again, and its failure is then no longer the last word. */
	readonly what: "begun" | "failed" | "done";
	/** Of an outcome: the seq of the first start, where there was one. */
	readonly start?: Seq | undefined;
}

/** How something ended, as a line of history that is not the current one knows it. */
export interface Outcome {
	readonly scope: Scope;
	readonly start: Seq;
	/** The record that makes it known here. */
	readonly draft: Draft;
}

export interface OutcomesPorts {
	readonly wal: Wal;
	readonly lineage: Lineage;
	readonly outcomes: Outcomes;
}

/** What other lines know, behind a seq, of the starts that are asked for: of each the newest outcome that was the last word. */
export async function outcomesBeyond(
	after: Seq,
	isAsked: (start: Seq) => boolean,
	{ wal, lineage, outcomes }: OutcomesPorts,
): Promise<readonly Outcome[]> {
	const found = new Map<Seq, Outcome & { readonly said: OutcomeReport }>();
	const only = [...outcomes.kinds, stepLate.kind];
	for await (const record of wal.read({ after: Math.max(after, wal.first - 1), kinds: { only } })) {
		const { seq, scope } = record;
		const outcome: Draft = stepLate.is(record) ? record.data : record;
		const said = outcomes.read(outcome);
		if (said?.what === "begun") {
			for (const [start, each] of found) if (isRepeat(each, said, scope)) found.delete(start);
			continue;
		}
		// What counts here is in the state already, and was not the last word where it is open all the same.
		if (!stepLate.is(record) && lineage.isActive(record)) continue;
		const { start } = said ?? {};
		if (said && start !== undefined && isAsked(start))
			found.set(start, { scope, start, said, draft: outcomes.adopting(outcome, seq) });
	}
	return [...found.values()];
}

/** The sessions, or wider scopes, to which something beyond a target belongs that began before it. */
export async function scopesBeyond(target: Seq, ports: OutcomesPorts): Promise<readonly Scope[]> {
	const found = await outcomesBeyond(target, (start) => start <= target, ports);
	const scopes = found.map(({ scope: { run: _, ...session } }) => session);
	return [...new Map(scopes.map((scope) => [scopeKey(scope), scope])).values()];
}

/** Whoever has begun again since the failure does not know whether that happened. */
const isRepeat = ({ said, scope }: { said: OutcomeReport; scope: Scope }, begun: OutcomeReport, at: Scope): boolean =>
	said.what === "failed" && said.of === begun.of && scopeKey(scope) === scopeKey(at);
