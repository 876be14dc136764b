/** Runs of scripts: questions, time and chance, failures. */
import { describe, expect, test } from "vitest";
import { quiet, SimulatedTime } from "../dying-log.ts";
import { echo, Process, script, writer } from "./script-process.ts";

const codeOf = (ended: object): unknown => (ended as { error?: { code?: unknown } }).error?.code;

describe("a question", () => {
	const source = script('return [await ctx.agent("a"), await ctx.ask("which?"), await ctx.agent("b")].join(" ");');

	test("is asked once, and its answer is what every replay sees", async () => {
		const asked: string[] = [];
		const run = new Process({
			ask: async ({ question }) => {
				asked.push(question);
				return "this";
			},
		});
		expect(await run.work(source)).toEqual({ status: "completed", result: "a! this b!" });
		expect(await run.next().work(source)).toEqual({ status: "completed", result: "a! this b!" });
		expect(asked).toEqual(["which?"]);
	});

	test.each([
		["ask", `ctx.ask("which?", { choices: ["a", "\\ud83d"] })`],
		["agent", `ctx.agent("a", { schema: { enum: ["b", "c\\ude00"] } })`],
		["agent", `ctx.agent("a", { schema: { type: "object", properties: { "\\ud83d": {} } } })`],
	])(
		"whose answer would be none of its choices, since they are half characters, is refused: %s",
		async (call, asked) => {
			const run = new Process({ ask: async ({ choices = [] }) => choices[1] });
			expect(await run.work(script(`return ${asked};`))).toMatchObject({
				error: {
					code: "SCRIPT_INVALID",
					message: expect.stringContaining("to have whole characters"),
					detail: { call },
				},
			});
			expect(run.made).toEqual([]);
		},
	);

	test("that nobody is there to answer ends the run as waiting, once all else is done", async () => {
		const many = script(`return ctx.parallel([
			() => ctx.ask("which?"),
			async () => [await ctx.agent("slow"), await ctx.agent("slower")],
			async () => { await ctx.sleep(5); return ctx.agent("late"); },
			() => ctx.ask("and which?"),
		]);`);
		const run = new Process();
		const ended = await run.work(many);
		expect(ended).toMatchObject({
			status: "waiting",
			error: { code: "SCRIPT_WAITING", detail: { questions: ["which?", "and which?"] } },
		});
		expect(run.made.toSorted()).toEqual(["late", "slow", "slower"]);
		expect(run.kinds).not.toContain("script_failed");
		const again = run.next({ ask: async ({ question }) => `yes, ${question}` });
		expect(await again.work(many)).toMatchObject({
			result: ["yes, which?", ["slow!", "slower!"], "late!", "yes, and which?"],
		});
		expect(again.made).toEqual([]);
	});

	test("that is open when the process is killed is asked again", async () => {
		const asked: string[] = [];
		const run = new Process({
			ask: ({ question }) => {
				asked.push(question);
				return new Promise(() => {});
			},
		});
		const open = run.work(source);
		await expect.poll(() => asked).toEqual(["which?"]);
		run.stop();
		expect(await open).toMatchObject({ status: "stopped" });
		const again = run.next({ ask: async () => "that" });
		expect(await again.work(source)).toMatchObject({ result: "a! that b!" });
		expect(again.made).toEqual(["b"]);
	});

	test.each([
		["before its answer is recorded is asked again", 3, 2],
		["after it is not", 4, 1],
	])("whose process is killed %s", async (_, appends, times) => {
		let asked = 0;
		const ask = async (): Promise<string> => `answer ${++asked}`;
		const run = new Process({ ask, appends });
		expect(await run.work(source)).toMatchObject({ status: "killed" });
		expect(await run.next().work(source)).toMatchObject({ result: `a! answer ${times} b!` });
		expect(asked).toBe(times);
	});

	test("in doubt is asked again, even where other steps in doubt are given up", async () => {
		const run = new Process({ ask: async () => "this", appends: 3 });
		await run.work(source);
		expect(await run.next({ policy: "discard" }).work(source)).toMatchObject({ result: "a! this b!" });
	});

	test("with choices takes no other answer", async () => {
		const answers = ["maybe", "no"];
		const run = new Process({ ask: async () => answers.shift() });
		const source = script('return ctx.ask("sure?", { choices: ["yes", "no"] });');
		expect(await run.work(source)).toMatchObject({ result: "no" });
		expect(run.printed).toEqual(['"maybe" is none of yes, no']);
	});
});

