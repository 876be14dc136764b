/** Writes `api/`: for each public entry of each package a page of Markdown, made of what stands in its source. */
import { globSync, readFileSync, rmSync } from "node:fs";
import { join, posix, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { Application } from "typedoc";
import type { PluginOptions } from "typedoc-plugin-markdown";

const site = fileURLToPath(new URL("..", import.meta.url));
const top = join(site, "../..").replaceAll(sep, "/");
/** An entry for other packages of Reyn: promised to nobody else. */
const INTERNAL = "./internal";

const specifiers = new Map(
	globSync(["packages/*", "apps/ui"], { cwd: top })
		.map((path) => path.replaceAll(sep, "/"))
		.sort()
		.flatMap(entriesOf),
);
const looks: Partial<PluginOptions> = {
	entryFileName: "index",
	hidePageHeader: true,
	hideBreadcrumbs: true,
	// Its own anchors, since where two names differ in case alone it counts otherwise than the site.
	useHTMLAnchors: true,
	anchorPrefix: "api-",
	useCodeBlocks: true,
	expandObjects: true,
	pageTitleTemplates: { index: "API", module: ({ name }) => `API of ${name}` },
	parametersFormat: "table",
	interfacePropertiesFormat: "table",
	classPropertiesFormat: "table",
	propertyMembersFormat: "table",
	typeDeclarationFormat: "table",
	tableColumnSettings: { hideInherited: true, hideModifiers: true },
};

const app = await Application.bootstrapWithPlugins({
	...looks,
	plugin: ["typedoc-plugin-markdown"],
	router: "module",
	entryPoints: [...specifiers.keys()],
	tsconfig: join(site, "tsconfig.api.json"),
	readme: "none",
	name: "API",
	out: join(site, "api"),
	excludeExternals: true,
	disableSources: true,
	logLevel: "Warn",
	treatWarningsAsErrors: true,
});
const project = await app.convert();
if (!project) throw new Error("the sources cannot be read: see above");
for (const entry of project.children ?? []) {
	const file = project.getSymbolIdFromReflection(entry)?.fileName;
	entry.name = specifiers.get(file ?? "") ?? entry.name;
}
rmSync(join(site, "api"), { recursive: true, force: true });
await app.generateOutputs(project);
if (app.logger.hasErrors() || app.logger.hasWarnings()) process.exitCode = 1;

/** Source file → what a user writes after `from`. */
function entriesOf(path: string): [string, string][] {
	const { exports } = JSON.parse(readFileSync(join(top, path, "package.json"), "utf8"));
	return Object.entries<string | { "@reyn/source": string }>(exports).flatMap(([subpath, target]) =>
		typeof target === "string" || subpath === INTERNAL
			? []
			: [[posix.join(top, path, target["@reyn/source"]), `@reyn/${posix.basename(path)}${subpath.slice(1)}`]],
	);
}
