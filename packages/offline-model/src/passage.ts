/** Chooses the lines of a file to quote: the best line, the paragraph or block around it, and a sentence about it. */
import { definitionIn, explains, isComment, isImport, pathKind } from "@reyn/tools/text";
import type { NumberedLine, Piece } from "./evidence.ts";
import type { Inquiry } from "./inquiry.ts";
import { indentOf } from "./quote.ts";
import { adjacent, bestLine, heldAt, isExactly, matched } from "./rank.ts";

/** The lines of one file that answer best. */
export interface Passage {
	readonly path: string;
	readonly lines: readonly NumberedLine[];
	/** The line that the passage was chosen for. */
	readonly anchor: NumberedLine;
	/** What the anchor defines, when it holds a term. */
	readonly defines: string | undefined;
	/** A sentence about the terms, from the passage or from near it. */
	readonly sentence: Sentence | undefined;
	/** How much of the question the best line of the passage holds. */
	readonly held: number;
}

interface Sentence extends NumberedLine {
	readonly score: number;
	readonly held: number;
	/** It stands right at the definition, to say what that is. */
	readonly own: boolean;
	/** The line that it starts in, as it stands in the file. */
	readonly line: NumberedLine;
}

/** Lines of a passage. */
const tallest = 12;

export function passageOf(piece: Piece, inquiry: Inquiry): Passage | undefined {
	const { path, lines } = piece;
	const at = bestLine(lines, path, inquiry);
	const anchor = lines[at];
	if (anchor === undefined) return undefined;
	const [from, to] = pathKind(path) === "docs" ? paragraph(lines, at, path) : block(lines, at, path);
	const shown = withoutClosers(lines.slice(from, to + 1));
	const declaring = shown.filter(({ text }) => named(text, path, inquiry) > 0);
	const exactly = ({ text }: NumberedLine) =>
		inquiry.terms.some((term) => isExactly(term.text, definitionIn(text, path)?.name ?? ""));
	const defining = declaring.find(exactly) ?? declaring[0];
	return {
		path,
		lines: shown,
		anchor: defining ?? anchor,
		defines: defining === undefined ? undefined : definitionIn(defining.text, path)?.name,
		sentence: bestSentence(lines, path, inquiry, shown),
		held: heldAt(anchor.text, path, inquiry.terms),
	};
}

/** The lines from the first one that has a word: a quote must not begin with the closing bracket of something else. */
function withoutClosers(lines: readonly NumberedLine[]): readonly NumberedLine[] {
	const start = lines.findIndex(({ text }) => /[\p{L}\p{N}]/u.test(text));
	return lines.slice(Math.max(0, start));
}

const isBlank = (line: NumberedLine | undefined): boolean => line === undefined || line.text.trim() === "";
const isHeading = (line: NumberedLine | undefined, path: string): boolean =>
	line !== undefined && definitionIn(line.text, path)?.kind === "heading";

type Span = readonly [from: number, to: number];

/** In prose: the paragraph or the item around a line; under a heading, what comes first. */
function paragraph(lines: readonly NumberedLine[], at: number, path: string): Span {
	const opens = (line: NumberedLine | undefined) =>
		isHeading(line, path) || /^\s*(?:[-*•+]|\d+[.)]) |^\s*\|/.test(line?.text ?? "");
	let from = at;
	while (from > 0 && at - from < 4 && !opens(lines[from]) && !isBlank(lines[from - 1])) from--;
	let to = at;
	if (isHeading(lines[at], path)) {
		while (to + 1 < lines.length && isBlank(lines[to + 1])) to++;
		// The first items of a list under a heading belong to it.
		while (to + 1 < lines.length && to - at < 6 && !isBlank(lines[to + 1]) && !isHeading(lines[to + 1], path)) to++;
	}
	while (to + 1 < lines.length && to - from < tallest - 4 && !isBlank(lines[to + 1]) && !opens(lines[to + 1])) to++;
	while (to > at && isBlank(lines[to])) to--;
	return [from, to];
}

/** In code: the comment above, the line, and the rest of its block. */
function block(lines: readonly NumberedLine[], at: number, path: string): Span {
	const text = (index: number) => lines[index]?.text ?? "";
	let from = at;
	while (from > 0 && at - from < 6 && isComment(text(from - 1))) from--;
	let to = at;
	// A comment leads to what it comments on.
	while (to + 1 < lines.length && to - from < 6 && isComment(text(to))) to++;
	if (isBlank(lines[to])) return [from, Math.max(at, to - 1)];
	const definition = definitionIn(text(to), path);
	if (definition !== undefined && definition.kind !== "key") return [from, endOfBlock(lines, to, from + tallest)];

	// A statement: a little of what stands around it.
	while (from > 0 && at - from < 2 && !isBlank(lines[from - 1]) && !isImport(text(from - 1))) from--;
	const depth = Math.min(indentOf(text(at)), indentOf(text(from)));
	const last = to + 2;
	while (to < last && !isBlank(lines[to + 1]) && indentOf(text(to + 1)) >= depth) to++;
	return [from, to];
}

