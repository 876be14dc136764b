/** The life of a random plan: a person does things to it, processes die, and what the log then says is checked record by record. */
import { JournalError } from "@reyn/journal";
import { memorySnapshots } from "@reyn/snapshot";
import { type Appender, codeOf, type Draft, memoryBlobs, type WalRecord } from "@reyn/wal";
import { expect } from "vitest";
import { copyWith, randomAmendment, randomLimits, randomPlan, touchedBy } from "../../../tests/kit/plan-fates.ts";
import { type Random, seeded } from "../../../tests/kit/seeded.ts";
import {
	amended,
	type Decomposition,
	findKept,
	findPlan,
	type PlanLimits,
	type PlanPorts,
	planAborted,
	planAmended,
	planPaused,
	planResumed,
	planRuns,
	planStarted,
	planStepsReset,
} from "../src/index.ts";
import { Process, session, told } from "./plan-process.ts";
import { STEP_SECONDS, World } from "./plan-world.ts";

export const TOOLS = ["look", "send"];

/** What histories have come to, together: a model that meets nothing proves nothing. */
export type Met = Record<string, number>;

/** The plan of a seed: its steps, and its limits. */
export function planOfSeed(seed: number): { readonly decomposition: Decomposition; readonly limits: PlanLimits } {
	const random = seeded(seed);
	const limits = randomLimits(random, random.chance(0.2), STEP_SECONDS);
	return { decomposition: randomPlan(random, `goal ${seed}`, TOOLS), limits };
}

export class PlanLife {
	readonly world: World;
	readonly met: Met;
	readonly #random: Random;
	/** For when the disk is full. */
	readonly #disk: Random;
	readonly #made = new Map<string, Decomposition>();
	readonly #results = memoryBlobs();
	readonly #snapshots = memorySnapshots();
	#process!: Process;
	/** What a person still does. */
	#deeds: number;
	#deaths: number;
	#mayLoseTail: boolean;
	#amends = 0;
	/** Processes that died or were stopped. */
	#stops = 0;
	readonly #cuts: number[] | undefined;
	/** Records that were written since the last cut. */
	#written = 0;

