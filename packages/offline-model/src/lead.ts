/** Writes the first sentence of an answer. */
import { definitionIn, pathKind } from "@reyn/tools/text";
import type { Evidence, Hit } from "./evidence.ts";
import { type Inquiry, soughtIn } from "./inquiry.ts";
import { about } from "./overview.ts";
import type { Passage } from "./passage.ts";
import { inWords } from "./quote.ts";
import { isExactly, matched, onlyKind, rankHits, weightOf } from "./rank.ts";

/** The sentence claims no more than the quoted lines show. */
export function lead(inquiry: Inquiry, evidence: Evidence, passages: readonly Passage[]): string {
	const piece = evidence.pieces[0];
	if (piece !== undefined && soughtIn(inquiry).length === 0) return about(piece);
	const best = passages[0];
	const hits = rankHits(evidence.searches, inquiry);
	if (best !== undefined) return fromPassages(inquiry, evidence, passages, best);
	if (hits[0] !== undefined && inquiry.apart) return `${noneHasAll(inquiry, evidence)}${closest(inquiry, hits[0])}`;
	if (hits[0] !== undefined) return fromHit(inquiry, hits[0]);
	const only = onlyKind(inquiry);
	if (only !== undefined && evidence.searches.some((search) => search.hits.length > 0)) {
		const elsewhere = evidence.searches.every(isComplete)
			? "what mentions it is elsewhere"
			: "the lines that I saw are elsewhere";
		return `I found nothing about ${inquiry.label} in ${only === "test" ? "tests" : "docs"}; ${elsewhere}.`;
	}
	return piece === undefined ? nothing(inquiry, evidence) : about(piece);
}

function fromPassages(inquiry: Inquiry, evidence: Evidence, passages: readonly Passage[], best: Passage): string {
	if (inquiry.apart || (soughtIn(inquiry).length > 1 && best.held < 0.6 * weightOf(inquiry.terms))) {
		return `${noneHasAll(inquiry, evidence)}${closest(inquiry, anchorOf(best))}`;
	}
	const said = sentenceIn(passages);
	const says = said === undefined ? undefined : inWords(said, inquiry.terms);
	const exactly = ({ defines = "" }: Passage) => inquiry.terms.some(({ text }) => isExactly(text, defines));
	const declaring = passages.filter(({ defines }) => defines !== undefined);
	const defining = declaring.find(exactly) ?? declaring[0];
	const told = said !== undefined && (pathKind(said.path) === "docs" || defining === undefined || !exactly(defining));
	if (defining === undefined || (told && inquiry.lean === "meaning" && !said.own)) {
		return says ?? closest(inquiry, anchorOf(best));
	}
	const at = `${defining.path}:${defining.anchor.number}`;
	if (pathKind(defining.path) === "test") return `A test speaks of it at ${at}.`;
	// A sentence of another source file is about another thing.
	const about = says !== undefined && (said?.path === defining.path || pathKind(said?.path ?? "") === "docs");
	return [
		`${defining.defines} is ${made(defining.path, defining.anchor.text)} at ${at}.`,
		...(about ? [says] : []),
	].join(" ");
}

function fromHit(inquiry: Inquiry, hit: Hit): string {
	const definition = definitionIn(hit.text, hit.path);
	const defines = definition?.kind === "declaration" && matched(definition.name, inquiry.terms) > 0;
	if (!defines || pathKind(hit.path) === "test") return closest(inquiry, hit);
	return `${definition.name} is ${made(hit.path, hit.text)} at ${hit.path}:${hit.line}.`;
}

/** A header of C and a `.d.ts` say what there is; what it does stands elsewhere. */
const made = (path: string, text: string): string =>
	/\.d\.[mc]?ts$/i.test(path) || (/\.(?:h|hh|hpp|hxx)$/i.test(path) && /\([^{]*$/.test(text)) ? "declared" : "defined";

/** Said only where it is so: of what was searched to its end, and of the lines that were shown otherwise. */
function noneHasAll(inquiry: Inquiry, { searches, pieces }: Evidence): string {
	const terms = soughtIn(inquiry);
	const lines = [...searches.flatMap(({ hits }) => hits), ...pieces.flatMap((piece) => piece.lines)];
	const someHas = lines.some(({ text }) => terms.every((term) => matched(text, [term]) > 0));
	if (someHas && !inquiry.apart) return "";
	const complete = inquiry.apart ? searches[0]?.whole === true : searches.every(isComplete);
	return `No line${complete ? "" : " that I saw"} has all of ${inquiry.label}. `;
}

const isComplete = ({ whole, shownAll }: Evidence["searches"][number]): boolean => whole && shownAll;

const anchorOf = ({ path, anchor }: Passage): Hit => ({ path, line: anchor.number, text: anchor.text });

const closest = ({ terms }: Inquiry, hit: Hit): string => `The closest line is ${inWords(hit, terms)}.`;

/** The best sentence of those that hold as much of the question as the best passage does (99 %, for rounding). */
function sentenceIn(passages: readonly Passage[]): (Hit & { readonly own: boolean }) | undefined {
	const most = Math.max(...passages.map(({ held }) => held));
	return passages
		.flatMap(({ path, sentence, held }) =>
			sentence === undefined ? [] : [{ ...sentence, path, line: sentence.number, near: sentence.own ? 1.3 * held : 0 }],
		)
		.filter(({ held, near }) => Math.max(held, near) >= 0.99 * most)
		.sort((a, b) => b.score - a.score)[0];
}

function nothing({ label, terms }: Inquiry, { searches, errors }: Evidence): string {
	const searched = searches.at(-1)?.searched;
	const error = errors.at(-1);
	if (searched === undefined && error !== undefined) return `I could not look for ${label}: ${error}`;
	const where = searched === undefined ? "" : ` in the ${searched} that I searched`;
	const tried = terms.map(({ needle }) => `"${needle}"`).join(" or ");
	const part = searches.every(({ whole }) => whole) ? "" : " in the part that I searched";
	return `I found nothing about ${label}${part}: no line${where} contains ${tried}.`;
}
