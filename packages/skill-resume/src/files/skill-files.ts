/** The files of a directory of skills: which there are, and what is in them. Nothing of them runs. */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { extname, join, sep } from "node:path";
import { codeOf } from "@reyn/wal";

/** A file of a skill, or one that a skill imports. */
export interface SkillFile {
	/** From the directory on, with forward slashes: `report.ts`. */
	readonly name: string;
	/** SHA-256 of what is in it, hex. */
	readonly hash: string;
}

/** The endings of files that hold code. */
const codeEndings: readonly string[] = [".ts", ".mts", ".js", ".mjs"];

/** A file is no book, and a directory no disk. */
const MOST_BYTES = 1024 * 1024;
const MOST_FILES = 1000;

/**
 * All that a skill of this directory may import from it, below it too, by name; none where there is no such directory. Files that cannot
 * be read, or have more than 1 MiB, are left out.
 *
 * @throws an error of the system where the directory cannot be read, or has more than 1000 such files
 */
export function skillFilesIn(directory: string): readonly SkillFile[] {
	const found: SkillFile[] = [];
	const look = (below: string): void => {
		for (const entry of readdirSync(join(directory, below), { withFileTypes: true }).sort(byName)) {
			const name = below === "" ? entry.name : `${below}/${entry.name}`;
			if (entry.isDirectory()) {
				if (entry.name !== "node_modules" && !entry.name.startsWith(".")) look(name);
			} else if (isCode(entry.name) || extname(entry.name) === ".json") {
				if (found.length >= MOST_FILES)
					throw new Error(`${directory} has more than ${MOST_FILES} files; a directory of skills has fewer`);
				const text = textOf(join(directory, name));
				if (text !== undefined) found.push({ name, hash: hashOf(text) });
			}
		}
	};
	try {
		look("");
	} catch (error) {
		if (codeOf(error) !== "ENOENT" && codeOf(error) !== "ENOTDIR") throw error;
	}
	return found;
}

/** The files of skills lie in the directory itself; what lies below it is imported by them. */
export const isSkillName = (name: string): boolean => !name.includes("/") && isCode(name) && !/\.d\.m?ts$/.test(name);

/** A skill is called as its file. */
export const skillNameOf = (file: string): string => file.slice(0, -extname(file).length);

/** What is in a file; undefined: it cannot be read, is none, or is too large. */
export function textOf(path: string): string | undefined {
	try {
		const stats = statSync(path);
		return stats.isFile() && stats.size <= MOST_BYTES ? readFileSync(path, "utf8") : undefined;
	} catch {
		return undefined;
	}
}

export const hashOf = (text: string): string => createHash("sha256").update(text).digest("hex");

/** From the directory on; undefined: it lies elsewhere. */
export function nameBelow(directory: string, path: string): string | undefined {
	const start = directory.endsWith(sep) ? directory : directory + sep;
	return path.startsWith(start) ? path.slice(start.length).replaceAll(sep, "/") : undefined;
}

const isCode = (name: string): boolean => codeEndings.includes(extname(name));
const byName = (a: { readonly name: string }, b: { readonly name: string }): number => (a.name < b.name ? -1 : 1);
