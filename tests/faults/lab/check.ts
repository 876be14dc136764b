/** What must hold of a log after any fault. */
import assert from "node:assert/strict";
import { type LogEngine, openWal, type Wal, type WalRecord } from "@reyn/wal";
import { numbered } from "./numbered.ts";

/** A record that somebody was told is durable. */
export interface Acked {
	readonly seq: number;
	readonly crc: string;
}

export interface Checked {
	/** As the first open read them, its own `wal_epoch` included. */
	readonly records: readonly WalRecord[];
	readonly torn: Wal["torn"];
}

export const openLog = (at: string | LogEngine, readOnly = false): Promise<Wal> =>
	openWal(at, { records: [numbered], readOnly });

/**
 * Opens the log for writing twice: the seqs are 1, 2, 3 …, everything acknowledged is there as it was, and the second
 * open sees what the first one did. What the first one itself added is acknowledged too from then on.
 */
export async function checkLog(at: string | LogEngine, acked: readonly Acked[]): Promise<Checked> {
	const first = await readAll(at);
	checkRecords(first.records, acked);
	const second = await readAll(at);
	assert.equal(second.torn, undefined, "a log that was closed has a torn tail");
	assert.deepEqual(
		second.records.slice(0, first.records.length),
		first.records,
		"the second open reads something else",
	);
	assert.equal(second.records.length, first.records.length + 1, "the second open adds its wal_epoch, and nothing else");
	return first;
}

export function checkRecords(records: readonly WalRecord[], acked: readonly Acked[]): void {
	for (const [i, { seq }] of records.entries()) assert.equal(seq, i + 1, `seq ${seq} stands where ${i + 1} belongs`);
	const lost = acked.filter(({ seq, crc }) => records[seq - 1]?.crc !== crc);
	assert.equal(lost.length, 0, `${lost.length} acknowledged records are lost, the first is seq ${lost[0]?.seq}`);
}

export async function readAll(at: string | LogEngine): Promise<Checked> {
	const wal = await openLog(at);
	try {
		const records: WalRecord[] = [];
		for await (const record of wal.read()) records.push(record);
		return { records, torn: wal.torn };
	} finally {
		await wal.close();
	}
}

/** The code of the error that it fails with; "none" when it does not fail. */
export async function codeOf(run: () => Promise<unknown>): Promise<string> {
	try {
		await run();
		return "none";
	} catch (error) {
		return (error as { code?: string }).code ?? String(error);
	}
}
