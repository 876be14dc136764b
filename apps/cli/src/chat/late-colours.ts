/** The colours of code come late: what is told while they are loaded waits for them, in order, and never long. */
import type { Highlight } from "./code.ts";

export class LateColours {
	/** Undefined until they are wanted and there; without them code is as it is. */
	highlight: Highlight | undefined;
	readonly #load: () => Promise<Highlight>;
	#loading: Promise<void> | undefined;
	#waiting: (() => void)[] | undefined;

	constructor(load: () => Promise<Highlight>) {
		this.#load = load;
	}

	/** Does it now, or once the colours are there that somebody wants. What is final is never drawn again. */
	tell(wants: boolean, act: () => void): void {
		if (wants && !this.#loading) {
			this.#waiting = [];
			this.#loading = this.#load().then(
				(highlight) => {
					this.highlight = highlight;
					this.flush();
				},
				// It is read without them.
				() => this.flush(),
			);
		}
		if (this.#waiting) this.#waiting.push(act);
		else act();
	}

	/** Whatever waits is done, with colours or without. */
	flush(): void {
		const waiting = this.#waiting ?? [];
		this.#waiting = undefined;
		for (const act of waiting) act();
	}
}
