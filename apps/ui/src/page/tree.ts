/** The rows of the timeline: the way to now, newest first, and each line that was left behind as one row, where it forked. */
import { computed, signal } from "@preact/signals";
import { type Lines, linesOf } from "./lines.ts";
import { branches, bySeq, entries, isRead, retainedFrom, tip } from "./log.ts";
import { selected } from "./selection.ts";
import type { Entry } from "./shapes.ts";

export type Filter = "turns" | "all" | "line";

export interface MomentRow {
	readonly kind: "moment";
	readonly key: string;
	readonly level: number;
	readonly entry: Entry;
	readonly isNow: boolean;
	/** How many records came since the moment below, where it is now and nothing else. */
	readonly since?: number;
}

export interface FoldRow {
	readonly kind: "fold";
	readonly key: string;
	readonly level: number;
	readonly branch: string;
	readonly count: number;
	readonly ts: number;
	readonly isOpen: boolean;
	/** Was its end taken away? */
	readonly isGone: boolean;
}

export type Row = MomentRow | FoldRow;

export const filter = signal<Filter>("turns");
export const words = signal("");
/** Lines that were left behind and are shown. */
const open = signal<ReadonlySet<string>>(new Set());
/** The row that the keys act on: that of the selected moment, or a fold. */
export const cursor = signal("");

const lines = computed(() => linesOf(branches.value));

/** The selected moment, if the history does not list it, or the filter would hide it. */
const pinned = computed((): Entry | undefined => {
	const seq = selected.value;
	if (seq === undefined || !isRead.value || seq > tip.value) return undefined;
	const entry = bySeq.value.get(seq);
	if (entry) return isWanted.value(entry) ? undefined : entry;
	return unlisted(seq);
});

/** A moment that the history does not list, or that was not read yet. */
export function unlisted(seq: number): Entry {
	const { of, leadsToNow } = lines.value;
	const isGone = seq > 0 && seq < retainedFrom.value;
	return {
		...{ seq, ts: 0, type: "record", title: "", branch: of(seq), active: leadsToNow(seq) },
		...(isGone && { gone: true }),
	};
}

const isWanted = computed((): ((entry: Entry) => boolean) => {
	const sought = words.value.toLowerCase().split(/\s+/).filter(Boolean);
	if (sought.length > 0)
		return ({ seq, title, labels = [] }) => {
			const text = `#${seq} ${title} ${labels.join(" ")}`.toLowerCase();
			return sought.every((each) => text.includes(each));
		};
	switch (filter.value) {
		case "all":
			return () => true;
		case "line":
			return ({ active }) => active;
		case "turns":
			return ({ type, title, labels }) => type !== "checkpoint" || title.startsWith("turn ") || labels !== undefined;
	}
});

/** Words were typed that no moment has. */
export const isNothingFound = computed(
	() => words.value.trim() !== "" && isRead.value && !entries.value.some(isWanted.value),
);

/** What the filter lets through, newest first, with what is selected and where now is. */
const shown = computed((): readonly Entry[] => {
	const found = entries.value.filter(isWanted.value);
	const extra = pinned.value;
	const now = nowEntry.value;
	const all = extra ? [...found, extra] : found;
	if (now && !all.some(({ seq }) => seq === now.seq)) all.push(now);
	return all.sort((a, b) => b.seq - a.seq);
});

/** Now is a row of its own, or "here" would lie: records came since the last moment. */
const nowEntry = computed((): Entry | undefined => {
	if (!isRead.value) return undefined;
	return bySeq.value.get(tip.value) ?? unlisted(tip.value);
});

/** Where the slider stops: by the order of records. */
export const stops = computed((): readonly Entry[] => shown.value.toReversed());

export const rows = computed((): readonly Row[] => {
	const isSought = words.value.trim() !== "";
	const isOpen = (branch: string): boolean => isSought || open.value.has(branch);
	return rowsOf(shown.value, lines.value, isOpen, tip.value, entries.value[0]?.seq ?? 0);
});

interface Fold {
	readonly branch: string;
	readonly at: number;
}

function rowsOf(
	shown: readonly Entry[],
	lines: Lines,
	isOpen: (branch: string) => boolean,
	tip: number,
	newest: number,
): readonly Row[] {
	const moments = Map.groupBy(shown, lines.foldOf);
	const folds = new Map<string | undefined, Fold[]>();
	const hang = (branch: string): void => {
		const { at, within } = lines.forkOf(branch);
		const beside = folds.get(within) ?? [];
		if (beside.some((each) => each.branch === branch)) return;
		folds.set(within, [...beside, { branch, at }]);
		if (within !== undefined) hang(within);
	};
	for (const branch of moments.keys()) if (branch !== undefined) hang(branch);

	const sizeOf = (branch: string): number =>
		(moments.get(branch)?.length ?? 0) +
		(folds.get(branch) ?? []).reduce((sum, inner) => sum + sizeOf(inner.branch), 0);
	const rows: Row[] = [];
	const put = (within: string | undefined, level: number): void => {
		const hanging = (folds.get(within) ?? []).sort((a, b) => b.at - a.at);
		const putFold = ({ branch }: Fold): void => {
			const ts = moments.get(branch)?.[0]?.ts ?? 0;
			const isUnfolded = isOpen(branch);
			rows.push({
				kind: "fold",
				key: `fold-${branch}`,
				level,
				branch,
				count: sizeOf(branch),
				ts,
				isOpen: isUnfolded,
				isGone: branches.value.some(({ name, gone }) => name === branch && gone),
			});
			if (isUnfolded) put(branch, level + 1);
		};
		let next = 0;
		for (const entry of moments.get(within) ?? []) {
			for (; (hanging[next]?.at ?? -1) >= entry.seq; next++) putFold(hanging[next] as Fold);
			const { seq, type } = entry;
			const isNow = seq === tip;
			const since = isNow && type === "record" && seq > newest ? { since: seq - newest } : {};
			rows.push({ kind: "moment", key: `m-${seq}`, level, entry, isNow, ...since });
		}
		for (; next < hanging.length; next++) putFold(hanging[next] as Fold);
	};
	put(undefined, 1);
	return rows;
}

/** Shows or hides a line that was left behind. */
export function fold(branch: string, isOpen = !open.peek().has(branch)): void {
	const next = new Set(open.peek());
	if (isOpen) next.add(branch);
	else next.delete(branch);
	open.value = next;
}

/** Unfolds all that a moment lies in. */
export function reveal(seq: number): void {
	const { of, leadsToNow, forkOf } = lines.peek();
	if (bySeq.peek().get(seq)?.active ?? leadsToNow(seq)) return;
	let branch: string | undefined = of(seq);
	while (branch !== undefined) {
		if (!open.peek().has(branch)) fold(branch, true);
		branch = forkOf(branch).within;
	}
}
