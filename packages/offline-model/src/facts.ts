/** Answers what a project says of itself: its licence, author, version, needs, and what it is for. */
import { strengthOf } from "@reyn/tools/text";
import type { Errand, Passed, Recogniser } from "./errand.ts";
import { gather, type Hit, type Piece } from "./evidence.ts";
import { type Field, fieldsOf, isManifest } from "./manifest.ts";
import { firstProse } from "./prose.ts";
import { inWords } from "./quote.ts";
import type { Draft } from "./reply.ts";
import type { Turn } from "./situation.ts";
import { termsOf } from "./terms.ts";

type Fact = "author" | "dependencies" | "licence" | "needs" | "purpose" | "version";

const project =
	"(?:it|this|that|these|here|(?:the|this|that) (?:\\w+ )?(?:project|package|library|lib|program|module|code|codebase|software|repo|repository|directory|folder|crate|app|application|tool|thing))";

const recognised: readonly (readonly [Fact, RegExp])[] = [
	[
		"needs",
		/\b(?:which|what) (?:version of |minimum |minimal )*(?:node|python|rust|ruby|php|perl)(?:\.?js)?\b(?: version)?.*\b(?:need|require|support|run|work|expect)/i,
	],
	["needs", /\b(?:which|what) versions? of (?:node|python|rust|ruby|php|perl)\b/i],
	[
		"licence",
		/\b(?:what|which)(?:'s)? (?:(?:kind|sort|type) of |is |are |the |its |this |your |project |package |open source )*licen[cs]es?\b|^(?:and |the |its )*licen[cs]e\W*$|\bhow is \S+(?: \S+)? licen[cs]ed\b|\bunder (?:what|which) licen[cs]e\b|\b(?:tell|show) me (?:the|its) licen[cs]e\b|^(?:is|are) .{1,30}\b(?:open[- ]source|free software|(?:mit|apache|gpl|bsd|isc)[- ]licen[cs]ed|licen[cs]ed under)\b/i,
	],
	[
		"author",
		/\bwho(?:'s| is| are| was| has| have)?(?: the| this| project| package)*(?: original)? (?:wrote|written|writes|made|makes|created|authored|built|developed|develops|maintains?|authors?|maintainers?|creators?|copyright holders?|owns|owner|behind)\b|^(?:what|which|show me|list|tell me|and)?(?: is| are)?(?: the| its)? ?(?:authors?|maintainers?)\b|\bby whom\b/i,
	],
	[
		"version",
		/\b(?:what|which)(?:'s| is| are)? (?:(?:the|its|this|current|latest|package|project) )*versions?\b(?! (?:option|flag|number|method))|^(?:and |the |its )*version\W*$/i,
	],
	[
		"dependencies",
		/\b(?:what|which)(?: are)?(?: the| its)? (?:\w+ )?dependenc(?:y|ies)\b|\bwhat does \S+(?: \w+)? depend on\b|\bdoes (?:it|this) have (?:any )?dependenc/i,
	],
	[
		"purpose",
		new RegExp(
			`^\\W*(?:and )?(?:what(?:'s| is| does| do)? ${project}(?: project| package)?(?: actually| really)?(?: do| for| good for| used for)?|what is (?:the )?(?:purpose|point|goal) of ${project}|(?:tell me )?what ${project} (?:does|is)|describe ${project}(?: project| package)?|what can i do with ${project})\\W*$`,
			"i",
		),
	],
];

/** "What licence is this under, and who wrote it?" */
export const stating: Recogniser = (question, earlier) => {
	const asked = question
		.split(/(?<=[?!])\s+|,? and (?=who|what|which|how|under)|,\s+(?=who|what|which|how)/i)
		.map((part) => ({ part, fact: factIn(part) }));
	// "What is it?" after another question is about what was asked there.
	const leans =
		earlier.length > 0 &&
		asked.some(
			({ part, fact }) =>
				fact === "purpose" && /\b(?:it|that|these)\b/i.test(part) && !/project|package|code|repo|library/i.test(part),
		);
	const called = asked.length === 1 ? named.exec(question)?.[1] : undefined;
	if (called !== undefined && asked[0]?.fact === undefined) return state(["purpose"], called, question);
	const facts = asked.flatMap(({ fact }) => (fact === undefined ? [] : [fact]));
	if (leans || facts.length < asked.length) return undefined;
	const others = asked.flatMap(({ part }) => othersIn(part));
	return others.length > 1 ? undefined : state([...new Set(facts)], others[0], question);
};

// "What is commander?" A word with an article, or a name from code, is no project's.
const named =
	/^\W*[Ww]hat(?:'s| is| does) ((?!(?:it|this|that|an?|the)\b)[a-z][a-z\d]*(?:-[a-z\d]+)*(?:\.js)?|\p{Lu}[a-z\d]+)(?: do| for| about)?\W*$/u;

const factIn = (part: string): Fact | undefined => recognised.find(([, pattern]) => pattern.test(part))?.[0];

const spent =
	/^(?:licen[cs]e[ds]?|wrote|written|writes|write|made|makes?|created?|creators?|authors?|authored|built|develop(?:s|ed|ers?)|maintain(?:s|ed|ers?)?|owns?|owners?|holders?|copyright|behind|versions?|depends?|dependenc(?:y|ies)|node(?:\.?js)?|python|rust|ruby|php|perl|requires?|runs?|expects?|minim(?:um|al)|current|latest|original|goal|open(?:[- ]source)?|source|free|mit|apache|gpl|bsd|isc)$/i;
const generalWord =
	/^(?:projects?|packages?|librar(?:y|ies)|lib|program|modules?|code|codebase|software|repo|repository|director(?:y|ies)|folder|crate|app|application|tool|files?|thing|purpose|point|good|used?|uses|release|under|distributed|published|available|covered|apply|applies)$/i;

/** What a question has beside the fact that it asks for: the name of the project, or something else altogether. */
const othersIn = (part: string): readonly string[] =>
	termsOf(part)
		.filter(({ text }) => !spent.test(text) && !generalWord.test(text))
		.map(({ text }) => text);

const lawful = /^(?:licen[cs]e|copying|unlicense|copyright)(?:[.-]|$)/i;
const people = /^(?:authors|contributors|maintainers|credits)(?:\.\w+)?$/i;
const readme = /^readme(?:\.(?:md|rst|txt|adoc|org|pod|markdown))?$/i;
const versionFile = /^version(?:\.txt)?$/i;

const sources: Readonly<Record<Fact, (path: string) => boolean>> = {
	author: (path) => isManifest(path) || people.test(path) || lawful.test(path),
	dependencies: isManifest,
	licence: (path) => isManifest(path) || lawful.test(path),
	needs: isManifest,
	purpose: (path) => isManifest(path) || readme.test(path),
	version: (path) => isManifest(path) || versionFile.test(path),
};

/** List what is at the top, read what speaks of the project, state what it says. */
const state =
	(facts: readonly Fact[], name: string | undefined, question: string): Errand =>
	(turn, tools) => {
		if (!tools.has("list") || !tools.has("read")) return { passed: 0 };
		if (turn.rounds === 0) return { calls: [{ name: "list", args: { depth: 1 } }] };
		const first = turn.lookups.filter(({ round }) => round < 2);
		const { listing, pieces } = gather({ rounds: 2, lookups: first });
		const reads = filesFor(facts, listing?.entries.map(({ path }) => path) ?? []);
		if (reads.length === 0) return inSources(facts, name, turn, 1, tools);
		if (turn.rounds === 1)
			return { calls: reads.map((path) => ({ name: "read", args: { path, from: 1, lines: 300 } })) };
		const fields = pieces.flatMap((piece) => (isManifest(piece.path) ? fieldsOf(piece) : []));
		const said = facts.map((fact) => statements[fact](fields, pieces, question));
		// Half an answer says nothing of its other half, so all is searched for.
		const answered = said.every((lines) => lines.length > 0) && (name === undefined || isNameOf(name, fields, pieces));
		return answered ? { text: said.flat().join(" ") } : inSources(facts, name, turn, 2, tools);
	};

/** Where the files themselves say it: `__version__ = "2.0"`, `Author: Ada`. */
const remarks: Readonly<Partial<Record<Fact, { readonly query: string; readonly says: RegExp }>>> = {
	version: {
		query: "version $version __version__",
		says: /(?:\b__version__\b|\bversion\b|\$VERSION\b)['"]?\s*(?::|=(?!=))\s*(?:qv\()?["']?v?\d+[.\d]*/i,
	},
	author: {
		query: "author authors written copyright __author__",
		says: /\b(?:authors?|__author__|^[\s#*/]*(?:[\w:]+ ){0,4}written by|maintainers?)['"]?\s*(?::|=(?!=)|by)?\s*["'<]?\p{Lu}\p{L}+|copyright[\s:]*(?:\(c\)|©|\d{4})/iu,
	},
	licence: {
		query: "licen",
		says: /(?:\bunder\b.{1,40}\blicen[cs]e\b|licen[cs]e[ds]?\b\s*(?::|=(?!=)|under|to|as)\s*["']?[\p{L}\d])|spdx-licen/iu,
	},
};

/** One question is searched for in the sources; those of the thing that it names, if it names one. */
function inSources(
	facts: readonly Fact[],
	name: string | undefined,
	turn: Turn,
	before: number,
	tools: ReadonlySet<string>,
): Draft | Passed {
	const [fact, other] = facts;
	const remark = fact === undefined ? undefined : remarks[fact];
	if (remark === undefined || other !== undefined || !tools.has("search")) return { passed: before };
	const wanted = name?.toLowerCase().replaceAll(/::|\./g, "/") ?? "";
	if (turn.rounds === before)
		return { calls: [{ name: "search", args: { query: `${remark.query} ${wanted}`.trim(), maxResults: 150 } }] };
	const at = (round: number) => gather({ rounds: 1, lookups: turn.lookups.filter((lookup) => lookup.round === round) });
	const found = at(before)
		.searches.flatMap(({ hits }) => hits)
		.toSorted((a, b) => a.path.split("/").length - b.path.split("/").length);
	// What is called so says more than what speaks of it.
	const own = found.filter(({ path }) => `/${path.replace(/\.\w+$/, "")}/`.toLowerCase().includes(`/${wanted}/`));
	const fits =
		wanted === "" || own.length > 0
			? [...(wanted === "" ? found : own)]
			: found.filter(({ text }) => strengthOf(wanted, text.toLowerCase(), text) === 1);
	const saying = once(fits.filter(({ text }) => remark.says.test(text)));
	const shown = saying.slice(0, 5);
	if (shown.length > 0) {
		const head = name === undefined ? ["No file at the top says it; these lines do:"] : [];
		const more = saying.length > shown.length ? ["… and more such lines."] : [];
		return { text: [...head, ...shown.map((hit) => inWords(hit, [])), ...more].join("\n") };
	}
	// "=head1 AUTHOR", and the name below it.
	const title = fits.find(({ text }) => heading.test(text));
	if (title === undefined) return { passed: before + 1 };
	if (turn.rounds === before + 1)
		return { calls: [{ name: "read", args: { path: title.path, from: title.line + 1, lines: 8 } }] };
	const below = at(before + 1).pieces.flatMap(({ path, lines }) =>
		lines
			.filter(({ text }) => /^[^=].*\p{L}{2}/u.test(text))
			.slice(0, 2)
			.map(({ number, text }) => ({ path, line: number, text })),
	);
	return below.length === 0 ? { passed: before + 2 } : { text: below.map((hit) => inWords(hit, [])).join("\n") };
}

const heading = /^(?:=head\d|#+|\.SH)\s+["']?(?:authors?|licen[cs]e|copyright|version)\b/i;

function filesFor(facts: readonly Fact[], entries: readonly string[]): readonly string[] {
	const files = entries.filter((path) => !path.includes("/") && facts.some((fact) => sources[fact](path)));
	const rank = (path: string) => (isManifest(path) ? 0 : 1);
	return files.toSorted((a, b) => rank(a) - rank(b)).slice(0, 6);
}

/** The project is called so in its manifest, or in the first lines of its README. */
function isNameOf(name: string, fields: readonly Field[], pieces: readonly Piece[]): boolean {
	const bare = (text: string) =>
		text
			.toLowerCase()
			.replace(/[^\p{L}\p{N}]/gu, "")
			.replace(/(?<=.)js$/, "");
	const named = fields.flatMap(({ key, value }) => (key === "name" ? [value, value.split("/").at(-1) ?? ""] : []));
	const titles = pieces
		.filter(({ path }) => readme.test(path))
		.flatMap(({ lines }) => lines.slice(0, 3).map(({ text }) => text));
	return [...named, ...titles].some((each) => bare(each) === bare(name));
}

type Statement = (fields: readonly Field[], pieces: readonly Piece[], question: string) => readonly string[];

const statements: Readonly<Record<Fact, Statement>> = {
	licence: (fields, pieces) => {
		const said = fieldsNamed(fields, /^licen[cs]es?(?:\.(?:text|type|name))?$/);
		const texts = pieces.filter(({ path }) => lawful.test(path)).flatMap(licenceIn);
		return [...stated("The licence is", said), ...texts.slice(0, 5).map((hit) => inWords(hit, []))];
	},
	author: (fields, pieces) => {
		const said = fieldsNamed(fields, /^(?:authors?|maintainers?)(?:\.name)?$/);
		const more = said.length > 0 ? [] : fieldsNamed(fields, /^contributors?(?:\.name)?$/);
		const texts = pieces.flatMap((piece) =>
			lawful.test(piece.path)
				? hitsIn(piece, copyright).slice(0, 3)
				: people.test(piece.path)
					? hitsIn(piece, /\p{L}{2,}.*[\p{L}@>]$/u).slice(0, 3)
					: [],
		);
		return [
			...stated("The author is", said, "The authors are"),
			...stated("A contributor is", more, "Contributors are"),
			...texts.map((hit) => inWords(hit, [])),
		];
	},
	version: (fields, pieces) => {
		const said = fieldsNamed(fields, /^version$/);
		const texts = pieces
			.filter(({ path }) => versionFile.test(path))
			.flatMap((piece) => hitsIn(piece, /\d/).slice(0, 1));
		return [...stated("The version is", said), ...texts.map((hit) => inWords(hit, []))];
	},
	needs: (fields, _, question) => {
		const engine = /\b(node|python|rust|ruby|php|perl)/i.exec(question)?.[1]?.toLowerCase() ?? "node";
		const key = {
			node: /^engines\.node$/,
			python: /^(?:requires-python|python_requires|dependencies\.python)$/,
			rust: /^rust-version$/,
		}[engine];
		const said = key === undefined ? [] : fieldsNamed(fields, key);
		return stated(`It needs ${engine}`, said);
	},
	dependencies: (fields) => {
		const deep = fields.filter(({ key }) => /^(?:dependencies|require)\./.test(key));
		const plain = fields.filter(({ key }) => /^(?:dependencies|install_requires)$/.test(key));
		const named = [
			...deep.map((field) => ({ ...field, value: `${field.key.split(".").slice(1).join(".")} ${field.value}` })),
			...plain,
		];
		if (named.length > 0) {
			const shown = named.slice(0, 20).map(({ value, path, line }) => `${value} (${path}:${line})`);
			return [`It depends on ${shown.join(", ")}${named.length > 20 ? `, and ${named.length - 20} more` : ""}.`];
		}
		const manifest = fields.find(({ path }) => path === "package.json");
		return manifest === undefined ? [] : ["package.json names no dependencies."];
	},
	purpose: (fields, pieces) => {
		const prose = pieces.filter(({ path }) => readme.test(path)).flatMap((piece) => firstProse(piece) ?? []);
		const [field] = fieldsNamed(fields, /^(?:description|summary)$/);
		const told = prose.map(
			({ path, from, to, text }) => `“${cut(text)}” (${path}:${from === to ? from : `${from}-${to}`})`,
		);
		const own =
			field === undefined || prose.some(({ text }) => text.includes(field.value))
				? []
				: [`“${field.value}” (${field.path}:${field.line})`];
		// Prose below a further heading is about that.
		const [piece] = pieces.filter(({ path }) => readme.test(path));
		const headings = piece?.lines.filter(
			({ number, text }) => number < (prose[0]?.from ?? 0) && /^#{1,6} |<h[1-6]/i.test(text),
		);
		return (headings?.length ?? 0) > 1 ? [...own, ...told.slice(0, 1)] : [...told.slice(0, 1), ...own];
	},
};

const widest = 600;
const cut = (text: string): string =>
	text.length <= widest ? text : `${text.slice(0, text.lastIndexOf(" ", widest)).toWellFormed()}…`;

const copyright = /copyright[\s:*]*(?:\(c\)|©|\d{4}|:)|^[\s*#/]*(?:\(c\)|©)\s*\d{4}/iu;

const fieldsNamed = (fields: readonly Field[], key: RegExp): readonly Field[] =>
	fields.filter((field) => key.test(field.key) && field.value.trim() !== "");

/** `The version is 1.2 (package.json:3).` */
function stated(one: string, fields: readonly Field[], several = one): readonly string[] {
	const distinct = fields.filter(({ value }, index) => fields.findIndex((each) => each.value === value) === index);
	if (distinct.length === 0) return [];
	const named = distinct.slice(0, 6).map(({ value, path, line }) => `${value} (${path}:${line})`);
	return [`${distinct.length === 1 ? one : several} ${named.join(", ")}${distinct.length > 6 ? ", …" : ""}.`];
}

/** Debian's `License: GPL-2+` lines, each once; of another text its first words. */
function licenceIn(piece: Piece): readonly Hit[] {
	const listed = hitsIn(piece, /^\s*License:\s*\S/i);
	return listed.length > 0 ? once(listed) : titleOf(piece);
}

/** The first short line that names a licence, before the first line of all. */
function titleOf(piece: Piece): readonly Hit[] {
	const named = hitsIn(
		piece,
		/^\W*(?:the )?(?:[\p{Lu}\d][\p{L}\d.-]*\W+){0,6}(?:licen[cs]e|LICEN[CS]E)\b[^.;:]{0,30}$/u,
	);
	return [...named, ...hitsIn(piece, /\p{L}{2}/u)].slice(0, 1);
}

const once = (hits: readonly Hit[]): readonly Hit[] =>
	hits.filter(({ text }, index) => hits.findIndex((hit) => hit.text.trim() === text.trim()) === index);

const hitsIn = ({ path, lines }: Piece, pattern: RegExp): readonly Hit[] =>
	lines.filter(({ text }) => pattern.test(text)).map(({ number, text }) => ({ path, line: number, text }));
