/** Previews of a script: what a resume would call, why, and at what price. */

import { type BlobStore, memoryBlobs } from "@reyn/wal";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { histories } from "../../../../tests/sample.ts";
import { type Model, NonRetryableError, type Tool } from "../../src/index.ts";
import type { Explanation, ScriptPorts } from "../../src/script/index.ts";
import { Run, type Says } from "../order/lives.ts";
import { anyEdit, anyProgram, edited, type Program, plain, sourceOf } from "./programs.ts";
import { echo, Process, type ProcessOptions, script, writer } from "./script-process.ts";

const { numRuns, seed } = histories(60, 1000);
const RUNS = Math.ceil(numRuns / 10);

/** Its large results lie beside the log. */
class Storing extends Process {
	readonly #results: BlobStore;

	constructor(results: BlobStore, options: ProcessOptions) {
		super(options);
		this.#results = results;
	}

	override get ports(): ScriptPorts {
		return { ...super.ports, results: this.#results };
	}
}

const mail = 'await ctx.tool("mail", { text: "x" })';

/** What may be made again, and has nothing in its place. */
const gone = (unreached: Explanation["unreached"]): readonly string[] =>
	unreached.flatMap(({ label, instead }) => (instead === undefined ? [label] : []));

const states = ({ calls }: Explanation): readonly string[] => calls.map(({ state }) => state);

test("what is under way when a script ends by another call is to be paid for, as far as it is not recorded", async () => {
	const body = 'await Promise.race([ctx.tool("write", {}), ctx.agent("long", { tools: ["look"], estimate: 20 })]);';
	let isBroken = true;
	let lookedAt: () => void = () => {};
	const looked = new Promise<void>((resolve) => (lookedAt = resolve));
	const run = new Process({
		model: {
			id: "echo",
			async *generate({ messages }) {
				if (messages.length === 1) yield { type: "toolCall", call: { id: "c", name: "look", args: {} } };
				else yield { type: "text", text: "seen" };
				yield { type: "usage", usage: { inputTokens: 7, outputTokens: 3 } };
			},
		},
		tools: [
			writer(async () => {
				if (!isBroken) return "written";
				await looked;
				throw new NonRetryableError("no ink");
			}),
			{
				...{ name: "look", description: "Looks.", parameters: { type: "object" }, purity: "world" as const },
				async call() {
					lookedAt();
					return "a view";
				},
			},
		],
	});
	expect(await run.work(script(body))).toMatchObject({ status: "failed" });
	isBroken = false;
	const { calls, toPay, unknown, saved } = await run.explain(script(body));
	expect({ toPay, unknown, saved }, JSON.stringify(calls)).toEqual({ toPay: 10, unknown: 0, saved: 10 });
});

test.each(["race", "any"])(
	"the branch that was first is first in a preview too, with all that it makes again: Promise.%s",
	async (kind) => {
		const run = new Run((text) => (text === "slow" ? { ms: 60 } : undefined));
		const text = (before: string): string =>
			script(`${before} return Promise.${kind}([
				ctx.phase("slow", () => ctx.agent("slow")),
				ctx.phase("fast", async () => { await ctx.agent("fast"); await ctx.tool("mail", { text: "fast" }); return ctx.agent("last"); }),
			]);`);
		await run.live(text(""));
		const { calls, isWhole, result } = await run.process.explain(text('await ctx.agent("new");'));
		expect(calls.map(({ label, state }) => `${state} ${label}`)).toEqual([
			"live new",
			"live slow",
			"live fast",
			"live mail",
			"live last",
		]);
		expect(calls[3]).toMatchObject({ repeats: expect.any(Number) });
		expect({ isWhole, result }).toEqual({ isWhole: true, result: "last!" });
	},
);

test("a loser that was never begun after its edit comes last in a preview of the next one", async () => {
	const run = new Run((text) => (text.startsWith("slow") ? { ms: 60 } : undefined));
	const text = (slow: string, before = ""): string =>
		script(`${before} return Promise.race([
			ctx.phase("fast", async () => { await ctx.agent("fast"); return ctx.tool("mail", { text: "fast" }); }),
			ctx.phase("slow", () => ctx.agent("${slow}")),
		]);`);
	await run.live(text("slow"));
	await run.live(text("slow, edited"));
	expect(run.made).toEqual([]);
	const { calls } = await run.process.explain(text("slow, edited", 'await ctx.agent("new");'));
	expect(calls.map(({ label, state }) => `${state} ${label}`)).toEqual([
		"live new",
		"live fast",
		"live slow, edited",
		"live mail",
	]);
	expect(calls[3]).toMatchObject({ repeats: expect.any(Number) });
});

test("an effect behind a branch that loses in the preview, and won before, is named all the same", async () => {
	const run = new Run((text) => (text === "slow" ? { ms: 60 } : undefined));
	const text = (question: string, before = ""): string =>
		script(`${before} return Promise.race([
			ctx.phase("fast", async () => { await ctx.agent("${question}"); return ctx.tool("mail", { text: "fast" }); }),
			ctx.phase("slow", () => ctx.agent("slow")),
		]);`);
	await run.live(text("fast"));
	const start = run.process.log.records.find(({ kind }) => kind === "step_started")?.seq;
	// The edited one was never told: the other branch ended the race.
	await run.live(text("fast, edited"));
	const { calls, unreached } = await run.process.explain(text("fast, edited", 'await ctx.agent("new");'));
	expect(calls.map(({ label }) => label)).toEqual(["new", "fast, edited", "slow"]);
	expect(gone(unreached)).toEqual(["mail"]);
	expect(unreached).toContainEqual({ seq: start, label: "mail" });
	// Where nothing is assumed, nothing is left open.
	expect((await run.process.explain(text("fast, edited"))).unreached).toEqual([]);
});

describe("what was made behind an answer that is assumed now is named", () => {
	const behind = (question: string, body: string): string =>
		script(`if ((await ctx.agent("${question}")) === "${question}!") { ${body} } return null;`);
	const failing = { mail: { says: new Error("no ink") } };
	const says =
		(all: Readonly<Record<string, ReturnType<Says>>>): Says =>
		(text) =>
			all[text.split(" ")[0] ?? ""];

	test.each([
		["an effect", mail, {}, ["mail"]],
		["one that failed", `try { ${mail} } catch {}`, failing, ["mail"]],
		["agents", 'await ctx.agent("a"); await ctx.agent("b");', {}, ["a", "b"]],
		["but no look at the world, and no question", 'await ctx.tool("look"); await ctx.now();', {}, []],
	])("%s", async (_, body, all, labels) => {
		const run = new Run(says(all));
		await run.live(behind("h", body));
		const { calls, unreached } = await run.process.explain(behind("h2", body));
		expect(calls.map(({ label }) => label)).toEqual(["h2"]);
		expect(gone(unreached)).toEqual(labels);
		expect(unreached).toContainEqual({ seq: expect.any(Number), label: "h", instead: "h2" });
	});

	test("an effect that nobody knows the end of", async () => {
		const run = new Run(() => undefined);
		await run.live(behind("h", mail));
		const { records } = run.process.log;
		run.lose(records.length - 1 - records.findLastIndex(({ kind }) => kind === "step_started"));
		const { unreached } = await run.process.explain(behind("h2", mail));
		expect(gone(unreached)).toEqual(["mail"]);
	});

	test("and nothing that is only edited where it stands, or moved", async () => {
		const run = new Run(() => undefined);
		const calls = (prompt: string, before = ""): string =>
			script(`${before} await ctx.agent("a"); await ctx.agent("${prompt}"); ${mail}; return null;`);
		await run.live(calls("b"));
		for (const text of [calls("b, edited"), calls("b", 'await ctx.agent("new");')]) {
			const { assumed, unreached } = await run.process.explain(text);
			expect(assumed).toBeGreaterThan(0);
			expect(gone(unreached)).toEqual([]);
		}
	});

	/** Agents whose prompt begins with P send a mail in their first round. */
	const mailing: Model = {
		id: "mailing",
		async *generate({ messages }) {
			const prompt = messages[0]?.text ?? "";
			const call = { id: "c", name: "mail", args: { text: prompt } };
			if (prompt.startsWith("P") && messages.length === 1) yield { type: "toolCall", call };
			else yield { type: "text", text: `${prompt}!` };
			yield { type: "usage", usage: { inputTokens: 5, outputTokens: 5 } };
		},
	};
	const agent = (prompt: string): string => `await ctx.agent("${prompt}", { tools: ["mail"] });`;

	test.each([
		["in branches", `await ctx.parallel([async () => { ${agent("P1")} }, async () => { ${agent("P2")} }]);`, 2],
		["in a phase", `await ctx.phase("p", async () => { ${agent("P1")} });`, 1],
		["in sequence", agent("P1"), 1],
	])("what agents made before they were cut, %s", async (_, body, mails) => {
		const run = new Run(() => undefined, { model: mailing });
		await run.live(behind("h", body));
		const { records } = run.process.log;
		// The last round of each is lost.
		run.lose(records.length - 1 - records.findLastIndex(({ data }) => (data as { name?: string }).name === "mail"));
		const { calls, unreached } = await run.process.explain(behind("h2", body));
		const starts = run.process.log.records.filter(({ kind }) => kind === "step_started").map(({ seq }) => seq);
		expect(starts).toHaveLength(mails);
		expect([...calls.map(({ repeats }) => repeats), ...unreached.map(({ seq }) => seq)]).toEqual(
			expect.arrayContaining(starts),
		);
	});

	test("and what another call stands in the place of here, since it may stand before it", async () => {
		const run = new Run(() => undefined, { model: mailing });
		const body = `${agent("P1")} ${agent("P2")}`;
		await run.live(behind("h", body));
		const { unreached, percentFree } = await run.process.explain(
			behind("h2", body).replace("if (", "await ctx.now(); if ("),
		);
		expect(unreached.map(({ label, instead }) => [label, instead])).toEqual([
			["h", undefined],
			["P1", "h2"],
			["P2", undefined],
		]);
		expect(percentFree).toBeUndefined();
	});

	test("and each of two equal calls that two lives have come to at different places", async () => {
		const run = new Run(() => undefined);
		const text = (first: string, second: string): string =>
			script(`if ((await ctx.agent("${first}")).startsWith("y")) { ${mail}; }
				if ((await ctx.agent("${second}")).startsWith("y")) { ${mail}; } return null;`);
		await run.live(text("y1", "n2"));
		await run.live(text("n1", "y2"));
		const starts = run.process.log.records.filter(({ kind }) => kind === "step_started").map(({ seq }) => seq);
		expect(starts).toHaveLength(2);
		const { calls, unreached } = await run.process.explain(text("y1", "y3"));
		expect(calls.map(({ state, label }) => `${state} ${label}`)).toEqual(["hit y1", "hit mail", "live y3"]);
		expect(gone(unreached)).toContain("mail");
		expect(unreached.map(({ seq }) => seq)).toContain(starts[1]);
		// One row stands for one of them.
		const live = await run.process.explain(text("y3", "y4"));
		const told = [...live.calls.map(({ repeats }) => repeats), ...live.unreached.map(({ seq }) => seq)];
		expect(told).toEqual(expect.arrayContaining(starts));
	});

	test("and what stands behind a world that said otherwise, and is asked again", async () => {
		const run = new Run((text, life) => (text.startsWith("look") ? { says: life === 2 ? "no" : "yes" } : undefined));
		const text = (at: string): string =>
			script(
				`if ((await ctx.tool("look", { text: "${at}" })) === "yes") { await ctx.agent("a"); ${mail}; } return null;`,
			);
		await run.live(text("here"));
		await run.live(text("there"));
		const { calls, assumed, unreached, percentFree } = await run.process.explain(text("there"));
		expect([calls.map(({ state }) => state), assumed]).toEqual([["again"], 0]);
		expect([gone(unreached), percentFree]).toEqual([["a", "mail"], undefined]);
	});

	test("and what an agent has made beside a round that it took over from another one", async () => {
		const run = new Run(() => undefined, { model: mailing });
		const text = (first: string, second: string): string =>
			script(`if ((await ctx.agent("${first}")).startsWith("y")) { ${agent("P")} }
				if ((await ctx.agent("${second}")).startsWith("y")) { ${agent("P")} } return null;`);
		await run.live(text("y1", "n2"));
		const { records } = run.process.log;
		run.lose(records.length - 1 - records.findLastIndex(({ data }) => (data as { name?: string }).name === "mail"));
		await run.live(text("n1", "y2"), { reuse: "content" });
		const { calls, unreached } = await run.process.explain(text("y1", "y3"));
		expect(calls.map(({ state, label }) => `${state} ${label}`)).toEqual(["hit y1", "live P", "live y3"]);
		expect(gone(unreached).concat(unreached.map(({ label }) => label))).toContain("P");
	});

	test("but no effect in doubt that is begun again under its key, whatever was edited since", async () => {
		const run = new Run(() => undefined);
		const text = (prompt: string): string =>
			script(`await ${mail.slice(6)}; await ctx.agent("${prompt}"); return null;`);
		for (const prompt of ["g", "h", "k"]) {
			await run.live(text(prompt));
			const { records } = run.process.log;
			run.lose(records.length - 1 - records.findLastIndex(({ kind }) => kind === "step_started"));
		}
		const { calls, unreached } = await run.process.explain(text("k"));
		expect([calls.map(({ state }) => state), unreached]).toEqual([["in_doubt", "live"], []]);
	});

	test("nor what is recalled, however often it was recorded again", async () => {
		const run = new Run(() => undefined);
		const text = (n: number): string =>
			script(`await ctx.tool("look", { text: "x" }); await ctx.agent("a"); const n = ${n}; return n;`);
		for (const n of [1, 2, 3, 2, 3, 2]) await run.live(text(n));
		const { calls, unreached } = await run.process.explain(text(2));
		expect([calls.map(({ state }) => state), unreached]).toEqual([["again", "hit"], []]);
	});

	test("nor the parts of what is recalled as a whole", async () => {
		const run = new Run(() => undefined, { model: mailing });
		const looking = script(`await ctx.tool("look", { text: "x" }); ${agent("P1")} return null;`);
		await run.live(script(`${agent("P1")} return null;`));
		await run.live(looking, { reuse: "content" });
		const { calls, unreached } = await run.process.explain(looking);
		expect([calls.map(({ state }) => state), unreached]).toEqual([["again", "hit"], []]);
	});

	test("what has used its estimate and is not over has no known price", async () => {
		const run = new Run(() => undefined, { model: mailing });
		const text = script('await ctx.agent("P1", { tools: ["mail"], estimate: 10 }); return null;');
		await run.live(text);
		const { records } = run.process.log;
		run.lose(records.length - 1 - records.findLastIndex(({ data }) => (data as { name?: string }).name === "mail"));
		expect(await run.process.explain(text)).toMatchObject({ saved: 10, toPay: 0, unknown: 1 });
	});

	test("nor does a second effect of a text repeat the first, which is another call's", async () => {
		const run = new Run(() => undefined);
		const text = script(`await ${mail.slice(6)}; await ctx.agent("a"); await ${mail.slice(6)}; return null;`);
		await run.live(text);
		run.loseFrom((data) => data.includes('"a"') || data.includes("prompt"));
		const { calls } = await run.process.explain(text);
		expect(calls.map(({ state, label, repeats }) => [state, label, repeats])).toEqual([
			["hit", "mail", undefined],
			["live", "a", undefined],
			["live", "mail", undefined],
		]);
	});

	test("and the second of two that were made repeats the second", async () => {
		const run = new Run(() => undefined);
		const text = (prompt: string): string =>
			script(`await ${mail.slice(6)}; await ctx.agent("${prompt}"); await ${mail.slice(6)}; return null;`);
		await run.live(text("a"));
		const starts = run.process.log.records.filter(({ kind }) => kind === "step_started").map(({ seq }) => seq);
		const { calls } = await run.process.explain(text("b"));
		expect(calls.map(({ state, repeats }) => [state, repeats])).toEqual([
			["hit", undefined],
			["live", undefined],
			["live", starts[1]],
		]);
	});

	test("a row has its own record, whatever another world has led to", async () => {
		const run = new Run((text, life) => (text.startsWith("look") ? { says: life === 1 ? "no" : "yes" } : undefined));
		const text = script(`if ((await ctx.tool("look", { text: "x" })) === "yes") { ${mail}; }
			else { await ctx.tool("look", { text: "y" }); await ctx.agent("b"); } await ctx.agent("a"); return null;`);
		await run.live(text);
		await run.live(text);
		const { calls } = await run.process.explain(text);
		const { seq } = calls.at(-1) ?? {};
		const record = run.process.log.records.find((each) => each.seq === seq);
		expect([calls.at(-1)?.state, JSON.stringify(record?.data)]).toEqual([
			"hit",
			expect.stringContaining('"label":"a"'),
		]);
	});

	test("no share is free for sure where something is left", async () => {
		const run = new Run((text) => (text.startsWith("mail") ? { says: new Error("no ink") } : undefined));
		const text = (to: string): string =>
			script(
				`await ctx.agent("a"); try { await ctx.tool("mail", { text: "${to}" }); } catch { await ctx.agent("b"); } return null;`,
			);
		await run.live(text("x"));
		const { unreached, percentFree } = await run.process.explain(text("y"));
		expect([gone(unreached), percentFree]).toEqual([["b"], undefined]);
	});
});

describe("five calls of 1200, 800, 1500, 1500 and 2100 tokens, killed after the third", () => {
	const tokens = new Map([
		["scan repo for smells", 1200],
		["rank by severity", 800],
		["verify bug #1", 1500],
		["verify bug #2", 1500],
		["synthesize report", 2100],
	]);
	const model = echo(undefined, (prompt) => tokens.get(prompt) ?? 0);
	const calls = (options: (tokens: number) => string): string =>
		script(
			`${[...tokens].map(([prompt, price]) => `await ctx.agent(${JSON.stringify(prompt)}${options(price)});`).join("\n")}`,
		);
	/** A call is two records: of the model, and of the agent. */
	const killed = async (source: string): Promise<Process> => {
		const run = new Process({ model, appends: 6 });
		expect(await run.work(source)).toMatchObject({ status: "killed" });
		return run.next();
	};

	test("49 % are free and 3600 tokens to pay by what the script declares", async () => {
		const source = calls((price) => `, { estimate: ${price} }`);
		const run = await killed(source);
		const explanation = await run.explain(source);
		expect(explanation).toMatchObject({
			percentFree: 49,
			saved: 3500,
			toPay: 3600,
			unknown: 0,
			isWhole: true,
			assumed: 2,
		});
		expect(states(explanation)).toEqual(["hit", "hit", "hit", "live", "live"]);
		expect(explanation.calls.map(({ toPay }) => toPay)).toEqual([0, 0, 0, 1500, 2100]);
		await run.work(source);
		expect(run.made).toEqual(["verify bug #2", "synthesize report"]);
	});

	test("and by what an earlier run of the script has cost, whatever the script declares", async () => {
		const source = calls(() => "");
		const earlier = new Process({ model });
		await earlier.work(source);
		const run = await killed(source);
		const explanation = await run.explain(source, {}, [earlier.log]);
		expect(explanation).toMatchObject({ percentFree: 49, saved: 3500, toPay: 3600, unknown: 0 });
		const declared = calls(() => ", { estimate: 1 }");
		expect(await run.explain(declared, {}, [earlier.log])).toMatchObject({ percentFree: 49, toPay: 3600 });
	});

	test("without either the price is unknown, and not 0", async () => {
		const source = calls(() => "");
		const explanation = await (await killed(source)).explain(source);
		expect(explanation).toMatchObject({ percentFree: undefined, saved: 3500, unknown: 2 });
		expect(explanation.calls.map(({ toPay }) => toPay)).toEqual([0, 0, 0, undefined, undefined]);
	});

	test("one price that is not known leaves the share unknown", async () => {
		const source = calls((price) => (price === 2100 ? "" : `, { estimate: ${price} }`));
		const explanation = await (await killed(source)).explain(source);
		expect(explanation).toMatchObject({ percentFree: undefined, toPay: 1500, unknown: 1 });
	});
});

/** Answers are the same for ever, so what a preview assumes is what is answered. */
/** A model that calls one tool, and then is done. */
const asks: Model = {
	id: "asks",
	async *generate({ messages }) {
		if (messages.length > 1) yield { type: "text", text: "done" };
		else yield { type: "toolCall", call: { id: "c1", name: "write", args: {} } };
		yield { type: "usage", usage: { inputTokens: 100, outputTokens: 10 } };
	},
};
const steady = { model: echo(() => "yes"), tools: [writer(() => "yes")] };

describe("a preview says what the resume then does", () => {
	const anyKill = fc.option(fc.nat(14), { nil: undefined });
	const edits = fc.array(anyEdit, { maxLength: 2 });

	test.each(["prefix", "content"] as const)("by %s", async (reuse) => {
		await fc.assert(
			fc.asyncProperty(anyProgram, edits, anyKill, anyKill, edits, async (first, edits, kill, second, more) => {
				const program = reuse === "content" ? plain(first) : first;
				const next = plainIf(reuse === "content", edits.reduce(edited, program));
				const last = plainIf(reuse === "content", more.reduce(edited, next));
				const begun = new Process({ ...steady, ...(kill === undefined ? {} : { appends: kill }) });
				await begun.work(sourceOf(program));
				const between = begun.next(second === undefined ? {} : { appends: second });
				await between.work(sourceOf(next), { reuse });
				const run = between.next();
				const before = run.log.records;
				const explanation = await run.explain(sourceOf(last), { reuse });
				expect([run.made, run.log.records]).toEqual([[], before]);
				await run.work(sourceOf(last), { reuse });
				const asked = run.made.filter((each) => !each.startsWith("write "));
				const told = explanation.calls.filter(({ state }) => state === "live" || state === "in_doubt");
				expect({ toPay: explanation.toPay, unknown: explanation.unknown, isWhole: explanation.isWhole }).toEqual({
					toPay: 11 * asked.length,
					unknown: 0,
					isWhole: true,
				});
				expect(told.filter(({ kind }) => kind === "tool")).toHaveLength(run.made.length - asked.length);
				const agents = run.events.filter((each) => each.type === "call" && each.kind === "agent");
				const saved = agents.reduce(
					(all, each) => all + ("tokens" in each && each.state === "hit" ? (each.tokens ?? 0) : 0),
					0,
				);
				const inside = told.reduce((all, call) => all + call.saved, 0);
				expect(explanation.saved).toBe(saved + inside);
				if (reuse === "content") return;
				const hits = (of: readonly object[]): unknown[] =>
					of.flatMap((each) => {
						const { state, lane, at } = each as { state?: string; lane?: string; at?: number };
						return state === "hit" && at !== undefined ? [`${lane} ${at}`] : [];
					});
				expect(hits(explanation.calls).toSorted()).toEqual(hits(run.events).toSorted());
			}),
			{ numRuns: RUNS, seed },
		);
	});
});

const plainIf = (isPlain: boolean, program: Program): Program => (isPlain ? plain(program) : program);

describe("each call says why it is made", () => {
	const source = script(`
	await ctx.agent("scan");
	await ctx.agent("rank by severity", { system: "Be short." });
	await ctx.tool("write", { path: "a.txt", text: "done" });
	return ctx.agent("report");`);
	const done = async (): Promise<Process> => {
		const run = new Process({ tools: [writer()] });
		await run.work(source);
		return run.next();
	};

	test.each([
		["the prompt", ["by severity", "by risk"], "prompt", '"rank by severity"', '"rank by risk"'],
		["an option", ["Be short.", "Be long."], "system", '"Be short."', '"Be long."'],
		["an option that is new", ['"Be short."', '"Be short.", maxTurns: 3'], "maxTurns", undefined, "3"],
		["an option that is gone", [', { system: "Be short." }', ""], "system", '"Be short."', undefined],
		[
			"of two",
			['"rank by severity", { system: "Be short." }', '"rank", { system: "Be." }'],
			"prompt",
			'"rank by severity"',
			'"rank"',
		],
		["the kind", ['agent("rank by severity", { system: "Be short." })', "now()"], "kind", "agent", "now"],
	] as const)("%s is the first field that differs", async (_, [from, to], field, was, is) => {
		const { calls, divergences } = await (await done()).explain(source.replace(from, to));
		expect(calls.map(({ why }) => why)).toEqual([undefined, "changed", "after a change", "after a change"]);
		expect(calls[1]?.differs).toEqual({ field, was, is });
		expect(divergences).toMatchObject([{ path: "script/r1[1]" }]);
	});

	test("a field that is cut in the middle of a character is the same as before", async () => {
		const prompt = `${"x".repeat(58)}\u{1f6a7}${"x".repeat(100)}`;
		const of = (system: string): string => script(`return ctx.agent("${prompt}", { system: "${system}" });`);
		const run = new Process({ model: echo() });
		await run.work(of("Be short."));
		const { calls } = await run.next().explain(of("Be long."));
		expect(calls[0]?.differs).toEqual({ field: "system", was: '"Be short."', is: '"Be long."' });
	});

	test("another model is the first field that differs", async () => {
		const run = (await done()).next({ model: { ...echo(), id: "larger" } });
		const { calls } = await run.explain(source);
		expect(calls[0]?.differs).toEqual({ field: "model", was: "echo", is: "larger" });
	});

	test("an effect that an edit makes a second time names its first start", async () => {
		const run = await done();
		const start = run.log.records.find(({ kind }) => kind === "step_started");
		const { calls } = await run.explain(source.replace("by severity", "by risk"));
		expect(calls.map(({ repeats }) => repeats)).toEqual([undefined, undefined, start?.seq, undefined]);
		const unchanged = await run.explain(source);
		expect(unchanged.calls.map(({ repeats }) => repeats)).toEqual([undefined, undefined, undefined, undefined]);
	});

	test("an agent that an edit asks again names the effect that was made inside it", async () => {
		const filling = script('await ctx.agent("fill", { tools: ["write"] }); return ctx.agent("fill no more");');
		const run = new Process({ model: asks, tools: [writer()] });
		expect(await run.work(filling)).toMatchObject({ status: "completed" });
		const start = run.log.records.find(({ kind }) => kind === "step_started");
		const { calls } = await run.next().explain(filling.replace('"fill"', '"fill up"'));
		expect(calls.map(({ repeats }) => repeats)).toEqual([start?.seq, undefined]);
		expect((await run.explain(filling)).calls.map(({ repeats }) => repeats)).toEqual([undefined, undefined]);
	});

	test("a call behind all that is recorded is new", async () => {
		const more = await (await done()).explain(source.replace("return", 'await ctx.agent("report"); return'));
		expect(more.calls.at(-1)).toMatchObject({ state: "live", why: "new" });
	});

	test("a hit names the record that it is recalled from, wherever that stands", async () => {
		const run = new Process();
		await run.work(script('await ctx.parallel([() => ctx.agent("a"), () => ctx.agent("b")]);'));
		const outcomes = run.log.records.filter(({ data }) => (data as { kind?: string }).kind === "agent");
		const moved = script('await ctx.parallel([() => ctx.agent("b"), () => ctx.agent("a")]);');
		const { calls } = await run.next().explain(moved, { reuse: "content" });
		expect(calls.map(({ label, state, seq }) => [label, state, seq])).toEqual([
			["b", "hit", outcomes[1]?.seq],
			["a", "hit", outcomes[0]?.seq],
		]);
	});
});

test("an effect that was begun and has no outcome is in doubt, and what follows goes on with nothing", async () => {
	const source = script('const text = await ctx.tool("write", {}); return ctx.agent("read " + text, { estimate: 7 });');
	const run = new Process({ tools: [writer()], appends: 1 });
	await run.work(source);
	const explanation = await run.next().explain(source);
	expect(explanation.calls).toMatchObject([
		{ kind: "tool", state: "in_doubt", seq: 2 },
		{ kind: "agent", state: "live", why: "new", toPay: 7, label: "read" },
	]);
});

describe("what is found after a guess is said to be one", () => {
	const look: Tool = {
		name: "look",
		description: "",
		parameters: { type: "object" },
		purity: "world",
		call: async () => "sunny",
	};

	test("the answer of a call that is new, by content", async () => {
		const source = (first: string): string =>
			script(
				`const a = await ctx.agent(${JSON.stringify(first)}, { estimate: 11 }); await ctx.agent("so " + a, { estimate: 11 });`,
			);
		const run = new Process({ model: echo((prompt) => `${prompt}!`) });
		await run.work(source("a"));
		const other = await run.next().explain(source("b"), { reuse: "content" });
		expect(other).toMatchObject({ saved: 11, guessed: 11, toPay: 11, unknown: 0, percentFree: undefined });
		expect(other.calls).toMatchObject([{ state: "live" }, { state: "hit", guessed: 11 }]);
		const resumed = run.next();
		await resumed.work(source("b"), { reuse: "content" });
		expect(resumed.made).toEqual(["b", "so b!"]);
	});

	test("the answer of a world that is asked again", async () => {
		const source = script(
			'const sky = await ctx.tool("look", {}); await ctx.agent("it is " + sky); await ctx.agent("b");',
		);
		const run = new Process({ tools: [look] });
		await run.work(source);
		const explanation = await run.next().explain(source);
		expect(explanation).toMatchObject({ saved: 22, guessed: 22, toPay: 0, percentFree: undefined });
		const resumed = run.next({ tools: [{ ...look, call: async () => "grey" }] });
		await resumed.work(source);
		expect(resumed.made).toEqual(["look {}", "it is grey"]);
	});

	test("an effect that is found behind one", async () => {
		const pay: Tool = {
			...{ name: "pay", description: "", parameters: { type: "object" }, purity: "side_effect" },
			call: async () => "paid",
		};
		const source = (prompt: string): string =>
			script(`const price = ctx.phase("price", () => ctx.agent("${prompt}"));
	await ctx.parallel([async () => { await ctx.tool("pay", { price: await price }); }]);`);
		const model = echo(() => "7");
		const run = new Process({ model, tools: [pay] });
		await run.work(source("old"));
		const { calls } = await run.next().explain(source("new"));
		expect(calls).toMatchObject([{ state: "live" }, { state: "hit", isGuess: true }]);
		expect((await run.next().explain(source("old"))).calls[1]).not.toHaveProperty("isGuess");
		const resumed = run.next({ model: echo(() => "8") });
		await resumed.work(source("new"));
		expect(resumed.made).toEqual(["new", 'pay {"price":"8"}']);
	});

	test("the world that an agent looked at before it was cut, and that is asked again", async () => {
		const asks: Model = {
			id: "asks",
			async *generate({ messages }) {
				if (messages.length > 1) yield { type: "text", text: messages.at(-1)?.text ?? "" };
				else yield { type: "toolCall", call: { id: "c1", name: "look", args: {} } };
				yield { type: "usage", usage: { inputTokens: 100, outputTokens: 10 } };
			},
		};
		const source = script('await ctx.agent("see", { tools: ["look"], estimate: 220 });');
		const run = new Process({ model: asks, tools: [look], appends: 3 });
		expect(await run.work(source)).toMatchObject({ status: "killed" });
		const explanation = await run.next().explain(source);
		expect(explanation).toMatchObject({ saved: 220, guessed: 110, toPay: 0, percentFree: undefined });
		const resumed = run.next({ tools: [{ ...look, call: async () => "grey" }] });
		await resumed.work(source);
		// A round that is recorded counts all the same.
		expect(resumed.made).toEqual(["look {}"]);
	});

	test("and nothing else: what is told before the first guess is certain", async () => {
		const source = (last: string): string =>
			script(
				`await ctx.parallel([() => ctx.agent("new", { estimate: 11 }), async () => { await ctx.agent("a"); await ctx.agent("b"); }]); ${last}`,
			);
		const run = new Process();
		await run.work(source("").replace("new", "old"));
		const explanation = await run.next().explain(source('await ctx.agent("c", { estimate: 11 });'));
		expect(explanation).toMatchObject({ saved: 22, guessed: 0, toPay: 22, percentFree: 50 });
	});
});

test("a large answer that is lost is said to be made again, with its price", async () => {
	const source = script('await ctx.agent("big"); await ctx.tool("write", {});');
	const model = echo(() => "x".repeat(50_000));
	const tools = [writer(async () => "written")];
	const run = new Storing(memoryBlobs(), { model, tools });
	await run.work(source);
	const next = new Storing(memoryBlobs(), { model, tools, log: run.log });
	expect(await next.explain(source)).toMatchObject({
		calls: [
			{ state: "live", toPay: 11 },
			{ state: "hit", isGuess: true },
		],
		...{ isWhole: true, toPay: 11, unknown: 0, divergences: [] },
	});
	await next.work(source);
	expect(next.made).toEqual(["big"]);
});

test("a failure that is recorded is said as one, and the script sees it", async () => {
	const source = script('try { await ctx.tool("write", {}); } catch (error) { return ctx.agent(error.message); }');
	const tools = [writer(() => Promise.reject(new Error("disk full")))];
	const run = new Process({ tools });
	await run.work(source);
	const { calls } = await run.next().explain(source);
	expect(calls).toMatchObject([
		{ kind: "tool", state: "failed" },
		{ kind: "agent", state: "hit", label: "disk full" },
	]);
});

describe("a script that goes where nothing is recorded", () => {
	test("for ever is followed for a while", async () => {
		const source = script('while ((await ctx.agent("done?", { estimate: 1 })) !== "yes");');
		const explanation = await new Process().explain(source);
		expect(explanation).toMatchObject({ isWhole: false, percentFree: undefined, assumed: 1001 });
		expect(explanation.beyond).toContain("more than 1000 calls are not recorded");
	});

	test("and fails on what it is told there says so, with the calls up to it", async () => {
		const source = script('const { n } = JSON.parse(await ctx.agent("a number")); await ctx.agent("again " + n);');
		const explanation = await new Process().explain(source);
		expect(explanation).toMatchObject({ isWhole: false, assumed: 1, unknown: 1 });
		expect(explanation.beyond).toContain("JSON");
		expect(states(explanation)).toEqual(["live"]);
	});

	test("is told what fits the schema", async () => {
		const schema = '{ type: "object", properties: { all: { type: "array" }, kind: { enum: ["x", "y"] } } }';
		const source = script(
			`const { all, kind } = await ctx.agent("q", { schema: ${schema} }); return [all.length, kind];`,
		);
		expect(await new Process().explain(source)).toMatchObject({ isWhole: true, result: [0, "x"] });
	});

	test("is told what an earlier run heard there", async () => {
		const source = script('const { n } = JSON.parse(await ctx.agent("a number")); return n;');
		const earlier = new Process({ model: echo(() => '{"n":4}') });
		await earlier.work(source);
		expect(await new Process().explain(source, {}, [earlier.log])).toMatchObject({ result: 4, toPay: 11 });
	});
});

describe("an agent that was cut off in its middle", () => {
	const source = script(
		'await ctx.agent("fill", { tools: ["write"], estimate: 300 }); await ctx.agent("last", { estimate: 50 });',
	);

	test.each([
		["in the script as it was", source],
		["in one that was edited after it", source.replace("last", "least")],
	])("has the rest to pay: %s", async (_, next) => {
		const run = new Process({ model: asks, tools: [writer()], appends: 3 });
		expect(await run.work(source)).toMatchObject({ status: "killed" });
		const { calls } = await run.next().explain(next);
		expect(calls).toMatchObject([
			{ state: "live", saved: 110, toPay: 190 },
			{ state: "live", saved: 0, toPay: 50 },
		]);
		const resumed = run.next();
		await resumed.work(next);
		expect(resumed.made).toHaveLength(3);
	});

	test("has nothing to pay where what failed in it is recorded", async () => {
		const refuses: Model = {
			id: "refuses",
			generate() {
				throw new Error("no");
			},
		};
		const caught = script(
			'try { await ctx.agent("a", { estimate: 300 }); } catch { return ctx.agent("b", { estimate: 50 }); }',
		);
		const run = new Process({ model: refuses, appends: 1 });
		expect(await run.work(caught)).toMatchObject({ status: "killed" });
		const explanation = await run.next().explain(caught);
		expect(explanation).toMatchObject({ toPay: 50, isWhole: true, calls: [{ toPay: 0 }, { label: "b" }] });
		const resumed = run.next({ model: { ...echo(), id: "refuses" } });
		await resumed.work(caught);
		expect(resumed.made).toEqual(["b"]);
	});

	test("has all of it to pay where an edit changes what went before it", async () => {
		const run = new Process({ model: asks, tools: [writer()], appends: 3 });
		await run.work(source);
		const { calls } = await run.next().explain(script(`await ctx.now(); ${source.slice(source.indexOf("await"), -4)}`));
		expect(calls[1]).toMatchObject({ state: "live", saved: 0, toPay: 300 });
	});
});

test("a script is checked against a run that is over: it may ask for nothing less, more or else", async () => {
	const source = script('await ctx.agent("a"); await ctx.agent("b");');
	const run = new Process({ tools: [writer()] });
	await run.work(source);
	const check = run.next();
	expect(await check.verify(source)).toEqual([]);
	expect(await check.verify(script('await ctx.agent("a");'))).toEqual([
		{ expected: 'agent echo(prompt: "b")', got: "no call", seq: 5, path: "script/r1[1]" },
	]);
	expect(await check.verify(source.replace("};", 'await ctx.tool("write", { n: 1 }); };'))).toMatchObject([
		{ expected: "the end", got: "tool write(n: 1)", seq: undefined, path: "script/r1[2]" },
	]);
	expect(await check.verify(source.replace('"a"', '"c"'))).toMatchObject([
		{ expected: 'agent echo(prompt: "a")', got: 'agent echo(prompt: "c")', seq: 3, path: "script/r1[0]" },
	]);
	expect(check.made).toEqual([]);
});

test("of a script that waits for nothing says so, and ends", async () => {
	const source = script('await ctx.agent("a"); await new Promise(() => {});');
	const run = new Process();
	expect(await run.work(source)).toMatchObject({ error: { code: "SCRIPT_STUCK" } });
	const preview = await run.next().explain(source);
	expect(preview).toMatchObject({ isWhole: false, beyond: expect.stringContaining("nothing will settle") });
});
