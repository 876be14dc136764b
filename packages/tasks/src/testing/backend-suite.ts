/** A test suite that any backend of tasks has to pass: each sentence of the port. */
import { codeOf } from "@reyn/wal";
import type { Runner } from "@reyn/wal/testing";
import type { TaskBackend } from "../backend.ts";
import type { TaskError } from "../errors.ts";
import { type Task, type TaskStatus, taskCommentSchema, taskSchema, taskStatusSchema } from "../task.ts";

/** A place that tasks lie in, fresh and empty. */
export interface TaskStoreUnderTest {
	/** Another backend over the same place, as another process would have. */
	open(): Promise<TaskBackend>;
	/** From now on it takes no write, until what it gives is called. Absent: the suite does not see what becomes of a write then. */
	breakDown?(): Promise<() => Promise<void>>;
	/** Another program takes a task away. Absent: the suite does not see what becomes of one that is gone. */
	remove?(id: string): Promise<void>;
	/** Another program gives a task another title. Absent: the suite does not see whether that is noticed. */
	retitle?(id: string, title: string): Promise<void>;
}

/**
 * Runs the contract over a backend. What it cannot see: whether an acknowledged write survives a power cut, and whether a key is unique
 * between two processes at the same moment; kill some for that.
 */
export function testTaskBackend(
	{ describe, test: run, expect }: Runner,
	name: string,
	make: () => Promise<TaskStoreUnderTest>,
): void {
	const test = (sentence: string, body: (place: Place) => Promise<void>): void =>
		run(sentence, async () => {
			await using place = new Place(await make());
			await body(place);
		});

	describe(`the port over ${name}`, () => {
		test("a new task is unassigned, is what was said of it, and is found", async (place) => {
			const tasks = await place.open();
			const first = await tasks.create({ title: "first" }, "k1");
			const second = await tasks.create({ title: "second", description: "why", waitsFor: [first.id, first.id] }, "k2");
			const { createdAt, changedAt } = second;
			expect(second).toEqual({
				...{ id: second.id, title: "second", description: "why", status: "unassigned", waitsFor: [first.id] },
				...{ createdAt, changedAt },
			});
			expect([first.description, first.waitsFor, "outcome" in first]).toEqual(["", [], false]);
			expect([first.id === second.id, createdAt >= first.createdAt]).toEqual([false, true]);
			expect([await tasks.get(first.id), await tasks.get(second.id)]).toEqual([first, second]);
			expect(await tasks.list()).toEqual([first, second]);
			for (const task of [first, second]) expect(taskSchema.parse(task)).toEqual(task);
		});

		test("what texts hold is data: empty, at the limit, of any script, with control codes, as it was said", async (place) => {
			const tasks = await place.open();
			const texts = [
				"",
				"\u0000",
				"a\r\n\tb\n",
				"\u001b]8;;x\u0007\u202e\u2028",
				"ﷺ 👩‍👩‍👧 e\u0301 \uffff",
				"'; --\\\"{}",
				"---\n# a",
			];
			const kept: Task[] = [];
			for (const [i, text] of [...texts, "é".repeat(500)].entries()) {
				const { id } = await tasks.create({ title: text, description: text }, `c${i}`);
				kept.push(await tasks.setStatus(id, "done", `d${i}`, text));
				expect([kept[i]?.title, kept[i]?.description, kept[i]?.outcome]).toEqual([text, text, text]);
				expect((await tasks.comment(id, text, `t${i}`)).text).toEqual(text);
			}
			const long = "\u{1f600}".repeat(50_000);
			const { id } = await tasks.create({ title: "long", description: long }, "long");
			kept.push(await tasks.setStatus(id, "done", "long done", long));
			await tasks.comment(id, long, "long said");
			const again = await place.reopened();
			expect(await again.list()).toEqual(kept);
			expect((await again.comments(id)).map(({ text }) => text)).toEqual([long]);
			for (const [i, text] of texts.entries())
				expect((await again.comments(kept[i]?.id ?? "")).map((comment) => comment.text)).toEqual([text]);
		});

		test("what is beyond the limits is refused, and nothing is written", async (place) => {
			const tasks = await place.open();
			const { id } = await tasks.create({ title: "one" }, "k1");
			const before = await tasks.list();
			const [long, half] = ["x".repeat(100_001), "half \ud83d"];
			const refused: (() => Promise<unknown>)[] = [
				() => tasks.create({ title: "x".repeat(501) }, "k2"),
				() => tasks.create({ title: half }, "k2"),
				() => tasks.create({ title: "x", description: long }, "k2"),
				() => tasks.create({ title: "x", description: half }, "k2"),
				() => tasks.create({} as { title: string }, "k2"),
				() => tasks.create({ title: "x" }, ""),
				() => tasks.create({ title: "x" }, "k".repeat(501)),
				() => tasks.setStatus(id, "done", "k2", long),
				() => tasks.setStatus(id, "done", "k2", half),
				() => tasks.setStatus(id, "open" as TaskStatus, "k2"),
				() => tasks.comment(id, long, "k2"),
				() => tasks.comment(id, half, "k2"),
				() => tasks.list({ limit: 0 }),
				() => tasks.list({ limit: 1.5 }),
				() => tasks.list({ status: ["open" as TaskStatus] }),
			];
			for (const [i, each] of refused.entries()) expect([i, await codeThrownBy(each)]).toEqual([i, "TASK_INVALID"]);
			expect([await tasks.list(), await tasks.comments(id), await tasks.written("k2")]).toEqual([
				before,
				[],
				undefined,
			]);
		});

		for (const from of taskStatusSchema.options)
			test(`from ${from} it goes only where the table says, and where it may not go nothing is changed`, async (place) => {
				const tasks = await place.open();
				for (const wanted of taskStatusSchema.options) {
					const { id, status } = await taskThatIs(tasks, from, `${from} ${wanted}`);
					expect(status).toEqual(from);
					const before = await tasks.get(id);
					const key = `${from} to ${wanted}`;
					if (table[from].includes(wanted)) {
						// It waits for something, as it did.
						const becomes = from === "blocked" && wanted === "ready" ? "blocked" : wanted;
						const task = await tasks.setStatus(id, wanted, key, "said");
						expect([key, task.status, task.outcome]).toEqual([key, becomes, "said"]);
						expect(await tasks.get(id)).toEqual(task);
					} else {
						expect([key, await codeThrownBy(() => tasks.setStatus(id, wanted, key, "said"))]).toEqual([
							key,
							"TASK_STATUS",
						]);
						expect([await tasks.get(id), await tasks.written(key)]).toEqual([before, undefined]);
					}
				}
			});

		test("an outcome is what was said with the last status; said with none there is none", async (place) => {
			const tasks = await place.open();
			const { id } = await taskThatIs(tasks, "ready", "a");
			const outcomes: unknown[] = [];
			for (const [i, said] of ["half done", undefined, "", "done"].entries())
				outcomes.push((await tasks.setStatus(id, "running", `r${i}`, said)).outcome);
			expect(outcomes).toEqual(["half done", undefined, "", "done"]);
			expect((await tasks.setStatus(id, "ready", "again")).outcome).toEqual(undefined);
		});

		test("a key that was used writes nothing, and gives what it gave: another content, another writer, opened anew", async (place) => {
			const tasks = await place.open();
			const one = await tasks.create({ title: "one" }, "made");
			const two = await tasks.create({ title: "two" }, "made too");
			const linked = await tasks.link(one.id, two.id, "linked");
			const taken = await tasks.setStatus(one.id, "ready", "taken", "by me");
			const said = await tasks.comment(one.id, "text", "said");
			await tasks.setStatus(one.id, "aborted", "over", "no more");
			const before = [await tasks.list(), await tasks.comments(one.id)];
			for (const opened of [async () => tasks, () => place.open(), () => place.reopened()]) {
				const writer = await opened();
				expect(await writer.create({ title: "one" }, "made")).toEqual(one);
				expect(await writer.create({ title: "other", waitsFor: ["nobody"] }, "made")).toEqual(one);
				expect(await writer.link(one.id, two.id, "linked")).toEqual(linked);
				expect(await writer.link(two.id, two.id, "linked")).toEqual(linked);
				expect(await writer.setStatus(one.id, "ready", "taken", "by me")).toEqual(taken);
				expect(await writer.setStatus(two.id, "blocked", "taken")).toEqual(taken);
				expect(await writer.comment(one.id, "text", "said")).toEqual(said);
				expect(await writer.comment("nobody", "other", "said")).toEqual(said);
				// Of one sort of change the key is that of any.
				expect(await writer.setStatus(two.id, "done", "made")).toEqual(one);
				expect(await writer.written("made")).toEqual({ task: one });
				expect(await writer.written("linked")).toEqual({ task: linked });
				expect(await writer.written("taken")).toEqual({ task: taken });
				expect(await writer.written("said")).toEqual({ comment: said });
				expect(await writer.written("never")).toEqual(undefined);
				expect([await writer.list(), await writer.comments(one.id)]).toEqual(before);
			}
			expect([taken.status, taken.outcome, linked.waitsFor]).toEqual(["blocked", "by me", [two.id]]);
		});

		test("a key of a comment is none of a change, nor the other way round", async (place) => {
			const tasks = await place.open();
			const { id } = await tasks.create({ title: "one" }, "a change");
			await tasks.comment(id, "text", "a comment");
			const wrong: (() => Promise<unknown>)[] = [
				() => tasks.comment(id, "text", "a change"),
				() => tasks.create({ title: "two" }, "a comment"),
				() => tasks.setStatus(id, "done", "a comment"),
				() => tasks.link(id, id, "a comment"),
			];
			for (const each of wrong) expect(await codeThrownBy(each)).toEqual("TASK_INVALID");
			expect([(await tasks.list()).length, (await tasks.comments(id)).length]).toEqual([1, 1]);
		});

		test("keys differ by each of their characters", async (place) => {
			const tasks = await place.open();
			const keys = ["k", "K", "k ", "ｋ", "k/../k", "k\u0000", "é", "e\u0301", "x".repeat(500), `${"x".repeat(499)}y`];
			for (const key of keys) await tasks.create({ title: key.slice(0, 10) }, key);
			expect((await tasks.list()).length).toEqual(keys.length);
		});

		test("what is refused has used no key", async (place) => {
			const tasks = await place.open();
			const { id } = await tasks.create({ title: "one" }, "made");
			const refused: (() => Promise<unknown>)[] = [
				() => tasks.setStatus(id, "running", "k"),
				() => tasks.link(id, id, "k"),
				() => tasks.create({ title: "two", waitsFor: ["nobody"] }, "k"),
				() => tasks.comment("nobody", "text", "k"),
			];
			for (const each of refused) {
				expect(typeof (await codeThrownBy(each))).toEqual("string");
				expect(await tasks.written("k")).toEqual(undefined);
			}
			expect((await tasks.setStatus(id, "ready", "k")).status).toEqual("ready");
		});

		test("two writers at once: a key is used once, and no write is lost", async (place) => {
			const [a, b] = [await place.open(), await place.open()];
			const both = await Promise.all([a, b].map((each, i) => each.create({ title: `by ${i}` }, "same")));
			expect(both[0]).toEqual(both[1]);
			const { id = "" } = both[0] ?? {};
			await Promise.all(
				[a, b].flatMap((each, i) =>
					[0, 1, 2, 3].flatMap((n) => [
						each.create({ title: `${i} ${n}` }, `own ${i} ${n}`),
						each.comment(id, `${i} ${n}`, `said ${i} ${n}`),
						each.setStatus(id, n % 2 === 0 ? "ready" : "unassigned", `set ${i} ${n}`),
					]),
				),
			);
			const tasks = await place.reopened();
			expect(
				(await tasks.list())
					.map(({ title }) => title)
					.sort()
					.slice(0, -1),
			).toEqual([0, 1].flatMap((i) => [0, 1, 2, 3].map((n) => `${i} ${n}`)));
			expect((await tasks.comments(id)).length).toEqual(8);
			for (const i of [0, 1])
				for (const n of [0, 1, 2, 3])
					expect([i, n, "task" in ((await tasks.written(`set ${i} ${n}`)) ?? {})]).toEqual([i, n, true]);
		});

		test("a task is blocked until all that it waits for is done, and then it is ready by itself", async (place) => {
			const tasks = await place.open();
			const [a, b] = [await tasks.create({ title: "a" }, "a"), await tasks.create({ title: "b" }, "b")];
			const { id } = await tasks.create({ title: "c", waitsFor: [a.id, b.id] }, "c");
			const untaken = await tasks.create({ title: "d", waitsFor: [a.id] }, "d");
			const status = async (of = id): Promise<unknown> => (await tasks.get(of))?.status;
			expect((await tasks.setStatus(id, "ready", "taken")).status).toEqual("blocked");
			await tasks.setStatus(a.id, "done", "a done");
			expect([await status(), await status(untaken.id)]).toEqual(["blocked", "unassigned"]);
			for (const [i, over] of (["aborted", "ready", "failed"] as const).entries()) {
				await tasks.setStatus(b.id, over, `b ${i}`);
				expect([over, await status()]).toEqual([over, "blocked"]);
			}
			await tasks.setStatus(b.id, "ready", "b again");
			await tasks.setStatus(b.id, "done", "b done");
			expect(await status()).toEqual("ready");
			// What is done is set going again, and what waits for it is held up: unless that has begun.
			await tasks.setStatus(a.id, "ready", "a again");
			expect(await status()).toEqual("blocked");
			await tasks.setStatus(a.id, "done", "a done again");
			await tasks.setStatus(id, "running", "begun");
			await tasks.setStatus(a.id, "unassigned", "a once more");
			expect(await status()).toEqual("running");
			expect((await tasks.setStatus(id, "ready", "given back")).status).toEqual("blocked");
		});

		test("a link holds up what is ready, not what has begun; a link that is there stays as it is", async (place) => {
			const tasks = await place.open();
			const open = await tasks.create({ title: "open" }, "open");
			const over = await taskThatIs(tasks, "done", "over");
			const ready = await taskThatIs(tasks, "ready", "ready");
			const running = await taskThatIs(tasks, "running", "running");
			expect((await tasks.link(ready.id, over.id, "l1")).status).toEqual("ready");
			const held = await tasks.link(ready.id, open.id, "l2");
			expect([held.status, held.waitsFor]).toEqual(["blocked", [over.id, open.id]]);
			expect(await tasks.link(ready.id, over.id, "l3")).toEqual(held);
			expect((await tasks.link(running.id, open.id, "l4")).status).toEqual("running");
			expect((await tasks.link(over.id, open.id, "l5")).status).toEqual("done");
			expect(await tasks.get(ready.id)).toEqual(held);
		});

		test("nothing waits for itself: a cycle is refused with its path", async (place) => {
			const tasks = await place.open();
			const ids: string[] = [];
			for (const n of [0, 1, 2, 3]) ids.push((await tasks.create({ title: `${n}` }, `${n}`)).id);
			const [a = "", b = "", c = "", d = ""] = ids;
			await tasks.link(a, b, "ab");
			await tasks.link(b, c, "bc");
			await tasks.link(a, d, "ad");
			await tasks.link(d, c, "dc");
			expect(await pathThrownBy(() => tasks.link(a, a, "aa"))).toEqual([a, a]);
			expect(await pathThrownBy(() => tasks.link(b, a, "ba"))).toEqual([b, a, b]);
			const path = await pathThrownBy(() => tasks.link(c, a, "ca"));
			expect([[c, a, b, c].join(), [c, a, d, c].join()].includes(String(path))).toEqual(true);
			// Also by what is over.
			await tasks.setStatus(b, "done", "b done");
			expect(await pathThrownBy(() => tasks.link(b, a, "ba"))).toEqual([b, a, b]);
			expect((await tasks.get(c))?.waitsFor).toEqual([]);
		});

		test("a task that there is not is unknown to each call", async (place) => {
			const tasks = await place.open();
			const { id } = await tasks.create({ title: "one" }, "made");
			expect(await tasks.get("nobody")).toEqual(undefined);
			const unknown: (() => Promise<unknown>)[] = [
				() => tasks.comments("nobody"),
				() => tasks.comment("nobody", "text", "k"),
				() => tasks.setStatus("nobody", "ready", "k"),
				() => tasks.link("nobody", id, "k"),
				() => tasks.link(id, "nobody", "k"),
				() => tasks.create({ title: "two", waitsFor: [id, "nobody"] }, "k"),
				() => tasks.list({ after: "nobody" }),
				() => tasks.comments("../nobody"),
			];
			for (const [i, each] of unknown.entries()) expect([i, await codeThrownBy(each)]).toEqual([i, "TASK_UNKNOWN"]);
			expect((await tasks.list()).length).toEqual(1);
		});

		test("a list is in the order of making, by pages, of the statuses that are asked for", async (place) => {
			const tasks = await place.open();
			const made: Task[] = [];
			for (let n = 0; n < 12; n++) made.push(await tasks.create({ title: `${n}` }, `${n}`));
			for (const n of [1, 4, 5, 9]) await tasks.setStatus(made[n]?.id ?? "", "ready", `ready ${n}`);
			await tasks.setStatus(made[5]?.id ?? "", "running", "running 5");
			const titles = async (filter: Parameters<TaskBackend["list"]>[0]): Promise<readonly string[]> =>
				(await tasks.list(filter)).map(({ title }) => title);
			expect(await titles({ limit: 5 })).toEqual(["0", "1", "2", "3", "4"]);
			const pages: string[] = [];
			for (let after: string | undefined; ; ) {
				const page = await tasks.list({ limit: 5, ...(after !== undefined && { after }) });
				pages.push(page.map(({ title }) => title).join(" "));
				after = page.at(-1)?.id;
				if (page.length < 5) break;
			}
			expect(pages).toEqual(["0 1 2 3 4", "5 6 7 8 9", "10 11"]);
			expect(await titles({ status: ["ready"] })).toEqual(["1", "4", "9"]);
			expect(await titles({ status: ["running", "ready"], limit: 2, after: made[1]?.id ?? "" })).toEqual(["4", "5"]);
			expect([await titles({ status: [] }), await titles({ status: ["failed"] })]).toEqual([[], []]);
		});

		test("comments are told in order, each of its task, and are no change of it", async (place) => {
			const tasks = await place.open();
			const [a, b] = [await tasks.create({ title: "a" }, "a"), await tasks.create({ title: "b" }, "b")];
			const { cursor } = await tasks.changedSince();
			const said = [];
			for (let n = 0; n < 12; n++) said.push(await tasks.comment(n === 5 ? b.id : a.id, `${n}`, `said ${n}`));
			const ofA = await tasks.comments(a.id);
			expect(ofA).toEqual(said.filter(({ task }) => task === a.id));
			expect(ofA.map(({ text }) => text)).toEqual(["0", "1", "2", "3", "4", "6", "7", "8", "9", "10", "11"]);
			expect((await tasks.comments(b.id)).map(({ text }) => text)).toEqual(["5"]);
			expect(new Set(said.map(({ id }) => id)).size).toEqual(12);
			for (const comment of said) expect(taskCommentSchema.parse(comment)).toEqual(comment);
			expect([await tasks.get(a.id), (await tasks.changedSince(cursor)).tasks]).toEqual([a, []]);
		});

		test("changes since a cursor are told once, oldest first, with those that came by themselves and those of others", async (place) => {
			const [tasks, other] = [await place.open(), await place.open()];
			const start = await tasks.changedSince();
			expect([start.tasks, start.gone]).toEqual([[], []]);
			const a = await tasks.create({ title: "a" }, "a");
			const b = await other.create({ title: "b", waitsFor: [a.id] }, "b");
			const first = await tasks.changedSince(start.cursor);
			expect(first.tasks.map(({ title }) => title)).toEqual(["a", "b"]);
			expect((await tasks.changedSince(first.cursor)).tasks).toEqual([]);
			await tasks.setStatus(b.id, "ready", "taken");
			await other.setStatus(a.id, "done", "done");
			const second = await tasks.changedSince(first.cursor);
			expect(second.tasks.map(({ title, status }) => `${title} ${status}`).sort()).toEqual(["a done", "b ready"]);
			await tasks.setStatus(a.id, "done", "done");
			await tasks.link(b.id, a.id, "there already");
			expect((await tasks.changedSince(second.cursor)).tasks).toEqual([]);
			// The newest of several changes, and from an older cursor too.
			expect((await tasks.changedSince(start.cursor)).tasks.length).toEqual(2);
			expect((await tasks.changedSince()).tasks).toEqual([]);
		});

		test("a cursor of another life, or none at all, gives all tasks; one from before it was opened anew loses no change", async (place) => {
			const tasks = await place.open();
			const { cursor } = await tasks.changedSince();
			const a = await tasks.create({ title: "a" }, "a");
			await tasks.create({ title: "b" }, "b");
			const middle = (await tasks.changedSince(cursor)).cursor;
			await tasks.setStatus(a.id, "ready", "taken");
			for (const strange of ["", "never given", "ffff:9", `${middle}0000000`, "-1"]) {
				const { tasks: all, cursor: next } = await tasks.changedSince(strange);
				expect([strange, all.map(({ title }) => title).sort()]).toEqual([strange, ["a", "b"]]);
				expect((await tasks.changedSince(next)).tasks).toEqual([]);
			}
			const again = await place.reopened();
			const { tasks: changed, cursor: last } = await again.changedSince(middle);
			expect(changed.map(({ title }) => title).includes("a")).toEqual(true);
			expect((await again.changedSince(last)).tasks).toEqual([]);
		});

		test("opened anew, all is as it was", async (place) => {
			const tasks = await place.open();
			for (const status of taskStatusSchema.options) {
				const { id } = await taskThatIs(tasks, status, status);
				await tasks.comment(id, `of ${status}`, `said ${status}`);
			}
			const all = async (of: TaskBackend): Promise<unknown> => {
				const list = await of.list();
				return [list, await Promise.all(list.map(({ id }) => of.comments(id)))];
			};
			const before = await all(tasks);
			expect(await all(await place.reopened())).toEqual(before);
		});

		test("what is closed is down, and stays as it was", async (place) => {
			const tasks = await place.open();
			await tasks.create({ title: "a" }, "a");
			await tasks.close();
			await tasks.close();
			for (const each of [
				() => tasks.create({ title: "b" }, "b"),
				() => tasks.get("a"),
				() => tasks.list(),
				() => tasks.written("b"),
			])
				expect(await codeThrownBy(each)).toEqual("TASK_BACKEND_DOWN");
			expect((await (await place.open()).list()).map(({ title }) => title)).toEqual(["a"]);
		});

		test("a backend that is down says so, and has written nothing that a key does not tell of", async (place) => {
			const tasks = await place.open();
			const { id } = await tasks.create({ title: "a" }, "a");
			const breakDown = place.store.breakDown?.bind(place.store);
			if (!breakDown) return;
			const mend = await breakDown();
			const writes: (readonly [key: string, write: () => Promise<unknown>])[] = [
				["made", () => tasks.create({ title: "b" }, "made")],
				["taken", () => tasks.setStatus(id, "ready", "taken")],
				["said", () => tasks.comment(id, "text", "said")],
			];
			for (const [key, write] of writes) expect([key, await codeThrownBy(write)]).toEqual([key, "TASK_BACKEND_DOWN"]);
			await mend();
			const known = await Promise.all(writes.map(([key]) => tasks.written(key)));
			const { status } = (await tasks.get(id)) ?? {};
			expect([(await tasks.list()).length, status, (await tasks.comments(id)).length]).toEqual([
				known[0] ? 2 : 1,
				known[1] ? "ready" : "unassigned",
				known[2] ? 1 : 0,
			]);
			for (const [, write] of writes) await write();
			expect([(await tasks.list()).length, (await tasks.comments(id)).length]).toEqual([2, 1]);
		});

		test("a task that another program has taken away is gone, and nothing waits for it", async (place) => {
			const tasks = await place.open();
			const { id } = await tasks.create({ title: "a" }, "a");
			const waiting = await tasks.create({ title: "b", waitsFor: [id] }, "b");
			await tasks.setStatus(waiting.id, "ready", "taken");
			const { cursor } = await tasks.changedSince();
			const remove = place.store.remove?.bind(place.store);
			if (!remove) return;
			await remove(id);
			expect([await tasks.get(id), (await tasks.list()).map(({ title }) => title)]).toEqual([undefined, ["b"]]);
			for (const each of [
				() => tasks.comments(id),
				() => tasks.setStatus(id, "ready", "k"),
				() => tasks.comment(id, "text", "k"),
			])
				expect(await codeThrownBy(each)).toEqual("TASK_UNKNOWN");
			const { gone, tasks: changed } = await tasks.changedSince(cursor);
			expect([gone.length === 0 || gone.join() === id, changed.some((task) => task.id === id)]).toEqual([true, false]);
			expect((await tasks.setStatus(waiting.id, "ready", "again")).status).toEqual("ready");
			const fresh = await tasks.create({ title: "c" }, "c");
			expect(fresh.id === id).toEqual(false);
			// Its key may be kept, or gone with it: the write is made at most once more.
			const again = await tasks.create({ title: "a again" }, "a");
			expect(await tasks.create({ title: "a once more" }, "a")).toEqual(again);
		});

		test("what another program changes is seen, and told as a change", async (place) => {
			const tasks = await place.open();
			const { id } = await tasks.create({ title: "a" }, "a");
			const { cursor } = await tasks.changedSince();
			const retitle = place.store.retitle?.bind(place.store);
			if (!retitle) return;
			await retitle(id, "by another");
			expect((await tasks.get(id))?.title).toEqual("by another");
			const changes = await tasks.changedSince(cursor);
			expect(changes.tasks.map(({ title }) => title)).toEqual(["by another"]);
			expect((await tasks.changedSince(changes.cursor)).tasks).toEqual([]);
		});
	});
}

