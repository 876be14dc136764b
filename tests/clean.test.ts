/** Nothing is packed that only an older build had made. */
import { execFileSync } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { root } from "./workspace.ts";

test.each(["release", "test:pack"])("%s begins with no output of an older build", async (name) => {
	const { scripts } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
	expect(scripts[name]).toMatch(/^node tools\/clean\.ts && node tools\/turbo\.ts run build\b/);
});

test("what builds have left is taken away, and nothing else", async () => {
	const home = await mkdtemp(join(tmpdir(), "reyn-clean-"));
	try {
		for (const file of ["tools/clean.ts", "tests/workspace.ts"]) await cp(join(root, file), join(home, file));
		const sources = ["package.json", "src/index.ts", "src/dist/kept.ts", "node_modules/x/dist/index.js"];
		const built = ["dist/index.js", "dist/old/stale.d.ts"];
		for (const place of ["packages/a", "apps/b"])
			for (const file of [...sources, ...built]) await write(join(home, place, file), "{}");
		// A folder without a manifest is no package.
		await write(join(home, "packages/other/dist/index.js"), "");
		await write(join(home, "package.json"), '{ "type": "module" }');
		execFileSync(process.execPath, ["tools/clean.ts"], { cwd: home });
		for (const place of ["packages/a", "apps/b"]) expect(await filesIn(join(home, place))).toEqual([...sources].sort());
		expect(await filesIn(join(home, "packages/other"))).toEqual(["dist/index.js"]);
	} finally {
		await rm(home, { recursive: true });
	}
});

async function write(path: string, text: string): Promise<void> {
	await mkdir(dirname(path), { recursive: true });
	await writeFile(path, text);
}

async function filesIn(directory: string): Promise<readonly string[]> {
	const entries = await readdir(directory, { recursive: true, withFileTypes: true });
	const paths = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
	return paths.map((path) => path.slice(directory.length + 1).replaceAll("\\", "/")).sort();
}
