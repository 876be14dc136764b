/** Truncations beside appends and reads, on a real disk, where the files are a thread's own. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { defineRecord, fileEngine, openWal } from "../src/index.ts";

const said = defineRecord("said", z.object({ text: z.string() }));

test("each append is answered by its own write, and is there afterwards; no append goes to a file that is gone", async () => {
	const directory = await mkdtemp(join(tmpdir(), "reyn-wal-"));
	const open = () => openWal(fileEngine(directory, { segmentBytes: 4096, allocateBytes: 1024 }), { records: [said] });
	try {
		const wal = await open();
		const crcs: string[] = [];
		for (let n = 0; n < 400; n++) {
			const { seq, record, durable } = wal.append(said({ text: `${n}` }), {});
			crcs[seq] = record.crc;
			const truncated = n % 20 === 19 ? wal.truncate({ before: wal.durableTip - 5 }) : undefined;
			await durable;
			for await (const { crc } of wal.read({ after: seq - 1 })) expect(crc).toBe(record.crc);
			await truncated;
		}
		expect(wal.first).toBeGreaterThan(300);
		await wal.close();
		const again = await open();
		let next = again.first;
		for await (const { seq, crc } of again.read({ through: crcs.length - 1 })) {
			expect([seq, crc]).toEqual([next, crcs[seq]]);
			next++;
		}
		expect(next).toBe(crcs.length);
		await again.close();
	} finally {
		await rm(directory, { recursive: true });
	}
});
