/** The site: pages of the repository where they lie, under the addresses of `src/pages.ts`, and the API that `src/api.ts` has written. */
import { globSync } from "node:fs";
import { relative, sep } from "node:path";
import { type DefaultTheme, defineConfig } from "vitepress";
import { faultsIn } from "../src/built.ts";
import { diagramOf } from "../src/diagram.ts";
import { claim, features } from "../src/home.ts";
import { anchorOf, linkOf } from "../src/links.ts";
import { addressOf, folderOf, pages, repository, root, type Section, sections } from "../src/pages.ts";

/** What is fetched comes from where the page came from: the browser holds it to that. */
const POLICY = "default-src 'self' 'unsafe-inline' data:";

/** What browsers of three years understand. */
const TARGET = "es2022";

/** The sections that the bar on top leads to. */
const bar = ["Guides", "Concepts", "Formats", "API", "Limits"];

/** The place in history where one is, as `reyn log --graph` marks it. */
const ICON =
	'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path fill="#3451b2" d="M8 0l8 8-8 8-8-8z"/></svg>';

const slashed = (path: string): string => path.replaceAll(sep, "/");
const isPage = (path: string): boolean => pages.some(({ from }) => from === path);

export default defineConfig({
	title: "Reyn",
	description: `${claim.what} ${claim.why}`,
	lang: "en",
	srcDir: root,
	srcExclude: globSync("**/*.md", { cwd: root, exclude: ["**/node_modules"] })
		.map(slashed)
		.filter((path) => !isPage(path)),
	outDir: "./dist",
	// The sidebars once, and not in each page.
	metaChunk: true,
	rewrites: Object.fromEntries(pages.map(({ from, to }) => [from, to])),
	vite: {
		build: { target: TARGET, chunkSizeWarningLimit: 5_000 },
		optimizeDeps: { esbuildOptions: { target: TARGET } },
		plugins: [
			{
				// Pages lie where Vue is not found: what they are made to import is looked for from here.
				name: "pages-find-vue",
				enforce: "pre",
				resolveId(name, importer) {
					return /^vue(?:\/|$)/.test(name) && importer?.includes(".md")
						? this.resolve(name, import.meta.filename)
						: null;
				},
			},
		],
	},
	markdown: {
		anchor: { slugify: anchorOf },
		config(md) {
			md.core.ruler.push("links", ({ tokens, env }) => {
				const from = slashed(relative(root, env.realPath ?? env.path));
				for (const token of tokens.flatMap(({ children }) => children ?? [])) {
					const href = token.type === "link_open" ? token.attrGet("href") : null;
					if (href) token.attrSet("href", linkOf(href, from));
				}
			});
			const fence = md.renderer.rules.fence;
			md.renderer.rules.fence = (...given) => {
				const token = given[0][given[1]];
				return token?.info === "mermaid" ? diagramOf(token.content) : (fence?.(...given) ?? "");
			};
		},
	},
	transformPageData(page) {
		if (page.relativePath !== "index.md") return;
		Object.assign(page.frontmatter.hero, { text: claim.what, tagline: claim.why });
		page.frontmatter.features = features;
	},
	head: [["link", { rel: "icon", href: `data:image/svg+xml,${encodeURIComponent(ICON)}` }]],
	transformHead: () => [["meta", { "http-equiv": "Content-Security-Policy", content: POLICY }]],
	async buildEnd({ outDir }) {
		const faults = await faultsIn(outDir);
		if (faults.length > 0) throw new Error(`the site is not sound:\n${faults.join("\n")}`);
	},
	themeConfig: {
		nav: [...sections.filter(({ title }) => bar.includes(title)).map(barOf), { text: "Repository", link: repository }],
		sidebar: Object.fromEntries(
			sections.map((own) => [folderOf(own), sections.map((each) => sideOf(each, each === own))]),
		),
		search: {
			provider: "local",
			options: { _render: (text, env, md) => searched(md.render(text, env), env.relativePath) },
		},
		outline: [2, 3],
		footer: { message: "MIT licence" },
	},
});

/** What the search reads. Of the API each name is one place to go to, with all that is below it. */
function searched(html: string, from: string): string {
	return from.startsWith("apps/site/api/") ? html.replace(/<(\/?)h[4-6]\b[^>]*>/g, "<$1p>") : html;
}

function barOf(section: Section): DefaultTheme.NavItemWithLink {
	return { text: section.title, link: addressOf(section.pages[0]?.to ?? ""), activeMatch: `^${folderOf(section)}` };
}

function sideOf({ title, pages }: Section, isOpen: boolean): DefaultTheme.SidebarItem {
	return {
		text: title,
		collapsed: !isOpen,
		items: pages.map(({ to, title }) => ({ text: title, link: addressOf(to) })),
	};
}
