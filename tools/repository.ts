/** Where the project lives: the root's manifest says so, and those of what we publish follow. Run, it writes that into them. */
import { readFileSync, writeFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { findPackages, isPublished, type Manifest, type Package, root } from "../tests/workspace.ts";

type Links = Required<Pick<Manifest, "repository" | "homepage" | "bugs">>;

/** The one place: `repository` in the manifest at `top`. */
export function repositoryOf(top = root): string {
	return JSON.parse(readFileSync(join(top, "package.json"), "utf8")).repository;
}

/** What a package says of it: npm leads there, and so does each relative link of its README. */
export function linksOf({ dir }: Package, top = root): Links {
	const repository = repositoryOf(top);
	const directory = relative(top, dir).replaceAll(sep, "/");
	return {
		repository: { type: "git", url: `git+${repository}.git`, directory },
		homepage: `${repository}/tree/main/${directory}#readme`,
		bugs: { url: `${repository}/issues` },
	};
}

if (import.meta.main ?? process.argv[1] === import.meta.filename) {
	for (const found of findPackages().filter(isPublished)) {
		const { name, version, description, keywords, license, repository, homepage, bugs, ...rest } = found.manifest;
		const manifest = { name, version, description, keywords, license, ...linksOf(found), ...rest };
		writeFileSync(join(found.dir, "package.json"), `${JSON.stringify(manifest, null, "\t")}\n`);
	}
}
