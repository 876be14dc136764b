/** Says what work does, in the form that was asked for, and takes note of what its exit code is made of. */
import type { BackgroundMessage, RuntimeEvent } from "@reyn/runtime";
import { eventLines, isUnfinished, messageText, printSpace, type StreamLine } from "./event-lines.ts";
import { exitCodes } from "./exit-codes.ts";
import { err, out } from "./print.ts";

export type OutputFormat = "text" | "json" | "stream-json";

export class Telling {
	readonly #format: OutputFormat;
	readonly messages: { from: string; text: string }[] = [];
	/** Why work is not over that `resume` goes on with. */
	readonly unfinished: string[] = [];
	#failedSteps = 0;
	#isCut = false;
	#streaming = false;
	/** Off a terminal a text is shown when it counts: what a model says before it breaks off is not, since it begins anew. */
	#held = { lane: "", text: "" };
	/** Of the text that came last: what was recalled of the rounds before comes without what stood between. */
	#round = 0;

	constructor(format: OutputFormat) {
		this.#format = format;
	}

	/** Of all events so far. */
	get exitCode(): number {
		if (this.#isCut || this.unfinished.length > 0) return exitCodes.failed;
		return this.#failedSteps > 0 ? exitCodes.stepsFailed : exitCodes.ok;
	}

	say(lines: readonly string[]): void {
		if (this.#format === "text") err.lines(lines);
	}

	event(event: RuntimeEvent): void {
		if (event.type === "plan_end") this.#failedSteps += event.failed.length;
		if (isUnfinished(event)) this.unfinished.push(event.reason ?? "");
		if (event.type === "turn_end" && event.outcome === "interrupted") this.#isCut = true;
		if (this.#format === "stream-json") out.json(event satisfies StreamLine);
		else if (this.#format === "json") printSpace(event);
		else this.#show(event);
	}

	#show(event: RuntimeEvent): void {
		if (event.type === "text") {
			if (event.round !== this.#round) this.#endText();
			this.#round = event.round;
			if (!out.isTerminal) this.#held = { lane: `turn/${event.turn}`, text: this.#held.text + event.delta };
			else {
				out.piece(event.delta);
				this.#streaming = true;
			}
			return;
		}
		const isVoid =
			event.type === "model_retry" ? event.lane === this.#held.lane : event.type === "turn_end" && isUnfinished(event);
		if (isVoid) this.#held = { lane: "", text: "" };
		if (event.type === "tool" || event.type === "turn_end") this.over();
		this.#endLine();
		this.say(eventLines(event));
	}

	/** A text from the background: resolves when it was shown. */
	async message(message: BackgroundMessage): Promise<void> {
		this.messages.push({ from: message.from, text: message.text });
		if (this.#format === "stream-json") await out.json({ type: "message", message } satisfies StreamLine);
		if (this.#format === "text") await out.text(messageText(message));
	}

	#endText(): void {
		this.over();
		this.#endLine();
	}

	#endLine(): void {
		if (this.#streaming) out.text("");
		this.#streaming = false;
	}

	/** No more of the text that is held comes. */
	over(): void {
		if (this.#held.text !== "") out.text(this.#held.text);
		this.#held = { lane: "", text: "" };
	}
}
