/** Takes the terms out of a question: what to look for, and how much each find says. */

/** Something to look for. */
export interface Term {
	/** As the question has it. */
	readonly text: string;
	/** What lines are searched for: in lower case, cut to the stem where that is safe, so that "recovery" also finds "recovers". */
	readonly needle: string;
	readonly kind: "phrase" | "name" | "path" | "word";
	/** How much a find says: 1.5 for a phrase, a name or a path, 1 for a word, {@link weakWeight} for a weak word. */
	readonly weight: number;
}

export interface Terms {
	readonly strong: readonly Term[];
	/** Words that say little in most places ("code", "work"): used only when there is nothing better. */
	readonly weak: readonly Term[];
}

/** A question has few subjects: more terms than these say nothing more. */
const maxTerms = 8;
/** The weight of a weak word, and the mark by which one is recognised. */
export const weakWeight = 0.4;

const stopWords = new Set(
	`a about above actually after again against all almost also although always am among an and another any anybody anyone anything anyway
	anywhere are around as ask at away back be became because become been before behind being below besides best better between both briefly but by
	came can cannot could couldn't did didn't do does doesn't doing don't done down during each either else enough etc even ever every everything
	exactly except few finally first for from further get gets getting give gives go goes going gone got had has have haven't having he hello help
	hence her here hers hey hi him his how however i i'd i'll i'm i've if in indeed instead into is isn't it it's its itself just keep kind know
	last later least less let let's like likely long made make makes making many may maybe me mean means might mine more most mostly much must my
	need needs never next no nobody none nor not nothing now of off often ok okay on once one ones only onto or other others our out over own
	perhaps please possible quite rather really right same say says see seem seen shall she should show shown since so some somebody someone
	something sometimes somewhere soon still such sure take taken takes tell than thank thanks that that's the their theirs them themselves then
	there there's these they they're thing things think this those though through thus to together too toward towards try two under until up upon
	us various very via want wants was way ways we we're well were what what's whatever when whenever where where's whether which while who whole
	whom whose why will wish with within without won't would yes yet you your yours yourself versus vs differ differs different difference
	differences compare compared compares comparing comparison contrast relate relates related relation relationship interact interacts explain
	explains explained explanation describe describes description summarise summarize summary overview outline detail details detailed depth
	thorough thoroughly find finds found search look looking list walk exist exists happen happens happened happening work works working worked
	question answer references citations cite quote quotes line evidence concrete step-by-step sum said contain contains sum said
	wo wie was wer wann warum ist sind der das den dem des ein eine einen einem und oder nicht mit für von zu im am es où est le la les une qui que
	quoi comment pourquoi dans avec dónde está el los las una qué cómo cuándo por para con`
		.split(/\s+/)
		.filter((word) => word !== ""),
);

const weakWords = new Set(
	`code codebase file files function functions method methods class classes module modules package packages project projects repo repository
	folder folders directory directories implement implements implemented implementation implementations implementing use used uses using usage usages handle handles
	handled handling example examples part parts piece pieces place places system program software application library define defines
	defined definition definitions declared document documents documented documentation docs doc test tests tested testing covered covers cover coverage reference
	lines architecture design structure purpose main important call called calls calling name named names source sources
	concern concerns support supports supported feature features role point content contents investigate analyse analyze review report mention mentions mentioned
	good bad new old big small read write`
		.split(/\s+/)
		.filter((word) => word !== ""),
);

const isStopWord = (word: string): boolean => stopWords.has(word.toLowerCase().replaceAll("’", "'"));
const isWeakWord = (word: string): boolean => weakWords.has(word.toLowerCase());

/** Quoted phrases, names from code and paths whole; words without the small ones. In the order of the text, no repeats. */
export function extractTerms(text: string): Terms {
	const strong = new Map<string, Term>();
	const weak = new Map<string, Term>();
	for (const term of tokens(text).flatMap((token) => qualified(termOf(token)))) {
		const to = term.weight === weakWeight ? weak : strong;
		if (!to.has(term.needle)) to.set(term.needle, term);
	}
	return { strong: [...strong.values()].slice(0, maxTerms), weak: [...weak.values()].slice(0, maxTerms) };
}

/** `shutil.copytree` is written whole where it is used, and its last part where it is defined. */
function qualified(term: Term | undefined): readonly Term[] {
	if (term === undefined) return [];
	const last =
		term.kind === "name"
			? /^[\p{L}_][\p{L}\p{N}_]*\.(?:[\p{L}\p{N}_]+\.)*([\p{L}_][\p{L}\p{N}_]{2,})(?:\(\))?$/u.exec(term.text)?.[1]
			: undefined;
	return last === undefined
		? [term]
		: [
				{ ...term, text: last, needle: last.toLowerCase() },
				{ ...term, weight: weakWeight / 2 },
			];
}

