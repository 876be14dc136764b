/** Programs that once paid twice when they were run again: each is run to its end, and run again over the same log. */
import type { WalRecord } from "@reyn/wal";
import { describe, expect, test } from "vitest";
import {
	type Lane,
	type Model,
	type ModelPart,
	type Purity,
	runProgram,
	type Step,
	type StepContext,
	type Tool,
	type ToolContext,
} from "../../src/index.ts";
import { DyingLog, scope, using } from "../dying-log.ts";
import { script } from "../script/script-process.ts";
import { Journals, Run, type Says, type StepProgram, type Steps } from "./lives.ts";

/** A model whose prompts may begin with `mail` or `mail ... too`: it then makes that mail before it answers. */
const mailing = (fails: (text: string) => boolean, failsLater: typeof fails = () => false): Model => ({
	id: "mailing",
	async *generate({ messages }): AsyncIterable<ModelPart> {
		const [first] = messages;
		const text = first?.role === "user" ? first.text : "";
		if (fails(text) || (messages.length > 1 && failsLater(text))) throw new Error("overloaded");
		yield text.startsWith("mail") && messages.length === 1
			? { type: "toolCall", call: { id: "1", name: "mail", args: { text: "to all" } } }
			: { type: "text", text: `${text}!` };
		yield { type: "usage", usage: { inputTokens: 1, outputTokens: 1 } };
	},
});

/** A run to its end, killed before the end was recorded, and run again: the same end, and nothing is called but what is allowed. */
async function expectRecalled(source: string, says: Says, allowed: readonly string[] = []): Promise<Run> {
	const run = new Run(says);
	const ended = await run.live(source);
	expect(ended).toMatchObject({ status: "completed" });
	run.lose(1);
	const again = await run.live(source);
	expect({ ended: again, made: run.made.filter((text) => !allowed.includes(text)) }).toEqual({ ended, made: [] });
	expect(await run.live(source)).toEqual(ended);
	expect(run.made.filter((text) => !allowed.includes(text))).toEqual([]);
	return run;
}

/** As its branches end, they push; then a mail and a sum of what was pushed. */
const pushing = (...branches: readonly string[]): string =>
	script(`const found = [];
	const push = async (answer) => { found.push(await answer); };
	await ctx.parallel([${branches.map((branch) => `async () => { ${branch} }`).join(", ")}]);
	await ctx.tool("mail", { text: found.join() });
	return ctx.agent("sum up " + found.join());`);

const isOf = (data: unknown, name: string): boolean => (data as { readonly name?: string }).name === name;

const says =
	(all: Readonly<Record<string, ReturnType<Says>>>): Says =>
	(text) =>
		all[text];

describe("a script that runs again recalls", () => {
	test("branches in the order in which they ended", async () => {
		const source = pushing('await push(ctx.agent("a"))', 'await push(ctx.agent("b"))', 'await push(ctx.agent("c"))');
		await expectRecalled(source, says({ a: { ms: 30 }, b: { ms: 20 }, c: { ms: 10 } }));
	});

	test("branches in that order when the last call was cut: only that one is paid", async () => {
		const source = pushing('await push(ctx.agent("a"))', 'await push(ctx.agent("b"))');
		const run = new Run(says({ a: { ms: 30 }, b: { ms: 20 } }));
		const ended = await run.live(source);
		run.loseFrom((data) => data.includes("sum up"));
		expect([await run.live(source), run.made]).toEqual([ended, ["sum up b!,a!"]]);
	});

	test("the items of a pipeline in that order, each stage", async () => {
		const source = script(`const found = [];
	const stage = (name) => async (before, item) => { const answer = await ctx.agent(name + item + found.length); found.push(answer); return answer; };
	await ctx.pipeline(["x", "y", "z"], stage("first "), stage("second "));
	return ctx.tool("mail", { text: found.join() });`);
		const slow: Says = (text) => ({ ms: text.includes("x") ? 30 : text.includes("y") ? 20 : 7 });
		await expectRecalled(source, slow);
	});

	test("an effect that failed and was tried again by a loop of the script's own", async () => {
		const source = script(`for (let i = 0; i < 3; i++) {
		try { await ctx.tool("mail", { text: "a" }); break; } catch {}
	}
	return ctx.agent("sum up");`);
		let failures = 1;
		const run = await expectRecalled(source, (text) =>
			text === "mail a" && failures-- > 0 ? { says: Object.assign(new Error("busy"), { retryable: true }) } : undefined,
		);
		expect(run.process.kinds.filter((kind) => kind === "step_started")).toHaveLength(2);
	});

	test("a failure of a model that the script caught", async () => {
		const source = script(`const heard = await ctx.agent("a").catch(() => "nothing");
	await ctx.tool("mail", { text: heard });
	return ctx.agent("sum up " + heard);`);
		await expectRecalled(source, (text, life) =>
			text === "a" && life === 1 ? { says: new Error("overloaded") } : undefined,
		);
	});

	test("a failure of the world that the script caught", async () => {
		const source = script(`const heard = await ctx.tool("look").catch(() => "nothing");
	await ctx.tool("mail", { text: heard });
	return ctx.agent("sum up " + heard);`);
		await expectRecalled(source, (text, life) =>
			text === "look " && life === 1 ? { says: new Error("no network") } : undefined,
		);
	});

	test("a sleep beside a call, which ends after it", async () => {
		await expectRecalled(
			pushing('await ctx.sleep(50); found.push("slept")', 'await push(ctx.agent("a"))'),
			says({ a: { ms: 10 } }),
		);
	});

	test("a sleep beside a call, which ends before it", async () => {
		await expectRecalled(
			pushing('await push(ctx.agent("a"))', 'await ctx.sleep(5); found.push("slept")'),
			says({ a: { ms: 10 } }),
		);
	});

	test("what the world said in a branch, once a mail after the join rests on it", async () => {
		await expectRecalled(pushing('await push(ctx.tool("look"))'), (text, life) =>
			text === "look " ? { says: `price ${life}` } : undefined,
		);
	});

	test("the world in its place, however long it takes the second time", async () => {
		const source = script(`const found = [];
	const push = async (answer) => { found.push(await answer); };
	await ctx.parallel([() => push(ctx.tool("look")), () => push(ctx.agent("a"))]);
	return ctx.agent("sum up " + found.join());`);
		const slower: Says = (text, life) => ({ ms: text === "look " ? life * 10 : 15 });
		await expectRecalled(source, slower, ["look "]);
	});

	test("what the world said the second time, and what was asked for then", async () => {
		const source = script(`const heard = await ctx.tool("look");
	const thought = await ctx.agent("think of " + heard);
	await ctx.tool("mail", { text: thought });
	return ctx.agent("sum up " + thought);`);
		const run = new Run((text, life) => (text === "look " ? { says: `price ${Math.min(life, 2)}` } : undefined));
		expect(await run.live(source)).toMatchObject({ status: "completed" });
		run.loseFrom((data) => data.includes("mail"));
		const ended = await run.live(source);
		expect(ended).toMatchObject({ status: "completed", result: "sum up think of price 2!!" });
		expect(run.made).toEqual(["look ", "think of price 2", "mail think of price 2!", "sum up think of price 2!"]);
		run.loseFrom((data) => data.includes("sum up"));
		expect([await run.live(source), run.made]).toEqual([ended, ["sum up think of price 2!"]]);
		run.lose(1);
		expect([await run.live(source), run.made]).toEqual([ended, []]);
	});

	test("what the world says in another place, once another answer has led elsewhere", async () => {
		const source =
			script(`if ((await ctx.tool("look", { text: "first" })) === "yes") await ctx.agent("a"); else await ctx.agent("b");
	if ((await ctx.tool("look", { text: "then" })) === "yes") await ctx.tool("mail", { text: "x" });
	return null;`);
		const yes: readonly string[] = ["1 look first", "2 look then"];
		const run = new Run((text, life) =>
			text.startsWith("look") ? { says: yes.includes(`${life} ${text}`) ? "yes" : "no" } : undefined,
		);
		for (const made of [["look first", "a", "look then"], ["look first", "b", "look then", "mail x"], [], []]) {
			expect(await run.live(source)).toMatchObject({ status: "completed" });
			expect(run.made).toEqual(made);
		}
	});

	test("the world's first answer, when it fails the second time", async () => {
		const source = script(`const heard = await ctx.tool("look");
	return ctx.agent("sum up " + heard);`);
		await expectRecalled(
			source,
			(text, life) => (text === "look " && life > 1 ? { says: new Error("no network") } : undefined),
			["look "],
		);
	});

	test.each([1, 30])("a pure call of %i ms beside another call", async (ms) => {
		const source = pushing('await push(ctx.agent("a"))', 'await push(ctx.tool("count"))', 'await push(ctx.agent("b"))');
		await expectRecalled(source, says({ a: { ms: 10 }, b: { ms: 5 }, "count ": { ms } }), ["count "]);
	});

	test("a result that lies beside the log, in its place", async () => {
		const push = 'found.push((await ctx.agent("TEXT")).slice(0, 5))';
		const source = pushing(push.replace("TEXT", "a"), push.replace("TEXT", "b"), push.replace("TEXT", "c"));
		const large = "large".repeat(8000);
		await expectRecalled(source, says({ a: { ms: 20 }, b: { ms: 10, says: large }, c: { ms: 30, says: large } }));
	});

	test("the detail of a failure", async () => {
		const source = script(`let left = "all";
	try { await ctx.tool("mail", { text: "a" }); } catch (error) { left = JSON.stringify(error.detail ?? "unknown"); }
	await ctx.tool("mail", { text: left });
	return ctx.agent("sum up " + left);`);
		const refused = Object.assign(new Error("no paper"), { code: "NO_PAPER", detail: { left: 3 } });
		await expectRecalled(source, says({ "mail a": { says: refused } }));
	});

	test("chains of calls that overlap in one lane", async () => {
		const source = script(`const found = [];
	await Promise.all(["a", "b", "c"].map(async (text) => {
		const first = await ctx.agent(text);
		found.push(await ctx.agent("more " + first + found.join()));
	}));
	await ctx.tool("mail", { text: found.join() });
	return ctx.agent("sum up " + found.join());`);
		const slow: Says = (text) => ({ ms: { a: 30, b: 20, c: 10 }[text] ?? (text.includes("b!") ? 25 : 2) });
		await expectRecalled(source, slow);
	});

	test("what goes on when the first of its branches has said so", async () => {
		const source = script(`const found = [];
	let ready;
	const isReady = new Promise((resolve) => { ready = resolve; });
	const both = ctx.parallel([
		async () => { found.push(await ctx.agent("a")); ready(); found.push(await ctx.agent("more a")); },
		async () => { found.push(await ctx.agent("b")); },
	]);
	await isReady;
	await ctx.tool("mail", { text: found.join() });
	await both;
	return ctx.agent("sum up " + found.join());`);
		await expectRecalled(source, says({ a: { ms: 10 }, b: { ms: 5 }, "more a": { ms: 30 } }));
	});

	test("who came first: race, any, and a promise of the script's own", async () => {
		const calls = '[ctx.agent("a"), ctx.agent("b"), ctx.agent("c")]';
		for (const first of [
			`Promise.race(${calls})`,
			`Promise.any(${calls})`,
			`new Promise((resolve) => { for (const call of ${calls}) call.then(resolve); })`,
		]) {
			const source = script(`const first = await ${first};
	await ctx.tool("mail", { text: first });
	return ctx.agent("sum up " + first);`);
			await expectRecalled(source, says({ a: { ms: 30 }, b: { ms: 10 }, c: { ms: 20 } }));
		}
	});

	test("a phase that ran beside a question", async () => {
		const source = script(`const found = [];
	await Promise.all([
		ctx.phase("look", async () => { found.push(await ctx.agent("a" + ctx.random())); }),
		ctx.parallel([async () => { found.push(await ctx.ask("which?")); }]),
	]);
	await ctx.tool("mail", { text: found.join() });
	return found;`);
		const run = new Run(() => ({ ms: 10 }), { ask: async () => "this" });
		const ended = await run.live(source);
		expect(ended).toMatchObject({ status: "completed", result: ["this", expect.stringMatching(/^a0\.\d+!$/)] });
		run.lose(1);
		expect([await run.live(source), run.made]).toEqual([ended, []]);
	});
});

