/** Asks the process that has the log to carry a verb out. */
import { createConnection, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { codeOf, randomIds } from "@reyn/wal";
import { OperatorError } from "../errors.ts";
import { atAddress, hasSockets, ownSocket } from "./address.ts";
import { Frames, frameOf } from "./frames.ts";
import { answer, hello, type Request } from "./protocol.ts";

/** A holder that does not even say who it is within this time is none. */
const HELLO_MS = 5_000;

export type Called =
	| { readonly kind: "done"; readonly done: Readonly<Record<string, unknown>>; readonly pid: number }
	/** It was carried out, and refused: nothing was changed by it. */
	| {
			readonly kind: "refused";
			readonly error: {
				readonly code: string;
				readonly message: string;
				readonly detail: Readonly<Record<string, unknown>>;
			};
	  }
	/** Nobody listens. */
	| { readonly kind: "nobody" }
	/** It was asked, and its answer did not come: whether it was done is not known. */
	| { readonly kind: "lost" };

/**
 * @param log the id of the log that the caller has looked at
 * @throws OperatorError `OPERATOR_HOLDER` where what listens is not to be trusted, has another log, or speaks another version
 */
export async function callHolder(directory: string, log: string, asked: Omit<Request, "id">): Promise<Called> {
	if (!hasSockets || !ownSocket(directory)) return { kind: "nobody" };
	const id = randomIds.hex(8);
	const socket = atAddress(directory, (path) => createConnection(path));
	let isAsked = false;
	try {
		const messages = messagesOf(socket);
		const greeting = await within(socket, messages.next());
		if (greeting.done) return { kind: "nobody" };
		const { success, data } = hello.safeParse(greeting.value);
		if (!success)
			throw new OperatorError(
				"OPERATOR_HOLDER",
				"the process that has the log speaks another version: act there, or stop it first",
			);
		if (data.log !== log)
			throw new OperatorError(
				"OPERATOR_HOLDER",
				`what listens there has another log (${data.log}); nothing was asked of it`,
			);
		isAsked = true;
		socket.write(frameOf({ id, ...asked }));
		for await (const message of messages) {
			const said = answer.safeParse(message);
			if (!said.success || said.data.id !== id) break;
			return "done" in said.data
				? { kind: "done", done: said.data.done, pid: data.pid }
				: { kind: "refused", error: said.data.error };
		}
		return { kind: "lost" };
	} catch (error) {
		if (error instanceof OperatorError) throw error;
		return { kind: isAsked ? "lost" : "nobody" };
	} finally {
		socket.destroy();
	}
}

/**
 * The process that has the log and hears others.
 *
 * @param log the id of the log
 * @returns undefined: nobody has it, or who has it hears nobody
 */
export async function holderOf(directory: string, log: string): Promise<number | undefined> {
	let socket: Socket | undefined;
	try {
		if (!hasSockets || !ownSocket(directory)) return undefined;
		socket = atAddress(directory, (path) => createConnection(path));
		const { value } = await within(socket, messagesOf(socket).next());
		const said = hello.safeParse(value);
		return said.success && said.data.log === log ? said.data.pid : undefined;
	} catch {
		// What is not to be trusted is nobody: whoever acts there is told why not.
		return undefined;
	} finally {
		socket?.destroy();
	}
}

/** A caller that says nothing is left after a while: who only waits for the end calls again. */
const AGAIN_MS = 500;

/**
 * Resolves when no process has the log any more that hears others, or with the signal.
 *
 * @throws OperatorError `OPERATOR_HOLDER` where what listens is not to be trusted
 */
export async function whenGone(directory: string, signal: AbortSignal): Promise<void> {
	while (!signal.aborted && hasSockets && ownSocket(directory)) {
		const socket = atAddress(directory, (path) => createConnection({ path, signal }));
		const { promise: closed, resolve } = Promise.withResolvers<void>();
		let isGone = false;
		socket.on("error", (error) => {
			isGone = codeOf(error) === "ECONNREFUSED" || codeOf(error) === "ENOENT";
		});
		socket.on("close", () => resolve());
		socket.resume();
		await closed;
		if (isGone) return;
		await pause(AGAIN_MS, undefined, { signal }).catch(() => {});
	}
}

async function* messagesOf(socket: Socket): AsyncGenerator<unknown> {
	const frames = new Frames();
	for await (const piece of socket) yield* frames.take(piece as Buffer);
}

/** Gives up the socket, and with it what is waited for, when nothing comes. */
async function within<T>(socket: Socket, waited: Promise<T>): Promise<T> {
	socket.setTimeout(HELLO_MS, () => socket.destroy(new Error("nobody says anything there")));
	try {
		return await waited;
	} finally {
		socket.setTimeout(0);
	}
}
