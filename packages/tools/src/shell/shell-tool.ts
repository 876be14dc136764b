/** `shell`: one command of the system's shell. What became of it is known after a crash, too. */
import { existsSync } from "node:fs";
import { realpath } from "node:fs/promises";
import { join } from "node:path";
import { defineTool, type Tool } from "@reyn/journal";
import { callName } from "@reyn/journal/internal";
import { z } from "zod";
import { showBytes } from "../text-file.ts";
import { type Ended, findCommand, runCommand } from "./command.ts";
import { confined, hasBubblewrap } from "./confinement.ts";

export interface ShellOptions {
	/** Where it is recorded how commands ended: a directory that no tool may enter, below the state. */
	readonly records: string;
	/** The environment of commands. Leave secrets out of it. */
	readonly env: Readonly<Record<string, string | undefined>>;
	/** Directories that are empty to a command, where it can be confined: the state, and where secrets lie. Default: none. */
	readonly closed?: readonly string[];
	/** Takes secrets out of what a command has printed, before its outcome is told. Default: it is kept as it came. */
	readonly redact?: ((text: string) => string) | undefined;
	/** Confine commands where bubblewrap is there. Default: true. */
	readonly confine?: boolean;
}

/** How long a command may take, in seconds. */
const [USUAL_LIMIT, LONGEST_LIMIT] = [120, 3600];

const input = z.strictObject({
	command: z
		.string()
		.min(1)
		.max(16_000)
		.refine((given) => given.isWellFormed() && !given.includes("\0"), "it has half a character or NUL in it")
		.describe("What the shell is to run, in the root of the files; nobody can type anything in"),
	timeout_seconds: z
		.int()
		.min(1)
		.max(LONGEST_LIMIT)
		.default(USUAL_LIMIT)
		.describe("It is stopped after so many seconds, with all that it has begun"),
});

/** So much of a command names it, in characters. */
const MOST_NAMED = 500;

/**
 * A tool that runs a command in a directory. It is not kept in there, but where bubblewrap confines it: say by a gate which commands may
 * be run.
 */
export function createShellTool(
	directory: string,
	{ records, env, closed = [], redact, confine = true }: ShellOptions,
): Tool {
	const at = (key: string): string => join(records, callName(key));
	const isConfined = async (): Promise<boolean> => confine && (await hasBubblewrap());
	return defineTool({
		name: "shell",
		description:
			"Run a command with sh, and see what it prints and how it ends. For what the other tools cannot do: tests, builds, version control.",
		input,
		purity: "external",
		wants: async ({ command, timeout_seconds: seconds }) => [
			{
				action: "run",
				subject: command,
				...coveredBy(command),
				shows: [
					(await isConfined())
						? "confined: it can write here and in a temporary directory alone"
						: "not confined: it can do all that you can",
					`for ${seconds} s at most`,
				],
			},
		],
		// So that its record says what was begun: its arguments are in no record of its own.
		prepare: async ({ command }) => ({
			command: command.length > MOST_NAMED ? `${command.slice(0, MOST_NAMED - 1)}…`.toWellFormed() : command,
		}),
		async call({ command, timeout_seconds: seconds }, { signal, idempotencyKey = "" }) {
			const cwd = await realpath(directory);
			const argv = ["/bin/sh", "-c", command];
			// What is not there cannot be looked at either.
			const hidden = closed.filter((each) => existsSync(each));
			const wrapped = (await isConfined()) ? confined(cwd, hidden, argv) : argv;
			const own = Object.fromEntries(
				Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
			);
			const spec = { argv: wrapped, cwd, env: own, timeoutMs: seconds * 1000 };
			return textOf(await runCommand(at(idempotencyKey), spec, signal, redact));
		},
		async reconcile(key, _prepared, { signal }) {
			const found = await findCommand(at(key), signal, redact);
			if (found === "never") return { kind: "not_done" };
			return found === "unknown" ? { kind: "unknown" } : { kind: "done", result: textOf(found) };
		},
		inDoubt: "ask",
	});
}

/**
 * What a lasting permission would cover: the program and its first word, where the command is nothing but plain words. Where that says
 * little of what is run, nothing but the very command.
 */
function coveredBy(command: string): { readonly covers?: string } {
	if (!/^[\w@%+:,./-]+(?: [\w@%+=:,./-]+)*$/.test(command)) return {};
	const [program = "", word] = command.split(" ");
	const name = program.replace(/^.*\//, "");
	const isShort = word === undefined || word.startsWith("-");
	if (launchers.has(name) || (hasOthers.has(name) && (isShort || runs.has(word)))) return {};
	return { covers: isShort ? program : `${program} ${word}` };
}

const namesIn = (text: string): ReadonlySet<string> => new Set(text.split(" "));

/** What they are to run comes behind words of their own. */
const launchers = namesIn(
	"builtin busybox chroot command doas env eval exec find flock ionice nice nohup npx parallel pnpx setsid ssh stdbuf strace su sudo time timeout unshare watch xargs",
);
/** Their first word says what they do, and an option of theirs may be a program. */
const hasOthers = namesIn(
	"awk bash bun cargo dash deno docker fish gawk gh git go kubectl ksh lua make node npm perl php pip pip3 pnpm podman python python3 ruby sh systemctl uv yarn zsh",
);
const runs = namesIn("dlx eval exec run x");

/** How it ended, and what it printed; of much, how that begins and ends. */
function textOf({ status: { code, signal, failed, stopped, ms, bytes }, head, tail }: Ended): string {
	const after = `after ${(ms / 1000).toFixed(1)} s`;
	const how = (): string => {
		if (failed !== undefined) return `it could not be run: ${failed}`;
		if (stopped === "limit") return `it was stopped ${after}, its limit`;
		if (stopped === "asked") return `it was stopped ${after}, with the work that had begun it`;
		return signal === undefined ? `it ended with ${code} ${after}` : `it was ended by ${signal} ${after}`;
	};
	if (bytes === 0) return `${how()}, and printed nothing`;
	const said = [shown(head)];
	if (tail) said.push(`… ${showBytes(Math.max(0, bytes - head.length - tail.length))} left out …`, shown(tail));
	return [`${how()}:`, ...said].join("\n");
}

/** Without what acts on a terminal, and half characters at a cut. */
const shown = (bytes: Buffer): string =>
	new TextDecoder()
		.decode(bytes)
		// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this looks for
		.replace(/(?:\u001b\[|\u009b)[0-9;?]*[ -/]*[@-~]|[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "")
		.replace(/^\ufffd+|\ufffd+$/g, "")
		.trimEnd();
