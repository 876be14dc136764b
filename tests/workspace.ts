/** The packages of this repository as they stand on disk: a folder and its manifest. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export interface Manifest {
	readonly name: string;
	readonly version: string;
	readonly private?: boolean;
	readonly description?: string;
	readonly keywords?: readonly string[];
	readonly license?: string;
	readonly repository?: { readonly type: string; readonly url: string; readonly directory: string };
	readonly homepage?: string;
	readonly bugs?: { readonly url: string };
	/** Command → a file. */
	readonly bin?: Readonly<Record<string, string>>;
	readonly exports?: Exports;
	readonly scripts?: Readonly<Record<string, string>>;
	readonly dependencies?: Ranges;
	readonly devDependencies?: Ranges;
	readonly peerDependencies?: Ranges;
	readonly optionalDependencies?: Ranges;
}

/** Subpath → a file, or condition → a file. */
export type Exports = Readonly<Record<string, string | Readonly<Record<string, string>>>>;
export type Ranges = Readonly<Record<string, string>>;

export interface Package {
	readonly dir: string;
	readonly manifest: Manifest;
}

export const root = fileURLToPath(new URL("..", import.meta.url));

/** Everything under packages/ and apps/ of the checkout at `top`. */
export function findPackages(top = root): Package[] {
	return ["packages", "apps"]
		.map((group) => join(top, group))
		.filter((group) => existsSync(group))
		.flatMap((group) => readdirSync(group).map((name) => join(group, name)))
		.sort()
		.filter((dir) => existsSync(join(dir, "package.json")))
		.map((dir) => ({ dir, manifest: JSON.parse(readFileSync(join(dir, "package.json"), "utf8")) }));
}

export function isPublished({ manifest }: Package): boolean {
	return !manifest.private;
}

/** What it is made of is in its own files: a dev dependency, which nobody installs. */
export function isBundled({ dir }: Package): boolean {
	return existsSync(join(dir, "rolldown.config.ts"));
}

/** What a user writes after `from`: `@reyn/wal`, `@reyn/wal/testing`. The manifest itself is not an entry. */
export function entriesOf({ exports = {} }: Manifest): string[] {
	return Object.keys(exports).filter((subpath) => subpath !== "./package.json");
}

export function specifier(name: string, subpath: string): string {
	return `${name}${subpath.slice(1)}`;
}
