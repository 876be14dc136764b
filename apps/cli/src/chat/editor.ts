/** The line that is typed, as a value: text of one or more rows, a cursor, pastes as chips, what was cut, and the way back. */
import { clusters, width } from "./text.ts";

interface Moment {
	readonly text: string;
	/** In code units, between two clusters. */
	readonly cursor: number;
}

export interface Line extends Moment {
	/** What was pasted: the chip of the nth is the nth character of plane 15. */
	readonly chips: readonly string[];
	/** What was cut last. */
	readonly kept: string;
	readonly past: readonly Moment[];
	readonly future: readonly Moment[];
	/** Letters that are typed one after the other are taken back together. */
	readonly isTyping: boolean;
}

export const emptyLine: Line = { text: "", cursor: 0, chips: [], kept: "", past: [], future: [], isTyping: false };

const FIRST_CHIP = 0xf0000;
const chip = /[\u{f0000}-\u{ffffd}]/gu;

/** A longer paste is a chip. */
const MAX_PASTE = 1000;

const chipOf = (line: Pick<Line, "chips">, character: string): string | undefined =>
	line.chips[(character.codePointAt(0) ?? 0) - FIRST_CHIP];

function chipLabel(text: string): string {
	const lines = text.replace(/\n+$/, "").split("\n").length;
	return lines > 1 ? `[${lines} lines pasted]` : `[${text.length} characters pasted]`;
}

/** All that it stands for. */
export const wholeText = (line: Line): string => line.text.replace(chip, (each) => chipOf(line, each) ?? "");

/** A text that somebody wrote before, to be edited: one that is too long to look at is a chip. */
export function lineOf(text: string, from: Line = emptyLine): Line {
	const shown = text.replace(chip, "");
	if (shown.length <= MAX_PASTE && shown.split("\n").length <= 8) return changedTo(from, shown, shown.length);
	const [line, name] = withChip(from, shown);
	return changedTo(line, name, name.length);
}

const withChip = (line: Line, text: string): readonly [Line, name: string] => [
	{ ...line, chips: [...line.chips, text] },
	String.fromCodePoint(FIRST_CHIP + line.chips.length),
];

/** With another text, and the way back to this one. */
export function changedTo(line: Line, text: string, cursor: number, isTyping = false): Line {
	if (text === line.text) return { ...line, cursor, isTyping: false };
	const { text: before, cursor: at } = line;
	const past = isTyping && line.isTyping ? line.past : [...line.past, { text: before, cursor: at }];
	return { ...line, text, cursor, past, future: [], isTyping };
}

const inserted = (line: Line, text: string, isTyping: boolean): Line =>
	changedTo(
		line,
		line.text.slice(0, line.cursor) + text + line.text.slice(line.cursor),
		line.cursor + text.length,
		isTyping,
	);

/** Words are taken back one by one. */
export const typed = (line: Line, text: string): Line => inserted(line, text, !/\s/.test(text));

/** Of one line: without the end that was copied with it. */
export function pasted(line: Line, text: string): Line {
	const foreign = text.replace(chip, "");
	const one = foreign.replace(/\n+$/, "");
	if (one === "") return line;
	if (!one.includes("\n") && one.length <= MAX_PASTE) return inserted(line, one.replaceAll("\t", "    "), false);
	return inserted(...withChip(line, foreign), false);
}

/** The chip at the cursor, or the one before it, as text. */
export function expanded(line: Line): Line {
	const [after = ""] = line.text.slice(line.cursor);
	const from = chipOf(line, after) === undefined ? before(line) : line.cursor;
	const name = line.text.slice(from, from + 2);
	const text = chipOf(line, name);
	if (text === undefined) return line;
	return changedTo(line, line.text.slice(0, from) + text + line.text.slice(from + 2), from + text.length);
}

export const undone = (line: Line): Line => {
	const last = line.past.at(-1);
	if (!last) return line;
	const { text, cursor } = line;
	return {
		...line,
		...last,
		past: line.past.slice(0, -1),
		future: [...line.future, { text, cursor }],
		isTyping: false,
	};
};

export const redone = (line: Line): Line => {
	const next = line.future.at(-1);
	if (!next) return line;
	const { text, cursor } = line;
	return {
		...line,
		...next,
		past: [...line.past, { text, cursor }],
		future: line.future.slice(0, -1),
		isTyping: false,
	};
};

/** Where the cursor would be one cluster back. */
const before = ({ text, cursor }: Moment): number => {
	const start = lineStart({ text, cursor });
	if (cursor === start) return Math.max(0, cursor - 1);
	return cursor - (clusters(text.slice(start, cursor)).at(-1)?.length ?? 1);
};

