/** Phases that ask people and run other skills, killed after every append: each question is answered once, and each call has one child. */
import { journal } from "@reyn/journal";
import { lanesOf } from "@reyn/journal/internal";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { defineSkill, done, type FunctionPhase, isLive, next, type Skill, skillRuns } from "../src/index.ts";
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
	const runs = Object.entries(process.view.get(skillRuns)).filter(([id]) => id !== "r1");
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
		const live = Object.entries(process.view.get(skillRuns)).filter(([, run]) => isLive(run));
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
		for (let n = 1; n < records; n++) {
			const lost = n % 2 === 0;
			assertSame(`after ${n}`, await survive([n], lost));
			if (n % 5 === 0) assertSame(`after ${n} and 7`, await survive([n, 7], !lost));
		}
	});
});
