/** The pause that a provider asks for, across restarts, by a clock of the test: it counts from the record of the refusal. */
import { expect, test } from "vitest";
import { failing, PauselessTime, Process, planOf, scripted } from "./plan-process.ts";

/** Time that passes only when the test lets it. */
class SlowTime extends PauselessTime {
	#due: (() => void) | undefined;

	override after(ms: number, run: () => void): () => void {
		if (ms === 600_000) return () => {};
		this.waits.push(ms);
		this.#due = (): void => {
			this.pass(ms);
			run();
		};
		return () => {
			this.#due = undefined;
		};
	}

	/** What is waited for is there. */
	end(): void {
		this.#due?.();
	}
}

const plan = planOf("s1", "s2 needs s1");
const [ASKED, PASSED] = [60_000, 25_000];

/** Lets a step be refused, and a process die in the pause; so much later the next one starts. */
async function refused(time: SlowTime, later: number) {
	let refusals = 1;
	const model = scripted({
		s1: () =>
			refusals-- > 0 ? Object.assign(failing("busy", { retryable: true }), { retryAfterMs: ASKED }) : "s1 done",
	});
	const first = await Process.start({ time, model });
	const work = first.execute(plan).catch(() => {});
	await waitsFor(time, 1);
	first.cancel("it dies");
	await work;
	time.pass(later);
	return { model, next: await first.next({ model }) };
}

const waitsFor = async ({ waits }: SlowTime, pauses: number): Promise<void> => {
	while (waits.length < pauses) await new Promise(setImmediate);
};

test("what is left of it is waited for, and no try is made before", async () => {
	const time = new SlowTime();
	const { model, next } = await refused(time, PASSED);
	const work = next.execute(plan);
	await waitsFor(time, 2);
	expect([time.waits, model.paid]).toEqual([[ASKED, ASKED - PASSED], ["s1/0"]]);
	time.end();
	expect(await work).toEqual({ text: "s2 done", failed: [] });
	expect(model.paid).toEqual(["s1/0", "s1/0", "s2/0"]);
	await next[Symbol.asyncDispose]();
});

test("another death in it does not begin it anew", async () => {
	const time = new SlowTime();
	const { model, next } = await refused(time, PASSED);
	const work = next.execute(plan).catch(() => {});
	await waitsFor(time, 2);
	next.cancel("it dies too");
	await work;
	time.pass(10_000);
	await using last = await next.next({ model });
	const done = last.execute(plan);
	await waitsFor(time, 3);
	expect(time.waits.at(-1)).toBe(ASKED - PASSED - 10_000);
	time.end();
	expect((await done).text).toBe("s2 done");
	expect(model.paid).toEqual(["s1/0", "s1/0", "s2/0"]);
});

test("where it is over by then, the next try is made at once", async () => {
	const time = new SlowTime();
	const { model, next } = await refused(time, ASKED);
	await using process = next;
	expect((await process.execute(plan)).text).toBe("s2 done");
	expect([time.waits, model.paid]).toEqual([[ASKED], ["s1/0", "s1/0", "s2/0"]]);
});

test("a clock that was set back makes it no longer than it was", async () => {
	const time = new SlowTime();
	const { next } = await refused(time, -1_000_000);
	await using process = next;
	const work = process.execute(plan);
	await waitsFor(time, 2);
	expect(time.waits).toEqual([ASKED, ASKED]);
	time.end();
	expect((await work).text).toBe("s2 done");
});
