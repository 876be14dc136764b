/** Reads the texts of `list`, `search` and `read` back into values: hits, pieces of files, a listing. */
import type { Lookup, Turn } from "./situation.ts";

/** What the tools have shown in this turn. */
export interface Evidence {
	readonly searches: readonly Found[];
	readonly pieces: readonly Piece[];
	readonly listing: Listing | undefined;
	/** Lookups that failed, in the tool's own words. */
	readonly errors: readonly string[];
}

/** One quoted line. */
export interface Hit {
	readonly path: string;
	readonly line: number;
	readonly text: string;
}

/** What one search said. */
export interface Found {
	readonly hits: readonly Hit[];
	/** `127 files`, when the tool says how many it looked through. */
	readonly searched: string | undefined;
	/** `37 lines in 11`, when the tool says in how many files. */
	readonly extent: string | undefined;
	/** In how many files each term is, when the tool says so; 0 for one that is nowhere. */
	readonly spread: ReadonlyMap<string, number>;
	/** Files whose path holds a term. */
	readonly paths: readonly string[];
	/** Nothing was left unread, so that what was not found is not there. */
	readonly whole: boolean;
	/** Each line that was found is among the hits. */
	readonly shownAll: boolean;
}

/** Consecutive lines of one file. */
export interface Piece {
	readonly path: string;
	readonly lines: readonly NumberedLine[];
}

export interface NumberedLine {
	readonly number: number;
	readonly text: string;
}

export interface Listing {
	/** Files, each with its size note; directories that were not opened count as `files`. */
	readonly entries: readonly { readonly path: string; readonly files: number }[];
	readonly title: string;
	/** All files below, shown or not. */
	readonly files: number;
	/** The commonest endings, at most five, with how many files have them. */
	readonly kinds: readonly (readonly [ending: string, files: number])[];
	/** The walk came to its end and could enter each directory, so that the counts are no mere beginnings. */
	readonly whole: boolean;
	/** Each entry of its level is shown. */
	readonly shownAll: boolean;
}

export function gather({ lookups }: Turn): Evidence {
	const answered = lookups.flatMap(({ call, result }) => (result === undefined ? [] : [{ call, result }]));
	const good = answered.filter(({ result }) => !isError(result));
	const by = (name: string) => good.filter(({ call }) => call.name === name);
	return {
		searches: by("search").map(({ result }) => parseSearch(result)),
		pieces: by("read").flatMap(({ call, result }) => parseRead(call, result)),
		listing: by("list").map(({ result }) => parseListing(result))[0],
		errors: answered
			.filter(({ result }) => isError(result))
			.map(({ result }) => result.replace(/^ERROR:?\s*/, "").split("\n")[0] ?? ""),
	};
}

export const isError = (result: string): boolean => result.startsWith("ERROR");

/** `src/a.ts:12: text`, also as a bullet. */
export function parseHit(line: string): Hit | undefined {
	const match = /^(?:[-*] )?(\S[^:]*):(\d+): ?(.*)$/.exec(line);
	if (match === null) return undefined;
	const [, path = "", number = "", text = ""] = match;
	return { path, line: Number(number), text };
}

/** The text of the `search` tool, or one like it. */
export function parseSearch(text: string): Found {
	const lines = text.split("\n");
	const head = lines[0] ?? "";
	const hits = lines.flatMap((line) => parseHit(line) ?? []);
	const terms = head.startsWith("No line contains ")
		? head.matchAll(/("(?:[^"\\]|\\.)*")/g)
		: head.matchAll(/("(?:[^"\\]|\\.)*") (?:none|[\d,]+ in ([\d,]+) files?)/g);
	const spread = [...terms].map(([, term = "", files]) => [unquote(term), countOf(files)] as const);
	const paths = lines.find((line) => line.startsWith("Matching paths: "))?.slice("Matching paths: ".length);
	return {
		hits,
		searched: /([\d,]+ files?) searched/.exec(head)?.[1],
		extent: /^([\d,]+ lines? in [\d,]+) files?/.exec(head)?.[1],
		spread: new Map(spread),
		paths: paths?.split(", ") ?? [],
		whole:
			!/ searched, then the search stopped\b/.test(head) && !/^Not searched: .*(?:too large|unreadable)/m.test(text),
		shownAll: !/^… and [\d,]+ more lines?$/m.test(text),
	};
}

export const countOf = (digits: string | undefined): number =>
	Number.parseInt(digits?.replaceAll(",", "") ?? "", 10) || 0;

function unquote(text: string): string {
	try {
		return String(JSON.parse(text));
	} catch {
		return text;
	}
}

function parseRead(call: Lookup["call"], text: string): readonly Piece[] {
	const path = pathOf(call.args);
	const lines = text.split("\n").flatMap((line) => {
		const match = /^ *(\d+)\| ?(.*)$/.exec(line);
		return match === null ? [] : [{ number: Number(match[1]), text: match[2] ?? "" }];
	});
	return path === undefined || lines.length === 0 ? [] : [{ path, lines }];
}

const pathOf = (args: unknown): string | undefined =>
	typeof args === "object" && args !== null && "path" in args && typeof args.path === "string" ? args.path : undefined;

function parseListing(text: string): Listing {
	const [title = "", ...lines] = text.split("\n");
	const entries = lines.flatMap((line) => {
		const match = /^(\S.*?)(?: {2,}(.*))?$/.exec(line);
		const path = match?.[1];
		if (path === undefined || path.startsWith("… ")) return [];
		const note = match?.[2] ?? "";
		const files = /^\(([\d,]+) files?\)/.exec(note)?.[1];
		// A remark on the whole is no file, and a link is none that counts.
		if (note === "" || note.startsWith("(symbolic link")) return [];
		return [{ path, files: path.endsWith("/") ? countOf(files) : 1 }];
	});
	const kinds = [...(/\(([\d,]+ \.[^)]*)\)$/.exec(title)?.[1] ?? "").matchAll(/([\d,]+) \.(\w+)/g)];
	return {
		title,
		entries,
		files: countOf(/: ([\d,]+) files?/.exec(title)?.[1]),
		kinds: kinds.map(([, count, ending = ""]) => [ending, countOf(count)] as const),
		whole: !/; the walk stopped there/.test(title) && !/^[\d,]+ directories could not be read/m.test(text),
		shownAll: !/^… and [\d,]+ more$/m.test(text),
	};
}
