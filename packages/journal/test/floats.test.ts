/** A call that nobody waits for: it neither ends the process nor is begun once its program is over. */
import { setTimeout as wait } from "node:timers/promises";
import { memoryEngine, type Timers } from "@reyn/wal";
import { expect, test } from "vitest";
import { unhandled } from "../../../tests/kit/unhandled.ts";
import { type Lane, openJournal, runProgram, type Step } from "../src/index.ts";
import { DyingLog, quiet, scope, using } from "./dying-log.ts";

const step = (
	name: string,
	call: Step<unknown>["call"],
	purity: Step<unknown>["purity"] = "external",
): Step<unknown> => ({
	kind: "step",
	name,
	args: {},
	purity,
	call,
});

const programs: Record<
	string,
	(lane: Lane, call: (name: string, ms?: number) => Promise<unknown>) => Promise<unknown>
> = {
	"begun at the end": async (_, call) => void call("x"),
	"begun behind a step": async (_, call) => {
		await call("a");
		void call("x");
	},
	"two beside a step": async (_, call) => {
		void call("x", 20);
		void call("y", 20);
		await call("a");
	},
	"a chain of two": async (_, call) => {
		void call("x", 5).then(() => call("y"));
		await call("a");
	},
	"beside a step that fails": async (_, call) => {
		void call("x", 5).then(() => call("y"));
		await call("fails").catch(() => {});
		throw new Error("no");
	},
	"inside a call": (lane, call) =>
		lane.perform(
			step("outer", async ({ lane: inner }) => {
				void inner.perform(step("x", () => wait(5))).then(() => call("y"));
				return inner.perform(step("a", async () => "a"));
			}),
		),
};

test.each(Object.entries(programs))(
	"%s: nothing is unhandled, in the first life and in each that is cut from it",
	async (_, body) => {
		const heard = unhandled();
		const life = async (log: DyingLog): Promise<unknown> => {
			const ended = await runProgram("p", scope, using(log, {}), (lane) =>
				body(lane, (name, ms) =>
					lane.perform(
						step(name, async () => {
							if (name === "fails") throw new Error("failed");
							await wait(ms ?? 0);
							return name;
						}),
					),
				),
			).then(
				() => "returned",
				({ message }: Error) => message,
			);
			await wait(30);
			return ended;
		};
		const whole = new DyingLog();
		const first = await life(whole);
		for (let cut = 0; cut <= whole.records.length; cut++) {
			const log = new DyingLog();
			for (const { kind, data } of whole.records.slice(0, cut)) log.append({ kind, data } as never, scope);
			expect(await life(log), `after ${cut} records`).toBe(first);
		}
		expect(heard).toEqual([]);
	},
);

test("a program that is cancelled has nothing unhandled either", async () => {
	const heard = unhandled();
	const controller = new AbortController();
	const never = (name: string) => step(name, ({ signal }) => wait(60_000, undefined, { signal }));
	const ran = runProgram("p", scope, using(new DyingLog(), { signal: controller.signal }), async (lane) => {
		void lane.perform(never("x"));
		await lane.perform(never("y"));
	});
	await wait(5);
	controller.abort(new Error("closing"));
	await expect(ran).rejects.toThrow("closing");
	await wait(5);
	expect(heard).toEqual([]);
});

test("a pause that would begin once its program is over is no pause", async () => {
	const heard = unhandled();
	const [controller, log] = [new AbortController(), new DyingLog()];
	const first = Promise.withResolvers<void>();
	const failing = {
		...{ kind: "step", name: "pay", args: {}, purity: "side_effect" as const },
		retry: { maxAttempts: 2, initialIntervalMs: 60_000 },
		call: () => first.promise,
	};
	const timers: Timers = {
		after: (ms) => {
			if (ms === 60_000) pauses++;
			return () => {};
		},
	};
	let pauses = 0;
	const ran = runProgram("p", scope, using(log, { signal: controller.signal, timers }), (lane) =>
		Promise.all([lane.perform(failing), Promise.reject(new Error("the program fails"))]),
	);
	await quiet();
	first.reject(Object.assign(new Error("down"), { retryable: true }));
	await expect(ran).rejects.toThrow("the program fails");
	controller.abort(new Error("stop"));
	await quiet();
	expect([heard, pauses]).toEqual([[], 0]);
});

test("a call that fails once its program is over is not unhandled", async () => {
	const heard = unhandled();
	const fails = step("fails", async () => {
		await wait(10);
		throw new Error("failed");
	});
	await runProgram("p", scope, using(new DyingLog(), {}), async (lane) => {
		void lane.perform(fails);
		await lane.perform(step("a", async () => "a"));
	});
	await wait(30);
	expect(heard).toEqual([]);
});

test("a journal that is closed beside a call has nothing unhandled", async () => {
	const heard = unhandled();
	const journal = await openJournal(memoryEngine());
	void journal.step("x", () => wait(10));
	await journal.step("a", async () => "a");
	await journal.close();
	await wait(30);
	expect(heard).toEqual([]);
});
