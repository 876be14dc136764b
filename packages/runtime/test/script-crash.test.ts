/** Script runs after a crash at any moment, and after the front of the log has gone. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { afterEach, beforeEach, expect, test } from "vitest";
import { isDeep, pointsOf, sample } from "../../../tests/sample.ts";
import { decodeLine, encodeHead } from "../../wal/src/record/codec.ts";
import { copyState, keepLines, linesOf, removeState } from "./cut.ts";
import { filesTest } from "./files-test.ts";
import { seal } from "./kept-files.ts";
import { lastOf, makeProject, open, type Project, scripted, until } from "./project.ts";
import { echo, five, hashOf, nameOf, prompts, recordsOf, resumeToEnd, runToEnd, script, till } from "./script-runs.ts";

let project: Project;
beforeEach(async () => {
	project = await makeProject();
});
afterEach(() => project[Symbol.asyncDispose]());

/** A state as a crash leaves it that kept so many lines of the log. */
async function cutAfter(kept: number): Promise<Project> {
	const state = await copyState(project.state, join(project.root, `cut-${kept}`));
	await keepLines(state, kept);
	return { ...project, state };
}

const parseRecord = (line: string) =>
	JSON.parse(line) as { kind: string; data: { kind?: string; name?: string; fp?: string; run?: string } };

test("cut after any record, a run comes to the same end, and nothing that is recorded is paid again", async () => {
	const work = script(`
		const plan = await ctx.agent("plan");
		const parts = await ctx.parallel(args.sides.map((side) => async () => {
			await ctx.sleep(0);
			return ctx.agent("look at " + side);
		}));
		const receipt = await ctx.tool("pay", { what: "all" });
		const sum = await ctx.phase("sum", () => ctx.agent("sum up " + parts.join(", ")));
		return { plan, parts, receipt, sum };
	`);
	const args = { sides: ["north", "south"] };
	const first = await open(project, { model: echo(), tools: [till()] });
	const { run, end } = await runToEnd(first.runtime, work, args);
	expect(end).toMatchObject({ status: "completed", result: { receipt: "receipt 1" } });
	await first.runtime.close();
	const lines = await linesOf(project.state);
	expect(lines.length).toBeGreaterThan(15);

	let resumed = 0;
	for (const kept of pointsOf(1, lines.length, 6)) {
		const before = lines.slice(1, kept).map(parseRecord);
		const completed = before.filter(({ kind }) => kind === "step_completed").map(({ data }) => data);
		const [model, pay] = [echo(), till()];
		const place = await cutAfter(kept);
		const { runtime } = await open(place, { model, tools: [pay] });
		const isKnown = before.some(({ kind }) => kind === "script_started");
		if (isKnown) resumed++;
		const again = isKnown ? await resumeToEnd(runtime, run) : (await runToEnd(runtime, work, args)).end;
		expect(again, `cut after ${kept} lines`).toEqual(end);
		const recorded = new Set(completed.map(({ fp }) => fp));
		expect(model.asked.filter((request) => recorded.has(nameOf(model, request)))).toEqual([]);
		const isPaid = completed.some(({ name }) => name === "pay");
		expect(pay.paid).toHaveLength(isPaid ? 0 : 1);
		const calls = await recordsOf(runtime, "step_completed");
		expect(calls.filter(({ data }) => (data as { kind: string }).kind === "agent")).toHaveLength(4);
		expect(await runtime.scripts.verify(runtime.scripts.list()[0]?.run ?? "")).toMatchObject({ divergences: [] });

		// A second resume costs nothing at all.
		const paid = [model.asked.length, pay.paid.length];
		if (isKnown) await resumeToEnd(runtime, run);
		expect([model.asked.length, pay.paid.length]).toEqual(paid);
		await runtime.close();
		await removeState(place.state);
	}
	if (isDeep) expect(resumed).toBe(lines.length - 2);
	expect(resumed).toBeGreaterThan(0);
});

/** What a head says that was written when so many records were durable. */
function headAfter(lines: readonly string[], seq: number): string {
	const bytes = Buffer.from(
		lines
			.slice(0, seq + 1)
			.join("\n")
			.concat("\n"),
	);
	const first = decodeLine(Buffer.from(lines[0] ?? ""));
	if (first.type !== "header") throw new Error("the log has no header");
	const { log, first: segment } = first.header;
	const sum = crc32(bytes).toString(16).padStart(8, "0");
	return encodeHead({ log, segment, seq, offset: bytes.length, sum, epoch: 1 });
}

