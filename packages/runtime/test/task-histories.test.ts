/**
 * Random histories of tasks against a model that copies everything: bound, bound anew, done elsewhere, gone, rewound whole or in part,
 * undone, killed, with their system away. Whoever has a task has it as of the target; how it stands is known as it is now. What a task has
 * started ends, is given up, is taken up again by moves, and ends again: each end is told once. `REYN_RUNS`
 * sets how many are told, `REYN_SEED` which.
 */
import {
	defineSkill,
	done,
	phaseCompleted,
	type Skill,
	skillRunCompleted,
	skillRunDiscarded,
	skillRunIn,
	skillRuns,
} from "@reyn/skill-resume";
import { type Binding, sessionTasks, type TaskStatus, taskRebound, taskSubscribed, taskUnbound } from "@reyn/tasks";
import { reset } from "@reyn/timetravel";
import { codeOf, type Scope, type Seq, type WalRecord, within } from "@reyn/wal";
import { expect, test } from "vitest";
import { z } from "zod";
import { type Random, SEED, seeded } from "../../../tests/kit/seeded.ts";
import { sample } from "../../../tests/sample.ts";
import { engineStore, openRuntime, type Runtime, type SessionScope } from "../src/index.ts";
import { dyingEngine } from "./dying-engine.ts";
import { type MemoryTasks, memoryTasks } from "./memory-tasks.ts";
import { scripted } from "./project.ts";

const RUNS = Number(process.env.REYN_RUNS ?? sample(50, 100));

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
	/** As if nobody had it. */
	readonly isFirst?: true;
}

/** Where a run of a skill is on a line. */
interface Ran {
	readonly scope: Scope;
	/** Of its newest phase that is over. */
	readonly phase?: Seq;
	readonly end?: { readonly seq: Seq; readonly status: "done" | "failed" };
}

/** At each seq a copy of all that each session has claimed, and of where each run is. */
class Model {
	readonly #ran: ReadonlyMap<string, Ran>[] = [new Map()];
	/** The ends that were told of each task, and how it was left. */
	readonly #told = new Map<string, { readonly ends: Set<Seq>; status: "done" | "failed" }>();
	readonly #copies: ReadonlyMap<string, readonly Claim[]>[] = [new Map(sessions.map((scope) => [nameOf(scope), []]))];

