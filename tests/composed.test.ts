/** Plans and skills in a session, as a runtime of one's own has them: killed anywhere and rewound anywhere, one call goes on with each. */
import { journal, journalRecords, type Model, stepOutcomes } from "@reyn/journal";
import { type PlanInPorts, planIn, planRecords, planRuns, runPlanIn } from "@reyn/plan";
import { defineSkill, done, next, runSkillIn, skillRecords, skillRunIn, skillRuns } from "@reyn/skill-resume";
import { memorySnapshots } from "@reyn/snapshot";
import { openSession, openTimeline, type Session, type Timeline, timetravelRecords } from "@reyn/timetravel";
import { type BlobStore, fileEngine, memoryBlobs, openWal, type Scope, type Wal } from "@reyn/wal";
import { MortalDisk } from "@reyn/wal/testing";
import { expect, test } from "vitest";
import { z } from "zod";

const scope: Scope = { agent: "clerk", session: "main" };
const proposal = {
	goal: "Compare",
	steps: [
		{ id: "a", description: "Read A" },
		{ id: "b", description: "Compare", depends_on: ["a"] },
	],
};

/** What outlives every process. */
class World {
	readonly disk = new MortalDisk([], []);
	readonly blobs: BlobStore = memoryBlobs();
	/** The lines of the steps that a model was asked. */
	readonly asked: string[] = [];
	/** The key of each charge. */
	readonly charged: string[] = [];

	readonly model: Model = ((asked) => ({
		id: "scripted",
		async *generate({ messages: [first] }) {
			const line = first?.text.split("\n")[1] ?? "";
			asked.push(line);
			yield { type: "text" as const, text: `${line}: done` };
			yield { type: "usage" as const, usage: { inputTokens: 1, outputTokens: 1 } };
		},
	}))(this.asked);

	readonly skill = defineSkill({
		name: "charge",
		description: "Charges, and says so",
		input: z.object({ who: z.string() }),
		start: "charge",
		phases: {
			charge: async ({ step }) =>
				next(
					"tell",
					await step("charge", async ({ idempotencyKey = "" }) => this.charged.push(idempotencyKey), {
						purity: "side_effect",
					}),
				),
			tell: async (_context, { who }) => done(`${who} is charged`),
		},
	});
}

interface Process {
	readonly wal: Wal;
	readonly timeline: Timeline;
	readonly session: Session;
}

async function start({ disk }: World): Promise<Process> {
	const records = [...journalRecords, ...planRecords, ...skillRecords, ...timetravelRecords];
	const wal = await openWal(fileEngine("/state", { disk }), { records });
	const projections = [journal, planRuns, skillRuns];
	const timeline = await openTimeline({ wal, snapshots: memorySnapshots(), projections, outcomes: stepOutcomes });
	await timeline.settle();
	return { wal, timeline, session: await openSession(timeline, scope) };
}

/** Both, from wherever they stand. A plan that is over is not asked for again. */
async function work({ wal, session }: Process, world: World, told: string[] = []): Promise<void> {
	const deliver = async (output: unknown): Promise<void> => void told.push(String(output));
	const { model, blobs } = world;
	const ports = (signal: AbortSignal) => ({ wal, signal, tools: [], model, blobs, deliver }) satisfies PlanInPorts;
	const isOver = (run?: { readonly status: string }): boolean => run?.status === "completed";
	const plan = session.begin("plan", { scope: { ...scope, run: "p" } }, async (signal) => {
		if (isOver(planIn(session.view.get(planRuns), "p"))) return;
		await runPlanIn(session, "p", proposal, ports(signal));
	});
	const skill = session.begin("skill", { scope: { ...scope, run: "s" } }, async (signal) => {
		if (isOver(skillRunIn(session.view.get(skillRuns), "s"))) return;
		await runSkillIn(session, "s", world.skill, { who: "ada" }, ports(signal));
	});
	await Promise.all([plan, skill]);
}

const all = ["Step b: Compare: done", "ada is charged"];

test("killed at any change of the disk, the next process goes on, and pays for what was not known alone", async () => {
	let points = 0;
	for (let n = 1; ; n++) {
		const world = new World();
		const first = await start(world);
		world.disk.dieAt(n);
		const told: string[] = [];
		await work(first, world, told).catch(() => undefined);
		await first.session.close();
		await first.wal.close().catch(() => undefined);
		const isDead = world.disk.dead;
		world.disk.live();
		const next = await start(world);
		await work(next, world, told);
		expect([...new Set(told)].toSorted()).toEqual(all);
		// What was open at the death may be asked once more, and nothing else.
		expect(world.asked.length).toBeLessThanOrEqual(3);
		expect(new Set(world.charged).size).toBe(1);
		expect(world.charged.length).toBeLessThanOrEqual(2);
		await next.wal.close();
		if (!isDead) break;
		points++;
	}
	expect(points).toBeGreaterThan(5);
});

