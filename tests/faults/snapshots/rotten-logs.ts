/** Row 29, where the log is not the one that the snapshots are of, or Reyn not the one that wrote them. */
import assert from "node:assert/strict";
import { collect, memorySnapshots, SnapshotStore } from "@reyn/snapshot";
import { newestSnapshot } from "@reyn/snapshot/internal";
import { openWal, type Scope, type Seq, type Wal, type WalError } from "@reyn/wal";
import { MemoryDisk } from "@reyn/wal/testing";
import { rootName } from "../../../packages/snapshot/src/store.ts";
import type { Case } from "../fault.ts";
import { codeOf } from "../lab/check.ts";
import { diskOf, engineOn, type Files, filesOf } from "../lab/memory.ts";
import { numbered } from "../lab/numbered.ts";
import { withSum } from "./rotten-sums.ts";
import { type Blobs, blobsOf, captureAt, judge, type Story, same, scopes, side, storeOf, tell } from "./story.ts";
import { foldTo, readFrom, scope, stateAt } from "./talk.ts";

export const withOtherLogs: readonly Case[] = [
	{
		name: "the log as it was before, beside newer snapshots",
		async run() {
			const { copies, blobs, seqs } = await history();
			let refused = 0;
			for (const files of copies.slice(0, -1)) {
				const disk = diskOf(files);
				const snapshots = new SnapshotStore(await storeOf(blobs));
				const error = await open(disk, snapshots).then(
					({ tip }) => new Error(`it was opened, and its tip is ${tip}`),
					(error: WalError) => error,
				);
				assert.equal((error as WalError).code, "WAL_CORRUPT", error.message);
				for (const [path, bytes] of files) assert.deepEqual(Buffer.from(filesOf(disk).get(path) ?? ""), bytes, path);
				refused++;
			}
			const whole = await open(diskOf(copies.at(-1) ?? new Map()), new SnapshotStore(await storeOf(blobs)));
			await whole.close();
			return `${refused} of ${refused} refused as acknowledged records lost, by the snapshot at seq ${seqs.at(-1)}`;
		},
	},
	{
		name: "the same without that proof, and other records at the same seqs",
		async run() {
			const { copies, blobs, seqs } = await history();
			let states = 0;
			for (const files of copies.slice(0, -1)) {
				const store = await storeOf(blobs);
				const snapshots = new SnapshotStore(store);
				const wal = await open(diskOf(files));
				states += await checkAll(wal, snapshots);
				while (wal.tip <= (seqs.at(-1) ?? 0)) await append(wal, "another life");
				states += await checkAll(wal, snapshots);
				assert.ok(same(await blobsOf(store), blobs), "the store was changed");
				for (const seq of seqs) {
					await captureAt(wal, snapshots, seq);
					for (const each of scopes)
						assert.equal(
							await stateAt(readFrom(wal, seq), new SnapshotStore(store), seq, each),
							await foldTo(wal, seq, each),
						);
				}
				await wal.close();
			}
			return `${states} of ${states} states are the log's`;
		},
	},
	{
		name: "the store of another log",
		async run() {
			const [ours, others] = await two();
			const store = await storeOf(others.blobs);
			const snapshots = new SnapshotStore(store);
			for (const work of [
				() => stateAt(ours.wal, snapshots, ours.wal.tip),
				() => stateAt(ours.wal, snapshots, 1),
				() => captureAt(ours.wal, snapshots, 250),
			])
				assert.equal(await codeOf(work), "SNAPSHOT_OTHER_LOG");
			assert.ok(same(await blobsOf(store), others.blobs), "the store was changed");
			assert.equal(await newestSnapshot(snapshots, ours.wal.id, scopes), 0);
			// Nothing says any more whose it is, or something wrong: each root still does.
			for (const owner of [undefined, ours.blobs.get("log") as Uint8Array]) {
				const rest = [...others.blobs].filter(([name]) => name !== "log");
				const { outcome, why } = await judge(ours, new Map(owner ? [["log", owner], ...rest] : rest));
				assert.equal(outcome, "passed over", why);
			}
			return "refused, nothing changed; without its owner, or with ours: passed over";
		},
	},
	{
		name: "a root of another log among ours",
		async run() {
			const [ours, others] = await two();
			let cases = 0;
			for (const each of scopes)
				for (const seq of [1, 90, 200, 250, ours.wal.tip, 1_000_000]) {
					const root = others.blobs.get(rootName(each, 250)) as Uint8Array;
					const crc = await crcAt(ours.wal, seq);
					// Its log alone tells it from ours.
					const there = withSum(root, (json) =>
						json.replace('"seq":250', `"seq":${seq}`).replace(/"crc":"\w+"/, `"crc":"${crc}"`),
					);
					const { outcome, why } = await judge(ours, new Map([...ours.blobs, [rootName(each, seq), there]]));
					assert.equal(outcome, "passed over", why);
					cases++;
				}
			return `${cases} of ${cases} passed over`;
		},
	},
	{
		name: "a root of format 2, a state of a newer version",
		async run() {
			let refused = 0;
			for (const [from, to, version] of [
				['"v":1', '"v":2', 2],
				['"v":1', '"v":1e308', 1e308],
				['"talk":{"version":1', '"talk":{"version":2', "talk 2"],
				['"tally":{"version":1', '"tally":{"version":9', "tally 9"],
			] as const) {
				const story = await tell(260, [90, 180, 250]);
				const name = rootName(scope, 250);
				const root = withSum(story.blobs.get(name) as Uint8Array, (json) => json.replace(from, to));
				const newer: Blobs = new Map([...story.blobs, [name, root]]);
				const store = await storeOf(newer);
				const snapshots = new SnapshotStore(store);
				const error = await stateAt(story.wal, snapshots, story.wal.tip).catch((error) => error);
				assert.equal(error.code, "SNAPSHOT_NEWER_FORMAT", String(error));
				assert.deepEqual(error.detail, { scope, seq: 250, version });
				if (typeof version === "number")
					assert.equal(await codeOf(() => collect(snapshots, { keep: () => false })), "SNAPSHOT_NEWER_FORMAT");
				assert.ok(same(await blobsOf(store), newer), "the store was changed");
				// What does not need it goes on.
				for (const [each, seq] of [
					[scope, 249],
					[side, story.wal.tip],
				] as const satisfies [Scope, Seq][])
					assert.equal(await stateAt(story.wal, snapshots, seq, each), await foldTo(story.wal, seq, each));
				refused++;
			}
			return `${refused} of ${refused} refused with seq and version, nothing changed`;
		},
	},
];

