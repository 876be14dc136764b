/** What a line or a file is for, judged from its looks alone: enough to put definitions before mentions, in any language. */

export type PathKind = "source" | "test" | "docs" | "config" | "generated";

const extension = (path: string): string => /\.([a-z0-9_]+)$/i.exec(path)?.[1]?.toLowerCase() ?? "";

const docsExtensions = new Set([
	"md",
	"mdx",
	"rst",
	"txt",
	"adoc",
	"asciidoc",
	"org",
	"tex",
	"pod",
	"html",
	"htm",
	"textile",
]);
const configExtensions = new Set([
	"json",
	"yaml",
	"yml",
	"toml",
	"ini",
	"cfg",
	"conf",
	"xml",
	"properties",
	"plist",
	"csv",
	"svg",
]);
const generatedNames =
	/(^|\/)(package-lock\.json|npm-shrinkwrap\.json|composer\.lock|go\.sum|changelog[^/]*|[^/]*-lock\.ya?ml|[^/]*\.lock|tags|cscope\.out)$/i;
const generatedParts =
	/(\.min\.(js|css)|\.map|\.snap|\.pb\.go|_pb2\.py|\.po|\.pot)$|(^|\/)(dist|build|deps|vendor|third[_-]party|__snapshots__|generated|licen[cs]es?)\//i;

export function pathKind(path: string): PathKind {
	if (generatedNames.test(path) || generatedParts.test(path)) return "generated";
	// `Test/More.pm` is a library for tests, as the names of Perl have it.
	if (
		/(^|\/)(tests?|Tests|specs?|__tests__|testing|t)\//.test(path) ||
		/([._-](test|spec)s?\.[a-z0-9]+|_test\.[a-z]+|(^|\/)test_[^/]*)$/i.test(path)
	) {
		return "test";
	}
	const ext = extension(path);
	if (docsExtensions.has(ext) || /(^|\/)(readme|contributing|architecture|authors|notes|todo)$/i.test(path))
		return "docs";
	return configExtensions.has(ext) ? "config" : "source";
}

const modifiers =
	"(?:(?:export|default|declare|public|private|protected|internal|static|final|abstract|async|const|inline|pub(?:\\([a-z]+\\))?|unsafe|extern|virtual|override|sealed|readonly|my|our|local) +)*";
const keywords =
	"function\\*?|class|interface|type|enum|record|struct|trait|impl|protocol|namespace|module|package|object|macro|def|defp|defmodule|fn|func|fun|sub|proc|let(?: mut)?|const|var|val|my|our|local|typedef|union|#define|message|service|resource";
// What follows the name keeps prose out that happens to start with a keyword ("class of problems that …").
const afterName =
	'(?: *(?:$|[({<:=;\\[&|,*!]|"|extends\\b|implements\\b|struct\\b|interface\\b|func\\b|for\\b|is\\b|from\\b)|(?<=#define.*))';
const declaration = new RegExp(
	`^ *${modifiers}(?:${keywords}) +(?:\\([^()]*\\) *)?[*&$@%"]*([\\p{L}\\p{N}_$][\\p{L}\\p{N}_$.:-]*)${afterName}`,
	"u",
);
// Its parameters go on in the next line.
const openCall =
	/^ *(?:(?:export|default|pub|public|private|static|async) +)*(?:def|function|fn|func|fun|sub|proc) +[^()]+\([^()]*/u;

/** Names something that is defined elsewhere: `class Statement;` of C++, `sub pour(@);` of Perl. */
const isForward = (text: string, path: string): boolean =>
	inC.test(path)
		? /^ *(?:class|struct|union|enum) +[\w:]+;/.test(text)
		: /\.p[lm]$/i.test(path) && /^ *sub +[\w:]+ *(?:\([^)]*\))?;/.test(text);

