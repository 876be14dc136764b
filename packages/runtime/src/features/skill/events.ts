/** The events of skill runs. */
import type { StepEvent } from "@reyn/journal";
import type { Scope } from "@reyn/wal";
import type { ParentStep } from "./pieces.ts";

/** What comes of a skill run. */
export type SkillEvent = SkillEnd | SkillResumed;

/**
 * What became of the steps of a phase that a run has gone on in: told once the phase is over, or the run stops. Finished phases have
 * none, since they are not run again.
 */
export interface SkillResumed {
	readonly type: "skill_resumed";
	readonly scope: Scope;
	readonly run: string;
	readonly skill: string;
	readonly phase: string;
	/** How many steps were given their recorded results. */
	readonly replayed: number;
	/** The names of steps that have asked the world again, and of those whose answer has moved. */
	readonly again: readonly string[];
	readonly moved: readonly string[];
	/** The steps that were in doubt, and what was decided of each. */
	readonly inDoubt: readonly { readonly name: string; readonly decision: InDoubtDecision }[];
	/** The step of a plan that it is a child of. Absent: it is none. */
	readonly parent?: ParentStep;
}

export type InDoubtDecision = Extract<StepEvent, { type: "in_doubt" }>["decision"];

/** The end of a skill run. */
export interface SkillEnd {
	readonly type: "skill_end";
	readonly scope: Scope;
	readonly run: string;
	/** `paused`: it has failed, or its process died, too often, and waits for a person. */
	readonly outcome: "completed" | "stopped" | "paused" | "discarded";
	readonly reason?: string;
	/** The step of a plan that it is a child of, which goes on. Absent: it is none. */
	readonly parent?: ParentStep;
}
