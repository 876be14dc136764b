/** A call of a tool: let pass or not, prepared, made once, and what a model is told of it. */
import { describe, expect, test } from "vitest";
import {
	callTool,
	type GatedCall,
	type Json,
	Lane,
	type Purity,
	type StepEvent,
	shownOf,
	type Tool,
	type ToolAnswer,
	type Using,
	type Verdict,
} from "../src/index.ts";
import { DyingLog, quiet, SimulatedTime, scope, using } from "./dying-log.ts";

/** A tool and its far side, over all lives of a process. */
function payer(more: Partial<Tool> = {}): Tool & { readonly made: unknown[] } {
	const made: unknown[] = [];
	return {
		name: "pay",
		description: "pays",
		parameters: {},
		purity: "side_effect",
		made,
		async call(args) {
			made.push(args);
			return `paid ${made.length}`;
		},
		...more,
	};
}

/** Whoever is asked, and what. */
function gateOf(...verdicts: readonly Verdict[]) {
	const asked: Omit<GatedCall, "signal">[] = [];
	const gate = async ({ signal: _, ...call }: GatedCall): Promise<Verdict> =>
		verdicts[Math.min(asked.push(call), verdicts.length) - 1] ?? { kind: "pass" };
	return { asked, gate };
}

const deny: Verdict = { kind: "deny", code: "NOT_ALLOWED", reason: "nobody may pay" };
const wait: Verdict = { kind: "wait", for: "a person" };
const pass: Verdict = { kind: "pass" };

const life = (log: DyingLog, tool: Tool, more: Partial<Using> = {}, args: unknown = { euros: 3 }) =>
	callTool(new Lane("a", scope, using(log, more)), [tool], { id: "1", name: tool.name, args });

