/**
 * The program that is killed in its steps: `child.ts <directory> <options as JSON>`. It draws its steps by the seed,
 * runs them over the journal in `<directory>/log`, and writes all that it tells down in `<directory>/ledger`, the effects with a
 * sync: that is the far side. What it has written it prints too, so that it can be killed at any byte of its talk.
 */
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { type InDoubtPolicy, openJournal } from "@reyn/journal";
import type { Timers } from "@reyn/wal";
import { seeded } from "../../kit/seeded.ts";
import { sleep } from "../lab/start.ts";
import { hasStart } from "./ledger.ts";
import { drawProgram, observer, Run, type Told, type World } from "./program.ts";
import { linesIn, toldIn } from "./traces.ts";

export interface ProcessOptions {
	readonly seed: number;
	readonly policy: InDoubtPolicy;
}

const [directory = "", text = ""] = process.argv.slice(2);
const { seed, policy } = JSON.parse(text) as ProcessOptions;
const log = join(directory, "log");
const path = join(directory, "ledger");
const seen = new Set(toldIn(existsSync(path) ? readFileSync(path, "utf8") : "").flatMap(keyOf));
const ledger = openSync(path, "a");

/** How many calls are under way that are to end before any timer goes off. */
let held = 0;
const timers: Timers = {
	after(ms, run) {
		const due = (): void => {
			if (held > 0) timer = setTimeout(due, 5);
			else run();
		};
		let timer = setTimeout(due, ms);
		return () => clearTimeout(timer);
	},
};

const world: World = {
	turn: () => sleep(Math.random() * 8),
	async promptly(run) {
		held++;
		try {
			return await run();
		} finally {
			held--;
		}
	},
	isSlow: false,
	tell(told) {
		const line = `${JSON.stringify(told)}\n`;
		writeSync(ledger, line);
		if (told.kind === "effect") fsyncSync(ledger);
		for (const key of keyOf(told)) seen.add(key);
		process.stdout.write(line);
	},
	hasSeen: (key) => seen.has(key),
	isStarted: (made) => hasStart(linesIn(log), made),
};

const journal = await openJournal(log, { whenInDoubt: () => policy, observe: observer(world), timers });
try {
	await new Run(journal, world).toEnd(drawProgram(seeded(seed)));
} catch (error) {
	if ((error as { code?: unknown }).code !== "STEP_DISCARDED") throw error;
}
await journal.close();
closeSync(ledger);

function keyOf(told: Told): readonly string[] {
	return told.kind === "effect" ? [told.key] : [];
}
