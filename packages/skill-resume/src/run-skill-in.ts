/** Runs a skill in a session: the same call starts the run, and goes on with it after a kill or a rewind. */
import { laneClosed, type StepPorts, type Steppable, stepPorts } from "@reyn/journal";
import { entryAt } from "@reyn/snapshot";
import type { Scope } from "@reyn/wal";
import type { Skill } from "./define-skill.ts";
import { endsRun } from "./errors.ts";
import { skillRunDiscarded } from "./records.ts";
import { runLane } from "./resume-point.ts";
import { runSkill, type SkillPorts, startRun } from "./run-skill.ts";
import { findRun, type SkillRun, skillRuns } from "./skill-runs.ts";

/** What `openSession` of @reyn/timetravel gives; `skillRuns` and `journal` are among its projections. */
export interface SkillSession extends Steppable {
	readonly scope: Scope;
	checkpoint(kind: string, title: string, scope: Scope): Promise<unknown>;
}

export interface SkillInPorts
	extends StepPorts,
		Pick<SkillPorts, "model" | "tools">,
		Partial<Pick<SkillPorts, "deliver">> {}

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
	const run = (): SkillRun | undefined => entryAt(session.view.get(skillRuns), id);
	// Taken now: after a rewind during this call, work of the line that was left must not write to the new one.
	const using = stepPorts(session, ports);
	if (!run() && input !== undefined) await startRun(id, skill, input, scope, using.log, ports.model.id);
	findRun(session.view.get(skillRuns), id);
	const result = runSkill(id, skill, scope, {
		deliver: async () => {},
		...ports,
		...using,
		run: () => run() as SkillRun,
		onBoundary: async (kind, title, at) => void (await session.checkpoint(kind, title, at)),
	});
	return result.catch(async (error: unknown) => {
		if (endsRun(error)) {
			using.log.append(skillRunDiscarded({ run: id, reason: error.message }), scope);
			await using.log.append(laneClosed({ lane: runLane(id) }), scope).durable;
		}
		throw error;
	});
}