describe("a run that has failed and is run again", () => {
	test("makes the call that ended it again, and none that a later one rests on", async () => {
		const source = script(`const heard = await ctx.agent("a").catch(() => "nothing");
	await ctx.tool("mail", { text: heard });
	return ctx.agent("b");`);
		const run = new Run((text, life) =>
			life === 1 && text !== "mail nothing" ? { says: new Error("overloaded") } : undefined,
		);
		expect(await run.live(source)).toMatchObject({ status: "failed" });
		expect([await run.live(source), run.made]).toEqual([{ status: "completed", result: "b!" }, ["b"]]);
	});

	test("makes again only the branch that failed", async () => {
		const source = script(`return ctx.parallel([
		() => ctx.agent("a"),
		async () => { await ctx.agent("b"); return ctx.tool("mail", { text: "b" }); },
	]);`);
		const run = new Run((text, life) => ({ ms: 5, ...(text === "a" && life === 1 ? { says: new Error("no") } : {}) }));
		expect(await run.live(source)).toMatchObject({ status: "failed", error: { code: "SCRIPT_BRANCH_FAILED" } });
		expect([await run.live(source), run.made]).toEqual([{ status: "completed", result: ["a!", "mail done"] }, ["a"]]);
	});

	test("makes the call that ended it again, also where it said so to somebody", async () => {
		const source = script(`try { return await ctx.agent("a"); }
	catch (error) { await ctx.tool("mail", { text: "it failed" }); throw error; }
	finally { await ctx.agent("note it down"); }`);
		const run = new Run((text, life) => (life < 3 && text === "a" ? { says: new Error("overloaded") } : undefined));
		expect(await run.live(source)).toMatchObject({ status: "failed", error: { message: "overloaded" } });
		expect(run.made).toEqual(["a", "mail it failed", "note it down"]);
		expect([await run.live(source), run.made]).toMatchObject([{ status: "failed" }, ["a"]]);
		expect([await run.live(source), run.made]).toEqual([{ status: "completed", result: "a!" }, ["a"]]);
		const { status } = await run.live(source);
		expect([status, run.made]).toEqual(["completed", []]);
	});

	test.each([
		[
			"in a branch that went on",
			"ctx.parallel([async () => { try { return await A; } finally { await ctx.now(); } }])",
		],
		[
			"as the cause of its own",
			'A.catch(async (cause) => { await ctx.agent("why"); throw new Error("no way", { cause }); })',
		],
		[
			"gathered with others",
			'Promise.allSettled([A]).then(async ([{ reason }]) => { if (!reason) return; await ctx.agent("why"); throw new AggregateError([reason]); })',
		],
	])("makes the call again whose failure it let through %s", async (_, what) => {
		for (const call of ['ctx.agent("a")', 'ctx.tool("mail", { text: "a" })']) {
			const source = script(`return ${what.replace("A", call)}`);
			const isFailing = (text: string): boolean => text === "a" || text === "mail a";
			const run = new Run((text, life) => (life < 3 && isFailing(text) ? { says: new Error("no") } : undefined));
			for (let life = 1; life < 3; life++) {
				expect(await run.live(source)).toMatchObject({ status: "failed" });
				expect(run.made.filter(isFailing)).toHaveLength(1);
			}
			expect(await run.live(source)).toMatchObject({ status: "completed" });
			expect(run.made).toHaveLength(1);
		}
	});

	test("closes what it has opened, once", async () => {
		const source = script(`try {
		await Promise.all([ctx.agent("a"), ctx.agent("b")]);
		await ctx.tool("mail", { text: "good" });
	} finally { await ctx.tool("post", {}); }`);
		const run = new Run((text, life) => (life === 1 && text === "a" ? { says: new Error("no") } : undefined));
		expect(await run.live(source)).toMatchObject({ status: "failed" });
		expect(run.made).toContain("post ");
		expect([await run.live(source), run.made]).toMatchObject([{ status: "completed" }, ["a", "mail good"]]);
	});

	test("makes no effect with what it knows now, where a branch made it with what it knew then", async () => {
		const source = script(`const found = [];
	let say;
	const said = new Promise((resolve) => { say = resolve; });
	const first = (async () => {
		try { found.push(await ctx.agent("a")); } finally { say(); }
	})();
	first.catch(() => {});
	await Promise.all([said, ctx.agent("b")]);
	await ctx.tool("mail", { text: found.join() });
	await first;
	return ctx.agent("c");`);
		const run = new Run((text, life) => (life === 1 && text === "a" ? { says: new Error("overloaded") } : undefined));
		expect(await run.live(source)).toMatchObject({ status: "failed", error: { message: "overloaded" } });
		expect(run.made).toEqual(["a", "b", "mail "]);
		const again = await run.live(source);
		expect(again).toMatchObject({ status: "failed", error: { code: "REPLAY_DIVERGENCE" } });
		expect(run.made).toEqual(["a"]);
	});

	test.each([
		[
			"beside it",
			`const found = [];
	const first = ctx.agent("a");
	const said = first.then((text) => { found.push(text); }, () => {});
	first.catch(() => {});
	await Promise.all([said, ctx.agent("b")]);
	await ctx.agent("mail " + found.join(), { tools: ["mail"] });
	await first;
	return ctx.agent("c");`,
		],
		[
			"on its way out",
			`let found = "nothing";
	try { found = await ctx.agent("a"); } finally { await ctx.agent("mail " + found, { tools: ["mail"] }); }
	return ctx.agent("c");`,
		],
	])("makes no effect again inside an agent that it asked %s, and asks with what it knows now", async (_, body) => {
		let life = 0;
		const run = new Run(() => undefined, { model: mailing((text) => life === 1 && text === "a") });
		life = 1;
		expect(await run.live(script(body))).toMatchObject({ status: "failed", error: { message: "overloaded" } });
		expect(run.made).toEqual(["mail to all"]);
		life = 2;
		expect(await run.live(script(body))).toMatchObject({ status: "failed", error: { code: "REPLAY_DIVERGENCE" } });
		expect(run.made).toEqual([]);
	});

	test("says another thing than on its way out, and is as it was where it is cut", async () => {
		const source =
			script(`try { await ctx.agent("a"); await ctx.agent("second"); } finally { await ctx.tool("mail", { text: "over" }); }
	return ctx.tool("mail", { text: "and done" });`);
		const run = new Run((text, life) => (life === 1 && text === "a" ? { says: new Error("overloaded") } : undefined));
		expect(await run.live(source)).toMatchObject({ status: "failed" });
		expect(run.made).toEqual(["a", "mail over"]);
		expect(await run.live(source)).toMatchObject({ status: "completed" });
		expect(run.made).toEqual(["a", "second", "mail and done"]);
		run.loseFrom((data) => data.includes("second"));
		expect(await run.time.until(run.process.verify(source))).toEqual([]);
		expect(await run.live(source)).toMatchObject({ status: "completed" });
		expect(run.made).toEqual(["second", "mail and done"]);
	});

	test("never forgets a failure because it was stopped or killed", async () => {
		const source = script(`const heard = await ctx.agent("a").catch(() => "nothing");
	return ctx.tool("mail", { text: heard });`);
		const run = new Run((text, life) => (life === 1 && text === "a" ? { says: new Error("overloaded") } : undefined));
		await run.live(source);
		run.loseFrom((data) => data.includes("mail"));
		expect([await run.live(source), run.made]).toEqual([
			{ status: "completed", result: "mail done" },
			["mail nothing"],
		]);
	});
});