/** The last line of the block that a line opens, or the last line before a limit. */
function endOfBlock(lines: readonly NumberedLine[], start: number, limit: number): number {
	const depth = indentOf(lines[start]?.text ?? "");
	const end = Math.min(lines.length, limit);
	for (let at = start + 1; at < end; at++) {
		const text = lines[at]?.text ?? "";
		if (text.trim() === "") return at - 1;
		// `): void {` and a brace on its own line still belong to the head.
		if (indentOf(text) > depth || /^\s*(?:\)|\{$)/.test(text)) continue;
		return /^\s*(?:[)\]}]+[;,]*|end|fi|done|esac)$/.test(text) ? at : at - 1;
	}
	return end - 1;
}

const commentMarks =
	/^\s*(?:\/\*\*?|\*\/|\*(?!\*)|\/\/+!?|#+|--+|;;+|"""|'''|<!--|[-*•](?= )|\d+\.(?= )|>(?= ))\s?|\s*(?:\*\/|-->|"""|''')\s*$/g;

/**
 * The best sentence about the terms, from the comments of code or the prose of docs. What it holds of the question counts most; an
 * explanation of a term adds 1, a place in the shown lines 0.5, an end with a full stop 0.3, and more than 35 words cost 1.
 */
function bestSentence(
	lines: readonly NumberedLine[],
	path: string,
	inquiry: Inquiry,
	shown: readonly NumberedLine[],
): Passage["sentence"] {
	const docs = pathKind(path) === "docs";
	const title = docs ? shown.find((line) => isHeading(line, path)) : undefined;
	const titled = title === undefined ? 0 : matched(title.text, inquiry.terms);
	const owner = docs ? undefined : shown.find(({ text }) => named(text, path, inquiry) > 0);
	const own = owner === undefined ? undefined : remarkOn(owner, lines);
	let best: Passage["sentence"];
	for (const { number, text } of sentences(spokenIn(lines, path), docs)) {
		const near = shown.some((line) => line.number === number);
		// What comes first under a heading is about what the heading says.
		const opening = near && title !== undefined && titled > 0 && number > title.number;
		// What is said right at a definition is about it, whatever its words.
		const said = owner !== undefined && number === own ? named(owner.text, path, inquiry) : 0;
		const held = Math.max(heldAt(text, path, inquiry.terms), opening ? titled : 0, said);
		const words = wordsIn(text);
		if (!isSpeech(text)) continue;
		if (
			(matched(text, inquiry.terms) === 0 && !opening && said === 0) ||
			words < (said > 0 ? 3 : 4) ||
			!/^[\p{L}\p{N}"'`“(*_[]/u.test(text)
		)
			continue;
		const score =
			held +
			adjacent(text, inquiry.terms) +
			(inquiry.terms.some(({ needle }) => explains(text, needle)) ? 1 : 0) +
			(near ? 0.5 : 0) +
			(said > 0 ? -0.1 : 0) +
			(words > 35 ? -1 : 0) +
			(/[.!?:)]["'`”*]*$/.test(text) ? 0.3 : 0);
		const line = lines.find((candidate) => candidate.number === number);
		if (line !== undefined && (best === undefined || score > best.score))
			best = { number, text, score, held, own: said > 0, line };
	}
	return best;
}

/** How much of the question the name holds that a line declares. */
function named(text: string, path: string, { terms }: Inquiry): number {
	const definition = definitionIn(text, path);
	return definition?.kind === "declaration" && matched(definition.name, terms) > 0
		? heldAt(definition.name, path, terms)
		: 0;
}

/** The line at which a definition is explained: the begin of the comment above it, or of the text that opens its body. */
function remarkOn({ number }: NumberedLine, lines: readonly NumberedLine[]): number | undefined {
	const at = lines.findIndex((line) => line.number === number);
	let above = at;
	while (above > 0 && isComment(lines[above - 1]?.text ?? "")) above--;
	if (above < at)
		return lines.slice(above, at).find(({ text }) => /\p{L}{2}/u.test(text.replace(/^\s*\/?\*+\s*@.*/, "")))?.number;
	const body = lines.slice(at + 1, at + 8).findIndex(({ text }) => docstring.test(text));
	const opening = body < 0 ? undefined : lines[at + 1 + body];
	const before = body < 0 ? undefined : lines[at + body];
	if (opening === undefined || !/:\s*(?:#.*)?$/.test(before?.text ?? "")) return undefined;
	return opening.text.replace(docstring, "").trim() === "" ? lines[at + 2 + body]?.number : opening.number;
}

const docstring = /^\s*[rRuU]?(?:"""|''')/;

/** The lines between the quotes of a text that stands alone, and between a `=head1` and its `=cut`. */
function prosaic(lines: readonly NumberedLine[], path: string): ReadonlySet<number> {
	const found = new Set<number>();
	let end: RegExp | undefined;
	for (const [index, { number, text }] of lines.entries()) {
		if (end !== undefined) {
			if (!/^=\w/.test(text)) found.add(number);
			if (end.test(text)) end = undefined;
		} else if (/\.pyi?$/.test(path) && docstring.test(text) && opensText(lines[index - 1])) {
			found.add(number);
			if (!/(?:"""|''').*(?:"""|''')/.test(text)) end = /"""|'''/;
		} else if (/\.(?:p[lm]|t)$/.test(path) && /^=(?!cut\b)[a-z]\w*/.test(text)) end = /^=cut\b/;
	}
	return found;
}

/** The quotes behind a head or a comment begin a text; others may end one that began above what was read. */
const opensText = (before: NumberedLine | undefined): boolean =>
	before === undefined || before.number < 3 || /:\s*(?:#.*)?$|^\s*#/.test(before.text);

/** Words, not signs, and no statement that somebody has commented out: an example is no sentence. */
const isSpeech = (text: string): boolean =>
	text.length < 600 &&
	(text.match(/[\p{L}\p{M}\s]/gu)?.length ?? 0) >= 0.75 * text.length &&
	!/^(?:(?:export|import|const|let|var|return|function|class|type|my|our|use|def)\b.*[;={]|[\w.]+\(.*\);?$)/.test(text);

/** The lines that are written for people: comments in code; in docs, all but headings, tables and code. */
function spokenIn(lines: readonly NumberedLine[], path: string): readonly NumberedLine[] {
	if (pathKind(path) !== "docs") {
		const told = prosaic(lines, path);
		return lines.filter(({ text, number }) => isComment(text) || told.has(number));
	}
	const fences = lines.filter(({ text }) => /^\s*(?:```|~~~)/.test(text)).map(({ text }) => text.trim());
	// A fence without a language that comes first, before one with a language or alone, closes what began above.
	let fenced =
		lines[0]?.number !== 1 &&
		/^(?:`+|~+)$/.test(fences[0] ?? "") &&
		(fences.length % 2 === 1 || /\w/.test(fences[1] ?? ""));
	return lines.filter(({ text }) => {
		if (/^\s*(?:```|~~~)/.test(text)) {
			fenced = !fenced;
			return false;
		}
		return !fenced && !/^\s*(?:#{1,6} |=|\||\.[A-Z]{2}|<)/.test(text);
	});
}

// Scripts that put no space between words have about two letters a word.
const wordsIn = (text: string): number =>
	text.split(/\s+/).length +
	(text.match(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/gu)?.length ?? 0) / 2;

function sentences(lines: readonly NumberedLine[], docs: boolean): readonly NumberedLine[] {
	const found: NumberedLine[] = [];
	let open: { number: number; text: string } | undefined;
	let last = Number.NaN;
	const close = () => {
		if (open !== undefined && open.text.trim() !== "") found.push({ number: open.number, text: open.text.trim() });
		open = undefined;
	};
	for (const { number, text } of lines) {
		// Behind the end of a comment stands code.
		const spoken = docs ? text : text.replace(/(?<=\*\/).*$/, "");
		const bare = spoken.slice(0, 2_000).replace(commentMarks, "").trim();
		// In a comment the star is only a margin.
		const item = docs ? /^\s*(?:[-*•]|\d+\.) / : /^\s*(?:\*|\/\/|#)?\s*(?:[-•]|\d+\.) /;
		if (number !== last + 1 || bare === "" || item.test(text)) close();
		last = number;
		if (bare === "") continue;
		for (const part of bare.split(/(?<=[.!?:]["'`”)]?) +(?=[\p{Lu}"'`“(*])|(?<=[。！？])/u)) {
			open = open === undefined ? { number, text: part } : { number: open.number, text: `${open.text} ${part}` };
			if (/[.!?。！？]["'`”)*]*$/.test(part)) close();
		}
	}
	close();
	return found;
}
