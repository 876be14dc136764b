/** What is told of work that another process does: all of it, nothing else, and that it is over. */
import { openRuntime, type Runtime } from "@reyn/runtime";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Followed, followWork } from "../src/index.ts";
import { type House, openHouse } from "./house.ts";

let house: House;
let reader: Runtime;
beforeEach(async () => {
	house = await openHouse();
	reader = await house.reader();
});
afterEach(async () => {
	await reader.close();
	await house[Symbol.asyncDispose]();
});

const PLANNED = 'How do "foxes", "dens" and "doors" hang together?';

interface Heard {
	readonly told: readonly Followed[];
	readonly how: string;
}

/** @param from opened before the work was begun */
async function follow(begun: object, from = reader, signal = new AbortController().signal): Promise<Heard> {
	const told: Followed[] = [];
	const all = followWork(from, begun, { after: from.wal.tip, signal });
	for (;;) {
		const next = await all.next();
		if (next.done) return { told, how: next.value };
		told.push(next.value);
	}
}

test("a turn that leads to a plan is over with that, and what another session does meanwhile is not told", async () => {
	const { runtime } = house;
	const turn = await runtime.prompt(PLANNED);
	const elsewhere = await runtime.prompt(PLANNED, { agent: "default", session: "elsewhere" });
	const { told, how } = await follow({ turn });
	expect(how).toBe("over");
	const plans = new Set(told.flatMap((each) => ("plan" in each ? [each.plan] : [])));
	expect(plans.size).toBe(1);
	const types = told.map(({ type }) => type);
	expect(types).toContain("plan_started");
	expect(types.filter((type) => type === "turn_end")).toHaveLength(1);
	// The answer comes before the end that it belongs to.
	expect(types.slice(-2)).toEqual(["message", "plan_end"]);
	const [text] = told.flatMap((each) => (each.type === "message" ? [each.message] : []));
	expect(text).toMatchObject({ from: [...plans][0], scope: { session: "main" } });
	expect(told.some((each) => "turn" in each && each.turn === elsewhere)).toBe(false);
	await runtime.idle();
});

test("a compaction is told with what it comes to", async () => {
	const turn = await house.runtime.compact();
	const { told, how } = await follow({ turn });
	expect([how, told]).toEqual([
		"over",
		[
			expect.objectContaining({ type: "compacted", turn, by: "person" }),
			expect.objectContaining({ type: "turn_end", turn, outcome: "completed" }),
		],
	]);
});

test("all that was in flight is followed by resume; who stops looking has left", async () => {
	await house.runtime.prompt(PLANNED);
	await house.runtime.close();
	await using before = await house.reader();
	await using runtime = await openRuntime(house.options);
	const left = new AbortController();
	const looking = follow({ goesOn: true }, before, left.signal);
	left.abort();
	expect(await looking).toEqual({ told: [], how: "left" });
	await using again = await house.reader();
	runtime.resume();
	const { told, how } = await follow({ goesOn: true }, again);
	expect([how, told.at(-1)?.type]).toEqual(["over", "plan_end"]);
	// Where nothing is unfinished it is over at once.
	await using last = await house.reader();
	expect(await follow({ goesOn: false }, last)).toEqual({ told: [], how: "over" });
});

test("work that is gone after a rewind is taken back, other work goes on", async () => {
	const { runtime } = house;
	const { tip } = runtime.wal;
	const turn = await runtime.prompt(PLANNED);
	const looking = follow({ turn });
	await runtime.checkout(tip, "ada");
	expect(await looking).toMatchObject({ how: "taken back" });
	expect(await runtime.prompt("where does a fox sleep?")).toBeGreaterThan(tip);
	await runtime.idle();
});

test("work that has ended is not taken back by a rewind of others that came before its end", async () => {
	const { runtime } = house;
	const elsewhere = { agent: "default", session: "elsewhere" };
	const first = await runtime.prompt("where does a fox sleep?", elsewhere);
	await runtime.idle();
	await reader.refresh();
	await runtime.checkout(first - 1, "ada", elsewhere);
	const turn = await runtime.prompt("where does a fox sleep?");
	await runtime.idle();
	const { told, how } = await follow({ turn });
	expect([how, told.at(-2)]).toMatchObject(["over", { type: "reply", turn }]);
});
