/** Who confirms a move gets what was previewed, or nothing: two runtimes over one directory, and work that goes on meanwhile. */
import { PLAN_TOOL } from "@reyn/plan";
import { defineSkill, done } from "@reyn/skill-resume";
import { isMeta } from "@reyn/timetravel/internal";
import type { Seq, WalRecord } from "@reyn/wal";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { some } from "../../../tests/sample.ts";
import { builtIn } from "../src/features/index.ts";
import { allRecords, blastRadius, mainSession, type RewindMode, type Runtime, rewindModes } from "../src/index.ts";
import { compose } from "../src/kernel/compose.ts";
import { gate, lastOf, makeProject, open, type Project, scripted, until } from "./project.ts";
import { script } from "./script-runs.ts";

let project: Project;
beforeEach(async () => {
	project = await makeProject();
});
afterEach(() => project[Symbol.asyncDispose]());

const other = { agent: "default", session: "other" };
const PLAN = {
	goal: "the goal",
	steps: ["a", "b", "c"].map((id, i, ids) => ({
		id,
		description: `do ${id}`,
		tools: [],
		depends_on: ids.slice(0, i).slice(-1),
	})),
};
const model = () =>
	scripted((request) => {
		const last = lastOf(request);
		return last.startsWith("plan!") ? [{ name: PLAN_TOOL, args: PLAN }] : `echo: ${last.split("\n")[0]}`;
	});

/** One process after the other has the directory. */
async function inProcess<T>(work: (runtime: Runtime) => Promise<T>, { readOnly = false } = {}): Promise<T> {
	const { runtime } = await open(project, { model: model(), readOnly });
	try {
		return await work(runtime);
	} finally {
		await runtime.idle();
		await runtime.close();
	}
}

async function recordsOf({ wal }: Runtime): Promise<WalRecord[]> {
	const records: WalRecord[] = [];
	for await (const record of wal.read()) if (!record.kind.startsWith("wal_")) records.push(record);
	return records;
}

const ask = (text: string, scope = mainSession) =>
	inProcess(async (runtime) => {
		await runtime.prompt(text, scope);
		await runtime.idle();
		return runtime.wal.tip;
	});

