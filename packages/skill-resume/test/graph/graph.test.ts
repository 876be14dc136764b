/** Random skills of several phases, killed at records, edited and gone on with: the outcome is as without a fault, at a bounded price. */
import { expect, test } from "vitest";
import { type Random, SEED, seeded } from "../../../../tests/kit/seeded.ts";
import { sample, some } from "../../../../tests/sample.ts";
import { type CutEngine, cutEngine } from "../../../journal/test/order/cut-engine.ts";
import { datedBlobs } from "../../../journal/test/order/dated-blobs.ts";
import { EMPTY, type Life, live, type Policy, said, World } from "./lives.ts";
import { edited, type Form, type Op, randomForm, rootOf, START, type Stand, trace } from "./program.ts";

interface Entry {
	readonly kind: string;
	readonly data: Record<string, unknown>;
}

const recordsIn = ({ lines }: CutEngine): readonly Entry[] =>
	lines.map((line) => JSON.parse(line.slice(line.indexOf("{"))));

/** The phases that are completed in a log, each once. */
function completedIn(engine: CutEngine, told: string): number {
	const visits = recordsIn(engine).flatMap(({ kind, data }) =>
		kind === "skill_phase_completed" ? [`${data.run} ${data.phase}/${data.visit}`] : [],
	);
	expect(new Set(visits).size, `${told}: a phase was completed twice`).toBe(visits.length);
	return visits.filter((visit) => visit.startsWith("r ")).length;
}

const stepsOf = (form: Form): ReadonlyMap<string, Extract<Op, { kind: "step" }>> => {
	const all = new Map<string, Extract<Op, { kind: "step" }>>();
	const add = (op: Op): void => {
		if (op.kind === "step") all.set(op.name, op);
		if (op.kind === "together") op.branches.flat().forEach(add);
		if (op.kind === "child") op.ops.forEach(add);
	};
	for (const { ops } of Object.values(form.phases)) ops.forEach(add);
	return all;
};

/** One program: what it is now, where it must have come to, and what it cost. */
class History {
	readonly world: World;
	form: Form;
	engine: CutEngine;
	/** Without a fault. */
	stands: readonly Stand[];
	cuts = 0;
	edits = 0;
	readonly ends: Life[] = [];
	readonly policy: Policy;
	readonly told: string;
	/** A snapshot of a later moment than a death was not stored. */
	readonly #blobs = datedBlobs(() => this.engine.tip);

	constructor(seed: number, form: Form, policy: Policy) {
		this.told = `seed ${seed}, ${policy}`;
		this.world = new World(seed);
		this.form = form;
		this.policy = policy;
		this.engine = cutEngine(this.#blobs);
		this.stands = trace(form, START, said);
	}

	async live(): Promise<void> {
		const before = this.world.told;
		this.world.told = [];
		this.ends.push(await live(this.engine, this.form, this.world, this.policy));
		const now = new Map(this.world.told.map(({ id, value }) => [id, value]));
		for (const { id, value } of before)
			if (now.has(id) && this.edits === 0 && this.#childrenFailed(id) === 0)
				expect(now.get(id), `${this.told}: ${id} was told otherwise`).toBe(value);
		this.world.told = [...before.filter(({ id }) => !now.has(id)), ...this.world.told];
	}

	/** How often each call was made, and a death took its answer. */
	readonly #lost = new Map<string, number>();

	#noteLost(): void {
		const kept = this.engine.lines.join("\n");
		const made = this.world.made.flatMap(({ id, failed }) => (failed ? [] : [id]));
		for (const id of new Set(made)) {
			// Of a run that a failure has ended, an answer is kept that counts for the next one no more.
			const least = this.#childrenFailed(id) > 0 ? this.world.count(id) : 1;
			if (kept.split(`"${said(id)}"`).length - 1 < least) this.#lost.set(id, (this.#lost.get(id) ?? 0) + 1);
		}
	}

	async cut(after: number, random: Random, mayEdit: boolean): Promise<void> {
		this.cuts++;
		this.#blobs.cut(after);
		this.engine = await this.engine.cut(after);
		this.world.cut(this.engine.lines);
		this.#noteLost();
		const completed = completedIn(this.engine, this.told);
		if (mayEdit && random.chance(0.4)) {
			this.edits++;
			this.form = edited(this.form, random);
		}
		// Phases that are not finished are of the text that there is now, also where an edit was made behind them.
		const kept = this.stands.slice(0, completed + 1);
		this.stands = [...kept, ...trace(this.form, kept.at(-1) as Stand, said).slice(1)];
	}

	/** After an edit, branches may have begun otherwise than is recorded, where nobody can tell which call is which: it waits for a person. */
	get isRefused(): boolean {
		return this.edits > 0 && / does not do what is recorded/.test(this.ends.at(-1)?.failed.at(-1) ?? "");
	}

	assertOutcome(): void {
		const last = this.stands.at(-1) as Stand;
		const ends = this.ends.flatMap(({ told }) => told);
		expect(new Set(ends.map(({ key }) => key)).size, `${this.told}: ends`).toBeLessThanOrEqual(1 + this.cuts);
		const end = this.ends.at(-1)?.told[0] ?? ends.at(-1);
		const records = recordsIn(this.engine);
		const isDiscarded = records.some(({ kind, data }) => kind === "skill_run_discarded" && data.run === "r");
		if (isDiscarded) {
			expect([this.policy, end?.outcome, this.cuts > 0], this.told).toEqual(["discard_skill", "discarded", true]);
		} else if (last.phase === "done") {
			const skipped = this.world.told.filter(({ value }) => value === EMPTY).map(({ id }) => id);
			if (skipped.length > 0) expect(this.policy, this.told).toBe("skip");
			else
				expect(end, `${this.told}: ${this.ends.at(-1)?.failed.join()}`).toMatchObject({
					outcome: "completed",
					output: last.before,
				});
			expect(completedIn(this.engine, this.told), this.told).toBe(this.stands.length - 1);
		} else {
			expect(this.ends.at(-1)?.failed.at(-1), this.told).toMatch(/its limit is 4/);
			expect(this.ends.at(-1)?.told, this.told).toEqual([]);
		}
		this.#assertPrice();
	}

	/** How often a run around a call was ended by a call of it that failed: the next one is another run, which makes all anew. */
	#childrenFailed(id: string): number {
		const root = rootOf(id);
		return this.world.made.filter((each) => each.failed && root !== undefined && each.id.startsWith(`${root}/`)).length;
	}

