/** What callers give is checked before anything happens: code without type checks may give anything. */
import { inspect } from "node:util";
import type { EngineCaps, LogEngine } from "./engine/engine.ts";
import { WalError } from "./errors.ts";
import { isSeq } from "./record/codec.ts";
import type { AnyRecordKind, Draft, Scope, Seq } from "./record/record.ts";
import type { Follow, OpenWalOptions, Range } from "./wal.ts";

/** @throws WalError `WAL_OUT_OF_RANGE` */
export function assertSeq(name: string, seq: Seq, last: Seq): void {
	if (isSeq(seq) && seq <= last) return;
	const text = `${name} is ${inspect(seq, { depth: 0 })}; expected a seq from 0 to ${last}`;
	throw new WalError("WAL_OUT_OF_RANGE", text, { [name]: seq, last });
}

/** Of a scope that is looked for: older logs may have any name. A part stands only under the part above it. */
function assertScope(scope: Scope): void {
	if (!hasParts(scope, () => true)) throw noScope(scope, "each a string");
}

/** A scope for a new record: each of its names is one, and whole. */
export function checkedScope(scope: Scope): Scope {
	if (!hasParts(scope, isName)) throw noScope(scope, "each a name without half a character");
	const { agent, session, run } = scope;
	if (agent === undefined) return {};
	if (session === undefined) return { agent };
	return run === undefined ? { agent, session } : { agent, session, run };
}

const isName = (part: string): boolean => part !== "" && part.isWellFormed();

function hasParts(scope: unknown, isPart: (part: string) => boolean): boolean {
	if (typeof scope !== "object" || scope === null || Array.isArray(scope)) return false;
	for (const key of Object.keys(scope)) if (key !== "agent" && key !== "session" && key !== "run") return false;
	const { agent, session, run } = scope as Scope;
	if ((session !== undefined && agent === undefined) || (run !== undefined && session === undefined)) return false;
	for (const part of [agent, session, run])
		if (part !== undefined && (typeof part !== "string" || !isPart(part))) return false;
	return true;
}

function noScope(scope: unknown, what: string): WalError {
	const text = `a scope nests agent, session, run, ${what}, and has nothing else; found ${inspect(scope, { depth: 1 })}`;
	return new WalError("WAL_INVALID_RECORD", text, { scope });
}

/** Code without type checks may give anything. */
export function assertDraft(draft: unknown, from = "append takes"): asserts draft is Draft {
	if (typeof (draft as Draft | null | undefined)?.kind === "string") return;
	const found = inspect(draft, { depth: 0 });
	const text = `${from} a draft, { kind, data }, which a kind of \`defineRecord\` makes; found ${found}`;
	throw new WalError("WAL_INVALID_RECORD", text, { found });
}

const rangeOptions: readonly (keyof Range)[] = ["after", "through", "scope", "kinds", "dataOf"];
const followOptions: readonly (keyof Follow)[] = ["after", "scope", "kinds", "signal"];

/** What is looked for: a filter with a mistake in it would give everything. @throws WalError `WAL_OPTIONS`, `WAL_INVALID_RECORD` */
export function assertRange(of: "read" | "follow", range: Partial<Range> & Follow): void {
	assertNames(of, range, of === "read" ? rangeOptions : followOptions);
	const { scope, kinds, dataOf, signal } = range;
	if (scope !== undefined) assertScope(scope);
	if (kinds !== undefined && !isFilter(kinds))
		throw wrong(of, "`kinds`", "{ only } or { except }, with a list of names", kinds);
	if (dataOf !== undefined && typeof dataOf !== "function" && !areNames(dataOf))
		throw wrong(of, "`dataOf`", "a list of kinds, or a function", dataOf);
	if (signal !== undefined && !(signal instanceof AbortSignal)) throw wrong(of, "`signal`", "an AbortSignal", signal);
}

function isFilter(kinds: NonNullable<Range["kinds"]>): boolean {
	const [name = "", ...others] = Object.keys(Object(kinds));
	return others.length === 0 && /^(only|except)$/.test(name) && areNames(Object.values(kinds)[0]);
}

const areNames = (list: unknown): boolean => Array.isArray(list) && list.every((name) => typeof name === "string");

/** The object that a call takes, and nothing in it that it does not know. @throws WalError `WAL_OPTIONS` */
export function assertNames(of: string, options: unknown, names: readonly string[]): void {
	if (typeof options !== "object" || options === null) throw wrong(of, "what is given to it", "an object", options);
	for (const name of Object.keys(options)) {
		if (names.includes(name)) continue;
		const near = nearest(name, names);
		const meant = near === undefined ? `it takes ${names.join(", ") || "none"}` : `did you mean \`${near}\`?`;
		throw new WalError("WAL_OPTIONS", `\`${name}\` is no option of ${of}; ${meant}`, { name, of });
	}
}

