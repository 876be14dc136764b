/** A log as a process that died has left it: cut after any of its records. */
import { cp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Seq } from "@reyn/wal";
import type { Project } from "./project.ts";

/** The kinds of the records, in order: that of seq 1 is the first. */
export async function kindsIn({ state }: Project): Promise<readonly string[]> {
	return (await linesOf(state)).slice(1).map((line) => (JSON.parse(line) as { kind: string }).kind);
}

/** A copy of the state in which no record after `seq` was durable. */
export async function cutAfter({ root, state: whole }: Project, seq: Seq): Promise<string> {
	const state = join(root, `cut-${seq}`);
	await cp(whole, state, { recursive: true });
	const lines = (await linesOf(whole)).slice(0, seq + 1);
	await writeFile(join(state, "state/wal.jsonl"), lines.map((line) => `${line}\n`).join(""));
	// Beside its head, a log that is too short is refused.
	await rm(join(state, "state/wal.head"), { force: true });
	return state;
}

/** Looks at a copy that is cut after each record from `from` on, with the kinds of those that are left. */
export async function eachCut(
	project: Project,
	from: Seq,
	look: (state: string, kinds: readonly string[]) => Promise<void>,
): Promise<void> {
	const kinds = await kindsIn(project);
	for (let seq = from; seq <= kinds.length; seq++) {
		const state = await cutAfter(project, seq);
		await look(state, kinds.slice(0, seq));
		await rm(state, { recursive: true });
	}
}

async function linesOf(state: string): Promise<readonly string[]> {
	return (await readFile(join(state, "state/wal.jsonl"), "utf8")).split("\n").filter((line) => line.startsWith("{"));
}
