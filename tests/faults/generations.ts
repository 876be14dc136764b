/** Row 13: an application's SQLite database, killed and cut off in a capture, a restore, a prune and a migration. */
import assert from "node:assert/strict";
import { cp, rm } from "node:fs/promises";
import { join } from "node:path";
import { checkDatabase } from "./database-ledger.ts";
import type { DatabaseOptions } from "./database-writer.ts";
import { type Case, type Fault, needsAll, random, runCases, type Settings } from "./fault.ts";
import { powerCuts } from "./generations-cut.ts";
import { runToEnd, start, withDirectory } from "./start.ts";
import { callsIn, strace } from "./strace.ts";

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
	rows: [13],
	title: "an SQLite database killed and cut off in a capture, a restore, a prune and a migration",
	needs: () => undefined,
	run: (settings) => runCases([...kills, ...powerCuts("ext4"), ...powerCuts("xfs")], settings),
};

function killedIn(what: string, before: Script, script: Script): Case {
	return {
		name: `killed at every system call of ${what}`,
		needs: () => needsAll("strace"),
		run: (settings) => killedAtCalls(before, script, settings),
	};
}

async function killedAtCalls(before: Script, script: Script, { short, seed }: Settings): Promise<string> {
	return withDirectory(async (root) => {
		const [prepared, state, log] = [join(root, "prepared"), join(root, "state"), join(root, "strace")];
		const yesterday: DatabaseOptions = { schema: "yesterday", after: 0, script: before };
		const today: DatabaseOptions = { schema: "today", after: 100, script };
		const earlier = await runToEnd("database-writer.ts", prepared, yesterday);
		const fresh = async (): Promise<void> => {
			await rm(state, { recursive: true, force: true });
			await cp(prepared, state, { recursive: true });
		};
		await fresh();
		await runToEnd("database-writer.ts", state, today, ["strace", "-f", "-qq", "-y", "-o", log]);
		const calls = await callsIn(state, log);
		const stride = short ? Math.ceil(calls.length / 4) : 1;
		const first = Math.floor(random(seed)() * stride);
		const chosen = calls.filter((_, i) => i % stride === first);
		let ahead = 0;
		for (const { name, path, n } of chosen) {
			await fresh();
			const inject = ["-e", `inject=${name}:signal=SIGKILL:when=${n}`];
			const writer = start("database-writer.ts", state, today, strace("/dev/null", [path], ...inject));
			const { code, signal } = await writer.ended;
			try {
				assert.ok(signal === "SIGKILL" || code === 137, "it was not reached");
				if ((await checkDatabase(state, [...earlier, ...writer.lines])).ahead) ahead++;
			} catch (error) {
				const where = `${name} ${n} on ${path.slice(root.length)}`;
				throw new Error(`killed at ${where}: ${(error as Error).message}`, { cause: error });
			}
		}
		return `${chosen.length} of ${chosen.length} points (${calls.length} there are); what was begun was there at ${ahead}`;
	});
}