const local = /^ +(?:const|let|var|val|my|our|local) /;
const heading = /^(?:#{1,6} +|={1,6} +|=head[1-4] +|\.S[HS] +|\\(?:sub)*section\*?\{)(.*)$/;
// "4. Undo branches", "SYNOPSIS"
const plainTitle =
	/^(?:\d+(?:\.\d+)*\.? +\p{Lu}(?:[^.:;\s]| (?! )){2,60}|\p{Lu}[\p{Lu}\p{N}]{2}(?:[\p{Lu}\p{N},-]| (?! )){0,50})(?= *$| {2,}[*|])/u;
const bullet = /^ *(?:[-*•] +)?(?:\*\*|__|`)([^*_`]{2,60})(?:\*\*|__|`)/;
const key = /^ *["']?([\p{L}_$@][\p{L}\p{N}_$.-]{1,60})["']? *(?::=|=(?![=>])|:(?!:))/u;
const testCase = /^ *(?:test|it|describe|specify|context|scenario|suite)(?:\.\w+)*\( *["'`](.+?)["'`] *(?:,|\)|$)/;
const member =
	/^\t? {0,8}(?:(?:public|private|protected|static|async|readonly|get|set|abstract|virtual) +)*#?([\p{L}_$][\p{L}\p{N}_$]*)\((?!["'`])[^;]*\)[^;]*\{$/u;
const cFunction = /^[A-Za-z_][\w ]* [*&]*([A-Za-z_][\w:~]*)\([^;=]*(?:[,)]|\) *\{)$/;
// Of C alone: elsewhere `await pour(` looks the same.
const openFunction = /^(?!return\b|else\b)[A-Za-z_][\w *&]*[ *&]([A-Za-z_][\w:~]*)\((?:[^;=]*,)?$/;
const prototype = /^(?!return\b|else\b)[A-Za-z_][\w *&]*[ *&]([A-Za-z_]\w*)\([^;=]*\);$/;
const inC = /\.(?:c|cc|cpp|cxx|h|hh|hpp|hxx)$/i;
const inHeader = /\.(?:h|hh|hpp|hxx)$/i;

export interface Definition {
	readonly name: string;
	/** A heading names what the text under it is about; a declaration names code; a key, a setting or a local variable. */
	readonly kind: "declaration" | "heading" | "key";
}

/** What a line defines, when it looks as if it did. */
export function definitionIn(line: string, path: string): Definition | undefined {
	// Nobody declares anything at the end of a very long line; minified code only costs time.
	const text = line.slice(0, 300).replaceAll("\t", "  ").trimEnd();
	const docs = pathKind(path) === "docs";
	const title = heading.exec(text)?.[1];
	// In code a `#` line is a comment.
	if (title !== undefined && (docs || !text.startsWith("#"))) return { name: title, kind: "heading" };
	const declared =
		docs || isForward(text, path) || (text.endsWith(",") && !openCall.test(text))
			? undefined
			: declaration.exec(text)?.[1];
	if (declared !== undefined)
		return { name: declared.replace(/[:.-]+$/, ""), kind: local.test(text) ? "key" : "declaration" };
	const strong = docs ? bullet.exec(text)?.[1] : undefined;
	if (strong !== undefined) return { name: strong, kind: "heading" };
	if (docs) {
		const plain = plainTitle.exec(text)?.[0];
		return plain === undefined ? undefined : { name: plain, kind: "heading" };
	}
	const tested = testCase.exec(text)?.[1];
	if (tested !== undefined) return { name: tested, kind: "declaration" };
	const called =
		member.exec(text)?.[1] ??
		cFunction.exec(text)?.[1] ??
		(inC.test(path) ? openFunction.exec(text)?.[1] : undefined) ??
		(inHeader.test(path) ? prototype.exec(text)?.[1] : undefined);
	if (
		called !== undefined &&
		!/^(if|for|while|switch|catch|return|else|do|with|foreach|elif|unless|until)$/.test(called)
	) {
		return { name: called, kind: "declaration" };
	}
	const named = key.exec(text)?.[1];
	return named === undefined || /^(default|case|return|https?|else)$/.test(named)
		? undefined
		: { name: named, kind: "key" };
}

const explanation =
	/^[\p{L}\p{N}]*[*_`)"]*\s+(?:(?:is|are) (?:an?|the|any|one|used|what|where|how|like|made|called|kept|stored|just|simply)\b|means?\b|stands for\b|refers? to\b|consists? of\b|holds?\b|contains?\b)/u;

/** Prose that says what a term is: "A buffer is the text of a file." */
export function explains(line: string, term: string): boolean {
	const lowered = line.toLowerCase();
	const at = lowered.indexOf(term);
	// The start of a sentence: with an article, or with the term itself in capitals.
	// As the first line of a manual has it: "ls - list directory contents".
	if (
		at >= 0 &&
		/^[\s*_`>#/-]*$/.test(line.slice(0, at)) &&
		/^(?:\(\d\w*\)|[*_`])* +(?:-{1,2}|\\-|–|—) +\p{L}{2}/u.test(line.slice(at + term.length))
	)
		return true;
	if (at < 0 || at > 40 || !/^[\s*_`>#/-]*(?:(?:An?|The|Each|Every) [*_`"]*)?$/u.test(line.slice(0, at))) return false;
	if (!/\p{Lu}/u.test(line.slice(0, at + 1))) return false;
	return explanation.test(lowered.slice(at + term.length));
}

/** Lines that only bring names in from elsewhere. */
export const isImport = (line: string): boolean =>
	/^\s*(import\b|export\s+(\*|\{|type\s*\{)|from\s+\S+\s+import\b|#\s*include\b|use\s+[\w:]+|using\s+[\w.]+;|require\b|\}\s*from\b|(const|let|var)\s.*=\s*require\()/.test(
		line.slice(0, 300),
	);

/** Lines that are a comment, whatever the language. */
export const isComment = (line: string): boolean =>
	/^\s*(\/\/|\/\*|\*|#(?!\s*(include|define|if|endif))|--|;;|"""|'''|<!--|%)/.test(line);
