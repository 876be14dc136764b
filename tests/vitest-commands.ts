/** The vitest commands that a page names in code, and the test files that there are: whether one names a file and a title of these. */
import { globSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { findPackages, root } from "./workspace.ts";

export interface TestFile {
	readonly project: string;
	/** From the repository's root, with forward slashes. */
	readonly path: string;
	/** Of a test of many with holes: `%s`, `$name`, `${name}`. */
	readonly titles: readonly string[];
}

export interface Command {
	/** As it stands there. */
	readonly text: string;
	readonly project: string | undefined;
	/** Parts of a path, of which one has to fit. */
	readonly parts: readonly string[];
	/** A part of the name, as a regular expression. */
	readonly title: RegExp | undefined;
}

/** Every test file of this repository with its titles, as far as they stand in it: nothing of it is run. */
export const listTestFiles = (): readonly TestFile[] =>
	[...findPackages(), { dir: join(root, "tests"), manifest: { name: "reyn-tests" } }].flatMap(({ dir, manifest }) =>
		globSync("**/*.test.ts", { cwd: dir, exclude: ["**/node_modules", "**/dist"] }).map((file) => ({
			project: manifest.name,
			path: relative(root, join(dir, file)).replaceAll("\\", "/"),
			titles: titlesIn(readFileSync(join(dir, file), "utf8")),
		})),
	);

/** What is first given to a test, a group, or one of many; and the first words of the rows that those are made of. */
export function titlesIn(source: string): readonly string[] {
	const call = /(?:^|[^\w.])(?:test|it|describe)(?:\.\w+)*(?:\([^"'`]*?\))?\(\s*(["'`])(.*?)(?<!\\)\1/gs;
	const ofMany = /^\s*[\]`)]+\)?\(\s*(["'`])(.*?)(?<!\\)\1/gms;
	const row = /^\s*(?:\[\s*|\{ (?:name|title|what): )?(["'`])(.*?)(?<!\\)\1[,:\]]/gm;
	const found = [call, ofMany, row].flatMap((form) => [...source.matchAll(form)].map(([, , title = ""]) => title));
	return [...new Set(found)];
}

/** The commands `… vitest run …` of a page; `…` at the beginning of one stands for as much of the one before it in its line as is left out. */
export function commandsIn(page: string): readonly Command[] {
	return page.split("\n").flatMap((line) => {
		let before: readonly string[] = [];
		return [...line.matchAll(/`([^`]+)`/g)].flatMap(([, text = ""]) => {
			const words = wordsOf(text);
			const given = words[0] === "…" ? [...headOf(before, words.slice(1)), ...words.slice(1)] : words;
			const at = given.indexOf("vitest");
			if (at === -1 || given[at + 1] !== "run") return [];
			before = given.slice(at);
			return [parsed(text, given.slice(at + 2))];
		});
	});
}

/** What is wrong with a command; undefined where it tells at least one test. */
export function wrongWith({ project, parts, title }: Command, files: readonly TestFile[]): string | undefined {
	const ofProject = files.filter((file) => project === undefined || file.project === project);
	if (ofProject.length === 0) return `no project is called ${project}`;
	const missing = parts.filter((part) => !ofProject.some(({ path }) => path.includes(part)));
	if (missing.length > 0) return `no file is called ${missing.join(", ")}`;
	const told = ofProject.filter(({ path }) => parts.length === 0 || parts.some((part) => path.includes(part)));
	if (title === undefined || told.some(({ titles }) => titles.some((each) => title.test(each)))) return undefined;
	return `no test is called ${title.source}`;
}

/** Of the words before, what those that are given leave out: the program, its project, its file. */
function headOf(before: readonly string[], [first = ""]: readonly string[]): readonly string[] {
	const project = before.indexOf("--project");
	if (first === "--project") return before.slice(0, project);
	if (/^@reyn\/|^reyn-tests$/.test(first)) return before.slice(0, project + 1);
	if (first !== "-t") return before.slice(0, project + 2);
	return before.includes("-t") ? before.slice(0, before.indexOf("-t")) : before;
}

function parsed(text: string, words: readonly string[]): Command {
	const parts: string[] = [];
	let [project, title]: (string | undefined)[] = [];
	for (let i = 0; i < words.length; i++) {
		const word = words[i] as string;
		if (word === "--project") project = words[++i];
		else if (word === "-t") title = words[++i];
		else parts.push(word);
	}
	return { text, project, parts, title: title === undefined ? undefined : new RegExp(title) };
}

/** As a shell has them; a table of Markdown has its `|` behind a backslash. */
const wordsOf = (text: string): string[] =>
	[...text.replaceAll("\\|", "|").matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, a, b, c]) => a ?? b ?? c ?? "");
