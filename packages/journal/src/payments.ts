/** What the calls of a log have cost, told record by record. */
import { type Scope, type Seq, scopeKey, type WalRecord } from "@reyn/wal";
import { innerLane, isInnerName } from "./entry.ts";
import type { Usage } from "./ports.ts";
import { stepCompleted, stepFailed } from "./records.ts";

export interface Payment {
	readonly seq: Seq;
	readonly scope: Scope;
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
	/** The calls inside of which something was paid for, as the lanes of their inner steps. */
	readonly #counted = new Set<string>();

	/** @param record the next one; those of other kinds count for nothing */
	take(record: WalRecord): Payment | undefined {
		const { seq, scope } = record;
		if (stepFailed.is(record)) {
			const { kind, name, adopts, forgotten } = record.data;
			const isCall = kind === "model" && adopts === undefined && !forgotten;
			return isCall ? { seq, scope, how: "unknown", kind, name } : undefined;
		}
		if (!stepCompleted.is(record) || !record.data.usage) return undefined;
		const { kind, name, lane, usage, adopts } = record.data;
		const within = scopeKey(scope);
		if (this.#counted.has(`${within} ${innerLane(record.data)}`)) return undefined;
		for (const outer of outerLanes(lane)) this.#counted.add(`${within} ${outer}`);
		return { seq, scope, how: adopts === undefined ? "paid" : "recalled", kind, name, usage };
	}
}

/** The lanes of inner steps that a lane is, or lies in. */
function* outerLanes(lane: string): Generator<string> {
	const names = lane.split("/");
	for (const [at, name] of names.entries()) if (isInnerName(name)) yield names.slice(0, at + 1).join("/");
}
