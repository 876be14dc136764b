/** The one selection: the tree, the slider, the moment and the address all follow it. */
import { batch, effect, signal } from "@preact/signals";
import { bySeq, entries, hasMore, isRead, isReadingMore, readMore, tip } from "./log.ts";

/** The moment that is looked at. undefined: nothing was read yet. */
export const selected = signal<number | undefined>(undefined);

/** Is it now that is looked at? Then the selection moves along. */
let isOnNow = true;
let lastAt = 0;

/** Moments that one only passes by leave no trace in the history of the browser. */
const PASSING_MS = 600;

export function select(seq: number): void {
	if (seq === selected.peek()) return;
	const at = performance.now();
	const isPassing = at - lastAt < PASSING_MS;
	lastAt = at;
	go(seq, isPassing ? "replace" : "push");
}

function go(wanted: number, wish: "push" | "replace" | "none"): void {
	// What is not there yet is as good as now.
	const seq = Math.min(wanted, tip.peek());
	const how = seq === wanted ? wish : "replace";
	batch(() => {
		selected.value = seq;
		isOnNow = seq === tip.peek();
	});
	if (how === "push") history.pushState(null, "", `#/m/${seq}`);
	if (how === "replace") history.replaceState(null, "", `#/m/${seq}`);
}

const addressed = (): number | undefined => {
	const found = /^#\/m\/(\d{1,15})$/.exec(location.hash)?.[1];
	return found === undefined ? undefined : Number(found);
};

export function beginSelection(): void {
	effect(() => {
		const now = tip.value;
		if (!isRead.value) return;
		if (selected.peek() === undefined) go(addressed() ?? now, "replace");
		else if (isOnNow && selected.peek() !== now) go(now, "replace");
	});
	addEventListener("popstate", () => go(addressed() ?? tip.peek(), "none"));
	// A moment far back: the tree is read until there.
	effect(() => {
		const seq = selected.value;
		const last = entries.value.at(-1)?.seq;
		const isMissing = seq !== undefined && last !== undefined && seq < last && !bySeq.value.has(seq);
		if (isMissing && hasMore.value && !isReadingMore.value) void readMore();
	});
}
