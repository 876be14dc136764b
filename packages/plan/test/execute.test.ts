/** The execution of plans: fresh, resumed, on a full disk, and with steps that fail. */
import { journal, type Model, type Tool } from "@reyn/journal";
import { type Appender, memoryBlobs, type Timers } from "@reyn/wal";
import { mortalEngine } from "@reyn/wal/testing";
import { describe, expect, test } from "vitest";
import type { PlanPorts, PlanProgress } from "../src/index.ts";
import { planStepCompleted, planStepFailed, spilledStepResults, withDependents } from "../src/index.ts";
import { planStepsReset } from "../src/records.ts";
import {
	failing,
	outbox,
	PauselessTime,
	Process,
	planOf,
	promptOf,
	type Script,
	scripted,
	stepIn,
} from "./plan-process.ts";

/** Where the result of a step lies beside the log. */
async function nameOfResult(process: Process, step: string): Promise<string> {
	const of = (await process.records()).filter(planStepCompleted.is).find(({ data }) => data.step === step);
	return spilledStepResults.ofRecord(of as never)[0] as string;
}

const changes = (progress: readonly PlanProgress[]) => progress.map(({ step, change }) => `${step} ${change.status}`);

const tool = (name: string, more: Partial<Tool> = {}): Tool => ({
	name,
	description: `the tool ${name}`,
	parameters: {},
	purity: "world",
	call: async () => `${name} says`,
	...more,
});

