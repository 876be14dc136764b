/** argv → what a package function does. */
import { readFileSync } from "node:fs";
import { inspect } from "node:util";
import { isNativeError } from "node:util/types";
import { jsonSchemaOf, scopeText, sessionText, verbs, type WorkVerb, type WriteVerb } from "@reyn/operator";
import { besideState, finishArchive, mainSession, type Runtime, type SessionScope } from "@reyn/runtime";
import { Argument, Command, CommanderError, InvalidArgumentError, Option, type OutputConfiguration } from "commander";
import { adviceFor } from "./advice.ts";
import { readAttached } from "./attached.ts";
import type { Shell } from "./completion.ts";
import { addConfig } from "./config/index.ts";
import { type Globals, stateOf } from "./context.ts";
import { CliError, exitCodeOf } from "./exit-code.ts";
import { exitCodes } from "./exit-codes.ts";
import type { ExportOptions } from "./export-page.ts";
import { unlessHeld } from "./held.ts";
import { err, out } from "./print.ts";
import { addScriptCommands } from "./script.ts";
import { addNewSkill } from "./skills/new.ts";
import { suggestAt } from "./suggest.ts";
import type { OutputFormat } from "./telling.ts";
import { secretsDirectory } from "./trust.ts";
import type { UiOptions } from "./ui.ts";
import { addVerbs, carryOutHere, groupOf } from "./verbs.ts";
import { version } from "./version.ts";
import { wholeNumber } from "./whole-number.ts";
import { formatOf, outputFormat, work } from "./work.ts";
import {
	answersOption,
	modeOption,
	type ProcessOptions,
	planOption,
	policyOption,
	processOptionsOf,
} from "./work-options.ts";

export { end, heedReaders } from "./stop.ts";

export async function main(argv: readonly string[]): Promise<number> {
	let exitCode: number = exitCodes.ok;
	const program = commands((code) => {
		exitCode = code;
	});
	try {
		await program.parseAsync(withDefaultCommand(program, withBehind(program, argv)));
		return exitCode;
	} catch (error) {
		if (error instanceof CommanderError) {
			if (error.exitCode === 0) return exitCodes.ok;
			// The parser has told people already.
			const message = error.message.replace(/^error: /, "");
			if (argv.includes("--json")) out.json({ error: { code: "CLI_USAGE", message, details: {} } });
			return exitCodes.usage;
		}
		return report(error, program.opts());
	} finally {
		suggestAt({});
	}
}

/** `reyn` alone means `reyn chat`; a word that is no command is left for the parser, which knows what was meant. */
function withDefaultCommand(program: Command, argv: readonly string[]): string[] {
	const { operands, unknown } = program.parseOptions(argv.slice(2));
	const isBare = operands.length === 0 && !unknown.some((flag) => /^(-h|--help|-V|--version)$/.test(flag));
	return isBare ? [...argv.slice(0, 2), "chat", ...argv.slice(2)] : [...argv];
}

/** They are options of commands, `--mode` of some another one than of others: where one stands before the command it is put behind. */
const behind = ["--mode", "--plan"];

function withBehind(program: Command, argv: readonly string[]): readonly string[] {
	return behind.reduce((words: readonly string[], option) => {
		const at = words.findIndex((word) => word === option || word.startsWith(`${option}=`));
		if (at < 0 || program.parseOptions(words.slice(2, at)).operands.length > 0) return words;
		const end = at + (words[at] === option ? 2 : 1);
		const rest = words.slice(end);
		const last = rest.includes("--") ? rest.indexOf("--") : rest.length;
		return [...words.slice(0, at), ...rest.slice(0, last), ...words.slice(at, end), ...rest.slice(last)];
	}, argv);
}

/** One line for people; as JSON too when that was asked for. A stack trace only with -v. */
function report(error: unknown, { json, verbose }: { json?: boolean; verbose?: boolean }): number {
	const { code = "ERROR", message, detail } = error as Error & { code?: string; detail?: unknown };
	if (json) out.json({ error: { code, message, details: detail ?? {} } });
	err.line(`reyn: ${[message, ...adviceFor(error)].join("; ")}`);
	if (verbose) err.lines(framesOf(error as Error));
	return exitCodeOf(error);
}

