/** Why nothing may be published now, if there is a reason: a release asks for it right before, and stops there. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { findPackages, isPublished, root } from "../tests/workspace.ts";
import { linksOf, repositoryOf } from "./repository.ts";

/** The changes that no version has yet. */
export function waitingChanges(top = root): string[] {
	return readdirSync(join(top, ".changeset")).filter((file) => file.endsWith(".md") && file !== "README.md");
}

/** `env` says where it is done: npm refuses a proof of origin that names another repository than the packages do. */
export function objections(top = root, env: NodeJS.ProcessEnv = process.env): string[] {
	const waiting = waitingChanges(top);
	const repository = repositoryOf(top);
	const here = env.GITHUB_REPOSITORY && `${env.GITHUB_SERVER_URL}/${env.GITHUB_REPOSITORY}`;
	const strays = findPackages(top).filter((found) => {
		const { repository, homepage, bugs } = found.manifest;
		return isPublished(found) && !isDeepStrictEqual({ repository, homepage, bugs }, linksOf(found, top));
	});
	return [
		...(waiting.length > 0
			? [`${waiting.length} changes have no version yet: run \`pnpm run version\`, and land it`]
			: []),
		...(here && here !== repository
			? [`this is ${here}, and package.json says ${repository}: change it there, then run tools/repository.ts`]
			: []),
		...strays.map(({ manifest: { name } }) => `${name} names another repository: run tools/repository.ts`),
	];
}

if (import.meta.main ?? process.argv[1] === import.meta.filename) {
	const found = objections();
	for (const each of found) console.error(each);
	process.exitCode = found.length === 0 ? 0 : 1;
}
