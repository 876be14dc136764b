/** Large results of plans and skill runs: beside the log once, whole for whoever reads them, and as long as something names them. */
import { PLAN_TOOL } from "@reyn/plan";
import { defineSkill, done } from "@reyn/skill-resume";
import { openWal } from "@reyn/wal";
import { afterEach, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { allRecords, assistantMessage, mainSession, type Runtime } from "../src/index.ts";
import { cutAfter, kindsIn } from "./cut.ts";
import { blobsOf, seal } from "./kept-files.ts";
import { emptyArea, lastOf, makeProject, open, type Project, scripted, storeAt } from "./project.ts";

let project: Project;
beforeEach(async () => {
	project = await makeProject();
});
afterEach(() => project[Symbol.asyncDispose]());

const PLAN = {
	goal: "the goal",
	steps: [
		{ id: "a", description: "first" },
		{ id: "b", description: "last", depends_on: ["a"] },
	],
};

const FOUND = `found ${"ä".repeat(4.5 * 1024 * 1024)}`;
const ANSWER = `answer ${"b\n".repeat(30_000)}`;

const model = () =>
	scripted((request) => {
		const last = lastOf(request);
		if (last === "plan!") return [{ name: PLAN_TOOL, args: PLAN }];
		if (/Step a/.test(last)) return FOUND;
		return /Step b/.test(last) ? ANSWER : "well";
	});

const spilled = async (): Promise<readonly string[]> =>
	[...(await blobsOf(project.state)).keys()].filter((path) => path.startsWith("results/"));

async function bytesOf({ wal }: Runtime): Promise<number> {
	let bytes = 0;
	for await (const record of wal.read()) bytes += JSON.stringify(record).length;
	return bytes;
}

test("a plan of results that no record holds brings its answer whole; each lies beside the log once", async () => {
	const first = await open(project, { model: model() });
	await first.runtime.prompt("plan!");
	await first.runtime.idle();
	expect(first.events.filter(({ type }) => type === "plan_end")).toMatchObject([{ outcome: "completed", failed: [] }]);
	expect(first.shown.map(({ text }) => text)).toEqual([ANSWER]);
	expect(await spilled()).toHaveLength(2);
	// Of a text that is beside the log there is only its beginning in it.
	expect(await bytesOf(first.runtime)).toBeLessThan(32 * 1024);
	const [message] = first.runtime
		.conversation()
		.items.toArray()
		.filter(({ type }) => type === "message");
	expect(message).toMatchObject({ text: expect.stringMatching(/^answer b\n.{0,2000}… \(\d+ bytes in all\)$/s) });
	await first.runtime.close();

	// The model is shown it whole, in this process and in the next ones.
	const later = model();
	const { runtime } = await open(project, { model: later });
	await runtime.prompt("and?");
	await runtime.idle();
	expect(later.asked[0]?.messages).toContainEqual({ role: "assistant", text: ANSWER, toolCalls: [] });
	await runtime.close();
});

test("a step whose result is lost runs again at the next start; the stream says why, and the rest is not paid again", async () => {
	const first = await open(project, { model: model() });
	await first.runtime.prompt("plan!");
	await first.runtime.idle();
	await first.runtime.close();
	const state = await cutAfter(project, (await kindsIn(project)).indexOf("plan_step_completed") + 1);
	await emptyArea(state, "results");

	const again = model();
	const { runtime, events, shown } = await open({ ...project, state }, { model: again });
	runtime.resume();
	await runtime.idle();
	expect(again.asked.map((request) => /Step (.)/.exec(lastOf(request))?.[1])).toEqual(["a", "b"]);
	expect(shown.map(({ text }) => text)).toEqual([ANSWER]);
	const why = "its result is lost: it is missing or changed beside the log";
	const told = events.flatMap((event) => (event.type === "plan_step" ? [[event.step, event.done, event.change]] : []));
	expect(told).toContainEqual(["a", 0, { status: "again", reason: why }]);
	await runtime.close();
});

test.each([3000, 60_000])(
	"an answer of %i bytes that is recorded is the one answer, where the process dies before the end of its plan and the results are lost",
	async (bytes) => {
		const says = () =>
			scripted((request) =>
				lastOf(request) === "plan!" ? [{ name: PLAN_TOOL, args: PLAN }] : "b\n".repeat(bytes / 2),
			);
		const first = await open(project, { model: says() });
		const turn = await first.runtime.prompt("plan!");
		await first.runtime.idle();
		await first.runtime.close();
		const state = await cutAfter(project, (await kindsIn(project)).indexOf("assistant_message") + 1);
		await emptyArea(state, "results");

		const again = says();
		const { runtime, events, shown } = await open({ ...project, state }, { model: again });
		runtime.resume();
		await runtime.idle();
		expect(again.asked).toEqual([]);
		expect(shown).toMatchObject([{ from: `p${turn}`, text: expect.stringMatching(/^b\nb\n/) }]);
		expect(runtime.plans()).toMatchObject([{ status: "completed", finished: 2 }]);
		expect(events.filter(({ type }) => type === "plan_end")).toMatchObject([{ outcome: "completed", failed: [] }]);
		await runtime.close();
	},
);

test("an answer that nobody was shown is shown whole at the next start; if it is lost, how it begins", async () => {
	const mute = await open(project, { model: model(), onMessage: () => Promise.reject(new Error("no screen")) });
	await mute.runtime.prompt("plan!");
	await mute.runtime.idle();
	await mute.runtime.close();
	const blind = await open(project);
	expect(blind.runtime.restored().undelivered).toMatchObject([{ text: expect.stringMatching(/bytes in all\)$/) }]);
	await blind.runtime.close();
	const results = storeAt(project.state).blobs("results");
	const kept = new Map<string, Uint8Array>();
	for (const name of await results.list("")) kept.set(name, (await results.get(name)) ?? Buffer.alloc(0));
	await emptyArea(project.state, "results");
	const lost = await open(project, { model: model() });
	await lost.runtime.prompt("and?");
	lost.runtime.resume();
	await lost.runtime.idle();
	expect(lost.shown.map(({ text }) => text)).toEqual([expect.stringMatching(/^answer b\n.*bytes in all\)$/s)]);
	await lost.runtime.close();
	for (const [name, bytes] of kept) await results.put(name, bytes);
	const found = model();
	const { runtime } = await open(project, { model: found });
	await runtime.prompt("and now?");
	await runtime.idle();
	expect(found.asked[0]?.messages).toContainEqual({ role: "assistant", text: ANSWER, toolCalls: [] });
	await runtime.close();
});