	/**
	 * @param cuts after so many records the process dies, and after so many of its resume the next one. From the first of these deaths on
	 * nobody does anything but to set the plan going again. Default: deaths by chance
	 */
	constructor(seed: number, met: Met, cuts?: readonly number[]) {
		const { decomposition, limits } = planOfSeed(seed);
		this.#random = seeded(seed ^ 0x5eed);
		this.#disk = seeded(seed ^ 0xd15c);
		this.#made.set("", decomposition);
		this.world = new World(seed, limits, this.#made);
		this.met = met;
		this.#deeds = this.#random.pick([0, 1, 2, 3, 4]);
		this.#deaths = cuts ? 0 : this.#random.pick([0, 1, 1, 2, 3]);
		this.#mayLoseTail = !cuts && this.#random.chance(0.5);
		this.#cuts = cuts && [...cuts];
	}

	/** How many records were written since the last cut. */
	get written(): number {
		return this.#written;
	}

	/** Lives until the plan is over, and nobody wants anything of it any more. */
	async live(): Promise<void> {
		for (let lives = 0; !(await this.#once()); lives++) expect(lives).toBeLessThan(80);
		await this.#process[Symbol.asyncDispose]();
	}

	/** One process. @returns is all over? */
	async #once(): Promise<boolean> {
		if (this.#cuts && this.#process?.isDead) {
			this.#cuts.shift();
			this.#deeds = 0;
			this.#written = 0;
		}
		const byChance = this.#deaths > 0 && this.#random.chance(0.7);
		if (byChance) this.#deaths--;
		const [cut] = this.#cuts ?? [];
		const appends = cut === undefined ? this.#random.below(45) : cut - this.#written;
		const dies = byChance || cut !== undefined;
		const tailIsLost = this.#mayLoseTail && this.#random.chance(0.5);
		await this.#start({ ...(dies ? { appends } : {}), tailIsLost });
		const isWritten = await this.#write().catch((error: Error) => {
			if (!this.#process.isDead) throw error;
			return false;
		});
		if (!isWritten) return this.#ends(0);
		if (this.world.status === "aborted") {
			await this.#isFinal();
			return !this.#process.isDead;
		}
		if (this.world.status === "completed") {
			expect([this.world.isTold, this.#process.run().status]).toEqual([true, "completed"]);
			return this.#isLast(dies);
		}
		return this.#execute(!dies);
	}

	async #start(life: { readonly appends?: number; readonly tailIsLost: boolean }): Promise<void> {
		const { world } = this;
		const options = {
			...{ model: world.model, tools: world.tools, limits: world.limits, time: world.time },
			...{ snapshots: this.#snapshots, heard: (record: WalRecord) => this.#hear(record), ...life },
		};
		// What a dead process has told its reader may be lost.
		this.#process = this.#process
			? await this.#process.next({ appends: Number.POSITIVE_INFINITY, ...options })
			: await Process.start(options);
		world.reread(await this.#process.records());
		if (world.status === "none") return;
		// Its state is what the log says, whatever was taken away of that.
		const { status, steps } = this.#process.run();
		const statuses = world.decomposition.steps.map(({ id }) => [id, statusIn(steps, id), steps[id]?.attempt ?? 0]);
		expect([status, ...statuses]).toEqual([
			world.status,
			...world.decomposition.steps.map(({ id }) => [id, world.now(id).status, world.now(id).attempt]),
		]);
	}

	#hear(record: WalRecord): void {
		this.#written++;
		this.world.see(record);
	}

	/** What a person does while nothing runs. @returns false if it is not there, since the process died */
	async #write(): Promise<boolean> {
		const { world } = this;
		const random = this.#random;
		if (world.status === "none") {
			const { goal, steps } = world.decomposition ?? this.#made.get("");
			return this.#append(planStarted({ plan: "p1", goal, steps: steps.length, decomposition: "" }));
		}
		if (world.status === "aborted") return true;
		if (world.status === "completed") {
			if (!this.#cuts && random.chance(0.3)) {
				await this.#process.forget();
				this.#meet("forgotten");
			}
			if (this.#deeds === 0) return true;
			this.#deeds--;
			this.#meet("from, finished");
			return this.#from();
		}
		if (world.status === "paused" && random.chance(0.7)) return this.#append(planResumed({ plan: "p1" }));
		if (this.#deeds === 0 || random.chance(0.4)) return true;
		this.#deeds--;
		this.#meet(`deed, ${world.status}`);
		switch (random.below(9)) {
			case 0:
				this.#meet("discard");
				return this.#append(planAborted({ plan: "p1", reason: "no need" }));
			case 1:
			case 2:
				this.#meet("pause");
				return this.#append(planPaused({ plan: "p1" }));
			case 3:
			case 4:
				this.#meet(`from, ${world.status}`);
				return this.#from();
			default:
				return this.#amend();
		}
	}

	async #append(draft: Draft): Promise<boolean> {
		await this.#process.append(draft, { ...session, run: "p1" }).durable;
		return true;
	}

	/** Nothing sets a plan going that was given up. */
	async #isFinal(): Promise<void> {
		expect(() => findKept(this.#process.view.get(planRuns), "p1")).toThrow(/given up/);
		const { paid } = this.world.counts;
		await expect(this.#process.execute(this.world.decomposition, this.#ports())).rejects.toMatchObject({
			code: "PLAN_UNKNOWN",
		});
		expect(this.world.counts.paid).toBe(paid);
	}

	#from(): Promise<boolean> {
		const step = this.#random.pick(this.world.decomposition.steps).id;
		return this.#append(planStepsReset({ plan: "p1", steps: [...this.world.restOn(step)] }));
	}

	/** Changes steps, at any time: in one turn of the event loop, as who has checked them must. */
	async #amend(): Promise<boolean> {
		const before = this.world.decomposition;
		const amendment = randomAmendment(this.#random, before, this.world.pending, TOOLS, ++this.#amends);
		const pending = new Set(this.world.pending);
		const touched = touchedBy(amendment);
		const mayBe = touched.every((id) => pending.has(id) || !before.steps.some((step) => step.id === id));
		let after: Decomposition;
		try {
			after = amended(findPlan(this.#process.view.get(planRuns), "p1"), before, amendment, TOOLS);
		} catch (error) {
			expect(codeOf(error)).toBe("PLAN_INVALID");
			this.#meet("amend, invalid");
			return true;
		}
		expect(mayBe, `${touched} of ${[...pending]}`).toBe(true);
		expect(after).toEqual(copyWith(before, amendment));
		const name = `amended ${++this.#amends}`;
		this.#made.set(name, after);
		this.#meet("amend");
		if (amendment.drop) this.#meet("amend, drop");
		return this.#append(planAmended({ plan: "p1", steps: after.steps.length, decomposition: name }));
	}

	#ports(): Partial<PlanPorts> {
		const { world } = this;
		const run = () => this.#process.run();
		return {
			log: this.#log(),
			results: this.#results,
			steps: async () => this.#made.get(run().decomposition) as Decomposition,
			atLimit: async (limit) => {
				this.#meet(`limit, ${limit.limit}`);
				const decided = await world.atLimit(limit);
				this.#meet(`limit, ${decided}`);
				if (decided === "later") throw new JournalError("CALL_WAITING", "nobody has said");
				return decided;
			},
			// An answer that comes after the last change of a step is the answer of these steps.
			deliver: async (text) => {
				if (world.isTold) return;
				await this.#process.append(told({ plan: "p1", text, since: run().since }), session).durable;
			},
		};
	}

	/** Now and then the disk is full: what is written in one turn of the event loop is there as a whole, or not. */
	#log(): Appender {
		let isFull: boolean | undefined;
		return {
			append: (draft, scope) => {
				if (isFull === undefined)
					setImmediate(() => {
						isFull = undefined;
					});
				isFull ??= !this.#cuts && this.#disk.chance(0.02);
				if (!isFull) return this.#process.append(draft, scope);
				this.#meet("full");
				throw Object.assign(new Error("the disk is full"), { code: "WAL_FULL" });
			},
		};
	}

	/** Executes it until it is over, waits, or is cut. */
	async #execute(lives: boolean): Promise<boolean> {
		const { world } = this;
		const settled = world.settled;
		const { length } = world.records;
		const [{ paid, hung, recorded }] = [{ ...world.counts }];
		const wasPaused = world.status === "paused";
		const random = this.#random;
		const cancelAt = lives && random.chance(0.3) ? paid + random.below(8) : -1;
		const amendAt = random.chance(0.3) && this.#deeds > 0 ? paid + 1 + random.below(6) : -1;
		let isCancelled = false;
		let amending: Promise<unknown> | undefined;
		world.onCall = (calls) => {
			if (calls === cancelAt) {
				isCancelled = true;
				this.#process.cancel("it is stopped");
			}
			if (calls === amendAt && this.#random.chance(0.8)) {
				this.#deeds--;
				this.#meet("amend, under way");
				amending = this.#amend().catch((error: Error) => {
					if (!this.#process.isDead) throw error;
				});
			}
		};
		const process = this.#process;
		const made = this.#made.get(process.run().decomposition) as Decomposition;
		const outcome = await process.execute(made, this.#ports()).catch((error: Error) => error);
		await amending;
		world.onCall = () => {};
		if (wasPaused)
			expect([world.counts.paid, codeOf(outcome)]).toEqual([paid, process.isDead ? undefined : "PLAN_PAUSED"]);
		// The steps that end are counted one by one, in the order of the log.
		const ends = process.progress.filter(({ change }) => ["completed", "failed"].includes(change.status));
		expect(ends.map(({ done }) => done)).toEqual(ends.map((_, at) => settled + at + 1));
		const inLog = world.records
			.slice(length)
			.flatMap(({ kind, data }) =>
				["plan_step_completed", "plan_step_failed"].includes(kind) ? [(data as { step: string }).step] : [],
			);
		expect(ends.map(({ step }) => step)).toEqual(inLog.slice(0, ends.length));
		const open = world.counts.paid - paid - (world.counts.hung - hung) - (world.counts.recorded - recorded);
		if (!(outcome instanceof Error)) {
			expect([world.status, open, ends.length]).toEqual(["completed", 0, inLog.length]);
			const answer = world.answerText();
			if (answer.kind === "text") expect(outcome.text).toBe(answer.text);
			expect(outcome.failed).toEqual(
				world.decomposition.steps.map(({ id }) => id).filter((id) => world.outcome(id).kind === "failed"),
			);
			this.#meet(answer.kind === "text" ? "answered" : "no answer");
			return this.#ends(open, this.#deeds === 0);
		}
		if (process.isDead || isCancelled) {
			this.#stops++;
			this.#meet(isCancelled ? "stopped" : "killed");
			return this.#ends(open);
		}
		if (codeOf(outcome) === "CALL_WAITING") world.answer();
		else if (codeOf(outcome) !== "PLAN_PAUSED") throw outcome;
		expect(open).toBe(0);
		return this.#ends(open);
	}

	/** A process is over. No more calls were open than may run at the same time. */
	#ends(open: number, isOver = false): boolean {
		expect(open).toBeGreaterThanOrEqual(0);
		expect(open).toBeLessThanOrEqual(this.world.limits.concurrency);
		const { effects } = this.world;
		const doubled = [...effects.values()].reduce((sum, times) => sum + times - 1, 0);
		expect(doubled).toBeLessThanOrEqual(this.#stops * this.world.limits.concurrency);
		return isOver;
	}

	/** Does nobody want anything any more, and has every death that was to come come? */
	#isLast(dies: boolean): boolean {
		return this.#deeds === 0 && (this.#cuts !== undefined || !dies);
	}

	#meet(what: string): void {
		this.met[what] = (this.met[what] ?? 0) + 1;
	}
}

const statusIn = (steps: Readonly<Record<string, { readonly status: string }>>, id: string): string => {
	const { status = "pending" } = steps[id] ?? {};
	return status === "completed" || status === "failed" ? "settled" : status;
};
