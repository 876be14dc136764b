/** What the history of a state has cost: all that was ever recorded, and what of that lies on lines that were left. */
import { type Cost, type Payment, Payments, type Prices, stepCompleted, stepFailed } from "@reyn/journal";
import { Bill, dayOf, priceFor } from "@reyn/journal/internal";
import type { Runtime } from "@reyn/runtime";
import type { Seq } from "@reyn/wal";

export interface Total {
	readonly calls: number;
	readonly inputTokens: number;
	readonly outputTokens: number;
	/** Of so many calls the tokens are the least, since their provider did not count them. Absent: of none. */
	readonly uncounted?: number;
	/** In dollars, by the prices of the runtime. */
	readonly cost: Cost;
}

/** What payments are put together by: `work` is a turn, a plan, a skill or a script. */
export const groupings = ["model", "work", "session", "day"] as const;

export type Grouping = (typeof groupings)[number];

export interface Costs {
	/** All that was paid for, on whatever line. Of the calls that failed its cost says that it is unknown. */
	readonly paid: Total;
	/** What of that lies on lines that were left. */
	readonly left: Total;
	/** Answers that were taken over from another line, or from before an edit, and not paid for again. */
	readonly recalled: Total;
	/** Calls of a model that failed: nothing says what they cost. */
	readonly failed: number;
}

export interface Spend extends Costs {
	/** The first record that counts: what came before it was taken away, and is not known any more. */
	readonly since: Seq;
	readonly through: Seq;
	/** The dearest first; of days the newest. */
	readonly by: readonly (Costs & { readonly kind: string; readonly name: string })[];
}

/** Reads and adds up what is new since it was asked last: a long log is read once, and only a move makes all be counted again. */
class Ledger {
	readonly #payments = new Payments();
	readonly #found: Payment[] = [];
	readonly #since: Seq;
	#through: Seq;
	/** By what they are put together by. */
	readonly #sums = new Map<Grouping, Sums>();
	/** The newest move when they were counted. */
	#moved = 0;
	#asked: Promise<unknown> = Promise.resolve();

	/** @param since the first record that there is */
	constructor(since: Seq) {
		this.#since = since;
		this.#through = since - 1;
	}

	/** Were records taken away before they were read? Then this is the sum of nothing whole any more. */
	isBehind({ wal }: Runtime): boolean {
		return this.#through < wal.first - 1;
	}

	spend(runtime: Runtime, by: Grouping): Promise<Spend> {
		const spend = this.#asked.then(() => this.#spend(runtime, by));
		this.#asked = spend.catch(() => {});
		return spend;
	}

	async #spend({ wal, timeline, prices }: Runtime, by: Grouping): Promise<Spend> {
		const through = wal.tip;
		await this.#read(through, wal);
		const { lineage } = timeline;
		if (lineage.newest !== this.#moved) this.#sums.clear();
		this.#moved = lineage.newest;
		const sums = this.#sums.get(by) ?? new Sums(by, prices);
		this.#sums.set(by, sums);
		for (const payment of this.#found.slice(sums.counted))
			sums.add(payment, !lineage.isActive({ ...payment, kind: stepCompleted.kind }));
		return { since: this.#since, through, ...sums.spend };
	}

	async #read(through: Seq, wal: Runtime["wal"]): Promise<void> {
		if (this.#through >= through) return;
		for await (const record of wal.read({ after: this.#through, through, kinds: { only: outcomes } })) {
			this.#through = record.seq;
			const payment = this.#payments.take(record);
			if (payment) this.#found.push(payment);
		}
		this.#through = through;
	}
}

const outcomes = [stepCompleted.kind, stepFailed.kind];
const ledgers = new WeakMap<Runtime, Ledger>();

export function readSpend(runtime: Runtime, by: Grouping = "model"): Promise<Spend> {
	const known = ledgers.get(runtime);
	const ledger = known && !known.isBehind(runtime) ? known : new Ledger(runtime.wal.first);
	ledgers.set(runtime, ledger);
	return ledger.spend(runtime, by);
}

export const tokensIn = ({ inputTokens, outputTokens }: Total): number => inputTokens + outputTokens;

class Sums {
	/** How many payments are in it. */
	counted = 0;
	readonly #grouping: Grouping;
	readonly #prices: Prices;
	readonly #all = new Sum();
	readonly #by = new Map<string, { readonly kind: string; readonly name: string; readonly sum: Sum }>();

	constructor(grouping: Grouping, prices: Prices) {
		this.#grouping = grouping;
		this.#prices = prices;
	}

	add(payment: Payment, isLeft: boolean): void {
		const group = groupOf(payment, this.#grouping);
		const key = JSON.stringify(group);
		const own = this.#by.get(key) ?? { ...group, sum: new Sum() };
		this.#by.set(key, own);
		for (const sum of [this.#all, own.sum]) sum.add(payment, isLeft, this.#prices);
		this.counted++;
	}

	/** As it is now: what is added later does not change it. */
	get spend(): Omit<Spend, "since" | "through"> {
		const by = [...this.#by.values()].map(({ kind, name, sum }) => ({ kind, name, ...sum.costs }));
		const dearest = by.sort((a, b) => tokensIn(b.paid) - tokensIn(a.paid));
		return {
			...this.#all.costs,
			by: this.#grouping === "day" ? dearest.sort((a, b) => (a.name < b.name ? 1 : -1)) : dearest,
		};
	}
}

/** What a payment is put together with. */
function groupOf(
	{ kind, name, work, scope: { agent = "", session = "" }, at }: Payment,
	grouping: Grouping,
): { readonly kind: string; readonly name: string } {
	switch (grouping) {
		case "model":
			return { kind, name };
		case "work": {
			const [of = "", ...id] = work.split("/");
			return { kind: of, name: id.join("/") };
		}
		case "session":
			return { kind: "session", name: `${agent}/${session}` };
		case "day":
			return { kind: "day", name: dayOf(at) };
	}
}

class Sum {
	readonly #paid = new Counter();
	readonly #left = new Counter();
	readonly #recalled = new Counter();
	#failed = 0;

	add({ how, kind, name, usage }: Payment, isLeft: boolean, prices: Prices): void {
		const price = priceFor(prices, { kind, name });
		if (how === "unknown" || !usage) {
			this.#failed++;
			this.#paid.bill.add(undefined, price);
			return;
		}
		const counters = how === "recalled" ? [this.#recalled] : isLeft ? [this.#paid, this.#left] : [this.#paid];
		for (const counter of counters) {
			counter.calls++;
			counter.inputTokens += usage.inputTokens;
			counter.outputTokens += usage.outputTokens;
			if (usage.uncounted) counter.uncounted++;
			counter.bill.add(usage, price);
		}
	}

	get costs(): Costs {
		return {
			...{ paid: this.#paid.total, left: this.#left.total, recalled: this.#recalled.total },
			failed: this.#failed,
		};
	}
}

class Counter {
	calls = 0;
	inputTokens = 0;
	outputTokens = 0;
	uncounted = 0;
	readonly bill = new Bill();

	get total(): Total {
		const { calls, inputTokens, outputTokens, uncounted, bill } = this;
		return { calls, inputTokens, outputTokens, ...(uncounted > 0 && { uncounted }), cost: bill.cost };
	}
}
