/** What is pasted into a terminal: one piece of the line that is being typed, whatever it holds, and sent with it. */
import { Transform } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { stripVTControlCharacters } from "node:util";
import { clean } from "@reyn/operator/text";

/** Tells the terminal to put its marks around what is pasted; else that looks like lines that are typed. */
const MODE = { on: "\x1b[?2004h", off: "\x1b[?2004l" } as const;
export type PasteMode = (typeof MODE)[keyof typeof MODE];
const START = "\x1b[200~";
const END = "\x1b[201~";

/** A longer line is not edited letter by letter. */
const MAX_LINE = 1000;

/** Lifts pastes out of what a terminal sends. In the line there is `[paste 1: 300 lines]` instead. */
export class Pastes {
	readonly #kept = new Map<string, string>();
	/** What was passed on last, if it may be the beginning of a mark. */
	#tail = "";
	/** What has come of the paste that is under way. */
	#paste: string | undefined;

	/** What the line is to be given of a read, wherever the terminal has cut it. */
	read(text: string): string {
		if (this.#paste === undefined) return this.#typed(text);
		// The end of the paste was lost, or nothing would be heard any more.
		if (text === "\x03") {
			this.#paste = undefined;
			return text;
		}
		return this.#pasted(text, this.#paste);
	}

	/** A line with what was pasted where it says so. */
	expand(line: string): string {
		return line.replace(/\[paste \d+: \d+ \w+\]/g, (name) => this.#kept.get(name) ?? name);
	}

	/** Nothing is held back, as an Esc would be: a line takes a mark for no key that it knows. */
	#typed(text: string): string {
		const seen = this.#tail + text;
		const at = seen.indexOf(START);
		if (at < 0) {
			this.#tail = beginningOf(START, seen);
			return text;
		}
		const passed = this.#tail.length;
		this.#tail = "";
		const end = at + START.length;
		return seen.slice(passed, end) + this.#pasted(seen.slice(end), "");
	}

	#pasted(text: string, before: string): string {
		const seen = before + text;
		const at = seen.indexOf(END, Math.max(0, before.length - END.length));
		if (at < 0) {
			this.#paste = seen;
			return "";
		}
		this.#paste = undefined;
		return this.#piece(textOf(seen.slice(0, at))) + this.#typed(seen.slice(at + END.length));
	}

	/** What stands in the line for a paste: itself, if it is a line of no great length. */
	#piece(text: string): string {
		const lines = text.replace(/\n+$/, "").split("\n");
		const [line = ""] = lines;
		if (lines.length === 1 && line.length <= MAX_LINE) return line;
		const size = lines.length > 1 ? `${lines.length} lines` : `${line.length} characters`;
		const name = `[paste ${this.#kept.size + 1}: ${size}]`;
		this.#kept.set(name, text);
		return name;
	}
}

/** The longest beginning of a mark that a text ends with. */
function beginningOf(mark: string, text: string): string {
	let length = mark.length - 1;
	while (!text.endsWith(mark.slice(0, length))) length--;
	return mark.slice(0, length);
}

/** Terminals send a key for each end of a line, and whatever was copied: colours, and what would move the cursor. */
const textOf = (pasted: string): string => clean(stripVTControlCharacters(pasted.replace(/\r\n?/g, "\n")));

export interface Keys extends Transform {
	/** As a terminal has it: whoever reads keys turns it on, and off when they stop, or the program is put aside. */
	setRawMode(isRaw: boolean): void;
	/** Reads the terminal no more. */
	close(): void;
}

/** The keys of a terminal, without its pastes. */
export function keysOf(
	terminal: NodeJS.ReadStream,
	screen: { readonly isTTY?: boolean; write(mode: PasteMode): unknown },
	pastes: Pastes,
): Keys {
	const decoder = new StringDecoder("utf8");
	const keys = new Transform({
		transform: (bytes: Buffer, _, done) => done(null, pastes.read(decoder.write(bytes))),
	});
	const mark = (isRaw: boolean): void => {
		if (screen.isTTY && process.env.TERM !== "dumb") screen.write(isRaw ? MODE.on : MODE.off);
	};
	// What ends the process by an error leaves no terminal that marks pastes for the next program.
	let isRaw = false;
	process.once("exit", () => isRaw && mark(false));
	// Whoever reads the keys is told; afterwards nobody needs to be.
	keys.on("error", () => {});
	terminal.on("error", (error) => keys.destroy(error));
	terminal.pipe(keys);
	return Object.assign(keys, {
		setRawMode(on: boolean) {
			terminal.setRawMode(on);
			if (on !== isRaw) mark(on);
			isRaw = on;
		},
		close() {
			terminal.unpipe(keys);
			terminal.pause();
		},
	});
}
