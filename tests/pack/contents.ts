/** What an unpacked tarball must hold, and what it must not: pure reading, so that one look says it all. */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative, sep } from "node:path";
import type { Manifest } from "../workspace.ts";

const allowed = /^(dist\/.+|docs\/[\w-]+\.md|package\.json|README\.md|LICENSE)$/;
const required = ["package.json", "README.md", "LICENSE"];

/** Marks of the workspace that mean nothing, or something wrong, to whoever installs the package. */
const leftovers = ["@reyn/source", "workspace:", "catalog:"];

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
