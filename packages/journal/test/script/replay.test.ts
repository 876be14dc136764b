/** What a replay promises, told without a model of it. */
import { setImmediate } from "node:timers/promises";
import fc from "fast-check";
import { expect, test } from "vitest";
import { histories } from "../../../../tests/sample.ts";
import { NonRetryableError, type Step, type StepContext, type Tool } from "../../src/index.ts";
import { isInner } from "../../src/script/branches.ts";
import type { Reuse } from "../../src/script/index.ts";
import { anyEdit, anyProgram, edited, plain, sourceOf } from "./programs.ts";
import { echo, Process, script, writer } from "./script-process.ts";

const { numRuns, seed } = histories(150, 1000);
const RUNS = Math.ceil(numRuns / 15);

const anyDelays = fc.array(fc.nat(4), { minLength: 1, maxLength: 7 });

/** A model and a tool that answer after so many turns of the event loop, and never twice the same. */
function world(delays: readonly number[] = [0], name = "") {
	let made = 0;
	const answer = async (): Promise<string> => {
		const n = made++;
		for (let i = delays[n % delays.length] as number; i > 0; i--) await setImmediate();
		return `${name}${n}`;
	};
	return { model: echo(answer), tools: [writer(answer)] };
}

test("whatever order branches end in, a replay gives what the run gave, without a call", async () => {
	await fc.assert(
		fc.asyncProperty(anyProgram, anyDelays, anyDelays, async (program, first, then) => {
			const source = sourceOf(program);
			const run = new Process(world(first));
			const ended = await run.work(source);
			const replay = run.next(world(then, "again "));
			expect(ended.status).toBe("completed");
			expect(await replay.work(source)).toEqual(ended);
			expect(replay.made).toEqual([]);
		}),
		{ numRuns: RUNS, seed },
	);
});

test("a tail that is lost costs the calls that were in it, and never the resume", async () => {
	await fc.assert(
		fc.asyncProperty(anyProgram, anyDelays, fc.nat(30), async (program, delays, lost) => {
			const source = sourceOf(program);
			const run = new Process(world(delays));
			await run.work(source);
			const before = run.log.records;
			run.log.tear(lost);
			const kept = run.log.records.length;
			const again = run.next(world([0], "again "));
			expect(await again.work(source)).toMatchObject({ status: "completed" });
			const tail = before.slice(kept).filter(({ kind }) => kind.startsWith("step_"));
			const calls = new Set(
				tail.map(({ data }) => {
					const { lane, fp, occ } = data as { lane: string; fp: string; occ: number };
					return isInner(lane) ? lane : `${lane}/${fp.slice(0, 16)}:${occ}`;
				}),
			);
			expect(again.made.length).toBeLessThanOrEqual(calls.size);
			expect(await again.next().work(source)).toMatchObject({ status: "completed" });
		}),
		{ numRuns: RUNS, seed },
	);
});

test.each<Reuse>(["prefix", "content"])("an edit that is taken back costs nothing: by %s", async (reuse) => {
	await fc.assert(
		fc.asyncProperty(anyProgram, anyEdit, anyDelays, async (drawn, edit, delays) => {
			// By content an edited script may take an answer away from a call and get another one for it: what rests on that is new.
			const program = reuse === "content" ? plain(drawn) : drawn;
			const source = sourceOf(program);
			const run = new Process(world(delays));
			await run.work(source);
			const other = run.next(world(delays, "other "));
			await other.work(sourceOf(edited(program, edit)), { reuse });
			const back = other.next(world([0], "back "));
			expect(await back.work(source, { reuse })).toMatchObject({ status: "completed" });
			expect(back.made).toEqual([]);
		}),
		{ numRuns: RUNS, seed },
	);
});

test("two equal calls are two entries, each with an answer of its own", async () => {
	const source = script('return [await ctx.agent("x"), await ctx.agent("x"), await ctx.agent("x")];');
	const run = new Process(world());
	expect(await run.work(source)).toMatchObject({ result: ["0", "1", "2"] });
	const replay = run.next();
	expect([await replay.work(source), replay.made]).toEqual([{ status: "completed", result: ["0", "1", "2"] }, []]);
});

