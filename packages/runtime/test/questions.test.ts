/** What scripts ask people, answered from elsewhere: each answer for the question that was seen, durable before that is said. */
import type { Question } from "@reyn/journal/script";
import { systemTimers } from "@reyn/wal";
import { afterEach, beforeEach, expect, test } from "vitest";
import { cutAfter, kindsIn } from "./cut.ts";
import { makeProject, open, type Project, storeAt, until } from "./project.ts";
import { hashOf, runToEnd, script } from "./script-runs.ts";

let project: Project;
beforeEach(async () => {
	project = await makeProject();
});
afterEach(() => project[Symbol.asyncDispose]());

const asking = script("return ctx.ask('Go on?', { choices: ['yes', 'no'] });");
const both = script("return ctx.parallel([() => ctx.ask('This?'), () => ctx.ask('That?')]);");

/** Somebody who thinks, and is asked no more once another has answered. */
function thinking() {
	const asked: Question[] = [];
	return {
		asked,
		ask(question: Question): Promise<string | undefined> {
			asked.push(question);
			return new Promise((_, reject) =>
				question.signal.addEventListener("abort", () => reject(question.signal.reason)),
			);
		},
	};
}

test("a run that nobody works on is found with its questions, and goes on with an answer to one of them", async () => {
	const first = await open(project);
	const { run } = await runToEnd(first.runtime, both);
	await first.runtime.close();

	const { runtime } = await open(project);
	const [one, other] = runtime.scripts.list()[0]?.questions ?? [];
	expect([one?.question, other?.question]).toEqual(["This?", "That?"]);
	const answered = await runtime.scripts.answer(run, "later", other?.seq);
	// What was said to be answered is, whatever happens to this process.
	const looking = await open(project, { readOnly: true });
	expect(looking.runtime.scripts.list()[0]?.questions).toEqual([one]);
	await looking.runtime.close();
	expect(await answered.end).toMatchObject({ status: "waiting" });
	const { end } = await runtime.scripts.answer(run, "first");
	expect(await end).toEqual({ status: "completed", result: ["first", "later"] });
	expect(runtime.scripts.list()[0]?.questions).toEqual([]);
	await runtime.close();
});

test("the person who is asked here is asked no more, and each answer is for its question", async () => {
	const person = thinking();
	const { runtime } = await open(project, person);
	const { run, end } = await runtime.scripts.start(both, undefined);
	await until(() => person.asked.length === 2);
	const [one, other] = person.asked;
	await runtime.scripts.answer(run, "that", other?.seq);
	expect([one?.signal.aborted, other?.signal.aborted]).toEqual([false, true]);
	await expect(runtime.scripts.answer(run, "again", other?.seq)).rejects.toMatchObject({
		code: "RUNTIME_ANSWER",
		message: expect.stringContaining(`it asks #${one?.seq} "This?"`),
	});
	expect(await (await runtime.scripts.answer(run, "this")).end).toEqual(await end);
	expect(await end).toEqual({ status: "completed", result: ["this", "that"] });
	await runtime.close();
});

test("of two who answer at once one is heard, and the other is told so", async () => {
	const person = thinking();
	const { runtime } = await open(project, person);
	const { run, end } = await runtime.scripts.start(asking, undefined);
	await until(() => person.asked.length === 1);
	const both = await Promise.allSettled([runtime.scripts.answer(run, "yes"), runtime.scripts.answer(run, "no")]);
	expect(both.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
	expect(both[1]).toMatchObject({ reason: { code: "RUNTIME_SCRIPT_RUNS" } });
	expect(await end).toEqual({ status: "completed", result: "yes" });
	await runtime.close();
});

test("what is no answer to it is refused, with what is one, and nothing is written", async () => {
	const first = await open(project);
	const { run } = await runToEnd(first.runtime, asking);
	const [question] = first.runtime.scripts.list()[0]?.questions ?? [];
	expect(question).toEqual({ seq: expect.any(Number), question: "Go on?", choices: ["yes", "no"] });
	await first.runtime.close();
	const before = await hashOf(project.state);

	const { runtime } = await open(project);
	const { tip } = runtime.wal;
	const refused = (text: string, to?: number) => runtime.scripts.answer(run, text, to);
	await expect(refused("perhaps")).rejects.toMatchObject({
		code: "RUNTIME_ANSWER",
		message: expect.stringContaining('takes one of "yes", "no"; found "perhaps"'),
	});
	await expect(refused("yes", 1)).rejects.toMatchObject({ code: "RUNTIME_ANSWER" });
	await expect(runtime.scripts.answer("r0", "yes")).rejects.toMatchObject({ code: "RUNTIME_UNKNOWN_SCRIPT_RUN" });
	expect(runtime.wal.tip).toBe(tip);
	await (await refused("yes", question?.seq)).end;
	await expect(refused("no", question?.seq)).rejects.toMatchObject({ code: "RUNTIME_ANSWER" });
	await runtime.close();
	expect(await hashOf(project.state)).not.toBe(before);
});

test("cut after any record, it asks until the answer is durable, and never again", async () => {
	const first = await open(project);
	const { run } = await runToEnd(first.runtime, asking);
	await (await first.runtime.scripts.answer(run, "yes")).end;
	await first.runtime.close();
	const kinds = await kindsIn(project);
	const [began, answered] = [kinds.indexOf("step_started") + 1, kinds.indexOf("step_completed") + 1];
	for (let seq = began; seq <= kinds.length; seq++) {
		const state = await cutAfter(project, seq);
		const { runtime } = await open(project, {}, storeAt(state));
		const { questions = [], status } = runtime.scripts.list()[0] ?? {};
		expect([seq, questions.length]).toEqual([seq, seq < answered ? 1 : 0]);
		const { end } = seq < answered ? await runtime.scripts.answer(run, "yes") : await runtime.scripts.resume(run);
		expect(await end, status).toEqual({ status: "completed", result: "yes" });
		await runtime.close();
	}
});

test("a script that ends before it takes the answer says so", async () => {
	const first = await open(project, { timers: systemTimers, clock: { now: () => 1000 } });
	const text = script("return Promise.race([ctx.sleep(60_000), ctx.ask('Well?')]);");
	const { run, end } = await first.runtime.scripts.start(text, undefined);
	await until(() => (first.runtime.scripts.list()[0]?.questions.length ?? 0) > 0);
	first.runtime.cancel();
	await end;
	await first.runtime.close();
	const { runtime } = await open(project, { clock: { now: () => 1_000_000 } });
	await expect(runtime.scripts.answer(run, "well")).rejects.toMatchObject({
		code: "RUNTIME_ANSWER",
		message: expect.stringContaining("ended before it took the answer"),
	});
	await runtime.close();
});
