/** `rewind --run`: one plan goes back alone; what it had finished up to there is recalled, and the rest costs what the preview said. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { documentSchema } from "../src/index.ts";
import { asJson } from "../src/text.ts";
import { type House, openHouse, verbOf } from "./house.ts";

let house: House;
let plan: string;
/** After the first step that was finished. */
let ref: string;
beforeEach(async () => {
	house = await openHouse();
	const { runtime } = house;
	await runtime.prompt("plan: compare where foxes sleep and what they do");
	await runtime.idle();
	plan = runtime.plans()[0]?.plan ?? "";
	ref = String(runtime.timeline.checkpoints().find(({ kind }) => kind === "plan_step")?.seq);
});
afterEach(() => house[Symbol.asyncDispose]());

interface Seen {
	readonly blastRadius: {
		readonly pauses: { readonly plans: readonly string[]; readonly paid: { calls: number; tokens: number } };
		readonly before: { readonly messages: number };
		readonly after: { readonly messages: number; readonly plans: object };
	};
}

test("what it pays again was said before, and the conversation stays", async () => {
	const { runtime } = house;
	const { document, lines } = await house.do("rewind", { ref, run: plan }, { dryRun: true });
	documentSchema(verbOf("rewind")).parse(JSON.parse(asJson(document)));
	const { pauses, before, after } = (document as Seen).blastRadius;
	expect(pauses.plans).toEqual([plan]);
	expect(after).toMatchObject({ messages: before.messages, plans: { all: 1, unfinished: 1 } });
	expect(lines).toContain(`only run ${plan} of default/main; all else stays as it is`);
	await house.do("rewind", { ref, run: plan });
	const { paid } = runtime.meter;
	await runtime.resumePlan(plan);
	await runtime.idle();
	expect(pauses.paid.calls).toBeGreaterThan(0);
	expect(runtime.meter.paid).toMatchObject({
		calls: paid.calls + pauses.paid.calls,
		tokens: paid.tokens + pauses.paid.tokens,
	});
});

test.each([
	["p999", /there is no plan, skill run or script run p999 on this line; there are p\d+$/],
	["7", /there are p\d+\. A turn has no history of its own: go back with its session, --scope session$/],
])("a run that is none is refused, and those that there are are named: %s", async (run, says) => {
	await expect(house.do("rewind", { ref, run })).rejects.toThrow(says);
});

test("with a scope beside it is refused", async () => {
	await expect(house.do("rewind", { ref, run: plan, scope: "session" })).rejects.toThrow("give --run or --scope");
});
