/** What is taken over from another moment: one file, the last answer or what a step found; undo takes back just that. */
import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createFileTools, createWorkFiles } from "@reyn/tools";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { conversation, messagesBefore, type Runtime, type RuntimeOptions } from "../src/index.ts";
import { copyState, keepLines, linesOf } from "./cut.ts";
import { filesTest } from "./files-test.ts";
import { makeProject, type Opened, open, type Project, scripted, storeAt } from "./project.ts";

let project: Project;
beforeEach(async () => {
	project = await makeProject();
	await writeFile(at("a.txt"), "one\n");
	await writeFile(at("b.txt"), "b\n");
});
afterEach(() => project[Symbol.asyncDispose]());

const at = (path: string, cwd = project.cwd): string => join(cwd, path);
const edit = (path: string, old: string, now: string) => ({ name: "edit", args: { path, old, new: now } });

const openIt = (options: Partial<RuntimeOptions> = {}, state = project.state, cwd = project.cwd): Promise<Opened> =>
	open(
		project,
		{
			model: scripted(({ messages }) => {
				const last = messages.at(-1);
				return last?.role === "user" && last.text.startsWith("[") ? JSON.parse(last.text) : `done: ${last?.text}`;
			}),
			tools: createFileTools(cwd, { writes: true }),
			files: createWorkFiles(cwd),
			...options,
		},
		storeAt(state),
	);

async function turn(runtime: Runtime, ...calls: readonly object[]): Promise<void> {
	await runtime.prompt(JSON.stringify(calls));
	await runtime.idle();
}

const held = (cwd?: string) => Promise.all(["a.txt", "b.txt"].map((path) => readFile(at(path, cwd), "utf8")));

/** Two files change on a line that is left, and both again on the next. @returns the end of the line that was left */
async function worked(runtime: Runtime): Promise<number> {
	await turn(runtime, edit("a.txt", "one", "two"), edit("b.txt", "b", "bb"));
	const left = runtime.wal.tip;
	await runtime.checkout(0, "me");
	await turn(runtime, edit("a.txt", "two", "three"), edit("b.txt", "bb", "bbb"));
	return left;
}

const stateOf = async ({ timeline, wal }: Runtime): Promise<string> =>
	(await timeline.at(wal.tip, { agent: "default", session: "main" }))
		.get(conversation)
		.items.toArray()
		.map(({ seq }) => seq)
		.join();

describe("a file", () => {
	test("is taken over from a line that was left, alone; history stays, and undo and redo move just that file", async () => {
		const { runtime } = await openIt();
		const left = await worked(runtime);
		const [state, branches] = [await stateOf(runtime), runtime.timeline.branches().map(({ name }) => name)];
		expect(await runtime.previewFiles(left, false, ["a.txt"])).toMatchObject({
			changes: [{ path: "a.txt", change: "changed" }],
			kept: [],
		});
		const { files, seq } = await runtime.adoptFile("a.txt", left, "me", { expect: runtime.wal.tip });
		expect(files?.changes).toEqual([{ path: "a.txt", change: "changed" }]);
		expect([await held(), await stateOf(runtime)]).toEqual([["two\n", "bbb\n"], state]);
		expect(runtime.timeline.branches().map(({ name }) => name)).toEqual(branches);
		expect((await runtime.timeline.record(seq))?.data).toMatchObject({ target: left, mode: "adopt", actor: "me" });
		await turn(runtime, edit("b.txt", "bbb", "later"));
		await runtime.undo("me");
		expect(await held()).toEqual(["three\n", "later\n"]);
		await runtime.redo("me");
		expect(await held()).toEqual(["two\n", "later\n"]);
		expect(await runtime.adoptFile("a.txt", runtime.wal.tip, "me")).toMatchObject({ kind: "none" });
	});

	test("that somebody else has changed since stays, unless theirs is taken as it was seen; undo brings theirs back", async () => {
		const { runtime } = await openIt();
		const left = await worked(runtime);
		await writeFile(at("a.txt"), "theirs\n");
		expect(await runtime.previewFiles(left, false, ["a.txt"])).toMatchObject({
			changes: [],
			kept: [{ path: "a.txt", isTheirs: true }],
		});
		const { theirs } = await runtime.previewFiles(left, true, ["a.txt"]);
		await writeFile(at("a.txt"), "theirs again\n");
		const refused = await runtime.adoptFile("a.txt", left, "me", { theirs });
		expect(refused.files).toMatchObject({ changes: [], kept: [{ path: "a.txt" }] });
		expect((await held())[0]).toBe("theirs again\n");
		await runtime.adoptFile("a.txt", left, "me", {
			theirs: (await runtime.previewFiles(left, true, ["a.txt"])).theirs,
		});
		expect((await held())[0]).toBe("two\n");
		await runtime.undo("me");
		expect((await held())[0]).toBe("theirs again\n");
	});

	test("is not taken over where a move came after what was shown, and nothing is written", async () => {
		const { runtime } = await openIt();
		const left = await worked(runtime);
		const expectTip = runtime.wal.tip;
		await runtime.timeline.label(left, "meanwhile");
		const { tip } = runtime.wal;
		await expect(runtime.adoptFile("a.txt", left, "me", { expect: expectTip })).rejects.toMatchObject({
			code: "TIMETRAVEL_STALE",
		});
		expect([runtime.wal.tip, await held()]).toEqual([tip, ["three\n", "bbb\n"]]);
	});

	filesTest("it cuts files of a log")(
		"is as it was or as it is to be, wherever the process died, and the next start finishes it; then undo is exact",
		async () => {
			const { runtime } = await openIt();
			const left = await worked(runtime);
			const before = { lines: (await linesOf(project.state)).length, cwd: join(project.root, "before") };
			await cp(project.cwd, before.cwd, { recursive: true });
			await runtime.adoptFile("a.txt", left, "me");
			await runtime.close();
			const lines = await linesOf(project.state);
			const { length } = lines;
			const lineOf = (kind: string): number =>
				lines.findIndex((line) => line.includes(`"${kind}"`) && line.includes('"lane":"files/'));
			/** A write is begun once its start is durable, and its end is recorded once it is made. */
			const [started, ended] = [lineOf("step_started"), lineOf("step_completed")];
			expect(started).toBeGreaterThan(0);
			expect(length).toBeGreaterThan(before.lines + 3);
			for (let kept = before.lines; kept <= length; kept++)
				for (const cwd of [...(kept <= ended ? [before.cwd] : []), ...(kept > started ? [project.cwd] : [])]) {
					const copy = join(project.root, `cut-${kept}-${cwd === project.cwd}`);
					await cp(cwd, `${copy}-files`, { recursive: true });
					const state = await copyState(project.state, `${copy}-state`);
					await keepLines(state, kept);
					const next = await openIt({}, state, `${copy}-files`);
					const isMade = (await next.runtime.timeline.moves()).past.length === 2;
					expect(isMade).toBe(kept > before.lines);
					if (isMade) expect(await held(`${copy}-files`), `${kept}`).toEqual(["two\n", "bbb\n"]);
					if (isMade) await next.runtime.undo("me");
					if (isMade || cwd === before.cwd)
						expect(await held(`${copy}-files`), `${kept}`).toEqual(["three\n", "bbb\n"]);
					await next.runtime.close();
				}
		},
	);
});