test("a phase that is visited again never takes what the first visit was told", async () => {
	const source =
		script(`const visit = () => ctx.phase("look", async () => [await ctx.agent("x"), await ctx.tool("write", {})]);
	return [await visit(), await visit()];`);
	const run = new Process(world());
	expect(await run.work(source)).toMatchObject({
		result: [
			["0", "1"],
			["2", "3"],
		],
	});
	run.log.lose((record) => record.kind.startsWith("step_") && (record.data as { lane: string }).lane.includes("/1"));
	const again = run.next(world([0], "again "));
	expect(await again.work(source)).toMatchObject({
		result: [
			["0", "1"],
			["again 0", "again 1"],
		],
	});
});

test("branches that are begun in one go are told apart when the script is edited", async () => {
	const both = 'ctx.parallel([() => ctx.tool("write", {})]), ctx.parallel([() => ctx.tool("write", {})])';
	const source = script(`return Promise.all([${both}]);`);
	const run = new Process(world());
	expect(await run.work(source)).toMatchObject({ result: [["0"], ["1"]] });
	const again = run.next(world([0], "again "));
	const edited = source
		.replace("return", "const all =")
		.replace("\n};", ' return [...(await all), await ctx.agent("x")];\n};');
	expect(await again.work(edited)).toMatchObject({ result: [["0"], ["1"], "again 0"] });
});

test("calls beside branches of the same lane have their order, whenever they are made", async () => {
	const source = script(`const first = ctx.agent("first");
		const open = ctx.parallel([() => ctx.agent("a"), () => ctx.agent("b")]);
		await first;
		const beside = [ctx.agent("c"), ctx.phase("p", () => ctx.agent("d")), ctx.agent("c")];
		return [...(await open), ...(await Promise.all(beside)), await ctx.agent("after")];`);
	const run = new Process();
	const ended = await run.work(source);
	expect(ended).toEqual({ status: "completed", result: ["a!", "b!", "c!", "d!", "c!", "after!"] });
	expect(run.made).toHaveLength(7);
	const replay = run.next();
	expect([await replay.work(source), replay.made]).toEqual([ended, []]);
});

test("an unedited script by content finds each answer where it was: one that was cut takes none of a branch that asked the same", async () => {
	const source = script(`await ctx.parallel([
		async () => ctx.agent("same"),
		async () => ctx.tool("write", { text: await ctx.agent("same") }),
	]);`);
	let asked = 0;
	let written = (): void => {};
	const isWritten = new Promise<void>((resolve) => (written = resolve));
	const answers = (): string | Promise<string> => (++asked === 1 ? new Promise(() => {}) : `answer ${asked}`);
	const write = (): string => {
		written();
		return "written";
	};
	const first = new Process({ model: echo(answers), tools: [writer(write)] });
	void first.work(source).catch(() => {});
	await isWritten;
	await setImmediate();
	const second = first.next({ model: echo(() => "another"), tools: [writer()] });
	expect(await second.work(source, { reuse: "content" })).toMatchObject({ status: "completed" });
	expect(second.made).toEqual(["same"]);
});

