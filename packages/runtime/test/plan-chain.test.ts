/** Who waits for the answer of a plan is told its end at once, by the name that they gave with their prompt. */
import { PLAN_TOOL } from "@reyn/plan";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { RuntimeEvent, RuntimeOptions } from "../src/index.ts";
import { cutAfter, kindsIn, linesOf, removeState } from "./cut.ts";
import { gate, lastOf, makeProject, open, type Project, scripted, until } from "./project.ts";

let project: Project;
beforeEach(async () => {
	project = await makeProject();
});
afterEach(() => project[Symbol.asyncDispose]());

const chain = "peer/7";
const peer = { agent: "default", session: "peer" };
const args = {
	goal: "Find out",
	steps: [
		{ id: "a", description: "look" },
		{ id: "b", description: "say it", depends_on: ["a"] },
	],
};

/** A model that plans at each prompt, and whose steps say what they are told to. */
const planning = (says: (step: string) => string | Promise<string>) =>
	scripted((request) => {
		const [, step] = /^Step (\w):/m.exec(lastOf(request)) ?? [];
		return step === undefined ? [{ name: PLAN_TOOL, args }] : says(step);
	});

async function awaited(says: (step: string) => string | Promise<string>, options: Partial<RuntimeOptions> = {}) {
	const model = planning(says);
	const opened = await open(project, { model, tools: [], ...options });
	const plan = `p${await opened.runtime.prompt("plan!", peer, [], { chain })}`;
	await until(() => opened.runtime.plans().length === 1);
	return { ...opened, model, plan };
}

const endsIn = (events: readonly RuntimeEvent[]) =>
	events.flatMap((event) => (event.type === "plan_end" ? [{ ...event, seq: undefined }] : []));

const held = async (step: string) => {
	if (step === "b") await new Promise(() => {});
	return `${step} done`;
};

test("its start, its end and its answer carry the plan and the chain, which its state has too", async () => {
	const { runtime, events, shown, plan } = await awaited((step) => `${step} done`);
	await runtime.idle();
	expect(events.find(({ type }) => type === "plan_started")).toMatchObject({ plan, chain });
	expect(endsIn(events)).toMatchObject([{ plan, chain, outcome: "completed", failed: [] }]);
	expect(shown).toMatchObject([{ from: plan, chain, text: "b done" }]);
	expect(runtime.plans()).toMatchObject([{ plan, chain }]);
	expect(runtime.conversation(peer).items.toArray()).toMatchObject([
		...[{ type: "prompt", chain }, { type: "calls" }, { type: "result" }],
		{ type: "message", from: plan, chain },
	]);
	await runtime.prompt("plan!", peer);
	await runtime.idle();
	expect(events.findLast(({ type }) => type === "plan_end")).not.toHaveProperty("chain");
	expect(shown.at(-1)).not.toHaveProperty("chain");
	await runtime.close();
});

test("where its last step fails, that is told, with what was found", async () => {
	const { runtime, events, shown, plan } = await awaited((step) => {
		if (step === "a") return "found";
		throw Object.assign(new Error("no key"), { retryable: false });
	});
	await runtime.idle();
	expect(endsIn(events)).toMatchObject([{ plan, chain, outcome: "failed", failed: ["b"] }]);
	expect(shown).toMatchObject([{ from: plan, chain, text: expect.stringContaining("no answer: its last step, b") }]);
	await runtime.close();
});

test("that it is paused is told, and that it is discarded, with the notice", async () => {
	const { runtime, events, shown, plan, model } = await awaited(held);
	await until(() => model.asked.length === 3);
	await runtime.pausePlan(plan);
	await runtime.discardPlan(plan);
	await runtime.idle();
	expect(endsIn(events)).toMatchObject([
		{ plan, chain, outcome: "paused" },
		{ plan, chain, outcome: "discarded" },
	]);
	expect(shown).toMatchObject([{ from: plan, chain, text: expect.stringContaining("was discarded") }]);
	await runtime.close();
});

