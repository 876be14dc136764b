/** The READMEs and the pages that they lead to, as text with fenced blocks in it. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { findPackages, root } from "./workspace.ts";

export interface Readme {
	/** From the repository's root: `packages/wal/README.md`. */
	readonly name: string;
	readonly dir: string;
	readonly text: string;
}

/** A fenced block: what stands behind its opening fence, and the line that fence is on. */
export interface Block {
	readonly info: string;
	readonly line: number;
	readonly body: string;
}

export const packages = findPackages();
/** Where each package has its README. */
export const expected = packages.map(({ dir }) => join(dir, "README.md"));
export const readmes = [join(root, "README.md"), ...expected].filter((path) => existsSync(path)).map(read);
/** Pages that a README leads to, in `docs/` beside it: what a part of the package is for, where that is no part of its first screen. */
export const pages = packages.flatMap(({ dir }) => {
	const docs = join(dir, "docs");
	return existsSync(docs) ? readdirSync(docs).map((name) => read(join(docs, name))) : [];
});

export function read(path: string): Readme {
	return {
		name: relative(root, path).replaceAll("\\", "/"),
		dir: dirname(path),
		text: readFileSync(path, "utf8").replaceAll("\r\n", "\n"),
	};
}

export function blocksOf(text: string): Block[] {
	return [...text.matchAll(/^```([^\n`]*)\n([\s\S]*?)^```$/gm)].map(({ 1: info = "", 2: body = "", index }) => ({
		info: info.trim(),
		line: text.slice(0, index).split("\n").length,
		body,
	}));
}

/** What fits an output as a README shows it: an ellipsis stands for a part of a line, or alone for any lines. */
export function pattern(output: string): RegExp {
	const quoted = output.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
	return new RegExp(`^${quoted.replace(/^…\n/gm, "(?:.*\\n)*?").replaceAll("…", ".*?")}$`);
}
