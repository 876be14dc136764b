/**
 * Tasks at the command line: one that starts a skill is killed until it is done, and then nothing was made twice; a rewind past its end
 * leaves the task done and the binding as it was.
 */
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Place, run, start } from "../cli.ts";
import { SEED, seeded } from "../kit/seeded.ts";

let root: string;
beforeAll(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-tasks-"));
});
afterAll(() => rm(root, { recursive: true, force: true }));

let places = 0;

async function place(): Promise<Place> {
	const at = join(root, `p${++places}`);
	await mkdir(join(at, "notes"), { recursive: true });
	await writeFile(join(at, "notes/foxes.md"), "# Foxes\n\nA fox sleeps in a den by day.\n");
	return { cwd: join(at, "notes"), state: join(at, "state"), trace: join(at, "trace") };
}

// biome-ignore lint/suspicious/noExplicitAny: a document, or a record
type Said = any;

const json = async (at: Place, ...args: readonly string[]): Promise<Said> =>
	JSON.parse((await run(at, ["--json", ...args])).stdout);

async function records({ state }: Place): Promise<readonly Said[]> {
	const text = await readFile(join(state, "state/wal.jsonl"), "utf8");
	return text.split("\n").flatMap((line) => {
		try {
			return line.includes('"kind"') ? [JSON.parse(line)] : [];
		} catch {
			// A kill has torn it.
			return [];
		}
	});
}

const ofKind = (all: readonly Said[], kind: string): readonly Said[] => all.filter((each) => each.kind === kind);

/**
 * Kills it in six lives, each time once it has come further, some of which may be over by then: a run whose process dies three times
 * without a new record waits for a person.
 */
async function killedUntilDone(at: Place, random: ReturnType<typeof seeded>): Promise<void> {
	const steps = async (): Promise<number> => ofKind(await records(at), "step_completed").length;
	for (let lives = 0; ; lives++) {
		const known = await steps();
		const going = start(at, ["resume"]);
		const isLeft = lives >= 6;
		if (!isLeft) {
			let isOver = false;
			void going.ended.then(() => {
				isOver = true;
			});
			const more = 1 + random.below(2);
			await expect.poll(async () => isOver || (await steps()) >= known + more).toBe(true);
			await going.kill();
		}
		await going.ended;
		if (isLeft && (await json(at, "task", "show", "t1")).task.status === "done") return;
		expect(lives).toBeLessThan(20);
	}
}

test("a task that starts a skill is killed, and done once; a rewind past its end leaves it done", async () => {
	for (let round = 0; round < Number(process.env.REYN_RUNS ?? 1); round++) {
		const at = await place();
		const random = seeded(SEED * 1_000 + round);
		const added = await run(at, ["task", "add", "Digest foxes", "--skill", "digest", "--input", '{"topic":"fox"}']);
		expect(added.stdout).toMatch(/^t1 {2}ready {2}Digest foxes {2}\(default\/main\)/);
		const bound = ofKind(await records(at), "task_subscribed").at(-1).seq;
		await killedUntilDone(at, random);
		const all = await records(at);
		expect([ofKind(all, "task_begun").length, ofKind(all, "skill_run_started").length]).toEqual([1, 1]);
		const { task, comments } = await json(at, "task", "show", "t1");
		expect([task.status, comments.length, comments[0].text === ""]).toEqual(["done", 1, false]);

		expect((await run(at, ["rewind", String(bound), "--dry-run"])).stdout).toMatch(
			/does not take back: .*tasks \(t1\), which stay/,
		);
		expect((await run(at, ["rewind", String(bound), "--yes"])).code).toBe(0);
		const after = await json(at, "task", "show", "t1");
		expect([after.task.status, after.assignee, after.comments.length]).toEqual([
			"done",
			{ agent: "default", session: "main" },
			1,
		]);
		expect((await run(at, ["transcript"])).stdout).toContain('t1 "Digest foxes" is yours again, and is done since.');
	}
});

/** Each phase waits before and after its write for a file of the test's: where it is killed is no matter of time. */
const report = (at: Place): string => `
import { existsSync } from "node:fs";
import { appendFile } from "node:fs/promises";
import { defineSkill, done, next } from "@reyn/skill-resume";
import { z } from "zod";

const phase = (name, then) => async ({ sleep, step }) => {
	const until = async (word) => {
		while (!existsSync(${JSON.stringify(`${at.cwd}/go-`)} + word + "-" + name)) await sleep(20);
	};
	await until("in");
	await step("write", () => appendFile(${JSON.stringify(`${at.cwd}/report.md`)}, name + "\\n"), { purity: "side_effect" });
	await until("out");
	return then(name);
};

export default defineSkill({
	name: "report",
	description: "Writes a line in each of its phases",
	input: z.strictObject({}),
	start: "gather",
	phases: {
		gather: phase("gather", (name) => next("sum", name)),
		sum: phase("sum", (name) => next("send", name)),
		send: phase("send", () => done("all of it is written")),
	},
});
`;

