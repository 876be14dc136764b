/** A runtime cut after any record comes to the same answer, and pays nothing twice. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { offlineModel, tracedModel } from "@reyn/offline-model";
import { capture, SnapshotStore } from "@reyn/snapshot";
import { afterAll, beforeAll, expect, test } from "vitest";
import { pointsOf } from "../../../tests/sample.ts";
import { mainSession } from "../src/index.ts";
import { copyState, cutAfter, keepLines, kindsIn, linesOf, removeState } from "./cut.ts";
import { makeProject, open, type Project, scripted, storeAt } from "./project.ts";

const QUESTION = "How do the parser and the printer work together, and where is each of them tested?";

let project: Project;
let lines: readonly string[];
let answer: string;
beforeAll(async () => {
	project = await makeProject();
	const { runtime, shown } = await open(project);
	await runtime.prompt(QUESTION);
	await runtime.idle();
	// One at each checkpoint: of its own accord a log as short as this one stores none.
	const snapshots = new SnapshotStore(storeAt(project.state).blobs("snapshots"));
	for (const { seq } of runtime.timeline.checkpoints()) {
		const view = await runtime.timeline.at(seq, mainSession);
		await capture({ wal: runtime.wal, snapshots, projections: view.projections }, view);
	}
	await runtime.close();
	answer = shown[0]?.text ?? "";
	lines = await linesOf(project.state);
});
afterAll(() => project[Symbol.asyncDispose]());

test("cut after any record, the log leads to the same answer, once, and no recorded model call is made again", async () => {
	expect(answer).toContain("src/parser.ts:");
	expect(lines.length).toBeGreaterThan(50);
	for (const kept of pointsOf(1, lines.length, 8)) {
		const state = await copyState(project.state, join(project.root, `cut-${kept}`));
		await keepLines(state, kept);
		const snapshots = storeAt(state).blobs("snapshots");
		for (const name of await snapshots.list("roots/"))
			if (Number(name.slice(-20)) >= kept) await snapshots.delete(name);
		const before = lines
			.slice(1, kept)
			.map((line) => JSON.parse(line) as { kind: string; data: { kind?: string; fp: string; plan?: string } });
		const recorded = new Set(
			before.filter(({ kind, data }) => kind === "step_completed" && data.kind === "model").map(({ data }) => data.fp),
		);

		const trace = join(project.root, `cut-${kept}.calls`);
		const { runtime, shown } = await open({ ...project, state }, { model: tracedModel(offlineModel(), trace) });
		if (!before.some(({ kind }) => kind === "user_prompt")) await runtime.prompt(QUESTION);
		runtime.resume();
		await runtime.idle();
		const said = runtime
			.conversation()
			.items.toArray()
			.flatMap((item) => (item.type === "message" ? [item.text] : []));
		expect(said, `cut after ${kept} lines`).toEqual([answer]);
		const seenBefore = before.some(({ kind }) => kind === "message_delivered");
		expect(shown.map(({ text }) => text)).toEqual(seenBefore ? [] : [answer]);
		expect(runtime.restored()).toMatchObject({ turns: [], plans: [], runs: [], undelivered: [] });
		await runtime.close();

		const paid = (await readFile(trace, { encoding: "utf8", flag: "a+" })).split("\n").filter((line) => line !== "");
		expect(paid.filter((line) => recorded.has((JSON.parse(line) as { request: string }).request))).toEqual([]);
		await removeState(state);
	}
});

test("a turn that is cut after any record of it, its last ones too, is answered once and pays for that once", async () => {
	await using own = await makeProject();
	const { runtime } = await open(own, { model: scripted(() => "the answer") });
	const turn = await runtime.prompt("a question");
	await runtime.idle();
	await runtime.close();
	const kinds = await kindsIn(own);
	const paid = kinds.indexOf("step_completed") + 1;
	expect(paid).toBeGreaterThan(turn);
	for (let seq = turn; seq <= kinds.length; seq++) {
		const state = await cutAfter(own, seq);
		const model = scripted(() => "the answer");
		const { runtime: next } = await open({ ...own, state }, { model });
		next.resume();
		await next.idle();
		const said = next
			.conversation()
			.items.toArray()
			.flatMap((item) => (item.type === "reply" ? [item.text] : []));
		expect([seq, said, model.asked.length]).toEqual([seq, ["the answer"], seq < paid ? 1 : 0]);
		await next.close();
		await removeState(state);
	}
});

test("a second resume of a finished log does nothing", async () => {
	const { runtime, shown, events } = await open(project);
	const { tip } = runtime.wal;
	runtime.resume();
	await runtime.idle();
	expect([shown, events, runtime.wal.tip]).toEqual([[], [], tip]);
	await runtime.close();
});

test("a log that ends before its newest snapshot has lost acknowledged records, and is refused though its head is gone too", async () => {
	const state = await copyState(project.state, join(project.root, "lost"));
	await keepLines(state, 20);
	const before = await linesOf(state);
	await expect(open({ ...project, state })).rejects.toMatchObject({ code: "WAL_CORRUPT" });
	expect(await linesOf(state)).toEqual(before);
});
