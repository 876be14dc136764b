import { decodeLine, type LogHeader, type StoredRecord } from "./codec.ts";
import type { LogEngine, OpenEngine, OpenLog } from "./engine.ts";
import { WalError } from "./errors.ts";
import type { Seq } from "./record.ts";

/** A log in memory: the same lines in an array. It can be closed and opened again, and ends with the process. */
export function memoryEngine(): LogEngine {
	let header: LogHeader | undefined;
	const lines: string[] = [];
	let writerOpen = false;

	return {
		async open({ readOnly, header: fresh, seen }: OpenEngine): Promise<OpenLog> {
			if (!readOnly && writerOpen) {
				throw new WalError(
					"WAL_LOCKED",
					"this memory log already has a writer; close it first, or open it with readOnly",
				);
			}
			if (!header && readOnly) throw new WalError("WAL_IO", "there is no log here yet; open it for writing first");
			header ??= fresh;
			for (const line of lines) seen(stored(line));
			if (!readOnly) writerOpen = true;
			const { first } = header;
			return {
				header,
				async append(_first: Seq, batch: readonly string[]): Promise<void> {
					lines.push(...batch);
				},
				async *read(after: Seq): AsyncIterable<StoredRecord> {
					for (let i = Math.max(0, after + 1 - first); i < lines.length; i++) yield stored(lines[i] as string);
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
