/** Plans as a person operates them: looked at, paused, resumed, retried, amended, given up; in flight and over. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Model, ModelRequest } from "@reyn/journal";
import { PLAN_TOOL } from "@reyn/plan";
import { openRuntime, type Runtime, type RuntimeEvent, type RuntimeOptions } from "@reyn/runtime";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { carryOut, type Desk, documentSchema, givenFor, type Told } from "../src/index.ts";
import { say, verbOf } from "./house.ts";

const goal = "Compare A and B";
const steps = [
	{ id: "a", description: "read A" },
	{ id: "b", description: "read B" },
	{ id: "c", description: "write it up", depends_on: ["a", "b"] },
];

/** What steps say, by the beginning of what they are asked; the others are asked for ever. */
let says: Record<string, () => string>;
/** The steps that were asked of the model, in their order. */
let asked: string[];
/** Does step a ask for a tool first? */
let reads: boolean;

const stepOf = ({ messages }: ModelRequest): string | undefined =>
	/^Step (\w+):/m.exec(messages[0]?.role === "user" ? messages[0].text : "")?.[1];

const model: Model = {
	id: "scripted",
	async *generate(request, { signal }) {
		const step = stepOf(request);
		if (step === undefined) yield { type: "toolCall", call: { id: "1", name: PLAN_TOOL, args: { goal, steps } } };
		else {
			asked.push(step);
			const say = says[step];
			if (reads && step === "a" && request.messages.length === 1)
				yield { type: "toolCall", call: { id: "1", name: "look", args: {} } };
			else if (say) yield { type: "text", text: say() };
			else
				await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
		}
		yield { type: "usage", usage: { inputTokens: 1000, outputTokens: 10 } };
	},
};

let root: string;
let runtime: Runtime;
let events: RuntimeEvent[];
let plan: string;

const open = async (options: Partial<RuntimeOptions> = {}): Promise<void> => {
	runtime = await openRuntime({
		...{ state: join(root, "state"), model, tools: [] },
		onEvent: (event) => void events.push(event),
		...options,
	});
};

beforeEach(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-plan-"));
	[says, asked, events, reads] = [{ a: () => "A is red" }, [], [], false];
	await open();
	await runtime.prompt("compare them");
	await vi.waitUntil(() => runtime.plans()[0]?.finished === 1 && asked.includes("b"), 10_000);
	plan = runtime.plans()[0]?.plan as string;
});
afterEach(async () => {
	await runtime.close();
	await rm(root, { recursive: true });
});

const desk: Desk = {
	reading: (use) => use(runtime),
	examining: () => Promise.reject(new Error()),
	acting: (verb, seen) => verb.act(runtime, verb.seen.parse(JSON.parse(JSON.stringify(seen))), "user"),
	confirm: async () => true,
	say,
};

async function told(name: string, raw: Readonly<Record<string, unknown>> = {}, dryRun = false): Promise<Told> {
	const verb = verbOf(name);
	if (verb.access === "work" || verb.access === "closed" || verb.access === "stream") throw new Error(name);
	const told = await carryOut(verb, raw, desk, { dryRun });
	const document = JSON.parse(JSON.stringify(told.document));
	// What is said is all published.
	expect(documentSchema(verb).parse(document)).toEqual(document);
	return told;
}

const linesOf = async (...of: Parameters<typeof told>): Promise<string> => (await told(...of)).lines.join("\n");

async function begun(name: string, raw: Readonly<Record<string, unknown>>): Promise<string> {
	const verb = verbOf(name);
	if (verb.access !== "work") throw new Error(name);
	const given = givenFor(verb, raw);
	await verb.check?.(runtime, given, say);
	const begun = await verb.begin(runtime, given);
	documentSchema(verb).parse(JSON.parse(JSON.stringify(begun)));
	return verb.lines(begun, say).join("\n");
}

