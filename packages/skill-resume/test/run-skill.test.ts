/** Runs of skills: fresh, resumed, on a full disk, and with phases that fail. */
import { journal } from "@reyn/journal";
import type { Appender, Draft } from "@reyn/wal";
import { mortalEngine } from "@reyn/wal/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { atOnce } from "../../../tests/kit/timers.ts";
import {
	defineSkill,
	done,
	next,
	type Phase,
	type PhaseContext,
	type Skill,
	skillRuns,
	type Transition,
} from "../src/index.ts";
import { echo, outbox, Process, question } from "./skill-process.ts";

/** A skill of these phases, of which the first is the start, and that takes any input. */
function skillOf(phases: Record<string, Phase<unknown>>, more: Partial<Skill> = {}): Skill {
	return defineSkill({
		name: "report",
		description: "",
		input: z.unknown(),
		start: Object.keys(phases)[0] ?? "",
		phases,
		...more,
	});
}

describe("a run", () => {
	test("goes from phase to phase, hands on what each gives, and delivers what the last one gave", async () => {
		const seen: unknown[] = [];
		const skill = skillOf({
			gather: async (_, input, before) => {
				seen.push([input, before]);
				return next("write", { facts: 2 });
			},
			write: async (_, input, before) => {
				seen.push([input, before]);
				return done("a report");
			},
		});
		await using process = await Process.start();
		expect(await process.work(skill, { to: "bob" })).toBe("a report");
		expect(seen).toEqual([
			[{ to: "bob" }, undefined],
			[{ to: "bob" }, { facts: 2 }],
		]);
		expect(process.view.get(outbox)).toEqual(["a report"]);
		expect(process.run()).toMatchObject({ status: "completed", visits: { gather: 1, write: 1 } });
		expect(process.boundaries).toEqual(["phase report gather", "phase report write"]);
		expect(process.view.get(journal)).toEqual(journal.init());
	});

	test("gives its input in the form that the schema makes of it", async () => {
		const skill = defineSkill({
			name: "report",
			description: "",
			input: z.object({ to: z.string().default("all"), copies: z.coerce.number() }),
			start: "write",
			phases: { write: async (_, { to, copies }) => done(`${copies + 1} for ${to}`) },
		});
		await using process = await Process.start();
		expect(await process.work(skill, { copies: "2" })).toBe("3 for all");
	});

	test("may be given nothing and may give nothing, and so may its steps", async () => {
		const skill = skillOf({
			wait: async ({ step }, input, before) => {
				const waited = await step("wait", async () => {}, { purity: "external" });
				return done(before ?? input ?? waited);
			},
		});
		await using process = await Process.start();
		await process.start(skill, undefined);
		await using next = await process.next();
		expect(await next.work(skill)).toBeUndefined();
		await using again = await next.next();
		expect(again.run()).toMatchObject({ status: "completed", visits: { wait: 1 } });
		const stored = JSON.parse(JSON.stringify(again.view.get(skillRuns)));
		expect(skillRuns.schema["~standard"].validate(stored)).toEqual({ value: stored });
	});

	test("hands on what the log kept, so that the first run and a resumed one see the same", async () => {
		const seen: unknown[] = [];
		const output = { none: undefined, rows: [-0, "\ud83d"], own: Object.assign(Object.create(null), { x: 1 }) };
		const skill = skillOf({
			gather: async () => next("write", output),
			write: async (_context, _input, before) => {
				seen.push(before);
				return done(before);
			},
		});
		const kept = { rows: [0, "\ufffd"], own: { x: 1 } };
		await using process = await Process.start();
		expect(await process.work(skill)).toStrictEqual(kept);
		expect(seen).toStrictEqual([kept]);
		await using again = await process.next();
		expect(again.run().last?.output).toStrictEqual(kept);
	});

	test("makes each step once, tells equal ones apart by their order, and gives each its key", async () => {
		const made: [to: string, key: string | undefined][] = [];
		const skill = skillOf({
			send: async (context) => {
				for (const args of [{ to: "bob" }, { to: "bob" }, { to: "eve" }])
					await context.step("send", async ({ idempotencyKey }) => made.push([args.to, idempotencyKey]), {
						purity: "external",
						args,
					});
				return done("sent");
			},
		});
		await using process = await Process.start();
		await process.work(skill);
		expect(made.map(([to]) => to)).toEqual(["bob", "bob", "eve"]);
		const keys = made.map(([, key]) => key);
		expect(new Set(keys).size).toBe(3);
		expect(keys).toEqual(keys.map(() => expect.stringMatching(/^[0-9a-f]{32}:\d+$/)));
	});

	test("waits for space before each record of its own, and writes each once", async () => {
		const entered: string[] = [];
		const phase =
			(name: string, then: Transition): Phase<unknown> =>
			async () => {
				entered.push(name);
				return then;
			};
		const skill = skillOf({ gather: phase("gather", next("write", {})), write: phase("write", done("a report")) });
		await using process = await Process.start();
		await process.start(skill, {});
		// What is written in one go is refused as a whole.
		const isFirst = ({ kind, data }: Draft): boolean =>
			kind.startsWith("skill_phase_") || JSON.stringify(data).includes('"lane":"skill/r1"');
		expect(await process.work(skill, {}, { log: fullOnce(process, isFirst), timers: atOnce })).toBe("a report");
		const waited = process.events.filter(({ type }) => type === "no_space").map(({ lane }) => lane);
		expect(waited).toHaveLength(5);
		expect(new Set(waited).size).toBe(3);
		expect(entered).toEqual(["gather", "write"]);
		expect(process.view.get(outbox)).toEqual(["a report"]);
		expect(process.run()).toMatchObject({ status: "completed", visits: { gather: 1, write: 1 } });
	});

	test("waits for space before it says that a phase has failed", async () => {
		const skill = skillOf({
			write: async () => {
				throw new Error("no idea");
			},
		});
		await using process = await Process.start();
		const log = fullOnce(process, ({ kind }) => kind === "lane_failed");
		await expect(process.work(skill, {}, { log, timers: atOnce })).rejects.toThrow("no idea");
		expect(process.events).toMatchObject([{ type: "no_space" }]);
		expect((await process.kinds()).slice(-2)).toEqual(["lane_failed", "skill_run_failed"]);
	});

	test("is over when that is durable, and no sooner: else it delivers again", async () => {
		const disk = mortalEngine();
		const skill = skillOf({ write: async () => done("a report") });
		await using process = await Process.start({ disk });
		await expect(process.work(skill, {}, { deliver: async () => disk.die() })).rejects.toMatchObject({
			code: "WAL_POISONED",
		});
		await using again = await process.next();
		expect(await again.work(skill)).toBe("a report");
		expect(again.view.get(outbox)).toEqual(["a report"]);
	});
});

