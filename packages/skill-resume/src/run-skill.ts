/** Runs a skill from wherever it stands: a fresh run and a resumed one take the same path. */
import { inspect } from "node:util";
import { laneClosed, type Model, runProgram, type Tool, type Using, whenSpace } from "@reyn/journal";
import { ProgramEnded } from "@reyn/journal/internal";
import type { Question } from "@reyn/journal/script";
import { entryAt } from "@reyn/snapshot";
import { type Draft, type Scope, systemTimers } from "@reyn/wal";
import { z } from "zod";
import type { SkillChildren } from "./children.ts";
import type { Skill } from "./define-skill.ts";
import { endsRun, SkillError } from "./errors.ts";
import { deathsIn, failureIn } from "./failed-starts.ts";
import { runModelPhase } from "./model-phase.ts";
import { notJson } from "./not-json.ts";
import { contextOf, type PhaseAt } from "./phase-context.ts";
import { phaseCompleted, phaseEntered, skillRunCompleted, skillRunStopped, skillRunWentOn } from "./records.ts";
import { analyze, laneOf, runLane } from "./resume-point.ts";
import type { SkillRun } from "./skill-runs.ts";
import { skillTools } from "./skill-tool.ts";
import { parseInput } from "./start-run.ts";

/** What a phase asks a person. */
export interface SkillQuestion extends Question {
	/** The lane of the call: once it is closed, nobody wants to know any more. */
	readonly lane: string;
}

export interface SkillPorts extends Using {
	readonly model: Model;
	/** What phases may call by name. Default: none. */
	readonly tools?: readonly Tool[];
	/** Puts a question of a phase to a person. Undefined: they leave it open, and the run stops with `CALL_WAITING`. Absent: `SKILL_CALL`. */
	readonly ask?: ((question: SkillQuestion) => Promise<string | undefined>) | undefined;
	/** The skills that phases may run as their children. Default: none. */
	readonly children?: SkillChildren | undefined;
	/** The run as the log knows it now. */
	run(): SkillRun;
	/** Delivers the run's output durably to where the user finds it. It may be called again after a crash, and must do nothing then. */
	deliver(output: unknown): Promise<void>;
	/** Called when a phase's outcome is durable, to write a checkpoint. */
	onBoundary(kind: "phase", title: string, scope: Scope): Promise<void>;
}

/**
 * Goes on until the run is over, and with it each call that a phase has left under way.
 *
 * @returns the output of the last phase
 * @throws the signal's reason when it is cancelled, and what a phase throws: the run is then kept, and can be run again, unless
 * `endsRun` says that it is over: record `skillRunDiscarded` with that reason. A run that has failed in the same place at three starts,
 * or whose process has died there at three with nothing new recorded, is paused; SkillError `SKILL_PAUSED` from then on, until
 * `skillRunResumed` is recorded
 */
export async function runSkill<Input>(
	id: string,
	skill: Skill<Input>,
	scope: Scope,
	ports: SkillPorts,
): Promise<unknown> {
	const dead = deathsIn(id, ports.run(), skill.start);
	if (dead) {
		const { durable } = await patiently(runLane(id), ports, () => ports.log.append(dead, scope));
		await durable;
	}
	const { status, why, parent } = ports.run();
	if (status === "paused")
		throw new SkillError("SKILL_PAUSED", `${id} is paused: ${why ?? "a rewind went back into it"}; resume it first`, {
			run: id,
		});
	const left: Promise<void>[] = [];
	// A child is begun by its call.
	const begun: Begun = { isDurable: parent !== undefined };
	try {
		return await runPhases(id, skill, scope, { ...ports, left: (over) => void left.push(over) }, begun);
	} catch (error) {
		const failed = failureIn(id, ports.run(), skill.start, error, ports.signal);
		if (failed.length > 0) {
			const write = () => failed.map((draft) => ports.log.append(draft, scope)).at(-1);
			await (await patiently(runLane(id), ports, write))?.durable;
		} else if (begun.isDurable && !endsRun(error)) stopInOrder(id, scope, ports);
		throw error;
	} finally {
		await Promise.all(left);
	}
}

/** Whether it is durable that this start has begun: if what it calls first is the last that its process does, the next one knows of it. */
interface Begun {
	isDurable: boolean;
}

/** Says that no death has ended this start, where no other record says so. */
function stopInOrder(id: string, scope: Scope, { run, log }: SkillPorts): void {
	if (run().begun === undefined) return;
	try {
		log.append(skillRunStopped({ run: id }), scope);
	} catch {
		// The log has failed, or was moved: then this start counts as one that died.
	}
}

async function runPhases<Input>(
	id: string,
	skill: Skill<Input>,
	scope: Scope,
	ports: SkillPorts,
	begun: Begun,
): Promise<unknown> {
	for (;;) {
		const run = ports.run();
		const at = analyze(run, skill.start);
		if (at.kind === "end") {
			const lane = runLane(id, run.parent);
			if (!begun.isDurable) await begin(lane, skillRunWentOn({ run: id }), scope, ports, begun);
			await ports.deliver(run.last?.output);
			// Both records or none: within one turn of the event loop the log does not become full.
			const { durable } = await patiently(lane, ports, () => {
				// Closes lanes below too, which a process left open that died between a phase's outcome and the end of its lane.
				ports.log.append(laneClosed({ lane }), scope);
				return ports.log.append(skillRunCompleted({ run: id }), scope);
			});
			await durable;
			return run.last?.output;
		}
		await runPhase(id, skill, at, run, scope, ports, begun);
	}
}