/** What is asked of a thing, and is none: without one there is nothing to look for. */
const asking =
	/^(?:defined|defines|declared|implemented|implements|used|uses|called|handled|mentioned|tested|covered)$/i;

/** What to look for: the strong terms, or else whatever there is. */
export const termsOf = (text: string): readonly Term[] => {
	const { strong, weak } = extractTerms(text);
	return strong.length > 0 ? strong : weak.filter((term) => !asking.test(term.text));
};

/** The terms as the `search` tool takes them. */
export const queryOf = (terms: readonly Term[]): string =>
	terms.map(({ needle }) => (needle.includes(" ") ? `"${needle}"` : needle)).join(" ");

/** The same terms taken apart (`createFileTools` → create, file, tools), for a second try; empty when that changes nothing. */
export function loosened(terms: readonly Term[]): readonly Term[] {
	const apart = terms.flatMap(({ text }) =>
		text.split(/[^\p{L}\p{N}]+|(?<=\p{Ll})(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u).filter((word) => word.length > 2),
	);
	const words = apart
		.filter((word) => !isStopWord(word))
		.map(
			(word): Term => ({ text: word.toLowerCase(), needle: shortStem(word.toLowerCase()), kind: "word", weight: 1 }),
		);
	const before = new Set(terms.map(({ needle }) => needle));
	return words.every(({ needle }) => before.has(needle)) ? [] : distinct(words).slice(0, maxTerms);
}

/** Each needle once. */
export const distinct = (terms: readonly Term[]): readonly Term[] =>
	terms.filter(({ needle }, index) => terms.findIndex((term) => term.needle === needle) === index);

export interface Token {
	readonly text: string;
	readonly quoted: boolean;
	readonly from: number;
}

const quotes =
	/"([^"\n]{1,80})"|“([^”\n]{1,80})”|«([^»\n]{1,80})»|`([^`\n]{1,80})`|(?<![\p{L}\p{N}])'([^'\n]{2,80})'(?![\p{L}\p{N}])/gu;
const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;
const segmenter = new Intl.Segmenter("en", { granularity: "word" });

/** What says how it is asked, without what is quoted. */
export const unquoted = (text: string): string => text.replace(quotes, " ");

/** The words of a text, stripped of the punctuation around them; a quoted phrase is one token. */
export function tokens(text: string): readonly Token[] {
	const found: Token[] = [];
	let at = 0;
	for (const match of text.matchAll(quotes)) {
		found.push(...words(text.slice(at, match.index), at));
		const phrase = match.slice(1).find((group) => group !== undefined) ?? "";
		found.push({ text: phrase.trim(), quoted: true, from: match.index });
		at = match.index + match[0].length;
	}
	return [...found, ...words(text.slice(at), at)];
}

