/** What a process has left: the lines of its log that are about steps, and what it has told. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type StepLine, stepLines } from "./ledger.ts";
import type { Told } from "./program.ts";

/** In the order of their seqs. */
export function linesIn(log: string): readonly StepLine[] {
	const names = existsSync(log) ? readdirSync(log).filter((name) => name.endsWith(".jsonl")) : [];
	return stepLines(names.map((name) => readFileSync(join(log, name), "utf8")));
}

/** What a kill has cut was not told. */
export const toldIn = (ledger: string): Told[] =>
	ledger
		.split("\n")
		.slice(0, -1)
		.map((line) => JSON.parse(line) as Told);