describe("a gate", () => {
	test("is asked once for a call that is made, and never for one that is recalled", async () => {
		const log = new DyingLog();
		const tool = payer();
		const { asked, gate } = gateOf(pass);
		const paid = { text: "paid 1", failed: false };
		expect(await life(log, tool, { gate })).toEqual(paid);
		const [{ fp }] = log.records.map(({ data }) => data as { fp: string }) as [{ fp: string }];
		const key = `a ${fp}:0`;
		const call = { type: "tool", name: "pay", args: { euros: 3 }, key, lane: "a", purity: "side_effect" };
		expect(asked).toEqual([call]);
		expect(await life(log, tool, { gate })).toEqual(paid);
		expect([asked.length, tool.made.length]).toEqual([1, 1]);
	});

	test.each<Purity>(["side_effect", "external", "world", "pure"])(
		"that denies a %s call leaves no start of it, only a failure",
		async (purity) => {
			const log = new DyingLog();
			const tool = payer({ purity });
			const { gate } = gateOf(deny);
			const denied = { text: "ERROR: nobody may pay", error: "nobody may pay", failed: true };
			expect(await life(log, tool, { gate })).toEqual(denied);
			expect(log.kinds).toEqual(purity === "pure" ? [] : ["step_failed"]);
			expect(tool.made).toEqual([]);
			if (purity === "pure") return;
			expect(log.records[0]?.data).toMatchObject({ retryable: false, told: true, reason: { code: "NOT_ALLOWED" } });
		},
	);

	test("that has denied an effect is not asked again: the denial is recalled", async () => {
		const log = new DyingLog();
		const tool = payer();
		const { asked, gate } = gateOf(deny, pass);
		const first = await life(log, tool, { gate });
		expect(await life(log, tool, { gate })).toEqual(first);
		expect([asked.length, tool.made]).toEqual([1, []]);
	});

	test("that lets a call wait stops the work, and nothing is recorded; it is asked by the same key again", async () => {
		const log = new DyingLog();
		const tool = payer();
		const { asked, gate } = gateOf(wait, wait, pass);
		for (const _ of ["first", "second"])
			await expect(life(log, tool, { gate })).rejects.toMatchObject({
				code: "CALL_WAITING",
				detail: { for: "a person", name: "pay", lane: "a" },
			});
		expect([log.kinds, tool.made]).toEqual([[], []]);
		expect(await life(log, tool, { gate })).toMatchObject({ text: "paid 1" });
		expect(new Set(asked.map(({ key }) => key)).size).toBe(1);
		expect(asked.length).toBe(3);
	});

	test("tells equal calls apart, and is asked once for all tries of one", async () => {
		const time = new SimulatedTime();
		const log = new DyingLog(Number.POSITIVE_INFINITY, time);
		const { asked, gate } = gateOf(pass);
		let calls = 0;
		const tool = payer({
			retry: { maxAttempts: 3 },
			call: async () => {
				if (++calls < 3) throw new Error("busy");
				return "paid";
			},
		});
		const lane = new Lane("a", scope, using(log, { gate, clock: time, timers: time }));
		for (const id of ["1", "2"]) await time.until(callTool(lane, [tool], { id, name: "pay" }));
		expect([asked.length, calls]).toEqual([2, 4]);
		expect(asked.map(({ key }) => key.slice(-2))).toEqual([":0", ":1"]);
	});

	test.each([
		[1, { text: "paid 1" }, ["a note of 1"]],
		[2, { text: "paid 1" }, ["a note of 1", "a note of 2"]],
		[
			9,
			{ failed: true, text: expect.stringContaining("changed each time") },
			["a note of 1", "a note of 2", "a note of 3"],
		],
	])(
		"is asked anew where the call would do something else meanwhile: %d times another thing",
		async (times, end, shown) => {
			const log = new DyingLog();
			let changed = 0;
			const { asked, gate } = gateOf(pass, pass, pass, pass);
			const tool = payer({
				wants: async () => {
					// Looked at before and after each verdict: what is seen after one is shown for the next.
					changed = Math.min(changed + 1, times);
					return [{ action: "pay", subject: `a note of ${changed}` }];
				},
			});
			expect(await life(log, tool, { gate })).toMatchObject(end);
			expect(asked.map(({ wants }) => wants?.[0]?.subject)).toEqual(shown);
			expect(tool.made.length).toBe("failed" in end ? 0 : 1);
			expect(log.kinds.includes("step_started")).toBe(!("failed" in end));
		},
	);

	test.each(["wants", "prepare"] as const)(
		"a call whose %s never ends fails when a try would be over, and was not begun",
		async (part) => {
			const [log, time] = [new DyingLog(), new SimulatedTime()];
			let isStopped = false;
			const never = (_: unknown, { signal }: { readonly signal: AbortSignal }) => {
				signal.addEventListener("abort", () => {
					isStopped = true;
				});
				return new Promise<never>(() => {});
			};
			const tool = payer({ timeoutMs: 100, [part]: never });
			const { gate } = gateOf(pass);
			expect(await time.until(life(log, tool, { gate, clock: time, timers: time }))).toMatchObject({
				failed: true,
				text: "ERROR: pay took longer than its 100 ms to say what it would do, and was not called",
			});
			expect([isStopped, log.kinds, tool.made]).toEqual([true, ["step_failed"], []]);
			expect(time.waiting).toBe(0);
		},
	);

	test("is not asked by a call that was given up meanwhile", async () => {
		const log = new DyingLog();
		const stop = new AbortController();
		const tool = payer();
		const gate = async (): Promise<Verdict> => {
			stop.abort(new Error("given up"));
			return pass;
		};
		await expect(life(log, tool, { gate, signal: stop.signal })).rejects.toThrow("given up");
		expect([log.kinds, tool.made]).toEqual([[], []]);
	});

	test("that denies a world that was asked before leaves what it said then", async () => {
		const log = new DyingLog();
		const tool = payer({ purity: "world" });
		await life(log, tool);
		const { gate } = gateOf(deny);
		expect(await life(log, tool, { gate })).toEqual({ text: "paid 1", failed: false });
		expect([log.kinds, tool.made.length]).toEqual([["step_completed"], 1]);
	});

	test("that fails is no answer: nothing is called, and nothing recorded", async () => {
		const log = new DyingLog();
		const tool = payer();
		const gate = () => Promise.reject(new Error("no gate"));
		for (const _ of ["first", "second"])
			await expect(life(log, tool, { gate })).rejects.toMatchObject({
				code: "CALL_WAITING",
				message: expect.stringContaining("no gate"),
				cause: { message: "no gate" },
			});
		expect([log.kinds, tool.made]).toEqual([[], []]);
		expect(await life(log, tool, gateOf(pass))).toMatchObject({ text: "paid 1" });
	});
});

