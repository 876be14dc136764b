/** What a script has paid for on any line of history is not paid for again, whichever record one goes back to, also after a `gc`. */
import { NonRetryableError, type StepContext } from "@reyn/journal";
import { memoryEngine, type WalRecord } from "@reyn/wal";
import { describe, expect, test } from "vitest";
import { pointsOf, some } from "../../../tests/sample.ts";
import { type Explanation, engineStore, openRuntime, type Runtime } from "../src/index.ts";
import { lastOf, scripted, until } from "./project.ts";

/** What becomes of the tries to pay, in their order; the last one stands for all others. */
type Tries = readonly ("fails" | "pays" | "pays and is cut")[];

interface How {
	readonly tries: Tries;
	readonly body: string;
	/** Does the far side say what it has seen? */
	readonly canBeAsked: boolean;
}

/** A runtime with one script that pays. `paid` has the key of each payment; `costly` counts what a model was asked. */
class House {
	readonly paid: string[] = [];
	readonly asked: string[] = [];
	costly = 0;
	#tries = 0;
	readonly #engine = memoryEngine();
	readonly #how: How;
	#opened: Runtime | undefined;
	#run = "";

	constructor(how: How) {
		this.#how = how;
	}

	get runtime(): Runtime {
		return this.#opened as Runtime;
	}

