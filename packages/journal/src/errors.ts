/**
 * The errors of this package, and what is kept and judged of whatever a call has thrown: its reason, whether it is final,
 * whether the connection dropped.
 */
import { codeOf, ReynError, type Seq } from "@reyn/wal";
import type { z } from "zod";

export type JournalCode =
	| "AGENT_ANSWER"
	| "AGENT_TURNS"
	| "CALL_IN_DOUBT"
	| "CALL_CHANGED"
	| "CALL_HELD"
	| "CALL_WAITING"
	| "CONCURRENT_LANE"
	| "DETERMINISM"
	| "FILE_LOST"
	| "FILE_REFUSED"
	| "LOG_NOT_FOLDED"
	| "MODEL_ANSWER"
	| "MODEL_CUT"
	| "MODEL_UNAVAILABLE"
	| "MODEL_WINDOW"
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

/** Thrown when a program asks for something else than is recorded. */
export class ReplayDivergenceError extends JournalError {
	readonly expected: string;
	readonly got: string;
	/** The seq of the expected record; undefined when there is none, or no single one. */
	readonly seq: Seq | undefined;
	/** The lane, with the position in it. */
	readonly path: string;

	constructor({ expected, got, seq, path }: Divergence, advice: string) {
		const where = seq === undefined ? path : `${path}, #${seq}`;
		super(
			"REPLAY_DIVERGENCE",
			`the program does not do what is recorded: at ${where} expected ${expected}; got ${got}. ${advice}`,
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

/** Throw it from a call that no further try can help: it is not retried, whatever its step's `retry` says. */
export class NonRetryableError extends JournalError {
	constructor(message: string, detail: Readonly<Record<string, unknown>> = {}, options?: ErrorOptions) {
		super("NON_RETRYABLE", message, detail, options);
	}
}

/** Why a step failed, as the log keeps it: the caller sees just this of the error, now and in every replay. */
export interface Reason {
	readonly message: string;
	readonly code?: string | number | undefined;
	/** The error's `name`, where that is not `Error`. */
	readonly name?: string | undefined;
	/** The error's `detail`: JSON of up to 32 KiB. */
	readonly detail?: unknown;
	/** The call was made, but its result cannot be recorded: it is not made again. */
	readonly made?: true | undefined;
	/** The gate has denied it for now: see {@link Verdict}. */
	readonly forNow?: true | undefined;
}

export function reasonOf(error: unknown): Reason & { readonly code?: string | undefined } {
	const { message, code } = asError(error);
	return { message: String(message), ...(typeof code === "string" ? { code } : {}) };
}

/** The fields of a thrown value that are read anywhere. */
const looked = ["message", "code", "name", "detail", "cause", "retryable", "retryAfterMs"] as const;

/** The thrown value itself; or, when reading it throws (a getter, a Proxy), an error made of the fields that can be read. */
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

/** A thrown value as an error: a provider's client may throw anything, and its `code` and `retryable` still count. */
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

/** The issues of a schema as one text: each field by its path. */
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

/** Was a connection refused or broken? The code of the error, or of one of its causes, says so. */
export function isDropped(error: unknown): boolean {
	for (let [each, depth] = [error, 0]; each instanceof Object && depth < MAX_CAUSES; each = causeOf(each), depth++) {
		if (dropped.includes(String(codeOf(each)))) return true;
		// A bare "fetch failed" without a cause counts as dropped; other reasons, such as a bad certificate, come as the cause.
		if (each instanceof TypeError && each.message === "fetch failed" && causeOf(each) === undefined) return true;
	}
	return false;
}

const causeOf = (error: object): unknown => (error as { cause?: unknown }).cause;

/** How many causes are followed: a chain of causes may lead back to its error. */
const MAX_CAUSES = 8;

/** Codes of a dropped connection: of the system, of DNS, and of undici, the client behind `fetch`. */
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