describe("input that does not fit", () => {
	const skill = defineSkill({
		name: "report",
		description: "",
		input: z.object({ to: z.object({ name: z.string() }) }),
		start: "write",
		phases: { write: async () => done("never") },
	});

	test("is refused with the field, and nothing is written", async () => {
		await using process = await Process.start();
		await expect(process.start(skill, { to: { name: 5 } })).rejects.toMatchObject({
			code: "SKILL_INVALID_INPUT",
			message: "the input of report does not fit: to.name: Invalid input: expected string, received number",
			detail: { skill: "report" },
		});
		expect(await process.records()).toEqual([]);
	});

	test("is whatever a schema takes its time over: it has to answer at once", async () => {
		const slow = skillOf({ write: async () => done("never") }, { input: z.unknown().refine(async () => true) });
		await using process = await Process.start();
		await expect(process.start(slow)).rejects.toMatchObject({ code: "SKILL_INVALID_INPUT" });
		expect(await process.records()).toEqual([]);
	});

	test("is refused too when the skill was edited since the run began, and the run is kept", async () => {
		await using process = await Process.start();
		await process.start(skill, { to: { name: "bob" } });
		const edited = { ...skill, input: z.object({ to: z.string() }) } as unknown as typeof skill;
		await expect(process.work(edited)).rejects.toMatchObject({ code: "SKILL_INVALID_INPUT" });
		expect(process.run().status).toBe("running");
		expect(await process.work(skill)).toBe("never");
	});
});

const cycle: Record<string, unknown> = {};
cycle.again = [cycle];
const deep = (): unknown => Array.from({ length: 70 }).reduce((below) => [below], 1);
const reading = {
	get no(): never {
		throw new Error("no");
	},
};

