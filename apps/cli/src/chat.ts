/** `reyn chat`: one line in, answers as they come, plans reporting in between. */
import type { Interface } from "node:readline";
import { carryOut, type Desk, givenFor, verbs } from "@reyn/operator";
import { oneLine } from "@reyn/operator/text";
import type { BackgroundMessage, Runtime, RuntimeEvent } from "@reyn/runtime";
import { assertReady, type Globals, openForWork, stateOf } from "./context.ts";
import { eventLines, isUnfinished, messageText, meterLine, restoredLines } from "./event-lines.ts";
import { bySignal, CliError, exitCodes } from "./exit-code.ts";
import { keysOf, Pastes } from "./pastes.ts";
import { asked, coloured, type Line, out, terminal, typedLines } from "./print.ts";
import { readSlash, usage } from "./slash.ts";
import { untilStopped } from "./stop.ts";
import { reyn, slash } from "./suggest.ts";

export async function chat(globals: Globals, restore: boolean): Promise<number> {
	// Before a key is read: what is typed ahead is no answer to this.
	await assertReady(globals);
	const pastes = new Pastes();
	const keys = process.stdin.isTTY ? keysOf(process.stdin, terminal, pastes) : undefined;
	const lines = typedLines(keys ?? process.stdin, process.stdin.isTTY === true);
	// The terminal has gone: its lines end, and with them the chat. It may be told of this in the middle of a close.
	lines.on("error", () => setImmediate(() => lines.close()));
	lines.on("close", () => keys?.close());
	const screen = new Screen(lines);
	// Put aside and brought back, it reads no keys until it is asked to.
	lines.on("SIGCONT", () => screen.prompt());
	// Lines may come before the runtime is open; none is lost.
	const inputs = inputQueue(lines);
	const runtime = await openForWork(globals, {
		onEvent: (event) => screen.show(event),
		onMessage: (message) => screen.message(message),
	}).catch((error) => {
		lines.close();
		throw error;
	});
	onInterrupt(lines, screen, runtime);
	let isUnfinished = false;
	const stopped = await untilStopped(runtime, async (signal) => {
		signal.addEventListener("abort", () => lines.close());
		try {
			await converse(inputs, pastes, runtime, screen, restore, signal);
		} finally {
			lines.close();
			const { plans, runs, turns } = runtime.restored();
			isUnfinished = plans.length + runs.length + turns.length > 0;
		}
	});
	const again = stopped?.wasFull ? ", and what found no space is done again" : "";
	const command = globals.state === undefined ? "reyn chat" : reyn`chat --state ${stateOf(globals)}`;
	if (isUnfinished || stopped?.wasFull) out.line(`unfinished work is kept${again}; go on later with: ${command}`);
	return stopped ? bySignal[stopped.by] : exitCodes.ok;
}

async function converse(
	inputs: AsyncIterable<string>,
	pastes: Pastes,
	runtime: Runtime,
	screen: Screen,
	restore: boolean,
	signal: AbortSignal,
): Promise<void> {
	const found = restoredLines(runtime.restored(), slash);
	screen.lines(found.length > 0 ? found.map((line) => coloured("cyan", line)) : ["nothing was in flight"]);
	if (restore) runtime.resume();
	else if (found.length > 0) screen.print("--no-restore: it stays as it is until the next start");
	screen.print("ask something, or /help");
	screen.prompt();
	for await (const line of inputs) {
		// What was typed ahead of a stop is not carried out after it.
		if (signal.aborted || line === "/exit") break;
		await handle(line, pastes.expand(line), runtime, screen).catch((error: Error) => {
			// Cut by the stop, and that is said at the end.
			if (!signal.aborted) screen.print(coloured("red", `reyn: ${error.message}`));
		});
		if (!process.stdin.isTTY) await runtime.idle();
		screen.prompt();
	}
}

/** @param typed is what `whole` is, without what was pasted: that is no command, whatever it begins with. */
async function handle(typed: string, whole: string, runtime: Runtime, screen: Screen): Promise<void> {
	const text = whole.trim();
	if (text === "") return;
	if (!typed.trimStart().startsWith("/")) {
		await runtime.prompt(text);
		return;
	}
	if (text === "/help") return screen.lines(helpLines());
	if (text === "/meter") return screen.print(meterLine(runtime.meter));
	if (text === "/rewind") return screen.lines(placesToGo(runtime));
	const { verb, raw, dryRun, yes } = readSlash(text);
	if (verb.access === "work") {
		const given = givenFor(verb, raw);
		await verb.check(runtime, given);
		return screen.lines(verb.lines(await verb.begin(runtime, given), slash));
	}
	const { lines } = await carryOut(verb, raw, deskOf(runtime, screen, yes), { dryRun });
	screen.lines(lines);
}

