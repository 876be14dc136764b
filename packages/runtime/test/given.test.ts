/** What is wrong with a call, in the shapes of a runtime: found before it where it can be, else it is how the call ended. */
import type { Model, Purity, Tool } from "@reyn/journal";
import { defineSkill, done, type PhaseContext } from "@reyn/skill-resume";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { sample } from "../../../tests/sample.ts";
import { makeProject, open, type Project } from "./project.ts";

let project: Project;
let calls: number;
beforeEach(async () => {
	project = await makeProject();
	calls = 0;
});
afterEach(() => project[Symbol.asyncDispose]());

const payment = (give: () => unknown, purity: Purity = "side_effect"): Tool => ({
	name: "pay",
	description: "pays",
	parameters: { type: "object" },
	purity,
	async call() {
		calls++;
		return give() as string;
	},
});

/** Runs a script, and resumes it twice; gives how it ended each time. */
async function threeLives(
	source: string,
	{ tools = [], ...more }: { tools?: Tool[]; model?: Model },
): Promise<unknown[]> {
	const ends: unknown[] = [];
	let run: string | undefined;
	for (let life = 0; life < 3; life++) {
		const { runtime } = await open(project, { tools, ...more });
		const { scripts } = runtime;
		const begun = run === undefined ? await scripts.start({ name: "s.ts", source }, {}) : await scripts.resume(run);
		({ run } = begun);
		ends.push(await begun.end);
		await runtime.close();
	}
	return ends;
}

const coded = (code: string): never => {
	throw Object.assign(new Error("mine"), { code });
};

describe("a script that is resumed", () => {
	test("does not ask a model again for an answer that was none, alone or as an agent's", async () => {
		const model: Model = {
			id: "m",
			async *generate() {
				calls++;
				yield { type: "usage", usage: { inputTokens: -1, outputTokens: 0 } };
			},
		};
		const ends = await threeLives("export default async (ctx) => ctx.agent('x')", { model });
		expect(ends).toMatchObject(Array(3).fill({ status: "failed", reason: { code: "MODEL_ANSWER" } }));
		expect(calls).toBe(1);
	});

	test("does not make an effect again that gave what cannot be kept", async () => {
		const tools = [payment(() => new Map())];
		const ends = await threeLives("export default async (ctx) => ctx.tool('pay')", { tools });
		expect(ends).toMatchObject(Array(3).fill({ status: "failed", reason: { code: "WAL_NOT_JSON" } }));
		expect(calls).toBe(1);
	});

	test.each(["STEP_DISCARDED", "WAL_FULL"])(
		"hears of an effect that throws %s of its own, and goes on",
		async (code) => {
			const tools = [payment(() => coded(code))];
			const source = "export default async (ctx) => { try { await ctx.tool('pay') } catch (e) { return e.code } }";
			expect((await threeLives(source, { tools }))[0]).toEqual({ status: "completed", result: code });
			expect(calls).toBe(1);
		},
	);
});

