/** The verbs of `@reyn/operator` as commands: what each takes becomes arguments and options, and what it says goes to stdout. */
import {
	act,
	beginThere,
	carryOut,
	type Desk,
	givenFor,
	isOptional,
	type Param,
	type Places,
	type ReadVerb,
	typedName,
	type Verb,
	verbs,
	type WorkVerb,
	type WriteVerb,
} from "@reyn/operator";
import { codeOf } from "@reyn/wal";
import { type Command, InvalidArgumentError, Option } from "commander";
import { answered } from "./confirm.ts";
import { assertReady, type Globals, openForWork, reading, stateOf } from "./context.ts";
import { CliError } from "./exit-code.ts";
import { exitCodes } from "./exit-codes.ts";
import { err, out } from "./print.ts";
import { reyn } from "./suggest.ts";
import { formatOf, type OutputFormat, outputFormat, work } from "./work.ts";

/** What is a command by another name: `run` asks one question, and has more ways to be given it. */
const elsewhere: readonly string[] = ["ask"];

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
	for (const [, { value, help, ...param }] of words)
		command.argument(isOptional({ value, help, ...param }) ? `[${value}]` : `<${value}>`, help);
	for (const [name, param] of params) if (!isWord(param)) command.addOption(optionOf(name, param));
	if (verb.access === "write") addConfirming(command, verb);
	if (verb.access === "work") command.addOption(outputFormat());
	command.addHelpText("after", `\nExample: ${reyn([`${verb.name} ${verb.example}`.trimEnd()])}`);
	command.action(async (...all: unknown[]) => {
		// Commander gives the arguments, then the options, then itself.
		const { dryRun, yes, actor, outputFormat: format, ...options } = all.at(-2) as Chosen;
		const raw = { ...options, ...Object.fromEntries(words.map(([name], at) => [name, all[at]])) };
		if (verb.access === "work") return done(await workOn(verb, raw, globals(), format ?? "text"));
		const how = { yes: yes ?? false, actor: actor ?? "user", dryRun: dryRun ?? false };
		await carryOutHere(verb, raw, globals(), how);
	});
}

/** Previews, asks, does and says it. @throws CliError `CLI_REFUSED` where nobody wants it */
export async function carryOutHere(
	verb: ReadVerb | WriteVerb,
	raw: Readonly<Record<string, unknown>>,
	globals: Globals,
	{
		yes,
		actor = "user",
		dryRun = false,
	}: { readonly yes: boolean; readonly actor?: string; readonly dryRun?: boolean },
): Promise<void> {
	const { document, lines, outcome } = await carryOut(verb, raw, deskOf(globals, yes, actor), { dryRun });
	if (outcome === "declined") throw new CliError("CLI_REFUSED", "nothing was changed");
	if (globals.json) out.json(document);
	else out.lines(lines);
}

interface Chosen extends Record<string, unknown> {
	readonly dryRun?: boolean;
	readonly yes?: boolean;
	readonly actor?: string;
	readonly outputFormat?: OutputFormat;
}

/** `plan discard` is a command of the command `plan`. */
function commandOf(program: Command, name: string): Command {
	const [first = "", second] = name.split(" ");
	if (second === undefined) return program.command(first);
	const group =
		program.commands.find((each) => each.name() === first) ??
		program.command(first).description(`${first}s that are in flight`);
	return group.command(second);
}

const isWord = ({ as }: Param): boolean => as === "word" || as === "text";

function optionOf(name: string, param: Param): Option {
	const { as, value, help, schema, choices } = param;
	const typed = typedName(name);
	if (as === "flag") return new Option(`--${typed}`, help);
	const short = name.length === 1 ? `-${name}` : `--${typed}`;
	const found = schema.safeParse(undefined);
	const option = new Option(`${short} <${value}>`, help);
	if (found.success && ["string", "number"].includes(typeof found.data)) option.default(found.data);
	if (choices) return option.choices(choices);
	return option.argParser((text: string) => {
		const { error } = schema.safeParse(text);
		if (error) throw new InvalidArgumentError(`${error.issues.map(({ message }) => message).join("; ")}.`);
		return text;
	});
}

function addConfirming(command: Command, { question }: WriteVerb): void {
	command.option("--dry-run", "the preview, and nothing else");
	if (question) command.option("--yes", "do it without asking");
	command.option("--actor <name>", "who asks", "user");
}

function deskOf(globals: Globals, yes: boolean, actor: string): Desk {
	return {
		reading: (use) => reading(globals, use),
		acting: (verb, seen) => act(verb, seen, actor, placesOf(globals)),
		async confirm(question, shown) {
			if (!globals.json) err.lines(shown);
			return answered(question, yes);
		},
		say: reyn,
	};
}

/** Begins it in a process that works until all is over, and tells what it does. */
async function workOn(
	verb: WorkVerb,
	raw: Readonly<Record<string, unknown>>,
	globals: Globals,
	format: OutputFormat,
): Promise<number> {
	const given = givenFor(verb, raw);
	// `--trust` holds from then on, whether anything is in flight or not.
	if (globals.trust) await assertReady(globals);
	await reading(globals, (runtime) => verb.check(runtime, given));
	const how = formatOf(globals, format);
	return unlessHeld(verb, raw, globals, how, () =>
		work({
			globals,
			format: how,
			restore: !verb.isAlone,
			start: async (runtime) => void (await verb.begin(runtime, given)),
		}),
	);
}

/** Where another process has the log, it is begun there, and goes on there. */
export async function unlessHeld(
	verb: WorkVerb,
	raw: Readonly<Record<string, unknown>>,
	globals: Globals,
	format: OutputFormat,
	here: () => Promise<number>,
): Promise<number> {
	try {
		return await here();
	} catch (error) {
		if (codeOf(error) !== "WAL_LOCKED") throw error;
		const there = await beginThere(verb, raw, "user", placesOf(globals));
		if (!there) throw error;
		const { begun, pid } = there;
		if (format === "stream-json") out.json({ type: "result", ...begun, pid, exitCode: exitCodes.ok });
		else if (format === "json") out.json({ ...begun, pid });
		else out.lines([...verb.lines(begun, reyn), `it works in process ${pid}, which has the log, and is told there`]);
		return exitCodes.ok;
	}
}

const placesOf = (globals: Globals): Places => ({
	directory: stateOf(globals),
	reading: (use) => reading(globals, use),
	async working(use) {
		await using runtime = await openForWork(globals);
		return await use(runtime);
	},
});
