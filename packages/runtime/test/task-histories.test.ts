/**
 * Random histories of tasks against a model that copies everything: bound, bound anew, done elsewhere, gone, rewound whole or in part,
 * undone, killed, with their system away. Whoever has a task has it as of the target; how it stands is known as it is now. `REYN_RUNS`
 * sets how many are told, `REYN_SEED` which.
 */
import { type Binding, sessionTasks, type TaskStatus, taskRebound, taskSubscribed, taskUnbound } from "@reyn/tasks";
import { reset } from "@reyn/timetravel";
import { codeOf, type Scope, type Seq, within } from "@reyn/wal";
import { expect, test } from "vitest";
import { type Random, SEED, seeded } from "../../../tests/kit/seeded.ts";
import { sample } from "../../../tests/sample.ts";
import { engineStore, openRuntime, type Runtime, type SessionScope } from "../src/index.ts";
import { dyingEngine } from "./dying-engine.ts";
import { type MemoryTasks, memoryTasks } from "./memory-tasks.ts";
import { scripted } from "./project.ts";

const RUNS = Number(process.env.REYN_RUNS ?? sample(25, 60));

const main: SessionScope = { agent: "default", session: "main" };
const sessions: readonly SessionScope[] = [main, { ...main, session: "side" }, { ...main, agent: "other" }];
const scopes: readonly Scope[] = [{}, {}, { agent: "default" }, ...sessions];
const statuses: readonly TaskStatus[] = ["ready", "running", "done", "done", "failed"];

const nameOf = ({ agent, session }: Scope): string => `${agent}/${session}`;

interface Claim {
	readonly seq: Seq;
	/** `assignee t1` */
	readonly what: string;
	/** Absent: it is given up. */
	readonly to?: string;
}

/** At each seq a copy of all that each session has claimed. */
class Model {
	readonly #copies: ReadonlyMap<string, readonly Claim[]>[] = [new Map(sessions.map((scope) => [nameOf(scope), []]))];

