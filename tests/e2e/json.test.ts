/** `--json`: whatever a command does or cannot do, its stdout is JSON, with its keys in the same order each time. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { commands } from "../../apps/cli/src/main.ts";
import { carryOut } from "../carry-out.ts";
import type { Place } from "../cli.ts";
import { some } from "../sample.ts";

interface Case {
	/** What it looks at or does; undefined: what it says then is for people, or needs work that is under way. */
	readonly does?: readonly string[];
	/** What has to be done before it each time. */
	readonly after?: readonly string[];
	/** It is refused, and with which code. */
	readonly fails: readonly [args: readonly string[], code: number];
	/** A document of its own for each record. */
	readonly isLines?: true;
}

const REF = ["yesterday"];
const NONE = ["none"];

const cases: Readonly<Record<string, Case>> = {
	chat: { fails: [["-r", "nobody"], 3] },
	run: { does: ["-p", "where does a fox sleep by day?"], fails: [["-p", " "], 2] },
	interrupt: { fails: [[], 3] },
	compact: { does: [], after: ["run", "-p", "where does a fox sleep by day?"], fails: [["--session", "nobody"], 3] },
	resume: { fails: [[], 3] },
	archive: { does: ["--dry-run"], fails: [[], 4] },
	reset: { does: ["--dry-run"], fails: [NONE, 2] },
	status: { does: [], fails: [NONE, 2] },
	spend: { does: [], fails: [NONE, 2] },
	sessions: { does: [], fails: [NONE, 2] },
	transcript: { does: ["@"], fails: [REF, 2] },
	search: { does: ["fox"], fails: [[], 2] },
	log: { does: ["--graph"], fails: [["--grap"], 2] },
	events: { does: ["-n", "3"], fails: [["--since", "soon"], 2] },
	records: { does: ["-n", "3"], fails: [["-n", "0"], 2] },
	show: { does: ["@"], fails: [["999"], 3] },
	diff: { does: ["1", "@"], fails: [["1", "999"], 3] },
	files: { does: ["@"], fails: [["999"], 3] },
	rewind: { does: ["1", "--dry-run"], fails: [["1"], 4] },
	checkout: { does: ["1", "--dry-run"], fails: [["1"], 4] },
	undo: { does: ["--dry-run"], fails: [[], 4] },
	redo: { does: ["--dry-run"], fails: [["--yes"], 3] },
	adopt: { fails: [["none"], 2] },
	unlabel: { fails: [["none"], 3] },
	label: { does: ["@", "here", "--dry-run"], fails: [["@", "there"], 2] },
	questions: { does: [], fails: [NONE, 2] },
	answer: { fails: [["999", "yes"], 3] },
	permissions: { does: [], fails: [NONE, 2] },
	revoke: { fails: [["999"], 3] },
	labels: { does: [], fails: [NONE, 2] },
	branches: { does: [], fails: [NONE, 2] },
	gc: { does: ["--dry-run"], fails: [["--keep-days", "few"], 2] },
	"plan list": { does: ["--all"], fails: [NONE, 2] },
	"plan show": { fails: [NONE, 3] },
	"plan pause": { fails: [NONE, 3] },
	"plan retry": { fails: [["none", "s1"], 3] },
	"plan amend": { fails: [["none", "--drop", "s1"], 3] },
	"plan discard": { fails: [NONE, 3] },
	"plan resume": { fails: [NONE, 3] },
	"skill run": { fails: [NONE, 3] },
	"task list": { does: [], fails: [["--status", "asleep"], 2] },
	"task show": { does: ["t1"], after: ["task", "add", "Count the foxes"], fails: [["t999"], 3] },
	"task add": { does: ["Count the foxes"], fails: [["Count them", "--skill", "a", "--prompt", "b"], 2] },
	"task set": {
		does: ["t1", "aborted", "--outcome", "nobody asks for it"],
		after: ["task", "add", "Count the foxes"],
		fails: [["t1", "blocked"], 2],
	},
	"task assign": { does: ["t1"], after: ["task", "add", "Count the foxes"], fails: [["t999"], 3] },
	"skill list": { does: [], fails: [NONE, 2] },
	"skill show": { does: ["digest"], fails: [NONE, 3] },
	"skill new": { fails: [["No name"], 2] },
	"skill resume": { fails: [NONE, 3] },
	"skill discard": { fails: [NONE, 3] },
	"script run": { does: ["one.ts"], fails: [["gone.ts"], 3] },
	"script resume": { fails: [NONE, 3] },
	"script list": { does: [], fails: [NONE, 2] },
	"script watch": { fails: [NONE, 3] },
	"script save": { fails: [NONE, 3] },
	"script show": { fails: [NONE, 3] },
	"script explain": { fails: [NONE, 3] },
	"script verify": { fails: [NONE, 3] },
	export: { fails: [["foxes.md"], 4] },
	ui: { fails: [["--port", "none"], 2] },
	"wal verify": { does: [], fails: [NONE, 2] },
	"wal inspect": { does: ["1"], fails: [["999"], 3], isLines: true },
	"wal tail": { does: [], fails: [NONE, 2], isLines: true },
	"wal stats": { does: [], fails: [NONE, 2] },
	"wal repair": { does: [], fails: [NONE, 2] },
	demo: { fails: [["--keep", "."], 4] },
	doctor: { does: [], fails: [NONE, 2] },
	"config print": { does: [], fails: [NONE, 2] },
	"config schema": { does: [], fails: [NONE, 2] },
	"config set": { does: ["limits.turn_rounds", "9"], fails: [["plan.concurrency", "many"], 2] },
	"config unset": {
		...{ does: ["limits.turn_rounds"], after: ["config", "set", "limits.turn_rounds", "9"] },
		fails: [["plan.retry_limit"], 3],
	},
	"config path": { does: [], fails: [NONE, 2] },
	init: { fails: [NONE, 2] },
	schema: { does: ["plan", "show"], fails: [["plan", "dance"], 3] },
	completion: { fails: [["tcsh"], 2] },
};

