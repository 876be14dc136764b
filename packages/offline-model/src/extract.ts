/** Answers an instruction over a text when there are no tools: picks the lines of the text that say most about it. */
import { excerpt, placeOf } from "@reyn/tools/text";
import { findings } from "./answer.ts";
import { parseSearch } from "./evidence.ts";
import { inquire } from "./inquiry.ts";
import { matched } from "./rank.ts";
import { extractTerms, type Term } from "./terms.ts";

const mostLines = 8;

/** @param text an instruction with its own text below it; the answer is at most eight lines of that text, in their order */
export function extract(text: string): string {
	const [instruction, body] = splitInstruction(text);
	if (body.length === 0) return "I can only quote, and there is neither a text here nor a tool to look with.";
	const found = parseSearch(body.join("\n"));
	if (found.hits.length > 0 || found.searched !== undefined) {
		return findings(inquire(instruction), { searches: [found], pieces: [], listing: undefined, errors: [] });
	}
	const { strong } = extractTerms(instruction);
	const terms = strong.filter((term) => body.some((line) => matched(line, [term]) > 0));
	const chosen = body
		.map((line, index) => ({ line, index, score: worth(line, terms), early: index / body.length }))
		.filter(({ score }) => score > 0)
		.sort((a, b) => b.score - b.early - a.score + a.early || a.index - b.index)
		.slice(0, mostLines)
		.sort((a, b) => a.index - b.index);
	const kept = chosen.length > 0 ? chosen : body.slice(0, mostLines).map((line) => ({ line }));
	const needles = terms.map(({ needle }) => needle);
	return kept.map(({ line }) => `- ${excerpt(line.replace(/^[-*•] /, ""), 240, placeOf(needles, line))}`).join("\n");
}

/** The first paragraph says what to do; a single paragraph, up to its first colon or sentence. */
function splitInstruction(text: string): readonly [string, readonly string[]] {
	const lines = text.split("\n").map((line) => line.trim());
	const blank = lines.indexOf("");
	const end = blank > 0 ? blank : lines.length > 1 ? 1 : 0;
	const linesOf = (part: readonly string[]) => part.filter((line) => line !== "" && !/^[`=~*_-]{3,}$/.test(line));
	if (end > 0) return [lines.slice(0, end).join(" "), linesOf(lines.slice(end))];
	const [first = "", ...sentences] = text.split(/(?<=[.!?:])\s+/);
	return [first, linesOf(sentences)];
}

/**
 * How much a line says about the instruction; 0 leaves it out. A term counts 2, and a whole sentence reads better than a part of one
 * (0.3). Without terms a heading or an item (1.5) says more than plain text (0.5), and a long line more than a short one.
 */
function worth(line: string, terms: readonly Term[]): number {
	const whole = /[.!?]$/.test(line) ? 0.3 : 0;
	const held = matched(line, terms);
	if (terms.length > 0) return held === 0 ? 0 : 2 * held + whole;
	return (/^(?:#{1,6} |[-*•] |\d+\. )/.test(line) ? 1.5 : 0.5) + whole + (line.length > 30 ? 0.5 : 0);
}
