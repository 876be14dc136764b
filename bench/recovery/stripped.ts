/**
 * The contenders as plain JavaScript beside the packages as they are built, so that neither the time nor the memory of
 * stripping types is measured.
 */
import { mkdir, readFile, realpath, symlink, writeFile } from "node:fs/promises";
import { stripTypeScriptTypes } from "node:module";
import { dirname, join } from "node:path";

const bench = join(import.meta.dirname, "..");
const files = ["recovery/contend.ts", "recovery/contenders.ts", "entries.ts", "entry.ts"];

/** Gives the path of the script that runs one contender. */
export async function strippedContend(directory: string): Promise<string> {
	const modules = join(directory, "node_modules");
	await mkdir(join(modules, "@reyn"), { recursive: true });
	for (const name of ["zod", "@reyn/wal"])
		await symlink(await realpath(join(bench, "node_modules", name)), join(modules, name));
	await writeFile(join(directory, "package.json"), JSON.stringify({ type: "module" }));
	for (const name of files) {
		const code = stripTypeScriptTypes(await readFile(join(bench, name), "utf8"));
		const path = join(directory, name.replace(/ts$/, "js"));
		await mkdir(dirname(path), { recursive: true });
		await writeFile(path, code.replace(/(["'])(\.{1,2}\/[^"']*)\.ts\1/g, "$1$2.js$1"));
	}
	return join(directory, "recovery/contend.js");
}