const after = ({ text, cursor }: Moment): number => {
	if (text[cursor] === "\n") return cursor + 1;
	const end = lineEnd({ text, cursor });
	return Math.min(text.length, cursor + (clusters(text.slice(cursor, end))[0]?.length ?? 0));
};

const lineStart = ({ text, cursor }: Moment): number => (cursor === 0 ? 0 : text.lastIndexOf("\n", cursor - 1) + 1);

const lineEnd = ({ text, cursor }: Moment): number => {
	const end = text.indexOf("\n", cursor);
	return end < 0 ? text.length : end;
};

/** Made late, as that of clusters. */
let words: Intl.Segmenter | undefined;

function wordsOf(text: string): readonly { readonly from: number; readonly to: number }[] {
	words ??= new Intl.Segmenter(undefined, { granularity: "word" });
	return Array.from(words.segment(text))
		.filter(({ isWordLike, segment }) => isWordLike || (segment.codePointAt(0) ?? 0) >= FIRST_CHIP)
		.map(({ index, segment }) => ({ from: index, to: index + segment.length }));
}

const wordBefore = ({ text, cursor }: Moment): number => wordsOf(text).findLast(({ from }) => from < cursor)?.from ?? 0;

const wordAfter = ({ text, cursor }: Moment): number => wordsOf(text).find(({ to }) => to > cursor)?.to ?? text.length;

export type Place = "left" | "right" | "word left" | "word right" | "start" | "end";

const places: Readonly<Record<Place, (moment: Moment) => number>> = {
	left: before,
	right: after,
	"word left": wordBefore,
	"word right": wordAfter,
	start: lineStart,
	end: lineEnd,
};

export const moved = (line: Line, to: Place): Line => ({ ...line, cursor: places[to](line), isTyping: false });

/** Takes away what is between the cursor and a place; what is `cut` can be put back. */
export function removed(line: Line, to: Place, isCut: boolean): Line {
	const there = places[to](line);
	const [from, until] = there < line.cursor ? [there, line.cursor] : [line.cursor, there];
	if (from === until) return line;
	const next = changedTo(line, line.text.slice(0, from) + line.text.slice(until), from);
	return isCut ? { ...next, kept: line.text.slice(from, until) } : next;
}

/** All of it is cut. */
export const cleared = (line: Line): Line => ({ ...changedTo(line, "", 0), kept: line.text });

export const putBack = (line: Line): Line => (line.kept === "" ? line : inserted(line, line.kept, false));

interface Cell {
	readonly index: number;
	readonly row: number;
	readonly column: number;
	readonly drawn: string;
}

/** Where each cluster stands, and the end after them. */
function cellsOf(line: Line, columns: number): readonly Cell[] {
	const cells: Cell[] = [];
	let [index, row, column] = [0, 0, 0];
	const put = (drawn: string): void => {
		const wide = Math.min(width(drawn), columns);
		if (column + wide > columns) [row, column] = [row + 1, 0];
		cells.push({ index, row, column, drawn });
		column += wide;
	};
	for (const part of line.text.split(/(\n|[\u{f0000}-\u{ffffd}])/u)) {
		const text = chipOf(line, part);
		if (part === "\n") {
			cells.push({ index, row, column, drawn: "" });
			index++;
			[row, column] = [row + 1, 0];
		} else if (text !== undefined) {
			for (const letter of chipLabel(text)) put(letter);
			index += part.length;
		} else
			for (const cluster of clusters(part)) {
				put(cluster);
				index += cluster.length;
			}
	}
	if (column >= columns) [row, column] = [row + 1, 0];
	return [...cells, { index, row, column, drawn: "" }];
}

export interface Shown {
	readonly rows: readonly string[];
	/** Of the cursor. */
	readonly row: number;
	readonly column: number;
}

export function shown(line: Line, columns: number): Shown {
	const cells = cellsOf(line, columns);
	const rows: string[] = Array.from({ length: (cells.at(-1)?.row ?? 0) + 1 }, () => "");
	for (const { row, drawn } of cells) rows[row] += drawn;
	const { row, column } = cellAt(cells, line.cursor);
	return { rows, row, column };
}

const cellAt = (cells: readonly Cell[], cursor: number): Cell =>
	cells.find(({ index }) => index >= cursor) ?? (cells.at(-1) as Cell);

/** A row up or down; undefined at the edge. */
export function toRow(line: Line, by: -1 | 1, columns: number): Line | undefined {
	const cells = cellsOf(line, columns);
	const { row, column } = cellAt(cells, line.cursor);
	const there = cells.filter((cell) => cell.row === row + by);
	const cell = there.findLast((each) => each.column <= column) ?? there[0];
	return cell && { ...line, cursor: cell.index, isTyping: false };
}