const deskOf = (runtime: Runtime, screen: Screen, yes: boolean): Desk => ({
	reading: (use) => use(runtime),
	acting: (verb, seen) => verb.act(runtime, seen, "user"),
	confirm(question, shown) {
		screen.lines(shown);
		return screen.confirm(question, yes);
	},
	say: slash,
});

function placesToGo(runtime: Runtime): readonly string[] {
	const active = runtime.timeline
		.checkpoints()
		.filter((checkpoint) => checkpoint.active)
		.slice(-10);
	return [
		...active.map(({ seq, kind, title }) => `#${seq}  ${kind}  ${oneLine(title, 70)}`),
		"now: /rewind <seq> [mode]",
	];
}

function helpLines(): readonly string[] {
	const rows = verbs.filter(({ name }) => name !== "ask").map((verb) => [usage(verb), verb.summary] as const);
	const own = [
		["/tree", "the history as a tree"],
		["/meter", "model calls: replayed free, and paid"],
		["/help  /exit", ""],
	] as const;
	return [
		...[...rows, ...own].map(([typed, what]) => `${typed.padEnd(32)} ${what}`.trimEnd()),
		"A ref is a seq (142), @ for the tip, @-3 for checkpoints back, a branch (b7) or a label. Files in your workspace are never touched by a rewind.",
	];
}

/** Once clears what was typed, or stops the turn; twice within 1.5 seconds leaves. Plans are never stopped by it. */
function onInterrupt(lines: Interface, screen: Screen, runtime: Runtime): void {
	let last = Number.NEGATIVE_INFINITY;
	lines.on("SIGINT", async () => {
		if (lines.line !== "") {
			lines.write(null, { ctrl: true, name: "e" });
			lines.write(null, { ctrl: true, name: "u" });
			return;
		}
		const now = performance.now();
		// It was a key, and no signal.
		if (now - last < 1500) return void process.kill(process.pid, "SIGINT");
		last = now;
		// On a full disk this waits for space, and a second one need not.
		if (await runtime.interrupt()) return;
		screen.print("press Ctrl-C again to leave; what is unfinished is kept");
	});
}

/** Lines from now on, kept until they are asked for. */
function inputQueue(lines: Interface): AsyncIterable<string> {
	const waiting: string[] = [];
	let wake = (): void => {};
	let closed = false;
	lines.on("line", (line) => {
		waiting.push(line);
		wake();
	});
	lines.on("close", () => {
		closed = true;
		wake();
	});
	return {
		async *[Symbol.asyncIterator]() {
			for (;;) {
				const line = waiting.shift();
				if (line !== undefined) yield line;
				else if (closed) return;
				else
					await new Promise<void>((resolve) => {
						wake = resolve;
					});
			}
		},
	};
}

/** The terminal: answers stream, everything else comes as whole lines above what is being typed. */
class Screen {
	readonly #lines: Interface;
	readonly #tty = out.isTerminal && process.stdin.isTTY === true;
	#streaming = false;
	#closed = false;

	constructor(lines: Interface) {
		this.#lines = lines;
		lines.on("close", () => {
			this.#closed = true;
		});
	}

	print(line: Line): void {
		this.lines([line]);
	}

	lines(lines: readonly Line[]): void {
		if (lines.length === 0) return;
		this.#above();
		out.lines(lines);
		this.#redraw();
	}

	show(event: RuntimeEvent): void {
		if (event.type === "text") {
			if (!this.#streaming) this.#above();
			this.#streaming = true;
			out.piece(event.delta);
			return;
		}
		if (event.type === "turn_end" && this.#streaming) {
			this.#streaming = false;
			out.text("");
			this.#redraw();
		}
		this.lines(eventLines(event).map((line) => coloured("dim", line)));
		// What ends with the chat itself is said of there; a turn that does is not `stopped`.
		if (isUnfinished(event) && (event.type === "turn_end" || !this.#closed))
			this.print("go on with /resume, or ask on");
	}

	async message(message: BackgroundMessage): Promise<void> {
		this.#above();
		await out.text(messageText(message));
		this.#redraw();
	}

	prompt(): void {
		if (this.#tty && !this.#closed) this.#lines.prompt(true);
	}

	/** The answer that comes of itself is no; off a terminal it has to be said beforehand. */
	async confirm(question: string, yes: boolean): Promise<boolean> {
		if (yes) return true;
		if (!this.#tty)
			throw new CliError("CLI_REFUSED", "nothing was changed: this is not a terminal, so add --yes to go ahead");
		const answer = await new Promise<string>((resolve) => this.#lines.question(asked(`${question} [y/N]`), resolve));
		return /^y(es)?$/i.test(answer.trim());
	}

	#above(): void {
		if (this.#streaming) {
			this.#streaming = false;
			out.text("");
		} else if (this.#tty) {
			terminal.clearLine();
		}
	}

	#redraw(): void {
		if (this.#tty && !this.#closed) this.#lines.prompt(true);
	}
}