let root: string;
let here: Place;
beforeAll(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-json-"));
	here = { cwd: join(root, "project"), state: join(root, "state"), trace: join(root, "calls.jsonl") };
	await mkdir(here.cwd);
	await writeFile(join(here.cwd, "foxes.md"), "# Foxes\n\nA fox sleeps by day.\n");
	await writeFile(join(root, "one.ts"), "export default () => 1;");
	for (const args of [
		["run", "-p", "where does a fox sleep?"],
		["label", "@", "there"],
	])
		expect(await carryOut(here, args)).toMatchObject({ code: 0 });
});
afterAll(() => rm(root, { recursive: true, force: true }));

const namesOf = (command: ReturnType<typeof commands>, before = ""): readonly string[] =>
	command.commands.flatMap((each) =>
		each.commands.length === 0 ? [before + each.name()] : namesOf(each, `${before}${each.name()} `),
	);

test("each command is looked at", () => {
	expect(Object.keys(cases).sort()).toEqual(namesOf(commands(() => {})).toSorted());
});

test.each(some(Object.entries(cases), 4))("%s", async (name, { does, after, fails: [wrong, code], isLines }) => {
	const reyn = async (args: readonly string[]): Promise<{ code: number | null; documents: readonly unknown[] }> => {
		const paths = args.map((arg) => (arg.endsWith(".ts") || arg === "." ? join(root, arg) : arg));
		const ended = await carryOut(here, ["--json", ...name.split(" "), ...paths]);
		const lines = ended.stdout.trimEnd().split("\n");
		return { code: ended.code, documents: lines.map((line) => JSON.parse(line)) };
	};
	expect(await reyn(wrong)).toEqual({
		code,
		documents: [{ error: { code: expect.any(String), message: expect.any(String), details: expect.any(Object) } }],
	});
	if (!does) return;
	const once = async () => {
		if (after) expect(await carryOut(here, after)).toMatchObject({ code: 0 });
		return reyn(does);
	};
	const [first, second] = [await once(), await once()];
	expect(first.code).toBe(0);
	if (!isLines) expect(first.documents).toHaveLength(1);
	// What it says of may be more the second time.
	const [some, more] = [keysOf(first.documents), keysOf(second.documents)];
	for (const [path, keys] of some) expect(more.get(path) ?? keys, path).toBe(keys);
});

/** Of each object in it, the keys as they stand, by where it is. */
function keysOf(value: unknown, path = "", all = new Map<string, string>()): ReadonlyMap<string, string> {
	if (typeof value !== "object" || value === null) return all;
	all.set(path, Array.isArray(value) ? "" : Object.keys(value).join(" "));
	for (const [key, each] of Object.entries(value)) keysOf(each, `${path}/${key}`, all);
	return all;
}
