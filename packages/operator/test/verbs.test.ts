/** Verbs over a real state: what is shown, confirmed and done, and that what is said to machines has the form that is published. */
import { defineSkill, done, next, type Skill } from "@reyn/skill-resume";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { documentSchema, givenFor, jsonSchemaOf, verbs, type WriteVerb } from "../src/index.ts";
import { type House, openHouse, say, verbOf } from "./house.ts";

let house: House;
beforeAll(async () => {
	house = await openHouse();
	// The trail follows the log in its own time.
	const ended = async (): Promise<number> =>
		(await house.do("events", { kind: "turn" })).lines.filter((line) => / ended /.test(line)).length;
	await vi.waitUntil(async () => (await ended()) === 2, 60_000);
});
afterAll(() => house[Symbol.asyncDispose]());

const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
const tip = (): number => house.runtime.wal.tip;

test("each verb has a name, a summary and a schema of its own", () => {
	expect(new Set(verbs.map(({ name }) => name)).size).toBe(verbs.length);
	for (const verb of verbs) {
		expect(verb.name).toMatch(/^[a-z]+( [a-z]+)?$/);
		expect(jsonSchemaOf(verb)).toMatchObject({ $schema: expect.any(String) });
		for (const { help } of Object.values(verb.params)) expect(help).not.toBe("");
	}
});