describe("what is not JSON", () => {
	const lacks: [string, unknown, string][] = [
		["a date", { rows: [0, { when: new Date(0) }] }, ".rows[1].when: a Date is not JSON; give its .toISOString()"],
		["NaN", { share: Number.NaN }, ".share: NaN is not JSON; give null, or a text"],
		["an infinity", [-1 / 0], "[0]: -Infinity is not JSON; give null, or a text"],
		["undefined in a list", { rows: [undefined] }, ".rows[0]: undefined is not JSON; give null, or leave it out"],
		["a map", new Map(), ": a Map is not JSON; give Object.fromEntries(it)"],
		["a set", { a: new Set() }, ".a: a Set is not JSON; give [...it]"],
		["a BigInt", { a: { b: 1n } }, ".a.b: a BigInt is not JSON; give String(it)"],
		["a function", { a: () => 1 }, ".a: a function is not JSON; give a plain value"],
		["bytes", { a: new Uint8Array(2) }, ".a: a Uint8Array is not JSON; give it as base64"],
		["an object of a class", { a: new (class Page {})() }, ".a: a Page is not JSON; give a plain value"],
		["a promise", { a: Promise.resolve(1) }, ".a: a Promise is not JSON; await it"],
		["an object with toJSON", { toJSON: () => 1 }, ": an object with toJSON is not JSON; give what that gives"],
		["a cycle", cycle, ".again[0]: a cycle is not JSON; give a plain value"],
		["what throws when it is read", { a: reading }, ": it throws when it is read (no)"],
		["70 levels", { a: deep() }, "…: it is nested more than 60 deep; flatten it, or give it as text"],
	];

	test.each(lacks)("is refused as an output: %s", async (_, output, why) => {
		let made = 0;
		const gather =
			(give: unknown): Phase<unknown> =>
			async ({ step }) => {
				await step("send", async () => ++made, { purity: "external" });
				return next("write", give);
			};
		const write: Phase<unknown> = async () => done("never");
		const source = { path: "/skills/report.ts", hash: "" };
		await using process = await Process.start();
		const begin = 'phase "gather" of report (/skills/report.ts) gave what cannot be kept: output';
		await expect(process.work(skillOf({ gather: gather(output), write }, { source }))).rejects.toMatchObject({
			code: "SKILL_NOT_JSON",
			message: why.startsWith("…") ? expect.stringContaining(why) : `${begin}${why}`,
			detail: { skill: "report", phase: "gather", file: source.path, path: expect.stringMatching(/^output/) },
		});
		expect(process.run()).toMatchObject({ status: "running", phase: "gather", failures: [{ times: 1 }] });
		await using mended = await process.next();
		expect(await mended.work(skillOf({ gather: gather([]), write }))).toBe("never");
		expect(made).toBe(1);
	});

	test.each(lacks)("is refused as the input of a run, and nothing is written: %s", async (_, input, why) => {
		await using process = await Process.start();
		const skill = skillOf({ write: async () => done("never") });
		await expect(process.start(skill, input)).rejects.toMatchObject({
			code: "SKILL_INVALID_INPUT",
			message: expect.stringContaining(why),
		});
		expect(await process.records()).toEqual([]);
	});

	test.each(lacks)(
		"is refused as what a phase calls a skill or a tool with, and nothing is called: %s",
		async (_, input, why) => {
			const said: unknown[] = [];
			const tool = {
				name: "look",
				description: "",
				parameters: {},
				purity: "world" as const,
				call: async () => "seen",
			};
			const skill = skillOf({
				gather: async (context) => {
					const kept = (error: Error & { code?: string }) => said.push([error.code, error.message]);
					await context.skill("sum", input).catch(kept);
					await context.tool("look", { input }).catch(kept);
					return done("so");
				},
			});
			const sum = { ...skillOf({ write: async () => done("never") }), name: "sum" };
			await using process = await Process.start({ skills: [sum] });
			await process.work(skill, {}, { tools: [tool] });
			expect(said).toEqual([
				["SKILL_CALL", expect.stringContaining(why)],
				["SKILL_CALL", expect.stringContaining(why)],
			]);
			expect((await process.kinds()).filter((kind) => /^step|started/.test(kind))).toEqual(["skill_run_started"]);
		},
	);

	test("is kept of a step as far as JSON has it, since its call was made: every run is told the same", async () => {
		const seen: unknown[] = [];
		const skill = skillOf({
			gather: async ({ step }) => {
				seen.push(await step("look", async () => ({ at: new Date(0), of: [undefined] }), { purity: "external" }));
				if (seen.length === 1) throw new Error("again");
				return done("so");
			},
		});
		await using process = await Process.start();
		await expect(process.work(skill)).rejects.toThrow("again");
		await using again = await process.next();
		await again.work(skill);
		expect(seen).toEqual(Array(2).fill({ at: "1970-01-01T00:00:00.000Z", of: [null] }));
	});
});

