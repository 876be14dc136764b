/**
 * Random plans in a whole runtime: what fails, is tried again, comes to a limit, asks, has children, is paused, amended, run again, given
 * up, rewound with its session and alone, undone and redone, cut by collections, and killed at any change of the log and of what lies
 * beside it. A reader that copies everything says what each record, call, answer and end must be.
 * `REYN_RUNS` sets how many histories there are, `REYN_SEED` the first one's seed.
 */
import { writeFileSync } from "node:fs";
import { planRuns, plansOf } from "@reyn/plan";
import { childrenBelow, isLive, skillRuns } from "@reyn/skill-resume";
import { codeOf, type Scope, type WalRecord } from "@reyn/wal";
import { afterAll, expect, test } from "vitest";
import { copyWith, randomAmendment, randomLimits, randomPlan, touchedBy } from "../../../tests/kit/plan-fates.ts";
import { type Random, SEED, seeded } from "../../../tests/kit/seeded.ts";
import { sample } from "../../../tests/sample.ts";
import { type BackgroundMessage, engineStore, openRuntime, type Runtime } from "../src/index.ts";
import { main, type PlanNow, stepIn } from "./plan-copies.ts";
import { PlanWorld, STEP_SECONDS } from "./plan-world.ts";

const RUNS = Number(process.env.REYN_RUNS ?? sample(30, 200));
/** So many histories are told by one test; the message of one that fails has its own seed. */
const EACH = Math.min(RUNS, 20);

/** What the histories have come to, together: a model that meets nothing proves nothing. */
let told: () => string = () => "";
const met: Record<string, number> = {};
const meet = (what: string): void => {
	met[what] = (met[what] ?? 0) + 1;
};

test.each(Array.from({ length: Math.ceil(RUNS / EACH) }, (_, i) => SEED + i * EACH))(
	"the histories from %i on",
	async (first) => {
		for (let seed = first; seed < first + EACH; seed++)
			await new History(seed).live().catch((error: Error) => {
				if (process.env.REYN_LOG !== undefined) writeFileSync(`${process.env.REYN_LOG}-${seed}`, told());
				error.message = `REYN_SEED=${seed} REYN_RUNS=1: ${error.message}`;
				throw error;
			});
	},
);

afterAll(() => {
	if (process.env.REYN_RUNS !== undefined) console.log(JSON.stringify(met));
	for (const what of [...(RUNS >= 30 ? often : []), ...(RUNS >= 200 ? seldom : [])])
		expect(met[what] ?? 0, what).toBeGreaterThan(0);
});

/** Met in most histories: what else takes work apart is met by the hundred, and counted there. */
const often = [
	...["limit, iterations", "limit, retries", "limit, tokens", "limit, extend", "limit, fail", "limit, pause"],
	...["a plan fails in part", "answered", "two plans", "child, signed", "stopped", "killed at work"],
];

const seldom = [
	...[
		"limit, seconds",
		"plan_tokens, extend",
		"plan_tokens, fail",
		"plan_tokens, pause",
		"no answer",
		"from, running",
		"from, paused",
		"from, completed",
		"collected",
		"refused for good",
	],
	...["amend", "amend, invalid", "pause", "resume", "discard", "child, refused", "child, adopted", "child, ended"],
	...["rewind of all", "rewind of the session", "rewind of the plan", "undo", "redo"],
	...["killed", "killed in a deed", "killed in a rewind", "killed in an open", "a tail is lost"],
];

/** What a person may not do just now is refused, and changes nothing. */
const refusals = /^(PLAN_|NOTHING_TO_|TIMETRAVEL_|RUNTIME_UNKNOWN|SKILL_UNKNOWN)/;

