/** The last rows of the terminal, drawn by difference; what is shown above them is written once, and is the terminal's from then on. */
import { width } from "./text.ts";
import type { Frame } from "./view.ts";

/** The terminal draws what comes between these at once, or takes no notice of them. */
const [BEGIN, END] = ["\x1b[?2026h", "\x1b[?2026l"];
const REST_OF_ROW = "\x1b[K";
/** From a row on all is taken away. Not from the first cell: tmux keeps in its history what is taken away from the top of the window. */
const TO_END = `\r${REST_OF_ROW}\x1b[C\x1b[J\r`;

const up = (rows: number): string => (rows > 0 ? `\x1b[${rows}A` : "");
const down = (rows: number): string => (rows > 0 ? `\x1b[${rows}B` : "");
const toColumn = (column: number): string => `\x1b[${column + 1}G`;

/** Told when a drawing has left the process, or has failed to. */
export type Written = (error?: Error | null) => void;

type Write = (text: string, written?: Written) => void;

export class Screen {
	readonly #write: Write;
	/** What is drawn, and in which of its rows the cursor is. */
	#rows: readonly string[] = [];
	#row = 0;
	#column = 0;
	#columns = 0;
	/** What will stand above. */
	#waiting: string[] = [];

	constructor(write: Write) {
		this.#write = write;
	}

	/** Shown with the next drawing, above all that is drawn. */
	show(rows: readonly string[]): void {
		this.#waiting.push(...rows);
	}

	/** @param columns of the window, which may have changed */
	draw(frame: Frame, columns: number, written?: Written): void {
		const isOther = columns !== this.#columns;
		const text =
			isOther || this.#waiting.length > 0 || this.#rows.length === 0
				? this.#toTop(columns) + this.#taken() + frame.rows.join("\r\n") + up(frame.rows.length - 1 - frame.row)
				: this.#difference(frame);
		const isMoved = text !== "" || frame.row !== this.#row || frame.column !== this.#column;
		this.#rows = frame.rows;
		this.#row = frame.row;
		this.#column = frame.column;
		this.#columns = columns;
		if (isMoved) this.#write(BEGIN + text + toColumn(frame.column) + END, written);
		else written?.();
	}

	/** Takes away what is drawn: what is shown stays, and the cursor stands below it. */
	end(columns: number): void {
		if (this.#rows.length === 0 && this.#waiting.length === 0) return;
		this.#write(this.#toTop(columns) + this.#taken());
		this.#rows = [];
		this.#row = 0;
	}

	/** Somebody else has written: all of it is drawn anew, from where the cursor is. */
	forget(): void {
		this.#rows = [];
		this.#row = 0;
	}

	#taken(): string {
		const text = this.#waiting.map((row) => `${row}\r\n`).join("");
		this.#waiting = [];
		return text;
	}

	/**
	 * In a narrower window the rows above the cursor are more. Its own is not counted: some terminals wrap it, others do not, and a row too
	 * many that is left is better than one of the user's that is gone.
	 */
	#toTop(columns: number): string {
		const above = this.#rows.slice(0, this.#row);
		const rows = above.reduce((sum, row) => sum + Math.max(1, Math.ceil(width(row) / columns)), 0);
		return up(rows) + TO_END;
	}

	#difference({ rows, row }: Frame): string {
		let text = "";
		let at = this.#row;
		const go = (to: number): void => {
			text += to < at ? up(at - to) : down(to - at);
			at = to;
		};
		for (const [index, next] of rows.entries()) {
			if (next === this.#rows[index]) continue;
			if (index < this.#rows.length) {
				go(index);
				text += "\r";
			} else {
				// A row that is not there yet: only a line end makes room for it.
				go(index - 1);
				text += "\r\n";
				at = index;
			}
			text += next + REST_OF_ROW;
		}
		if (rows.length < this.#rows.length) {
			go(rows.length);
			text += TO_END;
		}
		go(row);
		return text;
	}
}
