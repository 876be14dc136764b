/** Patterns of commands: the words that a command begins with. */
import { matches } from "./pattern.ts";

/** A command of nothing but plain words: nothing in it is quoted, expanded, redirected or another command. */
export const isPlain = (command: string): boolean => /^[\w@%+:,./-]+(?: [\w@%+=:,./-]+)*$/.test(command);

/**
 * Does a pattern match a command? `npm test` matches what begins with these words. Only plain commands are matched by what allows, but
 * for the very same text.
 *
 * @param forbids the words may stand anywhere in the command, with options between them, by whatever path the program is called
 */
export function matchesCommand(pattern: string, command: string, forbids: boolean): boolean {
	if (pattern === command || pattern === "*" || pattern === "**") return true;
	const words = pattern.split(" ");
	if (!forbids)
		return isPlain(pattern) && isPlain(command) && isPrefix(words, command.split(" ")) && !doesMore(words, command);
	const all = command.split(/[^\w@%+=:,./-]+/).filter((word) => word !== "");
	return all.some((_, at) => {
		const [program = "", ...rest] = all.slice(at);
		return isSpread(words, [program, ...rest]) || isSpread(words, [program.replace(/^.*\//, ""), ...rest]);
	});
}

const isPrefix = (words: readonly string[], of: readonly string[]): boolean =>
	words.every((word, at) => word === of[at]);

/** As `isPrefix`, but for options between the words, each with a word behind it at most: `git -C . push` is `git push`. */
function isSpread([first, ...others]: readonly string[], [program, ...of]: readonly string[]): boolean {
	if (first !== program) return false;
	let at = 0;
	return others.every((word) => {
		while (of[at] !== word && of[at]?.startsWith("-")) at += of[at + 1] === word || of[at + 1]?.startsWith("-") ? 1 : 2;
		return of[at++] === word;
	});
}

/** Options by which a program that looks also writes, or runs another: they are not meant where it is allowed. Some take short forms of them. */
const more: Readonly<Record<string, RegExp>> = {
	find: /^-(?:exec|ok|delete|fls|fprint)/,
	git: /^(?:-O|--(?:ou|op|ex|up|rec))/,
	rg: /^--(?:pre|hostname)/,
	sort: /^(?:-\w*o|--(?:o|co))/,
};

function doesMore(words: readonly string[], command: string): boolean {
	const [program = "", ...of] = command.split(" ");
	const name = program.replace(/^.*\//, "");
	const option = Object.hasOwn(more, name) ? more[name] : undefined;
	return option !== undefined && of.some((word) => option.test(word) && !words.includes(word));
}

/** Does a word of a command name what a pattern of paths matches, from wherever? */
export const namesPath = (pattern: string, command: string): boolean =>
	command.split(/[^\w@%+,./-]+/).some((word) => {
		const names = plainPath(word);
		return names.some((_, at) => matches(pattern, names.slice(at).join("/"), true));
	});

/** `a/../b` is `b`. */
function plainPath(path: string): readonly string[] {
	const names: string[] = [];
	for (const name of path.split("/"))
		if (name === "..") names.pop();
		else if (name !== "" && name !== ".") names.push(name);
	return names;
}
