/** How well a term is found in a line: as a word or the start of one counts fully, in the middle of one counts little. */
export type Strength = 0 | 0.3 | 1;

// Below this length a mere beginning says nothing: "log" is not in "logic", nor "wal" in "walk".
const shortTerm = 3;

// In a line that repeats a term for ever, the first occurrences tell enough.
const mostOccurrences = 200;

/** `term` and `lowered` (the line in lower case) are compared as they are; `line` tells where camelCase words start. */
export function strengthOf(term: string, lowered: string, line: string): Strength {
	let found: Strength = 0;
	for (const at of occurrences(term, lowered)) {
		if (isWord(term, line, at)) return 1;
		found = 0.3;
	}
	return found;
}

/** Where the best occurrence of any of the terms starts; 0 when there is none. */
export function placeOf(terms: readonly string[], line: string): number {
	const lowered = line.toLowerCase();
	const places = terms.flatMap((term) =>
		[...occurrences(term, lowered)].map((at) => ({ at, word: isWord(term, line, at) })),
	);
	return (places.find(({ word }) => word) ?? places[0])?.at ?? 0;
}

function* occurrences(term: string, lowered: string): Generator<number> {
	let at = lowered.indexOf(term);
	for (let count = 0; at >= 0 && count < mostOccurrences; count++) {
		yield at;
		at = lowered.indexOf(term, at + 1);
	}
}

const isWord = (term: string, line: string, at: number): boolean =>
	startsWord(line, at) &&
	(term.length > shortTerm || endsWord.test(line.slice(at + term.length, at + term.length + 3)));

// Here, or after the "s" of a plural.
const endsWord = /^s?(?!\p{Ll})/u;

function startsWord(line: string, at: number): boolean {
	if (at === 0) return true;
	const before = line[at - 1] ?? "";
	const here = line[at] ?? "";
	if (!/[\p{L}\p{N}]/u.test(before) || !/[\p{L}\p{N}]/u.test(here)) return true;
	// camelCase, HTTPServer (lower case after the capital), v2Name, and scripts that put no space between words
	if (/\p{Lu}/u.test(here)) return !/\p{Lu}/u.test(before) || /\p{Ll}/u.test(line[at + 1] ?? "");
	return /\p{N}/u.test(before) || /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u.test(here);
}
