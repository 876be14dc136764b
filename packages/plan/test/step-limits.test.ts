/** The limits of a step: at each somebody decides, and what was decided survives a crash. */
import { JournalError, type Tool } from "@reyn/journal";
import { describe, expect, test } from "vitest";
import {
	type AtLimit,
	type PlanLimits,
	type PlanPorts,
	planResumed,
	planStepExtended,
	planStepFailed,
	planStepsReset,
	type StepLimit,
} from "../src/index.ts";
import { type Answer, failing, outbox, Process, planOf, scripted } from "./plan-process.ts";

const tool = (name: string): Tool => ({
	...{ name, description: `the tool ${name}`, parameters: {}, purity: "world" },
	call: async () => `${name} says`,
});

const waiting = (): never => {
	throw new JournalError("CALL_WAITING", "nobody has said");
};

/** Says the same at each limit, and keeps what it was asked. */
function deciding(...decisions: AtLimit[]): {
	readonly asked: StepLimit[];
	readonly atLimit: NonNullable<PlanPorts["atLimit"]>;
} {
	const asked: StepLimit[] = [];
	return { asked, atLimit: async (limit) => decisions[asked.push(limit) - 1] ?? "fail" };
}

const plan = planOf("s1 uses look", "s2 needs s1");

interface Case {
	readonly limits: Partial<PlanLimits>;
	/** The model of a step that comes to the limit once, and would be done with one more. */
	model(): ReturnType<typeof scripted>;
	readonly asked: Partial<StepLimit>;
	readonly reason: RegExp;
	/** The calls of the model in all when the limit is extended. */
	readonly calls: number;
	/** The steps that fail when it is not, and why a plan is paused there, where that is not the step's alone. */
	readonly failed?: readonly string[];
	readonly why?: string;
}

const looks =
	(times: number) =>
	(turn: number): Answer =>
		turn < times ? { calls: [["look", {}]] } : "found";

const cases: Readonly<Record<string, Case>> = {
	iterations: {
		limits: { stepMaxIterations: 2 },
		model: () => scripted({ s1: looks(3) }),
		...{ asked: { reached: 2, base: 2 }, reason: /still asked for tools after 2 turns/, calls: 5 },
	},
	tokens: {
		limits: { stepTokens: 150 },
		model: () => scripted({ s1: looks(2) }),
		...{ asked: { reached: 220, base: 150 }, reason: /has used 220 tokens of 150/, calls: 4 },
	},
	retries: {
		limits: { retryLimit: 1 },
		model: () => {
			let failures = 0;
			return scripted({ s1: () => (++failures < 3 ? failing("busy", { retryable: true }) : "found") });
		},
		...{
			asked: { reached: 1, base: 2, reason: expect.stringContaining("busy") as unknown as string },
			...{ reason: /gave no answer in 2 tries: busy/, calls: 4 },
		},
	},
	plan_tokens: {
		limits: { planTokens: 200 },
		model: () => scripted({ s1: looks(2) }),
		...{ asked: { reached: 220, base: 200 }, reason: /the plan has used 220 tokens of 200/, calls: 4 },
		...{ failed: ["s1", "s2"], why: "it has come to its limit of tokens" },
	},
};

