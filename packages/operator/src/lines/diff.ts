/** What differs between two states, for people. */
import { type Change, diffLines, type StateDiff } from "@reyn/runtime";
import { oneLine } from "../text.ts";
import { scopeText } from "./scope.ts";

/** How many values came, went and changed; each item of a list is one. */
export interface Stat {
	readonly added: number;
	readonly removed: number;
	readonly changed: number;
}

export function diffText(diff: StateDiff): string[] {
	const lines = diffLines(diff).map((line) => `${/^ */.exec(line)?.[0]}${oneLine(line, 160)}`);
	return [headOf(diff), ...(lines.length > 0 ? lines : ["nothing differs"])];
}

/** By projection. */
export function statOf({ projections }: StateDiff): Readonly<Record<string, Stat>> {
	return Object.fromEntries(Object.entries(projections).map(([name, changes]) => [name, count(changes)]));
}

export function statText(diff: Compared & { readonly projections: Readonly<Record<string, Stat>> }): string[] {
	const lines = Object.entries(diff.projections).map(
		([name, { added, removed, changed }]) => `${name}  ${added} added, ${removed} removed, ${changed} changed`,
	);
	return [headOf(diff), ...lines];
}

type Compared = Pick<StateDiff, "from" | "to" | "scope">;

const headOf = ({ from, to, scope }: Compared): string => `#${from} → #${to} of ${scopeText(scope)}`;

function count(changes: readonly Change[]): Stat {
	let [added, removed, changed] = [0, 0, 0];
	for (const change of changes) {
		switch (change.kind) {
			case "added":
				added++;
				break;
			case "removed":
				removed++;
				break;
			case "changed":
				changed++;
				break;
			case "spliced":
				added += change.after.length;
				removed += change.before.length;
		}
	}
	return { added, removed, changed };
}
