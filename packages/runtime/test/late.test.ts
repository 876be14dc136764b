/** Outcomes beyond a cut, and outcomes that come after it: what is known to have happened is not done again. */
import { setTimeout as wait } from "node:timers/promises";
import { journal, type Purity, type StepContext, stepCompleted, stepStarted, type Tool } from "@reyn/journal";
import { entriesOf, lanesOf } from "@reyn/journal/internal";
import { PLAN_TOOL } from "@reyn/plan";
import { defineSkill, done, next } from "@reyn/skill-resume";
import { stepLate } from "@reyn/timetravel";
import type { Timers, WalRecord } from "@reyn/wal";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { pauseless } from "../../../tests/kit/timers.ts";
import { userPrompt } from "../src/features/conversation/records.ts";
import { mainSession, type Runtime } from "../src/index.ts";
import { gate, lastOf, makeProject, open, type Project, payingPlan, type Script, scripted, until } from "./project.ts";

/** The limit of a call, which is over as soon as what is inside it has begun. */
const LIMIT_MS = 50;

let project: Project;
beforeEach(async () => {
	project = await makeProject();
});
afterEach(() => project[Symbol.asyncDispose]());

const recordsOf = async ({ wal }: Runtime, ...kinds: string[]): Promise<readonly WalRecord[]> =>
	collect(wal.read({ kinds: { only: kinds } }));

/** The seq of the first start of a step. */
const startOf = async (runtime: Runtime, name: string): Promise<number> =>
	(await recordsOf(runtime, stepStarted.kind)).find(({ data }) => (data as { name: string }).name === name)?.seq ?? 0;

/** What the state in memory is has to be what a restart would make of the log. */
const expectLive = async (runtime: Runtime): Promise<void> =>
	expect(runtime.view().hash()).toBe((await runtime.timeline.at(runtime.wal.tip, mainSession)).hash());

describe("an effect that was open at the target, and over when it was left", () => {
	/** A plan that pays in its first step, and a turn that ends while it does. */
	async function paying({ last }: { last?: Promise<void> } = {}) {
		const till = gate();
		const paid: (string | undefined)[] = [];
		const pay: Tool = {
			name: "pay",
			description: "pays",
			parameters: { type: "object" },
			purity: "side_effect",
			async call(_, { idempotencyKey }) {
				paid.push(idempotencyKey);
				await till.opened;
				return `receipt ${paid.length}`;
			},
		};
		const script: Script = async (request) => {
			const said = lastOf(request);
			if (said === "plan!") return [{ name: PLAN_TOOL, args: payingPlan }];
			if (/Step a/.test(said)) return [{ name: "pay", args: {} }];
			if (/Step b/.test(said)) await last;
			return `echo: ${said}`;
		};
		const model = scripted(script);
		const opened = await open(project, { model, tools: [pay] });
		const { runtime } = opened;
		await runtime.prompt("plan!");
		await until(() => paid.length === 1);
		await runtime.prompt("meanwhile");
		await until(() => runtime.timeline.checkpoints().some(({ title }) => title === "meanwhile"));
		const inside = runtime.timeline.checkpoints().at(-1)?.seq ?? 0;
		till.open();
		return { ...opened, model, paid, inside };
	}

	test("is known at the target too: a plan that waits there goes on without it", async () => {
		const { runtime, paid, inside, shown } = await paying();
		await runtime.idle();
		const [outcome] = (await recordsOf(runtime, stepCompleted.kind)).filter(
			({ data }) => (data as { name: string }).name === "pay",
		);
		const { seq } = await runtime.checkout(inside, "test");
		const adopted = (await recordsOf(runtime, stepCompleted.kind)).filter(({ seq: each }) => each > seq);
		expect(adopted).toMatchObject([
			{
				scope: outcome?.scope,
				data: { ...(outcome?.data as object), adopts: outcome?.seq, started: await startOf(runtime, "pay") },
			},
		]);
		await expectLive(runtime);
		expect(runtime.restored().plans).toMatchObject([{ status: "paused", finished: 0 }]);
		await runtime.resumePlan(runtime.restored().plans[0]?.plan ?? "");
		await runtime.idle();
		expect(paid).toHaveLength(1);
		expect(shown).toHaveLength(2);

		// There again, it is known again, and named as what it was at first.
		const back = await runtime.checkout(inside, "test");
		const again = (await recordsOf(runtime, stepCompleted.kind)).filter(({ seq: each }) => each > back.seq);
		expect(again.map(({ data }) => (data as { adopts: number }).adopts)).toEqual([outcome?.seq]);
		await runtime.close();
	});

	test("is known where the plan goes on by itself", async () => {
		const last = gate();
		const { runtime, paid, inside, shown, model } = await paying({ last: last.opened });
		await until(() => model.asked.some((request) => /Step b/.test(lastOf(request))));
		await runtime.checkout(inside, "test");
		last.open();
		await runtime.idle();
		expect(paid).toHaveLength(1);
		expect(shown).toHaveLength(1);
		await expectLive(runtime);
		await runtime.close();
	});

	test("and before it was begun it is another step, with a key of its own", async () => {
		const { runtime, paid } = await paying();
		await runtime.idle();
		await runtime.checkout((await startOf(runtime, "pay")) - 1, "test");
		expect((await recordsOf(runtime, stepCompleted.kind)).filter(({ data }) => "adopts" in (data as object))).toEqual(
			[],
		);
		await runtime.resumePlan(runtime.restored().plans[0]?.plan ?? "");
		await runtime.idle();
		expect(new Set(paid).size).toBe(2);
		await runtime.close();
	});
});

