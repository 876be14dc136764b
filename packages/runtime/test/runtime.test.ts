/** The runtime as a whole: turns, plans, what the model is shown, and what a rewind leaves of it all. */
import { PLAN_TOOL } from "@reyn/plan";
import { isOutside } from "@reyn/timetravel";
import { isMeta } from "@reyn/timetravel/internal";
import { createFileTools } from "@reyn/tools";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { allRecords, facets, mainSession, messagesBefore, openRuntime, rewindModes } from "../src/index.ts";
import {
	emptyArea,
	gate,
	lastOf,
	makeProject,
	open,
	type Project,
	type Script,
	scripted,
	storeAt,
	until,
} from "./project.ts";

let project: Project;
beforeEach(async () => {
	project = await makeProject();
});
afterEach(() => project[Symbol.asyncDispose]());

const PLAN = {
	goal: "the goal",
	steps: [
		{ id: "a", description: "first", tools: ["search"], depends_on: [] },
		{ id: "b", description: "last", tools: [], depends_on: ["a"] },
	],
};

/** Answers `plan!` with the plan above, steps with their own line, everything else with an echo. */
const planning: Script = (request) => {
	const last = lastOf(request);
	if (last === "plan!") return [{ name: PLAN_TOOL, args: PLAN }];
	return last.startsWith("Goal:") ? `did ${/Step (\w+)/.exec(last)?.[1]}` : `echo: ${last}`;
};

test("every kind of record is talk, work, a fact or meta", () => {
	const classified = [...facets.conversation, ...facets.code];
	expect(new Set(classified).size).toBe(classified.length);
	expect(
		allRecords
			.map(({ kind }) => kind)
			.filter((kind) => !isMeta(kind) && !isOutside(kind) && !classified.includes(kind)),
	).toEqual([]);
});

describe("a turn", () => {
	test("asks, uses tools, answers, and ends with a checkpoint whose state can be shown again", async () => {
		const model = scripted((request) =>
			lastOf(request) === "look" ? [{ name: "search", args: { query: "parser" } }] : "found it",
		);
		const { runtime, events } = await open(project, { model });
		await runtime.prompt("look");
		await runtime.idle();
		expect(
			runtime
				.conversation()
				.items.toArray()
				.map(({ type }) => type),
		).toEqual(["prompt", "calls", "result", "reply"]);
		const checkpoint = runtime.timeline.checkpoints().at(-1);
		expect(checkpoint).toMatchObject({ kind: "turn", title: "look", active: true });
		expect(events).toContainEqual(expect.objectContaining({ type: "turn_end", outcome: "completed" }));
		expect((await runtime.timeline.at(checkpoint?.seq ?? 0, mainSession)).hash()).toBe(runtime.view().hash());
		await runtime.close();
	});

	test("that was cut short goes on at the next start and pays only the call that was open", async () => {
		const held = gate();
		const answers: Script = async (request) => {
			if (lastOf(request) === "look") return [{ name: "search", args: { query: "parser" } }];
			await held.opened;
			return "found it";
		};
		const model = scripted(answers);
		const first = await open(project, { model });
		await first.runtime.prompt("look");
		await until(() => model.asked.length === 2);
		await first.runtime.close(); // the second call is cancelled, so it is no answer
		held.open();
		expect(first.runtime.conversation().open).toHaveLength(1);

		const again = scripted(answers);
		const second = await open(project, { model: again });
		expect(second.runtime.restored().turns).toMatchObject([{ text: "look" }]);
		second.runtime.resume();
		await second.runtime.idle();
		expect(again.asked).toHaveLength(1);
		expect(second.runtime.meter).toMatchObject({
			replayed: { calls: 1, tokens: 11 },
			paid: { calls: 1, tokens: 11 },
			percentFree: 50,
		});
		expect(
			second.runtime
				.conversation()
				.items.toArray()
				.filter(({ type }) => type === "reply"),
		).toMatchObject([{ text: "found it" }]);
		await second.runtime.close();
	});

	test("whose model fails is closed, and the next prompt is answered", async () => {
		const model = scripted((request) => {
			if (lastOf(request) === "fail") throw new Error("no credit");
			return "fine";
		});
		const { runtime, events } = await open(project, { model });
		await runtime.prompt("fail");
		await runtime.prompt("go on");
		await runtime.idle();
		expect(events).toContainEqual(
			expect.objectContaining({ type: "turn_end", outcome: "interrupted", reason: "no credit" }),
		);
		expect(runtime.conversation().items.at(-1)).toMatchObject({ type: "reply", text: "fine" });
		expect(runtime.conversation().open).toEqual([]);
		await runtime.close();
	});

	test("that a person stops is closed, and plans go on", async () => {
		const held = gate();
		const model = scripted(async (request) => {
			if (lastOf(request) === "wait") await held.opened;
			return planning(request);
		});
		const { runtime, shown } = await open(project, { model });
		await runtime.prompt("plan!");
		await runtime.prompt("wait");
		await until(() => model.asked.some((request) => lastOf(request) === "wait"));
		expect(await runtime.interrupt()).toBe(true);
		await runtime.idle();
		expect(runtime.conversation().open).toEqual([]);
		expect(shown).toMatchObject([{ text: "did b" }]);
		await runtime.close();
	});

	test("tells the model when a tool fails or is not there, and goes on", async () => {
		const model = scripted((request) => {
			if (lastOf(request) === "go")
				return [
					{ name: "read", args: { path: "../secret" } },
					{ name: "teleport", args: {} },
				];
			return request.messages.flatMap((message) => (message.role === "tool" ? [message.text] : [])).join(" | ");
		});
		const { runtime } = await open(project, { model });
		await runtime.prompt("go");
		await runtime.idle();
		const reply = runtime.conversation().items.at(-1);
		expect(reply).toMatchObject({
			type: "reply",
			text: expect.stringMatching(
				/^ERROR: .*\.\..* \| ERROR: there is no tool "teleport" here; there are list, search, read, plan$/,
			),
		});
		await runtime.close();
	});
});

