/** Talks to the server. The token is in this module alone: no storage, no cookie, no address. */
import { signal } from "@preact/signals";
import { type Ask, type Given, nameOf } from "../server/asks.ts";
import type { Look, ServerState } from "./shapes.ts";

/** `opening`: not known yet. `no key`: the link was used up, or the page was reloaded. `gone`: nobody answers. */
export type Connection = "opening" | "no key" | "open" | "gone";

export const connection = signal<Connection>("opening");

/** What the server refused, with its code; or `GONE`: it did not answer. */
export class Refusal extends Error {
	readonly code: string;
	readonly status: number;
	/** What the error says besides its message. Its form is that of its code. */
	readonly detail: unknown;

	constructor(status: number, code: string, message: string, detail?: unknown) {
		super(message);
		this.status = status;
		this.code = code;
		this.detail = detail;
	}
}

let token = "";

/** What a copy of the page answers by itself. undefined: there is a server. */
let copy: ReadonlyMap<string, unknown> | undefined;

/** Takes the answers that lie in this file, if it is a copy. @returns is it one? */
export async function openCopy(): Promise<boolean> {
	const packed = document.getElementById("copy")?.textContent;
	if (packed == null) return false;
	const bytes = Uint8Array.from(atob(packed.trim()), (letter) => letter.charCodeAt(0));
	const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
	copy = new Map(Object.entries(JSON.parse(await new Response(unpacked).text())));
	return true;
}

export const isCopy = (): boolean => copy !== undefined;

/** Trades the code of the link for a token. The code counts once. */
export async function openSession(code: string): Promise<void> {
	const found = await call<{ token: string }>("/api/session", { body: { code } });
	token = found.token;
}

export const readState = (signal?: AbortSignal) => call<ServerState>("/api/state", { signal });

export async function read<T>(verb: string, given: Given = {}, signal?: AbortSignal): Promise<T> {
	return (await call<{ document: T }>("/api/read", { body: { verb, given }, signal })).document;
}

/** What a verb that reads finds, as lines for people. */
export const readLines = async (verb: string, given: Given = {}): Promise<readonly string[]> =>
	(await call<{ lines: readonly string[] }>("/api/read", { body: { verb, given } })).lines;

export const look = (verb: string, given: Given, signal?: AbortSignal) =>
	call<Look>("/api/look", { body: { verb, given }, signal });

export const begin = (verb: string, given: Given) =>
	call<{ lines: readonly string[] }>("/api/begin", { body: { verb, given } });

export const act = (seen: unknown) => call<{ lines: readonly string[] }>("/api/act", { body: { seen } });

/** A code for the address of one more tab. */
export const codeForTab = async (): Promise<string> => (await call<{ code: string }>("/api/tab", { body: {} })).code;

/** The stream of tips and pieces, as it comes. */
export async function follow(signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
	const { body } = await send("/api/follow", { signal });
	if (!body) throw new Refusal(0, "GONE", "the server sends nothing");
	return body;
}

interface Asked {
	readonly body?: object | Ask;
	readonly signal?: AbortSignal | undefined;
}

async function call<T>(path: string, asked: Asked): Promise<T> {
	if (copy) return kept<T>(copy, path, asked.body);
	const answer = await send(path, asked);
	try {
		return await answer.json();
	} catch (error) {
		throw lost(error);
	}
}

function kept<T>(copy: ReadonlyMap<string, unknown>, path: string, body: object | undefined): T {
	const asked = nameOf(path, body as Ask | undefined);
	const found = copy.get(asked);
	if (found !== undefined) return found as T;
	throw new Refusal(404, "COPY", `This is a copy, and has no answer to ${asked}. Open the state itself with: reyn ui`);
}

async function send(path: string, { body, signal }: Asked): Promise<Response> {
	const headers = { "Content-Type": "application/json", ...(token !== "" && { Authorization: `Bearer ${token}` }) };
	let answer: Response;
	try {
		answer = await fetch(path, {
			method: body ? "POST" : "GET",
			headers,
			cache: "no-store",
			...(body && { body: JSON.stringify(body) }),
			...(signal && { signal }),
		});
	} catch (error) {
		throw lost(error);
	}
	if (answer.ok) return answer;
	if (answer.status === 401) connection.value = "no key";
	const said = await answer.json().catch(() => undefined);
	const { code = "HTTP", message = `the server answered ${answer.status}`, detail } = said?.error ?? {};
	throw new Refusal(answer.status, code, message, detail);
}

/** What was called off stays that; anything else means that nobody is there. */
function lost(error: unknown): unknown {
	if (isAborted(error)) return error;
	if (connection.value !== "no key") connection.value = "gone";
	return new Refusal(0, "GONE", "the server does not answer");
}

export const isAborted = (error: unknown): boolean => error instanceof DOMException && error.name === "AbortError";
