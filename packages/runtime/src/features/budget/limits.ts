/** Which limit of a budget is reached. */
import type { Prices } from "@reyn/journal";
import { Bill, getIn, picodollars, priceFor } from "@reyn/journal/internal";
import type { BudgetOptions } from "./options.ts";
import type { LimitName } from "./records.ts";
import { extensionKey, refusalsOf, type Spent, spentOn, spentOnDay, type Tally, tokensIn } from "./spent.ts";

/** A limit that is reached. Amounts are tokens, or picodollars. */
export interface Reached {
	readonly name: LimitName;
	/** The turn, the plan, or the day; absent: the session. */
	readonly of?: string;
	readonly unit: "tokens" | "usd";
	readonly spent: bigint;
	readonly limit: bigint;
	/** What the budget itself says: by so much it is extended. */
	readonly base: bigint;
	/** What of it is not counted, since nobody knows what it cost. */
	readonly unknown: number;
	/** How often the call was refused before. */
	readonly refused: number;
}

export interface Ledger {
	readonly session: Spent;
	readonly all: Spent;
	/** `turn/12` */
	readonly work: string;
	/** The key of the call that is to be made. */
	readonly call: string;
	/** Today, UTC. */
	readonly day: string;
}

/** The first limit that is reached, from the narrowest on. */
export function reachedOf(
	budget: BudgetOptions,
	{ session, all, work, call, day }: Ledger,
	prices: Prices,
): Reached | undefined {
	const [kind] = work.split("/");
	for (const over of ["turn", "plan", "session", "day"] as const) {
		const { [over]: limits } = budget;
		if (!limits || ((over === "turn" || over === "plan") && over !== kind)) continue;
		const of = over === "session" ? undefined : over === "day" ? day : work;
		const { extended } = over === "day" ? all : session;
		const spent = over === "session" ? session.spent : over === "day" ? spentOnDay(all, day) : spentOn(session, work);
		for (const unit of ["tokens", "usd"] as const) {
			const { [unit]: said } = limits;
			if (said === undefined) continue;
			const name = `${over}_${unit}` as const;
			const base = amountOf(unit, said);
			const to = amountOf(unit, getIn(extended, extensionKey(name, of)) ?? 0);
			const limit = to > base ? to : base;
			const { amount, unknown } = unit === "tokens" ? inTokens(spent) : inMoney(spent, prices);
			if (amount < limit) continue;
			const refused = refusalsOf(session, call);
			return { name, ...(of !== undefined && { of }), unit, spent: amount, limit, base, unknown, refused };
		}
	}
	return undefined;
}

/** @param said tokens, or US dollars */
const amountOf = (unit: "tokens" | "usd", said: number): bigint =>
	unit === "tokens" ? BigInt(Math.ceil(said)) : picodollars(said.toFixed(6));

/** The least number that is said for an amount, or for a little more: dollars to a millionth. */
export const saidFor = (unit: "tokens" | "usd", amount: bigint): number =>
	unit === "tokens" ? Number(amount) : Number((amount + 999_999n) / 1_000_000n) / 1e6;

const inTokens = (spent: Tally) => ({
	amount: BigInt(tokensIn(spent)),
	unknown: Object.values(spent).reduce((sum, { failed }) => sum + failed, 0),
});

function inMoney(spent: Tally, prices: Prices) {
	const bill = billOf(spent, prices);
	return { amount: bill.pico, unknown: bill.cost.unknown };
}

export function billOf(spent: Tally, prices: Prices): Bill {
	const bill = new Bill();
	for (const [key, sums] of Object.entries(spent)) {
		const price = priceFor(prices, nameOf(key));
		if (sums.calls > 0) bill.add(sums, price, sums.calls);
		if (sums.failed > 0) bill.add(undefined, price, sums.failed);
	}
	return bill;
}

/** What is no model has no name in a tally, and no price. */
function nameOf(key: string): { readonly kind: string; readonly name: string } {
	const [kind = "", ...name] = key.split(" ");
	return { kind, name: name.join(" ") };
}