describe("what is adopted after an edit", () => {
	const source = pushing('await push(ctx.agent("a"))', 'await push(ctx.agent("b"))');
	const slow = says({ a: { ms: 30 }, b: { ms: 20 } });

	test("is told in the order in which it was told then", async () => {
		const run = new Run(slow);
		const ended = await run.live(source);
		await run.live(source.replace("return ctx.agent", 'await ctx.agent("new"); return ctx.agent'));
		expect(ended).toMatchObject({ result: "sum up b!,a!!" });
		// The call before has changed what the last one may rest on.
		expect(run.made).toEqual(["new", "sum up b!,a!"]);
	});

	test("keeps that order in a third life", async () => {
		const calls = source.replace('await ctx.tool("mail", { text: found.join() });', "");
		const edited = calls.replace("const found", 'await ctx.agent("new"); const found');
		const run = new Run(slow);
		const ended = await run.live(calls);
		expect([await run.live(edited, { reuse: "content" }), run.made]).toEqual([ended, ["new"]]);
		run.lose(2);
		expect([await run.live(edited, { reuse: "content" }), run.made]).toEqual([ended, []]);
	});
});

test("a text with another comment or layout goes on as it was, and does what it did or is refused", async () => {
	const body = `const o = [];
	await ctx.parallel([
		async () => { o.push(await ctx.agent("a")); await ctx.tool("mail", { text: "1" }); },
		async () => { await ctx.agent("b"); await ctx.tool("mail", { text: "2 " + o }); await ctx.agent("c"); },
	]);`;
	const texts = [body, `${body} // a comment`, body.replaceAll("; ", ";\n\n")];
	const seen = [];
	for (const text of texts) {
		for (const [changed, again] of [
			[text, 0],
			[text.replace('"c"', '"d"'), 1],
		] as const) {
			const run = new Run(says({ "mail 1": { ms: 5 }, b: { ms: 2 } }));
			await run.live(script(body));
			run.lose(1);
			const { calls } = await run.process.explain(script(changed));
			await run.live(script(changed));
			expect(run.process.memo.revision).toBe(1 + again);
			seen.push([again, calls.map(({ label, state }) => [label, state]), run.made]);
		}
	}
	expect(seen.slice(2)).toEqual([...seen.slice(0, 2), ...seen.slice(0, 2)]);
});

