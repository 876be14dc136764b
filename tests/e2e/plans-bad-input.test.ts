/** What a person may say wrongly of plans: each is refused with what is valid, nothing changes, and the plans go on. */
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { carryOut as run } from "../carry-out.ts";
import { type Place, start } from "../cli.ts";

let root: string;
let here: Place;
/** A plan that has its answer, and one that was killed when its first step was over. */
let [finished, cut] = ["", ""];
let question = "";

beforeAll(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-plans-bad-"));
	here = { cwd: join(root, "project"), state: join(root, "state"), trace: join(root, "calls.jsonl") };
	await mkdir(here.cwd);
	await writeFile(join(here.cwd, "foxes.md"), "# Foxes\n\nA fox sleeps by day.\n");
	await writeFile(join(here.cwd, "owls.md"), "# Owls\n\nAn owl hunts at night.\n");
	await writeFile(join(root, "asks.ts"), "export default (ctx) => ctx.ask('Which release?');");
	expect(await run(here, ["run", "-p", "compare foxes and owls in detail"])).toMatchObject({ code: 0 });
	expect(await run(here, ["script", "run", join(root, "asks.ts")])).toMatchObject({ code: 4 });
	question = String(JSON.parse((await run(here, ["questions", "--json"])).stdout)[0].seq);
	expect(await run(here, ["answer", question, "1.0"])).toMatchObject({ code: 0 });
	const args = ["run", "-p", "compare foxes and owls, with references", "--output-format", "stream-json"];
	const killed = start(here, ["--pace", "150", ...args]);
	await killed.line((line) => line.includes('"plan_step"') && line.includes('"completed"'));
	await killed.kill();
	const plans = JSON.parse((await run(here, ["plan", "list", "--all", "--json"])).stdout);
	[finished, cut] = plans.map(({ plan }: { plan: string }) => plan);
	expect(plans.map(({ status }: { status: string }) => status)).toEqual(["completed", "running"]);
});
afterAll(() => rm(root, { recursive: true, force: true }));

/** One hash over the names and bytes of all files of the state. */
async function hashOfState(): Promise<string> {
	const hash = createHash("sha256");
	const entries = await readdir(here.state, { recursive: true, withFileTypes: true });
	const paths = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
	for (const path of paths.sort()) hash.update(path).update(await readFile(path));
	return hash.digest("hex");
}

/** @param args with FINISHED, CUT and QUESTION for what there is */
async function refused(args: readonly string[], code: number, message: RegExp): Promise<void> {
	const before = await hashOfState();
	const names: Readonly<Record<string, string>> = { FINISHED: finished, CUT: cut, QUESTION: question };
	const ended = await run(
		here,
		args.map((arg) => names[arg] ?? arg),
	);
	expect(ended, ended.stdout).toMatchObject({ code, stdout: "" });
	expect(ended.stderr).toMatch(message);
	expect(ended.stderr).not.toMatch(/\n\s+at /);
	expect(await hashOfState()).toBe(before);
}

const step = (id: string, ...needs: readonly string[]) =>
	JSON.stringify({ id, description: "more", depends_on: needs });
const puts = (...steps: readonly string[]) => steps.flatMap((each) => ["--put", each]);

