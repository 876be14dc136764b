/** The site is built of what stands here: each page, its search, and nothing from another host. Its parts have tests beside this one and in `apps/site/test`. */
import { execFile } from "node:child_process";
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, expect, test } from "vitest";
import { faultsIn } from "../apps/site/src/built.ts";
import { entriesOf, findPackages, isPublished, root, specifier } from "./workspace.ts";

const site = join(root, "apps/site");
const dist = join(site, "dist");

beforeAll(async () => {
	for (const command of [["src/api.ts"], ["node_modules/vitepress/bin/vitepress.js", "build"]])
		await promisify(execFile)(process.execPath, command, { cwd: site });
});

test("has each page of the repository, with its heading", async () => {
	// Which pages there are is known once the API is written.
	const { pages } = await import("../apps/site/src/pages.ts");
	const missing = pages.filter(({ from, to }) => {
		const [, heading = ""] = /^# (.+)$/m.exec(readFileSync(join(root, from), "utf8")) ?? [];
		const page = join(dist, to.replace(/\.md$/, ".html"));
		return !existsSync(page) || !textOf(page).includes(heading.replaceAll("`", ""));
	});
	expect(pages.length).toBeGreaterThan(80);
	expect(missing).toEqual([]);
});

test("has a page of the API for each public entry, with a docstring of the source", () => {
	const entries = findPackages()
		.filter(isPublished)
		.flatMap(({ manifest }) => entriesOf(manifest).map((subpath) => specifier(manifest.name, subpath)))
		.filter((entry) => !entry.endsWith("/internal"));
	const shown = globSync("api/@reyn/**/*.html", { cwd: dist }).map((path) => path.replaceAll("\\", "/").slice(4, -5));
	expect(shown.sort()).toEqual(entries.sort());
	const [, docstring = ""] =
		/\/\*\* (An error of [^;*]*)/.exec(readFileSync(join(root, "packages/plan/src/errors.ts"), "utf8")) ?? [];
	expect(textOf(join(dist, "api/@reyn/plan.html"))).toContain(docstring);
});

test("can be searched without a network: the index lies beside the pages, and leads to pages and names", () => {
	const [index = ""] = globSync("assets/chunks/@localSearchIndex*.js", { cwd: dist });
	const text = readFileSync(join(dist, index), "utf8");
	for (const word of ["/concepts/journal.html#tries-limits-doubt", "/api/@reyn/wal.html#openwal", "idempotency"])
		expect(text).toContain(word);
});

test("has no link that leads nowhere, and asks no other host for anything", async () => {
	expect(await faultsIn(dist)).toEqual([]);
	const open = globSync("**/*.html", { cwd: dist }).filter(
		(path) => path !== "404.html" && !readFileSync(join(dist, path), "utf8").includes(`content="default-src 'self'`),
	);
	expect(open).toEqual([]);
});

/** What a reader sees of a page. */
function textOf(page: string): string {
	const text = readFileSync(page, "utf8").replace(/<[^>]*>/g, "");
	return text
		.replaceAll("&lt;", "<")
		.replaceAll("&gt;", ">")
		.replaceAll("&quot;", '"')
		.replaceAll("&#39;", "'")
		.replaceAll("&amp;", "&");
}
