/** Commands that are suggested. A person copies them, so what a log, a file or an argument has named must be one word of them, and the same. */
import { asLine } from "@reyn/operator/text";

/** Writes a command: the texts are ours, the words between them are anybody's. */
export type Suggest = (texts: readonly string[], ...words: readonly string[]) => string;

/** The flags that say where this process works, as they were given. */
let place: readonly (readonly [flag: string, word: string])[] = [];

/** Has each `reyn` command that is suggested from now on work where this process does. */
export function suggestAt(given: { readonly cwd?: string | undefined; readonly state?: string | undefined }): void {
	place = Object.entries(given).flatMap(([name, word]) => (word === undefined ? [] : [[`--${name} `, word] as const]));
}

/** For a POSIX shell: reyn`plan resume ${id}`. */
export const reyn: Suggest = ([first = "", ...texts], ...words) => {
	const flags = [...place.map(([flag]) => flag), first].map((text, at) => (at === 0 ? text : ` ${text}`));
	const all = [...place.map(([, word]) => word), ...words];
	return written("reyn ", [...flags, ...texts], all.map(inShell));
};

/** The same, of git. */
export const git: Suggest = (texts, ...words) => written("git ", texts, words.map(inShell));

/** For a chat, whose lines have no quotes: slash`plan resume ${id}`. */
export const slash: Suggest = (texts, ...words) =>
	written(
		"/",
		texts,
		words.map((word) => (isPlain(word) ? inShell(word) : undefined)),
	);

/** For a shell again, of all that `reyn` was given: what begins with a dash is an option. */
export const asTyped = (args: readonly string[]): string =>
	written(
		"reyn",
		args.map(() => " "),
		args.map((arg) => (isPlain(arg) ? arg : inShell(arg))),
	);

/** What was cut or changed would name something else, or nothing. */
function written(before: string, texts: readonly string[], words: readonly (string | undefined)[]): string {
	if (words.includes(undefined)) return "(no command is shown: the name in it cannot be typed as it is)";
	return before + texts.map((text, at) => text + (words[at] ?? "")).join("");
}

function inShell(word: string): string | undefined {
	// A tab is a key of a shell, and what begins with a dash would be an option.
	if (asLine(word) !== word || /^-|\t/.test(word)) return undefined;
	return isPlain(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** What means itself in any shell. Where it begins a word, `=` means something to zsh. */
const isPlain = (word: string): boolean => /^(?!=)[\w./:@%+=,-]+$/.test(word);
