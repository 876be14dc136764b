/**
 * Row 4, in memory and exhaustive: the process dies at any operation, what it wrote is in the cache but not on the disk; the
 * log is recovered from that cache; then the power goes at any operation of the recovery.
 */
import assert from "node:assert/strict";
import { MortalDisk } from "@reyn/wal/testing";
import { seeded } from "../../kit/seeded.ts";
import { type Fault, FaultError } from "../fault.ts";
import { type Acked, checkRecords, codeOf, openLog, readAll } from "../lab/check.ts";
import { engineOn } from "../lab/memory.ts";
import { numbered } from "../lab/numbered.ts";

const options = { segmentBytes: 1500, allocateBytes: 512 };

export const fault: Fault = {
	name: "recut",
	title: "killed at any operation, recovered, then a power cut at any operation of that",
	promise: "what was shown stays",
	rows: [
		{
			row: 4,
			title: "killed before every change, power cut at every change of the recovery, in memory",
			how: "a disk that forgets what was not synced",
			promise: "what was shown is there",
			seen: "66 kills, 10,495 states, lost 0",
		},
	],
	needs: () => undefined,
	async run({ seed, short, brief }) {
		const random = seeded(seed);
		let kills = 0;
		let states = 0;
		const failed: string[] = [];
		for (let at = 1; ; at++) {
			const disk = new MortalDisk();
			disk.dieAt(at);
			const acked = await history(disk);
			if (!disk.dead) break;
			kills++;
			disk.live();
			const start = disk.cuts;
			const wal = await openLog(engineOn(disk, options));
			const end = disk.cuts;
			const shown: Acked[] = [];
			for await (const { seq, crc } of wal.read()) shown.push({ seq, crc });
			for (let cut = start; cut <= end; cut++) {
				for (const state of disk.states(cut, { limit: brief ? 2 : short ? 8 : 64, random })) {
					states++;
					const seen = await readAll(engineOn(state, options)).catch((error: Error) => error);
					try {
						if (seen instanceof Error) throw seen;
						checkRecords(seen.records, cut === end ? shown : acked);
					} catch (error) {
						const where = `killed before change ${at}, cut after ${cut - start} of ${end - start} changes of the recovery`;
						failed.push(`${where}: ${(error as Error).message.split("\n")[0]}`);
					}
				}
			}
		}
		assert.ok(kills > 0);
		const figures = { kills, "states after a second cut": states, lost: failed.length };
		if (failed.length > 0) throw new FaultError([...new Set(failed)].slice(0, 20).join("\n"), figures);
		return figures;
	},
};

async function history(disk: MortalDisk): Promise<Acked[]> {
	const acked: Acked[] = [];
	await codeOf(async () => {
		const wal = await openLog(engineOn(disk, options));
		for (let n = 1; n <= 9; n++) {
			const { record, durable } = wal.append(numbered({ n, text: "x".repeat(n * 20) }), {});
			await durable;
			acked.push(record);
		}
		await wal.close();
	});
	return acked;
}
