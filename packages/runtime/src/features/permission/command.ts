/** Patterns of commands: the words that a command begins with. */

/** A command of nothing but plain words: nothing in it is quoted, expanded, redirected or another command. */
export const isPlain = (command: string): boolean => /^[\w@%+:,./-]+(?: [\w@%+=:,./-]+)*$/.test(command);

/**
 * Does a pattern match a command? `npm test` matches what begins with these words. Only plain commands are matched by what allows, but
 * for the very same text.
 *
 * @param forbids the words may stand anywhere in the command, by whatever path the program is called
 */
export function matchesCommand(pattern: string, command: string, forbids: boolean): boolean {
	if (pattern === command || pattern === "*" || pattern === "**") return true;
	const words = pattern.split(" ");
	if (!forbids) return isPlain(pattern) && isPlain(command) && isPrefix(words, command.split(" "));
	const all = command.split(/[^\w@%+=:,./-]+/).filter((word) => word !== "");
	return all.some((_, at) => {
		const [program = "", ...rest] = all.slice(at);
		return isPrefix(words, [program, ...rest]) || isPrefix(words, [program.replace(/^.*\//, ""), ...rest]);
	});
}

const isPrefix = (words: readonly string[], of: readonly string[]): boolean =>
	words.every((word, at) => word === of[at]);
