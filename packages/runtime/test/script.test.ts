/** Script runs: begun, cut off, edited, previewed and verified. */
import { readFile } from "node:fs/promises";
import { journal } from "@reyn/journal";
import { lanesOf } from "@reyn/journal/internal";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Store } from "../src/index.ts";
import { linesOf } from "./cut.ts";
import { gate, lastOf, makeProject, open, type Project, scripted, storeAt, until } from "./project.ts";
import { echo, five, hashOf, prompts, recordsOf, resumeToEnd, runToEnd, script, till } from "./script-runs.ts";

let project: Project;
beforeEach(async () => {
	project = await makeProject();
});
afterEach(() => project[Symbol.asyncDispose]());

describe("a run", () => {
	test("gives its result, which lies beside the log, and leaves nothing in the state of the journal", async () => {
		const { runtime } = await open(project, { model: echo() });
		const { run, end } = await runToEnd(runtime, five());
		expect(end).toEqual({ status: "completed", result: [1, 2, 3, 4, 5].map((n) => `echo: call ${n}`) });
		expect(await runtime.scripts.result(run)).toEqual((end as { result: unknown }).result);
		expect(lanesOf(runtime.view().get(journal))).toEqual([]);
		expect(runtime.restored().scripts).toEqual([]);
		const { script, args, result } = runtime.scripts.list()[0] ?? {};
		expect((await storeAt(project.state).blobs("scripts").list("")).map((name) => name.slice(3)).sort()).toEqual(
			[script, args, result].sort(),
		);
		await runtime.close();
	});

	test("and another at the same time keep apart", async () => {
		const model = echo();
		const { runtime } = await open(project, { model });
		const both = await Promise.all(
			["a", "b"].map((name) =>
				runToEnd(runtime, script("return [await ctx.agent(args), await ctx.agent(args + '!')];"), name),
			),
		);
		expect(both.map(({ end }) => end)).toMatchObject([
			{ result: ["echo: a", "echo: a!"] },
			{ result: ["echo: b", "echo: b!"] },
		]);
		expect(new Set(both.map(({ run }) => run)).size).toBe(2);
		expect([...prompts(model)].sort()).toEqual(["a", "a!", "b", "b!"]);
		await runtime.close();
	});

	test("is refused a second time in the same process, also when both come at once", async () => {
		const held = gate();
		const model = scripted(async (request) => {
			await held.opened;
			return lastOf(request);
		});
		const { runtime } = await open(project, { model });
		const { run, end } = await runtime.scripts.start(five(), undefined);
		await expect(runtime.scripts.resume(run)).rejects.toMatchObject({
			code: "RUNTIME_SCRIPT_RUNS",
			detail: { run },
			message: expect.stringContaining(run),
		});
		held.open();
		await end;
		const two = await Promise.allSettled([
			runtime.scripts.resume(run),
			runtime.scripts.resume(run, { script: five() }),
		]);
		expect(two.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
		expect(two[1]).toMatchObject({ reason: { code: "RUNTIME_SCRIPT_RUNS" } });
		await runtime.idle();
		expect(await recordsOf(runtime, "script_resumed")).toHaveLength(1);
		await runtime.close();
	});

	test.each([
		["no TypeScript", script("const = 1;"), undefined, "SCRIPT_INVALID"],
		[
			"foreign code",
			{ name: "work.ts", source: 'import x from "x"; export default () => x;' },
			undefined,
			"DETERMINISM",
		],
		[
			"arguments that do not fit",
			{ name: "work.ts", source: 'export const args = { type: "number" }; export default () => 1;' },
			"one",
			"SCRIPT_ARGS",
		],
		["arguments that are no JSON", script("return 1;"), { a: 1n }, "WAL_NOT_JSON"],
	])("of %s is refused, and nothing is written", async (_, text, args, code) => {
		const { runtime } = await open(project);
		const before = await hashOf(project.state);
		await expect(runtime.scripts.start(text, args)).rejects.toMatchObject({ code });
		expect(await hashOf(project.state)).toBe(before);
		expect(runtime.scripts.list()).toEqual([]);
		await runtime.close();
	});

	test.each([
		["of the runtime", { isolate: true }, {}],
		["of the attempt", {}, { isolate: true }],
	])(
		"in a process of its own, by an option %s, that is killed stays open, and goes on without paying twice",
		async (_, ofAll, ofOne) => {
			// What it starts, where the system says so; elsewhere nothing is killed, and the run completes at once.
			const started = async (): Promise<readonly number[]> => {
				const { pid } = process;
				const text = await readFile(`/proc/${pid}/task/${pid}/children`, "utf8").catch(() => "");
				return text.split(" ").flatMap((each) => (each.trim() === "" ? [] : [Number(each)]));
			};
			const before = await started();
			const pay = till();
			const killing: typeof pay = {
				...pay,
				async call(...given) {
					for (const each of await started()) if (!before.includes(each)) process.kill(each, "SIGKILL");
					return pay.call(...given);
				},
			};
			const { runtime } = await open(project, { model: echo(), tools: [killing], ...ofAll });
			const text = script("await ctx.tool('pay'); return ctx.agent('a');");
			const { run, end: over } = await runtime.scripts.start(text, undefined, undefined, ofOne);
			const end = await over;
			if (process.platform === "linux") {
				expect(end).toMatchObject({ status: "stopped", reason: { code: "SCRIPT_LOST" } });
				expect(runtime.scripts.list()).toMatchObject([{ run, status: "open" }]);
			}
			expect(await resumeToEnd(runtime, run)).toEqual({ status: "completed", result: "echo: a" });
			expect(pay.paid).toHaveLength(1);
			expect(await runtime.scripts.verify(run)).toMatchObject({ divergences: [] });
			await runtime.close();
		},
	);

	test("says whether it goes on, and each life what it called and recalled", async () => {
		const { runtime, events } = await open(project, { model: echo() });
		const { run } = await runToEnd(runtime, script("return ctx.agent('a');"));
		await resumeToEnd(runtime, run);
		expect(events.flatMap((event) => (event.type === "script" ? [event.event] : []))).toMatchObject([
			{ type: "begun", name: "work.ts", isResumed: false },
			{ type: "call", state: "calling" },
			{ type: "part", state: "live", tokens: 11 },
			{ type: "call", state: "live", tokens: 11 },
			{ type: "ended", status: "completed" },
			{ type: "begun", name: "work.ts", isResumed: true },
			{ type: "call", state: "hit", tokens: 11 },
			{ type: "ended", status: "completed" },
		]);
		expect(runtime.meter).toMatchObject({ replayed: { calls: 1, tokens: 11 }, paid: { calls: 1, tokens: 11 } });
		await runtime.close();
	});

	test("of which a part is lost or changed says which, and goes on once it is back", async () => {
		const model = echo();
		const { runtime } = await open(project, { model });
		const { run } = await runToEnd(runtime, five(), { a: 1 });
		const { script, args, result } = runtime.scripts.list()[0] ?? {};
		const reads = [
			["text", script, () => runtime.scripts.text(run)],
			["arguments", args, () => runtime.scripts.resume(run)],
			["result", result, () => runtime.scripts.result(run)],
		] as const;
		const blobs = storeAt(project.state).blobs("scripts");
		for (const [what, sha256 = "", read] of reads) {
			const name = `${sha256.slice(0, 2)}/${sha256}`;
			const bytes = (await blobs.get(name)) ?? Buffer.alloc(0);
			const { tip } = runtime.wal;
			await blobs.delete(name);
			const lost = { code: "RUNTIME_SCRIPT_LOST", detail: { what, sha256 } };
			await expect(read(), what).rejects.toMatchObject({
				...lost,
				message: expect.stringContaining(`${name} is gone`),
			});
			await blobs.put(name, Buffer.concat([bytes, Buffer.from(" ")]));
			await expect(read(), what).rejects.toMatchObject({ ...lost, message: expect.stringContaining(name) });
			expect(runtime.wal.tip).toBe(tip);
			await blobs.put(name, bytes);
		}
		expect(await resumeToEnd(runtime, run)).toMatchObject({ status: "completed" });
		expect(model.asked).toHaveLength(5);
		await runtime.close();
	});

	test("has a result above 32 KiB byte for byte, in the next process too", async () => {
		const large = "ä\u2028".repeat(20_000);
		const first = await open(project, { model: scripted(() => large) });
		const { run, end } = await runToEnd(first.runtime, script("return { text: await ctx.agent('a') };"));
		expect(end).toEqual({ status: "completed", result: { text: large } });
		await first.runtime.close();
		expect(await storeAt(project.state).blobs("results").list("")).not.toEqual([]);
		const model = echo();
		const next = await open(project, { model });
		expect(await next.runtime.scripts.result(run)).toEqual({ text: large });
		expect(await resumeToEnd(next.runtime, run)).toEqual(end);
		expect(model.asked).toEqual([]);
		await next.runtime.close();
	});

	test("keeps no secret: not in the fields of its calls, not in answers, not in failures", async () => {
		const SECRET = "sk-12345";
		const redact = (text: string): string => text.replaceAll(SECRET, "[key]");
		const model = scripted((request) => {
			if (lastOf(request).startsWith("fail")) throw new Error(`refused: ${SECRET}`);
			return `it is ${SECRET}`;
		});
		const { runtime } = await open(project, { model, redact, tools: [till()] });
		const text = script(
			`const key = "sk-" + args.number;
			await ctx.agent("first", { label: key, system: key }); await ctx.tool("pay", { with: key });
			if (args.isGood) return { [key]: [key] };
			await ctx.agent("fail with " + key).catch(() => {});
			throw Object.assign(new Error("no " + key), { code: "NO", detail: { [key]: [key] } });`,
		);
		await runToEnd(runtime, text, { number: 12345 });
		const { run, end } = await runToEnd(runtime, text, { number: 12345, isGood: true });
		expect(end).toMatchObject({ status: "completed" });
		expect(await runtime.scripts.result(run)).toEqual({ "[key]": ["[key]"] });
		expect((await runtime.scripts.verify(run)).divergences).toEqual([]);
		expect(await recordsOf(runtime, "script_failed")).toMatchObject([
			{ data: { reason: { message: "no [key]", code: "NO", detail: { "[key]": ["[key]"] } } } },
		]);
		await runtime.close();
		const log = (await linesOf(project.state)).join("\n");
		expect(log).toContain("[key]");
		expect(log).not.toContain(SECRET);
	});
});

describe("a run that is resumed", () => {
	test("unchanged makes no call", async () => {
		const model = echo();
		const { runtime } = await open(project, { model });
		const { run, end } = await runToEnd(runtime, five());
		expect(await resumeToEnd(runtime, run)).toEqual(end);
		expect(model.asked).toHaveLength(5);
		expect(runtime.scripts.list()).toMatchObject([{ run, status: "completed", revision: 1 }]);
		await runtime.close();
	});

	test("with another third call keeps two and makes three; taken back, it makes none", async () => {
		const model = echo();
		const { runtime } = await open(project, { model });
		const { run, end } = await runToEnd(runtime, five());
		expect(await resumeToEnd(runtime, run, { script: five({ 3: "other" }) })).toMatchObject({
			result: ["echo: call 1", "echo: call 2", "echo: other", "echo: call 4", "echo: call 5"],
		});
		expect(prompts(model).slice(5)).toEqual(["other", "call 4", "call 5"]);
		expect(await resumeToEnd(runtime, run, { script: five() })).toEqual(end);
		expect(model.asked).toHaveLength(8);
		expect(runtime.scripts.list()).toMatchObject([{ revision: 3 }]);
		await runtime.close();
	});

	test("by content makes the changed call alone", async () => {
		const model = echo();
		const { runtime } = await open(project, { model });
		const { run } = await runToEnd(runtime, five());
		await resumeToEnd(runtime, run, { script: five({ 3: "other" }), reuse: "content" });
		expect(prompts(model).slice(5)).toEqual(["other"]);
		await runtime.close();
	});

	test("by content goes on so when nothing else is said", async () => {
		const model = echo();
		const { runtime } = await open(project, { model });
		const { run } = await runToEnd(runtime, five());
		await resumeToEnd(runtime, run, { script: five({ 1: "other" }), reuse: "content" });
		expect(prompts(model).slice(5)).toEqual(["other"]);
		expect(await runtime.scripts.explain(run)).toMatchObject({ toPay: 0 });
		expect(await resumeToEnd(runtime, run)).toMatchObject({ status: "completed" });
		await resumeToEnd(runtime, run, { script: five({ 2: "another" }) });
		expect(prompts(model).slice(6)).toEqual(["another"]);
		await runtime.close();
	});

	test("strictly goes on where it had failed, and its run is as it was", async () => {
		let isDown = true;
		const model = scripted((request) => {
			if (isDown && lastOf(request) === "a") throw new Error("overloaded");
			return `echo: ${lastOf(request)}`;
		});
		const { runtime } = await open(project, { model });
		const { run, end } = await runToEnd(
			runtime,
			script("try { return await ctx.agent('a'); } finally { await ctx.agent('note'); }"),
		);
		expect(end).toMatchObject({ status: "failed" });
		expect((await runtime.scripts.verify(run)).divergences).toEqual([]);
		isDown = false;
		expect(await resumeToEnd(runtime, run, { strict: true })).toEqual({ status: "completed", result: "echo: a" });
		expect(prompts(model)).toEqual(["a", "note", "a"]);
		await runtime.close();
	});

	test("with other arguments makes what rests on them, and keeps them", async () => {
		const model = echo();
		const { runtime } = await open(project, { model });
		const text = script("return [await ctx.agent('a'), await ctx.agent('for ' + args.who)];");
		const { run } = await runToEnd(runtime, text, { who: "Ada" });
		expect(await resumeToEnd(runtime, run, { args: { who: "Bob" } })).toMatchObject({
			result: ["echo: a", "echo: for Bob"],
		});
		expect(prompts(model)).toEqual(["a", "for Ada", "for Bob"]);
		await resumeToEnd(runtime, run);
		expect(model.asked).toHaveLength(3);
		await runtime.close();
	});

	test("as another script, or not known, is refused", async () => {
		const { runtime } = await open(project, { model: echo() });
		const { run } = await runToEnd(runtime, five());
		const { tip } = runtime.wal;
		await expect(runtime.scripts.resume(run, { script: { ...five(), name: "other.ts" } })).rejects.toMatchObject({
			code: "RUNTIME_SCRIPT_OTHER",
			detail: { run, expected: "work.ts", found: "other.ts" },
		});
		for (const unknown of ["r0", "../../x", "__proto__", ""])
			await expect(runtime.scripts.resume(unknown)).rejects.toMatchObject({
				code: "RUNTIME_UNKNOWN_SCRIPT_RUN",
				message: expect.stringContaining(run),
			});
		expect(runtime.wal.tip).toBe(tip);
		await runtime.close();
	});

	test("strictly is refused at the first call that is not as recorded, and nothing is written", async () => {
		const model = echo();
		const { runtime } = await open(project, { model });
		const { run } = await runToEnd(runtime, five());
		const before = await hashOf(project.state);
		const third = (await recordsOf(runtime, "step_completed")).filter(
			({ data }) => (data as { kind: string }).kind === "agent",
		)[2];
		await expect(
			runtime.scripts.resume(run, { script: five({ 3: "other", 4: "too" }), strict: true }),
		).rejects.toMatchObject({
			code: "REPLAY_DIVERGENCE",
			expected: expect.stringContaining("call 3"),
			got: expect.stringContaining("other"),
			seq: third?.seq,
			path: `script/${run}[2]`,
		});
		expect([await hashOf(project.state), model.asked.length]).toEqual([before, 5]);
		expect(await resumeToEnd(runtime, run, { strict: true })).toMatchObject({ status: "completed" });
		await runtime.close();
	});

	test("after a failure makes again what failed, and nothing else", async () => {
		let isUp = false;
		const model = scripted((request) => {
			if (lastOf(request) === "call 3" && !isUp) throw new Error("overloaded");
			return `echo: ${lastOf(request)}`;
		});
		const { runtime } = await open(project, { model });
		const { run, end } = await runToEnd(runtime, five());
		expect(end).toMatchObject({ status: "failed", reason: { message: "overloaded" } });
		isUp = true;
		expect(await resumeToEnd(runtime, run)).toMatchObject({ status: "completed" });
		expect(prompts(model)).toEqual(["call 1", "call 2", "call 3", "call 3", "call 4", "call 5"]);
		await runtime.close();
	});
});

describe("a question", () => {
	const asking = script("return [await ctx.ask('Go on?', { choices: ['yes', 'no'] }), await ctx.agent('a')];");

	test("that nobody answers ends the run as waiting; another process finds it, and the answer goes on", async () => {
		const model = echo();
		const first = await open(project, { model });
		const { run, end } = await runToEnd(first.runtime, asking);
		expect(end).toMatchObject({
			status: "waiting",
			reason: { code: "SCRIPT_WAITING", detail: { questions: ["Go on?"] } },
		});
		await first.runtime.close();

		const looking = await open(project, { readOnly: true });
		expect(looking.runtime.scripts.list()).toMatchObject([
			{ run, status: "open", questions: [{ question: "Go on?" }] },
		]);
		expect(looking.runtime.restored().scripts).toMatchObject([{ run, name: "work.ts" }]);
		await looking.runtime.close();

		const asked: string[] = [];
		const answers = ["perhaps", "yes"];
		const next = await open(project, {
			model,
			ask: async ({ question }) => {
				asked.push(question);
				return answers.shift();
			},
		});
		expect(await resumeToEnd(next.runtime, run)).toMatchObject({ result: ["yes", "echo: a"] });
		expect(asked).toEqual(["Go on?", "Go on?"]);
		expect(next.runtime.scripts.list()[0]?.questions).toEqual([]);
		// Who has answered is not asked again.
		await resumeToEnd(next.runtime, run);
		expect(asked).toHaveLength(2);
		await next.runtime.close();
	});

	test("is answered by what its attempt was given, and then by the person", async () => {
		const { runtime } = await open(project, { ask: async ({ question }) => `${question} aloud` });
		const text = script("return [await ctx.ask('One?'), await ctx.ask('Two?'), await ctx.ask('Three?')];");
		const { end } = await runtime.scripts.start(text, undefined, undefined, { answers: ["1", "2"] });
		expect(await end).toEqual({ status: "completed", result: ["1", "2", "Three? aloud"] });
		await runtime.close();
	});

	test("waits until the other branches have done what they can", async () => {
		const model = echo();
		const { runtime } = await open(project, { model });
		const text = script(
			"return ctx.parallel([() => ctx.ask('Well?'), async () => { await ctx.agent('a'); return ctx.agent('b'); }]);",
		);
		expect((await runToEnd(runtime, text)).end).toMatchObject({ status: "waiting" });
		expect(prompts(model)).toEqual(["a", "b"]);
		await runtime.close();
	});
});

describe("a look", () => {
	test("ahead says what is recalled and what is called, and writes nothing", async () => {
		const model = echo();
		const first = await open(project, { model });
		const { run } = await runToEnd(first.runtime, five());
		await first.runtime.close();
		const before = await hashOf(project.state);
		const { runtime } = await open(project, { readOnly: true, model });
		const explanation = await runtime.scripts.explain(run, { script: five({ 3: "other" }) });
		expect(explanation.calls.map(({ state, why }) => why ?? state)).toEqual([
			"hit",
			"hit",
			"changed",
			"after a change",
			"after a change",
		]);
		// What was never asked has no price yet.
		expect(explanation).toMatchObject({ saved: 22, toPay: 22, unknown: 1, percentFree: undefined, isWhole: true });
		expect(explanation.calls[2]?.differs).toEqual({ field: "prompt", was: '"call 3"', is: '"other"' });
		await runtime.scripts.check(run, { script: five({ 3: "other" }) });
		await expect(runtime.scripts.check(run, { script: five({ 3: "other" }), strict: true })).rejects.toMatchObject({
			code: "REPLAY_DIVERGENCE",
		});
		await runtime.close();
		expect([await hashOf(project.state), model.asked.length]).toEqual([before, 5]);
	});

	test("back finds an unchanged run as it is recorded, and names what is not", async () => {
		const model = echo();
		const first = await open(project, { model });
		const { run } = await runToEnd(first.runtime, five());
		const { run: silent } = await runToEnd(first.runtime, script("await ctx.now();"));
		await first.runtime.close();
		const before = await hashOf(project.state);
		const { runtime } = await open(project, { readOnly: true, model });
		const divergences = async (text = five()) => (await runtime.scripts.verify(run, text)).divergences;
		expect(await divergences()).toEqual([]);
		expect((await divergences(five({ 3: "other" })))[0]).toMatchObject({
			expected: expect.stringContaining("call 3"),
			got: expect.stringContaining("other"),
			path: `script/${run}[2]`,
		});
		const four = { name: "work.ts", source: five().source.replace(',"call 5"', "") };
		expect((await divergences(four))[0]).toMatchObject({ expected: expect.stringContaining("call 5"), got: "no call" });
		const six = { name: "work.ts", source: five().source.replace('"call 5"', '"call 5","call 6"') };
		expect((await divergences(six))[0]).toMatchObject({ expected: "the end", got: expect.stringContaining("call 6") });
		const other = { name: "work.ts", source: five().source.replace("return said", "return said.length") };
		expect(await divergences(other)).toMatchObject([
			{ path: "the result", expected: expect.stringMatching(/^\["echo/), got: "5" },
		]);
		const fails = { name: "work.ts", source: five().source.replace("return said", "throw new Error('no')") };
		expect(await divergences(fails)).toMatchObject([{ path: "the result", got: "it failed: no" }]);
		const none = await runtime.scripts.verify(silent, script("await ctx.now(); throw new Error('no');"));
		expect(none.divergences).toMatchObject([{ path: "the result", expected: "nothing", got: "it failed: no" }]);
		await runtime.close();
		expect([await hashOf(project.state), model.asked.length]).toEqual([before, 5]);
	});

	test("on from another process shows what was done, then what is done, and ends with the run", async () => {
		const held = gate();
		const model = scripted(async (request) => {
			if (lastOf(request) === "call 3") await held.opened;
			return lastOf(request);
		});
		const { runtime } = await open(project, { model });
		const { run, end } = await runtime.scripts.start(five(), undefined);
		await until(() => model.asked.length === 3);
		const looking = await open(project, { readOnly: true });
		const states: string[] = [];
		for await (const event of looking.runtime.scripts.watch(run, AbortSignal.timeout(20_000))) {
			if (event.type === "part") continue;
			states.push(event.type === "call" ? `${event.state} ${event.label}` : event.type);
			if (states.length === 3) held.open();
		}
		expect(states).toEqual(["begun", ...[1, 2, 3, 4, 5].map((n) => `live call ${n}`), "ended"]);
		await looking.runtime.close();
		await end;
		await runtime.close();
	});
});

test("a reader collects nothing and puts nothing: what a writer beside it has recorded stays", async () => {
	const { runtime } = await open(project);
	const source = "export default async (ctx) => { await ctx.ask('go on?'); return 1 }";
	const { run, end } = await runtime.scripts.start({ name: "s.ts", source }, { args: 1 });
	await end;
	const reader = await open(project, { readOnly: true });
	await expect(reader.runtime.gc()).rejects.toMatchObject({ code: "WAL_READ_ONLY" });
	await reader.runtime.gc({ dryRun: true });
	const { scripts } = reader.runtime;
	const kept = (): Promise<readonly string[]> => storeAt(project.state).blobs("scripts").list("");
	const before = await kept();
	const edited = { name: "s.ts", source: `${source} ` };
	for (const refused of [scripts.start(edited, {}), scripts.resume(run, { script: edited })])
		await expect(refused).rejects.toMatchObject({ code: "WAL_READ_ONLY" });
	expect(await kept()).toEqual(before);
	await reader.runtime.close();
	expect((await runtime.scripts.resume(run)).run).toBe(run);
	await runtime.close();
});

test("a script whose text finds no space is not run, and says so", async () => {
	const store = storeAt(project.state);
	const full: Store = {
		...store,
		engine: store.engine,
		blobs: (area) => ({
			...store.blobs(area),
			put: () => Promise.reject(Object.assign(new Error("no space left on device"), { code: "ENOSPC" })),
		}),
	};
	const { runtime } = await open(project, {}, full);
	const started = runtime.scripts.start({ name: "s.ts", source: "export default () => 1" }, {});
	await expect(started).rejects.toMatchObject({
		code: "WAL_FULL",
		message:
			"there is no space for the text and the arguments of s.ts, so it was not run: no space left on device. Free some, and run it again",
	});
	expect(runtime.scripts.list()).toEqual([]);
	await runtime.close();
});
