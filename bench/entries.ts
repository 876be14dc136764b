/** The log that recovery is measured on: one kind of record, each line about 300 bytes, and the state that it folds to. */
import { defineRecord, openWal, type WalRecord } from "@reyn/wal";
import { z } from "zod";

const KEYS = 10_000;
const TEXT = "It reads the log from its first line, checks each against its sum, and goes on where it stopped. ";

const entryPut = defineRecord("entry_put", z.object({ key: z.string(), text: z.string(), version: z.int() }));

export const records = [entryPut];

/** The newest text of each key. */
export type Entries = Map<string, { readonly text: string; readonly version: number }>;

export function apply(entries: Entries, record: WalRecord): void {
	if (entryPut.is(record)) entries.set(record.data.key, { text: record.data.text, version: record.data.version });
}

export async function writeEntries(directory: string, count: number): Promise<void> {
	await using wal = await openWal(directory, { records });
	for (let i = 0; i < count; i++) {
		await wal.ready();
		const data = { key: `entry-${(i * 7919) % KEYS}`, text: `${i}: ${TEXT}`, version: i };
		wal.append(entryPut(data), { agent: "default", session: "main" });
	}
}