test("rewound to any seq, while they run and after, both come to the same end", async () => {
	const world = new World();
	const own = await start(world);
	await work(own, world);
	const last = own.wal.tip;
	for (let seq = 0; seq <= last; seq++) {
		await own.timeline.checkout(seq);
		const told: string[] = [];
		const stopped = work(own, world);
		await own.timeline.checkout(seq);
		await stopped;
		await work(own, world, told);
		for (const text of told) expect(all).toContain(text);
		const { p, s } = {
			p: planIn(own.session.view.get(planRuns), "p"),
			s: skillRunIn(own.session.view.get(skillRuns), "s"),
		};
		expect([seq, p?.status, s?.status]).toEqual([seq, "completed", "completed"]);
		expect(own.session.view.hash()).toBe((await own.timeline.at(own.wal.tip, scope)).hash());
	}
	// One charge, with one key, for each line of history on which it had not begun.
	expect(new Set(world.charged).size).toBe(world.charged.length);
	await own.wal.close();
});

test("a plan whose steps are lost says so, and one that nobody has started is unknown", async () => {
	const world = new World();
	const { wal, session } = await start(world);
	const stop = new AbortController();
	const ports = { wal, signal: stop.signal, tools: [], model: world.model, blobs: world.blobs };
	await expect(runPlanIn(session, "p", undefined, ports)).rejects.toMatchObject({ code: "PLAN_UNKNOWN" });
	await expect(runSkillIn(session, "s", world.skill, undefined, ports)).rejects.toMatchObject({
		code: "SKILL_UNKNOWN_RUN",
	});
	await expect(runPlanIn(session, "p", { goal: "x", steps: [] }, ports)).rejects.toMatchObject({
		code: "PLAN_INVALID",
	});
	stop.abort(new Error("killed"));
	await runPlanIn(session, "p", proposal, ports).catch(() => undefined);
	const { signal } = new AbortController();
	await expect(runPlanIn(session, "p", undefined, { ...ports, signal, blobs: memoryBlobs() })).rejects.toMatchObject({
		code: "PLAN_LOST",
	});
	expect((await runPlanIn(session, "p", undefined, { ...ports, signal })).text).toBe(all[0]);
	await wal.close();
});

const steps = (count: number) =>
	Array.from({ length: count }, (_, at) => ({
		...{ id: `s${at}`, description: "Do it" },
		depends_on: at === 0 ? [] : [`s${at - 1}`],
	}));

test.each<[what: string, proposal: unknown, code: string, message: RegExp]>([
	["1 step", { goal: "g", steps: steps(1) }, "PLAN_INVALID", /steps: a plan has 2 to 7 steps/],
	["8 steps", { goal: "g", steps: steps(8) }, "PLAN_INVALID", /steps: a plan has 2 to 7 steps/],
	[
		"two steps of one name",
		{ goal: "g", steps: [...steps(2), ...steps(1)] },
		"PLAN_INVALID",
		/two steps are called "s0"/,
	],
	[
		"a tool that is not there",
		{ goal: "g", steps: steps(2).map((step) => ({ ...step, tools: ["fly"] })) },
		"PLAN_INVALID",
		/step "s0" wants the tool "fly"; /,
	],
	[
		"a cycle",
		{
			goal: "g",
			steps: [
				...steps(2),
				{ id: "s2", description: "x", depends_on: ["s3"] },
				{ id: "s3", description: "x", depends_on: ["s2"] },
			],
		},
		"PLAN_INVALID",
		/s2, s3 wait for each other/,
	],
	[
		"steps as a text",
		{ goal: "g", steps: JSON.stringify(steps(2)) },
		"PLAN_INVALID",
		/steps: expected a list of steps; found a text$/,
	],
	[
		"a goal of 1 MB",
		{ goal: "g".repeat(1024 * 1024), steps: steps(2) },
		"PLAN_INVALID",
		/goal: expected at most 2000 characters; found 1048576$/,
	],
	["no plan", null, "PLAN_INVALID", /plan: .*expected object, received null/],
	["nothing, and there is no such plan", undefined, "PLAN_UNKNOWN", /no plan "p1" is in flight; these are: p2/],
])(
	"a plan of %s is refused and says what is valid; nothing is written, and another goes on",
	async (_, proposed, code, message) => {
		const world = new World();
		const { wal, session } = await start(world);
		const ports: PlanInPorts = { wal, model: world.model, tools: [], blobs: world.blobs, signal: AbortSignal.any([]) };
		await expect(
			runPlanIn(session, "p2", proposal, { ...ports, signal: AbortSignal.abort(new Error("killed")) }),
		).rejects.toThrow("killed");
		const before = [wal.tip, await world.blobs.list("")];
		const error = await runPlanIn(session, "p1", proposed, ports).catch((error) => error);
		expect([error.code, error.message]).toEqual([code, expect.stringMatching(message)]);
		expect(error.message.length).toBeLessThan(500);
		expect([wal.tip, await world.blobs.list("")]).toEqual(before);
		expect((await runPlanIn(session, "p2", undefined, ports)).failed).toEqual([]);
		await wal.close();
	},
);
