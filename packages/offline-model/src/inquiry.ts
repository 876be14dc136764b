/** Reads a question: which terms it has, which kind of lines answers it, and which file it names. */
import { countOf, type Found } from "./evidence.ts";
import { isPath, loosened, type Term, termsOf, tokens, unquoted } from "./terms.ts";

/** What one question, or one part of it, is after. */
export interface Inquiry {
	/** How the answer names the subject. */
	readonly label: string;
	readonly terms: readonly Term[];
	/** Which lines answer best. */
	readonly lean: Lean;
	/** A file that the question names by its path. */
	readonly file: { readonly path: string; readonly line: number | undefined } | undefined;
	/** The question is about the whole directory, not about one thing in it. */
	readonly overview: boolean;
	/** The terms were found nowhere, so `terms` are the words that they are made of. */
	readonly apart: boolean;
}

/** `docs` and `tests` ask for lines of that kind and no others; `meaning` only prefers prose. */
export type Lean = "definition" | "docs" | "meaning" | "tests" | "usage" | "any";

const leanings: readonly (readonly [Lean, RegExp])[] = [
	["tests", /\b(?:tests?|tested|testing|specs?|coverage|covered)\b/i],
	["usage", /\b(?:used|uses|usages?|callers?|calls|called|imported|depends? on|mentioned)\b/i],
	["definition", /\b(?:where|defined|defines?|definition|declared|implemented|implementation|signature)\b/i],
	["docs", /(?<!code and )\b(?:docs|documentation|documented|readme|manual)\b/i],
	["meaning", /\b(?:what (?:is|are|does)|what's|why|meaning|means?|concept|purpose|rules?|policy)\b/i],
];

// A name with an ending, or a path that begins where only a path does.
const asFile = /\.[a-z0-9]+(?::\d+)?$|^(?:\/|\.\.?\/|~\/)/i;

const wholeProject =
	/\b(?:overview|summari[sz]e|(?<!\b(?:what|how) )about|structure|structured|architecture|organi[sz]ed|contain|contains|what(?:'s| is| are)? (?:here|in (?:here|this|it|the)|this|these)|files|list|tour|introduction|purpose|layout)\b/i;

export function inquire(
	text: string,
	{ label, terms = termsOf(text) }: { label?: string; terms?: readonly Term[] } = {},
): Inquiry {
	const named = tokens(text).find((token) => isPath(token.text) && asFile.test(token.text))?.text;
	const [path = "", line] = named?.split(/:(?=\d+$)/) ?? [];
	const asked = unquoted(text);
	return {
		label: label ?? labelOf(terms),
		terms,
		lean: leanings.find(([, pattern]) => pattern.test(asked))?.[0] ?? "any",
		file:
			named === undefined
				? undefined
				: { path: path.replace(/^\.\//, ""), line: line === undefined ? undefined : Number(line) },
		overview: asksForAll(asked, terms),
		apart: false,
	};
}

/** The same inquiry after its terms were found nowhere: by the words that they are made of. */
export const takenApart = (inquiry: Inquiry): Inquiry => ({ ...inquiry, terms: loosened(inquiry.terms), apart: true });

/**
 * The same inquiry after a search. A term that is in few files says more than one that is everywhere, so each weight is multiplied by
 * its inverse document frequency. The factor is between 0.4 and 1, since a common term that was asked for still counts.
 */
export function weighed(inquiry: Inquiry, searches: readonly Found[]): Inquiry {
	const found = searches.findLast(({ hits }) => hits.length > 0);
	const searched = countOf(found?.searched);
	if (found === undefined || searched === 0) return inquiry;
	const rarity = (files: number) => (files === 0 ? 0.1 : Math.log(1 + searched / files) / Math.log(1 + searched));
	const terms = inquiry.terms.map((term) => {
		const files = found.spread.get(term.needle);
		return files === undefined ? term : { ...term, weight: term.weight * (0.4 + 0.6 * rarity(files)) };
	});
	return { ...inquiry, terms };
}

/** The terms to look for in the lines, without the name of the file to look in. */
export const soughtIn = ({ terms, file }: Inquiry): readonly Term[] =>
	file === undefined ? terms : terms.filter(({ kind }) => kind !== "path");

export const labelOf = (terms: readonly Term[]): string => terms.map(({ text }) => text).join(" ");

// "What is this project about?": only words that fit every project, and a wish to see all of it.
function asksForAll(text: string, terms: readonly Term[]): boolean {
	const general =
		/^(?:architecture|structure|design|purpose|projects?|repo|repository|code|codebase|files?|folders?|director\w*|packages?|modules?|main|important|parts?|pieces?|contents?|program|library|application|system|software|readme|docs?|documents?|documentation|point|features?|notes?|big|new|role|layout|organi[sz]ed|organi[sz]ation|structured|tour|introduction|picture|map)$/i;
	return wholeProject.test(text) && terms.every((term) => general.test(term.text));
}