describe("is refused, and changes nothing", () => {
	test.each<[string, readonly string[], number, RegExp]>([
		["a plan that is not there", ["plan", "show", "p77"], 3, /no plan "p77" is known; these are: p\d+, p\d+/],
		[
			"a pause of one that is over",
			["plan", "pause", "FINISHED"],
			3,
			/plan "(p\d+)" is over: it has its answer; .* In flight: p\d+; see .*plan show \1; .*plan resume \1 --from <step>/,
		],
		[
			"a pause of one that is not there",
			["plan", "pause", "p77"],
			3,
			/no plan "p77" .*these are: p\d+; .*plan list --all/,
		],
		["a resume of one that is not there", ["plan", "resume", "p77"], 3, /no plan "p77" is in flight; these are: p\d+/],
		[
			"the same from a step",
			["plan", "resume", "p77", "--from", "s1"],
			3,
			/no plan "p77" is known; these are: p\d+, p\d+/,
		],
		[
			"a retry in one that is not there",
			["plan", "retry", "p77", "s1"],
			3,
			/no plan "p77" is known; these are: p\d+, p/,
		],
		[
			"an amendment of one that is not there",
			["plan", "amend", "p77", "--drop", "s1", "--yes"],
			3,
			/no plan "p77" is in flight; these are: p\d+/,
		],
		[
			"a discard of one that is not there",
			["plan", "discard", "p77"],
			3,
			/no plan "p77" is in flight; these are: p\d+/,
		],
		["a step that is not there", ["plan", "resume", "CUT", "--from", "s9"], 3, /no step "s9"; this plan has s1, s2/],
		[
			"the same of one that is over",
			["plan", "resume", "FINISHED", "--from", "s9"],
			3,
			/no step "s9"; this plan has s1/,
		],
		["a retry of a step that is not there", ["plan", "retry", "FINISHED", "s9"], 3, /no step "s9"; this plan has s1/],
		[
			"a retry of what has not failed",
			["plan", "retry", "FINISHED", "s1"],
			2,
			/s1 of plan p\d+ is completed, and has not failed/,
		],
		[
			"an amendment of one that is over",
			["plan", "amend", "FINISHED", "--drop", "s1", "--yes"],
			3,
			/is over: it has its answer; .* In flight: p\d+/,
		],
		["nothing to amend", ["plan", "amend", "CUT", "--yes"], 2, /nothing is changed, added or dropped/],
		[
			"a step that runs or is over",
			["plan", "amend", "CUT", "--describe", "s1=x", "--yes"],
			2,
			/step "s1" is (?:running|completed); these can be changed: (?:s\d, )?s5/,
		],
		[
			"a cycle",
			["plan", "amend", "CUT", ...puts(step("s5", "s6"), step("s6", "s5")), "--yes"],
			2,
			/s5, s6 wait for each other/,
		],
		[
			"a need that is no step",
			["plan", "amend", "CUT", ...puts(step("s5", "s9")), "--yes"],
			2,
			/depends on "s9"; the steps are s1, s2/,
		],
		[
			"two steps of one name",
			["plan", "amend", "CUT", ...puts(step("s5"), step("s5")), "--yes"],
			2,
			/step "s5" is named twice/,
		],
		["two last steps", ["plan", "amend", "CUT", ...puts(step("s6")), "--yes"], 2, /exactly one step comes last/],
		[
			"8 steps",
			["plan", "amend", "CUT", ...puts(step("s5", "s8"), step("s6"), step("s7", "s6"), step("s8", "s7")), "--yes"],
			2,
			/2 to 7 steps/,
		],
		[
			"a tool that is not there",
			["plan", "amend", "CUT", ...puts('{"id":"s5","description":"x","tools":["fly"]}'), "--yes"],
			2,
			/wants the tool "fly"; a step may use .*read/,
		],
		[
			"a description without end",
			["plan", "amend", "CUT", "--describe", `s5=${"x".repeat(100_000)}`, "--yes"],
			2,
			/description: expected at most 500 characters; found 100000/,
		],
		[
			"steps as a text of JSON",
			["plan", "amend", "CUT", ...puts('"[{}]"'), "--yes"],
			2,
			/expected a step as JSON, such as/,
		],
		["no JSON", ["plan", "amend", "CUT", ...puts("{"), "--yes"], 2, /expected a step as JSON, such as/],
		[
			"an answer to a question that is answered",
			["answer", "QUESTION", "2.0"],
			3,
			/nobody asks #\d+ now; open are none/,
		],
		["an answer to no question", ["answer", "9999", "2.0"], 3, /9999/],
	])("%s", (_, args, code, message) => refused(args, code, message));
});

/** The file of the steps of a plan. */
async function fileOfSteps(plan: string): Promise<string> {
	const log = await readFile(join(here.state, "state/wal.jsonl"), "utf8");
	const started = log.split("\n").find((line) => line.includes('"plan_started"') && line.includes(`"plan":"${plan}"`));
	const { decomposition } = JSON.parse(started ?? "").data;
	return join(here.state, "state/plans", decomposition.slice(0, 2), `${decomposition}.blob`);
}

describe("a plan whose steps are not what was written", () => {
	test.each<[string, (sound: Buffer) => Promise<Buffer | undefined>]>([
		["cut", async (sound) => sound.subarray(0, -20)],
		["those of another plan", async () => readFile(await fileOfSteps(finished))],
		["gone", async () => undefined],
	])("%s: is not run from a step, nor amended, and it is said how it is given up", async (_, change) => {
		const path = await fileOfSteps(cut);
		const sound = await readFile(path);
		const changed = await change(sound);
		await (changed ? writeFile(path, changed) : rm(path));
		const lost = /the steps of plan p\d+ are lost: .*plan discard p\d+/;
		await refused(["plan", "resume", "CUT", "--from", "s1"], 5, lost);
		await refused(["plan", "amend", "CUT", "--describe", "s5=x", "--yes"], 5, lost);
		expect((await run(here, ["plan", "show", cut])).stdout).toContain("its steps are lost");
		await writeFile(path, sound);
	});

	test("is discarded with one notice when it is to go on; others keep theirs, and run from a step", async () => {
		await writeFile(await fileOfSteps(cut), "{}");
		const gone = await run(here, ["resume"]);
		expect(gone.stdout).toMatch(
			new RegExp(`Plan ${cut} was discarded, because its steps are lost: .*Please ask again`),
		);
		expect((await run(here, ["plan", "list", "--all"])).stdout).toMatch(
			new RegExp(`^${cut}  (?:aborted|discarded)`, "m"),
		);
		expect(await run(here, ["resume"])).toMatchObject({
			code: 3,
			stderr: expect.stringContaining("nothing is in flight"),
		});
		const again = await run(here, ["plan", "resume", finished, "--from", "s5"]);
		expect([again.code, again.stdout], again.stderr).toEqual([0, expect.stringContaining("foxes")]);
	});
});
