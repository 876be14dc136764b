/** Each agent is told, asks and uses what is its own, and the rest is as for all. */
import { journal, type ModelRequest, type Tool, type ToolSource, type Verdict } from "@reyn/journal";
import { openStarts } from "@reyn/journal/internal";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Feature, Kernel } from "../src/index.ts";
import { exists } from "./kept-files.ts";
import { lastOf, makeProject, open, type Project, scripted } from "./project.ts";

let project: Project;
beforeEach(async () => {
	project = await makeProject();
});
afterEach(() => project[Symbol.asyncDispose]());

const tool = (name: string): Tool => ({
	name,
	description: name,
	parameters: { type: "object" },
	purity: "world",
	call: async () => name,
});

test("what an agent has of its own takes the place of what all have", async () => {
	const asked: { by: string; system: string; tools: readonly string[] }[] = [];
	const heard = (by: string) => (request: ModelRequest) => {
		asked.push({ by, system: request.system, tools: request.tools.map(({ name }) => name) });
		return "yes";
	};
	const { runtime } = await open(project, {
		model: scripted(heard("all")),
		tools: [tool("look")],
		instructions: "Be brief.",
		agents: {
			cook: { instructions: "You cook.", tools: [tool("stir")] },
			judge: { model: scripted(heard("judge")) },
		},
	});
	for (const agent of ["default", "cook", "judge", "toString"])
		await runtime.prompt("hello", { agent, session: "main" });
	await runtime.idle();
	expect(asked).toHaveLength(4);
	expect(asked).toEqual(
		expect.arrayContaining([
			{ by: "all", system: "Be brief.", tools: ["look", "plan"] },
			{ by: "all", system: "You cook.", tools: ["stir", "plan"] },
			{ by: "judge", system: "Be brief.", tools: ["look", "plan"] },
		]),
	);
	expect(asked.filter(({ system, by }) => by === "all" && system === "Be brief.")).toHaveLength(2);
	await runtime.close();
});

test("instructions that are asked for are those of the moment, and what cannot be told ends the turn", async () => {
	const told: string[] = [];
	const model = scripted(({ system }) => {
		told.push(system);
		return "yes";
	});
	const now: (string | undefined)[] = ["Be brief.", undefined, "Be long."];
	const { runtime, events } = await open(project, {
		model,
		instructions: async () => {
			const text = now.shift();
			if (text === undefined) throw new Error("no instructions are here");
			return text;
		},
		agents: { cook: { instructions: () => 7 as unknown as string } },
	});
	for (const text of ["one", "two", "three"]) {
		await runtime.prompt(text);
		await runtime.idle();
	}
	await runtime.prompt("four", { agent: "cook", session: "main" });
	await runtime.idle();
	expect(told).toEqual(["Be brief.", "Be long."]);
	const reasons = events.flatMap((event) => (event.type === "turn_end" && "reason" in event ? [event.reason] : []));
	expect(reasons).toEqual([
		expect.stringContaining("no instructions are here"),
		expect.stringContaining("the instructions of an agent are a text, not number"),
	]);
	await runtime.close();
});

test("instructions that never come hold nobody up who interrupts", async () => {
	const { runtime, events } = await open(project, { instructions: () => new Promise<string>(() => {}) });
	await runtime.prompt("one");
	expect(await runtime.interrupt()).toBe(true);
	await runtime.idle();
	expect(events).toContainEqual(expect.objectContaining({ type: "turn_end", outcome: "interrupted" }));
	await runtime.close();
});

test("a tool of an agent whose purity is none is refused before anything is opened", async () => {
	const wrong = { ...tool("look"), purity: "sideeffect" } as unknown as Tool;
	const refused = open(project, { agents: { cook: { tools: [wrong] } } });
	await expect(refused).rejects.toMatchObject({ code: "STEP_PURITY" });
});

test("tools come and go with their source, which is closed with the runtime", async () => {
	const here: Tool[] = [tool("look")];
	const closed: string[] = [];
	const source: ToolSource = {
		tools: () => [...here],
		onChange: () => () => {},
		close: async () => void closed.push("source"),
	};
	const offered: (readonly string[])[] = [];
	const model = scripted((request) => {
		offered.push(request.tools.map(({ name }) => name));
		return "yes";
	});
	const { runtime } = await open(project, { model, tools: source, agents: { cook: { tools: source } } });
	await runtime.prompt("one");
	await runtime.idle();
	here.push(tool("stir"));
	await runtime.prompt("two");
	await runtime.idle();
	expect(offered).toEqual([
		["look", "plan"],
		["look", "stir", "plan"],
	]);
	await runtime.close();
	expect(closed).toEqual(["source"]);
});

test("a source that gives no tools is refused before anything is opened", async () => {
	const tools: ToolSource = {
		tools: () => {
			throw new Error("not connected");
		},
		onChange: () => () => {},
		close: async () => {},
	};
	const refused = open(project, { tools });
	await expect(refused).rejects.toMatchObject({
		code: "RUNTIME_TOOLS",
		message: expect.stringContaining("not connected"),
	});
	expect(await exists(project.state)).toBe(false);
});

describe("a feature may stand before each call of a model and a tool", () => {
	const asks = scripted((request) =>
		lastOf(request) === "pay" ? [{ name: "pay", args: {} }] : `so: ${lastOf(request)}`,
	);
	let paid = 0;
	const pay: Tool = {
		...tool("pay"),
		purity: "side_effect",
		call: async () => {
			paid++;
			return "paid";
		},
	};
	let verdict: Verdict;
	let asked: string[];
	let kernel: Kernel;
	const guard: Feature = {
		name: "guard",
		start: (given) => {
			kernel = given;
			return {
				async gate(_, { type, name }) {
					asked.push(`${type} ${name}`);
					return type === "tool" ? verdict : { kind: "pass" };
				},
			};
		},
	};
	const opened = () => open(project, { model: asks, tools: [pay], features: [guard] });
	beforeEach(() => {
		paid = 0;
		asked = [];
	});

	test("what is denied is a failure that the model hears of, and is no start in doubt", async () => {
		verdict = { kind: "deny", code: "NO_MONEY", reason: "there is no money left" };
		const { runtime } = await opened();
		await runtime.prompt("pay");
		await runtime.idle();
		expect(paid).toBe(0);
		expect(runtime.conversation().items.toArray().at(-1)).toMatchObject({
			text: expect.stringContaining("there is no money left"),
		});
		expect(openStarts(runtime.view().get(journal))).toEqual([]);
		await runtime.close();
	});

	test("what waits goes on when it may, in another process too, and what is recalled is not asked about", async () => {
		verdict = { kind: "wait", for: "the boss" };
		const first = await opened();
		await first.runtime.prompt("pay");
		await first.runtime.idle();
		expect([paid, first.runtime.conversation().open.length]).toEqual([0, 1]);
		await first.runtime.close();
		const { runtime } = await opened();
		runtime.resume();
		await runtime.idle();
		expect(paid).toBe(0);
		verdict = { kind: "pass" };
		const [turn = 0] = runtime.conversation().open;
		asked = [];
		kernel.goOn({ kind: "turn", id: String(turn) });
		await runtime.idle();
		expect([paid, runtime.conversation().open.length]).toEqual([1, 0]);
		// The answer that asked for the tool was paid for before.
		expect(asked).toEqual(["tool pay", "model scripted"]);
		await runtime.close();
	});
});