describe("time and chance", () => {
	test("now is the same on replay, however late that is", async () => {
		const time = new SimulatedTime();
		const source = script("return [await ctx.now(), await ctx.now()];");
		const run = new Process({ time });
		const ended = await time.until(run.work(source));
		expect(ended).toMatchObject({ result: [1_000_000, 1_000_000] });
		await time.pass(5000);
		expect(await time.until(run.next().work(source))).toEqual(ended);
	});

	test("a sleep that a kill cut goes on with its rest, and one that is over is not slept again", async () => {
		const time = new SimulatedTime();
		const source = script("await ctx.sleep(1000); return 1;");
		const run = new Process({ time });
		const cut = run.work(source);
		for (let passed = 0; passed < 400; passed += 100) await time.pass(100);
		run.stop();
		time.kill();
		expect(await cut).toMatchObject({ status: "stopped" });
		time.waits.length = 0;
		const resumed = run.next().work(source);
		await quiet();
		expect(time.waits.filter((ms) => ms > 0)).toEqual([600]);
		expect(await time.until(resumed)).toMatchObject({ result: 1 });
		time.waits.length = 0;
		expect(await time.until(run.next().work(source))).toMatchObject({ result: 1 });
		expect(time.waits.filter((ms) => ms > 0)).toEqual([]);
	});

	test("random numbers and ids are well formed, others at each place, and the same on replay", async () => {
		const source = script(`const draw = () => [ctx.random(), ctx.uuid()];
		const branches = await ctx.parallel([draw, draw, async () => { await ctx.agent("a"); return draw(); }]);
		return [draw(), draw(), ...branches, await ctx.phase("p", draw), await ctx.phase("p", draw)];`);
		const run = new Process();
		const ended = await run.work(source);
		const draws = (ended as unknown as { result: [number, string][] }).result;
		expect(draws).toHaveLength(7);
		for (const [number, id] of draws) {
			expect(number).toBeGreaterThanOrEqual(0);
			expect(number).toBeLessThan(1);
			expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
		}
		expect(new Set(draws.flat()).size).toBe(14);
		expect(await run.next().work(source)).toEqual(ended);
	});
});

