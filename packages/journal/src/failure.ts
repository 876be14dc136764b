/** What a program sees of a call that failed: the same when it fails and in every replay. */
import { isDeepStrictEqual } from "node:util";
import { canonicalJson, isReynError } from "@reyn/wal";
import { asError, JournalError, type Reason, reasonOf } from "./errors.ts";
import type { CallKey } from "./records.ts";
import { toJson } from "./results.ts";

/** A larger detail is left out, in characters of JSON. */
const MAX_DETAIL = 32 * 1024;
/** A longer message is cut: a record holds 8 MiB. */
const MAX_MESSAGE = 32 * 1024;

/** More are not named as the causes of an end. */
const MAX_CAUSES = 100;

/** What is recorded of an error. @param redact takes out of a text what must not be written */
export function failureOf(error: unknown, redact: (text: string) => string = (text) => text): Omit<Reason, "made"> {
	const { message } = reasonOf(error);
	const { code } = asError(error);
	const { name, detail } = (error instanceof Error ? error : {}) as { name?: unknown; detail?: unknown };
	const kept = detail === undefined ? undefined : detailOf(detail, redact);
	return {
		message: shortened(redact(message)),
		...(typeof code === "string" ? { code: shortened(redact(code)) } : {}),
		...(typeof code === "number" && Number.isFinite(code) ? { code } : {}),
		...(typeof name === "string" && name !== "Error" ? { name: shortened(redact(name)) } : {}),
		...(kept === undefined ? {} : { detail: kept }),
	};
}

const shortened = (text: string): string =>
	text.length <= MAX_MESSAGE ? text : `${text.slice(0, MAX_MESSAGE)}… (${text.length} characters)`;

/** What programs were told of their calls, and of which; all else that a call throws is a failure of what is beneath it. */
const told = new WeakMap<Error, CallKey>();

/** Is this how a call ended, now or before? */
export const isFailureOfCall = (error: unknown): boolean => error instanceof Error && told.has(error);

/** Does a call that ends so have no outcome? It was stopped by what is around it, or inside it and must not be made. */
export const isNoOutcome = (error: unknown): boolean => !isFailureOfCall(error) && isReynError(error, ...noOutcomes);

const noOutcomes = ["CALL_IN_DOUBT", "CALL_WAITING", "STEP_DISCARDED", "REPLAY_DIVERGENCE", "STALE_LINEAGE"] as const;

/** Nobody is told any more how a call ends, and what waits is not begun. */
export class ProgramEnded extends Error {}

/** Does whoever asked for a call that ends so stop with it, whatever it makes of it? */
export const isStop = (error: unknown): error is Error => error instanceof ProgramEnded || isNoOutcome(error);

/** Is it what is beneath a program that failed, the log above all, and not the program? */
export function isBeneath(error: unknown): boolean {
	if (isNoOutcome(error)) return true;
	const isOfLog = isReynError(error) && error.code.startsWith("WAL_") && error.code !== "WAL_NOT_JSON";
	return isOfLog && !isFailureOfCall(error);
}

/** Of programs that have ended by throwing: the failures that they were told of last. */
const lastFailures = new WeakMap<Error, readonly CallKey[]>();

/** A program ends by this error. @param last the failures that it was told of, and asked for nothing after */
export function endsBy(error: unknown, last: readonly CallKey[]): void {
	if (error instanceof Error) lastFailures.set(error, last);
}

/**
 * Of an error that a program has ended by: the calls whose failures it let through, or wrapped, as the record of that end has them;
 * and those that it was told of last, since it may have thrown another error in their place.
 */
export function endedBy(error: unknown): { readonly by?: CallKey[] } {
	const by: CallKey[] = [];
	const add = ({ lane, fp, occ }: CallKey): void => {
		const isThere = by.some((each) => each.lane === lane && each.fp === fp && each.occ === occ);
		if (by.length < MAX_CAUSES && !isThere) by.push({ lane, fp, occ });
	};
	// A set takes in what is added while it is gone through.
	const causes = new Set<unknown>([error]);
	for (const each of causes) {
		if (by.length === MAX_CAUSES) break;
		if (!(each instanceof Error)) continue;
		const call = told.get(each);
		if (call) add(call);
		else for (const cause of [each.cause, ...(each instanceof AggregateError ? each.errors : [])]) causes.add(cause);
	}
	if (error instanceof Error) for (const call of lastFailures.get(error) ?? []) add(call);
	return by.length > 0 ? { by } : {};
}

/** What is thrown of a failure: the error itself where a replay can say all that it says, else one that says what is recorded. */
export function thrownAs(error: unknown, reason: Reason, call: CallKey): Error {
	const isAll =
		error instanceof Error &&
		error.message === reason.message &&
		canonicalJson(failureOf(error)) === canonicalJson(reason) &&
		isDeepStrictEqual((error as { detail?: unknown }).detail, reason.detail) &&
		!isCut(error, reason);
	const thrown = isAll ? error : errorOf(reason, error);
	told.set(thrown, call);
	return thrown;
}

/** A failure that is recalled, with the message, code, name and detail of the first one; its cause is a JournalError `STEP_FAILED`. */
export function recalledAs(reason: Reason, call: CallKey & { readonly name: string }): Error {
	const why = `${call.name} failed before, and is not tried again: ${reason.message}`;
	const thrown = errorOf(reason, new JournalError("STEP_FAILED", why, { lane: call.lane, reason }));
	told.set(thrown, call);
	return thrown;
}

function errorOf({ message, code, name, detail }: Reason, cause: unknown): Error {
	const error = new Error(message, { cause });
	if (name !== undefined) Object.defineProperty(error, "name", { value: name, configurable: true, writable: true });
	return Object.assign(error, code === undefined ? {} : { code }, detail === undefined ? {} : { detail });
}

function detailOf(detail: unknown, redact: (text: string) => string): unknown {
	try {
		const text = JSON.stringify(toJson(detail, redact).json);
		return text === undefined || text.length > MAX_DETAIL ? undefined : JSON.parse(text);
	} catch {
		return undefined;
	}
}

/** Has a code or a name been shortened, or is it none that a record can have? */
const isCut = (error: Error & { readonly code?: unknown }, { code, name = error.name }: Reason): boolean =>
	error.code !== code || (typeof error.name === "string" && error.name !== name);