const previewed = async (...of: Parameters<typeof preview>): Promise<string> => (await preview(...of)).lines.join("\n");
const seenAt = async (...of: Parameters<typeof preview>): Promise<number> =>
	((await preview(...of)).document as { readonly tip: number }).tip;

async function preview(raw: Readonly<Record<string, unknown>>, name = "plan resume"): Promise<Told> {
	const verb = verbOf(name);
	if (verb.access !== "work" || !verb.preview) throw new Error();
	const { tip } = runtime.wal;
	const told = await carryOut(verb.preview, raw, desk);
	documentSchema(verb).parse(JSON.parse(JSON.stringify(told.document)));
	expect(runtime.wal.tip).toBe(tip);
	return told;
}

const idle = async (): Promise<void> => {
	await runtime.idle();
	await vi.waitUntil(() => runtime.restored().plans.every(({ status }) => status !== "running"), 10_000);
};

test("one that is paused says why and how it goes on, calls nothing until then, and pays nothing twice", async () => {
	expect(await linesOf("plan pause", { id: plan })).toBe(`plan ${plan} is paused; go on with: plan resume ${plan}`);
	await idle();
	expect(await linesOf("plan list")).toBe(
		`${plan}  paused (a person has paused it)  1/3, price unknown  Compare A and B`,
	);
	expect(events.filter(({ type }) => type === "plan_end")).toEqual([
		expect.objectContaining({ outcome: "paused", reason: "a person has paused it" }),
	]);
	expect((await told("plan pause", { id: plan })).outcome).toBe("nothing");
	await runtime.close();
	await open();
	runtime.resume();
	await idle();
	expect(asked).toEqual(["a", "b"]);
	expect(await previewed({ id: plan })).toBe(
		"would run: b (unknown), c (unknown)\nstays, and is not paid again: a\nprice, if they take what they took last: unknown",
	);
	says = { b: () => "B is blue", c: () => "they differ" };
	expect(await begun("plan resume", { id: plan })).toBe(`plan ${plan} goes on; stop it with: plan pause ${plan}`);
	await idle();
	expect(asked).toEqual(["a", "b", "b", "c"]);
	expect(await linesOf("plan list")).toBe("no plan is in flight");
	expect(await linesOf("plan list", { all: true })).toMatch(/^p\d+ {2}completed {2}3\/3/);
});

test("one that is over is shown with what each step found, took, and would cost again; a step of it runs again at that price", async () => {
	says = { b: () => "B is blue", c: () => `they differ ${"very much ".repeat(400)}` };
	await runtime.close();
	await open();
	runtime.resume();
	await idle();
	const shown = await linesOf("plan show", { id: plan });
	expect(shown).toMatch(/^p\d+ {2}completed {2}3\/3, 3,030 tokens/);
	expect(shown).toMatch(
		/^b {2}completed {2}1,010 tokens {2}ended after \d+\.\d s {2}again with c: 2,020 tokens {2}read B: B is blue$/m,
	);
	expect(shown).toMatch(
		/^c {2}completed {2}after a, b {2}1,010 tokens .* again: 1,010 tokens {2}write it up: they differ very.*…$/m,
	);
	const { lines, document } = await told("plan show", { id: plan, step: "c" });
	expect(lines[0]).toMatch(/^c {2}completed {2}after a, b /);
	expect(lines[1]).toMatch(/^is shown about \d+ tokens: instructions \d+, goal 7, line 7, results \d+$/);
	expect(lines.slice(2)).toEqual(["", `they differ ${"very much ".repeat(400)}`]);
	expect(document).toMatchObject({
		found: lines.at(-1),
		steps: [{}, {}, { context: { cut: [], parts: { goal: { characters: 21 }, tools: { characters: 0 } } } }],
	});
	await expect(linesOf("plan show", { id: plan, step: "z" })).rejects.toMatchObject({ code: "PLAN_UNKNOWN_STEP" });
	expect(await previewed({ id: plan, from: "b" })).toBe(
		"would run: b (1,010 tokens), c (1,010 tokens)\nstays, and is not paid again: a\nprice, if they take what they took last: 2,020 tokens",
	);
	const paid = runtime.meter.paid.tokens;
	expect(await begun("plan resume", { id: plan, from: "b" })).toBe("runs again: b, c");
	await idle();
	expect(runtime.meter.paid.tokens - paid).toBe(2020);
	expect(await linesOf("plan show", { id: plan })).toMatch(/^b {2}completed, try 2 /m);
	expect(await linesOf("undo", {}, true)).toContain(`undo the new run of b, c of plan ${plan} by a person (#`);
	await told("undo");
	expect(await linesOf("plan show", { id: plan })).toMatch(/^b {2}completed {2}1,010/m);
});

