/** `list`: the files below a directory. */
import { defineTool, type Tool } from "@reyn/journal";
import { z } from "zod";
import type { Effort } from "./effort.ts";
import type { Workspace } from "./file-tools.ts";
import { compareBytes, maxPathLength, parsePath, placeOf, type RootDirectory, showPath } from "./root-directory.ts";
import { readText, showBytes, showCount, splitLines } from "./text-file.ts";
import { enter, walk } from "./walk.ts";

const maxEntries = 200;
// Counting the lines of a larger file is not worth the reading.
const maxCountedBytes = 128_000;

const schema = z.strictObject({
	path: z
		.string()
		.max(maxPathLength)
		.optional()
		.describe("Directory to list, relative to the root; the root itself when absent"),
	depth: z
		.int()
		.min(1)
		.max(32)
		.optional()
		.describe(`Levels of directories to open; when absent, as many as fit into ${maxEntries} lines`),
});

interface Found {
	/** Relative to the root. */
	readonly path: string;
	readonly kind: "file" | "directory" | "link";
	/** Of the directory it lies in, below the start. */
	readonly depth: number;
}

/** `list`: the files below a directory, with sizes and line counts. */
export function listFiles(workspace: Workspace): Tool {
	return defineTool({
		name: "list",
		description:
			"List the files below a directory, with sizes and line counts. What .gitignore names and symbolic links point to is left out.",
		input: schema,
		purity: "world",
		wants: async ({ path = "" }) => [{ action: "read", ...placeOf(path) }],
		async call({ path = "", depth }, { signal }) {
			const root = await workspace.root();
			const start = parsePath(path);
			using effort = workspace.effort(signal);
			const { found, unreadable } = await collect(root, start, effort);
			const name = start.length === 0 ? "the root" : showPath(start.join("/"));
			if (found.length === 0) return [`${name} has no files to show`, ...effort.remarks()].join("\n");

			const level = depth ?? deepestThatFits(found);
			const shown = found.filter(
				(entry) => entry.depth < level && !(entry.kind === "directory" && entry.depth < level - 1),
			);
			const lines: string[] = [];
			for (const entry of shown.slice(0, maxEntries)) {
				signal.throwIfAborted();
				lines.push(await describe(root, entry, found));
			}
			const files = found.filter((entry) => entry.kind === "file").map((entry) => entry.path);
			return [
				`${name}: ${showCount(files.length, "file")}${effort.stopped === undefined ? "" : " and more; the walk stopped there"}${endings(files)}`,
				...lines,
				...(shown.length > maxEntries ? [`… and ${showCount(shown.length - maxEntries)} more`] : []),
				...(unreadable > 0 ? [`${showCount(unreadable)} directories could not be read`] : []),
				...effort.remarks(),
			].join("\n");
		},
	});
}

/** ` (98 .ts, 20 .json)`: the commonest endings. */
function endings(paths: readonly string[]): string {
	const by = Map.groupBy(paths, (path) => /[^/]\.([A-Za-z0-9]{1,12})$/.exec(path)?.[1] ?? "");
	by.delete("");
	const common = [...by]
		.map(([ending, own]) => ({ ending, count: own.length }))
		.sort((a, b) => b.count - a.count || compareBytes(a.ending, b.ending));
	return common.length === 0
		? ""
		: ` (${common
				.slice(0, 5)
				.map(({ ending, count }) => `${showCount(count)} .${ending}`)
				.join(", ")})`;
}

async function collect(root: RootDirectory, path: readonly string[], effort: Effort) {
	const found: Found[] = [];
	let unreadable = 0;
	const { start, rules } = await enter(root, path, effort);
	try {
		const onUnreadable = () => {
			unreadable++;
		};
		for await (const visited of walk(start, { rules, effort, onUnreadable })) {
			const add = (names: readonly string[], kind: Found["kind"]) => {
				for (const name of names) found.push({ path: visited.directory.below(name), kind, depth: visited.depth });
			};
			add(visited.files, "file");
			add(visited.directories, "directory");
			add(visited.links, "link");
		}
	} finally {
		await start.close();
	}
	const key = (entry: Found) => (entry.kind === "directory" ? `${entry.path}/` : entry.path);
	return { found: found.sort((a, b) => compareBytes(key(a), key(b))), unreadable };
}

function deepestThatFits(found: readonly Found[]): number {
	const deepest = found.reduce((most, { depth }) => Math.max(most, depth), 0) + 1;
	let level = 1;
	while (level < deepest && entriesAt(found, level + 1) <= maxEntries) level++;
	return level;
}

const entriesAt = (found: readonly Found[], level: number): number =>
	found.filter(({ depth, kind }) => depth < level && !(kind === "directory" && depth < level - 1)).length;

async function describe(root: RootDirectory, entry: Found, found: readonly Found[]): Promise<string> {
	if (entry.kind === "link") return `${showPath(entry.path)}  (symbolic link, not followed)`;
	if (entry.kind === "directory") {
		const inside = found.filter(({ kind, path }) => kind === "file" && path.startsWith(`${entry.path}/`)).length;
		return `${showPath(`${entry.path}/`)}  (${showCount(inside, "file")})`;
	}
	const size = await measure(root, entry.path).catch(() => "unreadable");
	return `${showPath(entry.path)}  ${size}`;
}

async function measure(root: RootDirectory, path: string): Promise<string> {
	const open = await root.file(path.split("/"));
	const size = open.bytes;
	const file = await readText(open, maxCountedBytes);
	if (file.kind === "text") return `${showBytes(size)}, ${showCount(splitLines(file.text).length, "line")}`;
	return file.kind === "binary" ? `${showBytes(size)}, binary` : showBytes(size);
}
