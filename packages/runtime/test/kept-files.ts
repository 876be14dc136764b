/** What lies beside a log: listed, made old, and looked for in records and states as somebody would who knows nothing of either. */
import { createHash } from "node:crypto";
import { readdir, readFile, stat, utimes } from "node:fs/promises";
import { join, relative } from "node:path";
import { journal } from "@reyn/journal";
import { scriptRuns } from "@reyn/journal/script";
import { planRuns } from "@reyn/plan";
import { fileEngine, openWal, type Scope, type Seq } from "@reyn/wal";
import { allRecords, conversation, type Runtime, sessionOpened } from "../src/index.ts";

export interface KeptFile {
	readonly bytes: number;
	readonly sha256: string;
}

const places = ["runs", "agents", "state/results"];

/** The files beside the log, by their paths below the state directory. */
export async function filesOf(state: string): Promise<ReadonlyMap<string, KeptFile>> {
	const files = new Map<string, KeptFile>();
	for (const place of places) {
		const entries = await readdir(join(state, place), { recursive: true, withFileTypes: true }).catch(() => []);
		for (const entry of entries.filter((each) => each.isFile())) {
			const path = join(entry.parentPath, entry.name);
			const bytes = await readFile(path);
			const sha256 = createHash("sha256").update(bytes).digest("hex");
			files.set(relative(state, path), { bytes: bytes.length, sha256 });
		}
	}
	return new Map([...files].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** As if a process of the day before had written them all. */
export async function makeOld(state: string): Promise<void> {
	const yesterday = new Date(Date.now() - 24 * 60 * 60 * 1000);
	for (const entry of await readdir(state, { recursive: true, withFileTypes: true }))
		if (entry.isFile()) await utimes(join(entry.parentPath, entry.name), yesterday, yesterday);
}

/** The session that a segment ends with. */
export const sealing = { agent: "default", session: "other" };

/** Ends a segment: what is truncated goes in whole ones. */
export async function seal(state: string): Promise<void> {
	const log = await openWal(fileEngine(join(state, "state"), { segmentBytes: 1024 }), { records: allRecords });
	await log.append(sessionOpened({}), sealing).durable;
	await log.close();
}

/** Every hash that a record of the log, or a state that can be gone back to, has anywhere in it. */
export async function hashesIn({ wal, timeline }: Runtime, sessions: readonly Scope[]): Promise<ReadonlySet<string>> {
	const texts: string[] = [];
	for await (const record of wal.read()) texts.push(JSON.stringify(record.data));
	for (const seq of reachable({ wal, timeline }))
		for (const scope of sessions) {
			const view = await timeline.at(seq, scope);
			texts.push(JSON.stringify([journal, scriptRuns, planRuns].map((each) => view.get<unknown>(each))));
			texts.push(JSON.stringify(view.get(conversation).items.toArray()));
		}
	return new Set(texts.flatMap((text) => text.match(/\b[0-9a-f]{64}\b/g) ?? []));
}

/** The seqs that can be gone back to. */
export function reachable({ wal, timeline }: Pick<Runtime, "wal" | "timeline">): readonly Seq[] {
	const isThere = (seq: Seq): boolean => {
		try {
			timeline.foresee(seq);
			return true;
		} catch (error) {
			if ((error as { code?: unknown }).code === "TIMETRAVEL_PRUNED") return false;
			throw error;
		}
	};
	return Array.from({ length: wal.tip + 1 }, (_, seq) => seq).filter(isThere);
}

export const exists = (path: string): Promise<boolean> =>
	stat(path).then(
		() => true,
		() => false,
	);