describe("what the model is shown", () => {
	test("a message from the background does not come between a call and its result", async () => {
		const held = gate();
		const model = scripted(async (request) => {
			if (lastOf(request) === "look") {
				await held.opened;
				return [{ name: "search", args: { query: "parser" } }];
			}
			return planning(request);
		});
		const { runtime, shown } = await open(project, { model });
		await runtime.prompt("plan!");
		await runtime.prompt("look");
		await until(() => shown.length === 1);
		held.open();
		await runtime.idle();
		const roles = messagesBefore(runtime.conversation(), Number.MAX_SAFE_INTEGER).map(
			(message) => `${message.role}:${message.text.slice(0, 12)}`,
		);
		expect(roles.slice(3)).toEqual([
			"user:look",
			"assistant:",
			expect.stringMatching(/^tool:/),
			expect.stringMatching(/^assistant:echo/),
			"assistant:did b",
		]);
		await runtime.close();
	});

	test("a cycle whose text was rewound is a bare call; talk whose work was rewound stays talk", async () => {
		const model = scripted((request) =>
			lastOf(request) === "look" ? [{ name: "search", args: { query: "parser" } }] : "found it",
		);
		const { runtime } = await open(project, { model });
		await runtime.prompt("look");
		await runtime.idle();
		await runtime.applyRewind(await runtime.previewRewind(0, "conversation_only"), "test");
		expect(messagesBefore(runtime.conversation(), Number.MAX_SAFE_INTEGER).map(({ role }) => role)).toEqual([
			"assistant",
			"tool",
		]);
		await runtime.applyRewind(await runtime.previewRewind(0, "both"), "test");
		expect(runtime.conversation().items.toArray()).toEqual([]);
		await runtime.close();
	});
});

