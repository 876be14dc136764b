/** Runs a skill in a session: the same call starts the run, and goes on with it after a kill or a rewind. */
import { laneClosed, type StepPorts, type Steppable, stepPorts, whenSpace } from "@reyn/journal";
import { type Scope, systemTimers } from "@reyn/wal";
import { skillChildren } from "./children.ts";
import type { Skill } from "./define-skill.ts";
import { endsRun } from "./errors.ts";
import { skillNamed } from "./found-skills.ts";
import type { ChildPurity } from "./policy.ts";
import { skillRunDiscarded } from "./records.ts";
import { runLane } from "./resume-point.ts";
import { runSkill, type SkillPorts } from "./run-skill.ts";
import { findRun, type SkillRun, skillRunIn, skillRuns } from "./skill-runs.ts";
import { startRun } from "./start-run.ts";

/** What `openSession` of @reyn/timetravel gives; `skillRuns` and `journal` are among its projections. */
export interface SkillSession extends Steppable {
	readonly scope: Scope;
	checkpoint(kind: string, title: string, scope: Scope): Promise<unknown>;
}

export interface SkillInPorts
	extends StepPorts,
		Pick<SkillPorts, "ask" | "model" | "tools">,
		Partial<Pick<SkillPorts, "deliver">> {
	/** The skills that phases may run as their children, by `ctx.skill` and as tools `skill_<name>`. Default: none. */
	readonly skills?: readonly Skill[];
	/** What becomes of a child that a former process left open: see `decideChild`. Default: a `pure` one is run anew. */
	readonly childPurity?: ChildPurity;
}

/** The children that this process has begun, by each log that is open. */
const begun = new WeakMap<object, Set<string>>();

function begunIn(wal: object): Set<string> {
	const known = begun.get(wal) ?? new Set();
	begun.set(wal, known);
	return known;
}

/**
 * Goes on with a run wherever it stands; one that the session does not know is started first.
 *
 * @param input the input of a new run; it is ignored if the run was started already
 * @throws SkillError `SKILL_INVALID_INPUT`, `SKILL_UNKNOWN_RUN`: nothing is written then; `SKILL_ABORTED`, `STEP_DISCARDED`: the run is
 * over; and as {@link runSkill} does
 */
export async function runSkillIn<Input>(
	session: SkillSession,
	id: string,
	skill: Skill<Input>,
	input: unknown,
	ports: SkillInPorts,
): Promise<unknown> {
	const scope = { ...session.scope, run: id };
	// Taken now: after a rewind during this call, work of the line that was left must not write to the new one.
	const using = portsIn(session, id, ports);
	const runs = () => session.view.get(skillRuns);
	if (!skillRunIn(runs(), id) && input !== undefined)
		await startRun(id, skill, input, scope, using.log, ports.model.id);
	findRun(runs(), id);
	return runSkill(id, skill, scope, using).catch(async (error: unknown) => {
		if (endsRun(error)) {
			using.log.append(skillRunDiscarded({ run: id, reason: error.message }), scope);
			await using.log.append(laneClosed({ lane: runLane(id) }), scope).durable;
		}
		throw error;
	});
}

/** The ports that a run in a session goes on with, its children included. */
export function portsIn(session: SkillSession, id: string, ports: SkillInPorts): SkillPorts {
	const scope = { ...session.scope, run: id };
	const runs = () => session.view.get(skillRuns);
	const using = stepPorts(session, ports);
	const { skills = [], childPurity = {}, model, timers = systemTimers } = ports;
	const found = { skills, problems: [] };
	const children = skillChildren({
		...{ found, childPurity, runs, log: using.log, model: model.id, own: begunIn(ports.wal), scope: () => scope },
		keep: (name, write, until) =>
			whenSpace(
				write,
				({ code, message }) =>
					using.observe?.({ type: "no_space", lane: runLane(id), kind: "skill", name, code, reason: message }),
				timers,
				until,
			),
		run: (child, _scope, until) => {
			const { skill: name } = skillRunIn(runs(), child) as SkillRun;
			return runSkill(child, skillNamed(found, name), scope, {
				...portsOf(child),
				deliver: async () => {},
				signal: until,
			});
		},
	});
	const portsOf = (which: string): SkillPorts => ({
		deliver: async () => {},
		...ports,
		...using,
		children,
		run: () => skillRunIn(runs(), which) as SkillRun,
		onBoundary: async (kind, title, at) => void (await session.checkpoint(kind, title, at)),
	});
	return portsOf(id);
}
