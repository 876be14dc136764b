/** Runs skills as children of calls: one child a call, wherever its process is killed, and none is left over. */
import { JournalError, laneClosed } from "@reyn/journal";
import { endedForNow, isBeneath, reasonOf } from "@reyn/journal/internal";
import { type Appender, isReynError, type Scope, type Seq } from "@reyn/wal";
import type { Skill } from "./define-skill.ts";
import { SkillError } from "./errors.ts";
import type { FoundSkills } from "./found-skills.ts";
import { type ChildPurity, decideChild } from "./policy.ts";
import { skillRunDiscarded } from "./records.ts";
import { runLane } from "./resume-point.ts";
import {
	childId,
	childrenBelow,
	childrenOfCall,
	isLive,
	runsAround,
	type SkillRun,
	type SkillRuns,
	skillRunIn,
} from "./skill-runs.ts";
import { startRun } from "./start-run.ts";

/** How many runs may be around a call that starts another one. */
const MOST_AROUND = 8;

/** A call of a skill: where it is recorded, and what names it for ever. */
export interface ChildCall {
	/** The lane inside the call. */
	readonly lane: string;
	/** The seq of its first start. */
	readonly started: Seq;
	readonly signal: AbortSignal;
}

/** How a child has ended. */
export type ChildEnd =
	| { readonly kind: "done"; readonly output: unknown }
	| { readonly kind: "failed"; readonly reason: string };

/** The skills that calls may run. */
export interface SkillChildren {
	readonly found: FoundSkills;
	/**
	 * Runs the child of a call to its end: one that is open goes on.
	 *
	 * @throws what leaves it open; SkillError `SKILL_INVALID_INPUT`, `SKILL_CALL`: nothing is begun
	 */
	run(skill: Skill, input: unknown, call: ChildCall): Promise<ChildEnd>;
	/** How the child of a call has ended; undefined: it has not, or another try is to have another one. @param started as in {@link ChildCall} */
	endOf(started: Seq): ChildEnd | undefined;
}

export interface ChildPorts {
	readonly found: FoundSkills;
	readonly log: Appender;
	/** Where the records of a child lie: with those of the work around its call. */
	scope(lane: string): Scope;
	/** All runs as the log knows them now. */
	runs(): SkillRuns;
	/** The id of the model that a child is begun with. */
	readonly model: string;
	readonly childPurity: ChildPurity;
	/** The children that this process has begun, or has gone on with: one set, as long as the log is open. */
	readonly own: Set<string>;
	/** Writes, and waits while the disk is full. */
	keep<T>(name: string, write: () => T | Promise<T>, signal: AbortSignal): Promise<T>;
	/** Goes on with a child to its end. @returns its output. @throws what a phase throws */
	run(id: string, scope: Scope, signal: AbortSignal): Promise<unknown>;
}

export function skillChildren(ports: ChildPorts): SkillChildren {
	const endOf = (started: Seq): ChildEnd | undefined => endIn(childrenOfCall(ports.runs(), started).at(-1)?.[1]);
	return {
		found: ports.found,
		endOf,
		async run(skill, input, call) {
			const { lane, started, signal } = call;
			const id = await ports.keep(`skill ${skill.name}`, () => begin(ports, skill, input, call), signal);
			try {
				return { kind: "done", output: await ports.run(id, ports.scope(lane), signal) };
			} catch (error) {
				// It was cut, or waits for somebody, and goes on with its call.
				const isLeft = signal.aborted || (isBeneath(error) && !isReynError(error, "STEP_DISCARDED"));
				if (isLeft) throw error;
				const { message } = reasonOf(error);
				// It has come to nothing yet: whoever goes on with the call goes on with it.
				if (endedForNow(error)) {
					const why = `${skill.name} has stopped for now, and is kept as it is: ${message}`;
					throw new JournalError("CALL_HELD", why, { run: id, skill: skill.name }, { cause: error });
				}
				const run = skillRunIn(ports.runs(), id) as SkillRun;
				if (isLive(run)) await ports.keep(`skill run ${id}`, () => end(ports, id, run, message), signal);
				return endOf(started) ?? { kind: "failed", reason: message };
			}
		},
	};
}

/** Ends the open children of calls in a lane and below, since what is around them has ended. */
export function endChildrenBelow(
	ports: Pick<ChildPorts, "log" | "scope" | "runs">,
	lane: string,
	reason: string,
): void {
	for (const [id] of childrenBelow(ports.runs(), lane)) {
		const run = skillRunIn(ports.runs(), id);
		if (run && isLive(run)) void end(ports, id, run, reason, { by: "parent" });
	}
}

/** The child to go on with: the open one of the call, or another. */
async function begin(ports: ChildPorts, skill: Skill, input: unknown, { lane, started }: ChildCall): Promise<string> {
	const before = childrenOfCall(ports.runs(), started);
	const [open, run] = before.at(-1) ?? [];
	if (open !== undefined && run && isLive(run)) {
		if (ports.own.has(open) || decideChild(skill, ports.childPurity) === "adopt") {
			ports.own.add(open);
			return open;
		}
		const why = `its process ended, and child_purity says cancel for ${skill.purity}`;
		void end(ports, open, run, why, { by: "parent" });
	}
	assertDepth(ports.runs(), skill, lane);
	const id = nextId(ports.runs(), started);
	ports.own.add(id);
	await startRun(id, skill, input, ports.scope(lane), ports.log, ports.model, lane);
	return id;
}

function nextId(runs: SkillRuns, started: Seq): string {
	for (let times = 1; ; times++) if (!skillRunIn(runs, childId(started, times))) return childId(started, times);
}

function assertDepth(runs: SkillRuns, { name }: Skill, lane: string): void {
	const around = runsAround(runs, lane).map((id) => skillRunIn(runs, id)?.skill ?? id);
	if (around.length < MOST_AROUND) return;
	throw new SkillError(
		"SKILL_CALL",
		`${name} would run below ${around.length} runs, which is the limit: ${[...around, name].join(" > ")}; let one of them end before`,
		{ skill: name, around },
	);
}

/** Undefined: it is open, was ended by what is around it, or its failure was told, and who asks again wants another try. */
function endIn(run: SkillRun | undefined): ChildEnd | undefined {
	if (run?.status === "completed") return { kind: "done", output: run.last?.output };
	if (run?.status !== "discarded" || run.ended?.by === "parent" || run.ended?.told) return undefined;
	return { kind: "failed", reason: `${run.skill} has failed: ${run.ended?.reason ?? "it was discarded"}` };
}

/** Ends a child by its records, and with it what it has left in its lane. */
function end(
	{ log, scope }: Pick<ChildPorts, "log" | "scope">,
	run: string,
	{ parent = "" }: SkillRun,
	reason: string,
	who: { readonly by?: "parent" } = {},
): Promise<void> {
	const at = scope(parent);
	log.append(skillRunDiscarded({ run, reason, ...who }), at);
	return log.append(laneClosed({ lane: runLane(run, parent) }), at).durable;
}
