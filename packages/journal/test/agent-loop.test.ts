/** The loop of an agent: what it asks, what it shows, and by what it ends. */
import { describe, expect, test } from "vitest";
import {
	agentLoop,
	JournalError,
	Lane,
	type LoopOptions,
	type Model,
	type ModelPart,
	type ModelRequest,
	runProgram,
	type StepEvent,
	stepCompleted,
	type Tool,
	type ToolAnswer,
	type Using,
} from "../src/index.ts";
import { DyingLog, SimulatedTime, scope, using } from "./dying-log.ts";

type Said = string | readonly string[] | Error;

/** Says one after the other, over all lives: a text, or the names of tools. */
function saying(...says: readonly Said[]): Model & { readonly asked: ModelRequest[] } {
	const asked: ModelRequest[] = [];
	return {
		id: "m",
		asked,
		async *generate(request) {
			const said = says[asked.push(request) - 1] ?? "nothing more";
			if (said instanceof Error) throw said;
			if (typeof said === "string") yield { type: "text", text: said };
			else
				for (const [i, name] of said.entries()) yield { type: "toolCall", call: { id: `${asked.length}-${i}`, name } };
			yield { type: "usage", usage: { inputTokens: 10, outputTokens: 1 } };
		},
	};
}

const tool = (name: string, more: Partial<Tool> = {}): Tool => ({
	name,
	description: `the tool ${name}`,
	parameters: {},
	purity: "side_effect",
	call: async () => `${name} says`,
	...more,
});

const request = { system: "short", messages: [{ role: "user" as const, text: "work" }] };

const run = (
	model: Model,
	tools: readonly Tool[] = [],
	options: Partial<LoopOptions> = {},
	log = new DyingLog(),
	more: Partial<Using> = {},
) => agentLoop(new Lane("a", scope, using(log, more)), model, request, tools, { maxRounds: 4, ...options });

describe("an agent", () => {
	test("is asked until it wants no tool, shown what they said, and counted", async () => {
		const model = saying(["look", "nowhere"], "done");
		expect(await run(model, [tool("look")])).toEqual({
			reply: { text: "done", toolCalls: [], usage: { inputTokens: 10, outputTokens: 1 } },
			rounds: 2,
			usage: { inputTokens: 20, outputTokens: 2 },
		});
		const toolCalls = [
			{ id: "1-0", name: "look" },
			{ id: "1-1", name: "nowhere" },
		];
		expect(model.asked[1]).toEqual({
			system: "short",
			messages: [
				...request.messages,
				{ role: "assistant", text: "", toolCalls },
				{ role: "tool", callId: "1-0", name: "look", text: "look says" },
				{
					role: "tool",
					callId: "1-1",
					name: "nowhere",
					text: 'ERROR: there is no tool "nowhere" here; there are look',
				},
			],
			tools: [{ name: "look", description: "the tool look", parameters: {} }],
		});
	});

	test("tells who listens what comes, in order, and of a recalled run the same", async () => {
		const model = saying(["look"], "done");
		const log = new DyingLog();
		const lives: string[][] = [];
		for (const _ of ["first", "second"]) {
			const told: string[] = [];
			await run(
				model,
				[tool("look")],
				{
					onText: (text) => told.push(text),
					onReply: async ({ text }, round) => void told.push(`reply ${round} ${text}`),
					onCall: ({ name }) => told.push(`calls ${name}`),
					onResult: async ({ name }, { text }) => void told.push(`${name}: ${text}`),
				},
				log,
			);
			lives.push(told);
		}
		expect(lives[0]).toEqual(["reply 0 ", "calls look", "look: look says", "done", "reply 1 done"]);
		expect(lives[1]).toEqual(lives[0]);
		expect(model.asked.length).toBe(2);
	});

	test("that asks for tools for ever is ended, by an error with a code or one's own", async () => {
		const model = saying(...Array.from({ length: 6 }, () => ["look"]));
		await expect(run(model, [tool("look")], { maxRounds: 3 })).rejects.toMatchObject({
			code: "AGENT_TURNS",
			message: "the agent still asked for tools after 3 turns; raise maxTurns or ask for less",
			detail: { maxTurns: 3 },
		});
		const tooMany = (rounds: number) => new Error(`enough after ${rounds}`);
		await expect(run(model, [tool("look")], { maxRounds: 3, tooMany })).rejects.toThrow("enough after 3");
		expect(model.asked.length).toBe(6);
	});

	test("is told what its answer lacks, and answers again", async () => {
		const model = saying("four", "4");
		const mend = ({ text }: { readonly text: string }) => (text === "4" ? undefined : `no number: ${text}`);
		expect(await run(model, [], { mend })).toMatchObject({ reply: { text: "4" }, rounds: 2 });
		expect(model.asked[1]?.messages.slice(1)).toEqual([
			{ role: "assistant", text: "four", toolCalls: [] },
			{ role: "user", text: "no number: four" },
		]);
	});

	test("is asked as often as this loop says, and else as the lane does", async () => {
		const time = new SimulatedTime();
		const busy = () => Object.assign(new Error("busy"), { retryable: true });
		const model = saying(busy(), busy(), "done");
		const more = { clock: time, timers: time, random: () => 0, modelPolicy: { retry: { initialIntervalMs: 7 } } };
		const asked = run(model, [], { retry: { maxAttempts: 2 } }, new DyingLog(), more);
		await expect(time.until(asked)).rejects.toMatchObject({ code: "MODEL_UNAVAILABLE", detail: { attempts: 2 } });
		expect(time.waits.filter((ms) => ms < 1000)).toEqual([7]);
	});

	test("that is killed anywhere asks nothing twice that was answered", async () => {
		const tools = [tool("look"), tool("pay", { purity: "external" })];
		const says: Said[] = [["look", "pay"], ["pay"], "done"];
		const whole = new DyingLog();
		const end = await run(saying(...says), tools, {}, whole);
		for (let appends = 0; appends < whole.records.length; appends++) {
			const log = new DyingLog(appends);
			const model = saying(...says);
			await expect(run(model, tools, {}, log)).rejects.toThrow("killed");
			log.revive();
			const answered = log.records.filter((record) => stepCompleted.is(record) && record.data.kind === "model").length;
			const next = saying(...says.slice(answered));
			expect(await run(next, tools, {}, log)).toEqual(end);
			expect(next.asked.length).toBe(says.length - answered);
		}
	});
});

