/** What is previewed of a rewind or a checkout, against what it does. */
import { PLAN_TOOL } from "@reyn/plan";
import { isMeta } from "@reyn/timetravel/internal";
import { type Seq, scopeKey, type WalRecord } from "@reyn/wal";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type BlastRadius, blastRadius, type Extent, mainSession, type Runtime } from "../src/index.ts";
import { gate, lastOf, makeProject, open, type Project, type Script, scripted, until } from "./project.ts";

let project: Project;
beforeEach(async () => {
	project = await makeProject();
});
afterEach(() => project[Symbol.asyncDispose]());

const other = { agent: "default", session: "other" };
const guest = { agent: "guest", session: "main" };
const echo = scripted((request) => `echo: ${lastOf(request)}`);
const nothing: Extent = {
	...{ records: 0, turns: 0, paid: { calls: 0, tokens: 0, cost: { usd: "0", unknown: 0 } } },
	sessions: [],
	plans: [],
	runs: [],
	scripts: [],
};

/** Each a turn, one after the other; gives the tips after them. */
async function asked(runtime: Runtime, ...sessions: readonly (typeof other)[]): Promise<Seq[]> {
	const tips: Seq[] = [];
	for (const session of sessions) {
		await runtime.prompt(`to ${session.session}`, session);
		await runtime.idle();
		tips.push(runtime.wal.tip);
	}
	return tips;
}

/** The records that count, of those up to `through`. */
async function counting({ wal, timeline }: Runtime, through: Seq): Promise<readonly WalRecord[]> {
	const active: WalRecord[] = [];
	for await (const record of wal.read({ through }))
		if (!isMeta(record.kind) && timeline.lineage.isActive(record)) active.push(record);
	return active;
}

/** Goes, and says which records that moved. */
async function moved(runtime: Runtime, go: () => Promise<unknown>): Promise<{ left: WalRecord[]; came: WalRecord[] }> {
	const { tip } = runtime.wal;
	const before = await counting(runtime, tip);
	await go();
	const after = await counting(runtime, tip);
	const seqsOf = (records: readonly WalRecord[]): ReadonlySet<Seq> => new Set(records.map(({ seq }) => seq));
	const [was, is] = [seqsOf(before), seqsOf(after)];
	return { left: before.filter(({ seq }) => !is.has(seq)), came: after.filter(({ seq }) => !was.has(seq)) };
}

describe("a scope", () => {
	test("goes back alone: the others stay, in the preview and in the rewind", async () => {
		const { runtime } = await open(project, { model: echo });
		const [start = 0] = await asked(runtime, mainSession, other, guest, mainSession);
		const [beside, far] = [runtime.view(other).hash(), runtime.view(guest).hash()];
		const plan = await runtime.previewRewind(start, "both", mainSession);
		const radius = await blastRadius(runtime, plan);
		expect(radius).toMatchObject({
			leaves: { turns: 1, sessions: [scopeKey(mainSession)], plans: [], runs: [] },
			returns: nothing,
			stays: { turns: 2, sessions: [scopeKey(other), scopeKey(guest)] },
			cancels: { turns: [], plans: [], runs: [], scripts: [] },
		});
		const { left, came } = await moved(runtime, () => runtime.applyRewind(plan, "ada"));
		expect([left.length, came.length]).toEqual([radius.leaves.records, 0]);
		expect(runtime.conversation().items.length).toBe(2);
		expect([runtime.view(other).hash(), runtime.view(guest).hash()]).toEqual([beside, far]);
		await runtime.close();
	});

	test("of an agent takes its sessions, and a checkout there and back is previewed as it is", async () => {
		const { runtime } = await open(project, { model: echo });
		const [start = 0] = await asked(runtime, mainSession, other, guest, mainSession);
		const { tip } = runtime.wal;
		const scope = { agent: mainSession.agent };
		const away = await blastRadius(runtime, { target: start, scope });
		expect(away).toMatchObject({
			leaves: { turns: 2, sessions: [scopeKey(other), scopeKey(mainSession)] },
			stays: { turns: 1, sessions: [scopeKey(guest)] },
		});
		const there = await moved(runtime, () => runtime.checkout(start, "ada", scope));
		expect(there.left.length).toBe(away.leaves.records);
		expect(runtime.sessions()).toEqual([mainSession, guest]);

		const home = await blastRadius(runtime, { target: tip, scope });
		expect(home).toMatchObject({ leaves: nothing, returns: away.leaves, stays: nothing });
		const back = await moved(runtime, () => runtime.checkout(tip, "ada", scope));
		expect([back.left.length, back.came.length]).toEqual([0, home.returns.records]);
		expect(runtime.conversation(other).items.length).toBe(2);
		await runtime.close();
	});

	test("of another session is where a note goes", async () => {
		const { runtime } = await open(project, { model: echo });
		const [, start = 0] = await asked(runtime, mainSession, other, other);
		const plan = await runtime.previewRewind(start, "summarize", other);
		expect(await blastRadius(runtime, plan)).toMatchObject({
			...{ leaves: nothing, stays: { turns: 1 } },
			...{ before: { messages: 6 }, after: { messages: 7 } },
		});
		await runtime.applyRewind(plan, "ada");
		expect(runtime.conversation(other).items.at(-1)).toMatchObject({ type: "note" });
		expect(runtime.conversation().items.at(-1)).toMatchObject({ type: "reply" });
		await runtime.close();
	});
});

