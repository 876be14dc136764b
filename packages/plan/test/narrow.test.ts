/** How a step is kept narrow: long results are shown in part, the rest can be read, and nothing is paid twice for it. */
import { fingerprint, journal, stepCompleted } from "@reyn/journal";
import { recordedIn } from "@reyn/journal/internal";
import { memoryBlobs } from "@reyn/wal";
import { describe, expect, test } from "vitest";
import { type PlanStep, planStarted, planStepCompleted, planStepStarted, type StepContext } from "../src/index.ts";
import { ALL, EACH, narrowed, readResult } from "../src/narrow.ts";
import { stepRequest } from "../src/step-prompt.ts";
import { Process, planOf, promptOf, type Script, scripted, stepIn } from "./plan-process.ts";

const long = Array.from({ length: 3000 }, (_, n) => `line ${n}`).join("\n");
const context = { signal: new AbortController().signal };

describe("results", () => {
	test("that are short are shown as they are", () => {
		const results = new Map([
			["a", "x".repeat(EACH)],
			["b", ""],
		]);
		expect(narrowed(results)).toEqual({ shown: results, cut: [] });
	});

	test("that are long are shown by their beginnings, which say how to read on", () => {
		const { shown, cut } = narrowed(
			new Map([
				["a", long],
				["b", "short"],
			]),
		);
		expect(cut).toEqual(["a"]);
		expect(shown.get("b")).toBe("short");
		expect(shown.get("a")).toBe(
			`${long.slice(0, EACH)}\n[${EACH} of ${long.length} characters; read_result {"step":"a","from":${EACH}} reads on]`,
		);
	});

	test("share what there is for all, and short ones leave their part to long ones", () => {
		const of = (...sizes: number[]) => new Map(sizes.map((size, n) => [`s${n}`, "x".repeat(size)]));
		const sizesOf = (...sizes: number[]): number[] =>
			[...narrowed(of(...sizes)).shown].toSorted().map(([, text]) => text.replace(/\n\[.*/, "").length);
		expect(sizesOf(9000, 9000, 9000, 9000, 9000, 9000)).toEqual(Array(6).fill(ALL / 6));
		expect(sizesOf(9000, 100, 9000, 9000, 100, 100)).toEqual([8092, 100, 8092, 8092, 100, 100]);
		expect(sizesOf(5000, 5000, 5000, 5000)).toEqual([5000, 5000, 5000, 5000]);
	});

	test("are never cut within a character, and are read whole by the tool, piece by piece", async () => {
		const text = `a${"\u{1f600}".repeat(EACH * 2)}`;
		const [shown = ""] = narrowed(new Map([["a", text]])).shown.values();
		expect(shown.isWellFormed()).toBe(true);
		const tool = readResult(new Map([["a", text]]), ["a"]);
		let read = shown;
		let all = "";
		for (let calls = 0; ; calls++) {
			const end = read.lastIndexOf("\n");
			expect(read.isWellFormed()).toBe(true);
			all += read.slice(0, end);
			const next = /read_result (\{.*\}) reads on/.exec(read.slice(end))?.[1];
			if (next === undefined) break;
			expect(calls).toBeLessThan(10);
			read = (await tool.call(JSON.parse(next), context)) as string;
		}
		expect(all).toBe(text);
		expect(await tool.call({ step: "a", from: 1e9 }, context)).toBe("\n[this is its end]");
		await expect(tool.call({ step: "b" }, context)).rejects.toMatchObject({ code: "TOOL_INVALID_ARGS" });
	});
});

describe("a step", () => {
	const plan = planOf("s1", "s2 needs s1");
	const reading = (): Script =>
		scripted({ s1: long, s2: [{ calls: [["read_result", { step: "s1", from: 20_000 }]] }, "read"] });

	test("is offered the tool where something was cut, gets no more than the bound, and what it is shown is reported", async () => {
		const model = reading();
		const contexts: StepContext[] = [];
		await using process = await Process.start({ model });
		const results = memoryBlobs();
		expect(await process.execute(plan, { results, context: (of) => void contexts.push(of) })).toMatchObject({
			text: "read",
		});
		const [first, second, third] = model.requests;
		expect([first?.tools, second?.tools.map(({ name }) => name)]).toEqual([[], ["read_result"]]);
		expect(third?.messages.at(-1)).toMatchObject({
			role: "tool",
			text: expect.stringContaining(long.slice(20_000, 28_192)),
		});
		const asked = promptOf(second as never);
		expect(asked.length).toBeLessThan(EACH + 300);
		expect(contexts).toMatchObject([
			{ step: "s1", cut: [] },
			{ step: "s2", attempt: 0, cut: ["s1"] },
		]);
		const { parts } = contexts[1] as StepContext;
		expect(parts.goal).toEqual({ characters: "Goal: Find out".length, tokens: 5 });
		expect(parts.line.characters).toBe("Step s2: Do s2".length);
		expect(parts.goal.characters + parts.line.characters + parts.results.characters).toBe(asked.length - 2);
		expect(parts.tools.characters).toBe(JSON.stringify(second?.tools).length);
		expect(contexts[0]?.parts.tools).toEqual({ characters: 0, tokens: 0 });
		expect(contexts[0]?.parts.results).toEqual({ characters: 0, tokens: 0 });
	});

	test("that a death cut while it reads goes on, and pays for what was open alone", async () => {
		const results = memoryBlobs();
		for (let appends = 0, isDead = true; isDead; appends++) {
			expect(appends).toBeLessThan(40);
			const model = reading();
			const first = await Process.start({ model, appends });
			await first.execute(plan, { results }).catch(() => undefined);
			isDead = first.isDead;
			await using next = await first.next();
			if (isDead) expect(await next.execute(plan, { results })).toMatchObject({ text: "read" });
			expect(model.paid.length, `after ${appends} appends`).toBeLessThanOrEqual(3 + (isDead ? 1 : 0));
		}
	});

	test("that an older version has begun with whole results goes on with what it has paid", async () => {
		const model = scripted({});
		await using process = await Process.start({ model });
		const cost = { calls: 1, inputTokens: 1, outputTokens: 1 };
		const { messages } = stepRequest(plan, plan.steps[1] as PlanStep, new Map([["s1", long]]), []);
		process.write(
			planStarted({ plan: "p1", goal: plan.goal, steps: 2, decomposition: "" }),
			planStepStarted({ plan: "p1", step: "s1", attempt: 0 }),
			planStepCompleted({ plan: "p1", step: "s1", result: long, cost }),
			planStepStarted({ plan: "p1", step: "s2", attempt: 0 }),
			stepCompleted({
				...{ lane: "plan/p1/s2/0", kind: "model", name: "scripted", fp: "f".repeat(64), occ: 0, purity: "llm" },
				round: `${fingerprint("loop", "", messages).slice(0, 32)}:0:0`,
				result: { text: "paid before", toolCalls: [], usage: { inputTokens: 1, outputTokens: 1 } },
			}),
		);
		const contexts: StepContext[] = [];
		const stepsIn = (lane: string) => recordedIn(process.view.get(journal), lane);
		expect(await process.execute(plan, { stepsIn, context: (of) => void contexts.push(of) })).toMatchObject({
			text: "paid before",
		});
		expect(model.requests.map(stepIn)).toEqual([]);
		expect(contexts).toMatchObject([{ step: "s2", cut: [] }]);
	});
});
