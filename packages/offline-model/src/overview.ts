/** Describes a directory from its listing, and a file from its headings, definitions and first sentences. */
import { definitionIn, isComment, isImport, pathKind, showCount } from "@reyn/tools/text";
import type { Listing, NumberedLine, Piece } from "./evidence.ts";
import { firstProse } from "./prose.ts";
import { bullet, indentOf, inWords } from "./quote.ts";
import { matched } from "./rank.ts";
import type { Term } from "./terms.ts";

const mostLines = 12;

/** What is in a directory, from its listing and the files that introduce it; with terms, also the files whose names hold them. */
export function overview(
	whole: Listing,
	pieces: readonly Piece[],
	terms: readonly Term[] = [],
	below = "",
): readonly string[] {
	const listing = below === "" ? whole : within(whole, `${below}/`);
	const paths = listing.entries.map(({ path }) => path);
	const folders = foldersIn(listing);
	const top = paths.filter((path) => !path.includes("/"));
	const named = paths.filter((path) => matched(path, terms) > 0);
	const only = pieces.length === 1 ? pieces[0] : undefined;
	return [
		...(only === undefined ? [] : [about(only), ""]),
		listing.title.replace(/[.:]?$/, "."),
		...(named.length === 0 ? [] : [`Named like it: ${someOf(named, 8)}`]),
		...folders.slice(0, mostLines).map(([folder, files]) => `- ${folder} ${showCount(files, "file")}`),
		...(folders.length > mostLines
			? [`- … and ${listing.shownAll ? "" : "at least "}${folders.length - mostLines} more folders`]
			: []),
		...(top.length === 0 ? [] : [`- at the top: ${someOf(top, mostLines)}`]),
		...(only === undefined ? pieces.map((piece) => `- ${piece.path}: ${about(piece)}`) : beginningOf(only)),
	];
}

/** The same listing, with paths from the folder on that was listed. */
const within = (listing: Listing, folder: string): Listing => ({
	...listing,
	entries: listing.entries.map(({ path, files }) => ({
		path: path.startsWith(folder) ? path.slice(folder.length) : path,
		files,
	})),
});

/** What a file says about itself: its title or first words, and the first sentence after them. */
export function about({ path, lines }: Piece): string {
	const docs = pathKind(path) === "docs";
	const prose = docs ? firstProse({ path, lines }) : undefined;
	if (prose !== undefined) {
		const title = lines.find(({ number, text }) => number < prose.from && isTitle(text, path) && speaks(text));
		const said = inWords({ path, line: prose.from, text: prose.text }, []);
		return title === undefined ? said : `${inWords({ path, line: title.number, text: title.text }, [])} ${said}`;
	}
	const start = lines.findIndex(({ text }) => speaks(text));
	const first = lines[start];
	if (first === undefined) return `${path} says nothing in words.`;
	const next = lines
		.slice(start + 1)
		.find(
			({ text }) =>
				speaks(text) && (docs ? !isHeading(text, path) : isComment(text) || (text.length > 40 && !isImport(text))),
		);
	return [first, ...(next === undefined ? [] : [next])]
		.map(({ number, text }) => inWords({ path, line: number, text }, []))
		.join(" ");
}

/** What a file holds: its headings with the line under each, or else its definitions. */
export function outline({ path, lines }: Piece): readonly string[] {
	const outer = lines.filter(({ text }) => indentOf(text) === 0 && definitionIn(text, path) !== undefined);
	const titles = outer.filter(({ text }) => isTitle(text, path));
	const definitions = outer.filter(({ text }) => definitionIn(text, path)?.kind !== "key");
	const told =
		titles.length < 2
			? definitions
			: titles.length < mostLines / 2
				? titles.flatMap((title) => [title, ...under(title, lines, path)])
				: titles;
	const shown = told.slice(0, mostLines).map(({ number, text }) => bullet({ path, line: number, text }, []));
	const more = told.length - shown.length;
	return shown.length === 0 ? [] : ["", `In ${path}:`, ...shown, ...(more > 0 ? [`… and ${more} more`] : [])];
}

const isHeading = (text: string, path: string): boolean => definitionIn(text, path)?.kind === "heading";

/** A heading that begins with `#` or `=`; a line that only looks like a heading is left out. */
const isTitle = (text: string, path: string): boolean => /^[#=]/.test(text) && isHeading(text, path);

const boilerplate =
	/^#!|copyright|licen[cs]e|all rights reserved|do not edit|preprocessed|spdx|coding[:=]|eslint|prettier|@ts-|^\s*(?:use strict|use warnings|["']use |<\?xml|<!doctype)/i;

const speaks = (text: string): boolean => /\p{L}{3}/u.test(text) && !boilerplate.test(text);

/** The first line under a heading, unless that is a heading too. */
function under(title: NumberedLine, lines: readonly NumberedLine[], path: string): readonly NumberedLine[] {
	const next = lines.find(({ number, text }) => number > title.number && text.trim() !== "");
	return next === undefined || isHeading(next.text, path) ? [] : [next];
}

/** The headings of an introducing file, and its first sentences. */
function beginningOf({ path, lines }: Piece): readonly string[] {
	const titles = lines.filter(({ text }) => isTitle(text, path)).slice(0, 8);
	const opening = firstProse({ path, lines })?.from ?? 0;
	const prose = lines.filter(({ number, text }) => number >= opening && /^\p{L}.{40}/u.test(text)).slice(0, 3);
	const shown = [...titles, ...prose].sort((a, b) => a.number - b.number);
	if (shown.length === 0) return [];
	return ["", `${path} begins:`, ...shown.map(({ number, text }) => bullet({ path, line: number, text }, []))];
}

/** The folders at the top with all files below them, the largest first. */
function foldersIn({ entries }: Listing): readonly (readonly [string, number])[] {
	const counts = new Map<string, number>();
	for (const { path, files } of entries) {
		if (!path.includes("/") || path.startsWith(".")) continue;
		const folder = `${path.split("/")[0]}/`;
		counts.set(folder, (counts.get(folder) ?? 0) + files);
	}
	return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
}

const someOf = (names: readonly string[], most: number): string =>
	names.slice(0, most).join(", ") + (names.length > most ? `, … and ${names.length - most} more` : "");