test("a rewind says in which record it was made, and what came after it was shown", () => {
	const rewound = (seenAll: number) =>
		(verbOf("rewind") as WriteVerb).lines(
			{ result: { kind: "reset", seq: 20, target: 4, dropped: { all: 12 } }, paused: [] },
			say,
			{ preview: { mode: "both", dropped: { all: seenAll } } },
		);
	expect(rewound(12)[0]).toMatch(/^done: rewound in #20, which takes 12 records away; the state is as of #4\./);
	expect(rewound(8)[0]).toContain("12 records away (4 of them came since that was shown);");
});

test("what is undone stands in what is shown, and is asked by its number", () => {
	const { question } = verbOf("undo") as WriteVerb;
	const move = { seq: 20, what: "the rewind to #4 (both) by ada, 12 records" };
	expect(question?.({ move })).toBe("undo #20?");
});

describe("a look", () => {
	test.each([
		["log", {}, /● #\d+ {2}turn what does a fox do by day\?/],
		["log", { graph: true }, /you are here/],
		["log", { n: "1" }, /^@ #\d+ tip\n● #\d+[^\n]+$/],
		["log", { kind: "label" }, /^@ #\d+ tip$/],
		["show", { ref: "@" }, /^state [0-9a-f]{64}$/m],
		["show", { ref: "2", entry: true }, /"kind": "user_prompt"/],
		["diff", { a: "2" }, /conversation/],
		["diff", { a: "2", stat: true }, /conversation {2}\d+ added/],
		["branches", {}, /^\* main/],
		["labels", {}, /^there is no label$/],
		["sessions", {}, /^default\/main {2}4 messages, to #\d+ {2}where does a fox sleep\?$/],
		["transcript", {}, /you:\n {2}where does a fox sleep\?/],
		["transcript", { format: "md" }, /^## you \(#2\)$/m],
		["search", { words: "FOX sleep" }, /#2 you: where does a fox sleep\?/],
		["search", { words: "wombat" }, /^nothing was said/],
		["status", {}, /^nothing is unfinished$/],
		["transcript", { n: 1 }, /^#\d+ agent:\n(?![\s\S]*you:)/],
		["show", { ref: "@", n: 1 }, /^messages 1, and earlier ones:\n {2}#\d+ agent: /m],
		["diff", { a: "0", b: "@", n: "1" }, /^#0 → #\d+/],
		["undo", { list: true, n: 1 }, /^there is nothing to undo$/],
		["plan list", {}, /^no plan is in flight$/],
		["skill list", {}, /^no skill run is in flight$/],
		["script list", {}, /^there is no script run; start one with: script run <file\.ts>$/],
		["wal verify", {}, /^sound: \d+ records in /m],
		["wal stats", {}, /^ {2}user_prompt +2 {2}\d+ bytes$/m],
		["undo", { list: true }, /^there is nothing to undo$/],
		["events", { n: 3 }, /^older ones: events -n 30\n#\d+ {2}.* UTC {2}\w+ {2}\w+ {2}default\/main {2}/],
		["events", { kind: "turn", since: "1h" }, /turn {2}begun {2}default\/main {2}turn=2 {2}by=person/],
		["events", { since: "#3" }, /^#(?!2 )\d+ /],
		["events", { kind: "permission" }, /^nothing is there$/],
		["events", { since: "2099-01-01" }, /^nothing is there$/],
	])("%s %j writes nothing, and fits its schema", async (name, raw, lines) => {
		const before = tip();
		const told = await house.do(name, raw);
		expect(told.lines.join("\n")).toMatch(lines);
		documentSchema(verbOf(name)).parse(asJson(told.document));
		expect(tip()).toBe(before);
	});

	test("of a diff, of what was said and of moves one gets the first, and is told of the rest", async () => {
		const { document } = await house.do("diff", { a: "0", n: 1 });
		const { projections, more } = document as {
			projections: Record<string, { after?: unknown[]; before?: unknown[] }[]>;
			more: Record<string, number>;
		};
		const sizes = Object.values(projections).map((all) =>
			all.reduce(
				(sum, { before = [1], after = [] }) => sum + (Array.isArray(after) ? before.length + after.length : 1),
				0,
			),
		);
		expect(Math.max(...sizes)).toBe(1);
		expect(more.conversation).toBeGreaterThan(1);
		const all = (await house.do("transcript")).document as { messages: unknown[]; more?: true };
		expect(all).not.toHaveProperty("more");
		for (const n of [1, 2, all.messages.length, 99]) {
			const some = (await house.do("transcript", { n })).document as typeof all;
			expect(some.messages).toEqual(all.messages.slice(-n));
			expect(some.more).toBe(n < all.messages.length ? true : undefined);
		}
	});

	test("a search finds what was said on lines that were left, and says so", async () => {
		await house.do("rewind", { ref: "2" });
		const { document } = await house.do("search", { words: "by day" });
		expect(document).toMatchObject({ found: expect.arrayContaining([expect.objectContaining({ active: false })]) });
		await house.do("undo");
	});
});

describe("a run of a script", () => {
	const source = "export default async (ctx, args) => [await ctx.ask('Well?'), args];";
	const script = { name: "asks.ts", source };
	let run: string;
	beforeAll(async () => {
		const verb = verbOf("script run");
		if (verb.access !== "work") throw new Error();
		const given = givenFor(verb, { script, args: { n: 1 }, answer: ["fine"] });
		const begun = await verb.begin(house.runtime, given);
		expect(verb.lines(begun, say)).toEqual([expect.stringMatching(/^script run r[0-9a-f]{8} started$/)]);
		({ run } = begun as { run: string });
		await house.runtime.idle();
		expect(await house.runtime.scripts.result(run)).toEqual(["fine", { n: 1 }]);
	});

	test.each([
		["script list", {}, /^r[0-9a-f]{8} {2}completed {2}.* {2}asks\.ts$/, undefined],
		["script show", { run: "" }, /^✓ ask Well\?.*\nasks\.ts: completed/, undefined],
		["script explain", { run: "" }, /^#\d+ {2}hit {2}ask Well\?/, undefined],
		["script explain", { run: "", at: "@" }, /^#\d+ {2}hit {2}ask Well\?/, undefined],
		[
			"script explain",
			{ run: "", script: { name: "asks.ts", source: "export default (ctx) => ctx.agent('a');" } },
			/live/,
			undefined,
		],
		["script verify", { run: "" }, /replays: 1 calls/, undefined],
		[
			"script verify",
			{ run: "", script: { name: "asks.ts", source: "export default () => 1;" } },
			/expected .*; got/,
			"REPLAY_DIVERGENCE",
		],
	])("%s %j writes nothing, fits its schema, and says what is wrong", async (name, raw, lines, fault) => {
		const before = tip();
		const told = await house.do(name, "run" in raw ? { ...raw, run } : raw);
		expect(told.lines.join("\n")).toMatch(lines);
		expect(told.fault).toBe(fault);
		documentSchema(verbOf(name)).parse(asJson(told.document));
		expect(tip()).toBe(before);
	});

	test("that does not run says of an attempt to go on what is wrong", async () => {
		const verb = verbOf("script resume");
		if (verb.access !== "work") throw new Error();
		const other = givenFor(verb, { run, script: { name: "other.ts", source } });
		await expect(verb.check?.(house.runtime, other, say)).rejects.toMatchObject({ code: "RUNTIME_SCRIPT_OTHER" });
		expect(verb.lines({ run: "r1" }, say)).toEqual(["script run r1 goes on"]);
	});
});

describe("a change", () => {
	test("is shown first, and declined it writes nothing", async () => {
		const before = tip();
		house.answer = false;
		const told = await house.do("rewind", { ref: "2" });
		house.answer = true;
		expect([told.outcome, tip()]).toEqual(["declined", before]);
		expect(house.asked.at(-1)).toBe("rewind to #2?");
	});

	test("is previewed without a question", async () => {
		const [before, asked] = [tip(), house.asked.length];
		const told = await house.do("checkout", { ref: "0" }, { dryRun: true });
		documentSchema(verbOf("checkout")).parse(asJson(told.document));
		expect([told.outcome, tip(), house.asked.length]).toEqual(["previewed", before, asked]);
	});

	test("done, it says what it did, and its record is known by it", async () => {
		for (const [name, raw] of [
			["rewind", { ref: "0", mode: "conversation_only" }],
			["rewind", { ref: "0", mode: "summarize" }],
			["undo", {}],
			["redo", {}],
			["checkout", { ref: "0" }],
			["undo", {}],
			["label", { ref: "@", name: "here" }],
			["label", { ref: "2", name: "here", move: true }],
			["unlabel", { name: "here" }],
			["undo", {}],
		] as const) {
			const before = tip();
			const { document, outcome, lines } = await house.do(name, raw);
			const verb = verbOf(name);
			documentSchema(verb).parse(asJson(document));
			expect([name, outcome, lines.length > 0]).toEqual([name, "done", true]);
			if (verb.access !== "write") throw new Error(name);
			const found: number[] = [];
			for await (const record of house.runtime.wal.read({ after: before }))
				if (verb.isDoneBy(record, verb.seen.parse(asJson(document)), "user")) found.push(record.seq);
			expect(found, name).toHaveLength(1);
		}
		expect((await house.do("log")).lines.join("\n")).toContain('"here"');
	});

	test("where there is nothing to do it says so, and writes nothing", async () => {
		const before = tip();
		const told = await house.do("checkout", { ref: "@" });
		expect([told.outcome, tip()]).toEqual(["nothing", before]);
		documentSchema(verbOf("checkout")).parse(asJson(told.document));
	});

	test("an undo names who did what, when, and how much", async () => {
		await house.do("checkout", { ref: "0" });
		const { lines } = await house.do("undo", { list: true });
		expect(lines[0]).toMatch(/^the checkout of #0 by user, from #\d+ \(#\d+, \d{4}-\d\d-\d\d \d\d:\d\d UTC\)$/);
	});

	test("what somebody moved meanwhile is not moved again", async () => {
		const verb = verbOf("rewind");
		if (verb.access !== "write") throw new Error();
		await house.do("undo");
		const seen = await verb.look(house.runtime, givenFor(verb, { ref: "0" }), false);
		await house.do("label", { ref: "@", name: "meanwhile" });
		await house.do("rewind", { ref: "0" });
		const before = tip();
		await expect(verb.act(house.runtime, seen, "user")).rejects.toMatchObject({ code: "REWIND_STALE" });
		expect(tip()).toBe(before);
	});
});

test("a compaction says what is in its way, and can be taken back by its name", async () => {
	const verb = verbOf("compact");
	if (verb.access !== "work") throw new Error();
	await using own = await openHouse();
	const given = givenFor(verb, {});
	const begun = (await verb.begin(own.runtime, given)) as { turn: number };
	await expect(verb.check?.(own.runtime, given, say)).rejects.toMatchObject({ code: "RUNTIME_COMPACTION" });
	await own.runtime.idle();
	expect(verb.lines(begun, say)).toEqual([`what was said is told in short in #${begun.turn}`]);
	await expect(verb.check?.(own.runtime, given, say)).rejects.toMatchObject({ code: "RUNTIME_COMPACTION" });
	const { lines } = await own.do("undo");
	expect(lines[0]).toMatch(
		new RegExp(
			`^undone: the compaction of what was said before #${begun.turn} by a person, about \\d+ tokens in \\d+ `,
		),
	);
});

test.each([
	["rewind", {}, "ref"],
	["rewind", { ref: "1", mode: "all" }, "mode"],
	["diff", { a: "1", session: "a/b/c" }, "expected a session"],
	["log", { n: "0" }, "n"],
	["log", { colour: true }, "colour: it takes no such thing"],
])("%s %j is refused before anything is looked at", (name, raw, what) => {
	expect(() => givenFor(verbOf(name), raw)).toThrow(
		expect.objectContaining({ code: "OPERATOR_ARGS", message: expect.stringContaining(what) }),
	);
});

test("a resume of nothing says what is paused", async () => {
	const verb = verbOf("resume");
	if (verb.access !== "work") throw new Error();
	await expect(verb.check?.(house.runtime, {}, say)).rejects.toMatchObject({ code: "OPERATOR_NOT_FOUND" });
	expect(verb.lines({ goesOn: false }, say)).toEqual(["nothing is unfinished"]);
});

test("whoever goes back into a skill run that is over is told how to go on with it, there and by a resume", async () => {
	const skill = defineSkill({
		name: "two",
		description: "has two phases",
		input: z.object({ of: z.string() }),
		start: "one",
		phases: { one: async (_, { of }) => next("two", of), two: async (_context, _input, before) => done(before) },
	});
	await using own = await openHouse({ skills: [skill as Skill] });
	const [begins, goesOn] = [verbOf("skill run"), verbOf("resume")];
	if (begins.access !== "work" || goesOn.access !== "work") throw new Error();
	const given = givenFor(begins, { name: "two", input: { of: "foxes" } });
	const { run } = (await begins.begin(own.runtime, given)) as { run: string };
	await own.runtime.idle();
	const phase = own.runtime.timeline.checkpoints().find(({ title }) => title === "two one");
	const { lines, document } = await own.do("checkout", { ref: String(phase?.seq) });
	expect(lines).toContain(`skill ${run} is unfinished there and waits; go on with: skill resume ${run}`);
	expect(document).toMatchObject({ paused: [{ kind: "skill", id: run }] });
	await expect(goesOn.check?.(own.runtime, {}, say)).rejects.toThrow(
		`nothing is in flight but what is paused; go on with: skill resume ${run}`,
	);
});

describe("undo and redo of several", () => {
	test("take back all down to one, as it was listed, and have them back", async () => {
		await using own = await openHouse();
		const { runtime } = own;
		const document = (told: { readonly document: unknown }) => told.document as Record<string, never>;
		const state = async () => JSON.stringify(document(await own.do("show", { ref: "@" })).messages);
		const [whole, start] = [await state(), runtime.wal.tip];
		await own.do("rewind", { ref: "@-1" });
		const [oldest = 0] = (await runtime.timeline.moves()).past.map(({ seq }) => seq);
		await own.do("label", { ref: "@", name: "here" });
		await own.do("checkout", { ref: "0" });
		const [empty, before] = [await state(), runtime.wal.tip];
		const shown = await own.do("undo", { to: oldest }, { dryRun: true });
		expect(shown.lines.slice(0, 8)).toEqual([
			...[/now +then$/, /^messages +0 +[1-9]/, /^sessions /, /^files /].map((each) => expect.stringMatching(each)),
			"undo 3 moves:",
			expect.stringMatching(/^ {2}the checkout of #0 by user, from #\d+ \(#/),
			expect.stringMatching(/^ {2}the label "here" at #\d+ by user \(#/),
			expect.stringMatching(/^ {2}the rewind to #\d+ \(both\) by user, \d+ records \(#/),
		]);
		await expect(own.do("undo", { to: start })).rejects.toThrow(`there is nothing to undo in #${start}; there is in #`);
		own.answer = false;
		await own.do("undo", { to: oldest });
		expect(runtime.wal.tip).toBe(before);
		own.answer = true;
		const done = await own.do("undo", { to: oldest });
		documentSchema(verbOf("undo")).parse(asJson(done.document));
		expect([await state(), own.asked.at(-1)]).toEqual([
			whole,
			expect.stringMatching(/^undo 3 moves, down to the rewind/),
		]);
		const { back } = document(done);
		expect(done.lines).toContain(`all of it the other way: redo --to ${String(back)}`);
		await own.do("redo", { to: back });
		expect(await state()).toBe(empty);
		expect(await runtime.timeline.labels()).toHaveLength(1);
	});

	test("that were seen before another came are refused, and nothing is written", async () => {
		await using own = await openHouse();
		const verb = verbOf("undo");
		if (verb.access !== "write") throw new Error();
		await own.do("checkout", { ref: "0" });
		const [first] = (await own.runtime.timeline.moves()).past;
		await own.do("undo");
		await own.do("redo");
		const [again] = (await own.runtime.timeline.moves()).past;
		expect(again?.seq).not.toBe(first?.seq);
		const seen = await verb.look(own.runtime, givenFor(verb, { to: again?.seq }), false);
		await own.do("label", { ref: "@", name: "meanwhile" });
		const before = own.runtime.wal.tip;
		await expect(verb.act(own.runtime, seen, "user")).rejects.toMatchObject({ code: "TIMETRAVEL_STALE" });
		expect(own.runtime.wal.tip).toBe(before);
	});
});

test("undo and redo show what there is and what there would be, side by side; of a name there is nothing to compare", async () => {
	await using own = await openHouse();
	await own.do("label", { ref: "2", name: "here" });
	const sidesOf = async (name: "undo" | "redo") => {
		const verb = verbOf(name);
		if (verb.access !== "write") throw new Error();
		return verb.sides?.(await verb.look(own.runtime, givenFor(verb, {}), true))?.slice(0, 1);
	};
	expect(await sidesOf("undo")).toEqual([]);
	await own.do("rewind", { ref: "0" });
	const back = { name: "messages", before: "0", after: expect.stringMatching(/^[1-9]/) };
	expect(await sidesOf("undo")).toEqual([back]);
	await own.do("undo");
	expect(await sidesOf("redo")).toEqual([{ ...back, before: back.after, after: "0" }]);
});

test("what cannot be meant is refused in words that say what to do", async () => {
	await using own = await openHouse();
	const label = (name: string) => own.do("label", { ref: "2", name });
	await expect(label("main")).rejects.toThrow(/^"main" cannot be a label: it is how a branch is named/);
	await expect(label("b7")).rejects.toThrow(/how a branch is named/);
	await expect(label("142")).rejects.toThrow(/would be read as a seq/);
	await expect(label(".")).rejects.toThrow(/it begins with "\."; a label begins with a letter or a digit/);
	await label("here");
	await expect(own.do("label", { ref: "3", name: "here" })).rejects.toThrow(/with --move$/);
	await expect(own.do("undo", { n: 1 })).rejects.toMatchObject({ code: "OPERATOR_ARGS" });
	expect((await own.do("rewind", { ref: "@" })).lines.join()).toMatch(/@ is where you are; @-1 is a checkpoint back/);
});

test("a label goes to another moment, is taken away, and comes back by undo; who did so is said", async () => {
	await using own = await openHouse();
	const at = async () => (await own.runtime.timeline.labels()).map(({ name, seq }) => `${name} ${seq}`).join();
	await own.do("label", { ref: "2", name: "here" });
	await expect(own.do("label", { ref: "3", name: "here" })).rejects.toThrow(
		/is the label of seq 2 already; .* or move it/,
	);
	await expect(own.do("label", { ref: "3", name: "ther\u001be", move: true })).rejects.toThrow(
		'there is no label "there"; there are here',
	);
	expect((await own.do("label", { ref: "3", name: "here", move: true })).lines).toEqual([
		'#3 is "here" from now on, and #2 no longer',
	]);
	const { document, lines } = await own.do("unlabel", { name: "here" });
	documentSchema(verbOf("unlabel")).parse(asJson(document));
	expect([lines[0], await at()]).toEqual(['"here" names #3 no longer. Go back with: undo', ""]);
	const { lines: moves } = await own.do("undo", { list: true });
	expect(moves).toEqual([
		expect.stringMatching(/^the end of the label "here" at #3 by user \(#/),
		expect.stringMatching(/^the move of the label "here" from #2 to #3 by user \(#/),
		expect.stringMatching(/^the label "here" at #2 by user \(#/),
	]);
	const went: string[] = [];
	for (const verb of ["undo", "undo", "redo"]) {
		await own.do(verb);
		went.push(await at());
	}
	expect(went).toEqual(["here 3", "here 2", "here 3"]);
});
