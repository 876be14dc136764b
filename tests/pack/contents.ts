/** What an unpacked tarball must hold, and what it must not: pure reading, so that one look says it all. */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { join, relative, sep } from "node:path";
import { type Manifest, root } from "../workspace.ts";

const allowed = /^(dist\/.+|docs\/[\w-]+\.md|package\.json|README\.md|LICENSE)$/;
const required = ["package.json", "README.md", "LICENSE"];

/** Marks of the workspace that mean nothing, or something wrong, to whoever installs the package. */
const leftovers = ["@reyn/source", "workspace:", "catalog:"];

/** Where this machine keeps the sources, and its user's own. */
const machine = [root, homedir().replace(/[/\\]*$/, sep)];

/** Everything that is wrong with the package unpacked at `dir`; an empty list is a good package. */
export function complaints(dir: string): string[] {
	const files = readdirSync(dir, { recursive: true, withFileTypes: true })
		.filter((entry) => entry.isFile())
		.map((entry) => relative(dir, join(entry.parentPath, entry.name)).replaceAll(sep, "/"));
	const text = readFileSync(join(dir, "package.json"), "utf8");
	const manifest: Manifest = JSON.parse(text);

	return [
		...required
			.filter((file) => !files.includes(file) || statSync(join(dir, file)).size === 0)
			.map((file) => `${file} is missing or empty`),
		...files.filter((file) => !allowed.test(file)).map((file) => `${file} has no business in the tarball`),
		...leftovers.filter((mark) => text.includes(mark)).map((mark) => `package.json still says ${mark}`),
		...exportComplaints(dir, manifest),
		...binComplaints(dir, manifest),
		...urlComplaints(text, manifest),
		...files.flatMap((file) => textComplaints(file, readFileSync(join(dir, file), "utf8"))),
	];
}

function exportComplaints(dir: string, { exports = {} }: Manifest): string[] {
	return Object.entries(exports).flatMap(([subpath, target]) => {
		if (typeof target === "string") return existsSync(join(dir, target)) ? [] : [`"${subpath}" names no file`];
		return ["types", "default"]
			.filter((condition) => !existsSync(join(dir, target[condition] ?? "(unnamed)")))
			.map((condition) => `"${subpath}" has no file for ${condition}`);
	});
}

function binComplaints(dir: string, { bin = {} }: Manifest): string[] {
	return Object.values(bin).flatMap((target) => {
		const file = join(dir, target);
		if (!existsSync(file)) return [`bin ${target} names no file`];
		return [
			...(statSync(file).mode & 0o111 ? [] : [`bin ${target} is not executable`]),
			...(readFileSync(file, "utf8").startsWith("#!") ? [] : [`bin ${target} has no #! line`]),
		];
	});
}

/** All that a manifest leads to lies in the repository that it names: no registry or host of somebody's own. */
function urlComplaints(text: string, { repository }: Manifest): string[] {
	const home = repository?.url.replace(/^git\+|\.git$/g, "");
	if (home === undefined) return ["package.json names no repository"];
	const urls = [...text.matchAll(/[a-z+]+:\/\/[^"]+/g)].map(([url]) => url.replace(/^git\+|\.git$/g, ""));
	return urls
		.filter((url) => url !== home && !url.startsWith(`${home}/`))
		.map((url) => `package.json leads to ${url}, outside ${home}`);
}

function textComplaints(file: string, text: string): string[] {
	return [
		...machine.filter((path) => path.length > 1 && text.includes(path)).map((path) => `${file} names ${path}`),
		...(file.endsWith(".map") ? mapComplaints(file, JSON.parse(text)) : []),
	];
}

/** A source of the package, or of one that is bundled with it. */
const ofRepository = /^(\.\.\/)+([\w-]+\/){0,2}src\/[\w/.-]+\.[jt]s$/;
const ofOthers = /^(\.\.\/)+node_modules\/[\w/.@+-]+\.[cm]?js$/;

/** A trace is led to files and lines by their names; the texts stay in the repository. */
function mapComplaints(file: string, map: { sources: readonly string[]; sourcesContent?: unknown }): string[] {
	return [
		...("sourcesContent" in map ? [`${file} holds the sources`] : []),
		...map.sources
			.filter((source) => !ofRepository.test(source) && !ofOthers.test(source))
			.map((source) => `${file} names ${source}, which is no source of ours, and none of a package that is in it`),
	];
}
