/** A program that is bundled: a record in memory, one in files, and what became of each. No top-level await, which a bundle of CommonJS has not. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineRecord, isReynError, type LogEngine, memoryEngine, openWal } from "@reyn/wal";
import { z } from "zod";

const paid = defineRecord("paid", z.object({ cents: z.int() }));

async function kept(at: string | LogEngine): Promise<string> {
	try {
		await using wal = await openWal(at, { records: [paid] });
		await wal.append(paid({ cents: 1250 })).durable;
		return `tip ${wal.durableTip}`;
	} catch (error) {
		return isReynError(error) ? `${error.code} ${error.detail.code}` : String(error);
	}
}

async function main(): Promise<void> {
	const directory = await mkdtemp(join(tmpdir(), "bundled-"));
	console.log(`memory: ${await kept(memoryEngine())}`);
	console.log(`files: ${await kept(directory)}`);
	await rm(directory, { recursive: true });
}

main();
