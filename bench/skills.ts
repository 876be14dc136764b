/** What skills cost: a phase beside a bare function whose outcome is synced, and the resume of many runs in flight beside one of few. */
import { closeSync, fdatasyncSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Model } from "@reyn/journal";
import { type AnySkill, defineSkill, done, next, openSkills, type Skills } from "@reyn/skill-resume";
import { z } from "zod";
import { median } from "./figures.ts";
import { atMost, type Goal, goalTable } from "./goals.ts";
import { type Machine, machine, machineLine } from "./machine.ts";
import { inScratch } from "./scratch.ts";
import { short, table } from "./table.ts";

export interface SkillsOptions {
	/** How many runs are in flight, the fewest first. */
	readonly runs: readonly number[];
	/** Of one run, for what a phase costs. */
	readonly phases: number;
	readonly rounds: number;
	readonly json: boolean;
}

const loops = ["bare", "raw", "phase"] as const;

interface Size {
	readonly runs: number;
	/** Milliseconds until all have told their output, and of these until they are opened; medians. */
	readonly ms: number;
	readonly openMs: number;
	/** The most model calls in any resume. */
	readonly calls: number;
}

interface Report {
	readonly bench: "skills";
	readonly machine: Machine;
	readonly fileSystem: string;
	readonly rounds: number;
	/** Medians; the ratio to the raw loop is taken within its round. */
	readonly rows: readonly { readonly name: (typeof loops)[number]; readonly ms: number; readonly ofRaw: number }[];
	readonly sizes: readonly Size[];
	readonly goals: readonly Goal[];
}

export async function benchSkills({ runs, phases, rounds, json }: SkillsOptions): Promise<void> {
	await inScratch(async (directory, fileSystem) => {
		const times: Record<(typeof loops)[number], number>[] = [];
		const resumes = new Map<number, Omit<Size, "runs">[]>(runs.map((each) => [each, []]));
		const growths: number[] = [];
		// The first round is for the disk, and for what Node makes of the code.
		for (let round = -1; round < rounds; round++) {
			const at = join(directory, String(round));
			const found = { bare: await bare(phases), raw: await raw(`${at} raw`, phases), phase: await phase(at, phases) };
			const sizes: Size[] = [];
			for (const each of runs) sizes.push({ runs: each, ...(await resume(`${at} of ${each}`, each)) });
			if (round < 0) continue;
			times.push(found);
			for (const { runs: each, ...size } of sizes) resumes.get(each)?.push(size);
			const [few, many] = [sizes[0] as Size, sizes.at(-1) as Size];
			growths.push(many.ms / many.runs / (few.ms / few.runs));
		}
		const rows = loops.map((name) => ({
			name,
			ms: median(times.map((each) => each[name])),
			ofRaw: median(times.map((each) => each[name] / each.raw)),
		}));
		const sizes = [...resumes].map(([each, found]) => ({
			runs: each,
			ms: median(found.map(({ ms }) => ms)),
			openMs: median(found.map(({ openMs }) => openMs)),
			calls: Math.max(...found.map(({ calls }) => calls)),
		}));
		const [few, many] = [sizes[0] as Size, sizes.at(-1) as Size];
		const goals = [
			atMost(`resume of ${many.runs} runs in flight, a run × one of ${few.runs}`, median(growths), 1.2),
			atMost(`calls when ${many.runs} runs are resumed: the last phase of each`, many.calls, many.runs),
		];
		const report: Report = { bench: "skills", machine: machine(), fileSystem, rounds, rows, sizes, goals };
		console.log(json ? JSON.stringify(report, null, "\t") : textOf(report));
	});
}

const outcome = (visit: number): string => `what phase ${visit} gave, about as long as a line of a report`;

/** The bare loop: nothing is kept. Milliseconds a phase, as in those that follow. */
async function bare(phases: number): Promise<number> {
	const from = performance.now();
	for (let visit = 1; visit <= phases; visit++) await Promise.resolve(outcome(visit));
	return (performance.now() - from) / phases;
}

