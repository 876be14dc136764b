import { decodeLine, type StoredRecord } from "./codec.ts";
import type { Batch, LogEngine, OpenEngine, OpenLog } from "./engine.ts";
import { WalError } from "./errors.ts";
import type { Seq } from "./record.ts";
import { epochOf } from "./wal-records.ts";

/** A log in memory: the same lines in an array. It can be closed and opened again, and ends with the process. */
export function memoryEngine(): LogEngine {
	let log: { readonly id: string; readonly salt: string } | undefined;
	const lines: string[] = [];
	let writerOpen = false;

	return {
		async open({ readOnly, fresh }: OpenEngine): Promise<OpenLog> {
			if (!readOnly && writerOpen) {
				throw new WalError(
					"WAL_LOCKED",
					"this memory log already has a writer; close it first, or open it with readOnly",
				);
			}
			if (!log && readOnly) throw new WalError("WAL_IO", "there is no log here yet; open it for writing first");
			log ??= { id: fresh.log, salt: fresh.salt };
			if (!readOnly) writerOpen = true;
			const records = lines.map(stored);
			const last = records.at(-1);
			return {
				id: log.id,
				first: 1,
				tail: { seq: lines.length, crc: last?.crc ?? log.salt },
				epoch: Math.max(0, ...records.map(epochOf)),
				torn: [],
				async append(batch: Batch): Promise<void> {
					lines.push(...batch.lines);
				},
				async *read(after: Seq): AsyncIterable<readonly StoredRecord[]> {
					const found = lines.slice(after).map(stored);
					if (found.length > 0) yield found;
				},
				async close(): Promise<void> {
					if (!readOnly) writerOpen = false;
				},
			};
		},
	};
}

function stored(line: string): StoredRecord {
	const decoded = decodeLine(Buffer.from(line.slice(0, -1)));
	if (decoded.type !== "record") throw new WalError("WAL_CORRUPT", "a line in memory is not a record");
	return decoded.record;
}
