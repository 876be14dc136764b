/** Script runs under rewinds: stopped where they are covered, and gone on with from there. */
import { stepCompleted, stepStarted } from "@reyn/journal";
import { afterEach, beforeEach, expect, test } from "vitest";
import { mainSession, type Runtime } from "../src/index.ts";
import { gate, lastOf, makeProject, open, type Project, scripted, until } from "./project.ts";
import { echo, five, prompts, recordsOf, resumeToEnd, runToEnd, script, till } from "./script-runs.ts";

let project: Project;
beforeEach(async () => {
	project = await makeProject();
});
afterEach(() => project[Symbol.asyncDispose]());

/** What the state in memory is has to be what a restart would make of the log. */
const expectLive = async (runtime: Runtime): Promise<void> =>
	expect(runtime.view().hash()).toBe((await runtime.timeline.at(runtime.wal.tip, mainSession)).hash());

/** The seqs at which the agents of a script ended. */
const endsOfAgents = async (runtime: Runtime): Promise<readonly number[]> =>
	(await recordsOf(runtime, stepCompleted.kind))
		.filter(({ data }) => (data as { kind: string }).kind === "agent")
		.map(({ seq }) => seq);

test("a rewind stops a run that it covers, and the run goes on from there when it is resumed", async () => {
	const held = gate();
	const model = scripted(async (request) => {
		if (lastOf(request) === "call 4") await held.opened;
		return `echo: ${lastOf(request)}`;
	});
	const { runtime } = await open(project, { model });
	const { run, end } = await runtime.scripts.start(five(), undefined);
	await until(() => model.asked.length === 4);
	const [, second = 0] = await endsOfAgents(runtime);
	await runtime.checkout(second, "test");
	expect(await end).toMatchObject({ status: "stopped", reason: { message: "a rewind is under way" } });
	await expectLive(runtime);
	expect(runtime.scripts.list()).toMatchObject([{ run, status: "open" }]);

	held.open();
	expect(await resumeToEnd(runtime, run)).toMatchObject({ status: "completed" });
	expect(prompts(model).slice(4)).toEqual(["call 3", "call 4", "call 5"]);
	await expectLive(runtime);
	await runtime.close();
});

test("before its start a run is not known; undone, it is there again with all that it had", async () => {
	const model = echo();
	const { runtime } = await open(project, { model });
	const { run, end } = await runToEnd(runtime, five());
	await runtime.checkout((runtime.scripts.list()[0]?.started ?? 0) - 1, "test");
	expect(runtime.scripts.list()).toEqual([]);
	for (const lookUp of [
		runtime.scripts.resume(run),
		runtime.scripts.explain(run),
		runtime.scripts.verify(run),
		runtime.scripts.text(run),
	])
		await expect(lookUp).rejects.toMatchObject({ code: "RUNTIME_UNKNOWN_SCRIPT_RUN" });
	await runtime.undo("test");
	expect(runtime.scripts.list()).toMatchObject([{ run, status: "completed" }]);
	expect(await resumeToEnd(runtime, run)).toEqual(end);
	expect(model.asked).toHaveLength(5);
	await expectLive(runtime);
	await runtime.close();
});

test("a completed run that is taken back to before a call makes it again, and its own later calls", async () => {
	const model = echo();
	const { runtime } = await open(project, { model });
	const { run, end } = await runToEnd(runtime, five());
	const [, , , fourth = 0] = await endsOfAgents(runtime);
	await runtime.checkout(fourth - 2, "test");
	expect(await resumeToEnd(runtime, run)).toEqual(end);
	expect(prompts(model).slice(5)).toEqual(["call 4", "call 5"]);
	// And back on the line that was left, nothing.
	await runtime.undo("test");
	expect(await resumeToEnd(runtime, run)).toEqual(end);
	expect(model.asked).toHaveLength(7);
	await runtime.close();
});

