/** What a process of the bench does, in the order in which it is asked. */
import { closeSync, fdatasyncSync, openSync, readdirSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { openPlans } from "@reyn/plan";
import { median } from "../figures.ts";
import { chain, modelOf, STEPS, wide } from "./work.ts";

export type JobName = keyof typeof jobs;
export type FoundOf<Name extends JobName> = Awaited<ReturnType<(typeof jobs)[Name]>>;

/** Plans whose steps are timed, one after the other; the first ones are for what Node makes of the code. */
const TIMED = 30;
const WARM = 10;

/** How long a model takes in plans that run at the same time, in milliseconds. */
const ANSWER_MS = 5;

export interface Repetition {
	readonly ms: number;
	/** What the processor worked for it, in all threads: other work of the machine hardly changes that. */
	readonly cpuMs: number;
	/** The most memory of the process. */
	readonly peakMiB: number;
	/** What is left after a collection. */
	readonly heapMiB: number;
	/** How late the event loop was. */
	readonly p99Ms: number;
}

export const jobs = {
	/** The bare loop: the model is asked for each step, and nothing is kept. */
	async bare(): Promise<number> {
		return timed(() => bareLoop(() => {}));
	},

	/** The same, and each answer is a line that is on disk before the next step. */
	async raw(at: string): Promise<number> {
		const file = openSync(join(at, "raw"), "a");
		try {
			return await timed(() =>
				bareLoop((text) => {
					writeSync(file, `${JSON.stringify({ text })}\n`);
					fdatasyncSync(file);
				}),
			);
		} finally {
			closeSync(file);
		}
	},

	/** A plan whose steps wait for each other. */
	async plan(at: string): Promise<number> {
		await using plans = await openPlans(join(at, "plan"), { model: modelOf(0), deliver() {} });
		let n = 0;
		return await timed(async () => {
			await plans.start(`p${n++}`, chain);
			await plans.idle();
		});
	},

	/** Many plans at the same time, again and again in one directory. */
	async many(at: string, plans: number, repetitions: number): Promise<readonly Repetition[]> {
		await using open = await openPlans(join(at, "many"), { model: modelOf(ANSWER_MS), deliver() {} });
		const found: Repetition[] = [];
		const delay = monitorEventLoopDelay({ resolution: 1 });
		for (let n = 0; n < repetitions; n++) {
			globalThis.gc?.();
			let peak = 0;
			const look = setInterval(() => (peak = Math.max(peak, process.memoryUsage.rss())), 10);
			delay.reset();
			delay.enable();
			const before = process.cpuUsage();
			const from = performance.now();
			await Promise.all(Array.from({ length: plans }, (_, each) => open.start(`p${n}-${each}`, wide)));
			await open.idle();
			const ms = performance.now() - from;
			const { user, system } = process.cpuUsage(before);
			delay.disable();
			clearInterval(look);
			globalThis.gc?.();
			found.push({
				ms,
				cpuMs: (user + system) / 1000,
				peakMiB: peak / MIB,
				heapMiB: process.memoryUsage().heapUsed / MIB,
				p99Ms: delay.percentile(99) / 1e6,
			});
		}
		return found;
	},

	/** Begins plans, and leaves them when each waits for its last step. */
	async begin(at: string, plans: number): Promise<number> {
		const open = await openPlans(join(at, "resume"), { model: modelOf(0, { held: true }), deliver() {} });
		for (let n = 0; n < plans; n++) await open.start(`p${n}`, wide);
		const isLast = (): boolean => open.list().every(([, { steps }]) => steps.s6?.status === "running");
		while (!isLast()) await new Promise((resolve) => setTimeout(resolve, 5));
		return plans;
	},

	/** Opens them, until each has told its answer. */
	async resume(
		at: string,
	): Promise<{ readonly ms: number; readonly told: number; readonly calls: number; readonly openMs: number }> {
		const model = modelOf(0);
		let told = 0;
		const from = performance.now();
		const open = await openPlans(join(at, "resume"), { model, deliver: () => void told++ });
		const openMs = performance.now() - from;
		await open.idle();
		const ms = performance.now() - from;
		await open.close();
		return { ms, openMs, told, calls: model.calls() };
	},

	/** The newest snapshot of the plans that were begun, in bytes for each of their finished steps. */
	async state(at: string): Promise<number> {
		const roots = join(at, "resume/blobs/snapshots/roots");
		const names = readdirSync(roots, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".blob"));
		const root = readFileSync(join(roots, names.toSorted().at(-1) ?? ""), "utf8");
		return Buffer.byteLength(root) / root.split('"status":"completed"').length;
	},
} satisfies Readonly<Record<string, (at: string, plans: number, repetitions: number) => Promise<unknown>>>;

/** The median of a step, in milliseconds. */
async function timed(plan: () => Promise<void>): Promise<number> {
	const each: number[] = [];
	for (let n = 0; n < WARM + TIMED; n++) {
		const from = performance.now();
		await plan();
		if (n >= WARM) each.push((performance.now() - from) / STEPS);
	}
	return median(each);
}

async function bareLoop(answered: (text: string) => void): Promise<void> {
	const model = modelOf(0);
	const { signal } = new AbortController();
	for (const { id, description } of chain.steps) {
		let text = "";
		const messages = [{ role: "user" as const, text: `Step ${id}: ${description}` }];
		for await (const part of model.generate({ system: "", messages, tools: [] }, { signal }))
			if (part.type === "text") text += part.text;
		answered(text);
	}
}

const MIB = 1024 * 1024;
