/** Reads one record of a log. */
import type { Seq, Wal, WalRecord } from "@reyn/wal";

/** The record at a seq, if the log has it. */
export async function recordAt(wal: Wal, seq: Seq): Promise<WalRecord | undefined> {
	if (seq < wal.first) return undefined;
	for await (const record of wal.read({ after: seq - 1, through: seq })) return record;
	return undefined;
}
