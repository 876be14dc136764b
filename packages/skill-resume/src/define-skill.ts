/** What a skill is: its phases, what a phase may do, and where it may go next. */
import type { ModelReply, ModelRequest, Purity, Step, StepContext } from "@reyn/journal";
import type { AgentOptions, AskOptions, BranchesFailed, JsonSchema } from "@reyn/journal/script";
import type { StandardSchemaV1 } from "@reyn/wal";
import { asSkill } from "./definition.ts";

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
	/** Where its text lies, as `findSkills` of `@reyn/skill-resume/files` says. Absent: a program has defined it. */
	readonly source?: SkillSource;
}

export interface SkillSource {
	/** The path of its file, or the name of its package. */
	readonly path: string;
	/** SHA-256 of its text, hex, with the files that it imports beside it or below; of a package, of its first file alone. */
	readonly hash: string;
}

/** A skill, whatever its input is: it is checked by the skill's own schema where it comes in. */
export interface AnySkill extends Omit<Skill<never>, "input"> {
	readonly input: StandardSchemaV1;
}

/** A phase is a function, or is worked by a model. */
export type Phase<Input> = FunctionPhase<Input> | ModelPhase;

/** `input` is the input of the run; `before` is the output of the phase before (undefined in the first phase). */
export type FunctionPhase<Input> = (context: PhaseContext, input: Input, before: unknown) => Promise<Transition>;

/** A phase in which a model works with tools until it answers. It is shown the input of the run, and what the phase before gave. */
export interface ModelPhase {
	/** What the model has to do: its system prompt. */
	readonly instructions: string;
	/** The names of the tools that it may call. Default: none. */
	readonly tools?: readonly string[];
	/**
	 * What its answer has to fit, as JSON; one that does not may be mended once. A schema that can say so as JSON Schema is shown to the
	 * model. Default: any text.
	 */
	readonly output?: StandardSchemaV1;
	/** Where it may go from here, by names of phases; `done` is the end. Among several the model chooses. Default: `done`. */
	readonly next?: string | readonly string[];
	/** How often the model may be asked. Default: 12. */
	readonly maxRounds?: number;
}

/** What follows a phase: another phase, or the end. The output has to be JSON (`SKILL_NOT_JSON`); fields that are `undefined` are left out. */
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
	/** Lets an agent answer with JSON that fits the schema. */
	agent<T = unknown>(prompt: string, options: AgentOptions & { readonly schema: JsonSchema }): Promise<T>;
	/** Lets an agent work on the prompt until it answers with text. */
	agent(prompt: string, options?: AgentOptions): Promise<string>;
	/** Asks a person, once: their answer is recorded before it is told, and recalled from then on. @throws SkillError `SKILL_CALL` */
	ask(question: string, options?: AskOptions): Promise<string>;
	/**
	 * Runs another skill as a child of this call: it goes on wherever the process was killed, and ends with this phase.
	 *
	 * @param input JSON
	 * @returns its output
	 * @throws SkillError `SKILL_CHILD` where it fails or ends itself; `SKILL_UNKNOWN`, `SKILL_INVALID_INPUT`, `SKILL_CALL`
	 */
	skill(name: string, input?: unknown): Promise<unknown>;
	/** Calls one tool. @param args a JSON object */
	tool(name: string, args?: Readonly<Record<string, unknown>>): Promise<string>;
	/**
	 * Starts all tasks and waits until each is over. The results are in the order of the tasks.
	 *
	 * @throws SkillError `SKILL_BRANCHES` with a {@link BranchesFailed} as `detail` where any failed
	 */
	parallel<T>(tasks: readonly (() => T | Promise<T>)[]): Promise<Awaited<T>[]>;
	/** From 0, below 1; the same at the same place of a later try. */
	random(): number;
	/** In the form of a version 4 UUID; the same at the same place of a later try. */
	uuid(): string;
	/** Milliseconds since 1970. */
	now(): Promise<number>;
	/** After a crash only the rest is slept. @param ms milliseconds, from 0 */
	sleep(ms: number): Promise<void>;
	/** Ends the run for good, and says why: it is not gone on with. @throws SkillError `SKILL_ABORTED` */
	abort(reason: string): never;
}

export type StepOptions<T> = Pick<Step<T>, "empty" | "purity" | "reconcile" | "retry" | "timeoutMs" | "usage"> & {
	readonly args?: unknown;
};

/**
 * Defines a skill; the types of its input follow from the schema.
 *
 * @throws SkillError `SKILL_GRAPH` for what is no skill, naming the field; for phases that lead nowhere, that nothing leads to, or that
 * have no way to the end
 */
export function defineSkill<Input>(
	spec: Omit<Skill<Input>, "maxVisits" | "purity"> & Partial<Pick<Skill<Input>, "maxVisits" | "purity">>,
): Skill<Input> {
	const { maxVisits, purity } = asSkill(spec, "SKILL_GRAPH", "what is defined is no skill");
	return { ...spec, maxVisits, purity };
}
