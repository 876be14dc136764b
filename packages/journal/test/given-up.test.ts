/** Steps that are asked for again in the same process, since whoever asked first has been given up: by a timeout around it, say. */
import type { Appended } from "@reyn/wal";
import { expect, test } from "vitest";
import { type InDoubtPolicy, Lane, type Reconciled, type Step, type Using } from "../src/index.ts";
import { DyingLog, quiet, SimulatedTime, scope, using } from "./dying-log.ts";

/** A log that is durable when it is told to be. */
class SlowLog extends DyingLog {
	sync = Promise.withResolvers<void>();

	override append(...args: Parameters<DyingLog["append"]>): Appended {
		return { ...super.append(...args), durable: this.sync.promise };
	}

	async flush(): Promise<void> {
		this.sync.resolve();
		this.sync = Promise.withResolvers();
		await quiet();
	}
}

/** A step whose calls end when they are told to. */
class Sending {
	readonly calls: PromiseWithResolvers<string>[] = [];
	readonly answer = Promise.withResolvers<Reconciled<string>>();

	step(more: Partial<Step<string>> = {}): Step<string> {
		const call = (): Promise<string> => {
			const made = Promise.withResolvers<string>();
			this.calls.push(made);
			return made.promise;
		};
		return { kind: "step", name: "send", args: {}, purity: "external", empty: "skipped", call, ...more };
	}
}

/** Whoever performs the step in it, until it is given up. */
function asker(log: DyingLog, more: Partial<Using> = {}): { lane: Lane; giveUp(): void } {
	const limit = new AbortController();
	return {
		lane: new Lane("a", scope, using(log, { signal: limit.signal, ...more })),
		giveUp: () => limit.abort(new Error("given up")),
	};
}

test("a start that is not durable yet is none to whoever asks next: the call waits for one of its own", async () => {
	const log = new SlowLog();
	const sending = new Sending();
	const [first, second] = [asker(log), asker(log)];
	const given = expect(first.lane.perform(sending.step())).rejects.toThrow("given up");
	await quiet();
	first.giveUp();
	const sent = second.lane.perform(sending.step());
	await quiet();
	expect(sending.calls).toHaveLength(0);
	await log.flush();
	await given;
	expect(sending.calls, "and what was given up calls nothing any more").toHaveLength(1);
	sending.calls[0]?.resolve("sent");
	expect(await sent).toBe("sent");
});

test.each<InDoubtPolicy>(["retry", "skip", "discard"])(
	"a call that ends while the far side is asked about it is over, whatever the policy (%s)",
	async (policy) => {
		const log = new DyingLog();
		const sending = new Sending();
		const [first, second] = [asker(log), asker(log, { whenInDoubt: () => policy })];
		const made = first.lane.perform(sending.step());
		await quiet();
		first.giveUp();
		const sent = second.lane.perform(sending.step({ reconcile: () => sending.answer.promise }));
		await quiet();
		sending.calls[0]?.resolve("sent");
		expect(await made).toBe("sent");
		sending.answer.resolve({ kind: "unknown" });
		expect(await sent).toBe("sent");
		expect(sending.calls).toHaveLength(1);
		expect(log.kinds).toEqual(["step_started", "step_completed"]);
	},
);

test("whoever is given up while the far side is asked decides nothing", async () => {
	const log = new DyingLog(1);
	await expect(asker(log).lane.perform({ ...new Sending().step(), call: async () => "sent" })).rejects.toThrow();
	log.revive();
	const sending = new Sending();
	const { lane, giveUp } = asker(log, { whenInDoubt: () => "skip" });
	const given = expect(lane.perform(sending.step({ reconcile: () => sending.answer.promise }))).rejects.toThrow(
		"given up",
	);
	await quiet();
	giveUp();
	sending.answer.resolve({ kind: "unknown" });
	await given;
	expect(log.kinds).toEqual(["step_started"]);
});

test("a call that ends while the next one waits for its start is not made again", async () => {
	const log = new SlowLog();
	const sending = new Sending();
	const [first, second] = [asker(log), asker(log)];
	const made = first.lane.perform(sending.step());
	await quiet();
	await log.flush();
	first.giveUp();
	const sent = second.lane.perform(sending.step());
	await quiet();
	sending.calls[0]?.resolve("sent");
	expect(await made).toBe("sent");
	await log.flush();
	expect(await sent).toBe("sent");
	expect(sending.calls).toHaveLength(1);
});

test("a step that is stopped by a discarded one inside it has not failed: it stays in doubt, and another policy goes on", async () => {
	const log = new DyingLog(2);
	const inner = { ...new Sending().step(), name: "inner", call: async () => "sent" };
	const outer = (policy: InDoubtPolicy): Promise<string> =>
		asker(log, { whenInDoubt: ({ name }) => (name === "outer" ? "retry" : policy) }).lane.perform({
			...inner,
			name: "outer",
			retry: { maxAttempts: 3, initialIntervalMs: 0 },
			call: ({ lane }) => lane.perform(inner),
		});
	await expect(outer("discard")).rejects.toThrow("killed");
	log.revive();
	for (let i = 0; i < 2; i++) await expect(outer("discard")).rejects.toMatchObject({ code: "STEP_DISCARDED" });
	expect(log.kinds).not.toContain("step_failed");
	expect(await outer("retry")).toBe("sent");
});

test("a try that was given up asks for a step inside it: it gets none, and what is recorded there is missed by nobody", async () => {
	const time = new SimulatedTime();
	const log = new DyingLog(2, time);
	const calls: string[] = [];
	const send = (name: string, more: Partial<Step<string>> = {}): Step<string> => ({
		...new Sending().step(more),
		name,
		call: async () => {
			calls.push(name);
			return name;
		},
	});
	const hasty = (begin: Promise<void>, asked: (inner: Promise<string>) => void): Step<string> => ({
		...send("outer", { timeoutMs: 100 }),
		async call({ lane }) {
			await begin;
			const inner = lane.perform(send("inner", { purity: "llm" }));
			asked(inner);
			return inner;
		},
	});
	const life = (): Lane => new Lane("a", scope, using(log, { clock: time, timers: time }));
	await expect(life().perform(hasty(Promise.resolve(), () => {}))).rejects.toThrow("killed");
	expect(log.kinds, "the inner step is recorded, and the outer one is open").toEqual([
		"step_started",
		"step_completed",
	]);

	log.revive();
	const lane = life();
	const begin = Promise.withResolvers<void>();
	const late = Promise.withResolvers<unknown>();
	const outer = lane.perform(hasty(begin.promise, (inner) => late.resolve(inner.catch((error: unknown) => error))));
	outer.catch(() => {});
	// Two calls at a time: from here on it counts what is recorded and not asked for.
	expect(await time.until(lane.perform(send("beside")))).toBe("beside");
	await expect(time.until(outer)).rejects.toMatchObject({ code: "STEP_TIMEOUT" });
	begin.resolve();
	expect(await late.promise).toMatchObject({ code: "STEP_TIMEOUT" });
	expect(await time.until(lane.perform(send("next")))).toBe("next");
	expect(calls).toEqual(["inner", "beside", "next"]);
});
