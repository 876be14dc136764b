/** Who is answered at all: a page that this server gave out, in a browser that came here by its own name. Decisions alone, no effects. */
import type { IncomingMessage } from "node:http";

export type Asked = Pick<IncomingMessage, "httpVersion" | "method" | "url" | "rawHeaders">;

export interface Refusal {
	/** Of HTTP. */
	readonly status: number;
	readonly message: string;
}

/**
 * Decides before anything of a request is used. A name in the `Host` that is not this machine's own is how a page elsewhere would reach
 * this server (DNS rebinding); a foreign `Origin` or `Sec-Fetch-Site` is that page itself. Node joins or drops a header that is sent twice,
 * so the raw ones are read.
 *
 * @param port the one that is listened on
 * @returns undefined: it may be answered
 */
export function refusal({ httpVersion, method, url = "", rawHeaders }: Asked, port: number): Refusal | undefined {
	const hosts = headersOf(rawHeaders, "host");
	if (httpVersion !== "1.1" || hosts.length !== 1)
		return { status: 400, message: "one Host is expected, over HTTP/1.1" };
	const [host = ""] = hosts;
	if (!["127.0.0.1", "localhost", "[::1]"].some((name) => host === `${name}:${port}`))
		return { status: 403, message: "this server answers to its own address alone" };
	if (!/^\/(?!\/)[\x21-\x7e]*$/.test(url)) return { status: 400, message: "a path is expected" };
	const origins = headersOf(rawHeaders, "origin");
	if (origins.length > 1 || (origins.length === 1 && origins[0] !== `http://${host}`))
		return { status: 403, message: "this server answers to its own page alone" };
	const sites = headersOf(rawHeaders, "sec-fetch-site");
	if (sites.length > 1 || (sites.length === 1 && !["same-origin", "none"].includes(sites[0] as string)))
		return { status: 403, message: "this server answers to its own page alone" };
	if (method !== "GET" && method !== "POST") return { status: 405, message: "GET and POST are answered" };
	return undefined;
}

/** All headers of a name, as they were sent. */
export function headersOf(rawHeaders: readonly string[], name: string): readonly string[] {
	return rawHeaders.flatMap((value, i) => (i % 2 === 1 && rawHeaders[i - 1]?.toLowerCase() === name ? [value] : []));
}