/** The stack without the message, which may be of many lines, and is said already. */
function framesOf({ stack = "", message }: Error): readonly string[] {
	const at = stack.indexOf(message);
	const lines = (at < 0 ? stack : stack.slice(at + message.length)).split("\n");
	return lines.filter((line) => line.startsWith("    at "));
}

/** What nothing has caught ends the process, as it would without this, which cleans what is said of it. */
export function reportUncaught(error: unknown): number {
	return report(isNativeError(error) ? error : new Error(inspect(error)), { verbose: true });
}

/** What the parser says may quote what was typed, of which nothing begins a line; what it suggests does. */
const parserOutput: OutputConfiguration = {
	writeOut: (text) => void out.text(text.replace(/\n$/, "")),
	writeErr: (text) => void err.text(text.replace(/\n$/, "")),
	outputError(text) {
		const lines = text.trimEnd().split("\n");
		const hint = lines.findLastIndex((line) => line.startsWith("(Did you mean "));
		err.lines(hint > 0 ? [lines.slice(0, hint).join("\n"), lines.slice(hint).join("\n")] : [lines.join("\n")]);
	},
};

const EXIT_CODES = `
Exit codes: 0 done · 1 failed while running · 2 usage · 3 not found
            4 refused (needs --yes, in use, newer format)
            5 the log is damaged, or not safe to use
            6 finished, and some plan steps failed
            129, 130, 141 and 143 stopped by a signal`;

/** What goes with every command, by name: what each does is said once. */
function globalsOf(program: Command): string {
	const help = program.createHelp();
	const options = program.options.filter(({ long }) => long !== "--version");
	// What belongs together stays on one line.
	const names = options.map(({ flags }) => flags.replaceAll(" ", "\u00a0"));
	return help.boxWrap(`Global options (reyn --help): ${names.join(" · ")}`, 80).replaceAll("\u00a0", " ");
}