describe.each(Object.entries(cases))("at its limit of %s", (limit, { limits, model, asked, reason, calls, ...of }) => {
	const { failed: failing = ["s1"], why: pausedAt = `step s1 has come to its limit of ${limit}` } = of;
	const ask = { plan: "p1", step: "s1", attempt: 0, limit, extended: 0, ...asked };

	test("a step goes on where it is extended, and that is in the log", async () => {
		const far = model();
		await using process = await Process.start({ model: far, tools: [tool("look")], limits });
		const { asked: found, atLimit } = deciding("extend");
		expect(await process.execute(plan, { atLimit })).toEqual({ text: "s2 done", failed: [] });
		expect(found).toEqual([ask]);
		expect(far.paid.length).toBe(calls);
		expect((await process.records()).filter(planStepExtended.is).map(({ data }) => data)).toEqual([
			{ plan: "p1", step: "s1", limit },
		]);
	});

	test.each(["fail", "nobody"] as const)("a step fails (%s), with what it has cost", async (how) => {
		await using process = await Process.start({ model: model(), tools: [tool("look")], limits });
		const { atLimit } = deciding("fail");
		const { failed } = await process.execute(plan, how === "fail" ? { atLimit } : {});
		expect(failed).toEqual(failing);
		const record = (await process.records()).find(planStepFailed.is);
		expect(record?.data).toMatchObject({ step: "s1", reason: expect.stringMatching(reason), cost: {} });
	});

	test("a plan is paused, and goes on with the limit extended when it is resumed, in another process", async () => {
		const far = model();
		const process = await Process.start({ model: far, tools: [tool("look")], limits });
		const { atLimit } = deciding("pause");
		const why = { code: "PLAN_PAUSED", message: expect.stringContaining(pausedAt) };
		await expect(process.execute(plan, { atLimit })).rejects.toMatchObject(why);
		await using next = await process.next();
		await expect(next.execute(plan, { atLimit })).rejects.toMatchObject(why);
		next.write(planResumed({ plan: "p1" }));
		expect(await next.execute(plan, { atLimit })).toEqual({ text: "s2 done", failed: [] });
		expect(far.paid.length).toBe(calls);
	});

	test("a crash at any record, and an answer that comes later, pay nothing twice", async () => {
		const whole = await Process.start({ model: model(), tools: [tool("look")], limits });
		await whole.execute(plan, { atLimit: deciding("extend").atLimit });
		const records = (await whole.records()).length;
		await whole[Symbol.asyncDispose]();
		for (let appends = 1; appends < records; appends++) {
			const far = model();
			let process = await Process.start({ model: far, tools: [tool("look")], limits, appends });
			let isAnswered = false;
			const atLimit = async (): Promise<AtLimit> => (isAnswered ? "extend" : waiting());
			await process.execute(plan, { atLimit }).catch(() => {});
			process = await process.next();
			await process.execute(plan, { atLimit }).catch(() => {});
			isAnswered = true;
			process = await process.next();
			// A model that was asked once more by a crash may have answered before the limit.
			if (process.run().status !== "completed") await process.execute(plan, { atLimit });
			expect(process.view.get(outbox), `cut after ${appends}`).toEqual([{ plan: "p1", text: "s2 done" }]);
			// What was open when the process died is asked once more.
			expect(far.paid.length, `cut after ${appends}`).toBeLessThanOrEqual(calls + 1);
			await process[Symbol.asyncDispose]();
		}
	});
});

test("a step that waits for an answer holds up those behind it, and no others", async () => {
	await using process = await Process.start({
		model: scripted({ s1: looks(3) }),
		tools: [tool("look")],
		limits: { stepMaxIterations: 2, concurrency: 1 },
	});
	const split = planOf("s1 uses look", "s2", "s3 needs s2", "s4 needs s1 s3");
	await expect(process.execute(split, { atLimit: async () => waiting() })).rejects.toMatchObject({
		code: "CALL_WAITING",
	});
	const statusOf = (id: string) => process.run().steps[id]?.status;
	expect(["s1", "s2", "s3", "s4"].map(statusOf)).toEqual(["running", "completed", "completed", undefined]);
	expect(await process.execute(split, { atLimit: async () => "extend" })).toEqual({ text: "s4 done", failed: [] });
});

