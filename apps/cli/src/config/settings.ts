/** The settings that hold, each with where it comes from: defaults < yours < `reyn.yaml` < `reyn.local.yaml` < what was set < `REYN_*` < flags. */
import type { PermissionMode } from "@reyn/runtime";
import { configFiles, isThere, readConfig, type Where } from "./files.ts";
import type { Config } from "./schema.ts";

type Env = Readonly<Record<string, string | undefined>>;

export interface Setting {
	readonly value: unknown;
	/** `default`, `reyn.yaml:4`, `REYN_MODEL`, `--model`. */
	readonly source: string;
}

export interface Settings {
	readonly config: Config;
	/** By path: `plan.concurrency`. */
	readonly from: ReadonlyMap<string, Setting>;
	/** Of each variable that looks like one and is none: that it does nothing. */
	readonly unknown: readonly string[];
}

interface Asked extends Where {
	readonly model?: string | undefined;
}

/** Most commands find no file, and load nothing that reads one. @throws CliError `CLI_CONFIG` */
export async function settingsOf({ model, ...where }: Asked, env: Env): Promise<Settings> {
	const from = new Map<string, Setting>();
	for (const file of configFiles(where, env).filter(isThere)) {
		const { config, placeOf } = await readConfig(file);
		for (const [path, value] of leavesOf(config)) {
			if (file.isShared && !narrows(path, value, from)) continue;
			add(from, path, value, placeOf(path));
		}
	}
	const named = Object.keys(env).filter((name) => mayBeSetting(name) && env[name] !== "");
	const unknown: string[] = [];
	if (named.length > 0) {
		const { fromVariable, unknownText } = await import("./variables.ts");
		for (const name of named) {
			const found = fromVariable(name, env[name] as string);
			if (found) add(from, found.path, found.value, name);
			else unknown.push(...unknownText(name));
		}
	}
	if (model !== undefined) from.set("model", { value: model, source: "--model" });
	return { config: nested(from), from, unknown };
}

/** By setting: its values from the narrowest on, and the one that holds where nothing is said. */
const narrowing: Readonly<Record<string, readonly [values: readonly unknown[], otherwise: unknown]>> = {
	"permissions.mode": [["read-only", "ask", "edits", "all"] satisfies readonly PermissionMode[], "ask"],
	"plan.offer": [["never", "auto"], "auto"],
	"plan.confirm": [["ask", "never"], "never"],
	"rewind.files": [["never", "ask", "always"], "ask"],
	"rewind.tasks": [[false, true], false],
};

/** A file of a directory allows no more than what holds without it. */
function narrows(path: readonly string[], value: unknown, from: ReadonlyMap<string, Setting>): boolean {
	const name = path.join(".");
	const { value: held } = from.get(name) ?? {};
	if (path[0] === "budget") return held === undefined || (value as number) < (held as number);
	const narrower = narrowing[name];
	if (!narrower) return true;
	const [values, otherwise] = narrower;
	return values.indexOf(value) < values.indexOf(held ?? otherwise);
}

/** The stronger value counts; but rules, and what is said by tool, are added, so that nothing takes away what is said elsewhere. */
function add(from: Map<string, Setting>, path: readonly string[], value: unknown, source: string): void {
	const name = path.join(".");
	const both = together[name];
	const before = both && from.get(name);
	if (!before) return void from.set(name, { value, source });
	from.set(name, { value: both(before.value as never, value as never), source: `${before.source}, ${source}` });
}

/** Variables that are no settings: a file for the trace of model calls, how a terminal is read, what a page is heard by. */
const others: readonly string[] = ["REYN_MODEL_TRACE", "REYN_SCREEN_READER", "REYN_ESC_MS"];

const mayBeSetting = (name: string): boolean => name.startsWith("REYN_") && !others.includes(name);

const together: Readonly<Record<string, (before: never, value: never) => unknown>> = {
	"permissions.rules": (before: readonly unknown[], value: readonly unknown[]) => [...before, ...value],
	"in_doubt.per_tool": (before: object, value: object) => ({ ...before, ...value }),
};

const byFreeNames = new Set(["models", "per_skill", "per_tool", "prices"]);

/** A list or a map by free names is one value. */
function* leavesOf(value: object, before: readonly string[] = []): Generator<[readonly string[], unknown]> {
	for (const [key, each] of Object.entries(value)) {
		const path = [...before, key];
		if (typeof each === "object" && each !== null && !Array.isArray(each) && !byFreeNames.has(key))
			yield* leavesOf(each, path);
		else if (each !== undefined) yield [path, each];
	}
}

function nested(from: ReadonlyMap<string, Setting>): Config {
	const config: Record<string, unknown> = {};
	for (const [path, { value }] of from) {
		const keys = path.split(".");
		let at = config;
		for (const key of keys.slice(0, -1)) {
			at[key] ??= {};
			at = at[key] as Record<string, unknown>;
		}
		at[keys.at(-1) as string] = value;
	}
	return config as Config;
}

/** All that holds, defaults too, by path. */
export async function allSettings(asked: Asked, env: Env): Promise<ReadonlyMap<string, Setting>> {
	const [{ from }, { defaults }] = await Promise.all([settingsOf(asked, env), import("./schema.ts")]);
	const known = [...leavesOf(defaults)].map(([path, value]) => [path.join("."), { value, source: "default" }] as const);
	return new Map([...known, ...from].sort(([a], [b]) => (a < b ? -1 : 1)));
}
