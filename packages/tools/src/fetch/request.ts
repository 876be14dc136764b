/** One request for a page: its redirects are followed here, and each host on the way is looked at. */

import type { IncomingMessage } from "node:http";
import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { isIP } from "node:net";
import type { Readable } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { ToolError } from "../errors.ts";
import { closedTo, guardedLookup, isPublic } from "./address.ts";

export interface Asked {
	/** May this address be asked? Default: those of the public internet. */
	readonly isAllowed?: ((address: string) => boolean) | undefined;
	readonly lookup?: Parameters<typeof guardedLookup>[1];
	/** May this host be asked, to which another one leads? */
	mayFollow(host: string): boolean;
	readonly timeoutMs: number;
	readonly maxBytes: number;
	readonly signal: AbortSignal;
}

export interface Page {
	readonly url: URL;
	readonly status: number;
	/** As the server says: `text/html; charset=utf-8`. */
	readonly type: string;
	readonly bytes: Buffer;
	/** Was there more? */
	readonly isCut: boolean;
}

const MOST_REDIRECTS = 5;

/** @throws ToolError `TOOL_CLOSED_ADDRESS`, `TOOL_UNREACHABLE`; the signal's reason */
export async function getPage(given: URL, asked: Asked): Promise<Page> {
	const limit = AbortSignal.timeout(asked.timeoutMs);
	const signal = AbortSignal.any([asked.signal, limit]);
	let url = given;
	for (let left = MOST_REDIRECTS; ; left--) {
		try {
			const response = await answerOf(url, asked, signal);
			const { statusCode: status = 0, headers } = response;
			const next = [301, 302, 303, 307, 308].includes(status) ? headers.location : undefined;
			if (next === undefined) {
				const { bytes, isCut } = await bodyOf(response, asked.maxBytes, signal);
				return { url, status, type: headers["content-type"] ?? "", bytes, isCut };
			}
			response.destroy();
			if (left === 0)
				throw new ToolError("TOOL_UNREACHABLE", `${given.href} leads on more than ${MOST_REDIRECTS} times`);
			url = followed(next, url, asked);
		} catch (error) {
			asked.signal.throwIfAborted();
			if (error instanceof ToolError) throw error;
			const why = limit.aborted ? `no answer within ${asked.timeoutMs / 1000} s` : (error as Error).message;
			throw new ToolError("TOOL_UNREACHABLE", `${url.href} cannot be fetched: ${why}`, {}, { cause: error });
		}
	}
}

function followed(to: string, from: URL, { mayFollow }: Asked): URL {
	const url = URL.parse(to, from.href);
	if (!url || !isWeb(url))
		throw new ToolError("TOOL_UNREACHABLE", `${from.href} leads to what is no page: ${to.slice(0, 200)}`);
	if (from.protocol === "https:" && url.protocol === "http:")
		throw new ToolError(
			"TOOL_UNREACHABLE",
			`${from.href} leads to a page that anybody on the way can change: ${url.href}`,
		);
	if (!mayFollow(url.host))
		throw new ToolError(
			"TOOL_UNREACHABLE",
			`${from.href} leads to another host: ${url.href}. Fetch that, if you want it`,
		);
	return url;
}

export const isWeb = ({ protocol, username, password }: URL): boolean =>
	(protocol === "http:" || protocol === "https:") && username === "" && password === "";

function answerOf(url: URL, { isAllowed = isPublic, lookup }: Asked, signal: AbortSignal): Promise<IncomingMessage> {
	const host = url.hostname.replace(/^\[|\]$/g, "");
	// An address is not looked up, so it is looked at here.
	if (isIP(host) !== 0 && !isAllowed(host)) return Promise.reject(closedTo(url.host, host));
	const request = url.protocol === "https:" ? requestHttps : requestHttp;
	const headers = {
		"user-agent": "reyn",
		accept: "text/html, text/*;q=0.9, application/json;q=0.8, */*;q=0.1",
		"accept-encoding": "gzip, br, deflate",
	};
	return new Promise((resolve, reject) => {
		request(
			url,
			{ signal, headers, agent: false, lookup: guardedLookup(isAllowed, lookup), maxHeaderSize: 32 * 1024 },
			resolve,
		)
			.on("error", reject)
			.end();
	});
}

/** The body as it was before it was packed, up to a size. */
async function bodyOf(
	response: IncomingMessage,
	maxBytes: number,
	signal: AbortSignal,
): Promise<Pick<Page, "bytes" | "isCut">> {
	const body: Readable = unpacked(response);
	const pieces: Buffer[] = [];
	let size = 0;
	const stop = (): void => void body.destroy(signal.reason as Error);
	signal.addEventListener("abort", stop, { once: true });
	try {
		for await (const piece of body as AsyncIterable<Buffer>) {
			pieces.push(piece.subarray(0, maxBytes - size));
			size += piece.length;
			// What comes behind is not even unpacked.
			if (size > maxBytes) break;
		}
	} finally {
		signal.removeEventListener("abort", stop);
		response.destroy();
	}
	return { bytes: Buffer.concat(pieces), isCut: size > maxBytes };
}

function unpacked(response: IncomingMessage): Readable {
	const how = response.headers["content-encoding"]?.trim().toLowerCase() ?? "identity";
	const unpack = { gzip: createGunzip, "x-gzip": createGunzip, br: createBrotliDecompress, deflate: createInflate }[
		how
	];
	if (unpack) {
		const out = unpack();
		response.on("error", (error) => out.destroy(error));
		return response.pipe(out);
	}
	if (how === "identity" || how === "") return response;
	throw new ToolError("TOOL_UNREACHABLE", `the answer is packed in a way that is not known here: ${how.slice(0, 40)}`);
}
