/** Decides the next step towards an answer: which lookups to make, or that there is enough to answer from. */
import { type Evidence, gather } from "./evidence.ts";
import { type Inquiry, soughtIn, takenApart, weighed } from "./inquiry.ts";
import { onlyKind, rankFiles, windowAround } from "./rank.ts";
import type { Turn } from "./situation.ts";
import { isOutside, loosened, queryOf } from "./terms.ts";
import { builtOf } from "./twins.ts";

/** What to do next to answer one inquiry. */
export type Move =
	| { readonly kind: "look"; readonly calls: readonly Lookup[] }
	| { readonly kind: "answer"; readonly inquiry: Inquiry; readonly evidence: Evidence };

interface Lookup {
	readonly name: "list" | "search" | "read";
	readonly args: Readonly<Record<string, unknown>>;
}

/** Rounds of lookups: with the answer itself, a question takes at most four calls of the model. */
const maxRounds = 3;
/** Lines that one `read` asks for. */
const readHeight = 60;

/** List or search, read around the best hits, answer. The move depends only on what the turn has shown so far. */
export function investigate(inquiry: Inquiry, turn: Turn, tools: ReadonlySet<string>): Move {
	const evidence = gather(turn);
	const [first, second] = evidence.searches;
	const fellBack =
		first?.hits.length === 0 && second !== undefined && second.hits.length > 0 && loosened(inquiry.terms).length > 0;
	const informed = weighed(fellBack ? takenApart(inquiry) : inquiry, evidence.searches);
	const calls = turn.rounds < maxRounds ? next(informed, evidence, turn, tools) : [];
	return calls.length > 0 ? { kind: "look", calls } : { kind: "answer", inquiry: informed, evidence };
}

function next(inquiry: Inquiry, evidence: Evidence, turn: Turn, tools: ReadonlySet<string>): readonly Lookup[] {
	if (evidence.pieces.length > 0) return [];
	const canRead = tools.has("read");
	const tried = (name: string) => turn.lookups.filter(({ call }) => call.name === name).length;
	const { file, terms, overview } = inquiry;
	const sought = soughtIn(inquiry);

	if (file !== undefined && canRead && turn.rounds === 0 && (sought.length === 0 || !tools.has("search"))) {
		return [{ name: "read", args: { path: file.path, ...around(file.line) } }];
	}
	if (file !== undefined && tried("read") > 0 && isOutside(file.path)) return [];
	if ((overview || !tools.has("search")) && tools.has("list")) {
		if (tried("list") === 0) return [{ name: "list", args: {} }];
		return canRead && tried("read") === 0 ? introductions(evidence) : [];
	}
	if (!tools.has("search") || terms.length === 0) return [];

	const more = onlyKind(inquiry) === undefined && inquiry.lean !== "meaning" ? {} : { maxResults: 120 };
	if (tried("search") === 0) {
		const within = file === undefined || sought.length === 0 ? {} : { path: file.path };
		return [search(queryOf(sought.length === 0 ? terms : sought), { ...more, ...within })];
	}
	if (tried("search") === 1 && evidence.searches.every(({ hits, paths }) => hits.length === 0 && paths.length === 0)) {
		// The file may lie deeper than the question says, or the names may be written apart.
		if (evidence.searches.length === 0 && file !== undefined) return [search(queryOf(terms), more)];
		const apart = loosened(terms);
		if (apart.length > 0) return [search(queryOf(apart), more)];
	}
	return canRead && evidence.searches.length > 0 ? readings(inquiry, evidence) : [];
}

/** The part of a file to read: from 10 lines above a line on, or the first 200 lines. */
const around = (line: number | undefined): { from: number; lines: number } =>
	line === undefined ? { from: 1, lines: 200 } : { from: Math.max(1, line - 10), lines: readHeight };

const search = (query: string, more: object = {}): Lookup => ({ name: "search", args: { query, ...more } });

/** What to read after a search: the best file, and the second one when its score is above 60 % of the best. */
function readings(inquiry: Inquiry, evidence: Evidence): readonly Lookup[] {
	const named = evidence.searches.flatMap(({ paths }) => paths);
	const file = inquiry.file?.path.toLowerCase() ?? "";
	const asked = named.find((path) => `/${path.toLowerCase()}`.endsWith(`/${file}`));
	if (asked !== undefined && soughtIn(inquiry).length === 0)
		return [{ name: "read", args: { path: asked, ...around(inquiry.file?.line) } }];

	const ranked = rankFiles(evidence.searches, inquiry);
	const best = ranked[0];
	if (best === undefined && onlyKind(inquiry) !== undefined) return [];
	if (best === undefined)
		return named.slice(0, 1).map((path) => ({ name: "read", args: { path, from: 1, lines: readHeight } }));
	const built = builtOf(ranked.map(({ path }) => path));
	return ranked
		.filter(({ path }) => !built.has(path))
		.slice(0, 2)
		.filter(({ score }) => score > 0.6 * best.score)
		.map(({ path, hits }) => ({
			name: "read",
			args: { path, from: windowAround(hits, inquiry, readHeight), lines: readHeight },
		}));
}

const aboutWork =
	/(?:^|\/)(?:contributing|change|history|news|license|licence|copying|code_of_conduct|security|authors|todo)[^/]*$/i;

/** What to read for an overview: the file that introduces the directory, or else the first 12 lines of up to four texts at its top. */
function introductions({ listing }: Evidence): readonly Lookup[] {
	const files = (listing?.entries ?? [])
		.map(({ path }) => path)
		.filter((path) => !path.endsWith("/") && !path.startsWith("."));
	const within = (pattern: RegExp, deepest: number) =>
		files
			.filter(
				(path) =>
					pattern.test(path.split("/").at(-1) ?? "") && !aboutWork.test(path) && path.split("/").length <= deepest,
			)
			.sort((a, b) => a.split("/").length - b.split("/").length);
	const introducing = [
		...within(/^readme(\.|$)/i, 1),
		...within(/^(overview|architecture|about|introduction|index|spec|start|intro)[^.]*\.(md|rst|txt|adoc|org)$/i, 1),
		...within(/^readme(\.|$)/i, 2),
	][0];
	if (introducing !== undefined) return [{ name: "read", args: { path: introducing, from: 1, lines: readHeight } }];
	const texts = within(/\.(md|rst|adoc|org|txt)$/i, 1);
	const manifests = within(/^(package\.json|pyproject\.toml|cargo\.toml|go\.mod|setup\.py|makefile|pom\.xml)$/i, 1);
	const deeper = [...within(/\.(md|rst|adoc|org|txt)$/i, 2), ...within(/^readme(\.|$)/i, 9)];
	const shown = texts.length > 0 ? texts : manifests.length > 0 ? manifests.slice(0, 1) : deeper.slice(0, 1);
	return shown.slice(0, 4).map((path) => ({ name: "read", args: { path, from: 1, lines: 12 } }));
}
