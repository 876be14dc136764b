/** The files below a directory, without those that .gitignore files name. */
import type { Effort } from "./effort.ts";
import { type IgnoreFile, maxPatterns, parseIgnoreFile, verdict } from "./gitignore.ts";
import { type Directory, isSkipped, maxPathLength, type RootDirectory, showPath } from "./root-directory.ts";
import { readText, showBytes, showCount } from "./text-file.ts";

/** One directory of a walk, open until the consumer asks for the next. Names are in byte order. */
export interface Visited {
	readonly directory: Directory;
	/** 0 where the walk started. */
	readonly depth: number;
	readonly files: readonly string[];
	readonly directories: readonly string[];
	readonly links: readonly string[];
}

/** The .gitignore files that speak for a directory: the outermost first, each with how deep below the root it lies. */
export type Rules = readonly { readonly depth: number; readonly file: IgnoreFile }[];

export interface WalkOptions {
	readonly rules: Rules;
	/** Says when to stop, and hears what was cut. */
	readonly effort: Effort;
	/** Hears of each directory that could not be entered. */
	readonly onUnreadable?: (path: string) => void;
}

const maxIgnoreBytes = 256_000;
// Each level keeps one descriptor open.
const maxDepth = 64;

/** Walks `start` and everything below it that .gitignore files leave, parents first. Closes what it opens, but not `start`. */
export async function* walk(start: Directory, options: WalkOptions, depth = 0): AsyncGenerator<Visited> {
	const { effort } = options;
	effort.signal.throwIfAborted();
	const entries = await start.entries(effort);
	const rules = entries.files.includes(".gitignore") ? await rulesIn(start, options.rules, effort) : options.rules;
	const staying = async (names: readonly string[], directory: boolean) => {
		const left: string[] = [];
		for (const name of names) {
			if (isSkipped(name) || (directory && (await start.isClosed(name)))) continue;
			if (await isIgnored(rules, [...start.names, name], directory, effort)) continue;
			if (!effort.admit()) break;
			left.push(name);
			if (effort.worked(100)) await effort.turn();
		}
		return left;
	};
	const files = await staying(entries.files, false);
	const directories = await staying(entries.directories, true);
	const links = await staying(entries.links, false);
	yield { directory: start, depth, files, directories, links };

	for (const name of directories) {
		if (effort.stopped !== undefined) return;
		let below: Directory | undefined;
		try {
			if (depth >= maxDepth || start.below(name).length > maxPathLength) throw new Error("too deep");
			below = await start.directory(name);
			yield* walk(below, { ...options, rules }, depth + 1);
		} catch (error) {
			// One directory that vanished or may not be entered is no reason to lose the rest.
			if (effort.signal.aborted) throw error;
			options.onUnreadable?.(start.below(name));
		} finally {
			await below?.close();
		}
	}
}

/** Opens the directory at a path for a walk, with the rules of those above it; without any when they ignore the path itself. */
export async function enter(
	root: RootDirectory,
	path: readonly string[],
	effort: Effort,
): Promise<{ start: Directory; rules: Rules }> {
	let start = await root.directory([]);
	// Who asks for an ignored directory by name wants to see it.
	let asked = false;
	let rules: Rules = [];
	try {
		for (const name of path) {
			if (!asked) rules = await rulesIn(start, rules, effort);
			asked ||= await isIgnored(rules, [...start.names, name], true, effort);
			const next = await start.directory(name);
			await start.close();
			start = next;
		}
	} catch (error) {
		await start.close();
		throw error;
	}
	return { start, rules: asked ? [] : rules };
}

async function rulesIn(directory: Directory, rules: Rules, effort: Effort): Promise<Rules> {
	const open = await directory.file(".gitignore").catch(() => undefined);
	const read = open === undefined ? undefined : await readText(open, maxIgnoreBytes, "begin").catch(() => undefined);
	if (open === undefined || read?.kind !== "text") return rules;
	const path = showPath(directory.below(".gitignore"));
	const whole = open.bytes <= maxIgnoreBytes;
	if (!whole) effort.note(`${path} is larger than ${showBytes(maxIgnoreBytes)}; what comes behind is not used`);
	// The last line may be half a pattern.
	const file = parseIgnoreFile(whole ? read.text : read.text.slice(0, read.text.lastIndexOf("\n") + 1));
	if (file.unused > 0) {
		effort.note(
			`${path}: ${showCount(file.unused, "pattern")} not used (the first ${showCount(maxPatterns)} are, of up to 500 characters)`,
		);
	}
	return file.patterns.length === 0 ? rules : [...rules, { depth: directory.names.length, file }];
}

/** The innermost .gitignore that has a say decides. */
async function isIgnored(rules: Rules, path: readonly string[], directory: boolean, effort: Effort): Promise<boolean> {
	for (const { depth, file } of rules.toReversed()) {
		const said = await verdict(file, path.slice(depth), directory, effort);
		if (said !== undefined) return said === "ignored";
	}
	return false;
}
