/** Plans of which a step runs a skill as its child: it asks a model, pays once, and signs where a person lets it. */
import type { Purity, Tool } from "@reyn/journal";
import { PLAN_TOOL } from "@reyn/plan";
import { defineSkill, done, next, type Skill } from "@reyn/skill-resume";
import type { WalRecord } from "@reyn/wal";
import { z } from "zod";
import type { Runtime, RuntimeOptions } from "../src/index.ts";
import { lastOf, open, type Project, type Script, scripted } from "./project.ts";

/** How often the far side was asked to do what, by the seq in the key of the call. */
export type Ledger = Map<number, number>;

const seqOf = (key: string): number => Number(key.split(":")[1]);

const times = (ledger: Ledger, key: string): void => void ledger.set(seqOf(key), (ledger.get(seqOf(key)) ?? 0) + 1);

export const doing =
	(ledger: Ledger) =>
	async ({ idempotencyKey = "" }: { readonly idempotencyKey?: string }): Promise<string> => {
		times(ledger, idempotencyKey);
		return "done";
	};

export const known = (ledger: Ledger) => async (key: string) =>
	ledger.has(seqOf(key)) ? ({ kind: "done", result: "done" } as const) : ({ kind: "not_done" } as const);

export interface Audit {
	readonly purity?: Purity;
	/** What its first phase does beyond that, each time. */
	readonly look?: (signal: AbortSignal) => Promise<void>;
	/** What its last phase does beyond that, each time. */
	readonly last?: (signal: AbortSignal) => Promise<void>;
}

export function audit(ledger: Ledger, { purity = "side_effect", look, last }: Audit = {}): Skill {
	return defineSkill<{ topic: string }>({
		name: "audit",
		description: "audits a topic",
		purity,
		input: z.strictObject({ topic: z.string().min(1) }),
		start: "look",
		phases: {
			async look({ model, step, signal }, { topic }) {
				const { text } = await model({
					system: "audit",
					messages: [{ role: "user", text: `look at ${topic}` }],
					tools: [],
				});
				await look?.(signal);
				await step("pay", doing(ledger), {
					purity: "side_effect",
					reconcile: known(ledger),
				});
				return next("sign", text);
			},
			async sign({ model, step, signal }, _input, before) {
				await step(
					"signing",
					({ lane }) =>
						lane.perform({
							...{ kind: "tool", name: "sign", args: {}, purity: "side_effect" },
							wants: async () => [{ action: "sign", subject: "it" }],
							call: doing(ledger),
							reconcile: known(ledger),
						}),
					{ purity: "pure" },
				);
				const { text } = await model({ system: "audit", messages: [{ role: "user", text: "say it" }], tools: [] });
				await last?.(signal);
				return done(`${before}, ${text}`);
			},
		},
	}) as Skill;
}

export const proposal = {
	goal: "Find out",
	steps: [
		{ id: "a", description: "audit it", tools: ["skill_audit", "pay"] },
		{ id: "b", description: "say it", depends_on: ["a"] },
	],
};

/** The model calls of such a plan. */
export const CALLS = 6;

/** Proposes the plan, audits in its first step and pays, and says what it was told. */
export const saying =
	(args: unknown = { topic: "tea" }): Script =>
	(request) => {
		const [asked] = request.messages;
		const last = lastOf(request);
		if (request.system === "audit") return last === "say it" ? "signed" : "seen";
		if (/^Step b:/m.test(asked?.text ?? "")) return `the answer: ${/seen[^\n]*|ERROR[^\n]*/.exec(last)?.[0]}`;
		if (!/^Step a:/m.test(asked?.text ?? "")) return last !== "plan!" ? "hello" : [{ name: PLAN_TOOL, args: proposal }];
		if (request.messages.at(-1)?.role !== "tool")
			return [
				{ name: "skill_audit", args },
				{ name: "pay", args: {} },
			];
		return `told: ${request.messages.flatMap(({ role, text }) => (role === "tool" ? [text] : [])).join("; ")}`;
	};

export const model = (args?: unknown) => scripted(saying(args));

export const pay = (ledger: Ledger): Tool => ({
	...{ name: "pay", description: "pays", parameters: {}, purity: "side_effect" as const },
	wants: async () => [],
	async call(_args, { idempotencyKey = "" }) {
		times(ledger, idempotencyKey);
		return "paid";
	},
	reconcile: async (key) => (ledger.has(seqOf(key)) ? { kind: "done", result: "paid" } : { kind: "not_done" }),
});

/** One process over a state. */
export async function life(at: Project, ledger: Ledger = new Map(), more: Audit & Partial<RuntimeOptions> = {}) {
	const { purity, look, last, ...options } = more;
	const asked = model();
	const opened = await open(at, {
		...{
			model: asked,
			tools: [pay(ledger)],
			skills: [audit(ledger, { ...(purity && { purity }), ...(look && { look }), ...(last && { last }) })],
		},
		...{ permissions: {}, unanswered: "stop" as const },
		...options,
	});
	return { ...opened, model: asked, ledger };
}

/** Goes on, and lets a person answer whatever is asked, until nothing is left to do. */
export async function toEnd(runtime: Runtime, answer = "once"): Promise<void> {
	for (;;) {
		await runtime.idle();
		const [question] = runtime.questions();
		if (!question) return;
		await runtime.answer(question.seq, answer, "ada");
	}
}

export async function recordsOf(runtime: Runtime): Promise<readonly WalRecord[]> {
	const records: WalRecord[] = [];
	for await (const record of runtime.wal.read({ after: 0 })) records.push(record);
	return records;
}

/** All that was said in the end, on the line of now. */
export const said = (runtime: Runtime): readonly string[] =>
	runtime
		.conversation()
		.items.toArray()
		.flatMap((item) => (item.type === "message" ? [item.text] : []));

export const ANSWER = "the answer: seen, signed; paid";

/**
 * The seqs of what the far side was asked to do, as far as records tell.
 *
 * @param happened was what had only been begun done too?
 */
export function paidIn(
	records: readonly { kind: string; seq: number; data: Record<string, unknown> }[],
	happened: boolean,
): readonly number[] {
	const over = records.filter(({ kind }) => kind === "step_completed").map(({ data }) => data.started);
	return records.flatMap(({ kind, seq, data }) => {
		const isFirst =
			kind === "step_started" && data.started === undefined && ["pay", "sign"].includes(data.name as string);
		return isFirst && (happened || over.includes(seq)) ? [seq] : [];
	});
}