test("an extension of retries that is cut off from what follows it is neither asked about again nor costs a try", async () => {
	const [model, { asked, atLimit }] = [cases.retries?.model() as ReturnType<typeof scripted>, deciding("extend")];
	const log: PlanPorts["log"] = {
		append(draft, scope) {
			const appended = process.append(draft, scope);
			if (planStepExtended.is(appended.record)) process.cancel("it dies");
			if (planStepExtended.is(appended.record)) throw new Error("it dies");
			return appended;
		},
	};
	const process = await Process.start({ model, limits: { retryLimit: 1 } });
	await expect(process.execute(plan, { atLimit, log })).rejects.toThrow("it dies");
	await using next = await process.next();
	expect(await next.execute(plan, { atLimit })).toEqual({ text: "s2 done", failed: [] });
	expect([asked.length, model.paid]).toEqual([1, ["s1/0", "s1/0", "s1/0", "s2/0"]]);
});

test("a pause at a limit that is cut off from the extension leaves a plan that waits", async () => {
	const { model, limits } = cases.tokens as Case;
	const far = model();
	const whole = await Process.start({ model: far, tools: [tool("look")], limits });
	await expect(whole.execute(plan, { atLimit: deciding("pause").atLimit })).rejects.toThrow();
	const kinds = await whole.kinds();
	expect(kinds.slice(-2)).toEqual(["plan_paused", "plan_step_extended"]);
	await whole[Symbol.asyncDispose]();
});

describe("at the limit of tokens of a plan", () => {
	const wide = planOf("s1", "s2", "s3 needs s1", "s4 needs s2 s3");

	test("what is open is let end, one is asked for all, and nothing begins until that is answered", async () => {
		const far = scripted({ s1: looks(1), s2: looks(1) });
		await using process = await Process.start({ model: far, tools: [tool("look")], limits: { planTokens: 100 } });
		const asked: StepLimit[] = [];
		const { promise, resolve } = Promise.withResolvers<AtLimit>();
		const atLimit = (limit: StepLimit): Promise<AtLimit> => {
			asked.push(limit);
			return asked.length === 1 ? promise : Promise.resolve("extend");
		};
		const plan = planOf("s1 uses look", "s2 uses look", "s3 needs s1 s2");
		const over = process.execute(plan, { atLimit });
		for (let turns = 0; turns < 50; turns++) await new Promise(setImmediate);
		expect([asked.length, far.paid]).toEqual([1, ["s1/0", "s2/0"]]);
		resolve("extend");
		expect(await over).toEqual({ text: "s3 done", failed: [] });
		expect(asked.map(({ limit, extended }) => [limit, extended])).toEqual(
			[0, 1, 2, 3].map((at) => ["plan_tokens", at]),
		);
		expect([process.run().tokens, process.run().extended]).toEqual([550, 4]);
	});

	test("a step that is not to go on has not begun before that is said, and all that follow fail", async () => {
		const far = scripted({});
		await using process = await Process.start({ model: far, limits: { planTokens: 110, concurrency: 2 } });
		await expect(process.execute(wide, { atLimit: async () => waiting() })).rejects.toMatchObject({
			code: "CALL_WAITING",
		});
		expect(process.run().steps.s3).toBeUndefined();
		const { failed, text } = await process.execute(wide, { atLimit: async () => "fail" });
		expect([failed, far.paid]).toEqual([
			["s3", "s4"],
			["s1/0", "s2/0"],
		]);
		expect(text).toMatch(/its last step, s4, failed: the plan has used 220 tokens of 110/);
	});

	test("tries before count, and a limit that is raised is not reached", async () => {
		const far = scripted({});
		await using process = await Process.start({ model: far, limits: { planTokens: 500 } });
		await process.execute(wide);
		process.write(planStepsReset({ plan: "p1", steps: ["s3", "s4"], by: "person" }));
		const { failed } = await process.execute(wide);
		expect([failed, process.run().tokens]).toEqual([["s4"], 550]);
		process.write(planStepsReset({ plan: "p1", steps: ["s4"], by: "person" }));
		await using next = await process.next({ limits: { planTokens: 5000 } });
		expect(await next.execute(wide)).toEqual({ text: "s4 done", failed: [] });
		expect(far.paid.length).toBe(6);
	});
});
