/** Pages that name the tests which hold what they say: their rows, and whether each test is there and is run. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { root } from "./workspace.ts";

/** A row of a table: `| I-7 | what holds | [file](path) "title"; [file](path) "title" |`. */
export interface Row {
	readonly id: string;
	readonly says: string;
	/** All that stands in its last column. */
	readonly held: string;
	readonly tests: readonly { readonly file: string; readonly titles: readonly string[] }[];
}

/** @param id of a row, as a pattern */
export function rowsIn(text: string, id: string): Row[] {
	const rows = text.matchAll(new RegExp(String.raw`^\| (${id}) \| (.+?) \| (.+) \|$`, "gm"));
	return [...rows].map(([, id = "", says = "", held = ""]) => ({
		id,
		says,
		held,
		tests: [...held.matchAll(/\]\(([^)]+)\) "([^"]+)"/g)].map(([, file = "", title = ""]) => ({
			file,
			titles: title.split(" › "),
		})),
	}));
}

/** What is wrong with the tests of rows. @param page from the repository's root */
export function brokenIn(rows: readonly Row[], page: string): string[] {
	return rows.flatMap(({ id, tests }) => {
		if (tests.length === 0) return [`${id} names no test`];
		return tests.flatMap(({ file, titles }) => {
			const path = join(root, dirname(page), file);
			if (!existsSync(path)) return [`${id}: ${file} is not there`];
			const source = readFileSync(path, "utf8");
			return hasTest(source, titles) ? [] : [`${id}: ${file} has no test "${titles.join(" › ")}"`];
		});
	});
}

/** Has it a test of this title, behind the groups before it? An ellipsis at the end of a title stands for the rest of it. */
export function hasTest(source: string, titles: readonly string[]): boolean {
	let rest = source.replace(/^\s*(?:\/\/|\/?\*).*$/gm, "");
	for (const title of titles) {
		const text = title.replace(/…$/, "").replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
		// `test("…`, and `test.each(…)("…`.
		const call = String.raw`(?:^\s*(?:test|it|describe|deepTest)|\))\(\s*(["'\`])${text}`;
		const found = new RegExp(title.endsWith("…") ? call : String.raw`${call}\1,`, "m").exec(rest);
		if (!found) return false;
		rest = rest.slice(found.index + found[0].length);
	}
	return true;
}