describe("a text whose edit touches nothing, run again", () => {
	const mail = (text: string): string => `await ctx.tool("mail", { text: ${text} })`;
	const wrapped = {
		"branches that share a variable": `const o = [];
	await ctx.parallel([
		async () => { ${mail('"1"')}; o.push(1); ${mail('"2 " + o')}; },
		async () => { ${mail('"3"')}; o.push(3); ${mail('"4 " + o')}; },
	]);`,
		"calls that overlap in one lane": `await Promise.all([
		(async () => { ${mail('"1"')}; ${mail('"2"')}; })(),
		(async () => { ${mail('"3"')}; ${mail('"4"')}; })(),
	]);`,
		"branches that nobody waits for": `const v = ctx.parallel([async () => { ${mail('"1"')}; }]);
	${mail('"2"')}; ${mail('"3"')}; ${mail('"4"')}; await v;`,
	};
	const slow = says({ "mail 1": { ms: 5 }, "mail 3": { ms: 9 }, "mail 2": { ms: 9 } });

	test.each(Object.entries(wrapped))("makes no effect again, cut anywhere in between: %s", async (_, body) => {
		for (const third of ["; void 1", ""]) {
			for (let lost = 0; ; lost++) {
				const run = new Run(slow);
				const ended = await run.live(script(body));
				expect(run.made).toHaveLength(4);
				await run.live(`${script(body)} ; void 0`);
				expect(run.made).toEqual([]);
				const { length } = run.process.log.records;
				if (run.process.log.records[length - lost]?.kind === "script_resumed") break;
				run.lose(lost);
				expect([await run.live(`${script(body)} ${third}`), run.made]).toEqual([ended, []]);
			}
		}
	});

	test.each([
		[
			"a variable that branches share",
			`const o = [];
	await ctx.parallel([
		async () => { o.push(await ctx.tool("look")); },
		async () => { await ctx.agent("a"); await ctx.agent("b " + o); },
	]);`,
		],
		[
			"branches that nobody waits for",
			`const v = ctx.parallel([() => ctx.agent("a")]);
	await ctx.tool("look"); await ctx.agent("b"); await v;`,
		],
		["behind an effect", `${mail('"1"')}; await ctx.tool("look"); await ctx.agent("b");`],
	])("tells what the world says now in its old place: %s", async (_, body) => {
		const run = new Run((text) => (text === "a" ? { ms: 30 } : undefined));
		const ended = await run.live(script(body));
		expect(run.made).toHaveLength(3);
		for (const addition of ["; void 1", "; void 2"]) {
			expect([await run.live(`${script(body)} ${addition}`), run.made]).toEqual([ended, ["look "]]);
			run.lose(2);
		}
	});

	test.each([
		["then run again as it is", ["; void 0", "; void 0"]],
		["twice", ["; void 1", "; void 2"]],
		["and back", ["; void 0", ""]],
	])("keeps what the world said where a mail rests on it: edited %s", async (_, additions) => {
		const body = script(`const seen = await ctx.tool("look");
	await ctx.parallel([() => ctx.tool("mail", { text: seen }), () => ctx.now()]);
	return ctx.agent("a");`);
		for (let lost = 0; lost < 6; lost++) {
			const run = new Run((text, life) => ({ says: text === "a" ? new Error("down") : `seen ${life}` }));
			await run.live(body);
			for (const addition of additions) {
				const { calls } = await run.process.explain(`${body} ${addition}`);
				await run.live(`${body} ${addition}`);
				expect([calls[0]?.state, run.made.filter((text) => text !== "a")], `${lost} lost`).toEqual(["hit", []]);
				run.lose(lost);
			}
		}
	});

	test("makes again what failed, and nothing of what was made after it in calls that overlap", async () => {
		const body = `await Promise.all([
		(async () => { try { await ctx.agent("a"); } finally { ${mail('"2"')}; } })(),
		(async () => { ${mail('"3"')}; ${mail('"4"')}; })(),
	]);`;
		for (const addition of ["", " ; void 0"]) {
			const fails: Says = (text, life) =>
				text === "a" && life < 3 ? { ms: 5, says: new Error("down") } : text === "mail 3" ? { ms: 30 } : { ms: 90 };
			const run = new Run(fails);
			expect(await run.live(script(body))).toMatchObject({ status: "failed" });
			expect(run.made).toEqual(["a", "mail 3", "mail 2", "mail 4"]);
			expect([await run.live(script(body) + addition), run.made]).toMatchObject([{ status: "failed" }, ["a"]]);
			expect([await run.live(script(body) + addition), run.made]).toMatchObject([{ status: "completed" }, ["a"]]);
		}
	});

	test.each([
		["was cut, and the steps inside it", []],
		["was made before another edit", ["; void 0"]],
	])("finds a call behind other branches than before: one that %s", async (_, additions) => {
		const body = `const v = ctx.parallel([() => ctx.agent("a")]);
	v.catch(() => {});
	try {
		await ctx.agent("b");
		await ctx.agent("mail c", { tools: ["mail"] });
	} finally { await v; }`;
		const down = new Set(["a", "mail c"]);
		const model = mailing(
			(text) => text === "a" && down.has(text),
			(text) => down.has(text),
		);
		const run = new Run(() => undefined, { model });
		const lives: (readonly string[])[] = [];
		const live = async (addition: string): Promise<string> => {
			const { status } = await run.live(`${script(body)} ${addition}`);
			lives.push(run.made);
			return status;
		};
		expect(await live("")).toBe("failed");
		down.delete("mail c");
		for (const _ of additions) expect(await live("")).toBe("failed");
		down.delete("a");
		for (const addition of [...additions, "; void 3"]) expect(await live(addition)).toBe("completed");
		expect(lives.flat()).toEqual(["mail to all"]);
	});

	test.each([
		["once", ["; void 1"]],
		["twice", ["; void 1", "; void 2"]],
		["and back", ["; void 1", ""]],
	])(
		"keeps the rounds of an agent that was cut, whatever the world says in them now: edited %s",
		async (_, additions) => {
			const body = script(`return ctx.agent("find out", { tools: ["look"] });`);
			let life = 0;
			let asked: number[] = [];
			const model: Model = {
				id: "looking",
				async *generate({ messages }): AsyncIterable<ModelPart> {
					const round = messages.filter(({ role }) => role === "assistant").length;
					asked.push(round);
					if (round > life) throw new Error("down");
					yield { type: "toolCall", call: { id: `${round}`, name: "look", args: { text: `${round}` } } };
					yield { type: "usage", usage: { inputTokens: 1, outputTokens: 1 } };
				},
			};
			const run = new Run((_, life) => ({ says: `seen ${life}` }), { model });
			await run.live(body);
			expect(asked).toEqual([0, 1]);
			for (const addition of additions) {
				asked = [];
				life++;
				const { saved } = await run.process.explain(`${body} ${addition}`);
				await run.live(`${body} ${addition}`);
				expect([saved, asked]).toEqual([2 * life, [life, life + 1]]);
			}
		},
	);

	/** Asks for one tool a round, and then says that it is done. Its process dies in the last round of the first lives; its answers differ in words. */
	function acting(
		rounds: number,
		fails: (life: number, round: number) => boolean,
		tool = "mail",
		words = (round: number, call: number) => `${round} ${call}`,
	) {
		const seen = { life: 0, asked: [] as number[] };
		let call = 0;
		const model: Model = {
			id: "acting",
			async *generate({ messages }): AsyncIterable<ModelPart> {
				const round = messages.filter(({ role }) => role === "assistant").length;
				seen.asked.push(round);
				if (fails(seen.life, round)) throw new Error("down");
				if (round < rounds)
					yield { type: "toolCall", call: { id: `${++call}`, name: tool, args: { text: words(round, call) } } };
				else yield { type: "text", text: "done" };
				yield { type: "usage", usage: { inputTokens: 5, outputTokens: 5 } };
			},
		};
		return { model, seen };
	}
	const isOfRound = (text: string): boolean => text.includes("down");

	test.each([
		["mail", "as it is", ""],
		["mail", "edited", "; void 1"],
		["look", "as it is", ""],
		["look", "edited", "; void 1"],
	])("keeps the rounds of an agent that was killed in them, which asked for %s: %s", async (tool, _, addition) => {
		const body = script(`return ctx.agent("find out", { tools: ["${tool}"], estimate: 30 });`);
		const { model, seen } = acting(2, (life, round) => life === 0 && round === 2, tool);
		const run = new Run((_, life) => ({ says: `in life ${life}` }), { model });
		await run.live(body);
		expect([seen.asked, run.made.length]).toEqual([[0, 1, 2], 2]);
		// Nothing is left of the agent itself, nor of the round that was under way.
		run.loseFrom(isOfRound);
		[seen.life, seen.asked] = [1, []];
		const { calls } = await run.process.explain(body + addition);
		expect(calls).toMatchObject([{ state: "live", saved: 20, toPay: 10 }]);
		expect(calls[0]?.repeats).toBeUndefined();
		expect(await run.live(body + addition)).toMatchObject({ status: "completed", result: "done" });
		expect([seen.asked, run.made.length]).toEqual([[2], tool === "mail" ? 0 : 2]);
	});

	test.each([
		["goes on", "b"],
		["is edited back", "a"],
		["is edited again", "c"],
	])("keeps the rounds of an agent that had failed in the text before: one that %s", async (_, last) => {
		const body = (text: string): string =>
			script(`await ctx.parallel([
		() => ctx.agent("pay both", { tools: ["mail"], estimate: 30 }),
		() => ctx.tool("mail", { text: "${text}" }),
	]);`);
		const { model, seen } = acting(2, (life, round) => life === 0 || (life === 1 && round === 2));
		const run = new Run(() => undefined, { model });
		expect(await run.live(body("a"))).toMatchObject({ status: "failed" });
		[seen.life, seen.asked] = [1, []];
		const { length } = run.process.log.records;
		await run.live(body("b"));
		expect(seen.asked).toEqual([0, 1, 2]);
		const { records } = run.process.log;
		run.lose(records.length - records.findIndex(({ data }, i) => i >= length && isOfRound(JSON.stringify(data))));
		[seen.life, seen.asked] = [2, []];
		const { calls } = await run.process.explain(body(last));
		expect(calls.map(({ saved, repeats }) => [saved, repeats])).toEqual([
			[20, undefined],
			[0, undefined],
		]);
		expect(await run.live(body(last))).toMatchObject({ status: "completed" });
		expect([seen.asked, run.made]).toEqual([[2], last === "c" ? ["mail c"] : []]);
	});

	test.each([
		[
			"in branches",
			`await ctx.parallel([() => ctx.tool("mail", { text: "pay" }), async () => { TEXT; ${mail('"2"')}; }]);`,
		],
		[
			"in a row",
			`let no; try { await ctx.tool("mail", { text: "pay" }); } catch (e) { no = e; } TEXT; ${mail('"2"')}; if (no) throw no;`,
		],
	])("says beforehand that what comes behind an edited call is made again, %s", async (_, body) => {
		const text = (words: string): string => script(body.replace("TEXT", mail(`"${words}"`)));
		const down = (made: string, life: number): boolean => life === 1 && made === "mail pay";
		const run = new Run((made, life) => (down(made, life) ? { says: new Error("down") } : undefined));
		expect(await run.live(text("1"))).toMatchObject({ status: "failed" });
		const made = run.process.log.records.findLast(({ kind }) => kind === "step_started");
		const { calls } = await run.process.explain(text("one"));
		expect(calls.at(-1)).toMatchObject({ state: "live", repeats: made?.seq });
		expect(await run.live(text("one"))).toMatchObject({ status: "completed" });
		expect(run.made).toContain("mail 2");
	});

	/** A tool that is made of steps, and gives their keys. */
	const nest: Tool = {
		name: "nest",
		description: "",
		parameters: { type: "object" },
		purity: "side_effect",
		call: async (_args, context) => {
			// Steps have a lane, and a tool is called as one.
			const { lane } = context as ToolContext & Pick<StepContext, "lane">;
			const pay = (name: string) =>
				lane.perform({
					kind: "step",
					name,
					args: {},
					purity: "side_effect",
					call: async ({ idempotencyKey }) => idempotencyKey,
				});
			return `${await pay("first")} ${await pay("second")}`;
		},
	};
	const rest = (records: readonly WalRecord[]): number =>
		records.length - 1 - records.findLastIndex(({ kind, data }) => kind === "step_started" && isOf(data, "second"));

	test.each([
		["by itself", (calls: string) => calls],
		["in a phase", (calls: string) => `return ctx.phase("p", async () => { ${calls} });`],
		["in a branch", (calls: string) => `return (await ctx.parallel([async () => { ${calls} }]))[0];`],
	])(
		"makes the steps inside a tool anew in each call of it that is another one, and goes on with its own: %s",
		async (_, around) => {
			const run = new Run(() => undefined, { tools: [nest] });
			const [one, both] = ["", 'await ctx.agent("new");'].map((before) =>
				script(around(`${before} return await ctx.tool("nest");`)),
			) as [string, string];
			/** Killed when the second step was begun, its call being made. @returns what the call gives if it goes on */
			const cut = async (text: string): Promise<unknown> => {
				const ended = await run.live(text);
				run.lose(rest(run.process.log.records));
				return ended;
			};
			const ofBoth = await cut(both);
			const ofOne = await cut(one);
			expect(ofOne).not.toEqual(ofBoth);
			expect(await cut(both)).toEqual(ofBoth);
			expect(await run.live(one)).toEqual(ofOne);
			expect(await run.live(both)).toEqual(ofBoth);
		},
	);

	test("tells what was made inside a tool to no equal call, though answers are found by content", async () => {
		const run = new Run(() => undefined, { tools: [nest] });
		const beside = (...calls: readonly string[]): string =>
			script(`return ctx.parallel([async () => ctx.agent("f"), ${calls.join()}]);`);
		const call = 'async () => ctx.tool("nest")';
		await run.live(beside(call));
		run.lose(rest(run.process.log.records));
		const ended = await run.live(beside(call, call), { reuse: "content" });
		const [, ...keys] = (ended as { readonly result: readonly string[] }).result.flatMap((keys) => keys.split(" "));
		expect(new Set(keys).size).toBe(4);
	});

	test("tells an agent's answer to one call, though one is added that finds it by content before the other asks", async () => {
		const branches = (...more: readonly string[]): string =>
			script(
				`return ctx.parallel([${[`async () => { ${mail('"first"')}; return ctx.agent("f"); }`, ...more].join()}]);`,
			);
		const run = new Run(() => undefined);
		await run.live(branches());
		const edited = branches('async () => ctx.agent("f")');
		const { calls } = await run.process.explain(edited, { reuse: "content" });
		expect(calls.map(({ label, state }) => [label, state])).toEqual([
			[expect.stringContaining("mail"), "hit"],
			["f", "hit"],
			["f", "live"],
		]);
		await run.live(edited, { reuse: "content" });
		expect(run.made).toEqual(["f"]);
	});

	test("tells an answer to one call by prefix too, after an edit by content that had moved it", async () => {
		const run = new Run(() => undefined);
		const text = (body: string): string => script(`${body} return null;`);
		await run.live(text(`${mail('"first"')}; await ctx.agent("f");`));
		await run.live(text('await ctx.agent("f");'), { reuse: "content" });
		expect(run.made).toEqual([]);
		const both = text(`await ctx.agent("f"); ${mail('"first"')}; await ctx.agent("f");`);
		await run.live(both);
		expect(run.made.toSorted()).toEqual(["f", "mail first"]);
	});

	test.each(["prefix", "content"] as const)(
		"finds its own answers when it is edited back by %s, wherever content had moved others to",
		async (reuse) => {
			const run = new Run(() => undefined);
			const text = (...branches: readonly string[]): string =>
				script(`return ctx.parallel([${branches.map((each) => `async () => { ${each} }`).join()}]);`);
			const [first, agent] = [mail('"first"'), 'return ctx.agent("f");'];
			const whole = text(first, agent, agent);
			const before = await run.live(whole);
			// The two agents are in the lanes of the mail and of the first of them now.
			await run.live(text(agent, agent), { reuse: "content" });
			expect(run.made).toEqual([]);
			expect(await run.live(whole, { reuse })).toEqual(before);
			expect(run.made).toEqual([]);
		},
	);

	describe("goes on with a round of its own by content too, though an equal agent is over elsewhere", () => {
		/** Of the last agent in a lane, only its round is left. */
		const cutIn = ({ process }: Run, lane: string): void => {
			const isEnd = ({ kind, data }: WalRecord): boolean =>
				kind === "step_completed" && (data as { readonly lane: string }).lane === lane;
			const end = process.log.records.findLast(isEnd);
			expect(end).toBeDefined();
			process.log.lose((record) => record === end);
		};

		test("where it was cut in this text", async () => {
			const run = new Run(() => undefined);
			await run.live(script('return ctx.agent("f");'));
			const moved = script('return ctx.phase("p", () => ctx.agent("f"));');
			await run.live(moved);
			run.lose(1);
			cutIn(run, "script/r1/phase.p/0");
			await run.live(moved, { reuse: "content" });
			expect(run.process.log.records.some(({ data }) => "adopts" in (data as object))).toBe(false);
			expect(run.made).toEqual([]);
		});

		test("where it was cut in the text before", async () => {
			const run = new Run(() => undefined);
			const text = (addition: string): string =>
				script(`await ctx.parallel([() => ctx.agent("f"), () => ctx.agent("f")]); ${addition} return null;`);
			await run.live(text(""));
			cutIn(run, "script/r1/parallel/0/0");
			await run.live(text('await ctx.agent("new");'), { reuse: "content" });
			expect(run.made).toEqual(["new"]);
		});
	});

	test("tells a model's step no answer of an effect that is called the same, though answers are found by content", async () => {
		const calls = (name: string, purity: Purity): Tool => ({
			...{ name, description: "", parameters: { type: "object" }, purity: "pure" },
			call: (_args, context) =>
				(context as ToolContext & Pick<StepContext, "lane">).lane.perform({
					...{ kind: "step", name: "a", args: {}, purity, call: async () => name },
				}),
		});
		const run = new Run(() => undefined, { tools: [calls("pays", "side_effect"), calls("asks", "llm")] });
		await run.live(script('return ctx.tool("pays");'));
		const ended = await run.live(script('return ctx.tool("asks");'), { reuse: "content" });
		expect(ended).toMatchObject({ result: "asks" });
	});

	test.each([
		["as it is", 1, ""],
		["edited", 1, "; void 1"],
		["as it is, all of them made", 2, ""],
		["edited, all of them made", 2, "; void 1"],
	])(
		"says which effects of an edited agent are still to be made again, once it has made some: %s",
		async (_, again, addition) => {
			const body = (words: string): string => script(`return ctx.agent("${words}", { tools: ["mail"] });`);
			const cutIn = [2, again];
			const { model, seen } = acting(2, (life, round) => round === cutIn[life], "mail", String);
			const run = new Run(() => undefined, { model });
			const made = (): readonly (number | undefined)[] =>
				run.process.log.records.filter(({ kind }) => kind === "step_started").map(({ seq }) => seq);
			const killed = async (text: string): Promise<void> => {
				const { length } = run.process.log.records;
				await run.live(text);
				const { records } = run.process.log;
				run.lose(records.length - records.findIndex(({ data }, i) => i >= length && isOfRound(JSON.stringify(data))));
				seen.life++;
			};
			await killed(body("one"));
			const [, second] = made();
			await killed(body("two"));
			expect(made()).toHaveLength(2 + again);
			const { calls } = await run.process.explain(body("two") + addition);
			expect(calls.map(({ state, repeats }) => [state, repeats])).toEqual([["live", again === 1 ? second : undefined]]);
		},
	);

	const same = (): string => "same";

	/** An agent in several texts, killed in a round of each but the last: the start that its row names then, counted from the first. */
	async function namedLast(texts: readonly string[], cutIn: readonly number[], words?: (round: number) => string) {
		const { model, seen } = acting(2, (life, round) => round === cutIn[life], "mail", words ?? String);
		const run = new Run(() => undefined, { model });
		const source = (text: string): string =>
			script(
				text.replace(/\b[A-Z]\b/g, (name) => `await ctx.agent("${name}", { tools: ["mail"], label: "${name}" });`),
			);
		for (const [i, text] of texts.slice(0, -1).entries()) {
			const { length } = run.process.log.records;
			await run.live(source(text));
			const { records } = run.process.log;
			const lost = records.findIndex(({ data }, at) => at >= length && isOfRound(JSON.stringify(data)));
			if (cutIn[i] !== undefined && lost >= 0) run.lose(records.length - lost);
			seen.life++;
		}
		const { calls } = await run.process.explain(source(texts.at(-1) as string));
		const starts = run.process.log.records.filter(({ kind }) => kind === "step_started").map(({ seq }) => seq);
		return calls.flatMap(({ kind, repeats }) => (kind === "agent" ? [repeats && starts.indexOf(repeats)] : []));
	}

	test.each([
		["behind a call that is new", ["A", `await ctx.now(); A`, `await ctx.now(); A`], [2, 1], undefined, [1]],
		["behind one that is gone", [`await ctx.now(); A`, "A", "A"], [2, 1], undefined, [1]],
		[
			"behind one that is new, in a text that is edited again",
			["A", `await ctx.now(); A`, `void 1; await ctx.now(); A`],
			[2, 1],
			undefined,
			[1],
		],
		["with effects that are equal", ["A", "B", "B"], [2, 1], same, [1]],
		[
			"that came to its end, moved and was killed, with other words",
			["A", `await ctx.now(); A`, `await ctx.now(); B`],
			[9, 1],
			undefined,
			[2],
		],
		["all of whose effects are made again", ["A", "B", "B"], [2, 2], undefined, [undefined]],
		["behind an equal one that is recalled", ["A A", "A await ctx.now(); A"], [9], same, [undefined, 3]],
		["beside one that is as it was", ["A B", "A C", "A C"], [9, 9], undefined, [undefined, undefined]],
	] as const)("says which effect is still to be made again of an agent %s", async (_, texts, cutIn, words, named) => {
		expect(await namedLast(texts, cutIn, words)).toEqual(named);
	});

	test.each([
		["goes into a phase", "A", `await ctx.phase("p", async () => { A });`],
		["comes sooner", "await ctx.now(); A", "A"],
		["comes later", "A", "await ctx.now(); A"],
		["has other words", "A", "B"],
	])("says which effect an agent makes a second time that %s", async (_, before, after) => {
		const text = (body: string): string =>
			script(
				`${body.replace(/\b[AB]\b/g, (words) => `await ctx.agent("${words}", { tools: ["mail"] });`)} await ctx.tool("mail", { text: "pay" });`,
			);
		const { model } = acting(1, () => false);
		const run = new Run((made, life) => (made === "mail pay" && life === 1 ? { says: new Error("down") } : undefined), {
			model,
		});
		expect(await run.live(text(before))).toMatchObject({ status: "failed" });
		const [made] = run.process.log.records.filter(({ kind }) => kind === "step_started");
		const { calls } = await run.process.explain(text(after));
		expect(calls.flatMap(({ kind, repeats }) => (kind === "agent" || kind === "now" ? [[kind, repeats]] : []))).toEqual(
			after.startsWith("await ctx.now()")
				? [
						["now", undefined],
						["agent", made?.seq],
					]
				: [["agent", made?.seq]],
		);
	});

	test("says beforehand which effect it may make a second time, with what it knows now", async () => {
		const body = script(`const o = [];
	await ctx.parallel([
		async () => { try { await ctx.agent("a"); } catch (error) { o.push("failed"); throw error; } },
		async () => { ${mail('"1"')}; ${mail('"2 " + o')}; },
	]);`);
		const run = new Run((text) => (text === "a" ? { says: new Error("down") } : { ms: 9 }));
		await run.live(body);
		expect(run.made).toEqual(["a", "mail 1", "mail 2 failed"]);
		const made = run.process.log.records.findLast(({ kind }) => kind === "step_started");
		const { calls } = await run.process.explain(`${body} ; void 0`);
		expect(calls.map(({ state, repeats }) => [state, repeats])).toEqual([
			["live", undefined],
			["hit", undefined],
			["live", made?.seq],
		]);
		// Unedited it is refused, and the preview says so too.
		const { isWhole, beyond, divergences } = await run.process.explain(body);
		expect({ isWhole, beyond, divergences }).toMatchObject({
			isWhole: false,
			divergences: [{ got: expect.stringContaining("2 ") }],
		});
		expect([await run.live(body), run.made]).toMatchObject([{ error: { message: beyond } }, []]);
	});
});

