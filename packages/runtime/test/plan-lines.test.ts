/**
 * Random plans on lines of history: rewound with their session and alone, undone and redone, run again, amended and given up, in lives
 * that end and that are killed. A model that copies everything says which state each move leads to, and what each step must come to.
 * `REYN_RUNS` sets how many histories there are (default 150), `REYN_SEED` the first one's seed.
 */
import type { Model, ModelRequest, Tool } from "@reyn/journal";
import { PLAN_TOOL, type PlanRun, planIn, planRuns } from "@reyn/plan";
import type { Seq } from "@reyn/wal";
import { mortalEngine } from "@reyn/wal/testing";
import { afterAll, expect, test } from "vitest";
import { type Random, SEED, seeded } from "../../../tests/kit/seeded.ts";
import { pauseless } from "../../../tests/kit/timers.ts";
import { sample } from "../../../tests/sample.ts";
import { engineStore, mainSession, openRuntime, type Runtime } from "../src/index.ts";

const RUNS = Number(process.env.REYN_RUNS ?? sample(10, 100));

/** What the histories have come to, together: a model that meets nothing proves nothing. */
const met: Record<string, number> = {};
const meet = (what: string): void => {
	met[what] = (met[what] ?? 0) + 1;
};

test.each(Array.from({ length: RUNS }, (_, i) => SEED + i))("history %i", async (seed) => {
	const history = new History(seed);
	await history.begin();
	for (let i = 0; i < 12; i++) await history.deed();
	await history.end();
});

afterAll(() => {
	if (RUNS >= 100) for (const what of deeds) expect(met[what] ?? 0, what).toBeGreaterThan(0);
});

const deeds = [
	...["rewind of the session", "rewind of the plan", "undo", "redo", "restart", "kill", "answered"],
	...["pause", "undo of a pause", "resume", "amend", "from, paused", "from, completed", "discard"],
	...["undo while it works", "redo of what works"],
];

interface Step {
	readonly id: string;
	readonly description: string;
	readonly tools: readonly string[];
	readonly depends_on: readonly string[];
}

/** All that is known of the plan at a moment when nothing runs. */
interface Copy {
	readonly seq: Seq;
	readonly run: PlanRun;
	readonly steps: readonly Step[];
}

/** What an undo takes back, and what was before it; once undone, what was before that. */
interface Move {
	readonly name: string;
	readonly before: Copy;
	after?: Copy;
}

class History {
	readonly #random: Random;
	readonly #engine = mortalEngine();
	#runtime!: Runtime;
	/** The plan is asked nothing any more after so many calls. */
	#left = Number.POSITIVE_INFINITY;
	#paid = 0;
	#plan = "";
	#steps: readonly Step[];
	#amends = 0;
	readonly #copies: Copy[] = [];
	readonly #done: Move[] = [];
	#undone: Move[] = [];
	readonly #shown: string[] = [];

