/** What a program makes of a call that waits: it may catch that, and comes to no other end by it. */
import { expect, test } from "vitest";
import { Lane, runProgram, type Step } from "../src/index.ts";
import { DyingLog, scope, using } from "./dying-log.ts";

const waits = { gate: async () => ({ kind: "wait" as const, for: "ada" }) };
const payment: Step<string> = { kind: "tool", name: "pay", args: {}, purity: "side_effect", call: async () => "paid" };
const caught = (lane: Lane): Promise<string> => lane.perform(payment).catch(() => "not paid");

const bodies: readonly [string, (lane: Lane) => Promise<string>][] = [
	["by itself", caught],
	[
		"in a step around it",
		(lane) =>
			lane.perform({
				kind: "step",
				name: "outer",
				args: {},
				purity: "external",
				call: (context) => caught(context.lane),
			}),
	],
	[
		"in a step around it that throws otherwise",
		(lane) =>
			lane.perform({
				kind: "step",
				name: "outer",
				args: {},
				purity: "external",
				async call(context) {
					const found = await caught(context.lane);
					if (found === "not paid") throw new Error("no money");
					return found;
				},
			}),
	],
];

test.each(bodies)("a program that catches what waits stops with it, and goes on when it may: %s", async (_, body) => {
	const log = new DyingLog();
	const run = (more: object): Promise<string> => runProgram("p", scope, using(log, more), body);
	await expect(run(waits)).rejects.toMatchObject({ code: "CALL_WAITING" });
	expect(log.kinds.filter((kind) => kind !== "step_started")).toEqual([]);
	expect(await run({})).toBe("paid");
});

test("what is under way beside it is kept", async () => {
	const log = new DyingLog();
	const other: Step<string> = { ...payment, kind: "step", name: "other", call: async () => "done" };
	const run = (more: object): Promise<string[]> =>
		runProgram("p", scope, using(log, more), (lane) => Promise.all([caught(lane), lane.perform(other)]));
	await expect(run(waits)).rejects.toMatchObject({ code: "CALL_WAITING" });
	expect(log.kinds).toEqual(["step_started", "step_completed"]);
	expect(await run({})).toEqual(["paid", "done"]);
});

test.each([[["deny"]], [["wait"]], [["pass"]], [new String("deny")]])(
	"a verdict that only looks like one lets nothing pass: %o",
	async (kind) => {
		const log = new DyingLog();
		const gate = async () => ({ kind }) as never;
		await expect(new Lane("p", scope, using(log, { gate })).perform(payment)).rejects.toMatchObject({
			code: "CALL_WAITING",
		});
		expect(log.kinds).toEqual([]);
	},
);
