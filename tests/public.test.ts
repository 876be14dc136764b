/** What npm and the repository's host show of us: where a package comes from, links that lead somewhere, no release by mistake. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { objections } from "../tools/releasable.ts";
import { linksOf, repositoryOf } from "../tools/repository.ts";
import { findPackages, isPublished, root } from "./workspace.ts";

const published = findPackages().filter(isPublished);
const tracked = git("ls-files", "-coz", "--exclude-standard").split("\0");

describe.each(published)("$manifest.name", (found) => {
	const { dir, manifest } = found;

	test("says where it comes from, and is found by words", () => {
		expect(manifest, "run: pnpm exec node tools/repository.ts").toMatchObject(linksOf(found));
		expect(manifest.description).toMatch(/\.$/);
		expect(manifest.keywords?.length).toBeGreaterThanOrEqual(3);
		expect(new Set(manifest.keywords).size).toBe(manifest.keywords?.length);
	});

	test("has a README whose links lead somewhere on npm too", () => {
		expect(deadLinks(readFileSync(join(dir, "README.md"), "utf8"), manifest.repository?.directory ?? "")).toEqual([]);
	});
});

test("a link that is dead on npm is seen: no file, a file of the machine alone, one outside, one from a wrong directory", () => {
	const links = "[a](../wal/README.md#x) [b](../../docs/bench.md) [c](#there) [d](https://nodejs.org) `[e](f)`";
	expect(deadLinks(links, "packages/plan")).toEqual([]);
	expect(deadLinks("[a](../gone/README.md)", "packages/plan")).toEqual(["../gone/README.md"]);
	expect(deadLinks("[a](../Wal/README.md)", "packages/plan")).toEqual(["../Wal/README.md"]);
	expect(deadLinks("[a](../../node_modules/vitest/README.md)", "packages/plan")).toHaveLength(1);
	expect(deadLinks("[a](../../../README.md)", "packages/plan")).toEqual(["../../../README.md"]);
	expect(deadLinks(links, "plan")).toEqual(["../wal/README.md#x", "../../docs/bench.md"]);
});

test("the repository's address stands in the root's manifest, and else where it is made of that", () => {
	const files = git("grep", "--untracked", "-lF", repositoryOf()).trim().split("\n");
	const manifests = published.map(({ manifest }) => `${manifest.repository?.directory}/package.json`);
	expect(files.toSorted()).toEqual([...manifests, "package.json"].sort());
});

test("the lockfile names no registry, and no file asks for one", () => {
	expect(readFileSync(join(root, "pnpm-lock.yaml"), "utf8")).not.toMatch(/https?:\/\//);
	expect(tracked.filter((file) => /(^|\/)\.(npmrc|yarnrc.*)$/.test(file))).toEqual([]);
});

describe("a release", () => {
	test("stops while a change has no version, and where the packages name another repository", async () => {
		const top = await mkdtemp(join(tmpdir(), "reyn-releasable-"));
		try {
			const wal = join("packages", "wal", "package.json");
			for (const file of ["package.json", wal, join(".changeset", "config.json")])
				await cp(join(root, file), join(top, file));
			const home = new URL(repositoryOf());
			const there = { GITHUB_SERVER_URL: home.origin, GITHUB_REPOSITORY: home.pathname.slice(1) };
			expect(objections(top, {})).toEqual([]);
			expect(objections(top, there)).toEqual([]);
			expect(objections(top, { ...there, GITHUB_REPOSITORY: "somebody/fork" })).toEqual([
				expect.stringContaining("somebody/fork"),
			]);
			await writeFile(join(top, ".changeset", "some-change.md"), "");
			expect(objections(top, {})).toEqual([expect.stringContaining("1 changes have no version")]);
			await rm(join(top, ".changeset", "some-change.md"));
			const manifest = JSON.parse(readFileSync(join(root, wal), "utf8"));
			await writeFile(join(top, wal), JSON.stringify({ ...manifest, homepage: "https://example.org" }));
			expect(objections(top, {})).toEqual([expect.stringContaining("@reyn/wal")]);
		} finally {
			await rm(top, { recursive: true });
		}
	});

	test("asks for that right before it publishes", () => {
		const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
		expect(scripts.release).toMatch(/ && node tools\/releasable\.ts && changeset publish$/);
	});
});

/** The relative links of a README that lead nowhere as npm resolves them: in the repository, from the directory that the manifest names. */
function deadLinks(text: string, directory: string): string[] {
	const files = "https://host.example/blob/HEAD/";
	const prose = text.replace(/^```[\s\S]*?^```$/gm, "").replace(/`[^`\n]*`/g, "");
	return [...prose.matchAll(/\]\(([^)\s]+)\)/g)]
		.map(([, target = ""]) => target)
		.filter((target) => !target.startsWith("#") && !/^[a-z]+:/.test(target))
		.filter((target) => {
			const { href, hash } = new URL(target, `${files}${directory}/README.md`);
			const path = decodeURIComponent(href.slice(files.length, href.length - hash.length));
			return !href.startsWith(files) || !tracked.includes(path);
		});
}

function git(...args: string[]): string {
	return execFileSync("git", args, { cwd: root, encoding: "utf8" });
}
