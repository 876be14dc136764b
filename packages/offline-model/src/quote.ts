/** Quotes lines with their place, cut to a width around the terms that were looked for. */
import { excerpt, placeOf } from "@reyn/tools/text";
import type { Hit } from "./evidence.ts";
import type { Term } from "./terms.ts";

/** Characters of a line behind a bullet. */
const textWidth = 160;
/** Characters of a quoted sentence. */
const sentenceWidth = 280;

/** A text cut to a width around the terms. */
export const cutAround = (text: string, terms: readonly Term[], width = textWidth): string =>
	excerpt(
		text,
		width,
		placeOf(
			terms.map(({ needle }) => needle),
			text,
		),
	);

/** `- src/a.ts:12: text` */
export const bullet = ({ path, line, text }: Hit, terms: readonly Term[]): string =>
	`- ${path}:${line}: ${cutAround(text, terms)}`;

/** `“text” (src/a.ts:12)` */
export const inWords = ({ path, line, text }: Hit, terms: readonly Term[]): string =>
	`“${cutAround(text, terms, sentenceWidth)}” (${path}:${line})`;

export const indentOf = (text: string): number => text.length - text.trimStart().length;
