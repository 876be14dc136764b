/** Reads what a page sends: JSON, small, and not deep. */
import type { IncomingMessage } from "node:http";
import { UiError } from "./errors.ts";

const MAX_BYTES = 64 * 1024;
const MAX_DEPTH = 64;

/** @throws UiError `UI_BAD_REQUEST`; what the connection fails with */
export async function readBody(request: IncomingMessage): Promise<unknown> {
	const type = request.headers["content-type"]?.split(";")[0]?.trim().toLowerCase();
	if (type !== "application/json") throw bad("application/json is expected");
	const pieces: Buffer[] = [];
	let bytes = 0;
	for await (const piece of request as AsyncIterable<Buffer>) {
		bytes += piece.length;
		if (bytes > MAX_BYTES) throw bad(`at most ${MAX_BYTES} bytes are expected`);
		pieces.push(piece);
	}
	const text = new TextDecoder("utf-8", { fatal: false }).decode(Buffer.concat(pieces));
	if (depthOf(text) > MAX_DEPTH) throw bad(`at most ${MAX_DEPTH} levels are expected`);
	try {
		return JSON.parse(text);
	} catch {
		throw bad("JSON is expected");
	}
}

const bad = (message: string): UiError => new UiError("UI_BAD_REQUEST", message);

/** How deep the brackets of a JSON text go, before anything is built of it. Those inside strings do not count. */
function depthOf(text: string): number {
	let [depth, deepest] = [0, 0];
	for (const [mark] of text.replace(/"(?:[^"\\]|\\.)*"/gs, "").matchAll(/[[{\]}]/g)) {
		depth += mark === "[" || mark === "{" ? 1 : -1;
		deepest = Math.max(deepest, depth);
	}
	return deepest;
}
