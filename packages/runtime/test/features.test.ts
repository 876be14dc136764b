/**
 * What every kind of work is held to, built in or a stranger's: each pays once with a tool, and says so. Killed after any record it goes on,
 * pays nothing again and says it once; a rewind to any record takes it back or leaves it whole, and an undo brings it again; its state
 * outlives its records.
 */
import { join } from "node:path";
import type { Tool } from "@reyn/journal";
import { PLAN_TOOL, planRuns, plansOf } from "@reyn/plan";
import { defineSkill, done, skillRuns, skillRunsOf } from "@reyn/skill-resume";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { pollFeature, polls } from "../../../examples/custom-feature/poll.ts";
import { isDeep, pointsOf, sample, some } from "../../../tests/sample.ts";
import type { Runtime, RuntimeOptions } from "../src/index.ts";
import { copyState, eachCut, kindsIn, linesOf, removeState } from "./cut.ts";
import { emptyArea, lastOf, makeProject, open, type Project, payingPlan, scripted } from "./project.ts";
import { script } from "./script-runs.ts";

/** What was paid, by the key of the call: the far side knows each again. */
type Ledger = Map<string, string>;

interface Life {
	readonly options: Partial<RuntimeOptions>;
	/** Begins it where it is not there, and brings it to its end from wherever it stands. */
	toEnd(runtime: Runtime): Promise<void>;
}

interface Story {
	readonly name: string;
	/** The kind of record that begins it. */
	readonly begins: string;
	/** How its payment is called in the log. */
	readonly payment: string;
	live(ledger: Ledger): Life;
	/** All that it has said in the end, on the line of now. */
	said(runtime: Runtime): readonly string[];
}

const pay = (ledger: Ledger): Tool => ({
	name: "pay",
	description: "pays",
	parameters: { type: "object" },
	purity: "side_effect",
	async call(_args, { idempotencyKey = "" }) {
		ledger.set(idempotencyKey, "paid");
		return "paid";
	},
	reconcile: async (key) => (ledger.has(key) ? { kind: "done", result: "paid" } : { kind: "not_done" }),
});

/** Asked for a plan or a poll it makes one, asked to pay it pays, and then it says so. */
const model = () =>
	scripted((request) => {
		const last = lastOf(request);
		const said = request.messages.at(-1)?.role === "user";
		if (last === "ask them") return [{ name: "open_poll", args: { question: "Tea?", voters: 1 } }];
		if (last === "plan it") return [{ name: PLAN_TOOL, args: payingPlan }];
		if (said && request.tools.some(({ name }) => name === "pay") && last.includes("pay it"))
			return [{ name: "pay", args: {} }];
		return "it is paid";
	});

const messages = (runtime: Runtime, from: RegExp): readonly string[] =>
	runtime
		.conversation()
		.items.toArray()
		.flatMap((item) => (item.type === "message" && from.test(item.from) ? [item.text] : []));

const replies = (runtime: Runtime): readonly string[] =>
	runtime
		.conversation()
		.items.toArray()
		.flatMap((item) => (item.type === "reply" ? [item.text] : []));

const prompted = async (runtime: Runtime, text: string): Promise<void> => {
	await runtime.prompt(text);
	await runtime.idle();
};