test("one that is cut says what is recorded of its step, which is the least that it took; a step that is not over has no price", async () => {
	says = {};
	reads = true;
	await runtime.prompt("compare them again");
	await vi.waitUntil(() => runtime.plans()[1]?.plan !== undefined && asked.filter((step) => step === "a").length === 3);
	const other = runtime.plans()[1]?.plan as string;
	await told("plan pause", { id: other });
	const { lines, document } = await told("plan show", { id: other });
	expect(lines.slice(1)).toEqual([
		expect.stringMatching(/^a {2}running {2}at least 1,010 tokens {2}again with c: unknown {2}read A$/),
		expect.stringMatching(/^b {2}running {2}unknown {2}again/),
		"c  pending  after a, b  write it up",
	]);
	expect(document).toMatchObject({ steps: [{ id: "a", atLeast: 1010 }, { id: "b" }, { id: "c" }] });
	expect((document as { readonly steps: readonly object[] }).steps.map((step) => "atLeast" in step)).toEqual([
		...[true, false, false],
	]);
});

test("a step that has failed is retried by name, and another is not: the refusal says what to use", async () => {
	says = {
		b: () => {
			throw Object.assign(new Error("no key"), { retryable: false });
		},
		c: () => "half of it",
	};
	await runtime.close();
	await open();
	runtime.resume();
	await idle();
	expect(events.findLast(({ type }) => type === "plan_end")).toMatchObject({ outcome: "completed", failed: ["b"] });
	expect(await linesOf("plan list", { all: true })).toMatch(/completed {2}2\/3, 1 failed/);
	expect(await linesOf("plan show", { id: plan })).toMatch(
		/^b {2}failed {2}unknown {2}.*again with c: unknown {2}read B: no key$/m,
	);
	// What a call that got no answer has cost nobody knows.
	expect(await previewed({ id: plan, from: "b" })).toMatch(
		/^would run: b \(unknown\), c \(1,010 tokens\)\n.*\n.*: unknown$/,
	);
	await expect(begun("plan retry", { id: plan, step: "a" })).rejects.toMatchObject({
		code: "OPERATOR_ARGS",
		message: `step a of plan ${plan} is completed, and has not failed; what has not failed runs again with plan resume and --from. Failed: b`,
	});
	await expect(begun("plan retry", { id: plan, step: "z" })).rejects.toThrow(/no step "z"; this plan has a, b, c/);
	says = { b: () => "B is blue", c: () => "they differ" };
	expect(await previewed({ id: plan, step: "b" }, "plan retry")).toBe(
		"would run: b (unknown), c (1,010 tokens)\nstays, and is not paid again: a\nprice, if they take what they took last: unknown",
	);
	await expect(previewed({ id: plan, step: "a" }, "plan retry")).rejects.toMatchObject({ code: "OPERATOR_ARGS" });
	await expect(begun("plan retry", { id: plan, step: "b", tip: 1 })).rejects.toMatchObject({
		code: "TIMETRAVEL_STALE",
	});
	expect(await begun("plan retry", { id: plan, step: "b" })).toBe("runs again: b, c");
	await idle();
	expect(runtime.conversation().items.toArray().at(-1)).toMatchObject({ text: "they differ" });
	expect(await linesOf("plan list", { all: true })).toMatch(/completed {2}3\/3, price unknown/);
});

