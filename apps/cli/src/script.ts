/** `reyn script`: programs of agents that go on where they were cut, after any crash and any edit. */
import { readFile, writeFile } from "node:fs/promises";
import { basename, resolve } from "node:path";
import { createInterface } from "node:readline/promises";
import {
	callsOf,
	emptyRunView,
	nextRunView,
	type Question,
	type Runtime,
	type RuntimeEvent,
	type ScriptEnd,
	type ScriptText,
	type StartedScript,
} from "@reyn/runtime";
import { type Command, Option } from "commander";
import { clean } from "./clean.ts";
import { type Globals, openForReading, openForWork, reading } from "./context.ts";
import { bySignal, CliError, exitCodes } from "./exit-code.ts";
import { explanationLines, runLines, scriptEventLine, verificationLines, viewLines } from "./script-lines.ts";
import { eventLine, meterLine, write } from "./speak.ts";
import { formatOf, type OutputFormat, outputFormat } from "./work.ts";

type Print = (globals: Globals, value: unknown, lines: readonly string[]) => void;

interface With {
	readonly args?: string;
	readonly argsFile?: string;
	readonly answer?: readonly string[];
	readonly outputFormat: OutputFormat;
}

interface ResumeOptions extends With {
	readonly explain?: boolean;
	readonly strict?: boolean;
	readonly reuse: "prefix" | "content";
	readonly policy?: "retry" | "skip" | "discard";
}

export function addScriptCommands(
	program: Command,
	globals: () => Globals,
	print: Print,
	done: (exitCode: number) => void,
): void {
	const script = program.command("script").description("scripts of agents: run, kill, edit, go on");
	const answer = (): Option =>
		new Option("--answer <text>", "an answer to what the script asks; may be given several times").argParser(
			(text: string, before: readonly string[] = []) => [...before, text],
		);

	script
		.command("run")
		.argument("<file>", "a TypeScript file whose default export is async (ctx, args) => result")
		.description("run a script; its result goes to stdout")
		.option("--args <json>", "its arguments")
		.option("--args-file <path>", "the same from a file")
		.addOption(answer())
		.addOption(outputFormat())
		.addHelpText("after", '\nExample: reyn script run review.ts --args \'{"topic":"recovery"}\'')
		.action(async (file: string, options: With) => {
			const [text, args] = [await readScript(file), await argsOf(options)];
			done(await runIt(globals(), options, (runtime) => runtime.startScript(text, args)));
		});

	script
		.command("resume")
		.argument("<run>")
		.argument("[file]", "the script as it is edited now (default: as it was)")
		.description("go on with a run; what is recorded is not called again")
		.option("--explain", "say what would be recalled and what called, and what it costs; nothing else")
		.option("--strict", "refuse when the script asks for something else than is recorded")
		.addOption(
			new Option(
				"--reuse <how>",
				"what an edited script keeps: the unchanged beginning of each branch, or equal calls too",
			)
				.choices(["prefix", "content"])
				.default("prefix"),
		)
		.addOption(
			new Option("--policy <what>", "for effects that may or may not have happened").choices([
				"retry",
				"skip",
				"discard",
			]),
		)
		.option("--args <json>", "other arguments")
		.option("--args-file <path>", "the same from a file")
		.addOption(answer())
		.addOption(outputFormat())
		.action(
			async (run: string, file: string | undefined, { explain, strict, reuse, policy, ...options }: ResumeOptions) => {
				const [text, args] = [file === undefined ? undefined : await readScript(file), await argsOf(options)];
				const how = { script: text, args, reuse, strict, whenInDoubt: policy };
				if (explain) {
					const explanation = await reading(globals(), (runtime) => runtime.explainScript(run, how));
					return print(globals(), explanation, explanationLines(explanation));
				}
				await reading(globals(), (runtime) => runtime.scriptOf(run));
				done(await runIt(globals(), options, (runtime) => runtime.resumeScript(run, how)));
			},
		);

	script
		.command("list")
		.description("script runs, newest first")
		.action(async () => {
			const runs = await reading(globals(), async (runtime) => runtime.scriptRuns());
			print(globals(), runs, runLines(runs));
		});

	script
		.command("watch")
		.argument("<run>")
		.description("what a run has done, and then what it does, in whatever process")
		.addOption(outputFormat())
		.action(async (run: string, options: { outputFormat: OutputFormat }) => {
			done(await watch(globals(), run, formatOf(globals(), options.outputFormat)));
		});

	script
		.command("save")
		.argument("<run>")
		.argument("[file]", "where to (default: its own name, here)")
		.description("write the script of a run as a file, to run it anew")
		.option("--force", "write over a file that is there")
		.action(async (run: string, file: string | undefined, { force }: { force?: boolean }) => {
			const { name, source } = await reading(globals(), (runtime) => runtime.scriptOf(run));
			const path = resolve(file ?? name);
			await writeFile(path, source, { flag: force ? "w" : "wx" }).catch((error: NodeJS.ErrnoException) => {
				if (error.code !== "EEXIST") throw error;
				throw new CliError("CLI_REFUSED", `${path} is there already; give another name, or --force`);
			});
			print(globals(), { run, path }, [`${path} is the script of ${run}`]);
		});

	script
		.command("verify")
		.argument("<run>")
		.argument("[file]", "the script as it is now (default: as it was)")
		.description("replay a run without a single call; fails when the script does something else than is recorded")
		.action(async (run: string, file: string | undefined) => {
			const text = file === undefined ? undefined : await readScript(file);
			const verification = await reading(globals(), (runtime) => runtime.verifyScript(run, text));
			print(globals(), verification, verificationLines(verification, run));
			done(verification.divergences.length === 0 ? exitCodes.ok : exitCodes.failed);
		});
}

