/** What an append costs, awaited and not, as a ratio to one write and one sync, measured in the same round. */
import { join } from "node:path";
import { contenders, RAW } from "./append/contenders.ts";
import { judge } from "./append/goals.ts";
import { type Report, rowsOf, textOf } from "./append/report.ts";
import { type Round, runRound } from "./append/rounds.ts";
import { machine } from "./machine.ts";
import { Rival } from "./rival.ts";
import { inScratch } from "./scratch.ts";

const program = join(import.meta.dirname, "append", "contend.ts");

export interface AppendOptions {
	readonly rounds: number;
	/** How long each contender is measured at each workload of a round, after a quarter of that to warm up. */
	readonly ms: number;
	readonly json: boolean;
}

export async function benchAppend({ rounds: count, ms, json }: AppendOptions): Promise<void> {
	await inScratch(async (directory, fileSystem) => {
		const rivals: Rival[] = [];
		const skipped: { name: string; why: string }[] = [];
		try {
			for (const [i, contender] of contenders.entries()) {
				const started = await Rival.start(contender.name, program, join(directory, String(i)));
				if (started instanceof Rival) rivals.push(started);
				else if (contender.ours || contender.name === RAW) throw new Error(`${contender.name}: ${started.skipped}`);
				else skipped.push({ name: contender.name, why: started.skipped });
			}
			const rounds: Round[] = [];
			for (let i = 0; i < count; i++) rounds.push(await runRound(rivals, i, ms));
			const rows = rowsOf(rounds);
			const goals = contenders.filter(({ ours }) => ours).flatMap(({ name }) => judge(rounds, name));
			const report: Report = {
				bench: "append",
				machine: machine(),
				fileSystem,
				ms,
				rounds: count,
				skipped,
				...rows,
				goals,
			};
			console.log(json ? JSON.stringify(report, null, "\t") : textOf(report));
		} finally {
			for (const rival of rivals) await rival.end();
		}
	});
}
