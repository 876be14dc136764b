/** What lies beside a log: listed, and looked for in records and states as somebody would who knows nothing of either. */
import { createHash } from "node:crypto";
import { stat } from "node:fs/promises";
import { journal } from "@reyn/journal";
import { scriptRuns } from "@reyn/journal/script";
import { planRuns } from "@reyn/plan";
import { fileEngine, openWal, type Scope, type Seq } from "@reyn/wal";
import { allRecords, conversation, layoutOf, type Runtime, sessionOpened } from "../src/index.ts";
import { overSqlite, storeAt } from "./project.ts";

export interface KeptBlob {
	readonly bytes: number;
	readonly sha256: string;
}

/** The blobs beside the log of a state, by their areas and names: `results/ab/ab12…`. */
export async function blobsOf(state: string): Promise<ReadonlyMap<string, KeptBlob>> {
	const found = new Map<string, KeptBlob>();
	for (const area of ["plans", "results", "scripts"]) {
		const blobs = storeAt(state).blobs(area);
		for (const name of await blobs.list("")) {
			const bytes = (await blobs.get(name)) ?? Buffer.alloc(0);
			const sha256 = createHash("sha256").update(bytes).digest("hex");
			found.set(`${area}/${name}`, { bytes: bytes.length, sha256 });
		}
	}
	return found;
}

/** The session that a segment ends with. */
export const sealing = { agent: "default", session: "other" };

/** Ends a segment of a log in files: there what is truncated goes in whole ones. */
export async function seal(state: string): Promise<void> {
	const files = fileEngine(layoutOf(state).wal, { segmentBytes: 1024 });
	const log = await openWal(overSqlite ? storeAt(state).engine : files, { records: allRecords });
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
	return Array.from({ length: wal.tip + 1 }, (_, seq) => seq).filter((seq) => timeline.has(seq));
}

export const exists = (path: string): Promise<boolean> =>
	stat(path).then(
		() => true,
		() => false,
	);
