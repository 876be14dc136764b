/** What keys do: none while one types, none with Ctrl, Alt or Meta, none while a dialog is open; and all can be switched off. */
import { signal } from "@preact/signals";
import { isCopy } from "./api.ts";
import { focusAsk } from "./ask.tsx";
import { isDialogOpen } from "./dialog.tsx";
import { goThere, nameIt } from "./going.tsx";
import { compare, shownTabs, tab } from "./moment.tsx";
import { step } from "./moves.tsx";
import { toNextQuestion } from "./question.tsx";
import { select } from "./selection.ts";
import { isSpendOpen } from "./spend.tsx";
import { openTab } from "./tab.ts";
import { focusTree, pageOfRows } from "./timeline.tsx";
import { untell } from "./toast.tsx";
import { cursor, fold, type Row, rows } from "./tree.ts";

export const isSheetOpen = signal(false);
/** Single letters get in the way of who speaks to the machine (WCAG 2.1.4). */
export const areKeysOn = signal(true);

interface Key {
	readonly keys: readonly string[];
	readonly says: string;
	/** Has the key another meaning where the tree has not the focus? */
	readonly inTree?: true;
	run(key: string): void;
}

export const keys: readonly Key[] = [
	{ keys: ["j"], says: "the row below", run: () => move(1) },
	{ keys: ["k"], says: "the row above", run: () => move(-1) },
	{ keys: ["ArrowDown"], says: "the row below", inTree: true, run: () => move(1) },
	{ keys: ["ArrowUp"], says: "the row above", inTree: true, run: () => move(-1) },
	{ keys: ["PageDown"], says: "a page of rows down", inTree: true, run: () => move(pageOfRows()) },
	{ keys: ["PageUp"], says: "a page of rows up", inTree: true, run: () => move(-pageOfRows()) },
	{ keys: ["l"], says: "unfold, and go in", run: goIn },
	{ keys: ["h"], says: "fold, or go out", run: goOut },
	{ keys: ["ArrowRight"], says: "unfold, and go in", inTree: true, run: goIn },
	{ keys: ["ArrowLeft"], says: "fold, or go out", inTree: true, run: goOut },
	{ keys: ["Enter", " "], says: "fold or unfold a line", inTree: true, run: toggle },
	{ keys: ["g"], says: "to now", run: () => moveTo(0, 1) },
	{ keys: ["G"], says: "to the oldest that was read", run: () => moveTo(rows.peek().length - 1, -1) },
	{ keys: ["Home"], says: "to now", inTree: true, run: () => moveTo(0, 1) },
	{ keys: ["End"], says: "to the oldest that was read", inTree: true, run: () => moveTo(rows.peek().length - 1, -1) },
	{ keys: ["["], says: "the checkpoint before", run: () => moveToCheckpoint(1) },
	{ keys: ["]"], says: "the checkpoint behind", run: () => moveToCheckpoint(-1) },
	{ keys: ["/"], says: "filter", run: () => document.getElementById("filter")?.focus() },
	{
		keys: ["a"],
		says: "ask something",
		run() {
			tab.value = "conversation";
			focusAsk();
		},
	},
	{ keys: ["."], says: "the next question that waits for an answer", run: toNextQuestion },
	{ keys: ["1", "2", "3", "4", "5"], says: "the five views of a moment", run: showTab },
	{ keys: ["c"], says: "compare others with this moment, or with now again", run: compare },
	{
		keys: ["d"],
		says: "what differs",
		run() {
			tab.value = "changes";
		},
	},
	{ keys: ["r"], says: "go there, after a preview", run: goThere },
	{ keys: ["L"], says: "label it", run: nameIt },
	{ keys: ["u"], says: "undo", run: () => step("undo") },
	{ keys: ["U"], says: "redo", run: () => step("redo") },
	{
		keys: ["t"],
		says: "one more tab",
		run() {
			if (!isCopy()) void openTab();
		},
	},
	{
		keys: ["$"],
		says: "what was paid for",
		run: () => {
			isSpendOpen.value = true;
		},
	},
	{ keys: ["Escape"], says: "close what was said to be done", run: untell },
	{
		keys: ["?"],
		says: "this sheet",
		run: () => {
			isSheetOpen.value = true;
		},
	},
];

export function beginKeys(): void {
	document.addEventListener("keydown", (event) => {
		const { key, target } = event;
		if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing || isDialogOpen() || isTyping(target))
			return;
		const isInTree = target === document.body || (target instanceof Element && target.id === "tree");
		const found = keys.find((each) => each.keys.includes(key) && (isInTree || !each.inTree));
		if (!found || (!areKeysOn.peek() && !found.inTree)) return;
		event.preventDefault();
		found.run(key);
	});
}

const isTyping = (target: EventTarget | null): boolean =>
	target instanceof HTMLElement && (target.isContentEditable || target.matches("input, textarea, select"));

const at = (): number => rows.peek().findIndex(({ key }) => key === cursor.peek());

function move(by: number): void {
	moveTo(Math.max(0, at()) + by, Math.sign(by));
}

/** @param towards where to look on, if there is no row */
function moveTo(index: number, towards: number): void {
	const all = rows.peek();
	const row = all[Math.min(all.length - 1, Math.max(0, index))] ?? all[index - towards];
	if (row) put(row);
}

function put(row: Row): void {
	cursor.value = row.key;
	if (row.kind === "moment") select(row.entry.seq);
	focusTree();
}

function moveToCheckpoint(by: number): void {
	const all = rows.peek();
	for (let index = at() + by; index >= 0 && index < all.length; index += by) {
		const row = all[index];
		if (row?.kind !== "moment" || row.entry.type !== "checkpoint") continue;
		put(row);
		return;
	}
}

function goIn(): void {
	const row = rows.peek()[at()];
	if (row?.kind !== "fold") return;
	if (row.isOpen) move(1);
	else fold(row.branch, true);
}

function goOut(): void {
	const all = rows.peek();
	const row = all[at()];
	if (row?.kind === "fold" && row.isOpen) {
		fold(row.branch, false);
		return;
	}
	const above = all
		.slice(0, Math.max(0, at()))
		.findLast((each) => each.kind === "fold" && each.level < (row?.level ?? 1));
	if (above) put(above);
}

function toggle(): void {
	const row = rows.peek()[at()];
	if (row?.kind === "fold") fold(row.branch);
}

function showTab(key: string): void {
	tab.value = shownTabs.peek()[Number(key) - 1] ?? tab.peek();
}
