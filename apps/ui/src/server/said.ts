/** What a model has said of an answer that is not whole yet, of turns that this process works on: a page shows it as it comes. */
import type { RuntimeEvent } from "@reyn/runtime";
import type { Seq } from "@reyn/wal";

/** A piece of the answer of a turn. `from`: how many characters come before it. */
export interface Piece {
	readonly turn: Seq;
	readonly from: number;
	readonly text: string;
}

/** One try at an answer. */
interface Answer {
	text: string;
	round: number;
}

/** How much a page was told of each turn. */
export type Told = Map<Seq, { readonly answer: Answer; readonly length: number }>;

export class Said {
	readonly #answers = new Map<Seq, Answer>();
	readonly #listeners = new Set<() => void>();

	/** @param event of a runtime of this process */
	take(event: RuntimeEvent): void {
		if (event.type === "text") {
			const { round, delta } = event;
			const answer = this.#answers.get(event.turn) ?? { text: "", round };
			if (answer.round !== round && answer.text !== "") answer.text += "\n\n";
			answer.round = round;
			answer.text += delta;
			this.#answers.set(event.turn, answer);
		} else if (event.type === "turn_end") this.#answers.delete(event.turn);
		// What was asked again is said anew.
		else if (event.type === "model_retry") this.#answers.clear();
		else return;
		for (const listener of this.#listeners) listener();
	}

	/** @returns ends it */
	listen(listener: () => void): () => void {
		this.#listeners.add(listener);
		return () => void this.#listeners.delete(listener);
	}

	/** What has to be told to a page that was told so much of each turn before; notes that it is. */
	since(told: Told): readonly Piece[] {
		for (const turn of told.keys()) if (!this.#answers.has(turn)) told.delete(turn);
		return [...this.#answers].flatMap(([turn, answer]) => {
			const before = told.get(turn);
			const from = before?.answer === answer ? before.length : 0;
			const { text } = answer;
			told.set(turn, { answer, length: text.length });
			return from === text.length ? [] : [{ turn, from, text: text.slice(from) }];
		});
	}
}