describe("an outcome that comes after the rewind", () => {
	/** A skill with a call that takes too long: what was begun inside it is left behind. All else is over before a rewind. */
	async function leaving(purity: Purity = "side_effect", { isHeldAgain = false } = {}) {
		const held = gate();
		/** For what goes on after a rewind: as long as it waits, it has not called again. */
		const again = gate();
		if (!isHeldAgain) again.open();
		const tooLate = gate();
		let entries = 0;
		const late: unknown[] = [];
		let calls = 0;
		const skill = defineSkill({
			name: "leaving",
			description: "leaves its call behind",
			input: z.unknown(),
			start: "only",
			phases: {
				async only({ step, signal }) {
					if (++entries > 1) await again.opened;
					const slow = async (): Promise<string> => {
						if (++calls === 1) await held.opened;
						return "answer";
					};
					const outer = async ({ lane }: StepContext): Promise<string> => {
						const call = lane.perform({ kind: "step", name: "slow", args: {}, purity, call: slow });
						call.catch((error: unknown) => late.push((error as { code?: unknown }).code));
						return call;
					};
					await step("outer", outer, { purity: "llm", ...(entries === 1 && { timeoutMs: LIMIT_MS }) }).catch(
						async () => {
							tooLate.open();
							await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
						},
					);
					signal.throwIfAborted();
					return done("over");
				},
			},
		});
		const timers: Timers = {
			after: (ms, run, keepsAlive) => {
				if (ms !== LIMIT_MS) return pauseless().after(ms, run, keepsAlive);
				void until(() => calls === 1).then(run);
				return () => {};
			},
		};
		const opened = await open(project, { skills: [skill], timers });
		const run = await opened.runtime.runSkill("leaving", {});
		await tooLate.opened;
		// So that its start is not the tip: a checkout of the tip does nothing.
		await opened.runtime.timeline.label(1, "before");
		return { ...opened, run, held, again, late, calls: () => calls };
	}

	test("joins the line that has its start, and is not called for again", async () => {
		const { runtime, held, again, late, calls, shown } = await leaving("side_effect", { isHeldAgain: true });
		const start = await startOf(runtime, "slow");
		await runtime.checkout(start, "test");
		held.open();
		await until(() => late.length === 1);
		// Who is too late has to stop, whatever becomes of what it found out.
		expect(late).toEqual(["STALE_LINEAGE"]);
		expect(await recordsOf(runtime, stepCompleted.kind, stepLate.kind)).toMatchObject([
			{ kind: stepCompleted.kind, data: { started: start, result: "answer" } },
		]);
		await expectLive(runtime);
		again.open();
		runtime.resume();
		await runtime.idle();
		expect(calls()).toBe(1);
		expect(shown).toHaveLength(1);
		await runtime.close();
	});

	test("is kept aside where its start is not, changes nothing there, and is known again on the way back", async () => {
		const { runtime, run, held, late, calls, shown } = await leaving();
		const start = await startOf(runtime, "slow");
		const { seq: reset } = await runtime.checkout(0, "test");
		const { hash } = await hashOf(runtime);
		held.open();
		await until(() => late.length === 1);
		const [aside, ...more] = await recordsOf(runtime, stepCompleted.kind, stepLate.kind);
		expect(more).toEqual([]);
		expect(aside).toMatchObject({
			kind: stepLate.kind,
			scope: { ...mainSession, run },
			data: { reset, kind: stepCompleted.kind, data: { started: start, result: "answer" } },
		});
		expect((await hashOf(runtime)).hash).toBe(hash);
		await expectLive(runtime);
		await runtime.close();

		const next = await open(project, { skills: [] });
		expect((await hashOf(next.runtime)).hash).toBe(hash);
		await next.runtime.checkout(start, "test");
		expect(await recordsOf(next.runtime, stepCompleted.kind)).toMatchObject([
			{ scope: aside?.scope, data: { started: start, result: "answer", adopts: aside?.seq } },
		]);
		const state = next.runtime.view().get(journal);
		expect(lanesOf(state).flatMap((lane) => entriesOf(state, lane))).toMatchObject([
			{ name: "slow", started: start, outcome: { type: "completed", kept: { result: "answer" } } },
		]);
		await next.runtime.close();
		expect([calls(), shown]).toEqual([1, []]);
	});

	test("and that no start announced is kept aside too", async () => {
		const { runtime, held, late } = await leaving("llm");
		await runtime.checkout(0, "test");
		held.open();
		await until(() => late.length === 1);
		expect(await recordsOf(runtime, stepCompleted.kind, stepLate.kind)).toMatchObject([
			{ kind: stepLate.kind, data: { data: { purity: "llm", result: "answer" } } },
		]);
		await runtime.close();
	});

	test("is kept aside where the call was made again meanwhile", async () => {
		const { runtime, held, late, calls, shown } = await leaving();
		const start = await startOf(runtime, "slow");
		await runtime.checkout(start, "test");
		runtime.resume();
		await runtime.idle();
		expect(calls()).toBe(2);
		held.open();
		await until(() => late.length === 1);
		expect(await recordsOf(runtime, stepCompleted.kind, stepLate.kind)).toMatchObject([
			{ kind: stepCompleted.kind, data: { name: "slow", started: start } },
			{ kind: stepCompleted.kind, data: { name: "outer" } },
			{ kind: stepLate.kind, data: { data: { started: start } } },
		]);
		expect(shown).toHaveLength(1);
		await expectLive(runtime);
		await runtime.close();
	});
});

