/** Random short histories of two writers, with keys that come again and places that are opened anew, against a naive model. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { histories } from "../../../tests/sample.ts";
import { type RewindableTasks, type Task, type TaskBackend, taskStatusSchema } from "../src/index.ts";
import { rewindableSqliteTasks, sqliteTasks } from "../src/sqlite/index.ts";
import { directoryTasks } from "./directory-tasks.ts";
import { log } from "./log.ts";
import { type Answer, NaiveTasks } from "./naive-tasks.ts";

let directory: string;
let places = 0;
beforeAll(async () => {
	directory = await mkdtemp(join(tmpdir(), "reyn-tasks-"));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

const statuses = taskStatusSchema.options;
const number = fc.nat(7);
const act = fc.record({
	kind: fc.constantFrom(
		"create",
		"create",
		"setStatus",
		"setStatus",
		"setStatus",
		"link",
		"link",
		"comment",
		"reopen",
		"look",
		"capture",
		"restore",
	),
	/** Of the two writers. */
	by: fc.nat(1),
	/** Which tasks, of those that there are; one beyond them is nobody. */
	task: number,
	other: number,
	status: fc.constantFrom(...statuses),
	/** A key that was used, of so many writes ago, or a new one. */
	again: fc.option(number, { nil: undefined, freq: 3 }),
	/** The other writer makes the same write at the same moment. */
	isTwice: fc.boolean(),
});
type Act = typeof act extends fc.Arbitrary<infer T> ? T : never;

interface Kind {
	/** Is a cursor still known when the place is opened anew? */
	readonly keepsCursors: boolean;
	open(path: string): Promise<TaskBackend>;
	/** Where it can be brought back: its one connection. */
	own?(backend: TaskBackend): RewindableTasks;
}

interface Look {
	readonly cursor: string;
	/** Else all tasks are told. */
	readonly isKnown: boolean;
	readonly tasks: readonly unknown[];
	readonly versions: ReadonlyMap<string, number>;
}

