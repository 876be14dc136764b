/** States as a process that died has left them: copies, cut after any record of the log, whatever the tests run over. */
import { cp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Seq } from "@reyn/wal";
import { pointsOf } from "../../../tests/sample.ts";
import { letGo, overSqlite, type Project } from "./project.ts";

/** The lines of a log: what stands before all records, and then a record each. */
export async function linesOf(state: string): Promise<readonly string[]> {
	if (!overSqlite)
		return (await readFile(join(state, "state/wal.jsonl"), "utf8")).split("\n").filter((line) => line.startsWith("{"));
	const database = new DatabaseSync(`${state}.db`, { readOnly: true });
	const rows = database.prepare("SELECT line FROM reyn_wal ORDER BY seq").all() as { line: string }[];
	database.close();
	return ["{}", ...rows.map(({ line }) => line.trimEnd())];
}

/** Another place with the same state, which is closed. */
export async function copyState(from: string, to: string): Promise<string> {
	if (!overSqlite) await cp(from, to, { recursive: true });
	else {
		await letGo(`${from}.db`);
		await cp(`${from}.db`, `${to}.db`);
	}
	return to;
}

export async function removeState(state: string): Promise<void> {
	if (!overSqlite) return rm(state, { recursive: true, force: true });
	await letGo(`${state}.db`);
	for (const ending of ["", "-wal", "-shm"]) await rm(`${state}.db${ending}`, { force: true });
}

/** Takes all but so many lines away, as a power cut takes the end. */
export async function keepLines(state: string, kept: number): Promise<void> {
	const all = await linesOf(state);
	const lines = all.slice(0, kept);
	if (!overSqlite) {
		await writeFile(join(state, "state/wal.jsonl"), lines.map((line) => `${line}\n`).join(""));
		// Beside its head, a log that is too short is refused.
		await rm(join(state, "state/wal.head"), { force: true });
		return;
	}
	const database = await opened(state);
	// What the next record follows.
	const { prev } = JSON.parse(all[kept] ?? "{}") as { prev?: string };
	database.prepare("DELETE FROM reyn_wal WHERE seq >= ?").run(kept);
	database
		.prepare("UPDATE reyn_realm SET tail = ?, crc = coalesce(?, crc), owner = NULL, until = 0")
		.run(kept - 1, prev ?? null);
	database.close();
}

/** The kinds of the records, in order: that of seq 1 is the first. */
export async function kindsIn({ state }: Project): Promise<readonly string[]> {
	return (await linesOf(state)).slice(1).map((line) => (JSON.parse(line) as { kind: string }).kind);
}

/** A copy of the state in which no record after `seq` was durable. */
export async function cutAfter({ root, state: whole }: Project, seq: Seq): Promise<string> {
	const state = await copyState(whole, join(root, `cut-${seq}`));
	await keepLines(state, seq + 1);
	return state;
}

/** Looks at a copy that is cut after each record from `from` on, with the kinds of those that are left. */
export async function eachCut(
	project: Project,
	from: Seq,
	look: (state: string, kinds: readonly string[]) => Promise<void>,
): Promise<void> {
	const kinds = await kindsIn(project);
	for (const seq of pointsOf(from, kinds.length, 5)) {
		const state = await cutAfter(project, seq);
		await look(state, kinds.slice(0, seq));
		await removeState(state);
	}
}

/** The same for a short history: a copy is cut after each record. */
export async function everyCut(
	project: Project,
	look: (state: string, kinds: readonly string[]) => Promise<void>,
): Promise<void> {
	const kinds = await kindsIn(project);
	for (let seq = 1; seq <= kinds.length; seq++) {
		const state = await cutAfter(project, seq);
		await look(state, kinds.slice(0, seq));
		await removeState(state);
	}
}

/** Nobody else has it open. */
async function opened(state: string): Promise<DatabaseSync> {
	await letGo(`${state}.db`);
	return new DatabaseSync(`${state}.db`);
}
