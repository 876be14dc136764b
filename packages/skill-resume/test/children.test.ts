/** Phases that ask people and run other skills, killed after every append: each question is answered once, and each call has one child. */
import { journal, type Model } from "@reyn/journal";
import { lanesOf } from "@reyn/journal/internal";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { pointsOf } from "../../../tests/sample.ts";
import {
	defineSkill,
	done,
	type FunctionPhase,
	isLive,
	next,
	type Skill,
	SkillError,
	skillRuns,
	skillRunsOf,
} from "../src/index.ts";
import { type Echo, echo, outbox, Process, question } from "./skill-process.ts";

const skillOf = (name: string, phases: Record<string, FunctionPhase<unknown>>, more: Partial<Skill> = {}): Skill =>
	defineSkill({ name, description: name, input: z.unknown(), start: Object.keys(phases)[0] ?? "", phases, ...more });

/** What people are asked, by question; each is answered with `<question> yes`, and told to nobody twice. */
function people() {
	const asked = new Map<number, string>();
	const put: string[] = [];
	return {
		asked,
		put,
		ask: async ({ seq, question: text }: { seq: number; question: string }) => {
			put.push(text);
			expect(asked.get(seq) ?? text).toBe(text);
			asked.set(seq, text);
			return `${text} yes`;
		},
	};
}

/** Pays once for each key. */
const payer = () => {
	const ledger = new Map<string, number>();
	const pay = async ({ idempotencyKey = "" }: { idempotencyKey?: string }) => {
		ledger.set(idempotencyKey, (ledger.get(idempotencyKey) ?? 0) + 1);
		return "paid";
	};
	const reconcile = async (key: string) =>
		ledger.has(key) ? ({ kind: "done", result: "paid" } as const) : ({ kind: "not_done" } as const);
	return { ledger, pay, reconcile };
};

/**
 * Branches that share a list; a child in each, of which two are the same call; a question in a child of a child, and one beside them.
 */
function family() {
	const { ledger, pay, reconcile } = payer();
	const leaf = skillOf("leaf", {
		ask: async ({ ask }, input) =>
			next("pay", await ask(`may ${input} be paid?`, { choices: [`may ${input} be paid? yes`] })),
		pay: async ({ step }, input, before) =>
			done([input, before, await step("pay", pay, { purity: "side_effect", reconcile })]),
	});
	const middle = skillOf("middle", {
		both: async ({ skill, model }, input) => {
			const { text } = await model(question(`about ${input}`));
			return done([text, await skill("leaf", input)]);
		},
	});
	const root = skillOf("root", {
		gather: async ({ parallel, skill, ask }) => {
			const found: unknown[] = [];
			await parallel([
				async () => void found.push(await skill("middle", "tea")),
				async () => void found.push(await skill("middle", "tea")),
				async () => void found.push(await skill("leaf", `milk ${found.length}`)),
				async () => void found.push(await ask("what else?")),
			]);
			return next("say", found.map((each) => JSON.stringify(each)).sort());
		},
		say: async ({ skill }, _input, before) => done([before, await skill("leaf", "all")]),
	});
	return { ledger, root, skills: [leaf, middle] };
}

