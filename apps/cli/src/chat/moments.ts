/** The moments that one can go to, as a list of a chat, the newest first: those of the line that leads here, or of the whole tree. */
import type { History } from "@reyn/operator";
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

/**
 * @param drawn the tree as `log --graph` has it: the tip, a line for each entry, and what joins the branches between them
 * @returns the list, and the seq of each of its rows
 */
export function treeOf(
	{ entries }: History,
	drawn: readonly string[],
): { readonly list: Pick<List, "count" | "row" | "text">; seqOf(index: number): number } {
	const rows = drawn.filter((line) => !/^[│ ]*├/.test(line)).slice(1);
	const row = (index: number): string => rows[index] ?? "";
	return { list: { count: entries.length, row, text: row }, seqOf: (index) => entries[index]?.seq ?? 0 };
}