	/** What was made more than once had lost its answer, each time, or was of a run that a failure had ended: an answer that is kept is told again, and nobody is asked for it. */
	#assertPrice(): void {
		const steps = stepsOf(this.form);
		for (const id of new Set(this.world.made.map((each) => each.id))) {
			const step = steps.get(/.*\/(c\d+):/.exec(id)?.[1] ?? "");
			if (step && (step.purity === "pure" || step.purity === "world")) continue;
			const isBound = step && (step.asks || this.policy !== "retry");
			const most = 1 + this.edits + (isBound ? 0 : (this.#lost.get(id) ?? 0)) + this.#childrenFailed(id);
			expect(this.world.count(id), `${this.told}: ${id} was made too often`).toBeLessThanOrEqual(most);
		}
	}
}

const policies: readonly Policy[] = ["retry", "skip", "discard_skill"];

async function history(seed: number, meet: Meet): Promise<void> {
	const random = seeded(seed);
	const policy = random.pick(policies);
	const told = new History(seed, randomForm(random, policy !== "discard_skill"), policy);
	const mayEdit = random.chance(0.4);
	await told.live();
	told.assertOutcome();
	for (let lives = 1 + random.below(3); lives > 0; lives--) {
		await told.cut(1 + random.below(told.engine.tip), random, mayEdit);
		await told.live();
		meetIn(told, meet);
		if (told.edits > 0) meet(`edited, ${policy}`);
		if (told.isRefused) return;
		told.assertOutcome();
	}
	await told.live();
	expect(told.ends.at(-1)?.told, `${told.told}: told again`).toEqual([]);
}

/** What a history has met. */
type Meet = (what: string) => void;

/** Children that a death has left open, and the first start that goes on with them; questions that were put to somebody who did not answer. */
function meetIn(told: History, meet: Meet): void {
	const records = recordsIn(told.engine);
	const begun = records.filter(({ kind, data }) => kind === "skill_run_started" && data.parent !== undefined);
	if (begun.length > 0) meet("a child");
	const lastStart = records.findLastIndex(({ kind }) => kind === "wal_epoch");
	const isOver = ({ data: { run } }: Entry) =>
		records.findIndex(({ kind, data }) => /^skill_run_(completed|discarded)$/.test(kind) && data.run === run);
	for (const child of begun) {
		if (records.indexOf(child) < lastStart && isOver(child) > lastStart)
			meet("a child that another process goes on with");
		if (String(child.data.parent).split("skill/").length > 2) meet("a child of a child");
	}
	if (told.ends.some(({ failed }) => failed.some((why) => why.includes("waits for an answer"))))
		meet("a question left open");
	if (told.ends.some(({ failed }) => failed.some((why) => why.includes("gave what cannot be kept"))))
		meet("what is not JSON");
	if (told.ends.some(({ failed }) => failed.some((why) => /^c\d+ .*has failed/.test(why)))) meet("a child that failed");
	if (told.ends.some(({ failed }) => failed.some((why) => why.includes("has stopped for now"))))
		meet("a child that a budget has stopped");
}

test("random skills, killed at random records and edited between", async () => {
	const runs = Number(process.env.REYN_RUNS ?? sample(12, 25));
	const met = new Map<string, number>();
	const meet: Meet = (what) => void met.set(what, (met.get(what) ?? 0) + 1);
	for (let i = 0; i < runs; i++) await history(SEED * 1_000_003 + i, meet);
	console.log(`${runs} histories: ${JSON.stringify(Object.fromEntries(met))}`);
	// A sample is too small for what is rare.
	const all = [
		"a child",
		"what is not JSON",
		"a child of a child",
		"a child that another process goes on with",
		"a child that failed",
		"a child that a budget has stopped",
	];
	const edited = policies.map((policy) => `edited, ${policy}`);
	if (runs >= 100) expect([...met.keys()].sort()).toEqual([...all, ...edited, "a question left open"].sort());
});

/** Of the first cuts each so-many-th: `REYN_EVERY=1` for all of them. */
const EVERY = Number(process.env.REYN_EVERY ?? sample(24, 8));

test("killed after each record of a run, and after each record of the run that goes on", async () => {
	for (let i = 0; i < sample(1, 2); i++) {
		const seed = SEED * 7_001 + i;
		for (const policy of some(policies, 3)) {
			const form = randomForm(seeded(seed), policy !== "discard_skill");
			const whole = new History(seed, form, policy);
			await whole.live();
			for (let first = 1; first <= whole.engine.tip; first += EVERY) {
				const lengths = new Set<number>();
				for (let second = 0; ; second++) {
					const each = new History(seed, form, policy);
					await each.live();
					await each.cut(first, seeded(seed + first), false);
					await each.live();
					each.assertOutcome();
					lengths.add(each.engine.tip);
					if (second === 0 || first + second > each.engine.tip) {
						if (second === 0) continue;
						break;
					}
					await each.cut(first + second, seeded(seed + first + second), false);
					await each.live();
					each.assertOutcome();
				}
			}
		}
	}
});