const stories: readonly Story[] = [
	{
		name: "a turn",
		begins: "user_prompt",
		payment: "pay",
		live: (ledger) => ({
			options: { model: model(), tools: [pay(ledger)] },
			async toEnd(runtime) {
				if (replies(runtime).length === 0) await prompted(runtime, "pay it");
			},
		}),
		said: replies,
	},
	{
		name: "a plan",
		begins: "plan_started",
		payment: "pay",
		live: (ledger) => ({
			options: { model: model(), tools: [pay(ledger)] },
			async toEnd(runtime) {
				const known = plansOf(runtime.view().get(planRuns));
				for (const [plan, { status }] of known) if (status === "paused") await runtime.resumePlan(plan);
				await runtime.idle();
				if (known.length === 0) await prompted(runtime, "plan it");
			},
		}),
		said: (runtime) => messages(runtime, /^p/),
	},
	{
		name: "a skill",
		begins: "skill_run_started",
		payment: "pay",
		live(ledger) {
			const { call, reconcile } = pay(ledger);
			const payer = defineSkill({
				name: "payer",
				description: "pays",
				input: z.unknown(),
				start: "one",
				phases: {
					one: async ({ step }) => {
						const paid = await step("pay", (context) => call({}, context as never), {
							purity: "side_effect",
							reconcile: (key, prepared, context) => reconcile?.(key, prepared as never, context) as never,
						});
						return done(`it is ${paid}`);
					},
				},
			});
			return {
				options: { model: model(), tools: [], skills: [payer] },
				async toEnd(runtime) {
					const known = skillRunsOf(runtime.view().get(skillRuns));
					for (const [run, { status }] of known) if (status === "paused") await runtime.resumeSkillRun(run);
					if (known.length === 0) await runtime.runSkill("payer", {});
					await runtime.idle();
				},
			};
		},
		said: (runtime) => messages(runtime, /./),
	},
	{
		name: "a script",
		begins: "script_started",
		payment: "pay",
		live: (ledger) => ({
			options: { model: model(), tools: [pay(ledger)] },
			async toEnd(runtime) {
				const [known] = runtime.scripts.list();
				const text = script('return "it is " + await ctx.tool("pay", {});');
				if (known?.status === "completed") return;
				const { end } = known ? await runtime.scripts.resume(known.run) : await runtime.scripts.start(text, undefined);
				await end;
			},
		}),
		said: (runtime) => runtime.scripts.list().map(({ status }) => status),
	},
	{
		name: "a poll, a feature of one's own",
		begins: "poll_opened",
		payment: "post",
		live(ledger) {
			const poll = pollFeature({
				post: async (result, key) => void ledger.set(key, result),
				has: async (key) => ledger.has(key),
			});
			return {
				options: { model: model(), tools: [], features: [poll] },
				async toEnd(runtime) {
					if (Object.keys(runtime.view().get(polls)).length === 0) await prompted(runtime, "ask them");
					for (const [id, { status }] of Object.entries(runtime.view().get(polls)))
						if (status === "waiting") await runtime.hostOf(poll).vote(id, "ada", "yes");
					await runtime.idle();
				},
			};
		},
		said: (runtime) => messages(runtime, /^poll/),
	},
];

let project: Project;
beforeEach(async () => {
	project = await makeProject();
});
afterEach(() => project[Symbol.asyncDispose]());