class History {
	readonly #random: Random;
	readonly #world: PlanWorld;
	#runtime!: Runtime;
	#goals = 0;
	#amends = 0;
	#deeds = 0;
	/** Calls that may be lost: those that could be open when work was stopped. */
	#mayBeLost = 0;
	/** The children that a process has left open. */
	readonly #left = new Set<string>();
	/** Those whose step was over when a kill, or a move, left them open: they end with their plan. */
	#orphans: readonly string[] = [];
	readonly #shown = new Map<number, number>();
	readonly #most: number;

	constructor(seed: number) {
		this.#random = seeded(seed);
		told = () => this.#world.copies.told();
		const random = this.#random;
		const isTimed = random.chance(0.2);
		const limits = {
			...randomLimits(random, isTimed, STEP_SECONDS),
			...(random.chance(0.3) ? { planTokens: random.pick([200, 500, 1000, 2000]) } : {}),
		};
		this.#most = isTimed ? 1 : 2;
		const options = {
			limits,
			unattended: random.chance(0.2) ? random.below(3) : undefined,
			isPure: random.chance(0.4),
			// Time passes for all that runs, and a move may bring a plan back beside another one.
			isStraight: random.chance(0.25) || isTimed,
		};
		this.#world = new PlanWorld(seed, seeded(seed ^ 0x70ad), options, meet);
	}

