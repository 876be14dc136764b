/** Follows the tip of the log, while somebody sees the page: six tabs that hold a stream would use up the browser's connections. */
import { effect, signal } from "@preact/signals";
import { hear } from "./answering.tsx";
import { connection, follow, Refusal } from "./api.ts";
import { refreshHistory, tip } from "./log.ts";
import { refreshState } from "./session.ts";
import type { Piece } from "./shapes.ts";

/** In how many seconds it is tried again; 0: now. */
export const retryIn = signal(0);

/** Why the server, which is there, cannot say how things are: a damaged log. */
export const trouble = signal("");

/** The server beats every 10 s; after this long without one it is gone. */
const SILENCE_MS = 25_000;
const PAUSES = [1, 2, 4, 8];

export function beginLive(): void {
	const isSeen = signal(document.visibilityState === "visible");
	document.addEventListener("visibilitychange", () => {
		isSeen.value = document.visibilityState === "visible";
	});
	effect(() => {
		if (isSeen.value && connection.value !== "no key") start();
		else stop();
	});
}

let running: AbortController | undefined;

function start(): void {
	if (running) return;
	running = new AbortController();
	void run(running.signal);
}

function stop(): void {
	running?.abort();
	running = undefined;
}

async function run(signal: AbortSignal): Promise<void> {
	for (let tries = 0; !signal.aborted; ) {
		try {
			await refreshState();
			await refreshHistory();
			tries = 0;
			trouble.value = "";
			await listen(signal);
			connection.value = "gone";
		} catch (error) {
			const isThere = error instanceof Refusal && error.code !== "GONE";
			trouble.value = isThere ? error.message : "";
			// Who says that is there: each question is answered, or says the same.
			if (connection.value !== "no key" && !signal.aborted) connection.value = isThere ? "open" : "gone";
		}
		if (signal.aborted || connection.value === "no key") return;
		await pause(PAUSES[Math.min(tries++, PAUSES.length - 1)] ?? 8, signal);
	}
}

/** Until the stream ends, or is silent for too long. */
async function listen(signal: AbortSignal): Promise<void> {
	const silence = new AbortController();
	const either = AbortSignal.any([signal, silence.signal]);
	let timer = setTimeout(() => silence.abort(), SILENCE_MS);
	// Something else found nobody there: the stream may not know yet.
	const forget = connection.subscribe((now) => {
		if (now === "gone") silence.abort();
	});
	try {
		const stream = await follow(either);
		const reader = stream.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
		for (let rest = ""; ; ) {
			const { value, done } = await reader.read();
			if (done) return;
			clearTimeout(timer);
			timer = setTimeout(() => silence.abort(), SILENCE_MS);
			const lines = (rest + value).split("\n");
			rest = lines.pop() ?? "";
			const said = lines.filter((line) => line.trim() !== "").map((line): unknown => JSON.parse(line));
			for (const each of said) if (isPiece(each)) hear(each);
			// What is no piece of an answer moved the log, or is a beat: who has the log may be another by now.
			if (said.some((each) => !isPiece(each))) void refreshState().catch(() => {});
			if (said.some(movesTip)) void refreshHistory().catch(() => {});
		}
	} finally {
		forget();
		clearTimeout(timer);
	}
}

const isPiece = (said: unknown): said is Piece => typeof said === "object" && said !== null && "turn" in said;

function movesTip(said: unknown): boolean {
	return typeof said === "object" && said !== null && "tip" in said && said.tip !== tip.peek();
}

async function pause(seconds: number, signal: AbortSignal): Promise<void> {
	for (let left = seconds; left > 0 && !signal.aborted; left--) {
		retryIn.value = left;
		await new Promise((resolve) => setTimeout(resolve, 1000));
	}
	retryIn.value = 0;
}
