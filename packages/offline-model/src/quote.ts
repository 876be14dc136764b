/** Quotes lines with their place, cut to a width around the terms that were looked for. */
import { excerpt, placeOf } from "@reyn/tools/text";
import type { Hit, Piece } from "./evidence.ts";
import type { Term } from "./terms.ts";

/** Characters of a quoted line; a longer one is cut around the terms. */
const widest = 320;
/** Characters of a line behind a bullet. */
const textWidth = 160;
/** Characters of a quoted sentence. */
const sentenceWidth = 280;

/** A text cut to a width around the terms. */
const cutAround = (text: string, terms: readonly Term[], width = textWidth): string =>
	excerpt(
		text,
		width,
		placeOf(
			terms.map(({ needle }) => needle),
			text,
		),
	);

/** The lines under their place, each with its number. */
export function quoteLines({ path, lines }: Piece, terms: readonly Term[] = []): readonly string[] {
	const first = lines[0]?.number ?? 0;
	const last = lines.at(-1)?.number ?? 0;
	const width = String(last).length;
	const margin = Math.min(...lines.filter(({ text }) => text.trim() !== "").map(({ text }) => indentOf(text)));
	return [
		first === last ? `${path}:${first}` : `${path}:${first}-${last}`,
		...lines.map(({ number, text }) => {
			const shown = text.length > widest ? cutAround(text, terms, widest) : text.slice(margin);
			return `  ${String(number).padStart(width)}| ${shown}`.trimEnd();
		}),
	];
}

/** `- src/a.ts:12: text` */
export const bullet = ({ path, line, text }: Hit, terms: readonly Term[]): string =>
	`- ${path}:${line}: ${cutAround(text, terms)}`;

/** `“text” (src/a.ts:12)` */
export const inWords = ({ path, line, text }: Hit, terms: readonly Term[]): string =>
	`“${cutAround(text, terms, sentenceWidth)}” (${path}:${line})`;

export const indentOf = (text: string): number => text.length - text.trimStart().length;
