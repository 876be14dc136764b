/** What Tab offers: commands at the beginning of a line, files after an `@`. */
import type { Line } from "./editor.ts";

/** A command as it is offered. */
export interface Offered {
	readonly name: string;
	readonly summary: string;
}

export interface Menu {
	readonly items: readonly Offered[];
	readonly at: number;
	/** Where in the text of the line begins what an item takes the place of. */
	readonly from: number;
}

/** More files are not looked through: more letters find them. */
const MOST = 8;

/** The word at the cursor that is a file's. */
export const fileWord = ({ text, cursor }: Pick<Line, "text" | "cursor">): string | undefined =>
	/(?:^|\s)@(\S*)$/.exec(text.slice(0, cursor))?.[1];

export function menuOf(line: Line, commands: readonly Offered[], files: readonly string[]): Menu | undefined {
	const before = line.text.slice(0, line.cursor);
	const file = fileWord(line);
	const items = /^\/\S*$/.test(before)
		? commands
				.filter(({ name }) => name.startsWith(before.slice(1)))
				.map((each) => ({ ...each, name: `/${each.name}` }))
		: file === undefined
			? []
			: found(files, file).map((path) => ({ name: `@${path}`, summary: "" }));
	const from = file === undefined ? 0 : line.cursor - file.length - 1;
	return items.length === 0 ? undefined : { items, at: 0, from };
}

/** Those that begin so come first, by their path or by their name. */
function found(files: readonly string[], word: string): readonly string[] {
	const small = word.toLowerCase();
	const first: string[] = [];
	const others: string[] = [];
	for (const path of files) {
		const at = path.toLowerCase().indexOf(small);
		if (at === 0 || path[at - 1] === "/") first.push(path);
		else if (at > 0) others.push(path);
		if (first.length === MOST) break;
	}
	return [...first, ...others].slice(0, MOST);
}

/** The text with the chosen item in place of its beginning. */
export function completed(line: Line, { items, at, from }: Menu): { readonly text: string; readonly cursor: number } {
	const name = `${items[at]?.name ?? ""} `;
	return { text: line.text.slice(0, from) + name + line.text.slice(line.cursor), cursor: from + name.length };
}
