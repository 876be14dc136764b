/** Logs in memory: made by the real writer, damaged as plain bytes, opened by the real recovery. */
import { fileEngine, type LogEngine, openWal, type WalRecord } from "@reyn/wal";
import { MemoryDisk } from "@reyn/wal/testing";
import { seeded } from "../../kit/seeded.ts";
import { numbered } from "./numbered.ts";

export const DIRECTORY = "/log";
export const ACTIVE = `${DIRECTORY}/wal.jsonl`;
export const HEAD = `${DIRECTORY}/wal.head`;

/** The files of a log, by path. */
export type Files = ReadonlyMap<string, Uint8Array>;

export interface FileOptions {
	readonly segmentBytes?: number;
	readonly allocateBytes?: number;
}

export interface Sample {
	readonly files: Files;
	/** All of them acknowledged. */
	readonly records: readonly WalRecord[];
	readonly options: FileOptions;
}

export const diskOf = (files: Files): MemoryDisk => new MemoryDisk(files, [DIRECTORY]);
export const filesOf = (disk: MemoryDisk): Files => new Map([...disk.files].map(([path, { bytes }]) => [path, bytes]));
export const engineOn = (disk: MemoryDisk, options: FileOptions = {}): LogEngine =>
	fileEngine(DIRECTORY, { disk, allocateBytes: 4096, ...options });

/** No two samples are the same log. */
let samples = 0;

/** A log of batches of one to three records. `close: false` leaves it as a kill would. */
export async function sample(
	count: number,
	{ bytes = 30, close = true, ...options }: FileOptions & { readonly bytes?: number; readonly close?: boolean } = {},
): Promise<Sample> {
	const disk = new MemoryDisk();
	samples++;
	const random = seeded(samples);
	const wal = await openWal(engineOn(disk, options), {
		records: [numbered],
		// The same bytes in every run, as far as they are ours.
		ids: { hex: (digits) => Array.from({ length: digits * 2 }, () => random.below(16).toString(16)).join("") },
		clock: { now: () => 1_800_000_000_000 },
	});
	for (let n = 1; n <= count; ) {
		const batch = Math.min(count - n + 1, 1 + (n % 3));
		let last: Promise<void> | undefined;
		for (let i = 0; i < batch; i++)
			last = wal.append(numbered({ n: n++, text: `${n} `.repeat(bytes / 2) }), {}).durable;
		await last;
	}
	const records: WalRecord[] = [];
	for await (const record of wal.read()) records.push(record);
	if (!close) return { files: filesOf(disk), records, options };
	await wal.close();
	return { files: filesOf(disk), records, options };
}

/** The lines of a file, each with its newline. */
export function linesOf(bytes: Uint8Array): Buffer[] {
	const lines: Buffer[] = [];
	const all = Buffer.from(bytes);
	for (let start = 0; start < all.length; ) {
		const end = all.indexOf(0x0a, start) + 1 || all.length;
		lines.push(all.subarray(start, end));
		start = end;
	}
	return lines;
}
