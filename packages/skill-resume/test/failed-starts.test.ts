/** A run that fails in the same place at three starts is paused, though the log was cut meanwhile. */
import { JournalError } from "@reyn/journal";
import { memorySnapshots } from "@reyn/snapshot";
import { expect, test } from "vitest";
import { z } from "zod";
import { defineSkill, done, type FunctionPhase, next, type Skill, skillRunResumed } from "../src/index.ts";
import { Process, session } from "./skill-process.ts";

const skillOf = (phases: Record<string, FunctionPhase<unknown>>): Skill =>
	defineSkill({
		name: "report",
		description: "",
		input: z.unknown(),
		start: Object.keys(phases)[0] ?? "",
		phases,
	}) as Skill;

const codeOf = async (process: Process, skill: Skill): Promise<unknown> =>
	process.work(skill).catch((error: { code?: string; message: string }) => error.code ?? error.message);

test("the place is known when the log was cut, and the run waits until it is resumed", async () => {
	let says = 0;
	const skill = skillOf({
		a: async () => next("b", 1),
		b: ({ step }) => step("mail", () => Promise.reject(new Error(`no mail ${++says}`)), { purity: "side_effect" }),
	});
	let process = await Process.start({ snapshots: memorySnapshots() });
	for (let start = 1; start <= 3; start++) {
		expect(await codeOf(process, skill)).toBe(`no mail ${start}`);
		await process.forget();
		process = await process.next();
	}
	expect(process.run()).toMatchObject({
		status: "paused",
		why: 'it has failed at 3 starts in phase "b", visit 1: no mail 3',
	});
	expect((await process.kinds()).filter((kind) => kind === "skill_run_failed")).toEqual([]);
	await process.append(skillRunResumed({ run: "r1" }), { ...session, run: "r1" }).durable;
	expect(process.run()).toMatchObject({ status: "running" });
	expect(process.run()).not.toHaveProperty("why");
	expect(process.run()).not.toHaveProperty("failures");
	expect(await codeOf(process, skill)).toBe("no mail 4");
	expect(process.run().failures).toMatchObject([{ times: 1 }]);
	await process[Symbol.asyncDispose]();
});

test("another place has a count of its own, and the next phase begins to count anew", async () => {
	let text = "x";
	const skill = skillOf({
		a: async () => (text === "" ? next("b", 0) : Promise.reject(new Error(text))),
		b: async () => Promise.reject(new Error("in b")),
	});
	await using process = await Process.start();
	for (const each of ["x", "x", "y", "y"]) {
		text = each;
		expect(await codeOf(process, skill)).toBe(each);
	}
	expect(process.run().failures).toEqual([
		{ place: "a/1 x", times: 2 },
		{ place: "a/1 y", times: 2 },
	]);
	text = "";
	expect(await codeOf(process, skill)).toBe("in b");
	expect(process.run()).toMatchObject({ status: "running", failures: [{ place: "b/1 in b", times: 1 }] });
});

test("a run that waits, is cut or ended is not said to have failed; one that is refused at each start is", async () => {
	const failed = async (skill: Skill, end: (process: Process) => void = () => {}): Promise<number> => {
		await using process = await Process.start({ ask: async () => undefined });
		const working = codeOf(process, skill);
		end(process);
		await working;
		return (await process.kinds()).filter((kind) => kind === "skill_run_failed").length;
	};
	const wait = skillOf({ a: async ({ ask }) => done(await ask("who?")) });
	expect(await failed(wait)).toBe(0);
	expect(await failed(wait, (process) => process.cancel("closed"))).toBe(0);
	expect(await failed(skillOf({ a: async ({ abort }) => abort("enough") }))).toBe(0);
	const divergence = new JournalError("REPLAY_DIVERGENCE", "it goes elsewhere", {});
	expect(await failed(skillOf({ a: async () => Promise.reject(divergence) }))).toBe(1);
	expect(await failed(skillOf({ a: async () => done("x".repeat(9_000_000)) }))).toBe(1);
	expect(await failed(skillOf({ a: async () => next("c", 0) }))).toBe(1);
});
