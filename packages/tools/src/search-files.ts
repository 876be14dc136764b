/** `search`: the lines that hold any of the words, the most telling first. */
import { defineTool, type Tool } from "@reyn/journal";
import { z } from "zod";
import type { Effort } from "./effort.ts";
import { ToolError } from "./errors.ts";
import type { Workspace } from "./file-tools.ts";
import { KeptLines } from "./kept-lines.ts";
import { compareBytes, type Directory, maxPathLength, parsePath, placeOf, showPath } from "./root-directory.ts";
import { asWord, holds, inside, type Line, type ScannedFile, scanText, sum } from "./scan-text.ts";
import { readText, showBytes, showCount } from "./text-file.ts";
import { enter, type Rules, walk } from "./walk.ts";

const maxTerms = 12;
const maxOutputBytes = 16_000;
const filesAtOnce = 16;

const schema = z.strictObject({
	query: z
		.string()
		.max(500)
		.describe(
			'Plain words, any case; a line matches when it contains any of them (inside other words only when nowhere alone). Put a phrase in "double quotes".',
		),
	path: z
		.string()
		.max(maxPathLength)
		.optional()
		.describe("Directory or file to search, relative to the root; all of it when absent"),
	maxResults: z.int().min(1).max(200).default(40).describe("Most lines to show"),
});

/** `search`: the lines that contain any of the words, the most telling first. */
export function searchFiles(workspace: Workspace): Tool {
	return defineTool({
		name: "search",
		description:
			"Search the text of all files for plain words. Answers with `path:line: text`; lines with more of the words, rarer words and definitions come first.",
		input: schema,
		purity: "world",
		wants: async ({ path = "" }) => [{ action: "read", ...placeOf(path) }],
		async call({ query, path = "", maxResults }, { signal }) {
			const terms = parseQuery(query);
			if (terms.length === 0) {
				throw new ToolError("TOOL_INVALID_ARGS", 'search: "query": expected at least one word to look for');
			}
			using effort = workspace.effort(signal);
			const found = await scan(workspace, parsePath(path), terms, effort);
			return [...report(found, terms, maxResults, effort), ...effort.remarks()].join("\n");
		},
	});
}

/** `group "first seen"` → `["group", "first seen"]`, in lower case, without repeats. */
function parseQuery(query: string): readonly string[] {
	const terms = query.split('"').flatMap((part, index) => {
		const text = part.toLowerCase().trim().replace(/\s+/g, " ");
		return index % 2 === 1 ? [text] : text.split(" ");
	});
	return [...new Set(terms.filter((term) => term !== ""))].slice(0, maxTerms);
}

interface Scan {
	/** In byte order of their paths. */
	readonly files: readonly ScannedFile[];
	readonly searched: number;
	readonly binary: number;
	readonly tooLarge: readonly string[];
	readonly unreadable: number;
}

async function scan(
	workspace: Workspace,
	path: readonly string[],
	terms: readonly string[],
	effort: Effort,
): Promise<Scan> {
	const kept = new KeptLines();
	const tooLarge: string[] = [];
	let searched = 0;
	let binary = 0;
	let unreadable = 0;
	const visit = async (directory: Directory, name: string) => {
		effort.signal.throwIfAborted();
		if (effort.over) return;
		const open = await directory.file(name).catch(() => undefined);
		if (open === undefined) {
			unreadable++;
			return;
		}
		if (open.bytes <= workspace.maxFileBytes && !effort.mayRead(open.bytes)) return open.handle.close();
		const file = await readText(open, workspace.maxFileBytes).catch(() => undefined);
		const at = directory.below(name);
		if (file === undefined) unreadable++;
		else if (file.kind === "binary") binary++;
		else if (file.kind === "tooLarge") tooLarge.push(`${showPath(at)} (${showBytes(file.bytes)})`);
		else {
			const scanned = await scanText(at, file.text, terms, effort);
			// One that was not searched to its end is not counted.
			if (!effort.over) searched++;
			if (scanned !== undefined && !kept.add(scanned)) effort.stop("finding too many lines");
		}
	};

	const { start, rules, only } = await open(workspace, path, effort);
	try {
		if (only !== undefined) await visit(start, only);
		else {
			const onUnreadable = () => {
				unreadable++;
			};
			for await (const { directory, files } of walk(start, { rules, effort, onUnreadable })) {
				await eachAtOnce(files, filesAtOnce, (name) => visit(directory, name));
			}
		}
	} finally {
		await start.close();
	}
	// Files of one directory finish in any order.
	const files = kept.files.toSorted((a, b) => compareBytes(a.path, b.path));
	return { files, searched, binary, tooLarge: tooLarge.sort(compareBytes), unreadable };
}

/** The directory at a path, or the directory of the file at it. */
async function open(
	workspace: Workspace,
	path: readonly string[],
	effort: Effort,
): Promise<{ start: Directory; rules: Rules; only?: string }> {
	const root = await workspace.root();
	try {
		return await enter(root, path, effort);
	} catch (error) {
		const only = path.at(-1);
		if (!(error instanceof ToolError) || error.code !== "TOOL_NOT_FOUND" || only === undefined) throw error;
		const start = await root.directory(path.slice(0, -1)).catch(() => undefined);
		if (start === undefined) throw error;
		// A file that is not there, or is none, is no answer to a search: the first error says so.
		const file = await start.file(only).catch(() => undefined);
		await file?.handle.close();
		if (file !== undefined) return { start, rules: [], only };
		await start.close();
		throw error;
	}
}

