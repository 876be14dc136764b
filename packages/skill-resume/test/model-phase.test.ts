/** Phases that a model works on, and what functions call besides steps; killed after every append too. */
import type { Model, ModelPart, ModelRequest, Tool } from "@reyn/journal";
import { mortalEngine } from "@reyn/wal/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { defineSkill, done, jsonSchemaOf, type ModelPhase, type Phase } from "../src/index.ts";
import { Process } from "./skill-process.ts";

const said = (text: string): ModelPart[] => [{ type: "text", text }];
const called = (name: string, args: unknown): ModelPart[] => [{ type: "toolCall", call: { id: name, name, args } }];

/** Answers by what it is asked: the nth answer to one beginning is the nth of its list. */
function answering(...answers: readonly ModelPart[][]): Model & { readonly asked: ModelRequest[] } {
	const asked: ModelRequest[] = [];
	return {
		id: "scripted",
		asked,
		async *generate(request) {
			asked.push(request);
			yield* answers[request.messages.filter(({ role }) => role === "assistant").length] ?? said("nothing more");
			yield { type: "usage", usage: { inputTokens: 10, outputTokens: 1 } };
		},
	};
}

/** Writes into a list, once for each key. */
function ledger(): { readonly tool: Tool; readonly written: Map<string, unknown> } {
	const written = new Map<string, unknown>();
	const tool: Tool = {
		...{ name: "write", description: "writes", parameters: { type: "object" }, purity: "side_effect" },
		call: async (args, { idempotencyKey = "" }) => {
			written.set(idempotencyKey, args);
			return "written";
		},
	};
	return { tool, written };
}

const skillOf = (phases: Record<string, Phase<{ of: string }>>) =>
	defineSkill({ name: "report", description: "", input: z.object({ of: z.string() }), start: "a", phases });
const output = z.object({ words: z.int() });
const input = { of: "foxes" };

describe("a model phase", () => {
	test("gives the text of the answer, and is shown the input, what came before, its tools and nothing else", async () => {
		const model = answering(called("write", { text: "x" }), said("it is done"));
		const { tool, written } = ledger();
		const other = { ...tool, name: "other" };
		await using process = await Process.start({ model });
		const skill = skillOf({
			a: async () => ({ kind: "next", phase: "b", output: [1] }),
			b: { instructions: "Write it down", tools: ["write"] },
		});
		expect(await process.work(skill, input, { tools: [tool, other] })).toBe("it is done");
		expect([...written.values()]).toEqual([{ text: "x" }]);
		const [first] = model.asked;
		expect(first).toMatchObject({ system: "Write it down", tools: [{ name: "write" }] });
		expect(first?.messages).toEqual([
			{ role: "user", text: 'What it is given:\n{"of":"foxes"}\n\nWhat the phase before gave:\n[1]' },
		]);
	});

	test("may mend what does not fit, once; a second time is a failure, and the run is kept", async () => {
		const phase: ModelPhase = { instructions: "Count", output };
		const model = answering(said("three"), said('```json\n{"words":3}\n```'));
		await using process = await Process.start({ model });
		expect(await process.work(skillOf({ a: phase }), input)).toEqual({ words: 3 });
		expect(model.asked[0]?.messages[0]?.text).toContain(JSON.stringify(jsonSchemaOf(output)));
		expect(model.asked[1]?.messages.at(-1)?.text).toMatch(/^That does not fit: .* is not valid JSON/);

		const bad = answering(said('{"words":0.5}'), said('{"words":"no"}'));
		await using other = await Process.start({ model: bad });
		await expect(other.work(skillOf({ a: phase }), input)).rejects.toMatchObject({
			code: "AGENT_ANSWER",
			message: expect.stringContaining("words: "),
		});
		expect(other.run()).toMatchObject({ status: "running", phase: "a" });
	});

	test("lets the model choose among the ways that there are, and no others", async () => {
		const choice: ModelPhase = { instructions: "Go on?", output, next: ["a", "b", "done"] };
		const skill = skillOf({ a: choice, b: async (_context, _input, before) => done({ before }) });
		const model = answering(
			said('{"next":"toString","output":{"words":1}}'),
			said('{"next":"b","output":{"words":2}}'),
		);
		await using process = await Process.start({ model });
		expect(await process.work(skill, input)).toEqual({ before: { words: 2 } });
		expect(model.asked[1]?.messages.at(-1)?.text).toContain('next is "toString", and has to be one of a, b, done');

		await using ended = await Process.start({ model: answering(said('{"next":"done","output":{"words":4}}')) });
		expect(await ended.work(skill, input)).toEqual({ words: 4 });
	});

	test("is bounded, and a tool that it names has to be there", async () => {
		const model = answering(called("write", { n: 1 }), called("write", { n: 2 }), called("write", { n: 3 }));
		const phase: ModelPhase = { instructions: "Write", tools: ["write"], maxRounds: 2 };
		await using process = await Process.start({ model });
		const { tool } = ledger();
		await expect(process.work(skillOf({ a: phase }), input, { tools: [tool] })).rejects.toMatchObject({
			code: "AGENT_TURNS",
		});
		await using bare = await Process.start({ model });
		await expect(bare.work(skillOf({ a: phase }), input)).rejects.toThrow('there is no tool "write"');
	});

	test("killed after any append pays for no answer twice but the one that was open, and writes each thing once", async () => {
		let isWhole = false;
		for (let n = 1; !isWhole; n++) {
			const disk = mortalEngine();
			const model = answering(called("write", { n: 1 }), called("write", { n: 2 }), said('{"next":"done","output":7}'));
			const { tool, written } = ledger();
			const skill = skillOf({ a: { instructions: "Write", tools: ["write"], next: ["a", "done"] } });
			const first = await Process.start({ disk, model, appends: n });
			isWhole = await first.work(skill, input, { tools: [tool] }).then(
				() => true,
				() => false,
			);
			const last = await first.next();
			expect(await last.work(skill, input, { tools: [tool] }), `after ${n}`).toBe(7);
			expect(model.asked.length, `after ${n}`).toBeLessThanOrEqual(isWhole ? 3 : 4);
			expect([...written.values()], `after ${n}`).toEqual([{ n: 1 }, { n: 2 }]);
			await last[Symbol.asyncDispose]();
		}
	});
});

