/** A projection of skill runs: which there are in a session, and which phase each is in. */
import { laneClosed, stepCompleted, stepFailed, stepStarted, type Usage } from "@reyn/journal";
import { type Dict, dictOf, emptyDict, entriesIn, getIn, setIn } from "@reyn/journal/internal";
import { defineProjection } from "@reyn/snapshot";
import type { Seq } from "@reyn/wal";
import { z } from "zod";
import { SkillError } from "./errors.ts";
import {
	phaseCompleted,
	phaseEntered,
	skillRunCompleted,
	skillRunDiscarded,
	skillRunFailed,
	skillRunPaused,
	skillRunResumed,
	skillRunStarted,
	skillRunStopped,
	skillRunWentOn,
} from "./records.ts";
import { laneOf, runLane } from "./resume-point.ts";

const skillRun = z.object({
	skill: z.string(),
	/** The seq of `skill_run_started`. */
	started: z.int(),
	/** The seq of the start, or of the last change of a phase. An output that was delivered after it is the output of these phases. */
	since: z.int(),
	input: z.unknown().optional(),
	/** The id of the model that it was begun with; absent: unknown. */
	model: z.string().optional(),
	/** The hash of the text of its skill when it began. Absent: unknown, or it lies in no file. */
	hash: z.string().optional(),
	/** The lane of the call that it runs in, if it is a child. */
	parent: z.string().optional(),
	/** What the model calls of a child cost, since the call around it tells that. Absent: it has none. */
	cost: z.object({ calls: z.int(), inputTokens: z.int(), outputTokens: z.int() }).optional(),
	/** The phase it is in; absent before the first. */
	phase: z.string().optional(),
	/** How often each phase was entered. */
	visits: z.record(z.string(), z.int()),
	/** The output of the last finished phase, and the next phase that it named. */
	last: z.object({ output: z.unknown().optional(), next: z.string().optional() }).optional(),
	status: z.enum(["running", "paused", "completed", "discarded"]),
	/** Why it is paused. Absent: it is not, or a rewind has paused it. */
	why: z.string().optional(),
	/** At how many starts it has failed since it last came to a phase, by place. Absent: at none. */
	failures: z.array(z.object({ place: z.string(), times: z.int() })).optional(),
	/** Of `skill_run_discarded`, for good. Absent: it was not discarded, or by a version that kept it no longer than `ended`. */
	discarded: z.object({ seq: z.int(), reason: z.string() }).optional(),
	/**
	 * How many starts have begun and not ended in order since something was recorded of its phase: all but one that works now have died.
	 * Of no child. Absent: none.
	 */
	begun: z.int().optional(),
	/** How many sleeps it is in: a start that dies in them has died of nothing. Of no child. Absent: none. */
	asleep: z.int().optional(),
	/**
	 * The seq and the content of `skill_run_discarded`, until the run's lane is closed: its notice is still to be delivered. Of a child
	 * until the lane around its call is: the call may still ask.
	 */
	ended: z
		.object({
			seq: z.int(),
			reason: z.string(),
			by: z.enum(["person", "parent"]).optional(),
			tell: z.string().optional(),
			/** Of a child: its call was told so, and one that is made again gets another child. */
			told: z.literal(true).optional(),
		})
		.optional(),
});

export type SkillRun = z.infer<typeof skillRun>;
/** The runs of a session. See {@link skillRunIn} and {@link skillRunsOf}. */
export type SkillRuns = Dict<SkillRun>;

/** A run by its id; undefined: there is none. */
export const skillRunIn = (runs: SkillRuns, id: string): SkillRun | undefined => getIn(runs, id);

/** All runs, children and those that are over too, oldest first. */
export const skillRunsOf = (runs: SkillRuns): readonly (readonly [id: string, run: SkillRun])[] =>
	[...entriesIn(runs)].sort(([, a], [, b]) => a.started - b.started);

