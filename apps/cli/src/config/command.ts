/** What `reyn config print | schema | path` and `reyn init` do. */
import { appendFile, readFile } from "node:fs/promises";
import { join } from "node:path";
import { codeOf } from "@reyn/wal";
import { z } from "zod";
import type { Globals } from "../context.ts";
import { writeNew } from "../new-file.ts";
import { out } from "../print.ts";
import { configFiles, isThere } from "./files.ts";
import { configSchema } from "./schema.ts";
import { allSettings } from "./settings.ts";

export async function printSettings(globals: Globals): Promise<void> {
	const settings = [...(await allSettings(globals, process.env))];
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
	const files = configFiles(globals.cwd, process.env).map((file) => ({ path: file.path, exists: isThere(file) }));
	if (globals.json) out.json({ files });
	else out.lines(files.map(({ path, exists }) => `${path}  ${exists ? "is read" : "is not there"}`));
}

const TEMPLATE = `# What holds for this directory; "reyn config print" shows all that holds, and from where.
# A model is chosen with --model, REYN_MODEL, or in your own configuration ("reyn config path").
#
# model_settings:
#   max_output_tokens: 8000
# plan:
#   concurrency: 3
#   step_max_iterations: 5
#   retry_limit: 3
# limits:
#   turn_rounds: 50
# plan_resume:
#   default: retry_pending  # or discard
# in_doubt:
#   default: ask          # ask or skip; retry is said in your own
#   per_tool:
#     shell: skip
# skill_resume:
#   default: retry        # retry, skip or discard_skill
# scripts:
#   isolate: true
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
	out.lines([`${path} says what may be set`, ...missing.map((name) => `git passes over ${name}`)]);
}