describe.each([
	["in its host", false],
	["isolated", true],
])("a script %s that fails with what no record holds has failed, and says what there is room for", (_, isolate) => {
	const shapes: [string, string, string, number][] = [
		["a detail nested 61 deep", "detail: nested(61)", "no", 2],
		["a message of 9 MB", "message: 'x'.repeat(9e6)", "x… (9000000 characters)", 263_000],
		["a detail nested 3,000 deep", "detail: nested(3000)", "no", 2],
		["a detail of 9 MB", "detail: 'x'.repeat(9e6)", "no", 2],
		["a code of 9 MB", "code: 'x'.repeat(9e6)", "no", 2],
	];
	test.each(isolate ? sample(shapes.slice(0, 1), shapes) : shapes)("%s", async (_, said, ending, longest) => {
		for (const redact of [undefined, (text: string) => text.replaceAll("xx", "[redacted secret]")]) {
			const { runtime } = await open(project, { isolate, ...(redact && { redact }) });
			const source = `const nested = (n) => { let list = []; while (--n) list = [list]; return list; };
				export default async () => { throw Object.assign(new Error("no"), { ${said} }); };`;
			const { run, end } = await runtime.scripts.start({ name: "s.ts", source }, {});
			const { status, reason } = (await end) as { status: string; reason: { message: string; detail?: unknown } };
			expect([status, reason.message.endsWith(ending), reason.detail]).toEqual(["failed", true, undefined]);
			expect(reason.message.length).toBeLessThanOrEqual(longest);
			await runtime.close();
			const { runtime: next } = await open(project);
			expect(next.scripts.list().find((each) => each.run === run)).toMatchObject({ status: "failed" });
			await next.close();
		}
	});

	test("half a character is told as it is recorded", async () => {
		const { runtime } = await open(project, { isolate });
		const source = `export default async () => {
			throw Object.assign(new Error("no \\ud83d"), { code: "E\\udea7", detail: { "\\ud83d": "\\ud83d", "\\udea7": 1 } });
		};`;
		const { run, end } = await runtime.scripts.start({ name: "s.ts", source }, {});
		const reason = { message: "no \ufffd", code: "E\ufffd", detail: { "\ufffd": 1 } };
		expect(await end).toEqual({ status: "failed", reason });
		expect(runtime.scripts.list().find((each) => each.run === run)).toMatchObject({ status: "failed" });
		await runtime.close();
	});

	test("a call is made whose arguments have keys that differ by half a character", async () => {
		const { runtime } = await open(project, { isolate, tools: [payment(() => "paid")] });
		const source = `export default (ctx) => ctx.tool("pay", { "\\ud83d": 1, "\\udea7": 2 });`;
		const { end } = await runtime.scripts.start({ name: "s.ts", source }, {});
		expect(await end).toEqual({ status: "completed", result: "paid" });
		await runtime.close();
	});

	test("a detail that a record holds stays", async () => {
		const { runtime } = await open(project, { isolate });
		const source =
			"export default async () => { throw Object.assign(new Error('no'), { detail: { list: 'x'.repeat(200_000) } }); };";
		const { end } = await runtime.scripts.start({ name: "s.ts", source }, {});
		expect(await end).toEqual({ status: "failed", reason: { message: "no", detail: { list: "x".repeat(200_000) } } });
		await runtime.close();
	});
});

describe("a purity that is none", () => {
	test("of a tool is refused when the runtime is opened", async () => {
		for (const purity of ["sideeffect", undefined] as unknown[] as Purity[]) {
			const { purity: _, ...tool } = payment(() => "paid");
			const refused = open(project, { tools: [{ ...tool, ...(purity && { purity }) } as Tool] });
			await expect(refused).rejects.toMatchObject({ code: "STEP_PURITY", detail: { name: "pay" } });
		}
	});

	test("of a step of a skill is refused before it is called; what a step throws by its own code does not give it up", async () => {
		const ends: string[] = [];
		const skill = (name: string, phase: (context: PhaseContext) => Promise<unknown>) =>
			defineSkill({ name, description: "", input: z.unknown(), start: "one", phases: { one: async (context) => done(await phase(context)) } }); // biome-ignore format: one line
		const pay = async (): Promise<string> => {
			calls++;
			return "paid";
		};
		const skills = [
			skill("bare", (context) => context.step("pay", pay, {} as { purity: Purity })),
			skill("own", (context) => context.step("pay", async () => coded("STEP_DISCARDED"), { purity: "external" })),
		];
		const { runtime } = await open(project, {
			skills,
			onEvent: (event) => {
				if (event.type === "skill_end") ends.push(`${event.outcome}: ${event.reason}`);
			},
		});
		for (const { name } of skills) {
			await runtime.runSkill(name, {});
			await runtime.idle();
		}
		expect(ends).toEqual([expect.stringMatching(/^stopped: the purity of pay .* found none/), "stopped: mine"]);
		expect(calls).toBe(0);
		await runtime.close();
	});
});
