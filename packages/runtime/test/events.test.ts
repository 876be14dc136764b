/** One stream of events over one log: for its writer, for who reads it in another process, and for who asks later. */
import { PLAN_TOOL } from "@reyn/plan";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { startSource } from "../../../tests/kit/killable.ts";
import { SEED, seeded } from "../../../tests/kit/seeded.ts";
import { mainSession, type Runtime, type RuntimeEvent } from "../src/index.ts";
import { copyState, keepLines, linesOf } from "./cut.ts";
import { filesTest } from "./files-test.ts";
import { live, options } from "./lived.ts";
import { gate, lastOf, makeProject, open, type Project, scripted, until } from "./project.ts";

let project: Project;
beforeEach(async () => {
	project = await makeProject();
});
afterEach(() => project[Symbol.asyncDispose]());

/** What is derived from records: all but what the working process alone knows. */
const derived = (events: readonly RuntimeEvent[]): readonly RuntimeEvent[] =>
	events.filter(({ seq }) => seq !== undefined);

/** All that a runtime tells up to now, from a seq on. */
async function toldOf(runtime: Runtime, after = 0, last = runtime.wal.durableTip): Promise<readonly RuntimeEvent[]> {
	const stop = new AbortController();
	const events: RuntimeEvent[] = [];
	const heard = (async () => {
		for await (const event of runtime.subscribe({ after, signal: stop.signal })) events.push(event);
	})();
	// What comes after all that there is: a checkpoint always tells.
	const seq = await runtime.timeline.checkpoint("turn", "the end", mainSession, runtime.view());
	await until(() => events.some((event) => event.seq === seq));
	stop.abort();
	await heard;
	return events.filter((event) => (event.seq ?? 0) <= last);
}

describe("what is told", () => {
	filesTest("another process reads")(
		"is the same in the writer and in a process that follows its log, in order and once",
		async () => {
			const { runtime, events } = await open(project, options());
			const { tip } = runtime.wal;
			const reader = startSource(new URL("events-reader.ts", import.meta.url).pathname, [project.state, String(tip)], {
				input: "as it goes",
			});
			const lines: RuntimeEvent[] = [];
			try {
				const isReady = (line: string): boolean => JSON.parse(line).type === "ready";
				await reader.line(isReady);
				await live(runtime, seeded(SEED));
				const seq = await runtime.timeline.checkpoint("turn", "the end", mainSession, runtime.view());
				await runtime.idle();
				await reader.line((line) => JSON.parse(line).seq === seq);
				for (const line of reader.lines) if (!isReady(line)) lines.push(JSON.parse(line));
			} finally {
				reader.child.stdin?.end();
			}
			const told = derived(events);
			expect(lines.every((event) => event.seq !== undefined)).toBe(true);
			expect(lines).toEqual(JSON.parse(JSON.stringify(told)));
			const seqs = told.map(({ seq }) => seq as number);
			expect(seqs).toEqual([...seqs].sort((a, b) => a - b));
			const types = [
				"turn_end",
				"tool",
				"tool_failed",
				"checkpoint",
				"plan_started",
				"plan_step",
				"plan_end",
				"skill_end",
				"script",
				"moved",
			];
			expect([...new Set(told.map(({ type }) => type))].sort()).toEqual(types.sort());
			await runtime.close();
		},
	);

	test("is durable", async () => {
		let runtime: Runtime | undefined;
		const early: RuntimeEvent[] = [];
		const opened = await open(project, {
			...options(),
			onEvent: (event) => void ((event.seq ?? 0) > (runtime?.wal.durableTip ?? 0) && early.push(event)),
		});
		runtime = opened.runtime;
		await live(runtime, seeded(3));
		expect(early).toEqual([]);
		await runtime.close();
	});

	test("is told who asks later: of each record that counts then, once, and of the rest from a seq on", async () => {
		const { runtime, events } = await open(project, options());
		await live(runtime, seeded(11));
		const { lineage } = runtime.timeline;
		const active = new Set<number>();
		for await (const record of runtime.wal.read()) if (lineage.isActive(record)) active.add(record.seq);
		const counting = derived(events).filter(({ seq = 0 }) => active.has(seq));
		expect(counting.length).toBeLessThan(derived(events).length);
		const last = runtime.wal.durableTip;
		expect(await toldOf(runtime)).toEqual(counting);
		const middle = counting[Math.floor(counting.length / 2)]?.seq ?? 0;
		expect(await toldOf(runtime, middle, last)).toEqual(counting.filter(({ seq = 0 }) => seq > middle));
		await runtime.close();
	});

	filesTest("another process reads")(
		"is told by the next process, where one was killed between a record and the telling",
		async () => {
			const first = await open(project, options());
			await first.runtime.prompt("plan!");
			await first.runtime.idle();
			await first.runtime.close();
			const whole = derived(first.events);
			const lines = await linesOf(project.state);
			for (const kept of [lines.length, lines.length - 3, Math.floor(lines.length / 2)]) {
				const state = await copyState(project.state, `${project.root}/cut-${kept}`);
				await keepLines(state, kept);
				const { runtime } = await open({ ...project, state }, options());
				const last = runtime.wal.tip;
				const told = (await toldOf(runtime)).filter(({ seq = 0 }) => seq < kept);
				expect(told).toEqual(whole.filter(({ seq = 0 }) => seq < kept));
				expect(last).toBeGreaterThanOrEqual(kept);
				await runtime.close();
			}
		},
	);

	filesTest("another opening reads")(
		"counts the steps of a plan that a rewind has moved, for a reader too",
		async () => {
			const [a, c] = [gate(), gate()];
			const steps = [
				{ id: "a", description: "a", tools: [], depends_on: [] },
				{ id: "b", description: "b", tools: [], depends_on: ["a"] },
				{ id: "c", description: "c", tools: [], depends_on: ["b"] },
			];
			const model = scripted(async (request) => {
				const last = lastOf(request);
				if (last === "plan!") return [{ name: PLAN_TOOL, args: { goal: "all", steps } }];
				const [, step = ""] = /Step (\w)/.exec(last) ?? [];
				if (step === "a") await a.opened;
				if (step === "c") await c.opened;
				return "did it";
			});
			const { runtime, events } = await open(project, { model });
			const reader = await open(project, { readOnly: true });
			const heard: RuntimeEvent[] = [];
			const reading = (async () => {
				for await (const event of reader.runtime.subscribe()) heard.push(event);
			})();
			const isAtC = (event: RuntimeEvent): boolean => event.type === "plan_step" && event.step === "c";
			await runtime.prompt("plan!");
			await until(() => events.some(({ type }) => type === "checkpoint"));
			const turn = events.find(({ type }) => type === "checkpoint")?.seq ?? 0;
			a.open();
			await until(() => events.some(isAtC) && heard.some(isAtC));
			await runtime.checkout(turn, "ada");
			c.open();
			await runtime.idle();
			await until(() => heard.some(({ type }) => type === "plan_end"));
			const done = derived(events).flatMap((event) =>
				event.type === "plan_step" && event.change.status === "completed" ? [`${event.step} ${event.done}`] : [],
			);
			expect(done).toEqual(["a 1", "b 2", "a 1", "b 2", "c 3"]);
			expect(heard).toEqual(derived(events));
			await reader.runtime.close();
			await reading;
			await runtime.close();
		},
	);
});

