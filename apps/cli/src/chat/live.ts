/** The chat on a terminal: keys and events go through `step`, what it knows is drawn, and what is to be done is done. */

import { asLine } from "@reyn/operator/text";
import type { BackgroundMessage, RuntimeEvent } from "@reyn/runtime";
import type { Scope } from "@reyn/wal";
import { eventLines, isUnfinished, messageText } from "../event-lines.ts";
import { drawn, hasColour, coloured as inColour, type Line, terminal } from "../print.ts";
import { slash } from "../suggest.ts";
import { errorLine } from "./cards.ts";
import { hasFence } from "./code.ts";
import type { Offered } from "./completion.ts";
import { type Answer, type Dialog, type List, pickerOf, type Question, questionOf } from "./dialogs.ts";
import type { Behind, Face, Input } from "./face.ts";
import type { SentBefore } from "./history.ts";
import { Inputs } from "./inputs.ts";
import { prepareWhileIdle } from "./labels.ts";
import { LateColours } from "./late-colours.ts";
import { ended, grown, noMarkdown } from "./markdown.ts";
import { Screen, type Written } from "./screen.ts";
import { begin, type ChatEvent, type Effect, type Setting, type State, step } from "./state.ts";
import { Terminal } from "./terminal.ts";
import { coloured, uncoloured } from "./text.ts";
import { TURN_OF_SPINNER, view } from "./view.ts";

/** What is not typed is drawn at most so often; a size that changes is waited for as long. In milliseconds. */
const A_FRAME = 33;

export interface LiveOptions {
	readonly commands: readonly Offered[];
	readonly sent: SentBefore;
	/** The files that `@` offers. */
	files(): Promise<readonly string[]>;
}

export class Live implements Face {
	readonly inputs = new Inputs<Input>();
	readonly isAnswered = true;
	readonly isInTurn = false;
	readonly #options: LiveOptions;
	readonly #screen = new Screen((text, written) => terminal.write(text, written));
	readonly #terminal: Terminal;
	readonly #colours = new LateColours(async () => (await import("./highlight.ts")).highlight);
	#state: State;
	#behind: Behind | undefined;
	/** What is asked, or will be: the first one that may be is on the screen. */
	#asked: readonly Put[] = [];
	#frame: NodeJS.Timeout | undefined;
	#spinner: NodeJS.Timeout | undefined;
	#isClosed = false;
	/** Of the text that came last. */
	#round = 0;
	/** Put aside: the terminal is the shell's. */
	#isAside = false;

