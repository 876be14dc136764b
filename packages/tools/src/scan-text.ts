/** What one file has to say about the words of a search: its most telling lines, and how many hold which words. */
import type { Effort } from "./effort.ts";
import { definitionIn, explains, isImport, type PathKind, pathKind } from "./line-kind.ts";
import { copyText, excerpt } from "./text-file.ts";
import { placeOf, type Strength, strengthOf } from "./word-match.ts";

/** What one file may contribute; enough to fill an answer from a single file. */
export const keptPerFile = 60;
const textWidth = 200;
// Nothing behind that makes a line more telling.
const mostJudged = 400;
// More kinds of lines than any search for words finds in a file.
const mostKinds = 500;

export interface Line {
	readonly number: number;
	/** What is shown of the line. */
	readonly text: string;
	/** One for each term. */
	readonly strengths: readonly Strength[];
	/** What makes the line telling apart from the words in it. */
	readonly bonus: number;
}

export interface ScannedFile {
	readonly path: string;
	readonly kind: PathKind;
	/** The most telling lines first, at most `keptPerFile`. */
	readonly lines: readonly Line[];
	/** How many lines hold which terms, as words and inside words; counts all lines, kept or not. */
	readonly tally: ReadonlyMap<number, number>;
	/** Terms in the path itself. */
	readonly inPath: readonly number[];
}

/** Undefined when neither the text nor the path holds any of the terms. */
export async function scanText(
	path: string,
	text: string,
	terms: readonly string[],
	effort: Effort,
): Promise<ScannedFile | undefined> {
	const loweredPath = path.toLowerCase();
	const inPath = terms.map((term) => (strengthOf(term, loweredPath, path) === 1 ? 1 : 0));
	const lowered = text.toLowerCase();
	const present = terms.map((term) => lowered.includes(term));
	if (!present.includes(true) && !inPath.includes(1)) return undefined;

	let best: Line[] = [];
	const tally = new Map<number, number>();
	const telling = (line: Line) => 4 * sum(line.strengths) + line.bonus;
	const keepBest = () => {
		best = best.sort((a, b) => telling(b) - telling(a) || a.number - b.number).slice(0, keptPerFile);
	};
	if (present.includes(true)) {
		for (const { number, line, loweredLine } of linesOf(text, lowered)) {
			if (effort.worked(100 + line.length)) await effort.turn();
			if (effort.over) break;
			const strengths = terms.map((term, t) => (present[t] ? strengthOf(term, loweredLine, line) : 0));
			if (!strengths.some((strength) => strength > 0)) continue;
			effort.worked(1_000);
			count(tally, holds(strengths));
			best.push({ number, text: line, strengths, bonus: bonusOf(line, path, terms) });
			if (best.length >= 2 * keptPerFile) keepBest();
		}
		keepBest();
	}
	const lines = best.map((line) => ({
		...line,
		text: copyText(excerpt(line.text, textWidth, placeOf(terms, line.text))),
	}));
	return { path, kind: pathKind(path), lines, tally, inPath };
}

/** The lines of a text and of the same text in lower case, without their ends; a final newline opens no further line. */
function* linesOf(text: string, lowered: string): Generator<{ number: number; line: string; loweredLine: string }> {
	let from = 0;
	// Some letters are longer in lower case.
	let loweredFrom = 0;
	for (let number = 1; from < text.length; number++) {
		const end = endOfLine(text, from);
		const loweredEnd = endOfLine(lowered, loweredFrom);
		yield {
			number,
			line: withoutReturn(text.slice(from, end)),
			loweredLine: withoutReturn(lowered.slice(loweredFrom, loweredEnd)),
		};
		from = end + 1;
		loweredFrom = loweredEnd + 1;
	}
}

function endOfLine(text: string, from: number): number {
	const end = text.indexOf("\n", from);
	return end < 0 ? text.length : end;
}

const withoutReturn = (line: string): string => (line.endsWith("\r") ? line.slice(0, -1) : line);

/** A file made of ever new kinds of lines is counted by the first of the terms alone, from a number on. */
function count(tally: Map<number, number>, held: number): void {
	const kind = tally.has(held) || tally.size < mostKinds ? held : held & -held;
	tally.set(kind, (tally.get(kind) ?? 0) + 1);
}

// Two bits a term: one for a find as a word, one for a find inside a word.
export const asWord = (t: number): number => 1 << (2 * t);
export const inside = (t: number): number => 2 << (2 * t);

export const holds = (strengths: readonly Strength[]): number =>
	strengths.reduce<number>((bits, s, t) => bits | (s === 1 ? asWord(t) : s > 0 ? inside(t) : 0), 0);

function bonusOf(whole: string, path: string, terms: readonly string[]): number {
	const line = whole.slice(0, mostJudged);
	if (isImport(line)) return -3;
	const long = whole.length > mostJudged ? -2 : 0;
	if (terms.some((term) => explains(line, term))) return long + 2;
	const definition = definitionIn(line, path);
	if (definition === undefined) return long;
	const name = definition.name.toLowerCase();
	const named = terms.some((term) => strengthOf(term, name, definition.name) === 1);
	return long + (named ? (definition.kind === "key" ? 2 : 3) : 0.5);
}

export const sum = (numbers: readonly number[]): number => numbers.reduce((total, n) => total + n, 0);
