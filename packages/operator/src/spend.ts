/** What the history of a state has cost: all that was ever recorded, and what of that lies on lines that were left. */
import { type Payment, Payments, stepCompleted, stepFailed } from "@reyn/journal";
import type { Runtime } from "@reyn/runtime";
import type { Seq } from "@reyn/wal";

export interface Total {
	readonly calls: number;
	readonly inputTokens: number;
	readonly outputTokens: number;
}

export interface Costs {
	/** All that was paid for, on whatever line. */
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
	/** The dearest first. */
	readonly by: readonly (Costs & { readonly kind: string; readonly name: string })[];
}

/** Reads and adds up what is new since it was asked last: a long log is read once, and only a move makes all be counted again. */
class Ledger {
	readonly #payments = new Payments();
	readonly #found: Payment[] = [];
	readonly #since: Seq;
	#through: Seq;
	#sums = new Sums();
	/** How many are counted, and after how many moves. */
	#counted = 0;
	#moves = 0;
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

	spend(runtime: Runtime): Promise<Spend> {
		const spend = this.#asked.then(() => this.#spend(runtime));
		this.#asked = spend.catch(() => {});
		return spend;
	}

	async #spend({ wal, timeline }: Runtime): Promise<Spend> {
		const through = wal.tip;
		await this.#read(through, wal);
		const { lineage } = timeline;
		if (lineage.resets.length !== this.#moves)
			[this.#sums, this.#counted, this.#moves] = [new Sums(), 0, lineage.resets.length];
		for (; this.#counted < this.#found.length; this.#counted++) {
			const payment = this.#found[this.#counted] as Payment;
			this.#sums.add(payment, !lineage.isActive({ ...payment, kind: stepCompleted.kind }));
		}
		return { since: this.#since, through, ...this.#sums.spend };
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

export function readSpend(runtime: Runtime): Promise<Spend> {
	const known = ledgers.get(runtime);
	const ledger = known && !known.isBehind(runtime) ? known : new Ledger(runtime.wal.first);
	ledgers.set(runtime, ledger);
	return ledger.spend(runtime);
}

export const tokensIn = ({ inputTokens, outputTokens }: Total): number => inputTokens + outputTokens;

class Sums {
	readonly #all = newCosts();
	readonly #by = new Map<
		string,
		{ readonly kind: string; readonly name: string; readonly costs: ReturnType<typeof newCosts> }
	>();

	add(payment: Payment, isLeft: boolean): void {
		const { kind, name } = payment;
		const key = JSON.stringify([kind, name]);
		const own = this.#by.get(key) ?? { kind, name, costs: newCosts() };
		this.#by.set(key, own);
		for (const costs of [this.#all, own.costs]) addTo(costs, payment, isLeft);
	}

	/** As it is now: what is added later does not change it. */
	get spend(): Omit<Spend, "since" | "through"> {
		const by = [...this.#by.values()].map(({ kind, name, costs }) => ({ kind, name, ...structuredClone(costs) }));
		return { ...structuredClone(this.#all), by: by.sort((a, b) => tokensIn(b.paid) - tokensIn(a.paid)) };
	}
}

const none = () => ({ calls: 0, inputTokens: 0, outputTokens: 0 });
const newCosts = () => ({ paid: none(), left: none(), recalled: none(), failed: 0 });

function addTo(costs: ReturnType<typeof newCosts>, { how, usage }: Payment, isLeft: boolean): void {
	if (how === "unknown" || !usage) {
		costs.failed++;
		return;
	}
	const totals = how === "paid" && isLeft ? [costs.paid, costs.left] : [costs[how]];
	for (const total of totals) {
		total.calls++;
		total.inputTokens += usage.inputTokens;
		total.outputTokens += usage.outputTokens;
	}
}
