/** The verbs of `@reyn/operator` as commands: what each takes becomes arguments and options, and what it says goes to stdout. */
import {
	act,
	type ClosedVerb,
	carryOut,
	carryOutClosed,
	type Desk,
	type FilesVerb,
	givenFor,
	holderOf,
	isOptional,
	type Param,
	type ReadVerb,
	type StreamVerb,
	type Told,
	typedName,
	type Verb,
	verbs,
	type WorkVerb,
	type WriteVerb,
} from "@reyn/operator";
import { Argument, type Command, InvalidArgumentError, Option } from "commander";
import { retentionOf, withFilesAlong } from "./config/options.ts";
import { answered } from "./confirm.ts";
import {
	askAboutSkills,
	assertReady,
	configured,
	examining,
	type Globals,
	openForWork,
	reading,
	stateOf,
} from "./context.ts";
import { CliError, exitCodeOf } from "./exit-code.ts";
import { exitCodes } from "./exit-codes.ts";
import { placesOf, sayDone, unlessHeld } from "./held.ts";
import { err, out, terminal } from "./print.ts";
import { workOnScript } from "./script-work.ts";
import { reyn } from "./suggest.ts";
import type { OutputFormat } from "./telling.ts";
import { forgetIfUnknown } from "./trust.ts";
import { fileOption, readTyped } from "./typed.ts";
import { untilTold } from "./until-stopped.ts";
import { formatOf, outputFormat, work } from "./work.ts";
import { answersOption, modeOption, policyOption } from "./work-options.ts";

/** What goes on with skill runs that stand where they were cut. */
const resumesSkills: readonly string[] = ["resume", "skill resume"];

/** What is a command by another name: `run` asks one question, and has more ways to be given it. */
const elsewhere: readonly string[] = ["ask"];

/** Of commands that have commands of their own, what is said of all. */
const groups: Readonly<Record<string, { readonly summary: string; readonly more?: string }>> = {
	plan: { summary: "plans: look at them, pause, resume, change, give up" },
	skill: { summary: "skills: which there are, and their runs" },
	task: { summary: "tasks beside the log: list, show, add, assign, set" },
	script: {
		summary: "scripts of agents: run, kill, edit, go on",
		more: "\nA script has no clock, dice, files or network but what ctx gives, so that each\nof its runs is the same. That keeps accidents out and is no sandbox: run scripts\nthat you trust, or others with --isolate, in a process that has no files,\nprograms or environment. What its calls do, tools do all the same.\n\nExample: reyn script run review.ts",
	},
	wal: { summary: "the log itself: verify, inspect, tail, stats, repair" },
};

/** What has more words here than its verb: a resume that is only explained. */
const explained: Readonly<Record<string, string>> = { "script resume": "script explain" };

/** What can be waited for besides. In a chat what happens is told anyway. */
const FOLLOWED = "events";

interface Face {
	readonly globals: () => Globals;
	readonly done: (exitCode: number) => void;
}

export function addVerbs(program: Command, face: Face): void {
	for (const verb of verbs) if (!elsewhere.includes(verb.name)) addVerb(program, verb, face);
}