/** Every skill run of a session and the phase it is in. */
export const skillRuns = defineProjection<SkillRuns>({
	name: "skills",
	version: 8,
	schema: dictOf(skillRun),
	init: () => emptyDict,
	handle: (on) => [
		on(skillRunStarted, (state, { run, skill, input, model, hash, parent }, { seq }) =>
			placed(state, run, {
				...{ skill, started: seq, since: seq, input, visits: {}, status: "running" as const },
				...(model === undefined ? {} : { model }),
				...(hash === undefined ? {} : { hash }),
				...(parent === undefined ? {} : { parent }),
			}),
		),
		on(phaseEntered, (state, { run, phase, visit }, { seq }) =>
			withRun(state, run, ({ failures: _before, begun: _gone, asleep: _slept, ...before }) => ({
				...before,
				since: seq,
				phase,
				visits: { ...before.visits, [phase]: visit },
				...(before.parent === undefined && { begun: 1 }),
			})),
		),
		on(phaseCompleted, (state, { run, phase, visit, output, next }, { seq }) =>
			withRun(
				advanced(
					withoutBelow(state, run, seq, `its phase is over`, (parent) => laneOf(run, phase, visit, parent)),
					runLane(run, getIn(state, run)?.parent),
				),
				run,
				({ phase: _left, failures: _before, ...before }) => ({
					...before,
					since: seq,
					last: { output, ...(next === undefined ? {} : { next }) },
				}),
			),
		),
		on(skillRunCompleted, (state, { run }) =>
			withRun(state, run, ({ begun: _gone, ...before }) => ({ ...before, status: "completed" })),
		),
		on(skillRunDiscarded, (state, { run, reason, by, tell }, { seq }) =>
			withRun(
				withoutBelow(state, run, seq, reason),
				run,
				({ failures: _before, begun: _gone, why: _why, ...before }) => ({
					...before,
					status: "discarded",
					discarded: { seq, reason },
					ended: { seq, reason, ...(by === undefined ? {} : { by }), ...(tell === undefined ? {} : { tell }) },
				}),
			),
		),
		// Each try of a call has a start of its own; only the first one is new, and so is each try to reach a person, who is waited for.
		on(stepStarted, (state, { kind, lane, started }) =>
			started === undefined || kind === "ask" ? advanced(state, lane) : state,
		),
		on(stepCompleted, (before, { kind, name, lane, usage, adopts, moves }) => {
			// A world that is asked at each start may say something else each time.
			const further = moves === undefined ? advanced(before, lane) : before;
			const state = kind === "sleep" ? slept(further, lane, name === "until" ? 1 : -1) : further;
			if (kind !== "model" || !usage || adopts !== undefined) return state;
			const id = runsAround(state, lane).at(-1) ?? "";
			if (getIn(state, id)?.parent === undefined) return state;
			return withRun(state, id, (run) => ({ ...run, cost: withUsage(run.cost, usage) }));
		}),
		on(stepFailed, (before, { lane, started = 0, forgotten }) => {
			const state = forgotten ? before : advanced(before, lane);
			const [id = "", { ended = undefined } = {}] = childrenOfCall(state, started).at(-1) ?? [];
			return ended ? withRun(state, id, (run) => ({ ...run, ended: { ...ended, told: true } })) : state;
		}),
		on(laneClosed, (state, { lane }) => {
			const run = lane.slice(runLane("").length);
			if (lane === runLane(run) && getIn(state, run)?.ended)
				return withRun(state, run, ({ ended: _told, ...before }) => before);
			return childrenBelow(state, lane)
				.filter(([, child]) => !isLive(child))
				.reduce((next, [id]) => withRun(next, id, asOver), state);
		}),
		on(skillRunFailed, (state, { run, place }) =>
			withRun(state, run, (before) => ({ ...endedInOrder(before), failures: withFailure(before.failures, place) })),
		),
		on(skillRunWentOn, (state, { run }) =>
			withRun(state, run, ({ begun = 0, ...before }) => ({ ...before, begun: begun + 1 })),
		),
		on(skillRunStopped, (state, { run }) => withRun(state, run, endedInOrder)),
		on(skillRunPaused, (state, { run, reason }) =>
			withRun(state, run, ({ why: _before, ...before }) => ({
				...before,
				status: "paused",
				...(reason === undefined ? {} : { why: reason }),
			})),
		),
		on(skillRunResumed, (state, { run }) =>
			withRun(state, run, ({ why: _why, failures: _before, begun: _gone, ...before }) => ({
				...before,
				status: "running",
			})),
		),
	],
	// Until version 6 all runs lay in one object, as a small dictionary still does; what versions added is optional.
	migrate: (state, from) =>
		from > 6
			? state
			: Object.entries(state as Readonly<Record<string, SkillRun>>).reduce<SkillRuns>(
					(all, [id, run]) => setIn(all, id, run),
					emptyDict,
				),
	floor: (state) => inFlightRuns(state)[0]?.[1].started,
});

