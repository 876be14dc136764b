/** Row 23: every fdatasync takes 200 ms: the event loop does not wait for it, and the order stays. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { checkLog } from "./check.ts";
import { type Fault, needsAll } from "./fault.ts";
import { startWriter, withDirectory } from "./start.ts";
import { strace } from "./strace.ts";

const LIMIT_MS = 50;

export const fault: Fault = {
	name: "slow",
	rows: [23],
	title: "200 ms for every fdatasync: the event loop does not wait, and the order stays",
	needs: () => needsAll("strace"),
	async run({ short }) {
		return withDirectory(async (root) => {
			const state = join(root, "state");
			const count = short ? 20 : 100;
			const slow = strace("/dev/null", [join(state, "wal.jsonl")], "-e", "inject=fdatasync:delay_enter=200000");
			const started = performance.now();
			const writer = startWriter(state, { count, batch: 4, hold: true }, slow);
			await writer.line("holding");
			const took = performance.now() - started;
			const [line = ""] = await writer.tell("lag");
			await writer.tell("close");
			writer.child.stdin?.end();
			await writer.ended;
			const [, p99 = "", max = ""] = line.split(" ");
			assert.ok(took > (count / 4) * 200, "the syncs were not slowed down");
			assert.ok(Number(p99) < LIMIT_MS, `the event loop was late by ${p99} ms (p99)`);
			const seqs = writer.acked.map(({ seq }) => seq);
			assert.deepEqual(
				seqs,
				seqs.toSorted((a, b) => a - b),
			);
			await checkLog(state, writer.acked);
			return { acked: seqs.length, syncs: count / 4, "loop lag p99 ms": p99, "max ms": max };
		});
	},
};
