/** A rewind stops what it covers, waits until that is quiet, and lets none of it begin; what it does not cover goes on. */
import type { Tool } from "@reyn/journal";
import { PLAN_TOOL } from "@reyn/plan";
import { afterEach, beforeEach, expect, test } from "vitest";
import { mainSession, type Runtime } from "../src/index.ts";
import { gate, lastOf, makeProject, open, type Project, type Script, scripted, until } from "./project.ts";
import { recordsOf, script } from "./script-runs.ts";

let project: Project;
beforeEach(async () => {
	project = await makeProject();
});
afterEach(() => project[Symbol.asyncDispose]());

const other = { agent: "default", session: "other" };

const PLAN = {
	goal: "the goal",
	steps: [
		{ id: "a", description: "first", tools: [], depends_on: [] },
		{ id: "b", description: "last", tools: [], depends_on: ["a"] },
	],
};

/** `plan!` begins a plan, `wait` and `Step b` wait, each for its own gate; `use` uses a tool that hears no signal. */
async function start({ quietMs = 40 } = {}) {
	const [turn, step, tool] = [gate(), gate(), gate()];
	const script: Script = async (request) => {
		const last = lastOf(request);
		if (last.startsWith("plan!")) return [{ name: PLAN_TOOL, args: PLAN }];
		if (last === "use") return [{ name: "deaf", args: {} }];
		if (last === "wait") await turn.opened;
		if (/Step b/.test(last)) await step.opened;
		return `echo: ${last.split("\n")[0]}`;
	};
	const model = scripted(script);
	const used: string[] = [];
	const deaf: Tool = {
		name: "deaf",
		description: "hears no signal",
		parameters: { type: "object" },
		purity: "external",
		async call(_, { signal }) {
			used.push("begun");
			signal.addEventListener("abort", () => used.push("cancelled"), { once: true });
			await tool.opened;
			return "used";
		},
	};
	const opened = await open(project, { model, tools: [deaf], quietMs });
	const asks = (what: RegExp): number => model.asked.filter((request) => what.test(lastOf(request))).length;
	return { ...opened, model, used, asks, gates: { turn, step, tool } };
}

const said = (runtime: Runtime, scope = mainSession): readonly string[] =>
	runtime
		.conversation(scope)
		.items.toArray()
		.flatMap((item) => ("text" in item ? [item.text] : []));

test("what does not stop in time is named, with all that was cancelled; nothing is written, and all of it goes on with resume", async () => {
	const { runtime, used, asks, gates, shown } = await start();
	await runtime.prompt("hello");
	await runtime.idle();
	const target = runtime.wal.tip;
	await runtime.prompt("plan!");
	await until(() => asks(/Step b/) === 1);
	await runtime.prompt("use");
	await until(() => used.length === 1);
	await runtime.prompt("wait", other);
	const { tip } = runtime.wal;
	const [{ plan = "" } = {}] = runtime.restored().plans;
	for (let tries = 0; tries < 2; tries++) {
		const failure = runtime.checkout(target, "test");
		await expect(failure).rejects.toMatchObject({
			code: "RUNTIME_NOT_QUIET",
			detail: { still: ["turn"], cancelled: tries === 0 ? [`plan ${plan}`, "turn", "turn"] : ["turn"] },
			message: expect.stringMatching(
				tries === 0 ? new RegExp(`Cancelled: plan ${plan}, turn, turn;`) : /Cancelled: turn;/,
			),
		});
	}
	expect(runtime.wal.tip).toBe(tip);
	gates.tool.open();
	gates.step.open();
	gates.turn.open();
	await runtime.idle();
	// Its call was under way when it was cancelled, and is over: that is known, and not made again.
	runtime.resume();
	await runtime.idle();
	expect(used).toEqual(["begun", "cancelled"]);
	expect(shown).toHaveLength(1);
	expect(runtime.restored()).toMatchObject({ turns: [], plans: [], undelivered: [] });
	expect(said(runtime, other)).toEqual(["wait", "echo: wait"]);
	expect(said(runtime)).toContain("echo: used");
	expect(await runtime.checkout(target, "test")).toMatchObject({ kind: "undo", target });
	expect(said(runtime)).toEqual(["hello", "echo: hello"]);
	await runtime.close();
});

