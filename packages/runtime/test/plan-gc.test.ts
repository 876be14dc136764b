/** What `gc` leaves of plans: in flight, paused, finished, amended, behind a label, and on a line that was left. */
import { PLAN_TOOL } from "@reyn/plan";
import type { WalRecord } from "@reyn/wal";
import { afterEach, beforeEach, expect, test } from "vitest";
import { blobsOf, seal } from "./kept-files.ts";
import { lastOf, makeProject, type Opened, open, type Project, scripted, until } from "./project.ts";

let project: Project;
beforeEach(async () => {
	project = await makeProject();
});
afterEach(() => project[Symbol.asyncDispose]());

const stepsOf = (goal: string) => [
	{ id: "a", description: `first of ${goal}` },
	{ id: "b", description: `second of ${goal}`, depends_on: ["a"] },
	{ id: "c", description: `last of ${goal}`, depends_on: ["b"] },
];

/** What a step says, too long for its record. */
const saidIn = (goal: string, step: string): string => `${goal} ${step} `.repeat(300);

/** A model that is held at the second step of plans with these goals. */
const model = (...held: readonly string[]) =>
	scripted(async (request) => {
		const [, goal = ""] = /^plan (\w+)$/.exec(lastOf(request)) ?? [];
		if (goal) return [{ name: PLAN_TOOL, args: { goal, steps: stepsOf(goal) } }];
		const [, of = "", step = ""] = /^Goal: (\w+)\nStep (\w):/.exec(lastOf(request)) ?? [];
		if (step === "b" && held.includes(of)) await new Promise(() => {});
		return step ? saidIn(of, step) : `well ${lastOf(request)} `.repeat(5000);
	});

/** The steps that it was asked for, as `goal/step`. */
const askedIn = ({ asked }: ReturnType<typeof model>): readonly string[] =>
	asked.flatMap((request) => {
		const [, goal, step] = /^Goal: (\w+)\nStep (\w):/.exec(lastOf(request)) ?? [];
		return step ? [`${goal}/${step}`] : [];
	});

/** Begins a plan, and waits until it is over, or held at its second step. @returns its id */
async function begin(
	{ runtime }: Opened,
	of: ReturnType<typeof model>,
	goal: string,
	isHeld: boolean,
): Promise<string> {
	await runtime.prompt(`plan ${goal}`);
	if (isHeld) await until(() => askedIn(of).includes(`${goal}/b`));
	else await runtime.idle();
	return runtime.plans().find((each) => each.goal === goal)?.plan ?? "";
}

/** Closes, so that a segment ends; and opens again. */
async function nextDay({ runtime }: Opened, of: ReturnType<typeof model>): Promise<Opened> {
	await runtime.close();
	await seal(project.state);
	return open(project, { model: of });
}

async function talk({ runtime }: Opened): Promise<void> {
	for (let n = 0; n < 2; n++) {
		await runtime.prompt(`hello ${n}`);
		await runtime.idle();
	}
}

const all = { keepDays: 0, keepCheckpoints: 1 };

const blobs = async (): Promise<readonly string[]> => [...(await blobsOf(project.state)).keys()];

async function recordsIn({ runtime }: Opened, kind: string): Promise<readonly WalRecord[]> {
	const found: WalRecord[] = [];
	for await (const record of runtime.wal.read()) if (record.kind === kind) found.push(record);
	return found;
}

test("a pause is taken back, and made again, behind a cut before it; once its own records are gone, it is not offered", async () => {
	const held = model("paused");
	let opened = await open(project, { model: held });
	await talk(opened);
	opened = await nextDay(opened, held);
	await talk(opened);
	opened = await nextDay(opened, held);
	const paused = await begin(opened, held, "paused", true);
	await opened.runtime.pausePlan(paused);
	const status = () => opened.runtime.plans().map((each) => each.status);
	const gone = async (): Promise<void> => {
		for (let days = 0; days < 2; days++) {
			opened = await nextDay(opened, model());
			await talk(opened);
		}
		expect((await opened.runtime.gc(all)).first).toBeGreaterThan(1);
	};
	await gone();
	await opened.runtime.undo("test");
	expect(status()).toEqual(["running"]);
	await opened.runtime.redo("test");
	expect(status()).toEqual(["paused"]);
	await opened.runtime.undo("test");
	opened = await nextDay(opened, model());
	opened.runtime.resume();
	await opened.runtime.idle();
	await gone();
	expect(await recordsIn(opened, "plan_paused")).toEqual([]);
	expect(status()).toEqual(["completed"]);
	expect((await opened.runtime.timeline.moves()).past).toEqual([]);
	await opened.runtime.close();
});