	async note({ wal }: Runtime): Promise<void> {
		for await (const record of wal.read({ after: this.#copies.length - 1 })) {
			const { seq, scope } = record;
			const next = new Map(this.#copies.at(-1));
			const claims = (what: string, to?: SessionScope, more: Pick<Claim, "isFirst"> = {}): void =>
				void next.set(nameOf(scope), [
					...(next.get(nameOf(scope)) ?? []),
					{ seq, what, ...(to && { to: nameOf(to) }), ...more },
				]);
			if (reset.is(record))
				for (const each of sessions)
					if (within(each, scope)) next.set(nameOf(each), this.#copies[record.data.target]?.get(nameOf(each)) ?? []);
			if (taskSubscribed.is(record))
				claims(`${record.data.role} ${record.data.task}`, record.data.holder as SessionScope, { isFirst: true });
			if (taskRebound.is(record)) claims(`${record.data.role} ${record.data.task}`, record.data.to as SessionScope);
			if (taskUnbound.is(record)) claims(`${record.data.role} ${record.data.task}`);
			this.#copies.push(next);
			this.#ran.push(this.#ranAfter(record));
		}
	}

	#ranAfter(record: WalRecord): ReadonlyMap<string, Ran> {
		const { seq, scope } = record;
		const next = new Map(this.#ran.at(-1));
		const put = (run: string, change: Partial<Ran>): void => void next.set(run, { scope, ...next.get(run), ...change });
		if (reset.is(record)) {
			const then = this.#ran[record.data.target] ?? new Map<string, Ran>();
			for (const [run, { scope: of }] of [...next]) if (within(of, scope)) next.delete(run);
			for (const [run, ran] of then) if (within(ran.scope, scope)) next.set(run, ran);
		}
		if (phaseCompleted.is(record)) put(record.data.run, { phase: seq });
		if (skillRunCompleted.is(record)) {
			const { run } = record.data;
			put(run, { end: { seq: next.get(run)?.phase ?? 0, status: "done" } });
		}
		if (skillRunDiscarded.is(record)) put(record.data.run, { end: { seq, status: "failed" } });
		return next;
	}

	/** A task is looked at: how it is left, and the ends that it was told. What is done stays so. */
	left(task: string, work: string): { readonly ends: readonly Seq[]; readonly status: "running" | "done" | "failed" } {
		const end = this.#ran.at(-1)?.get(work)?.end;
		const told = this.#told.get(task) ?? { ends: new Set(), status: "failed" };
		const isFirst = told.ends.size === 0;
		if (end && !told.ends.has(end.seq) && (isFirst || end.status === "done" || told.status === "failed")) {
			told.ends.add(end.seq);
			told.status = end.status;
			this.#told.set(task, told);
			if (!isFirst) meet("ended again");
			if (!isFirst && told.ends.size > 1 && end.status === "done") meet("done at last");
		}
		return { ends: [...told.ends], status: told.ends.size > 0 ? told.status : "running" };
	}

	/** Have two sessions claimed a role of one task, each as if nobody had it? */
	get hasTwo(): boolean {
		const firsts = [...(this.#copies.at(-1)?.values() ?? [])].map(
			(claims) => new Set(claims.filter(({ isFirst }) => isFirst).map(({ what }) => what)),
		);
		return firsts.some((one, at) => firsts.slice(at + 1).some((other) => [...one].some((what) => other.has(what))));
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

/** How often each is done in a history of bindings, in one of work, and what it does. */
const commands: Readonly<Record<string, readonly [bindings: number, work: number, does: Does]>> = {
	add: [4, 0, (runtime, { key, random }) => runtime.tasks.add({ title: key, key, requester: random.pick(sessions) })],
	assign: [
		8,
		0,
		async (runtime, { key, task, random }) => task && runtime.tasks.assign(task, random.pick(sessions), key),
	],
	/** Another session claims what a move has taken from one; an undo has the first claim back. */
	"claim twice": [
		2,
		0,
		async (runtime, { key, random }) => {
			const first = random.pick(sessions);
			const { task } = await runtime.tasks.add({ title: key, key });
			const { tip } = runtime.wal;
			await runtime.tasks.assign(task.id, first, `${key}/first`);
			await runtime.checkout(tip, "test", first);
			await runtime.tasks.assign(task.id, random.pick(sessions.filter((each) => each !== first)), `${key}/second`);
			await runtime.undo("test");
		},
	],
	"done elsewhere": [
		6,
		0,
		async (runtime, { task, backend, random }) => {
			if (task !== undefined) backend.put(task, { status: random.pick(statuses) });
			await runtime.prompt("look");
		},
	],
	gone: [
		1,
		0,
		async (runtime, { task, backend }) => {
			if (task !== undefined) backend.remove(task);
			await runtime.prompt("look");
		},
	],
	away: [
		2,
		1,
		async (runtime, { backend, random }) => {
			backend.isDown = random.chance(0.6);
			await runtime.prompt("look");
		},
	],
	/** What a task has started asks a person. */
	work: [0, 1, (runtime, { key }) => runtime.tasks.add({ ...startsReview(key), requester: main })],
	answer: [
		0,
		8,
		async (runtime, { random, key }) => {
			const open = runtime.questions();
			if (open.length > 0) await runtime.answer(random.pick(open).seq, key, "test");
		},
	],
	discard: [
		0,
		5,
		async (runtime, { random }) => {
			const live = runtime.inFlight().filter(({ kind }) => kind === "skill");
			if (live.length > 0) await runtime.discardSkillRun(random.pick(live).id);
		},
	],
	"go on": [
		0,
		9,
		async (runtime) => {
			for (const { kind, id } of runtime.inFlight())
				if (kind === "skill" && runtime.findSkillRun(id).status === "paused") await runtime.resumeSkillRun(id);
		},
	],
	"a turn": [3, 0, (runtime, { random }) => runtime.prompt("look", random.pick(sessions))],
	move: [
		7,
		2,
		(runtime, { random }) => runtime.checkout(random.below(runtime.wal.tip + 1), "test", random.pick(scopes)),
	],
	undo: [3, 7, (runtime) => runtime.undo("test")],
	redo: [2, 1, (runtime) => runtime.redo("test")],
};

const review = defineSkill({
	...{ name: "review", description: "Asks a person", input: z.unknown(), start: "ask" },
	phases: { ask: async (context) => done(await context.ask("Which?")) },
}) as Skill;
const startsReview = (key: string) => ({ title: `work ${key}`, key, starts: { skill: "review" } });

interface Given {
	readonly key: string;
	/** One that there is. */
	readonly task: string | undefined;
	readonly backend: MemoryTasks;
	readonly random: Random;
}
type Does = (runtime: Runtime, given: Given) => Promise<unknown>;
const namesOf = (weight: 0 | 1): readonly string[] =>
	Object.entries(commands).flatMap(([name, weights]) => Array<string>(weights[weight]).fill(name));
const [ofBindings, ofWork] = [namesOf(0), namesOf(1)];

const refused = /^(NOTHING_TO_|TASK_BACKEND_DOWN|TIMETRAVEL_COVERAGE)/;

/** Once what goes on has ended, it is looked. */
async function looked(runtime: Runtime): Promise<void> {
	await runtime.idle().catch(() => {});
	// What goes on by the first ends before the second.
	for (let times = 0; times < 2; times++) {
		runtime.resume();
		await runtime.idle().catch(() => {});
	}
}

async function history(random: Random, isOfWork: boolean): Promise<void> {
	const engine = dyingEngine();
	const backend = memoryTasks();
	const model = new Model();
	const start = (): Promise<Runtime> =>
		openRuntime({
			...{ store: engineStore(engine), model: scripted(() => "ok"), tools: [] },
			...{ skills: [review], unanswered: "stop", tasks: { backend, lookMs: 600_000 } },
		});
	let runtime = await start();
	const told: string[] = [];
	for (let at = 0; at < 12; at++) {
		const name = isOfWork && at === 0 ? "work" : random.pick(isOfWork ? ofWork : ofBindings);
		const isKilled = random.chance(0.2);
		if (isKilled) engine.left = random.below(6);
		told.push(`${name}${isKilled ? ` (killed after ${engine.left})` : ""}`);
		const before = who(runtime.tasks.bindings());
		// What has work of its own is left to that.
		const ids = backend.ids().filter((id) => !backend.now(id)?.title.startsWith("work"));
		const task = ids.length > 0 ? random.pick(ids) : undefined;
		const [, , does] = commands[name] ?? [0, 0, async () => {}];
		await does(runtime, { key: `k${at}`, task, backend, random }).catch((error: unknown) => {
			if (!isKilled && !refused.test(String(codeOf(error)))) throw error;
		});
		await looked(runtime);
		meet(name);
		if (isKilled) {
			meet("kill");
			engine.left = 0;
			await runtime.close().catch(() => {});
			engine.left = Number.POSITIVE_INFINITY;
			runtime = await start();
			await looked(runtime);
		}
		await model.note(runtime);
		const bound = who(runtime.tasks.bindings());
		expect(bound, told.join(", ")).toEqual(model.bound());
		if (model.hasTwo) meet("two claims");
		if (name === "move" && bound.some((each) => !before.includes(each))) meet("given back");
		if (backend.isDown) {
			meet("not read");
			continue;
		}
		for (const { task, role, starts, begun, scope } of runtime.tasks.bindings()) {
			if (role !== "assignee" || !starts || !begun) continue;
			const { ends, status } = model.left(task, begun.work);
			const comments = (await backend.comments(task)).map(({ id }) => id);
			const keyed = ends.map((end) => backend.writes.get(`${runtime.wal.id}:${end}/came`));
			expect(keyed.map((write) => write && "comment" in write && write.comment.id).sort(), told.join(", ")).toEqual(
				comments.sort(),
			);
			expect([task, backend.now(task)?.status], told.join(", ")).toEqual([task, status]);
			if (skillRunIn(runtime.view(scope).get(skillRuns), begun.work)?.status === "completed") meet("completed");
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
		const seed = SEED * 1_000_003 + (run >> 1);
		await history(seeded(seed), run % 2 === 1).catch((error: Error) => {
			error.message = `REYN_SEED=${SEED}, history ${run}: ${error.message}`;
			throw error;
		});
	}
	console.log(`${RUNS} histories: ${JSON.stringify(Object.fromEntries(met))}`);
	for (const what of [
		...Object.keys(commands),
		"kill",
		"given back",
		"two claims",
		"not read",
		"said",
		"ended again",
		"done at last",
	])
		expect([what, (met.get(what) ?? 0) > 0]).toEqual([what, true]);
});