/** The name that was meant: the same letters, but for capitals and one or two that are missing or too many. */
function nearest(name: string, names: readonly string[]): string | undefined {
	const isIn = (a: string, b: string): boolean => new RegExp([...lettersOf(a)].join(".*")).test(lettersOf(b));
	return names.find((each) => Math.abs(each.length - name.length) <= 2 && (isIn(name, each) || isIn(each, name)));
}

const lettersOf = (name: string): string => name.toLowerCase().replace(/[^a-z]/g, "");

/** What one option has to be, and whether it is. Each may be left out. */
export type Checks = Readonly<Record<string, readonly [expected: string, isRight: (value: unknown) => boolean]>>;

/** @throws WalError `WAL_OPTIONS` naming the option */
export function assertGiven(of: string, options: unknown, checks: Checks): void {
	assertNames(of, options, Object.keys(checks));
	for (const [name, [expected, isRight]] of Object.entries(checks)) {
		const value = (options as Readonly<Record<string, unknown>>)[name];
		if (value !== undefined && !isRight(value)) throw wrong(of, `\`${name}\``, expected, value);
	}
}

export const wrong = (of: string, name: string, expected: string, value: unknown): WalError => {
	const found = inspect(value, { depth: 0 });
	return new WalError("WAL_OPTIONS", `${name} of ${of} has to be ${expected}; found ${found}`, { name, found });
};

export const isBoolean = (value: unknown): boolean => typeof value === "boolean";
const isFunction = (value: unknown): boolean => typeof value === "function";
export const isPath = (value: unknown): boolean => typeof value === "string" && value !== "" && !value.includes("\0");
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) > 0;
const isSpan = (value: unknown): boolean => Number.isFinite(value) && (value as number) > 0;

/** Something with a call of that name. */
export const having = (call: string): Checks[string] => [
	`something with \`${call}()\``,
	(port) => isFunction(Object(port)[call]),
];

const isKind = (kind: unknown): boolean => {
	const { kind: name, schema } = Object(kind) as Partial<AnyRecordKind>;
	return typeof name === "string" && isName(name) && isFunction(schema?.["~standard"]?.validate);
};

const openOptions: Record<keyof OpenWalOptions, Checks[string]> = {
	records: ["a list of kinds that `defineRecord` made", (records) => Array.isArray(records) && records.every(isKind)],
	readOnly: ['true, false or "as recovered"', (value) => isBoolean(value) || value === "as recovered"],
	proven: ["a function", isFunction],
	realm: ["a name without half a character", (realm) => typeof realm === "string" && isName(realm)],
	steal: ["true or false", isBoolean],
	redact: ["a function", isFunction],
	onWait: ["a function", isFunction],
	clock: having("now"),
	ids: having("hex"),
	timers: having("after"),
};

/** @throws WalError `WAL_OPTIONS` */
export function assertOptions(at: unknown, options: unknown): void {
	const engine = at as Partial<LogEngine> | null | undefined;
	if (typeof at === "string" ? !isPath(at) : !isFunction(engine?.log))
		throw wrong("openWal", "the first argument", "the path of a directory, or an engine", at);
	if (typeof at !== "string") assertCaps(engine?.caps);
	const { records } = Object(options) as Partial<OpenWalOptions>;
	if (records === undefined) throw wrong("openWal", "`records`", openOptions.records[0], records);
	assertGiven("openWal", options, openOptions);
}

/** What an engine says of itself decides how it is asked: a wrong number would be a loop without an end. */
function assertCaps(caps: unknown): void {
	const of = "the engine";
	const { maxBatchRecords, maxBatchBytes, maxLineBytes, leaseMs, answerMs } = Object(caps) as Partial<EngineCaps>;
	for (const [name, count] of Object.entries({ maxBatchRecords, maxBatchBytes, maxLineBytes: maxLineBytes ?? 1 }))
		if (!isCount(count)) throw wrong(of, `\`caps.${name}\``, "a whole number above 0", count);
	for (const [name, ms] of Object.entries({ leaseMs, answerMs }))
		if (ms !== undefined && !isSpan(ms)) throw wrong(of, `\`caps.${name}\``, "milliseconds above 0, or undefined", ms);
	if (leaseMs !== undefined && answerMs !== undefined && answerMs >= leaseMs)
		throw wrong(of, "`caps.answerMs`", `less than leaseMs (${leaseMs}), well below a third of it at best`, answerMs);
}