test("children give their output, ask and pay for themselves, and lie below the call", async () => {
	const { ledger, root, skills } = family();
	const { ask, put } = people();
	const model = echo();
	await using process = await Process.start({ model, skills, ask });
	const [before, all] = (await process.work(root)) as [string[], unknown];
	expect(before).toHaveLength(4);
	expect(all).toEqual(["all", "may all be paid? yes", "paid"]);
	expect(put.sort()).toHaveLength(5);
	expect([...ledger.values()]).toEqual([1, 1, 1, 1]);
	const runs = skillRunsOf(process.view.get(skillRuns)).filter(([id]) => id !== "r1");
	expect(runs.map(([, { skill, status }]) => `${skill} ${status}`).sort()).toEqual([
		...["leaf completed", "leaf completed", "leaf completed", "leaf completed"],
		...["middle completed", "middle completed"],
	]);
	for (const [, { parent }] of runs) expect(parent).toMatch(/^skill\/r1\/(gather|say)\/1\//);
	// Of a child that is over nothing stays but that it was, and what it cost.
	expect(runs.flatMap(([, { cost }]) => (cost ? [cost.calls] : []))).toEqual([1, 1]);
	expect(JSON.stringify(runs)).not.toContain("milk");
	expect(lanesOf(process.view.get(journal))).toEqual([]);
});

describe("killed", () => {
	async function survive(appends: readonly number[], tailIsLost: boolean) {
		const { ledger, root, skills } = family();
		const { ask, asked } = people();
		const model: Echo = echo();
		let process = await Process.start({ model, skills, ask });
		for (const left of appends) {
			process = await process.next({ appends: left, tailIsLost });
			await process.work(root).catch(() => undefined);
		}
		process = await process.next({ appends: Number.POSITIVE_INFINITY });
		const output = (await process.work(root)) as [string[], unknown];
		const records = await process.records();
		const begun = records.filter(({ kind }) => kind === "skill_run_started");
		const told = process.view.get(outbox);
		const open = lanesOf(process.view.get(journal));
		const live = skillRunsOf(process.view.get(skillRuns)).filter(([, run]) => isLive(run));
		await process[Symbol.asyncDispose]();
		return { output, ledger, asked, begun, told, open, live, model, records: records.length };
	}

	const assertSame = (name: string, lived: Awaited<ReturnType<typeof survive>>): void => {
		const { output, ledger, begun, told, open, live } = lived;
		const [before, all] = output;
		expect([name, before.length, all]).toEqual([name, 4, ["all", "may all be paid? yes", "paid"]]);
		// Each of them was begun once, whenever the process was killed.
		expect([name, begun.length, ledger.size, Math.max(...ledger.values())]).toEqual([name, 7, 4, 1]);
		expect([name, told.length, open, live]).toEqual([name, 1, [], []]);
	};

	test("after any append, once and again, it comes to the same: one child a call, one payment, one answer a question", async () => {
		const { records } = await survive([], false);
		for (const n of pointsOf(1, records, 5, 3)) {
			const lost = n % 2 === 0;
			assertSame(`after ${n}`, await survive([n], lost));
			if (n % 10 === 0) assertSame(`after ${n} and 7`, await survive([n, 7], !lost));
		}
	});
});

describe("a child whose gate denies a call for now", () => {
	/** Asked before each call, until it is raised. */
	function budget() {
		const spent = { kind: "deny", code: "SPENT", reason: "it is spent", forNow: true } as const;
		const of = { isRaised: false, gate: async () => (of.isRaised ? ({ kind: "pass" } as const) : spent) };
		return of;
	}

	/** Pays, asks a model, and where that is refused clears up and ends by this. */
	const asks = (ends: (error: unknown) => unknown) => {
		const { ledger, pay } = payer();
		const child = skillOf("child", {
			a: async ({ step, model }) => {
				await step("pay", pay, { purity: "side_effect" });
				try {
					return done((await model(question("more?"))).text);
				} catch (error) {
					await step("clear", pay, { purity: "side_effect" });
					throw ends(error);
				}
			},
		});
		const root = skillOf("root", { a: async ({ skill }) => done(await skill("child").catch(() => "without it")) });
		return { ledger, child, root };
	};

	const ends: Readonly<Record<string, (error: unknown) => unknown>> = {
		"by that": (error) => error,
		"by an error that has it as its cause": (cause) => new Error("no money", { cause }),
		"by several": (error) => new AggregateError([new Error("another"), error], "both"),
	};

	test.each(Object.keys(ends))(
		"and that ends %s is kept, and asks again; cut anywhere, it is no other one",
		async (how) => {
			const { records } = await lived(Number.POSITIVE_INFINITY);
			for (const appends of pointsOf(1, records, 3)) await lived(appends);

			async function lived(appends: number) {
				const { ledger, child, root } = asks(ends[how] as (error: unknown) => unknown);
				const of = budget();
				let process = await (await Process.start({ skills: [child], gate: of.gate })).next({ appends });
				const first = (await process.work(root).catch((error) => error)) as Error & { readonly code?: string };
				const isWhole = appends === Number.POSITIVE_INFINITY;
				if (isWhole)
					expect([first.code, first.message]).toEqual([
						"CALL_HELD",
						expect.stringContaining("child has stopped for now"),
					]);
				process = await process.next({ appends: Number.POSITIVE_INFINITY });
				// A failure on which something rests is told as it was, and let through again.
				await process.work(root).catch(() => {});
				of.isRaised = true;
				const told = await process.work(root);
				const records = await process.records();
				const begun = records.filter(({ kind }) => kind === "skill_run_started");
				expect([appends, told, begun.length]).toEqual([appends, "more?!", 2]);
				expect([appends, Math.max(...ledger.values())]).toEqual([appends, 1]);
				await process[Symbol.asyncDispose]();
				return { records: records.length };
			}
		},
	);

	test("and that ends otherwise, after it has asked for something else, has failed", async () => {
		const { child, root } = asks(() => new Error("broken"));
		await using process = await Process.start({ skills: [child], gate: budget().gate });
		expect(await process.work(root)).toBe("without it");
	});
});

describe("a child that fails", () => {
	test("is a failure of the call, which the phase may catch; let through, the next try has another child", async () => {
		let isDown = true;
		const flaky = skillOf("flaky", { a: async () => (isDown ? Promise.reject(new Error("down")) : done("up")) });
		const caught = skillOf("caught", {
			a: async ({ skill }) => done(await skill("flaky").catch((error) => error.code)),
		});
		await using first = await Process.start({ skills: [flaky] });
		expect(await first.work(caught)).toBe("SKILL_CHILD");

		const through = skillOf("through", { a: async ({ skill }) => done(await skill("flaky")) });
		await using process = await Process.start({ skills: [flaky] });
		await expect(process.work(through)).rejects.toMatchObject({
			code: "SKILL_CHILD",
			message: "flaky has failed: down",
		});
		expect(process.run()).toMatchObject({ status: "running" });
		isDown = false;
		expect(await process.work(through)).toBe("up");
		const runs = skillRunsOf(process.view.get(skillRuns)).map(
			([id, { status }]) => `${id.replace(/\d+/, "")} ${status}`,
		);
		expect(runs.sort()).toEqual(
			["c completed", "c.2 completed", "r completed"].map((each) => each.replace("c completed", "c discarded")),
		);
	});

	test("whose failure was told is not told again, wherever the next try is killed", async () => {
		for (let n = 1, whole = false; !whole; n++) {
			let isDown = true;
			const flaky = skillOf("flaky", { a: async () => (isDown ? Promise.reject(new Error("down")) : done("up")) });
			const through = skillOf("through", { a: async ({ skill }) => done(await skill("flaky")) });
			const first = await Process.start({ skills: [flaky] });
			await expect(first.work(through)).rejects.toThrow("down");
			isDown = false;
			const dead = await first.next({ appends: n });
			whole = await dead.work(through).then(
				() => true,
				() => false,
			);
			await using process = await dead.next({ appends: Number.POSITIVE_INFINITY });
			expect([n, await process.work(through)]).toEqual([n, "up"]);
			expect((await process.kinds()).filter((kind) => kind === "skill_run_started")).toHaveLength(3);
		}
	});

	test("killed between its end and the failure of its call, is told as it was recorded", async () => {
		let times = 0;
		const flaky = skillOf("flaky", { a: async () => Promise.reject(new Error(`down ${++times}`)) });
		const caught = skillOf("caught", {
			a: async ({ skill }) => done(await skill("flaky").catch((error) => error.message)),
		});
		let whole = false;
		for (let n = 1; !whole; n++) {
			times = 0;
			const dead = await Process.start({ skills: [flaky], appends: n });
			whole = await dead.work(caught).then(
				() => true,
				() => false,
			);
			const ended = (await dead.kinds()).includes("skill_run_discarded");
			await using process = await dead.next({ appends: Number.POSITIVE_INFINITY });
			const said = await process.work(caught);
			expect([n, said, times <= 2]).toEqual([n, `flaky has failed: down ${ended ? 1 : times}`, true]);
		}
	});

	test("ends itself alone, and its own children with it", async () => {
		const slow = skillOf("slow", {
			a: ({ ask }) => ask("who?").then(done),
		});
		const ends = skillOf("ends", {
			a: async ({ parallel, skill, abort }) => {
				await parallel([() => skill("slow"), async () => abort("enough")]).catch((error) => abort(error.message));
				return done(0);
			},
		});
		const root = skillOf("root", { a: async ({ skill }) => done(await skill("ends").catch((error) => error.message)) });
		const { promise, resolve } = Promise.withResolvers<string>();
		await using process = await Process.start({ skills: [slow, ends], ask: () => promise });
		const working = process.work(root);
		setTimeout(resolve, 20, "me");
		expect(await working).toBe("ends has failed: enough");
		expect(skillRunsOf(process.view.get(skillRuns)).filter(([, run]) => isLive(run))).toEqual([]);
	});
});

test("what a phase has left, that nobody awaits, ends with it: a child is over, a question is withdrawn", async () => {
	const asked: AbortSignal[] = [];
	const child = skillOf("child", { a: async ({ ask }) => done(await ask("in the child?")) });
	const root = skillOf("root", {
		async a({ skill, ask, step }) {
			void skill("child").catch(() => {});
			void ask("here?").catch(() => {});
			for (let n = 0; asked.length < 2; n++)
				await step("wait", () => new Promise<void>((go) => setImmediate(go)), { purity: "pure", args: { n } });
			return next("b", 0);
		},
		b: async () => done("over"),
	});
	await using process = await Process.start({
		skills: [child],
		ask: ({ signal }) => {
			asked.push(signal);
			return new Promise(() => {});
		},
	});
	expect(await process.work(root)).toBe("over");
	expect(asked.map(({ aborted }) => aborted)).toEqual([true, true]);
	expect(skillRunsOf(process.view.get(skillRuns)).map(([, { skill, status }]) => `${skill} ${status}`)).toEqual([
		"root completed",
		"child discarded",
	]);
	expect(lanesOf(process.view.get(journal))).toEqual([]);
	expect((await process.kinds()).filter((kind) => kind === "skill_run_failed")).toEqual([]);
});

test("a skill that calls itself is refused beyond a depth, with the runs around it, and nothing more is begun", async () => {
	const inward: Skill = skillOf("inward", { a: async ({ skill }) => done(await skill("inward")) });
	await using process = await Process.start({ skills: [inward] });
	await expect(process.work(inward)).rejects.toMatchObject({
		code: "SKILL_CHILD",
		message: expect.stringContaining("inward would run below 8 runs, which is the limit: inward > inward"),
	});
	expect((await process.kinds()).filter((kind) => kind === "skill_run_started")).toHaveLength(8);
});

test("a model's phase runs skills as tools that it names, and one that is killed goes on with them", async () => {
	const { ledger, pay, reconcile } = payer();
	const leaf = defineSkill({
		...{ name: "leaf", description: "pays", input: z.object({ of: z.string() }), start: "pay" },
		phases: {
			pay: async ({ step }, { of }) => done(`${of} ${await step("pay", pay, { purity: "side_effect", reconcile })}`),
		},
	}) as Skill;
	const root = defineSkill({
		...{ name: "root", description: "", input: z.unknown(), start: "work" },
		phases: { work: { instructions: "Pay.", tools: ["skill_leaf"] } },
	});
	const model: Model = {
		id: "calls",
		async *generate({ messages, tools }) {
			const last = messages.at(-1);
			expect(tools).toMatchObject([{ name: "skill_leaf", parameters: { required: ["of"] } }]);
			if (last?.role === "tool") yield { type: "text", text: last.text };
			else yield { type: "toolCall", call: { id: "1", name: "skill_leaf", args: { of: "tea" } } };
			yield { type: "usage", usage: { inputTokens: 1, outputTokens: 1 } };
		},
	};
	for (let n = 1, whole = false; !whole; n++) {
		ledger.clear();
		const dead = await Process.start({ skills: [leaf], model, appends: n });
		whole = await dead.work(root).then(
			() => true,
			() => false,
		);
		await using process = await dead.next({ appends: Number.POSITIVE_INFINITY });
		expect([n, await process.work(root), [...ledger.values()]]).toEqual([n, "tea paid", [1]]);
		expect((await process.kinds()).filter((kind) => kind === "skill_run_started")).toHaveLength(2);
	}
});

describe("a call that cannot be made names the phase and what is wrong", () => {
	test.each<[string, FunctionPhase<unknown>, RegExp, object]>([
		["an option of agent", ({ agent }) => agent("do", { maxTurns: 0 }).then(done), /maxTurns: /, { field: "maxTurns" }],
		[
			"an option that agent lacks",
			({ agent }) => agent("do", { maxTurn: 1 } as object).then(done),
			/calls agent with what does not fit: .*maxTurn/,
			{ call: "agent" },
		],
		["a time to sleep", ({ sleep }) => sleep(-1).then(done), /ms: /, { call: "sleep", field: "ms" }],
		[
			"a tool",
			({ tool }) => tool("nail").then(done),
			/no tool "nail" for phase "a" of bad; there is none/,
			{ known: [] },
		],
		[
			"a tool of an agent",
			({ agent }) => agent("do", { tools: ["nail"] }).then(done),
			/no tool "nail"/,
			{ tool: "nail" },
		],
		["the arguments of a tool", ({ tool }) => tool("nail", [] as never).then(done), /args: /, { field: "args" }],
		["a question", ({ ask }) => ask(5 as never).then(done), /question: /, { field: "question" }],
		["nobody to ask", ({ ask }) => ask("who?").then(done), /"who\?".*give the port `ask`/, { port: "ask" }],
	])("%s", async (_, phase, message, detail) => {
		await using process = await Process.start();
		const error = await process.work(skillOf("bad", { a: phase })).catch((thrown: Error) => thrown);
		expect(error).toMatchObject({ code: "SKILL_CALL", detail: { skill: "bad", phase: "a", ...detail } });
		expect((error as Error).message).toMatch(/phase "a" of bad/);
		expect((error as Error).message).toMatch(message);
		expect((await process.kinds()).filter((kind) => kind.startsWith("step_"))).toEqual([]);
	});

	test("a skill that is not there is named with those that are, and an input that does not fit with its field", async () => {
		const leaf = defineSkill({
			...{
				name: "leaf",
				description: "",
				input: z.object({ of: z.string() }),
				start: "a",
				phases: { a: async () => done(0) },
			},
		}) as Skill;
		await using process = await Process.start({ skills: [leaf] });
		const no = await process
			.work(skillOf("bad", { a: async ({ skill }) => done(await skill("lead")) }))
			.catch((e) => e);
		expect(no).toMatchObject({ code: "SKILL_UNKNOWN", message: 'no skill "lead"; there are leaf' });
		const broken = new SkillError("SKILL_LOAD", "/skills/lead.ts:3: Unexpected token", { file: "/skills/lead.ts" });
		const problems = [{ name: "lead", path: "/skills/lead.ts", error: broken }];
		await using beside = await Process.start({ skills: [leaf], problems });
		const why = await beside
			.work(skillOf("bad", { a: async ({ skill }) => done(await skill("lead")) }))
			.catch((e) => e);
		expect(why).toBe(broken);
		await using next = await Process.start({ skills: [leaf] });
		const unfit = await next
			.work(skillOf("bad", { a: async ({ skill }) => done(await skill("leaf", { of: 5 })) }))
			.catch((e) => e);
		expect(unfit).toMatchObject({
			code: "SKILL_INVALID_INPUT",
			message: expect.stringMatching(/input of leaf.* of: /),
		});
		expect((await next.kinds()).filter((kind) => kind === "skill_run_started")).toHaveLength(1);
	});
});
