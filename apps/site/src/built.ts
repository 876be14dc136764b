/** What must hold of the built site: each link leads somewhere, to a heading that is there, and no page asks another host for anything. */
import { globSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join, sep } from "node:path";

/** Path from the site's root → what is in the file. */
export type Built = ReadonlyMap<string, string>;

const HERE = "http://here/";
/** What a browser fetches by itself. A link waits for its reader; what a script asks for, the policy of the pages refuses. */
const fetched =
	/<(?!a\b)[a-z][^>]*?\s(?:src|srcset|href|poster|data)="([^"]*)"|(?:\burl\(|@import\s+["'])\s*["']?([^"')\s;]*)/g;

/** What is wrong with the site in a directory: a line for each fault, which names its file. */
export async function faultsIn(dir: string): Promise<readonly string[]> {
	const paths = globSync("**/*.{html,css,js,svg,png,json}", { cwd: dir });
	const read = paths.map(async (path) => [path.replaceAll(sep, "/"), await readFile(join(dir, path), "utf8")] as const);
	return faultsOf(new Map(await Promise.all(read)));
}

export function faultsOf(site: Built): readonly string[] {
	const pages = new Map(
		[...site].filter(([name]) => name.endsWith(".html")).map(([name, text]) => [name, idsIn(text)]),
	);
	return [...site].flatMap(([name, text]) => [
		...(pages.has(name) ? deadIn(name, text, site, pages) : []),
		...(/\.(?:html|css|svg)$/.test(name) ? foreignIn(name, text) : []),
	]);
}

function deadIn(name: string, text: string, site: Built, pages: ReadonlyMap<string, ReadonlySet<string>>): string[] {
	const links = new Set([...text.matchAll(/<a\b[^>]*?\shref="([^"]*)"/g)].map(([, href = ""]) => plain(href)));
	const dead = [...links].filter((href) => {
		const { origin, pathname, hash } = new URL(href, HERE + name);
		if (`${origin}/` !== HERE) return false;
		const path = decodeURIComponent(pathname.slice(1));
		const target = [path, `${path}.html`, `${path}index.html`].find((each) => site.has(each));
		const anchor = decodeURIComponent(hash.slice(1));
		return target === undefined || (anchor !== "" && !pages.get(target)?.has(anchor));
	});
	return dead.map((href) => `${name} links to ${href}, and nothing is there`);
}

function foreignIn(name: string, text: string): string[] {
	const asked = [...text.matchAll(fetched)].map(([, tag, style]) => plain(tag ?? style ?? ""));
	const foreign = asked.filter((url) => /^(?:https?:)?\/\//.test(url));
	return foreign.map((url) => `${name} asks for ${url}`);
}

const idsIn = (text: string): ReadonlySet<string> =>
	new Set([...text.matchAll(/\sid="([^"]+)"/g)].map(([, id = ""]) => plain(id)));

const plain = (text: string): string =>
	text
		.replaceAll("&quot;", '"')
		.replaceAll("&#39;", "'")
		.replaceAll("&lt;", "<")
		.replaceAll("&gt;", ">")
		.replaceAll("&amp;", "&");
