/** The chat without a screen: a pipe, a terminal that can do nothing, a screen reader. Whole lines, and the cursor stays where it is. */
import type { Interface } from "node:readline";
import type { BackgroundMessage, RuntimeEvent } from "@reyn/runtime";
import { eventLines, isUnfinished, messageText } from "../event-lines.ts";
import { coloured, givenLines, type Line, out } from "../print.ts";
import { slash } from "../suggest.ts";
import { errorLine } from "./cards.ts";
import type { Answer, List, Question } from "./dialogs.ts";
import type { Behind, Face, Input } from "./face.ts";
import { Inputs } from "./inputs.ts";

/** A terminal hands a paste over line by line: what comes so close, in milliseconds, is one message. */
const TOGETHER = 40;
/** A terminal gives no more of a line. */
const LONGEST_LINE = 4095;
/** A longer list is not read to its end. */
const MOST_ROWS = 10;

export class Plain implements Face {
	readonly isAnswered: boolean;
	readonly isInTurn: boolean;
	readonly #lines: Interface;
	readonly #given = new Inputs<string>();
	/** What a person types in the line of the prompt is followed by a line end of theirs. */
	#isPrompted = false;
	/** The line of the answer whose end has not come. */
	#rest = "";
	/** Of the text that came last: what was recalled of the rounds before comes without what stood between. */
	#round = 0;
	#isClosed = false;

	/** @param isTyped by a person: they can be asked */
	constructor(isTyped: boolean) {
		this.isAnswered = isTyped;
		this.isInTurn = !isTyped;
		this.#lines = givenLines(process.stdin);
		const together = isTyped ? gathered((text) => this.#given.put(text)) : (line: string) => this.#given.put(line);
		this.#lines.on("line", (line) => {
			this.#isPrompted = false;
			if (isTyped && Buffer.byteLength(line) >= LONGEST_LINE)
				this.say([`the terminal cuts a line at ${LONGEST_LINE} bytes: the rest of it has not come`]);
			together(line);
		});
		// The terminal has gone: its lines end, and with them the chat. It may be told of this in the middle of a close.
		this.#lines.on("error", () => setImmediate(() => this.#lines.close()));
		this.#lines.on("close", () => setTimeout(() => this.#given.close(), isTyped ? TOGETHER : 0));
	}

	get inputs(): AsyncIterable<Input> {
		const given = this.#given;
		return {
			async *[Symbol.asyncIterator]() {
				for await (const text of given) yield { text, isCommand: /^\s*\/[^\n]*$/.test(text) };
			},
		};
	}

	begin(_behind: Behind, lines: readonly Line[]): void {
		this.say([...lines, "ask something, or /help"]);
	}

	say(lines: readonly Line[]): void {
		if (lines.length === 0) return;
		this.#fresh();
		out.lines(lines);
	}

	show(event: RuntimeEvent): void {
		if (event.type === "text") {
			if (event.round !== this.#round) this.#flush();
			this.#round = event.round;
			const lines = (this.#rest + event.delta).split("\n");
			this.#rest = lines.pop() ?? "";
			if (lines.length > 0) this.#tell(lines.join("\n"));
			return;
		}
		if (event.type === "turn_end" || event.type === "tool") this.#flush();
		const failed = errorLine(event);
		const shown =
			failed === undefined ? eventLines(event, slash).map((line) => coloured("dim", line)) : [coloured("red", failed)];
		this.say(shown);
		// What ends with the chat itself is said of there; a turn that does is not `stopped`.
		if (isUnfinished(event) && (event.type === "turn_end" || !this.#isClosed))
			this.say(["go on with /resume, or ask on"]);
		if (event.type === "turn_end") this.ready();
	}

	message(message: BackgroundMessage): Promise<void> {
		return this.#tell(messageText(message));
	}

	fail({ message }: Error): void {
		this.say([coloured("red", `reyn: ${message}`)]);
	}

	ready(): void {
		if (!this.isAnswered || this.#isClosed || this.#isPrompted) return;
		this.#isPrompted = true;
		out.piece("> ");
	}

	async pick({ title, count, row }: List): Promise<number | undefined> {
		const shown = Math.min(count, MOST_ROWS);
		this.say([
			`${title} (${shown} of ${count})`,
			...Array.from({ length: shown }, (_, index) => `${index + 1}  ${row(index)}`),
		]);
		const number = Number(await this.#answer(`1 to ${shown}, or Enter for none: `));
		return Number.isInteger(number) && number >= 1 && number <= shown ? number - 1 : undefined;
	}

	async ask({ title, lines, answers, note }: Question): Promise<Answer> {
		this.say([...lines, ...(note === undefined ? [] : [note])]);
		if (answers.length === 2) return /^y(es)?$/i.test(await this.#answer(`${title}? [y/N] `)) ? 1 : 0;
		this.say([title, ...answers.map((answer, index) => `${index}  ${answer}`)]);
		const number = Number(await this.#answer(`0 to ${answers.length - 1}: `));
		return Number.isInteger(number) && number > 0 && number < answers.length ? number : 0;
	}

	/** It was said, and is answered by `/answer`: a line that comes may be anything. */
	async put(): Promise<undefined> {}

	fill(text: string): void {
		this.say(["what was asked there:", text]);
	}

	close(): void {
		if (this.#isClosed) return;
		this.#isClosed = true;
		this.#flush();
		this.#lines.close();
		this.#given.close();
	}

	async #answer(question: string): Promise<string> {
		out.piece(question);
		this.#isPrompted = true;
		return ((await this.#given.next()) ?? "").trim();
	}

	#tell(text: string): Promise<void> {
		this.#fresh();
		return out.text(text);
	}

	/** What is left of the answer is all there is. */
	#flush(): void {
		const rest = this.#rest;
		this.#rest = "";
		if (rest !== "") this.#tell(rest);
	}

	#fresh(): void {
		if (this.#isPrompted) out.text("");
		this.#isPrompted = false;
	}
}

/** Lines that come one right after the other are one text. */
function gathered(give: (text: string) => void): (line: string) => void {
	let lines: string[] = [];
	let timer: NodeJS.Timeout | undefined;
	return (line) => {
		lines.push(line);
		clearTimeout(timer);
		timer = setTimeout(() => {
			const text = lines.join("\n");
			lines = [];
			give(text);
		}, TOGETHER);
	};
}
