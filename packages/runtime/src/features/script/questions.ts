/** What script runs ask people: the questions that are open, and who answers them. */
import { journal } from "@reyn/journal";
import { entriesOf, lanesOf, scriptLane } from "@reyn/journal/internal";
import { type Question, scriptRuns } from "@reyn/journal/script";
import type { View } from "@reyn/snapshot";
import type { Seq } from "@reyn/wal";
import { RuntimeError } from "../../kernel/errors.ts";

/** A question that a run asks a person, and that has no answer yet. */
export interface ScriptQuestion extends Pick<Question, "seq" | "question"> {
	/** One of these is an answer. Absent: any text is. */
	readonly choices?: readonly string[];
}

/** An answer to one question. */
export interface AnswerTo {
	readonly seq: Seq;
	readonly text: string;
}

/** The questions of a run that have no answer yet, in the order of asking. */
export function questionsIn(view: View, run: string): readonly ScriptQuestion[] {
	const state = view.get(journal);
	const lanes = lanesOf(state).filter((lane) => `${lane}/`.startsWith(`${scriptLane(run)}/`));
	return lanes
		.flatMap((lane) => entriesOf(state, lane))
		.flatMap(({ name, label = "", started, prepared, outcome }) => {
			if (name !== "ask" || outcome || started === undefined) return [];
			const { choices } = (prepared ?? {}) as Pick<ScriptQuestion, "choices">;
			return { seq: started, question: label, ...(choices && { choices }) };
		})
		.sort((a, b) => a.seq - b.seq);
}

/** What is over asks nothing. */
export const openQuestionsIn = (view: View, run: string): readonly ScriptQuestion[] =>
	view.get(scriptRuns)[run]?.status === "open" ? questionsIn(view, run) : [];

/**
 * The question that an answer is for.
 *
 * @param to its seq. Default: that of the first one
 * @throws RuntimeError `RUNTIME_ANSWER` where the run does not ask it, or has choices and this is none
 */
export function questionFor(open: readonly ScriptQuestion[], run: string, text: string, to?: Seq): ScriptQuestion {
	const found = to === undefined ? open[0] : open.find(({ seq }) => seq === to);
	const asked = open.map(({ seq, question }) => `#${seq} ${JSON.stringify(question)}`).join(", ") || "nothing";
	const refused = (why: string): RuntimeError =>
		new RuntimeError("RUNTIME_ANSWER", `${why}; nothing was answered`, {
			run,
			to,
			open: open.map(({ seq }) => seq),
		});
	if (!found)
		throw refused(
			`the script run ${run} does not ask ${to === undefined ? "anything" : `#${to}`} now; it asks ${asked}`,
		);
	const { seq, choices } = found;
	if (choices && !choices.includes(text))
		throw refused(
			`#${seq} of ${run} takes one of ${choices.map((each) => JSON.stringify(each)).join(", ")}; found ${JSON.stringify(text)}`,
		);
	return found;
}

/** Questions of a run that this process runs: the person here may answer them, and so may another process. Who is first is heard. */
export class LiveQuestions {
	readonly #open = new Map<Seq, (text: string) => void>();
	/** Answers that came before their questions were asked again. */
	readonly #early = new Map<Seq, string>();
	readonly #awaited = new Map<Seq, (isTaken: boolean | Promise<boolean>) => void>();

	/** @param person undefined when nobody is here, or they leave it open: the run waits then */
	async ask(
		question: Question,
		person: ((question: Question) => Promise<string | undefined>) | undefined,
	): Promise<string | undefined> {
		const { seq } = question;
		const early = this.#early.get(seq);
		if (early !== undefined) return early;
		const elsewhere = Promise.withResolvers<string>();
		const withdrawn = new AbortController();
		this.#open.set(seq, elsewhere.resolve);
		try {
			const signal = AbortSignal.any([question.signal, withdrawn.signal]);
			return await Promise.race([elsewhere.promise, person?.({ ...question, signal })]);
		} finally {
			this.#open.delete(seq);
			withdrawn.abort();
		}
	}

	/**
	 * Takes an answer from elsewhere.
	 *
	 * @param isAsked false: the question comes later
	 * @returns resolves with true once it is durable, with false where the run ends without it; undefined: nobody is asked that now
	 */
	give({ seq, text }: AnswerTo, isAsked: boolean): Promise<boolean> | undefined {
		const give = isAsked ? this.#open.get(seq) : (early: string) => void this.#early.set(seq, early);
		if (!give) return undefined;
		// Who comes second is not heard.
		this.#open.delete(seq);
		const { promise, resolve } = Promise.withResolvers<boolean>();
		this.#awaited.set(seq, resolve);
		give(text);
		return promise;
	}

	/** @param durable of the newest record @param open what is still open behind it */
	recorded(durable: Promise<void>, open: () => readonly ScriptQuestion[]): void {
		if (this.#awaited.size === 0) return;
		const left = new Set(open().map(({ seq }) => seq));
		for (const [seq, resolve] of this.#awaited) {
			if (left.has(seq)) continue;
			this.#awaited.delete(seq);
			resolve(durable.then(() => true));
		}
	}

	/** The run is over. */
	end(): void {
		for (const resolve of this.#awaited.values()) resolve(false);
		this.#awaited.clear();
	}
}
