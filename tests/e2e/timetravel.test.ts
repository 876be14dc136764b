/** Going back and coming again on the command line: previews, scopes, differences, and JSON everywhere. */
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { offlineModel } from "@reyn/offline-model";
import { openRuntime } from "@reyn/runtime";
import { createFileTools } from "@reyn/tools";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { carryOut as run } from "../carry-out.ts";
import type { Place } from "../cli.ts";
import type { Ended } from "../kit/killable.ts";

const side = { agent: "default", session: "side" };

let root: string;
let here: Place;
/** The tip after the first question, and after the same was asked in another session. */
let first: number;
let second: number;

beforeAll(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-travel-"));
	here = { cwd: join(root, "project"), state: join(root, "state"), trace: join(root, "calls.jsonl") };
	await mkdir(here.cwd);
	await writeFile(join(here.cwd, "foxes.md"), "# Foxes\n\nA fox sleeps by day.\n");
	await ask("where does a fox sleep?");
	first = (await json<{ tip: number }>(["log"])).tip;
	const runtime = await openRuntime({ state: here.state, model: offlineModel(), tools: createFileTools(here.cwd) });
	await runtime.prompt("where does a fox sleep?", side);
	await runtime.idle();
	await runtime.close();
	second = runtime.wal.tip;
	await ask("what does a fox do by day?");
});
afterAll(() => rm(root, { recursive: true, force: true }));

async function ask(question: string): Promise<void> {
	const ended = await run(here, ["run", "-p", question]);
	expect(ended.code, ended.stderr).toBe(0);
}

/** The one document that a command prints. */
async function json<T>(args: readonly string[]): Promise<T> {
	const ended = await run(here, [...args, "--json"]);
	expect(ended.code, ended.stderr).toBe(0);
	return documentOf(ended) as T;
}

function documentOf({ stdout }: Ended): unknown {
	expect(stdout.trimEnd().split("\n")).toHaveLength(1);
	return JSON.parse(stdout);
}

const log = (): Promise<string> => readFile(join(here.state, "state/wal.jsonl"), "utf8");

describe("reyn diff", () => {
	test("says what was added to one session since a moment, for people, as counts and as JSON", async () => {
		const diff = await json<{ from: number; to: number; projections: { conversation: object[] } }>([
			"diff",
			String(second),
		]);
		expect(diff.projections.conversation).toMatchObject([
			{
				kind: "spliced",
				path: ["items"],
				before: [],
				after: expect.arrayContaining([
					expect.objectContaining({ type: "prompt", text: "what does a fox do by day?" }),
				]),
			},
		]);
		const ended = await run(here, ["diff", String(second), "@"]);
		expect(ended.stdout).toMatch(
			/^#\d+ → #\d+ of default\/main\nconversation\n {2}~ items\[\d+\]: 0 taken away, \d+ added\n/,
		);
		expect(ended.stdout).toMatch(/^ {4}\+ \{"type":"prompt",.*"what does a fox do by day\?","model":"offline"\}$/m);
		expect((await run(here, ["diff", String(second), "--stat"])).stdout).toMatch(
			/^conversation {2}\d+ added, 0 removed, 0 changed$/m,
		);
		expect(await json(["diff", "@", String(second), "--stat"])).toMatchObject({
			projections: { conversation: { added: 0, removed: expect.any(Number), changed: 0 } },
		});
	});

	test("is of the session that was named", async () => {
		const args = ["diff", String(first), String(second)];
		expect((await run(here, args)).stdout).toMatch(/\nnothing differs\n$/);
		expect((await run(here, [...args, "--session", "default/side"])).stdout).toMatch(
			/of default\/side\nconversation\n/,
		);
	});
});

