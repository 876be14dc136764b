/** What is installed with our packages: read from where they find it, and written down for whoever has to know its licences. */
import { existsSync, globSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import {
	findPackages,
	isBundled,
	isPublished,
	type Manifest,
	type Package,
	type Ranges,
	root,
} from "../tests/workspace.ts";

export interface ThirdParty {
	readonly name: string;
	readonly version: string;
	readonly license: string;
	/** The scripts that npm runs when it is installed. */
	readonly installs: readonly string[];
}

/** The scripts of a manifest that npm runs when somebody installs the package. */
export const installScripts = ({ scripts = {} }: { readonly scripts?: Readonly<Record<string, string>> }): string[] =>
	["preinstall", "install", "postinstall"].filter((name) => scripts[name] !== undefined);

/** Everything that the published packages bring along, by name. */
export function thirdParties(): readonly ThirdParty[] {
	const found = new Map<string, ThirdParty>();
	const look = (dir: string, { dependencies = {}, optionalDependencies = {} }: Manifest): void => {
		for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
			if (name.startsWith("@reyn/")) continue;
			const place = placeOf(name, dir);
			const manifest = JSON.parse(readFileSync(join(place, "package.json"), "utf8"));
			const { version, license = "none" } = manifest;
			if (found.has(`${name} ${version}`)) continue;
			found.set(`${name} ${version}`, { name, version, license: String(license), installs: installScripts(manifest) });
			look(place, manifest);
		}
	};
	for (const each of findPackages().filter(isPublished)) {
		look(each.dir, each.manifest);
		if (!isBundled(each)) continue;
		look(each.dir, { ...each.manifest, dependencies: carriedBy(each) });
		for (const { of, folder } of foldersOf(each)) look(of.dir, { ...of.manifest, dependencies: carriedBy(of, folder) });
	}
	return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The subpaths of our own packages that a bundled one imports and that are folders: what these load is in its files too. */
function foldersOf({ dir }: Package): readonly { readonly of: Package; readonly folder: string }[] {
	const all = findPackages();
	return [...textOf(dir, "src").matchAll(/from "(@reyn\/[\w-]+)(\/[\w-]+)"/g)].flatMap(([, name, subpath]) => {
		const of = all.find(({ manifest }) => manifest.name === name);
		const entry = (of?.manifest.exports as Record<string, { "@reyn/source"?: string }> | undefined)?.[`.${subpath}`];
		const folder = /^\.\/(src\/.+)\/index\.ts$/.exec(entry?.["@reyn/source"] ?? "")?.[1];
		return of && folder ? [{ of, folder }] : [];
	});
}

const textOf = (dir: string, folder: string): string =>
	globSync(join(dir, folder, "**/*.{js,ts,tsx}"))
		.map((path) => readFileSync(path, "utf8"))
		.join("\n");

/** Of its dev dependencies those that its source imports: they are in its files. */
function carriedBy({ dir, manifest: { devDependencies = {} } }: Package, folder = "src"): Ranges {
	const text = textOf(dir, folder);
	return Object.fromEntries(
		Object.entries(devDependencies).filter(([name]) =>
			["from ", "import("].some((how) => text.includes(`${how}"${name}`)),
		),
	);
}

/** The directory of a package, as Node finds it from another. */
function placeOf(name: string, from: string): string {
	for (let at = realpathSync(from); ; at = dirname(at)) {
		const place = join(at, "node_modules", name);
		if (existsSync(place)) return realpathSync(place);
		if (at === dirname(at)) throw new Error(`${name} is not installed where ${from} finds it; run: pnpm install`);
	}
}

export const thirdPartyPath = join(root, "docs/third-party.md");

/** The page that lists them. */
export function thirdPartyPage(): string {
	const rows = thirdParties().map(({ name, version, license }) => `| ${name} | ${version} | ${license} |`);
	return `# Third parties

All that an install of \`@reyn/cli\`, or of any package of it, brings along, in its files or beside them. Reyn itself is under the MIT licence.
Written by \`pnpm exec node tools/third-party.ts\`; a test compares it with what is installed.

| package | version | licence |
|---|---|---|
${rows.join("\n")}
`;
}

if (import.meta.main ?? process.argv[1] === import.meta.filename) writeFileSync(thirdPartyPath, thirdPartyPage());
