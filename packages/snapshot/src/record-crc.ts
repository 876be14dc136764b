import type { Seq, Wal } from "@reyn/wal";

/**
 * The crc of the record at a seq; undefined when the log has none there, or none that is durable. A log that was brought back
 * from a copy gives its seqs to other records, so only this tells what an artifact was made from.
 */
export async function crcAt(wal: Pick<Wal, "first" | "durableTip" | "read">, seq: Seq): Promise<string | undefined> {
	if (seq < wal.first || seq > wal.durableTip) return undefined;
	for await (const { crc } of wal.read({ after: seq - 1, through: seq })) return crc;
	return undefined;
}
