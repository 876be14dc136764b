/** Who is measured when: in a round all of them, one after the other, so that a busy moment of the machine is one of all. */
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { Rival } from "../rival.ts";
import type { Request } from "./contend.ts";
import { type Contender, contenders } from "./contenders.ts";
import type { FoundOf, JobName, Loop, OrderOf, Past, Run } from "./jobs.ts";
import { type LoopRow, loopRowOf, type Row, rowOf } from "./report.ts";

/** States that a running agent reads one after the other. */
const LIVE_READINGS = 4;
/** Rounds of checkpoints that are measured alone; each has many. */
const LOOP_ROUNDS = 5;

const program = join(import.meta.dirname, "contend.ts");

const jobOf = <Name extends JobName>(rival: Rival, job: Name, order: OrderOf<Name>): Promise<FoundOf<Name>> =>
	rival.ask({ job, order } satisfies Request<Name>);

/** A contender that can be loaded here. */
export interface Able {
	readonly contender: Contender;
	/** Over a store that is there, or will be. */
	start(store: string): Promise<Rival>;
}

/** @param messages the files of messages, by kind */
export async function ableOf(
	messages: Readonly<Record<Contender["messages"], string>>,
): Promise<{ readonly able: readonly Able[]; readonly skipped: readonly { name: string; why: string }[] }> {
	const able: Able[] = [];
	const skipped: { name: string; why: string }[] = [];
	for (const contender of contenders) {
		const start = async (store: string): Promise<Rival> => {
			const started = await Rival.start(contender.name, program, store, messages[contender.messages]);
			if (started instanceof Rival) return started;
			throw new Error(started.skipped);
		};
		try {
			await (await start("")).end();
			able.push({ contender, start });
		} catch (error) {
			if (contender.ours) throw error;
			skipped.push({ name: contender.name, why: (error as Error).message });
		}
	}
	return { able, skipped };
}

/** A run of each, and then what they left is read by turns. The stores of all lie in the directory meanwhile. */
export async function measureRuns(
	able: readonly Able[],
	directory: string,
	{ steps, rounds }: { readonly steps: number; readonly rounds: number },
): Promise<Row[]> {
	await mkdir(directory);
	const entries: { name: string; run: Run; reader: Rival; middle: Past[]; late: Past[]; live: Past[]; fork: Past[] }[] =
		[];
	try {
		for (const [i, { contender, start }] of able.entries()) {
			const store = join(directory, String(i));
			const runner = await start(store);
			const run = await jobOf(runner, "run", { steps }).finally(() => runner.end());
			entries.push({ name: contender.name, run, reader: await start(store), middle: [], late: [], live: [], fork: [] });
		}
		const after = (run: Run, count: number) => ({ after: count, place: run.places[count - 1] ?? "" });
		const [half, most] = [Math.ceil(steps / 2), Math.ceil(steps * 0.95)];
		for (let round = 0; round < rounds; round++) {
			for (const { run, reader, middle, late, live } of entries) {
				middle.push(await jobOf(reader, "past", after(run, half)));
				late.push(await jobOf(reader, "past", after(run, most)));
				const then = Array.from({ length: LIVE_READINGS }, (_, i) => after(run, Math.min(half + i, steps)));
				live.push(await jobOf(reader, "live", { now: run.places.at(-1) ?? "", then }));
			}
		}
		// These add to the stores, so they come last.
		for (let round = 0; round < rounds; round++)
			for (const { run, reader, fork } of entries) fork.push(await jobOf(reader, "fork", after(run, half)));
	} finally {
		for (const { reader } of entries) await reader.end();
		await rm(directory, { recursive: true });
	}
	return entries.map(({ name, run, ...readings }) => rowOf(name, steps, run, readings));
}

/** Checkpoints alone, after each length of history, of those where they can be measured so. */
export async function measureLoops(
	able: readonly Able[],
	directory: string,
	histories: readonly number[],
): Promise<LoopRow[]> {
	const rows: LoopRow[] = [];
	for (const { contender, start } of able) {
		const { name, checkpoints } = contender;
		if (checkpoints === undefined) continue;
		const found = histories.map((history) => ({ history, loops: [] as Loop[] }));
		const rival = await start(directory);
		try {
			for (let round = 0; round < LOOP_ROUNDS; round++)
				for (const { history, loops } of found) loops.push(await jobOf(rival, "loop", { history, checkpoints }));
		} finally {
			await rival.end();
		}
		rows.push(...found.map(({ history, loops }) => loopRowOf(name, history, loops)));
	}
	return rows;
}
