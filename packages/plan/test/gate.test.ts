/** Calls of a step that somebody may forbid, or hold. */
import type { GatedCall, Tool, Verdict } from "@reyn/journal";
import { describe, expect, test } from "vitest";
import { Process, planOf, scripted } from "./plan-process.ts";

/** Step s1 pays, and says then what it was told. */
const payer = () =>
	scripted({
		s1: (turn, { messages }) => (turn === 0 ? { calls: [["pay", {}]] } : (messages.at(-1)?.text ?? "")),
		s2: "two",
	});

function till() {
	const paid: unknown[] = [];
	const call = async (args: unknown) => `receipt ${paid.push(args)}`;
	const tool: Tool = { name: "pay", description: "pays", parameters: {}, purity: "side_effect", call };
	return { paid, tool };
}

const plan = () => {
	const plan = planOf("s1", "s2", "s3 needs s1 s2");
	(plan.steps[0] as { tools: string[] }).tools = ["pay"];
	return plan;
};

const gateOf = (verdict: Verdict, asked: GatedCall[] = []) => ({
	asked,
	gate: async (call: GatedCall): Promise<Verdict> => {
		asked.push(call);
		return call.type === "tool" ? verdict : { kind: "pass" };
	},
});

describe("a gate", () => {
	test("lets a call pass once, and is not asked for one that is recalled", async () => {
		const { tool, paid } = till();
		await using process = await Process.start({
			model: payer(),
			tools: [tool],
			limits: { concurrency: 1 },
			appends: 5,
		});
		const { asked, gate } = gateOf({ kind: "pass" });
		await expect(process.execute(plan(), { gate })).rejects.toThrow("killed");
		expect([paid.length, asked.map(({ name }) => name)]).toEqual([1, ["scripted", "pay", "scripted"]]);
		await using next = await process.next();
		const again = gateOf({ kind: "pass" });
		await next.execute(plan(), { gate: again.gate });
		expect([paid.length, again.asked.filter(({ type }) => type === "tool")]).toEqual([1, []]);
	});

	test("denies a call: the model is told so, and the step goes on", async () => {
		const { tool, paid } = till();
		await using process = await Process.start({ model: payer(), tools: [tool] });
		const { gate } = gateOf({ kind: "deny", code: "NOT_ALLOWED", reason: "nobody may pay" });
		expect(await process.execute(plan(), { gate })).toEqual({ text: "s3 done", failed: [] });
		expect([paid, (await process.kinds()).includes("step_started")]).toEqual([[], false]);
		const told = (await process.records()).findLast(({ kind }) => kind === "plan_step_completed");
		expect(told).toBeDefined();
	});

	test("lets a call wait: the plan stops, what runs beside it ends, and the step goes on where it was", async () => {
		const { tool, paid } = till();
		const model = payer();
		await using process = await Process.start({ model, tools: [tool] });
		const { gate } = gateOf({ kind: "wait", for: "a person" });
		await expect(process.execute(plan(), { gate })).rejects.toMatchObject({ code: "CALL_WAITING" });
		expect([process.run().steps.s1?.status, process.run().steps.s2?.status]).toEqual(["running", "completed"]);
		await using next = await process.next();
		expect(await next.execute(plan(), gateOf({ kind: "pass" }))).toEqual({ text: "s3 done", failed: [] });
		expect([paid.length, model.paid]).toEqual([1, ["s1/0", "s2/0", "s1/1", "s3/0"]]);
	});
});

test("a step whose call is in doubt, and whose far side cannot be asked, has not failed: the plan stops, and goes on when it can", async () => {
	const { tool, paid } = till();
	const away: Tool = { ...tool, reconcile: () => Promise.reject(new Error("no network")) };
	const limits = { concurrency: 1 };
	// The payment is made, and the record of that is lost.
	await using process = await Process.start({ model: payer(), tools: [away], limits, appends: 4 });
	await expect(process.execute(plan())).rejects.toThrow("killed");
	expect([paid.length, (await process.kinds()).at(-1)]).toEqual([1, "step_started"]);
	await using next = await process.next();
	await expect(next.execute(plan())).rejects.toMatchObject({ code: "CALL_IN_DOUBT" });
	expect(next.run().steps.s1?.status).toBe("running");
	const back: Tool = { ...tool, reconcile: async () => ({ kind: "done", result: "receipt 1" }) };
	await using last = await next.next({ tools: [back] });
	expect(await last.execute(plan())).toEqual({ text: "s3 done", failed: [] });
	expect([paid.length, last.run().status]).toEqual([1, "completed"]);
});