describe("verify says nothing of a run that is as it was", () => {
	test("with a pure tool", async () => {
		const source = script(`const heard = await ctx.tool("count"); return ctx.agent("sum up " + heard);`);
		const run = new Run(() => undefined);
		expect(await run.live(source)).toMatchObject({ status: "completed", result: "sum up count done!" });
		expect(await run.time.until(run.process.verify(source))).toEqual([]);
	});

	test("with a loser of a race that was given up", async () => {
		const source = script(`return Promise.race([ctx.agent("a"), ctx.sleep(1000)]);`);
		const run = new Run(() => undefined);
		expect(await run.live(source)).toMatchObject({ status: "completed", result: "a!" });
		expect(await run.time.until(run.process.verify(source))).toEqual([]);
		expect([await run.live(source), run.made]).toEqual([{ status: "completed", result: "a!" }, []]);
	});

	test("with a loser of a race that has ended after the script", async () => {
		const source = script(`return Promise.race([ctx.agent("a"), ctx.agent("b")]);`);
		const run = new Run(says({ a: { ms: 20 }, b: { ms: 10 } }));
		expect(await run.live(source)).toMatchObject({ status: "completed", result: "b!" });
		expect(await run.time.until(run.process.verify(source))).toEqual([]);
		expect([await run.live(source), run.made]).toEqual([{ status: "completed", result: "b!" }, []]);
	});

	test.each([
		'ctx.agent("b")',
		'ctx.agent("b").catch(() => ctx.agent("c"))',
		'ctx.tool("look", { text: "b" })',
		'ctx.tool("mail", { text: "b" })',
		"ctx.sleep(30)",
		'ctx.tool("look", { text: "b" }), ctx.agent("c")',
		'ctx.agent("b"), ctx.tool("look", { text: "c" }), ctx.agent("d")',
		'ctx.parallel([() => ctx.tool("look", { text: "b" }), () => ctx.agent("c")])',
	])("with a loser that has ended or failed after the script: %s", async (loser) => {
		for (const end of ["b!", new Error("no"), Object.assign(new Error("no"), { retryable: true })]) {
			const source = script(`return Promise.race([ctx.agent("a"), ${loser}]);`);
			const run = new Run((text) => (text.endsWith("b") ? { ms: 20, says: end } : { ms: text === "a" ? 10 : 30 }));
			const ended = await run.live(source);
			expect(ended).toEqual({ status: "completed", result: "a!" });
			expect(await run.time.until(run.process.verify(source))).toEqual([]);
			expect([await run.live(source), run.made.filter((text) => !text.startsWith("look"))]).toEqual([ended, []]);
		}
	});

	test("with pure calls that fail beside others", async () => {
		const fails = 'await ctx.tool("count", { text: "fails" }).catch(() => {});';
		const push = 'found.push(await ctx.tool("count", { text: "b" }))';
		const source = pushing(`${fails} ${fails} found.push(await ctx.agent("a" + found.join()))`, push);
		const run = new Run(says({ "count fails": { ms: 5, says: new Error("no") }, "count b": { ms: 10 } }));
		expect(await run.live(source)).toMatchObject({ status: "completed" });
		expect(await run.time.until(run.process.verify(source))).toEqual([]);
	});

	test("with branches that ended in another order than they began", async () => {
		const source = pushing('await push(ctx.agent("a"))', 'await push(ctx.agent("b"))');
		const run = new Run(says({ a: { ms: 30 }, b: { ms: 20 } }));
		await run.live(source);
		expect(await run.time.until(run.process.verify(source))).toEqual([]);
	});

	test("with a failure that was caught", async () => {
		const source = script(
			`const heard = await ctx.agent("a").catch(() => "nothing"); return ctx.agent("sum up " + heard);`,
		);
		const run = new Run((text) => (text === "a" ? { says: new Error("overloaded") } : undefined));
		expect(await run.live(source)).toMatchObject({ status: "completed" });
		expect(await run.time.until(run.process.verify(source))).toEqual([]);
	});
});