describe("a fresh plan", () => {
	test("runs its steps in the order of their needs, and its last step's text is the answer", async () => {
		const model = scripted({ s1: "one", s2: "two", s3: "three" });
		await using process = await Process.start({ model });
		const result = await process.execute(planOf("s1", "s2 needs s1", "s3 needs s2"));
		expect(result).toEqual({ text: "three", failed: [] });
		expect(model.paid).toEqual(["s1/0", "s2/0", "s3/0"]);
		expect(process.view.get(outbox)).toEqual([{ plan: "p1", text: "three" }]);
		expect(process.run()).toMatchObject({ status: "completed", steps: {} });
	});

	test("gives each step the results that it needs, and no others", async () => {
		const model = scripted({ s1: "one", s2: "two", s3: "three" });
		await using process = await Process.start({ model });
		await process.execute(planOf("s1", "s2", "s3 needs s1", "s4 needs s2 s3"));
		const told = Object.fromEntries(model.requests.map((request) => [stepIn(request), promptOf(request)]));
		expect(told.s1).not.toContain("Results");
		expect(told.s3).toContain("### s1: Do s1\none");
		expect(told.s3).not.toContain("two");
		expect(told.s4).toContain("### s2: Do s2\ntwo\n### s3: Do s3\nthree");
	});

	test("runs steps at the same time that do not need each other", async () => {
		const both = Promise.withResolvers<string>();
		let asked = 0;
		const meet = () => {
			if (++asked === 2) both.resolve("met");
			return both.promise;
		};
		await using process = await Process.start({ model: scripted({ s1: meet, s2: meet }) });
		// Neither step would ever end if it had to wait for the other.
		await process.execute(planOf("s1", "s2", "s3 needs s1 s2"));
		expect(changes(process.progress).slice(0, 2)).toEqual(["s1 running", "s2 running"]);
	});

	test.each([1, 2, 3])("runs no more than %d steps at the same time, if that is the limit", async (concurrency) => {
		const model = scripted({});
		await using process = await Process.start({ model, limits: { concurrency } });
		await process.execute(planOf("s1", "s2", "s3", "s4", "s5", "s6 needs s1 s2 s3 s4 s5"));
		expect(model.widest).toBe(concurrency);
		expect(model.paid).toHaveLength(6);
	});

	test("reports each change with the step's place and a description of at most 60 characters", async () => {
		await using process = await Process.start();
		const plan = planOf("s1", "s2 needs s1");
		(plan.steps[0] as { description: string }).description = "x".repeat(61);
		(plan.steps[1] as { description: string }).description = "y".repeat(60);
		await process.execute(plan);
		expect(changes(process.progress)).toEqual(["s1 running", "s1 completed", "s2 running", "s2 completed"]);
		expect(process.progress[1]).toEqual({
			plan: "p1",
			step: "s1",
			index: 1,
			done: 1,
			size: 2,
			description: `${"x".repeat(59)}…`,
			change: { status: "completed", cost: { calls: 1, inputTokens: 100, outputTokens: 10 }, took: 0 },
		});
		expect(process.progress[2]).toMatchObject({ step: "s2", index: 2, size: 2, description: "y".repeat(60) });
	});

	test("reports a step as done only once that is durable, and ends it with a boundary, as the plan", async () => {
		await using process = await Process.start();
		const durable: boolean[] = [];
		const progress = ({ change }: PlanProgress): void => {
			if (change.status === "completed") durable.push(process.isDurable);
		};
		await process.execute(planOf("s1", "s2 needs s1"), { progress });
		expect(durable).toEqual([true, true]);
		expect(process.boundaries).toEqual(["plan_step p1 s1: Do s1", "plan_step p1 s2: Do s2", "plan p1: Find out"]);
	});

	test("counts steps one by one, in the order in which they end, also those that end at once", async () => {
		await using process = await Process.start();
		await process.execute(planOf("s1", "s2", "s3", "s4 needs s1 s2 s3"));
		const ended = process.progress.filter(({ change }) => change.status === "completed");
		expect(ended.map(({ done }) => done)).toEqual([1, 2, 3, 4]);
	});

	test("is over when that is durable, and no sooner: else it delivers again", async () => {
		const disk = mortalEngine();
		const model = scripted({});
		await using process = await Process.start({ disk, model });
		const plan = planOf("s1", "s2 needs s1");
		await expect(process.execute(plan, { deliver: async () => disk.die() })).rejects.toMatchObject({
			code: "WAL_POISONED",
		});
		await using next = await process.next();
		expect(await next.execute(plan)).toEqual({ text: "s2 done", failed: [] });
		expect(next.view.get(outbox)).toEqual([{ plan: "p1", text: "s2 done" }]);
		expect(model.paid).toEqual(["s1/0", "s2/0"]);
	});

	test("waits for space before each record of its own, and writes each once", async () => {
		const model = scripted({ s1: new Error("no model") });
		await using process = await Process.start({ model });
		const refused: string[] = [];
		const log: Appender = {
			append(draft, scope) {
				const what = JSON.stringify(draft);
				// What is written in one go is refused as a whole.
				const isFirst = draft.kind.startsWith("plan_step") || what.includes('"lane":"plan/p1"');
				if (!isFirst || refused.includes(what)) return process.append(draft, scope);
				refused.push(what);
				throw Object.assign(new Error("the disk is full"), { code: "WAL_FULL" });
			},
		};
		expect(await process.execute(planOf("s1", "s2 needs s1"), { log })).toEqual({ text: "s2 done", failed: ["s1"] });
		const waited = process.events.filter(({ type }) => type === "no_space").map(({ lane }) => lane);
		expect(waited).toEqual(["plan/p1/s1/0", "plan/p1/s1/0", "plan/p1/s2/0", "plan/p1/s2/0", "plan/p1"]);
		const kinds = (await process.kinds()).filter((kind) => kind.startsWith("plan_"));
		expect(kinds).toEqual([
			"plan_started",
			"plan_step_started",
			"plan_step_failed",
			"plan_step_started",
			"plan_step_completed",
			"plan_completed",
		]);
		expect(process.view.get(outbox)).toEqual([{ plan: "p1", text: "s2 done" }]);
		expect(model.paid).toEqual(["s1/0", "s2/0"]);
	});

	test("keeps a large result beside the log, once, and goes on with it in another process", async () => {
		const [large, larger] = ["ä".repeat(40_000), `${"b".repeat(9 * 1024 * 1024)}ö`];
		const results = memoryBlobs();
		const model = scripted({ s1: large, s2: larger, s3: () => gate.promise });
		const gate = Promise.withResolvers<string>();
		const delivered: unknown[] = [];
		const ports: Partial<PlanPorts> = { results, deliver: async (...said) => void delivered.push(said) };
		await using process = await Process.start({ model });
		const plan = planOf("s1", "s2 needs s1", "s3 needs s1 s2", "s4 needs s3");
		const first = process.execute(plan, ports);
		await expect.poll(() => model.paid).toContain("s3/0");
		process.cancel("enough");
		gate.resolve("cut");
		await expect(first).rejects.toThrow("enough");

		const again = scripted({ s4: large });
		await using next = await process.next({ model: again });
		expect(await next.execute(plan, ports)).toEqual({ text: large, failed: [] });
		expect(again.paid).toEqual(["s3/0", "s4/0"]);
		const told = (wanted: Script, step: string) =>
			promptOf(wanted.requests.find((one) => stepIn(one) === step) as never);
		expect(told(model, "s2")).toContain(`### s1: Do s1\n${large.slice(0, 8192)}\n[8192 of 40000 characters;`);
		expect(told(model, "s3")).toContain(
			`### s2: Do s2\n${larger.slice(0, 8192)}\n[8192 of ${larger.length} characters;`,
		);
		expect(delivered).toEqual([
			[large, { sha256: expect.stringMatching(/^[0-9a-f]{64}$/), bytes: expect.any(Number) }],
		]);
		// Of each of them one blob: what the model said in it is what the step gave. The same text twice is one too.
		expect(await results.list("")).toHaveLength(2);
		expect(JSON.stringify(await next.records()).length).toBeLessThan(16_384);
	});

	test("keeps a large result in its record where there is no place beside the log; one for which that has no room fails its step", async () => {
		const large = "a".repeat(40_000);
		await using process = await Process.start({ model: scripted({ s1: large, s2: "b".repeat(9 * 1024 * 1024) }) });
		expect(await process.execute(planOf("s1", "s2", "s3 needs s1 s2"))).toEqual({ text: "s3 done", failed: ["s2"] });
		const completed = (await process.records()).filter(planStepCompleted.is);
		expect(completed[0]?.data).toMatchObject({ step: "s1", result: large });
	});

	test("whose large result is lost has that step run again, and says why; the others keep theirs", async () => {
		const results = memoryBlobs();
		const plan = planOf("s1", "s2", "s3 needs s1", "s4 needs s1", "s5 needs s2 s3 s4");
		const gate = Promise.withResolvers<string>();
		const open = () => gate.promise;
		const model = scripted({ s1: "a".repeat(2000), s2: "b".repeat(2000), s3: open, s4: open });
		await using process = await Process.start({ model });
		const first = process.execute(plan, { results });
		await expect.poll(() => model.paid.length).toBe(4);
		process.cancel("killed");
		gate.resolve("cut");
		await expect(first).rejects.toThrow("killed");
		await results.delete(await nameOfResult(process, "s1"));

		const again = scripted({ s1: "c".repeat(2000), s5: (_, request) => promptOf(request) });
		await using next = await process.next({ model: again, time: new PauselessTime() });
		const { text, failed } = await next.execute(plan, { results });
		expect(again.paid).toEqual(["s1/0", "s3/0", "s4/0", "s5/0"]);
		expect([failed, text]).toEqual([[], expect.stringContaining(`### s2: Do s2\n${"b".repeat(2000)}`)]);
		expect(promptOf(again.requests[1] as never)).toContain(`### s1: Do s1\n${"c".repeat(2000)}`);
		// Two steps missed it, and it is said once.
		expect((await next.records()).filter(planStepsReset.is).map(({ data }) => data)).toEqual([
			{ plan: "p1", steps: ["s1"], why: "its result is lost: it is missing or changed beside the log" },
		]);
		expect(next.run().steps).toMatchObject({ s1: { attempt: 1 }, s2: { attempt: 0 } });
	});

	test("whose answer is lost before it is delivered pays for the last step alone", async () => {
		const results = memoryBlobs();
		const model = scripted({ s1: "a".repeat(2000), s2: "b".repeat(2000) });
		await using process = await Process.start({ model });
		const dies = { results, deliver: () => Promise.reject(new Error("killed")) };
		await expect(process.execute(planOf("s1", "s2 needs s1"), dies)).rejects.toThrow("killed");
		await results.delete(await nameOfResult(process, "s2"));
		const again = scripted({});
		await using next = await process.next({ model: again });
		expect(await next.execute(planOf("s1", "s2 needs s1"), { results })).toEqual({ text: "s2 done", failed: [] });
		expect([again.paid, next.view.get(outbox)]).toEqual([["s2/0"], [{ plan: "p1", text: "s2 done" }]]);
	});

	test("whose results are lost again and again stops, so that nothing is paid without end", async () => {
		const results = { ...memoryBlobs(), get: async () => undefined };
		const model = scripted({ s1: "a".repeat(2000) });
		await using process = await Process.start({ model });
		const lost = process.execute(planOf("s1", "s2 needs s1"), { results });
		await expect(lost).rejects.toMatchObject({ code: "RESULT_LOST" });
		expect([model.paid, process.run().status]).toEqual([["s1/0", "s1/0"], "running"]);
	});

	test("whose step fails with an endless reason says how it begins", async () => {
		await using process = await Process.start({
			model: scripted({ s1: failing(`no: ${"x".repeat(100_000)}`) }),
		});
		expect(await process.execute(planOf("s1", "s2 needs s1"))).toEqual({ text: "s2 done", failed: ["s1"] });
		expect((await process.records()).filter(planStepFailed.is)[0]?.data.reason).toMatch(/^no: x{900,2000}…$/);
	});

	test.each(["€", "𝄞", "\u0001", '"', "\ud834"])(
		"whose step fails with an endless reason of %j takes less than 2 KB of the state, and its record is as small",
		async (sign) => {
			await using process = await Process.start({ model: scripted({ s1: failing(`no: ${sign.repeat(5000)}`) }) });
			await process.execute(planOf("s1", "s2 needs s1"));
			const record = (await process.records()).find(planStepFailed.is);
			expect(record?.data.reason).toMatch(/^no: .{200,}…$/su);
			const step = process.run().steps.s1;
			expect(step).toMatchObject({ status: "failed", reason: record?.data.reason });
			expect(Buffer.byteLength(JSON.stringify(step))).toBeLessThan(1900);
		},
	);

	test("whose step fails with a reason that is cut in the middle of a character tells what is recorded", async () => {
		await using process = await Process.start({
			model: scripted({ s1: failing(`${"x".repeat(998)}\u{1f6a7} closed`) }),
		});
		await process.execute(planOf("s1", "s2 needs s1"));
		const reason = `${"x".repeat(998)}\ufffd…`;
		expect((await process.records()).find(planStepFailed.is)?.data.reason).toBe(reason);
		expect(process.progress.map(({ change }) => change)).toContainEqual(
			expect.objectContaining({ status: "failed", reason }),
		);
	});

	test("may call its steps by names that every object has", async () => {
		const model = scripted({});
		await using process = await Process.start({ model });
		const result = await process.execute(planOf("constructor", "toString", "valueOf needs constructor toString"));
		expect(result).toEqual({ text: "valueOf done", failed: [] });
		expect(changes(process.progress).filter((change) => change.endsWith("running"))).toHaveLength(3);
		expect(model.requests.map(promptOf).at(-1)).toContain("### toString: Do toString\ntoString done");
	});

	test("leaves no open lane in the journal", async () => {
		await using process = await Process.start({ model: scripted({ s1: failing("no key") }) });
		await process.execute(planOf("s1", "s2 needs s1"));
		expect(process.view.get(journal)).toEqual(journal.init());
	});
});