describe("that it was rewound away is told at once", () => {
	test.each([
		["with its session", undefined],
		["alone", peer],
	] as const)("%s", async (_, scope) => {
		const { runtime, events, plan, model } = await awaited(held);
		await until(() => model.asked.length === 3);
		await runtime.checkout(Number(plan.slice(1)) - 1, "test", scope);
		expect(endsIn(events)).toMatchObject([
			{ plan, chain, outcome: "stopped" },
			{ plan, chain, outcome: "rewound", failed: [] },
		]);
		expect(runtime.plans()).toEqual([]);
		// On the way back it goes on, and a rewind that leaves it there tells nothing.
		await runtime.undo("test");
		expect(runtime.plans()).toMatchObject([{ plan, chain }]);
		await runtime.close();
		expect(endsIn(events).filter(({ outcome }) => outcome === "rewound")).toHaveLength(1);
	});
});

test("that it was rewound away is told by the next start where the process dies before it has finished the rewind", async () => {
	const { runtime, plan, model } = await awaited(held);
	await until(() => model.asked.length === 3);
	await runtime.checkout(Number(plan.slice(1)) - 1, "test");
	await runtime.close();
	const told: number[] = [];
	const { length } = await kindsIn(project);
	for (let seq = length - 2; seq <= length; seq++) {
		const state = await cutAfter(project, seq);
		const isMoved = (await linesOf(state)).some((line) => line.includes('"kind":"reset"'));
		const isSettled = (await linesOf(state)).some((line) => line.includes('"kind":"reset_settled"'));
		const next = await open({ ...project, state }, { model, tools: [] });
		const ends = endsIn(next.events);
		expect(ends).toEqual(
			isMoved && !isSettled ? [expect.objectContaining({ plan, chain, outcome: "rewound", scope: peer })] : [],
		);
		told.push(ends.length);
		await next.runtime.close();
		await removeState(state);
	}
	expect(told).toContain(1);
});

test("a prompt that was cut goes on for who has asked it, and is another one for who has not", async () => {
	const stuck = gate();
	const model = scripted(async () => {
		await stuck.opened;
		return "never";
	});
	const { runtime } = await open(project, { model, tools: [] });
	const turn = await runtime.prompt("plan!", peer, [], { chain });
	await runtime.close();
	const next = await open(project, { model: planning((step) => `${step} done`), tools: [] });
	const other = await next.runtime.prompt("plan!", peer, [], { chain: "peer/8" });
	expect(other).toBeGreaterThan(turn);
	await next.runtime.idle();
	const [first, second] = next.shown;
	expect([first?.chain, second?.chain]).toEqual([chain, "peer/8"]);
	expect(next.runtime.plans().map((each) => [each.plan, each.chain])).toEqual([
		[`p${turn}`, chain],
		[`p${other}`, "peer/8"],
	]);
	await next.runtime.close();
});

test("after a kill the next process tells the chain of what goes on in it", async () => {
	const { runtime, plan, model } = await awaited(held);
	await until(() => model.asked.length === 3);
	await runtime.close();
	const next = await open(project, { model: planning((step) => `${step} anew`), tools: [] });
	next.runtime.resume();
	await next.runtime.idle();
	expect(next.events.find(({ type }) => type === "plan_started")).toMatchObject({ plan, chain, finished: 1 });
	expect(endsIn(next.events)).toMatchObject([{ plan, chain, outcome: "completed" }]);
	expect(next.shown).toMatchObject([{ from: plan, chain, text: "b anew" }]);
	await next.runtime.close();
});

test("a name that holds a secret is refused, and nothing is recorded", async () => {
	const { runtime } = await open(project, { tools: [], redact: (text) => text.replaceAll("sk-1", "[redacted]") });
	const { tip } = runtime.wal;
	await expect(runtime.prompt("plan!", undefined, [], { chain: "peer sk-1" })).rejects.toThrow(/the name of who waits/);
	expect(runtime.wal.tip).toBe(tip);
	await runtime.close();
});
