/** What the chat needs of whoever sits before it: a screen, or lines. */
import type { BackgroundMessage, RuntimeEvent } from "@reyn/runtime";
import type { Line } from "../print.ts";
import type { Answer, List, Question } from "./dialogs.ts";
import type { Status } from "./state.ts";

export interface Input {
	readonly text: string;
	readonly isCommand: boolean;
}

/** What a face asks of the conversation behind it. */
export interface Behind {
	status(): Status;
	/** Stops the turn that runs. */
	interrupt(): Promise<unknown>;
}

export interface Face {
	/** What is sent, in order, until somebody leaves. Nothing is lost that is sent before it is asked for. */
	readonly inputs: AsyncIterable<Input>;
	/** Does somebody sit there who can answer? */
	readonly isAnswered: boolean;
	/** Is a question answered before the next line is read? Else it is answered while one types. */
	readonly isInTurn: boolean;
	/** What is there now can be shown. */
	begin(behind: Behind, lines: readonly Line[], isBusy: boolean): void;
	say(lines: readonly Line[]): void;
	show(event: RuntimeEvent): void;
	/** Resolves when it has been shown. */
	message(message: BackgroundMessage): Promise<void>;
	/** What was asked for has failed. */
	fail(error: Error, input: Input): void;
	/** The next line can be typed. */
	ready(): void;
	/** The row that was chosen; undefined: none. */
	pick(list: List): Promise<number | undefined>;
	/** The answer that was chosen; undefined is the first one. */
	ask(question: Question): Promise<Answer>;
	/**
	 * Asks when nothing is typed and nothing else is asked. Undefined: nobody can be asked so here, it was left, or the signal has
	 * withdrawn it.
	 */
	put(question: Question, signal: AbortSignal): Promise<Answer>;
	/** Puts a text into the line, to be sent again. */
	fill(text: string): void;
	/** Nothing is typed or drawn any more. */
	close(): void;
}