describe("a gate that gives no verdict", () => {
	test.each([undefined, null, "pass", {}, { kind: "allow" }])(
		"but %j lets nothing pass: the call waits",
		async (given) => {
			const log = new DyingLog();
			const tool = payer();
			const gate = async () => given as Verdict;
			await expect(life(log, tool, { gate })).rejects.toMatchObject({
				code: "CALL_WAITING",
				message: expect.stringContaining("its gate, which failed"),
			});
			expect([log.kinds, tool.made]).toEqual([[], []]);
		},
	);
});

describe("a call in doubt", () => {
	/** It was called, and the process died before that was recorded. */
	async function inDoubt(tool: Tool): Promise<DyingLog> {
		const log = new DyingLog(1);
		await expect(life(log, tool)).rejects.toThrow("killed");
		expect(log.kinds).toEqual(["step_started"]);
		log.revive();
		return log;
	}

	test.each([
		["retry", "paid 2", 2],
		["skip", "(skipped: nobody knows whether this call happened before the process ended)", 1],
	] as const)("that says %s of itself needs no policy", async (inDoubt_, text, made) => {
		const tool = payer({ inDoubt: inDoubt_ });
		const log = await inDoubt(tool);
		expect(await life(log, tool, { whenInDoubt: () => "discard" })).toEqual({ text, failed: false });
		expect(tool.made.length).toBe(made);
	});

	test("is taken for what the tool says of one that is skipped", async () => {
		const tool = payer({ inDoubt: "skip", empty: "perhaps paid" });
		expect(await life(await inDoubt(tool), tool)).toMatchObject({ text: "perhaps paid" });
	});

	test("that is to be asked for waits where nobody can be asked", async () => {
		const tool = payer({ inDoubt: "ask" });
		const log = await inDoubt(tool);
		await expect(life(log, tool)).rejects.toMatchObject({ code: "CALL_WAITING" });
		expect([log.kinds, tool.made.length]).toEqual([["step_started"], 1]);
	});

	test.each([
		["passes", pass, { text: "paid 2" }, 2],
		["is denied", deny, { text: "ERROR: nobody may pay", failed: true }, 1],
	] as const)("that is to be asked for and %s", async (_, verdict, result, made) => {
		const tool = payer({ inDoubt: "ask" });
		const log = await inDoubt(tool);
		const { asked, gate } = gateOf(verdict);
		expect(await life(log, tool, { gate })).toMatchObject(result);
		expect(asked).toMatchObject([{ inDoubt: true }]);
		expect(tool.made.length).toBe(made);
		// It is over, one way or the other.
		expect(await life(log, tool, { gate })).toMatchObject(result);
		expect([asked.length, tool.made.length]).toEqual([1, made]);
	});

	/** A far side that cannot be reached so often, and then knows of the call. */
	function unreachable(times: number, more: Partial<Tool> = {}, error: object = {}) {
		const keys: string[] = [];
		const reconcile: NonNullable<Tool["reconcile"]> = async (key) => {
			if (keys.push(key) <= times) throw Object.assign(new Error("refused"), { code: "ECONNREFUSED" }, error);
			return { kind: "done", result: "it was paid" };
		};
		return { keys, tool: payer({ reconcile, ...more }) };
	}

	test("whose far side cannot be asked stays in doubt: it is not made, nothing is recorded, and it is asked again", async () => {
		const { keys, tool } = unreachable(2);
		const log = await inDoubt(tool);
		const events: StepEvent[] = [];
		const observe = (event: StepEvent): void => void events.push(event);
		for (const _ of ["first", "second"])
			await expect(life(log, tool, { observe, whenInDoubt: () => "skip" })).rejects.toMatchObject({
				code: "CALL_IN_DOUBT",
				detail: { name: "pay", lane: "a", started: 1, reason: { code: "ECONNREFUSED", message: "refused" } },
				cause: { code: "ECONNREFUSED" },
			});
		const said = { type: "in_doubt", lane: "a", kind: "tool", name: "pay", decision: "waits", reason: "refused" };
		expect([events, log.kinds, tool.made.length]).toEqual([[said, said], ["step_started"], 1]);
		expect(await life(log, tool)).toEqual({ text: "it was paid", failed: false });
		expect([keys, tool.made.length]).toEqual([["log:1", "log:1", "log:1"], 1]);
	});

	test.each([
		["as often as its policy allows", 3, {}, "CALL_IN_DOUBT", 3],
		["until it says so", 2, {}, undefined, 3],
		["once where it says that no more tries help", 3, { retryable: false }, "CALL_IN_DOUBT", 1],
	] as const)("asks its far side %s", async (_, times, error, code, asked) => {
		const { keys, tool } = unreachable(times, { retry: { maxAttempts: 3 } }, error);
		const log = await inDoubt(tool);
		const time = new SimulatedTime();
		const told = time.until(life(log, tool, { clock: time, timers: time }));
		if (code) await expect(told).rejects.toMatchObject({ code });
		else expect(await told).toMatchObject({ text: "it was paid" });
		expect([keys.length, time.waits]).toEqual([asked, [1000, 2000].slice(0, asked - 1)]);
	});

	test("whose far side never answers waits for it no longer than its limit of time", async () => {
		const reconcile = (): Promise<never> => new Promise(() => {});
		const tool = payer({ reconcile, timeoutMs: 100 });
		const log = await inDoubt(tool);
		const time = new SimulatedTime();
		await expect(time.until(life(log, tool, { clock: time, timers: time }))).rejects.toMatchObject({
			code: "CALL_IN_DOUBT",
			detail: {
				reason: { code: "STEP_TIMEOUT", message: "its far side took longer than the 100 ms of pay to say so" },
			},
		});
		expect([time.waits, log.kinds, tool.made.length]).toEqual([[100], ["step_started"], 1]);
	});

	test("that is given up while its far side cannot be reached ends as what gave it up says", async () => {
		const stop = new AbortController();
		const tool = payer({
			reconcile() {
				stop.abort(new Error("given up"));
				throw new Error("refused");
			},
		});
		const log = await inDoubt(tool);
		await expect(life(log, tool, { signal: stop.signal })).rejects.toThrow("given up");
	});

	test("since it took too long waits too where its far side cannot be asked", async () => {
		const { keys, tool: far } = unreachable(2, { retry: { maxAttempts: 2 }, timeoutMs: 100 });
		const tool: Tool = {
			...far,
			call: (args) => far.call(args, { signal: stop.signal }).then(() => new Promise(() => {})),
		};
		const stop = new AbortController();
		const log = new DyingLog();
		const time = new SimulatedTime();
		const told = time.until(life(log, tool, { clock: time, timers: time }));
		await expect(told).rejects.toMatchObject({ code: "CALL_IN_DOUBT" });
		expect(await time.until(life(log, tool, { clock: time, timers: time }))).toMatchObject({ text: "it was paid" });
		expect([keys.length, far.made.length]).toEqual([3, 1]);
	});

	test("that ends while somebody is asked about it has ended so, whatever they say", async () => {
		const tool = payer({ inDoubt: "ask" });
		const log = await inDoubt(tool);
		const [{ seq, data }] = log.records as unknown as [{ seq: number; data: object }];
		// The call of before, which was given up, and which nobody can stop.
		const gate = async (): Promise<Verdict> => {
			log.append({ kind: "step_completed", data: { ...data, started: seq, result: "paid late" } }, scope);
			return deny;
		};
		expect(await life(log, tool, { gate })).toEqual({ text: "paid late", failed: false });
		expect([log.kinds, tool.made.length]).toEqual([["step_started", "step_completed"], 1]);
	});

	test("that its far side knows of is not asked for, by anybody", async () => {
		const reconcile = async (): Promise<{ kind: "done"; result: ToolAnswer }> => ({
			kind: "done",
			result: { text: "it was paid" },
		});
		const tool = payer({ inDoubt: "ask", reconcile });
		const log = await inDoubt(tool);
		const { asked, gate } = gateOf(deny);
		expect(await life(log, tool, { gate })).toEqual({ text: "it was paid", failed: false });
		expect([asked, tool.made.length]).toEqual([[], 1]);
		expect(log.records.at(-1)?.data).toMatchObject({ result: "it was paid" });
	});
});

