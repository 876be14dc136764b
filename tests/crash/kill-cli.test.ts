/**
 * Kills the real command line with SIGKILL while a plan works, again and again, and looks at what is left each time.
 * `REYN_KILLS` sets how many kills (default 16, a sample 4), `REYN_SEED` the moments; both are in the test's name.
 */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { allRecords } from "@reyn/runtime";
import { openWal, type WalRecord } from "@reyn/wal";
import { afterAll, beforeAll, expect, test } from "vitest";
import { modelCalls, type Place, run, start, streamLines } from "../cli.ts";
import type { Killable } from "../kit/killable.ts";
import { SEED, seeded } from "../kit/seeded.ts";
import { sample } from "../sample.ts";

const KILLS = Number(process.env.REYN_KILLS ?? sample(2, 16));
const QUESTION = "How do the parser and the printer work together, and where is each of them tested?";
const ASK = ["--pace", "60", "run", "-p", QUESTION, "--output-format", "stream-json"];
/** Its model takes an hour to answer: it stands where it asks. */
const RESUME_AND_WAIT = ["--pace", "3600000", "resume", "--output-format", "stream-json"];
const RESUME = ["--pace", "60", "resume", "--output-format", "stream-json"];

let root: string;
let cwd: string;
beforeAll(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-kill-"));
	cwd = join(root, "project");
	const files = {
		"README.md": "# Calc\n\nThe parser reads an expression, the printer writes it back.\n",
		"src/parser.ts":
			"/** Reads an expression. */\nexport function parse(text: string): Tree {\n\treturn new Parser(text).tree();\n}\n",
		"src/printer.ts":
			"/** Writes a tree back as text. */\nexport function print(tree: Tree): string {\n\treturn tree.toString();\n}\n",
		"src/main.ts":
			'import { parse } from "./parser.ts";\nimport { print } from "./printer.ts";\nconsole.log(print(parse("1 + 2")));\n',
		"test/parser.test.ts": 'test("the parser reads a sum", () => expect(parse("1+2")).toEqual(sum(1, 2)));\n',
		"test/printer.test.ts": 'test("the printer writes a sum", () => expect(print(sum(1, 2))).toBe("1 + 2"));\n',
	};
	for (const [path, text] of Object.entries(files)) {
		await mkdir(join(cwd, path, ".."), { recursive: true });
		await writeFile(join(cwd, path), text);
	}
});
afterAll(() => rm(root, { recursive: true, force: true }));

const place = (name: string): Place => ({ cwd, state: join(root, name), trace: join(root, `${name}.calls.jsonl`) });

async function recordsOf({ state }: Place): Promise<WalRecord[]> {
	await using wal = await openWal(join(state, "state"), { records: allRecords, readOnly: true });
	const records: WalRecord[] = [];
	for await (const record of wal.read()) records.push(record);
	return records;
}

/** The requests whose answers are in the log. */
function answered(records: readonly WalRecord[]): string[] {
	return records
		.filter(({ kind, data }) => kind === "step_completed" && (data as { kind: string }).kind === "model")
		.map(({ data }) => (data as { fp: string }).fp);
}

function answersOf(records: readonly WalRecord[]): string[] {
	return records
		.filter(({ kind, data }) => kind === "assistant_message" && "from" in (data as object))
		.map(({ data }) => (data as { text: string }).text);
}

/** Steps of plans that have begun and are not over. */
const openSteps = (records: readonly WalRecord[]): number =>
	records.filter(({ kind }) => kind === "plan_step_started").length -
	records.filter(({ kind }) => kind === "plan_step_completed").length;

/** Kills a process that waits for its model, once what it asks for is in the log. */
async function killWaiting(running: Killable, here: Place): Promise<void> {
	const before = modelCalls(here).length;
	const stands = async (): Promise<boolean> => {
		if (modelCalls(here).length === before) return false;
		const records = await recordsOf(here);
		return openSteps(records) > 0 || records.some(({ kind }) => kind === "plan_completed");
	};
	while (running.child.exitCode === null && !(await stands())) await new Promise((resolve) => setTimeout(resolve, 20));
	await running.kill();
}

/** Kills a process that has printed so many lines, a while later; one that prints fewer comes to its end. */
function killAfter(running: Killable, lines: number, ms: number): void {
	const kill = (): void => void setTimeout(() => running.kill(), ms);
	if (lines === 0) kill();
	else running.line("", lines - 1).then(kill, () => {});
}

test(`${KILLS} kills at random moments (seed ${SEED}): nothing acknowledged is lost, nothing durable is paid again, the answer arrives once`, async () => {
	const whole = place("whole");
	const uninterrupted = await run(whole, ASK);
	expect(uninterrupted.code, uninterrupted.stderr).toBe(0);
	const [expectedAnswer] = answersOf(await recordsOf(whole));
	const callsOfAWhole = modelCalls(whole).map(({ request }) => request);
	expect(new Set(callsOfAWhole).size, "the requests of one run are all different").toBe(callsOfAWhole.length);

	const random = seeded(SEED);
	let kills = 0;
	let cutInAStep = 0;
	for (let round = 0; kills < KILLS || cutInAStep === 0; round++) {
		const here = place(`round-${round}`);
		let known: WalRecord[] = [];
		for (let attempt = 0; ; attempt++) {
			const asked = known.some(({ kind }) => kind === "user_prompt");
			const callsBefore = modelCalls(here).length;
			const begun = known.some(({ kind }) => kind === "plan_started");
			// With a plan that has begun, it is a step that asks.
			const waits = attempt === 1 && begun;
			const running = start(here, waits ? RESUME_AND_WAIT : asked ? RESUME : ASK);
			if (waits) await killWaiting(running, here);
			else if (attempt < 4 && (kills < KILLS || cutInAStep === 0)) killAfter(running, random.below(16), random() * 60);
			const end = await running.ended;
			const killed = end.signal === "SIGKILL";
			if (killed) kills++;

			const records = end.stdout === "" && known.length === 0 ? [] : await recordsOf(here);
			// The seqs that were told to the world, and all that the look before has seen, are still there.
			for (const { seq, crc } of known) expect(records[seq - 1]).toMatchObject({ seq, crc });
			for (const line of streamLines(end))
				if (line.type === "checkpoint") expect(records[(line.seq as number) - 1]).toMatchObject({ kind: "checkpoint" });
			for (const line of streamLines(end)) {
				if (line.type !== "plan_step" || (line.change as { status: string }).status !== "completed") continue;
				expect(
					records.some(
						({ kind, data }) => kind === "plan_step_completed" && (data as { step: string }).step === line.step,
					),
				).toBe(true);
			}
			expect(records.map(({ seq }) => seq)).toEqual(records.map((_, i) => i + 1));

			// No request whose answer was in the log before this process reached the model in it.
			const paid = modelCalls(here)
				.slice(callsBefore)
				.map(({ request }) => request);
			const free = new Set(answered(known));
			expect(paid.filter((request) => free.has(request))).toEqual([]);

			if (killed && openSteps(records) > 0) cutInAStep++;
			known = records;
			if (!killed) {
				expect([0, 3], end.stderr).toContain(end.code);
				break;
			}
		}
		expect(answersOf(known)).toEqual([expectedAnswer]);
		expect(known.filter(({ kind }) => kind === "message_delivered")).toHaveLength(1);
		expect(known.filter(({ kind }) => kind === "plan_completed")).toHaveLength(1);
	}
	console.log(`${kills} kills, ${cutInAStep} of them in the middle of a step`);
});
