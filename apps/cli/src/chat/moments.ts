/** The moments that one can go back to, as a list of a chat: the newest first, and the beginning last. */
import { oneLine } from "@reyn/operator/text";
import type { Checkpoint } from "@reyn/runtime";
import { ageOf } from "./cards.ts";
import type { List } from "./dialogs.ts";

/** No collection takes it away. */
const BEGINNING = "#0  the beginning, before anything was asked";

/**
 * @param active those of the line that leads here, oldest first
 * @param names the labels, by the seq that they are at
 * @param now in milliseconds, as the times of the moments are
 * @returns the list, and the seq of each of its rows
 */
export function momentsOf(
	active: readonly Checkpoint[],
	names: ReadonlyMap<number, string>,
	now: number,
): { readonly list: Pick<List, "count" | "row" | "text">; seqOf(index: number): number } {
	const nth = (index: number): Checkpoint | undefined => active[active.length - 1 - index];
	const row = (index: number): string => {
		const moment = nth(index);
		if (!moment) return BEGINNING;
		const { seq, kind, title, ts } = moment;
		return `#${seq}  ${kind}  ${oneLine(title, 60)}  ${ageOf(now - ts)}${names.has(seq) ? `  ${names.get(seq)}` : ""}`;
	};
	const text = (index: number): string => {
		const moment = nth(index);
		return moment ? `#${moment.seq} ${moment.kind} ${moment.title} ${names.get(moment.seq) ?? ""}` : BEGINNING;
	};
	return { list: { count: active.length + 1, row, text }, seqOf: (index) => nth(index)?.seq ?? 0 };
}
