/** What calls cost is exact, and what nobody knows is not counted as nothing. */
import { describe, expect, test } from "vitest";
import { SEED, seeded } from "../../../tests/kit/seeded.ts";
import { sample } from "../../../tests/sample.ts";
import { costInWords, costOf, dollarsInWords, inDollars } from "../src/index.ts";
import { Bill, dayOf, picodollars, pricesSchema } from "../src/internal.ts";

describe("what a call costs", () => {
	test("is its tokens at their prices: those of a cache at theirs, where both are said", () => {
		const usage = { inputTokens: 1000, outputTokens: 10, cachedInputTokens: 900 };
		const inUsd = (...of: Parameters<typeof costOf>): string => inDollars(costOf(...of));
		expect(inUsd(usage, { input: 3, output: 15, cachedInput: 0.3 })).toBe("0.00072");
		expect(inUsd(usage, { input: 3, output: 15 })).toBe("0.00315");
		expect(inUsd({ inputTokens: 1000, outputTokens: 10 }, { input: 3, output: 15, cachedInput: 0.3 })).toBe("0.00315");
		// A provider may say more of a cache than there was.
		expect(inUsd({ ...usage, cachedInputTokens: 5000 }, { input: 3, output: 15, cachedInput: 0 })).toBe("0.00015");
		expect(inUsd({ inputTokens: 1, outputTokens: 0 }, { input: 0.000_001, output: 0 })).toBe("0.000000000001");
		expect(inUsd({ inputTokens: Number.MAX_SAFE_INTEGER, outputTokens: 0 }, { input: 1_000_000, output: 0 })).toBe(
			"9007199254740991",
		);
	});

	test(`of ${sample(200, 5000)} random bills is the sum of its calls, in whatever order, as by the pen`, () => {
		const random = seeded(SEED);
		for (let run = 0; run < sample(200, 5000); run++) {
			const price = () => ({ text: `${random.below(50)}.${String(random.below(1_000_000)).padStart(6, "0")}` });
			const [input, output, cached] = [price(), price(), price()];
			const bill = new Bill();
			let naive = 0n;
			for (let call = random.below(20); call > 0; call--) {
				const [inputTokens, outputTokens] = [random.below(1_000_000), random.below(100_000)];
				const cachedInputTokens = random.below(inputTokens + 1);
				bill.add(
					{ inputTokens, outputTokens, cachedInputTokens },
					{ input: Number(input.text), output: Number(output.text), cachedInput: Number(cached.text) },
				);
				const micro = ({ text }: { text: string }): bigint => BigInt(text.replace(".", ""));
				naive +=
					BigInt(inputTokens - cachedInputTokens) * micro(input) +
					BigInt(cachedInputTokens) * micro(cached) +
					BigInt(outputTokens) * micro(output);
			}
			expect(bill.pico).toBe(naive);
			expect(picodollars(bill.cost.usd)).toBe(naive);
		}
	});

	test("is unknown without its tokens, or a price; what is free is free all the same", () => {
		const bill = new Bill();
		const usage = { inputTokens: 10, outputTokens: 0 };
		bill.add(usage, { input: 1, output: 1 });
		bill.add(undefined, { input: 1, output: 1 });
		bill.add(usage, undefined, 3);
		bill.add(undefined, { input: 0, output: 0 });
		// Its provider did not count it, or not all.
		bill.add({ ...usage, uncounted: true }, { input: 1, output: 1 });
		bill.add({ ...usage, uncounted: true }, { input: 0, output: 0 });
		expect(bill.cost).toEqual({ usd: "0.00002", unknown: 5 });
	});
});

test.each([
	["0", "$0.00"],
	["0.000000000001", "under $0.0001"],
	["0.00004999", "under $0.0001"],
	["0.00005", "$0.0001"],
	["0.01234", "$0.0123"],
	["0.01235", "$0.0124"],
	["0.99996", "$1.0000"],
	["1", "$1.00"],
	["1.005", "$1.01"],
	["12345.678", "$12,345.68"],
])("%s dollars are %s to people", (usd, words) => {
	expect(dollarsInWords(usd)).toBe(words);
});

test("a sum with an unknown part is no total", () => {
	expect(costInWords({ usd: "0.12", unknown: 0 })).toBe("$0.1200");
	expect(costInWords({ usd: "0.12", unknown: 2 })).toBe("at least $0.1200, 2 calls unknown");
	expect(costInWords({ usd: "1.2", unknown: 1 })).toBe("at least $1.20, 1 call unknown");
	expect(costInWords({ usd: "0", unknown: 2 })).toBe("unknown");
});

test.each([
	[{ a: { input: 0.1, output: 0.3 } }, true],
	[{ a: { input: 0.1 + 0.2, output: 1 } }, true],
	[{ a: { input: 0.000_000_1, output: 1 } }, false],
	[{ a: { input: -1, output: 1 } }, false],
	[{ a: { input: Number.NaN, output: 1 } }, false],
	[{ a: { input: 1, output: Number.POSITIVE_INFINITY } }, false],
	[{ a: { input: 1, output: 1, cached: 1 } }, false],
	[{ "": { input: 1, output: 1 } }, false],
])("%j is %s as prices", (prices, isValid) => {
	expect(pricesSchema.safeParse(prices).success).toBe(isValid);
});

test.each([
	[Date.parse("2026-11-27T23:59:59.999Z"), "2026-11-27"],
	[-1, "1969-12-31"],
	[1e300, "+275760-09-13"],
	[-1e300, "-271821-04-20"],
])("the day of %d is %s, whatever a clock has said", (ms, day) => {
	expect(dayOf(ms)).toBe(day);
});
