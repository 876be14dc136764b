/** A script that computes without an end is cut: nothing of its host is left in between. */
import { AsyncLocalStorage } from "node:async_hooks";
import { setImmediate as nextTurn } from "node:timers/promises";
import { Script } from "node:vm";
import { describe, expect, test, vi } from "vitest";
import { deepTest } from "../../../../tests/deep-test.ts";
import { some } from "../../../../tests/sample.ts";
import { loadScript } from "../../src/script/load.ts";
import { openRealm } from "../../src/script/realm.ts";
import { hasLimit } from "../../src/script/time-slice.ts";
import { runBody, testHost } from "./host.ts";
import { echo, Process, script, writer } from "./script-process.ts";

// What is not to be cut must be over in it on a busy machine too.
const LIMIT_MS = 500;
const cutAfter = (limitMs: number) => ({ code: "SCRIPT_TIMEOUT", detail: { file: "s.ts", limitMs } });
const cut = cutAfter(LIMIT_MS);

const open = (source: string, host = testHost(), limitMs = LIMIT_MS) =>
	openRealm(loadScript(source, "s.ts"), host, limitMs);
const body = (lines: string): string => `export default async (ctx) => {\n${lines}\n};`;
const ended = async (lines: string, host = testHost(), limitMs = LIMIT_MS): Promise<unknown> =>
	(await open(body(lines), host, limitMs)).run("{}");

if (!hasLimit) console.warn("skipped: Node.js 22 has no limit for a time slice");

describe.skipIf(!hasLimit)("a loop without an end is cut", () => {
	// Here nothing is not to be cut.
	const SOON_MS = 50;
	const cutSoon = cutAfter(SOON_MS);

	test.each([
		["before its first call", "for (;;);"],
		["after an answer", 'await ctx.agent("a"); for (;;);'],
		["that waits for nothing outside", "for (;;) await null;"],
		["in a branch", 'await ctx.parallel([() => ctx.agent("a"), async () => { await ctx.agent("b"); for (;;); }]);'],
		["of microtasks", "const again = () => queueMicrotask(again); again(); await ctx.agent('a');"],
		["in a getter of what it throws", "throw { get message() { for (;;); } };"],
		["in a conversion of what it returns", "return { get value() { for (;;); } };"],
		["that catches all it can", "for (;;) { try { for (;;); } catch {} finally { continue; } }"],
		["of draws", "for (;;) ctx.random();"],
	])("%s", async (_, lines) => {
		await expect(ended(lines, testHost(), SOON_MS)).rejects.toMatchObject(cutSoon);
	});

	test("at the top level", async () => {
		await expect(open("for (;;);\nexport default () => {};", testHost(), SOON_MS)).rejects.toMatchObject(cutSoon);
	});

	test("at the top level, behind what it exports", async () => {
		const source = "(async () => { for (;;) await null; })();\nexport default () => {};";
		const ran = open(source, testHost(), SOON_MS).then((realm) => realm.run("{}"));
		await expect(ran).rejects.toMatchObject(cutSoon);
	});

	test("in what nobody waits for", async () => {
		const host = testHost(() => new Promise(() => {}));
		const lines = 'Promise.reject({ get message() { for (;;); } }); await ctx.agent("for ever");';
		await expect(ended(lines, host, SOON_MS)).rejects.toMatchObject(cutSoon);
	});
});

deepTest("a long script whose time slices are short is not cut", async () => {
	const enough = performance.now() + 3 * LIMIT_MS;
	const host = testHost(() => nextTurn(performance.now() > enough));
	const lines = "while (!(await ctx.tool('rest'))) for (let n = 0; n < 1e6; n++); return 'done';";
	await expect(ended(lines, host)).resolves.toBe('"done"');
});

