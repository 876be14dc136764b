/**
 * A rewind whose process dies after any record of it, and whose finish dies after any record too: it has happened or it has
 * not, and every session, plan and run is as after a rewind that nothing cut. What a settlement writes is there once.
 */
import { join } from "node:path";
import { journal, type Tool } from "@reyn/journal";
import { entriesOf, lanesOf } from "@reyn/journal/internal";
import { PLAN_TOOL, planRuns } from "@reyn/plan";
import { skillRuns } from "@reyn/skill-resume";
import { reset } from "@reyn/timetravel";
import { afterAll, beforeAll, expect, test } from "vitest";
import { pointsOf, sample } from "../../../tests/sample.ts";
import { facets, mainSession, type Runtime, type SessionScope } from "../src/index.ts";
import { copyState, keepLines, linesOf, removeState } from "./cut.ts";
import { gate, lastOf, makeProject, open, type Project, payingPlan, type Script, scripted, until } from "./project.ts";

const other = { agent: "default", session: "other" };

let project: Project;
/** Told in `beforeAll`: inside an open effect and an open turn; the ends of two forks. */
const at = { inside: 0, fork: 0, forkOfFork: 0 };
beforeAll(async () => {
	project = await makeProject();
	const [payment, turn] = [gate(), gate()];
	let paid = 0;
	const pay: Tool = {
		name: "pay",
		description: "pays",
		parameters: { type: "object" },
		purity: "side_effect",
		async call() {
			paid++;
			await payment.opened;
			return "receipt";
		},
	};
	const script: Script = async (request) => {
		const last = lastOf(request);
		if (last === "plan!") return [{ name: PLAN_TOOL, args: payingPlan }];
		if (/Step a/.test(last)) return [{ name: "pay", args: {} }];
		if (last === "wait") await turn.opened;
		return `echo: ${last.split("\n")[0]}`;
	};
	const { runtime } = await open(project, { model: scripted(script), tools: [pay] });
	const say = async (text: string): Promise<number> => {
		await runtime.prompt(text);
		await until(() => runtime.timeline.checkpoints().some(({ title }) => title === text));
		return runtime.timeline.checkpoints().at(-1)?.seq ?? 0;
	};
	const start = await say("hello");
	await runtime.prompt("plan!");
	await until(() => paid === 1);
	await runtime.prompt("wait", other);
	at.inside = await say("meanwhile");
	payment.open();
	turn.open();
	await runtime.idle();
	const line = runtime.wal.tip;
	await runtime.checkout(start, "test");
	at.fork = await say("fork");
	await runtime.checkout(line, "test");
	await say("further");
	await runtime.checkout(at.fork, "test");
	at.forkOfFork = await say("fork of the fork");
	await runtime.undo("test");
	await runtime.close();
});
afterAll(() => project[Symbol.asyncDispose]());

const moves: readonly { readonly name: string; readonly kind?: string; run(runtime: Runtime): Promise<object> }[] = [
	{ name: "an undo of a line", kind: "undo", run: (runtime) => runtime.checkout(at.inside, "test") },
	{ name: "a fork-switch", kind: "fork_switch", run: (runtime) => runtime.checkout(at.fork, "test") },
	{ name: "a fork-switch of a fork", kind: "fork_switch", run: (runtime) => runtime.checkout(at.forkOfFork, "test") },
	{ name: "a rewind of one session", kind: "undo", run: (runtime) => runtime.checkout(at.inside, "test", mainSession) },
	{
		name: "a rewind of the other session",
		kind: "undo",
		run: (runtime) => runtime.checkout(at.inside, "test", other),
	},
	{
		name: "a rewind of the work alone",
		kind: "undo",
		run: (runtime) => runtime.timeline.checkout(at.inside, { drop: facets.code }),
	},
	{ name: "undo", run: (runtime) => runtime.undo("test") },
	{ name: "redo", run: (runtime) => runtime.redo("test") },
];

test.each(moves)("$name, cut after any record of it, and of its finish", async ({ run, kind }) => {
	const before = await visit(project.state, async (runtime) => pictureOf(runtime));
	const whole = await copy("whole");
	const after = await visit(whole, async (runtime) => {
		const moved = await run(runtime);
		if (kind) expect(moved).toMatchObject({ kind });
		return pictureOf(runtime);
	});
	expect(after.state).not.toEqual(before.state);

	const lines = await linesOf(whole);
	const begun = (await linesOf(project.state)).length;
	let points = 0;
	for (const kept of pointsOf(begun, lines.length, 6)) {
		const hasReset = lines.slice(begun, kept).some((line) => kindOf(line) === reset.kind);
		const once = await cut(whole, kept);
		await expectSame(once, hasReset ? after : before);
		points++;
		// The process that finishes it dies too.
		const finished = await linesOf(once);
		for (const again of hasReset ? pointsOf(kept + 1, finished.length - 1, 4) : []) {
			const twice = await cut(once, again);
			await expectSame(twice, after);
			await removeState(twice);
			points++;
		}
		await removeState(once);
	}
	expect(points).toBeGreaterThan(sample(0, 5));
	await removeState(whole);
});

test("the rewind of these tests closes a turn, pauses a plan, and knows what the effect came to", async () => {
	const state = await copy("contents");
	const { settled } = await visit(state, async (runtime) => {
		await runtime.checkout(at.inside, "test");
		return pictureOf(runtime);
	});
	expect(settled.map(({ kind }) => kind).slice(-5)).toEqual([
		"reset",
		"step_completed",
		"plan_paused",
		"turn_interrupted",
		"reset_settled",
	]);
	await removeState(state);
});