describe("a step", () => {
	test("may use its own tools, and sees no others", async () => {
		const model = scripted({ s1: [{ calls: [["look", { at: "a" }]] }, "seen"] });
		await using process = await Process.start({ model, tools: [tool("look"), tool("write")] });
		await process.execute(planOf("s1 uses look", "s2 uses write needs s1"));
		expect(model.requests.map(({ tools }) => tools.map(({ name }) => name))).toEqual([["look"], ["look"], ["write"]]);
		expect(model.requests[1]?.messages.slice(1)).toEqual([
			{ role: "assistant", text: "", toolCalls: [{ id: "s1-0-0", name: "look", args: { at: "a" } }] },
			{ role: "tool", callId: "s1-0-0", name: "look", text: "look says" },
		]);
	});

	test("that calls a tool which it does not have is told so, and goes on", async () => {
		const written: unknown[] = [];
		const write = tool("write", { call: async (args) => `${written.push(args)}` });
		const model = scripted({ s1: [{ calls: [["write", {}]] }, "well"] });
		await using process = await Process.start({ model, tools: [tool("look"), write] });
		await process.execute(planOf("s1 uses look", "s2 uses write needs s1"));
		expect(model.requests[1]?.messages.at(-1)).toMatchObject({
			text: 'ERROR: there is no tool "write" here; there are look',
		});
		expect(written).toEqual([]);
	});

	test("whose tool fails is told so, and goes on; the failed effect is not made again", async () => {
		let tries = 0;
		const send = tool("send", {
			purity: "side_effect",
			async call() {
				tries++;
				throw new Error("no such channel");
			},
		});
		const model = scripted({ s1: [{ calls: [["send", {}]] }, failing("busy", { retryable: true })] });
		await using process = await Process.start({ model, tools: [send], limits: { retryLimit: 1 } });
		await process.execute(planOf("s1 uses send", "s2 needs s1"));
		const told = model.requests.filter((request) => stepIn(request) === "s1").map(({ messages }) => messages.at(-1));
		expect(told.slice(1)).toEqual(
			Array(2).fill({ role: "tool", callId: "s1-0-0", name: "send", text: "ERROR: no such channel" }),
		);
		expect(tries).toBe(1);
	});

	test("ends when the log fails beneath a tool: the model is neither told nor asked again", async () => {
		const disk = mortalEngine();
		const sent: unknown[] = [];
		const send = tool("send", { purity: "side_effect", call: async (args) => `${sent.push(args)}` });
		const model = scripted({
			s1() {
				disk.die();
				return { calls: [["send", {}]] };
			},
		});
		await using process = await Process.start({ model, disk, tools: [send] });
		await expect(process.execute(planOf("s1 uses send", "s2 needs s1"))).rejects.toMatchObject({
			code: "WAL_POISONED",
		});
		expect([model.paid, sent]).toEqual([["s1/0"], []]);
	});

	test("that still wants tools after its last turn fails", async () => {
		const model = scripted({ s1: { calls: [["look", {}]] } });
		await using process = await Process.start({ model, tools: [tool("look")], limits: { stepMaxIterations: 2 } });
		const { failed } = await process.execute(planOf("s1 uses look", "s2 needs s1"));
		expect(failed).toEqual(["s1"]);
		expect(model.paid).toEqual(["s1/0", "s1/1", "s2/0"]);
		expect(process.progress[1]?.change).toEqual({
			status: "failed",
			reason: "the step still asked for tools after 2 turns; raise plan.step_max_iterations or split the step",
			cost: { calls: 2, inputTokens: 200, outputTokens: 20 },
			took: 0,
		});
	});

	test("that has used more tokens than it may and still wants tools fails; one whose last answer does so is taken", async () => {
		const model = scripted({ s1: { calls: [["look", {}]] }, s2: [{ calls: [["look", {}]] }, "two"] });
		await using process = await Process.start({ model, tools: [tool("look")] });
		const plan = planOf("s1", "s2 needs s1");
		const limited = plan.steps.map((step, i) => ({ ...step, tools: ["look"], max_tokens: i === 0 ? 219 : 111 }));
		const { failed, text } = await process.execute({ ...plan, steps: limited });
		expect([failed, text]).toEqual([["s1"], "two"]);
		expect(model.paid).toEqual(["s1/0", "s1/1", "s2/0", "s2/1"]);
		expect(process.progress[1]?.change).toMatchObject({
			status: "failed",
			cost: { calls: 2, inputTokens: 200, outputTokens: 20 },
			reason:
				"the step has used 220 tokens of 219, and still asks for tools; raise plan.step_tokens, or its max_tokens, or split the step",
		});
	});

	test("has what a process that died has used counted", async () => {
		const plan = planOf("s1 uses look", "s2 needs s1");
		const limited = { ...plan, steps: plan.steps.map((step) => ({ ...step, max_tokens: 219 })) };
		const disk = mortalEngine();
		const asks = { calls: [["look", {}]] } as const;
		const dying = scripted({
			s1(turn) {
				if (turn > 0) disk.die();
				return asks;
			},
		});
		const process = await Process.start({ model: dying, disk, tools: [tool("look")] });
		await expect(process.execute(limited)).rejects.toMatchObject({ code: "WAL_POISONED" });
		const model = scripted({ s1: asks });
		await using next = await process.next({ model });
		expect((await next.execute(limited)).failed).toEqual(["s1"]);
		expect(model.paid).toEqual(["s1/1", "s2/0"]);
	});

	test("that names a class of models is done by it, and by that of the plan where it is gone", async () => {
		const [model, small] = [scripted({ s2: "of the plan" }), scripted({ s1: "small" })];
		await using process = await Process.start({ model });
		const plan = planOf("s1", "s2 needs s1");
		const classed = plan.steps.map((step, i) => ({ ...step, model: i === 0 ? "small" : "constructor" }));
		await process.execute({ ...plan, steps: classed }, { models: { small } });
		expect([small.paid, model.paid]).toEqual([["s1/0"], ["s2/0"]]);
	});

	test("that fails does not stop the plan: what depends on it is told why", async () => {
		const model = scripted({ s1: failing("no key"), s3: "the answer" });
		await using process = await Process.start({ model });
		const result = await process.execute(planOf("s1", "s2", "s3 needs s1 s2"));
		expect(result).toEqual({ text: "the answer", failed: ["s1"] });
		const last = model.requests.find((request) => stepIn(request) === "s3");
		expect(promptOf(last as never)).toContain("### s1: Do s1\n(FAILED: no key)\n### s2: Do s2\ns2 done");
		expect(process.boundaries).toHaveLength(4);
	});

	test("that comes last and fails leaves an answer: why, and what the others have found", async () => {
		await using process = await Process.start({ model: scripted({ s2: failing("no key") }) });
		const text =
			"This plan has no answer: its last step, s2, failed: no key\n\nWhat the steps before it have found:\n\n## s1: Do s1\ns1 done";
		expect(await process.execute(planOf("s1", "s2 needs s1"))).toEqual({ text, failed: ["s2"] });
		expect(process.view.get(outbox)).toEqual([{ plan: "p1", text }]);
	});
});

