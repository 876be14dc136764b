/** Links as the repository has them, made those of the site: to a page of it, or to a file in the repository. */
import { existsSync, statSync } from "node:fs";
import { join, posix } from "node:path";
import { pages, repository, root } from "./pages.ts";

/** Of a link on the page that lies at `from`. Throws where nothing is there, so that no build has a dead link. */
export function linkOf(href: string, from: string): string {
	if (/^(?:[a-z]+:|#)/.test(href)) return href;
	const [path = "", anchor] = decodeURI(href).split("#");
	const target = posix.join(posix.dirname(from), path).replace(/\/$/, "");
	const page = pages.find((each) => each.from === target || each.from === `${target}/README.md`);
	if (page) return `/${page.to}${anchor === undefined ? "" : `#${anchor}`}`;
	const file = join(root, target);
	if (target.startsWith("..") || !existsSync(file)) throw new Error(`${from} links to ${href}, and nothing is there`);
	return `${repository}/${statSync(file).isDirectory() ? "tree" : "blob"}/main/${target}`;
}

/** The anchor of a heading as hosts of Markdown make it: a link holds there and here. */
export const anchorOf = (heading: string): string =>
	heading
		.toLowerCase()
		.replace(/[^\p{L}\p{N}_ -]/gu, "")
		.replaceAll(" ", "-");
