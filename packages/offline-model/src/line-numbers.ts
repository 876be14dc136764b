/** Shows lines of a file by their numbers: "show me line 100 of os.py". */
import type { Errand, Recogniser } from "./errand.ts";
import { gather, isError } from "./evidence.ts";
import { finding } from "./file-named.ts";
import { quoteLines } from "./quote.ts";
import { isPath, tokens } from "./terms.ts";

/** Which lines; counted from the end with `fromEnd`. */
interface Span {
	readonly from: number;
	readonly lines: number;
	readonly fromEnd: boolean;
}

/** Lines that one answer shows. */
const mostLines = 60;

export const showing: Recogniser = (question, earlier) => {
	const span = spanIn(question);
	if (span === undefined) return undefined;
	// "and line 101?" is about the file of the question before.
	const path =
		fileIn(question) ?? (isShort(question) ? earlier.map(fileIn).findLast((file) => file !== undefined) : undefined);
	return path === undefined ? undefined : show(path, span);
};

const number = "(\\d{1,9})";
const range = new RegExp(`\\blines? ${number}(?: ?(?:-|–|to|until|through|and) ?${number})?\\b`, "i");
const ends = /\b(first|last|top|bottom) (?:(\d{1,9}|one|two|three|five|ten) )?lines?\b/i;
const inWords: Readonly<Record<string, number>> = { one: 1, two: 2, three: 3, five: 5, ten: 10 };

function spanIn(question: string): Span | undefined {
	const end = ends.exec(question);
	if (end !== null) {
		const lines = atMost(inWords[end[2]?.toLowerCase() ?? "one"] ?? Number(end[2]));
		return { from: 1, lines, fromEnd: /last|bottom/i.test(end[1] ?? "") };
	}
	const [, first, last] = range.exec(question) ?? [];
	if (first === undefined) return undefined;
	const from = Math.max(1, Number(first));
	return { from, lines: last === undefined ? 1 : atMost(Number(last) - from + 1), fromEnd: false };
}

const atMost = (lines: number): number => Math.min(mostLines, Math.max(1, lines));

/** A file as a question names it. */
const fileIn = (question: string): string | undefined =>
	tokens(question)
		.map(({ text }) => text.replace(/^\.\//, "").replace(/:\d+$/, ""))
		.findLast((text) => isPath(text) || /^[\w.-]+\/[\w./-]*\w$/.test(text));

const isShort = (question: string): boolean => question.split(/\s+/).length < 8;

const show =
	(path: string, { from, lines, fromEnd }: Span): Errand =>
	(turn, tools) => {
		const read = (at: string, start: number) => ({
			calls: [{ name: "read", args: { path: at, from: start, lines: fromEnd ? 1 : lines } }],
		});
		const found = finding(path, turn, tools, (at) => read(at, from));
		if (!("path" in found)) return found;
		const { result, path: at, total } = found;
		if (isError(result)) {
			const has = /has only ([\d,]+ lines?)/.exec(result)?.[1];
			return { text: has === undefined ? `I could not read ${at}: ${plain(result)}` : `${at} has only ${has}.` };
		}
		if (/ is empty$/.test(result)) return { text: `${at} is empty.` };
		const start = Math.max(1, total - lines + 1);
		const pieces = gather(turn).pieces;
		const piece = pieces.at(-1);
		if (fromEnd && (pieces.length < 2 || piece === undefined)) {
			return { calls: [{ name: "read", args: { path: at, from: start, lines } }] };
		}
		if (piece === undefined) return { passed: turn.rounds };
		const [only] = piece.lines.length === 1 ? piece.lines : [];
		const blank = only !== undefined && only.text.trim() === "";
		return { text: blank ? `${piece.path}:${only.number} is blank.` : quoteLines(piece).join("\n") };
	};

const plain = (result: string): string => result.replace(/^ERROR:?\s*/, "").split("\n")[0] ?? "";
