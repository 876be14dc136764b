/** The history as lines, newest first. */
import type { History, HistoryEntry } from "../history.ts";
import type { Say } from "../say.ts";
import { oneLine } from "../text.ts";
import { drawGraph, type GraphRow } from "./graph.ts";

/** One line an entry, newest first. */
export function listLines({ entries, tip }: History): string[] {
	return [`@ #${tip} tip`, ...entries.map((entry) => `${mark(entry)} ${textOf(entry)}`)];
}

export function graphLines({ entries, branches, tip }: History, say: Say): string[] {
	const idOf = (name: string): number => branches.find((branch) => branch.name === name)?.id ?? 0;
	const current = branches.find(({ active }) => active);
	const rows: GraphRow[] = entries.map((entry) => ({
		seq: entry.seq,
		branch: entry.seq === 0 ? 0 : idOf(entry.branch),
		mark: mark(entry),
		text: textOf(entry),
	}));
	const tipRow: GraphRow = { seq: tip + 0.5, branch: current?.id ?? 0, mark: "@", text: `#${tip} you are here` };
	const graph = branches.map(({ id, parent, forkedAt }) => ({
		id,
		parent: parent === undefined ? undefined : idOf(parent),
		forkedAt,
	}));
	return [
		...drawGraph([tipRow, ...rows], graph),
		`● on the way to where you are   ○ abandoned, still there: ${say`checkout <seq>`}`,
	];
}

/** Said of what one cannot go to any more. */
export const GONE = "  (taken away by gc)";

function mark({ type, active }: HistoryEntry): string {
	if (type === "reset") return active ? "◆" : "◇";
	return active ? "●" : "○";
}

function textOf({ seq, title, branch, type, active, labels = [], gone }: HistoryEntry): string {
	const where = type === "reset" ? `  [${branch}]` : "";
	const names = labels.map((name) => `  "${oneLine(name, 64)}"`).join("");
	return `#${seq}  ${oneLine(title, 80)}${names}${where}${active ? "" : "  (abandoned)"}${gone ? GONE : ""}`;
}
