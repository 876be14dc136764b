/** Where a configuration lies, and the reading of one file: what is wrong in it is said with its line and column. */
import { existsSync, lstatSync, readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join, relative, resolve } from "node:path";
import type { Document, LineCounter } from "yaml";
import type { z } from "zod";
import { CliError } from "../exit-code.ts";
import type { Config } from "./schema.ts";

type Env = Readonly<Record<string, string | undefined>>;

export interface ConfigFile {
	readonly path: string;
	/** As people know it: `reyn.yaml`. */
	readonly name: string;
	/** It lies in a directory that may come from a stranger, and so chooses nothing that costs money. */
	readonly isShared: boolean;
}

/** A file of settings is no book. */
const MOST_BYTES = 64 * 1024;

/** Where a configuration is looked for. */
export interface Where {
	readonly cwd: string;
	/** The state directory. */
	readonly state: string;
}

/** Where this user's own configuration lies (XDG Base Directory). */
export const ownDirectory = ({ XDG_CONFIG_HOME: at = "" }: Env): string =>
	join(isAbsolute(at) ? at : join(homedir(), ".config"), "reyn");

/** In the order in which they count: a later one is stronger. */
export function configFiles({ cwd, state }: Where, env: Env): readonly ConfigFile[] {
	const own = join(ownDirectory(env), "config.yaml");
	return [
		{ path: own, name: own, isShared: false },
		...["reyn.yaml", "reyn.local.yaml"].map((name) => ({ path: resolve(cwd, name), name, isShared: true })),
		setFile({ cwd, state }),
	];
}

/** What `reyn config set` writes, among the configuration files of the state. */
export const SET_FILE = "settings.yaml";

export function setFile({ cwd, state }: Where): ConfigFile {
	const path = resolve(state, "config", SET_FILE);
	const name = relative(resolve(cwd), path);
	return { path, name: name.startsWith("..") ? path : name, isShared: true };
}

export const isThere = ({ path }: ConfigFile): boolean => existsSync(path);

export interface Read {
	readonly config: Config;
	/** Where a value stands: `reyn.yaml:4`. */
	placeOf(path: readonly string[]): string;
}

/** @param text what it holds, or is to hold @throws CliError `CLI_CONFIG` */
export async function readConfig(file: ConfigFile, text = textOf(file)): Promise<Read> {
	const { configSchema } = await import("./schema.ts");
	const { value, placeOf, wrongAt } = await readYaml(file.name, text, configSchema);
	const denied = file.isShared ? deniedIn(value) : undefined;
	if (denied) throw wrongAt(denied.path, `${denied.path.join(".")}: ${denied.why}`);
	return { config: value, placeOf };
}

/** What is in a file of YAML. @throws CliError `CLI_CONFIG`, which says where it is wrong, and how */
export async function readYaml<T>(name: string, text: string, schema: z.ZodType<T>) {
	const { LineCounter, parseDocument } = await import("yaml");
	const lines = new LineCounter();
	const document = parseDocument(text, { lineCounter: lines });
	const [syntax] = document.errors;
	const wrong = (at: number | undefined, why: string): CliError =>
		new CliError("CLI_CONFIG", `${where(name, lines, at)}: ${why}`);
	if (syntax)
		throw wrong(syntax.pos[0], `this is no YAML: ${syntax.message.split("\n", 1)[0]?.replace(/ at line .*/, "")}`);
	const value = contentOf(document, (why) => wrong(0, why));
	const found = schema.safeParse(value);
	if (!found.success) {
		const [issue] = found.error.issues as [z.core.$ZodIssue];
		throw wrong(positionOf(document, issue), whyOf(issue, value, schema));
	}
	return {
		value: found.data,
		/** Where a value stands: `reyn.yaml:4`. */
		placeOf: (path: readonly PropertyKey[]) => `${name}:${lineOf(lines, positionOf(document, { path }))}`,
		wrongAt: (path: readonly PropertyKey[], why: string) => wrong(positionOf(document, { path }), why),
	};
}

