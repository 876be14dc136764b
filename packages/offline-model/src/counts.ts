/** Counts: files, folders, the lines of a file, and the lines that mention something. */
import { showCount } from "@reyn/tools/text";
import type { Errand, Recogniser } from "./errand.ts";
import { gather, isError, type Listing, parseSearch } from "./evidence.ts";
import { finding } from "./file-named.ts";
import { isPath, queryOf, termsOf, tokens } from "./terms.ts";

const asks = "(?:how many|(?:the )?number of|count(?: all)?(?: the)?)";
const ofFiles = new RegExp(`\\b${asks} (?:(?!lines?\\b)(\\.?[\\w+#-]+) )?(?:source )?files?\\b`, "i");
const ofFolders = new RegExp(`\\b${asks} (?:sub-?)?(?:folders|director(?:y|ies))\\b`, "i");
const ofLines = new RegExp(`\\b${asks} lines\\b|\\bhow long is\\b`, "i");
const ofMentions =
	/\b(?:how many (?:lines|files|places|times)|how often)\b.*?\b(?:mentions?|mentioned|contains?|contained|holds?|hold|uses?|used|say|says|called?|occurs?|appears?|has|have)\b/i;
// What no listing and no search counts.
const uncountable =
	/\bhow many (?:\w+ )?(functions?|methods?|classes|words|characters?|letters|commits?|bugs|errors|contributors?|people|users|stars)\b (?:are|is|does|do|has|have|in|there|exist)/i;

/** "How many files are there?" */
export const counting: Recogniser = (question) => {
	const file = tokens(question)
		.map(({ text }) => text)
		.findLast((text) => isPath(text));
	const folders = ofFolders.test(question);
	if (folders || ofFiles.test(question)) {
		if (ofMentions.test(question) && termsOf(about(question)).length > 0 && folderIn(question) === undefined)
			return mentions(question);
		const kind = ofFiles.exec(question)?.[1];
		const wanted = kind === undefined || general.test(kind) ? undefined : endingsOf(kind);
		return wanted === null && folderIn(question) === undefined
			? undefined
			: folders
				? countFolders(folderIn(question))
				: countFiles(folderIn(question), wanted ?? undefined);
	}
	if (ofLines.test(question) && file !== undefined) return countLines(file);
	if (ofMentions.test(question) && termsOf(about(question)).length > 0) return mentions(question);
	const what = uncountable.exec(question)?.[1];
	return what === undefined
		? undefined
		: () => ({ text: `I cannot count ${what}: I count files, folders, lines and the lines that mention something.` });
};

const general = /^(?:other|different|all|total|the|many|these|those|more)$/i;

const byLanguage: readonly (readonly [RegExp, readonly string[]])[] = [
	[/^python$/, ["py"]],
	[/^(?:java-?script|js)$/, ["js"]],
	[/^(?:type-?script|ts)$/, ["ts"]],
	[/^markdown$/, ["md"]],
	[/^perl$/, ["pl", "pm"]],
	[/^(?:c\+\+|cpp)$/, ["cpp", "cc", "cxx"]],
	[/^headers?$/, ["h", "hpp"]],
	[/^rust$/, ["rs"]],
	[/^ruby$/, ["rb"]],
	[/^shell$/, ["sh"]],
	[/^text$/, ["txt"]],
	[/^(?:c|go|java|php|html|css|json|yaml|yml|toml|xml|sql|lua|swift|py|pm|pl|h|md|mjs|cjs|txt|gz)$/, []],
];

/** The endings that a kind of files has; null for words that name none. */
function endingsOf(kind: string): readonly string[] | null {
	const word = kind.toLowerCase();
	if (word.startsWith(".")) return [word.slice(1)];
	const found = byLanguage.find(([pattern]) => pattern.test(word))?.[1];
	return found === undefined ? null : found.length === 0 ? [word] : found;
}

