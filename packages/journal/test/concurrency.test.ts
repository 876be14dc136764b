/** What may run at the same time. `REYN_RUNS` sets how many random histories are told, `REYN_SEED` which. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Lane, type Purity, type Step } from "../src/index.ts";
import { DyingLog, quiet, scope, using } from "./dying-log.ts";

const RUNS = Number(process.env.REYN_RUNS ?? 150);
const seed = process.env.REYN_SEED === undefined ? {} : { seed: Number(process.env.REYN_SEED) };

const step = (name: string, call: Step<string>["call"], purity: Purity = "llm"): Step<string> => ({
	kind: "step",
	name,
	args: {},
	purity,
	call,
});

/** A call that is under way until it is told to end. */
function slow(name: string): { step: Step<string>; end: () => void } {
	const call = Promise.withResolvers<string>();
	return { step: step(name, () => call.promise), end: () => call.resolve(name) };
}

describe("in one lane", () => {
	test("calls of one synchronous turn have their order, whichever of them ends first", async () => {
		const log = new DyingLog();
		const made: string[] = [];
		const ask = (lane: Lane, delays: readonly number[]): Promise<string[]> =>
			Promise.all(
				delays.map((delay, i) =>
					lane.perform(
						step("ask", async () => {
							for (let turn = 0; turn < delay; turn++) await quiet();
							made.push(`${i}`);
							return `answer ${i}`;
						}),
					),
				),
			);
		const answers = ["answer 0", "answer 1", "answer 2"];
		expect(await ask(new Lane("a", scope, using(log)), [3, 2, 1])).toEqual(answers);
		expect(made).toEqual(["2", "1", "0"]);
		expect(await ask(new Lane("a", scope, using(log)), [1, 2, 3])).toEqual(answers);
		expect(made).toHaveLength(3);
	});

	test.each<[string, () => Promise<unknown> | undefined]>([
		["a microtask later", () => Promise.resolve()],
		["a turn later", quiet],
	])("a call while another is under way has its place behind it: %s", async (_, later) => {
		const log = new DyingLog();
		const lane = new Lane("plan/p1", scope, using(log));
		const [first, second, third] = [slow("first"), slow("second"), slow("third")];
		const told: string[] = [];
		const tell = (each: { step: Step<string> }) => lane.perform(each.step).then((name) => told.push(name));
		const open = [tell(first), tell(second)];
		await later();
		open.push(tell(third));
		await quiet();
		for (const each of [third, first, second]) {
			each.end();
			await quiet();
		}
		await Promise.all(open);
		expect(told).toEqual(["third", "first", "second"]);
		const again: string[] = [];
		const next = new Lane("plan/p1", scope, using(log));
		await Promise.all([first, second, third].map(({ step }) => next.perform(step).then((name) => again.push(name))));
		expect([again, log.kinds]).toEqual([told, ["step_completed", "step_completed", "step_completed"]]);
	});

	test("calls one after the other are free, also after one that failed", async () => {
		const lane = new Lane("a", scope, using(new DyingLog()));
		const refuse = step("refuse", () => Promise.reject(new Error("no")));
		await expect(lane.perform(refuse)).rejects.toThrow("no");
		expect(await lane.perform(step("ask", async () => "answer"))).toBe("answer");
	});

	test("a lane is not over while a call is under way", async () => {
		const lane = new Lane("a", scope, using(new DyingLog()));
		const first = slow("first");
		const open = lane.perform(first.step);
		expect(() => lane.assertQuiet()).toThrow(expect.objectContaining({ code: "CONCURRENT_LANE" }));
		first.end();
		await open;
		lane.assertQuiet();
	});

	test("two equal calls are two entries, told apart by their order", async () => {
		const log = new DyingLog();
		let count = 0;
		const ask = async (lane: Lane): Promise<string[]> => {
			const once = (): Promise<string> => lane.perform(step("ask", async () => `answer ${++count}`));
			return [await once(), ...(await Promise.all([once(), once()]))];
		};
		const answers = ["answer 1", "answer 2", "answer 3"];
		expect(await ask(new Lane("a", scope, using(log)))).toEqual(answers);
		expect(log.records.map(({ data }) => (data as { occ: number }).occ)).toEqual([0, 1, 2]);
		expect(await ask(new Lane("a", scope, using(log)))).toEqual(answers);
		expect(count).toBe(3);
	});
});

test("calls of other lanes, and inside the call itself, may be made meanwhile", async () => {
	const log = new DyingLog();
	const [outer, other] = ["a", "b"].map((path) => new Lane(path, scope, using(log)));
	const first = slow("first");
	const open = outer?.perform(
		step("outer", async ({ lane }) => {
			await quiet();
			return lane.perform(first.step);
		}),
	);
	await quiet();
	expect(await other?.perform(step("ask", async () => "answer"))).toBe("answer");
	first.end();
	expect(await open).toBe("first");
});

/** How many turns each call takes, lane by lane. */
const delays = fc.array(fc.array(fc.nat(4), { maxLength: 5 }), { minLength: 1, maxLength: 5 });

test("parallel lanes replay to the same results, whatever the order in which they ended and wherever they were killed", async () => {
	await fc.assert(
		fc.asyncProperty(
			delays,
			fc.infiniteStream(fc.nat(4)),
			fc.array(fc.nat(30), { maxLength: 3 }),
			async (lanes, again, deaths) => {
				const log = new DyingLog();
				let made = 0;
				/** One life: what each lane saw, in its order. No two calls ever answer the same. */
				const live = (delayOf: (lane: number, at: number) => number): Promise<PromiseSettledResult<void>[]> => {
					seen = lanes.map(() => []);
					return Promise.allSettled(
						lanes.map(async (calls, i) => {
							const lane = new Lane(`branch/${i}`, scope, using(log));
							for (const at of calls.keys()) {
								const purity = (i + at) % 2 === 0 ? "llm" : "external";
								// Every other call is equal to the one before.
								const call = step(
									`ask ${at >> 2}`,
									async () => {
										for (let turn = delayOf(i, at); turn > 0; turn--) await quiet();
										return `answer ${++made}`;
									},
									purity,
								);
								seen[i]?.push(await lane.perform(call));
							}
						}),
					);
				};
				let seen: string[][] = [];
				const delayOf = (): number => again.next().value ?? 0;
				let before: string[][] = lanes.map(() => []);
				for (const death of deaths) {
					log.revive(death);
					await live(delayOf);
					// What a life saw, every later one sees.
					for (const [i, results] of before.entries())
						expect(seen[i]?.slice(0, results.length)).toEqual(results.slice(0, seen[i]?.length));
					before = before.map((results, i) => ((seen[i]?.length ?? 0) > results.length ? (seen[i] ?? []) : results));
				}
				log.revive();
				await live((i, at) => lanes[i]?.[at] ?? 0);
				for (const [i, results] of before.entries()) expect(seen[i]?.slice(0, results.length)).toEqual(results);
				expect(seen.map(({ length }) => length)).toEqual(lanes.map(({ length }) => length));
				const [whole, paid, records] = [seen, made, log.records.length];
				await live(delayOf);
				expect([seen, made, log.records.length]).toEqual([whole, paid, records]);
			},
		),
		{ numRuns: RUNS, ...seed },
	);
});