function words(text: string, offset: number): readonly Token[] {
	return [...text.matchAll(/\S+/g)].flatMap((match) => {
		const bare = match[0]
			.replace(/^[^\p{L}\p{N}_$@#/.-]+|^\.+(?![./\p{L}])|[^\p{L}\p{N}_$)+#/]+$/gu, "")
			.replace(/\(?\)+$|^-+$/, "");
		const from = offset + match.index + match[0].indexOf(bare);
		if (unspaced.test(bare)) {
			return [...segmenter.segment(bare)]
				.filter((part) => part.isWordLike && !/^\p{Script=Hiragana}{1,2}$/u.test(part.segment))
				.map((part) => ({ text: part.segment, quoted: false, from: from + part.index }));
		}
		// "and/or", "client/server": two words and no path
		const parts = isPath(bare) || bare.startsWith("@") ? [bare] : bare.split("/");
		return parts
			.filter((part) => part !== "")
			.map((part) => ({ text: part, quoted: false, from: from + bare.indexOf(part) }));
	});
}

// `json.loads` is no file, and `os.py` is one: only what files are called after is an ending.
const knownEndings =
	"[ach]|[cm]?[jt]sx?|[ch](?:c|pp|xx|h)|adoc|a[cm]|bash|bat|bz2|cabal|cfg|clj|cmake|conf|cs|css|csv|dart|def|diff|el|env|erl|exs?|fish|gemspec|gif|go|gradle|graphql|gz|hs|html?|in|ini|ipynb|java|jpe?g|json[5cl]?|kts?|less|lock|log|lua|m4|man|map|md|mdx|mk|mli?|nix|node|org|patch|pdf|php|p[lm]|png|pod|properties|proto|ps1|pyi?|rb|rs|rst|sass|scala|scss|sh|snap|sql|svelte|svg|swift|tar|template|tex|text|tf|toml|tsv|txt|vim|vue|wasm|xml|ya?ml|xz|zig|zip|zsh|[1-8]";
const fileName = new RegExp(`^[\\p{L}\\p{N}_@.-]*[\\p{L}\\p{N}_-]\\.(?:${knownEndings}|[A-Z]{1,4})(?::\\d+)?$`, "u");

/** A file name with an ending, or at least two slashes. */
export const isPath = (word: string): boolean =>
	/^[^\s"'`]+$/.test(word) &&
	!word.includes("://") &&
	(fileName.test(word.split("/").at(-1) ?? "") ? !/^(e\.g|i\.e)$/.test(word) : word.split("/").length > 2);

/** A path that begins with `/`, `~` or `../` lies outside the directory, where the tools cannot look. */
export const isOutside = (path: string): boolean => /^[/~]|\.\.\//.test(path);

const isName = (word: string): boolean =>
	/\p{Ll}\p{Lu}|\p{L}_|_\p{L}|::|\p{L}\.\p{L}|^[$@#-]+\p{L}|^\p{Lu}[\p{Lu}\p{N}]*\p{N}|^\p{Lu}{2,}\p{Ll}/u.test(word);

export function termOf({ text, quoted }: Token): Term | undefined {
	const bare = text.trim();
	if (bare === "" || !/[\p{L}\p{N}]/u.test(bare)) return undefined;
	if (quoted && bare.includes(" ")) return { text: bare, needle: bare.toLowerCase(), kind: "phrase", weight: 1.5 };
	if (isPath(bare)) return { text: bare, needle: bare.toLowerCase().replace(/:\d+$/, ""), kind: "path", weight: 1.5 };
	if (quoted || isName(bare))
		return { text: bare, needle: bare.toLowerCase().replace(/^[@#-]+(?=\p{L})/u, ""), kind: "name", weight: 1.5 };
	if (isStopWord(bare)) return undefined;
	const word = bare.replace(/['’]s$/u, "");
	// A lone letter or digit is in every line; so is most of two letters, unless somebody wrote it as an abbreviation.
	if (word.length < 2 && !unspaced.test(word)) return undefined;
	return {
		text: word,
		needle: inAnySpelling(stem(word.toLowerCase())),
		kind: "word",
		weight: isWeakWord(word) ? weakWeight : 1,
	};
}

/** The beginning that British, American and a few other spellings of a word share: "serialise" and "serialize", "Lizenz" and "licence". */
const inAnySpelling = (needle: string): string =>
	needle
		.replace(/^li[cz]en[cszt]\w*$/, "licen")
		.replace(/^(behavi|neighb|fav|flav|hon)ou?r.*$/, "$1o")
		.replace(/^(.{4,}[a-z])i[sz](?:e[rd]?|ing|ation)?$/, (whole, root: string) =>
			/^[a-z]+$/.test(whole) && whole.length > 7 ? `${root}i` : whole,
		);

const kept = new Set([
	"setting",
	"settings",
	"string",
	"strings",
	"during",
	"morning",
	"meeting",
	"building",
	"speed",
	"embed",
	"nested",
	"need",
	"seed",
	"feed",
	"exceed",
	"mapping",
]);

/**
 * The beginning that the forms of an English word share, as far as it still says what is meant: "policies" → polic,
 * "truncation" → trunc, "tested" → test. It is a needle, not a word.
 */
function stem(word: string): string {
	if (!/^[a-z]{4,}$/.test(word)) return word;
	const singular = dropPlural(word);
	if (singular.length < 5 || kept.has(singular)) return singular;
	const cut = (ending: string, least: number): string | undefined => {
		const rest = singular.slice(0, -ending.length);
		return singular.endsWith(ending) && rest.length >= least && /[aeiouy]/.test(rest) ? rest : undefined;
	};
	// "planned" → plan, but "called" → call
	const single = (rest: string | undefined) => rest?.replace(/(?<=^.{3,})([bdgkmnprt])\1$/, "$1");
	return (
		cut("ation", 5) ??
		(singular.endsWith("tion") ? cut("ion", 5) : undefined) ??
		cut("ment", 6) ??
		single(cut("ing", 4)) ??
		(singular.endsWith("eed") ? undefined : single(cut("ed", 4))) ??
		(/[^aeiou]y$/.test(singular) ? cut("y", 5) : undefined) ??
		cut("e", 5) ??
		singular
	);
}

const shortStem = (word: string): string => stem(word).replace(/(?<=^.{5,})(?:er|or|al|iv|abl|ly)$/, "");

function dropPlural(word: string): string {
	if (/(?:ss|us|is)$/.test(word) || !word.endsWith("s")) return word;
	if (word.endsWith("ies")) return word.length > 7 ? word.slice(0, -3) : `${word.slice(0, -3)}y`;
	if (/(?:sh|ch|x|z|ss)es$/.test(word)) return word.slice(0, -2);
	return word.slice(0, -1);
}
