/** Scores lines and files by how well they answer a question, and ranks them. */
import { definitionIn, explains, isComment, isImport, type PathKind, pathKind, strengthOf } from "@reyn/tools/text";
import type { Found, Hit, NumberedLine } from "./evidence.ts";
import type { Inquiry } from "./inquiry.ts";
import { type Term, weakWeight } from "./terms.ts";
import { builtOf } from "./twins.ts";

/**
 * How much a line says about what is asked; 0 when it holds none of the terms. The terms count most (2 each at full weight, and 1.5
 * for two that stand together). What the question wants adds to that: a definition up to 2.5 and 1 more when the name is the term
 * itself, an explanation up to 3, prose up to 1. An import says next to nothing, a very long or very short line says less. A question
 * about usage takes 1.5 away from the definition, since it wants the other lines. The numbers are rules of thumb.
 */
export function scoreLine(text: string, path: string, { terms: asked, lean }: Inquiry): number {
	const terms = termsIn(path, asked);
	const held = matched(text, terms);
	if (held === 0) return 0;
	if (isImport(text)) return 0.2 * held;
	const definition = definitionIn(text, path);
	const named = definition === undefined ? 0 : matched(definition.name, terms) / weightOf(terms);
	// A name that is nothing but a term is the thing itself.
	const whole =
		definition !== undefined && terms.some((term) => term.weight > weakWeight && isAlone(term, definition.name));
	const exact = whole && terms.some(({ text: term }) => isExactly(term, definition.name));
	const defining = named === 0 ? 0 : (definition?.kind === "key" ? 1 : 2.5) * named + (exact ? 2 : whole ? 1 : 0);
	const wanted = lean === "usage" ? (defining > 0 ? -1.5 : 0.5) : lean === "definition" ? 1.5 * defining : defining;
	const prose = isComment(text) || pathKind(path) === "docs" ? (lean === "meaning" ? 1 : 0.5) : 0;
	const explaining = terms.some(({ needle }) => explains(text, needle))
		? lean === "meaning"
			? 3
			: lean === "any"
				? 2.5
				: 1
		: 0;
	const length = text.length > 400 ? -1 : text.trim().length < 12 ? -0.5 : 0;
	return Math.max(0.1, 2 * held + 1.5 * adjacent(text, terms) + wanted + explaining + prose + length);
}

/** What a file is called after, its lines need not say again: the other terms tell them apart. */
function termsIn(path: string, terms: readonly Term[]): readonly Term[] {
	const named = terms.map((term) => term.kind !== "path" && matched(path, [term]) >= term.weight);
	if (!named.includes(true) || !named.includes(false)) return terms;
	return terms.map((term, index) => (named[index] === true ? { ...term, weight: 0.3 * term.weight } : term));
}

/** How much of the question a line holds, with what its file is called after. */
export const heldAt = (text: string, path: string, terms: readonly Term[]): number =>
	terms.reduce(
		(sum, term) => sum + Math.max(matched(text, [term]), term.kind === "path" ? 0 : 0.7 * matched(path, [term])),
		0,
	);

export const weightOf = (terms: readonly Term[]): number => terms.reduce((sum, { weight }) => sum + weight, 0);

/** The weights of the terms that a text holds, summed; a phrase or a name weighs more than a word, a match inside a word counts 0.3. */
export function matched(text: string, terms: readonly Term[]): number {
	const lowered = text.toLowerCase();
	return terms.reduce((sum, { needle, weight }) => sum + strengthOf(needle, lowered, text) * weight, 0);
}

/** How many terms follow the same term as in the question: "group commit" says more than both words apart. */
export function adjacent(text: string, terms: readonly Term[]): number {
	const lowered = text.toLowerCase();
	return terms.slice(1).filter(({ needle }, index) => {
		const before = terms[index]?.needle ?? "";
		for (let at = lowered.indexOf(before); at >= 0; at = lowered.indexOf(before, at + 1)) {
			const next = lowered.indexOf(needle, at + before.length);
			// Between them only the rest of the first word and one sign that joins.
			if (
				next >= 0 &&
				next - at - before.length < 8 &&
				/^\p{L}*[\s_\-./:]?$/u.test(lowered.slice(at + before.length, next))
			)
				return true;
		}
		return false;
	}).length;
}