describe("what a script waits for", () => {
	test("is no reason to end it while answers wait for their turn", async () => {
		const source = pushing(
			'await push(ctx.tool("look"))',
			'await push(ctx.agent("a"))',
			'await push(ctx.ask("which?"))',
		);
		const run = new Run((text, life) => ({ ms: text === "look " ? life * 10 : 15 }));
		expect(await run.live(source)).toMatchObject({ status: "waiting", error: { code: "SCRIPT_WAITING" } });
		expect(await run.live(source)).toMatchObject({ status: "waiting", error: { code: "SCRIPT_WAITING" } });
		expect(run.made).toEqual(["look "]);
		const silent = new Run(says({ a: { ms: 10 } }));
		const stuck = pushing('await push(ctx.agent("a"))', "await new Promise(() => {})");
		for (let life = 1; life <= 2; life++)
			expect(await silent.live(stuck)).toMatchObject({ status: "failed", error: { code: "SCRIPT_STUCK" } });
		expect(silent.made).toEqual([]);
	});

	test("is told before anything else when it is refused at once", async () => {
		const refused = 'try { await ctx.tool("none"); } catch (error) { found.push(error.code); }';
		const source = pushing('await push(ctx.agent("a"))', refused, 'await push(ctx.agent("b"))');
		const run = await expectRecalled(source, says({ a: { ms: 30 }, b: { ms: 20 } }));
		const misspelled = pushing(
			'await push(ctx.agent("a"))',
			'try { await ctx.ask(5); } catch { found.push("wrong"); }',
		);
		await expectRecalled(misspelled, () => undefined);
		expect(run.process.kinds).not.toContain("step_failed");
	});

	test("does not hold it open when it fails in the same time slice", async () => {
		const run = new Run(() => undefined, { ask: () => new Promise<string>(() => {}) });
		const source = script(`ctx.ask("really?"); throw new Error("no");`);
		expect(await run.live(source)).toMatchObject({ status: "failed", error: { message: "no" } });
		const beside = script(`await ctx.agent("a"); ctx.ask("really?"); ctx.agent("b"); throw new Error("no");`);
		const other = new Run(() => undefined, { ask: () => new Promise<string>(() => {}) });
		expect(await other.live(beside)).toMatchObject({ status: "failed", error: { message: "no" } });
	});
});

