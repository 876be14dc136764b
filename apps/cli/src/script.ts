/** `reyn script`: programs of agents that go on where they were cut, after any crash and any edit. */
import { randomBytes } from "node:crypto";
import { readFile, rename, writeFile } from "node:fs/promises";
import { basename, resolve } from "node:path";
import { asJson, oneLine } from "@reyn/operator/text";
import {
	callsOf,
	checkScript,
	emptyRunView,
	nextRunView,
	type Question,
	type Runtime,
	type RuntimeEvent,
	type ScriptEnd,
	type ScriptResume,
	type ScriptText,
	type StartedScript,
} from "@reyn/runtime";
import { type Command, Option } from "commander";
import { type Globals, openForReading, openForWork, previewing, reading, watchTimeSlice } from "./context.ts";
import { eventLines, meterLine, printSpace, stoppedLine } from "./event-lines.ts";
import { CliError, exitCodeOf } from "./exit-code.ts";
import { bySignal, exitCodes } from "./exit-codes.ts";
import { answerLines, asked, err, out } from "./print.ts";
import { explanationLines, runLines, scriptEventLines, verificationLines, viewLines } from "./script-lines.ts";
import { type Stopped, untilStopped } from "./stop.ts";
import { reyn } from "./suggest.ts";
import { formatOf, type OutputFormat, outputFormat } from "./work.ts";

type Print = (globals: Globals, value: unknown, lines: readonly string[]) => void;

interface With {
	readonly args?: string;
	readonly argsFile?: string;
	readonly answer?: readonly string[];
	readonly isolate?: boolean;
	readonly outputFormat: OutputFormat;
}

interface ResumeOptions extends With {
	readonly explain?: boolean;
	readonly strict?: boolean;
	readonly reuse?: "prefix" | "content";
	readonly policy?: "retry" | "skip" | "discard";
}