/** Runs to the end of the script, or until a signal; gives the exit code. */
async function runIt(
	globals: Globals,
	{ answer = [], outputFormat }: With,
	start: (runtime: Runtime) => Promise<StartedScript>,
): Promise<number> {
	const format = formatOf(globals, outputFormat);
	const answers = [...answer];
	const stream = (line: unknown): Promise<void> => write(process.stdout, `${JSON.stringify(line)}\n`);
	const say = (line: string | undefined): void => {
		if (format === "text" && line !== undefined) process.stderr.write(`${line}\n`);
	};
	const onEvent = (event: RuntimeEvent): void => {
		if (format === "stream-json") void stream(event);
		else say(eventLine(event));
	};
	const runtime = await openForWork(globals, { onEvent, ask: (question) => ask(question, answers) });
	let stopped: keyof typeof bySignal | undefined;
	for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
		process.once(signal, () => {
			stopped = signal;
			runtime.cancel();
		});
	let ended: { run: string; end: ScriptEnd } | undefined;
	try {
		if (format === "stream-json") await stream({ type: "init", tip: runtime.wal.tip, pid: process.pid });
		const { run, end } = await start(runtime);
		say(`script run ${run}`);
		ended = { run, end: await end };
	} finally {
		await runtime.close();
	}
	const { run, end } = ended;
	const exitCode = stopped === undefined ? exitCodeOfEnd(end) : bySignal[stopped];
	const { meter } = runtime;
	const summary = { run, ...end, tip: runtime.wal.tip, meter, exitCode };
	if (format === "stream-json") await stream({ type: "result", ...summary });
	else if (format === "json") await write(process.stdout, `${JSON.stringify(summary)}\n`);
	else {
		if (end.status === "completed" && end.result !== undefined)
			await write(process.stdout, `${resultText(end.result)}\n`);
		if (end.status !== "completed") say(`${end.status}: ${clean(end.reason.message)}`);
		if (end.status === "waiting") say(`answer with: reyn script resume ${run} --answer "…"`);
		else if (end.status !== "completed") say(`go on with: reyn script resume ${run}`);
		say(meterLine(meter));
	}
	return exitCode;
}

function exitCodeOfEnd(end: ScriptEnd): number {
	switch (end.status) {
		case "completed":
			return exitCodes.ok;
		case "waiting":
			return exitCodes.refused;
		case "failed":
		case "stopped":
			return exitCodes.failed;
	}
}

const resultText = (result: unknown): string =>
	clean(typeof result === "string" ? result : JSON.stringify(result, null, 2));

/** What was given with the command comes first; then the person, where there is one. */
async function ask({ question, choices, signal }: Question, answers: string[]): Promise<string | undefined> {
	if (answers.length > 0) return answers.shift();
	if (!process.stdin.isTTY) return undefined;
	const lines = createInterface({ input: process.stdin, output: process.stderr });
	try {
		return await lines.question(`${clean(question)}${choices ? ` (${choices.map(clean).join(", ")})` : ""} `, {
			signal,
		});
	} finally {
		lines.close();
	}
}

async function watch(globals: Globals, run: string, format: OutputFormat): Promise<number> {
	await using runtime = await openForReading(globals);
	const controller = new AbortController();
	process.once("SIGINT", () => controller.abort());
	let view = emptyRunView;
	for await (const event of runtime.watchScript(run, controller.signal)) {
		view = nextRunView(view, event);
		const line = scriptEventLine(event);
		if (format === "stream-json") await write(process.stdout, `${JSON.stringify(event)}\n`);
		else if (format === "text" && line !== undefined) await write(process.stdout, `${line}\n`);
	}
	const last = viewLines(view).at(-1) ?? "";
	if (format === "json") await write(process.stdout, `${JSON.stringify({ ...view, calls: callsOf(view) })}\n`);
	if (format === "text") await write(process.stdout, `${last}\n`);
	return controller.signal.aborted ? exitCodes.interrupted : exitCodes.ok;
}

async function readScript(file: string): Promise<ScriptText> {
	try {
		return { name: basename(file), source: await readFile(file, "utf8") };
	} catch (error) {
		const { code } = error as NodeJS.ErrnoException;
		throw new CliError(
			code === "ENOENT" ? "CLI_NOT_FOUND" : "CLI_USAGE",
			`the script ${resolve(file)} cannot be read (${code}); give the path of a TypeScript file`,
		);
	}
}

/** Undefined where none are given. */
async function argsOf({ args, argsFile }: Pick<With, "args" | "argsFile">): Promise<unknown> {
	if (args !== undefined && argsFile !== undefined)
		throw new CliError("CLI_USAGE", "give --args or --args-file, not both");
	const where = argsFile === undefined ? "--args" : resolve(argsFile);
	try {
		const text = argsFile === undefined ? args : await readFile(argsFile, "utf8");
		return text === undefined ? undefined : JSON.parse(text);
	} catch (error) {
		throw new CliError("CLI_USAGE", `${where}: expected JSON; ${(error as Error).message}`);
	}
}