function addVerb(program: Command, verb: Verb, { globals, done }: Face): void {
	const command = commandOf(program, verb.name).description(verb.summary);
	const params = Object.entries(verb.params);
	const words = params.filter(([, { as }]) => as === "word" || as === "text");
	for (const [, param] of words) {
		const argument = new Argument(isOptional(param) ? `[${param.value}]` : `<${param.value}>`, param.help);
		command.addArgument(param.choices ? argument.choices(param.choices) : argument);
	}
	for (const [name, param] of params)
		if (!isWord(param)) for (const each of optionsOf(name, param)) command.addOption(each);
	const explain = verbs.find(({ name }) => name === explained[verb.name]) as ReadVerb | undefined;
	if (explain) command.option("--explain", explain.summary);
	if (verb.name === FOLLOWED) command.option("-f, --follow", "wait for more, until Ctrl-C");
	if (verb.access === "write") addConfirming(command, verb);
	if (verb.access === "work" && verb.preview) command.option("--dry-run", `${verb.preview.summary}, and nothing else`);
	if (verb.access === "work") command.addOption(outputFormat()).addOption(modeOption()).addOption(answersOption());
	// All others that work leave what is unfinished as it is, but for what they are told to go on with.
	if (verb.access === "work" && !verb.isAlone && verb.name !== "resume")
		command.option("--no-restore", "do not go on with what was in flight");
	if (resumesSkills.includes(verb.name)) command.addOption(policyOption());
	command.addHelpText("after", `\nExample: ${reyn([`${verb.name} ${verb.example}`.trimEnd()])}`);
	command.action(async (...all: unknown[]) => {
		// Commander gives the arguments, then the options, then itself.
		const {
			dryRun,
			yes,
			actor,
			outputFormat: chosen = "text",
			explain: isExplained,
			follow,
			restore = true,
			...options
		} = all.at(-2) as Chosen;
		const typed: Record<string, unknown> = {
			...options,
			...Object.fromEntries(words.map(([name], at) => [name, all[at]])),
			// Of the process, and no param of the verb.
			...(verb.access === "work" && { mode: undefined, answers: undefined, policy: undefined, restore: undefined }),
			...(verb.name !== FOLLOWED && { follow }),
		};
		const format = formatOf(globals(), chosen);
		if (follow && verb.name === FOLLOWED)
			return done(await (await import("./follow-trail.ts")).followTrail(typed, globals()));
		if (explain && isExplained) {
			const names = Object.keys(explain.params).flatMap((name) => [name, fileOption(name)]);
			const raw = Object.fromEntries(names.flatMap((name) => (name in typed ? [[name, typed[name]]] : [])));
			return done(await carryOutHere(explain, raw, { ...globals(), json: format !== "text" }, { yes: false }));
		}
		if (verb.access === "work" && verb.preview && dryRun) {
			const { mode: _mode, answers: _answers, ...raw } = typed;
			return done(await carryOutHere(verb.preview, raw, { ...globals(), json: format !== "text" }, { yes: false }));
		}
		if (verb.access === "work") return done(await workOn(verb, typed, globals(), format, restore));
		if (verb.access === "stream") return done(await tell(verb, typed, globals()));
		const kept = verb.name === "gc" ? await keptBy(typed, command, globals()) : typed;
		const how = { yes: yes ?? false, actor: actor ?? "user", dryRun: dryRun ?? false };
		done(await carryOutHere(verb, kept, globals(), how));
	});
}

/** Previews, asks, does and says it. Gives the exit code. @throws CliError `CLI_REFUSED` where nobody wants it */
export async function carryOutHere(
	verb: ReadVerb | FilesVerb | WriteVerb | ClosedVerb,
	typed: Readonly<Record<string, unknown>>,
	globals: Globals,
	{
		yes,
		actor = "user",
		dryRun = false,
	}: { readonly yes: boolean; readonly actor?: string; readonly dryRun?: boolean },
): Promise<number> {
	const read = await readTyped(verb, typed);
	const raw = verb.params.files ? withFilesAlong(verb, read, (await configured(globals)).config) : read;
	const desk = deskOf(globals, yes, actor);
	const told: Told = await (verb.access === "closed"
		? carryOutClosed(verb, raw, { ...desk, changing: (use) => changing(globals, use) })
		: carryOut(verb, raw, desk, { dryRun }));
	const { document, lines, outcome, fault } = told;
	if (outcome === "declined") throw new CliError("CLI_REFUSED", "nothing was changed");
	if (globals.json) out.json(document);
	else out.lines(lines);
	return fault === undefined ? exitCodes.ok : exitCodeOf({ code: fault });
}

/** Of a state that is not known, nothing becomes known by that. */
async function changing<T>(globals: Globals, use: (log: string) => Promise<T>): Promise<T> {
	await forgetIfUnknown(stateOf(globals));
	return examining(globals, use);
}

/** Tells all that a stream has, as it comes. Gives the exit code. */
function tell(verb: StreamVerb, typed: Readonly<Record<string, unknown>>, globals: Globals): Promise<number> {
	const given = givenFor(verb, typed);
	return untilTold((signal) =>
		examining(globals, async (log) => {
			for await (const each of verb.tell(log, given, signal)) {
				if (signal.aborted) break;
				await (globals.json ? out.json(each) : out.lines(verb.lines(each, reyn, given)));
			}
		}),
	);
}

interface Chosen extends Record<string, unknown> {
	readonly dryRun?: boolean;
	readonly yes?: boolean;
	readonly actor?: string;
	readonly outputFormat?: OutputFormat;
	readonly explain?: boolean;
	readonly follow?: boolean;
	readonly restore?: boolean;
}

/** `plan discard` is a command of the command `plan`. */
function commandOf(program: Command, name: string): Command {
	const [first = "", second] = name.split(" ");
	if (second === undefined) return program.command(first);
	return groupOf(program, first).command(second);
}