describe("an answer that is not whole", () => {
	/** Ends each answer with a reason and what it wants back. */
	function ending(
		...ends: readonly Extract<ModelPart, { type: "finish" }>[]
	): Model & { readonly asked: ModelRequest[] } {
		const asked: ModelRequest[] = [];
		return {
			id: "m",
			asked,
			async *generate(asking) {
				const end = ends[asked.push(asking) - 1];
				yield { type: "text", text: `answer ${asked.length}` };
				if (asked.length === 1) yield { type: "toolCall", call: { id: "c", name: "pay" } };
				if (end) yield end;
				yield { type: "usage", usage: { inputTokens: 10, outputTokens: 3, cachedInputTokens: 4 } };
			},
		};
	}

	test.each(["length", "filter", "other"] as const)(
		"(%s) is paid once, and none of its calls is made",
		async (reason) => {
			const log = new DyingLog();
			const model = ending({ type: "finish", reason });
			let paid = 0;
			const pay = tool("pay", { call: async () => `receipt ${++paid}` });
			const heard: string[] = [];
			for (let life = 1; life <= 2; life++)
				await expect(run(model, [pay], { onText: (text) => void heard.push(text) }, log)).rejects.toMatchObject({
					code: "MODEL_CUT",
					retryable: false,
					detail: { model: "m", reason },
				});
			expect([model.asked.length, paid]).toEqual([1, 0]);
			expect(heard).toEqual(["answer 1", "answer 1"]);
			expect(log.records.filter((record) => stepCompleted.is(record)).map(({ data }) => data)).toMatchObject([
				{ usage: { inputTokens: 10, outputTokens: 3, cachedInputTokens: 4 } },
			]);
		},
	);

	test("to a part of its request stands, and is told of when it is given and not when it is recalled", async () => {
		const log = new DyingLog();
		const told: StepEvent[] = [];
		const observe = (event: StepEvent): void => void (event.type === "unread" && told.push(event));
		for (let life = 1; life <= 2; life++) {
			const model = ending({ type: "finish", reason: "stop", least: 25 });
			expect(await run(model, [tool("pay")], {}, log, { observe })).toMatchObject({ reply: { text: "answer 2" } });
			expect(told).toEqual([{ type: "unread", lane: "a", kind: "model", name: "m", read: 10, least: 25 }]);
		}
	});

	test("is none that ends by itself: what it wants back comes back as it was, to that model, across a kill too", async () => {
		// The process dies when the second answer is to be recorded.
		const log = new DyingLog(3);
		const echo = [{ type: "thinking", signature: "é\u2028==" }, null];
		const killed = ending({ type: "finish", reason: "stop", echo });
		await expect(run(killed, [tool("pay")], {}, log)).rejects.toThrow("killed");
		expect(killed.asked[1]?.messages[1]).toMatchObject({ role: "assistant", echo: { model: "m", parts: echo } });
		log.revive();
		const model = ending({ type: "finish", reason: "stop" });
		model.asked.push(request as never);
		const { usage } = await run(model, [tool("pay")], {}, log);
		expect(model.asked.slice(1)).toEqual(killed.asked.slice(1));
		expect(usage).toEqual({ inputTokens: 20, outputTokens: 6, cachedInputTokens: 8 });
	});
});