/** A word may be declined; a name from code is another one with another ending. */
const isAlone = ({ needle, kind }: Term, name: string): boolean => {
	const bare = name.toLowerCase().replace(/[^\p{L}\p{N}]+$/u, "");
	return bare.startsWith(needle) && bare.length <= needle.length + (kind === "word" ? 3 : 0);
};

/** The last part of a name is a term as it was written: `Statement::Close` is a Close. */
export const isExactly = (term: string, name: string): boolean =>
	[name, name.split(/::|[.#]/).at(-1) ?? ""].some((each) => each.toLowerCase() === term.toLowerCase());

/**
 * How well a path fits the question, before any line counts. Source comes first, docs come first for the meaning of a word, tests
 * come late, generated files last. The file that the question names gets 6 more; each folder down costs 0.1.
 */
function scorePath(path: string, { terms, lean, file }: Inquiry, kind: PathKind): number {
	const fit = {
		source: lean === "meaning" ? 0.5 : 1,
		test: -2,
		docs: lean === "meaning" ? 2 : lean === "definition" ? -1 : 0,
		config: -1,
		generated: -6,
	}[kind];
	const asked = file !== undefined && `/${path.toLowerCase()}`.endsWith(`/${file.path.toLowerCase()}`) ? 6 : 0;
	return fit + asked + Math.min(2, matched(path, terms)) - 0.1 * path.split("/").length;
}

/** What a file loses of which the search has found the source, as a generated one does. */
const builtCost = 7;

/** Where a package comes without its sources, what was built is all there is of them. */
function kindsAmong(paths: readonly string[]): (path: string) => PathKind {
	if (paths.some((path) => pathKind(path) === "source")) return pathKind;
	return (path) => pathKind(path.replace(/(?<![^/])(?:dist|build)\//g, ""));
}

const pathsIn = (searches: readonly Found[]): readonly string[] =>
	searches.flatMap(({ hits, paths }) => [...hits.map(({ path }) => path), ...paths]);

/** The kind of file that a question is only about, if any. */
export const onlyKind = ({ lean }: Inquiry): "test" | "docs" | undefined =>
	lean === "tests" ? "test" : lean === "docs" ? "docs" : undefined;

const isWanted = (path: string, inquiry: Inquiry): boolean => {
	const only = onlyKind(inquiry);
	return only === undefined || pathKind(path) === only;
};

export interface RankedFile {
	readonly path: string;
	readonly score: number;
	/** Best first. */
	readonly hits: readonly Hit[];
}

/**
 * The files of the searches, best first. A file counts by its three best lines (the second half, the third a quarter: many weak
 * lines must not beat one good line), by the terms that it holds in any lines, and by 3 where it explains a term.
 */
export function rankFiles(searches: readonly Found[], inquiry: Inquiry): readonly RankedFile[] {
	const { terms, lean } = inquiry;
	const all = searches.flatMap((search) => search.hits);
	const built = builtOf(pathsIn(searches));
	const kindOf = kindsAmong(pathsIn(searches));
	const hits = all.filter(({ path }) => isWanted(path, inquiry));
	const scored = [...Map.groupBy(hits, ({ path }) => path)].map(([path, own]) => {
		const ranked = own
			.map((hit) => ({ hit, score: scoreLine(hit.text, path, inquiry) }))
			.sort((a, b) => b.score - a.score || a.hit.line - b.hit.line);
		const [best = 0, second = 0, third = 0] = ranked.map(({ score }) => score);
		// A file that holds all the terms, though in different lines, is about all of them.
		const together = 1.5 * heldAt(own.map(({ text }) => text).join("\n"), path, inquiry.terms);
		const tells =
			lean !== "usage" && own.some(({ text }) => terms.some(({ needle }) => explains(text, needle))) ? 3 : 0;
		return {
			path,
			score:
				best +
				second / 2 +
				third / 4 +
				together +
				tells +
				scorePath(path, inquiry, kindOf(path)) -
				(built.has(path) ? builtCost : 0),
			hits: ranked.map(({ hit }) => hit),
		};
	});
	return scored.sort((a, b) => b.score - a.score || (a.path < b.path ? -1 : 1));
}

/** The hits of all searches in files of the wanted kind, the most telling first, no line twice. */
export function rankHits(searches: readonly Found[], inquiry: Inquiry): readonly Hit[] {
	const seen = new Set<string>();
	const built = builtOf(pathsIn(searches));
	const kindOf = kindsAmong(pathsIn(searches));
	return searches
		.flatMap((search) => search.hits)
		.filter(({ path }) => isWanted(path, inquiry))
		.map((hit, order) => ({
			hit,
			order,
			score:
				scoreLine(hit.text, hit.path, inquiry) +
				(scorePath(hit.path, inquiry, kindOf(hit.path)) - (built.has(hit.path) ? builtCost : 0)) / 2,
		}))
		.sort((a, b) => b.score - a.score || a.order - b.order)
		.flatMap(({ hit }) => {
			const said = hit.text.trim().toLowerCase();
			if (seen.has(said) || seen.has(`${hit.path}:${hit.line}`)) return [];
			seen.add(said).add(`${hit.path}:${hit.line}`);
			return [hit];
		});
}

/**
 * The line to start reading at, so that the best hits are in view: 2 lines above a heading about the question, else 8 above the
 * first hit of the best window. Scores are squared there, so that one good line counts more than several weak ones.
 */
export function windowAround(hits: readonly Hit[], inquiry: Inquiry, height: number): number {
	const told = hits.find(({ text }) => inquiry.terms.some(({ needle }) => explains(text, needle)));
	const title = told === undefined ? titleIn(hits, inquiry) : undefined;
	if (title !== undefined) return Math.max(1, title - 2);
	if (told !== undefined && inquiry.lean === "meaning") return Math.max(1, told.line - 8);
	const scored = hits.map((hit) => ({ line: hit.line, score: scoreLine(hit.text, hit.path, inquiry) ** 2 }));
	const total = (from: number) =>
		scored.reduce((sum, { line, score }) => (line >= from && line < from + height - 10 ? sum + score : sum), 0);
	// Whatever many weak lines add up to, the best line is in view.
	const top = Math.max(0, ...scored.map(({ score }) => score));
	const shows = (from: number) =>
		scored.some(({ line, score }) => score === top && line >= from && line < from + height - 10);
	const best =
		scored
			.map(({ line }) => line)
			.filter(shows)
			.sort((a, b) => total(b) - total(a) || a - b)[0] ?? 1;
	return Math.max(1, best - 8);
}

/**
 * The line of the heading that holds at least 70 % of the question, and few other words. A title that stands twice is first in the
 * table of contents, so the later one is taken, unless it begins with `#`: a table of contents does not.
 */
function titleIn(hits: readonly Hit[], { terms, lean }: Inquiry): number | undefined {
	const titles = hits.flatMap(({ text, path, line }) => {
		const definition = pathKind(path) === "docs" ? definitionIn(text, path) : undefined;
		if (definition?.kind !== "heading" || matched(definition.name, terms) < 0.7 * weightOf(terms)) return [];
		const words = definition.name.replace(/^[\d.]+ +|\s[*|].*/g, "").split(/\s+/).length;
		return words > terms.length + (lean === "meaning" ? 0 : 1) ? [] : [{ line, words, marked: text.startsWith("#") }];
	});
	return titles.sort((a, b) => a.words - b.words || (a.marked ? a.line - b.line : b.line - a.line))[0]?.line;
}

export const bestLine = (lines: readonly NumberedLine[], path: string, inquiry: Inquiry): number => {
	const scores = lines.map(({ text }) => scoreLine(text, path, inquiry));
	const best = Math.max(0, ...scores);
	return best === 0 ? -1 : scores.indexOf(best);
};