test("one that is amended has other steps, as they were shown; an undo has those of before", async () => {
	await told("plan pause", { id: plan });
	const before = runtime.wal.tip;
	const raw = {
		id: plan,
		drop: ["b"],
		describe: ["c=write = it up"],
		put: ['{"id":"d","description":"read D"}', { id: "c2", description: "check", depends_on: ["c"] }],
	};
	await expect(told("plan amend", raw)).rejects.toMatchObject({ code: "PLAN_INVALID", message: /step "b" is running/ });
	await expect(told("plan amend", { id: plan, put: ["{"] })).rejects.toThrow(/expected a step as JSON/);
	await expect(told("plan amend", { id: plan, describe: ["x=y"] })).rejects.toThrow(
		/no step "x" to describe.*these can be changed: c/,
	);
	await expect(told("plan amend", { id: plan })).rejects.toThrow(/nothing is changed/);
	const good = {
		id: plan,
		put: [
			'{"id":"d","description":"read D","max_tokens":2500}',
			'{"id":"c","description":"say it all","depends_on":["a","b","d"]}',
		],
	};
	const lines = `amend plan ${plan}: 3 steps now, 4 then
  a  read A
  b  read B
- c  after a, b  write it up
+ c  after a, b, d  say it all
+ d  read D`;
	expect(await linesOf("plan amend", good, true)).toBe(lines);
	expect(runtime.wal.tip).toBe(before);
	const { outcome } = await told("plan amend", good);
	expect(outcome).toBe("done");
	await vi.waitUntil(() => events.some(({ type }) => type === "plan_amended"));
	const event = events.find(({ type }) => type === "plan_amended");
	expect(event).toMatchObject({ steps: [{ id: "a" }, { id: "b" }, { id: "c" }, { id: "d" }] });
	expect(await linesOf("plan show", { id: plan })).toMatch(/^d {2}pending {2}2,500 tokens at most {2}read D$/m);
	expect(await linesOf("plan show", { id: plan, step: "c" })).toMatch(
		/\nis shown: unknown, until what it needs is over and its tools are here\n\n\(not finished\)$/,
	);
	expect(await linesOf("undo", {}, true)).toContain(
		`undo the change of the steps of plan ${plan} by a person, to 4 steps (#`,
	);
	await told("undo");
	expect(await linesOf("plan show", { id: plan })).not.toMatch(/^d /m);
	await told("redo");
	expect(await linesOf("plan show", { id: plan })).toMatch(/^d {2}pending/m);
});

test("an amendment of steps that somebody else has changed meanwhile is stale", async () => {
	await told("plan pause", { id: plan });
	const verb = verbOf("plan amend");
	if (verb.access !== "write") throw new Error();
	const seen = await verb.look(runtime, givenFor(verb, { id: plan, describe: ["c=other"] }), false);
	await told("plan amend", { id: plan, describe: ["c=meanwhile"] });
	const { tip } = runtime.wal;
	await expect(verb.act(runtime, seen, "user")).rejects.toMatchObject({ code: "TIMETRAVEL_STALE" });
	expect(runtime.wal.tip).toBe(tip);
});

test("what was to run again of a plan that somebody else has changed meanwhile is stale", async () => {
	await told("plan pause", { id: plan });
	const tip = await seenAt({ id: plan, from: "b" });
	await told("plan amend", { id: plan, describe: ["c=meanwhile"] });
	const now = runtime.wal.tip;
	await expect(begun("plan resume", { id: plan, from: "b", tip })).rejects.toMatchObject({ code: "TIMETRAVEL_STALE" });
	expect(runtime.wal.tip).toBe(now);
	expect(await begun("plan resume", { id: plan, from: "b", tip: `${now}` })).toBe("runs again: b, c");
});

