/** Commands of `reyn script` that are no verbs: one tells of a run as it goes on, which other faces are told by events, and one writes a file of a person. */
import { randomBytes } from "node:crypto";
import { rename, writeFile } from "node:fs/promises";
import { basename, resolve } from "node:path";
import { scriptEventLines, scriptViewLines } from "@reyn/operator";
import { oneLine } from "@reyn/operator/text";
import { callsOf, emptyRunView, nextRunView } from "@reyn/runtime";
import type { Command } from "commander";
import { type Globals, openForReading, reading } from "./context.ts";
import { CliError } from "./exit-code.ts";
import { exitCodes } from "./exit-codes.ts";
import { unwritable, writeNew } from "./new-file.ts";
import { out } from "./print.ts";
import type { OutputFormat } from "./telling.ts";
import { groupOf } from "./verbs.ts";
import { endingWithResult, formatOf, outputFormat } from "./work.ts";

type Print = (globals: Globals, value: unknown, lines: readonly string[]) => void;

export function addScriptCommands(
	program: Command,
	globals: () => Globals,
	print: Print,
	done: (exitCode: number) => void,
): void {
	const script = groupOf(program, "script");
	const theRun = "the id of a run, as script list has them";

	script
		.command("watch")
		.argument("<run>", theRun)
		.description("what a run has done, and then what it does, in whatever process")
		.addOption(outputFormat())
		.addHelpText("after", "\nExample: reyn script watch r395df1eb")
		.action(async (run: string, options: { outputFormat: OutputFormat }) => {
			const format = formatOf(globals(), options.outputFormat);
			done(await endingWithResult(format, () => watch(globals(), run, format)));
		});

	script
		.command("save")
		.argument("<run>", theRun)
		.argument("[file]", "where to (default: its own name, here)")
		.description("write the script of a run as a file, to run it anew")
		.option("--force", "write over a file that is there")
		.addHelpText("after", "\nExample: reyn script save r395df1eb kept.ts")
		.action(async (run: string, file: string | undefined, { force }: { force?: boolean }) => {
			const { name, source } = await reading(globals(), (runtime) => runtime.scripts.text(run));
			const path = resolve(file ?? ownName(name));
			if (force) await replaceFile(path, source);
			else await writeNew(path, source, { taken: "give another name, or --force" });
			print(globals(), { run, path }, [`${path} is the script of ${run}`]);
		});
}

/** The name that a record has of a script, where it is a plain one. @throws CliError `CLI_USAGE` */
function ownName(name: string): string {
	if (/^[\p{L}\p{N}_][\p{L}\p{N}_ .-]*\.[cm]?[jt]s$/u.test(basename(name))) return basename(name);
	throw new CliError(
		"CLI_USAGE",
		`the script is called ${oneLine(name)}, which is no plain name of a script; give a file`,
	);
}

/** A link in its place is replaced, and not followed. */
async function replaceFile(path: string, text: string): Promise<void> {
	const made = `${path}.${randomBytes(6).toString("hex")}.tmp`;
	try {
		await writeFile(made, text, { flag: "wx" });
		await rename(made, path);
	} catch (error) {
		throw unwritable(path, error);
	}
}

async function watch(globals: Globals, run: string, format: OutputFormat): Promise<number> {
	await using runtime = await openForReading(globals);
	const controller = new AbortController();
	process.once("SIGINT", () => controller.abort());
	let view = emptyRunView;
	for await (const event of runtime.scripts.watch(run, controller.signal)) {
		view = nextRunView(view, event);
		if (format === "stream-json") await out.json(event);
		else if (format === "text") await out.lines(scriptEventLines(event));
	}
	const exitCode = controller.signal.aborted ? exitCodes.interrupted : exitCodes.ok;
	const { status, saved, paid } = view;
	const whole = { ...view, calls: callsOf(view) };
	const last = scriptViewLines(whole).at(-1) ?? "";
	if (format === "stream-json") out.json({ type: "result", run, status, saved, paid, exitCode });
	if (format === "json") await out.json(whole);
	if (format === "text") await out.line(last);
	return exitCode;
}
