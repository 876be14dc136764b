/** What another line of history knows of an effect: one that was made there is not made again, and one that was begun is in doubt. */
import {
	journal,
	journalRecords,
	type Lane,
	laneClosed,
	NonRetryableError,
	type Reconciled,
	runProgram,
	type Step,
	stepFailed,
	stepOutcomes,
	stepPorts,
	stepStarted,
} from "@reyn/journal";
import { memorySnapshots } from "@reyn/snapshot";
import { openSession, openTimeline, timetravelRecords } from "@reyn/timetravel";
import { memoryBlobs, memoryEngine, openWal, type WalRecord } from "@reyn/wal";
import { describe, expect, test } from "vitest";
import { atOnce } from "../../../tests/kit/timers.ts";

async function collect<T>(items: AsyncIterable<T>): Promise<readonly T[]> {
	const all: T[] = [];
	for await (const item of items) all.push(item);
	return all;
}

const scope = { agent: "a", session: "s" };

/** A program of steps over a timeline in memory. */
async function house(program: (lane: Lane) => Promise<unknown>) {
	const wal = await openWal(memoryEngine(), { records: [...journalRecords, ...timetravelRecords] });
	const timeline = await openTimeline({
		wal,
		snapshots: memorySnapshots(),
		projections: [journal],
		outcomes: stepOutcomes,
	});
	const session = await openSession(timeline, scope);
	/** Runs the program as far as it goes; a signal that aborts is a kill. */
	const run = (signal = new AbortController().signal): Promise<string> =>
		runProgram("p", scope, stepPorts(session, { wal, signal, timers: atOnce }), program).then(
			(value) => `ended: ${value}`,
			(error: Error) => `failed: ${error.message}`,
		);
	return {
		timeline,
		session,
		run,
		records: (): Promise<readonly WalRecord[]> => collect(wal.read()),
		async close() {
			await session.close();
			await wal.close();
		},
	};
}

const effect = (name: string, more: Partial<Step<string>> & Pick<Step<string>, "call">): Step<string> => ({
	...{ kind: "step", name, args: {}, purity: "side_effect" },
	...more,
});

/** A payment that fails a few times. `paid` has the keys under which it was made, `again` those under which it was made twice. */
function payment(fails: number, more: Partial<Step<string>> = {}) {
	const [paid, again]: [Set<string>, string[]] = [new Set(), []];
	let calls = 0;
	const step = effect("pay", {
		async call({ idempotencyKey: key = "" }) {
			if (paid.has(key)) again.push(key);
			if (++calls <= fails) throw new Error("down");
			paid.add(key);
			return "paid";
		},
		...more,
	});
	return { step, paid, again };
}

const retry = (maxAttempts: number) => ({ maxAttempts, initialIntervalMs: 1, backoffFactor: 1, maxIntervalMs: 1 });
const note = effect("note", { purity: "external", call: async () => "noted" });

const programs = {
	"fails and is run again": { fails: 1, more: {}, program: (pay) => (lane) => lane.perform(pay) },
	"fails in all its tries, and is run again": {
		fails: 3,
		more: { retry: retry(2) },
		program: (pay) => (lane) => lane.perform(pay),
	},
	"fails, which the program notes before it ends": {
		fails: 2,
		more: {},
		program: (pay) => async (lane) => {
			try {
				return await lane.perform(pay);
			} catch (error) {
				await lane.perform(note);
				throw error;
			}
		},
	},
	"fails inside a call that is tried again": {
		fails: 2,
		more: {},
		program: (pay) => (lane) =>
			lane.perform(
				effect("outer", { purity: "external", retry: retry(3), call: (context) => context.lane.perform(pay) }),
			),
	},
} satisfies Record<
	string,
	{
		fails: number;
		more: Partial<Step<string>>;
		program: (pay: Step<string>) => (lane: Lane) => Promise<string>;
	}
>;