export function commands(done: (exitCode: number) => void): Command {
	const program: Command = new Command("reyn")
		.description(
			"A durable agent: kill it anywhere, it goes on where it stopped, and what is durable is never paid again.",
		)
		.version(version(), "-V, --version")
		.addOption(new Option("--cwd <dir>", "the directory to work on").default(process.cwd(), "where you are"))
		.option("--state <dir>", "where the history is kept (default: .reyn in the directory)")
		.option("--model <name>", "offline, or <provider>/<model>: anthropic, google, ollama, openai (or REYN_MODEL)")
		.option("--json", "one JSON document on stdout")
		.option("-v, --verbose", "show stack traces")
		.option("--trust", "go on in a state that was copied, moved, or made by somebody else; it is known from then on")
		.option("--allow-network", "keep the history on a network file system, at your own risk")
		.option(
			"--allow-unsafe-paths",
			"let the file tools work without /proc, where a directory swapped for a link can lead them elsewhere",
		)
		.addOption(new Option("--pace <ms>", "slow the offline model down, per call").argParser(wholeNumber).default(0))
		.addHelpText("after", "\nExample: reyn demo")
		.addHelpText("afterAll", ({ command }) =>
			command.parent ? `\n${globalsOf(program)}\nExit codes: reyn --help` : EXIT_CODES,
		)
		.configureOutput(parserOutput)
		.exitOverride()
		.showHelpAfterError("(reyn --help says what there is)");
	let chosen: ProcessOptions = {};
	const globals = (): Globals => ({ ...program.opts<Globals>(), ...chosen });
	program.hook("preAction", async (_, command) => {
		chosen = processOptionsOf(command);
		const { cwd, state } = globals();
		suggestAt({ cwd: program.getOptionValueSource("cwd") === "cli" ? cwd : undefined, state });
		if (besideState(stateOf(globals())).length > 0) await finishArchive(stateOf(globals()), secretsDirectory());
	});

	program
		.command("chat")
		.description("talk; plans work in the background. /help lists the commands inside")
		.option("--no-restore", "do not go on with what was in flight; it stays for the next start")
		.option("--plain", "whole lines and no screen, as off a terminal; for screen readers too (REYN_SCREEN_READER=1)")
		.addOption(
			new Option("-c, --continue", "in the session that was talked in last").conflicts(["resume", "session", "fork"]),
		)
		.addOption(
			new Option("-r, --resume <session>", "in a session that there is").argParser(sessionOf).conflicts("session"),
		)
		.addOption(new Option("--session <name>", "in a session of that name; it may be new").argParser(sessionOf))
		.addOption(modeOption())
		.addOption(planOption())
		.addOption(policyOption())
		.option("--fork <ref>", "check out a moment first, and talk on from there; what came after it stays")
		.option("--reset", "end all that is in flight first; nothing is deleted, and one undo has it back")
		.option("--yes", "fork, or reset, without asking")
		.addHelpText("after", "\nExample: reyn chat --session work")
		.action(async ({ fork, reset = false, yes = false, ...options }: ChatFlags) => {
			if (reset) {
				const endWork = verbs.find(({ name }) => name === "reset") as WriteVerb;
				await carryOutHere(endWork, {}, globals(), { yes });
			}
			if (fork !== undefined) {
				const checkout = verbs.find(({ name }) => name === "checkout") as WriteVerb;
				await carryOutHere(checkout, { ref: fork }, globals(), { yes });
			}
			const { chat } = await import("./chat/session.ts");
			done(await chat(globals(), { ...options, version: version() }));
		});

	program
		.command("run")
		.description("one question, and its plan to the end; for scripts")
		.requiredOption("-p, --prompt <text>", "the question; - reads it from stdin")
		.addOption(outputFormat())
		.addOption(modeOption())
		.addOption(planOption())
		.addOption(policyOption())
		.addOption(answersOption())
		.option("--attach <file>", "an image or a PDF to be shown with it; may be given several times", listed, [])
		.option("--no-restore", "do not go on with what was in flight")
		.addOption(new Option("--session <name>", "in a session of that name; it may be new").argParser(sessionOf))
		.addHelpText("after", '\nExample: reyn run -p "how does recovery work with snapshots?" --json')
		.action(async ({ prompt, outputFormat, restore, attach, session = mainSession }: RunFlags) => {
			const text = prompt === "-" ? readFileSync(0, "utf8") : prompt;
			if (text.trim() === "") throw new CliError("CLI_USAGE", "the question is empty; give one with -p");
			const ask = verbs.find(({ name }) => name === "ask") as WorkVerb;
			const files = await Promise.all(attach.map((path) => readAttached(path)));
			const start = async (runtime: Runtime): Promise<void> => void (await runtime.prompt(text, session, files));
			const there = files.map(({ name, bytes }) => ({ name, base64: Buffer.from(bytes).toString("base64") }));
			const format = formatOf(globals(), outputFormat);
			const here = () => work({ globals: globals(), format, restore, session, start });
			done(await unlessHeld(ask, { text, files: there, session: scopeText(session) }, globals(), format, here));
		});

	addVerbs(program, { globals, done });
	addScriptCommands(program, globals, print, done);
	addNewSkill(groupOf(program, "skill"), globals, print);

	program
		.command("ui")
		.description(
			"a page beside it: the history as a tree, any moment, what going there would do. For this machine alone",
		)
		.addOption(new Option("--port <n>", "where to listen; 0 takes one that is free").argParser(wholeNumber).default(0))
		.option("--read-only", "look, and change nothing")
		.option("--no-restore", "what the page begins goes on alone; what was in flight stays for the next start")
		.addOption(modeOption())
		.option("--open", "show it in the browser of this system")
		.addHelpText("after", "\nExample: reyn ui --open")
		.action(async (options: UiOptions) => {
			const { ui } = await import("./ui.ts");
			done(await ui(globals(), options));
		});

	program
		.command("export")
		.argument("<file>", "a file that is not there yet: history.html")
		.description("a copy of the page as one file, which shows the history in any browser, without a server")
		.addOption(new Option("-n <count>", "so many moments, the newest (default: 200)").argParser(wholeNumber))
		.addOption(
			new Option("--session <session>", "in which session").argParser(sessionOf).default(mainSession, "default/main"),
		)
		.addHelpText("after", "\nExample: reyn export history.html")
		.action(async (file: string, options: ExportOptions) => {
			const { exportPage } = await import("./export-page.ts");
			await exportPage(globals(), file, options);
		});

	program
		.command("demo")
		.description(
			"the whole story on a real directory: a plan, a kill -9, the resume, branches, rewinds. No key, no network",
		)
		.option("--keep <dir>", "where to keep the state (default: a fresh temporary directory)")
		.addOption(
			new Option(
				"--crash-at <n>",
				"kill once n steps have finished, in the middle of another (default: at random)",
			).argParser(wholeNumber),
		)
		.option("--question <text>", "what to ask first")
		.addHelpText("after", "\nExample: reyn demo --cwd ~/notes")
		.action(async (options: { keep?: string; crashAt?: number; question?: string }) => {
			const { demo } = await import("./demo.ts");
			done(await demo(globals(), options));
		});

	program
		.command("archive")
		.description("set the whole history aside under another name, and begin a new one behind it; nothing is deleted")
		.option("--dry-run", "the preview, and nothing else")
		.option("--yes", "do it without asking")
		.addHelpText("after", "\nExample: reyn archive --dry-run")
		.action(async (options: { yes?: boolean; dryRun?: boolean }) => {
			const { archive } = await import("./archive.ts");
			await archive(globals(), options);
		});

	program
		.command("doctor")
		.description("is all here that a durable agent needs: Node, the state, its disk, locks and syncs, the terminal")
		.addHelpText("after", "\nExample: reyn doctor --json")
		.action(async () => {
			const { examine, findingLine } = await import("./doctor.ts");
			const findings = await examine(globals());
			print(globals(), { findings }, findings.map(findingLine));
			if (findings.some(({ verdict }) => verdict === "bad")) done(exitCodes.failed);
		});

	addConfig(program, globals);
	program
		.command("init")
		.description("write a reyn.yaml that says what may be set, and have git pass over the history")
		.addHelpText("after", "\nExample: reyn init")
		.action(async () => {
			const { init } = await import("./config/command.ts");
			await init(globals());
		});

	program
		.command("schema")
		.argument("[command...]", "such as plan show; absent: all of them, by name")
		.description("the JSON Schema of what a command says with --json")
		.addHelpText("after", "\nExample: reyn schema plan show")
		.action((words: readonly string[]) => out.json(schemaFor(words.join(" "))));

	program
		.command("completion")
		.description("a script that has your shell complete the commands and their options")
		.addArgument(new Argument("<shell>", "which shell").choices(["bash", "zsh", "fish"]))
		.addHelpText("after", '\nExample: eval "$(reyn completion bash)"')
		.action(async (shell: Shell) => {
			const { completionFor } = await import("./completion.ts");
			out.text(completionFor(shell, program).trimEnd());
		});

	return program;
}

