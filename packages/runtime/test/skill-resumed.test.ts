/** What a skill run is restored to, and what becomes of its steps in doubt: each is named, and what was decided of it. */
import type { Tool } from "@reyn/journal";
import { defineSkill, done, next, type SkillResume, skillRunIn, skillRuns, skillRunsOf } from "@reyn/skill-resume";
import type { WalRecord } from "@reyn/wal";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import type { RuntimeEvent } from "../src/index.ts";
import { auditOwn } from "../src/kernel/audit.ts";
import { cutAfter, everyCut, linesOf } from "./cut.ts";
import { seal } from "./kept-files.ts";
import { makeProject, type Opened, open, type Project, scripted, until } from "./project.ts";

let project: Project;
beforeEach(async () => {
	project = await makeProject();
});
afterEach(() => project[Symbol.asyncDispose]());

/** What the phases were given, and what was called, in one process. */
class Seen {
	readonly phases: string[] = [];
	readonly looked: string[] = [];
	sent = 0;
	readonly asked: string[] = [];
}

/** Gathers twice, then looks at the world, asks a model about it, and sends what that says. */
const report = (seen: Seen) =>
	defineSkill({
		name: "report",
		description: "reports",
		input: z.unknown(),
		start: "gather",
		maxVisits: 2,
		phases: {
			async gather(ctx, input, before) {
				seen.phases.push(`gather ${ctx.visit} ${JSON.stringify(before)}`);
				const text = await ctx.model({
					system: "",
					messages: [{ role: "user", text: `about ${input} ${ctx.visit}` }],
					tools: [],
				});
				return ctx.visit < 2 ? next("gather", text.text) : next("send", `${before} and ${text.text}`);
			},
			async send(ctx, _input, before) {
				seen.phases.push(`send ${ctx.visit} ${JSON.stringify(before)}`);
				const world = await ctx.tool("look");
				const said = await ctx.model({ system: "", messages: [{ role: "user", text: `send ${world}` }], tools: [] });
				return done(`${before}: ${await ctx.tool("send", { text: said.text })}`);
			},
		},
	});

const tools = (seen: Seen, world: string): readonly Tool[] => [
	{
		...{ name: "look", description: "looks", parameters: {}, purity: "world" as const },
		call: async () => {
			seen.looked.push(world);
			return world;
		},
	},
	{
		...{ name: "send", description: "sends", parameters: {}, purity: "external" as const },
		call: async () => `receipt ${++seen.sent}`,
	},
];

interface How {
	readonly seen: Seen;
	readonly world?: string;
	readonly skillResume?: SkillResume;
	readonly state?: string;
}

const opened = ({ seen, world = "sunny", skillResume, state = project.state }: How): Promise<Opened> =>
	open(
		{ ...project, state },
		{
			model: scripted(({ messages }) => {
				const text = messages.at(-1)?.text ?? "";
				seen.asked.push(text);
				return `<${text}>`;
			}),
			skills: [report(seen)],
			tools: tools(seen, world),
			...(skillResume && { skillResume }),
		},
	);

async function goOn(how: How): Promise<Opened> {
	const next = await opened(how);
	next.runtime.resume();
	await next.runtime.idle();
	return next;
}

async function runIt(topic = "x"): Promise<void> {
	const { runtime } = await opened({ seen: new Seen() });
	await runtime.runSkill("report", topic);
	await runtime.idle();
	await runtime.close();
}

interface Line {
	readonly kind: string;
	readonly seq: number;
	readonly data: { readonly name?: string; readonly lane?: string };
}

/** The seq of the first record that fits, in the log of a run that was not cut. */
async function seqOf(fits: (line: Line) => boolean): Promise<number> {
	const lines = (await linesOf(project.state)).slice(1).map((line) => JSON.parse(line) as Line);
	return lines.findIndex(fits) + 1;
}

const resumedIn = ({ events }: Opened): readonly RuntimeEvent[] =>
	events.filter(({ type }) => type === "skill_resumed");

const said = ({ shown }: Opened): readonly string[] => shown.map(({ text }) => text);

const FIRST = "<about x 1>";
const GATHERED = `${FIRST} and <about x 2>`;

describe("a run that was cut in a phase", () => {
	const modelInSend = () =>
		seqOf(({ kind, data }) => kind === "step_completed" && data.name === "scripted" && !!data.lane?.includes("/send/"));

	test("asks the world again, pays for no answer that still fits, and runs no finished phase; the summary says so", async () => {
		await runIt();
		const seen = new Seen();
		const after = await goOn({ seen, state: await cutAfter(project, await modelInSend()) });
		expect([seen.phases, seen.looked, seen.asked]).toEqual([[`send 1 "${GATHERED}"`], ["sunny"], []]);
		expect(resumedIn(after)).toMatchObject([
			{ skill: "report", phase: "send", replayed: 1, again: ["look"], moved: [], inDoubt: [] },
		]);
		expect(said(after)).toEqual([`${GATHERED}: receipt 1`]);
		await after.runtime.close();
	});

	test("is told what has moved in the world, and asks the model anew about that alone", async () => {
		await runIt();
		const seen = new Seen();
		const after = await goOn({ seen, world: "rainy", state: await cutAfter(project, await modelInSend()) });
		expect([seen.looked, seen.asked]).toEqual([["rainy"], ["send rainy"]]);
		expect(resumedIn(after)).toMatchObject([{ phase: "send", replayed: 0, again: ["look"], moved: ["look"] }]);
		await after.runtime.close();
	});

	test("behind any record comes to what it would have come to, with each phase given what the one before gave", async () => {
		await runIt();
		await everyCut(project, async (state, kinds) => {
			if (!kinds.includes("skill_run_started")) return;
			const seen = new Seen();
			const after = await goOn({ seen, state });
			const isShown = kinds.includes("message_delivered");
			expect(said(after)).toEqual(
				isShown ? [] : [expect.stringMatching(/^<about x 1> and <about x 2>: receipt [01]$/)],
			);
			const over = kinds.filter((kind) => kind === "skill_phase_completed").length;
			const all = ["gather 1 undefined", `gather 2 "${FIRST}"`, `send 1 "${GATHERED}"`];
			expect(seen.phases).toEqual(all.slice(over));
			await after.runtime.close();
		});
	});
});

