/**
 * What every kind of work is held to, built in or a stranger's: each pays once with a tool, and says so. Killed after any record it goes on,
 * pays nothing again and says it once; a rewind to any record takes it back or leaves it whole, and an undo brings it again; its state
 * outlives its records.
 */
import { join } from "node:path";
import type { Tool } from "@reyn/journal";
import { PLAN_TOOL } from "@reyn/plan";
import { defineSkill, done } from "@reyn/skill-resume";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { pollFeature, polls } from "../../../examples/custom-feature/poll.ts";
import type { Runtime, RuntimeOptions } from "../src/index.ts";
import { copyState, eachCut, kindsIn, linesOf } from "./cut.ts";
import { emptyArea, lastOf, makeProject, open, type Project, payingPlan, scripted } from "./project.ts";
import { script } from "./script-runs.ts";

/** What was paid, by the key of the call: the far side knows each again. */
type Ledger = Map<string, string>;

interface Story {
	readonly name: string;
	options(ledger: Ledger): Partial<RuntimeOptions>;
	/** Begins it where it is not there, and brings it to its end from wherever it stands. */
	toEnd(runtime: Runtime): Promise<void>;
	/** All that it has said in the end, on the line of now. */
	said(runtime: Runtime): readonly string[] | Promise<readonly string[]>;
	/** How its payment is called in the log. */
	readonly payment: string;
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

/** Asked for a plan it makes one, asked to pay it pays, and then it says so. */
const model = () =>
	scripted((request) => {
		const asked = request.messages.filter(({ role }) => role === "user").at(-1)?.text ?? "";
		if (lastOf(request) === "ask them") return [{ name: "open_poll", args: { question: "Tea?", voters: 1 } }];
		if (lastOf(request) === "plan it") return [{ name: PLAN_TOOL, args: payingPlan }];
		if (asked.includes("pay it") && !request.messages.some(({ role }) => role === "tool"))
			return [{ name: "pay", args: {} }];
		return "it is paid";
	});

const messages = (runtime: Runtime, from: RegExp): readonly string[] =>
	runtime
		.conversation()
		.items.toArray()
		.flatMap((item) => (item.type === "message" && from.test(item.from) ? [item.text] : []));
const answers = (runtime: Runtime): readonly string[] =>
	runtime
		.conversation()
		.items.toArray()
		.flatMap((item) => (item.type === "answer" ? [item.text] : []));

const prompted = async (runtime: Runtime, text: string): Promise<void> => {
	await runtime.prompt(text);
	await runtime.idle();
};

const stories: readonly Story[] = [
	{
		name: "a turn",
		payment: "pay",
		options: (ledger) => ({ model: model(), tools: [pay(ledger)] }),
		async toEnd(runtime) {
			if (answers(runtime).length === 0) await prompted(runtime, "pay it");
		},
		said: answers,
	},
	{
		name: "a plan",
		payment: "pay",
		options: (ledger) => ({ model: model(), tools: [pay(ledger)] }),
		async toEnd(runtime) {
			for (const { plan } of runtime.restored().plans) await runtime.resumePlan(plan);
			await runtime.idle();
			if (messages(runtime, /^p/).length === 0) await prompted(runtime, "plan it");
		},
		said: (runtime) => messages(runtime, /^p/),
	},
	{
		name: "a skill",
		payment: "pay",
		options: (ledger) => ({
			model: model(),
			tools: [],
			skills: [
				defineSkill({
					name: "payer",
					description: "pays",
					input: z.object({}),
					start: "one",
					phases: {
						one: async ({ step }) => {
							const { call, reconcile } = pay(ledger);
							const paid = await step("pay", (context) => call({}, context as never), {
								purity: "side_effect",
								...(reconcile && { reconcile: (key) => reconcile(key, {} as never) as never }),
							});
							return done(`it is ${paid}`);
						},
					},
				}),
			],
		}),
		async toEnd(runtime) {
			for (const { run } of runtime.restored().runs) await runtime.resumeSkillRun(run);
			await runtime.idle();
			if (messages(runtime, /^s/).length === 0) await runtime.runSkill("payer", {});
			await runtime.idle();
		},
		said: (runtime) => messages(runtime, /^s/),
	},
	{
		name: "a script",
		payment: "pay",
		options: (ledger) => ({ model: model(), tools: [pay(ledger)] }),
		async toEnd(runtime) {
			const [known] = await runtime.scripts.list();
			const { end } = known
				? await runtime.scripts.resume(known.run)
				: await runtime.scripts.start(script('return `it is ${await ctx.tool("pay", {})}`;'), undefined);
			await end;
		},
		async said(runtime) {
			const [known] = await runtime.scripts.list();
			return known ? [String(await runtime.scripts.result(known.run))] : [];
		},
	},
	{
		name: "a poll of a feature of one's own",
		payment: "post",
		options: (ledger) => {
			const board = {
				post: async (result: string, key: string) => void ledger.set(key, result),
				has: async (key: string) => ledger.has(key),
			};
			return { model: model(), tools: [], features: [pollFeature(board)] };
		},
		async toEnd(runtime) {
			if (Object.keys(runtime.view().get(polls)).length === 0) await prompted(runtime, "ask them");
			const feature = runtime.features.find(({ name }) => name === "poll");
			const host = runtime.hostOf(feature as ReturnType<typeof pollFeature>);
			for (const [id, { status }] of Object.entries(runtime.view().get(polls)))
				if (status === "waiting") await host.vote(id, "ada", "yes");
			await runtime.idle();
		},
		said: (runtime) => messages(runtime, /^poll/),
	},
];
