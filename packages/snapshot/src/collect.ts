import type { Scope, Seq } from "@reyn/wal";
import { chunksOf } from "./chunks.ts";
import { SnapshotError } from "./errors.ts";
import { type Root, readRoot } from "./snapshot.ts";
import { Damage, type SnapshotStore } from "./store.ts";

export interface Collected {
	/** The snapshots that went. */
	readonly roots: readonly { readonly scope: Scope; readonly seq: Seq }[];
	/** Chunks that no snapshot names any more. */
	readonly chunks: number;
	/** What was found damaged and set aside. No chunk goes then: the next collection takes what nothing needs. */
	readonly damaged: readonly string[];
}

export interface CollectOptions {
	/** Which snapshots stay. The log is the truth: one that goes costs the reading of more records, until the log itself is truncated. */
	keep(scope: Scope, seq: Seq): boolean;
	/** Only says what would go. Default: false. */
	readonly dryRun?: boolean;
}

/**
 * Removes the snapshots that are not kept, and then the chunks that none of the others names. Killed in between, it leaves
 * chunks that are of no use, and the next collection takes them. Only the writer of the log may collect. Of a store whose blobs
 * are not its own to take away nothing goes, and nothing is set aside.
 *
 * @throws SnapshotError `SNAPSHOT_NEWER_FORMAT`, and nothing was removed: what a newer version needs is not known here. What
 * the store throws where it cannot be read, and nothing was removed either
 */
export function collect(snapshots: SnapshotStore, { keep, dryRun = false }: CollectOptions): Promise<Collected> {
	return snapshots.exclusively(async () => {
		if (!(await snapshots.isOwn())) return { roots: [], chunks: 0, damaged: [] };
		const gone: { name: string; scope: Scope; seq: Seq }[] = [];
		const damaged = new Set<string>();
		const needed = new Set<string>();
		for (const name of await snapshots.rootNames()) {
			try {
				const root = await rootAt(name, snapshots);
				const { scope, seq } = root;
				if (!keep(scope, seq)) gone.push({ name, scope, seq });
				else
					for (const { lists } of Object.values(root.states))
						for (const list of Object.values(lists)) await chunksOf(list, snapshots, needed);
			} catch (error) {
				if (!(error instanceof Damage)) throw error;
				// Such a snapshot cannot be restored, and what else it needs is not known.
				damaged.add(error.blob).add(name);
			}
		}
		const idle = damaged.size > 0 ? [] : (await snapshots.chunkIds()).filter((id) => !needed.has(id));
		if (!dryRun) {
			for (const name of damaged) await snapshots.setAside(name);
			// Roots first: a root must not outlive a chunk that it names.
			for (const { name } of gone) await snapshots.removeRoot(name);
			for (const id of idle) await snapshots.removeChunk(id);
		}
		return { roots: gone.map(({ scope, seq }) => ({ scope, seq })), chunks: idle.length, damaged: [...damaged] };
	});
}

async function rootAt(name: string, snapshots: SnapshotStore): Promise<Root> {
	const read = readRoot((await snapshots.rootNamed(name)) ?? "");
	if (read.kind === "rotten") throw new Damage(name, read.why);
	if (read.kind === "newer")
		throw new SnapshotError(
			"SNAPSHOT_NEWER_FORMAT",
			`${name} is of version ${read.version}, which this version of Reyn does not know: what it needs cannot be told. Nothing was removed; collect with the Reyn that wrote it`,
			{ name, version: read.version },
		);
	return read.root;
}
