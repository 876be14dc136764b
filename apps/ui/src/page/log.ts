/** The history, as far as it was read: windows of it, newest first, more of it as one scrolls. */
import { batch, computed, signal } from "@preact/signals";
import { history } from "../server/asks.ts";
import { read } from "./api.ts";
import { oneAtATime } from "./one-at-a-time.ts";
import type { Branch, Entry, History } from "./shapes.ts";

export const entries = signal<readonly Entry[]>([]);
export const branches = signal<readonly Branch[]>([]);
export const tip = signal(0);
/** The first record that is left: of what is older, a collection has kept some states at most. */
export const retainedFrom = signal(1);
/** Was the history read at all? */
export const isRead = signal(false);
/** Is there more behind what was read? */
export const hasMore = signal(false);
export const isReadingMore = signal(false);

export const bySeq = computed(() => new Map(entries.value.map((entry) => [entry.seq, entry])));

/** What was read of an older history does not join a newer one. */
let reads = 0;

/** Reads again what may have changed. */
export const refreshHistory = oneAtATime(readNewest);

async function readNewest(): Promise<void> {
	const had = entries.peek();
	const found = await window();
	const last = found.entries.at(-1)?.seq ?? 0;
	const joins = had.length > 0 && (had[0]?.seq ?? 0) >= last;
	if (joins && found.retainedFrom === retainedFrom.peek() && sameLines(found.branches, branches.peek())) {
		const older = had.filter(({ seq }) => seq < last);
		take(found, [...found.entries, ...older]);
		return;
	}
	// Lines were left, labels came, or moments were taken away: any row may look otherwise now.
	const all = [...found.entries];
	while (isCut(all) && all.length < had.length) all.push(...(await window(all.at(-1)?.seq)).entries);
	take(found, all);
}

function take(found: History, all: readonly Entry[]): void {
	reads++;
	batch(() => {
		entries.value = all;
		branches.value = found.branches;
		hasMore.value = isCut(all);
		tip.value = found.tip;
		retainedFrom.value = found.retainedFrom;
		isRead.value = true;
	});
}

export async function readMore(): Promise<void> {
	if (!hasMore.peek() || isReadingMore.peek()) return;
	isReadingMore.value = true;
	const of = reads;
	try {
		const found = await window(entries.peek().at(-1)?.seq);
		if (of !== reads) return;
		const all = [...entries.peek(), ...found.entries];
		batch(() => {
			entries.value = all;
			hasMore.value = isCut(all) && found.entries.length > 0;
		});
	} catch {
		// Not again by itself; what is read anew looks for more again.
		hasMore.value = false;
	} finally {
		isReadingMore.value = false;
	}
}

function window(before?: number): Promise<History> {
	const { verb, given } = history(before);
	return read<History>(verb, given);
}

/** The beginning is always the last. */
const isCut = (all: readonly Entry[]): boolean => all.length > 0 && all.at(-1)?.seq !== 0;

/** The same lines with the same labels; only how far the newest goes may differ. */
function sameLines(a: readonly Branch[], b: readonly Branch[]): boolean {
	const told = (all: readonly Branch[]): string => JSON.stringify(all.map(({ last: _, ...each }) => each));
	return told(a) === told(b);
}
