/** What a skill is: its phases, what a phase may do, and where it may go next. */
import type { ModelReply, ModelRequest, Purity, Step, StepContext } from "@reyn/journal";
import type { StandardSchemaV1 } from "@reyn/wal";

/** A piece of work in phases. Each phase runs once per visit, and its output goes to the next one. */
export interface Skill<Input = unknown> {
	readonly name: string;
	readonly description: string;
	readonly input: StandardSchemaV1<unknown, Input>;
	/** The phase to begin with. */
	readonly start: string;
	readonly phases: Readonly<Record<string, Phase<Input>>>;
	/** How often one phase may be visited in a run. */
	readonly maxVisits: number;
	/** What a whole run does to the world: it decides what becomes of one that is a child, and whose process ended. */
	readonly purity: Purity;
}

/** A phase. `input` is the input of the run; `before` is the output of the phase before (undefined in the first phase). */
export type Phase<Input> = (context: PhaseContext, input: Input, before: unknown) => Promise<Transition>;

/** What follows a phase: another phase, or the end. The output has to be JSON. */
export type Transition =
	| { readonly kind: "next"; readonly phase: string; readonly output: unknown }
	| { readonly kind: "done"; readonly output: unknown };

export const next = (phase: string, output: unknown): Transition => ({ kind: "next", phase, output });
export const done = (output: unknown): Transition => ({ kind: "done", output });

/** The durable calls of a phase: after a crash, those that were recorded are recalled. */
export interface PhaseContext {
	/** 1 on the first visit of this phase. */
	readonly visit: number;
	readonly signal: AbortSignal;
	/** Makes a call once. `args` identify the call: after an edit of the skill, a call with other arguments is a new one. */
	step<T>(name: string, call: (context: StepContext) => Promise<T>, options: StepOptions<T>): Promise<T>;
	/** Asks the model once. */
	model(request: ModelRequest): Promise<ModelReply>;
}

export type StepOptions<T> = Pick<Step<T>, "empty" | "purity" | "reconcile" | "retry" | "timeoutMs" | "usage"> & {
	readonly args?: unknown;
};

/** Defines a skill; the types of its input follow from the schema. */
export function defineSkill<Input>(
	spec: Omit<Skill<Input>, "maxVisits" | "purity"> & Partial<Pick<Skill<Input>, "maxVisits" | "purity">>,
): Skill<Input> {
	return { maxVisits: 10, purity: "side_effect", ...spec };
}
