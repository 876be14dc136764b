/** Tells a page what happens, as long as it listens: a line of JSON whenever the log has moved, when it waits, and for pieces of an answer; one for several where it is slow. */
import type { ServerResponse } from "node:http";
import type { Timers } from "@reyn/wal";
import { guards } from "./answers.ts";
import type { Reader } from "./reader.ts";
import type { Said, Told } from "./said.ts";
import type { Wait, Waiting } from "./waiting.ts";

/** So that a page knows that the server is there. */
const BEAT_MS = 10_000;

interface Sources {
	readonly reader: Reader;
	readonly said: Said;
	readonly waiting: Waiting;
	readonly timers: Timers;
}

/** Ends with the signal. @throws what the reader throws before the first line */
export async function streamTips(
	response: ServerResponse,
	{ reader, said, waiting, timers }: Sources,
	signal: AbortSignal,
): Promise<void> {
	let told = -1;
	let tip = -1;
	let waits: Wait | undefined;
	const pieces: Told = new Map();
	const write = (line: object): void => {
		if (!response.writableEnded && !response.destroyed) response.write(`${JSON.stringify(line)}\n`);
	};
	const tell = (): void => {
		// A page that does not read gets what is newest when it does.
		if (tip < 0 || response.writableNeedDrain || signal.aborted) return;
		for (const piece of said.since(pieces)) write(piece);
		// What it waits for is in the state, which a page asks for then.
		if (waits !== waiting.now) {
			waits = waiting.now;
			write({ waits: waits !== undefined });
		}
		if (tip === told) return;
		told = tip;
		write({ tip });
	};
	response.on("drain", tell);
	using _said = { [Symbol.dispose]: said.listen(tell) };
	using _waiting = { [Symbol.dispose]: waiting.listen(tell) };
	for await (const seq of reader.tips(signal)) {
		if (!response.headersSent) {
			response.writeHead(200, { ...guards, "content-type": "application/x-ndjson; charset=utf-8" });
			beats(timers, signal, () => !response.writableNeedDrain && write({ beat: true }));
		}
		tip = seq;
		// What is durable together is told at once.
		setImmediate(tell);
	}
	tell();
	response.end();
}

function beats(timers: Timers, signal: AbortSignal, beat: () => void): void {
	const next = (): (() => void) =>
		timers.after(
			BEAT_MS,
			() => {
				beat();
				cancel = next();
			},
			false,
		);
	let cancel = next();
	signal.addEventListener("abort", () => cancel(), { once: true });
}
