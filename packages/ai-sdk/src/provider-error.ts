/** Says of what a provider threw whether the same call may succeed later, and when; of its request nothing is told on, as that may hold a key. */
import { z } from "zod";

const text = z.string().optional().catch(undefined);

/** An error of the AI SDK, of a provider's stream, or of the network; all of it optional, since all of it is another's. */
const thrownSchema = z.looseObject({
	message: text,
	statusCode: z.number().optional().catch(undefined),
	isRetryable: z.boolean().optional().catch(undefined),
	responseHeaders: z.record(z.string(), z.string()).optional().catch(undefined),
	responseBody: text,
	type: text,
	code: text,
});

/** An account without money stays so, though its status says otherwise. */
const IS_EMPTY = /insufficient_quota|credit balance|billing|exceeded your current quota/i;
const MAY_PASS = /overloaded|rate.?limit|too many requests|timeout|unavailable|server_error|api_error|internal/i;
const IS_FINAL = /invalid_request|authentication|permission|not_found/i;
/** Conflict, timeout, too many requests, and whatever is the server's own fault. */
const mayPass = (status: number): boolean => [408, 409, 425, 429].includes(status) || status >= 500;

/** @param now in milliseconds since 1970 */
export function providerError(thrown: unknown, now: number): Error {
	const { message, statusCode, responseHeaders = {}, ...error } = read(thrown);
	const inner = read(inside(thrown));
	const said = [message, inner.message, error.responseBody, error.type, inner.type, error.code, inner.code].join("\n");
	const delayMs = delayIn(error.responseBody);
	// Google says of a rate limit that a quota is exceeded, and when it no longer is.
	const retryable = delayMs !== undefined || isRetryable(said, statusCode, error.isRetryable);
	const retryAfterMs = retryable ? (retryAfter(responseHeaders, now) ?? delayMs) : undefined;
	const code = causeCode(thrown);
	const what = message ?? inner.message ?? inner.type ?? "it failed, and did not say why";
	return Object.assign(new Error(statusCode === undefined ? what : `${statusCode}: ${what}`), {
		retryable,
		...(retryAfterMs === undefined ? {} : { retryAfterMs }),
		...(code === undefined ? {} : { code }),
	});
}

/** `{ "@type": "…google.rpc.RetryInfo", "retryDelay": "36s" }` in a body, in milliseconds. */
function delayIn(body = ""): number | undefined {
	const [, seconds] = /"retryDelay":\s*"(\d+(?:\.\d+)?)s"/.exec(body) ?? [];
	return seconds === undefined ? undefined : Number(seconds) * 1000;
}

function isRetryable(said: string, status: number | undefined, says: boolean | undefined): boolean {
	if (IS_EMPTY.test(said)) return false;
	if (status !== undefined && status >= 400) return mayPass(status);
	if (MAY_PASS.test(said)) return true;
	// In the middle of a stream nothing else is known, and what broke off may come whole.
	return says ?? !IS_FINAL.test(said);
}

const read = (thrown: unknown): z.infer<typeof thrownSchema> => {
	if (typeof thrown === "string") return { message: thrown };
	const found = thrownSchema.safeParse(thrown instanceof Error ? { ...thrown, message: thrown.message } : thrown);
	return found.success ? found.data : {};
};

/** Where a provider's own words are: `{ error: { type, message } }`, as the body of an answer or as an event of a stream. */
function inside(thrown: unknown): unknown {
	const { error, data } = (typeof thrown === "object" && thrown !== null ? thrown : {}) as Record<string, unknown>;
	return error ?? (data as { error?: unknown } | undefined)?.error;
}

/** What the network said: `ECONNREFUSED`. */
function causeCode(thrown: unknown): string | undefined {
	for (let at: unknown = thrown, deep = 0; at instanceof Error && deep < 5; at = at.cause, deep++) {
		const { code } = at as { code?: unknown };
		if (typeof code === "string") return code;
	}
	return undefined;
}

function retryAfter(headers: Readonly<Record<string, string>>, now: number): number | undefined {
	const ms = Number(headers["retry-after-ms"] ?? Number.NaN);
	if (ms >= 0) return ms;
	const after = headers["retry-after"];
	if (after === undefined) return undefined;
	const seconds = Number(after);
	if (seconds >= 0) return seconds * 1000;
	const until = Date.parse(after) - now;
	return Number.isNaN(until) ? undefined : Math.max(0, until);
}
