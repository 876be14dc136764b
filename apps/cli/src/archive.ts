/** `reyn archive`: sets the state aside under another name, and begins a new log that goes on behind the old one. */
import { basename, relative } from "node:path";
import { scopeText } from "@reyn/operator";
import { oneLine } from "@reyn/operator/text";
import { archiveState, keptByArchive } from "@reyn/runtime";
import type { Binding } from "@reyn/tasks";
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
	const seen = await reading(globals, async ({ wal, tasks }) => ({
		...{ log: wal.id, tip: wal.tip },
		// As they were last seen: no other system is asked.
		bindings: tasks.bindings().map(({ task, title, status, role, scope }) => ({ task, title, status, role, scope })),
	}));
	const keeps = await keptByArchive(state);
	const shown = [
		`sets aside ${state}: the log ${seen.log} up to #${seen.tip}, and all that is of it: work in flight, conversations, labels, snapshots, the audit trail, what was allowed for good, what skills have written`,
		...bindingLines(seen.bindings),
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
	say(globals, { state, bindings: seen.bindings, ...done }, [
		`set aside: ${done.to}`,
		`the new log begins at #${done.now.first}. Look at the old one with: ${reyn`--state ${there.startsWith("..") ? done.to : there} log`}`,
	]);
}

/** The tasks stay, and nobody in the new log has them. */
function bindingLines(
	all: readonly Pick<Binding, "task" | "title" | "status" | "role" | "scope">[],
): readonly string[] {
	if (all.length === 0) return [];
	return [
		`ends ${all.length === 1 ? "the binding of a task" : `${all.length} bindings of tasks`}; the tasks stay as they are:`,
		...all.map(
			({ task, title, status, role, scope }) =>
				`  ${task}  ${oneLine(title, 60)}  (${scopeText(scope)} is its ${role}; ${status})`,
		),
	];
}

function say({ json }: Globals, document: object, lines: readonly string[]): void {
	if (json) out.json(document);
	else out.lines(lines);
}
