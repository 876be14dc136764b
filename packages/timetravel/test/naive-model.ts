/** A log that keeps a copy of everything at every seq: no parents, no intervals, nothing to get wrong. */
import { type Scope, type Seq, within } from "@reyn/wal";
import type { Reset } from "../src/lineage.ts";

export interface Class {
	readonly scope: Scope;
	readonly kind: string;
}

/** One record of a random log; a reset also says where to. */
export interface Entry extends Class {
	readonly seq: Seq;
	readonly target?: Seq;
	readonly drop?: readonly string[];
}

export function isMeta(kind: string): boolean {
	return kind === "reset" || kind === "checkpoint" || kind === "label" || kind.startsWith("wal_");
}

/** A fact about the world. */
export function isFact(kind: string): boolean {
	return kind.startsWith("fact_");
}

/** What a reset of this scope and drop covers. */
export function covers(reset: Pick<Entry, "scope" | "drop">, { scope, kind }: Class): boolean {
	return !isFact(kind) && within(scope, reset.scope) && (reset.drop === undefined || reset.drop.includes(kind));
}

export function resetsOf(log: readonly Entry[]): Reset[] {
	return log.filter((entry): entry is Entry & Reset => entry.target !== undefined);
}

/** For every seq, genesis first, the records of each class that its state is made of. */
export function copyEverything(log: readonly Entry[], classes: readonly Class[]): State[] {
	const states = [genesis(classes)];
	for (const entry of log) states.push(after(states, entry));
	return states;
}

/** The records of each class, of one seq. */
export type State = ReadonlyMap<Class, readonly Seq[]>;

export const genesis = (classes: readonly Class[]): State => new Map(classes.map((each) => [each, []]));

/** The state at an entry, from those at all seqs before it. */
export function after(states: readonly State[], entry: Entry): State {
	const before = states[entry.seq - 1] as State;
	const next = new Map<Class, readonly Seq[]>();
	for (const [each, kept] of before) {
		if (entry.target !== undefined && covers(entry, each)) next.set(each, [...(states[entry.target]?.get(each) ?? [])]);
		else next.set(each, sameClass(entry, each) ? [...kept, entry.seq] : [...kept]);
	}
	return next;
}

function sameClass(a: Class, b: Class): boolean {
	return a.kind === b.kind && within(a.scope, b.scope) && within(b.scope, a.scope);
}