	get status(): string | undefined {
		return this.runtime.scripts.list().find(({ run }) => run === this.#run)?.status;
	}

	async open(): Promise<void> {
		const model = scripted((request) => {
			if (lastOf(request).startsWith("costly")) this.costly++;
			return "word ".repeat(50);
		});
		const reconcile = async (key: string) => {
			this.asked.push(key);
			return this.paid.includes(key) ? { kind: "done" as const, result: "paid" } : { kind: "not_done" as const };
		};
		const pay = {
			...{ name: "pay", description: "pays", parameters: { type: "object" as const }, purity: "side_effect" as const },
			...(this.#how.canBeAsked && { reconcile }),
			call: (_: unknown, context: Pick<StepContext, "idempotencyKey" | "signal">) => this.#pay(context),
		};
		this.#opened = await openRuntime({ store: engineStore(this.#engine), model, tools: [pay] });
	}

	async #pay({ idempotencyKey = "", signal }: Pick<StepContext, "idempotencyKey" | "signal">): Promise<string> {
		const { tries } = this.#how;
		const now = tries[Math.min(this.#tries++, tries.length - 1)];
		if (now === "fails") throw new NonRetryableError("the account is closed");
		this.paid.push(idempotencyKey);
		if (now === "pays and is cut") await new Promise((_, reject) => signal.addEventListener("abort", reject));
		return "paid";
	}

	/** A `$` in the body is the mark too: then it asks for something else. */
	#source = (mark: string): string =>
		`export default async (ctx) => { ${this.#how.body.replace("$", mark === "!" ? "1" : mark)} return "${mark}"; };`;

	async start(): Promise<void> {
		await this.open();
		const { run, end } = await this.runtime.scripts.start({ name: "s.ts", source: this.#source("!") }, {});
		this.#run = run;
		await this.#end(end);
	}

	/** Goes on until the run is completed, as often as it takes. What is said before of the payment is what happens. */
	async toEnd(mark = "!"): Promise<void> {
		for (let i = 0; i < 5 && this.status !== "completed"; i++) {
			const { calls, divergences } = await this.explain(mark);
			if (i > 0) expect(divergences, "of a text that has not changed").toEqual([]);
			const [payments, tries] = [calls.filter(({ label }) => label === "pay"), this.#tries];
			await this.resume(mark);
			const areKnown = payments.length > 0 && payments.every(({ state }) => state === "hit");
			if (areKnown) expect(this.#tries, "made, and said to be known").toBe(tries);
		}
		expect(this.status).toBe("completed");
	}

	explain(mark: string): Promise<Explanation> {
		return this.runtime.scripts.explain(this.#run, this.#with(mark));
	}

	/** Goes on, until the run ends or its payment is cut. */
	async resume(mark: string): Promise<void> {
		const { end } = await this.runtime.scripts.resume(this.#run, this.#with(mark));
		await this.#end(end);
	}

	#with = (mark: string) => (mark === "!" ? {} : { script: { name: "s.ts", source: this.#source(mark) } });

	/** Goes on with what is over, with the text that it began with. */
	async again(): Promise<void> {
		const script = { name: "s.ts", source: this.#source("!") };
		const { calls } = await this.runtime.scripts.explain(this.#run, { script });
		expect(calls.find(({ label }) => label === "pay")?.state).toBe("hit");
		const { end } = await this.runtime.scripts.resume(this.#run, { script });
		expect(await end).toMatchObject({ status: "completed" });
	}

	/** A try that is cut is cut by the end of the process. */
	async #end(end: Promise<unknown>): Promise<void> {
		const cuts = this.#how.tries.flatMap((each, i) => (each === "pays and is cut" ? [i + 1] : []));
		let isOver = false;
		const over = end.finally(() => (isOver = true));
		await until(() => isOver || (cuts.includes(this.#tries) && this.paid.length > 0));
		if (!isOver) {
			await this.runtime.close();
			await over.catch(() => {});
			this.#tries++;
			await this.open();
		}
	}

	async records(): Promise<readonly WalRecord[]> {
		const all: WalRecord[] = [];
		for await (const record of this.runtime.wal.read()) all.push(record);
		return all;
	}
}

const bodies = {
	"pays, and waits": `await ctx.tool("pay", { n: 1 }); await ctx.agent("costly one");`,
	"pays beside a branch": `await ctx.parallel([() => ctx.tool("pay", { n: 1 }), () => ctx.agent("costly one")]);`,
	"pays, and knows of a failure before it throws it": `try { await ctx.tool("pay", { n: 1 }); } catch (error) { await ctx.agent("costly one"); throw error; }`,
};

const lives: Record<string, Tries> = {
	"that pays at once": ["pays"],
	"that fails, and pays in the next run": ["fails", "pays"],
	"that fails, and whose next try is cut": ["fails", "pays and is cut", "pays"],
};

const starts = (records: readonly WalRecord[]): readonly WalRecord[] =>
	records.filter(({ kind, data }) => kind === "step_started" && (data as { name: string }).name === "pay");

/** The records of a run that nobody touches, and where its payment begins. */
async function whole(how: How): Promise<{ readonly all: readonly WalRecord[]; readonly begun: number }> {
	const house = new House(how);
	await house.start();
	await house.toEnd();
	const all = await house.records();
	await house.runtime.close();
	return { all, begun: starts(all)[0]?.seq ?? 0 };
}

/** Every seventh pair: all of them take minutes. */
const pairs = (seqs: readonly number[]): readonly (readonly [number, number])[] =>
	seqs.flatMap((a) => seqs.map((b) => [a, b] as const)).filter((_, at) => at % 7 === 3);

describe.each(Object.entries(bodies))("a script that %s", (_, body) => {
	describe.each(Object.entries(lives))("%s", (_, tries) => {
		test.each([
			["", "!"],
			[", with an edited text", "?"],
		])("pays once under a key, whichever record one goes back to%s", async (_, mark) => {
			const how = { tries, body, canBeAsked: true };
			const { all, begun } = await whole(how);
			expect(begun).toBeGreaterThan(0);
			for (const { seq } of some(all.slice(0, -1), 13)) {
				const house = new House(how);
				await house.start();
				await house.toEnd();
				await house.runtime.checkout(seq, "test");
				if (house.status === undefined) {
					await house.runtime.close();
					continue;
				}
				await house.toEnd(mark);
				const { paid } = house;
				expect(new Set(paid).size, `back to ${seq}: ${paid}`).toBe(paid.length);
				// From its start on, one payment is the same one.
				if (seq >= begun) expect(paid, `back to ${seq}`).toHaveLength(1);
				await house.runtime.close();
			}
		});
	});

	test.each(Object.entries(lives))("%s, pays once wherever one goes back to twice", async (_, tries) => {
		const how = { tries, body, canBeAsked: true };
		const { all, begun } = await whole(how);
		const seqs = all.map(({ seq }) => seq).filter((seq) => seq >= begun);
		for (const [a, b] of some(pairs(seqs), 23)) {
			const house = new House(how);
			await house.start();
			await house.toEnd("?");
			await house.runtime.checkout(a, "test");
			await house.runtime.checkout(b, "test");
			await house.toEnd();
			expect(house.paid, `back to ${a}, then ${b}`).toHaveLength(1);
			await house.runtime.close();
		}
	});

	test.each(Object.entries(lives))("%s, keeps at a label what it has paid for, through a gc", async (_, tries) => {
		const how = { tries, body, canBeAsked: false };
		const { all, begun } = await whole(how);
		const behind = all.filter(({ seq }) => seq >= begun);
		for (const { seq } of some(behind, 17)) {
			const house = new House(how);
			await house.start();
			await house.toEnd();
			const { runtime } = house;
			// Branches may write their records in another order, and a record more or less, each time.
			const { length } = await house.records();
			await runtime.timeline.label(seq, "here");
			const { costly } = house;
			for (let i = 0; i < 4; i++) await runtime.prompt(`question ${i}`);
			await runtime.idle();
			const { retainedFrom } = await runtime.gc({ keepDays: 0, keepCheckpoints: 1 });
			await runtime.checkout(seq, "test");
			// At the last record the lane of the script is closed too, and nothing of it is needed any more.
			if (seq >= length) expect(retainedFrom).toBeGreaterThan(seq);
			else expect(retainedFrom, `at ${seq}`).toBeLessThan(begun);
			await house.toEnd();
			const twice = tries.includes("pays and is cut") ? 1 : 0;
			expect(house.paid.length, `back to ${seq}`).toBeLessThanOrEqual(1 + twice);
			const answered = all.find(
				({ kind, data }) => kind === "step_completed" && (data as { name: string }).name !== "pay",
			);
			if (answered && answered.seq <= seq) expect(house.costly, `back to ${seq}`).toBe(costly);
			await runtime.close();
		}
	});
});

test.each([
	["unchanged", "!"],
	["edited", "?"],
])("a payment that failed, and was cut in the next run, %s, keeps its key in the run after that", async (_, mark) => {
	const body = `await ctx.tool("pay", { n: 1 });`;
	for (const canBeAsked of [true, false]) {
		const house = new House({ tries: ["fails", "pays and is cut", "pays"], body, canBeAsked });
		await house.start();
		await house.toEnd(mark);
		expect(new Set(house.paid).size).toBe(1);
		expect(house.paid).toHaveLength(canBeAsked ? 1 : 2);
		await house.runtime.close();
	}
});

test("a call that an edit has put aside is nothing that the edited script has to ask for, wherever one goes back to twice", async () => {
	const how = { tries: ["fails", "pays"], body: `await ctx.tool("pay", { n: $ });`, canBeAsked: false } as const;
	const tips = [];
	for (const [a, b] of some(pairs([2, 3, 4, 5, 6, 7, 8, 9, 10]), 2)) {
		const house = new House(how);
		await house.start();
		await house.toEnd("2");
		tips.push(house.runtime.wal.tip);
		await house.runtime.checkout(a, "test");
		await house.runtime.checkout(b, "test");
		if (house.status !== undefined) await house.toEnd();
		await house.runtime.close();
	}
	expect(new Set(tips)).toEqual(new Set([10]));
});

describe.each([
	["is cut", ["pays and is cut", "pays"]],
	["fails", ["fails", "pays"]],
] as const)("a payment of another call than that of the text before, which %s,", (_, tries) => {
	test.each([
		["behind a call", `await ctx.agent("costly $"); await ctx.tool("pay", {});`],
		[
			"in a branch",
			`await ctx.agent("costly $"); await ctx.parallel([() => ctx.tool("pay", {}), () => ctx.agent("b")]);`,
		],
		["behind one of its name", `await ctx.tool("pay", { n: $ }); await ctx.tool("pay", {});`],
	])("%s, is known on each line that has its start", async (_, body) => {
		const how = { tries, body, canBeAsked: false };
		const lived = async (): Promise<House> => {
			const house = new House(how);
			await house.start();
			await house.toEnd("2");
			return house;
		};
		const first = await lived();
		const { tip } = first.runtime.wal;
		const [, begun = 0] = starts(await first.records()).map(({ seq }) => seq);
		expect(begun).toBeGreaterThan(0);
		await first.runtime.close();
		for (const seq of pointsOf(begun, tip - 1, 5)) {
			const house = await lived();
			await house.runtime.checkout(seq, "test");
			const before = house.paid.length;
			await house.toEnd("2");
			const startOf = (key: string): number => Number(key.split(":")[1]);
			expect(
				house.paid
					.slice(before)
					.map(startOf)
					.filter((start) => start <= tip),
				`back to ${seq}`,
			).toEqual([]);
			await house.runtime.close();
		}
	});
});

test("a preview of a script that is edited back knows what another line knows, where the edit asked for a call of the same name", async () => {
	const body = `await ctx.agent("costly $"); await ctx.tool("pay", {});`;
	const house = new House({ tries: ["fails", "pays"], body, canBeAsked: false });
	await house.start();
	const failed = (await house.records()).findLast(({ kind }) => kind === "step_failed")?.seq ?? 0;
	await house.toEnd();
	await house.runtime.checkout(failed, "test");
	await house.resume("!");
	expect(house.status).toBe("failed");
	await house.toEnd("2");
	expect(house.paid).toHaveLength(2);
	await house.again();
	expect(house.paid).toHaveLength(2);
	await house.runtime.close();
});

test("a script that is edited back, from behind its end, knows what it has paid for meanwhile on another line", async () => {
	const house = new House({ tries: ["fails", "pays"], body: `await ctx.tool("pay", { n: $ });`, canBeAsked: true });
	await house.start();
	await house.toEnd("2");
	const { tip } = house.runtime.wal;
	await house.runtime.checkout(5, "test");
	await house.toEnd();
	await house.runtime.checkout(tip, "test");
	await house.again();
	expect(house.paid).toHaveLength(2);
	expect(new Set(house.paid).size).toBe(2);
	await house.runtime.close();
});

test("a preview of an edited script does not take for its own what another line knows of a call that was put aside", async () => {
	const how = {
		tries: ["fails", "pays and is cut", "fails", "fails", "pays"],
		body: `await ctx.tool("pay", { n: $ });`,
	} as const;
	const house = new House({ ...how, canBeAsked: false });
	await house.start();
	await house.resume("!");
	await house.runtime.checkout(4, "test");
	await house.resume("!");
	await house.resume("2");
	expect(house.status).toBe("failed");
	expect((await house.explain("2")).divergences).toEqual([]);
	await house.runtime.close();
});

test("a clean-up that failed, and was made in the next run, need not be asked for once there is nothing to clean up", async () => {
	const body = `try { await ctx.tool("pay", {}); } catch (e) { try { await ctx.tool("mend", {}); } catch {} throw e; }
		await Promise.all([ctx.tool("ship", {}), ctx.tool("tell", {})]);`;
	const script = { name: "s.ts", source: `export default async (ctx) => { ${body} return "ok"; };` };
	const lived = async () => {
		const made: string[] = [];
		const tool = (name: string, failures: number) => ({
			...{ name, description: name, parameters: { type: "object" as const }, purity: "side_effect" as const },
			async call() {
				made.push(name);
				if (made.filter((each) => each === name).length <= failures) throw new Error("no");
				return name;
			},
		});
		const tools = [tool("pay", 2), tool("mend", 1), tool("ship", 0), tool("tell", 0)];
		const runtime = await openRuntime({ store: engineStore(memoryEngine()), model: scripted(() => ""), tools });
		const { run, end } = await runtime.scripts.start(script, {});
		const ends: string[] = [(await end).status];
		const goOn = async (): Promise<string> => (await (await runtime.scripts.resume(run)).end).status;
		for (let i = 0; i < 2; i++) ends.push(await goOn());
		expect(ends).toEqual(["failed", "failed", "completed"]);
		return { runtime, made, goOn };
	};
	const first = await lived();
	const { tip } = first.runtime.wal;
	await first.runtime.close();
	const seqs = Array.from({ length: tip - 3 }, (_, i) => i + 3);
	for (const [a, b] of some(pairs(seqs), 17)) {
		const { runtime, made, goOn } = await lived();
		await runtime.checkout(a, "test");
		await runtime.checkout(b, "test");
		let end: string = await goOn();
		for (let i = 0; i < 3 && end === "failed"; i++) end = await goOn();
		expect(end, `back to ${a}, then ${b}`).toBe("completed");
		expect(
			made.filter((name) => name === "pay"),
			`back to ${a}, then ${b}`,
		).toHaveLength(3);
		// Before its start it is another one.
		if (b >= 5)
			expect(
				made.filter((name) => name === "mend"),
				`back to ${a}, then ${b}`,
			).toHaveLength(2);
		await runtime.close();
	}
});

test("a preview has the places of what is recorded, where an earlier text asked for the same call", async () => {
	const house = new House({ tries: ["fails", "fails", "pays"], body: bodies["pays, and waits"], canBeAsked: false });
	await house.start();
	await house.resume("?");
	await house.resume("?");
	expect(house.status).toBe("completed");
	const resumed = (await house.records()).findLast(({ kind }) => kind === "script_resumed")?.seq ?? 0;
	await house.runtime.checkout(resumed, "test");
	for (let i = 0; i < 2; i++) {
		const { calls, divergences } = await house.explain("?");
		expect(divergences).toEqual([]);
		for (const { seq = 0 } of calls) expect(seq).toBeLessThanOrEqual(house.runtime.wal.tip);
		await house.resume("?");
	}
	expect(house.paid).toHaveLength(1);
	await house.runtime.close();
});