describe("a stop while an effect is under way, of a program that ends before it", () => {
	/** A phase whose short steps are refused at a stop, and whose long one does not hear of it. */
	async function paying() {
		const held = gate();
		const keys: unknown[] = [];
		const skill = defineSkill({
			name: "paying",
			description: "pays beside other steps",
			input: z.unknown(),
			start: "only",
			phases: {
				async only({ step, signal }) {
					const pay = async ({ idempotencyKey }: StepContext): Promise<string> => {
						keys.push(idempotencyKey);
						await held.opened;
						return "paid";
					};
					const chain = async (): Promise<void> => {
						await step(
							"wait",
							() => new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve())),
							{
								purity: "external",
							},
						);
						await step("next", async () => "", { purity: "external" });
					};
					const isAgain = keys.length > 0;
					await Promise.all([isAgain || chain(), step("pay", pay, { purity: "side_effect" })]);
					return done("over");
				},
			},
		});
		const opened = await open(project, { skills: [skill], quietMs: 20 });
		await opened.runtime.runSkill("paying", {});
		await until(() => keys.length === 1);
		await opened.runtime.timeline.label(1, "before");
		return { ...opened, held, keys };
	}

	test("a rewind is refused, and who goes on finds its outcome", async () => {
		const { runtime, held, keys, shown } = await paying();
		const start = await startOf(runtime, "pay");
		await expect(runtime.checkout(start, "test")).rejects.toMatchObject({ code: "RUNTIME_NOT_QUIET" });
		runtime.resume();
		held.open();
		await runtime.idle();
		runtime.resume();
		await runtime.idle();
		expect([keys.length, shown.length]).toEqual([1, 1]);
		await runtime.close();
	});

	test("a close waits for it", async () => {
		const { runtime, held, keys } = await paying();
		let isClosed = false;
		const closed = runtime.close().then(() => {
			isClosed = true;
		});
		await wait(200);
		expect(isClosed).toBe(false);
		held.open();
		await closed;
		const { runtime: next } = await open(project, { skills: [] });
		expect(await recordsOf(next, stepCompleted.kind)).toContainEqual(
			expect.objectContaining({ data: expect.objectContaining({ name: "pay", result: "paid" }) }),
		);
		expect(keys).toHaveLength(1);
		await next.close();
	});
});

