/** What is measured of a contender: work that begins, and the same work in a process that goes on with it. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { median } from "../figures.ts";
import { parseLines } from "./lines.ts";
import { answerOf, type Open, type Step, type Work } from "./work.ts";

/** Every job is given how to open a contender, where, and how many steps the work has. */
type Job<Found> = (open: Open, at: string, steps: number) => Promise<Found>;

export interface Started {
	/** The median step. */
	readonly stepMs: number;
	/** All of the last 50 steps, to all of the first 50. */
	readonly growth: number;
}

export interface Resumed {
	/** From the opening until the last step is there again. */
	readonly ms: number;
	/** Of these, until the work began. */
	readonly openMs: number;
	/** Calls that were made, although an earlier process had made them. */
	readonly calls: number;
}

const WORK = "work";
const WARM_UP = "warm-up";
const WARM_UP_STEPS = 1000;
const EDGE = 50;

/** The steps of work that is then left as it is. Others before it are not measured: first steps are the slowest of any process. */
const start: Job<Started> = async (open, at, steps) => {
	const { work, call, ended } = observed();
	const runner = await open(at, work, call);
	await runner.start(WARM_UP, { steps: Math.min(steps, WARM_UP_STEPS), ends: true });
	runner.start(WORK, { steps, ends: false }).catch(ended.reject);
	const times = await ended.promise;
	const took = times.slice(1).map((time, i) => time - (times[i] ?? time));
	const total = (some: readonly number[]): number => some.reduce((sum, ms) => sum + ms, 0);
	return { stepMs: median(took), growth: total(took.slice(-EDGE)) / total(took.slice(0, EDGE)) };
};

/** The same work in a process that has done nothing yet, as it is after a crash. */
const resume: Job<Resumed> = async (open, at, steps) => {
	const { work, call, ended, calls } = observed();
	const from = performance.now();
	const runner = await open(at, work, call);
	runner.resume(WORK, { steps, ends: false }).catch(ended.reject);
	const times = await ended.promise;
	const [began = from, last = from] = [times[0], times.at(-1)];
	return { ms: last - from, openMs: began - from, calls: calls() };
};

/** What it takes to read the log of our work, and to parse each line of it. */
const parse: Job<number> = async (_open, at) => {
	const directory = join(at, WORK);
	const paths = readdirSync(directory).filter((name) => name.endsWith(".jsonl"));
	const from = performance.now();
	for (const name of paths) parseLines(join(directory, name), () => {});
	return performance.now() - from;
};

export const jobs = { start, resume, parse };
export type JobName = keyof typeof jobs;
export type FoundOf<Name extends JobName> = Awaited<ReturnType<(typeof jobs)[Name]>>;

/** The work and its calls, and what was seen of them. */
function observed() {
	const ended = Promise.withResolvers<readonly number[]>();
	let calls = 0;
	const call: Step = async (index) => {
		calls++;
		return answerOf(index);
	};
	const work: Work = async ({ steps, ends }, step) => {
		const times = [performance.now()];
		for (let i = 0; i < steps; i++) {
			const answer = await step(i);
			times.push(performance.now());
			if (answer !== answerOf(i)) throw new Error(`step ${i} gave another answer than it was called for`);
		}
		if (ends) return;
		ended.resolve(times);
		await new Promise(() => {});
	};
	return { work, call, ended, calls: () => calls };
}
