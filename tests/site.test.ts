/** Each page of the repository is on the site once, its links lead where they led, and its diagrams are drawn. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { diagramOf } from "../apps/site/src/diagram.ts";
import { claim, features } from "../apps/site/src/home.ts";
import { anchorOf, linkOf } from "../apps/site/src/links.ts";
import { addressOf, pages, repository, root } from "../apps/site/src/pages.ts";

/** For who works here, and made at a release. */
const noPages = /^\.|(?:^|\/)CHANGELOG\.md$|^apps\/site\/README\.md$/;

test("each page of the repository has a row, and no row is of nothing", () => {
	const tracked = execFileSync("git", ["ls-files", "-co", "--exclude-standard", "*.md"], {
		cwd: root,
		encoding: "utf8",
	});
	const there = tracked
		.trim()
		.split("\n")
		.filter((path) => !noPages.test(path));
	const shown = pages.map(({ from }) => from).filter((from) => !from.startsWith("apps/site/api/"));
	expect(shown.toSorted()).toEqual(there.sort());
});

test("no two pages have one address", () => {
	const addresses = pages.map(({ to }) => addressOf(to));
	expect(new Set(addresses).size).toBe(addresses.length);
	expect(addressOf("guides/index.md")).toBe("/guides/");
	expect(addressOf("guides/tools.md")).toBe("/guides/tools");
});

test.each([
	["README.md", "packages/wal/README.md", "/concepts/wal.md"],
	["packages/plan/README.md", "../journal/README.md#what-it-promises", "/concepts/journal.md#what-it-promises"],
	["docs/invariants.md", "adr/", "/decisions/index.md"],
	["README.md", "#four-doors", "#four-doors"],
	["README.md", "https://nodejs.org", "https://nodejs.org"],
	["docs/faults.md", "../tests/faults/index.ts", `${repository}/blob/main/tests/faults/index.ts`],
	["CONTRIBUTING.md", "tests/faults/", `${repository}/tree/main/tests/faults`],
])("on %s the link %s leads to %s", (from, href, target) => {
	expect(linkOf(href, from)).toBe(target);
});

test.each(["gone.md", "../README.md", "packages/wal/src/gone.ts"])("a link to nothing ends the build: %s", (href) => {
	expect(() => linkOf(href, "README.md")).toThrow(`README.md links to ${href}, and nothing is there`);
});

test("an anchor is what the host of the repository makes of a heading", () => {
	expect(anchorOf("Segment header: the first line of each segment")).toBe(
		"segment-header-the-first-line-of-each-segment",
	);
	expect(anchorOf("`log.blob`, `roots/…`, `chunks/…`")).toBe("logblob-roots-chunks");
	expect(anchorOf("WAL_IN_USE")).toBe("wal_in_use");
});

test("a diagram is drawn with all its names, in the page's colours, and asks nobody for anything", () => {
	const picture = diagramOf('flowchart TD\n  run(["1: run it"]) -.-> cli\n  cli --> plan & wal\n');
	for (const name of ["1: run it", "cli", "plan", "wal"]) expect(picture).toContain(`>${name}</text>`);
	expect(picture).not.toMatch(/<style|@import|https?:(?!\/\/www\.w3\.org\/)|\n\s*\n/);
	expect(picture).toContain("var(--_text)");
});

test("the first page says what the README and the manifests say", () => {
	expect(readFileSync(join(root, "README.md"), "utf8")).toContain(claim.what.slice(0, -1));
	expect(claim.why).toMatch(/^[A-Z].*\.$/);
	expect(features.map(({ title }) => title)).toContain("@reyn/runtime");
	expect(features.filter(({ details }) => !details)).toEqual([]);
});
