/** What a directory is about, by the names of its files. */
import { systemTimers } from "@reyn/wal";
import { Effort } from "./effort.ts";
import { defaultLimits } from "./file-tools.ts";
import { pathKind } from "./line-kind.ts";
import { openRoot, type RootOptions } from "./root-directory.ts";
import { walk } from "./walk.ts";

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
	"util",
	"utils",
	"common",
	"file",
	"files",
	"data",
	"type",
	"types",
	"error",
	"errors",
]);
const maxFiles = 5_000;

/** What a directory is about, most common first: the words that the names of its source files, or else of all its files, share. */
export async function topicsOf(root: string, options: RootOptions = {}): Promise<readonly string[]> {
	const top = await (await openRoot(root, options)).directory([]);
	const paths: string[] = [];
	using effort = new Effort({ ...defaultLimits, maxFiles }, new AbortController().signal, systemTimers);
	try {
		for await (const { directory, files } of walk(top, { rules: [], effort })) {
			for (const name of files) paths.push(directory.below(name));
		}
	} finally {
		await top.close();
	}
	const source = paths.filter((path) => pathKind(path) === "source");
	// The same name in many folders is one name: it says how the folders are built, not what they hold.
	const names = new Set(
		(source.length >= 5 ? source : paths).map((path) => path.replace(/^.*\//, "").replace(/\..*$/, "")),
	);
	const counts = new Map<string, number>();
	for (const name of names) {
		const words = name
			.replace(/(\p{Ll})(\p{Lu})/gu, "$1 $2")
			.toLowerCase()
			.split(/[^\p{L}]+/u);
		for (const word of new Set(words))
			if (word.length > 2 && !dull.has(word)) counts.set(word, (counts.get(word) ?? 0) + 1);
	}
	return [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1)).map(([word]) => word);
}
