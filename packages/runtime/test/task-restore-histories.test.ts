/**
 * Random histories of tasks that go back, against a model that copies all of them: made, taken, told of, done, rewound whole, in part and
 * in talk alone, undone, made again, killed at any batch of the log and any step of a keeping or a restore. After each move tasks are what
 * the copy of its target says. `REYN_RUNS` sets how many are told, `REYN_SEED` which.
 */
import type { RewindableTasks } from "@reyn/tasks";
import { type Moved, reset } from "@reyn/timetravel";
import { codeOf, type Scope, type Seq } from "@reyn/wal";
import { expect, test } from "vitest";
import { type Random, SEED, seeded } from "../../../tests/kit/seeded.ts";
import { sample } from "../../../tests/sample.ts";
import { engineStore, openRuntime, type Runtime, type SessionScope } from "../src/index.ts";
import { dyingEngine } from "./dying-engine.ts";
import { type MemoryTasks, memoryTasks } from "./memory-tasks.ts";
import { lastOf, scripted } from "./project.ts";

const RUNS = Number(process.env.REYN_RUNS ?? sample(25, 60));

const main: SessionScope = { agent: "default", session: "main" };
const sessions: readonly SessionScope[] = [main, { ...main, session: "side" }];

/** Tasks that outlive the processes of a test, and what is kept of them: a process dies at a step of that. */
function keptTasks() {
	const tasks: MemoryTasks = memoryTasks();
	const kept = new Map<Seq, () => void>();
	const at = { left: Number.POSITIVE_INFINITY };
	const step = (): void => {
		if (at.left <= 0) throw new Error("killed");
		at.left--;
	};
	const backend: RewindableTasks = {
		...tasks,
		capabilities: { transactions: true, supportsRewind: true },
		async create(...given) {
			step();
			return tasks.create(...given);
		},
		async setStatus(...given) {
			step();
			return tasks.setStatus(...given);
		},
		async comment(...given) {
			step();
			return tasks.comment(...given);
		},
		async capture(seq) {
			step();
			if (!kept.has(seq)) kept.set(seq, tasks.saved());
			step();
		},
		async restoreToSeq(seq, isBase) {
			step();
			const found = [...kept.keys()].filter((each) => each <= seq && isBase(each)).sort((a, b) => b - a)[0];
			if (found === undefined) throw new Error("nothing was kept");
			kept.get(found)?.();
			step();
			return found;
		},
		async prune(keep, { dryRun = false } = {}) {
			const gone = [...kept.keys()].filter((seq) => !keep(seq)).sort((a, b) => b - a);
			if (!dryRun) for (const seq of gone) kept.delete(seq);
			return gone;
		},
	};
	const told = async (): Promise<string> => {
		const all = tasks.ids().map(async (id) => [tasks.now(id), await tasks.comments(id)]);
		return JSON.stringify([await Promise.all(all), [...tasks.writes.keys()]]);
	};
	return { at, backend, tasks, told, isKept: (seq: Seq): boolean => kept.has(seq) };
}

/** How often it was met, over all histories. */
const met = new Map<string, number>();
const meet = (what: string): void => void met.set(what, (met.get(what) ?? 0) + 1);

interface Given {
	readonly key: string;
	readonly task: string | undefined;
	readonly target: Seq;
	readonly random: Random;
}
type Does = (runtime: Runtime, given: Given) => Promise<unknown>;

const tool = (name: string, args: object): string => `${name} ${JSON.stringify(args)}`;
const model = scripted((request) => {
	const [, name, args] = /^(task_\w+) (\{.*\})$/.exec(lastOf(request)) ?? [];
	return name && args ? [{ name, args: JSON.parse(args) }] : "ok";
});

const commands: Readonly<Record<string, readonly [weight: number, does: Does]>> = {
	add: [3, (runtime, { key, random }) => runtime.tasks.add({ title: key, key, requester: random.pick(sessions) })],
	assign: [3, async (runtime, { key, task, random }) => task && runtime.tasks.assign(task, random.pick(sessions), key)],
	"made in a turn": [
		4,
		(runtime, { key, random }) =>
			runtime.prompt(tool("task_create", { title: key, take: random.chance(0.5) }), random.pick(sessions)),
	],
	"told in a turn": [
		4,
		async (runtime, { key, task: id, random }) =>
			id && runtime.prompt(tool("task_comment", { id, text: key }), random.pick(sessions)),
	],
	"done in a turn": [
		4,
		async (runtime, { task: id, random }) =>
			id && runtime.prompt(tool("task_update", { id, status: "done" }), random.pick(sessions)),
	],
	move: [6, (runtime, { target }) => runtime.checkout(target, "test")],
	"move in part": [2, (runtime, { target, random }) => runtime.checkout(target, "test", random.pick(sessions))],
	"talk alone": [
		1,
		async (runtime, { target }) =>
			runtime.applyRewind(await runtime.previewRewind(target, "conversation_only"), "test"),
	],
	undo: [4, (runtime) => runtime.undo("test")],
	redo: [3, (runtime) => runtime.redo("test")],
};
const names = Object.entries(commands).flatMap(([name, [weight]]) => Array<string>(weight).fill(name));

