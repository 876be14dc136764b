/** What `reyn config print | schema | path | set | unset` and `reyn init` do. */
import { appendFile, readFile } from "node:fs/promises";
import { join } from "node:path";
import { codeOf } from "@reyn/wal";
import { type Document, parseDocument } from "yaml";
import { z } from "zod";
import { type Globals, openForWork, stateOf } from "../context.ts";
import { CliError } from "../exit-code.ts";
import { howToChoose } from "../models.ts";
import { writeNew } from "../new-file.ts";
import { err, out } from "../print.ts";
import { configFiles, isThere, readConfig, SET_FILE, setFile, textOf as textIn } from "./files.ts";
import { configSchema } from "./schema.ts";
import { allSettings } from "./settings.ts";
import { scalar } from "./variables.ts";

const placesOf = (globals: Globals) => ({ ...globals, state: stateOf(globals) });

export async function printSettings(globals: Globals): Promise<void> {
	const settings = [...(await allSettings(placesOf(globals), process.env))];
	if (globals.json) return void out.json({ settings: Object.fromEntries(settings) });
	const width = Math.max(...settings.map(([path, { value }]) => textOf(path, value).length));
	out.lines(settings.map(([path, { value, source }]) => `${textOf(path, value).padEnd(width)}  ${source}`));
}

const textOf = (path: string, value: unknown): string =>
	`${path}: ${typeof value === "string" ? value : JSON.stringify(value)}`;

/** The JSON Schema of `reyn.yaml`, for editors. */
export function printSchema({ json }: Globals): void {
	const schema = { title: "reyn.yaml", ...z.toJSONSchema(configSchema) };
	if (json) out.json(schema);
	else out.text(JSON.stringify(schema, null, 2));
}

export function printPaths(globals: Globals): void {
	const files = configFiles(placesOf(globals), process.env).map((file) => ({ path: file.path, exists: isThere(file) }));
	if (globals.json) out.json({ files });
	else out.lines(files.map(({ path, exists }) => `${path}  ${exists ? "is read" : "is not there"}`));
}

/**
 * Sets a value in the configuration of the state, which follows rewinds; undefined: takes it out.
 *
 * @param key such as `plan.concurrency`
 * @throws CliError `CLI_CONFIG` for what may not stand there, `CLI_NOT_FOUND` for what is not set: nothing was changed
 */
export async function setSetting(globals: Globals, key: string, value: string | undefined): Promise<void> {
	const where = placesOf(globals);
	const file = setFile(where);
	await using runtime = await openForWork(globals);
	const document = parseDocument(isThere(file) ? textIn(file) : "");
	const path = key.split(".");
	if (value === undefined) takeOut(document, path, file.name);
	else putIn(document, path, scalar(value));
	const isEmpty = Object.keys(document.toJS() ?? {}).length === 0;
	const text = isEmpty ? null : String(document);
	await readConfig(file, text ?? "");
	await runtime.config.write(SET_FILE, text).catch((error: unknown) => {
		if (codeOf(error) === "SNAPSHOT_NOT_RESTORED")
			err.line("reyn: this is recorded, and the next command that writes finishes it");
		throw error;
	});
	const now = (await allSettings(where, process.env)).get(key);
	if (globals.json) return void out.json({ key, ...now });
	out.lines([
		now ? `${textOf(key, now.value)}  ${now.source}` : `${key} is ${value === undefined ? "not set" : "set"}`,
	]);
}

function putIn(document: Document, path: readonly string[], value: unknown): void {
	try {
		document.setIn(path, document.createNode(value));
	} catch {
		throw new CliError("CLI_CONFIG", `${path.join(".")}: there is no such key; reyn config schema has all of them`);
	}
}

function takeOut(document: Document, path: readonly string[], name: string): void {
	if (!document.hasIn(path))
		throw new CliError(
			"CLI_NOT_FOUND",
			`${path.join(".")} is not set in ${name}; reyn config print says what holds, and from where`,
		);
	document.deleteIn(path);
	for (let above = path.slice(0, -1); above.length > 0 && isBlank(document, above); above = above.slice(0, -1))
		document.deleteIn(above);
}

const isBlank = (document: Document, path: readonly string[]): boolean =>
	(document.getIn(path) as { readonly items?: readonly unknown[] } | undefined)?.items?.length === 0;

const TEMPLATE = `# What holds for this directory; "reyn config print" shows all that holds, and from where.
# In your own configuration alone ("reyn config path" says where), or with --model or REYN_MODEL:
#
# model: openai/gpt-5     # anthropic, google, ollama or openai, and the name that it has there; default: offline
# models:                 # of these a plan may choose for a step
#   small: openai/gpt-5-mini
#   large: openai/gpt-5
# prices:                 # US dollars for a million tokens, as the provider says; without them the cost is unknown
#   openai/gpt-5: { input: 1.25, output: 10, cached_input: 0.125 }
#
# Here, or there:
#
# model_settings:
#   max_output_tokens: 8000
# plan:
#   concurrency: 3
#   step_max_iterations: 5
#   retry_limit: 3
#   offer: auto           # or never; a file in a directory says never, and not auto again
#   confirm: never        # or ask: you see the steps first; a file in a directory says ask, and not never again
#   invalid_retries: 1
#   step_tokens: 200000     # and step_timeout_seconds, and tokens of the whole plan: at a limit you are asked
# limits:
#   turn_rounds: 50
#   on_limit: refuse        # or extend, auto_extend_times times, where nobody can be asked
# plan_resume:
#   default: retry_pending  # or discard
#   child_purity:           # of skills that steps have started: adopt goes on with them, cancel runs them anew
#     world: cancel
# in_doubt:
#   default: ask          # ask or skip; retry is said in your own
#   per_tool:
#     shell: skip
# skill_resume:
#   default: retry        # retry, skip or discard_skill; prompt means retry, and nobody is asked
# scripts:
#   isolate: true
# rewind:
#   files: ask            # or never; always, in your own: files that tools have changed go back too, unless --no-files
#   tasks: false          # true, in your own: the tasks of this state go back too
# permissions:            # a file in a directory denies, or has more asked; --mode, or your own configuration, allows
#   mode: ask             # ask or read-only
#   rules:
#     - deny: read        # read (list, search), write (edit, remove), a tool, or "*"
#       on: secrets/**
# budget:                 # at a limit you are asked; a file in a directory sets it lower than your own, and not higher
#   turn_tokens: 100000   # turn, plan, session or day (UTC), each in _tokens and _usd; prices stand in your own
#   day_usd: 5
# retention:
#   keep_days: 30
#   keep_checkpoints: 200
`;

const IGNORED = [".reyn/", "reyn.local.yaml"];

/** Writes `reyn.yaml` where there is none, and has git pass over what is no part of a project. */
export async function init({ cwd, json }: Globals): Promise<void> {
	const path = join(cwd, "reyn.yaml");
	await writeNew(path, TEMPLATE, { taken: "it is read as it is" });
	const ignore = join(cwd, ".gitignore");
	const before = await readFile(ignore, "utf8").catch((error: unknown) => {
		if (codeOf(error) === "ENOENT") return "";
		throw error;
	});
	const missing = IGNORED.filter((name) => !before.split(/\r?\n/).includes(name));
	const gap = before === "" || before.endsWith("\n") ? "" : "\n";
	if (missing.length > 0) await appendFile(ignore, `${gap}${missing.join("\n")}\n`);
	if (json) return void out.json({ path, ignored: missing });
	const lines = [`${path} says what may be set`, ...missing.map((name) => `git passes over ${name}`)];
	out.lines([...lines, howToChoose()]);
}