describe("what a call is prepared with", () => {
	/** Prepares by a number that counts, and keeps what it was given. */
	function writer(more: Partial<Tool> = {}) {
		const prepared: Json[] = [];
		const calls: unknown[] = [];
		const reconciled: unknown[] = [];
		const tool: Tool = {
			...payer(),
			prepare: async (args) => {
				prepared.push({ args: args as Json, before: `hash ${prepared.length + 1}` });
				return prepared.at(-1) as Json;
			},
			call: async (_, context) => {
				calls.push(context.prepared);
				return "written";
			},
			reconcile: async (_key, given) => {
				reconciled.push(given);
				return { kind: "not_done" };
			},
			...more,
		};
		return { tool, prepared, calls, reconciled };
	}
	const first = { args: { euros: 3 }, before: "hash 1" };

	test("is durable with the start before the call, and given to it", async () => {
		const log = new DyingLog();
		const { tool, calls } = writer({
			call: async (_, { prepared }) => {
				calls.push([log.kinds, prepared]);
				return "written";
			},
		});
		await life(log, tool);
		expect(calls).toEqual([[["step_started"], first]]);
		expect(log.records[0]?.data).toMatchObject({ prepared: first });
	});

	test("is lost with a process that dies before the start is recorded, and nothing was called", async () => {
		const log = new DyingLog(0);
		const { tool, prepared, calls } = writer();
		await expect(life(log, tool)).rejects.toThrow("killed");
		expect([prepared.length, calls]).toEqual([1, []]);
		log.revive();
		await life(log, tool);
		expect([prepared.length, calls]).toEqual([2, [{ ...first, before: "hash 2" }]]);
	});

	test("outlives a kill in the middle of the call: the far side is asked with it, and the call made again with it", async () => {
		const log = new DyingLog(1);
		const { tool, prepared, calls, reconciled } = writer();
		await expect(life(log, tool)).rejects.toThrow("killed");
		for (const _ of ["killed again", "to the end"]) {
			log.revive(1);
			await life(log, tool).catch(() => undefined);
		}
		expect([prepared.length, reconciled, calls]).toEqual([1, [first, first], [first, first, first]]);
		log.revive();
		expect(await life(log, tool)).toMatchObject({ text: "written" });
	});

	test("is kept after a timeout, of which nobody knows, and made anew after a failure", async () => {
		const time = new SimulatedTime();
		const log = new DyingLog(Number.POSITIVE_INFINITY, time);
		const { tool, calls, reconciled } = writer({ timeoutMs: 100, retry: { maxAttempts: 3 } });
		let tries = 0;
		const failing: Tool = {
			...tool,
			call(_, { prepared }) {
				calls.push(prepared);
				if (++tries === 1) return new Promise(() => {});
				return tries === 2 ? Promise.reject(new Error("the file has changed")) : Promise.resolve("written");
			},
		};
		expect(await time.until(life(log, failing, { clock: time, timers: time }))).toMatchObject({ text: "written" });
		expect(reconciled).toEqual([first]);
		expect(calls).toEqual([first, first, { ...first, before: "hash 2" }]);
	});

	test("is redacted in the record, and the call is given what is recorded", async () => {
		const log = new DyingLog();
		const { tool, calls } = writer();
		await life(log, tool, { redact: (text) => text.replace("hash 1", "(gone)") });
		expect(calls).toEqual([{ ...first, before: "(gone)" }]);
		expect(JSON.stringify(log.records)).not.toContain("hash 1");
	});

	test("cannot be made: that is how the call ended, and nothing has begun", async () => {
		const log = new DyingLog();
		const { tool, calls } = writer({ prepare: () => Promise.reject(new Error("no such file")) });
		expect(await life(log, tool)).toMatchObject({ text: "ERROR: no such file", failed: true });
		expect([log.kinds, calls]).toEqual([["step_failed"], []]);
	});

	test("is of no use for a call that was given up meanwhile: it does not begin", async () => {
		const log = new DyingLog();
		const stop = new AbortController();
		const { tool, calls } = writer({
			prepare: async () => {
				stop.abort(new Error("given up"));
				return "late";
			},
		});
		await expect(life(log, tool, { signal: stop.signal })).rejects.toThrow("given up");
		expect([log.kinds, calls]).toEqual([[], []]);
	});

	test("is for effects alone", async () => {
		const { tool, prepared } = writer({ purity: "world" });
		await expect(life(new DyingLog(), tool)).rejects.toMatchObject({ code: "STEP_PURITY" });
		expect(prepared).toEqual([]);
	});
});