describe.each(stories)("$name", ({ begins, payment, live, said }) => {
	/** One life over a state: what it was asked for, and what it has said. */
	async function lived(state: string, ledger: Ledger, act: (runtime: Runtime, life: Life) => Promise<void>) {
		const life = live(ledger);
		const { runtime, shown } = await open({ ...project, state }, life.options);
		runtime.resume();
		await runtime.idle();
		await act(runtime, life);
		const { undelivered } = runtime.conversation();
		const found = { said: said(runtime), shown: shown.length, undelivered: undelivered.length };
		await runtime.close();
		return found;
	}

	/** It is done, in a state that has said hello before. */
	async function finished(): Promise<Ledger> {
		const ledger: Ledger = new Map();
		await lived(project.state, ledger, async (runtime, { toEnd }) => {
			if (begins !== "user_prompt") await prompted(runtime, "hello");
			await toEnd(runtime);
		});
		return ledger;
	}

	test("killed after any record, it goes on, pays nothing again, and says it once", async () => {
		const whole = await finished();
		const [key = ""] = whole.keys();
		const lines = await linesOf(project.state);
		const parsed = lines.map((line) => JSON.parse(line) as { kind?: string; data?: { name?: string } });
		const seqOf = (kind: string): number =>
			parsed.findIndex((line) => line.kind === kind && line.data?.name === payment);
		const [started, over] = [seqOf("step_started"), seqOf("step_completed")];
		const first = parsed.findIndex(({ kind }) => kind === begins);
		expect([whole.size, started < over, first < started]).toEqual([1, true, true]);
		let cuts = 0;
		await eachCut(project, first, async (state, kinds) => {
			await emptyArea(state, "snapshots");
			const at = kinds.length;
			// Before its start was durable nothing was paid. Between start and outcome it may have been, or not.
			for (const happened of at < started ? [false] : at < over ? [true, false] : [true]) {
				const copy = await copyState(state, `${state}-${happened}`);
				const ledger: Ledger = new Map(happened ? [[key, "paid"]] : []);
				const found = await lived(copy, ledger, (runtime, { toEnd }) => toEnd(runtime));
				expect([at, happened, ledger.size, found]).toEqual([
					at,
					happened,
					1,
					{ said: [expect.any(String)], shown: expect.any(Number), undelivered: 0 },
				]);
				expect(found.shown).toBeLessThanOrEqual(1);
				await removeState(copy);
				cuts++;
			}
		});
		expect(cuts).toBeGreaterThan(sample(1, 4));
	});

	test("a rewind to any record takes it back or leaves it whole, and an undo brings it again", async () => {
		await finished();
		const kinds = await kindsIn(project);
		const start = kinds.indexOf(begins) + 1;
		let [again, kept] = [0, 0];
		for (const seq of pointsOf(start - 1, kinds.length - 1, 6)) {
			const state = await copyState(project.state, join(project.root, `rewound-${seq}`));
			const ledger: Ledger = new Map([["before", "paid"]]);
			await lived(state, ledger, async (runtime, { toEnd }) => {
				const [before, hash] = [said(runtime), runtime.view().hash()];
				await runtime.checkout(seq, "test");
				await runtime.idle();
				await runtime.undo("test");
				await runtime.idle();
				expect([seq, said(runtime)]).toEqual([seq, before]);
				expect(runtime.view().hash()).toBe(hash);
				await runtime.checkout(seq, "test");
				runtime.resume();
				await runtime.idle();
				await toEnd(runtime);
				await runtime.idle();
				expect([seq, said(runtime).length]).toEqual([seq, 1]);
			});
			// What is known to have happened is not made again; what was taken back is made anew, by each of the two rewinds.
			expect(ledger.size).toBeLessThanOrEqual(3);
			if (ledger.size > 1) again++;
			else kept++;
			await removeState(state);
		}
		if (isDeep) expect([again > 0, kept > 0]).toEqual([true, true]);
	});

	test.each(["conversation_only", "code_only"] as const)("a rewind of %s is undone exactly", async (mode) => {
		await finished();
		const kinds = await kindsIn(project);
		const start = kinds.indexOf(begins) + 1;
		for (const seq of some([start - 1, start, Math.floor((start + kinds.length) / 2)], 3)) {
			const state = await copyState(project.state, join(project.root, `mode-${seq}`));
			await lived(state, new Map(), async (runtime) => {
				const hash = runtime.view().hash();
				await runtime.applyRewind(await runtime.previewRewind(seq, mode), "test");
				await runtime.idle();
				await runtime.undo("test");
				await runtime.idle();
				expect([seq, runtime.view().hash()]).toEqual([seq, hash]);
			});
			await removeState(state);
		}
	});

	test("its state outlives its records", async () => {
		const ledger = await finished();
		const before = await lived(project.state, ledger, async (runtime) => {
			for (const text of ["a", "b", "c"]) await prompted(runtime, text);
			const { retainedFrom } = await runtime.gc({ keepDays: 0, keepCheckpoints: 1 });
			expect(retainedFrom).toBeGreaterThan(1);
		});
		const after = await lived(project.state, ledger, async () => {});
		expect([after.said, ledger.size]).toEqual([before.said, 1]);
	});
});
