/**
 * The exported names of every published entry, which each README lists. A changed snapshot is a changed promise: it needs a changeset and a
 * reason. `-u` writes the lists anew.
 */
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { entriesOf, findPackages, isPublished, type Package, root, specifier } from "./workspace.ts";

/** An entry for other packages of Reyn: promised to nobody else, so no README lists it. */
const INTERNAL = "/internal";

const packages = findPackages().filter(isPublished);
const entries = packages.flatMap(sourcesOf);

describe.each(entries)("$name", ({ file }) => {
	test("exports the names that it promised", async () => {
		expect(await namesOf(file)).toMatchSnapshot();
	});
});

describe.each(packages.filter((each) => sourcesOf(each).length > 0))("$manifest.name", (of) => {
	test("has a list of its exports in its README", async () => {
		const lines: string[] = [];
		for (const { name, file } of sourcesOf(of).filter(({ name }) => !name.endsWith(INTERNAL))) {
			const { values, types } = await namesOf(file);
			const listed = [...values, ...types].map((each) => `\`${each}\``).join(", ");
			lines.push(`- \`${name}\`: ${listed}`);
		}
		const readme = join(of.dir, "README.md");
		const text = readFileSync(readme, "utf8");
		const section = `## Exports\n\n${lines.join("\n")}\n\n`;
		const without = text.replace(/^## Exports\n[^#]*?(?=^MIT licence\.)/m, "");
		await expect(without.replace(/^MIT licence\./m, `${section}MIT licence.`)).toMatchFileSnapshot(readme);
	});
});

test("what packages have for each other alone is in no example and no page", () => {
	const pages = globSync(["examples/*/*.{js,ts}", "{packages,apps}/*/{README.md,docs/*.md}", "README.md"], {
		cwd: root,
	});
	expect(pages.length).toBeGreaterThan(20);
	const naming = pages.filter((path) => /@reyn\/[\w-]+\/internal/.test(readFileSync(join(root, path), "utf8")));
	expect(naming).toEqual([]);
});

test.each(globSync("*/*.{js,ts}", { cwd: join(root, "examples") }).sort())(
	"the example %s imports what is exported",
	async (path) => {
		const text = readFileSync(join(root, "examples", path), "utf8");
		for (const [, list = "", from] of text.matchAll(/^import (?:type )?\{([^}]*)\} from "(@reyn\/[^"]*)"/gm)) {
			const names = list.split(",").map((each) => each.trim().replace(/^type\s+|\sas\s.*$/g, ""));
			const { values, types } = await namesOf(entries.find(({ name }) => name === from)?.file ?? "");
			expect([...values, ...types], from).toEqual(expect.arrayContaining(names.filter((name) => name !== "")));
		}
	},
);

async function namesOf(file: string): Promise<{ values: readonly string[]; types: readonly string[] }> {
	const values = Object.keys(await import(pathToFileURL(file).href)).sort();
	const listed = listedNames(readFileSync(file, "utf8"));
	expect(listed, "an index lists its names one by one").toEqual(expect.arrayContaining(values));
	return { values, types: listed.filter((name) => !values.includes(name)).sort() };
}

test("names are read from each form of export", () => {
	const text = `
export { a, type B, c as d } from "./a.ts";
export type {
	E, // why
	F as G,
} from "./e.ts";
export { default } from "./h.ts";
export const i = 1;
export async function j() {}
export abstract class K {}
export interface L {}
export type M<T> = T;
// export { n } from "./n.ts";
`;
	expect(listedNames(text)).toEqual(["a", "B", "d", "E", "G", "default", "i", "j", "K", "L", "M"]);
});

function sourcesOf({ dir, manifest }: Package): { name: string; file: string }[] {
	return entriesOf(manifest)
		.map((subpath) => {
			const target = manifest.exports?.[subpath];
			const source = typeof target === "object" ? target["@reyn/source"] : undefined;
			return { name: specifier(manifest.name, subpath), file: join(dir, source ?? "") };
		})
		.filter(({ file }) => /\.tsx?$/.test(file) && existsSync(file));
}

/** Types leave no trace at run time, so the names are read from the text. */
function listedNames(text: string): string[] {
	const code = text.replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "");
	const lists = [...code.matchAll(/^export\s+(?:type\s+)?\{([^}]*)\}/gm)].flatMap(([, list = ""]) => list.split(","));
	const declared = code.matchAll(
		/^export\s+(?:(?:declare|abstract|async)\s+)*(?:const|let|function|class|interface|type|enum)\s+([\w$]+)/gm,
	);
	return [
		...lists.map((item) => item.trim().replace(/^.*\sas\s+|^type\s+/, "")).filter((name) => name !== ""),
		...[...declared].map(([, name = ""]) => name),
	];
}