describe("an answer", () => {
	test("that is an error is recorded as one, shown as one, and recalled as one", async () => {
		const log = new DyingLog();
		const tool = payer({ call: async () => ({ text: "no such account", isError: true }) });
		const result = { text: "ERROR: no such account", error: "no such account", failed: false };
		expect(await life(log, tool)).toEqual(result);
		expect(log.records.at(-1)).toMatchObject({
			kind: "step_completed",
			data: { result: { text: "no such account", isError: true } },
		});
		const never = payer({ call: () => Promise.reject(new Error("called again")) });
		expect(await life(log, never)).toEqual(result);
	});

	test.each([
		["a text", "paid"],
		["a text of its own", { text: "paid" }],
		["one that says that it is no error", { text: "paid", isError: false }],
	])("that is %s is recorded as a text", async (_, answer) => {
		const log = new DyingLog();
		expect(await life(log, payer({ call: async () => answer }))).toEqual({ text: "paid", failed: false });
		expect(log.records.at(-1)?.data).toMatchObject({ result: "paid" });
	});

	test("whose text begins like an error is none", async () => {
		const text = "ERROR: is how this log begins";
		expect(await life(new DyingLog(), payer({ call: async () => text }))).toEqual({ text, failed: false });
	});

	test("of a tool that ends a turn was an error before by how its text begins", async () => {
		const tool = payer({ endsTurn: true, call: async () => "ERROR: a plan has\n2 to 7 steps" });
		const error = "a plan has\n2 to 7 steps";
		expect(await life(new DyingLog(), tool)).toEqual({ text: `ERROR: ${error}`, error, failed: false });
	});

	test("is shown from its record as it was to the model", () => {
		expect([shownOf("paid"), shownOf({ text: "not paid", isError: true })]).toEqual(["paid", "ERROR: not paid"]);
	});
});

