import type { Tool } from "@reyn/journal";
import { z } from "zod";
import { defineLookup } from "./define-tool.ts";
import type { Workspace } from "./file-tools.ts";
import { definitionIn, explains, isImport, type PathKind, pathKind } from "./line-kind.ts";
import { compareBytes, type Directory, parsePath, type RootDirectory, showPath } from "./root-directory.ts";
import { excerpt, readText, showBytes, showCount, splitLines } from "./text-file.ts";
import { ToolError } from "./tool-error.ts";
import { rulesAbove, walk } from "./walk.ts";
import { placeOf, type Strength, strengthOf } from "./word-match.ts";

const maxTerms = 12;
const maxOutputBytes = 16_000;
const textWidth = 200;
const filesAtOnce = 16;
// What one file may contribute; enough to fill an answer from a single file.
const keptPerFile = 60;

const schema = z.strictObject({
	query: z
		.string()
		.max(500)
		.describe(
			'Plain words, any case; a line matches when it contains any of them (inside other words only when nowhere alone). Put a phrase in "double quotes".',
		),
	path: z.string().optional().describe("Directory or file to search, relative to the root; all of it when absent"),
	maxResults: z.int().min(1).max(200).default(40).describe("Most lines to show"),
});

/** `search`: the lines that contain any of the words, the most telling first. */
export function searchFiles(workspace: Workspace): Tool {
	return defineLookup({
		name: "search",
		description:
			"Search the text of all files for plain words. Answers with `path:line: text`; lines with more of the words, rarer words and definitions come first.",
		schema,
		async call({ query, path = "", maxResults }, { signal }) {
			const terms = parseQuery(query);
			if (terms.length === 0) {
				throw new ToolError("TOOL_INVALID_ARGS", 'search: "query": expected at least one word to look for');
			}
			const found = await scan(workspace, parsePath(path), terms, signal);
			return report(found, terms, maxResults);
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

interface Line {
	readonly number: number;
	readonly text: string;
	/** One for each term. */
	readonly strengths: readonly Strength[];
	/** What makes the line telling apart from the words in it. */
	readonly bonus: number;
}

interface ScannedFile {
	readonly path: string;
	readonly kind: PathKind;
	/** The most telling lines, at most `keptPerFile`. */
	readonly lines: readonly Line[];
	/** How many lines hold which terms, as words and inside words; counts all lines, kept or not. */
	readonly tally: ReadonlyMap<number, number>;
	/** Terms in the path itself. */
	readonly inPath: readonly number[];
}

interface Scan {
	files: ScannedFile[];
	searched: number;
	binary: number;
	tooLarge: string[];
	unreadable: number;
	complete: boolean;
}

async function scan(
	workspace: Workspace,
	path: readonly string[],
	terms: readonly string[],
	signal: AbortSignal,
): Promise<Scan> {
	const found: Scan = { files: [], searched: 0, binary: 0, tooLarge: [], unreadable: 0, complete: true };
	const root = await workspace.root();
	const visit = async (directory: Directory, name: string) => {
		signal.throwIfAborted();
		const file = await directory
			.file(name)
			.then((open) => readText(open, workspace.maxFileBytes))
			.catch(() => undefined);
		const at = directory.below(name);
		if (file === undefined) found.unreadable++;
		else if (file.kind === "binary") found.binary++;
		else if (file.kind === "tooLarge") found.tooLarge.push(`${showPath(at)} (${showBytes(file.bytes)})`);
		else {
			found.searched++;
			const scanned = scanText(at, file.text, terms);
			if (scanned !== undefined) found.files.push(scanned);
		}
	};

	const { directory: start, file: only } = await open(root, path);
	try {
		if (only !== undefined) {
			await visit(start, only);
			return found;
		}
		const rules = await rulesAbove(root.directory, path);
		const onUnreadable = () => {
			found.unreadable++;
		};
		let seen = 0;
		for await (const { directory, files } of walk(start, { rules, signal, onUnreadable })) {
			const room = files.slice(0, workspace.maxFiles - seen);
			seen += room.length;
			await eachAtOnce(room, filesAtOnce, (name) => visit(directory, name));
			if (room.length < files.length) {
				found.complete = false;
				break;
			}
		}
	} finally {
		await start.close();
	}
	// Files of one directory finish in any order.
	found.files.sort((a, b) => compareBytes(a.path, b.path));
	found.tooLarge.sort(compareBytes);
	return found;
}

/** The directory at a path, or the directory of the file at it. */
async function open(root: RootDirectory, path: readonly string[]): Promise<{ directory: Directory; file?: string }> {
	try {
		return { directory: await root.directory(path) };
	} catch (error) {
		const file = path.at(-1);
		if (!(error instanceof ToolError) || error.code !== "TOOL_NOT_FOUND" || file === undefined) throw error;
		const directory = await root.directory(path.slice(0, -1)).catch(() => undefined);
		if (directory !== undefined && (await directory.entries()).files.includes(file)) return { directory, file };
		await directory?.close();
		throw error;
	}
}

async function eachAtOnce<T>(items: readonly T[], width: number, work: (item: T) => Promise<void>): Promise<void> {
	const rest = items.values();
	const lane = async () => {
		for (const item of rest) await work(item);
	};
	await Promise.all(Array.from({ length: Math.min(width, items.length) }, lane));
}

/** Undefined when neither the text nor the path holds any of the terms. */
function scanText(path: string, text: string, terms: readonly string[]): ScannedFile | undefined {
	const loweredPath = path.toLowerCase();
	const inPath = terms.map((term) => (strengthOf(term, loweredPath, path) === 1 ? 1 : 0));
	const lowered = text.toLowerCase();
	const present = terms.map((term) => lowered.includes(term));
	if (!present.includes(true) && !inPath.includes(1)) return undefined;

	const lines: Line[] = [];
	const tally = new Map<number, number>();
	if (present.includes(true)) {
		const loweredLines = splitLines(lowered);
		for (const [index, line] of splitLines(text).entries()) {
			const loweredLine = loweredLines[index] ?? "";
			const strengths = terms.map((term, t) => (present[t] ? strengthOf(term, loweredLine, line) : 0));
			if (!strengths.some((strength) => strength > 0)) continue;
			const held = holds(strengths);
			tally.set(held, (tally.get(held) ?? 0) + 1);
			lines.push({ number: index + 1, text: line, strengths, bonus: bonusOf(line, path, terms) });
		}
	}
	const telling = (line: Line) => 4 * sum(line.strengths) + line.bonus;
	lines.sort((a, b) => telling(b) - telling(a) || a.number - b.number);
	return { path, kind: pathKind(path), lines: lines.slice(0, keptPerFile), tally, inPath };
}

// Two bits a term: one for a find as a word, one for a find inside a word.
const asWord = (t: number): number => 1 << (2 * t);
const inside = (t: number): number => 2 << (2 * t);

const holds = (strengths: readonly Strength[]): number =>
	strengths.reduce<number>((bits, s, t) => bits | (s === 1 ? asWord(t) : s > 0 ? inside(t) : 0), 0);

const countIn = (file: ScannedFile, mask: number): number =>
	sum([...file.tally].map(([held, lines]) => ((held & mask) === 0 ? 0 : lines)));

const union = (masks: readonly number[]): number => masks.reduce((all, mask) => all | mask, 0);

/** What counts as a find of each term: inside words only when it is nowhere a word of its own. */
const masksFor = (files: readonly ScannedFile[], terms: readonly string[]): readonly number[] =>
	terms.map((_, t) => (files.some((file) => countIn(file, asWord(t)) > 0) ? asWord(t) : inside(t)));

function bonusOf(line: string, path: string, terms: readonly string[]): number {
	if (isImport(line)) return -3;
	const long = line.length > 400 ? -2 : 0;
	if (terms.some((term) => explains(line, term))) return long + 2;
	const definition = definitionIn(line, path);
	if (definition === undefined) return long;
	const name = definition.name.toLowerCase();
	const named = terms.some((term) => strengthOf(term, name, definition.name) === 1);
	return long + (named ? (definition.kind === "key" ? 2 : 3) : 0.5);
}

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

function report(found: Scan, terms: readonly string[], maxResults: number): string {
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
		const text = `${showPath(file.path)}:${line.number}: ${excerpt(line.text, textWidth, placeOf(terms, line.text))}`;
		bytes += Buffer.byteLength(text) + 1;
		if (bytes > maxOutputBytes) break;
		shown.push(text);
	}
	const searched = `${showCount(found.searched, "file")} searched${found.complete ? "" : ", then the search stopped"}`;
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
	].join("\n");
}

const quote = (term: string): string => JSON.stringify(term);

const sum = (numbers: readonly number[]): number => numbers.reduce((total, n) => total + n, 0);