async function eachAtOnce<T>(items: readonly T[], width: number, work: (item: T) => Promise<void>): Promise<void> {
	const rest = items.values();
	const lane = async () => {
		for (const item of rest) await work(item);
	};
	const lanes = await Promise.allSettled(Array.from({ length: Math.min(width, items.length) }, lane));
	// Only when all have ended: the directory is closed behind them.
	for (const ended of lanes) if (ended.status === "rejected") throw ended.reason;
}

const countIn = (file: ScannedFile, mask: number): number =>
	sum([...file.tally].map(([held, lines]) => ((held & mask) === 0 ? 0 : lines)));

const union = (masks: readonly number[]): number => masks.reduce((all, mask) => all | mask, 0);

/** What counts as a find of each term: inside words only when it is nowhere a word of its own. */
const masksFor = (files: readonly ScannedFile[], terms: readonly string[]): readonly number[] =>
	terms.map((_, t) => (files.some((file) => countIn(file, asWord(t)) > 0) ? asWord(t) : inside(t)));

interface Ranked {
	readonly file: ScannedFile;
	readonly line: Line;
	readonly score: number;
}

/** Distinct terms first, then the rarity of the terms, definitions, and terms in the path; no file floods the list. */
function rank(files: readonly ScannedFile[], masks: readonly number[]): readonly Ranked[] {
	const any = union(masks);
	const rarity = masks.map((mask) => {
		const holding = files.filter((file) => countIn(file, mask) > 0).length;
		return Math.log(1 + files.length / Math.max(1, holding));
	});
	const weigh = (line: Line) => {
		const held = holds(line.strengths);
		return sum(masks.map((mask, t) => ((held & mask) === 0 ? 0 : 4 + (rarity[t] ?? 0))));
	};
	return files
		.flatMap((file) => {
			const kindPenalty = file.kind === "generated" ? 12 : file.kind === "config" ? 1 : 0;
			const inFile = masks.filter((mask) => countIn(file, mask) > 0).length;
			// What a file says often, it is about.
			const often = Math.min(1.5, 0.3 * Math.log2(1 + countIn(file, any)));
			const fromFile = 1.5 * sum(file.inPath) + 0.3 * inFile + often - kindPenalty;
			return file.lines
				.map((line) => ({ file, line, weight: weigh(line) }))
				.filter(({ weight }) => weight > 0)
				.map((hit) => ({ ...hit, score: hit.weight + hit.line.bonus + fromFile }))
				.sort((a, b) => b.score - a.score || a.line.number - b.line.number)
				.map((hit, index) => ({ ...hit, score: hit.score - 0.8 * index }));
		})
		.sort((a, b) => b.score - a.score || compareBytes(a.file.path, b.file.path) || a.line.number - b.line.number);
}

function report(found: Scan, terms: readonly string[], maxResults: number, { stopped }: Effort): readonly string[] {
	const masks = masksFor(found.files, terms);
	const any = union(masks);
	const holding = found.files.filter((file) => countIn(file, any) > 0);
	const total = sum(holding.map((file) => countIn(file, any)));
	const perTerm = terms.map((term, t) => {
		const counts = holding.map((file) => countIn(file, masks[t] ?? 0)).filter((count) => count > 0);
		return `${quote(term)} ${counts.length === 0 ? "none" : `${showCount(sum(counts))} in ${showCount(counts.length, "file")}`}`;
	});
	const named = found.files
		.filter((file) => file.inPath.includes(1))
		.sort((a, b) => sum(b.inPath) - sum(a.inPath) || compareBytes(a.path, b.path));

	const shown: string[] = [];
	let bytes = 0;
	for (const { file, line } of rank(holding, masks).slice(0, maxResults)) {
		const text = `${showPath(file.path)}:${line.number}: ${line.text}`;
		bytes += Buffer.byteLength(text) + 1;
		if (bytes > maxOutputBytes) break;
		shown.push(text);
	}
	const searched = `${showCount(found.searched, "file")} searched${stopped === undefined ? "" : ", then the search stopped"}`;
	const skipped = [
		...(found.binary > 0 ? [`${showCount(found.binary)} binary`] : []),
		...(found.tooLarge.length > 0 ? [`too large: ${found.tooLarge.slice(0, 5).join(", ")}`] : []),
		...(found.tooLarge.length > 5 ? [`${showCount(found.tooLarge.length - 5)} more too large`] : []),
		...(found.unreadable > 0 ? [`${showCount(found.unreadable)} unreadable`] : []),
	];
	return [
		total === 0
			? `No line contains ${terms.map(quote).join(" or ")} (${searched}).`
			: `${showCount(total, "line")} in ${showCount(holding.length, "file")} (${searched}). ${perTerm.join("; ")}.`,
		...shown,
		...(total > shown.length ? [`… and ${showCount(total - shown.length, "more line")}`] : []),
		...(named.length > 0
			? [
					`Matching paths: ${named
						.slice(0, 10)
						.map(({ path }) => showPath(path))
						.join(", ")}`,
				]
			: []),
		...(skipped.length > 0 ? [`Not searched: ${skipped.join("; ")}`] : []),
	];
}

const quote = (term: string): string => JSON.stringify(term);
