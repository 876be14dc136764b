/** A far side, or who lets calls pass, that cannot be reached when work goes on: nobody knows, so the work waits. */
import type { Tool } from "@reyn/journal";
import { defineSkill, done } from "@reyn/skill-resume";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import type { Feature, Runtime, RuntimeEvent } from "../src/index.ts";
import { cutAfter, linesOf } from "./cut.ts";
import { makeProject, type Opened, open, type Project, scripted } from "./project.ts";

let project: Project;
beforeEach(async () => {
	project = await makeProject();
});
afterEach(() => project[Symbol.asyncDispose]());

/** The line to a bank and to its guard, over all lives of the process. */
class World {
	isDown = false;
	/** What was paid, by its key. */
	readonly paid: string[] = [];
	asked = 0;

	get #pay(): Tool {
		return {
			name: "pay",
			description: "",
			parameters: {},
			purity: "side_effect",
			call: async (_, { idempotencyKey = "" }) => `receipt ${this.paid.push(idempotencyKey)}`,
			reconcile: async (key) => {
				this.asked++;
				this.#reach();
				return this.paid.includes(key) ? { kind: "done", result: "receipt 1" } : { kind: "not_done" };
			},
		};
	}

	readonly #guard: Feature = {
		name: "guard",
		start: () => ({
			gate: async () => {
				this.#reach();
				return { kind: "pass" };
			},
		}),
	};

	#reach(): void {
		if (this.isDown) throw Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
	}

	open(form: Form, state = project.state, isGuarded = false): Promise<Opened> {
		const tool = this.#pay;
		const { call, reconcile } = tool;
		const skill = defineSkill<unknown>({
			name: "s",
			description: "",
			input: z.unknown(),
			start: "a",
			phases: {
				a: async ({ step }) => {
					const paid = step("pay", ({ idempotencyKey = "" }) => call({}, { idempotencyKey } as never), {
						purity: "side_effect",
						reconcile: reconcile as never,
					});
					return done(await (form === "a skill run that catches that" ? paid.catch(() => "nothing paid") : paid));
				},
			},
		});
		const model = scripted(({ messages, tools }) => {
			const has = (name: string): boolean => tools.some((each) => each.name === name);
			if (form === "a plan" && has("plan") && messages.length === 1) return [{ name: "plan", args: PLAN }];
			if (isSkill(form) || !has("pay") || messages.some(({ role }) => role === "tool")) return "ok";
			return [{ name: "pay", args: {} }];
		});
		const features = isGuarded ? [this.#guard] : [];
		return open({ ...project, state }, { model, tools: [tool], skills: [skill], features });
	}
}

const PLAN = {
	goal: "g",
	steps: [
		{ id: "a", description: "pay", tools: ["pay"], depends_on: [] },
		{ id: "b", description: "say so", tools: [], depends_on: ["a"] },
	],
};

const forms = {
	"a turn": (runtime: Runtime) => runtime.prompt("pay"),
	"a plan": (runtime: Runtime) => runtime.prompt("pay"),
	"a skill run": (runtime: Runtime) => runtime.runSkill("s", {}),
	"a skill run that catches that": (runtime: Runtime) => runtime.runSkill("s", {}),
	"a script": async ({ scripts }: Runtime) =>
		(
			await scripts.start(
				{ name: "s.ts", source: `export default async (ctx) => ctx.agent("pay", { tools: ["pay"] })` },
				{},
			)
		).end,
};
type Form = keyof typeof forms;

/** It calls no tools, so no gate is asked. */
const isSkill = (form: Form): boolean => form.startsWith("a skill run");

/** What is open, of whatever form. */
function openIn(runtime: Runtime): number {
	const { turns, plans, runs, scripts } = runtime.restored();
	return turns.length + plans.length + runs.length + scripts.length;
}

/** Goes on with all; gives how script runs end. */
async function goOn(runtime: Runtime): Promise<unknown[]> {
	runtime.resume();
	const ends = [];
	for (const { run } of runtime.restored().scripts) ends.push(await (await runtime.scripts.resume(run)).end);
	await runtime.idle();
	return ends;
}

