/** Removes stored snapshots that are not needed any more, and the chunks that only they had. */
import type { Scope, Seq } from "@reyn/wal";
import { chunksOf } from "./chunks.ts";
import { SnapshotError } from "./errors.ts";
import { type Root, readRoot } from "./snapshot.ts";
import { Damage, type SnapshotStore } from "./store.ts";

export interface Collected {
	/** The removed snapshots. */
	readonly roots: readonly { readonly scope: Scope; readonly seq: Seq }[];
	/** The number of removed chunks, which no snapshot names any more. */
	readonly chunks: number;
	/** The blobs that were damaged and set aside. No chunk is removed then; the next collection removes those that nothing needs. */
	readonly damaged: readonly string[];
}

export interface CollectOptions {
	/** Decides which snapshots stay. A removed one only costs the reading of more records, as long as the log has them. */
	keep(scope: Scope, seq: Seq): boolean;
	/** Only report what would be removed. Default: false. */
	readonly dryRun?: boolean;
}

/**
 * Removes the snapshots that are not kept, and then the chunks that no other snapshot names. If it is killed in between, the next
 * collection removes the useless chunks. Only the writer of the log may collect. A store that does not own its blobs is left as it is.
 *
 * @throws SnapshotError `SNAPSHOT_NEWER_FORMAT`: what a newer version needs is not known here; or the store's error when it cannot be
 * read. Nothing was removed then
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
				// A damaged snapshot cannot be restored, and it is not known which chunks it needs.
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