async function tell(acts: readonly Act[], { open, keepsCursors, own }: Kind): Promise<void> {
	const path = join(directory, `${++places}`);
	const first = await open(path);
	const writers: [TaskBackend, TaskBackend] = [first, own ? first : await open(path)];
	const opened: TaskBackend[] = [...writers];
	let model = new NaiveTasks();
	/** Ids of the backend, by those of the model: `#0`, `#1` and so on. */
	let ids = new Map<string, string>();
	const kept = new Map<number, readonly [NaiveTasks, Map<string, string>]>();
	const real = (id: string): string => ids.get(id) ?? "nobody";
	const keys: string[] = [];
	/** What each writer has seen. `versions` counts how often a task was changed. */
	const versions = new Map<string, number>();
	const looks: Look[] = [];
	for (const writer of writers)
		looks.push({ cursor: (await writer.changedSince()).cursor, isKnown: true, tasks: [], versions: new Map() });
	const forgotten = (by: number): void => {
		looks[by] = { ...(looks[by] as Look), isKnown: false, tasks: [] };
	};

	const asModel = ({ createdAt: _made, changedAt: _changed, ...task }: Task): unknown => {
		const named = new Map([...ids].map(([name, id]) => [id, name]));
		return { ...task, id: named.get(task.id), waitsFor: task.waitsFor.map((id) => named.get(id)) };
	};
	const look = async (by: number): Promise<void> => {
		const before = looks[by] as Look;
		const { tasks, gone, cursor } = await (writers[by] as TaskBackend).changedSince(before.cursor);
		const seen = tasks.map(asModel) as { id: string }[];
		const now = model.list();
		expect(gone).toEqual([]);
		expect(seen.toSorted((a, b) => Number(a.id.slice(1)) - Number(b.id.slice(1)))).toEqual(
			now.filter(({ id }) => seen.some((each) => each.id === id)),
		);
		const has = (id: string): boolean => seen.some((each) => each.id === id);
		for (const [i, task] of now.entries()) {
			if (JSON.stringify(task) !== JSON.stringify(before.tasks[i]))
				expect([task.id, has(task.id)]).toEqual([task.id, true]);
			const isUnchanged = (before.versions.get(task.id) ?? 0) === (versions.get(task.id) ?? 0);
			if (isUnchanged && before.isKnown) expect([task.id, has(task.id)]).toEqual([task.id, false]);
		}
		looks[by] = { cursor, isKnown: true, tasks: now, versions: new Map(versions) };
	};

	for (const [n, { kind, by, task, other, status, again, isTwice }] of acts.entries()) {
		if (kind === "look") {
			await look(by);
			continue;
		}
		if (kind === "reopen") {
			if (own) await writers[0].close();
			const writer = await open(path);
			opened.push(writer);
			writers[by] = writer;
			if (own) writers.fill(writer);
			for (const each of own ? [0, 1] : [by]) if (!keepsCursors) forgotten(each);
			continue;
		}
		if (own && kind === "capture" && kept.size < 9) {
			// Each seq once: a second capture of one changes nothing.
			const seq = kept.size + 1;
			await own(writers[0]).capture(seq);
			kept.set(seq, [model.copy(), new Map(ids)]);
		}
		if (own && kind === "restore") {
			const going = own(writers[0]).restoreToSeq(task + 1, () => true);
			const seq = [...kept.keys()].findLast((at) => at <= task + 1);
			if (seq === undefined) await expect(going).rejects.toMatchObject({ code: "SNAPSHOT_NO_GENERATION" });
			else {
				expect(await going).toBe(seq);
				[model, ids] = [kept.get(seq)?.[0].copy() ?? model, new Map(kept.get(seq)?.[1])];
				for (const each of [0, 1]) forgotten(each);
			}
		}
		if (kind === "capture" || kind === "restore") continue;
		const key = keys.at(-1 - (again ?? 99)) ?? `k${n}`;
		keys.push(key);
		const count = ids.size;
		const [a, b] = [`#${task % (count + 1)}`, `#${other % (count + 1)}`];
		const outcome = status === "done" ? `by ${n}` : undefined;
		const write = async (writer: TaskBackend): Promise<Task | { text: string }> =>
			kind === "create"
				? writer.create({ title: `${n}`, waitsFor: other > 4 ? [real(a), real(b)] : [] }, key)
				: kind === "setStatus"
					? writer.setStatus(real(a), status, key, outcome)
					: kind === "link"
						? writer.link(real(a), real(b), key)
						: writer.comment(real(a), `${n}`, key);
		const before = model.list();
		const expected =
			kind === "create"
				? model.create(`#${count}`, `${n}`, other > 4 ? [a, b] : [], key)
				: kind === "setStatus"
					? model.setStatus(a, status, key, outcome)
					: kind === "link"
						? model.link(a, b, key)
						: model.comment(a, `${n}`, key);
		for (const [i, each] of model.list().entries())
			if (JSON.stringify(each) !== JSON.stringify(before[i])) versions.set(each.id, (versions.get(each.id) ?? 0) + 1);
		const both = isTwice ? writers : [writers[by] as TaskBackend];
		const found = await Promise.allSettled(both.map(write));
		for (const answer of found) {
			if (answer.status === "fulfilled" && model.list().length > before.length)
				ids.set(`#${count}`, (answer.value as Task).id);
			expect(answerOf(answer, asModel)).toEqual(expected);
		}
	}

	for (const by of [0, 1]) await look(by);
	for (const writer of [...writers, ...(own ? [] : [await open(path)])]) {
		opened.push(writer);
		expect((await writer.list()).map(asModel)).toEqual(model.list());
		for (const [name, id] of ids)
			expect((await writer.comments(id)).map(({ text }) => text)).toEqual(model.comments.get(name) ?? []);
		for (const key of keys) {
			const written = await writer.written(key);
			const known = model.keys.get(key);
			if (!written || !known) expect([key, written]).toEqual([key, known]);
			else
				expect("task" in written ? { task: asModel(written.task) } : { comment: written.comment.text }).toEqual(known);
		}
	}
	for (const writer of opened) await writer.close();
	await rm(path, { recursive: true, force: true });
	for (const end of ["-wal", "-shm"]) await rm(path + end, { force: true });
}

function answerOf(answer: PromiseSettledResult<Task | { text: string }>, asModel: (task: Task) => unknown): unknown {
	if (answer.status === "rejected") return { code: answer.reason.code ?? answer.reason } satisfies Answer;
	return "text" in answer.value ? { comment: answer.value.text } : { task: asModel(answer.value) };
}

const acts = fc.array(act, { maxLength: 24 });

test("sqlite: each history ends as the naive one, for both writers and for one that comes later", async () => {
	const kind: Kind = { keepsCursors: true, open: async (path) => sqliteTasks({ path }) };
	await fc.assert(
		fc.asyncProperty(acts, (each) => tell(each, kind)),
		histories(20, 60),
	);
});

test("a directory of files: each history ends as the naive one, without a transaction", async () => {
	const kind: Kind = { keepsCursors: false, open: async (path) => directoryTasks(path) };
	await fc.assert(
		fc.asyncProperty(acts, (each) => tell(each, kind)),
		histories(10, 30),
	);
});

test("sqlite that goes back: at each moment it is as the naive one, which keeps copies", async () => {
	const kind: Kind = {
		keepsCursors: false,
		open: (path) => rewindableSqliteTasks({ path: join(path, "tasks.db"), directory: join(path, "generations"), log }),
		own: (backend) => backend as RewindableTasks,
	};
	await fc.assert(
		fc.asyncProperty(acts, (each) => tell(each, kind)),
		histories(10, 30),
	);
});