	async live(): Promise<void> {
		const random = this.#random;
		this.#deeds = 3 + random.below(14);
		for (let lives = 0; this.#deeds > 0 || lives < 2; lives++) {
			expect(lives).toBeLessThan(60);
			const isMortal = random.chance(0.6);
			if (!(await this.#open(isMortal ? random.pick([3, 10, 30, 100, 200]) : undefined))) continue;
			if (random.chance(0.9)) this.#runtime.resume();
			await this.#work();
			for (let deeds = random.below(5); deeds > 0 && this.#deeds > 0 && !this.#isDead; deeds--) {
				this.#deeds--;
				await this.#does();
				await this.#work();
			}
			await this.#ends();
		}
		await this.#toEnd();
	}

	get #isDead(): boolean {
		return this.#world.engine.isDead;
	}

	/** @param mortal at most so many changes until it dies. Undefined: it lives @returns has it come to work? */
	async #open(mortal?: number): Promise<boolean> {
		const { engine, copies, time, model, tools, skill, options } = this.#world;
		engine.revive();
		const isLast = mortal === undefined;
		if (mortal !== undefined) engine.left = this.#random.below(mortal);
		const { tip } = copies;
		try {
			this.#runtime = await openRuntime({
				...{ store: engineStore(engine), model, tools, clock: time, timers: time, random: () => 0, quietMs: 600_000 },
				...(options.unattended === undefined && { skills: [skill] }),
				...{ limits: options.limits, onMessage: (message) => this.#show(message) },
				unanswered: options.unattended === undefined ? (isLast || this.#random.chance(0.5) ? "stop" : "wait") : "deny",
				...(options.unattended !== undefined && { onLimit: { unattended: "extend", times: options.unattended } }),
			});
			const log: WalRecord[] = [];
			for await (const record of this.#runtime.wal.read()) log.push(record);
			copies.reread(log);
		} catch (error) {
			if (!this.#isDead) throw error;
			meet("killed in an open");
			return false;
		}
		if (this.#isDead) {
			meet("killed in an open");
			await this.#runtime.close().catch(() => {});
			return false;
		}
		if (copies.tip < tip) meet("a tail is lost");
		for (const { plan } of copies.plans)
			for (const { run, status } of copies.childrenOf(plan)) if (status === "live") this.#left.add(run);
		const { wal } = this.#runtime;
		const append = wal.append.bind(wal);
		wal.append = (...draft) => {
			const appended = append(...draft);
			// What a dead process still appends is never written.
			if (!this.#isDead) this.#world.checked(() => copies.read(appended.record));
			return appended;
		};
		expect(copies.isSettled).toBe(true);
		this.#orphans = copies.orphans;
		if (this.#orphans.length > 0) meet("child, orphaned");
		await this.#agrees();
		return true;
	}

	/** Lets it work for a while; somebody may answer meanwhile. */
	async #work(): Promise<void> {
		const random = this.#random;
		const most = random.pick([0, 3, 20, 60, 200]);
		for (let turns = random.below(most + 1); turns > 0 && !this.#isDead; turns--) {
			await new Promise(setImmediate);
			if (random.chance(0.1)) await this.#mayDie("an answer", () => this.#answer());
		}
		if (!this.#isDead) await this.#agrees();
	}

	/** @returns false: nobody asks anything */
	async #answer(): Promise<boolean> {
		const open = this.#runtime.questions();
		if (open.length === 0) return false;
		const { seq, question } = this.#random.pick(open);
		const [, goal, id = "", attempt, limit = "", extended] =
			/^plan\/([^/]+)\/(\w+)\/(\d+) (\w+) (\d+)$/.exec(this.#world.copies.question(seq)) ?? [];
		let text = /\|(yes|no)\?$/.exec(question)?.[1] ?? "";
		const [, ofPlan, times, again] =
			/^plan\/([^/]+) plan_tokens; extended (\d+), again (\d+)$/.exec(this.#world.copies.question(seq)) ?? [];
		if (ofPlan !== undefined) {
			const { goal } = this.#world.copies.find(ofPlan) as PlanNow;
			text = this.#world.fatesOf(goal).decisionOfPlan(Number(again), Number(times));
			meet("limit, plan_tokens");
			meet(`plan_tokens, ${text}`);
		} else if (goal !== undefined) {
			const now = this.#world.copies.find(goal) as PlanNow;
			text = this.#world.fatesOf(now.goal).decision(id, Number(attempt), limit as "tokens", Number(extended)).decision;
			meet(`limit, ${limit}`);
			meet(`limit, ${text}`);
		} else if (text === "no") meet("child, refused");
		await this.#runtime.answer(seq, text, "ada").catch(refused);
		return true;
	}

	async #show({ seq, from, text }: BackgroundMessage): Promise<void> {
		const { copies } = this.#world;
		if (this.#isDead) throw new Error("killed");
		const record = copies.line.find((each) => each.seq === seq);
		const { text: said } = (record?.data ?? { text: "?" }) as { text: string };
		const isDurable = this.#runtime.wal.durableTip >= seq;
		this.#world.checked(() =>
			expect(
				[record?.kind, text.startsWith(said.slice(0, 200)), isDurable, copies.isDelivered(seq)],
				`#${seq} of ${from}`,
			).toEqual([...["assistant_message", true, true, false]]),
		);
		this.#shown.set(seq, (this.#shown.get(seq) ?? 0) + 1);
	}

	/** Of each plan in flight, so many steps as may run have a call open, or a child in one; an open turn may just begin one. */
	#stops(what: string): void {
		const { copies, options } = this.#world;
		const hasWork = ({ status, steps }: PlanNow): boolean =>
			status === "running" || [...steps.values()].some((step) => step.status === "running");
		const plans = copies.plans.filter(hasWork).length + this.#runtime.restored().turns.length;
		this.#mayBeLost += plans * options.limits.concurrency;
		meet(what);
	}

	async #ends(): Promise<void> {
		if (!this.#isDead && this.#random.chance(0.3)) this.#world.engine.left = 0;
		this.#stops(this.#isDead ? "killed at work" : "stopped");
		const dead = this.#isDead;
		await this.#runtime.close().catch((error: Error) => {
			if (!this.#isDead) throw error;
		});
		if (this.#isDead && !dead) meet("killed");
	}

	/** @returns was it done? */
	async #mayDie(what: string, deed: () => Promise<unknown>): Promise<boolean> {
		try {
			await deed();
			return true;
		} catch (error) {
			if (!this.#isDead) throw error;
			meet("killed in a deed");
			if (what.startsWith("rewind")) meet("killed in a rewind");
			return false;
		}
	}

	/** @param only what is done. Default: anything */
	async #does(only?: string): Promise<void> {
		const random = this.#random;
		const runtime = this.#runtime;
		const { copies } = this.#world;
		const isOpen = runtime.restored().turns.length > 0;
		if (!only && !isOpen && (copies.plans.length === 0 || (copies.plans.length < this.#most && random.chance(0.3)))) {
			await this.#mayDie("a prompt", () => this.#prompt());
			return;
		}
		if (copies.plans.length === 0) return;
		const now = random.pick(copies.plans);
		const { plan, status } = now;
		if (!only && status === "aborted" && random.chance(0.5))
			return void (await this.#mayDie("refusal", () => this.#isFinal(plan)));
		const ids = copies.stepsOf(now).map(({ id }) => id);
		// A step whose child is open is run again more often: both have to end.
		const parents = copies.parentsOf(plan).filter((id) => ids.includes(id));
		const deeds: Readonly<Record<string, () => Promise<unknown>>> = {
			pause: () => runtime.pausePlan(plan),
			resume: () => runtime.resumePlan(plan),
			[`from, ${status}`]: () => runtime.resumePlan(plan, random.pick(parents.length > 0 ? parents : ids)),
			discard: () => runtime.discardPlan(plan),
			amend: () => this.#amend(now),
			"rewind of all": () => this.#rewind({}),
			"rewind of the session": () => this.#rewind(main),
			"rewind of the plan": () => this.#rewind({ ...main, run: plan }),
			undo: () => runtime.undo("ada"),
			redo: () => runtime.redo("ada"),
			collected: () => this.#collect(),
			"a prompt": () => this.#talk(),
		};
		const { past, future } = this.#world.options.isStraight ? { past: [], future: [] } : copies.moves;
		const rewinds = ["rewind of all", "rewind of the session"];
		// It may come back beside another one.
		if (this.#most > 1 || this.#goals === 1) rewinds.push("rewind of the plan", "rewind of the plan");
		const likely = [
			...[
				"pause",
				`from, ${status}`,
				"amend",
				"amend",
				"collected",
				"collected",
				"collected",
				"a prompt",
				"discard",
				"resume",
			],
			...(this.#world.options.isStraight ? [] : rewinds),
			...(status === "paused" ? ["resume", "resume"] : []),
			...(parents.length > 0 ? [`from, ${status}`, `from, ${status}`] : []),
			...(past.length > 0 ? ["undo", "undo"] : []),
			...(future.length > 0 ? ["redo", "redo", "redo"] : this.#world.options.isStraight ? [] : ["redo"]),
		];
		const name = only ?? random.pick(likely);
		if (!/^(collected|amend|a prompt)$/.test(name)) this.#stops(`${name}, asked`);
		const { tip } = copies;
		// Each deed is one that a kill may cut anywhere.
		if (random.chance(0.2)) this.#world.engine.left = random.below(8);
		const isDone = await this.#mayDie(name, () => (deeds[name] as () => Promise<unknown>)().catch(refused));
		if (isDone && copies.tip > tip) meet(name);
		if (!isDone || this.#isDead || !/^(rewind|undo|redo)/.test(name)) return;
		expect(copies.isSettled, name).toBe(true);
		this.#orphans = copies.orphans;
		await this.#agrees();
		if (name === "undo" && random.chance(0.4)) await this.#does("redo");
	}

	async #prompt(): Promise<void> {
		const goal = `goal-${++this.#goals}`;
		this.#world.copies.made.set(goal, randomPlan(this.#random, goal, this.#world.toolNames));
		if (this.#world.copies.plans.length > 0) meet("two plans");
		await this.#runtime.prompt(`plan ${goal}`).catch(refused);
	}

	async #talk(): Promise<void> {
		await this.#runtime.prompt("hello").catch(refused);
	}

	async #collect(): Promise<void> {
		const { copies } = this.#world;
		const { first } = await this.#runtime.gc({ keepDays: 0, keepCheckpoints: 1 + this.#random.below(3) });
		if (first > copies.first) meet("collected");
		copies.first = first;
	}

	async #rewind(scope: Scope): Promise<void> {
		const { tip } = this.#runtime.wal;
		const back = this.#random.chance(0.5) ? Math.min(tip, 25) : tip;
		await this.#runtime.checkout(tip - this.#random.below(back), "ada", scope);
	}

	async #amend(now: PlanNow): Promise<void> {
		const { copies, toolNames } = this.#world;
		const before = copies.made.get(now.decomposition);
		if (!before) return;
		const pending = before.steps.map(({ id }) => id).filter((id) => stepIn(now, id).status === "pending");
		const amendment = randomAmendment(this.#random, before, pending, toolNames, ++this.#amends);
		const after = copyWith(before, amendment);
		copies.amending = { plan: now.plan, after, touched: touchedBy(amendment) };
		try {
			await this.#runtime.amendPlan(now.plan, amendment);
		} catch (error) {
			if (codeOf(error) !== "PLAN_INVALID") throw error;
			meet("amend, invalid");
		}
	}

	/** Nothing sets a plan going that was given up. */
	async #isFinal(plan: string): Promise<void> {
		const { calls } = this.#world.paid;
		for (const deed of [() => this.#runtime.resumePlan(plan), () => this.#runtime.pausePlan(plan)])
			await expect(deed()).rejects.toMatchObject({ code: "PLAN_UNKNOWN" });
		expect(this.#world.copies.plans.length > 1 || this.#world.paid.calls === calls).toBe(true);
		meet("refused for good");
	}

	/** The runtime knows of each plan what the copy of now says. */
	async #agrees(isLast = false): Promise<void> {
		const { copies, failure } = this.#world;
		if (failure) throw failure;
		const view = this.#runtime.view();
		const known = plansOf(view.get(planRuns)).map(([plan, { status, since, steps, tokens = 0, extended = 0 }]) => [
			...[plan, status, since, tokens, extended],
			Object.fromEntries(
				Object.entries(steps)
					.map(([id, step]) => [id, shortOf(step)] as const)
					.sort(byId),
			),
		]);
		const expected = copies.plans.map(({ plan, status, since, steps, tokens, extended }) => [
			...[plan, status, since, tokens, extended],
			Object.fromEntries(
				[...steps]
					.filter(([, step]) => step.status !== "pending" || step.attempt > 0)
					.map(
						([id, { status: of, attempt, extended }]) =>
							[id, `${of} ${attempt}${of === "running" ? ` ${JSON.stringify(sorted(extended))}` : ""}`] as const,
					)
					.sort(byId),
			),
		]);
		expect(known.map(withoutNothing)).toEqual(expected.map(withoutNothing));
		expect(copies.orphans.filter((run) => !this.#orphans.includes(run))).toEqual([]);
		const moves = await this.#runtime.timeline.moves();
		for (const stack of ["past", "future"] as const) {
			const made = copies.moves[stack].map(({ seq }) => seq);
			const offered = moves[stack].map(({ seq }) => seq);
			// Of what needs a record that was collected, and of what is below that, nothing is offered.
			const gone = copies.first > 1 ? made.slice(0, made.length - offered.length) : [];
			expect([...gone, ...offered], stack).toEqual(made);
		}
		for (const now of copies.plans) {
			// A kill may have cut the end of one that was given up: the next one to go on with it says it.
			const isOver = now.status === "completed" || (now.status === "aborted" && isLast);
			const live = childrenBelow(view.get(skillRuns), `plan/${now.plan}`).filter(([, run]) => isLive(run));
			const open = copies.childrenOf(now.plan).filter(({ status }) => status === "live");
			expect(live.map(([run]) => run).sort()).toEqual(open.map(({ run }) => run).sort());
			if (isOver) expect(open, `${now.plan} is ${now.status}`).toEqual([]);
		}
	}

	/** Whatever the history has come to, each plan comes to its end from there, and each answer is told once. */
	async #toEnd(): Promise<void> {
		const { copies, sent, signed } = this.#world;
		await this.#open();
		const runtime = this.#runtime;
		runtime.resume();
		await runtime.idle();
		if (copies.plans.length === 0) await this.#prompt();
		for (let rounds = 0; ; rounds++) {
			expect(rounds).toBeLessThan(500);
			await runtime.idle();
			if (await this.#answer()) continue;
			const paused = copies.plans.filter(({ status }) => status === "paused");
			const children = runtime.restored().runs.filter(({ status }) => status === "paused");
			for (const { run } of children) await runtime.resumeSkillRun(run);
			for (const { plan } of paused) await runtime.resumePlan(plan);
			if (paused.length + children.length === 0) break;
		}
		await this.#agrees(true);
		for (const now of copies.plans) {
			const { plan, status, since, ended } = now;
			expect(status, plan).toMatch(/^(completed|aborted)$/);
			const said = copies.messagesOf(plan).filter((seq) => seq > (status === "aborted" ? ended : since));
			// Led back alone to where it had its first answer, it has those of later tries behind it, too.
			if (status === "completed" && !copies.untold.has(plan)) expect(said, `${plan} since #${since}`).not.toEqual([]);
			for (const seq of said) expect([this.#shown.has(seq), copies.isDelivered(seq)], `#${seq}`).toEqual([true, true]);
			const shown = (await runtime.planSteps(plan)).map(({ id, description, needs }) => [id, description, needs]);
			expect(shown).toEqual(copies.stepsOf(now).map((each) => [each.id, each.description, each.depends_on]));
			if (status === "aborted") await this.#isFinal(plan);
			else {
				for (const { id } of copies.stepsOf(now)) {
					const outcome = copies.outcomeOf(now, id);
					if (outcome.kind === "completed") expect(await runtime.planResult(plan, id)).toBe(outcome.text);
					else meet("a plan fails in part");
				}
				meet(copies.answerOf(now).kind === "text" ? "answered" : "no answer");
			}
			for (const { run, status: of } of copies.childrenOf(plan)) {
				if (of === "ended") meet("child, ended");
				if (of === "over" && this.#left.has(run)) meet("child, adopted");
			}
		}
		expect([runtime.questions(), runtime.restored().undelivered]).toEqual([[], []]);
		const { lost } = this.#world;
		expect(lost).toBeGreaterThanOrEqual(0);
		expect(lost, "calls that were paid for nothing").toBeLessThanOrEqual(this.#mayBeLost);
		const doubled = [...sent.values()].reduce((sum, times) => sum + times - 1, 0);
		expect(doubled).toBeLessThanOrEqual(this.#mayBeLost);
		expect(Math.max(0, ...signed.values())).toBeLessThanOrEqual(1);
		await runtime.close();
	}
}

const byId = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number => (a < b ? -1 : 1);

const sorted = (extended: object): object => Object.fromEntries(Object.entries(extended).sort(byId));

function shortOf(step: { status: string; attempt: number; extended?: object | undefined }): string {
	const { status, attempt, extended = {} } = step;
	const of = status === "completed" || status === "failed" ? "settled" : status;
	return `${of} ${attempt}${of === "running" ? ` ${JSON.stringify(sorted(extended))}` : ""}`;
}

/** A step that is pending in its first attempt is as one that nobody has heard of. */
const withoutNothing = (of: readonly unknown[]): readonly unknown[] => [
	...of.slice(0, -1),
	Object.entries(of.at(-1) as Record<string, string>).filter(([, each]) => each !== "pending 0"),
];

function refused(error: unknown): void {
	if (!refusals.test(String(codeOf(error)))) throw error;
}