test("a mode that keeps a part is previewed as what it drops and what it keeps", async () => {
	const model = scripted((request) =>
		lastOf(request).startsWith("to") ? [{ name: "search", args: { query: "parser" } }] : "found it",
	);
	const { runtime } = await open(project, { model });
	const [start = 0] = await asked(runtime, mainSession, mainSession);
	const plan = await runtime.previewRewind(start, "code_only");
	const radius = await blastRadius(runtime, plan);
	expect(radius.leaves.turns).toBe(0);
	expect(radius.stays.turns).toBe(1);
	const { left } = await moved(runtime, () => runtime.applyRewind(plan, "ada"));
	expect(left.length).toBe(radius.leaves.records);
	expect(radius.leaves.records).toBe(plan.dropped?.all);
	expect(radius.stays.records).toBe((plan.affected?.all ?? 0) - (plan.dropped?.all ?? 0));
	await runtime.close();
});

describe("a plan", () => {
	const PLAN = {
		goal: "the goal",
		steps: [
			{ id: "a", description: "first", tools: [], depends_on: [] },
			{ id: "b", description: "last", tools: [], depends_on: ["a"] },
		],
	};

	/** One step is done after the turn, another is held in the model. */
	async function underWay(): Promise<{ runtime: Runtime; plan: string; turn: Seq; finish(): Promise<void> }> {
		const [turnOver, held] = [gate(), gate()];
		const answers: Script = async (request) => {
			const last = lastOf(request);
			if (last === "plan!") return [{ name: PLAN_TOOL, args: PLAN }];
			if (!last.startsWith("Goal:")) return "on it";
			const step = /Step (\w+)/.exec(last)?.[1];
			await (step === "a" ? turnOver : held).opened;
			return `did ${step}`;
		};
		const model = scripted(answers);
		const { runtime, events } = await open(project, { model });
		await runtime.prompt("plan!");
		await until(() => events.some(({ type }) => type === "checkpoint"));
		const turn = runtime.wal.tip;
		turnOver.open();
		await until(() => model.asked.some((request) => /Step b/.test(lastOf(request))));
		const plan = runtime.restored().plans[0]?.plan ?? "";
		return {
			runtime,
			plan,
			turn,
			async finish() {
				held.open();
				await runtime.idle();
			},
		};
	}

	const work = ({ cancels, relaunches, pauses }: BlastRadius): unknown => ({ cancels, relaunches, pauses });
	const none = { turns: [], plans: [], runs: [], scripts: [] };
	const paid = (calls: number) => ({ calls, tokens: 11 * calls, cost: { usd: "0", unknown: calls } });
	const idle = { plans: [], runs: [], paid: paid(0) };

	test("that was begun beyond the target ends", async () => {
		const { runtime, plan } = await underWay();
		const radius = await blastRadius(runtime, { target: 0, scope: {} });
		expect(radius.leaves).toMatchObject({ turns: 1, plans: [plan], runs: [] });
		expect(work(radius)).toEqual({
			cancels: { ...none, plans: [plan] },
			relaunches: idle,
			pauses: idle,
		});
		await runtime.checkout(0, "ada");
		expect(runtime.restored().plans).toEqual([]);
		await runtime.close();
	});

	test("that is under way there too goes on from there, and pays again for what came after", async () => {
		const { runtime, plan, turn, finish } = await underWay();
		const radius = await blastRadius(runtime, { target: turn, scope: {} });
		expect(work(radius)).toEqual({
			cancels: none,
			relaunches: { plans: [plan], runs: [], paid: paid(1), free: { calls: 0, tokens: 0 } },
			pauses: idle,
		});
		await runtime.checkout(turn, "ada");
		// It goes on at once, so a step may be finished again by now.
		expect(runtime.restored().plans).toMatchObject([{ plan, status: "running" }]);
		await finish();
		await runtime.close();
	});

	test("that is over by now waits there", async () => {
		const { runtime, plan, turn, finish } = await underWay();
		await finish();
		const radius = await blastRadius(runtime, { target: turn, scope: mainSession });
		expect(work(radius)).toEqual({
			cancels: none,
			relaunches: idle,
			pauses: { plans: [plan], runs: [], paid: paid(2), free: { calls: 0, tokens: 0 } },
		});
		await runtime.checkout(turn, "ada", mainSession);
		expect(runtime.restored().plans).toMatchObject([{ plan, status: "paused" }]);
		await runtime.close();
	});

	test("of another session than the one that goes back is left alone", async () => {
		const { runtime, plan, turn, finish } = await underWay();
		const radius = await blastRadius(runtime, { target: turn, scope: other });
		expect(work(radius)).toEqual({ cancels: none, relaunches: idle, pauses: idle });
		expect(radius.stays.plans).toEqual([plan]);
		await finish();
		await runtime.close();
	});
});

test("a turn without an answer ends with what it was asked in, and is closed where it was asked before", async () => {
	const held = gate();
	const model = scripted(async (request) => {
		if (lastOf(request) === "wait") await held.opened;
		return "fine";
	});
	const { runtime } = await open(project, { model });
	const turn = await runtime.prompt("wait");
	await until(() => model.asked.length === 1);
	expect(await blastRadius(runtime, { target: 0, scope: {} })).toMatchObject({
		cancels: { turns: [turn] },
		interrupts: [],
	});
	expect(await blastRadius(runtime, { target: turn, scope: {} })).toMatchObject({
		cancels: { turns: [] },
		interrupts: [turn],
	});
	held.open();
	await runtime.idle();
	await runtime.close();
});
