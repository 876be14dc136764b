/** A process that works and ends: `reyn run`, `reyn resume`, `reyn skill run`. */
import type { Runtime, RuntimeEvent } from "@reyn/runtime";
import { codeOf } from "@reyn/wal";
import { Option } from "commander";
import { type Globals, openForWork } from "./context.ts";
import {
	eventLines,
	isUnfinished,
	messageText,
	meterLine,
	printSpace,
	restoredLines,
	type StreamLine,
	stoppedLine,
} from "./event-lines.ts";
import { exitCodeOf } from "./exit-code.ts";
import { bySignal, exitCodes } from "./exit-codes.ts";
import { err, out } from "./print.ts";
import { type Stopped, untilStopped } from "./stop.ts";
import { reyn } from "./suggest.ts";

export type OutputFormat = "text" | "json" | "stream-json";

export const outputFormat = (): Option =>
	new Option("--output-format <format>", "how to speak").choices(["text", "json", "stream-json"]).default("text");

/** What `--json` and `--output-format` come to together. */
export const formatOf = ({ json }: Globals, format: OutputFormat): OutputFormat =>
	json && format === "text" ? "json" : format;

export interface Work {
	readonly globals: Globals;
	readonly format: OutputFormat;
	/** Go on with what was in flight. Default: true. */
	readonly restore?: boolean;
	/** What to do once the runtime is open; the process ends when all is idle afterwards. */
	start(runtime: Runtime): Promise<void>;
}

/** Gives the exit code. Progress goes to stderr and answers to stdout, except that `stream-json` is all on stdout. */
export async function work({ globals, format, restore = true, start }: Work): Promise<number> {
	const stream = (line: StreamLine): void => void out.json(line);
	const answers: { from: string; text: string }[] = [];
	let failedSteps = 0;
	let isCut = false;
	/** Why work is not over that `resume` goes on with. */
	const unfinished: string[] = [];
	let streaming = false;
	/** Off a terminal a text is shown when it counts: what a model says before it breaks off is not, since it begins anew. */
	let held = { lane: "", text: "" };
	const showHeld = (): void => {
		if (held.text !== "") out.text(held.text);
		held = { lane: "", text: "" };
	};

	const say = (lines: readonly string[]): void => {
		if (format === "text") err.lines(lines);
	};
	const onEvent = (event: RuntimeEvent): void => {
		if (event.type === "plan_end") failedSteps += event.failed.length;
		if (isUnfinished(event)) unfinished.push(event.reason ?? "");
		if (event.type === "turn_end" && event.outcome === "interrupted") isCut = true;
		if (format === "stream-json") return void stream(event);
		if (format === "json") return void printSpace(event);
		if (event.type === "text") {
			if (!out.isTerminal) held = { lane: `turn/${event.turn}`, text: held.text + event.delta };
			else {
				out.piece(event.delta);
				streaming = true;
			}
			return;
		}
		const isVoid =
			event.type === "model_retry" ? event.lane === held.lane : event.type === "turn_end" && isUnfinished(event);
		if (isVoid) held = { lane: "", text: "" };
		if (event.type === "tool" || event.type === "turn_end") showHeld();
		if (streaming) out.text("");
		streaming = false;
		say(eventLines(event));
	};

	const runtime = await openForWork(globals, {
		onEvent,
		async onMessage(message) {
			answers.push({ from: message.from, text: message.text });
			if (format === "stream-json") await out.json({ type: "message", message } satisfies StreamLine);
			if (format === "text") await out.text(messageText(message));
		},
	});
	let stopped: Stopped | undefined;
	let failure: Error | undefined;
	try {
		stopped = await untilStopped(runtime, async () => {
			const restored = runtime.restored();
			if (format === "stream-json") {
				stream({ type: "init", tip: runtime.wal.tip, pid: process.pid });
				stream({ type: "restored", restored });
			} else say(restoredLines(restored));
			if (restore) runtime.resume();
			await start(runtime);
			await runtime.idle();
		});
	} catch (error) {
		if (codeOf(error) === "WAL_FULL") say([`what is recorded is kept. Once there is space: ${reyn`resume`}`]);
		if (format !== "stream-json") throw error;
		failure = error as Error;
	}
	showHeld();
	if (stopped) say([stoppedLine(stopped, reyn`resume`)]);
	else if (unfinished.length > 0) say([`go on with: ${reyn`resume`}`]);
	let exitCode: number = failedSteps > 0 ? exitCodes.stepsFailed : exitCodes.ok;
	if (isCut || unfinished.length > 0) exitCode = exitCodes.failed;
	if (failure) exitCode = exitCodeOf(failure);
	if (stopped) exitCode = bySignal[stopped.by];
	const { meter } = runtime;
	const { durableTip: tip } = runtime.wal;
	if (format === "stream-json")
		stream({ type: "result", tip, meter, exitCode, ...(failure ? { error: told(failure) } : {}) });
	else if (format === "json") {
		const reply = runtime
			.conversation()
			.items.toArray()
			.findLast((item) => item.type === "reply");
		const left = unfinished.length > 0 ? { unfinished, goOn: reyn`resume` } : {};
		const document = { reply: reply?.text ?? "", messages: answers, tip, meter, exitCode, ...left };
		out.json(document);
	} else say([meterLine(meter)]);
	return exitCode;
}

/** A stream says at its end that it failed, too. */
export async function endingWithResult(format: OutputFormat, work: () => Promise<number>): Promise<number> {
	try {
		return await work();
	} catch (error) {
		if (format !== "stream-json") throw error;
		const exitCode = exitCodeOf(error);
		out.json({ type: "result", exitCode, error: told(error as Error) });
		return exitCode;
	}
}

const told = ({ code = "ERROR", message }: Error & { code?: string }) => ({ code, message });