test("a prompt that comes meanwhile waits, and belongs to the line that the rewind leads to", async () => {
	const { runtime, used, gates } = await start({ quietMs: 5000 });
	await runtime.prompt("hello");
	await runtime.idle();
	const target = runtime.wal.tip;
	await runtime.prompt("use");
	await until(() => used.length === 1);
	const going = runtime.checkout(target, "test");
	await until(() => used.includes("cancelled"));
	const asked = [runtime.prompt("and now?"), runtime.prompt("elsewhere", other)];
	await new Promise((resolve) => setTimeout(resolve, 20));
	gates.tool.open();
	const { seq } = await going;
	for (const turn of await Promise.all(asked)) expect(turn).toBeGreaterThan(seq);
	await runtime.idle();
	expect(said(runtime)).toEqual(["hello", "echo: hello", "and now?", "echo: and now?"]);
	expect(said(runtime, other)).toEqual(["elsewhere", "echo: elsewhere"]);
	await runtime.close();
});

test("a script that is resumed meanwhile waits, and goes on in the session that the rewind has brought back", async () => {
	const { runtime, used, gates } = await start({ quietMs: 5000 });
	await runtime.prompt("hello", other);
	await runtime.idle();
	const { run, end } = await runtime.scripts.start(script("return ctx.agent('a');"), undefined, other);
	await end;
	await runtime.checkout(0, "test");
	expect(runtime.sessions()).toEqual([mainSession]);
	await runtime.prompt("use");
	await until(() => used.length === 1);
	const going = runtime.undo("test");
	await until(() => used.includes("cancelled"));
	const resumed = runtime.scripts.resume(run);
	gates.tool.open();
	await going;
	expect(await (await resumed).end).toEqual(await end);
	expect(await recordsOf(runtime, "script_resumed")).toMatchObject([{ scope: { ...other, run } }]);
	await runtime.close();
});

test("a prompt that waited for a rewind which never came is answered where it was asked", async () => {
	const { runtime, used, gates } = await start();
	await runtime.prompt("use");
	await until(() => used.length === 1);
	const going = runtime.checkout(0, "test");
	await until(() => used.includes("cancelled"));
	const asked = runtime.prompt("and now?");
	await expect(going).rejects.toMatchObject({ code: "RUNTIME_NOT_QUIET" });
	await asked;
	gates.tool.open();
	await runtime.idle();
	runtime.resume();
	await runtime.idle();
	expect(said(runtime)).toEqual(["use", "and now?", "used", "echo: used", "echo: and now?"]);
	await runtime.close();
});

test("work that is set going meanwhile begins only when the rewind is over, as that left it", async () => {
	const { runtime, used, asks, gates, shown } = await start({ quietMs: 5000 });
	await runtime.prompt("plan!");
	await until(() => asks(/Step b/) === 1);
	const [{ plan = "" } = {}] = runtime.restored().plans;
	const target = runtime.timeline.checkpoints().findLast(({ kind }) => kind === "plan_step")?.seq ?? 0;
	await runtime.prompt("use");
	await until(() => used.length === 1);
	const going = runtime.checkout(target, "test");
	await until(() => used.includes("cancelled"));
	await runtime.resumePlan(plan, "a");
	await new Promise((resolve) => setTimeout(resolve, 20));
	expect(asks(/Step a/)).toBe(1);
	gates.tool.open();
	await going;
	gates.step.open();
	await runtime.idle();
	// The reset of its steps was left behind with the rest.
	expect([asks(/Step a/), asks(/Step b/)]).toEqual([1, 2]);
	expect(shown).toHaveLength(1);
	await runtime.close();
});