/** A program to its end, and again: the same end, and nothing is called but what is allowed; also when its last record was lost. */
async function expectStepsRecalled(program: StepProgram, says: Says, allowed: readonly string[] = []): Promise<void> {
	const journals = new Journals(says);
	const ended = await journals.live(program);
	for (let life = 2; life <= 3; life++) {
		const again = await journals.live(program);
		const made = journals.made.filter((text) => !allowed.includes(text));
		expect({ ended: again, made }, `life ${life}`).toEqual({ ended, made: [] });
	}
}

/** A program to its end; and again with its last records lost, as long as something is kept: the same end, and no other calls. */
async function expectRecalledAnywhere(program: StepProgram, says: Says, kept = ""): Promise<void> {
	for (let lost = 1; ; lost++) {
		const journals = new Journals(says);
		const ended = await journals.live(program);
		const { made } = journals;
		await journals.lose(lost);
		if (journals.lines.length < 2 || !journals.lines.join().includes(kept)) return;
		const again = await journals.live(program).catch((error: Error) => error.message);
		const other = journals.made.filter((text) => !made.includes(text));
		expect({ ended: again, other }, `${lost} lost`).toEqual({ ended, other: [] });
	}
}

/** What each branch found, in the order in which they ended; then a mail and a sum of that. */
const together =
	(...branches: readonly ((...given: Parameters<StepProgram>) => Promise<string>)[]): StepProgram =>
	async (steps) => {
		const found: string[] = [];
		await Promise.all(branches.map(async (branch) => found.push(await branch(steps))));
		await steps.mail(found.join());
		return steps.llm(`sum up ${found.join()}`);
	};