filesTest("what is proven durable stands in a file of its own")(
	"killed behind any record, whatever of it is proven durable, a preview says what the resume then pays",
	async () => {
		const work = script(`
		const plan = await ctx.agent("plan", { estimate: 11 });
		const parts = await ctx.parallel(["north", "south", "west"].map((side) => () => ctx.agent("look at " + side, { estimate: 11 })));
		await ctx.tool("pay", { what: plan });
		return ctx.agent("sum up " + parts.join(", "), { estimate: 11 });
	`);
		const first = await open(project, { model: echo(), tools: [till()] });
		const { run, end } = await runToEnd(first.runtime, work);
		await first.runtime.close();
		const lines = await linesOf(project.state);
		const begun = lines.findIndex((line, i) => i > 0 && parseRecord(line).kind === "script_started");

		const seen = { images: 0, behind: 0, costs: new Set<number>() };
		for (const kept of pointsOf(begun, lines.length - 1, 6)) {
			const place = await cutAfter(kept + 1);
			const previews: object[] = [];
			// A record says how much was durable when it was written.
			const { dur } = JSON.parse(lines[kept] ?? "") as { dur: number };
			for (let proven = kept; proven >= dur; proven--) {
				await writeFile(join(place.state, "state/wal.head"), headAfter(lines, proven));
				const before = await hashOf(place.state);
				const { runtime } = await open(place, { readOnly: "as recovered", model: echo(), tools: [till()] });
				const { toPay, saved, unknown } = await runtime.scripts.explain(run);
				previews.push({ kept, proven, toPay, saved, unknown });
				await runtime.scripts.check(run, { strict: true });
				await runtime.close();
				expect(await hashOf(place.state)).toBe(before);
				seen.images++;
				if (proven < kept) seen.behind++;
			}
			const { runtime } = await open(place, { model: echo(), tools: [till()] });
			expect(await resumeToEnd(runtime, run)).toEqual(end);
			const { paid, replayed } = runtime.meter;
			const real = { kept, toPay: paid.tokens, saved: replayed.tokens, unknown: 0 };
			expect(previews).toEqual(previews.map((_, i) => ({ ...real, proven: kept - i })));
			await runtime.close();
			await removeState(place.state);
			seen.costs.add(paid.tokens);
		}
		expect(seen.images).toBeGreaterThan(sample(2, 25));
		expect(seen.behind).toBeGreaterThan(sample(0, 10));
		if (isDeep) expect([...seen.costs]).toEqual([55, 44, 33, 22, 11, 0]);
	},
	60_000,
);

test("a preview of a crash at any record of a run, and of its edit, is what the resume behind that crash does and pays", async () => {
	const work = (last: string) =>
		script(`
		const plan = await ctx.agent("plan");
		const parts = await ctx.parallel(["north", "south", "west"].map((side) => () => ctx.agent("look at " + side)));
		await ctx.tool("pay", { what: plan });
		return ctx.agent("${last} " + parts.join(", "));
	`);
	const first = await open(project, { model: echo(), tools: [till()] });
	const { run } = await runToEnd(first.runtime, work("sum up"));
	expect(await resumeToEnd(first.runtime, run, { script: work("rhyme") })).toMatchObject({ status: "completed" });
	await first.runtime.close();
	const lines = await linesOf(project.state);
	const begun = lines.findIndex((line, i) => i > 0 && parseRecord(line).kind === "script_started");
	const whole = await open(project, { readOnly: true, model: echo(), tools: [till()] });

	const costs = new Set<number>();
	for (const at of pointsOf(begun, lines.length - 1, 4)) {
		const { toPay, saved, unknown, calls } = await whole.runtime.scripts.explain(run, { at });
		const place = await cutAfter(at + 1);
		const ahead = await open(place, { readOnly: "as recovered", model: echo(), tools: [till()] });
		// What is assumed of calls that are not recorded is as it happened, so their names may differ.
		const states = (all: typeof calls) =>
			all.map(({ lane, at, state, seq, saved }) => ({ lane, at, state, seq, saved }));
		expect(states(calls), `at #${at}`).toEqual(states((await ahead.runtime.scripts.explain(run)).calls));
		await ahead.runtime.close();
		const { runtime } = await open(place, { model: echo(), tools: [till()] });
		expect(await resumeToEnd(runtime, run)).toMatchObject({ status: "completed" });
		const { paid, replayed } = runtime.meter;
		expect({ toPay, saved, unknown }, `at #${at}`).toEqual({ toPay: paid.tokens, saved: replayed.tokens, unknown: 0 });
		await runtime.close();
		await removeState(place.state);
		costs.add(paid.tokens);
	}
	if (isDeep) expect([...costs].sort((a, b) => a - b)).toEqual([0, 11, 22, 33, 44, 55]);
	expect(costs.size).toBeGreaterThan(1);
	await expect(whole.runtime.scripts.explain(run, { at: begun - 1 })).rejects.toMatchObject({
		code: "RUNTIME_UNKNOWN_SCRIPT_RUN",
		message: `there is no script run "${run}" at #${begun - 1}; there are none`,
	});
	await expect(whole.runtime.scripts.explain(run, { at: lines.length })).rejects.toMatchObject({
		code: "TIMETRAVEL_OUT_OF_RANGE",
	});
	await whole.runtime.close();
});

