/** What a program sees of a call that failed (the same now and in every replay), and which errors are no outcome of a call. */
import { isDeepStrictEqual } from "node:util";
import { canonicalJson, isReynError } from "@reyn/wal";
import { asError, JournalError, type Reason, reasonOf } from "./errors.ts";
import type { CallKey } from "./records.ts";
import { toJson } from "./results.ts";

/** A detail with more characters of JSON than this is left out. */
const MAX_DETAIL = 32 * 1024;
/** A message with more characters than this is cut: a record holds 8 MiB at most. */
const MAX_MESSAGE = 32 * 1024;

/** How many failed calls the record of a program's end names at most. */
const MAX_CAUSES = 100;

/** What is recorded of an error. @param redact takes secrets out of a text */
export function failureOf(error: unknown, redact: (text: string) => string = (text) => text): Omit<Reason, "made"> {
	const { message } = reasonOf(error);
	const { code } = asError(error);
	const { name, detail } = (error instanceof Error ? error : {}) as { name?: unknown; detail?: unknown };
	const kept = detail === undefined ? undefined : detailOf(detail, redact);
	return {
		message: asKept(redact(message)),
		...(typeof code === "string" ? { code: asKept(redact(code)) } : {}),
		...(typeof code === "number" && Number.isFinite(code) ? { code } : {}),
		...(typeof name === "string" && name !== "Error" ? { name: asKept(redact(name)) } : {}),
		...(kept === undefined ? {} : { detail: kept }),
		...(isForNow(error) ? { forNow: true } : {}),
	};
}

/** A text as the log gives it back: half a character, as a cut leaves one, is U+FFFD there. */
const asKept = (text: string): string =>
	(text.length <= MAX_MESSAGE ? text : `${text.slice(0, MAX_MESSAGE)}… (${text.length} characters)`).toWellFormed();

/** The errors that programs were told, each with its call. Any other error that a call throws comes from beneath it, such as the log. */
const told = new WeakMap<Error, CallKey>();

/** Is this error the failure of a call, made now or recalled? */
export const isFailureOfCall = (error: unknown): boolean => error instanceof Error && told.has(error);

/** Does this error leave a call without an outcome? Then the call has to wait, or a step inside it or around it must not be made. */
const isNoOutcome = (error: unknown): boolean => !isFailureOfCall(error) && isReynError(error, ...noOutcomes);

const noOutcomes = [
	"CALL_HELD",
	"CALL_IN_DOUBT",
	"CALL_WAITING",
	"STEP_DISCARDED",
	"REPLAY_DIVERGENCE",
	"STALE_LINEAGE",
] as const;

/** Refuses steps of a program that has ended: nothing begins any more. Who may still hear of it is told the cause, where there is one. */
export class ProgramEnded extends Error {}

/** Does this error stop the program, even if the program catches it? */
export const isStop = (error: unknown): error is Error => error instanceof ProgramEnded || isNoOutcome(error);

/** Did something beneath the program fail, such as the log, and not the program itself? */
export function isBeneath(error: unknown): boolean {
	if (isNoOutcome(error)) return true;
	const isOfLog = isReynError(error) && error.code.startsWith("WAL_") && error.code !== "WAL_NOT_JSON";
	return isOfLog && !isFailureOfCall(error);
}

/** The errors of calls that were denied for now. */
const forNow = new WeakSet<Error>();

export function asForNow<E extends Error>(error: E): E {
	forNow.add(error);
	return error;
}

const isForNow = (error: unknown): boolean => error instanceof Error && forNow.has(error);

/** A failure that a program was told. */
export interface ToldFailure extends CallKey {
	readonly error: unknown;
}

/** The errors that programs ended by, each with the failures that its program was told last. */
const lastFailures = new WeakMap<Error, readonly ToldFailure[]>();

/** Notes that a program ends by this error. @param last the failures that it was told, and after which it asked for nothing */
export function endsBy(error: unknown, last: readonly ToldFailure[]): void {
	if (error instanceof Error) lastFailures.set(error, last);
}

/**
 * The calls that a program ended by, for the record of its end: those whose failures are in its error, among the causes of it or in an
 * AggregateError; and those whose failures it was told last, since it may have thrown another error in their place.
 */
export function endedBy(error: unknown): { readonly by?: CallKey[] } {
	const by: CallKey[] = [];
	const add = ({ lane, fp, occ }: CallKey): void => {
		const isThere = by.some((each) => each.lane === lane && each.fp === fp && each.occ === occ);
		if (by.length < MAX_CAUSES && !isThere) by.push({ lane, fp, occ });
	};
	for (const each of failuresIn(error)) {
		if (by.length === MAX_CAUSES) break;
		const call = told.get(each);
		if (call) add(call);
	}
	for (const call of lastOf(error)) add(call);
	return by.length > 0 ? { by } : {};
}

/** Did a program end by a call that was denied for now? Then nothing is said of what it was to come to. */
export const endedForNow = (error: unknown): boolean =>
	failuresIn(error).some(isForNow) || lastOf(error).some((last) => isForNow(last.error));

const lastOf = (error: unknown): readonly ToldFailure[] =>
	error instanceof Error ? (lastFailures.get(error) ?? []) : [];

/** An error, and those that are the causes of it or in an AggregateError; of the failure of a call not the causes. */
function failuresIn(error: unknown): readonly Error[] {
	// The loop also visits causes that are added to the set meanwhile.
	const causes = new Set<unknown>([error]);
	for (const each of causes)
		if (each instanceof Error && !told.has(each))
			for (const cause of [each.cause, ...(each instanceof AggregateError ? each.errors : [])]) causes.add(cause);
	return [...causes].filter((each) => each instanceof Error);
}

/**
 * The error to throw for a failure that just happened. It is the error itself if a replay could rebuild all of it from the record;
 * else an error made of the record, so that the program sees the same now and in a replay.
 */
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

/** The error to throw for a recalled failure: message, code, name and detail as recorded. Its cause is a JournalError `STEP_FAILED`. */
export function recalledAs(reason: Reason, call: CallKey & { readonly name: string }): Error {
	const why = `${call.name} failed before, and is not tried again: ${reason.message}`;
	const thrown = errorOf(reason, new JournalError("STEP_FAILED", why, { lane: call.lane, reason }));
	told.set(thrown, call);
	return thrown;
}

function errorOf({ message, code, name, detail, forNow }: Reason, cause: unknown): Error {
	const error = new Error(message, { cause });
	if (forNow) asForNow(error);
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

/** Does the record lack the error's full code or name, since it was too long or is of a type that no record holds? */
const isCut = (error: Error & { readonly code?: unknown }, { code, name = error.name }: Reason): boolean =>
	error.code !== code || (typeof error.name === "string" && error.name !== name);