/** What may be asked for from each, written out here apart from what decides it. */
const table: Readonly<Record<TaskStatus, readonly TaskStatus[]>> = {
	unassigned: ["unassigned", "ready", "done", "aborted"],
	blocked: ["unassigned", "ready", "done", "aborted"],
	ready: ["unassigned", "ready", "running", "done", "failed", "aborted"],
	running: ["unassigned", "ready", "running", "done", "failed", "aborted"],
	done: ["unassigned", "ready", "done"],
	failed: ["unassigned", "ready", "failed"],
	aborted: ["unassigned", "ready", "aborted"],
};

/** A new one, set to what leads there. */
async function taskThatIs(tasks: TaskBackend, status: TaskStatus, key: string): Promise<Task> {
	const waitsFor = status === "blocked" ? [(await tasks.create({ title: "awaited" }, `${key}: awaited`)).id] : [];
	let task = await tasks.create({ title: status, waitsFor }, `${key}: made`);
	const way: readonly TaskStatus[] =
		status === "unassigned"
			? []
			: status === "blocked" || status === "ready"
				? ["ready"]
				: ["ready", "running", status];
	for (const [i, each] of way.entries()) task = await tasks.setStatus(task.id, each, `${key}: ${i}`);
	return task;
}

/** A store, and what was opened over it. */
class Place implements AsyncDisposable {
	readonly store: TaskStoreUnderTest;
	readonly #opened: TaskBackend[] = [];

	constructor(store: TaskStoreUnderTest) {
		this.store = store;
	}

	async open(): Promise<TaskBackend> {
		const backend = await this.store.open();
		this.#opened.push(backend);
		return backend;
	}

	/** Once all that is open is closed. */
	async reopened(): Promise<TaskBackend> {
		await this[Symbol.asyncDispose]();
		return this.open();
	}

	async [Symbol.asyncDispose](): Promise<void> {
		for (const backend of this.#opened.splice(0)) await backend.close();
	}
}

async function codeThrownBy(work: () => Promise<unknown>): Promise<unknown> {
	return codeOf(await thrownBy(work)) ?? "nothing was thrown";
}

async function pathThrownBy(work: () => Promise<unknown>): Promise<unknown> {
	const error = await thrownBy(work);
	return codeOf(error) === "TASK_CYCLE" ? (error as TaskError).detail.path : error;
}

async function thrownBy(work: () => Promise<unknown>): Promise<unknown> {
	try {
		await work();
		return undefined;
	} catch (error) {
		return error;
	}
}