describe("a transition that leads nowhere", () => {
	test("is refused with the phases that there are; what was done is kept, and a mended skill goes on", async () => {
		const made: string[] = [];
		const gather =
			(to: string): Phase<unknown> =>
			async ({ step }) => {
				await step("send", async () => made.push("sent"), { purity: "side_effect" });
				return next(to, "facts");
			};
		const write: Phase<unknown> = async () => done("a report");
		await using process = await Process.start();
		await expect(process.work(skillOf({ gather: gather("print"), write }))).rejects.toMatchObject({
			code: "SKILL_TRANSITION",
			message: 'report has no next phase "print"; it has gather, write',
		});
		const source = { path: "/skills/report.ts", hash: "" };
		await expect(process.work(skillOf({ gather: gather("print"), write }, { source }))).rejects.toMatchObject({
			message: 'report (/skills/report.ts) has no next phase "print"; it has gather, write',
			detail: { skill: "report", phase: "gather", file: source.path },
		});
		expect(process.run()).toMatchObject({ status: "running", phase: "gather" });
		await using mended = await process.next();
		expect(await mended.work(skillOf({ gather: gather("write"), write }))).toBe("a report");
		expect(made).toEqual(["sent"]);
	});

	test("is refused where the name of the phase has half a character: nothing in it is called", async () => {
		let calls = 0;
		const mail = async ({ step }: PhaseContext) =>
			done(await step("mail", async () => ++calls, { purity: "side_effect" }));
		const skill = skillOf({ "mail \ud83d": mail }, { start: "mail \ud83d" });
		await using process = await Process.start();
		await expect(process.work(skill)).rejects.toMatchObject({ code: "WAL_INVALID_RECORD" });
		expect(calls).toBe(0);
	});

	test.each<[string, unknown, string]>([
		["nothing", undefined, "undefined"],
		["null", null, "null"],
		["a number", 5, "5"],
		["a text", "write", "'write'"],
		["an output as it is", { facts: 2 }, "{ facts: 2 }"],
		["a next phase without its name", { kind: "next", output: 1 }, "{ kind: 'next', output: 1 }"],
		["a long text", "x".repeat(1000), `'${"x".repeat(60)}'... 940 more characters`],
	])("is said to be none where a phase gives %s", async (_, given, found) => {
		await using process = await Process.start();
		const write = (async () => given) as unknown as Phase<unknown>;
		await expect(process.work(skillOf({ write }))).rejects.toMatchObject({
			code: "SKILL_TRANSITION",
			message: `phase "write" of report returned ${found}; a phase returns next(phase, output) or done(output)`,
			detail: { skill: "report", phase: "write" },
		});
		expect(process.run()).toMatchObject({ status: "running", phase: "write" });
	});

	test("is refused at the start too, before anything is entered", async () => {
		await using process = await Process.start();
		// It was edited since it was defined.
		const skill = { ...skillOf({ write: async () => done("never") }, { start: "write" }), start: "gather" };
		await expect(process.work(skill)).rejects.toMatchObject({
			code: "SKILL_TRANSITION",
			message: 'report has no phase "gather"; it has write',
		});
		expect(await process.kinds()).toEqual(["skill_run_started", "skill_run_failed"]);
	});
});