async function runPhase<Input>(
	id: string,
	skill: Skill<Input>,
	{ phase, visit, entered }: { phase: string; visit: number; entered: boolean },
	run: SkillRun,
	scope: Scope,
	ports: SkillPorts,
	begun: Begun,
): Promise<void> {
	const body = entryAt(skill.phases, phase);
	if (!body) throw transition(skill, `phase "${phase}"`);
	if (visit > skill.maxVisits)
		throw new SkillError(
			"SKILL_TRANSITION",
			`${named(skill)} would visit "${phase}" once more; it has been there ${visit - 1} times, and its limit is ${skill.maxVisits}`,
			placeIn(skill, { phase, visit }),
		);
	const path = laneOf(id, phase, visit, run.parent);
	if (!entered) await begin(path, phaseEntered({ run: id, phase, visit }), scope, ports, begun);
	else if (!begun.isDurable) await begin(path, skillRunWentOn({ run: id }), scope, ports, begun);

	const input = parseInput(skill, run.input);
	const before = run.last?.output;
	const over = new AbortController();
	const running = new Set<Promise<unknown>>();
	const at: PhaseAt = {
		...{ skill: skill.name, phase, visit, over: over.signal },
		tools: [...(ports.tools ?? []), ...(ports.children ? skillTools(ports.children) : [])],
		child: (child) => {
			running.add(child);
			return child;
		},
	};
	const result = await runProgram(path, scope, ports, async (lane) => {
		if (typeof body !== "function") return runModelPhase(lane, body, { input: run.input, before }, at, ports.model);
		try {
			return await body(contextOf(at, lane, ports), input, before);
		} finally {
			over.abort(new ProgramEnded(`phase "${phase}" is over`));
			await Promise.allSettled(running);
		}
	});

	const completed = phaseCompleted({ run: id, phase, visit, ...landing(skill, phase, result) });
	const { durable } = await patiently(path, ports, () => {
		ports.log.append(completed, scope);
		return ports.log.append(laneClosed({ lane: path }), scope);
	});
	await durable;
	await ports.onBoundary("phase", `${skill.name} ${phase}`, scope);
}

/** Records that a phase begins, or goes on. The first one of a start is durable before anything is called. */
async function begin(lane: string, draft: Draft, scope: Scope, ports: SkillPorts, begun: Begun): Promise<void> {
	const { durable } = await patiently(lane, ports, () => ports.log.append(draft, scope));
	if (begun.isDurable) return;
	await durable;
	begun.isDurable = true;
	// It may have been stopped meanwhile.
	ports.signal.throwIfAborted();
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

/** @param returned by code that somebody wrote: it may be anything */
function landing<Input>(skill: Skill<Input>, phase: string, returned: unknown): { output: unknown; next?: string } {
	const found = transitionSchema.safeParse(returned);
	if (!found.success)
		throw new SkillError(
			"SKILL_TRANSITION",
			`phase "${phase}" of ${named(skill)} returned ${cut(inspect(returned, SHORT))}; a phase returns next(phase, output) or done(output)`,
			placeIn(skill, { phase }),
		);
	const { data } = found;
	const { output } = data;
	const lack = notJson(output, "output");
	if (lack)
		throw new SkillError(
			"SKILL_NOT_JSON",
			`phase "${phase}" of ${named(skill)} gave what cannot be kept: ${lack.why}`,
			placeIn(skill, { phase, path: lack.path }),
		);
	if (data.kind === "done") return { output };
	if (!entryAt(skill.phases, data.phase)) throw transition(skill, `next phase "${data.phase}"`, { phase });
	return { output, next: data.phase };
}

const transitionSchema = z.discriminatedUnion("kind", [
	z.object({ kind: z.literal("next"), phase: z.string(), output: z.unknown() }),
	z.object({ kind: z.literal("done"), output: z.unknown() }),
]);

const SHORT = { breakLength: Number.POSITIVE_INFINITY, depth: 1, maxArrayLength: 3, maxStringLength: 60 };
const cut = (text: string): string => (text.length > 200 ? `${text.slice(0, 199).toWellFormed()}…` : text);

function transition<Input>(skill: Skill<Input>, what: string, at: object = {}): SkillError {
	return new SkillError(
		"SKILL_TRANSITION",
		`${named(skill)} has no ${what}; it has ${Object.keys(skill.phases).join(", ")}`,
		placeIn(skill, at),
	);
}

type Known = Pick<Skill<never>, "name" | "source">;

/** With the file that it lies in, if it lies in one. */
const named = ({ name, source }: Known): string => (source?.path === undefined ? name : `${name} (${source.path})`);

const placeIn = ({ name, source }: Known, at: object) => ({
	skill: name,
	...at,
	...(source?.path !== undefined && { file: source.path }),
});