describe("what fails", () => {
	const source = script(`try { return await ctx.tool("write", {}); }
	catch (error) { return { message: error.message, code: error.code, isError: error instanceof Error }; }`);
	const fullDisk = (more: object = {}) => {
		let calls = 0;
		return [writer(() => Promise.reject(Object.assign(new Error(`disk full ${++calls}`), more)))];
	};

	test.each([
		["with a code", { code: "E_DISK" }, "E_DISK"],
		["without one", {}, undefined],
	])("in a tool is the same for the script now and on replay: %s", async (_, more, code) => {
		const run = new Process({ tools: fullDisk(more) });
		const ended = await run.work(source);
		expect(ended).toEqual({
			status: "completed",
			result: { message: "disk full 1", ...(code === undefined ? {} : { code }), isError: true },
		});
		const replay = run.next();
		expect([await replay.work(source), replay.made]).toEqual([ended, []]);
	});

	test("and may be tried again is no result once it has ended the run: the next process calls again", async () => {
		const run = new Process({ tools: fullDisk({ retryable: true }) });
		const uncaught = script('return ctx.tool("write", {});');
		expect(await run.work(uncaught)).toMatchObject({ status: "failed", error: { message: "disk full 1" } });
		expect(await run.next().work(uncaught)).toMatchObject({ error: { message: "disk full 2" } });
	});

	test("and may be tried again is told as it was where the script went on", async () => {
		const run = new Process({ tools: fullDisk({ retryable: true }) });
		const ended = await run.work(source);
		expect(ended).toMatchObject({ result: { message: "disk full 1" } });
		const replay = run.next();
		expect([await replay.work(source), replay.made]).toEqual([ended, []]);
	});

	test("in the model is no result: the next process asks again", async () => {
		let isDown = true;
		const run = new Process({
			model: echo((prompt) => {
				if (isDown) throw Object.assign(new Error("overloaded"), { code: "E_BUSY" });
				return prompt;
			}),
		});
		const source = script('return ctx.agent("a");');
		expect(await run.work(source)).toMatchObject({
			status: "failed",
			error: { message: "overloaded", code: "E_BUSY" },
		});
		isDown = false;
		expect(await run.next().work(source)).toMatchObject({ result: "a" });
	});

	test("in a branch is told once all are over, with its position", async () => {
		const source = script(`return ctx.parallel([
			() => ctx.agent("a"),
			() => { throw Object.assign(new Error("no"), { code: "E_NO" }); },
			() => ctx.tool("write", {}),
		]);`);
		const run = new Process({ tools: fullDisk() });
		const failed = [
			{ position: 1, message: "no", code: "E_NO" },
			{ position: 2, message: "disk full 1" },
		];
		const expected = { status: "failed", error: { code: "SCRIPT_BRANCH_FAILED", detail: { branches: 3, failed } } };
		expect(await run.work(source)).toMatchObject(expected);
		expect(run.made.toSorted()).toEqual(["a", "write {}"]);
		// Whoever runs it again wants what ended it again, and nothing else.
		const again = run.next();
		expect(await again.work(source)).toMatchObject({ status: "failed", error: { code: "SCRIPT_BRANCH_FAILED" } });
		expect(again.made).toEqual(["write {}"]);
	});

	test("in the script itself is what the run fails with", async () => {
		const run = new Process();
		expect(await run.work(script('throw Object.assign(new Error("own"), { code: "E_OWN" });'))).toMatchObject({
			status: "failed",
			error: { message: "own", code: "E_OWN" },
		});
	});

	test("is a tool that there is none of: those that there are get named", async () => {
		const run = new Process({ tools: [writer()] });
		const ended = await run.work(script('return ctx.tool("wriet", {});'));
		expect(ended).toMatchObject({
			status: "failed",
			error: { code: "SCRIPT_UNKNOWN_TOOL", detail: { tool: "wriet", known: ["write"] } },
		});
		expect(ended).toHaveProperty("error.message", 'there is no tool "wriet"; there are write');
	});
});

describe("a step in doubt that is given up", () => {
	test.each([
		["lets it through", 'return ctx.tool("write", {});'],
		["catches all", 'try { return await ctx.tool("write", {}); } catch { return ctx.agent("caught"); }'],
		["catches all of its branches", 'try { await ctx.parallel([() => ctx.tool("write", {})]); } catch {} return 1;'],
	])("ends a script that %s, and the run stays open", async (_, body) => {
		const run = new Process({ tools: [writer()], appends: 1 });
		expect(await run.work(script(body))).toMatchObject({ status: "killed" });
		const again = run.next({ policy: "discard" });
		const ended = await again.work(script(body));
		expect([ended.status, codeOf(ended)]).toEqual(["stopped", "STEP_DISCARDED"]);
		expect(again.made).toEqual([]);
		expect(again.kinds).not.toContain("script_failed");
		expect(await again.next({ policy: "retry" }).work(script(body))).toMatchObject({ status: "completed" });
	});

	test("is skipped or made again as the policy says", async () => {
		const source = script('return ctx.tool("write", {});');
		const begin = async (): Promise<Process> => {
			const run = new Process({ tools: [writer()], appends: 1 });
			await run.work(source);
			return run;
		};
		const skipped = (await begin()).next({ policy: "skip" });
		expect([await skipped.work(source), skipped.made]).toEqual([{ status: "completed", result: "" }, []]);
		const retried = (await begin()).next({ policy: "retry" });
		expect([await retried.work(source), retried.made]).toEqual([
			{ status: "completed", result: "written" },
			["write {}"],
		]);
	});
});

