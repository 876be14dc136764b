/** What is searched of the rows of a list, in small letters: made in slices while nobody types, and the rest of it when somebody searches. */

/** As many at a time: a key that comes meanwhile does not wait for long. */
const A_SLICE = 2000;

interface Rows {
	readonly count: number;
	text(index: number): string;
}

export class Labels {
	readonly #rows: Rows;
	readonly #made: string[] = [];

	constructor(rows: Rows) {
		this.#rows = rows;
	}

	at(index: number): string {
		this.#makeTo(index + 1);
		return this.#made[index] ?? "";
	}

	/** A slice more. Is there more to make? */
	prepare(): boolean {
		this.#makeTo(Math.min(this.#rows.count, this.#made.length + A_SLICE));
		return this.#made.length < this.#rows.count;
	}

	#makeTo(count: number): void {
		for (let at = this.#made.length; at < count; at++) this.#made.push(this.#rows.text(at).toLowerCase());
	}
}

/** Makes all of them, as long as they are wanted. @param later when nothing else is to be done */
export function prepareWhileIdle(labels: Labels, isWanted: () => boolean, later: (act: () => void) => unknown): void {
	later(() => {
		if (isWanted() && labels.prepare()) prepareWhileIdle(labels, isWanted, later);
	});
}
