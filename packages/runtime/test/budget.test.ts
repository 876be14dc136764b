/** Budgets: what was spent is what models have handed out, whatever was left or killed; at a limit a person is asked, once. */
import { join } from "node:path";
import { costOf, type Model } from "@reyn/journal";
import { picodollars } from "@reyn/journal/internal";
import { PLAN_TOOL } from "@reyn/plan";
import { fileEngine } from "@reyn/wal";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { SEED, seeded } from "../../../tests/kit/seeded.ts";
import { sample } from "../../../tests/sample.ts";
import { dayOf, spentByDay, spentInSession, spentOn, spentOnDay, type Tally } from "../src/features/budget/spent.ts";
import {
	engineStore,
	mainSession,
	type OpenQuestion,
	openRuntime,
	type Runtime,
	type RuntimeOptions,
} from "../src/index.ts";
import { copyState, cutAfter, kindsIn, removeState } from "./cut.ts";
import { lastOf, makeProject, open, type Project, scripted, until } from "./project.ts";
import { script } from "./script-runs.ts";

let project: Project;
beforeEach(async () => {
	project = await makeProject();
});
afterEach(() => project[Symbol.asyncDispose]());

/** Each answer costs 11 tokens, and is a millionth of a dollar for each that goes in. */
const model = () => scripted((request) => `said: ${lastOf(request)}`);
const prices = { scripted: { input: 1, output: 2 } };

const opened = (options: Partial<RuntimeOptions> = {}, at: Project = project) =>
	open(at, { model: model(), tools: [], ...options });

async function says(runtime: Runtime, text: string): Promise<string> {
	await runtime.prompt(text);
	await runtime.idle();
	return lastReply(runtime);
}

const lastReply = (runtime: Runtime): string =>
	runtime
		.conversation()
		.items.toArray()
		.flatMap((item) => (item.type === "reply" ? [item.text] : []))
		.at(-1) ?? "";

async function asked(runtime: Runtime): Promise<OpenQuestion> {
	await until(() => runtime.questions().length > 0);
	return runtime.questions()[0] as OpenQuestion;
}

const failures = (events: readonly { readonly type: string }[]): readonly object[] =>
	events.filter(({ type }) => type === "turn_failed");

describe("a limit", () => {
	test("that is reached is a question; with a yes as much again may be spent, and a no ends the turn and nothing is tried again", async () => {
		const answers = model();
		const { runtime, events } = await opened({ model: answers, budget: { session: { tokens: 11 } } });
		expect(await says(runtime, "one")).toBe("said: one");
		await runtime.prompt("two");
		const first = await asked(runtime);
		expect(first).toMatchObject({
			question: "this session has spent 11 of 11 tokens. Go on for another 11 tokens?",
			choices: ["yes", "no"],
		});
		expect(answers.asked).toHaveLength(1);
		await runtime.answer(first.seq, "yes", "ada");
		await runtime.idle();
		expect(lastReply(runtime)).toBe("said: two");
		await runtime.prompt("three");
		await runtime.answer((await asked(runtime)).seq, "no: it is dear", "bo");
		await runtime.idle();
		expect(answers.asked).toHaveLength(2);
		console.log(JSON.stringify(events.slice(-6), null, 1));
		// A later turn asks anew.
		await runtime.prompt("four");
		await runtime.answer((await asked(runtime)).seq, "yes", "ada");
		await runtime.idle();
		expect(lastReply(runtime)).toBe("said: four");
		await runtime.close();
	});
});
