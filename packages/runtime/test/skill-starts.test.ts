/** A run that fails, or whose process dies, in the same place at three starts is paused, with its reason; a person sets it going again, and the count begins anew. */
import { defineSkill, done, type PhaseContext, type Skill } from "@reyn/skill-resume";
import { afterEach, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import type { Runtime } from "../src/index.ts";
import { copyState } from "./cut.ts";
import { emptyArea, makeProject, open, type Project, scripted, until } from "./project.ts";

let project: Project;
beforeEach(async () => {
	project = await makeProject();
});
afterEach(() => project[Symbol.asyncDispose]());

const skill = (send: (context: PhaseContext) => Promise<string>): Skill =>
	defineSkill({
		...{ name: "mail", description: "mails", input: z.unknown(), start: "send" },
		phases: { send: async (context) => done(await send(context)) },
	}) as Skill;

const opened = (send: (context: PhaseContext) => Promise<string>) =>
	open(project, { model: scripted(() => "said"), tools: [], skills: [skill(send)] });

const runs = (runtime: Runtime) => runtime.restored().runs.map(({ status, why }) => [status, why]);

/** One start: it goes on with what is there. @returns what it says of the end */
async function start(send: (context: PhaseContext) => Promise<string>, act = async (_runtime: Runtime) => {}) {
	const { runtime, events } = await opened(send);
	if (runtime.restored().runs.length === 0) await runtime.runSkill("mail", {});
	runtime.resume();
	await act(runtime);
	await runtime.idle();
	const ended = events.flatMap((event) => (event.type === "skill_end" ? [event.reason] : []));
	const found = { ended, runs: runs(runtime) };
	await runtime.close();
	return found;
}

/** By the call of the step, whatever it says. */
const failing = (n: { times: number }) => (context: PhaseContext) =>
	context.step("mail", () => Promise.reject(new Error(`no mail, ${++n.times}`)), { purity: "side_effect" });

test("it is tried at three starts, and waits at the fourth; the records are all that it takes", async () => {
	const n = { times: 0 };
	const why = 'it has failed at 3 starts in phase "send", visit 1: no mail, 3';
	expect(await start(failing(n))).toEqual({ ended: ["no mail, 1"], runs: [["running", undefined]] });
	await emptyArea(project.state, "snapshots");
	expect(await start(failing(n))).toEqual({ ended: ["no mail, 2"], runs: [["running", undefined]] });
	expect(await start(failing(n))).toEqual({ ended: [why], runs: [["paused", why]] });
	expect(await start(failing(n))).toEqual({ ended: [], runs: [["paused", why]] });
	expect(n.times).toBe(3);

	// Set going, it fails once more, and is tried at the next start, until that has been three times.
	const [sets, fails] = [
		async (runtime: Runtime) => runtime.resumeSkillRun(runtime.restored().runs[0]?.run ?? ""),
		{ ended: ["no mail, 4"], runs: [["running", undefined]] },
	];
	expect(await start(failing(n), sets)).toEqual(fails);
	await start(failing(n));
	expect((await start(failing(n))).runs).toEqual([["paused", expect.stringContaining("no mail, 6")]]);
	expect(await start(async () => "sent", sets)).toEqual({ ended: [undefined], runs: [] });
});

test("starts that fail elsewhere, are cancelled or killed, or wait for somebody, do not count", async () => {
	const n = { times: 0 };
	await start(failing(n));
	await start(failing(n));
	// It fails by another call.
	const other = (context: PhaseContext) =>
		context.step("post", () => Promise.reject(new Error("no post")), { purity: "side_effect" });
	expect((await start(other)).runs).toEqual([["running", undefined]]);
	// It is closed in the middle of it.
	let isIn = false;
	const held = (context: PhaseContext) => {
		isIn = true;
		return new Promise<string>((_, reject) =>
			context.signal.addEventListener("abort", () => reject(context.signal.reason), { once: true }),
		);
	};
	for (let times = 0; times < 3; times++) {
		isIn = false;
		const { runtime } = await opened(held);
		runtime.resume();
		await until(() => isIn);
		await runtime.close();
	}
	expect((await start(failing(n))).runs).toEqual([["paused", expect.stringContaining("no mail, 3")]]);
});

test("its process dies at three starts in the same phase: the fourth calls nothing, and says so by the record; closed, it may be as often as one likes", async () => {
	let calls = 0;
	const held = ({ signal }: PhaseContext) => {
		calls++;
		return new Promise<string>((_, reject) =>
			signal.addEventListener("abort", () => reject(signal.reason), { once: true }),
		);
	};
	/** What a kill leaves while it is called, or what there is once it is closed. */
	const called = async (state: string, isKilled: boolean): Promise<string> => {
		const before = calls;
		const { runtime } = await open(
			{ ...project, state },
			{ model: scripted(() => "said"), tools: [], skills: [skill(held)] },
		);
		if (runtime.restored().runs.length === 0) await runtime.runSkill("mail", {});
		runtime.resume();
		await until(() => calls > before);
		const left = `${state}x`;
		if (isKilled) await copyState(state, left);
		await runtime.close();
		return isKilled ? left : state;
	};
	let { state } = project;
	for (const isKilled of [true, false, true, false, false, false, true]) state = await called(state, isKilled);
	expect(calls).toBe(7);
	const all = { model: scripted(() => "said"), tools: [], skills: [skill(held)] };
	const { runtime, events } = await open({ ...project, state }, all);
	runtime.resume();
	await runtime.idle();
	const why =
		'its process died at 3 starts in phase "send", visit 1, before anything new was recorded; it may have run out of memory, or a call has ended it';
	expect([calls, runs(runtime)]).toEqual([7, [["paused", why]]]);
	expect(events.filter(({ type }) => type.startsWith("skill_"))).toMatchObject([
		{ type: "skill_end", outcome: "paused", reason: why },
	]);
	await runtime.close();
});
