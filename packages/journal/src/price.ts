/** What calls cost, in exact integers: from their tokens, and from prices that a person has said. */
import { z } from "zod";
import type { Usage } from "./ports.ts";

/** What a model costs, in US dollars for a million tokens, with at most six decimals. */
export interface Price {
	readonly input: number;
	readonly output: number;
	/** Input that came from a cache. Absent: as `input`. */
	readonly cachedInput?: number | undefined;
}

/** Prices by the id of the model. What one that is not here costs is unknown. */
export type Prices = Readonly<Record<string, Price>>;

/** What some calls have cost, as far as that is known. */
export interface Cost {
	/** US dollars, as a decimal number without rounding: `0.0123`. */
	readonly usd: string;
	/** So many more calls cost nobody knows what. */
	readonly unknown: number;
}

/** US dollars to a millionth. */
export const dollarsSchema = z
	.number()
	.nonnegative()
	.max(1_000_000)
	.refine((usd) => Number.isInteger(Number((usd * 1e6).toPrecision(15))), "at most six decimals");

const priceSchema = z.strictObject({
	input: dollarsSchema,
	output: dollarsSchema,
	cachedInput: dollarsSchema.optional(),
});

export const pricesSchema = z.record(z.string().min(1), priceSchema);

export const priceFor = (prices: Prices, { kind, name }: { readonly kind: string; readonly name: string }) =>
	kind === "model" && Object.hasOwn(prices, name) ? prices[name] : undefined;

/**
 * What tokens cost, in picodollars: a dollar for a million tokens is so many millionths of a millionth for each. Nothing is rounded.
 * Input that is not said to come from a cache costs the full price.
 */
export function costOf(
	{ inputTokens, outputTokens, cachedInputTokens = 0 }: Usage,
	{ input, output, cachedInput = input }: Price,
): bigint {
	const cached = Math.min(cachedInputTokens, inputTokens);
	const parts = [
		[inputTokens - cached, input],
		[cached, cachedInput],
		[outputTokens, output],
	] as const;
	return parts.reduce((sum, [tokens, price]) => sum + BigInt(tokens) * BigInt(Math.round(price * 1e6)), 0n);
}

/** @param usd with at most twelve decimals */
export function picodollars(usd: string): bigint {
	const [whole = "", decimals = ""] = usd.split(".");
	return BigInt(whole) * DOLLAR + BigInt(decimals.padEnd(12, "0"));
}

/** The same in dollars, as a decimal number without rounding. */
export function inDollars(pico: bigint): string {
	const decimals = String(pico % DOLLAR)
		.padStart(12, "0")
		.replace(/0+$/, "");
	return `${pico / DOLLAR}${decimals === "" ? "" : `.${decimals}`}`;
}

const DOLLAR = 1_000_000_000_000n;

/** Dollars for people, rounded: to cents from a dollar on, below it to hundredths of a cent. What is not nothing is not said to be. */
export function dollarsInWords(usd: string): string {
	const pico = picodollars(usd);
	const places = pico > 0n && pico < DOLLAR ? 4 : 2;
	const step = DOLLAR / 10n ** BigInt(places);
	const steps = (pico + step / 2n) / step;
	if (steps === 0n && pico > 0n) return "under $0.0001";
	const digits = String(steps).padStart(places + 1, "0");
	return `$${Number(digits.slice(0, -places)).toLocaleString("en")}.${digits.slice(-places)}`;
}

/** A cost for people: `$0.0123`; `at least $0.0123, 2 calls unknown`; `unknown`. */
export function costInWords({ usd, unknown }: Cost): string {
	if (unknown === 0) return dollarsInWords(usd);
	return usd === "0"
		? "unknown"
		: `at least ${dollarsInWords(usd)}, ${unknown} ${unknown === 1 ? "call" : "calls"} unknown`;
}

/** What was added to a cost since. */
export const costSince = (before: Cost, now: Cost): Cost => ({
	usd: inDollars(picodollars(now.usd) - picodollars(before.usd)),
	unknown: now.unknown - before.unknown,
});

/** Adds up what calls cost. */
export class Bill {
	#pico = 0n;
	#unknown = 0;

	/**
	 * @param usage absent: nobody knows it
	 * @param price absent: nobody knows it
	 * @param calls that had this usage together
	 */
	add(usage: Usage | undefined, price: Price | undefined, calls = 1): void {
		if (usage && price) this.#pico += costOf(usage, price);
		if (usage && !usage.uncounted && price) return;
		if (!price || !isFree(price)) this.#unknown += calls;
	}

	get pico(): bigint {
		return this.#pico;
	}

	get cost(): Cost {
		return { usd: inDollars(this.#pico), unknown: this.#unknown };
	}
}

/** Then it costs nothing, whatever it was used for. */
const isFree = ({ input, output, cachedInput = 0 }: Price): boolean => input + output + cachedInput === 0;