test("an effect that was under way is made again under the same key, or as the policy says", async () => {
	const keys: (string | undefined)[] = [];
	const first = await open(project, {
		model: echo(),
		tools: [
			{
				...till(),
				call: async (_, { idempotencyKey }) => {
					keys.push(idempotencyKey);
					return "paid";
				},
			},
		],
	});
	const { run } = await runToEnd(first.runtime, script("return ctx.tool('pay', { what: 'all' });"));
	await first.runtime.close();
	const lines = await linesOf(project.state);
	const start = lines.findIndex((line, i) => i > 0 && parseRecord(line).kind === "step_started") + 1;
	for (const [whenInDoubt, paid, status] of [
		["retry", [keys[0]], "completed"],
		["skip", [], "completed"],
		["discard", [], "stopped"],
	] as const) {
		const pay = till();
		const place = await cutAfter(start);
		const { runtime } = await open(place, { model: echo(), tools: [pay] });
		expect(await resumeToEnd(runtime, run, { whenInDoubt }), whenInDoubt).toMatchObject({ status });
		expect(pay.paid.map(({ key }) => key)).toEqual(paid);
		await runtime.close();
		await removeState(place.state);
	}
});

/** Talk after a run, so that a cut is behind it. */
async function talk({ runtime }: Awaited<ReturnType<typeof open>>, turns: number): Promise<void> {
	for (let n = 0; n < turns; n++) {
		await runtime.prompt(`hello ${n}`);
		await runtime.idle();
	}
}

test("gc holds on to a run that was cut off, and it goes on afterwards", async () => {
	const model = scripted(async (request) => {
		if (lastOf(request) === "call 3") await new Promise(() => {});
		return `echo: ${lastOf(request)}`;
	});
	const first = await open(project, { model });
	await talk(first, 2);
	await first.runtime.close();
	await seal(project.state);
	const cut = await open(project, { model });
	const { run } = await cut.runtime.scripts.start(five(), undefined);
	await until(() => prompts(model).includes("call 3"));
	await cut.runtime.close();
	await seal(project.state);

	const opened = await open(project, { model: echo() });
	const { runtime } = opened;
	await talk(opened, 5);
	await runtime.gc({ keepDays: 0, keepCheckpoints: 1 });
	expect(runtime.wal.first).toBeGreaterThan(1);
	const [found] = runtime.scripts.list();
	expect(found).toMatchObject({ run, status: "open" });
	expect(runtime.wal.first).toBeLessThanOrEqual(found?.started ?? 0);
	await runtime.close();
	const after = echo();
	const next = await open(project, { model: after });
	expect(await resumeToEnd(next.runtime, run)).toMatchObject({ status: "completed" });
	expect(prompts(after)).toEqual(["call 3", "call 4", "call 5"]);
	await next.runtime.close();
});

test("a finished run outlives its records: its result and its text stay, and no resume makes again what is gone", async () => {
	const model = echo();
	const first = await open(project, { model });
	const { run, end } = await runToEnd(first.runtime, five());
	await first.runtime.close();
	await seal(project.state);

	const opened = await open(project, { model });
	const { runtime } = opened;
	await talk(opened, 5);
	await runtime.gc({ keepDays: 0, keepCheckpoints: 1 });
	const asked = model.asked.length;
	const [found] = runtime.scripts.list();
	expect(runtime.wal.first).toBeGreaterThan(found?.started ?? Number.POSITIVE_INFINITY);
	await runtime.close();
	const next = await open(project, { model });
	expect(await next.runtime.scripts.result(run)).toEqual((end as { result: unknown }).result);
	// What is gone is not taken for a script that does something else.
	await expect(next.runtime.scripts.verify(run)).rejects.toMatchObject({
		code: "RUNTIME_SCRIPT_PRUNED",
		detail: { run },
	});
	await expect(next.runtime.scripts.check(run, { strict: true })).rejects.toMatchObject({
		code: "RUNTIME_SCRIPT_PRUNED",
	});
	// Nor is it made again by a resume, which makes no call that is known.
	for (const refused of [next.runtime.scripts.resume(run), next.runtime.scripts.explain(run)])
		await expect(refused).rejects.toMatchObject({ code: "RUNTIME_SCRIPT_PRUNED", detail: { run } });
	expect(model.asked).toHaveLength(asked);
	await next.runtime.close();
});