test("a rewind of one session stops nothing in another", async () => {
	const { runtime, asks, gates } = await start();
	await runtime.prompt("hello");
	await runtime.prompt("plan!", other);
	await until(() => asks(/Step b/) === 1);
	await runtime.prompt("wait", other);
	await until(() => asks(/wait/) === 1);
	const { seq } = await runtime.checkout(0, "test", mainSession);
	expect(said(runtime)).toEqual([]);
	gates.turn.open();
	gates.step.open();
	await runtime.idle();
	expect([asks(/Step b/), asks(/wait/)]).toEqual([1, 1]);
	expect(said(runtime, other)).toContain("echo: wait");
	expect(runtime.restored()).toMatchObject({ turns: [], plans: [], undelivered: [] });
	expect(runtime.view(other).hash()).toBe((await runtime.timeline.at(runtime.wal.tip, other)).hash());
	expect(seq).toBeGreaterThan(0);
	await runtime.close();
});

test("undo of a discarded plan stops neither the turn of its session nor another plan in it", async () => {
	const { runtime, asks, gates, shown } = await start();
	await runtime.prompt("plan! one");
	await until(() => asks(/Step b/) === 1);
	const [{ plan: first = "" } = {}] = runtime.restored().plans;
	await runtime.prompt("plan! two");
	await until(() => asks(/Step b/) === 2);
	await runtime.prompt("wait");
	await until(() => asks(/wait/) === 1);
	await runtime.discardPlan(first);
	await runtime.undo("test");
	gates.turn.open();
	gates.step.open();
	await runtime.idle();
	// The plan that came back waits for a person, since it was over.
	expect(runtime.restored()).toMatchObject({ turns: [], plans: [{ plan: first, status: "paused" }] });
	expect([asks(/Step b/), asks(/wait/)]).toEqual([2, 1]);
	expect(said(runtime)).toContain("echo: wait");
	expect(shown).toHaveLength(2); // that it was discarded, and what the other one found out
	expect(runtime.view().hash()).toBe((await runtime.timeline.at(runtime.wal.tip, mainSession)).hash());
	await runtime.close();
});

test("a rewind of the conversation alone does not stop a plan", async () => {
	const { runtime, asks, gates, shown } = await start();
	await runtime.prompt("plan!");
	await until(() => asks(/Step b/) === 1);
	await until(() => runtime.restored().turns.length === 0);
	await runtime.applyRewind(await runtime.previewRewind(0, "conversation_only"), "test");
	gates.step.open();
	await runtime.idle();
	expect([asks(/Step a/), asks(/Step b/)]).toEqual([1, 1]);
	expect(shown).toHaveLength(1);
	expect(runtime.view().hash()).toBe((await runtime.timeline.at(runtime.wal.tip, mainSession)).hash());
	await runtime.close();
});

test("a close with a limit leaves what does not stop, names it, and closes all the same; it goes on with the next start", async () => {
	const { runtime, used, gates } = await start();
	await runtime.prompt("use");
	await until(() => used.length === 1);
	await expect(runtime.close({ withinMs: 20 })).rejects.toMatchObject({
		code: "RUNTIME_NOT_QUIET",
		message: expect.stringMatching(/^turn did not stop in time, and was left; what was recorded of it stays/),
		detail: { still: ["turn"], cancelled: ["turn"] },
	});
	expect(used).toEqual(["begun", "cancelled"]);
	// Who has the log next does what is left, and what comes of the call that was left counts for nothing.
	const next = await start();
	gates.tool.open();
	expect(next.runtime.restored().turns).toHaveLength(1);
	next.gates.tool.open();
	next.runtime.resume();
	await next.runtime.idle();
	expect(next.used).toEqual(["begun"]);
	expect(said(next.runtime)).toEqual(["use", "used", "echo: used"]);
	await next.runtime.close({ withinMs: 20 });
});

test("who waits until all is idle waits for what a rewind stops and sets going again", async () => {
	const { runtime, asks, gates, shown } = await start({ quietMs: 5000 });
	await runtime.prompt("plan!");
	await until(() => asks(/Step b/) === 1);
	const [{ plan = "" } = {}] = runtime.restored().plans;
	const { tip } = runtime.wal;
	const idle = runtime.idle();
	const going = runtime.checkout(tip - 1, "test");
	await until(() => asks(/Step b/) === 2);
	gates.step.open();
	await idle;
	expect([runtime.restored().plans, shown.map(({ from }) => from)]).toEqual([[], [plan]]);
	expect(await going).toMatchObject({ kind: "undo" });
	await runtime.close();
});
