/** `skill list | show | run | discard`: which skills there are, and their runs. */

import type { Runtime } from "@reyn/runtime";
import {
	type FoundSkills,
	jsonSchemaOf,
	type Phase,
	type Skill,
	skillNamed,
	skillRunDiscarded,
} from "@reyn/skill-resume";
import { z } from "zod";
import { parentText } from "../lines/parent.ts";
import { outcomeText } from "../lines/plan.ts";
import { option, type Param, word } from "../param.ts";
import { list, seq, skillProblemShape, skillRunShape, skillShape, texts } from "../shapes.ts";
import { clean, oneLine } from "../text.ts";
import { readVerb, workVerb, writeVerb } from "../verb.ts";
import { session } from "./ref.ts";

export const run = word("run", "the id of a run in flight, as skill list has them", z.string());
const name = word("name", "a skill that there is", z.string());

export const skillList = readVerb({
	name: "skill list",
	summary: "skills that there are, those that do not load, and runs that are in flight",
	isWithoutHistory: true,
	params: {},
	example: "",
	result: z.object({ runs: list(skillRunShape), skills: list(skillShape), problems: list(skillProblemShape) }),
	async read(runtime) {
		const found = await runtime.skills();
		return {
			runs: runsOf(runtime, found),
			skills: found.skills.map(toldSkill),
			problems: found.problems.map(({ name, path, error: { code, message, detail } }) => ({
				...{ name, path, code, message },
				...(typeof detail.line === "number" && { line: detail.line }),
				...(typeof detail.phase === "string" && { phase: detail.phase }),
			})),
		};
	},
	lines: ({ runs, skills, problems }) => [
		...(runs.length > 0 ? skillLines(runs) : ["no skill run is in flight"]),
		...skills.map(({ name, description, path }) => `${name}  ${oneLine(description, 100)}  ${path ?? "built in"}`),
		...problems.map(({ name, message }) => `${name || "skills"} does not load: ${oneLine(message, 300)}`),
	],
});

const toldSkill = ({ name, description, source }: Skill): z.infer<typeof skillShape> => ({
	...{ name, description },
	...source,
});

const ANY_PHASE = "any phase, or done";

export const skillShow = readVerb({
	name: "skill show",
	summary: "a skill: its input, its phases with their ways and tools, and where it lies",
	isWithoutHistory: true,
	params: { name },
	example: "digest",
	result: z.object({
		...skillShape.shape,
		purity: z.string(),
		/** As JSON Schema. Absent: its schema cannot say so. */
		input: z.record(z.string(), z.unknown()).exactOptional(),
		start: z.string(),
		maxVisits: z.int(),
		phases: list(
			z.object({
				name: z.string(),
				by: z.enum(["function", "model"]),
				/** Where it may go; `done` is the end. Absent: its code says so. */
				next: texts.exactOptional(),
				tools: texts.exactOptional(),
			}),
		),
	}),
	async read(runtime, { name }) {
		const skill = skillNamed(await runtime.skills(), name);
		const { purity, start, maxVisits, phases } = skill;
		const input = jsonSchemaOf(skill.input);
		return {
			...toldSkill(skill),
			...{ purity, start, maxVisits },
			...(input && { input }),
			phases: Object.entries(phases).map(([name, phase]) => ({ name, ...workOfPhase(phase) })),
		};
	},
	lines: ({ name, description, path, hash, purity, input, start, maxVisits, phases }) => [
		`${name}  ${oneLine(description, 200)}`,
		`from ${path ?? "reyn itself"}${hash === undefined ? "" : `  sha256 ${hash}`}`,
		`does to the world: ${purity}`,
		`input ${input === undefined ? "as its schema has it" : JSON.stringify(input)}`,
		`begins with ${start}; each phase at most ${maxVisits} times`,
		...phases.map(({ name, by, next, tools = [] }) =>
			[
				`  ${name}`,
				by,
				...(tools.length > 0 ? [`tools ${tools.join(", ")}`] : []),
				`to ${next?.join(" or ") ?? ANY_PHASE}`,
			].join("  "),
		),
	],
});