describe("arguments", () => {
	const source = `export const args = {
		type: "object",
		properties: { depth: { type: "integer" }, of: { type: "object", properties: { name: { type: "string" } } } },
		required: ["depth"],
	};
	export default async (ctx, args) => args;`;

	test("that fit reach the script", async () => {
		const args = { depth: 2, of: { name: "x" } };
		expect(await new Process().work(source, { args })).toEqual({ status: "completed", result: args });
	});

	test.each([
		["a field that is missing", {}, "depth"],
		["a field of another type", { depth: "deep" }, "depth"],
		["a field inside another", { depth: 1, of: { name: 3 } }, "of.name"],
	])("that do not fit name the file and the field: %s", async (_, args, path) => {
		const ended = await new Process().work(source, { args });
		expect(ended).toMatchObject({ status: "failed", error: { code: "SCRIPT_ARGS", detail: { file: "s.ts", path } } });
		expect(ended).toHaveProperty("error.message", expect.stringContaining(`s.ts: the arguments do not fit: ${path}: `));
	});

	test("are not held for ever against a pattern that has no end", async () => {
		const source = `export const args = { type: "string", pattern: "^(a+)+$" };\n${script("return 1;")}`;
		const ended = await new Process().work(source, { args: `${"a".repeat(50)}!` });
		expect(ended).toMatchObject({ status: "failed", error: { code: "SCRIPT_INVALID" } });
	});

	test("that are others begin a revision, in which a call hits until one before it depends on them", async () => {
		const source =
			'export default async (ctx, args) => [await ctx.agent("a"), await ctx.agent("b " + args.n), await ctx.agent("c")];';
		const run = new Process();
		await run.work(source, { args: { n: 1 } });
		const other = run.next();
		expect(await other.work(source, { args: { n: 2 } })).toMatchObject({ result: ["a!", "b 2!", "c!"] });
		expect(other.made).toEqual(["b 2", "c"]);
	});
});

test("a key is written nowhere, and a replay goes on with the same text", async () => {
	const source = script('return ctx.agent("look at " + (await ctx.agent("tell the sesame")));');
	const run = new Process({ redact: (text) => text.replaceAll("sesame", "***") });
	const ended = await run.work(source);
	expect(ended).toMatchObject({ result: "look at tell the ***!!" });
	expect(JSON.stringify(run.log.records)).not.toContain("sesame");
	const replay = run.next();
	expect([await replay.work(source), replay.made]).toEqual([ended, []]);
});

test("a script that waits for what nothing settles is stuck, and says so", async () => {
	const ended = await new Process().work(script('await ctx.agent("a"); await new Promise(() => {});'));
	expect([ended.status, codeOf(ended)]).toEqual(["failed", "SCRIPT_STUCK"]);
});

test("a script that fails while a call is under way keeps what that one answers, and does not wait for a pause or a person", async () => {
	const hasty = script(`await Promise.all([
		ctx.parallel([() => ctx.agent("slow"), () => ctx.sleep(3600000), () => ctx.ask("which?")]),
		ctx.phase("fails", async () => { await ctx.now(); throw new Error("no"); }),
	]);`);
	const { promise: held, resolve: release } = Promise.withResolvers<void>();
	const model = {
		id: "echo",
		generate: (...request: Parameters<ReturnType<typeof echo>["generate"]>) => after(held, request),
	};
	const run = new Process({ model, time: new SimulatedTime(), ask: () => new Promise(() => {}) });
	const open = run.work(hasty);
	await expect.poll(() => run.made).toEqual(["slow"]);
	release();
	expect(await open).toMatchObject({ status: "failed", error: { message: "no" } });
	expect(
		run.log.records.filter(({ data }) => (data as { kind?: string }).kind === "agent").map(({ kind }) => kind),
	).toEqual(["step_completed"]);
});

async function* after(held: Promise<void>, request: Parameters<ReturnType<typeof echo>["generate"]>) {
	await held;
	yield* echo().generate(...request);
}