describe.each(Object.entries(programs))("a payment that %s", (_, { fails, more, program }) => {
	test.each([
		["", false],
		[", also after another line has made it under its own key", true],
	])("is not made twice under its key, whichever record one goes back to%s", async (_, isMadeBetween) => {
		const lived = async () => {
			const { step, paid, again } = payment(fails, more);
			const opened = await house(program(step));
			const toEnd = async (): Promise<string> => {
				let end = await opened.run();
				for (let i = 0; i < 5 && end.startsWith("failed"); i++) end = await opened.run();
				return end;
			};
			return { ...opened, paid, again, toEnd };
		};
		const first = await lived();
		expect(await first.toEnd()).toBe("ended: paid");
		const all = await first.records();
		expect(first.again).toEqual([]);
		for (const { seq } of all.slice(1)) {
			const { timeline, toEnd, again, close } = await lived();
			await toEnd();
			if (isMadeBetween) {
				await timeline.checkout(1);
				expect([await toEnd(), again]).toEqual(["ended: paid", []]);
			}
			for (const _ of [1, 2]) {
				await timeline.checkout(seq);
				expect([await toEnd(), again], `back to ${seq}`).toEqual(["ended: paid", []]);
			}
			await close();
		}
		expect(all.filter(({ kind }) => kind === stepFailed.kind).length).toBeGreaterThan(0);
	});
});

describe("a payment whose second try was cut, by a kill", () => {
	/** Goes back to the pause before that try, and on. */
	async function cut(more: Partial<Step<string>>) {
		const dead = new AbortController();
		const tries: number[] = [];
		const pay = effect("pay", {
			retry: retry(3),
			call: async ({ attempt }) => {
				tries.push(attempt);
				if (tries.length === 1) throw new Error("down");
				if (tries.length > 2) return "paid again";
				dead.abort(new Error("killed"));
				throw new Error("nobody knows");
			},
			...more,
		});
		const opened = await house((lane) => lane.perform(pay));
		expect(await opened.run(dead.signal)).toBe("failed: killed");
		const failed = (await opened.records()).find(({ kind }) => kind === stepFailed.kind);
		await opened.timeline.checkout(failed?.seq ?? 0);
		return { ...opened, tries };
	}

	test("is in doubt before that try too: the far side is asked", async () => {
		const asked: string[] = [];
		const reconcile = async (key: string): Promise<Reconciled<string>> => {
			asked.push(key);
			return { kind: "done", result: "was paid" };
		};
		const { run, tries, records } = await cut({ reconcile });
		expect(await run()).toBe("ended: was paid");
		const starts = (await records()).filter(({ kind }) => kind === stepStarted.kind);
		const [first, second, known] = starts;
		expect([tries, asked.map((key) => key.split(":")[1])]).toEqual([[1, 2], [String(first?.seq)]]);
		expect([second?.data, known?.data]).toMatchObject([{ started: first?.seq }, { adopts: second?.seq, attempt: 2 }]);
	});

	test("is left as its policy says", async () => {
		const { run, tries } = await cut({ inDoubt: "skip", empty: "skipped" });
		expect([await run(), tries]).toEqual(["ended: skipped", [1, 2]]);
	});

	test("is decided once: further tries of that line stand for it", async () => {
		const { run, tries, timeline, records } = await cut({});
		expect([await run(), tries]).toEqual(["ended: paid again", [1, 2, 2]]);
		const failed = (await records()).find(({ kind }) => kind === stepFailed.kind);
		await timeline.checkout(failed?.seq ?? 0);
		expect([await run(), tries]).toEqual(["ended: paid again", [1, 2, 2]]);
	});
});

