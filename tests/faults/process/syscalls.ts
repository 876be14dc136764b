/** Rows 2 and 14: SIGKILL before every system call on the log's files, of a whole life of a log and of a recovery. */
import assert from "node:assert/strict";
import { appendFile, cp, rm } from "node:fs/promises";
import { join } from "node:path";
import { type Random, seeded } from "../../kit/seeded.ts";
import type { Fault } from "../fault.ts";
import { type Acked, checkLog } from "../lab/check.ts";
import { needsAll } from "../lab/needs.ts";
import { startWriter, withDirectory } from "../lab/start.ts";
import { countCalls, pathsOf, strace } from "../lab/strace.ts";
import type { WriterOptions } from "../lab/writer.ts";

interface Scenario {
	readonly name: string;
	readonly options: WriterOptions;
	/** Makes what is there at the start; gives what was acknowledged in it. */
	prepare(state: string): Promise<readonly Acked[]>;
}

const scenarios: readonly Scenario[] = [
	{
		name: "open, append, seal, close",
		options: { count: 9, batch: 3, segmentBytes: 1000, allocateBytes: 512 },
		prepare: async () => [],
	},
	{
		name: "recovery of a torn tail",
		options: { count: 3, batch: 3, segmentBytes: 4000, allocateBytes: 512 },
		async prepare(state) {
			const writer = startWriter(state, { count: 6, segmentBytes: 1000, allocateBytes: 512 });
			await writer.ended;
			await appendFile(join(state, "wal.jsonl"), '{"v":1,"seq":');
			return writer.acked;
		},
	},
];

export const fault: Fault = {
	name: "syscalls",
	title: "SIGKILL before every system call on the log's files, recovery included",
	promise: "everything acknowledged is there",
	rows: [
		{
			row: 2,
			title: "killed at every system call of open, append, seal, close",
			how: "strace: SIGKILL before the N-th call on the log's files, each (call, N)",
			promise: "all acknowledged is there",
			seen: "145 of 145 points",
		},
		{
			row: 14,
			title: "killed at every system call of a recovery",
			how: "as row 2, of a log with a torn tail; then recovered again",
			promise: "all acknowledged is there",
			seen: "98 of 98 points",
		},
	],
	needs: () => needsAll("strace"),
	async run({ short, brief, seed }) {
		const figures: Record<string, string> = {};
		const random = seeded(seed);
		for (const scenario of scenarios)
			figures[scenario.name] = await points(scenario, brief ? 1 : short ? 5 : Number.POSITIVE_INFINITY, random);
		return figures;
	},
};

async function points({ name, options, prepare }: Scenario, limit: number, random: Random): Promise<string> {
	return withDirectory(async (root) => {
		const [start, state, log] = [join(root, "start"), join(root, "state"), join(root, "strace")];
		const before = await prepare(start);
		const fresh = async (): Promise<void> => {
			await rm(state, { recursive: true, force: true });
			if (before.length > 0) await cp(start, state, { recursive: true });
		};
		const paths = [...pathsOf(state), join(state, "wal-00000000000000000001.jsonl")];
		await fresh();
		const whole = startWriter(state, options, strace(log, paths));
		const end = await whole.ended;
		assert.equal(end.code, 0, `${name} under strace: ${whole.stderr()} ${whole.lines.join("\n")}`);
		const all = [...(await countCalls(log))].flatMap(([call, count]) =>
			Array.from({ length: count }, (_, i) => ({ call, n: i + 1 })),
		);
		// A file that is looked at twice more or less is no fault: a point of the end may not come again, another one does.
		const left = [...all];
		let killed = 0;
		while (left.length > 0 && killed < limit) {
			const [{ call, n } = { call: "", n: 0 }] = left.splice(random.below(left.length), 1);
			await fresh();
			const inject = ["-e", `inject=${call}:signal=SIGKILL:when=${n}`];
			const writer = startWriter(state, options, strace("/dev/null", paths, ...inject));
			const { code, signal } = await writer.ended;
			if (signal === "SIGKILL" || code === 137) killed++;
			try {
				// Killed in its recovery, it is recovered again: to the same.
				await checkLog(state, [...before, ...writer.acked]);
			} catch (error) {
				throw new Error(`${name}, killed at ${call} ${n}: ${(error as Error).message}`, { cause: error });
			}
		}
		const tried = all.length - left.length;
		assert.ok(killed >= Math.min(limit, all.length * 0.9), `only ${killed} of ${tried} points were reached`);
		return `${tried} of ${tried} points passed (${all.length} there are, ${killed} killed)`;
	});
}