describe("a plan", () => {
	test("that is invalid is explained to the model, starts nothing, and may be mended once more", async () => {
		let tries = 0;
		const model = scripted((request) => {
			const last = lastOf(request);
			if (last === "plan!" || last.startsWith("ERROR"))
				return [{ name: PLAN_TOOL, args: tries++ === 0 ? { goal: "x", steps: [] } : PLAN }];
			return planning(request);
		});
		const { runtime, shown } = await open(project, { model });
		await runtime.prompt("plan!");
		await runtime.idle();
		expect(model.asked[1]?.messages.at(-1)).toMatchObject({
			role: "tool",
			text: expect.stringContaining("2 to 7 steps"),
		});
		expect(shown).toMatchObject([{ text: "did b" }]);
		await runtime.close();
	});

	test("whose decomposition is lost is discarded with one notice, and never made again", async () => {
		const held = gate();
		const slow: Script = async (request) => {
			if (lastOf(request).startsWith("Goal:")) await held.opened;
			return planning(request);
		};
		const first = await open(project, { model: scripted(slow) });
		await first.runtime.prompt("plan!");
		await until(() => first.events.some(({ type }) => type === "plan_step"));
		await first.runtime.close();
		await emptyArea(project.state, "plans");

		for (const expected of [1, 0]) {
			const model = scripted(planning);
			const { runtime, shown } = await open(project, { model });
			runtime.resume();
			await runtime.idle();
			expect(shown).toHaveLength(expected);
			expect(model.asked).toEqual([]);
			expect(runtime.restored().plans).toEqual([]);
			await runtime.close();
		}
	});

	test("whose answer nobody was shown is shown at the next start, once", async () => {
		const failing = await open(project, {
			model: scripted(planning),
			onMessage: () => Promise.reject(new Error("the screen is gone")),
		});
		await failing.runtime.prompt("plan!");
		await failing.runtime.idle();
		await failing.runtime.close();
		for (const expected of [["did b"], []]) {
			const { runtime, shown } = await open(project, { model: scripted(planning) });
			runtime.resume();
			await runtime.idle();
			expect(shown.map(({ text }) => text)).toEqual(expected);
			await runtime.close();
		}
	});

	/** A plan whose first step waits until `held` is opened. */
	async function heldPlan() {
		const held = gate();
		const model = scripted(async (request) => {
			if (lastOf(request).startsWith("Goal:")) await held.opened;
			return planning(request);
		});
		const { runtime, shown } = await open(project, { model });
		await runtime.prompt("plan!");
		await until(() => runtime.restored().plans.length === 1);
		const [{ plan = "" } = {}] = runtime.restored().plans;
		return { runtime, shown, held, plan };
	}

	test("that a person discarded comes back with undo, and goes again with redo", async () => {
		const { runtime, shown, held, plan } = await heldPlan();
		held.open();
		await runtime.discardPlan(plan);
		expect(runtime.restored().plans).toEqual([]);
		expect((await runtime.timeline.moves()).past).toHaveLength(1);
		await runtime.undo("ada");
		await runtime.redo("ada");
		expect(runtime.restored().plans).toEqual([]);
		await runtime.undo("ada");
		expect(runtime.restored().plans.map((each) => each.plan)).toEqual([plan]);
		await runtime.idle();
		if (runtime.restored().plans[0]?.status === "paused") await runtime.resumePlan(plan);
		await runtime.idle();
		expect(runtime.restored().plans).toEqual([]);
		expect(shown.at(-1)?.text).toBe("did b");
		// A new question of a person ends the way back to what it would change.
		await runtime.checkout(0, "ada");
		await runtime.undo("ada");
		await runtime.prompt("and now?");
		await runtime.idle();
		await expect(runtime.redo("ada")).rejects.toMatchObject({ code: "NOTHING_TO_REDO" });
		await runtime.close();
	});

	test("can be discarded, with a word in the conversation; an unknown one names those that there are", async () => {
		const { runtime, shown, held, plan } = await heldPlan();
		await expect(runtime.discardPlan("p999")).rejects.toMatchObject({
			code: "PLAN_UNKNOWN",
			message: expect.stringContaining(plan),
		});
		held.open();
		await runtime.discardPlan(plan);
		await runtime.idle();
		expect(shown).toMatchObject([{ from: plan, text: expect.stringContaining("discarded") }]);
		expect(runtime.restored().plans).toEqual([]);
		await runtime.close();
	});

	test("says how far each of its steps has come, in the next process too", async () => {
		const held = gate();
		const model = scripted(async (request) => {
			if (/Step b/.test(lastOf(request))) await held.opened;
			return planning(request);
		});
		const { runtime } = await open(project, { model });
		await runtime.prompt("plan!");
		await until(() => model.asked.some((request) => /Step b/.test(lastOf(request))));
		const [{ plan = "" } = {}] = runtime.restored().plans;
		const steps = [
			{ id: "a", again: ["a", "b"], status: "completed", cost: { calls: 1 } },
			{ id: "b", again: ["b"], status: "running" },
		];
		expect(await runtime.planSteps(plan)).toMatchObject(steps);
		await expect(runtime.planSteps("p999")).rejects.toMatchObject({ code: "PLAN_UNKNOWN" });
		const closed = runtime.close();
		held.open();
		await closed;
		const next = await open(project, { model });
		expect(await next.runtime.planSteps(plan)).toMatchObject(steps);
		await next.runtime.close();
	});

	test("resumed from a step runs that step and its dependents again, and nothing else", async () => {
		const held = gate();
		const model = scripted(async (request) => {
			if (/Step b/.test(lastOf(request))) await held.opened;
			return planning(request);
		});
		const { runtime, shown } = await open(project, { model });
		await runtime.prompt("plan!");
		await until(() => model.asked.some((request) => /Step b/.test(lastOf(request))));
		const [{ plan = "" } = {}] = runtime.restored().plans;
		await expect(runtime.resumePlan(plan, "zzz")).rejects.toMatchObject({ code: "PLAN_UNKNOWN_STEP" });
		expect(await runtime.resumePlan(plan, "a")).toEqual(["a", "b"]);
		held.open();
		await runtime.idle();
		expect(model.asked.filter((request) => /Step a/.test(lastOf(request)))).toHaveLength(2);
		expect(shown).toHaveLength(1);
		await runtime.close();
	});
});

