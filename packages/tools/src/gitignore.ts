/** The patterns of one .gitignore, and the names they are about. Compared character by character: no pattern becomes a regular expression. */
import type { Effort } from "./effort.ts";
import { splitLines } from "./text-file.ts";

export const maxPatterns = 1_000;
const maxPatternLength = 500;

export interface IgnoreFile {
	/** The last one comes first: it decides. */
	readonly patterns: readonly Pattern[];
	/** Patterns that are not used: behind the first thousand, or too long. */
	readonly unused: number;
}

interface Pattern {
	readonly negated: boolean;
	readonly directoryOnly: boolean;
	/** One for each name of a path; without a slash the pattern is about the last name alone. */
	readonly path: readonly (Glob | "**")[] | undefined;
	readonly name: Glob | undefined;
}

/** A text to be equal to, or to end with (`*.log`), or what each character has to be. */
type Glob = string | { readonly end: string } | readonly Part[];
type Part = string | "any" | "star" | CharacterClass;

interface CharacterClass {
	readonly negated: boolean;
	readonly ranges: readonly (readonly [from: string, to: string])[];
}

export function parseIgnoreFile(text: string): IgnoreFile {
	const patterns: Pattern[] = [];
	let unused = 0;
	for (const line of splitLines(text)) {
		const written = withoutTrailingSpaces(line);
		if (written === "" || written.startsWith("#")) continue;
		if (patterns.length >= maxPatterns || written.length > maxPatternLength) unused++;
		else {
			const pattern = parsePattern(written);
			if (pattern !== undefined) patterns.push(pattern);
		}
	}
	return { patterns: patterns.reverse(), unused };
}

/** Whether the patterns say that a path is ignored, or that it is not; undefined when they say nothing. */
export async function verdict(
	{ patterns }: IgnoreFile,
	path: readonly string[],
	directory: boolean,
	effort: Effort,
): Promise<"ignored" | "kept" | undefined> {
	for (const pattern of patterns) {
		if (pattern.directoryOnly && !directory) continue;
		const work = { steps: 1 };
		const matches = pattern.path
			? pathMatches(pattern.path, path, work)
			: pattern.name !== undefined && nameMatches(pattern.name, path.at(-1) ?? "", work);
		if (effort.compared(work.steps)) await effort.turn();
		if (matches) return pattern.negated ? "kept" : "ignored";
		if (effort.over) return undefined;
	}
	return undefined;
}

function withoutTrailingSpaces(line: string): string {
	let end = line.length;
	while (end > 0 && line[end - 1] === " " && line[end - 2] !== "\\") end--;
	return line.slice(0, end);
}

function parsePattern(written: string): Pattern | undefined {
	const negated = written.startsWith("!");
	const signed = negated ? written.slice(1) : written;
	const directoryOnly = signed.endsWith("/");
	const body = directoryOnly ? signed.slice(0, -1) : signed;
	if (body === "") return undefined;
	if (!body.includes("/")) {
		const name = parseGlob(body);
		return name === undefined ? undefined : { negated, directoryOnly, path: undefined, name };
	}
	const path: (Glob | "**")[] = [];
	for (const part of (body.startsWith("/") ? body.slice(1) : body).split("/")) {
		if (part === "**") {
			if (path.at(-1) !== "**") path.push("**");
			continue;
		}
		const glob = parseGlob(part);
		if (glob === undefined) return undefined;
		path.push(glob);
	}
	// `a/**` is all that lies in a, but not a.
	if (path.at(-1) === "**") path.push({ end: "" });
	return { negated, directoryOnly, path, name: undefined };
}

/** Undefined for what can match nothing. */
function parseGlob(text: string): Glob | undefined {
	const parts: Part[] = [];
	for (let at = 0; at < text.length; at++) {
		const here = text[at] as string;
		if (here === "*") {
			if (parts.at(-1) !== "star") parts.push("star");
		} else if (here === "?") parts.push("any");
		else if (here === "[") {
			const parsed = parseClass(text, at + 1);
			if (parsed === undefined) return undefined;
			parts.push(parsed.class);
			at = parsed.end;
		} else if (here === "\\") {
			const escaped = text[++at];
			if (escaped === undefined) return undefined;
			parts.push(escaped);
		} else parts.push(here);
	}
	const plain = (some: readonly Part[]) => some.every((part) => typeof part === "string" && part.length === 1);
	if (plain(parts)) return parts.join("");
	return parts[0] === "star" && plain(parts.slice(1)) ? { end: parts.slice(1).join("") } : parts;
}

/** What stands between `[` and `]`; undefined when nothing closes it. */
function parseClass(text: string, start: number): { class: CharacterClass; end: number } | undefined {
	const negated = text[start] === "!" || text[start] === "^";
	const first = negated ? start + 1 : start;
	const ranges: [string, string][] = [];
	let at = first;
	const next = (): string | undefined => (text[at] === "\\" ? text[++at] : text[at]);
	for (; at < text.length; at++) {
		if (text[at] === "]" && at > first) return { class: { negated, ranges }, end: at };
		const from = next();
		if (from === undefined) return undefined;
		if (text[at + 1] === "-" && text[at + 2] !== "]" && text[at + 2] !== undefined) {
			at += 2;
			const to = next();
			if (to === undefined) return undefined;
			ranges.push([from, to]);
		} else ranges.push([from, from]);
	}
	return undefined;
}

interface Work {
	steps: number;
}

/** `**` stands for any number of names. Only the last one met is tried again, so the work is at most pattern × path. */
function pathMatches(pattern: readonly (Glob | "**")[], path: readonly string[], work: Work): boolean {
	let retryPattern = -1;
	let retryPath = 0;
	let p = 0;
	let at = 0;
	while (at < path.length) {
		const part = pattern[p];
		work.steps++;
		if (part === "**") {
			retryPattern = ++p;
			retryPath = at;
		} else if (part !== undefined && nameMatches(part, path[at] ?? "", work)) {
			p++;
			at++;
		} else if (retryPattern >= 0) {
			p = retryPattern;
			at = ++retryPath;
		} else return false;
	}
	return p === pattern.length;
}

/** `*` stands for any number of characters; as above. */
function nameMatches(glob: Glob, name: string, work: Work): boolean {
	if (typeof glob === "string") return glob === name;
	if ("end" in glob) return name.endsWith(glob.end);
	let retryPart = -1;
	let retryName = 0;
	let p = 0;
	let at = 0;
	while (at < name.length) {
		const part = glob[p];
		work.steps += typeof part === "object" ? part.ranges.length : 1;
		if (part === "star") {
			retryPart = ++p;
			retryName = at;
			if (p === glob.length) return true;
		} else if (part !== undefined && characterMatches(part, name[at] as string)) {
			p++;
			at++;
		} else if (retryPart >= 0) {
			p = retryPart;
			at = ++retryName;
		} else return false;
	}
	while (glob[p] === "star") p++;
	return p === glob.length;
}

function characterMatches(part: Part, character: string): boolean {
	if (part === "any") return true;
	if (typeof part === "string") return part === character;
	return part.ranges.some(([from, to]) => from <= character && character <= to) !== part.negated;
}