	constructor(past: readonly string[], options: LiveOptions) {
		this.#options = options;
		this.#state = begin(past);
		this.#terminal = new Terminal({
			key: (key) => {
				this.#step({ kind: "key", key, at: performance.now() });
				this.#draw();
			},
			gone: () => this.inputs.close(),
			changed: (how) => {
				if (how === "back") {
					this.#isAside = false;
					this.#screen.forget();
				}
				this.#drawSoon();
			},
		});
		this.#draw();
		this.#terminal.guard();
	}

	begin(behind: Behind, lines: readonly Line[], isBusy: boolean): void {
		this.#behind = behind;
		if (isBusy) this.#step({ kind: "began", at: performance.now() });
		this.say(lines);
		this.#drawSoon();
	}

	say(lines: readonly Line[]): void {
		this.#colours.tell(false, () => this.#step({ kind: "said", lines: lines.map(drawn) }));
	}

	show(event: RuntimeEvent): void {
		// A fence may be cut between two pieces.
		const wants = event.type === "text" && hasColour && hasFence(this.#state.answer.rest.slice(-200) + event.delta);
		this.#colours.tell(wants, () => this.#show(event));
	}

	#show(event: RuntimeEvent): void {
		const at = performance.now();
		switch (event.type) {
			case "text":
				// What was recalled of the rounds before comes without what stood between.
				if (event.round !== this.#round) this.#step({ kind: "said", lines: [], isNext: true });
				this.#round = event.round;
				return void this.#step({ kind: "text", delta: event.delta, at });
			case "model_retry":
				this.#step({ kind: "waits", why: asLine(errorLine(event) ?? "") });
				break;
			case "turn_end":
				this.#step({ kind: "ended", isAnswered: event.outcome === "completed", at });
				break;
			case "tool":
			case "compacting":
				this.#step({ kind: "began", at });
				break;
			case "question":
				if (event.from.kind === "turn" && this.#isHere(event)) this.#step({ kind: "asks", at });
				break;
			case "answered":
				if (this.#isHere(event)) this.#step({ kind: "answered", at });
		}
		const failed = errorLine(event);
		const lines =
			failed === undefined ? eventLines(event, slash).map((line) => inColour("dim", line)) : [inColour("red", failed)];
		// A text that had begun begins anew after a retry.
		const isNext = event.type === "tool" || event.type === "model_retry";
		if (lines.length > 0) this.#step({ kind: "said", lines: lines.map(drawn), isNext });
		// What ends with the chat itself is said of there; a turn that does is not `stopped`.
		if (isUnfinished(event) && event.type !== "turn_end" && !this.#isClosed)
			this.say(["go on with /resume, or ask on"]);
		this.#drawSoon();
	}

	#isHere({ scope }: { readonly scope: Scope }): boolean {
		return this.#behind !== undefined && scope.session === this.#behind.status().session;
	}

	message(message: BackgroundMessage): Promise<void> {
		// Who is told nothing any more is told of it at the next start.
		if (this.#isClosed) return Promise.reject(new Error("the chat is over"));
		const text = messageText(message);
		return new Promise((resolve, reject) =>
			this.#colours.tell(hasColour && hasFence(text), () => {
				const paper = this.#setting();
				const { rows, next } = grown(noMarkdown, text, paper);
				this.#screen.show(["", ...rows, ...ended(next, paper)]);
				this.#draw((error) => (error ? reject(error) : resolve()));
			}),
		);
	}

	fail(error: Error, { isCommand }: Input): void {
		// A question that could not be put has no turn, whose end would be told.
		if (!isCommand)
			this.#colours.tell(false, () => this.#step({ kind: "ended", isAnswered: false, at: performance.now() }));
		this.say([inColour("red", `✗ ${error.message}`)]);
	}

	ready(): void {}

	async pick(list: List): Promise<number | undefined> {
		const picker = pickerOf({ ...list, row: (index) => asLine(list.row(index)) });
		const isOpen = (): boolean => this.#state.dialog?.kind === "list" && this.#state.dialog.labels === picker.labels;
		prepareWhileIdle(picker.labels, isOpen, setImmediate);
		const answer = await this.#asks(picker);
		return typeof answer === "number" ? answer : undefined;
	}

	ask(question: Question): Promise<Answer> {
		const { title, lines } = question;
		return this.#asks(questionOf({ ...question, title: asLine(title), lines: lines.map(asLine) }));
	}

	async put(question: Question, signal: AbortSignal): Promise<Answer> {
		const { title, lines, answers } = question;
		const [first, ...others] = answers;
		const clean = [asLine(first), ...others.map(asLine)] as const;
		const dialog = questionOf({ ...question, title: asLine(title), lines: lines.map(asLine), answers: clean });
		return this.#asks(dialog, signal);
	}

	fill(text: string): void {
		this.#step({ kind: "filled", text });
	}

	close(): void {
		if (this.#isClosed) return;
		this.#colours.flush();
		this.#isClosed = true;
		clearTimeout(this.#frame);
		clearInterval(this.#spinner);
		this.#step({ kind: "said", lines: [], isNext: true });
		this.#screen.end(terminal.columns);
		this.#terminal.close();
		this.inputs.close();
		for (const { answer } of this.#asked) answer(undefined);
	}

	/** @param signal for what nobody here has asked for: it waits until nothing is typed, and may be withdrawn */
	#asks(dialog: Dialog, signal?: AbortSignal): Promise<Answer> {
		if (this.#isClosed || signal?.aborted) return Promise.resolve(undefined);
		// Whoever looks for a moment is asked first, and may look again.
		const shown = signal && this.#asked.find(({ dialog: { kind }, isShown }) => isShown && kind === "list");
		if (shown) this.#withdraw(shown);
		return new Promise((resolve) => {
			const put: Put = { dialog, isUncalled: signal !== undefined, answer: resolve, isShown: false };
			this.#asked = [...this.#asked, put];
			signal?.addEventListener("abort", () => this.#withdraw(put), { once: true });
			this.#offer();
		});
	}

	/** Shows what is to be asked, if it may be now. */
	#offer(): void {
		const { dialog, line, search } = this.#state;
		if (dialog || this.#isClosed) return;
		const isFree = line.text === "" && search === undefined;
		const next = this.#asked.find(({ isUncalled }) => !isUncalled) ?? (isFree ? this.#asked[0] : undefined);
		if (!next) return;
		next.isShown = true;
		this.#step({ kind: "asked", dialog: next.dialog });
	}

	#withdraw(put: Put): void {
		if (!this.#asked.includes(put)) return;
		this.#asked = this.#asked.filter((each) => each !== put);
		put.answer(undefined);
		if (put.isShown && !this.#isClosed) this.#step({ kind: "withdrawn" });
	}

	#setting(): Setting {
		return {
			columns: Math.max(1, terminal.columns - 1),
			rows: terminal.rows,
			look: hasColour ? coloured : uncoloured,
			highlight: this.#colours.highlight,
			commands: this.#options.commands,
		};
	}

	#step(event: ChatEvent): void {
		const [state, effects] = step(this.#state, event, this.#setting());
		this.#state = state;
		for (const effect of effects) this.#do(effect);
		if (this.#isClosed) return;
		this.#offer();
		this.#drawSoon();
	}

	#do(effect: Effect): void {
		switch (effect.kind) {
			case "show":
				return void this.#screen.show(effect.rows);
			case "send":
				return void this.inputs.put(effect);
			case "remember":
				return void this.#options.sent.add(effect.text);
			case "interrupt":
				return void this.#behind?.interrupt().then((isCut) => {
					// It had ended already, or was none.
					if (isCut === false) this.#step({ kind: "ended", isAnswered: false, at: performance.now() });
				});
			case "leave":
				if (effect.how === "end") return void this.inputs.close();
				// It was a key, and no signal.
				return void process.kill(process.pid, "SIGINT");
			case "suspend":
				this.#screen.end(terminal.columns);
				this.#isAside = true;
				return void this.#terminal.suspend();
			case "redraw":
				return void this.#screen.end(terminal.columns);
			case "answer": {
				const shown = this.#asked.find(({ isShown }) => isShown);
				this.#asked = this.#asked.filter((each) => each !== shown);
				return void shown?.answer(effect.answer);
			}
			case "find files":
				return void this.#options.files().then((files) => this.#step({ kind: "files", files }));
		}
	}

	#drawSoon(): void {
		this.#frame ??= setTimeout(() => this.#draw(), A_FRAME);
	}

	#draw(written?: Written): void {
		clearTimeout(this.#frame);
		this.#frame = undefined;
		if (this.#isClosed || this.#isAside) return void written?.();
		const status = this.#behind?.status();
		if (status) [this.#state] = step(this.#state, { kind: "status", status }, this.#setting());
		this.#screen.draw(view(this.#state, this.#setting(), performance.now()), terminal.columns, written);
		if (this.#state.turn && !this.#spinner) this.#spinner = setInterval(() => this.#draw(), TURN_OF_SPINNER);
		if (!this.#state.turn && this.#spinner) {
			clearInterval(this.#spinner);
			this.#spinner = undefined;
		}
	}
}

/** Something that is asked, or will be. */
interface Put {
	readonly dialog: Dialog;
	/** Nobody here has asked for it. */
	readonly isUncalled: boolean;
	answer(given: Answer): void;
	isShown: boolean;
}