describe("a program of steps that runs again recalls", () => {
	test("calls of one lane in the order in which they ended", async () => {
		await expectStepsRecalled(
			together(
				({ llm }) => llm("a"),
				({ llm }) => llm("b"),
				({ llm }) => llm("c"),
			),
			says({ a: { ms: 30 }, b: { ms: 20 }, c: { ms: 10 } }),
		);
	});

	test("calls of several lanes in that order", async () => {
		const branch = (name: string) => (steps: Parameters<StepProgram>[0]) => steps.lane(`branch/${name}`).llm(name);
		await expectStepsRecalled(together(branch("a"), branch("b")), says({ a: { ms: 30 }, b: { ms: 20 } }));
	});

	test("chains of calls that overlap in one lane", async () => {
		const chain =
			(name: string) =>
			async ({ llm }: Parameters<StepProgram>[0]) =>
				llm(`more ${await llm(name)}`);
		await expectStepsRecalled(
			together(chain("a"), chain("b"), chain("c")),
			says({ a: { ms: 30 }, b: { ms: 20 }, c: { ms: 10 }, "more b!": { ms: 25 } }),
		);
	});

	test("what a call was made of, when only its parts were recorded", async () => {
		const parts: StepProgram = ({ inside }) =>
			inside("work", async ({ llm, mail }) => {
				const found: string[] = [];
				await Promise.all(["a", "b"].map(async (text) => found.push(await llm(text))));
				return mail(found.join());
			});
		const journals = new Journals(says({ a: { ms: 30 }, b: { ms: 20 } }));
		const ended = await journals.live(parts);
		await journals.lose(1);
		expect([await journals.live(parts), journals.made]).toEqual([ended, []]);
	});

	/** A call with steps inside, beside a branch that finds b, c and d. */
	const beside =
		(
			purity: Purity,
			body: (steps: Steps, found: readonly string[]) => Promise<string>,
			isSecond = false,
		): StepProgram =>
		async (steps) => {
			const found: string[] = [];
			const branch = async (): Promise<void> => {
				for (const text of ["b", "c", "d"]) found.push(await steps.llm(text));
			};
			const work = (): Promise<unknown> => steps.inside("work", (inner) => body(inner, found), purity);
			await Promise.all((isSecond ? [branch, work] : [work, branch]).map((each) => each()));
			return found;
		};

	const purities = ["llm", "side_effect"] as const;
	const inner = ["llm", "mail"] as const;
	const both = purities.flatMap((purity) => inner.map((kind) => [purity, kind] as const));

	test.each(both)("what a call (%s) was made of, and what its %s knew", async (purity, kind) => {
		const slow: Says = (text) => ({ ms: { a: 5, b: 1, c: 15, d: 15 }[text] ?? 30 });
		const program = beside(purity, async (steps, found) => {
			await steps.llm("a");
			return steps[kind](`sum up ${found}`);
		});
		await expectRecalledAnywhere(program, slow);
	});

	test.each(both)("what a call (%s) knew when it began with its %s", async (purity, kind) => {
		const slow: Says = (text) => ({ ms: { b: 1, c: 15, d: 15 }[text] ?? 10 });
		// A model's call leaves nothing before it ends.
		const kept = kind === "llm" ? "sum up" : "";
		for (const isSecond of [false, true])
			await expectRecalledAnywhere(
				beside(purity, (steps, found) => steps[kind](`sum up ${found}`), isSecond),
				slow,
				kept,
			);
	});

	test("an effect that failed and was tried again by a loop of the program's own", async () => {
		let failures = 1;
		await expectStepsRecalled(
			async ({ llm, mail }) => {
				for (let i = 0; i < 3; i++) {
					try {
						await mail("a");
						break;
					} catch {}
				}
				return llm("sum up");
			},
			(text) =>
				text === "mail a" && failures-- > 0
					? { says: Object.assign(new Error("busy"), { retryable: true }) }
					: undefined,
		);
	});

	test("a failure of a model that the program caught", async () => {
		await expectStepsRecalled(
			async ({ llm, mail }) => {
				const heard = await llm("a").catch(() => "nothing");
				await mail(heard);
				return llm(`sum up ${heard}`);
			},
			(text, life) => (text === "a" && life === 1 ? { says: new Error("overloaded") } : undefined),
		);
	});

	test("what the world said in another lane, once a mail rests on it", async () => {
		await expectStepsRecalled(
			together((steps) => steps.lane("branch").look("a")),
			(text, life) => (text === "look a" ? { says: `price ${life}` } : undefined),
		);
	});

	test("the world in its place, however long it takes the second time", async () => {
		const slower: Says = (text, life) => ({ ms: text === "look a" ? life * 10 : 15 });
		const program: StepProgram = async ({ llm, look }) => {
			const found: string[] = [];
			await Promise.all([look("a"), llm("b")].map(async (call) => found.push(await call)));
			return llm(`sum up ${found.join()}`);
		};
		await expectStepsRecalled(program, slower, ["look a"]);
	});

	test("the world's first answer, when each try fails the second time", async () => {
		const retry = { maxAttempts: 3, initialIntervalMs: 5 };
		const program: StepProgram = async ({ llm, look }) => {
			const heard = await look("a", { retry }).catch(() => "nothing");
			return llm(`sum up ${heard}`);
		};
		const failing: Says = (text, life) =>
			text === "look a" && life > 1 ? { says: new Error("no network") } : undefined;
		await expectStepsRecalled(program, failing, ["look a"]);
	});

	test.each([1, 30])("a pure call of %i ms beside others", async (ms) => {
		const program = together(
			({ llm }) => llm("a"),
			({ count }) => count("b"),
			({ llm }) => llm("c"),
		);
		await expectStepsRecalled(program, says({ a: { ms: 20 }, c: { ms: 10 }, "count b": { ms } }), ["count b"]);
	});

	test("results that lie beside the log, in their place", async () => {
		const large = "large".repeat(8000);
		const begin =
			(text: string) =>
			async ({ llm }: Parameters<StepProgram>[0]) =>
				(await llm(text)).slice(0, 5);
		await expectStepsRecalled(
			together(begin("a"), begin("b"), begin("c")),
			says({ a: { ms: 20 }, b: { ms: 10, says: large }, c: { ms: 30, says: large } }),
		);
	});

	test("who came first", async () => {
		const program: StepProgram = async ({ llm, mail }) => {
			const calls = [llm("a"), llm("b"), llm("c")];
			const first = await Promise.race(calls);
			await mail(first);
			await Promise.all(calls);
			return llm(`sum up ${first}`);
		};
		await expectStepsRecalled(program, says({ a: { ms: 30 }, b: { ms: 10 }, c: { ms: 20 } }));
	});

	test("its place where a policy tries a call again", async () => {
		let failures = 1;
		const program = together(
			({ mail }) => mail("a", { retry: { maxAttempts: 3, initialIntervalMs: 10 } }),
			({ llm }) => llm("b"),
		);
		await expectStepsRecalled(program, (text) =>
			text === "mail a" && failures-- > 0 ? { says: new Error("busy") } : { ms: 5 },
		);
	});
});

describe("a program of steps that let a failure through", () => {
	test("makes that call again, and none that a later one rests on", async () => {
		const program: StepProgram = async ({ llm, mail }) => {
			const heard = await llm("a").catch(() => "nothing");
			await mail(heard);
			return llm("b");
		};
		const journals = new Journals((text, life) =>
			life === 1 && text !== "mail nothing" ? { says: new Error("overloaded") } : undefined,
		);
		await expect(journals.live(program)).rejects.toThrow("overloaded");
		expect([await journals.live(program), journals.made]).toEqual(["b!", ["b"]]);
	});

	test("makes no effect again inside a call that was cut, and is asked for with what it knows now", async () => {
		const journals = new Journals((text, life) => ({
			ms: { a: 10, b: life * 20 - 19 }[text] ?? 1,
			...(life === 1 && text === "b" ? { says: new Error("overloaded") } : {}),
		}));
		const program: StepProgram = async (steps) => {
			const found: string[] = [];
			const [one, two] = [steps.lane("one"), steps.lane("two")];
			const work = async (): Promise<string> => {
				await one.llm("a");
				return one.inside(`work on ${found}`, ({ mail }) => mail("to all"));
			};
			const other = async (): Promise<unknown> => found.push(await two.llm("b").catch(() => "nothing"));
			return Promise.all([work(), other()]);
		};
		await journals.live(program);
		expect(journals.made).toEqual(["a", "b", "mail to all"]);
		await journals.lose(1);
		await expect(journals.live(program)).rejects.toMatchObject({ code: "REPLAY_DIVERGENCE" });
		expect(journals.made).toEqual(["b"]);
	});

	test("makes no effect again whose name has half a character", async () => {
		let made = 0;
		let isDown = true;
		const step = (name: string, purity: Purity, call: Step<number>["call"]): Step<number> => ({
			...{ kind: "step", name, args: {}, purity, call },
		});
		const heard = step("hear", "llm", () => (isDown ? Promise.reject(new Error("overloaded")) : Promise.resolve(1)));
		const program = async (lane: Lane): Promise<void> => {
			let found = 0;
			const mail = step("mail \ud83d", "side_effect", async () => ++made);
			const work = step("work", "llm", ({ lane: inner }) => inner.perform(mail));
			try {
				found = await lane.perform(heard);
			} finally {
				await lane.perform({ ...work, args: { found } });
			}
		};
		const log = new DyingLog();
		await expect(runProgram("p", scope, using(log), program)).rejects.toThrow("overloaded");
		isDown = false;
		await expect(runProgram("p", scope, using(log), program)).rejects.toMatchObject({ code: "REPLAY_DIVERGENCE" });
		expect(made).toBe(1);
	});

	test("never makes that call again once an effect inside a later one rests on it", async () => {
		const program: StepProgram = async ({ llm, inside }) => {
			const heard = await llm("a").catch(() => "nothing");
			return inside("work", ({ mail }) => mail(heard));
		};
		const journals = new Journals((text, life) =>
			life === 1 && text === "a" ? { says: new Error("overloaded") } : undefined,
		);
		const ended = await journals.live(program);
		await journals.lose(1);
		expect([await journals.live(program), journals.made]).toEqual([ended, []]);
	});

	test("never makes that call again once a later branch rests on it", async () => {
		const program: StepProgram = async ({ lane }) => {
			const heard = await lane("p/first/0")
				.llm("a")
				.catch(() => "nothing");
			return lane("p/second/0").mail(heard);
		};
		const journals = new Journals((text, life) =>
			life === 1 && text === "a" ? { says: new Error("overloaded") } : undefined,
		);
		const ended = await journals.live(program);
		expect([await journals.live(program), journals.made]).toEqual([ended, []]);
	});

	test("goes on with a list of which one entry is gone and one is new", async () => {
		const upload =
			(...files: readonly string[]): StepProgram =>
			async ({ mail }) => {
				const done: string[] = [];
				for (const file of files) done.push(await mail(file));
				return done;
			};
		const journals = new Journals(() => undefined);
		await journals.live(upload("a", "b"));
		expect(await journals.live(upload("b", "c"))).toEqual(["mail b!", "mail c!"]);
		expect(journals.made).toEqual(["mail c"]);
	});
});
