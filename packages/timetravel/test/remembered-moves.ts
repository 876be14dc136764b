/** What a person would keep in mind of the moves that were made: what `undo` takes back next, and what `redo` makes again. */
import { type Scope, type Seq, within } from "@reyn/wal";

export interface Remembered {
	readonly seq: Seq;
	readonly scope: Scope;
	readonly drop?: readonly string[] | undefined;
	/** Of a move that is a label, its name. */
	readonly label?: string;
	/** The seq that it names. */
	readonly target?: Seq;
}

export class RememberedMoves {
	readonly past: Remembered[] = [];
	readonly future: Remembered[] = [];

	made(move: Remembered): void {
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
		if (move) to.push({ ...move, seq });
	}
}
