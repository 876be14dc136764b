/** A turn starts a skill by a tool: in the background, one run a call wherever the process is killed, and its output is said once. */
import { join } from "node:path";
import { type FoundSkills, SkillError } from "@reyn/skill-resume";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { pointsOf, sample } from "../../../tests/sample.ts";
import { mainSession, type Runtime } from "../src/index.ts";
import { audit, type Ledger, life, paidIn, recordsOf, said, toEnd } from "./child-plans.ts";
import { copyState, keepLines, kindsIn, linesOf, removeState } from "./cut.ts";
import { emptyArea, lastOf, makeProject, type Project, scripted } from "./project.ts";

let project: Project;
beforeEach(async () => {
	project = await makeProject();
});
afterEach(() => project[Symbol.asyncDispose]());

/** The turn twice, and the skill twice. */
const CALLS = 4;

const model = (args: unknown = { topic: "tea" }) =>
	scripted((request) => {
		if (request.system === "audit") return lastOf(request) === "say it" ? "signed" : "seen";
		const last = request.messages.at(-1);
		if (last?.role !== "tool") return [{ name: "skill_audit", args }];
		return `told: ${last.text}`;
	});

/** The permission of the tool, and that of the skill's own call, are asked about one at a time. */
async function goneThrough(ledger: Ledger = new Map(), at: Project = project, args?: unknown) {
	const asked = model(args);
	const opened = await life(at, ledger, { model: asked });
	return { ...opened, model: asked };
}

const replies = (runtime: Runtime): readonly string[] =>
	runtime
		.conversation()
		.items.toArray()
		.flatMap((item) => (item.type === "reply" && item.text !== "" ? [item.text] : []));

const TOLD =
	/^told: The skill audit works in the background as run (t\d+)\. Its output is told here when it is there\.$/;

test("it is asked about, begins in the background, and its output is said in the conversation", async () => {
	const { runtime, model, ledger, shown, events } = await goneThrough();
	await runtime.prompt("go!");
	await toEnd(runtime);
	expect(said(runtime)).toEqual(["seen, signed"]);
	const [, run] = TOLD.exec(replies(runtime).at(-1) ?? "") ?? [];
	expect([shown.map(({ from, text }) => [from, text]), model.asked.length]).toEqual([[[run, "seen, signed"]], CALLS]);
	expect([...ledger.values()]).toEqual([1, 1]);
	const asks = events.flatMap((event) => (event.type === "question" ? [[event.question, event.from.kind]] : []));
	expect(asks).toEqual([
		["skill audit?", "turn"],
		["sign it?", "skill"],
	]);
	expect(events).toContainEqual(expect.objectContaining({ type: "skill_end", run, outcome: "completed" }));
	await runtime.close();
});

test("an input that does not fit is refused with what is wrong, and nothing is begun", async () => {
	const { runtime } = await goneThrough(new Map(), project, { topic: "" });
	await runtime.prompt("go!");
	await toEnd(runtime);
	expect(replies(runtime).at(-1)).toMatch(/^told: ERROR: the input of audit does not fit: topic: /);
	expect((await recordsOf(runtime)).map(({ kind }) => kind)).not.toContain("skill_run_started");
	await runtime.close();
});

test("a call that a person denies begins nothing", async () => {
	const { runtime } = await goneThrough();
	await runtime.prompt("go!");
	await toEnd(runtime, "no");
	expect((await recordsOf(runtime)).map(({ kind }) => kind)).not.toContain("skill_run_started");
	await runtime.close();
});

test("a rewind to before the turn takes the run along, and a return brings its output back", async () => {
	const { runtime } = await goneThrough();
	await runtime.prompt("go!");
	await toEnd(runtime);
	const { tip } = runtime.wal;
	await runtime.checkout(1, "ada");
	expect([said(runtime), runtime.restored().runs]).toEqual([[], []]);
	await runtime.checkout(tip, "ada");
	expect(said(runtime)).toEqual(["seen, signed"]);
	await runtime.close();
});

