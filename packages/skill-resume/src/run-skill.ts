/** Runs a skill from wherever it stands: a fresh run and a resumed one take the same path. */
import { laneClosed, type Model, runProgram, type Tool, type Using, whenSpace } from "@reyn/journal";
import { toJson } from "@reyn/journal/internal";
import { entryAt } from "@reyn/snapshot";
import { type Scope, systemTimers } from "@reyn/wal";
import type { Skill, Transition } from "./define-skill.ts";
import { SkillError } from "./errors.ts";
import { fit } from "./json-schema.ts";
import { runModelPhase } from "./model-phase.ts";
import { contextOf } from "./phase-context.ts";
import { phaseCompleted, phaseEntered, skillRunCompleted, skillRunStarted } from "./records.ts";
import { analyze, laneOf, runLane } from "./resume-point.ts";
import type { SkillRun } from "./skill-runs.ts";

export interface SkillPorts extends Using {
	readonly model: Model;
	/** What phases may call by name. Default: none. */
	readonly tools?: readonly Tool[];
	/** The run as the log knows it now. */
	run(): SkillRun;
	/** Delivers the run's output durably to where the user finds it. It may be called again after a crash, and must do nothing then. */
	deliver(output: unknown): Promise<void>;
	/** Called when a phase's outcome is durable, to write a checkpoint. */
	onBoundary(kind: "phase", title: string, scope: Scope): Promise<void>;
}

/**
 * Writes the start of a run.
 *
 * @param model the id of the model that it is begun with
 * @param parent the lane of the call that a child runs in: its own lanes lie below
 * @throws SkillError `SKILL_INVALID_INPUT` naming the field; nothing is written
 */
export async function startRun<Input>(
	id: string,
	skill: Skill<Input>,
	input: unknown,
	scope: Scope,
	log: Using["log"],
	model: string,
	parent?: string,
): Promise<void> {
	parseInput(skill, input);
	const { name, source } = skill;
	const more = { ...(source && { hash: source.hash }), ...(parent !== undefined && { parent }) };
	const started = { run: id, skill: name, input: asKept(input), model, ...more };
	await log.append(skillRunStarted(started), scope).durable;
}

/**
 * Goes on until the run is over, and with it each call that a phase has left under way.
 *
 * @returns the output of the last phase
 * @throws the signal's reason when it is cancelled, and what a phase throws: the run is then kept, and can be run again, unless
 * `endsRun` says that it is over: record `skillRunDiscarded` with that reason
 */
export async function runSkill<Input>(
	id: string,
	skill: Skill<Input>,
	scope: Scope,
	ports: SkillPorts,
): Promise<unknown> {
	const left: Promise<void>[] = [];
	try {
		return await runPhases(id, skill, scope, { ...ports, left: (over) => void left.push(over) });
	} finally {
		await Promise.all(left);
	}
}

async function runPhases<Input>(id: string, skill: Skill<Input>, scope: Scope, ports: SkillPorts): Promise<unknown> {
	for (;;) {
		const run = ports.run();
		const at = analyze(run, skill.start);
		if (at.kind === "end") {
			await ports.deliver(run.last?.output);
			const lane = runLane(id, run.parent);
			// Both records or none: within one turn of the event loop the log does not become full.
			const { durable } = await patiently(lane, ports, () => {
				// Closes lanes below too, which a process left open that died between a phase's outcome and the end of its lane.
				ports.log.append(laneClosed({ lane }), scope);
				return ports.log.append(skillRunCompleted({ run: id }), scope);
			});
			await durable;
			return run.last?.output;
		}
		await runPhase(id, skill, at, run, scope, ports);
	}
}

async function runPhase<Input>(
	id: string,
	skill: Skill<Input>,
	{ phase, visit, entered }: { phase: string; visit: number; entered: boolean },
	run: SkillRun,
	scope: Scope,
	ports: SkillPorts,
): Promise<void> {
	const body = entryAt(skill.phases, phase);
	if (!body) throw transition(skill, `phase "${phase}"`);
	if (visit > skill.maxVisits)
		throw new SkillError(
			"SKILL_TRANSITION",
			`${skill.name} would visit "${phase}" for the ${visit}th time; its limit is ${skill.maxVisits}`,
			{ phase, visit },
		);
	const path = laneOf(id, phase, visit, run.parent);
	if (!entered) await patiently(path, ports, () => ports.log.append(phaseEntered({ run: id, phase, visit }), scope));

	const input = parseInput(skill, run.input);
	const before = run.last?.output;
	const { model, tools = [] } = ports;
	const result = await runProgram(path, scope, ports, async (lane) =>
		typeof body === "function"
			? body(contextOf(skill.name, lane, visit, ports), input, before)
			: runModelPhase(lane, body, { input: run.input, before }, { model, tools }),
	);

	const completed = phaseCompleted({ run: id, phase, visit, ...landing(skill, result) });
	const { durable } = await patiently(path, ports, () => {
		ports.log.append(completed, scope);
		return ports.log.append(laneClosed({ lane: path }), scope);
	});
	await durable;
	await ports.onBoundary("phase", `${skill.name} ${phase}`, scope);
}

/** Writes, and waits while the disk is full. @throws the signal's reason, and other errors of `write` */
function patiently<T>(
	lane: string,
	{ observe, timers = systemTimers, signal }: SkillPorts,
	write: () => T,
): Promise<T> {
	const waiting = ({ code, message }: Error & { readonly code: string }): void =>
		observe?.({ type: "no_space", lane, kind: "phase", name: lane, code, reason: message });
	return whenSpace(write, waiting, timers, signal);
}

function landing<Input>(skill: Skill<Input>, result: Transition): { output: unknown; next?: string } {
	if (result.kind === "done") return { output: asKept(result.output) };
	if (!entryAt(skill.phases, result.phase)) throw transition(skill, `next phase "${result.phase}"`);
	return { output: asKept(result.output), next: result.phase };
}

/** As JSON has it, so that the first run goes on with what a resumed one will find. What JSON lacks is refused by the log. */
function asKept(value: unknown): unknown {
	try {
		const { json, binary } = toJson(value);
		return binary.length > 0 ? value : json;
	} catch {
		return value;
	}
}

function parseInput<Input>(skill: Skill<Input>, input: unknown): Input {
	const found = fit(skill.input, input);
	if (found.kind === "fits") return found.value;
	const { name } = skill;
	throw new SkillError("SKILL_INVALID_INPUT", `the input of ${name} does not fit: ${found.why}`, { skill: name });
}

function transition<Input>(skill: Skill<Input>, what: string): SkillError {
	return new SkillError(
		"SKILL_TRANSITION",
		`${skill.name} has no ${what}; it has ${Object.keys(skill.phases).join(", ")}`,
		{ skill: skill.name },
	);
}