describe("what another process did since the preview", () => {
	const happenings: Record<string, () => Promise<unknown>> = {
		"a turn": () => ask("another"),
		"a turn of a new session": () => ask("another", other),
		"a plan": () => ask("plan!"),
		"a rewind": () => inProcess((runtime) => runtime.checkout(runtime.wal.tip - 1, "bob")),
		"a label": () => inProcess((runtime) => runtime.timeline.label(1, "here")),
		"a script": () => inProcess(async ({ scripts }) => (await scripts.start(script("return 1;"), undefined)).end),
		"an undo": () => inProcess((runtime) => runtime.undo("bob")),
	};
	/** Each is shown in one process, confirmed, and made in another one. */
	const moves: Record<string, (shown: Runtime) => Promise<(runtime: Runtime) => Promise<unknown>>> = {
		checkout: async ({ timeline }) => {
			const { target, tip } = await timeline.preview(1);
			return (runtime) => runtime.checkout(target, "ada", {}, { expect: tip });
		},
		undo: async ({ timeline, wal }) => {
			const of = (await timeline.moves()).past.at(-1)?.seq as Seq;
			return (runtime) => runtime.undo("ada", { of, expect: wal.tip });
		},
		redo: async ({ timeline, wal }) => {
			const of = (await timeline.moves()).future.at(-1)?.seq as Seq;
			return (runtime) => runtime.redo("ada", { of, expect: wal.tip });
		},
		label:
			async ({ wal }) =>
			(runtime) =>
				runtime.timeline.label(wal.tip, "there", { expect: wal.tip }),
		...Object.fromEntries(
			rewindModes.map((mode) => [
				`rewind ${mode}`,
				async (shown: Runtime) => {
					const plan = await shown.previewRewind(1, mode);
					return (runtime: Runtime) => runtime.applyRewind(plan, "ada");
				},
			]),
		),
	};

	async function history(): Promise<void> {
		await ask("first");
		await ask("second");
		await inProcess(async (runtime) => {
			const { tip } = runtime.wal;
			await runtime.checkout(tip - 1, "ada");
			await runtime.checkout(tip - 2, "ada");
			await runtime.undo("ada");
		});
	}

	test.each(Object.keys(moves))("is a reason to refuse %s, and nothing is written", async (name) => {
		await history();
		for (const [what, happens] of some(Object.entries(happenings), 8)) {
			const make = (await inProcess(async (shown) => moves[name]?.(shown), { readOnly: true })) as (
				runtime: Runtime,
			) => Promise<unknown>;
			await happens();
			await inProcess(async (runtime) => {
				const before = await recordsOf(runtime);
				await expect(make(runtime), what).rejects.toMatchObject({
					code: name.startsWith("rewind") ? "REWIND_STALE" : "TIMETRAVEL_STALE",
				});
				expect(await recordsOf(runtime), what).toEqual(before);
				// There is something to take back, and something to make again, for the next one.
				await runtime.checkout(1, "ada");
				await runtime.checkout(0, "ada");
				await runtime.undo("ada");
			});
		}
		await inProcess(async (runtime) => {
			const make = (await moves[name]?.(runtime)) as (runtime: Runtime) => Promise<unknown>;
			await make(runtime);
		});
	});

	test("is a reason to refuse the discard of a plan and of a skill run too", async () => {
		const held = gate();
		const chore = defineSkill({
			name: "chore",
			description: "waits",
			input: z.unknown(),
			start: "first",
			phases: {
				first: async ({ step }) => done(await step("wait", () => held.opened, { purity: "external" })),
			},
		});
		const { runtime, events } = await open(project, {
			skills: [chore],
			model: scripted(async (request) => {
				if (lastOf(request).startsWith("plan!")) return [{ name: PLAN_TOOL, args: PLAN }];
				if (/Step a/.test(lastOf(request))) await held.opened;
				return "echo";
			}),
		});
		const turns = (count: number) =>
			until(() => events.filter((event) => event.type === "checkpoint" && event.kind === "turn").length === count);
		await runtime.prompt("plan!");
		await turns(1);
		const run = await runtime.runSkill("chore", {});
		const [{ plan = "" } = {}] = runtime.restored().plans;
		const { tip } = runtime.wal;
		await runtime.prompt("hello");
		await turns(2);
		const before = await recordsOf(runtime);
		const stale = { code: "TIMETRAVEL_STALE" };
		await expect(runtime.discardPlan(plan, { expect: tip })).rejects.toMatchObject(stale);
		await expect(runtime.discardSkillRun(run, { expect: tip })).rejects.toMatchObject(stale);
		expect(await recordsOf(runtime)).toEqual(before);
		expect([runtime.findPlan(plan).status, runtime.findSkillRun(run).status]).toEqual(["running", "running"]);
		await runtime.discardPlan(plan, { expect: runtime.wal.tip });
		expect(runtime.restored().plans).toEqual([]);
		held.open();
		await runtime.close();
	});
});

describe("a plan that works", () => {
	/** Its first step is done and shown; its second one ends after the preview. */
	async function working(): Promise<{ runtime: Runtime; start: Seq; goOn(): Promise<void> }> {
		const [b, c] = [gate(), gate()];
		const asked = scripted(async (request) => {
			const last = lastOf(request);
			if (last.startsWith("plan!")) return [{ name: PLAN_TOOL, args: PLAN }];
			if (/Step b/.test(last)) await b.opened;
			if (/Step c/.test(last)) await c.opened;
			return `echo: ${last.split("\n")[0]}`;
		});
		const { runtime } = await open(project, { model: asked });
		await runtime.prompt("hello");
		await runtime.idle();
		const start = runtime.wal.tip;
		await runtime.prompt("plan!");
		const isAsked = (what: RegExp) => () => asked.asked.some((request) => what.test(lastOf(request)));
		await until(isAsked(/Step b/));
		const goOn = async () => {
			b.open();
			await until(isAsked(/Step c/));
		};
		return { runtime, start, goOn };
	}

	test.each(rewindModes)(
		"is no reason to refuse a rewind that named it; the result counts what it did: %s",
		async (mode) => {
			const { runtime, start, goOn } = await working();
			const preview = await runtime.previewRewind(start, mode);
			expect((await blastRadius(runtime, preview)).leaves.plans.length).toBe(
				["both", "code_only"].includes(mode) ? 1 : 0,
			);
			const { tip } = runtime.wal;
			await goOn();
			expect(runtime.wal.tip).toBeGreaterThan(tip);
			const result = await runtime.applyRewind(preview, "ada");
			expect(result.affected?.all).toBeGreaterThan(preview.affected?.all ?? Number.NaN);
			const beyond: WalRecord[] = [];
			for await (const record of runtime.wal.read({ after: start }))
				if (!isMeta(record.kind) && (result.kind === "none" || record.seq < result.seq)) beyond.push(record);
			if (result.kind !== "none") expect(result.affected?.all).toBe(beyond.length);
			const { lineage } = runtime.timeline;
			const gone = beyond.filter((record) => !lineage.isActive(record));
			expect(result.dropped?.all).toBe(gone.length);
			await runtime.close();
		},
	);

	test("is no reason to refuse a checkout, an undo, a redo or a label", async () => {
		const { runtime, start, goOn } = await working();
		await runtime.timeline.label(1, "one");
		const { past } = await runtime.timeline.moves();
		const { tip } = runtime.wal;
		await goOn();
		expect(await runtime.undo("ada", { of: past.at(-1)?.seq as Seq, expect: tip })).toMatchObject({
			of: past.at(-1)?.seq,
		});
		expect(await runtime.checkout(start, "ada", {}, { expect: runtime.wal.tip })).toMatchObject({ kind: "undo" });
		await runtime.close();
	});

	test("that begins after the preview is one", async () => {
		const { runtime, start } = await working();
		const before = await runtime.previewRewind(start, "both");
		await runtime.prompt("plan!");
		await expect(runtime.applyRewind(before, "ada")).rejects.toMatchObject({ code: "REWIND_STALE" });
		await runtime.close();
	});
});