test("one that was given up says so and why, and its steps can be looked at", async () => {
	await told("plan discard", { id: plan });
	expect(await linesOf("plan list")).toBe("no plan is in flight");
	expect(await linesOf("plan list", { all: true })).toMatch(/^p\d+ {2}discarded \(discarded by the user\) {2}1\/3/);
	expect(await linesOf("plan show", { id: plan })).toMatch(/^a {2}completed/m);
	await expect(begun("plan resume", { id: plan, from: "b" })).rejects.toThrow(/was given up; undo that first/);
	await expect(begun("plan resume", { id: "p999" })).rejects.toMatchObject({ code: "PLAN_UNKNOWN" });
	await expect(told("plan show", { id: "p999" })).rejects.toMatchObject({ code: "PLAN_UNKNOWN" });
	await expect(told("plan pause", { id: plan })).rejects.toThrow(
		/plan "p\d+" is over: it was given up \(discarded by the user\); undo that to take it up again\. In flight: none/,
	);
});

test("a pause is the newest move: an undo names it, and the plan runs on", async () => {
	await told("label", { ref: "@", name: "here" });
	await told("plan pause", { id: plan });
	expect(await linesOf("undo", {}, true)).toMatch(
		new RegExp(`^undo the pause of plan ${plan} by a person \\(#\\d+, .*\\)\n`, "m"),
	);
	expect(await linesOf("undo", {}, true)).not.toContain("is no move");
	await told("undo");
	expect(await linesOf("plan list")).toMatch(/^p\d+ {2}running /);
	expect(await linesOf("redo", {}, true)).toContain(
		`redo the undo by user of the pause of plan ${plan} by a person (#`,
	);
	await told("redo");
	says = { b: () => "B is blue", c: () => "they differ" };
	await begun("plan resume", { id: plan });
	await idle();
	const shown = await linesOf("undo", {}, true);
	expect(shown).toContain(`undo the resume of plan ${plan} by a person (#`);
	// What its steps have done since goes with it, and is paid again by who resumes it once more.
	expect(shown).toContain(
		`leaves unfinished and paused: plan ${plan}; who resumes it pays 2 model calls, 2020 tokens again; 1 call of finished steps, 1010 tokens`,
	);
	await told("undo");
	expect(await linesOf("redo", {}, true)).toMatch(/\nbrings back \d+ records, 0 turns/);
	const paid = asked.length;
	await begun("plan resume", { id: plan });
	await idle();
	expect(asked.length - paid).toBe(2);
});

test("a pause at a limit is taken back by going on: an undo says so", async () => {
	says = {
		b: () => {
			throw Object.assign(new Error("away"), { retryable: true });
		},
	};
	await runtime.close();
	await open({ unanswered: "stop", limits: { retryLimit: 0 } });
	runtime.resume();
	await runtime.idle();
	await runtime.answer(runtime.questions()[0]?.seq ?? 0, "pause", "ada");
	await vi.waitUntil(() => runtime.plans()[0]?.status === "paused");
	await told("label", { ref: "@", name: "here" });
	expect(await linesOf("undo", {}, true)).toContain(
		`a pause at a limit is no move: plan ${plan} goes on with: plan resume ${plan}`,
	);
});

test("one whose steps are lost is not run again from a step, or amended: it is discarded by a person, or not at all", async () => {
	await told("plan pause", { id: plan });
	await runtime.close();
	await rm(join(root, "state", "state", "plans"), { recursive: true });
	await open();
	const { tip } = runtime.wal;
	for (const refused of [
		() => begun("plan resume", { id: plan, from: "b" }),
		() => begun("plan retry", { id: plan, step: "b" }),
		() => told("plan amend", { id: plan, drop: ["b"] }),
	])
		await expect(refused()).rejects.toMatchObject({
			code: "PLAN_LOST",
			message: /are lost: .*Discard it, and ask anew$/,
		});
	expect(await linesOf("plan show", { id: plan })).toMatch(/^p\d+ {2}paused .*\nits steps are lost/);
	expect(runtime.wal.tip).toBe(tip);
	expect(await linesOf("plan discard", { id: plan })).toBe(`plan ${plan} is discarded`);
});

