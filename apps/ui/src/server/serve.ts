/** Serves the page on this machine alone, to whoever has its address. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { RuntimeEvent } from "@reyn/runtime";
import { type Clock, systemClock, systemTimers, type Timers } from "@reyn/wal";
import { answer, answerError, answerJson, guards } from "./answers.ts";
import { Api, isOpen } from "./api.ts";
import { readBody } from "./body.ts";
import { UiError } from "./errors.ts";
import { type PageFile, pageFiles } from "./files.ts";
import { headersOf, refusal } from "./guard.ts";
import { Keys } from "./keys.ts";
import { Reader } from "./reader.ts";
import { Said } from "./said.ts";
import type { Subject } from "./subject.ts";
import { streamTips } from "./tip-stream.ts";
import { Waiting } from "./waiting.ts";

export interface ServeOptions {
	/** Default: one that is free. */
	readonly port?: number;
	readonly clock?: Clock;
	/** Of the beats of a stream. Default: those of the system. */
	readonly timers?: Timers;
}

export interface Served extends AsyncDisposable {
	/** The address for one browser, with a code that is taken once, within a minute. */
	readonly address: string;
	readonly port: number;
	/** Takes the events of a runtime that works in this process: an answer is shown as it comes, and what it waits for. */
	onEvent(event: RuntimeEvent): void;
	close(): Promise<void>;
}

/** A request has to be whole by then. */
const REQUEST_MS = 10_000;

/**
 * Serves the page of a state at 127.0.0.1.
 *
 * @throws UiError `UI_NO_PAGE`; what listening fails with, as `EADDRINUSE`
 */
export async function serve(subject: Subject, options: ServeOptions = {}): Promise<Served> {
	const { port = 0, clock = systemClock, timers = systemTimers } = options;
	const site = new Site(subject, await pageFiles(), new Keys(clock), timers);
	const server = createServer(
		{
			maxHeaderSize: 16 * 1024,
			headersTimeout: REQUEST_MS,
			requestTimeout: REQUEST_MS,
			// Node looks for those that take too long every 30 s otherwise.
			connectionsCheckingInterval: 1000,
			// The guard says so itself.
			requireHostHeader: false,
		},
		(request, response) => void site.answer(request, response, portOf(server)),
	);
	server.maxConnections = 100;
	server.on("clientError", ({ code }: NodeJS.ErrnoException, socket) => {
		// A browser opens some before it needs them, and what it asks for then is not what this was about: it asks again on another one.
		const isUnused = code === "ERR_HTTP_REQUEST_TIMEOUT" && "bytesRead" in socket && socket.bytesRead === 0;
		if (!socket.writable || isUnused) return void socket.destroy();
		const headers = Object.entries(guards).map(([name, value]) => `${name}: ${value}\r\n`);
		socket.end(`HTTP/1.1 400 Bad Request\r\n${headers.join("")}connection: close\r\n\r\n`);
	});
	await listening(server, port);
	const close = async (): Promise<void> => {
		const closed = new Promise<void>((resolve) => void server.close(() => resolve()));
		site.stop();
		server.closeAllConnections();
		await closed;
		await site.close();
	};
	const address = `http://127.0.0.1:${portOf(server)}/#k=${site.code}`;
	const onEvent = (event: RuntimeEvent): void => {
		site.said.take(event);
		site.waiting.take(event);
	};
	return { address, port: portOf(server), onEvent, close, [Symbol.asyncDispose]: close };
}

class Site {
	readonly #files: ReadonlyMap<string, PageFile>;
	readonly #keys: Keys;
	readonly #reader: Reader;
	readonly #api: Api;
	readonly #timers: Timers;
	readonly #stopped = new AbortController();
	readonly said = new Said();
	readonly waiting = new Waiting();

	constructor(subject: Subject, files: ReadonlyMap<string, PageFile>, keys: Keys, timers: Timers) {
		this.#timers = timers;
		this.#files = files;
		this.#keys = keys;
		this.#reader = new Reader(() => subject.open());
		this.#api = new Api(subject, this.#reader, keys, this.waiting);
	}

	get code(): string {
		return this.#keys.code;
	}

	/** Ends what streams. */
	stop(): void {
		this.#stopped.abort(new UiError("UI_CLOSED", "the page is served no longer"));
	}

	close(): Promise<void> {
		return this.#reader.close();
	}

	async answer(request: IncomingMessage, response: ServerResponse, port: number): Promise<void> {
		const gone = new AbortController();
		response.on("close", () => gone.abort(new UiError("UI_CLOSED", "nobody waits for the answer")));
		try {
			const refused = refusal(request, port);
			if (refused) return this.#refuse(response, refused.status, refused.message);
			await this.#route(request, response, AbortSignal.any([gone.signal, this.#stopped.signal]));
		} catch (error) {
			answerError(response, error);
		}
	}

	async #route(request: IncomingMessage, response: ServerResponse, signal: AbortSignal): Promise<void> {
		const { method, url = "" } = request;
		const file = this.#files.get(url);
		if (file && method === "GET") return answer(response, 200, file.type, file.text);
		const isQuestion = this.#api.has(url);
		const isLook = url === "/api/state" || url === "/api/follow";
		if (!isQuestion && !isLook && !file) return this.#refuse(response, 404, "there is no such thing here");
		if ((method === "POST") !== isQuestion) return this.#refuse(response, 405, "not in this way");
		if (!isOpen(url) && !this.#keys.isHeldBy(headersOf(request.rawHeaders, "authorization")))
			throw new UiError("UI_NO_KEY", "this needs the key of the page");
		if (url === "/api/state") return answerJson(response, 200, await this.#api.state(signal));
		if (url === "/api/follow") return this.#follow(response, signal);
		answerJson(response, 200, await this.#api.answer(url, await readBody(request), signal));
	}

	#follow(response: ServerResponse, signal: AbortSignal): Promise<void> {
		const { said, waiting } = this;
		return streamTips(response, { reader: this.#reader, said, waiting, timers: this.#timers }, signal);
	}

	#refuse(response: ServerResponse, status: number, message: string): void {
		const allowed = status === 405 ? { allow: "GET, POST" } : {};
		answer(response, status, "text/plain; charset=utf-8", `${message}\n`, { connection: "close", ...allowed });
	}
}

const portOf = (server: Server): number => (server.address() as AddressInfo).port;

async function listening(server: Server, port: number): Promise<void> {
	const { promise, resolve, reject } = Promise.withResolvers<void>();
	server.once("error", reject);
	server.listen({ port, host: "127.0.0.1", exclusive: true }, resolve);
	await promise;
	server.off("error", reject);
}
