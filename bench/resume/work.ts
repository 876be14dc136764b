/** What every contender does: the same line of steps, each of which is recorded before the next one begins. */

/** What the work is started with, and given again when a later process goes on with it. */
export interface Input {
	readonly steps: number;
	/** Whether it ends after its steps; else it waits for ever, as what is under way when its process ends. */
	readonly ends: boolean;
}

/** Gives the answer that is recorded for a step; or calls, and records the answer. */
export type Step = (index: number) => Promise<string>;

/** The work from its beginning: it runs so at the start, and again after its process has ended. */
export type Work = (input: Input, step: Step) => Promise<void>;

export interface Runner {
	/** Begins the work under a name. Resolves when it ends. */
	start(name: string, input: Input): Promise<void>;
	/** Goes on with what a process that has ended began. Resolves when it ends. */
	resume(name: string, input: Input): Promise<void>;
}

/**
 * @param at a directory, or the address of a database; made when it is missing
 * @param call what a step stands for: of a model, or of an effect
 */
export type Open = (at: string, work: Work, call: Step) => Promise<Runner>;

const ANSWER_BYTES = 1024;
const TEXT = "It reads the log from its first line, checks each against its sum, and goes on where it stopped. ".repeat(
	11,
);

export const promptOf = (index: number): string => `What comes after step ${index}?`;
export const answerOf = (index: number): string => `${index}: ${TEXT}`.slice(0, ANSWER_BYTES);