/** The seq of the record by which `pay` begins, or by which a model has asked for it. */
async function seqOf(kind: "step_started" | "step_completed"): Promise<number> {
	const lines = (await linesOf(project.state))
		.slice(1)
		.map((line) => JSON.parse(line) as { kind: string; data: unknown });
	const isIt = ({ kind: each, data }: { kind: string; data: unknown }): boolean =>
		each === kind && JSON.stringify(data).includes('"name":"pay"');
	return (kind === "step_started" ? lines.findLastIndex(isIt) : lines.findIndex(isIt)) + 1;
}

const ends = (events: readonly RuntimeEvent[]) =>
	events.filter(({ type }) => type === "turn_end" || type === "plan_end" || type === "skill_end");

describe.each(Object.keys(forms) as Form[])("%s", (form) => {
	/** It was killed inside `pay`, which has happened. */
	async function killed(world: World, kind: "step_started" | "step_completed" = "step_started"): Promise<string> {
		const { runtime } = await world.open(form);
		await forms[form](runtime);
		await runtime.idle();
		await runtime.close();
		return cutAfter(project, await seqOf(kind));
	}

	test("whose call in doubt has a far side that cannot be reached waits, says so, and asks again", async () => {
		const world = new World();
		const state = await killed(world);
		world.isDown = true;
		const first = await world.open(form, state);
		const ended = await goOn(first.runtime);
		expect(openIn(first.runtime)).toBe(1);
		if (form === "a script") expect(ended).toMatchObject([{ status: "stopped", reason: { code: "CALL_IN_DOUBT" } }]);
		else
			expect(ends(first.events)).toMatchObject([
				{ outcome: "stopped", reason: expect.stringContaining("ECONNREFUSED") },
			]);
		const said = { type: "in_doubt", name: "pay", decision: "waits", reason: "connect ECONNREFUSED" };
		expect(first.events).toContainEqual(expect.objectContaining(said));
		expect(world.asked).toBe(1);
		// In the same process, and then in the next one.
		await goOn(first.runtime);
		expect([world.asked, openIn(first.runtime)]).toEqual([2, 1]);
		await first.runtime.close();
		world.isDown = false;
		const next = await world.open(form, state);
		await goOn(next.runtime);
		expect([openIn(next.runtime), world.asked, world.paid.length]).toEqual([0, 3, 1]);
		const known: unknown[] = [];
		for await (const { data } of next.runtime.wal.read({ kinds: { only: ["step_completed"] } })) known.push(data);
		expect(known).toContainEqual(expect.objectContaining({ name: "pay", result: "receipt 1" }));
		expect(ends(next.events).filter((each) => !("outcome" in each) || each.outcome !== "completed")).toEqual([]);
		await next.runtime.close();
	});

	test.skipIf(isSkill(form))("whose gate cannot be reached waits, and pays for nothing twice", async () => {
		const world = new World();
		const whole = await world.open(form);
		await forms[form](whole.runtime);
		await whole.runtime.idle();
		await whole.runtime.close();
		const kinds = (await linesOf(project.state))
			.slice(1)
			.map((line) => JSON.parse(line) as { kind: string; data: unknown });
		const asked = kinds.findIndex(
			({ kind, data }) => kind === "step_completed" && /"toolCalls":\[\{[^\]]*"name":"pay"/.test(JSON.stringify(data)),
		);
		const state = await cutAfter(project, asked + 1);
		const paid = world.paid.length;
		world.isDown = true;
		const first = await world.open(form, state, true);
		const ended = await goOn(first.runtime);
		expect([openIn(first.runtime), world.paid.length]).toEqual([1, paid]);
		if (form === "a script") expect(ended).toMatchObject([{ status: "waiting", reason: { code: "SCRIPT_WAITING" } }]);
		else
			expect(ends(first.events)).toMatchObject([
				{ outcome: "stopped", reason: expect.stringContaining("ECONNREFUSED") },
			]);
		world.isDown = false;
		await goOn(first.runtime);
		expect([openIn(first.runtime), world.paid.length]).toEqual([0, paid + 1]);
		await first.runtime.close();
	});
});

test("a gate of a feature that gives no verdict lets nothing pass", async () => {
	const silent = { name: "silent", start: () => ({ gate: async () => undefined as never }) } satisfies Feature;
	const { runtime, events } = await open(project, { model: scripted(() => "ok"), features: [silent] });
	await runtime.prompt("pay");
	await runtime.idle();
	expect(ends(events)).toMatchObject([{ outcome: "stopped", reason: expect.stringContaining("it gave no verdict") }]);
	await runtime.close();
});
