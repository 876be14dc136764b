/** What becomes of calls that wait when their program ends. */
import { systemTimers } from "@reyn/wal";
import { expect, test } from "vitest";
import { ProgramEnded } from "../../src/failure.ts";
import { type Asked, Order } from "../../src/order.ts";

const call = (name: string): Asked => ({
	lane: "p",
	kind: "step",
	name,
	fp: name,
	occ: 0,
	isUnheardOf: false,
	describe: () => name,
});

test("none of them begins: one that is new, and one that was cut with steps inside it", async () => {
	const order = new Order({ program: "p", timers: systemTimers });
	const { signal } = new AbortController();
	order.ask(call("recorded"), 5);
	const waiting = [order.ask(call("new"), undefined), order.ask(call("cut"), undefined, 1, 7)].map((each) =>
		each.mayBegin(signal),
	);
	order.end(new ProgramEnded("it is over"));
	for (const each of waiting) await expect(each).rejects.toThrow("it is over");
});
