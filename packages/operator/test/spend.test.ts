/** What was paid for is what the model has handed out, whatever was killed, edited, left or taken back since. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { dollarsInWords, inDollars, type Model, type Usage } from "@reyn/journal";
import { engineStore, mainSession, openRuntime, type Runtime, type Store } from "@reyn/runtime";
import { fileEngine } from "@reyn/wal";
import { afterEach, beforeEach, expect, test } from "vitest";
import { seeded } from "../../../tests/kit/seeded.ts";
import { sample } from "../../../tests/sample.ts";
import { documentSchema, type ReadVerb } from "../src/index.ts";
import { groupings, readSpend, type Spend, type Total, tokensIn } from "../src/spend.ts";
import { asJson } from "../src/text.ts";
import { say, verbOf } from "./house.ts";

let state: string;
beforeEach(async () => {
	state = await mkdtemp(join(tmpdir(), "reyn-spend-"));
});
afterEach(() => rm(state, { recursive: true }));

/** What models have handed out, and have been asked for in vain. */
class Till {
	#paid = { calls: 0, inputTokens: 0, outputTokens: 0 };
	failed = 0;

	/** Three dollars for a million tokens in, fifteen for a million out. */
	get paid(): Total {
		const usd = inDollars(BigInt(this.#paid.inputTokens * 3 + this.#paid.outputTokens * 15) * 1_000_000n);
		return { ...this.#paid, cost: { usd, unknown: this.failed } };
	}

	model(id: string, fails: (text: string) => boolean = () => false): Model {
		const till = this;
		return {
			id,
			async *generate({ messages }) {
				const text = JSON.stringify(messages.at(-1));
				if (fails(text)) {
					till.failed++;
					throw Object.assign(new Error("not now"), { code: "NO" });
				}
				const usage: Usage = { inputTokens: text.length, outputTokens: till.#paid.calls + 1 };
				till.#paid.calls++;
				till.#paid.inputTokens += usage.inputTokens;
				till.#paid.outputTokens += usage.outputTokens;
				yield { type: "text", text: "a word" };
				yield { type: "usage", usage };
			},
		};
	}
}

const open = (till: Till, more: Partial<Parameters<typeof openRuntime>[0]> = {}): Promise<Runtime> =>
	openRuntime({ state, model: till.model("one"), tools: [], prices, ...more });

const prices = { one: { input: 3, output: 15 } };

const none: Total = { calls: 0, inputTokens: 0, outputTokens: 0, cost: { usd: "0", unknown: 0 } };

test("agents of a script, which are the sum of their rounds, count once, after an edit and on a line that was left too", async () => {
	const till = new Till();
	await using runtime = await open(till);
	const text = (last: string): string =>
		`export default async (ctx) => { await ctx.parallel([() => ctx.agent("a"), () => ctx.agent("b")]); return ctx.agent("${last}"); };`;
	const begun = await runtime.scripts.start({ name: "s.ts", source: text("c") }, undefined);
	await begun.end;
	expect(await readSpend(runtime)).toMatchObject({ paid: till.paid, left: none, recalled: none, failed: 0 });
	expect(till.paid.calls).toBe(3);
	const again = await runtime.scripts.resume(begun.run, { script: { name: "s.ts", source: text("d") } });
	await again.end;
	expect(till.paid.calls).toBe(4);
	await runtime.checkout(1, "me");
	const { paid, left, by } = await readSpend(runtime);
	expect([paid, left]).toEqual([till.paid, till.paid]);
	expect(by).toMatchObject([{ kind: "model", name: "one", paid: till.paid }]);
	await runtime.undo("me");
	expect((await readSpend(runtime)).left).toEqual(none);
});

test("a call that fails is counted, and what it cost is unknown", async () => {
	const till = new Till();
	const model = till.model("one", (text) => text.includes("fail"));
	await using runtime = await open(till, { model });
	await runtime.prompt("fail");
	await runtime.idle();
	await runtime.prompt("a question");
	await runtime.idle();
	expect(till.failed).toBeGreaterThan(0);
	expect(await readSpend(runtime)).toMatchObject({ paid: till.paid, failed: till.failed });
	const verb = verbOf("spend") as ReadVerb;
	const found = await verb.read(runtime, {});
	documentSchema(verb).parse(JSON.parse(asJson(found)));
	const { calls, inputTokens, outputTokens, cost } = till.paid;
	const tokens = `${inputTokens + outputTokens} tokens (${inputTokens} in, ${outputTokens} out), at least ${dollarsInWords(cost.usd)}, ${till.failed} ${till.failed === 1 ? "call" : "calls"} unknown`;
	expect(verb.lines(found, say, {})).toEqual([
		`paid: ${calls} call, ${tokens}`,
		`unknown: what ${till.failed} ${till.failed === 1 ? "call" : "calls"} that failed cost`,
		`  ${"model one".padEnd(40)}  ${calls} call, ${tokens}`,
	]);
});

test("a call that a budget has refused was not made, and so is not one that failed", async () => {
	const till = new Till();
	await using runtime = await open(till, { budget: { session: { tokens: 1 } }, unanswered: "deny" });
	for (const text of ["one", "two"]) {
		await runtime.prompt(text);
		await runtime.idle();
	}
	expect(till.paid.calls).toBe(1);
	expect(await readSpend(runtime)).toMatchObject({ paid: till.paid, failed: 0 });
});

test("is put together by work, session and day, and of a model without a price it is unknown what it cost", async () => {
	const till = new Till();
	let now = Date.parse("2026-11-27T23:59:59Z");
	const other = till.model("other");
	await using runtime = await open(till, { clock: { now: () => now }, agents: { other: { model: other } } });
	await runtime.prompt("one");
	await runtime.idle();
	const dear = till.paid;
	now = Date.parse("2026-11-28T00:00:00Z");
	await runtime.prompt("another", { agent: "other", session: "main" });
	await runtime.idle();
	const rows = async (grouping: (typeof groupings)[number]) =>
		(await readSpend(runtime, grouping)).by.map(({ kind, name, paid }) => [
			`${kind} ${name}`,
			tokensIn(paid),
			paid.cost,
		]);
	const [known, unknown] = [dear.cost, { usd: "0", unknown: 1 }];
	const [first, second] = [tokensIn(dear), tokensIn(till.paid) - tokensIn(dear)];
	const dearest = [
		[second, unknown],
		[first, known],
	];
	expect(second).toBeGreaterThan(first);
	const named = (...names: readonly string[]) => names.map((name, at) => [name, ...(dearest[at] as unknown[])]);
	expect(await rows("model")).toEqual(named("model other", "model one"));
	expect(await rows("session")).toEqual(named("session other/main", "session default/main"));
	expect(await rows("day")).toEqual(named("day 2026-11-28", "day 2026-11-27"));
	const prompts = [];
	for await (const { seq } of runtime.wal.read({ kinds: { only: ["user_prompt"] } })) prompts.push(seq);
	expect(await rows("work")).toEqual(named(`turn ${prompts[1]}`, `turn ${prompts[0]}`));
	const verb = verbOf("spend") as ReadVerb;
	const spend = (await verb.read(runtime, { by: "day" })) as Spend;
	const lines = verb.lines(spend, say, { by: "day" });
	const [uncounted] = verb.lines({ ...spend, paid: { ...spend.paid, uncounted: 1 } }, say, { by: "day" });
	expect(uncounted).toMatch(/^paid: 2 calls, at least \d+ tokens/);
	expect(lines[0]).toMatch(/, at least \$0\.\d{4}, 1 call unknown$/);
	expect(lines[1]).toMatch(/^ {2}day 2026-11-28 .*, cost unknown$/);
	expect(lines[2]).toMatch(/^ {2}day 2026-11-27 .*, \$0\.\d{4}$/);
});

test("what gc has taken away is not known, and that is said", async () => {
	const till = new Till();
	const engine = fileEngine(join(state, "log"), { segmentBytes: 4096 });
	const store = (): Store => engineStore(engine);
	const { state: _, ...options } = { state, model: till.model("one"), tools: [], prices };
	await using runtime = await openRuntime({ ...options, store: store() });
	for (let i = 0; i < 30; i++) {
		await runtime.prompt(`question ${i}`);
		await runtime.idle();
	}
	expect((await readSpend(runtime)).since).toBe(1);
	await runtime.gc({ keepDays: 0, keepCheckpoints: 2 });
	await using reader = await openRuntime({ ...options, store: store(), readOnly: true });
	const { since, paid } = await readSpend(reader);
	expect(since).toBeGreaterThan(1);
	expect(paid.calls).toBeLessThan(till.paid.calls);
	expect(paid.calls).toBeGreaterThan(0);
	const verb = verbOf("spend") as ReadVerb;
	expect(verb.lines(await verb.read(reader, {}), say, {})[0]).toMatch(
		new RegExp(`, since #${since}: what came before was taken away by gc$`),
	);
	// Who had read it before still knows it, and says so.
	expect(await readSpend(runtime)).toMatchObject({ since: 1, paid: till.paid });
});

const RUNS = Number(process.env.REYN_RUNS ?? sample(12, 30));

test(`of ${RUNS} random histories a reader that follows knows the same as one that is opened anew, and as the till`, async () => {
	const first = Number(process.env.REYN_SEED ?? 1);
	for (let seed = first; seed < first + RUNS; seed++) {
		const random = seeded(seed);
		const till = new Till();
		const here = join(state, String(seed));
		let runtime = await open(till, { state: here });
		await using following = await open(till, { state: here, readOnly: true });
		const source = "export default async (ctx) => { for (const each of ctx.args) await ctx.agent(each); };";
		for (let step = 0; step < 8; step++) {
			const { tip } = runtime.wal;
			const does = random.pick(["ask", "ask", "script", "checkout", "undo", "again", "side"]);
			if (does === "ask") await runtime.prompt(`question ${step}`);
			if (does === "side") await runtime.prompt(`question ${step}`, { agent: "default", session: "side" });
			if (does === "script") await (await runtime.scripts.start({ name: "s.ts", source }, ["a", "b", "a"])).end;
			if (does === "checkout")
				await runtime.checkout(random.below(tip + 1), "me", random.pick([{}, mainSession])).catch((error) => {
					// Nothing was asked in the main session yet.
					expect(error).toMatchObject({ code: "TIMETRAVEL_COVERAGE" });
				});
			if (does === "undo") await runtime.undo("me").catch(() => {});
			if (does === "again") {
				await runtime.close();
				runtime = await open(till, { state: here });
			}
			await runtime.idle();
			await following.refresh();
			const told = await readSpend(following);
			await using fresh = await open(till, { state: here, readOnly: true });
			expect(told, `seed ${seed}, step ${step}`).toEqual(await readSpend(fresh));
			expect(told.paid, `seed ${seed}, step ${step}`).toEqual(till.paid);
			for (const grouping of groupings) {
				const { by } = await readSpend(following, grouping);
				const sum = by.reduce((all, { paid }) => all + tokensIn(paid), 0);
				expect(sum, `seed ${seed}, step ${step}, by ${grouping}`).toBe(tokensIn(till.paid));
			}
			const active = await runtime.timeline.lineage;
			expect(told.left.calls).toBe((await paidIn(runtime)).filter((record) => !active.isActive(record)).length);
		}
		await runtime.close();
	}
});

/** Without the ledger: every outcome of a model. */
async function paidIn({ wal }: Runtime) {
	const found = [];
	for await (const record of wal.read({ after: 0 }))
		if (record.kind === "step_completed" && (record.data as { kind: string }).kind === "model") found.push(record);
	return found.filter(({ data }) => (data as { adopts?: number }).adopts === undefined);
}