test.each(
	some(
		[
			[
				"in a line",
				'for (let i = 0; i < 60; i++) { for (let n = 0; n < 2e7; n++); await ctx.agent("a"); } return "done";',
			],
			[
				"in branches",
				`await ctx.parallel(Array.from({ length: 60 }, (_, i) => async () => {
			await ctx.agent("a");
			for (let n = 0; n < 2e7; n++);
		})); return "done";`,
			],
		],
		2,
	),
)("a replay is not cut for what the run computed between its waits: %s", async (_, lines) => {
	// Far more than one of them takes, however busy the machine is, and less than all.
	const run = new Process({ sliceMs: 5 * LIMIT_MS });
	const ended = await run.work(script(lines));
	expect(ended).toMatchObject({ result: "done" });
	const again = run.next();
	expect([await again.work(script(lines)), again.made]).toEqual([ended, []]);
});

test("calls that follow answers come in the order of those in a replay as in a run, however near they are", async () => {
	const lines = `const ask = async (who, rests) => {
		await ctx.now();
		for (let i = 0; i < rests; i++) await null;
		return ctx.tool("write", { who });
	};
	return Promise.all([ask("slow", 3), ask("fast", 0)]);`;
	const run = new Process({ tools: [writer()], appends: 3 });
	expect(await run.work(script(lines))).toMatchObject({ status: "killed" });
	const again = run.next();
	expect(await again.work(script(lines))).toMatchObject({ status: "completed" });
	const started = run.log.records.filter(({ kind }) => kind === "step_started");
	const who = started.map(({ data }) => (data as { place: { fields: { who: string } } }).place.fields.who);
	expect([who[0], ...who.toSorted()]).toEqual(['"slow"', '"fast"', '"slow"', '"slow"']);
});

test.skipIf(!hasLimit)("what the host does is never cut in the middle", async () => {
	let inside = 0;
	const redact = (text: string): string => {
		inside++;
		for (let n = 0; n < 2e5; n++);
		inside--;
		return text;
	};
	const run = new Process({ redact, sliceMs: LIMIT_MS });
	const ended = await run.work(script('for (let i = 0; ; i++) if (i < 5000) ctx.agent("a" + i).catch(() => {});'));
	expect(ended).toMatchObject({ status: "failed", error: { code: "SCRIPT_TIMEOUT" } });
	expect(inside).toBe(0);
});

test.skipIf(!hasLimit)("what goes on when the result is there is cut, and the result counts", async () => {
	const lines = "const again = () => queueMicrotask(again); again(); return 'done';";
	await expect(ended(lines)).resolves.toBe('"done"');
});

test.skipIf(!hasLimit)("what was called in a time slice that is cut is not begun", async () => {
	const run = new Process({ sliceMs: LIMIT_MS });
	const lines =
		'const first = await ctx.agent("a"); for (let i = 0; ; i++) if (i < 100) ctx.agent("b").catch(() => {});';
	expect(await run.work(script(lines))).toMatchObject({ status: "failed", error: { code: "SCRIPT_TIMEOUT" } });
	expect(run.made).toEqual(["a"]);
	const mended = run.next();
	const answer = 'const first = await ctx.agent("a"); return [first, await ctx.agent("b")];';
	expect(await mended.work(script(answer))).toMatchObject({ result: ["a!", "b!"] });
	expect(mended.made).toEqual(["b"]);
});

test.skipIf(!hasLimit)("what was under way before is waited for, and kept", async () => {
	const model = echo(async (prompt) => (prompt === "slow" ? nextTurn("slow!") : `${prompt}!`));
	const run = new Process({ sliceMs: LIMIT_MS, model });
	const lines = 'const slow = ctx.agent("slow"); await ctx.agent("a"); for (;;);';
	expect(await run.work(script(lines))).toMatchObject({ status: "failed", error: { code: "SCRIPT_TIMEOUT" } });
	const mended = run.next();
	const answer = 'const slow = ctx.agent("slow"); await ctx.agent("a"); return slow;';
	expect(await mended.work(script(answer))).toMatchObject({ result: "slow!" });
	expect(mended.made).toEqual([]);
});

