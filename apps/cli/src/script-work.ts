/** A process that runs one script to its end: `reyn script run` and `reyn script resume`. */
import { givenFor, scriptEndLines, scriptResultText, type WorkVerb } from "@reyn/operator";
import {
	checkScript,
	type Runtime,
	type RuntimeEvent,
	type ScriptEnd,
	type ScriptText,
	type StartedScript,
} from "@reyn/runtime";
import { askingHere } from "./asking.ts";
import { type Globals, modelOf, openToAsk, reading, watchTimeSlice } from "./context.ts";
import { eventLines, initLine, meterLine, printSpace, stoppedLine } from "./event-lines.ts";
import { exitCodeOfEnd } from "./exit-code.ts";
import { bySignal } from "./exit-codes.ts";
import { unlessHeld } from "./held.ts";
import { err, out } from "./print.ts";
import { untilStopped } from "./stop.ts";
import { reyn } from "./suggest.ts";
import type { OutputFormat } from "./telling.ts";
import { readTyped } from "./typed.ts";
import { endingWithResult } from "./work.ts";

/** Gives the exit code. The result goes to stdout, and progress to stderr, except that `stream-json` is all on stdout. */
export function workOnScript(
	verb: WorkVerb,
	typed: Readonly<Record<string, unknown>>,
	globals: Globals,
	format: OutputFormat,
): Promise<number> {
	return endingWithResult(format, async () => {
		const raw = await readTyped(verb, typed);
		const given = givenFor(verb, raw);
		// What is refused is refused before a state is opened for work, or made.
		if (verb.check) await reading(globals, async (runtime) => verb.check?.(runtime, given, reyn), verb.at);
		else await assertScript(given as unknown as NewScript);
		// A script verb gives the promise of the end as well, which stays in the process that runs it.
		const begin = async (runtime: Runtime) => (await verb.begin(runtime, given)) as StartedScript;
		return unlessHeld(verb, raw, globals, format, () => runToItsEnd(globals, format, begin, given.run));
	});
}

interface NewScript {
	readonly script: ScriptText;
	readonly args: unknown;
	readonly isolate: boolean;
}

const assertScript = ({ script, args, isolate }: NewScript): Promise<unknown> =>
	checkScript(script, args, { isolate, watchTimeSlice });

async function runToItsEnd(
	globals: Globals,
	format: OutputFormat,
	begin: (runtime: Runtime) => Promise<StartedScript>,
	resumed: unknown,
): Promise<number> {
	const say = (lines: readonly string[]): void => {
		if (format === "text") err.lines(lines);
	};
	const onEvent = (event: RuntimeEvent): void => {
		if (format === "stream-json") stream(event);
		else if (format === "json") printSpace(event);
		// On a terminal it is asked there.
		else if (event.type !== "question" || !process.stdin.isTTY) say(eventLines(event));
	};
	// All else that is unfinished stays as it is.
	const begunWith = ({ scripts }: Runtime) =>
		scripts.list().flatMap(({ run, model }) => (run === resumed ? [model] : []));
	const runtime = await openToAsk(globals, { onEvent, ...(await askingHere(globals)) }, begunWith);
	const model = await modelOf(globals);
	// A stop may come before there is a run, or its end.
	const ended: { run?: string; end: ScriptEnd } = {
		end: { status: "stopped", reason: { message: "the process was asked to stop" } },
	};
	const stopped = await untilStopped(runtime, async () => {
		if (format === "stream-json") stream(initLine({ tip: runtime.wal.tip, pid: process.pid, model }));
		const { run, end } = await begin(runtime);
		say([`script run ${run}`]);
		ended.run = run;
		ended.end = await end;
		// What other processes have begun here meanwhile is finished here.
		await runtime.idle();
	});
	const { run, end } = ended;
	const exitCode = stopped ? bySignal[stopped.by] : exitCodeOfEnd(end);
	const { meter } = runtime;
	const summary = { run, ...end, tip: runtime.wal.durableTip, meter, exitCode };
	if (format === "stream-json") stream({ type: "result", ...summary });
	else if (format === "json") out.json(summary);
	else {
		if (end.status === "completed" && end.result !== undefined) out.text(scriptResultText(end.result));
		if (run === undefined) say(["stopped before it began"]);
		else if (end.status !== "completed" && stopped) say([stoppedLine(stopped, reyn`script resume ${run}`)]);
		else say(scriptEndLines(run, end, reyn));
		say([meterLine(meter)]);
	}
	return exitCode;
}

const stream = (line: unknown): void => void out.json(line);