test("what begins something is said of each kind, and all others go on with it", () => {
	const { begins } = compose(builtIn({}).list);
	expect([...begins].sort()).toEqual(
		[
			"plan_amended",
			"compaction_asked",
			"plan_resumed",
			"plan_started",
			"plan_steps_reset",
			"script_resumed",
			"script_started",
			"session_opened",
			"skill_run_resumed",
			"skill_run_started",
			"user_prompt",
		].sort(),
	);
	const known = allRecords.map(({ kind }) => kind);
	for (const kind of begins) expect(known).toContain(kind);
});

test("a mode that there is not is refused by name, in a preview and in what it touches", async () => {
	await inProcess(async (runtime) => {
		const mode = "sideways" as RewindMode;
		const refused = { code: "REWIND_MODE", message: expect.stringContaining(rewindModes.join(", ")) };
		await expect((async () => runtime.previewRewind(0, mode))()).rejects.toMatchObject(refused);
		await expect(blastRadius(runtime, { target: 0, scope: {}, mode })).rejects.toMatchObject(refused);
	});
});

describe("what a rewind keeps is reachable", () => {
	const said = (runtime: Runtime) =>
		runtime
			.conversation(other)
			.items.toArray()
			.flatMap((item) => ("text" in item ? [item.text] : []));

	test.each(["code_only", "conversation_only"] as const)(
		"a session that was opened beyond the target stays after %s, and over a restart",
		async (mode) => {
			const start = await ask("first");
			await ask("beside", other);
			const kept = mode === "code_only" ? ["beside", "echo: beside"] : [];
			await inProcess(async (runtime) => {
				await runtime.applyRewind(await runtime.previewRewind(start, mode), "ada");
				expect(runtime.sessions()).toEqual([mainSession, other]);
				expect(said(runtime)).toEqual(kept);
			});
			await inProcess(
				async (runtime) => {
					expect(runtime.sessions()).toEqual([mainSession, other]);
					expect(said(runtime)).toEqual(kept);
				},
				{ readOnly: true },
			);
			// It goes on as the session that it is, and is not opened anew.
			await ask("more", other);
			await inProcess(async (runtime) => {
				expect(said(runtime)).toEqual([...kept, "more", "echo: more"]);
				expect((await recordsOf(runtime)).filter(({ kind }) => kind === "session_opened")).toHaveLength(1);
				// Where nothing of it is kept there is none.
				await runtime.applyRewind(await runtime.previewRewind(start, "both"), "ada");
				expect(runtime.sessions()).toEqual([mainSession]);
			});
		},
	);

	test("also where an older rewind lists the opening of a session as work", async () => {
		const start = await ask("first");
		await ask("beside", other);
		await inProcess(async (runtime) => {
			const drop = ["session_opened", "tool_failed", "step_started", "step_completed", "lane_closed"];
			await runtime.timeline.checkout(start, { drop, mode: "code_only" });
			expect(runtime.sessions()).toEqual([mainSession, other]);
		});
		await inProcess(async (runtime) => expect(said(runtime)).toEqual(["beside", "echo: beside"]));
	});
});