function workOfPhase(phase: Phase<unknown>) {
	if (typeof phase === "function") return { by: "function" as const };
	const { next = "done", tools = [] } = phase;
	return { by: "model" as const, next: [next].flat(), tools: [...tools] };
}

/** The skill runs in flight, as they are told; those that wait for their skill, too. */
export async function skillsOf(runtime: Runtime): Promise<readonly z.infer<typeof skillRunShape>[]> {
	if (runtime.restored().runs.length === 0) return [];
	return runsOf(runtime, await runtime.skills());
}

export function runsOf(runtime: Runtime, { skills, problems }: FoundSkills): readonly z.infer<typeof skillRunShape>[] {
	return runtime.restored().runs.map(({ phase, hash, ...each }) => {
		const skill = skills.find(({ name }) => name === each.skill);
		const problem = problems.find(({ name }) => name === each.skill);
		const isChanged = hash !== undefined && skill !== undefined && skill.source?.hash !== hash;
		return {
			...each,
			...(phase !== undefined && { phase }),
			...(isChanged && { isChanged: true as const }),
			...(!skill && { waits: problem?.error.message ?? `there is no skill ${each.skill}` }),
		};
	});
}

export const skillLines = (all: readonly z.infer<typeof skillRunShape>[]): readonly string[] =>
	all.map(({ run, skill, status, why, phase = "", parent, isChanged, waits }) =>
		[
			`${run}  ${skill}  ${why === undefined ? status : outcomeText({ status, why })}  ${phase}`.trimEnd(),
			...(parent ? [parentText(parent)] : []),
			...(isChanged ? ["its skill has changed since it began"] : []),
			...(waits === undefined ? [] : [`waits: ${oneLine(waits, 300)}`]),
		].join("  "),
	);

const input: Param = {
	...option("json", "what it is given, as JSON: default {}", z.unknown().default({})),
	reads: "json",
};

export const skillRun = workVerb({
	name: "skill run",
	summary: "run a skill in the background",
	params: { name, input, session },
	example: `digest --input '{"topic":"recovery"}'`,
	begun: z.object({ run: z.string() }),
	begin: async (runtime, { name, input, session }) => ({ run: await runtime.runSkill(name, input, session) }),
	lines: ({ run }) => [`skill run ${run} started`],
});

/** The task that has started the run. Absent: none has, or it is told of it. */
const startedBy = z.string().exactOptional();

export const skillDiscard = writeVerb({
	name: "skill discard",
	summary: "give a skill run up; undo takes it up again",
	params: { run },
	example: "s3f2a",
	isUnsigned: true,
	seen: z.object({ run: z.string(), tip: seq, task: startedBy }),
	done: z.object({ run: z.string(), discarded: z.literal(true), task: startedBy, isTold: z.boolean().exactOptional() }),
	async look(runtime, { run }) {
		runtime.findSkillRun(run);
		const task = taskOf(runtime, run);
		return { run, tip: runtime.wal.tip, ...(task !== undefined && { task }) };
	},
	shown: ({ run, task }) => [
		`discard skill run ${run}`,
		...(task === undefined ? [] : [`task ${clean(task)}, which has started it, is told`]),
	],
	async act(runtime, { run, tip: expect, task }) {
		await runtime.discardSkillRun(run, { expect });
		await runtime.tasks.looked();
		const isTold = taskOf(runtime, run) === undefined;
		return { run, discarded: true as const, ...(task !== undefined && { task, isTold }) };
	},
	isDoneBy: (record, { run }) => skillRunDiscarded.is(record) && record.data.run === run,
	lines: ({ run, task, isTold }, say) => [
		`skill run ${run} is discarded`,
		...(task === undefined ? [] : [toldLine(clean(task), isTold === true, say`resume`)]),
	],
});

/** The task that has started it, and is to be told of it. */
const taskOf = (runtime: Runtime, run: string): string | undefined =>
	runtime.tasks.pending().find(({ begun }) => begun?.work === run)?.task;

const toldLine = (task: string, isTold: boolean, resume: string): string =>
	isTold
		? `task ${task} is told`
		: `task ${task} is not told yet, since its system could not be written; it is where work goes on: in an open chat, or by ${resume}`;