describe("killed", () => {
	async function goneOn(from: string, name: string, kept: number, happened: boolean): Promise<void> {
		const lines = (await linesOf(from)).slice(1, kept).map((line) => JSON.parse(line));
		const state = await copyState(from, join(project.root, name));
		await keepLines(state, kept);
		await emptyArea(state, "snapshots");
		const ledger: Ledger = new Map();
		for (const key of paidIn(lines, happened)) ledger.set(key, 1);
		const recorded = lines.filter(({ kind, data }) => kind === "step_completed" && data.kind === "model").length;
		const { runtime, model, shown } = await goneThrough(ledger, { ...project, state });
		runtime.resume();
		await runtime.idle();
		if (!lines.some(({ kind }) => kind === "user_prompt")) await runtime.prompt("go!");
		await toEnd(runtime);
		const begun = (await recordsOf(runtime)).filter(({ kind }) => kind === "skill_run_started");
		expect([name, begun.length, said(runtime), replies(runtime).length]).toEqual([name, 1, ["seen, signed"], 1]);
		expect([name, model.asked.length + recorded, [...ledger.values()]]).toEqual([name, CALLS, [1, 1]]);
		expect(runtime.restored()).toMatchObject({ turns: [], runs: [], undelivered: [] });
		expect(shown.length).toBeLessThanOrEqual(1);
		await runtime.close();
		await removeState(state);
	}

	test("after any record, whether or not what was begun has happened, it is one run and one text", async () => {
		const { runtime } = await goneThrough();
		await runtime.prompt("go!");
		await toEnd(runtime);
		await runtime.close();
		const { length } = await linesOf(project.state);
		const kinds = await kindsIn(project);
		// Where the run has just begun, and where its output was recorded.
		const always = ["skill_run_started", "assistant_message"].map((kind) => kinds.indexOf(kind) + 2);
		for (const kept of new Set([...always, ...pointsOf(2, length, 7, sample(1, 4))]))
			for (const happened of [false, true]) await goneOn(project.state, `cut-${kept}-${happened}`, kept, happened);
	});
});

describe("a skill that is found", () => {
	const source = { path: "/skills/audit.ts", hash: "a1" };
	const broken = new SkillError("SKILL_LOAD", "/skills/audit.ts:3: it throws when it is loaded: no", { line: 3 });
	const problems = [{ name: "audit", path: "/skills/audit.ts", error: broken }];

	/** A process that finds it as it is now. */
	async function with_(now: { found: FoundSkills }, at = project) {
		const asked = model();
		const opened = await life(at, new Map(), { model: asked, skills: [], findSkills: async () => now.found });
		return { ...opened, model: asked };
	}

	const sound = (hash = "a1"): FoundSkills => ({
		skills: [{ ...audit(new Map()), source: { ...source, hash } }],
		problems: [],
	});

	test("is offered and run as others are, and its hash is in the record of its start", async () => {
		const { runtime, model } = await with_({ found: sound() });
		await runtime.prompt("go!");
		await toEnd(runtime);
		expect(model.asked[0]?.tools.map(({ name }) => name)).toContain("skill_audit");
		const started = (await recordsOf(runtime)).find(({ kind }) => kind === "skill_run_started");
		expect(started?.data).toMatchObject({ skill: "audit", hash: "a1" });
		await runtime.close();
	});

	test("is looked for when it is to be started, and one that does not load says why", async () => {
		const now: { found: FoundSkills } = { found: { skills: [], problems: [] } };
		const { runtime } = await with_(now);
		await expect(runtime.runSkill("audit", {})).rejects.toMatchObject({ code: "SKILL_UNKNOWN" });
		now.found = { skills: [], problems };
		await expect(runtime.runSkill("audit", {})).rejects.toBe(broken);
		now.found = sound();
		await runtime.runSkill("audit", { topic: "tea" });
		await toEnd(runtime);
		expect(said(runtime)).toEqual(["seen, signed"]);
		await runtime.close();
	});

	test("and does not load at a start waits, while all else goes on; then it goes on where it stood", async () => {
		const now = { found: sound() };
		const first = await with_(now);
		await first.runtime.runSkill("audit", { topic: "tea" });
		await first.runtime.idle();
		const before = first.runtime.questions().length;
		expect([before, first.model.asked.length]).toEqual([1, 1]);
		await first.runtime.close();
		now.found = { skills: [], problems };
		const second = await with_(now);
		second.runtime.resume();
		await second.runtime.prompt("hello");
		await second.runtime.idle();
		expect(second.events).toContainEqual(
			expect.objectContaining({ type: "skill_end", outcome: "stopped", reason: broken.message }),
		);
		expect(replies(second.runtime)).toHaveLength(1);
		expect(second.runtime.restored().runs).toMatchObject([{ scope: mainSession, skill: "audit", hash: "a1" }]);
		await second.runtime.close();
		now.found = sound("b2");
		const third = await with_(now);
		expect(await third.runtime.skills()).toBeDefined();
		third.runtime.resume();
		await toEnd(third.runtime);
		expect([said(third.runtime), third.model.asked.length]).toEqual([["seen, signed"], 1]);
		await third.runtime.close();
	});

	test("a reader asks for none by itself", async () => {
		let asked = 0;
		const found = sound();
		const writer = await with_({ found });
		await writer.runtime.close();
		const { runtime } = await life(project, new Map(), {
			...{ model: model(), skills: [], readOnly: true },
			findSkills: async () => {
				asked++;
				return found;
			},
		});
		expect(asked).toBe(0);
		expect((await runtime.skills()).skills.map(({ name }) => name)).toEqual(["audit"]);
		expect(asked).toBe(1);
		await runtime.close();
	});
});
