/** The events of a run that goes on and of one that is read back add up to the same. */
import { setImmediate } from "node:timers/promises";
import fc from "fast-check";
import { expect, test } from "vitest";
import { histories } from "../../../../tests/sample.ts";
import type { Model } from "../../src/index.ts";
import { isInner } from "../../src/script/branches.ts";
import { eventOfRecord } from "../../src/script/events.ts";
import {
	type CallEvent,
	callsOf,
	emptyRunView,
	nextRunView,
	type RunView,
	type ScriptEvent,
} from "../../src/script/index.ts";
import { anyEdit, anyProgram, edited, sourceOf } from "./programs.ts";
import { echo, type Log, Process, script, writer } from "./script-process.ts";

const { numRuns, seed } = histories(150, 1000);
const RUNS = Math.ceil(numRuns / 15);

const viewOf = (events: readonly ScriptEvent[]): RunView => events.reduce(nextRunView, emptyRunView);

const readBack = ({ records }: Log): RunView => viewOf(records.flatMap((record) => eventOfRecord(record) ?? []));

/** What both speak of: kind, label and tokens, and the state. What is recalled leaves no record, so read back it is kept. */
function sameIn(live: RunView, recorded: RunView): void {
	const told = new Map(callsOf(live).map((call) => [placeOf(call), call]));
	for (const { order, note, ...call } of callsOf(recorded) as readonly ShownCall[]) {
		const seen = told.get(placeOf(call));
		// What was under way when the process died may have been written, and not told.
		if (!seen) continue;
		if (call.state === "kept") expect(["hit", "failed", "kept"]).toContain(seen.state);
		expect(seen).toMatchObject(call.state === "kept" ? { ...call, state: seen.state } : call);
	}
}

type ShownCall = CallEvent & { readonly order: number };

const placeOf = ({ lane, at }: CallEvent): string => `${lane} ${at}`;

/** The places of the calls whose outcome is recorded. */
const outcomesIn = ({ records }: Log): readonly string[] =>
	records.flatMap(({ kind, data }) => {
		const { lane, place } = data as { lane: string; place?: { at: number } };
		return (kind === "step_completed" || kind === "step_failed") && place && !isInner(lane)
			? [`${lane} ${place.at}`]
			: [];
	});

test("a run that goes on and one that is read back add up to the same", async () => {
	const anyKill = fc.option(fc.nat(12), { nil: undefined });
	const life = fc.record({ edits: fc.array(anyEdit, { maxLength: 1 }), appends: anyKill, delay: fc.nat(3) });
	await fc.assert(
		fc.asyncProperty(anyProgram, fc.array(life, { minLength: 1, maxLength: 4 }), async (first, lives) => {
			let program = first;
			let run = new Process();
			for (const { edits, appends, delay } of [...lives, { edits: [], appends: undefined, delay: 0 }]) {
				program = edits.reduce(edited, program);
				const answer = async (): Promise<string> => {
					for (let i = 0; i < delay; i++) await setImmediate();
					return `after ${delay}`;
				};
				const write = ({ text }: { readonly text?: unknown }): Promise<string> =>
					String(text).startsWith("c") ? Promise.reject(new Error("disk full")) : answer();
				const world = { model: echo(answer), tools: [writer(write)] };
				run = run.next({ ...world, ...(appends === undefined ? {} : { appends }) });
				const before = readBack(run.log);
				await run.work(sourceOf(program));
				// A script that fails may leave calls under way, and they end all the same.
				for (let i = 0; i < 10; i++) await setImmediate();
				if (run.isDead) continue;
				const [live, recorded] = [run.events.reduce(nextRunView, before), readBack(run.log)];
				sameIn(live, recorded);
				const shown = callsOf(live).map(placeOf);
				for (const place of outcomesIn(run.log)) expect(shown).toContain(place);
				expect([live.name, live.status, live.reason]).toEqual([recorded.name, recorded.status, recorded.reason]);
				expect([recorded.saved, recorded.paid]).toEqual([live.saved, live.paid]);
				const told = callsOf(live).filter(({ state }) => state === "hit" || state === "live");
				const cost = told.reduce((all, { tokens = 0 }) => all + tokens, 0);
				const paid = 11 * run.made.filter((each) => !each.startsWith("write ")).length;
				expect({ saved: live.saved, paid: live.paid }).toEqual({ saved: cost - paid, paid });
			}
		}),
		{ numRuns: RUNS, seed },
	);
});

