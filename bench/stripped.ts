/**
 * The code as its users run it: the sources of today as plain JavaScript in a directory of their own, so that neither the
 * time nor the memory of stripping types is measured.
 */
import { cp, mkdir, readdir, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { stripTypeScriptTypes } from "node:module";
import { join } from "node:path";

const wal = join(import.meta.dirname, "../packages/wal");

/** Gives the path of the script that runs one contender. */
export async function strippedContend(directory: string): Promise<string> {
	const modules = join(directory, "node_modules");
	const code = join(modules, "@reyn/wal");
	await mkdir(code, { recursive: true });
	await cp(join(wal, "src"), join(code, "src"), { recursive: true });
	await stripAll(join(code, "src"));
	await writeFile(join(code, "package.json"), JSON.stringify({ type: "module", exports: "./src/index.js" }));
	await symlink(await realpath(join(import.meta.dirname, "node_modules/zod")), join(modules, "zod"));
	await symlink(await realpath(join(wal, "node_modules/fs-native-extensions")), join(modules, "fs-native-extensions"));
	for (const name of ["contend.ts", "contenders.ts", "entries.ts"])
		await cp(join(import.meta.dirname, name), join(directory, name));
	await writeFile(join(directory, "package.json"), JSON.stringify({ type: "module" }));
	await stripAll(directory, false);
	return join(directory, "contend.js");
}

async function stripAll(directory: string, recursive = true): Promise<void> {
	for (const name of await readdir(directory, { recursive })) {
		if (!name.endsWith(".ts")) continue;
		const path = join(directory, name);
		const code = stripTypeScriptTypes(await readFile(path, "utf8"));
		await writeFile(path.replace(/ts$/, "js"), code.replace(/(["'])(\.{1,2}\/[^"']*)\.ts\1/g, "$1$2.js$1"));
		await rm(path);
	}
}