const refused = /^(NOTHING_TO_|TIMETRAVEL_COVERAGE|TIMETRAVEL_NOT_ACTIVE)/;

async function history(random: Random): Promise<void> {
	const engine = dyingEngine();
	const { at, backend, tasks, told, isKept } = keptTasks();
	const start = (): Promise<Runtime> =>
		openRuntime({ store: engineStore(engine), model, tools: [], tasks: { backend, rewind: true } });
	let runtime = await start();
	/** What tasks were when the log had come to a seq, and just before each move. */
	const copies = new Map<Seq, string | undefined>([[runtime.wal.tip, await told()]]);
	const before = new Map<Seq, { readonly copy: string; readonly takes: boolean }>();
	const did: string[] = [];
	for (let turn = 0; turn < 14; turn++) {
		const name = random.pick(names);
		const kill = random.chance(0.25) ? random.pick(["log", "tasks"] as const) : undefined;
		if (kill === "log") engine.left = random.below(6);
		if (kill === "tasks") at.left = random.below(6);
		const known = [...copies].flatMap(([seq, copy]) => (copy === undefined ? [] : [seq]));
		const target = random.pick(known);
		const [was, tip] = [await told(), runtime.wal.tip];
		did.push(`${name} (to ${target}${kill ? `, ${kill} killed` : ""})`);
		const why = did.join(", ");
		const task = tasks.ids().length > 0 ? random.pick(tasks.ids()) : undefined;
		const [, does] = commands[name] ?? [0, async () => {}];
		await does(runtime, { key: `k${turn}`, task, target, random }).catch((error: unknown) => {
			if (!kill && !refused.test(String(codeOf(error)))) throw error;
		});
		await runtime.idle().catch(() => {});
		meet(name);
		let isTaken = false;
		if (kill) {
			meet(`${kill} killed`);
			engine.left = 0;
			at.left = 0;
			await runtime.close().catch(() => {});
			[engine.left, at.left] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
			// Killed behind a write that came after the keeping of the newest record: what that says of the seq is without it.
			isTaken = isKept(await tipOf(engine));
			runtime = await start();
			await runtime.idle();
		}
		const now = await told();
		let isMoved = false;
		for await (const record of runtime.wal.read({ after: tip })) {
			if (!reset.is(record)) continue;
			isMoved = true;
			const { undoes, redoes, target: to, along } = record.data;
			const of = before.get(undoes ?? redoes ?? 0);
			const takes = of ? of.takes : isWhole(record.scope) && record.data.drop === undefined;
			expect([(along as Moved["along"])?.tasks !== undefined, why]).toEqual([takes, why]);
			before.set(record.seq, { copy: was, takes });
			const copy = takes ? (of ? of.copy : copies.get(to)) : was;
			// Inside a tool cycle, which only a kill leaves as the newest record, a move goes to just before it.
			if (copy === undefined && to !== target) continue;
			expect(now, why).toBe(copy);
			if (takes && now !== was) meet(`${of ? "step" : "move"} that changes them${kill ? ", killed" : ""}`);
		}
		if (!isMoved && /move|talk|undo|redo/.test(name)) expect(now, why).toBe(was);
		const same = copies.get(runtime.wal.tip);
		const isOpen = isTaken || (same !== undefined && same !== now);
		copies.set(runtime.wal.tip, isOpen ? undefined : now);
		const bound = runtime.tasks.bindings().map(({ task, title, status }) => [task, title, status]);
		const is = runtime.tasks.bindings().map(({ task }) => [task, tasks.now(task)?.title, tasks.now(task)?.status]);
		expect(bound, why).toEqual(is);
	}
	await runtime.close();
}

async function tipOf(engine: ReturnType<typeof dyingEngine>): Promise<Seq> {
	const reader = await openRuntime({ store: engineStore(engine), model, tools: [], readOnly: true });
	const { tip } = reader.wal;
	await reader.close();
	return tip;
}

const isWhole = ({ agent }: Scope): boolean => agent === undefined;

test("after each move, undo and redo tasks are what they were at its target, whatever was killed", async () => {
	for (let run = 0; run < RUNS; run++) {
		const seed = SEED * 1_000_003 + run;
		await history(seeded(seed)).catch((error: Error) => {
			error.message = `REYN_SEED=${SEED}, history ${run}: ${error.message}`;
			throw error;
		});
	}
	const changing = ["move", "step"].flatMap((what) =>
		["", ", killed"].map((kill) => `${what} that changes them${kill}`),
	);
	for (const what of [...Object.keys(commands), "log killed", "tasks killed", ...changing])
		expect([what, (met.get(what) ?? 0) > 0]).toEqual([what, true]);
});
