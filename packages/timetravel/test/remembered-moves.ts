/** What a person would keep in mind of the moves that were made: what `undo` takes back next, and what `redo` makes again. */
import { type Scope, type Seq, within } from "@reyn/wal";

export interface Remembered {
	readonly seq: Seq;
	readonly scope: Scope;
	readonly drop?: readonly string[] | undefined;
	/** Of a move that is a label, its name. */
	readonly label?: string;
	/** The seqs that the name had before it, and has after it; undefined: none. */
	readonly from?: Seq | undefined;
	readonly to?: Seq | undefined;
}

export class RememberedMoves {
	readonly past: Remembered[] = [];
	readonly future: Remembered[] = [];
	readonly labels = new Map<string, Seq>();

	made(move: Remembered): void {
		this.#name(move, move.to);
		this.past.push(move);
		this.future.length = 0;
	}

	/** A person began a turn with a record of this scope and kind. */
	began(scope: Scope, kind: string): void {
		const covered = ({ scope: moved, drop, label }: Remembered) =>
			label === undefined && within(scope, moved) && (!drop || drop.includes(kind));
		if (this.future.some(covered)) this.future.length = 0;
	}

	/** What would be taken back, or made again. */
	next(verb: "undo" | "redo"): Remembered | undefined {
		return (verb === "undo" ? this.past : this.future).at(-1);
	}

	/** It was, by the record at `seq`. */
	stepped(verb: "undo" | "redo", seq: Seq): void {
		const [from, to] = verb === "undo" ? [this.past, this.future] : [this.future, this.past];
		const move = from.pop();
		if (!move) return;
		this.#name(move, verb === "undo" ? move.from : move.to);
		to.push({ ...move, seq });
	}

	#name({ label }: Remembered, seq: Seq | undefined): void {
		if (label !== undefined && seq !== undefined) this.labels.set(label, seq);
		else if (label !== undefined) this.labels.delete(label);
	}
}
