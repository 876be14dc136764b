/** The context of a function phase: its durable calls, made by the same code as a script's. */
import { askModel, type Lane } from "@reyn/journal";
import {
	agentCall,
	agentStep,
	Draws,
	findTool,
	isBeneath,
	nowStep,
	reasonOf,
	sleepStep,
	toolStepThatThrows,
} from "@reyn/journal/internal";
import type { AgentOptions, BranchesFailed } from "@reyn/journal/script";
import { z } from "zod";
import type { PhaseContext } from "./define-skill.ts";
import { SkillError } from "./errors.ts";
import type { SkillPorts } from "./run-skill.ts";

export function contextOf(skill: string, lane: Lane, visit: number, ports: SkillPorts): PhaseContext {
	const { model, tools = [], signal, logId } = ports;
	// Drawn from the place, so that a later try draws the same; and from the log, so that another log draws others.
	const draws = new Draws(`${logId}\n${lane.path}`);
	return {
		visit,
		signal,
		step: (name, call, { args = {}, ...options }) => lane.perform({ kind: "step", name, args, call, ...options }),
		model: (request) => askModel(lane, model, request),
		async agent(prompt: string, options: AgentOptions = {}) {
			const call = agentCall.parse({ ...options, prompt });
			const { value } = await lane.perform(agentStep(call, model, tools, (text) => lane.redact(text)));
			return value as never;
		},
		tool: async (name, args = {}) => lane.perform(toolStepThatThrows(findTool(tools, name), args)),
		async parallel(tasks) {
			return together(skill, await Promise.allSettled(tasks.map(async (task) => task())));
		},
		random: () => draws.random(),
		uuid: () => draws.uuid(),
		now: () => lane.perform(nowStep(ports)),
		sleep: async (ms) => void (await lane.perform(sleepStep(z.number().nonnegative().parse(ms), ports))),
		abort(reason) {
			throw new SkillError("SKILL_ABORTED", reason, { skill });
		},
	};
}

/** @throws what is no failure of a branch, such as a cancel; else SkillError `SKILL_BRANCHES` where any failed */
function together<T>(skill: string, results: readonly PromiseSettledResult<T>[]): T[] {
	const errors = results.flatMap((each, position) =>
		each.status === "rejected" ? [{ position, error: each.reason as unknown }] : [],
	);
	const ended = errors.find(({ error }) => isBeneath(error) || (error as { code?: unknown }).code === "SKILL_ABORTED");
	if (ended) throw ended.error;
	if (errors.length === 0) return results.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
	const failed = errors.map(({ position, error }) => {
		const { message, code } = reasonOf(error);
		return { position, message, ...(code !== undefined && { code }) };
	});
	const detail: BranchesFailed = { failed, branches: results.length };
	const said = failed.map(({ position, message }) => `${position}: ${message}`).join("; ");
	const why = `${failed.length} of ${results.length} branches of ${skill} failed (${said})`;
	// The causes say which calls the run has ended by: a next try makes them again.
	const cause = new AggregateError(errors.map(({ error }) => error));
	throw new SkillError("SKILL_BRANCHES", why, { ...detail }, { cause });
}