test("each plan goes on behind a cut, or shows what it has found; what only a line has that was left goes, and steps as they were before an amendment", async () => {
	const first = model("amended");
	let opened = await open(project, { model: first });
	await begin(opened, first, "left", false);
	const ofLeft = await blobs();
	await opened.runtime.checkout(0, "test");
	const finished = await begin(opened, first, "finished", false);
	const amended = await begin(opened, first, "amended", true);
	const before = await blobs();
	for (const text of ["other", "yet another"]) await opened.runtime.amendPlan(amended, { describe: { c: text } });
	const [once] = (await recordsIn(opened, "plan_amended")).map(
		({ data }) => (data as { decomposition: string }).decomposition,
	);
	const start = (await recordsIn(opened, "plan_started")).at(-1)?.data as { decomposition: string };

	const second = model("paused", "labelled", "running");
	opened = await nextDay(opened, second);
	opened.runtime.resume();
	await opened.runtime.idle();
	// Its checkpoint is one at which no plan is in flight.
	await talk(opened);
	opened = await nextDay(opened, second);
	const paused = await begin(opened, second, "paused", true);
	await opened.runtime.pausePlan(paused);
	const labelled = await begin(opened, second, "labelled", true);
	await opened.runtime.timeline.label(opened.runtime.wal.tip, "here");
	await opened.runtime.discardPlan(labelled);
	await begin(opened, second, "running", true);
	opened = await nextDay(opened, model());
	await talk(opened);

	const done = await opened.runtime.gc(all);
	expect(done.first).toBeGreaterThan(1);
	expect(await recordsIn(opened, "plan_amended")).toEqual([]);
	const left = await blobs();
	for (const name of ofLeft) expect(left, "of a line that was left").not.toContain(name);
	for (const hash of [once, start.decomposition])
		expect(left, "before an amendment").not.toContain(`plans/${hash?.slice(0, 2)}/${hash}`);
	expect(before.some((name) => name.includes(start.decomposition))).toBe(true);
	expect(left.filter((name) => name.startsWith("plans/"))).toHaveLength(5);
	await opened.runtime.close();

	const last = model();
	opened = await open(project, { model: last });
	const { runtime } = opened;
	expect(runtime.plans().map(({ goal, status }) => [goal, status])).toEqual([
		["finished", "completed"],
		["amended", "completed"],
		["paused", "paused"],
		["labelled", "aborted"],
		["running", "running"],
	]);
	runtime.resume();
	await runtime.idle();
	await runtime.resumePlan(paused);
	await runtime.idle();
	expect(askedIn(last)).toEqual(["running/b", "running/c", "paused/b", "paused/c"]);
	const shown = await Promise.all([finished, amended].map((plan) => runtime.planSteps(plan)));
	expect(
		shown.map((steps) => steps.map(({ description, beginning }) => [description, beginning?.slice(0, 10)])),
	).toEqual([
		stepsOf("finished").map(({ id, description }) => [description, saidIn("finished", id).slice(0, 10)]),
		["first of amended", "second of amended", "yet another"].map((text, at) => [
			text,
			saidIn("amended", "abc"[at] ?? "").slice(0, 10),
		]),
	]);
	await runtime.resumePlan(finished, "c");
	await runtime.idle();
	expect(askedIn(last).slice(4)).toEqual(["finished/c"]);
	expect(lastOf(last.asked.at(-1) as never)).toContain(saidIn("finished", "b"));

	await runtime.checkout((await runtime.timeline.labels())[0]?.seq ?? 0, "test");
	await runtime.resumePlan(labelled);
	await runtime.idle();
	expect(askedIn(last).slice(5)).toEqual(["labelled/b", "labelled/c"]);
	await runtime.close();
});

test("where one plan follows the other, and nothing else is asked, what is old can be cut all the same", async () => {
	const of = model();
	let opened = await open(project, { model: of });
	for (const goal of ["first", "second", "third"]) {
		await begin(opened, of, goal, false);
		opened = await nextDay(opened, of);
	}
	const { first } = await opened.runtime.gc(all);
	expect(first).toBeGreaterThan(1);
	expect(opened.runtime.plans().map(({ goal, status }) => `${goal} ${status}`)).toEqual([
		...["first completed", "second completed", "third completed"],
	]);
	await opened.runtime.close();
});
