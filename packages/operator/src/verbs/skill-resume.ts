/** `skill resume`: goes on with one run, and says before where it goes on, what is paid again, and what is in doubt. */
import { journal, stepStarted } from "@reyn/journal";
import { entriesOf } from "@reyn/journal/internal";
import { paidAgainBy, type Runtime } from "@reyn/runtime";
import { analyze, type FoundSkills, runLane, skillToolName } from "@reyn/skill-resume";
import { z } from "zod";
import { paidText } from "../lines/blast-radius.ts";
import { callsText, lanesBelow, paidBelow } from "../model-calls.ts";
import { modelChanged, modelChangedText } from "../model-changed.ts";
import { callsShape, list, modelChangedShape, paidForShape, seq, type skillRunShape } from "../shapes.ts";
import { oneLine } from "../text.ts";
import { readVerb, workVerb } from "../verb.ts";
import { run, runsOf } from "./skill.ts";

/** Where a skill run goes on, and what that costs. */
export const goingOnShape = z.object({
	run: z.string(),
	skill: z.string(),
	tip: seq,
	/** Where it goes on. Absent: all phases are finished, and its output is to be told. */
	phase: z.string().exactOptional(),
	visit: z.int().exactOptional(),
	/** The phases that are finished, and are not run again, with how often each was. */
	finished: z.record(z.string(), z.int()),
	isChanged: z.literal(true).exactOptional(),
	/** It was begun with another model than it goes on with: its open phase asks anew. Absent: it goes on with the same, or that is unknown. */
	modelChanged: modelChangedShape.exactOptional(),
	waits: z.string().exactOptional(),
	/** What the model calls of the open phase cost so far. */
	paid: callsShape,
	/** What was paid where it worked last, which a move has taken away: it is paid again. Absent: unknown, since gc took records away. */
	again: paidForShape.exactOptional(),
	/** The effects of the open phase that were begun, and of which no outcome is recorded. */
	inDoubt: list(z.object({ name: z.string(), started: seq })),
	/** What becomes of them, once whoever can tell was asked and does not know. */
	policy: z.enum(["retry", "skip", "discard"]),
});

/** @throws SkillError `SKILL_UNKNOWN_RUN` */
export async function goingOn(runtime: Runtime, run: string): Promise<z.infer<typeof goingOnShape>> {
	// First: what comes while it is looked up was not seen.
	const { tip } = runtime.wal;
	const known = runtime.findSkillRun(run);
	const found = await runtime.skills();
	const told = runsOf(runtime, found).find((each) => each.run === run);
	const start = found.skills.find(({ name }) => name === known.skill)?.start ?? "";
	const at = analyze(known, start);
	const { phase, visit } = at.kind === "phase" ? at : { phase: undefined, visit: 0 };
	const open = at.kind === "phase" && at.entered ? at.phase : undefined;
	const finished = Object.entries(known.visits).map(
		([name, times]) => [name, name === open ? times - 1 : times] as const,
	);
	const lane = phase === undefined ? undefined : `${runLane(run)}/${phase}/${visit}`;
	const again = told && (await paidAgainBy(runtime, run, told.scope));
	const changed = told && modelChanged(runtime, told);
	return {
		...{ run, skill: known.skill, tip },
		...(phase !== undefined && phase !== "" && { phase, visit }),
		finished: Object.fromEntries(finished.filter(([, times]) => times > 0)),
		...(told?.isChanged && { isChanged: true as const }),
		...(changed && { modelChanged: changed }),
		...(told?.waits !== undefined && { waits: told.waits }),
		paid: lane === undefined ? { calls: 0, tokens: 0 } : paidBelow(runtime, told?.scope, lane),
		...(again && { again }),
		inDoubt: lane === undefined ? [] : await inDoubtBelow(runtime, told?.scope, lane, found),
		policy: runtime.skillInDoubt(known.skill),
	};
}