test("a rewind to between two tries knows the later one, which completed", async () => {
	let calls = 0;
	const skill = defineSkill({
		name: "retrying",
		description: "pays at the second try",
		input: z.unknown(),
		start: "only",
		phases: {
			async only({ step }) {
				const pay = async (): Promise<string> => {
					if (++calls === 1) throw new Error("down");
					return "paid";
				};
				const retry = { maxAttempts: 2, initialIntervalMs: 1, backoffFactor: 1, maxIntervalMs: 1 };
				await step("pay", pay, { purity: "side_effect", retry });
				return done("over");
			},
		},
	});
	const { runtime } = await open(project, { skills: [skill] });
	const run = await runtime.runSkill("retrying", {});
	await runtime.idle();
	const [failed] = await recordsOf(runtime, "step_failed");
	await runtime.checkout(failed?.seq ?? 0, "test");
	runtime.resume();
	await runtime.resumeSkillRun(run).catch(() => {});
	await runtime.idle();
	expect(calls).toBe(2);
	await expectLive(runtime);
	await runtime.close();
});

test("a rewind waits for a call that a phase has left under way", async () => {
	const held = gate();
	const on = gate();
	const keys: unknown[] = [];
	const skill = defineSkill({
		name: "floating",
		description: "leaves a payment under way",
		input: z.unknown(),
		start: "first",
		phases: {
			async first({ step }) {
				const pay = async ({ idempotencyKey }: StepContext): Promise<string> => {
					keys.push(idempotencyKey);
					await held.opened;
					return "paid";
				};
				void step("pay", pay, { purity: "side_effect" });
				await step("look", async () => until(() => keys.length > 0), { purity: "external" });
				return next("second", "");
			},
			async second({ signal }) {
				on.open();
				await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
				return done("over");
			},
		},
	});
	const { runtime } = await open(project, { skills: [skill], quietMs: 20 });
	await runtime.runSkill("floating", {});
	await on.opened;
	const start = await startOf(runtime, "pay");
	await expect(runtime.checkout(start, "test")).rejects.toMatchObject({ code: "RUNTIME_NOT_QUIET" });
	expect(keys).toHaveLength(1);
	held.open();
	await runtime.idle();
	expect(await recordsOf(runtime, stepCompleted.kind)).toContainEqual(
		expect.objectContaining({ data: expect.objectContaining({ name: "pay", result: "paid" }) }),
	);
	await runtime.close();
});

