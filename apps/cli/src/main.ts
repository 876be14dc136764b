/** argv → what a package function does. */
import { readFileSync } from "node:fs";
import { inspect } from "node:util";
import { isNativeError } from "node:util/types";
import { parseRef, type Restored, readHistory, reportState } from "@reyn/runtime";
import { Command, CommanderError, Option, type OutputConfiguration } from "commander";
import { adviceFor } from "./advice.ts";
import { asJson } from "./clean.ts";
import { assertReady, type Globals, openForReading, openForWork, reading } from "./context.ts";
import { CliError, exitCodeOf, exitCodes } from "./exit-code.ts";
import { addGcCommand } from "./gc.ts";
import { graphLines, listLines } from "./history.ts";
import { err, out } from "./print.ts";
import { addScriptCommands } from "./script.ts";
import { stateLines } from "./state.ts";
import { reyn } from "./suggest.ts";
import { addTravelCommands } from "./travel.ts";
import { addWalCommands } from "./wal.ts";
import { wholeNumber } from "./whole-number.ts";
import { formatOf, type OutputFormat, outputFormat, work } from "./work.ts";

export async function main(argv: readonly string[]): Promise<number> {
	let exitCode: number = exitCodes.ok;
	const program = commands((code) => {
		exitCode = code;
	});
	try {
		await program.parseAsync(withDefaultCommand(program, argv));
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
	}
}