export function addScriptCommands(
	program: Command,
	globals: () => Globals,
	print: Print,
	done: (exitCode: number) => void,
): void {
	const script = program
		.command("script")
		.description("scripts of agents: run, kill, edit, go on")
		.addHelpText(
			"after",
			"\nA script has no clock, dice, files or network but what ctx gives, so that each\nof its runs is the same. That keeps accidents out and is no sandbox: run scripts\nthat you trust, or others with --isolate, in a process that has no files,\nprograms or environment. What its calls do, tools do all the same.\n\nExample: reyn script run review.ts",
		);
	const theRun = "the id of a run: reyn script list has them";
	const answer = (): Option =>
		new Option("--answer <text>", "an answer to what the script asks; may be given several times").argParser(
			(text: string, before: readonly string[] = []) => [...before, text],
		);

	const isolate = ["--isolate", "run the script in a process of its own that has nothing but its calls"] as const;

	script
		.command("run")
		.argument("<file>", "a TypeScript file whose default export is async (ctx, args) => result")
		.description("run a script; its result goes to stdout")
		.option("--args <json>", "its arguments")
		.option("--args-file <path>", "the same from a file")
		.addOption(answer())
		.option(...isolate)
		.addOption(outputFormat())
		.addHelpText("after", '\nExample: reyn script run review.ts --args \'{"topic":"recovery"}\'')
		.action(async (file: string, options: With) => {
			const prepare = async (): Promise<Begin> => {
				const [text, args] = [await readScript(file), await argsOf(options)];
				await checkScript(text, args, { ...options, watchTimeSlice });
				return (runtime) => runtime.scripts.start(text, args);
			};
			done(await runIt(globals(), options, prepare));
		});

	script
		.command("resume")
		.argument("<run>", theRun)
		.argument("[file]", "the script as it is edited now (default: as it was)")
		.description("go on with a run; what is recorded is not called again")
		.option("--explain", "say what would be recalled and what called, and what it costs; nothing else")
		.option("--strict", "refuse when the script asks for something else than is recorded")
		.addOption(
			new Option(
				"--reuse <how>",
				'what an edited script keeps: the unchanged beginning of each branch, or equal calls too (default: as before; at first "prefix")',
			).choices(["prefix", "content"]),
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
		.option(...isolate)
		.addOption(outputFormat())
		.addHelpText("after", "\nExample: reyn script resume r395df1eb review.ts --explain")
		.action(
			async (run: string, file: string | undefined, { explain, strict, reuse, policy, ...options }: ResumeOptions) => {
				const given = async (): Promise<ScriptResume> => ({
					script: file === undefined ? undefined : await readScript(file),
					args: await argsOf(options),
					reuse,
					strict,
					whenInDoubt: policy,
				});
				if (explain) {
					const how = await given();
					const explanation = await previewing(globals(), options.isolate ?? false, (runtime) =>
						runtime.scripts.explain(run, how),
					);
					const json = formatOf(globals(), options.outputFormat) !== "text";
					return print({ ...globals(), json }, explanation, explanationLines(explanation));
				}
				const prepare = async (): Promise<Begin> => {
					const how = await given();
					await previewing(globals(), options.isolate ?? false, (runtime) => runtime.scripts.check(run, how));
					return (runtime) => runtime.scripts.resume(run, how);
				};
				done(await runIt(globals(), options, prepare));
			},
		);

	script
		.command("list")
		.description("script runs, newest first")
		.addHelpText("after", "\nExample: reyn script list --json")
		.action(async () => {
			const runs = await reading(globals(), async (runtime) => runtime.scripts.list());
			print(globals(), runs, runLines(runs));
		});

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
			const written = force ? replaceFile(path, source) : writeFile(path, source, { flag: "wx" });
			await written.catch(({ code }: NodeJS.ErrnoException) => {
				if (code === "EEXIST")
					throw new CliError("CLI_REFUSED", `${path} is there already; give another name, or --force`);
				throw new CliError("CLI_USAGE", `${path} cannot be written (${code}); give the path of a file`);
			});
			print(globals(), { run, path }, [`${path} is the script of ${run}`]);
		});

	script
		.command("verify")
		.argument("<run>", theRun)
		.argument("[file]", "the script as it is now (default: as it was)")
		.description("replay a run without a single call; fails when the script does something else than is recorded")
		.option(...isolate)
		.addHelpText("after", "\nExample: reyn script verify r395df1eb review.ts")
		.action(async (run: string, file: string | undefined, { isolate = false }: { isolate?: boolean }) => {
			const text = file === undefined ? undefined : await readScript(file);
			const verification = await previewing(globals(), isolate, (runtime) => runtime.scripts.verify(run, text));
			print(globals(), verification, verificationLines(verification, run));
			done(verification.divergences.length === 0 ? exitCodes.ok : exitCodes.failed);
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
	await writeFile(made, text, { flag: "wx" });
	await rename(made, path);
}

/** Begins a run, once everything that it needs is there. */
type Begin = (runtime: Runtime) => Promise<StartedScript>;

/**
 * Runs to the end of the script, or until a signal; gives the exit code.
 *
 * @param prepare reads and checks: what it refuses is refused before the state is opened for work
 */
function runIt(globals: Globals, options: With, prepare: () => Promise<Begin>): Promise<number> {
	const format = formatOf(globals, options.outputFormat);
	return endingWithResult(format, async () => runToItsEnd(globals, format, options, await prepare()));
}

/** A stream says at its end that it failed, too. */
async function endingWithResult(format: OutputFormat, work: () => Promise<number>): Promise<number> {
	try {
		return await work();
	} catch (error) {
		if (format !== "stream-json") throw error;
		const exitCode = exitCodeOf(error);
		const { code = "ERROR", message } = error as Error & { code?: string };
		stream({ type: "result", exitCode, error: { code, message } });
		return exitCode;
	}
}

async function runToItsEnd(
	globals: Globals,
	format: OutputFormat,
	{ answer = [], isolate = false }: With,
	begin: Begin,
): Promise<number> {
	const say = (lines: readonly string[]): void => {
		if (format === "text") err.lines(lines);
	};
	const onEvent = (event: RuntimeEvent): void => {
		if (format === "stream-json") stream(event);
		else if (format === "json") printSpace(event);
		else say(eventLines(event));
	};
	const runtime = await openForWork(globals, { onEvent, ask: asker(answer), isolate });
	// A stop may come before there is a run, or its end.
	const ended: { run?: string; end: ScriptEnd } = {
		end: { status: "stopped", reason: { message: "the process was asked to stop" } },
	};
	const stopped = await untilStopped(runtime, async () => {
		if (format === "stream-json") stream({ type: "init", tip: runtime.wal.tip, pid: process.pid });
		const { run, end } = await begin(runtime);
		say([`script run ${run}`]);
		ended.run = run;
		ended.end = await end;
	});
	const { run, end } = ended;
	const exitCode = stopped ? bySignal[stopped.by] : exitCodeOfEnd(end);
	const { meter } = runtime;
	const summary = { run, ...end, tip: runtime.wal.durableTip, meter, exitCode };
	if (format === "stream-json") stream({ type: "result", ...summary });
	else if (format === "json") out.json(summary);
	else {
		if (end.status === "completed" && end.result !== undefined) out.text(resultText(end.result));
		if (end.status !== "completed" && !stopped) say([`${end.status}: ${end.reason.message}`]);
		say(run === undefined ? ["stopped before it began"] : goOnLines(run, end, stopped));
		say([meterLine(meter)]);
	}
	return exitCode;
}

const stream = (line: unknown): void => void out.json(line);

function goOnLines(run: string, { status }: ScriptEnd, stopped: Stopped | undefined): readonly string[] {
	if (status === "completed") return [];
	const resume = reyn`script resume ${run}`;
	if (stopped) return [stoppedLine(stopped, resume)];
	return [status === "waiting" ? `answer with: ${reyn`script resume ${run} --answer "…"`}` : `go on with: ${resume}`];
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

const resultText = (result: unknown): string => (typeof result === "string" ? result : asJson(result, 2));

/** Answers what a script asks: with what was given first; then the person does, where there is one, a question at a time. */
function asker(given: readonly string[]): (question: Question) => Promise<string | undefined> {
	const answers = [...given];
	let before: Promise<unknown> = Promise.resolve();
	return async (question) => {
		if (answers.length > 0) return answers.shift();
		if (!process.stdin.isTTY) return undefined;
		const answer = before.then(() => askPerson(question));
		before = answer.catch(() => {});
		return answer;
	};
}

/** Undefined when the person leaves it open, with Ctrl-D. */
async function askPerson({ question, choices, signal }: Question): Promise<string | undefined> {
	signal.throwIfAborted();
	const lines = answerLines();
	const left = new Promise<undefined>((resolve) => lines.once("close", () => resolve(undefined)));
	// Ctrl-C is a key here, and no signal; without this it would be the failure of the question.
	lines.once("SIGINT", () => process.kill(process.pid, "SIGINT"));
	try {
		const text = `${question}${choices ? ` (${choices.join(", ")})` : ""}`;
		return await Promise.race([lines.question(asked(text), { signal }), left]);
	} finally {
		lines.close();
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
	const last = viewLines(view).at(-1) ?? "";
	if (format === "stream-json") stream({ type: "result", run, status, saved, paid, exitCode });
	if (format === "json") await out.json({ ...view, calls: callsOf(view) });
	if (format === "text") await out.line(last);
	return exitCode;
}

async function readScript(file: string): Promise<ScriptText> {
	return { name: basename(file), source: await readInput(file, "the script", "a TypeScript file") };
}

/** @throws CliError `CLI_NOT_FOUND`, `CLI_USAGE` */
async function readInput(file: string, what: string, expected: string): Promise<string> {
	try {
		return await readFile(file, "utf8");
	} catch (error) {
		const { code } = error as NodeJS.ErrnoException;
		throw new CliError(
			code === "ENOENT" ? "CLI_NOT_FOUND" : "CLI_USAGE",
			`${what} ${resolve(file)} cannot be read (${code}); give the path of ${expected}`,
		);
	}
}

/** Undefined where none are given. */
async function argsOf({ args, argsFile }: Pick<With, "args" | "argsFile">): Promise<unknown> {
	if (args !== undefined && argsFile !== undefined)
		throw new CliError("CLI_USAGE", "give --args or --args-file, not both");
	const text = argsFile === undefined ? args : await readInput(argsFile, "the arguments", "a JSON file");
	try {
		return text === undefined ? undefined : JSON.parse(text);
	} catch (error) {
		const where = argsFile === undefined ? "--args" : resolve(argsFile);
		throw new CliError("CLI_USAGE", `${where}: expected JSON; ${(error as Error).message}`);
	}
}
