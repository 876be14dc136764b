/** Listens, in the process that has the log, to other processes of this user: their verbs are carried out here. */
import { lstatSync, rmSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import type { Runtime } from "@reyn/runtime";
import { codeOf, isReynError } from "@reyn/wal";
import { OperatorError } from "../errors.ts";
import { oneLine } from "../text.ts";
import { givenFor } from "../verb.ts";
import { verbs } from "../verbs/index.ts";
import { atAddress, hasSockets, ownSocket, socketIn } from "./address.ts";
import { Frames, frameOf } from "./frames.ts";
import { type Answer, type hello, type Request, request } from "./protocol.ts";

/** How many processes are heard at a time. */
const MOST_CALLERS = 32;

/** A caller that says nothing for so long is left. */
const SILENT_MS = 30_000;

export interface ServeOptions {
	/** Told in a line of each thing that was done for another process, so that whoever works here sees why something has moved. */
	onActed?(what: string, actor: string): void;
}

export interface Holder {
	/** Hears nobody any more, as when the log is closed. What was begun goes on: the runtime waits for it when it is closed. */
	close(): Promise<void>;
}

/**
 * Carries out what other processes of this user ask for, until this one gives the log of the state directory back. An open
 * socket keeps no process alive.
 *
 * @returns undefined on a system that has no such sockets
 * @throws OperatorError `OPERATOR_HOLDER` where something else is in the socket's place
 */
export async function serveVerbs(
	runtime: Runtime,
	directory: string,
	{ onActed }: ServeOptions = {},
): Promise<Holder | undefined> {
	if (!hasSockets) return undefined;
	// Who has the log takes a socket away that somebody has left who had it before.
	if (ownSocket(directory)) rmSync(socketIn(directory));
	/** Of each caller: hears it no more, once what it has asked for is answered. */
	const leaving = new Map<Socket, () => void>();
	const server = createServer((socket) => {
		leaving.set(socket, listen(socket, runtime, onActed));
		socket.once("close", () => void leaving.delete(socket));
	});
	server.maxConnections = MOST_CALLERS;
	server.unref();
	await listening(server, directory);
	const path = socketIn(directory);
	const { ino } = lstatSync(path);
	const leave = (): void => {
		// Whoever has the log by now may have one of their own there already.
		if (lstatSync(path, { throwIfNoEntry: false })?.ino === ino) rmSync(path);
	};
	process.once("exit", leave);
	let closed: Promise<void> | undefined;
	const close = (): Promise<void> => {
		closed ??= new Promise((resolve) => {
			process.off("exit", leave);
			leave();
			for (const leaveCaller of leaving.values()) leaveCaller();
			server.close(() => resolve());
		});
		return closed;
	};
	// Who has given the log back acts for nobody.
	runtime.wal.signal.addEventListener("abort", () => void close(), { once: true });
	return { close };
}

function listening(server: Server, directory: string): Promise<void> {
	return new Promise((resolve, reject) => {
		server.once("error", reject);
		server.once("listening", () => {
			server.off("error", reject);
			// What comes of one caller ends no other.
			server.on("error", () => {});
			resolve();
		});
		atAddress(directory, (path) => {
			// The socket is made within this call: for its owner alone from the first moment on.
			const before = process.umask(0o177);
			try {
				server.listen(path);
			} finally {
				process.umask(before);
			}
		});
	});
}

/** @returns ends it, once what was asked for is answered */
function listen(socket: Socket, runtime: Runtime, onActed: ServeOptions["onActed"]): () => void {
	const frames = new Frames();
	let before: Promise<void> = Promise.resolve();
	const say = (message: object): void => {
		if (socket.writable) socket.write(frameOf(message));
	};
	socket.unref();
	socket.setTimeout(SILENT_MS, () => socket.destroy());
	socket.on("error", () => socket.destroy());
	socket.on("data", (piece: Buffer) => {
		try {
			for (const message of frames.take(piece)) {
				const asked = request.parse(message);
				// One caller's verbs are carried out one after the other.
				before = before.then(async () => {
					// However long it takes: who asked is not silent.
					socket.setTimeout(0);
					const answer = await answerTo(asked, runtime);
					say(answer);
					if ("done" in answer) onActed?.(whatOf(asked), asked.actor);
					socket.setTimeout(SILENT_MS);
				});
			}
		} catch {
			// What is not understood is not answered: nothing that it says can be trusted.
			socket.destroy();
		}
	});
	say({ v: 1, log: runtime.wal.id, pid: process.pid } satisfies typeof hello._output);
	return () => void before.finally(() => socket.destroySoon());
}

/** What was asked for, in a line for people: the words that were given, or the question that was said yes to. */
function whatOf({ verb: name, of }: Request): string {
	const verb = verbs.find((each) => each.name === name);
	if (verb?.access === "work") {
		const words = Object.entries(verb.params).filter(([, { as }]) => as === "word" || as === "text");
		return oneLine([name, ...words.flatMap(([key]) => (typeof of[key] === "string" ? of[key] : []))].join(" "), 200);
	}
	const seen = verb?.access === "write" ? verb.seen.safeParse(of) : undefined;
	const asked = verb?.access === "write" && seen?.success ? verb.question?.(seen.data) : undefined;
	return asked === undefined ? name : asked.replace(/\?$/, "");
}

async function answerTo({ id, verb: name, actor, of }: Request, runtime: Runtime): Promise<Answer> {
	try {
		const verb = verbs.find((each) => each.name === name);
		if (verb?.access !== "write" && verb?.access !== "work")
			throw new OperatorError("OPERATOR_HOLDER", `the process that has the log knows no ${name} to carry out`, {
				verb: name,
			});
		// Parsed, since what is begun may have more that is nothing to tell.
		if (verb.access === "work")
			return { id, done: { ...verb.begun.parse(await verb.begin(runtime, givenFor(verb, of))) } };
		const seen = verb.seen.safeParse(of);
		if (!seen.success)
			throw new OperatorError(
				"OPERATOR_HOLDER",
				`what was seen of ${name} has another form here; both have to be of one version`,
			);
		return { id, done: { ...(await verb.act(runtime, seen.data, actor)) } };
	} catch (error) {
		const { message } = error as Error;
		const detail = isReynError(error) ? error.detail : {};
		return { id, error: { code: codeOf(error) ?? "ERROR", message, detail: { ...detail } } };
	}
}
