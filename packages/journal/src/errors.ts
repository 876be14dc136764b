import { codeOf, ReynError, type Seq } from "@reyn/wal";
import type { z } from "zod";

export type JournalCode =
	| "AGENT_ANSWER"
	| "AGENT_TURNS"
	| "CALL_IN_DOUBT"
	| "CALL_WAITING"
	| "CONCURRENT_LANE"
	| "DETERMINISM"
	| "LOG_NOT_FOLDED"
	| "MODEL_ANSWER"
	| "MODEL_UNAVAILABLE"
	| "NON_RETRYABLE"
	| "REPLAY_DIVERGENCE"
	| "RESULT_LOST"
	| "SCRIPT_ARGS"
	| "SCRIPT_BRANCH_FAILED"
	| "SCRIPT_INVALID"
	| "SCRIPT_ISOLATION"
	| "SCRIPT_LOST"
	| "SCRIPT_NOT_JSON"
	| "SCRIPT_STUCK"
	| "SCRIPT_TIMEOUT"
	| "SCRIPT_UNKNOWN_TOOL"
	| "SCRIPT_WAITING"
	| "STEP_DISCARDED"
	| "STEP_FAILED"
	| "STEP_PURITY"
	| "STEP_TIMEOUT"
	| "STEP_USAGE"
	| "TOOL_ERROR"
	| "TOOL_INVALID_ARGS";

/** An error of this package; each code is a heading in its README. */
export class JournalError extends ReynError<JournalCode> {}

/** A script asks for something else than is recorded. */
export class ReplayDivergenceError extends JournalError {
	readonly expected: string;
	readonly got: string;
	/** The record that was expected; undefined where nothing is recorded, or no one record is meant. */
	readonly seq: Seq | undefined;
	/** The lane, and the position in it. */
	readonly path: string;

	constructor({ expected, got, seq, path }: Divergence, advice: string) {
		const where = seq === undefined ? path : `${path}, #${seq}`;
		super(
			"REPLAY_DIVERGENCE",
			`the script does not do what is recorded: at ${where} expected ${expected}; got ${got}. ${advice}`,
			{ expected, got, seq, path },
		);
		this.expected = expected;
		this.got = got;
		this.seq = seq;
		this.path = path;
	}
}

export interface Divergence {
	readonly expected: string;
	readonly got: string;
	readonly seq: Seq | undefined;
	readonly path: string;
}

/** Thrown by a call that no further try can help, whatever its step's `retry` says. */
export class NonRetryableError extends JournalError {
	constructor(message: string, detail: Readonly<Record<string, unknown>> = {}, options?: ErrorOptions) {
		super("NON_RETRYABLE", message, detail, options);
	}
}

/** Why a step failed, as it is kept in the log: what whoever made the call sees of the error, now and in every replay. */
export interface Reason {
	readonly message: string;
	readonly code?: string | number | undefined;
	/** Of the error's class, where that is not `Error`. */
	readonly name?: string | undefined;
	/** JSON of up to 32 KiB. */
	readonly detail?: unknown;
	/** The call was made to its end, and what it gave cannot be kept: it is not made again. */
	readonly made?: true | undefined;
}

export function reasonOf(error: unknown): Reason & { readonly code?: string | undefined } {
	const { message, code } = asError(error);
	return { message: String(message), ...(typeof code === "string" ? { code } : {}) };
}

/** All that is looked at of what was thrown. */
const looked = ["message", "code", "name", "detail", "cause", "retryable", "retryAfterMs"] as const;

/** What was thrown as it is; where a getter of it throws, or it is a Proxy that does, an error with what can be read. */
export function readable(thrown: unknown): unknown {
	try {
		reasonOf(thrown);
		for (let [each, depth] = [thrown, 0]; each instanceof Object && depth < MAX_CAUSES; each = causeOf(each), depth++)
			for (const name of looked) Reflect.get(each, name);
		return thrown;
	} catch {
		const { message, ...said } = Object.fromEntries(looked.map((name) => [name, read(thrown, name)]));
		const { code, retryable, retryAfterMs } = said;
		const text = typeof message === "string" ? message : "what it threw cannot be read: it throws when it is looked at";
		return Object.assign(new Error(text), { code, retryable, retryAfterMs });
	}
}

function read(from: unknown, name: string): unknown {
	try {
		return (from as Readonly<Record<string, unknown>>)[name];
	} catch {
		return undefined;
	}
}

/** What was thrown, as an error with its text: a provider's client may throw anything, and what it says of itself counts. */
export function asError(thrown: unknown): Error & { readonly code?: unknown } {
	if (thrown instanceof Error) return thrown;
	const said = pick(thrown, "code", "retryable", "retryAfterMs");
	return Object.assign(new Error(textOf(thrown), { cause: thrown }), said);
}

const pick = (from: unknown, ...names: readonly string[]): Readonly<Record<string, unknown>> =>
	Object.fromEntries(
		names.filter((name) => Object.hasOwn(Object(from), name)).map((name) => [name, Object(from)[name]]),
	);

function textOf(thrown: unknown): string {
	if (typeof thrown !== "object" || thrown === null) return String(thrown);
	const { message } = thrown as { message?: unknown };
	if (typeof message === "string") return message;
	try {
		return JSON.stringify(thrown);
	} catch {
		return Object.prototype.toString.call(thrown);
	}
}

/** What does not fit a schema: each field by its path. */
export const issuesOf = ({ issues }: z.ZodError): string =>
	issues.map(({ path, message }) => [path.map(String).join("."), message].filter(Boolean).join(": ")).join("; ");

/** Does an error say that no further try can help? */
export function isFinal(error: unknown): boolean {
	const { code, retryable } = (error ?? {}) as { code?: unknown; retryable?: unknown };
	return code === "NON_RETRYABLE" || retryable === false;
}

/** Throw an error with `retryable: true` to say that trying again may help. */
export function isRetryable(error: unknown): boolean {
	return error instanceof Error && (error as Error & { retryable?: unknown }).retryable === true;
}

/** Was there no connection, or has it broken? An error, or what caused it, says so by its code. */
export function isDropped(error: unknown): boolean {
	for (let [each, depth] = [error, 0]; each instanceof Object && depth < MAX_CAUSES; each = causeOf(each), depth++) {
		if (dropped.includes(String(codeOf(each)))) return true;
		// Of a `fetch` that says nothing more, nothing more is known; a bad certificate, say, is named as the cause.
		if (each instanceof TypeError && each.message === "fetch failed" && causeOf(each) === undefined) return true;
	}
	return false;
}

const causeOf = (error: object): unknown => (error as { cause?: unknown }).cause;

/** A cause may lead back to its error. */
const MAX_CAUSES = 8;

/** Of the system, of the look-up of names, and of the client behind `fetch`. */
const dropped: readonly string[] = [
	"ECONNABORTED",
	"ECONNREFUSED",
	"ECONNRESET",
	"EHOSTUNREACH",
	"ENETDOWN",
	"ENETUNREACH",
	"EPIPE",
	"ETIMEDOUT",
	"EAI_AGAIN",
	"ENOTFOUND",
	"UND_ERR_BODY_TIMEOUT",
	"UND_ERR_CONNECT_TIMEOUT",
	"UND_ERR_HEADERS_TIMEOUT",
	"UND_ERR_SOCKET",
];
