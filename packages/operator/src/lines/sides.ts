/** What there is before a move and after it, side by side: as rows, which each face draws, and as lines where there is nothing but text. */
import type { BlastRadius, FilesPreview, Held, Holding } from "@reyn/runtime";

/** A row: what it is of, how it is now, and how it would be. */
export interface Side {
	readonly name: string;
	readonly before: string;
	readonly after: string;
}

/** @param files absent: they stay @param tasksAt as of which seq tasks are then; absent: they stay, and are no row */
export function sidesOf(
	{ before, after }: BlastRadius,
	files: FilesPreview | undefined,
	tasksAt?: number,
): readonly Side[] {
	const row = (name: string, of: (holding: Holding) => string): readonly Side[] => {
		const found = { name, before: of(before), after: of(after) };
		return found.before === "0" && found.after === "0" ? [] : [found];
	};
	return [
		{ name: "messages", before: String(before.messages), after: String(after.messages) },
		...row("sessions", ({ sessions }) => String(sessions)),
		...row("plans", ({ plans }) => heldText(plans)),
		...row("skill runs", ({ runs }) => heldText(runs)),
		...row("script runs", ({ scripts }) => heldText(scripts)),
		...row("other work", ({ others }) => heldText(others)),
		...row("open questions", ({ questions }) => String(questions)),
		{ name: "files", before: "as they are", after: filesText(files) },
		...(tasksAt === undefined ? [] : [{ name: "tasks", before: "as they are", after: `as they were at #${tasksAt}` }]),
	];
}

const heldText = ({ all, unfinished }: Held): string =>
	unfinished === 0 ? `${all}` : `${all}, ${unfinished} unfinished`;

function filesText(files: FilesPreview | undefined): string {
	if (!files) return "as they are";
	const { changes, kept } = files;
	const go = changes.length === 1 ? "1 goes back" : `${changes.length} go back`;
	return kept.length === 0 ? go : `${go}, ${kept.length} ${kept.length === 1 ? "stays" : "stay"}`;
}

const GAP = "   ";

/** Two columns beside each other, or, where they do not fit, one below the other. @param columns the cells of a row */
export function sidesLines(sides: readonly Side[], columns: number): readonly string[] {
	if (sides.length === 0) return [];
	const rows: readonly Side[] = [{ name: "", before: "now", after: "then" }, ...sides];
	const widest = (of: (side: Side) => string): number => Math.max(...rows.map((row) => of(row).length));
	const [name, before, after] = [widest((row) => row.name), widest((row) => row.before), widest((row) => row.after)];
	if (name + before + after + 2 * GAP.length <= columns)
		return rows.map((row) => [row.name.padEnd(name), row.before.padEnd(before), row.after].join(GAP));
	const below = (of: (side: Side) => string): readonly string[] =>
		rows.map((row, at) => (at === 0 ? of(row) : `  ${row.name.padEnd(name)} ${of(row)}`));
	return [...below((row) => row.before), ...below((row) => row.after)];
}