/** The same, and what each gives is a line that is on disk before the next one. */
async function raw(path: string, phases: number): Promise<number> {
	const file = openSync(path, "a");
	const from = performance.now();
	for (let visit = 1; visit <= phases; visit++) {
		writeSync(file, `${JSON.stringify({ visit, output: await Promise.resolve(outcome(visit)) })}\n`);
		fdatasyncSync(file);
	}
	const ms = (performance.now() - from) / phases;
	closeSync(file);
	return ms;
}

const input = z.strictObject({});

/** A run whose one phase comes round again. */
async function phase(directory: string, phases: number): Promise<number> {
	const loop = defineSkill({
		...{ name: "loop", description: "Comes round", input, start: "go", maxVisits: phases },
		phases: { go: async ({ visit }) => (visit < phases ? next("go", outcome(visit)) : done(outcome(visit))) },
	});
	const skills = await open(directory, loop, modelOf(false));
	const from = performance.now();
	await skills.start("r", "loop", {});
	await skills.idle();
	const ms = (performance.now() - from) / phases;
	await skills.close();
	return ms;
}

/** Two phases with a call of the model each: the first one is answered when the runs are left. */
const report = defineSkill({
	...{ name: "report", description: "Looks and tells", input, start: "look" },
	phases: {
		look: async ({ model }) => next("tell", (await model(asking("look"))).text),
		tell: async ({ model }) => done((await model(asking("tell"))).text),
	},
});

const asking = (system: string) => ({ system, messages: [{ role: "user" as const, text: "the ferry" }], tools: [] });

/** Leaves so many runs in their second phase, and goes on with them. */
async function resume(directory: string, runs: number): Promise<Omit<Size, "runs">> {
	const held = modelOf(true);
	const before = await open(directory, report, held);
	for (let n = 0; n < runs; n++) await before.start(`r${n}`, "report", {});
	while (held.waiting() < runs) await pause(5);
	await before.close();
	const model = modelOf(false);
	let told = 0;
	const from = performance.now();
	const skills = await open(directory, report, model, () => void told++);
	const openMs = performance.now() - from;
	await skills.idle();
	const ms = performance.now() - from;
	await skills.close();
	if (told !== runs) throw new Error(`of ${runs} runs ${told} have told their output`);
	return { ms, openMs, calls: model.calls() };
}

const open = (directory: string, skill: AnySkill, model: Model, deliver: () => void = () => {}): Promise<Skills> =>
	openSkills(directory, { skills: [skill], model, deliver });

/** Answers at once. @param held never what the second phase asks */
function modelOf(held: boolean): Model & { calls(): number; waiting(): number } {
	let [calls, waiting] = [0, 0];
	return {
		id: "bench",
		calls: () => calls,
		waiting: () => waiting,
		async *generate({ system }, { signal }) {
			calls++;
			if (held && system === "tell") {
				waiting++;
				await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
			}
			yield { type: "text", text: "A ferry crosses the river, and it has done so since the bridge fell. ".repeat(4) };
			yield { type: "usage", usage: { inputTokens: 40, outputTokens: 60 } };
		},
	};
}

function textOf({ machine: on, fileSystem, rounds, rows, sizes, goals }: Report): string {
	return [
		`skills; medians of ${rounds} rounds, ratios are taken within a round`,
		`${machineLine(on)}, ${fileSystem}`,
		"",
		table(
			["loop", "µs a phase", "× raw"],
			rows.map(({ name, ms, ofRaw }) => [name, short(ms * 1000), short(ofRaw)]),
		),
		"",
		table(
			["runs in flight", "resumed in ms", "of these to open", "ms a run", "calls"],
			sizes.map(({ runs, ms, openMs, calls }) => [`${runs}`, short(ms), short(openMs), short(ms / runs), `${calls}`]),
		),
		"",
		goalTable(goals),
	].join("\n");
}
