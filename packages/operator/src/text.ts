/** What no text may have that is shown: pure, for `print.ts`, through which all goes, and for what cuts a text to a width. */

/**
 * What acts on a terminal (control codes), on the order of what is read (bidi controls), or draws nothing and so says something
 * that nobody sees: tags, fillers, joiners of words, selectors beyond the common ones, line ends that are no `\n`, marks of
 * annotations, halves of characters, numbers that no character has, and signs that are blank (the Braille one without dots,
 * a place for an object, modifiers of signs that are not there). Of what draws nothing stay those that words are spelt with: the
 * joiner and the non-joiner (Persian, Indic scripts, emoji made of several), the selectors U+FE00–FE0F (emoji) and the Mongolian
 * ones. None of these acts on anything but the letters beside it. So do the marks that Arabic numbers stand on, which are drawn.
 * A `\r` goes: it would let the end of a line hide its beginning.
 *
 * Taken out one by one, so that a sequence that is cut between two pieces of a stream is harmless as well.
 */
const unsafe =
	/[[\p{Cc}\p{Cf}\p{Cn}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800\ufffc\u{13441}\u{13442}\u{16fe4}\u{1bc9d}\u{1d159}\u{1da9b}-\u{1da9f}\u{1daa1}-\u{1daaf}]--[\n\t\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u{110bd}\u{110cd}\u200c\u200d\ufe00-\ufe0f\u180b-\u180f]]/gv;

/** Most texts have nothing else, and are looked through a hundred times as fast: ASCII, Latin letters, dashes and quotes. */
const usual = /^[\n\t\x20-\x7e\xa1-\xac\xae-\u02ff\u2010-\u2027]*$/;

/** Text from models, tools, files and logs: it cannot move the cursor, colour or rename the terminal, or turn its letters round. */
export function clean(text: string): string {
	return usual.test(text) ? text : text.replace(unsafe, "");
}

/** The same as a line: what would begin another is a space. */
export function asLine(text: string): string {
	return clean(text).replace(/\n\s*/g, " ");
}

/** The same, cut to a width. */
export function oneLine(text: string, width = 100): string {
	const line = clean(text).replace(/\s+/g, " ").trim();
	return line.length > width ? `${line.slice(0, width - 1)}…` : line;
}

/** JSON of the same value, in which all that text may not have is escaped, so that it is seen and not done. */
export function asJson(value: unknown, indent?: number): string {
	return JSON.stringify(value, null, indent).replace(unsafe, escaped);
}

const escaped = (character: string): string =>
	Array.from(
		{ length: character.length },
		(_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`,
	).join("");