test("two agents whose turns interleave are moved by one record and never mix; what they do then survives every restart", async () => {
	const [ada, bob] = [
		{ agent: "ada", session: "main" },
		{ agent: "bob", session: "main" },
	];
	const state = join(project.root, "agents");
	const both = gate();
	const model = scripted(async (request) => {
		if (lastOf(request) === "second") await both.opened;
		return `echo: ${lastOf(request)}`;
	});
	const { runtime } = await open({ ...project, state }, { model });
	const said = (scope: SessionScope): readonly string[] =>
		runtime
			.conversation(scope)
			.items.toArray()
			.flatMap((item) => ("text" in item ? [item.text] : []));
	await runtime.prompt("ada's first", ada);
	await runtime.prompt("bob's first", bob);
	await runtime.idle();
	const target = runtime.wal.tip;
	const hashes = [ada, bob].map((scope) => runtime.view(scope).hash());
	await Promise.all([runtime.prompt("second", ada), runtime.prompt("second", bob)]);
	await until(() => model.asked.length === 4);
	both.open();
	await runtime.idle();
	const { tip } = runtime.wal;
	const { seq } = await runtime.checkout(target, "test");
	expect([ada, bob].map((scope) => runtime.view(scope).hash())).toEqual(hashes);
	expect([seq, runtime.wal.tip]).toEqual([tip + 1, tip + 2]); // the reset, and that it is settled
	await Promise.all([runtime.prompt("ada's other", ada), runtime.prompt("bob's other", bob)]);
	await runtime.idle();
	expect(said(ada)).toEqual(["ada's first", "echo: ada's first", "ada's other", "echo: ada's other"]);
	expect(said(bob)).toEqual(["bob's first", "echo: bob's first", "bob's other", "echo: bob's other"]);
	const last = [ada, bob].map((scope) => runtime.view(scope).hash());
	await runtime.close();
	for (let start = 0; start < 2; start++)
		await visit(state, async (again) => expect([ada, bob].map((scope) => again.view(scope).hash())).toEqual(last));

	// Cut right after the reset, the same state comes back however often a process starts.
	const once = await cut(state, (await linesOf(state)).findIndex((line) => kindOf(line) === reset.kind) + 1);
	for (let start = 0; start < 3; start++)
		await visit(once, async (again) => expect([ada, bob].map((scope) => again.view(scope).hash())).toEqual(hashes));
});

/** Two processes, one after the other, see what is expected, and the second has nothing left to write. */
async function expectSame(state: string, expected: Picture): Promise<void> {
	const first = await visit(state, pictureOf);
	expect(first).toEqual(expected);
	const written = (await linesOf(state)).length;
	expect(await visit(state, pictureOf)).toEqual(expected);
	// A start says only that it is one.
	expect((await linesOf(state)).slice(written).map(kindOf)).toEqual(["wal_epoch"]);
}

type Picture = Awaited<ReturnType<typeof pictureOf>>;

/** Everything but the seqs that a start between the records of a settlement moves. */
async function pictureOf(runtime: Runtime) {
	const { timeline, wal } = runtime;
	const settled: { kind: string; scope: object; target: unknown }[] = [];
	let isMove = false;
	for await (const { kind, scope, data } of wal.read()) {
		if (kind === reset.kind) isMove = true;
		const { target, reset: of, adopts, started, turn, plan } = data as Record<string, unknown>;
		if (isMove && !kind.startsWith("wal_"))
			settled.push({ kind, scope, target: target ?? of ?? adopts ?? started ?? turn ?? plan });
	}
	const sessions = runtime.sessions().map((scope) => {
		const view = runtime.view(scope);
		const { items, open, undelivered } = runtime.conversation(scope);
		const state = view.get(journal);
		const lanes = lanesOf(state).map((lane) => [
			lane,
			entriesOf(state, lane).map(({ name, started, outcome }) => ({ name, started, outcome: outcome?.type })),
		]);
		return {
			scope,
			items: items.toArray().map(({ seq, ...item }) => (item.type === "result" ? item : { seq, ...item })),
			open,
			undelivered,
			plans: view.get(planRuns),
			runs: view.get(skillRuns),
			lanes,
		};
	});
	return {
		state: sessions,
		branches: timeline.branches().map(({ last: _, ...branch }) => branch),
		checkpoints: timeline.checkpoints(),
		moves: await timeline.moves(),
		settled,
	};
}

async function visit<T>(state: string, look: (runtime: Runtime) => Promise<T>): Promise<T> {
	const { runtime } = await open({ ...project, state }, { model: scripted(() => "") });
	try {
		// What is in memory is what a restart would make of the log.
		const seen = await look(runtime);
		for (const scope of runtime.sessions())
			expect(runtime.view(scope).hash()).toBe((await runtime.timeline.at(runtime.wal.tip, scope)).hash());
		return seen;
	} finally {
		await runtime.close();
	}
}

let copies = 0;

async function copy(name: string, from = project.state): Promise<string> {
	return copyState(from, join(project.root, `${name}-${copies++}`));
}

async function cut(from: string, kept: number): Promise<string> {
	const state = await copy("cut", from);
	await keepLines(state, kept);
	return state;
}

const kindOf = (line: string): string => (JSON.parse(line) as { kind: string }).kind;
