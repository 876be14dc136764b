/** Starts skill runs for others, by an id of theirs. */
import { isLive, runText, type SkillRun, skillRunIn, skillRuns } from "@reyn/skill-resume";
import type { Starter } from "../../kernel/services.ts";
import type { Session } from "../../kernel/session.ts";
import { skillWork } from "./pieces.ts";

export type SkillStarter = Starter<{ readonly skill: string; readonly input?: unknown }>;

/**
 * @param find throws why a skill cannot be run
 * @param start starts a skill as the run of an id
 */
export const starterOf = (
	find: (skill: string) => Promise<unknown>,
	start: (session: Session, skill: string, input: unknown, run: string) => Promise<unknown>,
): SkillStarter => ({
	check: async ({ skill }) => void (await find(skill)),
	async begin(session, { id }, { skill, input = {} }) {
		if (!runOf(session, id)) await start(session, skill, input, id);
	},
	under: (session, { id }) => session.over(skillWork(session.scope, id)),
	isOpen(session, { id }) {
		const run = runOf(session, id);
		return run !== undefined && isLive(run);
	},
	ended(session, { id }) {
		const run = runOf(session, id);
		if (run?.status === "completed") return { end: run.since, isDone: true, text: runText(run.last?.output) };
		if (run?.status !== "discarded") return undefined;
		const { seq: end, reason: text } = run.discarded ?? { seq: run.since, reason: "it was discarded" };
		return { end, isDone: false, text };
	},
});

const runOf = ({ view }: Session, id: string): SkillRun | undefined => skillRunIn(view.get(skillRuns), id);
