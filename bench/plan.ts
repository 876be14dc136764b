/** What plans cost: a step beside the bare loop of its model, many plans at once in one process, and their resume in another. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { median } from "./figures.ts";
import { atMost, type Goal, goalTable } from "./goals.ts";
import { type Machine, machine, machineLine } from "./machine.ts";
import type { Request } from "./plan/contend.ts";
import type { FoundOf, JobName, Repetition } from "./plan/jobs.ts";
import { STEPS } from "./plan/work.ts";
import { Rival } from "./rival.ts";
import { inScratch } from "./scratch.ts";
import { short, table } from "./table.ts";

export interface PlanOptions {
	/** At the same time. */
	readonly plans: number;
	/** Of all of them, in one process. */
	readonly repetitions: number;
	/** Of the steps and of the resume. */
	readonly rounds: number;
	readonly json: boolean;
}

const loops = ["bare", "raw", "plan"] as const;

interface Report {
	readonly bench: "plan";
	readonly machine: Machine;
	readonly fileSystem: string;
	readonly rounds: number;
	readonly plans: number;
	/** Medians; the ratio to the raw loop is taken within its round. */
	readonly steps: readonly { readonly name: (typeof loops)[number]; readonly ms: number; readonly ofRaw: number }[];
	readonly repetitions: readonly Repetition[];
	readonly resumeMs: number;
	/** Of these, until the plans are opened. */
	readonly openMs: number;
	/** The most calls in any resume. */
	readonly again: number;
	/** Of a finished step, in a snapshot. */
	readonly stateBytes: number;
	readonly goals: readonly Goal[];
}

export async function benchPlan({ plans, repetitions, rounds, json }: PlanOptions): Promise<void> {
	await inScratch(async (directory, fileSystem) => {
		const steps: Record<(typeof loops)[number], number>[] = [];
		const resumes: FoundOf<"resume">[] = [];
		let stateBytes = 0;
		for (let round = 0; round < rounds; round++) {
			console.error(`round ${round + 1} of ${rounds}`);
			const at = join(directory, String(round));
			await mkdir(at);
			const ask = asking(at, plans, repetitions);
			steps.push({ bare: await ask("bare"), raw: await ask("raw"), plan: await ask("plan") });
			await ask("begin");
			stateBytes = Math.max(stateBytes, await ask("state"));
			const resumed = await ask("resume");
			if (resumed.told !== plans) throw new Error(`of ${plans} plans ${resumed.told} have told their answer`);
			resumes.push(resumed);
		}
		const found = {
			...({ bench: "plan", machine: machine(), fileSystem, rounds, plans, stateBytes } as const),
			steps: loops.map((name) => ({
				name,
				ms: median(steps.map((each) => each[name])),
				ofRaw: median(steps.map((each) => each[name] / each.raw)),
			})),
			repetitions: await asking(directory, plans, repetitions)("many"),
			resumeMs: median(resumes.map(({ ms }) => ms)),
			openMs: median(resumes.map(({ openMs }) => openMs)),
			again: Math.max(...resumes.map(({ calls }) => calls)),
		};
		const report: Report = { ...found, goals: judge(found) };
		console.log(json ? JSON.stringify(report, null, "\t") : textOf(report));
	});
}

/** Each job in a process of its own, which is killed then. */
const asking =
	(at: string, plans: number, repetitions: number) =>
	async <Name extends JobName>(job: Name): Promise<FoundOf<Name>> => {
		const rival = await Rival.start(job, join(import.meta.dirname, "plan/contend.ts"), at);
		if (!(rival instanceof Rival)) throw new Error(rival.skipped);
		try {
			return (await rival.ask<{ found: FoundOf<Name> }>({ job, plans, repetitions } satisfies Request)).found;
		} finally {
			await rival.end();
		}
	};

/** The first repetition is for what Node makes of the code. Flat: the second half of the others is as the first. */
function judge({
	plans,
	repetitions,
	again,
	stateBytes,
}: Pick<Report, "plans" | "repetitions" | "again" | "stateBytes">): Goal[] {
	const others = repetitions.slice(1);
	const half = Math.ceil(others.length / 2);
	const flat = (what: string, of: (each: Repetition) => number): Goal => {
		const growth = median(others.slice(-half).map(of)) / median(others.slice(0, half).map(of));
		return atMost(`${plans} plans at once, second half of the repetitions × first: ${what}`, growth, 1.2);
	};
	return [
		flat("processor time", ({ cpuMs }) => cpuMs),
		flat("peak memory", ({ peakMiB }) => peakMiB),
		flat("heap left", ({ heapMiB }) => heapMiB),
		atMost(`${plans} plans are resumed: calls`, again, plans),
		atMost("a finished step in a snapshot, bytes", stateBytes, 2048),
	];
}

function textOf({ machine: on, fileSystem, rounds, plans, steps, repetitions, ...rest }: Report): string {
	const { resumeMs, openMs, again, stateBytes, goals } = rest;
	return [
		`plans of ${STEPS} steps; medians of ${rounds} rounds, ratios are taken within a round`,
		`${machineLine(on)}, ${fileSystem}`,
		"",
		table(
			["loop", "ms a step", "× raw"],
			steps.map(({ name, ms, ofRaw }) => [name, short(ms), short(ofRaw)]),
		),
		"",
		table(
			[
				`${plans} plans at once`,
				"ms",
				"processor, ms",
				"peak memory, MiB",
				"heap left, MiB",
				"late event loop (p99), ms",
			],
			repetitions.map(({ ms, cpuMs, peakMiB, heapMiB, p99Ms }, n) => [
				String(n + 1),
				...[ms, cpuMs, peakMiB, heapMiB, p99Ms].map(short),
			]),
		),
		"",
		`${plans} plans in flight are resumed in ${short(resumeMs)} ms (${short(openMs)} to open), with ${again} calls; a finished step takes ${Math.round(stateBytes)} bytes of a snapshot`,
		"",
		goalTable(goals),
	].join("\n");
}
