/** What a checkout would leave, against what it leaves. */
import type { Scope } from "@reyn/wal";
import fc from "fast-check";
import { expect, test } from "vitest";
import { histories } from "../../../tests/sample.ts";
import { alice, asked, bob, did, House, main, plan, said, side, story } from "./house.ts";

const scopes: readonly Scope[] = [{}, alice, main, plan, side, bob];
const anyScope = fc.constantFrom(...scopes);
const anyCoverage = fc.record(
	{ scope: anyScope, drop: fc.constantFrom([said.kind], [did.kind], [said.kind, asked.kind], []) },
	{ requiredKeys: [] },
);
const anyStep = fc.oneof(
	{ weight: 3, arbitrary: fc.record({ scope: anyScope, kind: fc.constantFrom("say", "do") }) },
	{ weight: 1, arbitrary: fc.record({ mark: anyScope }) },
	{ weight: 1, arbitrary: fc.record({ to: fc.nat(1_000), coverage: anyCoverage }) },
);

test("what is foreseen of a checkout is what it leaves, and nothing is written", async () => {
	await fc.assert(
		fc.asyncProperty(fc.array(anyStep, { maxLength: 14 }), fc.nat(1_000), anyCoverage, async (steps, to, coverage) => {
			await using house = await House.open({ projections: [story] });
			const { timeline, wal } = house;
			for (const step of steps) {
				if ("kind" in step) house[step.kind as "say" | "do"](`${wal.tip}`, step.scope);
				else if ("mark" in step) await house.mark("turn", { scope: step.mark });
				else await timeline.checkout(step.to % (wal.tip + 1), step.coverage);
			}
			const target = to % (wal.tip + 1);
			const before = await house.records();
			const hypothetical = timeline.hypothetical(target, coverage);
			const foreseen = {
				states: await Promise.all(scopes.map(async (scope) => (await hypothetical.at(scope)).hash())),
				active: before.map((record) => hypothetical.isActive(record)),
			};
			expect(await house.records()).toEqual(before);
			await timeline.checkout(target, coverage);
			expect(foreseen).toEqual({
				states: await Promise.all(scopes.map(async (scope) => (await timeline.at(wal.tip, scope)).hash())),
				active: before.map((record) => timeline.lineage.isActive(record)),
			});
		}),
		histories(150),
	);
});

test("there is no previewing of a seq that does not exist", async () => {
	await using house = await House.open();
	expect(() => house.timeline.hypothetical(99)).toThrow(expect.objectContaining({ code: "TIMETRAVEL_OUT_OF_RANGE" }));
});
