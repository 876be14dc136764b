/** `rewind --run`: one plan goes back alone, or a turn to a seq in it; what it had finished up to there is recalled, and the rest costs what the preview said. */
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

interface Again {
	readonly blastRadius: {
		readonly relaunches: { readonly turns?: readonly number[]; readonly paid: { calls: number; tokens: number } };
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

test("a turn goes on from a seq in it: what it had done by then is recalled, the rest costs what was said", async () => {
	const { runtime } = house;
	await runtime.prompt("what does a fox do by day?");
	await runtime.idle();
	const turns = runtime
		.conversation()
		.items.toArray()
		.filter(({ type }) => type === "prompt");
	const turn = turns.at(-1)?.seq ?? 0;
	const said = () =>
		runtime
			.conversation()
			.items.toArray()
			.filter(({ type }) => type === "reply")
			.at(-1);
	const before = said();
	let met = 0;
	for (const at of [turn, turn + 2, turn + 4]) {
		const { paid } = runtime.meter;
		const { document, lines } = await house.do("rewind", { ref: String(at), run: String(turn) });
		documentSchema(verbOf("rewind")).parse(JSON.parse(asJson(document)));
		const { relaunches } = (document as Again).blastRadius;
		expect(relaunches.turns).toEqual([turn]);
		expect(lines.join("\n")).toContain(`turn #${turn} goes on from there`);
		await runtime.idle();
		expect(runtime.meter.paid.calls - paid.calls).toBe(relaunches.paid.calls);
		expect(runtime.meter.paid.tokens - paid.tokens).toBe(relaunches.paid.tokens);
		expect(said()).toMatchObject({ text: (before as { text: string }).text, turn });
		met = Math.max(met, relaunches.paid.calls);
		await runtime.undo("test");
		await runtime.idle();
	}
	expect(met).toBeGreaterThan(1);
	await expect(house.do("rewind", { ref: "@", run: String(turn) })).rejects.toThrow(`turn #${turn} is not under way`);
	await expect(house.do("rewind", { ref: String(turn), run: String(turn), mode: "code_only" })).rejects.toThrow(
		"leave --mode out",
	);
});

test("a run that is none is refused, and those that there are are named", async () => {
	await expect(house.do("rewind", { ref, run: "p999" })).rejects.toThrow(
		/there is no turn, plan, skill run or script run p999 on this line; .* there are p\d+$/,
	);
});

test("with a scope beside it is refused", async () => {
	await expect(house.do("rewind", { ref, run: plan, scope: "session" })).rejects.toThrow("give --run or --scope");
});
