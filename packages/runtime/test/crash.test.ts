import { cp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { offlineModel, tracedModel } from "@reyn/offline-model";
import { capture, fileSnapshots } from "@reyn/snapshot";
import { afterAll, beforeAll, expect, test } from "vitest";
import { mainSession } from "../src/index.ts";
import { makeProject, open, type Project } from "./project.ts";

const QUESTION = "How do the parser and the printer work together, and where is each of them tested?";

let project: Project;
let lines: string[];
let answer: string;
beforeAll(async () => {
	project = await makeProject();
	const { runtime, shown } = await open(project);
	await runtime.prompt(QUESTION);
	await runtime.idle();
	// One at each checkpoint: of its own accord a log as short as this one stores none.
	const snapshots = fileSnapshots(join(project.state, "state/snapshots"));
	for (const { seq } of runtime.timeline.checkpoints()) {
		const view = await runtime.timeline.at(seq, mainSession);
		await capture({ wal: runtime.wal, snapshots, projections: view.projections }, view);
	}
	await runtime.close();
	answer = shown[0]?.text ?? "";
	lines = (await readFile(join(project.state, "state/wal.jsonl"), "utf8")).split("\n").slice(0, -1);
});
afterAll(() => project[Symbol.asyncDispose]());

test("cut after any record, the log leads to the same answer, once, and no recorded model call is made again", async () => {
	expect(answer).toContain("src/parser.ts:");
	expect(lines.length).toBeGreaterThan(50);
	for (let kept = 1; kept <= lines.length; kept++) {
		const state = join(project.root, `cut-${kept}`);
		await cp(project.state, state, { recursive: true });
		await writeFile(
			join(state, "state/wal.jsonl"),
			lines
				.slice(0, kept)
				.map((line) => `${line}\n`)
				.join(""),
		);
		// As after a power cut that took the end: beside its head, a log that is too short is refused.
		await rm(join(state, "state/wal.head"));
		const snapshots = join(state, "state/snapshots/roots");
		for (const path of await readdir(snapshots, { recursive: true }))
			if (Number(/(\d{20})\.blob$/.exec(path)?.[1] ?? 0) >= kept) await rm(join(snapshots, path));
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
		await rm(state, { recursive: true });
	}
}, 120_000);

test("a second resume of a finished log does nothing", async () => {
	const { runtime, shown, events } = await open(project);
	const { tip } = runtime.wal;
	runtime.resume();
	await runtime.idle();
	expect([shown, events, runtime.wal.tip]).toEqual([[], [], tip]);
	await runtime.close();
});

test("a log that ends before its newest snapshot has lost acknowledged records, and is refused though its head is gone too", async () => {
	const state = join(project.root, "lost");
	await cp(project.state, state, { recursive: true });
	await rm(join(state, "state/wal.head"));
	const path = join(state, "state/wal.jsonl");
	await writeFile(path, `${lines.slice(0, 20).join("\n")}\n`);
	const before = await readFile(path);
	await expect(open({ ...project, state })).rejects.toMatchObject({ code: "WAL_CORRUPT" });
	expect(await readFile(path)).toEqual(before);
});