describe("a phase that is visited again", () => {
	/** Writes a draft until the review is content with the nth. */
	const drafts = (content: number, visits: number[]): Record<string, Phase<unknown>> => ({
		draft: async ({ visit, model }) => {
			visits.push(visit);
			const { text } = await model(question("write"));
			return next("review", `${text} ${visit}`);
		},
		review: async ({ visit }, _, before) => (visit < content ? next("draft", before) : done(before)),
	});

	test("counts its visits, and does not take the answer of an earlier one for its own", async () => {
		const model = echo();
		const visits: number[] = [];
		await using process = await Process.start({ model });
		expect(await process.work(skillOf(drafts(3, visits)))).toBe("write! 3");
		expect([visits, model.paid]).toEqual([
			[1, 2, 3],
			["write", "write", "write"],
		]);
	});

	test("may have a name that every object has, and one that the skill lacks is refused", async () => {
		const visits: number[] = [];
		const skill = skillOf({
			draft: async () => next("constructor", 0),
			constructor: async ({ visit }: PhaseContext) => {
				visits.push(visit);
				return visit < 2 ? next("constructor", visit) : next("toString", visit);
			},
		});
		await using process = await Process.start();
		await expect(process.work(skill)).rejects.toMatchObject({
			code: "SKILL_TRANSITION",
			message: expect.stringContaining('no next phase "toString"'),
		});
		expect(visits).toEqual([1, 2]);
		expect(process.run().visits).toEqual({ draft: 1, constructor: 2 });
	});

	test("is refused beyond the limit, and the run is kept where it was", async () => {
		const visits: number[] = [];
		await using process = await Process.start();
		await expect(process.work(skillOf(drafts(9, visits), { maxVisits: 2 }))).rejects.toMatchObject({
			code: "SKILL_TRANSITION",
			message: 'report would visit "draft" once more; it has been there 2 times, and its limit is 2',
			detail: { phase: "draft", visit: 3 },
		});
		expect(visits).toEqual([1, 2]);
		expect(process.run()).toMatchObject({ status: "running", visits: { draft: 2, review: 2 } });
		// A higher limit lets it go on from there.
		expect(await process.work(skillOf(drafts(3, visits), { maxVisits: 3 }))).toBe("write! 3");
		expect(visits).toEqual([1, 2, 3]);
	});

	test("may be visited ten times unless the skill says otherwise", async () => {
		const visits: number[] = [];
		await using process = await Process.start();
		await expect(process.work(skillOf(drafts(99, visits)))).rejects.toMatchObject({ code: "SKILL_TRANSITION" });
		expect(visits).toHaveLength(10);
	});
});

describe("a run that stops halfway is kept", () => {
	test("when a phase throws, with what it had done", async () => {
		let broken = true;
		const made: string[] = [];
		const model = echo();
		const skill = skillOf({
			send: async (context) => {
				const { text } = await context.model(question("hello"));
				await context.step("send", async () => made.push(text), { purity: "side_effect" });
				if (broken) throw new Error("out of paper");
				return done(text);
			},
		});
		await using process = await Process.start({ model });
		await expect(process.work(skill)).rejects.toThrow("out of paper");
		broken = false;
		await using again = await process.next();
		expect(await again.work(skill)).toBe("hello!");
		expect([made, model.paid]).toEqual([["hello!"], ["hello"]]);
		expect(again.events.map(({ type }) => type)).toEqual(["ghost", "ghost"]);
	});

	test("when it is cancelled, with the reason; what a phase returns after that does not count", async () => {
		const bodies: string[] = [];
		const skill = skillOf({
			gather: async () => {
				bodies.push("gather");
				if (bodies.length === 1) process.cancel("interrupted by the user");
				return next("write", "facts");
			},
			write: async () => {
				bodies.push("write");
				return done("a report");
			},
		});
		await using process = await Process.start();
		await expect(process.work(skill)).rejects.toThrow("interrupted by the user");
		expect(process.run()).toMatchObject({ status: "running", phase: "gather" });
		expect(process.view.get(outbox)).toEqual([]);
		await using again = await process.next();
		expect(await again.work(skill)).toBe("a report");
		expect(bodies).toEqual(["gather", "gather", "write"]);
	});

	test("when the model fails, and is asked again", async () => {
		const model = echo();
		let down = true;
		const flaky = {
			...model,
			generate: (...[request, options]: Parameters<typeof model.generate>) => {
				if (down) throw new Error("no network");
				return model.generate(request, options);
			},
		};
		const skill = skillOf({ write: async (context) => done((await context.model(question("hello"))).text) });
		await using process = await Process.start({ model: flaky });
		await expect(process.work(skill)).rejects.toThrow("no network");
		down = false;
		expect(await process.work(skill)).toBe("hello!");
	});
});

/** A log that has no space for some of its records the first time. */
function fullOnce(log: Appender, isRefused: (draft: Draft) => boolean): Appender {
	const refused = new Set<string>();
	return {
		append(draft, scope) {
			const what = JSON.stringify(draft);
			if (!isRefused(draft) || refused.has(what)) return log.append(draft, scope);
			refused.add(what);
			throw Object.assign(new Error("the disk is full"), { code: "WAL_FULL" });
		},
	};
}
