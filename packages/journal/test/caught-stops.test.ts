/** What a program makes of a step that must not be made now: it may catch that, and comes to no other end by it. */
import { describe, expect, test } from "vitest";
import { type JournalError, Lane, runProgram, type Step } from "../src/index.ts";
import { DyingLog, quiet, scope, using } from "./dying-log.ts";

const waits = { gate: async () => ({ kind: "wait" as const, for: "ada" }) };

/** What is called, in its order. */
class Calls {
	readonly made: string[] = [];

	readonly step = (name: string, more: Partial<Step<string>> = {}): Step<string> => {
		const call = async (): Promise<string> => {
			this.made.push(name);
			return `${name} done`;
		};
		return { kind: "step", name, args: {}, purity: "side_effect", call, ...more };
	};

	/** A gate lets it pass, or has it wait. */
	readonly pay = this.step("pay", { kind: "tool" });
}

const around = (call: Step<string>["call"], more: Partial<Step<string>> = {}): Step<string> => ({
	kind: "step",
	name: "outer",
	args: {},
	purity: "external",
	inDoubt: "retry",
	call,
	...more,
});

type Body = (lane: Lane, calls: Calls) => Promise<unknown>;

const bodies: Record<string, Body> = {
	"by itself": (lane, { pay }) => lane.perform(pay).catch(() => "not paid"),
	"and then makes an effect": async (lane, { pay, step }) => {
		const paid = await lane.perform(pay).catch(() => "not paid");
		return lane.perform({ ...step("mail"), args: { paid }, call: async () => paid });
	},
	"and tries again and again": async (lane, { pay }) => {
		for (;;) {
			try {
				return await lane.perform(pay);
			} catch {}
		}
	},
	"and reports what has worked": async (lane, calls) => {
		const all = await Promise.allSettled([lane.perform(calls.pay), lane.perform(calls.step("look"))]);
		const text = all.map(({ status }) => status).join();
		await lane.perform(calls.step(`report ${text}`));
		return "pay done";
	},
	"and fails": async (lane, { pay }) => {
		const paid = await lane.perform(pay).catch(() => undefined);
		if (!paid) throw new Error("no money");
		return paid;
	},
	"in a step around it": (lane, { pay }) =>
		lane.perform(around((context) => context.lane.perform(pay).catch(() => "not paid"))),
	"in a step around it that fails": (lane, { pay }) =>
		lane.perform(around((context) => context.lane.perform(pay).catch(() => Promise.reject(new Error("no money"))))),
	"in a step around it that is tried again": (lane, { pay }) =>
		lane.perform(
			around((context) => context.lane.perform(pay).catch(() => Promise.reject(new Error("no money"))), {
				retry: { maxAttempts: 3, initialIntervalMs: 1 },
			}),
		),
	"in a step around it that has a limit of time": (lane, { pay }) =>
		lane.perform(
			around((context) => context.lane.perform(pay).catch(() => new Promise<never>(() => {})), { timeoutMs: 50 }),
		),
	"in a step in a step": (lane, { pay }) =>
		lane
			.perform(
				around((outer) =>
					outer.lane
						.perform(around((inner) => inner.lane.perform(pay).catch(() => "not paid"), { name: "inner" }))
						.catch(() => "not paid either"),
				),
			)
			.catch(() => "nor here"),
};

describe.each(Object.entries(bodies))("a program that catches a call that waits %s", (_, body) => {
	test("stops with it, and makes it when it may", async () => {
		const log = new DyingLog();
		const calls = new Calls();
		const run = (more: object): Promise<unknown> =>
			runProgram("p", scope, using(log, { whenInDoubt: () => "retry" as const, ...more }), (lane) => body(lane, calls));
		for (let i = 0; i < 2; i++) await expect(run(waits)).rejects.toMatchObject({ code: "CALL_WAITING" });
		expect(log.kinds).not.toContain("step_failed");
		expect(log.kinds).not.toContain("lane_failed");
		expect(calls.made.filter((name) => name !== "look")).toEqual([]);
		expect(await run({})).toBe("pay done");
		expect(calls.made.filter((name) => name === "pay")).toEqual(["pay"]);
	});
});

test("what is under way beside it is kept, and its branch goes on in the next life", async () => {
	const log = new DyingLog();
	const calls = new Calls();
	const run = (more: object): Promise<unknown> =>
		runProgram("p", scope, using(log, more), (lane) =>
			Promise.all([
				lane.perform(calls.pay).catch(() => "not paid"),
				lane.perform(calls.step("look")).then(() => lane.perform(calls.step("mail"))),
			]),
		);
	await expect(run(waits)).rejects.toMatchObject({ code: "CALL_WAITING" });
	expect([log.kinds, calls.made]).toEqual([["step_started", "step_completed"], ["look"]]);
	expect(await run({})).toEqual(["pay done", "mail done"]);
	expect(calls.made.toSorted()).toEqual(["look", "mail", "pay"]);
});

test("what it has opened it can close", async () => {
	let closed = 0;
	const close = async (lane: Lane, { pay }: Calls): Promise<string> => {
		try {
			return await lane.perform(pay);
		} finally {
			closed++;
		}
	};
	const body = (lane: Lane): Promise<string> => close(lane, new Calls());
	await expect(runProgram("p", scope, using(new DyingLog(), waits), body)).rejects.toThrow();
	const nested = (lane: Lane): Promise<string> => lane.perform(around((context) => close(context.lane, new Calls())));
	await expect(runProgram("p", scope, using(new DyingLog(), waits), nested)).rejects.toThrow();
	expect(closed).toBe(2);
});

test("a step that goes on without what its ended program refused it has no outcome, and makes it in the next life", async () => {
	const log = new DyingLog();
	const calls = new Calls();
	const far = Promise.withResolvers<string>();
	let isBroken = true;
	const fails = calls.step("check", {
		purity: "llm",
		call: async () => (isBroken ? Promise.reject(new Error("no")) : "ok"),
	});
	const run = (): Promise<unknown> =>
		runProgram("p", scope, using(log), (lane) =>
			Promise.all([
				lane.perform(
					around(async (context) => {
						await context.lane.perform(calls.step("look", { call: () => far.promise }));
						for (let told = false; !told; )
							told = await context.lane.perform(calls.step("tell")).then(Boolean, () => false);
						return "told";
					}),
				),
				lane.perform(fails),
			]),
		);
	const first = run();
	await quiet();
	far.resolve("seen");
	await expect(first).rejects.toThrow("no");
	expect(calls.made).toEqual([]);
	isBroken = false;
	expect(await run()).toEqual(["told", "ok"]);
	expect(calls.made).toEqual(["tell"]);
});

test("in a lane without a program a step around it stops as well; who asks for that may do as they like", async () => {
	const log = new DyingLog();
	const calls = new Calls();
	const lane = new Lane("p", scope, using(log, waits));
	const outer = around((context) => context.lane.perform(calls.pay).catch(() => "not paid"));
	const code = await lane.perform(outer).catch((error: JournalError) => error.code);
	expect(code).toBe("CALL_WAITING");
	expect(await lane.perform(calls.step("mail"))).toBe("mail done");
	expect(log.kinds).toEqual(["step_started", "step_started", "step_completed"]);
});