/** The command that has commands of its own. */
export function groupOf(program: Command, name: string): Command {
	const known = program.commands.find((each) => each.name() === name);
	if (known) return known;
	const { summary = "", more } = groups[name] ?? {};
	const group = program.command(name).description(summary);
	return more === undefined ? group : group.addHelpText("after", more);
}

const isWord = ({ as }: Param): boolean => as === "word" || as === "text";

function optionsOf(name: string, param: Param): readonly Option[] {
	const option = optionOf(name, param);
	if (param.negated !== undefined) return [option, new Option(`--no-${typedName(name)}`, param.negated)];
	if (param.reads !== "json") return [option];
	return [option, new Option(`--${typedName(fileOption(name))} <path>`, "the same from a file")];
}

function optionOf(name: string, param: Param): Option {
	const { as, value, help, schema, choices, reads, isMany, short } = param;
	const typed = `${short === undefined ? "" : `-${short}, `}${name.length === 1 ? "-" : "--"}${typedName(name)}`;
	if (as === "flag") return new Option(typed, help);
	const found = schema.safeParse(undefined);
	const option = new Option(`${typed} <${value}>`, help);
	if (found.success && ["string", "number"].includes(typeof found.data)) option.default(found.data);
	if (choices) return option.choices(choices);
	if (reads) return option;
	if (isMany) return option.argParser((text: string, before: readonly string[] = []) => [...before, text]);
	return option.argParser((text: string) => {
		const { error } = schema.safeParse(text);
		if (error) throw new InvalidArgumentError(`${error.issues.map(({ message }) => message).join("; ")}.`);
		return text;
	});
}

function addConfirming(command: Command, { question, isUnsigned }: WriteVerb): void {
	command.option("--dry-run", "the preview, and nothing else");
	if (question) command.option("--yes", "do it without asking");
	if (!isUnsigned) command.option("--actor <name>", "who asks", "user");
}

/** What `gc` keeps where nothing else is said: as it is configured. */
async function keptBy(typed: Readonly<Record<string, unknown>>, command: Command, globals: Globals) {
	const { config } = await configured(globals);
	const kept = Object.entries(retentionOf(config)).filter(([name]) => command.getOptionValueSource(name) === "default");
	return { ...typed, ...Object.fromEntries(kept) };
}

function deskOf(globals: Globals, yes: boolean, actor: string): Desk {
	return {
		reading: (use, at, orNone) => reading(globals, use, at, orNone),
		examining: (use) => examining(globals, use),
		acting: (verb, seen) => act(verb, seen, actor, placesOf(globals)),
		async confirm(question, shown) {
			if (!globals.json) err.lines(shown);
			return answered(question, yes);
		},
		holder: (log) => holderOf(stateOf(globals), log),
		say: reyn,
		columns: terminal.columns,
	};
}

/** Begins it in a process that works until all is over, and tells what it does. Gives the exit code. */
async function workOn(
	verb: WorkVerb,
	typed: Readonly<Record<string, unknown>>,
	globals: Globals,
	format: OutputFormat,
	restores: boolean,
): Promise<number> {
	if (verb.name.startsWith("script ")) return workOnScript(verb, typed, globals, format);
	const raw = await readTyped(verb, typed);
	const given = givenFor(verb, raw);
	if (verb.name === "answer" && (await isAskedByScript(given.question, globals)))
		return workOnScript(verb, typed, globals, format);
	// `--trust` holds from then on, whether anything is in flight or not.
	if (globals.trust) await assertReady(globals);
	// It may be another process that runs it, and looks for it.
	if (verb.name.startsWith("skill ")) await askAboutSkills(globals);
	const { check, at } = verb;
	if (check) await reading(globals, async (runtime) => check.call(verb, runtime, given, reyn), at);
	if (verb.isAtOnce)
		return unlessHeld(verb, raw, globals, format, async () => {
			await using runtime = await openForWork(globals);
			return sayDone(verb, await verb.begin(runtime, given), format);
		});
	return unlessHeld(verb, raw, globals, format, () =>
		work({
			globals,
			format,
			restore: restores && !verb.isAlone,
			// Who answers from a shell will answer what is asked next.
			...(verb.name === "answer" && { unanswered: "stop" }),
			start: async (runtime) => void (await verb.begin(runtime, given)),
		}),
	);
}

/** A script has a result, and a chat of its own with who runs it. */
const isAskedByScript = (question: unknown, globals: Globals): Promise<boolean> =>
	reading(globals, async (runtime) =>
		runtime.questions().some(({ seq, from }) => seq === question && from.kind === "script"),
	);
