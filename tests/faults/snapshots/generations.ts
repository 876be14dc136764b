/** Row 13: an application's SQLite database, killed and cut off in a capture, a restore, a prune and a migration. */
import { join } from "node:path";
import { type Case, type Fault, runCases } from "../fault.ts";
import { type Killed, killAtCalls } from "../lab/kill-points.ts";
import { needsAll } from "../lab/needs.ts";
import { runToEnd } from "../lab/start.ts";
import { checkDatabase } from "./database-ledger.ts";
import type { DatabaseOptions } from "./database-writer.ts";
import { powerCuts } from "./generations-cut.ts";

const PROGRAM = join(import.meta.dirname, "database-writer.ts");

type Script = DatabaseOptions["script"];

/** Some pages of them. */
const adds: Script = Array.from({ length: 8 }, () => "add");

/** What was there before is of yesterday's schema. */
const kills: readonly Case[] = [
	killedIn("the migration of an open", ["add", "add"], []),
	killedIn("a capture", ["add", "capture", "add"], ["add", "capture"]),
	killedIn("a restore", [...adds, "capture", ...adds], ["add", "restore"]),
	killedIn("a prune", ["add", "capture", "add", "capture", "add", "capture"], ["prune"]),
];

export const fault: Fault = {
	name: "generations",
	title: "an SQLite database killed and cut off in a capture, a restore, a prune and a migration",
	promise: "the old database or the restored one, and every capture that was told",
	rows: [
		{
			row: 13,
			title:
				"an SQLite database killed in the migration of its schema, in a capture, a restore and a prune of its generations",
			how: "strace: SIGKILL before the N-th call on its files and theirs, each (file, call, N); before the swap of a restore the `-wal` and `-shm` that lay there are laid there again",
			promise:
				"the old database or the restored one, in today's schema, never a mix; each capture that was told is whole and restorable, nothing that was told to be pruned is back; run again it finishes; no stale `-wal` is applied",
			seen: "987 of 987 points: 120 of a migration at an open, 220 of a capture, 451 of a restore, 196 of a prune",
		},
		{
			row: 13,
			title: "the same, and a power cut",
			how: "ext4 and XFS (without shared blocks) as in row 3: after each of 13 steps, the writer standing still there, and at random moments under load",
			promise: "the same; what was acknowledged since the last restore is there",
			seen: "after steps: 39 of 39 cuts on each; under load: ext4 100 of 100 rounds, 3,498 changes told, XFS 100 of 100, 3,304, lost 0; all 398 generations that were there whole",
			command: "`generations --rounds 100`",
		},
	],
	needs: () => undefined,
	run: (settings) => runCases([...kills, ...powerCuts("ext4"), ...powerCuts("xfs")], settings),
};

function killedIn(what: string, before: Script, script: Script): Case {
	const yesterday: DatabaseOptions = { schema: "yesterday", after: 0, script: before };
	const today: DatabaseOptions = { schema: "today", after: 100, script };
	const killed: Killed<readonly string[]> = {
		program: PROGRAM,
		options: () => today,
		below: "",
		prepare: (directory) => runToEnd(PROGRAM, directory, yesterday),
		check: async (directory, earlier, lines) => Number((await checkDatabase(directory, [...earlier, ...lines])).ahead),
		counted: "whether what was begun was there",
	};
	return {
		name: `killed at every system call of ${what}`,
		needs: () => needsAll("strace"),
		run: (settings) => killAtCalls(killed, settings),
	};
}