describe("a listener", () => {
	test("that is slow holds nothing up, and misses nothing that is recorded", async () => {
		const { runtime, events } = await open(project, options());
		const slow = runtime.subscribe();
		const begun = slow.next();
		for (let i = 0; i < 5; i++) await runtime.prompt(`hello ${i}`);
		await runtime.idle();
		const heard: RuntimeEvent[] = [];
		for (let next = await begun; !next.done; next = await slow.next()) {
			heard.push(next.value);
			if (derived(heard).length === derived(events).length) break;
		}
		expect(derived(heard)).toEqual(derived(events));
		await slow.return?.();
		await runtime.close();
	});

	test("is told what it missed of what no record says, and keeps no more than 1,000 of that", async () => {
		const text = "word ".repeat(40);
		const model = scripted(() => text);
		const { runtime } = await open(project, {
			model: {
				...model,
				id: "many",
				async *generate(...given) {
					for (let i = 0; i < 1500; i++) yield { type: "text", text: "x" };
					yield* model.generate(...given);
				},
			},
		});
		const slow = runtime.subscribe();
		// It listens from here on, and asks for nothing more until the turn is over.
		const first = slow.next();
		await runtime.prompt("much");
		await runtime.idle();
		const heard = [(await first).value as RuntimeEvent];
		while (!heard.some(({ type }) => type === "checkpoint")) heard.push((await slow.next()).value as RuntimeEvent);
		const missed = heard.flatMap((event) => (event.type === "missed" ? [event.events] : []));
		expect(missed.length).toBe(1);
		const texts = heard.filter(({ type }) => type === "text").length;
		expect(texts).toBeLessThanOrEqual(1001);
		expect(texts + (missed[0] ?? 0)).toBe(1501);
		await runtime.close();
	});

	test("is told that it is over by its signal, by a return, and by close", async () => {
		const { runtime } = await open(project, options());
		const stop = new AbortController();
		const [bySignal, byClose, left] = [
			runtime.subscribe({ signal: stop.signal }),
			runtime.subscribe(),
			runtime.subscribe({ after: 0 }),
		];
		const ends = [bySignal.next(), byClose.next(), left.next()];
		// It waits, and need not any more.
		await left.return?.();
		expect(await ends[2]).toMatchObject({ done: true });
		stop.abort();
		expect(await ends[0]).toMatchObject({ done: true });
		await runtime.close();
		expect(await ends[1]).toMatchObject({ done: true });
		await expect(runtime.subscribe().next()).rejects.toMatchObject({ code: "WAL_CLOSED" });
	});
});

describe("a listener that throws", () => {
	test.each([
		["throws", () => down()],
		["rejects", async () => down()],
	])("(%s) ends nothing, and is told all the same", async (_, fail) => {
		const warned: (Error & { readonly code?: string })[] = [];
		const warn = (warning: Error): void => void warned.push(warning);
		process.on("warning", warn);
		const told: RuntimeEvent[] = [];
		const { runtime } = await open(project, {
			...options(),
			onEvent(event) {
				told.push(event);
				return fail();
			},
		});
		const heard: RuntimeEvent[] = [];
		const following = (async () => {
			for await (const event of runtime.subscribe()) heard.push(event);
		})();
		for (const text of ["hello", "again"]) await runtime.prompt(text);
		await runtime.idle();
		await runtime.close();
		await following;
		expect(heard.filter(({ type }) => type === "turn_end")).toHaveLength(2);
		expect(told).toEqual(heard);
		await new Promise(setImmediate);
		process.off("warning", warn);
		// Of each type once.
		const types = new Set(told.map(({ type }) => type));
		expect(warned.filter(({ code }) => code === "REYN_LISTENER")).toHaveLength(types.size);
		expect(warned[0]?.message).toContain("the screen is gone");
	});

	const down = (): never => {
		throw new Error("the screen is gone");
	};
});
