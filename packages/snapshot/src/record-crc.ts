/** Reads the checksum of one record, which ties a snapshot to the log that it was made from. */
import type { Seq, Wal } from "@reyn/wal";

/**
 * The crc of the record at a seq; undefined if the log has no durable record there. A log that was restored from an older copy gives
 * its seqs to other records, so only the crc tells which record an artifact was made from.
 */
export async function crcAt(wal: Pick<Wal, "first" | "durableTip" | "read">, seq: Seq): Promise<string | undefined> {
	if (seq < wal.first || seq > wal.durableTip) return undefined;
	for await (const { crc } of wal.read({ after: seq - 1, through: seq })) return crc;
	return undefined;
}