/** Questions are asked again, and children are gone on with: neither is in doubt. */
async function inDoubtBelow(
	runtime: Runtime,
	scope: z.infer<typeof skillRunShape>["scope"] | undefined,
	lane: string,
	{ skills }: FoundSkills,
): Promise<z.infer<typeof goingOnShape>["inDoubt"]> {
	const state = runtime.view(scope).get(journal);
	const begun = lanesBelow(state, lane)
		.flatMap((each) => entriesOf(state, each))
		.flatMap(({ name, started, outcome }) => (started === undefined || outcome ? [] : [{ name, started }]))
		.sort((a, b) => a.started - b.started);
	const children = skills.map((skill) => skillToolName(skill));
	const found: { name: string; started: number }[] = [];
	for (const { name, started } of begun)
		for await (const record of runtime.wal.read({ after: started - 1, through: started })) {
			const { kind } = stepStarted.is(record) ? record.data : { kind: "" };
			const isChild = kind === "skill" || (kind === "tool" && children.includes(name));
			if (kind !== "ask" && !isChild) found.push({ name, started });
		}
	return found;
}

export function goingOnLines({
	run,
	skill,
	phase,
	visit,
	finished,
	isChanged,
	modelChanged,
	waits,
	paid,
	again,
	inDoubt,
	policy,
}: z.infer<typeof goingOnShape>): readonly string[] {
	const stay = Object.entries(finished).map(([name, times]) => (times > 1 ? `${name} (${times} times)` : name));
	const where = phase === undefined ? "has only its output to tell" : `goes on in phase ${phase}, visit ${visit}`;
	const of = callsText(paid);
	return [
		`skill run ${run} of ${skill} ${where}`,
		...(waits === undefined ? [] : [`it waits: ${oneLine(waits, 300)}`]),
		...(stay.length > 0 ? [`finished, and not run again: ${stay.join(", ")}`] : []),
		...phaseLines(isChanged === true, modelChanged, of),
		...(isFree(again) ? [] : [`paid again, since a move took it away: ${paidText(again)}`]),
		...inDoubt.map(
			({ name, started }) =>
				`in doubt: ${oneLine(name, 60)}, begun at #${started}; ${outcomes[policy]} (policy ${policy})`,
		),
	];
}

/** What becomes of the model calls of the open phase. @param of how many, and how many tokens they took */
function phaseLines(
	isChanged: boolean,
	modelChanged: z.infer<typeof modelChangedShape> | undefined,
	of: string,
): readonly string[] {
	const skill = isChanged ? ["its skill has changed since it began"] : [];
	if (modelChanged)
		return [...skill, `${modelChangedText(modelChanged)}: this phase asks it anew; at most paid again: ${of}`];
	if (!isChanged) return [`not paid again: what is recorded of this phase, ${of}`];
	return [
		`${skill}: calls of this phase that are as they were are not paid again. Which those are is known only when it runs; at most paid again: ${of}`,
	];
}

/** What is unknown may be there. */
const isFree = (again: z.infer<typeof paidForShape> | undefined): boolean =>
	again !== undefined && again.calls + (again.uncounted ?? 0) === 0;

const outcomes = {
	retry: "it is made again, unless it is known to have happened",
	skip: "it is left out unless it is known whether it happened, so what it would give may be missing",
	discard: "the run is given up, unless it is known whether it happened",
} as const;

export const skillResume = workVerb({
	name: "skill resume",
	summary: "go on with a run that is paused",
	params: { run },
	example: "s3f2a",
	isAlone: true,
	begun: z.object({ run: z.string() }),
	preview: readVerb({
		name: "skill resume",
		summary: "where it goes on, whether its skill has changed since, and what may be paid again",
		params: { run },
		example: "s3f2a",
		result: goingOnShape,
		read: (runtime, { run }) => goingOn(runtime, run),
		lines: goingOnLines,
	}),
	check: async (runtime, { run }) => void runtime.findSkillRun(run),
	async begin(runtime, { run }) {
		await runtime.resumeSkillRun(run);
		return { run };
	},
	lines: ({ run }) => [`skill run ${run} goes on`],
});