test.skipIf(!hasLimit)("what it has printed until then is shown, as far as it is not too much", async () => {
	const host = testHost();
	await expect(ended('console.log("before"); for (;;) console.log("again");', host)).rejects.toMatchObject(cut);
	expect(host.notes[0]).toBe("log: before");
	expect(host.notes).toHaveLength(100);
});

test("of many promises that fail in a time slice a thousand are told, in one time slice, and the rest is counted", async () => {
	const host = testHost(() => nextTurn("later"));
	const limited = vi.spyOn(Script.prototype, "runInContext");
	const lines = 'for (let i = 0; i < 5000; i++) Promise.reject(new Error("no " + i)); return ctx.agent("a");';
	await expect(runBody(lines, host)).resolves.toBe("later");
	const timeSlices = limited.mock.calls.length;
	limited.mockRestore();
	const told = host.notes.filter((note) => note.startsWith("log: "));
	expect(told).toHaveLength(1001);
	expect(told[999]).toMatch(/^log: nobody waited for what failed here: Error: no 999\n/);
	expect(told[1000]).toBe("log: nobody waited for what failed here: and 4000 more");
	expect(timeSlices).toBeLessThan(20);
});

test.each([
	["lines", "for (let i = 0; i < 5000; i++) console.log(i);", 1000, 2890, 4000],
	["characters", "for (let i = 0; i < 300; i++) console.log('x'.repeat(1e6));", 2, 2 ** 20, 299],
])(
	"of many %s that a time slice prints the first are shown, and it is said",
	async (_, lines, count, length, unshown) => {
		const host = testHost();
		await runBody(`${lines} await ctx.agent("a"); console.log("after");`, host);
		const shown = host.notes.flatMap((note) => (note.startsWith("log: ") ? [note.slice(5)] : []));
		expect(shown.at(-1)).toBe("after");
		expect(shown.at(-2)).toBe(
			`s.ts printed more than 1000 lines or 1048576 characters without waiting for anything: ${unshown} lines are cut or left out`,
		);
		expect(shown).toHaveLength(count + 2);
		expect(shown.slice(0, -2).join("")).toHaveLength(length);
	},
);

test.skipIf(!hasLimit)(
	"the host goes on as it was: what it keeps for a line of calls, and its own promises",
	async () => {
		const store = new AsyncLocalStorage<string>();
		const seen: unknown[] = [];
		const host = {
			...testHost(),
			enter: <T>(_fork: number, _branch: number, body: () => T): T => store.run("of a branch", body),
			log: () => void seen.push(store.getStore()),
		};
		await store.run("of the host", async () => {
			await expect(ended("await ctx.parallel([() => { console.log('in'); for (;;); }]);", host)).rejects.toMatchObject(
				cut,
			);
			seen.push(store.getStore());
			await nextTurn();
			seen.push(store.getStore());
		});
		expect(seen).toEqual(["of the host", "of the host", "of the host"]);
		await expect(ended('return await ctx.agent("after");')).resolves.toBe('"an answer"');
	},
);

test.skipIf(!hasLimit)(
	"who watches is told of each time slice, and when it is over, also of one that is cut",
	async () => {
		const told: (number | "over")[] = [];
		const watchTimeSlice = (limitMs: number) => {
			told.push(limitMs);
			return () => void told.push("over");
		};
		await ended('await ctx.agent("a"); return 1;', { ...testHost(), watchTimeSlice });
		await expect(open("for (;;);\nexport default () => {};", { ...testHost(), watchTimeSlice })).rejects.toMatchObject(
			cut,
		);
		expect(told.length).toBeGreaterThan(6);
		expect(told.filter((_, at) => at % 2 === 1).every((each) => each === "over")).toBe(true);
		expect(told.filter((_, at) => at % 2 === 0).every((each) => each === LIMIT_MS)).toBe(true);
	},
);