test("an effect that was open at the target and is over now is not made again", async () => {
	const pay = till();
	const { runtime } = await open(project, { model: echo(), tools: [pay] });
	const { run, end } = await runToEnd(
		runtime,
		script("return [await ctx.tool('pay', { a: 1 }), await ctx.agent('a')];"),
	);
	const [started] = await recordsOf(runtime, stepStarted.kind);
	await runtime.checkout(started?.seq ?? 0, "test");
	expect(await resumeToEnd(runtime, run)).toEqual(end);
	expect(pay.paid).toHaveLength(1);
	await expectLive(runtime);
	// Before its start it is another payment, with another key.
	await runtime.checkout((started?.seq ?? 0) - 1, "test");
	expect(await resumeToEnd(runtime, run)).toMatchObject({ result: ["receipt 2", "echo: a"] });
	expect(new Set(pay.paid.map(({ key }) => key)).size).toBe(2);
	await runtime.close();
});

test("a call that will not stop holds a rewind back; its outcome is kept, and it is not made again", async () => {
	const held = gate();
	const paid: unknown[] = [];
	// It does not hear that it is cancelled.
	const pay = {
		...till(),
		call: async () => {
			paid.push(1);
			await held.opened;
			return "paid";
		},
	};
	const { runtime } = await open(project, { model: echo(), tools: [pay], quietMs: 20 });
	const { run, end } = await runtime.scripts.start(script("return ctx.tool('pay', { a: 1 });"), undefined);
	await until(() => paid.length === 1);
	const [started] = await recordsOf(runtime, stepStarted.kind);
	await runtime.timeline.label(1, "before");
	const { tip } = runtime.wal;
	await expect(runtime.checkout(started?.seq ?? 0, "test")).rejects.toMatchObject({
		code: "RUNTIME_NOT_QUIET",
		detail: { still: [`script ${run}`] },
	});
	expect(runtime.wal.tip).toBe(tip);
	held.open();
	expect(await end).toMatchObject({ status: "stopped" });
	expect(await resumeToEnd(runtime, run)).toEqual({ status: "completed", result: "paid" });
	expect(paid).toHaveLength(1);
	await expectLive(runtime);
	await runtime.close();
});

test("a rewind of another session leaves a run alone", async () => {
	const held = gate();
	const model = scripted(async (request) => {
		if (lastOf(request) === "call 2") await held.opened;
		return `echo: ${lastOf(request)}`;
	});
	const { runtime } = await open(project, { model });
	const other = { agent: "default", session: "other" };
	await runtime.prompt("hello", other);
	await until(() => runtime.timeline.checkpoints().length > 0);
	const { end } = await runtime.scripts.start(five(), undefined);
	await until(() => prompts(model).includes("call 2"));
	await runtime.checkout(runtime.timeline.checkpoints()[0]?.seq ?? 0, "test", other);
	held.open();
	expect(await end).toMatchObject({ status: "completed" });
	expect(prompts(model).filter((prompt) => prompt.startsWith("call"))).toHaveLength(5);
	await expectLive(runtime);
	await runtime.close();
});

test("a run that is resumed while it is being rewound is refused, and never left without an end", async () => {
	const { runtime } = await open(project, { model: echo() });
	const { run, end } = await runToEnd(runtime, five());
	const [, second = 0] = await endsOfAgents(runtime);
	const refused: unknown[] = [];
	// The moment between the reset and its end is short; one try of several is in it.
	for (let attempt = 0; attempt < 5; attempt++) {
		const { tip } = runtime.wal;
		const moved = runtime.checkout(second, "test", { ...mainSession, run });
		await until(() => runtime.wal.tip > tip);
		const resumed = await runtime.scripts.resume(run).catch((error: unknown) => error);
		if (resumed instanceof Error) refused.push((resumed as { code?: unknown }).code);
		else await (resumed as { end: Promise<unknown> }).end;
		await moved;
		expect(await resumeToEnd(runtime, run)).toEqual(end);
	}
	expect(refused[0]).toBe("RUNTIME_SCRIPT_RUNS");
	await expectLive(runtime);
	await runtime.close();
});
