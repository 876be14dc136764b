/** What the first page says beside its own words: the claim of the README, and of each package what its manifest says of it. */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { addressOf, pages, root } from "./pages.ts";

const [, what = "", why = ""] = /^# .+\n\n(.+?): (.+)$/m.exec(readFileSync(join(root, "README.md"), "utf8")) ?? [];
export const claim = { what: `${what}.`, why: why.charAt(0).toUpperCase() + why.slice(1) };

export const features = pages
	.filter(({ from }) => /^(?:apps|packages)\/[^/]+\/README\.md$/.test(from))
	.map(({ from, to }) => {
		const { name, description } = JSON.parse(readFileSync(join(root, dirname(from), "package.json"), "utf8"));
		return { title: name, details: description, link: addressOf(to) };
	});
