/**
 * The program that is killed in a capture, a collection and a truncation: `keeper.ts <directory> <options as JSON>`.
 * Its log is in `log`, its snapshots in `snapshots`. It does what its script says, and tells what is about to go and what is
 * done, a line each, so that whoever started it has a ledger outside:
 *
 *     acked <seq> <crc>
 *     captured <seq>
 *     collecting <seq>
 *     collected
 *     truncated <first>
 */
import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { capture, collect, fileSnapshots, restore, straightPath } from "@reyn/snapshot";
import { fileEngine, openWal, type Seq } from "@reyn/wal";
import { numbered } from "../lab/numbered.ts";
import { projections, scope } from "./talk.ts";

export interface KeeperOptions {
	readonly script: readonly Command[];
	readonly segmentBytes?: number;
}

/** `capture` is of the newest record, `collect` leaves the newest snapshot or the oldest, `truncate` is before a seq. */
export type Command = ["append", count: number] | ["capture"] | ["collect", "newest" | "oldest"] | ["truncate", Seq];

/** Records that are written together; a segment ends after some of them. */
const BATCH = 5;

const [directory = "", text = ""] = process.argv.slice(2);
const { script, segmentBytes } = JSON.parse(text) as KeeperOptions;

const files = { allocateBytes: 4096, ...(segmentBytes && { segmentBytes }) };
const wal = await openWal(fileEngine(join(directory, "log"), files), { records: [numbered] });
const snapshots = fileSnapshots(join(directory, "snapshots"));
const from = { wal, snapshots, projections };

// strace wants every name: the temporary files of a run from the same log have the same.
let names = wal.tip * 1000;
crypto.randomBytes = ((size: number) => Buffer.alloc(size, String(++names).padStart(size, "0"))) as never;
syncBuiltinESMExports();

for (const command of script) await obey(command);
await wal.close();

async function obey([name, argument]: Command): Promise<void> {
	switch (name) {
		case "append":
			return append(argument);
		case "capture": {
			const seq = wal.durableTip;
			await capture(from, await restore(from, straightPath(seq, scope)));
			return tell(`captured ${seq}`);
		}
		case "collect": {
			const seqs = await snapshots.roots(scope, true);
			const kept = seqs.at(argument === "newest" ? 0 : -1);
			for (const seq of seqs) if (seq !== kept) tell(`collecting ${seq}`);
			await collect(snapshots, { keep: (_, seq) => seq === kept });
			return tell("collected");
		}
		case "truncate":
			await wal.truncate({ before: argument });
			return tell(`truncated ${wal.first}`);
	}
}

async function append(count: number): Promise<void> {
	for (let left = count; left > 0; left -= BATCH) {
		const appended = Array.from({ length: Math.min(left, BATCH) }, () => {
			const n = wal.tip + 1;
			return wal.append(numbered({ n, text: `text ${n}` }), scope);
		});
		await appended.at(-1)?.durable;
		for (const { record } of appended) tell(`acked ${record.seq} ${record.crc}`);
	}
}

function tell(line: string): void {
	process.stdout.write(`${line}\n`);
}
