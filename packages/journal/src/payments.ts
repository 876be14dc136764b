/** What the calls of a log have cost, told record by record. */
import { type Scope, type Seq, scopeKey, type WalRecord } from "@reyn/wal";
import { innerLane, isInnerName } from "./entry.ts";
import type { Usage } from "./ports.ts";
import { stepCompleted, stepFailed } from "./records.ts";

export interface Payment {
	readonly seq: Seq;
	readonly scope: Scope;
	/** When it was recorded, in milliseconds since 1970. */
	readonly at: number;
	/** The work that it was paid for, as its lane names it: `turn/12`, `plan/p20`. */
	readonly work: string;
	/**
	 * `recalled`: the answer was there, on another line of history or from before an edit, and was not asked for again. `unknown`: a
	 * model's call failed, and nothing says what that cost.
	 */
	readonly how: "paid" | "recalled" | "unknown";
	/** The kind of call: `model`, `step` … */
	readonly kind: string;
	/** The id of the model, or the name of the step. */
	readonly name: string;
	/** Absent: unknown. */
	readonly usage?: Usage;
}

/**
 * Tells payments from the records of a log, in their order. A call whose usage is the sum of its inner calls is none of its own. What
 * a killed process had asked for and not recorded is in no log, and so in no payment.
 */
export class Payments {
	readonly #counted = new Set<string>();

	/** @param record the next one; those of other kinds count for nothing */
	take(record: WalRecord): Payment | undefined {
		const payment = paymentOf(record, (call) => this.#counted.has(call));
		if (payment) for (const call of callsAround(record)) this.#counted.add(call);
		return payment;
	}
}

/**
 * The payment that a record tells of.
 *
 * @param isCounted was something paid for, or recalled, inside this call, as {@link callsAround} names it?
 */
export function paymentOf(record: WalRecord, isCounted: (call: string) => boolean): Payment | undefined {
	const { seq, scope, ts: at } = record;
	if (stepFailed.is(record)) {
		const { kind, name, adopts, forgotten, unmade, lane } = record.data;
		const isCall = kind === "model" && adopts === undefined && !forgotten && !unmade;
		return isCall ? { seq, scope, at, work: workOf(lane), how: "unknown", kind, name } : undefined;
	}
	if (!stepCompleted.is(record) || !record.data.usage) return undefined;
	const { kind, name, lane, usage, adopts } = record.data;
	if (isCounted(nameOf(scope, innerLane(record.data)))) return undefined;
	return { seq, scope, at, work: workOf(lane), how: adopts === undefined ? "paid" : "recalled", kind, name, usage };
}

/** The calls inside of which the call of an outcome was made, each by a name of its own. A failure has none: it has no usage to sum up. */
export function* callsAround(record: WalRecord): Generator<string> {
	if (!stepCompleted.is(record)) return;
	const names = record.data.lane.split("/");
	for (const [at, name] of names.entries())
		if (isInnerName(name)) yield nameOf(record.scope, names.slice(0, at + 1).join("/"));
}

const nameOf = (scope: Scope, lane: string): string => `${scopeKey(scope)} ${lane}`;

/** The work that a lane is of: its first two names. */
export const workOf = (lane: string): string => lane.split("/", 2).join("/");

/** The last moment that a date can be, and the first, but for its sign. */
const LAST = 8.64e15;

/** The day (UTC) of a moment in milliseconds since 1970: `2026-11-27`. A clock may have said anything. */
export const dayOf = (ms: number): string =>
	new Date(Math.max(-LAST, Math.min(LAST, ms))).toISOString().replace(/T.*/, "");
