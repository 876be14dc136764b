/** Starting afresh: one move ends all that is in flight, deletes nothing, and one undo has all of it back. */
import { PLAN_TOOL } from "@reyn/plan";
import { defineSkill, done } from "@reyn/skill-resume";
import { afterEach, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { eachCut, kindsIn } from "./cut.ts";
import { gate, lastOf, makeProject, type Opened, open, type Project, scripted, until } from "./project.ts";
import { script } from "./script-runs.ts";

let project: Project;
beforeEach(async () => {
	project = await makeProject();
});
afterEach(() => project[Symbol.asyncDispose]());

const steps = [
	{ id: "a", description: "first" },
	{ id: "b", description: "second", depends_on: ["a"] },
];

/** A model that ends the first step of a plan, and hangs in all else that is not talk. */
const model = () =>
	scripted(async (request) => {
		const last = lastOf(request);
		if (last === "plan!") return [{ name: PLAN_TOOL, args: { goal: "g", steps } }];
		if (last === "hello") return "hi";
		if (/^Step a:/m.test(last)) return "a done";
		return new Promise(() => {});
	});

const asks = defineSkill({
	name: "waits",
	description: "waits",
	input: z.unknown(),
	start: "wait",
	phases: {
		wait: async (ctx) => {
			await ctx.model({ system: "", messages: [{ role: "user", text: "wait" }], tools: [] });
			return done("waited");
		},
	},
});

const opened = (at: Project = project): Promise<Opened> => open(at, { model: model(), skills: [asks], askUser: true });

/** A turn, a plan, a skill run and a script in flight, in two sessions, and what was said before. */
async function busy(): Promise<Opened> {
	const all = await opened();
	const { runtime } = all;
	await runtime.prompt("hello");
	await runtime.idle();
	await runtime.prompt("plan!");
	await until(() => runtime.plans().some(({ finished }) => finished === 1));
	await runtime.runSkill("waits", {});
	await runtime.scripts.start(script('return await ctx.agent("wait");'), undefined);
	await runtime.prompt("work", { agent: "default", session: "other" });
	await runtime.prompt("more");
	await until(() => runtime.inFlight().length === 5);
	return all;
}

const kindsOf = ({ runtime }: Opened): readonly string[] =>
	runtime
		.inFlight()
		.map(({ kind }) => kind)
		.sort();

const hashOf = async ({ runtime }: Opened, seq: number): Promise<readonly string[]> =>
	Promise.all([...runtime.sessions()].map(async (scope) => (await runtime.timeline.at(seq, scope)).hash()));

test("all that is in flight ends by one move, and what was said stays; one undo has all of it back, and a redo ends it again", async () => {
	const all = await busy();
	const { runtime } = all;
	expect(kindsOf(all)).toEqual(["plan", "script", "skill", "turn", "turn"]);
	const items = runtime.conversation().items.length;
	const seq = await runtime.endWork("me");
	expect(runtime.inFlight()).toEqual([]);
	expect(runtime.conversation().items.length).toBeGreaterThanOrEqual(items);
	const ended = await hashOf(all, runtime.wal.tip);
	expect((await runtime.timeline.moves()).past.map((move) => move.seq)).toEqual([seq]);

	const undone = await runtime.undo("me");
	expect(await hashOf(all, undone.seq)).toEqual(await hashOf(all, seq - 1));
	// Turns are closed by every move, and what was over waits for a person; scripts wait anyhow.
	expect(kindsOf(all)).toEqual(["plan", "script", "skill"]);
	expect(runtime.plans()).toMatchObject([{ status: "paused", finished: 1 }]);

	const redone = await runtime.redo("me");
	expect(runtime.inFlight()).toEqual([]);
	expect(await hashOf(all, redone.seq)).toEqual(ended);
	await runtime.close();
});

test("what came since it was shown keeps it from happening, and where nothing is in flight nothing ends", async () => {
	const all = await busy();
	const { tip } = all.runtime.wal;
	await all.runtime.runSkill("waits", {});
	await expect(all.runtime.endWork("me", { expect: tip })).rejects.toMatchObject({ code: "TIMETRAVEL_STALE" });
	expect(all.runtime.inFlight()).toHaveLength(6);
	await all.runtime.close();
});

test("killed behind any of its records, nothing has happened, or the next start finishes it; then one undo has it back", async () => {
	const first = await busy();
	const before = first.runtime.wal.tip;
	const seq = await first.runtime.endWork("me");
	const inFlightBefore = 5;
	await first.runtime.close();
	const kinds = await kindsIn(project);
	expect(kinds.slice(seq - 1)).toContain("plan_aborted");
	await eachCut(project, before, async (state, left) => {
		const next = await opened({ ...project, state });
		expect(next.runtime.inFlight()).toHaveLength(left.length < seq ? inFlightBefore : 0);
		if (left.length >= seq) {
			const undone = await next.runtime.undo("me");
			expect(await hashOf(next, undone.seq)).toEqual(await hashOf(next, seq - 1));
			expect(kindsOf(next)).toEqual(["plan", "script", "skill"]);
		}
		await next.runtime.close();
	});
});

test("a question of what ends is withdrawn", async () => {
	const asking = scripted((request) =>
		lastOf(request) === "ask!" ? [{ name: "ask_user", args: { question: "which?" } }] : "well",
	);
	const all = await open(project, { model: asking, askUser: true });
	await all.runtime.prompt("ask!");
	await until(() => all.runtime.questions().length === 1);
	await all.runtime.endWork("me");
	expect(all.runtime.questions()).toEqual([]);
	await all.runtime.close();
});

test("what is paid for while its work is stopped counts: brought back and gone on with, it is not paid again", async () => {
	const answered = gate();
	let asked = 0;
	let signal: AbortSignal | undefined;
	const thinks = defineSkill({
		name: "thinks",
		description: "thinks",
		input: z.unknown(),
		start: "think",
		phases: {
			async think(ctx) {
				({ signal } = ctx);
				const call = async (): Promise<string> => {
					asked++;
					await answered.opened;
					return "said";
				};
				return done(await ctx.step("think", call, { purity: "llm" }));
			},
		},
	});
	const { runtime, shown } = await open(project, { model: model(), skills: [thinks] });
	const run = await runtime.runSkill("thinks", {});
	await until(() => asked === 1);
	const ending = runtime.endWork("me");
	await until(() => signal?.aborted === true);
	answered.open();
	const seq = await ending;
	// It leaves nothing behind, what came while work stopped neither.
	expect((await runtime.timeline.record(seq))?.data).toMatchObject({ target: seq - 1 });
	await runtime.undo("me");
	await runtime.resumeSkillRun(run);
	await runtime.idle();
	expect([shown.map(({ text }) => text), asked]).toEqual([["said"], 1]);
	await runtime.close();
});