describe("a failure that was told on one line, and another line where the effect was made under its own key", () => {
	const told = (lane: Lane, step: Step<string>): Promise<string> =>
		lane.perform(step).catch(({ code }: { code?: string }) => `told ${code}`);

	test("a refusal is told again at its start", async () => {
		const keys: string[] = [];
		let isOpen = false;
		const pay = effect("pay", {
			async call({ idempotencyKey: key = "" }) {
				keys.push(key);
				if (!isOpen) throw new NonRetryableError("no such account");
				return "paid";
			},
		});
		const { timeline, run, records, close } = await house((lane) => told(lane, pay));
		expect(await run()).toBe("ended: told NON_RETRYABLE");
		const start = (await records()).find(({ kind }) => kind === stepStarted.kind)?.seq ?? 0;
		isOpen = true;
		await timeline.checkout(1);
		expect(await run()).toBe("ended: paid");
		await timeline.checkout(start);
		expect(await run()).toBe("ended: told NON_RETRYABLE");
		expect(keys).toHaveLength(2);
		await close();
	});

	test.each(["first try", "start"])("one that took too long is not made again, gone back to its %s", async (to) => {
		const paid: string[] = [];
		const asked: string[] = [];
		const pay = effect("pay", {
			retry: retry(2),
			timeoutMs: 20,
			reconcile: async (key) => {
				asked.push(key);
				return paid.includes(key) ? { kind: "done", result: "paid" } : { kind: "not_done" };
			},
			async call({ idempotencyKey: key = "", attempt }) {
				if (paid.length > 0) paid.push(key);
				if (attempt === 1 && paid.length === 0) throw Object.assign(new Error("down"), { retryable: true });
				if (paid.length > 0) return "paid";
				paid.push(key);
				return new Promise<string>(() => {});
			},
		});
		const { timeline, run, records, close } = await house((lane) => told(lane, pay));
		expect(await run()).toBe("ended: told STEP_TIMEOUT");
		const all = await records();
		const kind = to === "start" ? stepStarted.kind : stepFailed.kind;
		const seq = all.find((record) => record.kind === kind)?.seq ?? 0;
		await timeline.checkout(1);
		expect(await run()).toBe("ended: paid");
		await timeline.checkout(seq);
		await run();
		expect(new Set(paid).size).toBe(paid.length);
		await close();
	});
});

test("a label at which an effect is under way keeps its outcome: whoever goes back there does not make it again", async () => {
	const wal = await openWal(memoryEngine(), { records: [...journalRecords, ...timetravelRecords] });
	const timeline = await openTimeline({
		...{ wal, snapshots: memorySnapshots(), kept: memoryBlobs(), projections: [journal], outcomes: stepOutcomes },
		keptScopes: () => [scope],
	});
	const session = await openSession(timeline, scope);
	let made = 0;
	const pay = effect("pay", {
		async call() {
			if (made++ === 0) await timeline.label(wal.tip, "under-way");
			return "paid";
		},
	});
	const run = () =>
		runProgram("p", scope, stepPorts(session, { wal, signal: new AbortController().signal }), (lane) =>
			lane.perform(pay),
		);
	await run();
	await session.log.append(laneClosed({ lane: "p" }), scope).durable;
	for (let i = 0; i < 5; i++) await session.checkpoint("turn", `turn ${i}`);
	const cut = () => timeline.gc({ now: Number.MAX_SAFE_INTEGER, keepDays: 0, keepCheckpoints: 1 });
	expect(await cut()).toMatchObject({ was: 1, retainedFrom: 1, heldBy: { seq: 2, label: "under-way" } });
	await timeline.checkout((await timeline.labels())[0]?.seq ?? 0);
	expect([await run(), made]).toEqual(["paid", 1]);
	await session.close();
	await wal.close();
});

test("a lane that was closed and begun again makes nothing forgotten of what it knew before", async () => {
	const keys: string[] = [];
	let isOpen = false;
	const pay = effect("pay", {
		async call({ idempotencyKey: key = "" }) {
			keys.push(key);
			if (!isOpen) throw new NonRetryableError("no such account");
			return "paid";
		},
	});
	const { timeline, session, run, records, close } = await house((lane) =>
		lane.perform(pay).catch(({ code }: { code?: string }) => `told ${code}`),
	);
	expect(await run()).toBe("ended: told NON_RETRYABLE");
	const start = (await records()).find(({ kind }) => kind === stepStarted.kind)?.seq ?? 0;
	await session.log.append(laneClosed({ lane: "p" }), scope).durable;
	isOpen = true;
	expect(await run()).toBe("ended: paid");
	await timeline.checkout(start);
	expect(await run()).toBe("ended: told NON_RETRYABLE");
	expect(keys).toHaveLength(2);
	await close();
});

