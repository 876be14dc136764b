/**
 * Loads the module of a skill by Node's own loader: types are erased, what the skills of a directory import of each other is read once,
 * and some packages are given to them, whatever is installed beside them.
 */
import { registerHooks, stripTypeScriptTypes } from "node:module";
import { extname } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { SkillError } from "../errors.ts";
import { hashOf, nameBelow, type SkillFile, textOf } from "./skill-files.ts";

/** One loading of one skill. */
interface Loading {
	readonly directory: string;
	isTrusted(file: SkillFile): boolean;
	readonly provides: Readonly<Record<string, string>>;
	/** What was read of it, by name. */
	readonly read: Map<string, string>;
}

/** In the addresses of modules: which loading each belongs to. An edited file is another module, so that it is read anew. */
const QUERY = "reyn-skill";
const loadings = new Map<string, Loading>();
let last = 0;
let isHooked = false;

export interface Loaded {
	readonly exports: Readonly<Record<string, unknown>>;
	/** Each file of the directory that it is made of, and its hash. */
	readonly read: ReadonlyMap<string, string>;
}

/** @throws what the module throws, and SkillError `SKILL_LOAD`, `SKILL_UNTRUSTED` */
export async function loadModule(path: string, of: Omit<Loading, "read">): Promise<Loaded> {
	hook();
	const id = String(++last);
	const loading = { ...of, read: new Map<string, string>() };
	loadings.set(id, loading);
	const url = pathToFileURL(path);
	url.searchParams.set(QUERY, id);
	return { exports: await import(/* @vite-ignore */ url.href), read: loading.read };
}

/** @param from the directory from which the package is looked for @returns its exports, and the hash of its first file */
export async function loadPackage(name: string, from: string) {
	hook();
	const url = `${PACKAGE}${encodeURIComponent(name)}?from=${encodeURIComponent(pathToFileURL(`${from}/`).href)}`;
	const exports = (await import(/* @vite-ignore */ url)) as Readonly<Record<string, unknown>>;
	const text = textOf(resolved.get(name) ?? "");
	return { exports, hash: text === undefined ? undefined : hashOf(text) };
}

const PACKAGE = "reyn-skills:";
/** Where the packages of skills were found, by name. */
const resolved = new Map<string, string>();

function hook(): void {
	if (isHooked) return;
	isHooked = true;
	registerHooks({
		resolve(specifier, context, next) {
			if (specifier.startsWith(PACKAGE)) {
				const { pathname, searchParams } = new URL(specifier);
				const name = decodeURIComponent(pathname);
				const found = next(name, { ...context, parentURL: searchParams.get("from") as string });
				if (found.url.startsWith("file:")) resolved.set(name, fileURLToPath(found.url));
				return found;
			}
			const loading = loadingOf(context.parentURL) ?? loadingOf(specifier);
			if (!loading) return next(specifier, context);
			const given = loading.provides[specifier];
			if (given !== undefined) return { url: given, shortCircuit: true };
			if (!/^(?:\.{0,2}\/|file:)/.test(specifier)) return next(specifier, context);
			const url = new URL(specifier, context.parentURL);
			const id = new URL(loadingOf(specifier) ? specifier : (context.parentURL as string)).searchParams.get(QUERY);
			url.searchParams.set(QUERY, id as string);
			return { url: url.href, format: extname(url.pathname) === ".json" ? "json" : "module", shortCircuit: true };
		},
		load(url, context, next) {
			const loading = loadingOf(url);
			if (!loading) return next(url, context);
			const path = fileURLToPath(url);
			const json = extname(path) === ".json";
			return { format: json ? "json" : "module", source: sourceOf(path, loading), shortCircuit: true };
		},
	});
}

function loadingOf(url: string | undefined): Loading | undefined {
	if (!url?.startsWith("file:") || !url.includes(QUERY)) return undefined;
	return loadings.get(new URL(url).searchParams.get(QUERY) ?? "");
}

function sourceOf(path: string, { directory, isTrusted, read }: Loading): string {
	const name = nameBelow(directory, path);
	if (name === undefined)
		throw new SkillError(
			"SKILL_LOAD",
			`it imports ${path}, which lies outside of its directory; a skill imports files beside it or below, and packages by name`,
			{ path },
		);
	const text = textOf(path);
	if (text === undefined)
		throw new SkillError("SKILL_LOAD", `${name} cannot be read: expected a file of at most 1 MiB`, { path });
	const hash = hashOf(text);
	if (!isTrusted({ name, hash })) throw untrusted(name);
	read.set(name, hash);
	return /\.m?ts$/.test(path) ? withoutTypes(text) : text;
}

export const untrusted = (name: string): SkillError =>
	new SkillError("SKILL_UNTRUSTED", `nobody has said yet that ${name} may run, as it is now`, { file: name });

/** @throws SyntaxError, with the line in its stack */
export function withoutTypes(text: string): string {
	const { emitWarning } = process;
	// Node warns once that this function is experimental. It does so at once, so nothing else can be swallowed here.
	process.emitWarning = ((...warning: Parameters<typeof emitWarning>) => {
		if ((warning[1] as unknown) !== "ExperimentalWarning") emitWarning.apply(process, warning);
	}) as typeof emitWarning;
	try {
		return stripTypeScriptTypes(text);
	} finally {
		process.emitWarning = emitWarning;
	}
}
