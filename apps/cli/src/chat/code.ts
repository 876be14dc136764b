/** The colours of code, a line at a time: which languages are known, and what of a block the next line hangs on. */
import type { Look } from "./text.ts";

/** A piece of a line, and what it is: `string`, `comment`, … */
export interface Run {
	readonly text: string;
	readonly scope: string | undefined;
}

/** What its last line is made of. `isOpen`: what comes next is a part of something that has begun. */
export type Highlight = (language: string, text: string) => { readonly runs: readonly Run[]; readonly isOpen: boolean };

export interface Code {
	readonly language: string | undefined;
	/** The lines before that the next one is a part of: of a comment, of a text. */
	readonly before: string;
}

/** What can be read at once; a line that is longer was not written by hand. Each line is read again with what it is a part of. */
const [LONGEST_BEFORE, LONGEST_LINE] = [4000, 1000];

const names: Readonly<Record<string, string>> = {
	bash: "bash sh shell zsh",
	css: "css scss less",
	diff: "diff patch",
	go: "go golang",
	ini: "ini toml",
	java: "java",
	javascript: "javascript js jsx mjs cjs",
	json: "json jsonc json5 jsonl",
	markdown: "markdown md",
	python: "python py python3",
	rust: "rust rs",
	sql: "sql postgres sqlite",
	typescript: "typescript ts tsx mts cts",
	xml: "html xml svg vue",
	yaml: "yaml yml",
};

const languages = new Map(
	Object.entries(names).flatMap(([language, all]) => all.split(" ").map((name) => [name, language] as const)),
);

/** Of what stands behind a fence. */
export const codeOf = (info: string): Code => ({
	language: languages.get(/^[\w+-]*/.exec(info.trim())?.[0].toLowerCase() ?? ""),
	before: "",
});

/** A piece of text in which a block may begin that has colours. */
export const hasFence = (text: string): boolean =>
	[...text.matchAll(/^\s*(?:```+|~~~+)(.*)$/gm)].some(([, info = ""]) => isLate(codeOf(info)));

/** Is something to be loaded before it has colours? */
const isLate = ({ language }: Code): boolean => language !== undefined && language !== "diff";

/** One line more. Without `highlight` it is as it is. */
export function codeRow(
	code: Code,
	line: string,
	{ look, highlight }: { readonly look: Look; readonly highlight?: Highlight | undefined },
): { readonly row: string; readonly next: Code } {
	if (code.language === "diff") return { row: changeRow(line, look), next: code };
	if (code.language === undefined || !highlight) return { row: line, next: code };
	if (line.length > LONGEST_LINE) return { row: line, next: { ...code, before: "" } };
	const { runs, isOpen } = highlight(code.language, code.before + line);
	// Whatever is made of it, it is the same text.
	if (runs.map(({ text }) => text).join("") !== line) return { row: line, next: { ...code, before: "" } };
	const row = runs.map(({ text, scope }) => colourOf(scope, look)(text)).join("");
	const before = isOpen ? `${code.before}${line}\n` : "";
	// Of what is as long as that the colours begin anew: they may be wrong, and the text never is.
	return { row, next: { ...code, before: before.length > LONGEST_BEFORE ? "" : before } };
}

/** A line of a diff. */
function changeRow(line: string, look: Look): string {
	if (/^(?:\+\+\+|---|diff |index )/.test(line)) return look.bold(line);
	if (line.startsWith("@@")) return look.cyan(line);
	if (line.startsWith("+")) return look.green(line);
	return line.startsWith("-") ? look.red(line) : line;
}

function colourOf(scope: string | undefined, look: Look): (text: string) => string {
	switch (scope) {
		case "keyword":
		case "tag":
		case "name":
		case "selector-tag":
			return look.magenta;
		case "string":
		case "regexp":
		case "code":
		case "addition":
			return look.green;
		case "number":
		case "literal":
		case "symbol":
			return look.yellow;
		case "comment":
		case "quote":
		case "meta":
			return look.dim;
		case "built_in":
		case "type":
		case "class":
		case "attr":
		case "attribute":
		case "property":
		case "selector-class":
		case "selector-id":
			return look.cyan;
		case "title":
		case "section":
		case "strong":
			return look.bold;
		case "emphasis":
			return look.italic;
		case "deletion":
			return look.red;
		default:
			return (text) => text;
	}
}