test("one that a rewind went back into says so, and is told of with the rewind alone", async () => {
	says = { b: () => "B is blue", c: () => "they differ" };
	await runtime.close();
	await open();
	runtime.resume();
	await idle();
	const step = runtime.timeline.checkpoints().find(({ kind }) => kind === "plan_step");
	await told("rewind", { ref: `${step?.seq}` });
	expect(await linesOf("plan list")).toMatch(/^p\d+ {2}paused \(a rewind went back into it\) {2}1\/3/);
	await vi.waitUntil(() => events.some(({ type }) => type === "moved"));
	await runtime.close();
	expect(events.filter((event) => event.type === "plan_end" && event.outcome === "paused")).toEqual([]);
	await open();
});

test("one that moves have left behind is in the list of all, as it was before each; an undo has it back", async () => {
	await told("plan discard", { id: plan });
	const before = runtime.wal.tip;
	await told("rewind", { ref: "0" });
	const first = runtime.restored().tip;
	expect(await linesOf("plan list", { all: true })).toMatch(
		new RegExp(`^${plan} {2}rewound \\(#(\\d+) went to before it; it was discarded, as #\\d+ shows\\) {2}1/3`),
	);
	// Another one, which is left while it waits; the first stays as it was when it was left.
	await runtime.prompt("compare them again");
	await vi.waitUntil(() => runtime.plans()[0]?.finished === 1, 10_000);
	const other = runtime.plans()[0]?.plan as string;
	await told("plan pause", { id: other });
	await told("rewind", { ref: `${first}` });
	await told("rewind", { ref: "0" });
	expect(await linesOf("plan list")).toBe("no plan is in flight");
	const { document } = await told("plan list", { all: true });
	const moves = (await runtime.timeline.records()).filter(({ kind }) => kind === "reset").map(({ seq }) => seq);
	expect(document).toMatchObject([
		{ plan, status: "rewound", finished: 1, leftBy: moves[0] },
		{ plan: other, status: "rewound", finished: 1, leftBy: moves[1] },
	]);
	expect(moves[0]).toBeGreaterThan(before);
	const shown = await told("plan show", { id: plan });
	expect(shown.document).toMatchObject({ plan, status: "rewound", finished: 1, leftBy: moves[0], steps: [] });
	expect(await linesOf("plan show", { id: plan })).toMatch(
		new RegExp(
			`it was discarded, as .*\\nbring it back with: undo, if that was the last move, or: checkout ${before}$`,
		),
	);
	await told("undo");
	await told("undo");
	expect(await told("plan list", { all: true })).toMatchObject({
		document: [
			{ plan: other, status: "paused" },
			{ plan, status: "rewound" },
		],
	});
});

test("one whose last step has failed is listed as failed, also by who reads the log anew, until it is retried", async () => {
	says = {
		b: () => "B is blue",
		c: () => {
			throw Object.assign(new Error("no key"), { retryable: false });
		},
	};
	await runtime.close();
	await open();
	runtime.resume();
	await idle();
	expect(await linesOf("plan list", { all: true })).toMatch(/^p\d+ {2}failed {2}2\/3, 1 failed/);
	await runtime.close();
	await rm(join(root, "state", "snapshots"), { recursive: true, force: true });
	says = { ...says, c: () => "they differ" };
	await open();
	expect(await linesOf("plan list", { all: true })).toMatch(/^p\d+ {2}failed {2}2\/3, 1 failed/);
	await begun("plan retry", { id: plan, step: "c" });
	await idle();
	expect(await linesOf("plan list", { all: true })).toMatch(/^p\d+ {2}completed {2}3\/3/);
});
