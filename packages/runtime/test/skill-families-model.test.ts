/** Random histories of a run that asks and has children: killed, discarded, answered, out of money, rewound. At the end no child is left over, no question is open, and no effect was made twice. */
import { stepCompleted } from "@reyn/journal";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Random, SEED, seeded } from "../../../tests/kit/seeded.ts";
import { sample } from "../../../tests/sample.ts";
import { mainSession, type Runtime } from "../src/index.ts";
import { type Ledger, recordsOf } from "./child-plans.ts";
import { keepLines, linesOf } from "./cut.ts";
import { emptyArea, makeProject, type Project } from "./project.ts";
import { ANSWER, childrenIn, life, liveIn, said, toEnd } from "./skill-families.ts";

let project: Project;
beforeEach(async () => {
	project = await makeProject();
});
afterEach(() => project[Symbol.asyncDispose]());

const runOf = (runtime: Runtime): string | undefined => runtime.restored().runs.find(({ parent }) => !parent)?.run;

/** What holds at any moment: one call has one open child at most, and none outlives the run around it. */
function assertWhole(runtime: Runtime, told: string): void {
	const calls = Map.groupBy(liveIn(runtime), ([, { parent }]) => parent);
	for (const [call, all] of calls) expect([told, call, all.length]).toEqual([told, call, 1]);
	const runs = new Set(runtime.restored().runs.flatMap(({ run, parent }) => (parent ? [] : [run])));
	for (const [, { parent = "" }] of liveIn(runtime))
		expect([told, runs.has(parent.split("/")[1] ?? "")]).toEqual([told, true]);
	const asked = runtime.questions().map(({ from }) => from.id);
	for (const id of asked) expect([told, runs.has(id)]).toEqual([told, true]);
}

const operations: Readonly<Record<string, (runtime: Runtime, random: Random) => Promise<unknown>>> = {
	"goes on": async (runtime) => runtime.resume(),
	"is discarded": (runtime) => runtime.discardSkillRun(runOf(runtime) ?? ""),
	"is resumed": (runtime) => runtime.resumeSkillRun(runOf(runtime) ?? ""),
	"is answered": async (runtime, random) => {
		const open = runtime.questions();
		if (open.length === 0) return;
		const { seq, question } = random.pick(open);
		const isOfMoney = /Go on for another/.test(question);
		await runtime.answer(seq, isOfMoney ? random.pick(["yes", "no", "no"]) : "yes", "ada");
		if (isOfMoney) met.money++;
	},
	"is rewound": (runtime, random) => runtime.checkout(2 + random.below(runtime.wal.tip - 2), "test"),
	"is rewound alone": (runtime, random) =>
		runtime.checkout(2 + random.below(runtime.wal.tip - 2), "test", { ...mainSession, run: runOf(runtime) ?? "none" }),
	"is undone": (runtime) => runtime.undo("test"),
	"is redone": (runtime) => runtime.redo("test"),
};

/** How often a person was asked about the budget, over all histories. */
const met = { money: 0 };

/** What a person may not do just now is refused, and changes nothing. */
const refusals = /^(SKILL_UNKNOWN_RUN|NOTHING_TO_|TIMETRAVEL_|RUNTIME_)/;

async function history(random: Random): Promise<void> {
	const ledger: Ledger = new Map();
	const done: string[] = [];
	const opened = async (hangs: boolean) => {
		let left = hangs ? random.below(4) : Number.POSITIVE_INFINITY;
		const look = (signal: AbortSignal): Promise<void> => {
			if (left-- > 0) return Promise.resolve();
			return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
		};
		// A model says something for 11.
		const budget = { session: { tokens: random.pick([1, 11, 22]) } };
		return life(project, ledger, { look, budget, unanswered: random.chance(0.5) ? "wait" : "stop" });
	};
	const settled = async (runtime: Runtime): Promise<void> => {
		// It hangs, or is over.
		for (let quiet = 0, tip = -1; quiet < 20; quiet = tip === runtime.wal.tip ? quiet + 1 : 0) {
			tip = runtime.wal.tip;
			await new Promise((resolve) => setTimeout(resolve, 1));
		}
	};
	for (let lives = 0; lives < 5; lives++) {
		const { runtime } = await opened(random.chance(0.5));
		if (runOf(runtime) === undefined) {
			await runtime.runSkill("root", {});
			done.push("begins");
		} else if (random.chance(0.7)) runtime.resume();
		await settled(runtime);
		for (let times = random.below(5); times > 0; times--) {
			const name = random.pick(Object.keys(operations));
			done.push(name);
			await operations[name]?.(runtime, random).catch((error: Error & { code?: string }) => {
				if (!refusals.test(error.code ?? "")) throw error;
			});
			await settled(runtime);
			assertWhole(runtime, `${done.join(", ")} (seed ${SEED})`);
		}
		await runtime.close();
		if (random.chance(0.5)) continue;
		// As if what came last had not been written.
		const { length } = await linesOf(project.state);
		const kept = Math.max(3, length - random.below(15));
		await keepLines(project.state, kept);
		await emptyArea(project.state, "snapshots");
		for (const seq of ledger.keys()) if (seq >= kept) ledger.delete(seq);
		done.push(`cut to ${kept}`);
	}
	const { runtime } = await life(project, ledger);
	const told = `${done.join(", ")} (seed ${SEED})`;
	runtime.resume();
	if (runOf(runtime) === undefined) await runtime.runSkill("root", {});
	await runtime.idle();
	// A move may have brought back one beside the one that was begun since.
	for (const { run, parent, status } of runtime.restored().runs)
		if (parent === undefined && status === "paused") await runtime.resumeSkillRun(run);
	await toEnd(runtime, "yes");
	assertWhole(runtime, told);
	expect([told, liveIn(runtime), runtime.restored().runs, runtime.questions()]).toEqual([told, [], [], []]);
	expect([told, Math.max(0, ...ledger.values()) <= 1]).toEqual([told, true]);
	expect([told, said(runtime).at(-1)]).toEqual([told, ANSWER]);
	// Where the outcome of a call is known from another line, none is begun for it; of a middle not its leaf either.
	const adopted = (await recordsOf(runtime)).filter(
		(record) => stepCompleted.is(record) && record.data.kind === "skill" && record.data.adopts !== undefined,
	);
	expect([told, childrenIn(runtime).length + 2 * adopted.length >= 5]).toEqual([told, true]);
	await runtime.close();
}

const HISTORIES = Number(process.env.REYN_RUNS ?? sample(1, 2));

test.each(Array.from({ length: HISTORIES }, (_, at) => at))("history %i", async (at) => {
	await history(seeded(SEED + 1000 + at));
});

if (HISTORIES >= 50) test("a person was asked about the budget", () => expect(met.money).toBeGreaterThan(0));
