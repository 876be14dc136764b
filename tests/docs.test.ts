/** The pages of the repository itself keep their word: links lead somewhere, each file that is named is there, and a decision has its four headings. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative, sep } from "node:path";
import { describe, expect, test } from "vitest";
import { root } from "./workspace.ts";

const MAX_LINES = 130;
/** What is looked up in, and not read. */
const lookedUpIn = ["docs/bench.md", "docs/faults.md", "docs/formats/wal-v1.md"];
/** Those that say where in the source something is. */
const leads = (name: string): boolean => /^(?:ARCHITECTURE|CONTRIBUTING)\.md$|^docs\/adr\//.test(name);

const DECISION = /^docs\/adr\/\d{4}-[a-z0-9-]+\.md$/;
const headings = ["Status", "Decision", "Why not the obvious", "What it costs"];

interface Page {
	/** From the repository's root, with forward slashes. */
	readonly name: string;
	readonly text: string;
}

const above = readdirSync(root).filter((name) => name.endsWith(".md"));
const below = readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" }).filter((name) =>
	name.endsWith(".md"),
);
const pages = [...above, ...below.map((name) => `docs/${name.replaceAll(sep, "/")}`)].map(read);
const decisions = pages.filter(({ name }) => DECISION.test(name)).sort((a, b) => a.name.localeCompare(b.name));
const files = filesBelow(root);

describe.each(pages)("$name", (page) => {
	test("is short", () => {
		const lines = page.text.trimEnd().split("\n").length;
		if (!lookedUpIn.includes(page.name)) expect(lines).toBeLessThanOrEqual(MAX_LINES);
	});

	test("links to files that are there, and to headings in them", () => {
		expect(brokenLinksIn(page)).toEqual([]);
	});
});

test.each(pages.filter(({ name }) => leads(name)))("$name names files that are there", ({ text }) => {
	expect(missingIn(text)).toEqual([]);
});

test("decisions are numbered from 0001 on, and listed in their order", () => {
	expect(decisions.map(({ name }) => basename(name).slice(0, 4))).toEqual(
		decisions.map((_, i) => String(i + 1).padStart(4, "0")),
	);
	const { text } = read("docs/adr/README.md");
	const listed = [...text.matchAll(/^- \[\d{4}\]\((.+)\) (.+)$/gm)].map(([, file, title]) => `${file} ${title}`);
	expect(listed).toEqual(
		decisions.map(({ name, text: own }) => `${basename(name)} ${/^# \d{4} (.+)$/m.exec(own)?.[1]}`),
	);
});

test.each(decisions)(
	"$name says what was decided, why not the obvious, and what it costs, in short",
	({ name, text }) => {
		expect(text.startsWith(`# ${basename(name).slice(0, 4)} `)).toBe(true);
		expect([...text.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading)).toEqual(headings);
		const lines = text.trimEnd().split("\n").length;
		expect(lines).toBeGreaterThanOrEqual(15);
		expect(lines).toBeLessThanOrEqual(40);
	},
);

test("an invariant that a page names is on the page of invariants", () => {
	const known = new Set(read("docs/invariants.md").text.match(/(?<=^\| )I-\d+/gm));
	const named = pages.flatMap(({ name, text }) => (text.match(/\bI-\d+\b/g) ?? []).map((id) => ({ name, id })));
	expect(named.length).toBeGreaterThan(known.size);
	expect(named.filter(({ id }) => !known.has(id))).toEqual([]);
});

// The reading is itself checked, in memory.
test("a broken link is reported, and one to a heading that is not there", () => {
	const text =
		"[a](docs/gone.md) [b](docs/security.md#nothing) [c](docs/formats/wal-v1.md#walbase) [d](#own-words) [e](https://x.y/z.md)\n\n## Own words\n";
	expect(brokenLinksIn({ name: "README.md", text })).toEqual(["docs/gone.md", "docs/security.md#nothing"]);
});

test("a file is known by the end of its path, a folder too, and a pattern by what fits it", () => {
	const there =
		"`journal/src/lane.ts` `lane.ts` `packages/*/src/errors.ts` `runtime/src/features/<name>/index.ts` `features/`";
	const words = "`moves.length` `a/b` `@reyn/wal/testing` `pnpm test:deep` `.changeset/` `docs/adr/NNNN-title.md`";
	expect(missingIn(`${there} ${words}`)).toEqual([]);
	expect(missingIn("`journal/src/gone.test.ts` `an.ts` `packages/*/src/nothing.ts` `docs/nowhere/`")).toEqual([
		"journal/src/gone.test.ts",
		"an.ts",
		"packages/*/src/nothing.ts",
		"docs/nowhere/",
	]);
});

function read(name: string): Page {
	return { name, text: readFileSync(join(root, name), "utf8").replaceAll("\r\n", "\n") };
}

function brokenLinksIn({ name, text }: Page): string[] {
	const targets = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target);
	return targets.filter((target) => {
		if (/^[a-z]+:/.test(target)) return false;
		const [path = "", anchor] = target.split("#");
		const file = path === "" ? name : relative(root, join(root, dirname(name), path)).replaceAll("\\", "/");
		if (!existsSync(join(root, file))) return true;
		return anchor !== undefined && !anchorsIn(path === "" ? text : read(file).text).includes(anchor);
	});
}

/** As hosts of Markdown make them of headings. */
const anchorsIn = (text: string): readonly string[] =>
	[...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
		heading
			.toLowerCase()
			.replace(/[^\p{L}\p{N}_ -]/gu, "")
			.replaceAll(" ", "-"),
	);

/** The files and folders that a page names in code, and that are nowhere. */
function missingIn(text: string): string[] {
	const words = [...text.matchAll(/`([^`\s]+)`/g)].map(([, word = ""]) => word);
	const isPath = (word: string): boolean =>
		/^[\w.*<>/@-]+\.(?:ts|js|md|json|txt|yaml|yml)$/.test(word) || /^[\w-][\w.*<>-]*\/(?:[\w.*<>-]+\/)*$/.test(word);
	return words.filter((word) => isPath(word) && !word.includes("NNNN") && !isThere(word));
}

function isThere(path: string): boolean {
	const pattern = path
		.replace(/[.+?^${}()|[\]\\]/g, "\\$&")
		.replace(/\*|<[^>]*>/g, "[^/]*")
		.replace(/\/$/, "/.+");
	const fits = new RegExp(`(?:^|/)${pattern}$`);
	return files.some((file) => fits.test(file));
}

function filesBelow(directory: string): string[] {
	const isOurs = (name: string): boolean => !["node_modules", "dist", ".git", ".turbo"].includes(name);
	const found: string[] = [];
	const visit = (at: string): void => {
		for (const entry of readdirSync(at, { withFileTypes: true })) {
			if (!isOurs(entry.name)) continue;
			const path = join(at, entry.name);
			if (entry.isDirectory()) visit(path);
			else found.push(relative(directory, path).replaceAll("\\", "/"));
		}
	};
	visit(directory);
	return found;
}