describe("a preview", () => {
	test("counts what would go and names what would stay, and writes nothing", async () => {
		const before = await log();
		type Preview = { preview?: { scope: object }; scope?: object; blastRadius: object; applied: boolean };
		const whole = await json<Preview>(["rewind", String(first), "--dry-run"]);
		expect(whole).toMatchObject({
			applied: false,
			preview: { scope: {} },
			blastRadius: { leaves: { turns: 2, sessions: ["default/side", "default/main"] }, stays: { records: 0 } },
		});
		const scoped = await json<Preview>(["checkout", String(first), "--scope", "session", "--dry-run"]);
		expect(scoped).toMatchObject({
			applied: false,
			kind: "undo",
			scope: { agent: "default", session: "main" },
			blastRadius: {
				leaves: { turns: 1, sessions: ["default/main"] },
				stays: { turns: 1, sessions: ["default/side"] },
			},
		});
		const asText = await run(here, ["checkout", String(first), "--scope", "session", "--dry-run"]);
		expect(asText.stdout).toMatch(
			/\nonly default\/main; .*\ncheck out #\d+, further back.*\nleaves behind \d+ records, 1 turn in default\/main/,
		);
		expect(asText.stdout).toMatch(/\nkeeps, of what came after #\d+, \d+ records, 1 turn in default\/side\n/);
		const refused = await run(here, ["checkout", String(first)]);
		expect(refused).toMatchObject({
			code: 4,
			stdout: "",
			stderr: expect.stringMatching(/\ncheck out #.*\nleaves behind/),
		});
		expect(await log()).toBe(before);
	});
});

test("a rewind of one session leaves the other, is undone, and is checked out again by its branch", async () => {
	const hashes = async (): Promise<unknown> => (await json<{ hash: string }>(["show", "@"])).hash;
	const sideOf = async (a: string): Promise<unknown> =>
		(await json<{ projections: unknown }>(["diff", a, "@", "--session", "default/side"])).projections;
	const start = await hashes();
	const { preview, blastRadius, result } = await json<{
		preview: { scope: object };
		blastRadius: { leaves: object };
		result: { seq: number };
	}>(["rewind", String(first), "--scope", "session", "--yes"]);
	expect([preview.scope, blastRadius.leaves]).toMatchObject([{ agent: "default", session: "main" }, { turns: 1 }]);
	const rewound = await hashes();
	expect(rewound).toBe((await json<{ hash: string }>(["show", String(first)])).hash);
	expect(await sideOf(String(second))).toEqual(
		Object.fromEntries(
			["config_change", "conversation", "files", "journal", "plans", "questions", "scripts", "skills", "tasks"].map(
				(name) => [name, []],
			),
		),
	);

	const branch = `b${result.seq}`;
	expect(await json(["branches"])).toMatchObject([
		{ name: "main", active: false },
		{ name: branch, active: true },
	]);
	expect(await json(["log", "--graph"])).toMatchObject({
		branches: [{ name: "main" }, { name: branch }],
		entries: expect.arrayContaining([
			expect.objectContaining({ seq: result.seq, title: `rewind to #${first} of default/main (both) by user` }),
		]),
	});
	expect(await json(["undo", "--yes"])).toMatchObject({
		of: result.seq,
		target: result.seq - 1,
		hash: start,
		applied: true,
	});
	expect(await json(["redo", "--yes"])).toMatchObject({ hash: rewound });
	await json(["label", branch, "after-the-rewind"]);
	expect(await json(["checkout", "main", "--yes"])).toMatchObject({ kind: "fork_switch", hash: start });
	expect(await json(["checkout", "after-the-rewind", "--dry-run"])).toMatchObject({
		kind: "fork_switch",
		applied: false,
	});
	expect(await json(["labels"])).toMatchObject([{ name: "after-the-rewind" }]);
});

describe("what cannot be done is one JSON document with a code, an exit code of its own, and no record", () => {
	test.each<[string, string[], number, string]>([
		["a seq that is yet to come", ["diff", "1", "99999"], 3, "TIMETRAVEL_OUT_OF_RANGE"],
		["a negative seq", ["diff", "--", "-3"], 2, "OPERATOR_BAD_REF"],
		["half a seq", ["checkout", "1.5", "--dry-run"], 2, "OPERATOR_BAD_REF"],
		["a label that nobody gave", ["rewind", "yesterday", "--dry-run"], 2, "OPERATOR_BAD_REF"],
		["a branch that there is not", ["show", "b99999"], 3, "OPERATOR_UNKNOWN_REF"],
		["too many checkpoints back", ["diff", "@-99"], 3, "OPERATOR_UNKNOWN_REF"],
		["a session that there is not", ["diff", "1", "2", "--session", "nobody/here"], 3, "RUNTIME_UNKNOWN_SESSION"],
		["a session that is none", ["diff", "1", "2", "--session", "no/body/here"], 2, "CLI_USAGE"],
		["an unknown scope", ["rewind", "1", "--scope", "half"], 2, "CLI_USAGE"],
		["a label for what is yet to come", ["label", "99999", "soon"], 3, "TIMETRAVEL_OUT_OF_RANGE"],
		["a checkout without a yes", ["checkout", "1", "--scope", "agent"], 4, "CLI_REFUSED"],
		["a redo of nothing", ["redo", "--yes"], 3, "NOTHING_TO_REDO"],
	])("%s", async (_, args, code, error) => {
		const before = await log();
		const ended = await run(here, ["--json", ...args]);
		expect(ended.code).toBe(code);
		expect(documentOf(ended)).toMatchObject({ error: { code: error, message: expect.any(String), details: {} } });
		expect(await log()).toBe(before);
	});

	test("where there is no history yet", async () => {
		const empty = { ...here, state: join(root, "none") };
		for (const args of [
			["log"],
			["diff", "1"],
			["rewind", "1"],
			["checkout", "1"],
			["undo"],
			["branches"],
			["label", "1", "x"],
		]) {
			const ended = await run(empty, [...args, "--json"]);
			expect(ended.code).toBe(3);
			expect(documentOf(ended)).toMatchObject({ error: { code: "CLI_NOT_FOUND" } });
		}
	});
});

test("to go where one is writes nothing", async () => {
	const before = await log();
	expect(await json(["rewind", "@", "--yes"])).toMatchObject({ applied: false, result: { kind: "none" } });
	expect(await json(["checkout", "@", "--yes"])).toMatchObject({ applied: false, kind: "none" });
	expect(await log()).toBe(before);
});