interface RunFlags {
	readonly prompt: string;
	readonly attach: readonly string[];
	readonly outputFormat: OutputFormat;
	readonly restore: boolean;
	readonly session?: SessionScope;
}

interface ChatFlags {
	readonly restore: boolean;
	readonly plain?: boolean;
	readonly continue?: boolean;
	readonly resume?: SessionScope;
	readonly session?: SessionScope;
	readonly fork?: string;
	readonly reset?: boolean;
	readonly yes?: boolean;
}

/** @throws CliError `CLI_NOT_FOUND` for a command that is none, or has no schema */
function schemaFor(name: string): object {
	// The other faces have it under its name; here it is `run`, whose document tells of all that it waited for.
	const known = verbs.filter((verb) => verb.name !== "ask");
	if (name === "") return Object.fromEntries(known.map((verb) => [verb.name, jsonSchemaOf(verb)]));
	const verb = known.find((each) => each.name === name);
	if (verb) return { title: name, ...jsonSchemaOf(verb) };
	const names = known.map((each) => each.name).join(", ");
	throw new CliError("CLI_NOT_FOUND", `no schema of "${name}"; there are: ${names}`);
}

const listed = (value: string, before: readonly string[]): readonly string[] => [...before, value];

/** `work` is a session of the usual agent, `other/work` one of another. */
function sessionOf(text: string): SessionScope {
	const { data, error } = sessionText.safeParse(text);
	if (data) return data;
	throw new InvalidArgumentError(`${error.issues.map(({ message }) => message).join("; ")}.`);
}

function print({ json }: Globals, value: unknown, lines: readonly string[]): void {
	if (json) out.json(value);
	else out.lines(lines);
}