	async note({ wal }: Runtime): Promise<void> {
		for await (const record of wal.read({ after: this.#copies.length - 1 })) {
			const { seq, scope } = record;
			const next = new Map(this.#copies.at(-1));
			const claims = (what: string, to?: SessionScope): void =>
				void next.set(nameOf(scope), [
					...(next.get(nameOf(scope)) ?? []),
					{ seq, what, ...(to && { to: nameOf(to) }) },
				]);
			if (reset.is(record))
				for (const each of sessions)
					if (within(each, scope)) next.set(nameOf(each), this.#copies[record.data.target]?.get(nameOf(each)) ?? []);
			if (taskSubscribed.is(record))
				claims(`${record.data.role} ${record.data.task}`, record.data.holder as SessionScope);
			if (taskRebound.is(record)) claims(`${record.data.role} ${record.data.task}`, record.data.to as SessionScope);
			if (taskUnbound.is(record)) claims(`${record.data.role} ${record.data.task}`);
			this.#copies.push(next);
		}
	}

	/** All claims one after the other: each takes the task from whoever has it. */
	bound(): readonly string[] {
		const has = new Map<string, string | undefined>();
		const all = [...(this.#copies.at(-1)?.values() ?? [])].flat().sort((a, b) => a.seq - b.seq);
		for (const { what, to } of all) has.set(what, to);
		return [...has].flatMap(([what, to]) => (to === undefined ? [] : `${what}: ${to}`)).sort();
	}
}

const who = (bound: readonly Binding[]): readonly string[] =>
	bound.map(({ task, role, holder }) => `${role} ${task}: ${nameOf(holder as SessionScope)}`).sort();

/** How often it was met, over all histories. */
const met = new Map<string, number>();
const meet = (what: string): void => void met.set(what, (met.get(what) ?? 0) + 1);

const commands: Readonly<Record<string, readonly [weight: number, does: Does]>> = {
	add: [4, (runtime, { key, random }) => runtime.tasks.add({ title: key, key, requester: random.pick(sessions) })],
	assign: [8, async (runtime, { key, task, random }) => task && runtime.tasks.assign(task, random.pick(sessions), key)],
	"done elsewhere": [
		6,
		async (runtime, { task, backend, random }) => {
			if (task !== undefined) backend.put(task, { status: random.pick(statuses) });
			await runtime.prompt("look");
		},
	],
	gone: [
		1,
		async (runtime, { task, backend }) => {
			if (task !== undefined) backend.remove(task);
			await runtime.prompt("look");
		},
	],
	away: [
		2,
		async (runtime, { backend, random }) => {
			backend.isDown = random.chance(0.6);
			await runtime.prompt("look");
		},
	],
	"a turn": [3, (runtime, { random }) => runtime.prompt("look", random.pick(sessions))],
	move: [7, (runtime, { random }) => runtime.checkout(random.below(runtime.wal.tip + 1), "test", random.pick(scopes))],
	undo: [3, (runtime) => runtime.undo("test")],
	redo: [2, (runtime) => runtime.redo("test")],
};

interface Given {
	readonly key: string;
	/** One that there is. */
	readonly task: string | undefined;
	readonly backend: MemoryTasks;
	readonly random: Random;
}
type Does = (runtime: Runtime, given: Given) => Promise<unknown>;
const names = Object.entries(commands).flatMap(([name, [weight]]) => Array<string>(weight).fill(name));

const refused = /^(NOTHING_TO_|TASK_BACKEND_DOWN|TIMETRAVEL_COVERAGE)/;

async function history(random: Random): Promise<void> {
	const engine = dyingEngine();
	const backend = memoryTasks();
	const model = new Model();
	const start = (): Promise<Runtime> =>
		openRuntime({ store: engineStore(engine), model: scripted(() => "ok"), tools: [], tasks: { backend } });
	let runtime = await start();
	const told: string[] = [];
	for (let at = 0; at < 12; at++) {
		const name = random.pick(names);
		const isKilled = random.chance(0.2);
		if (isKilled) engine.left = random.below(6);
		told.push(`${name}${isKilled ? ` (killed after ${engine.left})` : ""}`);
		const before = who(runtime.tasks.bindings());
		const task = backend.ids().length > 0 ? random.pick(backend.ids()) : undefined;
		const [, does] = commands[name] ?? [0, async () => {}];
		await does(runtime, { key: `k${at}`, task, backend, random }).catch((error: unknown) => {
			if (!isKilled && !refused.test(String(codeOf(error)))) throw error;
		});
		await runtime.idle().catch(() => {});
		meet(name);
		if (isKilled) {
			meet("kill");
			engine.left = 0;
			await runtime.close().catch(() => {});
			engine.left = Number.POSITIVE_INFINITY;
			runtime = await start();
			await runtime.idle();
		}
		await model.note(runtime);
		const bound = who(runtime.tasks.bindings());
		expect(bound, told.join(", ")).toEqual(model.bound());
		if (name === "move" && bound.some((each) => !before.includes(each))) meet("given back");
		if (backend.isDown) {
			meet("not read");
			continue;
		}
		// Nothing that it had not read.
		const known = runtime.tasks.bindings().map(({ task, title, status }) => [task, title, status]);
		const now = runtime.tasks.bindings().map(({ task }) => [task, backend.now(task)?.title, backend.now(task)?.status]);
		expect(known, told.join(", ")).toEqual(now);
		for (const scope of sessions.filter((each) =>
			runtime.sessions().some((session) => nameOf(session) === nameOf(each)),
		)) {
			expect(
				runtime
					.view(scope)
					.get(sessionTasks)
					.filter((each) => each.told),
				told.join(", "),
			).toEqual([]);
			const said = runtime
				.conversation(scope)
				.items.toArray()
				.filter(({ type }) => type === "message");
			if (said.length > 0) meet("said");
		}
	}
	await runtime.close();
}

test("who has a task is as of the target, and how it stands is as it is now", async () => {
	for (let run = 0; run < RUNS; run++) {
		const seed = SEED * 1_000_003 + run;
		await history(seeded(seed)).catch((error: Error) => {
			error.message = `REYN_SEED=${SEED}, history ${run}: ${error.message}`;
			throw error;
		});
	}
	for (const what of [...Object.keys(commands), "kill", "given back", "not read", "said"])
		expect([what, (met.get(what) ?? 0) > 0]).toEqual([what, true]);
});
