/** What is to be begun or done while another process has the log: it is so there, and told here. */
import { setTimeout as pause } from "node:timers/promises";
import {
	beginThere,
	type Followed,
	followWork,
	type Places,
	scriptEndLines,
	scriptResultText,
	type WorkVerb,
	whenGone,
} from "@reyn/operator";
import type { Runtime, ScriptEnd } from "@reyn/runtime";
import { codeOf } from "@reyn/wal";
import { type Globals, openForReading, openForWork, reading, stateOf } from "./context.ts";
import { initLine } from "./event-lines.ts";
import { CliError, exitCodeOfEnd } from "./exit-code.ts";
import { bySignal, exitCodes } from "./exit-codes.ts";
import { out } from "./print.ts";
import { untilStopped } from "./stop.ts";
import { reyn } from "./suggest.ts";
import { type OutputFormat, Telling } from "./telling.ts";

/** Where another process has the log, it is begun there, and goes on there. */
export async function unlessHeld(
	verb: WorkVerb,
	raw: Readonly<Record<string, unknown>>,
	globals: Globals,
	format: OutputFormat,
	here: () => Promise<number>,
): Promise<number> {
	try {
		return await here();
	} catch (error) {
		if (codeOf(error) !== "WAL_LOCKED") throw error;
		assertNothingOfHere(globals);
		await using reader = await openForReading(globals);
		const { tip: after } = reader.wal;
		const there = await beginThere(verb, raw, "user", placesOf(globals));
		if (!there) throw error;
		if (verb.isAtOnce) return sayDone(verb, there.begun, format);
		return await tellWorkThere(verb, reader, {
			...there,
			after,
			session: raw.session as string | undefined,
			format,
			state: stateOf(globals),
		});
	}
}

/** What was said of how this process works counts for nothing in another one. @throws CliError `CLI_REFUSED` */
function assertNothingOfHere(globals: Globals): void {
	const given = (["mode", "answers", "plan", "policy"] as const).filter((name) => globals[name] !== undefined);
	if (given.length === 0) return;
	throw new CliError(
		"CLI_REFUSED",
		`another process has the log and would do the work, as it was started; ${given.map((name) => `--${name}`).join(" and ")} would count for nothing, so nothing was begun. Leave it out, or end that process first`,
	);
}

/** What is over once it has begun. Gives the exit code. */
export function sayDone(verb: WorkVerb, begun: object, format: OutputFormat): number {
	if (format === "text") out.lines(verb.lines(begun, reyn));
	else out.json({ ...begun, ...(format === "stream-json" && { type: "result" }), exitCode: exitCodes.ok });
	return exitCodes.ok;
}

interface WorkThere {
	readonly begun: object;
	readonly pid: number;
	/** The tip before it was begun. */
	readonly after: number;
	/** Where it was to be begun; undefined: nobody said. */
	readonly session: string | undefined;
	readonly format: OutputFormat;
	readonly state: string;
}

/** What that process has recorded last is read by then: a reader looks 50 times a second. */
const LAST_MS = 1000;

/** Tells what becomes of it, until it is over, or nobody works on it any more. Gives the exit code. */
async function tellWorkThere(
	verb: WorkVerb,
	reader: Runtime,
	{ begun, pid, after, session, format, state }: WorkThere,
): Promise<number> {
	const telling = new Telling(format);
	let reply = "";
	const tell = async (told: Followed): Promise<void> => {
		if (told.type === "message") return telling.message(told.message);
		if (told.type !== "reply") return telling.event(told);
		reply = told.text;
		if (format === "stream-json") out.json(told);
		if (format === "text") out.text(told.text);
	};
	// A stop may come before any of it.
	const went: { how: "over" | "taken back" | "left" | "asks"; end?: ScriptEnd | undefined } = { how: "left" };
	const stopped = await untilStopped(reader, async (signal) => {
		if (format === "stream-json") out.json(initLine({ tip: after, pid, session, ...begun }));
		telling.say([...verb.lines(begun, reyn), `it works in process ${pid}, which has the log`]);
		const [gone, over] = [new AbortController(), new AbortController()];
		const looking = AbortSignal.any([signal, over.signal]);
		const leave = async (): Promise<void> => {
			await whenGone(state, looking);
			await pause(LAST_MS, undefined, { signal: looking });
			gone.abort();
		};
		// Whoever listens there and is not to be trusted, or a stop, ends no more than this look.
		void leave().catch(() => {});
		const all = followWork(reader, begun, { after, signal: AbortSignal.any([signal, gone.signal]) });
		for (let next = await all.next(); ; next = await all.next()) {
			if (next.done) {
				went.how = next.value;
				break;
			}
			await tell(next.value);
			// Who answers from a shell will answer what is asked next, and is not needed there until then.
			if (next.value.type === "question" && verb.name === "answer") {
				went.how = "asks";
				break;
			}
		}
		over.abort();
		went.end = await scriptEndOf(reader, begun);
	});
	const { how, end } = went;
	const { run = "", from } = begun as { readonly run?: string; readonly from?: { readonly kind: string } };
	const isScript = verb.name.startsWith("script ") || from?.kind === "script";
	const goOn = isScript ? reyn`script resume ${run}` : reyn`resume`;
	let exitCode: number = end ? exitCodeOfEnd(end) : telling.exitCodeWith(reader.questions(), reader.plans());
	if (how !== "over") exitCode = how === "asks" ? exitCodes.refused : exitCodes.failed;
	if (stopped) exitCode = bySignal[stopped.by];
	if (format === "text" && end) {
		if (end.status === "completed" && end.result !== undefined) out.text(scriptResultText(end.result));
		if (how === "over") telling.say(scriptEndLines(run, end, reyn));
	}
	if (how === "taken back") telling.say(["a rewind has taken it back: the rest of it is not made"]);
	else if (how === "asks" && !stopped) telling.say([`it waits for that in process ${pid}`]);
	else if (stopped) telling.say([`it goes on in process ${pid}`]);
	else if (how === "left") telling.say([`process ${pid} has ended before it; go on with: ${goOn}`]);
	const { tip } = reader.wal;
	const { messages, compacted } = telling;
	const given = isScript ? (end ?? { status: "open" }) : { reply, messages, ...(compacted && { compacted }) };
	const document = { ...begun, pid, followed: stopped ? "left" : how, ...given, tip, exitCode };
	if (format === "stream-json") out.json({ type: "result", ...document });
	else if (format === "json") out.json(document);
	return exitCode;
}

/** How a script has ended; undefined: it has not, or it is no script that was begun. */
async function scriptEndOf({ scripts }: Runtime, begun: object): Promise<ScriptEnd | undefined> {
	const { run = "" } = begun as { readonly run?: string };
	const found = scripts.list().find((each) => each.run === run);
	if (found?.status === "completed") return { status: "completed", result: await scripts.result(run) };
	if (found?.status !== "failed") return undefined;
	const { message = "", code, detail } = found.reason ?? {};
	return { status: "failed", reason: { message, ...(code !== undefined && { code }), detail } };
}

export const placesOf = (globals: Globals): Places => ({
	directory: stateOf(globals),
	reading: (use) => reading(globals, use),
	async working(use) {
		await using runtime = await openForWork(globals);
		const done = await use(runtime);
		// What a move has changed of tasks is said before this process ends, since the next one may only read.
		await runtime.tasks.looked();
		return done;
	},
});
