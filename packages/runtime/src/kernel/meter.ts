/** Counts model calls and tokens: those that a replay saved, and those that were paid for. */
import type { Cost, Prices, StepEvent } from "@reyn/journal";
import { Bill, priceFor } from "@reyn/journal/internal";

/** Model calls and their tokens: what a replay saved, and what this process paid. */
export interface MeterReading {
	readonly replayed: { readonly calls: number; readonly tokens: number };
	readonly paid: { readonly calls: number; readonly tokens: number; readonly cost: Cost };
	/** Replayed tokens of all tokens, 0 to 100; 0 when there were none. */
	readonly percentFree: number;
}

export class Meter {
	#replayed = { calls: 0, tokens: 0 };
	#paid = { calls: 0, tokens: 0 };
	readonly #bill = new Bill();
	readonly #prices: Prices;

	constructor(prices: Prices = {}) {
		this.#prices = prices;
	}

	/** Counts a step that cost tokens. */
	observe(event: StepEvent): void {
		if ((event.type !== "ghost" && event.type !== "live") || !event.usage) return;
		// The inner steps were counted one by one.
		if (event.type === "live" && event.inner) return;
		const tokens = event.usage.inputTokens + event.usage.outputTokens;
		if (event.type === "ghost") {
			this.replayed(1, tokens);
			return;
		}
		this.#paid = { calls: this.#paid.calls + 1, tokens: this.#paid.tokens + tokens };
		this.#bill.add(event.usage, priceFor(this.#prices, event));
	}

	/** Counts work that was finished before and is not asked for again. */
	replayed(calls: number, tokens: number): void {
		this.#replayed = { calls: this.#replayed.calls + calls, tokens: this.#replayed.tokens + tokens };
	}

	read(): MeterReading {
		const all = this.#replayed.tokens + this.#paid.tokens;
		return {
			replayed: this.#replayed,
			paid: { ...this.#paid, cost: this.#bill.cost },
			percentFree: all === 0 ? 0 : Math.round((100 * this.#replayed.tokens) / all),
		};
	}
}

/** What model calls cost. */
export interface ModelCost {
	readonly calls: number;
	readonly inputTokens: number;
	readonly outputTokens: number;
}

/** What several cost together. */
export const sumOf = (costs: readonly ModelCost[]): ModelCost =>
	costs.reduce(
		(sum, { calls, inputTokens, outputTokens }) => ({
			calls: sum.calls + calls,
			inputTokens: sum.inputTokens + inputTokens,
			outputTokens: sum.outputTokens + outputTokens,
		}),
		{ calls: 0, inputTokens: 0, outputTokens: 0 },
	);