/** "in src", "under lib/": a folder that a question names. */
function folderIn(question: string): string | undefined {
	const named =
		/\b(?:in|under|below|inside|within|of)\s+(?:the\s+)?(?:folder\s+|directory\s+)?[`"“']?([\w@.-][\w@./-]*)/i.exec(
			question,
		)?.[1];
	if (
		named === undefined ||
		/^(?:here|this|total|all|it|there|them|the|project|repo(?:sitory)?|directory|folder|package|code(?:base)?)[.]?$/i.test(
			named,
		)
	)
		return undefined;
	return named.replace(/[./]+$/, "") || undefined;
}

/** `list` answers with the count before it shows anything. */
const listed =
	(path: string | undefined, write: (listing: Listing, where: string) => string): Errand =>
	(turn, tools) => {
		if (!tools.has("list")) return { passed: 0 };
		if (turn.rounds === 0) {
			return { calls: [{ name: "list", args: path === undefined ? {} : { path } }] };
		}
		const result = turn.lookups[0]?.result;
		if (result === undefined || isError(result))
			return { text: `I could not count that: ${result?.replace(/^ERROR:?\s*/, "").split("\n")[0] ?? "no answer"}` };
		const { listing } = gather(turn);
		return listing === undefined
			? { passed: turn.rounds }
			: { text: write(listing, path === undefined ? "" : ` in ${path}`) };
	};

const leftOut = "Not counted: .git, node_modules, links, and what a .gitignore names.";

const countFiles = (path: string | undefined, endings: readonly string[] | undefined): Errand =>
	listed(path, (listing, where) => {
		const { files, kinds, whole } = listing;
		if (endings === undefined) {
			const named = kinds.reduce((sum, [, count]) => sum + count, 0);
			const parts = [
				...kinds.map(([ending, count]) => `${showCount(count)} .${ending}`),
				...(named < files ? [`${showCount(files - named)} other`] : []),
			];
			const all = `${whole ? "" : "at least "}${showCount(files, "file")}`;
			return `${thereAre(files, all)}${where}${kinds.length === 0 ? "" : `: ${parts.join(", ")}`}. ${leftOut}`;
		}
		// The title names the five commonest endings; of the others it only follows that they are not commoner.
		const counts = endings.map(
			(ending) => kinds.find(([each]) => each === ending)?.[1] ?? (kinds.length < 5 ? 0 : countIn(listing, ending)),
		);
		const least = kinds.at(-1)?.[1] ?? 0;
		const noun = endings.map((ending) => `.${ending}`).join(" or ");
		if (counts.includes(undefined) && counts.every((count) => count === undefined))
			return `There are at most ${showCount(endings.length * least, `${noun} file`)}${where}: the commonest endings are ${kinds.map(([ending]) => `.${ending}`).join(", ")}.`;
		const sum = counts.reduce<number>((total, count) => total + (count ?? 0), 0);
		const atLeast = whole && !counts.includes(undefined) ? "" : "at least ";
		if (sum === 0)
			return whole
				? `There is no ${noun} file${where}. ${leftOut}`
				: `I saw no ${noun} file${where}, but the look was cut off.`;
		return `${thereAre(sum, `${atLeast}${showCount(sum, `${noun} file`)}`)}${where}. ${leftOut}`;
	});

/** By the entries, when the listing shows each file. */
function countIn({ entries, files, whole }: Listing, ending: string): number | undefined {
	const shown = entries.filter(({ path }) => !path.endsWith("/"));
	return whole && shown.length === files ? shown.filter(({ path }) => path.endsWith(`.${ending}`)).length : undefined;
}

const countFolders = (path: string | undefined): Errand =>
	listed(path, ({ entries, whole, shownAll }, where) => {
		const below = path === undefined ? 0 : path.split("/").length;
		const names = [
			...new Set(
				entries.flatMap(({ path: each }) => (each.split("/").length > below + 1 ? [`${each.split("/")[below]}/`] : [])),
			),
		];
		const atLeast = whole && shownAll ? "" : "at least ";
		const at = where === "" ? " at the top" : where;
		if (names.length === 0)
			return atLeast === "" ? `There is no folder with files${at}.` : `I saw no folder${at}, but the look was cut off.`;
		const some = names.slice(0, 12).join(", ");
		return `${thereAre(names.length, `${atLeast}${showCount(names.length, "folder")}`)}${at}: ${some}${names.length > 12 ? ", …" : ""}.`;
	});

const thereAre = (count: number, what: string): string => `There ${count === 1 ? "is" : "are"} ${what}`;

const countLines =
	(path: string): Errand =>
	(turn, tools) => {
		const found = finding(path, turn, tools, (at) => ({ calls: [{ name: "read", args: { path: at, lines: 1 } }] }));
		if (!("path" in found)) return found;
		if (isError(found.result))
			return { text: `I could not read ${found.path}: ${found.result.replace(/^ERROR:?\s*/, "").split("\n")[0]}` };
		return { text: `${found.path} has ${showCount(found.total, "line")}.` };
	};

/** A question about mentions without its words of counting. */
const about = (question: string): string =>
	question.replace(
		/\b(?:how many|how often|lines?|files?|times|places|mentions?|mentioned|contains?|occurs?|appears?|says?|uses?|used|words?)\b/gi,
		" ",
	);

const mentions =
	(question: string): Errand =>
	(turn, tools) => {
		if (!tools.has("search")) return { passed: 0 };
		const terms = termsOf(about(question));
		// The words as they are: a stem would count what was not asked for.
		const asked = terms.map((term) => ({ ...term, needle: term.text.toLowerCase() }));
		if (turn.rounds === 0) return { calls: [{ name: "search", args: { query: queryOf(asked), maxResults: 5 } }] };
		const result = turn.lookups[0]?.result;
		if (result === undefined || isError(result)) return { passed: turn.rounds };
		const { extent, searched, whole, hits } = parseSearch(result);
		const label = asked.map(({ text }) => text).join(" or ");
		const atLeast = whole ? "" : "At least ";
		if (extent === undefined) {
			return {
				text: whole
					? `No line in the ${searched} mentions ${label}.`
					: `I found no line that mentions ${label}, but the search was cut off.`,
			};
		}
		const one = extent.startsWith("1 line");
		const files = / in 1$/.test(extent) ? "file" : "files";
		return {
			text: [
				`${atLeast}${extent} ${files} ${one ? "mentions" : "mention"} ${label} (${searched} searched). The first of them:`,
				...hits.map(({ path, line, text }) => `- ${path}:${line}: ${text.trim()}`),
			].join("\n"),
		};
	};
