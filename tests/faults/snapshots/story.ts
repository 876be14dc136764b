/** A log in memory with snapshots of it, and whether what became of these still gives the state that the log says. */
import { capture, collect, restore, SnapshotStore, straightPath } from "@reyn/snapshot";
import { newestSnapshot } from "@reyn/snapshot/internal";
import {
	type BlobStore,
	memoryBlobs,
	memoryEngine,
	openWal,
	type Scope,
	type Seq,
	type Wal,
	type WalRecord,
} from "@reyn/wal";
import { numbered } from "../lab/numbered.ts";
import { foldTo, projections, readFrom, scope, stateAt } from "./talk.ts";

/** A second one, with records of its own and snapshots at the same seqs. */
export const side: Scope = { agent: "default", session: "side" };
export const scopes: readonly Scope[] = [scope, side];

/** What a store holds, by name. */
export type Blobs = ReadonlyMap<string, Uint8Array>;

interface Look {
	readonly scope: Scope;
	readonly seq: Seq;
	/** The state, from the log alone. */
	readonly hash: string;
}

export interface Story {
	readonly wal: Wal;
	/** Seqs of the snapshots, of both scopes. */
	readonly captured: readonly Seq[];
	/** The store after each of them. */
	readonly copies: readonly Blobs[];
	readonly blobs: Blobs;
	readonly looks: readonly Look[];
}

export type Outcome = "set aside" | "passed over" | "refused" | "undetected";

/** So many records. The list only grows, or is compacted now and then. */
export async function tell(
	count: number,
	captured: readonly Seq[],
	list: "grows" | "is compacted" = "is compacted",
): Promise<Story> {
	const wal = inMemory(await logOf(count, list === "is compacted"));
	const blobs = memoryBlobs();
	const snapshots = new SnapshotStore(blobs);
	const copies: Blobs[] = [];
	for (const seq of captured) {
		await captureAt(wal, snapshots, seq);
		copies.push(await blobsOf(blobs));
	}
	const looks: Look[] = [];
	for (const each of scopes)
		for (const seq of [wal.tip, ...captured, (captured[0] ?? 1) - 1])
			looks.push({ scope: each, seq, hash: await foldTo(wal, seq, each) });
	return { wal, captured, copies, blobs: copies.at(-1) ?? new Map(), looks };
}

/** Snapshots of both scopes. */
export async function captureAt(wal: Wal, snapshots: SnapshotStore, seq: Seq): Promise<void> {
	const from = { wal, snapshots, projections };
	for (const each of scopes) await capture(from, await restore(from, straightPath(seq, each)));
}

/**
 * Is every state what the log says, does the store prove no more than the log has, and is what was there still there? Then a
 * snapshot at the tip is stored, and used.
 */
export async function judge(
	{ wal, looks }: Story,
	damaged: Blobs,
	how: "quick" | "whole" = "whole",
): Promise<{ readonly outcome: Outcome; readonly why: string }> {
	const blobs = await storeOf(damaged);
	const snapshots = new SnapshotStore(blobs);
	const undetected = (why: string) => ({ outcome: "undetected", why }) as const;
	try {
		const proven = await newestSnapshot(snapshots, wal.id, scopes);
		if (proven > wal.tip) return undetected(`it proves seq ${proven}, and the log ends at ${wal.tip}`);
		if (how === "whole") await collect(snapshots, { keep: () => true, dryRun: true });
		for (const { scope, seq, hash } of looks)
			if ((await stateAt(wal, snapshots, seq, scope)) !== hash)
				return undetected(`another state at seq ${seq} of ${scope.session}`);
		const gone = await lost(damaged, blobs);
		if (gone !== undefined) return undetected(`${gone} was destroyed`);
		const aside = (await blobs.list("broken/")).length > 0;
		if (how === "whole") {
			await captureAt(wal, snapshots, wal.tip);
			for (const { scope, seq, hash } of looks)
				if (seq === wal.tip && (await stateAt(readFrom(wal, seq), new SnapshotStore(blobs), seq, scope)) !== hash)
					return undetected(`another state of ${scope.session} after another snapshot`);
		}
		return { outcome: aside ? "set aside" : "passed over", why: "" };
	} catch (error) {
		const { code = "", message } = error as { code?: string; message: string };
		if (!code.startsWith("SNAPSHOT_")) return undetected(String(error));
		if (!same(await blobsOf(blobs), damaged)) return undetected(`${code}, but the store was changed`);
		return { outcome: "refused", why: `${code}: ${message}` };
	}
}

export async function storeOf(content: Blobs): Promise<BlobStore> {
	const blobs = memoryBlobs();
	for (const [name, bytes] of content) await blobs.put(name, bytes);
	return blobs;
}

export async function blobsOf(blobs: BlobStore): Promise<Blobs> {
	const content = new Map<string, Uint8Array>();
	for (const name of await blobs.list("")) content.set(name, (await blobs.get(name)) ?? new Uint8Array());
	return content;
}

export const same = (a: Blobs, b: Blobs): boolean =>
	a.size === b.size && [...a].every(([name, bytes]) => Buffer.from(bytes).equals(b.get(name) ?? Buffer.from([0])));

/** Which blob is neither where it was, nor set aside as it was. */
async function lost(before: Blobs, blobs: BlobStore): Promise<string | undefined> {
	for (const [name, bytes] of before) {
		const now = (await blobs.get(name)) ?? (await blobs.get(`broken/${name}`));
		if (!now || !Buffer.from(bytes).equals(now)) return name;
	}
	return undefined;
}

async function logOf(count: number, compacted: boolean): Promise<readonly [id: string, records: readonly WalRecord[]]> {
	const wal = await openWal(memoryEngine(), { records: [numbered] });
	while (wal.tip < count) {
		await wal.ready();
		const seq = wal.tip + 1;
		// A number that ends with 00 makes the list shorter.
		const n = compacted ? seq : 2 * seq + 1;
		wal.append(numbered({ n, text: `text ${seq}` }), n % 100 === 0 || n % 3 > 0 ? scope : side);
	}
	await wal.append(numbered({ n: 1, text: "last" }), scope).durable;
	const records: WalRecord[] = [];
	for await (const record of wal.read()) records.push(record);
	await wal.close();
	return [wal.id, records];
}

/** As far as snapshots use it: read once, since it is read a hundred thousand times. */
function inMemory([id, records]: readonly [string, readonly WalRecord[]]): Wal {
	const tip = records.length;
	async function* read({ after = 0, through = tip }: { after?: Seq; through?: Seq } = {}) {
		yield* records.slice(after, through);
	}
	return { id, tip, durableTip: tip, read } as Partial<Wal> as Wal;
}
