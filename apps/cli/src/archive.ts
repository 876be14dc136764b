/** `reyn archive`: sets the state aside under another name, and begins a new log that goes on behind the old one. */
import { basename, relative } from "node:path";
import { archiveState, keptByArchive } from "@reyn/runtime";
import { answered } from "./confirm.ts";
import { assertOurs, type Globals, reading, stateOf } from "./context.ts";
import { CliError } from "./exit-code.ts";
import { err, out } from "./print.ts";
import { reyn } from "./suggest.ts";
import { secretsDirectory } from "./trust.ts";

export async function archive(
	globals: Globals,
	{ yes = false, dryRun = false }: { readonly yes?: boolean; readonly dryRun?: boolean },
): Promise<void> {
	const state = stateOf(globals);
	const seen = await reading(globals, async ({ wal }) => ({ log: wal.id, tip: wal.tip }));
	const keeps = await keptByArchive(state);
	const shown = [
		`sets aside ${state}: the log ${seen.log} up to #${seen.tip}, and all that is of it: work in flight, conversations, labels, snapshots, the audit trail, what was allowed for good, what skills have written`,
		`begins a new log behind it; what was spent today counts from nothing there`,
		`stays: ${["your configuration files", "what you have typed in chats", ...keeps].join(", ")}`,
		`nothing is deleted; it is named ${basename(state)}.archived-<time>, beside it`,
	];
	if (dryRun) return say(globals, { state, ...seen, keeps }, shown);
	await assertOurs(globals);
	if (!globals.json) err.lines(shown);
	if (!(await answered("set it aside?", yes))) throw new CliError("CLI_REFUSED", "nothing was changed");
	const how = { expect: seen.tip, allowNetwork: globals.allowNetwork };
	const done = await archiveState(state, secretsDirectory(), how);
	const there = relative(process.cwd(), done.to);
	say(globals, { state, ...done }, [
		`set aside: ${done.to}`,
		`the new log begins at #${done.now.first}. Look at the old one with: ${reyn`--state ${there.startsWith("..") ? done.to : there} log`}`,
	]);
}

function say({ json }: Globals, document: object, lines: readonly string[]): void {
	if (json) out.json(document);
	else out.lines(lines);
}
