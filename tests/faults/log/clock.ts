/** Row 33: the clock goes back a day, jumps ten years, stands still: seq alone orders. */
import assert from "node:assert/strict";
import { openWal, type WalRecord } from "@reyn/wal";
import { MemoryDisk } from "@reyn/wal/testing";
import { type Case, type Fault, runCases } from "../fault.ts";
import { checkLog } from "../lab/check.ts";
import { engineOn } from "../lab/memory.ts";
import { numbered } from "../lab/numbered.ts";

const DAY = 86_400_000;
const START = 1_800_000_000_000;

const clocks: Readonly<Record<string, (n: number) => number>> = {
	"back a day": (n) => START - (n > 4 ? DAY : 0) + n,
	"ten years on": (n) => START + (n > 4 ? 3653 * DAY : 0) + n,
	"standing still": () => START,
	"running backwards": (n) => START - n * 1000,
	"before 1970": (n) => -n,
};

export const fault: Fault = {
	name: "clock",
	title: "the clock goes back, jumps or stands still",
	promise: "order is by seq alone",
	rows: [
		{
			row: 33,
			title: "the clock goes back a day, ten years on, stands still, runs backwards",
			how: "the clock port",
			promise: "order by seq alone",
			seen: "5 clocks, 12 records each over 3 opens, in order",
		},
	],
	needs: () => undefined,
	run: (settings) => runCases(cases, settings),
};

const cases: readonly Case[] = Object.entries(clocks).map(([name, now]) => ({
	name,
	async run() {
		let n = 0;
		const clock = { now: () => now(n++) };
		const disk = new MemoryDisk();
		const acked: WalRecord[] = [];
		for (let open = 0; open < 3; open++) {
			const wal = await openWal(engineOn(disk, { segmentBytes: 900 }), { records: [numbered], clock });
			for (let i = 0; i < 4; i++) {
				const { record, durable } = wal.append(numbered({ n: i, text: name }), {});
				await durable;
				acked.push(record);
			}
			await wal.close();
		}
		const { records } = await checkLog(engineOn(disk, { segmentBytes: 900 }), acked);
		for (const [i, { seq, ts }] of acked.entries()) {
			assert.equal(records[seq - 1]?.ts, ts);
			assert.ok(i === 0 || seq > (acked[i - 1]?.seq ?? 0));
		}
		return `${acked.length} records in order over 3 opens`;
	},
}));