describe("a step in doubt", () => {
	const sending = () => seqOf(({ kind, data }) => kind === "step_started" && data.name === "send");

	async function goneOn(skillResume?: SkillResume) {
		await runIt();
		const seen = new Seen();
		const state = await cutAfter(project, await sending());
		const after = await goOn({ seen, state, ...(skillResume && { skillResume }) });
		const records: WalRecord[] = [];
		for await (const record of after.runtime.wal.read()) records.push(record);
		await after.runtime.close();
		const lines = records.flatMap((record) => auditOwn(record) ?? []).filter(({ doubt }) => doubt !== undefined);
		return { ...after, seen, records, lines };
	}

	test.each([
		["is made again where nothing is said", undefined],
		["is made again where that is said", { default: "retry", per_skill: {} }],
		["is made again where a prompt would be, since a resume asks nobody", { default: "prompt", per_skill: {} }],
		["is as is said of its own skill", { default: "skip", per_skill: { report: "retry" } }],
	] as const)("%s", async (_, skillResume) => {
		const after = await goneOn(skillResume);
		expect(after.seen.sent).toBe(1);
		expect(after.events).toContainEqual(expect.objectContaining({ type: "in_doubt", name: "send", decision: "retry" }));
		expect(resumedIn(after)).toMatchObject([{ inDoubt: [{ name: "send", decision: "retry" }] }]);
		expect(after.lines).toMatchObject([{ what: "again", name: "send", doubt: "retry" }]);
		expect(said(after)).toEqual([`${GATHERED}: receipt 1`]);
	});

	test("is left out where that is said, which is in the trail too", async () => {
		const after = await goneOn({ default: "retry", per_skill: { report: "skip" } });
		expect(after.seen.sent).toBe(0);
		expect(resumedIn(after)).toMatchObject([{ inDoubt: [{ name: "send", decision: "skip" }] }]);
		expect(after.lines).toMatchObject([{ what: "skipped", name: "send", doubt: "skip" }]);
		expect(said(after)).toEqual([`${GATHERED}: `]);
	});

	test("ends its run where that is said, and its name is in the reason", async () => {
		const after = await goneOn({ default: "discard_skill", per_skill: {} });
		expect(after.seen.sent).toBe(0);
		expect(resumedIn(after)).toMatchObject([{ inDoubt: [{ name: "send", decision: "discard" }] }]);
		expect(after.events).toContainEqual(
			expect.objectContaining({
				type: "skill_end",
				outcome: "discarded",
				reason: expect.stringMatching(/^send was started/),
			}),
		);
	});
});

describe("where the log has lost its beginning", () => {
	const all = { keepDays: 0, keepCheckpoints: 1 };

	test("a run in flight holds back what it began with; what was said before goes, and it goes on as if nothing had", async () => {
		const seen = new Seen();
		const first = await opened({ seen });
		for (const text of ["one", "two"]) await first.runtime.prompt(text);
		await first.runtime.idle();
		await first.runtime.close();
		await seal(project.state);
		await runIt();
		const state = await cutAfter(
			project,
			await seqOf(({ kind, data }) => kind === "step_started" && data.name === "send"),
		);
		const cut = await opened({ seen, state });
		const { started = 0 } = skillRunsOf(cut.runtime.view().get(skillRuns))[0]?.[1] ?? {};
		const { retainedFrom } = await cut.runtime.gc(all);
		expect(retainedFrom).toBeGreaterThan(1);
		expect(retainedFrom).toBeLessThanOrEqual(started);
		await cut.runtime.close();
		const resumed = new Seen();
		const after = await goOn({ seen: resumed, state });
		expect(resumed.phases).toEqual([`send 1 "${GATHERED}"`]);
		expect(said(after)).toEqual([`${GATHERED}: receipt 1`]);
		await after.runtime.close();
	});

	test("a label in a run that is over holds back what it began with, and it goes on from there with its visits counted", async () => {
		await runIt();
		const seen = new Seen();
		let after = await opened({ seen });
		const [, second] = after.runtime.timeline.checkpoints();
		expect(second).toMatchObject({ title: "report gather" });
		await after.runtime.timeline.label(second?.seq ?? 0, "gathered", { actor: "me" });
		await after.runtime.close();
		await seal(project.state);
		after = await opened({ seen });
		for (const text of ["one", "two"]) await after.runtime.prompt(text);
		await after.runtime.idle();
		expect(await after.runtime.gc(all)).toMatchObject({ heldBy: { label: "gathered" } });
		await after.runtime.checkout(second?.seq ?? 0, "me");
		const [run = ""] = skillRunsOf(after.runtime.view().get(skillRuns)).map(([id]) => id);
		expect(skillRunIn(after.runtime.view().get(skillRuns), run)).toMatchObject({
			status: "paused",
			visits: { gather: 2 },
		});
		await after.runtime.resumeSkillRun(run);
		await until(() => said(after).length > 0);
		expect(seen.phases).toEqual([`send 1 "${GATHERED}"`]);
		expect(said(after)).toEqual([`${GATHERED}: receipt 1`]);
		await after.runtime.close();
	});
});
