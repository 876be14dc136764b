/** Reading one session among others. */
import type { Scope, Seq } from "@reyn/wal";
import { within } from "@reyn/wal";
import fc from "fast-check";
import { expect, test } from "vitest";
import { histories } from "../../../tests/sample.ts";
import { SessionRanges } from "../src/session-ranges.ts";
import { alice, bob, main, plan, side } from "./house.ts";

const scopes: readonly Scope[] = [{}, alice, main, plan, side, bob];
const anyScope = fc.constantFrom(...scopes);
/** Bursts of one scope, short and long, so that ranges are joined and are not. */
const anyLog = fc
	.array(fc.record({ scope: anyScope, count: fc.oneof(fc.integer({ min: 1, max: 3 }), fc.constant(70)) }), {
		maxLength: 12,
	})
	.map((bursts) => bursts.flatMap(({ scope, count }) => Array.from({ length: count }, () => scope)));

const inAny = (ranges: readonly { after: Seq; through: Seq }[], seq: Seq): boolean =>
	ranges.some(({ after, through }) => after < seq && seq <= through);

test("every record of a scope is in its ranges, in order, and none outside the ranges that were asked for", () => {
	fc.assert(
		fc.property(anyLog, fc.array(fc.nat(1000), { maxLength: 6 }), fc.nat(300), (log, cuts, unseen) => {
			const sessionRanges = new SessionRanges(0);
			const known = log.length - Math.min(unseen, log.length);
			for (let i = 0; i < known; i++) sessionRanges.add(i + 1, log[i] as Scope);
			const edges = [...new Set(cuts.map((cut) => cut % (log.length + 1)))].sort((a, b) => a - b);
			const ranges = edges.flatMap((after, i) =>
				i % 2 === 0 && edges[i + 1] !== undefined ? [{ after, through: edges[i + 1] as Seq }] : [],
			);
			for (const scope of scopes) {
				const parts = sessionRanges.within(scope, ranges);
				for (const [i, { after, through }] of parts.entries()) {
					expect(after).toBeLessThan(through);
					expect(after).toBeGreaterThanOrEqual(parts[i - 1]?.through ?? 0);
				}
				const isRight = log.every((each, i) => {
					const [isAsked, isThere] = [inAny(ranges, i + 1), inAny(parts, i + 1)];
					return within(each, scope) ? isThere === isAsked : isAsked || !isThere;
				});
				expect(isRight).toBe(true);
			}
		}),
		histories(500),
	);
});

test("what was before the first record that is known may be anyone's", () => {
	const sessionRanges = new SessionRanges(10);
	sessionRanges.add(11, side);
	sessionRanges.add(12, main);
	expect(sessionRanges.within(main, [{ after: 4, through: 12 }])).toEqual([
		{ after: 4, through: 10 },
		{ after: 11, through: 12 },
	]);
	expect(sessionRanges.within(bob, [{ after: 4, through: 8 }])).toEqual([{ after: 4, through: 8 }]);
});

test("the records of others are left out, but for a few between two of ours", () => {
	const sessionRanges = new SessionRanges(0);
	for (let seq = 1; seq <= 10_000; seq++) sessionRanges.add(seq, seq % 1000 < 10 ? main : side);
	const parts = sessionRanges.within(main, [{ after: 0, through: 10_000 }]);
	expect(parts).toHaveLength(11);
	expect(parts.reduce((sum, { after, through }) => sum + through - after, 0)).toBe(100);
	expect(sessionRanges.within(plan, [{ after: 0, through: 10_000 }])).toEqual(parts);
	expect(sessionRanges.within({ agent: "alice" }, [{ after: 0, through: 10_000 }])).toEqual([
		{ after: 0, through: 10_000 },
	]);
});
