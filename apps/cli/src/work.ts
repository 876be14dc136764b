/** A process that works and ends: `reyn run`, `reyn resume`, `reyn skill run`. */
import type { Runtime, RuntimeEvent } from "@reyn/runtime";
import { Option } from "commander";
import { clean } from "./clean.ts";
import { type Globals, openForWork } from "./context.ts";
import { bySignal, exitCodeOf, exitCodes } from "./exit-code.ts";
import { eventLine, messageText, meterLine, restoredLines, type StreamLine, write } from "./speak.ts";

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
	const stream = (line: StreamLine): Promise<void> => write(process.stdout, `${JSON.stringify(line)}\n`);
	const answers: { from: string; text: string }[] = [];
	let failedSteps = 0;
	let interrupted: string | undefined;
	let streaming = false;

	const say = (line: string): void => {
		if (format === "json") return;
		process.stderr.write(`${line}\n`);
	};
	const onEvent = (event: RuntimeEvent): void => {
		if (event.type === "plan_end") failedSteps += event.failed.length;
		if (event.type === "turn_end" && event.outcome === "interrupted") interrupted = event.reason ?? "interrupted";
		if (format === "stream-json") return void stream(event);
		if (event.type === "text") {
			if (format === "text") process.stdout.write(clean(event.delta));
			streaming = true;
			return;
		}
		if (streaming && format === "text") process.stdout.write("\n");
		streaming = false;
		const line = eventLine(event);
		if (line !== undefined) say(line);
	};

	const runtime = await openForWork(globals, {
		onEvent,
		async onMessage(message) {
			answers.push({ from: message.from, text: message.text });
			if (format === "stream-json") await stream({ type: "message", message });
			if (format === "text") await write(process.stdout, `${messageText(message)}\n`);
		},
	});
	let exitCode: number = exitCodes.ok;
	let stopped: keyof typeof bySignal | undefined;
	for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
		process.once(signal, () => {
			stopped = signal;
			runtime.cancel();
		});
	}
	let failure: { code: string; message: string } | undefined;
	try {
		const restored = runtime.restored();
		if (format === "stream-json") {
			await stream({ type: "init", tip: runtime.wal.tip, pid: process.pid });
			await stream({ type: "restored", restored });
		} else for (const line of restoredLines(restored)) say(line);
		if (restore) runtime.resume();
		await start(runtime);
		await runtime.idle();
		if (failedSteps > 0) exitCode = exitCodes.stepsFailed;
		if (interrupted !== undefined) exitCode = exitCodes.failed;
		if (stopped !== undefined) {
			exitCode = bySignal[stopped];
			if (format !== "stream-json") say("stopped; what is unfinished is kept. Go on with: reyn resume");
		}
	} catch (error) {
		exitCode = exitCodeOf(error);
		failure = { code: String((error as { code?: unknown }).code ?? "ERROR"), message: (error as Error).message };
		if (format !== "stream-json") throw error;
	} finally {
		await runtime.close();
	}
	const { meter } = runtime;
	const { tip } = runtime.wal;
	if (format === "stream-json")
		await stream({ type: "result", tip, meter, exitCode, ...(failure ? { error: failure } : {}) });
	else if (format === "json") {
		const reply = runtime
			.conversation()
			.items.toArray()
			.findLast((item) => item.type === "reply");
		await write(
			process.stdout,
			`${JSON.stringify({ reply: reply?.text ?? "", messages: answers, tip, meter, exitCode })}\n`,
		);
	} else say(meterLine(meter));
	return exitCode;
}