test("a run tells each call as it goes on", async () => {
	const source = script(`await ctx.agent("a");
	try { await ctx.tool("write", {}); } catch {}
	return ctx.phase("look", () => ctx.agent("b", { label: "a look" }));`);
	const run = new Process({ tools: [writer(() => Promise.reject(new Error("disk full")))] });
	await run.work(source);
	const shown = (view: RunView): unknown[] =>
		callsOf(view).map(({ lane, at, label, state, tokens, note }) => [lane, at, label, state, tokens, note]);
	const calls = [
		["script/r1", 0, "a", "live", 11, undefined],
		["script/r1", 1, "write", "failed", undefined, "disk full"],
		["script/r1/phase.look/0", 0, "a look", "live", 11, undefined],
	];
	expect(shown(viewOf(run.events))).toEqual(calls);
	expect(shown(readBack(run.log))).toEqual(calls);
	expect(viewOf(run.events)).toMatchObject({ name: "s.ts", status: "completed", paid: 22, saved: 0, size: 3 });

	const again = run.next();
	await again.work(source);
	const view = viewOf([...run.events, ...again.events]);
	expect(callsOf(view).map(({ state }) => state)).toEqual(["hit", "failed", "hit"]);
	expect(view).toMatchObject({ status: "completed", paid: 0, saved: 22, size: 3 });
});

test("an agent that was cut in its middle costs what is paid of it now; what was paid before is recalled", async () => {
	const model: Model = {
		id: "asks",
		async *generate({ messages }) {
			if (messages.length > 1) yield { type: "text", text: "done" };
			else yield { type: "toolCall", call: { id: "c1", name: "write", args: {} } };
			yield { type: "usage", usage: { inputTokens: 100, outputTokens: 10 } };
		},
	};
	const source = script('await ctx.agent("first"); await ctx.agent("fill", { tools: ["write"] });');
	const run = new Process({ model, tools: [writer()], appends: 6 });
	expect(await run.work(source)).toMatchObject({ status: "killed" });
	expect(readBack(run.log)).toMatchObject({ saved: 0, paid: 330 });
	const cut = run.next({ appends: 0 });
	await cut.work(source);
	// Whatever it has recalled, nobody wrote it down.
	expect(readBack(run.log)).toMatchObject({ saved: undefined, paid: 0 });
	const last = cut.next();
	await last.work(source);
	expect(last.made).toHaveLength(1);
	for (const view of [readBack(run.log), viewOf(last.events)])
		expect(view).toMatchObject({ status: "completed", saved: 330, paid: 110 });
});

test("a failure that an edit brings back is recorded at its place, as a result is", async () => {
	const writes = script('try { await ctx.tool("write", {}); } catch {} return "over";');
	const asks = script('return ctx.agent("a");');
	let run = new Process({ tools: [writer(() => Promise.reject(new Error("disk full")))] });
	for (const source of [writes, asks, writes]) {
		run = run.next();
		await run.work(source);
	}
	expect(run.made).toEqual([]);
	const shown = [["write", "failed", "disk full"]];
	for (const view of [viewOf(run.events), readBack(run.log)])
		expect(callsOf(view).map(({ label, state, note }) => [label, state, note])).toEqual(shown);
});

test("what was recorded before a kill is kept until it is asked for again", async () => {
	const source = script('await ctx.agent("a"); await ctx.agent("b"); throw new Error("no");');
	const run = new Process({ appends: 3 });
	await run.work(source);
	const next = run.next();
	next.begin({ script: "other" });
	const begun = viewOf([...run.events, ...next.events]);
	expect(callsOf(begun).map(({ label, state }) => [label, state])).toEqual([
		["a", "kept"],
		["b", "kept"],
	]);
	expect(callsOf(readBack(run.log)).map(({ label, state }) => [label, state])).toEqual([["a", "kept"]]);
	const last = run.next();
	await last.work(source);
	expect(readBack(run.log)).toMatchObject({ status: "failed", reason: "no" });
});

test("a failure that ended one life of a run is no part of the next", () => {
	const failed = viewOf([
		{ type: "begun", name: "s.ts", isResumed: false },
		{ type: "ended", status: "failed", reason: "no" },
	]);
	expect(failed).toMatchObject({ status: "failed", reason: "no" });
	expect(nextRunView(failed, { type: "begun", isResumed: true })).not.toHaveProperty("reason");
});
