/** Random histories of a plan whose step runs a skill: killed, discarded, run again, rewound. At the end no child is left over, and no effect was made twice. */
import { childrenBelow, isLive, skillRuns } from "@reyn/skill-resume";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Random, SEED, seeded } from "../../../tests/kit/seeded.ts";
import { sample } from "../../../tests/sample.ts";
import { mainSession, type Runtime } from "../src/index.ts";
import { ANSWER, type Ledger, life, said, toEnd } from "./child-plans.ts";
import { keepLines, linesOf } from "./cut.ts";
import { emptyArea, makeProject, type Project } from "./project.ts";

let project: Project;
beforeEach(async () => {
	project = await makeProject();
});
afterEach(() => project[Symbol.asyncDispose]());

const children = (runtime: Runtime) => childrenBelow(runtime.view().get(skillRuns), "plan");

/** What holds at any moment: one call has one open child at most, and an answer of one. */
function assertOnePerCall(runtime: Runtime, told: string): void {
	const calls = Map.groupBy(children(runtime), ([id]) => id.split(".")[0]);
	for (const [call, all] of calls) {
		const counted = all.filter(([, run]) => run.ended?.by !== "parent" && run.status !== "discarded");
		expect(counted.length, `${told}: ${call}`).toBeLessThanOrEqual(1);
	}
}

const operations: Readonly<Record<string, (runtime: Runtime, plan: string, random: Random) => Promise<unknown>>> = {
	"goes on": async (runtime) => runtime.resume(),
	"is discarded": (runtime, plan) => runtime.discardPlan(plan),
	"runs again": (runtime, plan) => runtime.resumePlan(plan, "a"),
	"is paused": (runtime, plan) => runtime.pausePlan(plan),
	"is resumed": (runtime, plan) => runtime.resumePlan(plan),
	"is rewound": (runtime, _plan, random) => runtime.checkout(2 + random.below(runtime.wal.tip - 2), "test"),
	"is rewound alone": (runtime, plan, random) =>
		runtime.checkout(2 + random.below(runtime.wal.tip - 2), "test", { ...mainSession, run: plan }),
	"is undone": (runtime) => runtime.undo("test"),
	"is redone": (runtime) => runtime.redo("test"),
};

/** What a person may not do just now is refused, and changes nothing. */
const refusals = /^(PLAN_|NOTHING_TO_|TIMETRAVEL_|RUNTIME_UNKNOWN)/;

async function history(random: Random, purity: "pure" | "side_effect"): Promise<void> {
	const ledger: Ledger = new Map();
	const done: string[] = [];
	/** Does what is asked of the model in this life hang from some call on? */
	const opened = async (hangs: boolean) => {
		let left = hangs ? random.below(6) : Number.POSITIVE_INFINITY;
		const held = (signal: AbortSignal): Promise<void> => {
			left -= 2;
			if (left > 0) return Promise.resolve();
			return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
		};
		return life(project, ledger, { purity, permissions: { mode: "all" }, look: held, last: held });
	};
	const settled = async (runtime: Runtime): Promise<void> => {
		// It hangs, or is over.
		for (let quiet = 0, tip = -1; quiet < 20; quiet = tip === runtime.wal.tip ? quiet + 1 : 0) {
			tip = runtime.wal.tip;
			await new Promise((resolve) => setTimeout(resolve, 1));
		}
	};
	for (let lives = 0; lives < 5; lives++) {
		const { runtime } = await opened(random.chance(0.7));
		const [first] = runtime.plans();
		if (!first) {
			// A rewind may have taken the question back.
			await runtime.prompt("plan!").catch(() => {});
			await settled(runtime);
			done.push("plan!");
		}
		for (let times = random.below(3); times > 0; times--) {
			const [name = ""] = [random.pick(Object.keys(operations))];
			const plan = runtime.plans()[0]?.plan;
			if (plan === undefined) break;
			done.push(name);
			await operations[name]?.(runtime, plan, random).catch((error: Error & { code?: string }) => {
				if (!refusals.test(error.code ?? "")) throw error;
			});
			await settled(runtime);
			assertOnePerCall(runtime, done.join(", "));
		}
		await runtime.close();
		if (random.chance(0.5)) continue;
		// As if what came last had not been written.
		const { length } = await linesOf(project.state);
		const kept = Math.max(3, length - random.below(12));
		await keepLines(project.state, kept);
		await emptyArea(project.state, "snapshots");
		for (const seq of ledger.keys()) if (seq >= kept) ledger.delete(seq);
		done.push(`cut to ${kept}`);
	}
	const { runtime } = await opened(false);
	const told = `${done.join(", ")} (seed ${SEED})`;
	runtime.resume();
	await toEnd(runtime);
	if (runtime.plans().length === 0) await runtime.prompt("plan!").catch(() => {});
	await toEnd(runtime);
	const [{ plan, status } = { plan: "", status: "none" }] = runtime.plans();
	if (status === "paused") await runtime.resumePlan(plan);
	await toEnd(runtime);
	assertOnePerCall(runtime, told);
	const [last] = runtime.plans();
	expect([told, children(runtime).filter(([, run]) => isLive(run)), runtime.restored().runs]).toEqual([told, [], []]);
	expect([told, Math.max(0, ...ledger.values())]).toEqual([told, Math.min(1, ledger.size)]);
	if (last?.status === "completed") expect([told, said(runtime).at(-1)]).toEqual([told, ANSWER]);
	else expect([told, last?.status]).toEqual([told, "aborted"]);
	await runtime.close();
}

const HISTORIES = Number(process.env.REYN_RUNS ?? sample(4, 12));

test.each(Array.from({ length: HISTORIES }, (_, at) => at))("history %i", async (at) => {
	await history(seeded(SEED + at), at % 2 === 0 ? "side_effect" : "pure");
});