describe("a function phase", () => {
	test("asks an agent, calls a tool, tells the time and sleeps, each once however often it is gone on with", async () => {
		const model = answering(said('{"words":3}'));
		const { tool, written } = ledger();
		let isDown = true;
		const skill = skillOf({
			a: async ({ agent, tool: call, now, sleep }) => {
				const found = await agent<{ words: number }>("count", { schema: jsonSchemaOf(output) ?? {} });
				const told = await call("write", found);
				const at = await now();
				await sleep(5);
				if (isDown) throw new Error("down");
				return done({ told, found, slept: (await now()) - at });
			},
		});
		await using process = await Process.start({ model });
		await expect(process.work(skill, input, { tools: [tool] })).rejects.toThrow("down");
		isDown = false;
		expect(await process.work(skill, input, { tools: [tool] })).toMatchObject({ told: "written", found: { words: 3 } });
		expect([model.asked.length, written.size]).toEqual([1, 1]);
	});

	test("ends the run by itself, with a reason", async () => {
		const skill = skillOf({ a: async ({ abort }) => abort("there is nothing to report") });
		await using process = await Process.start();
		await expect(process.work(skill, input)).rejects.toMatchObject({
			code: "SKILL_ABORTED",
			message: "there is nothing to report",
		});
	});

	test("draws the same numbers and names in a later try, and others in another place", async () => {
		let tries = 0;
		const drawn: unknown[] = [];
		const skill = skillOf({
			a: async ({ random, uuid, parallel }) => {
				const own = [random(), uuid(), random()];
				drawn.push([...own, ...(await parallel([() => uuid(), () => uuid()]))]);
				if (++tries === 1) throw new Error("down");
				return done(0);
			},
		});
		await using process = await Process.start();
		await expect(process.work(skill, input)).rejects.toThrow("down");
		await process.work(skill, input);
		expect(drawn[1]).toEqual(drawn[0]);
		expect(new Set(drawn[0] as unknown[]).size).toBe(5);
		await using other = await Process.start();
		await other.work(skill, input);
		expect(drawn[2]).not.toEqual(drawn[0]);
	});

	describe("in branches", () => {
		test("that fail, all are waited for and named; a next try makes again what failed, and nothing else", async () => {
			let isDown = true;
			const made: string[] = [];
			const skill = skillOf({
				a: async ({ parallel, step }) =>
					done(
						await parallel(
							["x", "y", "z"].map(
								(name) => () =>
									step(
										name,
										async () => {
											made.push(name);
											if (isDown && name !== "y") throw new Error(`${name} is down`);
											return name;
										},
										{ purity: "external" },
									),
							),
						),
					),
			});
			await using process = await Process.start();
			await expect(process.work(skill, input)).rejects.toMatchObject({
				code: "SKILL_BRANCHES",
				message: "2 of 3 branches of report failed (0: x is down; 2: z is down)",
				detail: { branches: 3, failed: [{ position: 0 }, { position: 2 }] },
			});
			isDown = false;
			expect(await process.work(skill, input)).toEqual(["x", "y", "z"]);
			expect(made.sort()).toEqual(["x", "x", "y", "z", "z"]);
		});

		test("one that ends the run ends it", async () => {
			const skill = skillOf({
				a: async ({ abort, parallel }) => done(await parallel([async () => 1, async () => abort("enough")])),
			});
			await using process = await Process.start();
			await expect(process.work(skill, input)).rejects.toMatchObject({ code: "SKILL_ABORTED", message: "enough" });
		});
	});
});
