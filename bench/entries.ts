/** The log that is measured: one kind of record, and the state that it folds to. */
import { defineRecord, openWal, type WalRecord } from "@reyn/wal";
import { z } from "zod";
import { ENTRY_KIND, type Entry, entryAt, SCOPE } from "./entry.ts";

export const entryPut = defineRecord(ENTRY_KIND, z.object({ key: z.string(), text: z.string(), version: z.int() }));

export const records = [entryPut];

/** The newest text of each key. */
export type Entries = Map<string, Omit<Entry, "key">>;

export function apply(entries: Entries, record: WalRecord): void {
	if (entryPut.is(record)) entries.set(record.data.key, { text: record.data.text, version: record.data.version });
}

export async function writeEntries(directory: string, count: number): Promise<void> {
	await using wal = await openWal(directory, { records });
	for (let i = 0; i < count; i++) {
		await wal.ready();
		wal.append(entryPut(entryAt(i)), SCOPE);
	}
}
