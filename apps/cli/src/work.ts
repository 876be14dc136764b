/** A process that works and ends: `reyn run`, `reyn resume`, `reyn skill run`. */
import { questionLines, scopeText } from "@reyn/operator";
import type { Runtime, RuntimeOptions, SessionScope } from "@reyn/runtime";
import { codeOf } from "@reyn/wal";
import { Option } from "commander";
import { askingHere } from "./asking.ts";
import { type Globals, modelOf, openToAsk } from "./context.ts";
import { initLine, meterLine, restoredLines, type StreamLine, stoppedLine } from "./event-lines.ts";
import { exitCodeOf } from "./exit-code.ts";
import { bySignal } from "./exit-codes.ts";
import { out } from "./print.ts";
import { type Stopped, untilStopped } from "./stop.ts";
import { reyn } from "./suggest.ts";
import { type OutputFormat, Telling } from "./telling.ts";

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
	/** What becomes of work that asks what nobody here answers. Default: off a terminal what needs a permission is not done. */
	readonly unanswered?: RuntimeOptions["unanswered"];
	/** Whose answer is the reply of the document. Default: the main session. */
	readonly session?: SessionScope;
	/** What to do once the runtime is open; the process ends when all is idle afterwards. */
	start(runtime: Runtime): Promise<void>;
}

/** Gives the exit code. Progress goes to stderr and answers to stdout, except that `stream-json` is all on stdout. */
export async function work({ globals, format, restore = true, unanswered, session, start }: Work): Promise<number> {
	// On a terminal it is asked there, and what is open at the end is said then.
	const telling = new Telling(format, { asksItself: true });
	const runtime = await openToAsk(globals, {
		...(await askingHere(globals)),
		...(unanswered && { unanswered }),
		onEvent: (event) => telling.event(event),
		onMessage: (message) => telling.message(message),
	});
	const model = await modelOf(globals);
	let stopped: Stopped | undefined;
	let failure: Error | undefined;
	try {
		stopped = await untilStopped(runtime, async () => {
			const restored = runtime.restored();
			if (format === "stream-json") {
				stream(
					initLine({ tip: runtime.wal.tip, pid: process.pid, ...(session && { session: scopeText(session) }), model }),
				);
				stream({ type: "restored", restored });
			} else telling.say(restoredLines(restored));
			if (restore) runtime.resume();
			await start(runtime);
			await runtime.idle();
		});
	} catch (error) {
		if (codeOf(error) === "WAL_FULL") telling.say([`what is recorded is kept. Once there is space: ${reyn`resume`}`]);
		if (format !== "stream-json") throw error;
		failure = error as Error;
	}
	telling.over();
	const questions = runtime.questions();
	if (stopped) telling.say([stoppedLine(stopped, reyn`resume`)]);
	else if (questions.length > 0) telling.say(questions.flatMap((each) => questionLines(each, reyn)));
	else if (telling.unfinished.size > 0) telling.say([`go on with: ${reyn`resume`}`]);
	let exitCode: number = telling.exitCodeWith(questions, runtime.plans());
	if (failure) exitCode = exitCodeOf(failure);
	if (stopped) exitCode = bySignal[stopped.by];
	const { meter } = runtime;
	const { durableTip: tip } = runtime.wal;
	if (format === "stream-json")
		stream({ type: "result", tip, meter, exitCode, ...(failure ? { error: told(failure) } : {}) });
	else if (format === "json") {
		const reply = runtime
			.conversation(session)
			.items.toArray()
			.filter((item) => item.type === "reply")
			.findLast(({ turn }) => telling.turns.has(turn));
		const { unfinished, paused, messages, compacted, inDoubt, resumed } = telling;
		const left = unfinished.size > 0 ? { unfinished: [...unfinished.values()], goOn: reyn`resume` } : {};
		const waits = paused.size > 0 ? { paused: [...paused.values()] } : {};
		const asked = questions.length > 0 ? { questions } : {};
		const said = { reply: reply?.text ?? "", messages, ...(compacted && { compacted }) };
		const gone = { ...(inDoubt.length > 0 && { inDoubt }), ...(resumed.length > 0 && { resumed }) };
		out.json({ ...said, tip, meter, exitCode, ...left, ...waits, ...asked, ...gone });
	} else telling.say([meterLine(meter)]);
	return exitCode;
}

const stream = (line: StreamLine): void => void out.json(line);

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