describe("a text", () => {
	const shown = ({ timeline, wal }: Runtime) =>
		timeline
			.at(wal.tip, { agent: "default", session: "main" })
			.then((view) => messagesBefore(view.get(conversation), Number.MAX_SAFE_INTEGER));
	const notes = async (runtime: Runtime) => (await shown(runtime)).filter(({ role }) => role === "note");

	test("of a line that was left joins the conversation with its source, and the model reads it; undo takes it back, over restarts", async () => {
		const { runtime } = await openIt();
		await runtime.prompt("first");
		await runtime.idle();
		const left = runtime.wal.tip;
		await runtime.checkout(0, "me");
		await expect(runtime.previewAdoption(0)).rejects.toMatchObject({ code: "RUNTIME_ADOPT" });
		const found = await runtime.previewAdoption(left);
		expect(found).toMatchObject({ from: left, text: "done: first", source: { message: expect.any(Number) } });
		const before = runtime.wal.tip;
		await runtime.timeline.label(left, "meanwhile");
		await expect(runtime.adoptMessage(found, "me", undefined, { expect: before })).rejects.toMatchObject({
			code: "TIMETRAVEL_STALE",
		});
		expect(await notes(runtime)).toEqual([]);
		const seq = await runtime.adoptMessage(found, "me", undefined, { expect: runtime.wal.tip });
		expect(runtime.wal.durableTip).toBeGreaterThanOrEqual(seq);
		const source = "message" in found.source ? found.source.message : 0;
		const text = `Taken over by me from another moment of this history, the answer at #${source}, as of #${left}:\n\ndone: first`;
		expect(await notes(runtime)).toEqual([{ role: "note", text }]);
		await runtime.close();
		const { runtime: next } = await openIt();
		expect(await notes(next)).toEqual([{ role: "note", text }]);
		await next.undo("me");
		expect(await notes(next)).toEqual([]);
		await next.redo("me");
		expect(await notes(next)).toEqual([{ role: "note", text }]);
		await next.prompt("what did you read?");
		await next.idle();
		await next.gc({ keepDays: 0, keepCheckpoints: 1 });
		expect(await notes(next)).toEqual([{ role: "note", text }]);
		expect(await next.undo("me").catch((error: { readonly code?: string }) => error.code)).toBe("NOTHING_TO_UNDO");
		await next.close();
	});

	test("that a step of a plan had found is taken over as of a moment, also once the plan was rewound", async () => {
		const { runtime } = await openIt();
		const step = (id: string, depends_on: readonly string[]) => ({
			id,
			description: `find ${id}`,
			tools: [],
			depends_on,
		});
		const steps = [step("a", []), step("b", ["a"])];
		await turn(runtime, { name: "plan", args: { goal: "find out", steps } });
		let seq = 0;
		let plan = "";
		for await (const record of runtime.wal.read({ kinds: { only: ["plan_step_completed"] } }))
			if (seq === 0)
				({
					seq,
					data: { plan },
				} = record as { seq: number; data: { plan: string } });
		const found = await runtime.previewAdoption(seq, { plan, step: "a" });
		await runtime.checkout(0, "me");
		await expect(runtime.previewAdoption(seq - 1, { plan, step: "a" })).rejects.toMatchObject({
			code: "RUNTIME_ADOPT",
		});
		await expect(runtime.previewAdoption(0, { plan, step: "a" })).rejects.toMatchObject({ code: "PLAN_UNKNOWN" });
		expect(await runtime.previewAdoption(seq, { plan, step: "a" })).toEqual(found);
		expect(found).toMatchObject({ from: seq, source: { plan, step: "a" } });
		expect(found.text.length).toBeGreaterThan(0);
		await runtime.adoptMessage(found, "me");
		expect((await notes(runtime)).map(({ text }) => text)).toEqual([
			`Taken over by me from another moment of this history, what step a of plan ${plan} found, as of #${seq}:\n\n${found.text}`,
		]);
		expect((await runtime.timeline.moves({ limit: 1 })).past).toMatchObject([
			{ inverse: { drop: ["message_adopted"] } },
		]);
		await runtime.close();
	});
});