/** What a file in a directory may not say: that may come from a stranger. */
function deniedIn({
	model,
	models,
	prices,
	skills,
	in_doubt: { default: inDoubt, per_tool: perTool = {} } = {},
	plan_resume: { child_purity: childPurity = {} } = {},
	scripts,
	files,
	events,
	permissions: { mode, rules = [] } = {},
}: Config): Denied | undefined {
	if (model !== undefined || models !== undefined)
		return {
			path: [model === undefined ? "models" : "model"],
			why: "a file that lies in a directory chooses no model, as that costs money and the directory may come from a stranger. Say it with --model, REYN_MODEL, or in your own configuration (reyn config path)",
		};
	if (prices !== undefined)
		return {
			path: ["prices"],
			why: "a file that lies in a directory says no prices, as the directory may come from a stranger, who could make your budget last longer than you meant. Say them in your own configuration (reyn config path)",
		};
	if (skills !== undefined)
		return {
			path: ["skills"],
			why: "a file that lies in a directory names no packages of skills, as their code runs here and the directory may come from a stranger. Name them in your own configuration (reyn config path)",
		};
	const again = Object.keys(perTool).find((tool) => perTool[tool] === "retry");
	if (inDoubt === "retry" || again !== undefined)
		return {
			path: inDoubt === "retry" ? ["in_doubt", "default"] : ["in_doubt", "per_tool", again as string],
			why: "a file that lies in a directory has nothing made again, as it may come from a stranger: it can say skip or ask. retry is said in your own configuration (reyn config path)",
		};
	const anew = (["side_effect", "external"] as const).find((purity) => childPurity[purity] === "cancel");
	if (anew !== undefined)
		return {
			path: ["plan_resume", "child_purity", anew],
			why: "a file that lies in a directory has no effect made again, as it may come from a stranger: of these it can say adopt. cancel is said in your own configuration (reyn config path)",
		};
	if (scripts?.isolate === false)
		return {
			path: ["scripts", "isolate"],
			why: "a file that lies in a directory can switch this on, and not off: that is said in your own configuration (reyn config path)",
		};
	if (files?.images !== undefined)
		return {
			path: ["files", "images"],
			why: "a file that lies in a directory does not decide what is kept of files: that is said in your own configuration (reyn config path)",
		};
	if (events !== undefined)
		return {
			path: ["events"],
			why: "a file that lies in a directory says nothing of the audit trail, as it may come from a stranger and could make it forget. Say it in your own configuration (reyn config path), or with REYN_EVENTS_KEEP_DAYS and REYN_EVENTS_MAX_MB",
		};
	if (mode === "edits" || mode === "all") return { path: ["permissions", "mode"], why: NARROWS };
	const at = rules.findIndex(({ allow }) => allow !== undefined);
	return at < 0 ? undefined : { path: ["permissions", "rules", at], why: NARROWS };
}

interface Denied {
	readonly path: readonly PropertyKey[];
	readonly why: string;
}

const NARROWS =
	"a file that lies in a directory allows nothing, as it may come from a stranger: it can deny, and have more asked. What is allowed is said with --mode, or in your own configuration (reyn config path)";

/** Aliases of aliases would make much of little. */
function contentOf(document: Document.Parsed, wrong: (why: string) => CliError): unknown {
	try {
		return document.toJS({ maxAliasCount: 20 }) ?? {};
	} catch (error) {
		throw wrong(`this cannot be read: ${(error as Error).message}`);
	}
}

/** A pipe would hold everything up, and a link leads to what is somebody else's. */
export function textOf({ path, name, isShared }: ConfigFile): string {
	let size: number;
	try {
		const stats = isShared ? lstatSync(path) : statSync(path);
		if (!stats.isFile()) throw new CliError("CLI_CONFIG", `${name} is no plain file`);
		({ size } = stats);
		if (size <= MOST_BYTES) return readFileSync(path, "utf8");
	} catch (error) {
		if (error instanceof CliError) throw error;
		throw new CliError("CLI_CONFIG", `${name} cannot be read: ${(error as Error).message}`);
	}
	throw new CliError(
		"CLI_CONFIG",
		`${name} is larger than ${MOST_BYTES / 1024} KiB: a configuration is a few lines of YAML`,
	);
}

interface Place {
	readonly path: readonly PropertyKey[];
	readonly keys?: readonly string[];
}

/** Where the value of a path begins, or the key that should not be there. */
function positionOf(document: Document.Parsed, { path, keys }: Place): number | undefined {
	const parent = keys ? document.getIn(path, true) : undefined;
	const items = (
		(parent ?? (keys ? document.contents : undefined)) as { items?: readonly { key: Ranged }[] } | undefined
	)?.items;
	const key = items?.find((each) => each.key.value === keys?.[0])?.key;
	const node = key ?? (document.getIn(path, true) as Ranged | undefined);
	return node?.range?.[0];
}

interface Ranged {
	readonly value?: unknown;
	readonly range?: readonly [number, number, number] | null;
}

const lineOf = (lines: LineCounter, at = 0): number => lines.linePos(at).line;

function where(name: string, lines: LineCounter, at = 0): string {
	const { line, col } = lines.linePos(at);
	return `${name}:${line}:${col}`;
}

/** What is wrong, and what may stand there. */
function whyOf(issue: z.core.$ZodIssue, value: unknown, schema: z.ZodType): string {
	const path = issue.path.join(".");
	if (issue.code === "unrecognized_keys") {
		const known = keysAt(schema, issue.path).join(", ");
		return `${[...issue.path, issue.keys[0]].join(".")}: there is no such key; there are ${known}`;
	}
	const found = issue.path.reduce<unknown>((at, key) => (at as Record<PropertyKey, unknown> | undefined)?.[key], value);
	const text = JSON.stringify(found) ?? "nothing";
	return `${path === "" ? "" : `${path}: `}${issue.message.replace(/^Invalid (input|option): /, "")}; found ${text.length > 60 ? `${text.slice(0, 59)}…` : text}`;
}

/** What a schema of an object, a map, a list or of what may be absent has. */
interface Holder {
	readonly shape?: Readonly<Record<string, Holder>>;
	readonly valueType?: Holder;
	readonly element?: Holder;
	unwrap?(): Holder;
}

function keysAt(schema: z.ZodType, path: readonly PropertyKey[]): readonly string[] {
	let at: Holder = bare(schema as unknown as Holder);
	for (const key of path) at = bare(at.shape?.[String(key)] ?? at.valueType ?? at.element ?? {});
	return Object.keys(at.shape ?? {});
}

/** A list unwraps to what is in it. */
const bare = (at: Holder): Holder => (!at.shape && !at.element && at.unwrap ? bare(at.unwrap()) : at);
