/** Splits a question into the subjects that it is about: "compare A and B" has two. */
import { extractTerms, type Term, type Token, termOf, termsOf, tokens, weakWeight } from "./terms.ts";

/** One subject of a question. */
export interface Part {
	/** In the question's own words: "the write path" → write path. */
	readonly label: string;
	readonly terms: readonly Term[];
}

const maxParts = 4;

/** The subjects that a question is about, in its order; one for a simple question, none when it names nothing. */
export function partsOf(question: string): readonly Part[] {
	const parts: Part[] = [];
	for (const sentence of sentencesOf(question.replace(order, ""))) {
		for (const chunk of chunksOf(sentence)) {
			const part = partOf(chunk, parts.at(-1));
			if (part === undefined) continue;
			const known = new Set(parts.flatMap(({ terms }) => terms.map(({ needle }) => needle)));
			if (part.terms.some(({ needle }) => !known.has(needle)) || part.label !== parts.at(-1)?.label) {
				if (!parts.some(({ label }) => label.toLowerCase() === part.label.toLowerCase())) parts.push(part);
			}
		}
	}
	return parts.slice(0, maxParts);
}

/** Questions and sentences that stand on their own. */
export const sentencesOf = (question: string): readonly string[] =>
	question
		.split(
			/(?<=[?!;])\s+|(?<=[\p{L}\p{N})]\.)\s+(?=\p{Lu})|\n+|\s+(?:and|then|also) (?=(?:how|where|what|why|which|who|when)\b)/u,
		)
		.map((sentence) => sentence.trim())
		.filter((sentence) => termsOf(sentence).length > 0 || pronoun.test(sentence));

export const comparing =
	/\b(?:compar\w*|versus|vs\.?|differ\w*|contrast\w*|trade-?offs?|pros and cons|better than|instead of|as opposed to|similarit\w*|in common)\b/i;
const relating =
	/\bhow (?:do|does|is|are|did|can)\b.*\b(?:work|works|interact\w*|relat\w*|fit|connect\w*|talk|depend\w*|integrat\w*|communicat\w*|play|tie\w*|survive)\b/i;
// "Plan: …" says what to do, not about what.
const order = /^\W*(?:please )?(?:plan|investigate|report on|look into)\b:?\s*/i;
// "This project" names something, and "is there" points at nothing.
const pronoun =
	/\b(?:it|its|they|them|their|(?:this|that|these|those)(?! (?:projects?|packages?|librar(?:y|ies)|repo|repository|director(?:y|ies)|folders?|modules?|files?|code|codebase|program|tool)\b)|ones?|(?<!(?:is|are|was|were) )there(?! (?:is|are|was|were)\b)(?!\W*$))\b/i;
// "with references" and the like say how to answer, not about what.
const manner =
	/,?\s*\b(?:and )?(?:with|including|plus|giving|give|quoting|quote|citing|cite|add|show|include) (?:\w+ ){0,2}(?:references?|citations?|evidence|examples?|details?|sources?|line numbers?|file:line|quotes?|paths?)(?: (?:to|for|from) (?:the )?(?:code|source|files?|docs?))?\b/gi;

export const asksForReferences = (question: string): boolean => question.search(manner) >= 0;
export const relates = (question: string): boolean => relating.test(question);
export const refersBack = (text: string): boolean => pronoun.test(text);

function chunksOf(sentence: string): readonly string[] {
	const bare = sentence.replace(manner, "");
	const joints = [",\\s+(?:and\\s+|or\\s+)?", "\\s+(?:and|or|versus|vs\\.?|as well as|plus)\\s+"];
	if (comparing.test(bare)) joints.push("\\s+(?:with|to|from|against|than|instead of|as opposed to)\\s+");
	else if (relating.test(bare)) joints.push("\\s+(?:with|together with|against|to)\\s+");
	return splitOutsideQuotes(bare, new RegExp(joints.join("|"), "giu"));
}

/** A quoted phrase stays whole whatever is in it. */
function splitOutsideQuotes(text: string, joint: RegExp): readonly string[] {
	const quoted = [...text.matchAll(/"[^"]*"|“[^”]*”|`[^`]*`/g)].map(
		(match) => [match.index, match.index + match[0].length] as const,
	);
	const chunks: string[] = [];
	let from = 0;
	for (const match of text.matchAll(joint)) {
		if (quoted.some(([start, end]) => match.index > start && match.index < end)) continue;
		chunks.push(text.slice(from, match.index));
		from = match.index + match[0].length;
	}
	return [...chunks, text.slice(from)];
}

function partOf(chunk: string, before: Part | undefined): Part | undefined {
	const { strong, weak } = extractTerms(chunk);
	if (refersBack(chunk) && strong.length < 2 && before !== undefined) {
		// "and where is it tested?" is about the part before.
		return strong.length + weak.length === 0 ? undefined : further(before, chunk);
	}
	return strong.length === 0 ? undefined : spanOf(chunk, strong);
}

/** A part with a further aspect. A word such as "tested" goes into the label, where it steers the search; it is no term to search for. */
export function further({ label, terms }: Part, text: string): Part {
	const { strong, weak } = extractTerms(text);
	const own = strong.length > 0 ? strong : weak;
	const added = strong.filter(({ needle }) => !terms.some((term) => term.needle === needle));
	return { label: [label, ...own.map((term) => term.text)].join(" "), terms: [...terms, ...added] };
}

// The weak words that are nouns, and so may qualify a term: "file engine". "Use", "handled" and "new" qualify nothing.
const qualifier =
	/^(?:files?|functions?|class|classes|modules?|packages?|projects?|code|source|system|names?|lines?|tests?|plan|read|write|call|documents?|features?|roles?|examples?|points?|parts?|folders?|director(?:y|ies)|methods?)$/i;

/**
 * A part from the first strong term of a chunk to the last, with the small words between them. A weak noun right beside a strong
 * term belongs to it: "the file engine" is not any engine. A span of more than 8 words is no name, so its label is the terms alone.
 */
function spanOf(chunk: string, strong: readonly Term[]): Part {
	const all = tokens(chunk);
	const telling = (token: Token | undefined) =>
		strong.some(({ text }) => text === token?.text || text === token?.text.replace(/['’]s$/u, ""));
	const qualifies = (token: Token | undefined) =>
		token !== undefined && termOf(token)?.weight === weakWeight && qualifier.test(token.text);
	let from = all.findIndex(telling);
	let to = all.findLastIndex(telling);
	const isWord = (token: Token | undefined) => token !== undefined && termOf(token)?.kind === "word";
	if (isWord(all[from]) && qualifies(all[from - 1])) from--;
	if (isWord(all[to]) && qualifies(all[to + 1])) to++;
	const span = all.slice(from, to + 1);
	const qualifiers = span.flatMap((token) => (qualifies(token) ? (termOf(token) ?? []) : []));
	const terms = span.length > 8 ? strong : [...strong, ...qualifiers];
	const order = (term: Term) => span.findIndex((token) => token.text.startsWith(term.text));
	return {
		label: span.length > 8 ? strong.map(({ text }) => text).join(" ") : span.map(({ text }) => text).join(" "),
		terms: terms.toSorted((a, b) => order(a) - order(b)),
	};
}