test.each([
	[
		"when others of their kind began before it",
		`const first = ctx.parallel([() => ctx.tool("write", { text: "a" })]);
		await ctx.agent("broken").catch(() => {});
		await first;
		await ctx.parallel([() => ctx.tool("slow", {})]);`,
	],
	[
		"when they are in a branch that began before it",
		`await ctx.parallel([
			() => ctx.agent("broken").catch(() => {}),
			async () => {
				await ctx.tool("write", { text: "a" });
				await ctx.phase("p", () => ctx.tool("slow", {}));
			},
		]);`,
	],
	[
		"when it is a call of one that began before it",
		`await ctx.parallel([
			() => ctx.agent("broken").catch(() => {}),
			async () => {
				await ctx.tool("write", { text: "a" });
				await ctx.tool("slow", {});
			},
		]);`,
	],
])("a failure that branches rest on stays told, %s", async (_, body) => {
	const source = script(body);
	let isUp = false;
	const model = echo(() => {
		if (!isUp) throw new NonRetryableError("no model");
		return "up";
	});
	let broken = (): void => {};
	const isBroken = new Promise<void>((resolve) => (broken = resolve));
	const slow = {
		...{ name: "slow", description: "Is slow.", parameters: { type: "object" }, purity: "side_effect" as const },
		timeoutMs: 1,
		call: (_: unknown, { signal }: { signal: AbortSignal }) =>
			new Promise<string>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
	};
	const write = async (): Promise<string> => {
		await isBroken;
		return "written";
	};
	let run = new Process({ model, tools: [writer(write), slow] });
	const ended = run.work(source);
	while (!run.kinds.includes("step_failed")) await setImmediate();
	broken();
	expect(await ended).toMatchObject({ status: "failed" });
	isUp = true;
	for (let life = 0; life < 2; life++) {
		run = run.next();
		expect(await run.work(source)).toMatchObject({ status: "failed", error: { code: "SCRIPT_BRANCH_FAILED" } });
		expect(run.made).toEqual([]);
	}
});

test.each([
	["lets it through", (error: unknown) => error],
	["throws another error in its place", () => new Error("no payment")],
])("what failed inside a tool that %s is made again with it, and what that had done before is not", async (_, end) => {
	const made: string[] = [];
	let isDown = true;
	const inner = (name: string, fails: boolean): Step<string> => ({
		...{ kind: "step", name, args: {}, purity: "side_effect" },
		async call({ idempotencyKey: key }) {
			made.push(`${name} ${key}`);
			if (fails && isDown) throw new Error("down");
			return name;
		},
	});
	const order: Tool = {
		...{ name: "order", description: "Orders.", parameters: { type: "object" }, purity: "side_effect" },
		async call(_, context) {
			// A step of a tool's own: what calls it gives it the lane, which its type does not promise.
			const { lane } = context as unknown as StepContext;
			await lane.perform(inner("reserve", false));
			return lane.perform(inner("pay", true)).catch((error) => {
				throw end(error);
			});
		},
	};
	const source = script('return ctx.tool("order", {});');
	let run = new Process({ tools: [order] });
	expect(await run.work(source)).toMatchObject({ status: "failed" });
	isDown = false;
	for (let life = 0; life < 2; life++) {
		run = run.next();
		expect(await run.work(source)).toMatchObject({ status: "completed", result: "pay" });
	}
	expect(made).toHaveLength(3);
	expect(new Set(made).size).toBe(2);
});

test.each([
	["in its host", false],
	["isolated", true],
])("a call that rests on half a character in the message of a failure is made once: %s", async (_, isolate) => {
	const made: unknown[] = [];
	const tool = (name: string, call: Tool["call"]): Tool => ({
		...{ name, description: "", parameters: { type: "object" }, purity: "side_effect", call },
	});
	const pay = tool("pay", () => Promise.reject(new Error("the hall is closed \u{1f6a7}".slice(0, 20))));
	const tell = tool("tell", async (args) => {
		made.push(args);
		return "told";
	});
	const source = script(`const why = await ctx.tool("pay").catch(({ message }) => message);
		await ctx.tool("tell", { why });
		const [said] = (await ctx.parallel([() => ctx.tool("pay")]).catch(({ detail }) => detail)).failed;
		return ctx.tool("tell", { said: said.message });`);
	let run = new Process({ tools: [pay, tell], isolate });
	for (let life = 0; life < 2; life++) {
		expect(await run.work(source)).toMatchObject({ status: "completed", result: "told" });
		run = run.next();
	}
	expect(made).toEqual([{ why: "the hall is closed \ufffd" }, { said: "the hall is closed \ufffd" }]);
});