/** The runs in flight, running or paused, oldest first. */
export function inFlightRuns(runs: SkillRuns): readonly (readonly [id: string, run: SkillRun])[] {
	return skillRunsOf(runs).filter(([, run]) => isLive(run));
}

/** The run of an id that is in flight, and no child. @throws SkillError `SKILL_UNKNOWN_RUN`, naming such runs */
export function findRun(runs: SkillRuns, id: string): SkillRun {
	const run = getIn(runs, id);
	if (run && isLive(run) && run.parent === undefined) return run;
	const live = inFlightRuns(runs).flatMap(([name, { parent }]) => (parent === undefined ? [name] : []));
	const [kind, work] = run?.parent?.split("/") ?? [];
	const why =
		run && isLive(run)
			? `skill run "${id}" goes on and ends with ${kind} ${work}, and is not in flight by itself`
			: `no skill run "${id}" is in flight`;
	throw new SkillError(
		"SKILL_UNKNOWN_RUN",
		`${why}; ${live.length > 0 ? `these are: ${live.join(", ")}` : "none is"}`,
		{ run: id, inFlight: live },
	);
}

/** The children whose calls are in a lane or below it, oldest first. */
export const childrenBelow = (runs: SkillRuns, lane: string): readonly (readonly [id: string, run: SkillRun])[] =>
	(childrenIn(runs).get(lane) ?? []).map((id) => [id, getIn(runs, id) as SkillRun] as const);

/** The children of a call, oldest first. @param started the seq of its first start */
export function childrenOfCall(runs: SkillRuns, started: Seq): readonly (readonly [id: string, run: SkillRun])[] {
	const found: (readonly [string, SkillRun])[] = [];
	for (let times = 1; ; times++) {
		const id = childId(started, times);
		const run = getIn(runs, id);
		if (!run) return found;
		// Whoever names runs may have given this name to one of their own.
		if (run.parent !== undefined) found.push([id, run]);
	}
}

/** Names a child by its call: the second one of a call is there only if the first is over, and its end was no answer. */
export const childId = (started: Seq, times: number): string => `c${started}${times > 1 ? `.${times}` : ""}`;

/** The ids of the runs that a lane is in, outermost first. */
export function runsAround(runs: SkillRuns, lane: string): readonly string[] {
	const around: string[] = [];
	const begin = runLane("");
	for (let at = lane.indexOf(begin); at >= 0; at = lane.indexOf(begin, at + 1)) {
		const [id = ""] = lane.slice(at + begin.length).split("/", 1);
		const run = getIn(runs, id);
		if (run && lane.startsWith(`${runLane(id, run.parent)}/`)) around.push(id);
	}
	return around;
}

export const isLive = ({ status }: Pick<SkillRun, "status">): boolean => status === "running" || status === "paused";

/** Something new is recorded in a lane: the run that it is in has come further since it was begun. */
function advanced(state: SkillRuns, lane: string): SkillRuns {
	const id = outermost(lane);
	if (getIn(state, id)?.begun === undefined) return state;
	return withRun(state, id, ({ begun: _gone, ...run }) => run);
}