describe("a failure of the model", () => {
	const busy = failing("busy", { retryable: true });

	test("that may pass is tried again and announced, and what was paid before is not paid again", async () => {
		let failures = 2;
		const model = scripted({
			s1: (turn) => (turn === 0 ? { calls: [["look", {}]] } : failures-- > 0 ? busy : "at last"),
		});
		await using process = await Process.start({ model, tools: [tool("look", { purity: "side_effect" })] });
		expect(await process.execute(planOf("s1 uses look", "s2 needs s1"))).toMatchObject({ failed: [] });
		expect(model.paid).toEqual(["s1/0", "s1/1", "s1/1", "s1/1", "s2/0"]);
		expect(process.progress.slice(0, 4).map(({ change }) => change)).toEqual([
			{ status: "running" },
			{ status: "retrying", reason: "busy", retry: 1, limit: 3 },
			{ status: "retrying", reason: "busy", retry: 2, limit: 3 },
			{ status: "completed", cost: { calls: 2, inputTokens: 200, outputTokens: 20 }, took: 3000 },
		]);
		expect(process.time.waits).toEqual([1000, 2000]);
	});

	test("that does not pass fails the step after the last retry", async () => {
		const model = scripted({ s1: busy });
		await using process = await Process.start({ model, limits: { retryLimit: 2 } });
		expect(await process.execute(planOf("s1", "s2 needs s1"))).toMatchObject({ failed: ["s1"] });
		expect(model.paid.filter((call) => call === "s1/0")).toHaveLength(3);
		expect(changes(process.progress).slice(0, 4)).toEqual(["s1 running", "s1 retrying", "s1 retrying", "s1 failed"]);
	});

	test("that is no Error is one with its text", async () => {
		for (const [thrown, reason] of [
			["it broke", "it broke"],
			[undefined, "undefined"],
			[{ message: "overloaded" }, "overloaded"],
		] as const) {
			const model: Model = {
				id: "thrower",
				// biome-ignore lint/correctness/useYield: it throws before its first part
				async *generate() {
					throw thrown;
				},
			};
			await using process = await Process.start({ model });
			const { text, failed } = await process.execute(planOf("s1", "s2 needs s1"));
			expect(failed).toEqual(["s1", "s2"]);
			expect(text).toContain(`s2, failed: ${reason}\n`);
			expect(text).toContain(`(FAILED: ${reason})`);
		}
	});

	test("that is final is not tried again", async () => {
		const model = scripted({ s1: failing("budget exceeded") });
		await using process = await Process.start({ model });
		await process.execute(planOf("s1", "s2 needs s1"));
		expect(model.paid).toEqual(["s1/0", "s2/0"]);
		expect([changes(process.progress)[1], process.time.waits]).toEqual(["s1 failed", []]);
	});
});

