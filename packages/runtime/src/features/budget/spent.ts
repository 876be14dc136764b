/** What was spent, folded from the whole log: what was paid for on a line that was left stays spent. */
import { type Payment, stepCompleted, stepFailed, type Usage } from "@reyn/journal";
import { callKey, callsAround, dayOf, dictOf, emptyDict, getIn, paymentOf, setIn } from "@reyn/journal/internal";
import { defineProjection } from "@reyn/snapshot";
import type { WalRecord } from "@reyn/wal";
import { z } from "zod";
import { budgetExtended } from "./records.ts";

const count = z.int().nonnegative();

const sums = z.object({
	calls: count,
	inputTokens: count,
	outputTokens: count,
	cachedInputTokens: count,
	/** Calls of a model that failed, or that nobody counted: nobody knows what they cost. */
	failed: count,
});

/** What calls of one model have spent together. */
export type Sums = z.infer<typeof sums>;

/** By model: `model openai/gpt-5`. What is no model is summed up by its kind, since names of steps may be without end. */
const tally = z.record(z.string(), sums);
export type Tally = z.infer<typeof tally>;

const day = z.object({
	/** `2026-11-27`, UTC. */
	day: z.string(),
	spent: tally,
	/** By work: `turn/12`. */
	works: dictOf(tally),
	/** The calls inside of which something was paid for: their own usage is the sum of that. */
	around: dictOf(z.literal(true)),
	/** How often calls were refused, by their keys. */
	refused: dictOf(count),
});
type Day = z.infer<typeof day>;

const state = z.object({
	spent: tally,
	/** The newest days on which something was spent, oldest first. */
	days: z.array(day).readonly(),
	/** What people have said a limit is, by its name and what it is of. */
	extended: dictOf(z.number()),
});
export type Spent = z.infer<typeof state>;

/** The code of a call that was refused, since a budget was spent. */
export const SPENT_UP = "BUDGET";

/** What a work has spent before so many days with payments is forgotten: else this state would grow for ever. */
const MOST_DAYS = 32;

const projection = (name: string, level: "process" | "session") =>
	defineProjection<Spent>({
		name,
		version: 1,
		schema: state,
		init: () => ({ spent: {}, days: [], extended: emptyDict }),
		follows: "log",
		level,
		handle: (on) => [
			on(stepCompleted, (now, _, record) => withPayment(now, record, level)),
			on(stepFailed, (now, failed, record) =>
				failed.unmade && failed.reason.code === SPENT_UP
					? withRefusal(now, callKey(failed), record)
					: withPayment(now, record, level),
			),
			on(budgetExtended, (now, { limit, of, to }) => ({
				...now,
				extended: setIn(now.extended, extensionKey(limit, of), to),
			})),
		],
		// What was spent before a collection that did not know of it is in no log.
		mayBeginLate: true,
	});

/** Of all sessions, by day. */
export const spentByDay = projection("spent_by_day", "process");
export const spentInSession = projection("spent_in_session", "session");

export const extensionKey = (limit: string, of?: string): string => (of === undefined ? limit : `${limit} ${of}`);

/** Was something paid for inside this call? What the call itself says then is the sum of that. */
export const isCounted = ({ days }: Spent, call: string): boolean => days.some(({ around }) => getIn(around, call));

/** What a work has spent. */
export const spentOn = ({ days }: Spent, work: string): Tally =>
	days.reduce<Tally>((sum, { works }) => together(sum, getIn(works, work) ?? {}), {});

/** How often a call was refused, by its key. */
export const refusalsOf = ({ days }: Spent, call: string): number =>
	days.reduce((sum, { refused }) => sum + (getIn(refused, call) ?? 0), 0);

export const spentOnDay = ({ days }: Spent, which: string): Tally =>
	days.find((each) => each.day === which)?.spent ?? {};

export const tokensIn = (of: Tally): number =>
	Object.values(of).reduce((sum, { inputTokens, outputTokens }) => sum + inputTokens + outputTokens, 0);

function withPayment(now: Spent, record: WalRecord, level: "process" | "session"): Spent {
	const payment = paymentOf(record, (call) => isCounted(now, call));
	if (!payment) return now;
	const { work } = payment;
	const next = onDayOf(now, record, (today) => {
		let { around } = today;
		for (const call of callsAround(record)) if (!getIn(around, call)) around = setIn(around, call, true);
		const works =
			level === "session" ? setIn(today.works, work, withPaid(getIn(today.works, work) ?? {}, payment)) : today.works;
		return { ...today, spent: withPaid(today.spent, payment), works, around };
	});
	return { ...next, spent: withPaid(now.spent, payment) };
}

const withRefusal = (now: Spent, call: string, record: WalRecord): Spent =>
	onDayOf(now, record, (today) => ({
		...today,
		refused: setIn(today.refused, call, (getIn(today.refused, call) ?? 0) + 1),
	}));

function onDayOf(now: Spent, { ts }: WalRecord, change: (today: Day) => Day): Spent {
	const which = dayOf(ts);
	const known = now.days.find((each) => each.day === which) ?? fresh(which);
	const days = [...now.days.filter((each) => each !== known), change(known)].sort((a, b) => (a.day < b.day ? -1 : 1));
	return { ...now, days: days.slice(-MOST_DAYS) };
}

const fresh = (which: string): Day => ({
	day: which,
	spent: {},
	works: emptyDict,
	around: emptyDict,
	refused: emptyDict,
});

const none: Sums = { calls: 0, inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, failed: 0 };

/** With one more payment; what is recalled is not paid again. */
export function withPaid(to: Tally, { how, kind, name, usage }: Payment): Tally {
	if (how === "recalled") return to;
	return together(to, { [kind === "model" ? `model ${name}` : kind]: usage ? ofOne(usage) : { ...none, failed: 1 } });
}

/** Of one that nobody counted the tokens are the least, and its cost is unknown. */
const ofOne = ({ inputTokens, outputTokens, cachedInputTokens = 0, uncounted }: Usage): Sums => ({
	calls: uncounted ? 0 : 1,
	inputTokens,
	outputTokens,
	cachedInputTokens: Math.min(cachedInputTokens, inputTokens),
	failed: uncounted ? 1 : 0,
});

export function together(a: Tally, b: Tally): Tally {
	const sum = { ...a };
	for (const [key, of] of Object.entries(b)) {
		const before = sum[key] ?? none;
		sum[key] = {
			calls: before.calls + of.calls,
			inputTokens: before.inputTokens + of.inputTokens,
			outputTokens: before.outputTokens + of.outputTokens,
			cachedInputTokens: before.cachedInputTokens + of.cachedInputTokens,
			failed: before.failed + of.failed,
		};
	}
	return sum;
}
