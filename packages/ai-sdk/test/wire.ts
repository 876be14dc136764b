/** A server on this machine that speaks as a provider does, and is as strict: it refuses what that would refuse. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/** What it says next. */
export interface Reply {
	readonly thinking?: string;
	readonly text?: string;
	readonly calls?: readonly { readonly id: string; readonly name: string; readonly args: string }[];
	readonly finish?: "stop" | "length" | "filter";
	/** So many tokens are counted of the request. Default: 48. */
	readonly reads?: number;
	/** An answer without a stream. */
	readonly refusal?: {
		readonly status: number;
		readonly headers?: Readonly<Record<string, string>>;
		readonly body: object;
	};
	/** The connection is cut before this event. */
	readonly cutAt?: number;
	/** It is cut after the first event, as its own error says. */
	readonly failsAs?: object;
	/** Nothing is said, ever. */
	readonly isSilent?: boolean;
}

export interface Wire extends AsyncDisposable {
	readonly url: string;
	/** The bodies of the requests. */
	readonly asked: Record<string, unknown>[];
	readonly replies: Reply[];
}

export interface Speaker {
	/** Why a request would be refused; undefined: it is as it has to be. */
	wrong(body: Record<string, unknown>): string | undefined;
	/** The events of a whole answer, as lines of server-sent events. */
	events(reply: Reply): readonly string[];
	error(reply: object): string;
}

/** What a provider signs its thinking with. */
export const signatureOf = (thinking: string): string => Buffer.from(`signed: ${thinking}`).toString("base64");

/** A half of a character in a text, which JSON names by its escape. */
const HALF = /(?<!\\ud[89ab][0-9a-f]{2})\\ud[c-f][0-9a-f]{2}|\\ud[89ab][0-9a-f]{2}(?!\\ud[c-f][0-9a-f]{2})/i;

/** About as many tokens as a provider counts of a request. */
export const countedIn = (raw: string): number => Math.ceil(Buffer.byteLength(raw) / 4);

/**
 * @param next what it says to a request; by default the first of `replies`
 * @param most the tokens of the longest request that it reads
 */
export async function openWire(
	speaker: Speaker,
	next?: (body: Readonly<Record<string, unknown>>) => Reply | Promise<Reply>,
	most = Number.POSITIVE_INFINITY,
): Promise<Wire> {
	const asked: Record<string, unknown>[] = [];
	const replies: Reply[] = [];
	const silent = new Set<ServerResponse>();
	const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
		const raw = await text(request);
		const body = JSON.parse(raw);
		asked.push(body);
		const refuse = (status: number, body: object, headers = {}): void => {
			response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
		};
		const counted = countedIn(raw);
		const isLong = counted > most ? `prompt is too long: ${counted} tokens > ${most} maximum` : undefined;
		const wrong = isLong ?? (HALF.test(raw) ? "half a character" : speaker.wrong(body));
		if (wrong !== undefined)
			return refuse(400, {
				type: "error",
				error: { type: "invalid_request_error", code: 400, status: "INVALID_ARGUMENT", message: wrong },
			});
		const reply = (await next?.(body)) ?? replies.shift() ?? { text: "nothing more" };
		if (reply.refusal) return refuse(reply.refusal.status, reply.refusal.body, reply.refusal.headers);
		if (reply.isSilent) return void silent.add(response);
		response.writeHead(200, { "content-type": "text/event-stream" });
		const events = speaker.events(reply);
		for (const [at, event] of events.entries()) {
			if (at === reply.cutAt) return void response.destroy();
			if (at === 1 && reply.failsAs) return void response.end(speaker.error(reply.failsAs));
			response.write(event);
			// What was written is to be read before the connection is cut.
			if (reply.cutAt !== undefined) await new Promise((resolve) => setTimeout(resolve, 2));
		}
		response.end();
	};
	const server = createServer((request, response) => {
		// A request that it cannot even look at.
		answer(request, response).catch((error) => response.writeHead(400).end(String(error)));
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	return {
		...{ asked, replies, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` },
		async [Symbol.asyncDispose]() {
			for (const each of silent) each.destroy();
			server.closeAllConnections();
			await new Promise((resolve) => server.close(resolve));
		},
	};
}
