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

/** What a reset of this scope and drop covers. */
export function covers(reset: Pick<Entry, "scope" | "drop">, { scope, kind }: Class): boolean {
	return within(scope, reset.scope) && (reset.drop === undefined || reset.drop.includes(kind));
}

export function resetsOf(log: readonly Entry[]): Reset[] {
	return log.filter((entry): entry is Entry & Reset => entry.target !== undefined);
}

/** For every seq, genesis first, the records of each class that its state is made of. */
export function copyEverything(log: readonly Entry[], classes: readonly Class[]): ReadonlyMap<Class, readonly Seq[]>[] {
	const states: Map<Class, readonly Seq[]>[] = [new Map(classes.map((each) => [each, []]))];
	for (const entry of log) {
		const before = states[entry.seq - 1] ?? new Map();
		const after = new Map<Class, readonly Seq[]>();
		for (const each of classes) {
			const kept = [...(before.get(each) ?? [])];
			if (entry.target !== undefined && covers(entry, each)) {
				after.set(each, [...(states[entry.target]?.get(each) ?? [])]);
			} else if (sameClass(entry, each)) {
				after.set(each, [...kept, entry.seq]);
			} else {
				after.set(each, kept);
			}
		}
		states.push(after);
	}
	return states;
}

function sameClass(a: Class, b: Class): boolean {
	return a.kind === b.kind && within(a.scope, b.scope) && within(b.scope, a.scope);
}
