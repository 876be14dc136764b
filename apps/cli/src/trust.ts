/** A state that came from elsewhere is looked at, and nothing in it goes on before a person has said that it may. */
import { readdirSync, statSync } from "node:fs";
import { homedir, userInfo } from "node:os";
import { basename, dirname, isAbsolute, join } from "node:path";
import { oneLine } from "@reyn/operator/text";
import {
	claimState,
	forgetUnknown,
	layoutOf,
	type Restored,
	stateFingerprint,
	stateOrigin,
	trustState,
} from "@reyn/runtime";
import { isReynError } from "@reyn/wal";
import { assertNoDirectory, atomicWrite } from "@reyn/wal/internal";
import { confirm } from "./confirm.ts";
import { restoredLines, tornLine } from "./event-lines.ts";
import { CliError } from "./exit-code.ts";
import { trackedByGit } from "./git-tracked.ts";
import { err } from "./print.ts";
import { git, reyn } from "./suggest.ts";

/** What there is in a state; undefined: there is no log. */
export type Found = { readonly restored: Restored; readonly isBlank: boolean } | undefined;

/**
 * Asks once where the state is not known; off a terminal nobody is asked, and `--trust` says it. One in which nothing was ever done needs
 * no trust: a process that was killed in its first moment leaves one.
 *
 * @throws CliError `CLI_REFUSED`
 */
export async function assertTrusted(
	state: string,
	{ trust = false, allowNetwork = false }: { readonly trust?: boolean; readonly allowNetwork?: boolean },
	look: () => Promise<Found>,
): Promise<void> {
	if ((await stateOrigin(state, secretsDirectory())) !== "unknown") return;
	const seen = trust ? undefined : ((await seenBlank(state, look)) ?? (await ask(state, look)));
	await remember(state, async (secrets) => {
		const torn = await trustState(state, secrets, { allowNetwork, seen });
		if (torn) err.line(tornLine(torn));
	});
	await sayIfTracked(state);
}

async function sayIfTracked(state: string): Promise<void> {
	const tracked = await trackedByGit(join(state, "state"));
	const [above, name] = [dirname(state), basename(state)];
	const given = "a commit gives them away, and who can read the log can write one that passes for yours";
	if (tracked === "yes")
		err.line(`git tracks files of this state: ${given}. Take them out: ${git`-C ${above} rm -r --cached ${name}`}`);
	if (tracked === "unknown")
		err.line(
			`whether git tracks files of this state could not be told: ${given}. Look: ${git`-C ${above} ls-files ${name}`}`,
		);
}

/** Knows a state again that this process works in, and that was made just now. */
export async function assertKnown(state: string): Promise<void> {
	if ((await stateOrigin(state, secretsDirectory())) === "own") return;
	await remember(state, (secrets) => claimState(state, secrets));
}

/** Of a state that is to be repaired: what is not known does not become so. */
export const forgetIfUnknown = (state: string): Promise<void> => forgetUnknown(state, secretsDirectory());

/** It ignores itself besides, whatever it brought along, so that nobody commits it by accident. */
async function remember(state: string, how: (secrets: string) => Promise<void>): Promise<void> {
	const ignore = join(state, ".gitignore");
	assertNoDirectory(ignore);
	await atomicWrite(ignore, "*\n");
	try {
		await how(secretsDirectory());
	} catch (error) {
		const { code = "", message } = error as NodeJS.ErrnoException;
		if (code.startsWith("WAL_") || code.startsWith("RUNTIME_")) throw error;
		err.line(`this state cannot be known again (${oneLine(message, 200)}): the next command asks, or wants --trust`);
	}
}

/** What cannot be held to what was shown of it, nobody is asked about. */
function tooLarge(error: Error): never {
	if (!isReynError(error, "WAL_TOO_LARGE")) throw error;
	throw new CliError(
		"CLI_REFUSED",
		`${error.message}. Look at it with ${reyn`log`} and ${reyn`show`}, and at its files; if you trust it, say --trust`,
	);
}

/** A log is this large at most before anything is in it: space is taken ahead. In bytes. */
const MOST_BLANK = 64 * 1024 * 1024;

/** What the first start of a process writes before its state is known, beside the log and in its place, and no more: neither starts any work. */
const FIRST = /^(?:state|events|own|skills|\.gitignore|[0-9a-f]{16}\.tmp)$/;
const FIRST_OF_LOG = /^wal\.(?:lock|jsonl|head|jsonl\.new\.tmp)$/;

/** Of a log without a record a state could be stored that somebody has made up. */
const hasLogAlone = (state: string): boolean =>
	readdirSync(state).every((name) => FIRST.test(name)) &&
	readdirSync(layoutOf(state).wal).every((name) => FIRST_OF_LOG.test(name));

/** What it is like, where nothing was ever done in it. */
async function seenBlank(state: string, look: () => Promise<Found>): Promise<string | undefined> {
	const { size = 0 } = statSync(join(layoutOf(state).wal, "wal.jsonl"), { throwIfNoEntry: false }) ?? {};
	if (size > MOST_BLANK) return undefined;
	const isBlank = async (): Promise<boolean> => hasLogAlone(state) && ((await look())?.isBlank ?? false);
	if (!(await isBlank())) return undefined;
	const seen = await stateFingerprint(state);
	return (await isBlank()) ? seen : undefined;
}

/** Shows what would go on in it, and asks; gives what it was like then. @throws CliError `CLI_REFUSED` */
async function ask(state: string, look: () => Promise<Found>): Promise<string | undefined> {
	const isAsked = process.stdin.isTTY;
	// Before anything of it is shown: what is trusted is what was seen. Off a terminal nothing is.
	const seen = isAsked ? await stateFingerprint(state).catch(tooLarge) : undefined;
	const found = await look();
	const lines = found ? restoredLines(found.restored) : [];
	const unknown = `the state in ${state} was not made there by this user: it was copied, moved, made by an older reyn, or came from somebody else`;
	const goesOn = `in flight in it: ${lines.length > 0 ? lines.join("; ") : "nothing"}; what was said in it goes to the model`;
	if (!isAsked)
		throw new CliError(
			"CLI_REFUSED",
			`${unknown}. Nothing was run or changed; ${goesOn}. Look at it with ${reyn`log`} and ${reyn`show`}; if you trust it, say --trust`,
		);
	err.lines([unknown, goesOn]);
	await confirm("trust it, and go on?");
	return seen;
}

/** What reyn keeps for this user, outside all states (XDG Base Directory). */
export function secretsDirectory(): string {
	const { XDG_STATE_HOME = "", LOCALAPPDATA = "" } = process.env;
	if (isAbsolute(XDG_STATE_HOME)) return join(XDG_STATE_HOME, "reyn");
	if (process.platform === "win32" && isAbsolute(LOCALAPPDATA)) return join(LOCALAPPDATA, "reyn");
	// With a `HOME` that is empty or relative it would lie in the directory of a project, which may bring a secret along.
	const home = [homedir(), userInfo().homedir].find(isAbsolute);
	if (home === undefined)
		throw new CliError(
			"CLI_USAGE",
			"this user has no home directory, so there is no place for what tells states of this user from others: set HOME or XDG_STATE_HOME to an absolute path",
		);
	return join(home, ".local", "state", "reyn");
}
