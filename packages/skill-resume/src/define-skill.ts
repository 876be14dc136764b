import type { ModelReply, ModelRequest, Step, StepContext } from "@reyn/journal";
import type { StandardSchemaV1 } from "@reyn/wal";

/** A piece of work in phases: each runs once per visit, and what it gives goes to the next. */
export interface Skill<Input = unknown> {
	readonly name: string;
	readonly description: string;
	readonly input: StandardSchemaV1<unknown, Input>;
	/** The phase to begin with. */
	readonly start: string;
	readonly phases: Readonly<Record<string, Phase<Input>>>;
	/** How often one phase may be visited in a run. */
	readonly maxVisits: number;
}

/** `input` is what the run was started with, `before` what the phase before gave (undefined in the first one). */
export type Phase<Input> = (context: PhaseContext, input: Input, before: unknown) => Promise<Transition>;

/** Where to go from a phase, and with what; the output has to be JSON. */
export type Transition =
	| { readonly kind: "next"; readonly phase: string; readonly output: unknown }
	| { readonly kind: "done"; readonly output: unknown };

export const next = (phase: string, output: unknown): Transition => ({ kind: "next", phase, output });
export const done = (output: unknown): Transition => ({ kind: "done", output });

/** What a phase may do; all of it is recalled when the process died in between. */
export interface PhaseContext {
	/** 1 on the first visit of this phase. */
	readonly visit: number;
	readonly signal: AbortSignal;
	/** Makes a call once. `args` tell equal calls apart from unequal ones after an edit of the skill. */
	step<T>(name: string, call: (context: StepContext) => Promise<T>, options: StepOptions<T>): Promise<T>;
	/** Asks the model once. */
	model(request: ModelRequest): Promise<ModelReply>;
}

export type StepOptions<T> = Pick<Step<T>, "empty" | "purity" | "reconcile" | "retry" | "timeoutMs" | "usage"> & {
	readonly args?: unknown;
};

/** Defines a skill; the types of its input follow from the schema. */
export function defineSkill<Input>(
	spec: Omit<Skill<Input>, "maxVisits"> & { readonly maxVisits?: number },
): Skill<Input> {
	return { maxVisits: 10, ...spec };
}