describe("a plan that is cancelled", () => {
	test("stops with the reason, and goes on later with the steps that were not finished", async () => {
		const model = scripted({});
		await using process = await Process.start({ model });
		const plan = planOf("s1", "s2 needs s1", "s3 needs s2");
		const stop = process.execute(plan, {
			onBoundary: async () => process.cancel("interrupted by the user"),
		});
		await expect(stop).rejects.toThrow("interrupted by the user");
		expect(process.run().status).toBe("running");
		expect(process.view.get(outbox)).toEqual([]);
		await using next = await process.next();
		expect((await next.execute(plan)).text).toBe("s3 done");
		expect(model.paid).toEqual(["s1/0", "s2/0", "s3/0"]);
	});

	test("while the model answers records no failure, and pays that call again", async () => {
		const model = scripted({
			s1(turn) {
				if (turn === 0 && model.paid.length === 1) process.cancel("interrupted by the user");
				return "one";
			},
		});
		await using process = await Process.start({ model });
		const plan = planOf("s1", "s2 needs s1");
		await expect(process.execute(plan)).rejects.toThrow("interrupted by the user");
		expect(await process.kinds()).toEqual(["plan_started", "plan_step_started"]);
		await using next = await process.next();
		expect(await next.execute(plan)).toEqual({ text: "s2 done", failed: [] });
		expect(changes(next.progress)[0]).toBe("s1 resumed");
		expect((await next.kinds()).filter((kind) => kind === "plan_step_started")).toHaveLength(2);
		expect(model.paid).toEqual(["s1/0", "s1/0", "s2/0"]);
	});

	test("while it waits for a retry does not try again", async () => {
		const model = scripted({ s1: failing("busy", { retryable: true }) });
		await using process = await Process.start({ model });
		const { time } = process;
		const timers: Timers = {
			after(ms, run) {
				const cancel = time.after(ms, run);
				if (time.waits.length > 0) process.cancel("interrupted by the user");
				return cancel;
			},
		};
		await expect(process.execute(planOf("s1", "s2 needs s1"), { timers })).rejects.toThrow("interrupted by the user");
		expect([model.paid, process.run().steps.s1?.status]).toEqual([["s1/0"], "running"]);
	});

	test("is quiet when it returns: the last step has come to rest", async () => {
		const slow = Promise.withResolvers<string>();
		const model = scripted({ s1: failing("x"), s2: () => slow.promise });
		await using process = await Process.start({ model });
		let returned = false;
		const stopped = process
			.execute(planOf("s1", "s2", "s3 needs s1 s2"), { onBoundary: () => Promise.reject(new Error("no checkpoint")) })
			.catch((error: Error) => error.message)
			.finally(() => {
				returned = true;
			});
		while (!process.progress.some(({ change }) => change.status === "failed")) await new Promise(setImmediate);
		await new Promise(setImmediate);
		expect(returned).toBe(false);
		slow.resolve("late");
		expect(await stopped).toBe("no checkpoint");
		expect(process.run().steps.s2?.status).toBe("completed");
	});
});

