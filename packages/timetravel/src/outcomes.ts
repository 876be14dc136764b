/** Finds outcomes on other lines of history, so that a rewind does not make an effect again that is known to have happened. */
import type { View } from "@reyn/snapshot";
import { type Draft, type Scope, type Seq, scopeKey, type Wal } from "@reyn/wal";
import type { Lineage } from "./lineage.ts";
import { stepLate } from "./records.ts";

/** A port that reads starts and outcomes from records; `stepOutcomes` of @reyn/journal does so for steps. */
export interface Outcomes {
	/** The kinds of record that are a start or an outcome. */
	readonly kinds: readonly string[];
	/** What a record says; undefined for a record of another kind. */
	read(draft: Draft): OutcomeReport | undefined;
	/** The seqs of the starts that have no outcome in this state. */
	openStarts(view: View): readonly Seq[];
	/** Does this record say more of a start that is open in this state? */
	isAwaited(view: View, outcome: Draft): boolean;
	/** The record that repeats an outcome on another line of history, where it was recorded at `from`. */
	adopting(outcome: Draft, from: Seq): Draft;
}

export interface OutcomeReport {
	/** Identifies what began or ended, within its scope. */
	readonly of: string;
	/** A `failed` one may begin again, and its failure is then no longer its last outcome. */
	readonly what: "begun" | "failed" | "done";
	/** The seq of the first start, if there was one and this is not that. */
	readonly start?: Seq | undefined;
	/** Another try follows, so it says nothing of how the whole ended. */
	readonly retried?: true;
	/** The seq of the record that it repeats: it says nothing newer than that one. */
	readonly repeats?: Seq | undefined;
	/** It was begun again, and the record does not say of which start. */
	readonly again?: true;
}

/** An outcome that is recorded on another line of history than the current one. */
export interface Outcome {
	readonly scope: Scope;
	readonly start: Seq;
	readonly said: OutcomeReport;
	/** The record that repeats it on the current line. */
	readonly draft: Draft;
}

export interface OutcomesPorts {
	readonly wal: Wal;
	readonly lineage: Lineage;
	readonly outcomes: Outcomes;
}

/**
 * Finds on other lines, after a seq, what is known of the wanted starts: that it was done, else the newest word, if that is not on the
 * current line. A try that was begun and has no outcome is in doubt.
 */
export async function outcomesBeyond(
	after: Seq,
	isAsked: (start: Seq) => boolean,
	{ wal, lineage, outcomes }: OutcomesPorts,
): Promise<readonly Outcome[]> {
	const found = new Map<Seq, Outcome & { readonly first: Seq }>();
	/** For each record that repeats another one: which said it first. */
	const firsts = new Map<Seq, Seq>();
	/** The newest word of the current line on a start. */
	const heard = new Map<Seq, Seq>();
	const only = [...outcomes.kinds, stepLate.kind];
	for await (const record of wal.read({ after: Math.max(after, wal.first - 1), kinds: { only } })) {
		const { seq, scope } = record;
		const outcome: Draft = stepLate.is(record) ? record.data : record;
		const said = outcomes.read(outcome);
		if (!said) continue;
		const { start, repeats } = said;
		const first = repeats === undefined ? seq : (firsts.get(repeats) ?? repeats);
		if (first !== seq) firsts.set(seq, first);
		if (said.again) {
			// A line that has not that start begins another one.
			const path = lineage.path(seq, scope);
			const isAgain = (known: Seq): boolean => path.has({ ...record, seq: known });
			for (const [known, each] of found) if (isRepeat(each, said, scope) && isAgain(known)) found.delete(known);
		}
		if (start === undefined || !isAsked(start)) continue;
		const known = found.get(start);
		if (known && (known.said.what === "done" || known.first > first)) continue;
		// A record on the current line is in the state already, and is newer than what was found.
		if (!stepLate.is(record) && lineage.isActive(record)) {
			found.delete(start);
			heard.set(start, first);
		} else if (first > (heard.get(start) ?? 0))
			found.set(start, { scope, start, said, first, draft: outcomes.adopting(outcome, seq) });
	}
	return [...found.values()];
}

/** The sessions, or wider scopes, in which something began before a target and ended after it. */
export async function scopesBeyond(target: Seq, ports: OutcomesPorts): Promise<readonly Scope[]> {
	const found = await outcomesBeyond(target, (start) => start <= target, ports);
	const scopes = found.map(({ scope: { run: _, ...session } }) => session);
	return [...new Map(scopes.map((scope) => [scopeKey(scope), scope])).values()];
}

/** Is a start another try after this failure? Then the failure does not say whether that try happened. */
const isRepeat = ({ said, scope }: { said: OutcomeReport; scope: Scope }, begun: OutcomeReport, at: Scope): boolean =>
	said.what === "failed" && said.of === begun.of && scopeKey(scope) === scopeKey(at);