describe("a tool that ends the turn", () => {
	const handsOver = { mendings: 1 };
	const plan = (...answers: readonly (string | Error | ToolAnswer)[]): Tool => {
		let calls = 0;
		return tool("plan", {
			endsTurn: true,
			call: async () => {
				const answer = answers[calls++] ?? "no more";
				if (answer instanceof Error) throw answer;
				return answer;
			},
		});
	};
	const invalid = { text: "no steps", isError: true as const };

	test("ends the loop once it has answered, with what else was called then", async () => {
		const model = saying(["plan", "look"], "not asked for");
		const end = await run(model, [plan("started"), tool("look")], { handsOver });
		expect(end).toMatchObject({ rounds: 1, handedOver: { name: "plan", text: "started", failed: false } });
		expect(model.asked.length).toBe(1);
	});

	test("is a tool like others for who hands nothing over", async () => {
		const end = await run(saying(["plan"], "done"), [plan("started")]);
		expect([end.reply.text, end.handedOver]).toEqual(["done", undefined]);
	});

	test("may be mended as often as it is said, and one that works ends it", async () => {
		const model = saying(["plan"], ["look"], ["plan"]);
		const end = await run(model, [plan(invalid, "started"), tool("look")], { handsOver });
		expect(end).toMatchObject({ rounds: 3, handedOver: { text: "started" } });
		expect(model.asked[1]?.messages.at(-1)).toMatchObject({ text: "ERROR: no steps" });
	});

	test("ends it with its error when it was mended in vain, several in one answer counted as one", async () => {
		const end = await run(saying(["plan", "plan"], ["plan"]), [plan(invalid, invalid, invalid)], { handsOver });
		expect(end).toMatchObject({ rounds: 2, handedOver: { name: "plan", error: "no steps", failed: false } });
	});

	test("ends it at once where it has no answer", async () => {
		const end = await run(saying(["plan"]), [plan(new Error("no place for it"))], { handsOver });
		expect(end).toMatchObject({ rounds: 1, handedOver: { error: "no place for it", failed: true } });
	});

	test("goes on where its answer says so, which is no try, over a cut too", async () => {
		const log = new DyingLog();
		const answers = [
			{ text: "not so", isError: true as const, goesOn: true as const },
			{ text: "no", goesOn: true as const },
		];
		const replies = [["plan"], ["plan"], ["plan"], ["plan"]];
		const first = saying(...replies);
		const end = await run(first, [plan(...answers, invalid, "started")], { handsOver }, log);
		expect(end).toMatchObject({ rounds: 4, handedOver: { text: "started" } });
		expect(first.asked.map(({ messages }) => messages.at(-1)?.text).slice(1)).toEqual([
			"ERROR: not so",
			"no",
			"ERROR: no steps",
		]);
		const next = saying();
		expect(await run(next, [plan()], { handsOver }, log)).toEqual(end);
		expect(next.asked).toEqual([]);
	});

	test("that is made so over a cut ends no round that something was answered to then", async () => {
		const log = new DyingLog();
		const first = saying(["plan"], ["look"], "done");
		const end = await run(first, [tool("plan"), tool("look")], {}, log);
		const next = saying();
		expect(await run(next, [plan("started"), tool("look")], { handsOver }, log)).toEqual(end);
		expect(next.asked.length).toBe(0);
	});
});

test("a program that catches a call of a tool that is gone, and that nobody knows about, stops with it", async () => {
	const log = new DyingLog();
	const waits = () => Promise.reject(new JournalError("CALL_WAITING", "it waits for the bank"));
	for (const tools of [[tool("pay", { call: waits })], []]) {
		const program = (lane: Lane): Promise<unknown> =>
			agentLoop(lane, saying(["pay"]), request, tools, { maxRounds: 4 }).catch(() => "nothing was paid");
		const stopped = runProgram("a", scope, using(log), program);
		await expect(stopped).rejects.toMatchObject({ code: "CALL_WAITING" });
	}
});

describe("a gate", () => {
	test("is asked for models and tools alike, and for nothing that is recalled", async () => {
		const asked: string[] = [];
		const gate: NonNullable<Using["gate"]> = async ({ type, name }) => {
			asked.push(`${type} ${name}`);
			return { kind: "pass" };
		};
		const log = new DyingLog();
		const model = saying(["look"], "done");
		for (const _ of ["first", "second"]) await run(model, [tool("look")], {}, log, { gate });
		expect(asked).toEqual(["model m", "tool look", "model m"]);
	});

	test("that denies a model ends the loop by its code, and what waits by CALL_WAITING", async () => {
		const log = new DyingLog();
		const model = saying("done");
		const denied = run(model, [], {}, log, {
			gate: async () => ({ kind: "deny", code: "BUDGET", reason: "all is spent" }),
		});
		await expect(denied).rejects.toMatchObject({ code: "BUDGET", message: "all is spent" });
		expect(log.kinds).toEqual(["step_failed"]);
		const waiting = run(model, [], {}, log, { gate: async () => ({ kind: "wait", for: "more money" }) });
		await expect(waiting).rejects.toMatchObject({ code: "CALL_WAITING" });
		expect([model.asked.length, (await run(model, [], {}, log)).reply.text]).toEqual([0, "done"]);
	});
});