test("a skill of one file that a task starts is killed in each phase, before and after its write, and rewound past its end", async () => {
	const elsewhere = await place();
	const at = { ...elsewhere, state: join(elsewhere.cwd, ".reyn") };
	await mkdir(join(at.state, "skills"), { recursive: true });
	await writeFile(join(at.state, "skills/report.ts"), report(at));
	expect((await run(at, ["task", "add", "Report", "--skill", "report", "--input", "{}"])).code).toBe(0);
	expect((await run(at, ["skill", "show", "report", "--trust"])).code).toBe(0);
	for (const [nth, name] of ["gather", "sum", "send"].entries())
		for (const [word, kind] of [
			["in", "skill_phase_entered"],
			["out", "step_completed"],
		] as const) {
			const going = start(at, ["resume"]);
			const isOf = ({ kind: each, data }: Said): boolean => each === kind && (word === "in" || data.kind === "step");
			await expect.poll(async () => (await records(at)).filter(isOf).length).toBe(nth + 1);
			expect((await going.kill()).signal).toBe("SIGKILL");
			await writeFile(join(at.cwd, `go-${word}-${name}`), "");
		}
	const written = async () => [await readFile(join(at.cwd, "report.md"), "utf8"), await json(at, "task", "show", "t1")];
	expect((await run(at, ["resume"])).code).toBe(0);
	const ended = await written();
	expect(ended).toEqual([
		"gather\nsum\nsend\n",
		expect.objectContaining({
			task: expect.objectContaining({ status: "done", outcome: "all of it is written" }),
			assignee: { agent: "default", session: "main" },
			comments: [expect.objectContaining({ text: "all of it is written" })],
		}),
	]);
	// Into its second phase: it waits for a person there, and what goes on goes on without it.
	const [{ seq }] = ofKind(await records(at), "skill_phase_entered").slice(1);
	expect((await run(at, ["rewind", String(seq), "--yes"])).code).toBe(0);
	expect(await written()).toEqual(ended);
	await run(at, ["resume"]);
	expect(await written()).toEqual(ended);
	expect((await json(at, "status")).skills).toMatchObject([{ skill: "report", status: "paused", phase: "sum" }]);
	expect((await run(at, ["undo", "--yes"])).code).toBe(0);
	await run(at, ["resume"]);
	expect(await written()).toEqual(ended);
});

test("what was done by hand is said once, and how a task goes follows its rules", async () => {
	const at = await place();
	await run(at, ["task", "add", "Send the letter"]);
	const set = await run(at, ["task", "set", "t1", "done", "--outcome", "sent by post"]);
	expect([set.code, set.stdout]).toEqual([0, expect.stringMatching(/^t1 {2}done {2}Send the letter/)]);
	expect((await json(at, "task", "show", "t1")).task).toMatchObject({ status: "done", outcome: "sent by post" });
	const no = await run(at, ["task", "set", "t1", "running"]);
	expect([no.code, no.stderr]).toEqual([
		4,
		expect.stringMatching(/t1 is done, and was to be running.*It may become unassigned, ready/),
	]);
	for (const prompt of ["where does a fox sleep by day?", "and by night?"]) await run(at, ["run", "-p", prompt]);
	const said = (await run(at, ["transcript"])).stdout.match(
		/t1 "Send the letter", which was asked for here, is done now/g,
	);
	expect(said).toHaveLength(1);
});

test("what is wrong is said with its code, and other work goes on", async () => {
	const at = await place();
	expect((await run(at, ["task", "add", "b", "--after", "t9"])).code).toBe(3);
	expect((await run(at, ["task", "add", "a"])).code).toBe(0);
	expect((await run(at, ["task", "assign", "t9"])).code).toBe(3);
	expect((await run(at, ["task", "list", "--status", "asleep"])).code).toBe(2);
	expect((await run(at, ["task", "add", "c", "--input", "{}"])).code).toBe(2);
	await rm(join(at.state, "tasks"), { recursive: true });
	await mkdir(join(at.state, "tasks"), { mode: 0o700 });
	await writeFile(join(at.state, "tasks/tasks.db"), "not a database, but a letter to a friend\n");
	const listed = await run(at, ["task", "list"]);
	expect([listed.code, listed.stderr]).toEqual([4, expect.stringMatching(/tasks\.db/)]);
	const asked = await run(at, ["run", "-p", "where does a fox sleep by day?"]);
	expect([asked.code, asked.stderr]).toEqual([0, expect.stringMatching(/tasks cannot be read; other work goes on/)]);
	expect(await readFile(join(at.state, "tasks/tasks.db"), "utf8")).toMatch(/a letter to a friend/);
});