function slept(state: SkillRuns, lane: string, more: number): SkillRuns {
	return withRun(state, outermost(lane), ({ asleep = 0, ...run }) =>
		asleep + more > 0 ? { ...run, asleep: asleep + more } : run,
	);
}

/** The id of the outermost run that a lane is in, if that is no child. */
function outermost(lane: string): string {
	const begin = runLane("");
	const [id = ""] = lane.startsWith(begin) ? lane.slice(begin.length).split("/", 1) : [];
	return id;
}

function endedInOrder({ begun = 0, ...run }: SkillRun): SkillRun {
	return begun > 1 ? { ...run, begun: begun - 1 } : run;
}

/** A child of whose outcome nobody asks any more: that it was, and how it ended. */
const asOver = ({ skill, started, since, parent, cost, status }: SkillRun): SkillRun => ({
	...{ skill, started, since, status, visits: {} },
	...(parent === undefined ? {} : { parent }),
	...(cost && { cost }),
});

/** Ends what is live below a run: no child outlives the work around it, even where a crash has cut what that wrote next. */
function withoutBelow(
	state: SkillRuns,
	id: string,
	seq: Seq,
	reason: string,
	laneIn = (parent: string | undefined): string => runLane(id, parent),
): SkillRuns {
	const lane = laneIn(getIn(state, id)?.parent);
	return childrenBelow(state, lane)
		.filter(([, child]) => isLive(child))
		.reduce(
			(next, [child]) =>
				withRun(next, child, (run) => ({ ...run, status: "discarded", ended: { seq, reason, by: "parent" } })),
			state,
		);
}

/** How many places are known at which a run has failed in one phase. */
const MOST_PLACES = 10;

const withFailure = (failures: SkillRun["failures"] = [], place: string): SkillRun["failures"] =>
	[
		...failures.filter((each) => each.place !== place),
		{ place, times: 1 + (failures.find((each) => each.place === place)?.times ?? 0) },
	].slice(-MOST_PLACES);

const withUsage = (cost: SkillRun["cost"], { inputTokens, outputTokens }: Usage): SkillRun["cost"] => ({
	calls: (cost?.calls ?? 0) + 1,
	inputTokens: (cost?.inputTokens ?? 0) + inputTokens,
	outputTokens: (cost?.outputTokens ?? 0) + outputTokens,
});

function withRun(state: SkillRuns, id: string, change: (run: SkillRun) => SkillRun): SkillRuns {
	const run = getIn(state, id);
	return run ? placed(state, id, change(run)) : state;
}

/** With a run as it is now. What is known of children goes on to the new state, unless one has come in the place of another run. */
function placed(state: SkillRuns, id: string, run: SkillRun): SkillRuns {
	const before = getIn(state, id);
	const next = setIn(state, id, run);
	const known = children.get(state);
	if (!known || (before && before.parent !== run.parent)) return next;
	children.delete(state);
	children.set(next, known);
	if (!before) addChild(known, id, run);
	return next;
}

/** The ids of the children, oldest first, by each lane around their calls. */
type Children = Map<string, string[]>;

/** Of the newest state of a history, so that each run of it is looked at once. */
const children = new WeakMap<SkillRuns, Children>();

function childrenIn(runs: SkillRuns): Children {
	const known = children.get(runs);
	if (known) return known;
	const all: Children = new Map();
	for (const [id, run] of skillRunsOf(runs)) addChild(all, id, run);
	children.set(runs, all);
	return all;
}

function addChild(all: Children, id: string, { parent }: SkillRun): void {
	if (parent === undefined) return;
	for (let end = parent.length; end > 0; end = parent.lastIndexOf("/", end - 1)) {
		const lane = parent.slice(0, end);
		const ids = all.get(lane);
		if (ids) ids.push(id);
		else all.set(lane, [id]);
	}
}
