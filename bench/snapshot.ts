/** What it costs to have the state of every step on disk and to go back to one, beside others that do the same. */
import { statfs, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { machine } from "./machine.ts";
import { inScratch } from "./scratch.ts";
import type { Message } from "./snapshot/agent.ts";
import { contenders } from "./snapshot/contenders.ts";
import { judge } from "./snapshot/goals.ts";
import {
	documents,
	MESSAGE_BYTES,
	type MessageKind,
	packedShare,
	proseMessages,
	randomMessages,
} from "./snapshot/messages.ts";
import { type Report, type Row, textOf } from "./snapshot/report.ts";
import { ableOf, measureLoops, measureRuns } from "./snapshot/rounds.ts";

export interface SnapshotOptions {
	/** The lengths of the runs, ascending. */
	readonly steps: readonly number[];
	/** How often each past state is read. */
	readonly rounds: number;
	/** The lengths of history at which checkpoints are measured alone, ascending. */
	readonly histories: readonly number[];
	readonly json: boolean;
}

export async function benchSnapshot({ steps, rounds, histories, json }: SnapshotOptions): Promise<void> {
	await inScratch(async (directory, fileSystem) => {
		await assertRoom(directory, Math.max(...steps));
		const { packed, files } = await writeMessages(directory, steps, histories);
		const { able, skipped } = await ableOf(files);
		const rows: Row[] = [];
		for (const count of steps)
			rows.push(...(await measureRuns(able, join(directory, "runs"), { steps: count, rounds })));
		const loops = await measureLoops(able, join(directory, "loop"), histories);
		const goals = contenders.filter(({ ours }) => ours).flatMap(({ name }) => judge(rows, loops, name));
		const report: Report = {
			bench: "snapshot",
			machine: machine(),
			fileSystem,
			packed,
			rounds,
			skipped,
			rows,
			loops,
			goals,
		};
		console.log(json ? JSON.stringify(report, null, "\t") : textOf(report));
	});
}

/** Two of the contenders store all of the state at each step: the square of the steps. */
async function assertRoom(directory: string, steps: number): Promise<void> {
	const { bavail, bsize } = await statfs(directory);
	const needed = 1.25 * steps * steps * MESSAGE_BYTES;
	if (bavail * bsize < needed)
		throw new Error(`${steps} steps need ${(needed / 1e9).toFixed(1)} GB of disk; free some, or ask for fewer --steps`);
}

async function writeMessages(
	directory: string,
	steps: readonly number[],
	histories: readonly number[],
): Promise<{ readonly files: Readonly<Record<MessageKind, string>>; readonly packed: Report["packed"] }> {
	const source = documents();
	const longest = Math.max(...steps);
	const beyond = Math.max(...contenders.map(({ checkpoints = 0 }) => checkpoints));
	const prose = proseMessages(source, Math.max(longest, Math.max(...histories) + beyond));
	const random = randomMessages(longest);
	const files = { prose: join(directory, "prose.json"), random: join(directory, "random.json") };
	await writeFile(files.prose, JSON.stringify(prose));
	await writeFile(files.random, JSON.stringify(random));
	const share = (messages: readonly Message[]): number => packedShare(messages.map(({ text }) => text).join("\n"));
	return { files, packed: { prose: share(prose), documents: packedShare(source), random: share(random) } };
}