test("an effect whose line was left during a step inside it is known to be made, where its program catches that", async () => {
	const [wal, there, left] = [
		await openWal(memoryEngine(), { records: [...journalRecords, ...timetravelRecords] }),
		Promise.withResolvers<void>(),
		Promise.withResolvers<void>(),
	];
	const timeline = await openTimeline({
		...{ wal, snapshots: memorySnapshots(), projections: [journal], outcomes: stepOutcomes },
	});
	const session = await openSession(timeline, scope);
	let made = 0;
	const inner = effect("inner", {
		async call() {
			there.resolve();
			await left.promise;
			return "";
		},
	});
	const pay = effect("pay", {
		async call({ lane }) {
			await lane.perform(inner).catch(() => {});
			return `paid ${++made}`;
		},
	});
	// On the line that it began on, as work does that the session knows nothing of.
	const run = () => {
		const line = { view: session.view, log: session.log, adopt: session.adopt.bind(session) };
		const ports = stepPorts(
			{
				...line,
				get view() {
					return session.view;
				},
			},
			{ wal, signal: new AbortController().signal },
		);
		return runProgram("p", scope, ports, (lane) => lane.perform(pay));
	};
	const first = run();
	await there.promise;
	await timeline.checkout(0);
	left.resolve();
	await expect(first).rejects.toMatchObject({ code: "STALE_LINEAGE" });
	await timeline.checkout(2);
	expect([await run(), made]).toEqual(["paid 1", 1]);
	await session.close();
	await wal.close();
});

test("a clean-up that was between two tries when its run failed need not be asked for, once it was made on another line", async () => {
	const wal = await openWal(memoryEngine(), { records: [...journalRecords, ...timetravelRecords] });
	const timeline = await openTimeline({
		...{ wal, snapshots: memorySnapshots(), projections: [journal], outcomes: stepOutcomes },
	});
	const session = await openSession(timeline, scope);
	const made: string[] = [];
	let isHeld = true;
	const timers = { after: (ms: number, run: () => void) => (isHeld && ms === 300 ? () => {} : atOnce.after(ms, run)) };
	const tries = (name: string, failures: number, more: Partial<Step<string>> = {}): Step<string> =>
		effect(name, {
			async call() {
				made.push(name);
				if (made.filter((each) => each === name).length <= failures)
					throw Object.assign(new Error("no"), { retryable: name === "mend" });
				return name;
			},
			...more,
		});
	const pause = { maxAttempts: 3, initialIntervalMs: 300, backoffFactor: 1, maxIntervalMs: 300 };
	const run = () =>
		runProgram(
			"p",
			scope,
			stepPorts(session, { wal, signal: new AbortController().signal, timers, random: () => 0.5 }),
			async (lane) => {
				try {
					await lane.perform(tries("pay", 2));
				} catch (error) {
					const mend = lane.perform(tries("mend", 1, { retry: pause }));
					await Promise.all([mend, lane.perform(tries("tell", 1))]).catch(() => {});
					throw error;
				}
				await Promise.all([lane.perform(tries("ship", 0)), lane.perform(tries("bill", 0))]);
				return "ended";
			},
		).catch(({ message }: Error) => message);
	expect(await run()).toBe("no");
	const failed = wal.tip;
	isHeld = false;
	expect(await run()).toBe("no");
	await timeline.checkout(failed);
	let end = await run();
	for (let i = 0; i < 3 && end === "no"; i++) end = await run();
	expect(end).toBe("ended");
	expect(made.filter((name) => name === "mend")).toHaveLength(2);
	await session.close();
	await wal.close();
});
