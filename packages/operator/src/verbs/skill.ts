/** `skill list | run | discard | resume`: runs of skills. */
import type { Restored } from "@reyn/runtime";
import { skillRunDiscarded } from "@reyn/skill-resume";
import { z } from "zod";
import { parentText } from "../lines/parent.ts";
import { outcomeText } from "../lines/plan.ts";
import { option, type Param, word } from "../param.ts";
import { list, seq, skillRunShape } from "../shapes.ts";
import { readVerb, workVerb, writeVerb } from "../verb.ts";
import { session } from "./ref.ts";

const run = word("run", "the id of a run in flight, as skill list has them", z.string());

export const skillList = readVerb({
	name: "skill list",
	summary: "skill runs that are in flight",
	params: {},
	example: "",
	result: list(skillRunShape),
	read: async (runtime) => skillsOf(runtime.restored()),
	lines: (found) => (found.length > 0 ? skillLines(found) : ["no skill run is in flight"]),
});

/** The skill runs in flight, as they are told. */
export const skillsOf = ({ runs }: Pick<Restored, "runs">): readonly z.infer<typeof skillRunShape>[] =>
	runs.map(({ phase, ...each }) => ({ ...each, ...(phase !== undefined && { phase }) }));

export const skillLines = (all: readonly z.infer<typeof skillRunShape>[]): readonly string[] =>
	all.map(({ run, skill, status, why, phase = "", parent }) =>
		[
			`${run}  ${skill}  ${why === undefined ? status : outcomeText({ status, why })}  ${phase}`.trimEnd(),
			...(parent ? [parentText(parent)] : []),
		].join("  "),
	);

const input: Param = {
	...option("json", "what it is given, as JSON: default {}", z.unknown().default({})),
	reads: "json",
};

export const skillRun = workVerb({
	name: "skill run",
	summary: "run a skill in the background",
	params: { name: word("name", "a skill that there is", z.string()), input, session },
	example: `digest --input '{"topic":"recovery"}'`,
	begun: z.object({ run: z.string() }),
	check: async () => {},
	begin: async (runtime, { name, input, session }) => ({ run: await runtime.runSkill(name, input, session) }),
	lines: ({ run }) => [`skill run ${run} started`],
});

export const skillDiscard = writeVerb({
	name: "skill discard",
	summary: "give a skill run up; undo takes it up again",
	params: { run },
	example: "s3f2a",
	isUnsigned: true,
	seen: z.object({ run: z.string(), tip: seq }),
	done: z.object({ run: z.string(), discarded: z.literal(true) }),
	async look(runtime, { run }) {
		runtime.findSkillRun(run);
		return { run, tip: runtime.wal.tip };
	},
	shown: ({ run }) => [`discard skill run ${run}`],
	async act(runtime, { run, tip: expect }) {
		await runtime.discardSkillRun(run, { expect });
		return { run, discarded: true as const };
	},
	isDoneBy: (record, { run }) => skillRunDiscarded.is(record) && record.data.run === run,
	lines: ({ run }) => [`skill run ${run} is discarded`],
});

export const skillResume = workVerb({
	name: "skill resume",
	summary: "go on with a run that is paused",
	params: { run },
	example: "s3f2a",
	isAlone: true,
	begun: z.object({ run: z.string() }),
	check: async (runtime, { run }) => void runtime.findSkillRun(run),
	async begin(runtime, { run }) {
		await runtime.resumeSkillRun(run);
		return { run };
	},
	lines: ({ run }) => [`skill run ${run} goes on`],
});
