/** What to ask about a directory that nobody has described: its own most common words. */
import { readdir } from "node:fs/promises";
import { basename, extname } from "node:path";

export interface DemoQuestions {
	/** Needs several sources. */
	readonly first: string;
	/** Asked after the rewind. */
	readonly second: string;
}

const dull = new Set([
	"index",
	"test",
	"tests",
	"main",
	"readme",
	"license",
	"package",
	"config",
	"json",
	"src",
	"dist",
	"docs",
	"data",
	"file",
	"files",
	"node",
	"modules",
	"spec",
]);

/** @param question replaces the first one */
export async function chooseQuestions(cwd: string, question?: string): Promise<DemoQuestions> {
	const [one = "the files", two = "the rest", three = one] = await commonWords(cwd);
	return {
		first: question ?? `How do "${one}" and "${two}" work together, and where is each of them tested or explained?`,
		second: `Where is "${three}" defined?`,
	};
}

/** The words that most file names have in common; names are the best summary that costs nothing to read. */
async function commonWords(cwd: string): Promise<string[]> {
	const names = (await readdir(cwd, { recursive: true, withFileTypes: true }))
		.filter(
			(entry) =>
				entry.isFile() &&
				!/(^|[\\/])(node_modules|dist|\.[^\\/]+)([\\/]|$)/.test(`${entry.parentPath.slice(cwd.length)}/`),
		)
		.map(({ name }) => basename(name, extname(name)));
	const counts = new Map<string, number>();
	for (const name of names) {
		const words = name
			.replace(/([a-z])([A-Z])/g, "$1 $2")
			.toLowerCase()
			.split(/[^\p{L}]+/u);
		for (const word of new Set(words))
			if (word.length > 3 && !dull.has(word)) counts.set(word, (counts.get(word) ?? 0) + 1);
	}
	return [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1)).map(([word]) => word);
}
