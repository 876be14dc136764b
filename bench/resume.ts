/** What steps cost that are recorded one by one, and what it costs to go on with them in a new process, beside others that do the same. */
import { machine } from "./machine.ts";
import { judge } from "./resume/goals.ts";
import { type Report, rowsOf, textOf } from "./resume/report.ts";
import { measure } from "./resume/rounds.ts";
import { inScratch } from "./scratch.ts";

export interface ResumeOptions {
	/** The lengths of the work, ascending. */
	readonly steps: readonly number[];
	readonly rounds: number;
	readonly json: boolean;
}

export async function benchResume({ steps, rounds, json }: ResumeOptions): Promise<void> {
	await inScratch(async (directory, fileSystem) => {
		const { measured, skipped } = await measure(directory, { steps, rounds });
		const rows = measured.flatMap(rowsOf);
		const report: Report = {
			bench: "resume",
			machine: machine(),
			fileSystem,
			rounds,
			skipped,
			rows,
			goals: judge(rows),
		};
		console.log(json ? JSON.stringify(report, null, "\t") : textOf(report));
	});
}
