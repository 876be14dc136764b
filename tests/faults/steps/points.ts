/** Programs of steps that die at any moment, on a simulated disk, and go on from what the crash has left. */
import assert from "node:assert/strict";
import { type InDoubtPolicy, openJournal } from "@reyn/journal";
import { fileEngine } from "@reyn/wal";
import { type MemoryDisk, MortalDisk } from "@reyn/wal/testing";
import { type Random, seeded } from "../../kit/seeded.ts";
import { FaultError, type Figures } from "../fault.ts";
import { hasStart, Ledger, stepLines } from "./ledger.ts";
import { drawProgram, observer, type Program, policies, Run, type World } from "./program.ts";
import { type Death, inTurns, Schedule } from "./schedule.ts";

const DIRECTORY = "/log";
/** Small, so that segments are sealed too. */
const files = { segmentBytes: 8192, allocateBytes: 1024 };

/** As many histories, each with a crash at a moment of its program; the n-th is the first one of `seed + n`. */
export async function crashAtPoints(points: number, seed: number): Promise<Figures> {
	const total = new Map<string, number>();
	const failed: string[] = [];
	for (let n = 0; n < points; n++) {
		const { wrong, counts } = await history(seed + n);
		for (const [what, count] of Object.entries(counts)) total.set(what, (total.get(what) ?? 0) + count);
		if (wrong.length > 0)
			failed.push(`${wrong.join("\n  ")}\n  again: pnpm faults in-doubt --seed ${seed + n} --points 1 --kills 0`);
	}
	const of = (what: string): number => total.get(what) ?? 0;
	const figures = {
		"crash points": points,
		deaths: `${of("deaths")}: ${of("kills")} of the process alone, ${of("cuts")} of the power; ${of("resumes")} of them in a resume`,
		effects: `${of("effects")}, ${of("started")} with a durable start; ${of("repeated")} made again`,
		"in doubt": policies
			.map((policy) => `${policy} ${of(policy)}`)
			.join(", ")
			.concat(`, reconciled ${of("reconciled")}, left open by a slow far side ${of("waits")}`),
		"histories that differ": failed.length,
	};
	if (failed.length > 0) throw new FaultError(failed.slice(0, 10).join("\n"), figures);
	if (points >= 100)
		for (const what of ["repeated", "resumes", "reconciled", "waits", ...policies])
			assert.ok(of(what) > 0, `"${what}" has not been met once: nothing was tried`);
	return figures;
}

interface History {
	readonly wrong: readonly string[];
	readonly counts: Readonly<Record<string, number>>;
}

async function history(seed: number): Promise<History> {
	const random = seeded(seed);
	const program = drawProgram(random);
	const policy = policies[seed % policies.length] as InDoubtPolicy;
	const counts = { deaths: 0, kills: 0, cuts: 0, resumes: 0 };

	// Once without a crash: it has to come to its end, and says how many moments there are.
	const scheduled = random.below(2 ** 32);
	const whole = new Ledger(program, policy);
	const { turns } = await live(new MortalDisk(), program, whole, seeded(scheduled));

	const ledger = new Ledger(program, policy);
	const dieWithin = (turns: number): Death => ({
		turn: 1 + random.below(turns),
		changes: random.below(4),
	});
	let disk = new MortalDisk();
	let death: Death | undefined = dieWithin(turns);
	let schedule = seeded(scheduled);
	for (let lives = 0; death; lives++) {
		const { isDead } = await live(disk, program, ledger, schedule, death, random.chance(0.3));
		// Who outlives its program dies afterwards.
		if (isDead || lives === 0) {
			counts.deaths++;
			if (lives > 0) counts.resumes++;
			const isCut = random.chance(0.5);
			counts[isCut ? "cuts" : "kills"]++;
			if (isCut) disk = afterPowerCut(disk, random);
		}
		disk.live();
		death = lives < 4 && random.chance(0.5) ? dieWithin(turns / 2) : undefined;
		schedule = random;
	}
	// To the end, and then once more: what is over is only recalled.
	for (let i = 0; i < 2; i++) {
		await live(disk, program, ledger, random);
		disk.live();
	}
	return {
		wrong: [...whole.wrong.map((each) => `without a crash: ${each}`), ...ledger.wrong],
		counts: { ...counts, ...ledger.counts },
	};
}

/** One process, until it ends or dies. */
async function live(
	disk: MortalDisk,
	program: Program,
	ledger: Ledger,
	random: Random,
	death?: Death,
	isSlow = false,
): Promise<{ readonly turns: number; readonly isDead: boolean }> {
	const schedule = new Schedule(disk, random, death);
	const world: World = {
		turn: schedule.turn,
		promptly: schedule.promptly,
		isSlow,
		// The dead tell nothing.
		tell: (told) => {
			if (!schedule.isDead) ledger.tell(told);
		},
		hasSeen: (key) => ledger.hasSeen(key),
		isStarted: (made) => hasStart(stepLines(logFiles(certain(disk))), made),
	};
	try {
		await schedule.run(async () => {
			const engine = inTurns(fileEngine(DIRECTORY, { disk, ...files, timers: schedule.timers }), schedule.turn);
			const journal = await openJournal(engine, {
				whenInDoubt: () => ledger.policy,
				observe: observer(world),
				clock: schedule.clock,
				timers: schedule.timers,
				ids: { hex: (bytes) => Array.from({ length: bytes * 2 }, () => random.below(16).toString(16)).join("") },
			});
			ledger.begin(stepLines(logFiles(disk)), isSlow);
			try {
				await new Run(journal, world).toEnd(program);
			} catch (error) {
				const { code } = error as { code?: unknown };
				if (code !== "STEP_DISCARDED" && !(isSlow && code === "CALL_IN_DOUBT")) throw error;
			}
			if (!schedule.isDead) ledger.end();
			await journal.close();
		});
	} catch (error) {
		ledger.wrong.push((error as Error).message);
	}
	return schedule;
}

const logFiles = ({ files }: MemoryDisk): string[] =>
	[...files].filter(([path]) => path.endsWith(".jsonl")).map(([, { bytes }]) => Buffer.from(bytes).toString());

/** What no power cut can take any more: nothing has happened that was not synced. */
function certain(disk: MortalDisk): MemoryDisk {
	const [first] = disk.states(disk.cuts, { limit: Number.POSITIVE_INFINITY, random: () => 0 });
	assert.ok(first);
	return first;
}

function afterPowerCut(disk: MortalDisk, random: Random): MortalDisk {
	const [state] = disk.states(disk.cuts, { limit: 1, random });
	assert.ok(state);
	return new MortalDisk(
		[...state.files].map(([path, { bytes }]) => [path, bytes] as const),
		state.directories,
	);
}