/** Two logs, with snapshots at the same seqs. */
const two = async (): Promise<[Story, Story]> => [
	await tell(260, [90, 180, 250]),
	await tell(260, [90, 180, 250], "grows"),
];

async function crcAt(wal: Wal, seq: Seq): Promise<string> {
	for await (const { crc } of wal.read({ after: seq - 1, through: seq })) return crc;
	return "00000000";
}

interface History {
	/** The log at each snapshot. */
	readonly copies: readonly Files[];
	readonly seqs: readonly Seq[];
	readonly blobs: Blobs;
}

async function history(): Promise<History> {
	const disk = new MemoryDisk();
	const wal = await open(disk);
	const store = await storeOf(new Map());
	const snapshots = new SnapshotStore(store);
	const copies: Files[] = [];
	const seqs: Seq[] = [];
	for (let part = 0; part < 4; part++) {
		for (let n = 0; n < 40; n++) await append(wal, "this life");
		await captureAt(wal, snapshots, wal.tip);
		copies.push(new Map([...filesOf(disk)].map(([path, bytes]) => [path, Buffer.from(bytes)])));
		seqs.push(wal.tip);
	}
	await wal.close();
	return { copies, seqs, blobs: await blobsOf(store) };
}

/** @param proof of how far the log was durable */
const open = (disk: MemoryDisk, proof = memorySnapshots()): Promise<Wal> =>
	openWal(engineOn(disk), { records: [numbered], proven: (id) => newestSnapshot(proof, id, scopes) });

async function append(wal: Wal, text: string): Promise<void> {
	const n = wal.tip + 1;
	await wal.append(numbered({ n, text: `${text} ${n}` }), n % 3 > 0 ? scope : side).durable;
}

async function checkAll(wal: Wal, snapshots: SnapshotStore): Promise<number> {
	for (let seq = 1; seq <= wal.tip; seq++)
		for (const each of scopes)
			assert.equal(await stateAt(wal, snapshots, seq, each), await foldTo(wal, seq, each), `another state at ${seq}`);
	return wal.tip * scopes.length;
}
