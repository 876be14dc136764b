/**
 * All that the command line says goes out here, and is cleaned here: whatever it was made of, and whoever forgets it. Nothing
 * else may touch a stream (`print.test.ts` looks). Colours are put around what was cleaned, so that no text brings its own.
 */
import type { Interface } from "node:readline";
import type { Interface as Answers } from "node:readline/promises";
import { asJson, asLine, clean } from "@reyn/operator/text";
import { createColors } from "picocolors";

type Colour = "bold" | "cyan" | "dim" | "green" | "red";

/** A piece of a line in a colour. */
interface Coloured {
	readonly colour: Colour;
	readonly text: string;
}

type Piece = string | Coloured;

/** One line, whatever its pieces hold. */
export type Line = Piece | readonly Piece[];

/** Whether colours are seen: `NO_COLOR`, `FORCE_COLOR`, and where stdout leads; a machine that builds has a pipe as any other. */
export const isColoured = (
	{ NO_COLOR, FORCE_COLOR, TERM }: Readonly<Record<string, string | undefined>>,
	isTerminal: boolean,
): boolean => !NO_COLOR && (FORCE_COLOR ? FORCE_COLOR !== "0" : isTerminal && TERM !== "dumb");

export const hasColour = isColoured(process.env, process.stdout.isTTY === true);
const pc = createColors(hasColour);

export const coloured = (colour: Colour, text: string): Coloured => ({ colour, text });

const isPieces = (line: Line): line is readonly Piece[] => Array.isArray(line);

/** A line as it is written. Whatever it is cut into, it has no end but its own. */
export const drawn = (line: Line): string => (isPieces(line) ? line : [line]).map(pieceText).join("");

const pieceText = (piece: Piece): string =>
	typeof piece === "string" ? asLine(piece) : pc[piece.colour](asLine(piece.text));

/** Each method resolves when the text has left the process: what is reported as shown has been shown. Nobody needs to wait. */
class Output {
	readonly #stream: NodeJS.WriteStream;
	/** The first half of a character whose second comes with the next piece. */
	#half = "";

	constructor(stream: NodeJS.WriteStream) {
		this.#stream = stream;
	}

	get isTerminal(): boolean {
		return this.#stream.isTTY === true;
	}

	line(line: Line): Promise<void> {
		return this.lines([line]);
	}

	lines(lines: readonly Line[]): Promise<void> {
		return this.#write(lines.map((line) => `${drawn(line)}\n`).join(""));
	}

	/** Of as many lines as it has. */
	text(text: string): Promise<void> {
		return this.#write(`${clean(text)}\n`);
	}

	/** A line of JSON: the value as it is. */
	json(value: unknown): Promise<void> {
		return this.#write(`${asJson(value)}\n`);
	}

	/** A text as it comes. */
	piece(delta: string): Promise<void> {
		const text = this.#half + delta;
		const half = /[\ud800-\udbff]$/.exec(text)?.[0] ?? "";
		const written = this.#write(clean(half === "" ? text : text.slice(0, -1)));
		this.#half = half;
		return written;
	}

	#write(text: string): Promise<void> {
		this.#half = "";
		if (text === "") return Promise.resolve();
		const written = new Promise<void>((resolve, reject) =>
			this.#stream.write(text, (error) => (error ? reject(error) : resolve())),
		);
		// A failure is heard of in `heedUnwritten`, also by whoever does not wait.
		written.catch(() => {});
		return written;
	}
}

/** What was asked for. */
export const out = new Output(process.stdout);
/** What there is to say about it. */
export const err = new Output(process.stderr);

export type OutputName = "stdout" | "stderr";

/** Told when what was written reaches nobody. */
export function heedUnwritten(heed: (name: OutputName, code: string | undefined) => void): void {
	for (const name of ["stdout", "stderr"] as const)
		process[name].on("error", ({ code }: NodeJS.ErrnoException) => heed(name, code));
}

/** Resolves once all that was said has left the process, or reaches nobody, which whoever heeds that was told. */
export async function allWritten(): Promise<void> {
	const streams = [process.stdout, process.stderr].filter(({ writableLength }) => writableLength > 0);
	await Promise.all(streams.map((stream) => new Promise<void>((resolve) => stream.write("", () => resolve()))));
	await new Promise((resolve) => setImmediate(resolve));
}

/** The terminal behind stdout, for the chat, which draws the last rows of it: what it writes was cleaned by whoever made it. */
export const terminal = {
	get isTTY(): boolean {
		return out.isTerminal;
	},
	/** Terminals that do not say are of the usual size. */
	get columns(): number {
		return process.stdout.columns || 80;
	},
	get rows(): number {
		return process.stdout.rows || 24;
	},
	write(text: string, written?: (error?: Error | null) => void): void {
		process.stdout.write(text, written);
	},
	/** Gives what ends it. */
	onResize(resized: () => void): () => void {
		process.stdout.on("resize", resized);
		return () => process.stdout.off("resize", resized);
	},
};

/** The lines that come, whoever shows them. */
export const givenLines = (input: NodeJS.ReadableStream): Interface =>
	process.getBuiltinModule("node:readline").createInterface({ input, terminal: false });

/** The lines that a person types in answer to a question, which is no part of the output. */
export const answerLines = (): Answers =>
	process.getBuiltinModule("node:readline/promises").createInterface({ input: process.stdin, output: process.stderr });

/** A question as either of them puts it. */
export const asked = (question: string): string => `${asLine(question)} `;

/**
 * Says a text of the command line's own to stderr, from a thread whose process does nothing else any more. It is given to that as text,
 * so it has nothing but what it is given.
 */
export function sayAtOnce({ writeSync }: typeof import("node:fs"), text: string): void {
	try {
		writeSync(2, text);
	} catch {
		// Nobody reads it.
	}
}
