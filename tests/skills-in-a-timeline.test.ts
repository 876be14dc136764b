/** `openSkills` over a timeline that somebody else has opened: a run that a rewind takes away is told, and one that comes back goes on. */
import { journal, journalRecords, stepOutcomes } from "@reyn/journal";
import { defineSkill, done, next, openSkills, type SkillEnd, skillRecords, skillRuns } from "@reyn/skill-resume";
import { memorySnapshots } from "@reyn/snapshot";
import { openSession, openTimeline, timetravelRecords } from "@reyn/timetravel";
import { memoryEngine, openWal } from "@reyn/wal";
import { expect, test } from "vitest";
import { z } from "zod";

/** Reads at once, and compares when it is let go; a cut call ends. */
async function opened() {
	const wal = await openWal(memoryEngine(), { records: [...journalRecords, ...skillRecords, ...timetravelRecords] });
	const projections = [journal, skillRuns];
	const timeline = await openTimeline({ wal, snapshots: memorySnapshots(), projections, outcomes: stepOutcomes });
	const session = await openSession(timeline, { agent: "clerk", session: "main" });
	const calls: string[] = [];
	let go = Promise.withResolvers<void>();
	const compare = defineSkill({
		...{ name: "compare", description: "Compares", input: z.string(), start: "read" },
		phases: {
			read: async ({ step }, input) =>
				next("judge", await step("read", async () => `${calls.push("read")} ${input}`, { purity: "external" })),
			judge: async ({ step }, _input, text) =>
				done(
					await step(
						"judge",
						async ({ signal }) => {
							calls.push("judge");
							const cut = new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
							await Promise.race([go.promise, cut]);
							return `${text}: good`;
						},
						{ purity: "external" },
					),
				),
		},
	});
	const told: SkillEnd[] = [];
	const model = {
		id: "silent",
		// biome-ignore lint/correctness/useYield: it is never asked
		async *generate() {
			throw new Error("nobody asks this model");
		},
	};
	const skills = await openSkills(
		{ wal, session },
		{ skills: [compare], model, deliver: (end) => void told.push(end) },
	);
	timeline.attend({ quiet: async () => () => {}, rebuild: async () => skills.moved() });
	const start = async (): Promise<void> => {
		await skills.start("r", "compare", "A");
		await expect.poll(() => calls).toEqual(["read", "judge"]);
	};
	const letGo = (): void => {
		go.resolve();
		go = Promise.withResolvers();
	};
	const close = async (): Promise<void> => {
		await skills.close();
		await wal.close();
	};
	return { wal, timeline, skills, told, calls, start, letGo, close };
}

test("a run at work that a rewind takes away is told, and goes on where it was when that is undone", async () => {
	const { timeline, skills, told, calls, start, letGo, close } = await opened();
	await start();
	await timeline.checkout(1);
	await expect.poll(() => told).toMatchObject([{ run: "r", skill: "compare", outcome: "rewound" }]);
	expect(skills.list()).toEqual([]);
	await timeline.undo();
	await expect.poll(() => calls).toEqual(["read", "judge", "judge"]);
	letGo();
	await skills.idle();
	expect(told.slice(1)).toMatchObject([{ run: "r", outcome: "completed", output: "1 A: good" }]);
	await close();
});

test("rewound into its second phase, a run that is over goes on from there, and its end has another key", async () => {
	const { wal, timeline, skills, told, calls, start, letGo, close } = await opened();
	await start();
	letGo();
	await skills.idle();
	let at = 0;
	for await (const { kind, seq } of wal.read()) if (kind === "skill_phase_entered") at = seq;
	await timeline.checkout(at);
	await expect.poll(() => calls).toEqual(["read", "judge", "judge"]);
	letGo();
	await skills.idle();
	expect(told).toMatchObject([
		{ outcome: "completed", output: "1 A: good" },
		{ outcome: "completed", output: "1 A: good" },
	]);
	expect(new Set(told.map(({ key }) => key)).size).toBe(2);
	await close();
});

test("a discard that is rewound is none: the run goes on", async () => {
	const { wal, timeline, skills, told, calls, start, letGo, close } = await opened();
	await start();
	const before = wal.tip;
	await skills.discard("r", "not wanted");
	expect(told).toMatchObject([{ outcome: "discarded", reason: "not wanted" }]);
	await timeline.checkout(before);
	await expect.poll(() => calls).toEqual(["read", "judge", "judge"]);
	letGo();
	await skills.idle();
	expect(told.slice(1)).toMatchObject([{ outcome: "completed" }]);
	await close();
});
