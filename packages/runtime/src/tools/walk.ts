import ignore, { type Ignore } from "ignore";
import { type Directory, isSkipped } from "./root-directory.ts";
import { readText, splitLines } from "./text-file.ts";

/** One directory of a walk, open until the consumer asks for the next. Names are in byte order. */
export interface Visited {
	readonly directory: Directory;
	/** 0 where the walk started. */
	readonly depth: number;
	readonly files: readonly string[];
	readonly directories: readonly string[];
	readonly links: readonly string[];
}

/** The .gitignore files that speak for a directory: the outermost first, each with the directory it lies in. */
export type Rules = readonly { readonly below: string; readonly ignore: Ignore }[];

export interface WalkOptions {
	readonly rules: Rules;
	readonly signal: AbortSignal;
	/** Hears of each directory that could not be entered. */
	readonly onUnreadable?: (path: string) => void;
}

const maxIgnoreBytes = 256_000;
// Each level keeps one descriptor open.
const maxDepth = 64;

/** Walks `start` and everything below it that .gitignore files leave, parents first. Closes what it opens, but not `start`. */
export async function* walk(start: Directory, options: WalkOptions, depth = 0): AsyncGenerator<Visited> {
	options.signal.throwIfAborted();
	const entries = await start.entries();
	const rules = entries.files.includes(".gitignore") ? await rulesIn(start, options.rules) : options.rules;
	const stays = (name: string, directory: boolean) =>
		!isSkipped(name) && !isIgnored(rules, start.below(name), directory);
	const directories = entries.directories.filter((name) => stays(name, true));
	const files = entries.files.filter((name) => stays(name, false));
	const links = entries.links.filter((name) => stays(name, false));
	yield { directory: start, depth, files, directories, links };

	for (const name of directories) {
		let below: Directory | undefined;
		try {
			if (depth >= maxDepth) throw new Error("too deep");
			below = await start.directory(name);
			yield* walk(below, { ...options, rules }, depth + 1);
		} catch (error) {
			// One directory that vanished or may not be entered is no reason to lose the rest.
			if (options.signal.aborted) throw error;
			options.onUnreadable?.(start.below(name));
		} finally {
			await below?.close();
		}
	}
}

/** The rules of the directories above a path, for a walk that starts there; none when they ignore the path itself. */
export async function rulesAbove(
	open: (path: readonly string[]) => Promise<Directory>,
	path: readonly string[],
): Promise<Rules> {
	let rules: Rules = [];
	for (let depth = 0; depth < path.length; depth++) {
		const directory = await open(path.slice(0, depth));
		try {
			rules = await rulesIn(directory, rules);
		} finally {
			await directory.close();
		}
		// Who asks for an ignored directory by name wants to see it.
		if (isIgnored(rules, path.slice(0, depth + 1).join("/"), true)) return [];
	}
	return rules;
}

async function rulesIn(directory: Directory, rules: Rules): Promise<Rules> {
	const open = await directory.file(".gitignore").catch(() => undefined);
	const file = open === undefined ? undefined : await readText(open, maxIgnoreBytes).catch(() => undefined);
	if (file?.kind !== "text") return rules;
	const patterns = splitLines(file.text).filter(isCheap);
	return [...rules, { below: directory.path, ignore: ignore({ ignorecase: false }).add(patterns) }];
}

// The matcher becomes a regular expression; each `**` multiplies its time by the depth of the path.
const isCheap = (pattern: string): boolean => pattern.length <= 500 && pattern.split("**").length <= 4;

/** The innermost .gitignore that has a say decides. */
function isIgnored(rules: Rules, path: string, directory: boolean): boolean {
	for (const { below, ignore } of rules.toReversed()) {
		const relative = below === "" ? path : path.slice(below.length + 1);
		const result = ignore.test(directory ? `${relative}/` : relative);
		if (result.ignored) return true;
		if (result.unignored) return false;
	}
	return false;
}
