/** What is under way when its program stops is not made a second time by the one who goes on in the same process. */
import { setTimeout as wait } from "node:timers/promises";
import { expect, test } from "vitest";
import { type Lane, runProgram, type Step } from "../src/index.ts";
import { DyingLog, scope, using } from "./dying-log.ts";

const answers: Step<string> = { kind: "model", name: "sum", args: {}, purity: "llm", call: async () => "12" };
const fails: Step<string> = { ...answers, kind: "step", call: () => Promise.reject(new Error("no")) };

/** Goes on at once, in the same process, whatever it has stopped with. */
async function runTwice(body: (lane: Lane) => Promise<unknown>, log = new DyingLog()): Promise<unknown> {
	const gate = async () => ({ kind: "wait" as const, for: "ada" });
	await expect(runProgram("p", scope, using(log, { gate }), body)).rejects.toThrow();
	return runProgram("p", scope, using(log, {}), body);
}

function payment() {
	const calls: string[] = [];
	const far = Promise.withResolvers<string>();
	const pay: Step<string> = {
		kind: "step",
		name: "pay",
		args: {},
		purity: "side_effect",
		call: () => {
			calls.push("pay");
			return far.promise;
		},
	};
	// Later than the program stops, however busy the machine is: that takes no timer.
	const answer = () => void wait(20).then(() => far.resolve("paid"));
	return { calls, pay, answer };
}

test("beside a call that waits for a verdict", async () => {
	const { calls, pay, answer } = payment();
	answer();
	expect(await runTwice((lane) => Promise.all([lane.perform(pay), lane.perform(answers)]))).toEqual(["paid", "12"]);
	expect(calls).toEqual(["pay"]);
});

test("beside a call that fails", async () => {
	const { calls, pay, answer } = payment();
	answer();
	const body = (lane: Lane) => Promise.all([lane.perform(pay), lane.perform(fails)]);
	await expect(runTwice(body)).rejects.toThrow("no");
	expect(calls).toEqual(["pay"]);
});

test("inside a call that has thrown already", async () => {
	const { calls, pay, answer } = payment();
	answer();
	const outer: Step<unknown> = {
		kind: "step",
		name: "outer",
		args: {},
		purity: "external",
		call: ({ lane }) => Promise.all([lane.perform(pay), lane.perform(answers)]),
	};
	expect(await runTwice((lane) => lane.perform(outer))).toEqual(["paid", "12"]);
	expect(calls).toEqual(["pay"]);
});

test("a call that is given up is not waited for, nor one that a person has not let pass yet", async () => {
	const { pay } = payment();
	const log = new DyingLog();
	const body = (lane: Lane) =>
		Promise.all([
			lane.perform(answers),
			lane.perform({ ...pay, timeoutMs: 5 }).catch(() => {}),
			wait(30).then(() => lane.perform(fails)),
		]);
	// Nobody ever answers the question.
	const gate = () => new Promise<never>(() => {});
	await expect(runProgram("p", scope, using(log, { gate }), body)).rejects.toThrow("no");
});

test("what was let pass after the program has ended is not begun", async () => {
	const log = new DyingLog();
	const calls: string[] = [];
	const verdict = Promise.withResolvers<{ kind: "pass" }>();
	const body = (lane: Lane) =>
		Promise.all([
			lane
				.perform({ ...answers, call: async () => String(calls.push("sum")) })
				.catch((error) => void calls.push(String(error))),
			lane.perform(fails),
		]);
	await expect(runProgram("p", scope, using(log, { gate: () => verdict.promise }), body)).rejects.toThrow("no");
	verdict.resolve({ kind: "pass" });
	await wait(5);
	expect(calls).toEqual([]);
});