	constructor(seed: number) {
		this.#random = seeded(seed);
		const size = 2 + this.#random.below(4);
		const steps = Array.from({ length: size }, (_, at) => ({
			...{ id: `s${at + 1}`, description: `Do s${at + 1}`, tools: this.#random.chance(0.4) ? ["send"] : [] },
			depends_on: Array.from({ length: at }, (_, i) => `s${i + 1}`).filter(() => this.#random.chance(0.4)),
		}));
		const last = steps.at(-1) as (typeof steps)[number];
		for (const { id } of steps.slice(0, -1))
			if (!steps.some(({ depends_on }) => depends_on.includes(id))) last.depends_on.push(id);
		this.#steps = steps;
	}

	async begin(): Promise<void> {
		await this.#open();
		this.#left = this.#random.below(4);
		const turn = await this.#runtime.prompt("plan!");
		this.#plan = `p${turn}`;
		await this.#rest();
	}

	async deed(): Promise<void> {
		const random = this.#random;
		const { status } = this.#run;
		switch (random.below(10)) {
			case 0:
			case 1:
				return this.#rewind();
			case 2:
				return this.#undo();
			case 3:
				return this.#redo();
			case 4:
				return this.#restart();
			case 5:
				if (status === "paused") await this.#does("discard", () => this.#runtime.discardPlan(this.#plan));
				return;
			case 6:
				if (status === "paused") await this.#amend();
				return;
			case 7:
				if (status === "aborted") return;
				return this.#goOn(`from, ${status}`, random.pick(this.#steps).id);
			default:
				if (status === "paused") await this.#goOn("resume");
		}
	}

	/** Whatever the history has come to, the plan comes to its end from there, and nothing that is over is paid again. */
	async end(): Promise<void> {
		while (this.#run.status === "aborted") await this.#undo();
		if (this.#run.status === "paused") {
			this.#left = Number.POSITIVE_INFINITY;
			const { run } = this.#copyNow();
			const missing = this.#steps.filter(({ id }) => !isOver(run, id));
			const most = missing.reduce((sum, { tools }) => sum + 1 + tools.length, 0);
			const [paid, shown] = [this.#paid, this.#shown.length];
			await this.#runtime.resumePlan(this.#plan);
			await this.#runtime.idle();
			expect(this.#paid - paid).toBeLessThanOrEqual(most);
			expect(this.#paid - paid).toBeGreaterThanOrEqual(Math.min(1, missing.length));
			expect(this.#shown.length - shown).toBeLessThanOrEqual(1);
		}
		expect(this.#run.status).toBe("completed");
		this.#check();
		meet("answered");
		await this.#runtime.close();
	}

	async #open(): Promise<void> {
		this.#engine.revive();
		const model: Model = {
			id: "lines",
			generate: (request, { signal }) => this.#generate(request, signal),
		};
		const send: Tool = {
			...{ name: "send", description: "sends", parameters: { type: "object" }, purity: "side_effect" },
			call: async (args) => `sent ${(args as { to: string }).to}`,
		};
		this.#runtime = await openRuntime({
			...{ store: engineStore(this.#engine), model, tools: [send], timers: pauseless() },
			onMessage: async ({ text }) => void this.#shown.push(text),
		});
	}

	async *#generate(request: ModelRequest, signal: AbortSignal): ReturnType<Model["generate"]> {
		const [first, last] = [request.messages[0], request.messages.at(-1)];
		const prompt = first && "text" in first ? first.text : "";
		const id = /^Step (\w+):/m.exec(prompt)?.[1];
		if (id === undefined) {
			if (last?.role === "user" && last.text === "plan!")
				yield { type: "toolCall", call: { id: "1", name: PLAN_TOOL, args: { goal: "lines", steps: this.#steps } } };
			else yield { type: "text", text: "hello" };
			yield { type: "usage", usage: { inputTokens: 10, outputTokens: 1 } };
			return;
		}
		if (this.#left <= 0) {
			await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
			// Some hear it late.
			for (let turns = this.#random.below(3); turns > 0; turns--) await new Promise(setImmediate);
			throw signal.reason;
		}
		this.#left--;
		this.#paid++;
		const step = this.#steps.find((each) => each.id === id) as Step;
		const { attempt } = planIn(this.#runtime.view().get(planRuns), this.#plan)?.steps[id] ?? { attempt: -1 };
		await new Promise(setImmediate);
		signal.throwIfAborted();
		expect(prompt).toContain(`Step ${id}: ${step.description}`);
		if (step.tools.length > 0 && last?.role === "user")
			yield { type: "toolCall", call: { id: "1", name: "send", args: { to: `bob ${attempt}` } } };
		else {
			const [, given = ""] = prompt.split(`Step ${id}:`);
			yield {
				type: "text",
				text: textOf(
					step,
					attempt,
					[...given.matchAll(/«([^»]*)»/g)].map(([, fact = ""]) => fact),
				),
			};
		}
		yield { type: "usage", usage: { inputTokens: 10, outputTokens: 1 } };
	}

	get #run(): PlanRun {
		return planIn(this.#runtime.view().get(planRuns), this.#plan) as PlanRun;
	}

	#copyNow(): Copy {
		return { seq: this.#runtime.wal.tip, run: structuredClone(this.#run), steps: structuredClone(this.#steps) };
	}

	/** Lets the plan work until it is over, or asks for more than it may; then it is paused. */
	async #rest(): Promise<void> {
		const isStill = (): boolean => this.#left <= 0 || this.#run?.status !== "running";
		for (let turns = 0; turns < 20 && !isStill(); ) {
			await new Promise(setImmediate);
			if (this.#run?.status === "completed") turns++;
		}
		for (let turns = 0; turns < 20; turns++) await new Promise(setImmediate);
		if (this.#run.status === "running") {
			const { tip } = this.#runtime.wal;
			await this.#runtime.pausePlan(this.#plan).catch(({ code }) => expect(code).toBe("PLAN_UNKNOWN"));
			const made = (await this.#runtime.timeline.moves()).past.at(-1)?.seq ?? 0;
			if (made > tip) await this.#paused(made);
		}
		await this.#runtime.idle();
		this.#keep();
	}

	/** An undo leads to the plan as it was just before it was paused. */
	async #paused(seq: Seq): Promise<void> {
		meet("pause");
		const run = await this.#runAt(seq - 1);
		this.#done.push({ name: "pause", before: { seq, run, steps: structuredClone(this.#steps) } });
		this.#undone = [];
	}

	async #runAt(seq: Seq): Promise<PlanRun> {
		return planIn((await this.#runtime.timeline.at(seq, mainSession)).get(planRuns), this.#plan) as PlanRun;
	}

	#keep(): void {
		this.#check();
		this.#copies.push(this.#copyNow());
	}

	/** Each step that is over came to what it must, of what it rests on. */
	#check(): void {
		const run = this.#run;
		for (const step of this.#steps) {
			const now = run.steps[step.id];
			if (now?.status === "completed") expect(now.result).toBe(this.#textOf(step, run));
			expect(now?.status).not.toBe("failed");
		}
	}

	#textOf(step: Step, run: PlanRun): string {
		const given = this.#steps.filter(({ id }) => step.depends_on.includes(id));
		const facts = given.map((each) => factIn(this.#textOf(each, run)));
		return textOf(step, run.steps[step.id]?.attempt ?? 0, facts);
	}

	/** Does something that an undo takes back; what follows is not waited for. */
	async #does(name: string, deed: () => Promise<unknown>): Promise<void> {
		meet(name);
		const before = this.#copyNow();
		await deed();
		this.#done.push({ name, before });
		this.#undone = [];
		if (this.#run.status !== "running") this.#keep();
	}

	async #goOn(name: string, from?: string): Promise<void> {
		this.#left = this.#random.chance(0.5) ? Number.POSITIVE_INFINITY : this.#random.below(4);
		await this.#does(name, () => this.#runtime.resumePlan(this.#plan, from));
		if (this.#run.status === "running" && this.#random.chance(0.3)) {
			for (let turns = this.#random.below(12); turns > 0; turns--) await new Promise(setImmediate);
			meet("undo while it works");
			await this.#undo();
			if (this.#random.chance(0.5)) await this.#redo();
			return;
		}
		await this.#rest();
	}

	async #amend(): Promise<void> {
		const run = this.#run;
		const pending = this.#steps.filter(({ id }) => (run.steps[id]?.status ?? "pending") === "pending");
		if (pending.length === 0) return;
		const step = this.#random.pick(pending);
		const put = [{ ...step, description: `Do ${step.id} anew ${++this.#amends}` }];
		await this.#does("amend", async () => {
			await this.#runtime.amendPlan(this.#plan, { put });
			this.#steps = this.#steps.map((each) => (each.id === step.id ? (put[0] as Step) : each));
		});
	}

	async #rewind(): Promise<void> {
		const to = this.#random.pick(this.#copies);
		const isAlone = this.#random.chance(0.4);
		const scope = isAlone ? { ...mainSession, run: this.#plan } : mainSession;
		const before = this.#copyNow();
		meet(isAlone ? "rewind of the plan" : "rewind of the session");
		const { tip } = this.#runtime.wal;
		await this.#runtime.checkout(to.seq, "test", scope);
		// Who goes to where they are has not moved.
		if (this.#runtime.wal.tip > tip) {
			this.#done.push({ name: "rewind", before });
			this.#undone = [];
		}
		this.#is(to, "rewind");
	}

	async #undo(): Promise<void> {
		const move = this.#done.pop();
		if (!move) return;
		meet("undo");
		const { steps } = this.#copyNow();
		if (this.#left <= 0) this.#left = this.#random.below(2);
		const { seq } = await this.#runtime.undo("test");
		// It may have come further meanwhile: a redo leads there.
		move.after = { seq, run: await this.#runAt(seq - 1), steps };
		this.#undone.push(move);
		if (move.before.run.status !== "running") return this.#is(move.before, `undo of ${move.name}`);
		meet("undo of a pause");
		expect(await this.#runAt(seq)).toEqual(move.before.run);
		expect(this.#run.status).toBe("running");
		this.#steps = move.before.steps;
		// It goes on by itself, until it is paused once more.
		if (this.#random.chance(0.5)) await this.#redo();
		else await this.#rest();
	}

	async #redo(): Promise<void> {
		const move = this.#undone.pop();
		if (!move?.after) return;
		meet("redo");
		const { steps } = this.#copyNow();
		const { seq } = await this.#runtime.redo("test");
		// One whose pause was undone has gone on since: an undo leads there.
		const run = await this.#runAt(seq - 1);
		this.#done.push({ ...move, before: { seq, run, steps } });
		if (move.after.run.status !== "running") return this.#is(move.after, `redo of ${move.name}`);
		meet("redo of what works");
		expect(await this.#runAt(seq)).toEqual(move.after.run);
		this.#steps = move.after.steps;
		await this.#rest();
	}

	/** The plan is as it was then. */
	#is({ run, steps }: Copy, what: string): void {
		expect(this.#run, what).toEqual(run);
		this.#steps = steps;
		this.#keep();
	}

	/** Another process finds it as it was; one that was killed has lost nothing that was told. */
	async #restart(): Promise<void> {
		const { run } = this.#copyNow();
		const isKilled = this.#random.chance(0.5);
		meet(isKilled ? "kill" : "restart");
		if (isKilled) {
			for (let turns = 0; turns < 5; turns++) await new Promise(setImmediate);
			this.#engine.die();
			await this.#runtime.close().catch(() => {});
		} else await this.#runtime.close();
		await this.#open();
		expect(this.#run).toEqual(run);
		const paid = this.#paid;
		this.#runtime.resume();
		await this.#runtime.idle();
		expect(this.#paid).toBe(paid);
		expect(this.#run).toEqual(run);
	}
}

const isOver = ({ steps }: PlanRun, id: string): boolean => steps[id]?.status === "completed";

const factIn = (text: string): string => /«([^»]*)»/.exec(text)?.[1] ?? "";

/** What a step comes to: all that it is made of. */
function textOf({ description, tools }: Step, attempt: number, facts: readonly string[]): string {
	let hash = 0;
	for (const letter of [description, attempt, ...tools, ...facts].join("|"))
		hash = (Math.imul(hash, 31) + letter.charCodeAt(0)) | 0;
	return `«${description} ${attempt} ${(hash >>> 0).toString(36)}»`;
}