test("tries, limits and methods of a tool are its own", async () => {
	const time = new SimulatedTime();
	const log = new DyingLog(Number.POSITIVE_INFINITY, time);
	const events: StepEvent[] = [];
	class Payer implements Tool {
		readonly name = "pay";
		readonly description = "pays";
		readonly parameters = {};
		readonly purity = "external";
		readonly timeoutMs = 100;
		readonly retry = { maxAttempts: 2, initialIntervalMs: 50 };
		#calls = 0;
		async prepare(): Promise<Json> {
			return this.#calls;
		}
		call(): Promise<string> {
			return ++this.#calls === 1 ? new Promise(() => {}) : Promise.resolve(`paid at call ${this.#calls}`);
		}
		async reconcile(): Promise<{ kind: "not_done" }> {
			return this.#calls > 0 ? { kind: "not_done" } : Promise.reject(new Error("no such tool"));
		}
	}
	const observe = (event: StepEvent): void => void events.push(event);
	const called = life(log, new Payer(), { clock: time, timers: time, observe });
	await quiet();
	expect(await time.until(called)).toEqual({ text: "paid at call 2", failed: false });
	expect(time.waits).toContain(50);
	expect(events).toContainEqual(expect.objectContaining({ type: "retrying", attempt: 1, limit: 2, pauseMs: 50 }));
});