/** `reyn` alone means `reyn chat`; a word that is no command is left for the parser, which knows what was meant. */
function withDefaultCommand(program: Command, argv: readonly string[]): string[] {
	const { operands, unknown } = program.parseOptions(argv.slice(2));
	const isBare = operands.length === 0 && !unknown.some((flag) => /^(-h|--help|-V|--version)$/.test(flag));
	return isBare ? [...argv.slice(0, 2), "chat", ...argv.slice(2)] : [...argv];
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
Exit codes: 0 done · 1 failed while running · 2 usage · 3 not found · 4 refused (needs --yes, in use, newer format)
            5 the log is damaged, or not safe to use · 6 finished, some plan steps failed · 129, 130, 141 and 143 stopped by a signal`;

function commands(done: (exitCode: number) => void): Command {
	const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
		version: string;
	};
	const program = new Command("reyn")
		.description(
			"A durable agent: kill it anywhere, it goes on where it stopped, and what is durable is never paid again.",
		)
		.version(version, "-V, --version")
		.option("--cwd <dir>", "the directory to work on", process.cwd())
		.option("--state <dir>", "where the history is kept (default: .reyn in the directory)")
		.option("--json", "one JSON document on stdout")
		.option("-v, --verbose", "show stack traces")
		.option("--trust", "go on in a state that was copied, moved, or made by somebody else; it is known from then on")
		.option("--allow-network", "keep the history on a network file system, at your own risk")
		.option(
			"--allow-unsafe-paths",
			"let the file tools work without /proc, where a directory swapped for a link can lead them elsewhere",
		)
		.addOption(new Option("--pace <ms>", "slow the offline model down, per call").argParser(wholeNumber).default(0))
		.addHelpText("after", EXIT_CODES)
		.configureOutput(parserOutput)
		.exitOverride()
		.showHelpAfterError("(reyn --help says what there is)");
	const globals = (): Globals => program.opts<Globals>();

	program
		.command("chat")
		.description("talk; plans work in the background. /help lists the commands inside")
		.option("--no-restore", "do not go on with what was in flight; it stays for the next start")
		.action(async ({ restore }: { restore: boolean }) => {
			const { chat } = await import("./chat.ts");
			done(await chat(globals(), restore));
		});

	program
		.command("run")
		.description("one question, and its plan to the end; for scripts")
		.requiredOption("-p, --prompt <text>", "the question; - reads it from stdin")
		.addOption(outputFormat())
		.option("--no-restore", "do not go on with what was in flight")
		.addHelpText("after", '\nExample: reyn run -p "how does recovery work with snapshots?" --json')
		.action(
			async ({ prompt, outputFormat, restore }: { prompt: string; outputFormat: OutputFormat; restore: boolean }) => {
				const text = prompt === "-" ? readFileSync(0, "utf8") : prompt;
				if (text.trim() === "") throw new CliError("CLI_USAGE", "the question is empty; give one with -p");
				done(
					await work({
						globals: globals(),
						format: formatOf(globals(), outputFormat),
						restore,
						start: async (runtime) => void (await runtime.prompt(text)),
					}),
				);
			},
		);

	program
		.command("resume")
		.description("go on with everything that was in flight, deliver the answers, and end")
		.addOption(outputFormat())
		.action(async ({ outputFormat }: { outputFormat: OutputFormat }) => {
			// `--trust` holds from then on, whether anything is in flight or not.
			if (globals().trust) await assertReady(globals());
			await reading(globals(), async (runtime) => assertInFlight(runtime.restored()));
			done(await work({ globals: globals(), format: formatOf(globals(), outputFormat), start: async () => {} }));
		});

	program
		.command("log")
		.description("checkpoints and rewinds, newest first")
		.option("--graph", "as a tree, with the branches that were abandoned")
		.action(async ({ graph }: { graph?: boolean }) => {
			await using runtime = await openForReading(globals());
			const history = await readHistory(runtime);
			print(globals(), history, graph ? graphLines(history) : listLines(history));
		});

	program
		.command("show")
		.argument("<ref>", "142, @ (the tip), @-3 (checkpoints back), b7 (the end of a branch), a label")
		.description("the state at a moment, with a hash that proves it")
		.option("--entry", "the record itself")
		.action(async (ref: string, { entry }: { entry?: boolean }) => {
			await using runtime = await openForReading(globals());
			const seq = await parseRef(ref, runtime);
			if (!entry) {
				const state = await reportState(runtime, seq);
				return print(globals(), state, stateLines(state));
			}
			const record = await runtime.timeline.record(seq);
			if (!record) throw new CliError("CLI_NOT_FOUND", "genesis is before the first record; the first one is #1");
			print(globals(), record, asJson(record, 2).split("\n"));
		});

	addTravelCommands(program, globals, print);

	program
		.command("label")
		.argument("[ref]")
		.argument("[name]", "letters, digits, ., _ and -; a ref from then on")
		.description("name a moment; without a name, the labels there are")
		.option("--actor <name>", "who asks", "user")
		.action(async (ref: string | undefined, name: string | undefined, { actor }: { actor: string }) => {
			if (ref === undefined) {
				const labels = await reading(globals(), (runtime) => runtime.timeline.labels());
				const lines = labels.map((label) => `#${label.seq}  ${label.name}`);
				return print(globals(), labels, lines.length > 0 ? lines : ["there is no label"]);
			}
			if (name === undefined) throw new CliError("CLI_USAGE", "expected a name: reyn label <ref> <name>");
			const { seq, shown } = await reading(globals(), async (runtime) => {
				const found = await parseRef(ref, runtime);
				await runtime.timeline.record(found);
				return { seq: found, shown: runtime.wal.tip };
			});
			await using runtime = await openForWork(globals());
			await runtime.timeline.label(seq, name, { actor, expect: shown });
			print(globals(), { name, seq }, [`#${seq} is "${name}" from now on`]);
		});

	program
		.command("branches")
		.description("every line of history there is; the one with * is where you are")
		.action(async () => {
			const { branches } = await reading(globals(), readHistory);
			print(
				globals(),
				branches,
				branches.map(
					({ name, parent, forkedAt, last, active }) =>
						`${active ? "*" : " "} ${name}  to #${last}${parent === undefined ? "" : `  from #${forkedAt} of ${parent}`}`,
				),
			);
		});

	const plan = program.command("plan").description("plans that are in flight");
	plan.command("list").action(async () => {
		const { plans } = await reading(globals(), async (runtime) => runtime.restored());
		print(
			globals(),
			plans,
			plans.length > 0
				? plans.map((each) => `${each.plan}  ${each.status}  ${each.finished}/${each.size}  ${each.goal}`)
				: ["no plan is in flight"],
		);
	});
	plan
		.command("discard")
		.argument("<id>")
		.action(async (id: string) => {
			const shown = await reading(globals(), async (runtime) => {
				runtime.findPlan(id);
				return runtime.wal.tip;
			});
			await using runtime = await openForWork(globals());
			await runtime.discardPlan(id, { expect: shown });
			print(globals(), { plan: id, discarded: true }, [`plan ${id} is discarded`]);
		});
	plan
		.command("resume")
		.argument("<id>")
		.option("--from <step>", "run this step and all that depends on it again")
		.addOption(outputFormat())
		.action(async (id: string, { from, outputFormat }: { from?: string; outputFormat: OutputFormat }) => {
			await reading(globals(), async (runtime) => runtime.findPlan(id));
			done(
				await work({
					globals: globals(),
					format: formatOf(globals(), outputFormat),
					restore: false,
					start: async (runtime) => void (await runtime.resumePlan(id, from)),
				}),
			);
		});

	const skill = program.command("skill").description("skill runs");
	skill
		.command("run")
		.argument("<name>", "digest")
		.argument("<topic>")
		.addOption(outputFormat())
		.action(async (name: string, topic: string, { outputFormat }: { outputFormat: OutputFormat }) => {
			done(
				await work({
					globals: globals(),
					format: formatOf(globals(), outputFormat),
					start: async (runtime) => void (await runtime.runSkill(name, { topic })),
				}),
			);
		});
	skill.command("list").action(async () => {
		const { runs } = await reading(globals(), async (runtime) => runtime.restored());
		print(
			globals(),
			runs,
			runs.length > 0
				? runs.map((each) => `${each.run}  ${each.skill}  ${each.status}  ${each.phase ?? ""}`)
				: ["no skill run is in flight"],
		);
	});
	skill
		.command("discard")
		.argument("<run>")
		.action(async (run: string) => {
			const shown = await reading(globals(), async (runtime) => {
				runtime.findSkillRun(run);
				return runtime.wal.tip;
			});
			await using runtime = await openForWork(globals());
			await runtime.discardSkillRun(run, { expect: shown });
			print(globals(), { run, discarded: true }, [`skill run ${run} is discarded`]);
		});

	skill
		.command("resume")
		.description("go on with a run that a rewind has paused")
		.argument("<run>")
		.addOption(outputFormat())
		.action(async (run: string, { outputFormat }: { outputFormat: OutputFormat }) => {
			await reading(globals(), async (runtime) => runtime.findSkillRun(run));
			done(
				await work({
					globals: globals(),
					format: formatOf(globals(), outputFormat),
					restore: false,
					start: (runtime) => runtime.resumeSkillRun(run),
				}),
			);
		});

	addScriptCommands(program, globals, print, done);
	addGcCommand(program, globals, print);
	addWalCommands(program, globals, print, done);

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
		.action(async (options: { keep?: string; crashAt?: number; question?: string }) => {
			const { demo } = await import("./demo.ts");
			done(await demo(globals(), options));
		});

	return program;
}

/** @throws CliError `CLI_NOT_FOUND` when a resume would have nothing to do */
function assertInFlight({ turns, plans, runs, undelivered }: Restored): void {
	const running = [...plans, ...runs].filter(({ status }) => status === "running");
	if (turns.length + running.length + undelivered.length > 0) return;
	const waiting = plans.length > 0 ? `; paused: ${plans.map(({ plan }) => reyn`plan resume ${plan}`).join(", ")}` : "";
	throw new CliError("CLI_NOT_FOUND", `nothing is in flight${waiting}`);
}

function print({ json }: Globals, value: unknown, lines: readonly string[]): void {
	if (json) out.json(value);
	else out.lines(lines);
}