describe("after a rewind", () => {
	/** A finished plan, and a later turn. */
	async function story() {
		const opened = await open(project, { model: scripted(planning) });
		await opened.runtime.prompt("plan!");
		await opened.runtime.idle();
		await opened.runtime.prompt("later");
		await opened.runtime.idle();
		const checkpoints = opened.runtime.timeline.checkpoints();
		return { ...opened, planStep: checkpoints.find(({ kind }) => kind === "plan_step")?.seq ?? 0 };
	}

	test("a plan that was over, and is unfinished at the target, waits for a person; resumed, it pays only what is missing", async () => {
		const { runtime, planStep, shown } = await story();
		await runtime.checkout(planStep, "test");
		expect(runtime.restored().plans).toMatchObject([{ status: "paused", finished: 1, size: 2 }]);
		const paidBefore = runtime.meter.paid.calls;
		await runtime.resumePlan(runtime.restored().plans[0]?.plan ?? "");
		await runtime.idle();
		expect(runtime.meter.paid.calls - paidBefore).toBe(1);
		expect(shown.map(({ text }) => text)).toEqual(["did b", "did b"]); // once on each line of history
		await runtime.close();
	});

	test("a plan whose work was rewound, but not its answer, answers anew when it is resumed", async () => {
		const { runtime, planStep, shown } = await story();
		await runtime.applyRewind(await runtime.previewRewind(planStep, "code_only"), "test");
		expect(
			runtime
				.conversation()
				.items.toArray()
				.some(({ type }) => type === "message"),
		).toBe(true);
		await runtime.resumePlan(runtime.restored().plans[0]?.plan ?? "", "a");
		await runtime.idle();
		expect(shown.map(({ text }) => text)).toEqual(["did b", "did b"]);
		await runtime.close();
	});

	test("work can be rewound after talk was, and talk after work", async () => {
		const { runtime } = await story();
		await runtime.applyRewind(await runtime.previewRewind(0, "conversation_only"), "test");
		expect(await runtime.previewRewind(0, "code_only")).toMatchObject({ kind: "undo" });
		await runtime.applyRewind(await runtime.previewRewind(0, "code_only"), "test");
		expect(runtime.view().hash()).toBe((await runtime.timeline.at(0, mainSession)).hash());
		await runtime.close();
	});

	test("a paused plan stays paused over a restart", async () => {
		const { runtime, planStep } = await story();
		await runtime.checkout(planStep, "test");
		await runtime.close();
		const model = scripted(planning);
		const again = await open(project, { model });
		again.runtime.resume();
		await again.runtime.idle();
		expect(model.asked).toEqual([]);
		expect(again.runtime.restored().plans).toMatchObject([{ status: "paused" }]);
		await again.runtime.close();
	});

	test("a plan that is running is cancelled when its start is not on the path, and relaunched from its state there when it is", async () => {
		const [first, second] = [gate(), gate()];
		let holding = true;
		const model = scripted(async (request) => {
			if (/Step a/.test(lastOf(request))) await first.opened;
			if (holding && /Step b/.test(lastOf(request))) await second.opened;
			return planning(request);
		});
		const { runtime, shown, events } = await open(project, { model });
		await runtime.prompt("plan!");
		await until(() => events.some(({ type }) => type === "turn_end"));
		const started = runtime.timeline.checkpoints().at(-1)?.seq ?? 0;
		first.open();
		await until(() => model.asked.some((request) => /Step b/.test(lastOf(request))));
		holding = false;
		await runtime.checkout(started, "test"); // the plan is on the path, with nothing finished
		await runtime.idle();
		expect(shown).toHaveLength(1);
		expect(model.asked.filter((request) => /Step a/.test(lastOf(request)))).toHaveLength(2);

		await runtime.checkout(0, "test");
		await runtime.idle();
		expect(runtime.restored().plans).toEqual([]);
		expect(runtime.conversation().items.toArray()).toEqual([]);
		await runtime.close();
	});

	test("checking out what was abandoned gives back the same state", async () => {
		const { runtime, planStep } = await story();
		const { tip } = runtime.wal;
		const hash = runtime.view().hash();
		await runtime.checkout(planStep, "test");
		expect(runtime.view().hash()).not.toBe(hash);
		expect(await runtime.checkout(tip, "test")).toMatchObject({ kind: "fork_switch" });
		expect(runtime.view().hash()).toBe(hash);
		await runtime.close();
	});

	test("work that will not stop keeps the rewind from happening, and nothing is written", async () => {
		const deaf = gate();
		const model = scripted(
			async (request) => {
				if (lastOf(request) === "deaf") await deaf.opened;
				return planning(request);
			},
			{ deaf: true },
		);
		const { runtime } = await open(project, { model, quietMs: 20 });
		await runtime.prompt("hello");
		await runtime.idle();
		await runtime.prompt("deaf");
		await until(() => model.asked.length === 2);
		const { tip } = runtime.wal;
		await expect(runtime.checkout(0, "test")).rejects.toMatchObject({
			code: "RUNTIME_NOT_QUIET",
			message: expect.stringContaining("turn"),
		});
		expect(runtime.wal.tip).toBe(tip);
		deaf.open();
		await runtime.close();
	});

	test("an unfinished turn of another session is closed without asking the model", async () => {
		const held = gate();
		const model = scripted(async (request) => {
			if (lastOf(request) === "hold") await held.opened;
			return planning(request);
		});
		const { runtime, events } = await open(project, { model });
		const other = { agent: "default", session: "other" };
		const seq = await runtime.prompt("hold", other);
		await runtime.prompt("hello");
		await until(() => events.some(({ type }) => type === "turn_end"));
		await runtime.checkout(seq, "test");
		await runtime.idle();
		expect(runtime.conversation(other).items.toArray()).toMatchObject([{ type: "prompt", text: "hold" }]);
		expect(runtime.conversation(other).open).toEqual([]);
		expect(model.asked).toHaveLength(2);
		await runtime.close();
	});

	test("a session that was opened after the target is gone, and is back after the return", async () => {
		const { runtime } = await open(project, { model: scripted(planning) });
		const other = { agent: "default", session: "other" };
		await runtime.prompt("hi", other);
		await runtime.idle();
		const { tip } = runtime.wal;
		await runtime.checkout(0, "test");
		expect(runtime.sessions()).toEqual([mainSession]);
		await runtime.checkout(tip, "test");
		expect(runtime.sessions()).toEqual([mainSession, other]);
		expect(runtime.conversation(other).items).toHaveLength(2);
		await runtime.close();
	});

	test("of a session that a rewind took away there is no preview, and one from before does nothing", async () => {
		const { runtime } = await open(project, { model: scripted(planning) });
		const other = { agent: "default", session: "other" };
		const turn = await runtime.prompt("hi", other);
		await runtime.idle();
		const scopes = [other, { ...other, run: "p1" }];
		const plan = await runtime.previewRewind(0, "both", other);
		const plans = scopes.map((scope) => ({ ...plan, scope }));
		const { seq: moved } = await runtime.checkout(0, "test");
		const gone = {
			code: "RUNTIME_UNKNOWN_SESSION",
			message:
				"no session default/other; there are default/main. It was opened, and a rewind took it away: undo that, or check out a seq of it",
		};
		const { tip } = runtime.wal;
		for (const scope of scopes)
			for (const mode of rewindModes) await expect(runtime.previewRewind(0, mode, scope)).rejects.toMatchObject(gone);
		for (const plan of plans) {
			await expect(runtime.applyRewind(plan, "test")).rejects.toMatchObject(gone);
			await expect(runtime.applyRewind(plan, "test", { session: mainSession })).rejects.toMatchObject(gone);
			// Also one that nobody was given.
			await expect(runtime.applyRewind({ ...plan, tip }, "test", { session: mainSession })).rejects.toMatchObject(gone);
		}
		expect(runtime.wal.tip).toBe(tip);
		await runtime.checkout(turn, "test", other);
		expect(await runtime.previewRewind(0, "both", other)).toMatchObject({ kind: "undo", scope: other });
		await runtime.undo("test");
		await runtime.undo("test", { of: moved });
		expect(await runtime.previewRewind(0, "both", other)).toMatchObject({ kind: "undo", scope: other });
		await expect(runtime.previewRewind(0, "both", { ...other, session: "never" })).rejects.toMatchObject({
			code: "RUNTIME_UNKNOWN_SESSION",
			message: "no session default/never; there are default/main, default/other",
		});
		await runtime.close();
	});
});

test("a message that cannot be shown while the runtime closes fails nothing, and is shown at the next start", async () => {
	const model = scripted(planning);
	const mute = await openRuntime({ store: storeAt(project.state), model, tools: createFileTools(project.cwd) });
	await mute.prompt("plan!");
	await mute.idle();
	await mute.close();

	const held = gate();
	const onMessage = async (): Promise<void> => {
		await held.opened;
		throw new Error("no screen");
	};
	const { runtime, events } = await open(project, { model, onMessage });
	runtime.resume();
	const closing = runtime.close();
	held.open();
	await closing;
	expect(events).toContainEqual(expect.objectContaining({ type: "undelivered", reason: "no screen" }));

	const { runtime: next, shown } = await open(project, { model });
	next.resume();
	await next.idle();
	expect(shown).toHaveLength(1);
	await next.close();
});