describe("steps that are reset", () => {
	test("run again with all that depends on them, and nothing else does", async () => {
		const model = scripted({ s5: failing("no key") });
		const plan = planOf("s1", "s2 needs s1", "s3", "s4 needs s2", "s5 needs s3 s4");
		await using process = await Process.start({ model });
		const died = process.execute(plan, { deliver: () => Promise.reject(new Error("killed")) });
		await expect(died).rejects.toThrow("killed");
		model.paid.length = 0;

		const again = withDependents(plan, "s2");
		process.write(planStepsReset({ plan: "p1", steps: [...again] }));
		// A crash right after it forgets nothing.
		await using next = await process.next();
		expect(await next.execute(plan)).toMatchObject({ failed: ["s5"] });
		expect(model.paid).toEqual(["s2/0", "s4/0", "s5/0"]);
		expect(changes(next.progress)).toEqual([
			"s2 running",
			"s2 completed",
			"s4 running",
			"s4 completed",
			"s5 running",
			"s5 failed",
		]);
	});

	test("recall nothing of the attempt before, even one that was cut short", async () => {
		const model = scripted({ s1: [{ calls: [["look", {}]] }, "seen"] });
		const plan = planOf("s1 uses look", "s2 needs s1");
		await using process = await Process.start({ model, tools: [tool("look")], appends: 4 });
		await expect(process.execute(plan)).rejects.toThrow("killed");
		expect(model.paid).toContain("s1/0");
		model.paid.length = 0;
		await using next = await process.next();
		next.write(planStepsReset({ plan: "p1", steps: ["s1", "s2"] }));
		await next.execute(plan);
		expect(model.paid).toEqual(["s1/0", "s1/1", "s2/0"]);
	});
});