test("what a skill run gives is shown whole too, though no record holds it", async () => {
	const large = defineSkill({
		name: "large",
		description: "gives much",
		input: z.unknown(),
		start: "one",
		phases: { one: async () => done(ANSWER) },
	});
	const { runtime, shown } = await open(project, { skills: [large] });
	await runtime.runSkill("large", {});
	await runtime.idle();
	expect(shown.map(({ text }) => text)).toEqual([ANSWER]);
	expect(await spilled()).toHaveLength(1);
	await runtime.close();
});

test("gc keeps what the conversation or a plan names", async () => {
	const first = await open(project, { model: model() });
	await first.runtime.prompt("plan!");
	await first.runtime.idle();
	for (const text of ["one", "two"]) {
		await first.runtime.prompt(text);
		await first.runtime.idle();
	}
	await first.runtime.close();
	await seal(project.state);
	const { runtime } = await open(project, { model: model() });
	await runtime.prompt("three");
	await runtime.idle();
	await runtime.gc({ keepDays: 0, keepCheckpoints: 1 });
	// The result of the first step can be shown, and go on from: its plan has its answer, and is not gone.
	expect(await spilled()).toHaveLength(2);
	const later = model();
	await runtime.close();
	const next = await open(project, { model: later });
	await next.runtime.prompt("four");
	await next.runtime.idle();
	expect(later.asked[0]?.messages).toContainEqual({ role: "assistant", text: ANSWER, toolCalls: [] });
	await next.runtime.close();
});

test("an answer that an older version has put into the log is read as ever", async () => {
	const { runtime: empty } = await open(project, { model: model() });
	await empty.close();
	const log = await openWal(storeAt(project.state).engine, { records: allRecords });
	await log.append(assistantMessage({ text: ANSWER, plan: "p1" }), mainSession).durable;
	await log.close();
	const later = model();
	const { runtime, shown } = await open(project, { model: later });
	runtime.resume();
	await runtime.idle();
	expect(shown.map(({ text }) => text)).toEqual([ANSWER]);
	await runtime.prompt("and?");
	await runtime.idle();
	expect(later.asked[0]?.messages[0]).toEqual({ role: "assistant", text: ANSWER, toolCalls: [] });
	await runtime.close();
});
