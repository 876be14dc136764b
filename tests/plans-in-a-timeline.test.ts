/** `openPlans` over a timeline that somebody else has opened: whoever waits for a plan hears of it when a rewind takes it away. */
import { journal, journalRecords, type Model, stepOutcomes } from "@reyn/journal";
import { openPlans, type PlanEnd, planRecords, planRuns } from "@reyn/plan";
import { memorySnapshots } from "@reyn/snapshot";
import { openSession, openTimeline, timetravelRecords } from "@reyn/timetravel";
import { memoryBlobs, memoryEngine, openWal } from "@reyn/wal";
import { expect, test } from "vitest";

const proposal = {
	goal: "Compare",
	steps: [
		{ id: "a", description: "Read A" },
		{ id: "b", description: "Compare", depends_on: ["a"] },
	],
};

/** Answers at once, but for the second step, which is answered when it is let go; a cut call ends. */
async function opened() {
	const wal = await openWal(memoryEngine(), { records: [...journalRecords, ...planRecords, ...timetravelRecords] });
	const projections = [journal, planRuns];
	const timeline = await openTimeline({ wal, snapshots: memorySnapshots(), projections, outcomes: stepOutcomes });
	const session = await openSession(timeline, { agent: "clerk", session: "main" });
	const asked: string[] = [];
	let go = Promise.withResolvers<void>();
	const model: Model = {
		id: "scripted",
		async *generate({ messages: [first] }, { signal }) {
			const line = first?.text.split("\n")[1] ?? "";
			asked.push(line);
			if (line.includes("Compare")) {
				const cut = new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
				await Promise.race([go.promise, cut]);
			}
			yield { type: "text", text: `${line}: done` };
			yield { type: "usage", usage: { inputTokens: 1, outputTokens: 1 } };
		},
	};
	const told: PlanEnd[] = [];
	const plans = await openPlans(
		{ wal, session, blobs: memoryBlobs() },
		{ model, deliver: (end) => void told.push(end) },
	);
	timeline.attend({ quiet: async () => () => {}, rebuild: async () => plans.moved() });
	const start = async (): Promise<void> => {
		await plans.start("p", proposal, { chain: "c7" });
		await expect.poll(() => asked.length).toBe(2);
	};
	const letGo = (): void => {
		go.resolve();
		go = Promise.withResolvers();
	};
	return { wal, timeline, plans, told, asked, start, letGo };
}

test("a plan at work that a rewind takes away is told to whoever waits for it, and one that comes back goes on", async () => {
	const { wal, timeline, plans, told, asked, start, letGo } = await opened();
	await start();
	await timeline.checkout(1);
	await expect.poll(() => told).toMatchObject([{ plan: "p", chain: "c7", outcome: "rewound" }]);
	expect(plans.list()).toEqual([]);
	await timeline.undo();
	await expect.poll(() => asked).toEqual(["Step a: Read A", "Step b: Compare", "Step b: Compare"]);
	letGo();
	await plans.idle();
	expect(told.slice(1)).toMatchObject([
		{ plan: "p", chain: "c7", outcome: "completed", text: "Step b: Compare: done" },
	]);
	await plans.close();
	await wal.close();
});

test("so is one that is paused; one that has told its answer is not told again", async () => {
	const { wal, timeline, plans, told, asked, start, letGo } = await opened();
	await start();
	await plans.pause("p");
	await timeline.checkout(1);
	await expect.poll(() => told).toMatchObject([{ chain: "c7", outcome: "rewound" }]);
	await plans.start("p", proposal);
	await expect.poll(() => asked.length).toBe(4);
	letGo();
	await plans.idle();
	await timeline.checkout(1);
	await plans.idle();
	expect(told.map(({ outcome }) => outcome)).toEqual(["rewound", "completed"]);
	await plans.close();
	await wal.close();
});

test("rewound into its work, a plan goes on from there, and tells another answer", async () => {
	const { wal, timeline, plans, told, asked, start, letGo } = await opened();
	await start();
	letGo();
	await plans.idle();
	const finished = plans.list()[0]?.[1];
	expect(finished?.status).toBe("completed");
	// Before the second step had begun.
	let at = 0;
	for await (const { kind, seq } of wal.read()) if (kind === "plan_step_started") at = seq;
	await timeline.checkout(at - 1);
	await expect.poll(() => asked.length).toBe(3);
	letGo();
	await plans.idle();
	expect(told).toMatchObject([{ outcome: "completed" }, { outcome: "completed" }]);
	await plans.close();
	await wal.close();
});