test.each<Purity>(["side_effect", "llm"])(
	"a call (%s) that ends after its run leaves nothing open, and is known where one goes back to it",
	async (purity) => {
		const held = gate();
		let calls = 0;
		const skill = defineSkill({
			name: "floating",
			description: "leaves a call under way",
			input: z.unknown(),
			start: "only",
			phases: {
				async only({ step }) {
					await step("look", async () => "seen", { purity: "external" });
					const inner = async (): Promise<string> => {
						calls++;
						await held.opened;
						return "made";
					};
					const call = ({ lane }: StepContext): Promise<string> =>
						lane.perform({ kind: "step", name: "inner", args: {}, purity: "llm", call: inner });
					void step("late", call, { purity });
					await step("look", async () => until(() => calls > 0), { purity: "external" });
					return done("over");
				},
			},
		});
		const { runtime } = await open(project, { skills: [skill] });
		void runtime.runSkill("floating", {});
		await until(() => calls > 0 && runtime.restored().runs.length === 0);
		held.open();
		await runtime.idle();
		const [late] = (await recordsOf(runtime, stepCompleted.kind)).filter(
			({ data }) => (data as { name: string }).name === "late",
		);
		expect(late?.data).toMatchObject({ result: "made", closed: true });
		expect(lanesOf(runtime.view().get(journal))).toEqual([]);
		await expectLive(runtime);
		if (purity === "side_effect") {
			await runtime.checkout(await startOf(runtime, "late"), "test");
			await runtime.resumeSkillRun(runtime.restored().runs[0]?.run ?? "");
			await runtime.idle();
			expect([calls, lanesOf(runtime.view().get(journal))]).toEqual([1, []]);
		}
		await runtime.close();
	},
);

async function collect<T>(items: AsyncIterable<T>): Promise<readonly T[]> {
	const all: T[] = [];
	for await (const item of items) all.push(item);
	return all;
}

const hashOf = async (runtime: Runtime): Promise<{ hash: string }> => ({ hash: runtime.view().hash() });

test.each(["before a prompt", "while a turn is under way"])(
	"a move of a session that is not open leaves the state of another as it is: %s",
	async (when) => {
		const held = gate();
		const model = scripted(async () => {
			await held.opened;
			// Without the state a turn would be made again and again.
			if (model.asked.length > 5) await new Promise(() => {});
			return "fine";
		});
		const skill = defineSkill({
			name: "payer",
			description: "pays",
			input: z.unknown(),
			start: "one",
			phases: { one: async ({ step }) => done(await step("pay", async () => "paid", { purity: "external" })) },
		});
		const { runtime } = await open(project, { model, skills: [skill] });
		await runtime.runSkill("payer", {});
		await runtime.idle();
		const start = await startOf(runtime, "pay");
		// Its outcome lies beyond the target, and is known here all the same.
		await runtime.checkout(start, "ada");
		await runtime.idle();
		// By the timeline: the runtime refuses one that has nothing to move.
		const move = () => runtime.timeline.checkout(start, { scope: { agent: "default", session: "side" } });
		if (when === "before a prompt") await move();
		await runtime.prompt("next");
		if (when !== "before a prompt") await move();
		held.open();
		await until(() => model.asked.length !== 1 || runtime.conversation().open.length === 0);
		await expectLive(runtime);
		expect(model.asked).toHaveLength(1);
		await runtime.idle();
		expect(runtime.conversation().items.toArray().at(-1)).toMatchObject({ type: "reply", text: "fine" });
		await runtime.close();
	},
);

test("a turn whose end does not reach the state of its session is not begun again and again", async () => {
	const model = scripted(async () => {
		if (model.asked.length > 5) await new Promise(() => {});
		return "fine";
	});
	const { runtime } = await open(project, { model });
	await runtime.prompt("hello");
	await runtime.idle();
	// Nothing is folded into it any more.
	(await runtime.timeline.live(mainSession)).close();
	runtime.wal.append(userPrompt({ text: "lost", by: "person" }), mainSession);
	await runtime.close();
	const again = await open(project, { model });
	const live = await again.runtime.timeline.live(mainSession);
	live.close();
	again.runtime.resume();
	await again.runtime.idle();
	expect(model.asked.length).toBeLessThanOrEqual(2);
	await again.runtime.close();
});
