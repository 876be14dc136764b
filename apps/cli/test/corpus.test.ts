/** A hostile text in every text field of every kind of record, and every command: what reaches a stream is clean. */
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { allRecords, fileStore, layoutOf } from "@reyn/runtime";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { walRecords } from "../../../packages/wal/src/record/wal-records.ts";
import { HOSTILE, raw } from "../../../tests/kit/hostile.ts";
import { some } from "../../../tests/sample.ts";
import { main } from "../src/main.ts";
import { type HostileLog, hostile, ids, sha256, writeHostileLog } from "./hostile-log.ts";

/** As a script may have it: its own text is refused where it has such characters. */
const literal = (text: string): string =>
	JSON.stringify(text).replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);

const SCRIPT = `export default async (ctx, args) => {
	console.log(${literal(hostile("printed"))});
	const said = await ctx.agent(${literal(hostile("asked"))}, { label: ${literal(hostile("labelled"))} });
	throw new Error(${literal(hostile("thrown"))} + said);
};`;

let root: string;
let cwd: string;
let state: string;
let log: HostileLog;

beforeAll(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-corpus-"));
	[cwd, state] = [join(root, "work"), join(root, "state")];
	await mkdir(cwd);
	await writeFile(join(cwd, "notes.md"), `# Foxes\n\nA fox ${hostile("file.text")} sleeps by day.\n`);
	await writeFile(join(cwd, `fox\u001b[2J\u202e\u{e0041}.md`), `# Foxes by night ${HOSTILE}\n`);
	await writeFile(join(cwd, "review.ts"), SCRIPT);
	await mkdir(layoutOf(state).wal, { recursive: true, mode: 0o700 });
	log = await writeHostileLog(state, SCRIPT);
	const scripts = fileStore(state).blobs("scripts");
	for (const text of [SCRIPT, "null"]) {
		const hash = sha256(text);
		await scripts.put(`${hash.slice(0, 2)}/${hash}`, Buffer.from(text));
	}
});
afterEach(() => vi.restoreAllMocks());
afterAll(() => rm(root, { recursive: true }));

interface Said {
	readonly code: number;
	readonly stdout: string;
	readonly stderr: string;
}

async function reyn(argv: readonly string[], at = state): Promise<Said> {
	const heard = { stdout: "", stderr: "" };
	for (const name of ["stdout", "stderr"] as const)
		vi.spyOn(process[name], "write").mockImplementation((text, then?: unknown) => {
			heard[name] += text;
			if (typeof then === "function") then();
			return true;
		});
	try {
		return { code: await main(["node", "reyn", "--cwd", cwd, "--state", at, ...argv]), ...heard };
	} finally {
		vi.restoreAllMocks();
	}
}

/** Nothing that acts, and no line that somebody else has begun. */
function expectClean({ stdout, stderr }: Said): void {
	for (const text of [stdout, stderr]) {
		expect(raw(text.replaceAll(/[\n\t]/g, ""))).toEqual([]);
		expect(text).not.toMatch(/^\s*FAKE/m);
	}
}

test("every kind of record is there, and every one of its texts is hostile", () => {
	const all = [...allRecords, ...walRecords].map(({ kind }) => kind);
	expect(all.filter((kind) => !log.kinds.has(kind))).toEqual([]);
	expect(log.marks.size).toBeGreaterThanOrEqual(100);
});

/** No path has a NUL. */
const path = (mark: string): string => hostile(mark).replaceAll("\0", "");

/** Each command that only looks, and what it has to show of the log: the marks that a person reads. */
const looks: readonly (readonly [argv: readonly string[], marks: readonly string[], code?: number])[] = [
	[["log"], ["checkpoint.title", "reset.mode", "rewind_note.actor"]],
	[
		["log", "--graph"],
		["checkpoint.title", "reset.mode"],
	],
	[["branches"], []],
	[["labels"], ["label_1"]],
	[
		["show", "@"],
		["user_prompt.text", "assistant_message.text", "call.name", "plan-1", "plan_started.goal", "skill-2"],
	],
	[["show", "@", "--entry"], ["assistant_message.text"]],
	[["show", "label_1"], []],
	[
		["diff", "1", "@"],
		["user_prompt.text", "plan-2", "skill-2", "plan_started.goal"],
	],
	[["diff", "1", "@", "--stat"], []],
	[
		["diff", "1", "@", "--session", `${ids.agent}/${ids.session}`],
		["agent-1", "session-1", "user_prompt.text"],
	],
	[
		["plan", "list"],
		["plan-2", "plan_started.goal", "plan_paused.why"],
	],
	[
		["plan", "list", "--all"],
		["plan-1", "plan-2", "plan_started.goal"],
	],
	[
		["plan", "show", ids.plan],
		["plan-1", "plan_started.goal"],
	],
	[
		["skill", "list"],
		["skill-2", "skill_run_started.skill", "skill_phase_entered.phase", "child-1", "parent.step"],
	],
	[
		["script", "list"],
		["script-1", "script_started.name", "script_failed.reason.message"],
	],
	[
		["script", "watch", ids.script],
		["step_failed.place.label", "step_failed.reason.message"],
	],
	[
		["rewind", "3", "--dry-run"],
		["agent-1", "session-1", "plan-2", "skill-2", "script-2"],
	],
	[["checkout", "3", "--dry-run"], ["plan-2"]],
	[["undo", "--dry-run"], ["label_1"]],
	[["redo", "--dry-run"], []],
	[["gc", "--dry-run", "--keep-days", "0", "--keep-checkpoints", "0"], []],
	[["wal", "verify"], []],
	[["wal", "stats"], ["unknown.kind"]],
	[["wal", "tail", "-n", "40"], ["script-2"]],
	[["wal", "repair"], []],
	// Nothing goes on in a state from elsewhere, and what would is said.
	[["resume"], ["plan-2", "plan_started.goal", "skill-2", "user_prompt.text"], 4],
	// What is refused says what there is, or what it was asked for.
	[["plan", "discard", hostile("asked")], ["asked", "plan-2"], 3],
	[["plan", "resume", hostile("asked")], ["asked", "plan-2"], 3],
	[["plan", "resume", hostile("asked"), "--dry-run"], ["asked", "plan-2"], 3],
	[["plan", "show", hostile("asked")], ["asked", "plan-2"], 3],
	[["plan", "pause", hostile("asked")], ["asked", "plan-2"], 3],
	[["plan", "retry", hostile("asked"), "s1"], ["asked", "plan-2"], 3],
	[["plan", "amend", hostile("asked"), "--drop", "s1"], ["asked", "plan-2"], 3],
	[["skill", "discard", hostile("asked")], ["asked", "skill-2"], 3],
	[["skill", "discard", ids.child], ["child-1", "plan-2", "skill-2"], 3],
	[["skill", "resume", hostile("asked")], ["asked", "skill-2"], 3],
	[["script", "watch", hostile("asked")], ["asked"], 3],
	[["script", "run", path("asked.ts")], ["asked.ts"], 3],
	[["script", "run", import.meta.filename, "--args", hostile("asked")], ["asked"], 2],
	[["script", "save", ids.openScript, "/nowhere/kept.ts"], [], 2],
	// A name that no script may have is said, and nothing of it runs.
	[["--trust", "script", "verify", ids.openScript], ["script_started.name"], 2],
	[["--trust", "script", "resume", ids.openScript, "--explain"], ["script_started.name"], 2],
	[["show", hostile("asked")], ["asked"], 2],
	[["wal", "inspect", hostile("asked")], ["asked"], 2],
	[["rewind", "3"], [], 4],
	[["checkout", "3"], [], 4],
	[["undo"], [], 4],
	[["redo"], [], 3],
	[["resume", "--state", path("/nowhere")], ["nowhere"], 3],
	[["run", "-p", "foxes", "--cwd", path("/nowhere")], ["nowhere"], 2],
];

test.each(some(looks, 4).map(([argv, ...rest]) => [argv.join(" ").replace(/[^ -~]/g, ""), argv, ...rest] as const))(
	"%s",
	async (_, argv, marks, code = 0) => {
		const [text, json] = [await reyn(["-v", ...argv]), await reyn(["--json", ...argv])];
		for (const said of [text, json]) expectClean(said);
		expect([text.code, json.code], text.stderr).toEqual([code, code]);
		for (const mark of marks) expect(text.stdout + text.stderr).toContain(mark);
		const documents = json.stdout.trimEnd().split("\n");
		const value = JSON.stringify(documents.map((line) => JSON.parse(line)));
		for (const mark of marks) expect(value).toContain(mark);
	},
);

test("every text of every record is shown by `wal inspect`, for people and as JSON", async () => {
	const range = ["wal", "inspect", "--from", "1", "--to", String(log.tip)];
	const [lines, json] = [await reyn(range), await reyn(["--json", ...range])];
	for (const said of [lines, json]) expectClean(said);
	expect(lines.stdout.trimEnd().split("\n")).toHaveLength(log.tip);
	const records = json.stdout
		.trimEnd()
		.split("\n")
		.map((line) => JSON.parse(line));
	expect(records).toHaveLength(log.tip);
	let whole = "";
	for (const { seq } of records) {
		const said = await reyn(["wal", "inspect", String(seq)]);
		expectClean(said);
		expect(JSON.parse(said.stdout)).toEqual(records[seq - 1]);
		whole += said.stdout;
	}
	for (const mark of log.marks) expect(whole).toContain(`FAKE ${mark}`);
});

/** What writes does so in a copy. */
async function copied(): Promise<string> {
	const copy = await mkdtemp(join(root, "copy-"));
	await cp(state, copy, { recursive: true });
	return copy;
}

const stream = ["--output-format", "stream-json"];
/** Each command that works, and what it says of what was in flight. */
const works: readonly (readonly [argv: readonly string[], marks: readonly string[]])[] = [
	[["resume"], ["plan-2", "skill-2", "user_prompt.text"]],
	[
		["resume", ...stream],
		["plan-2", "skill-2", "user_prompt.text"],
	],
	[["--json", "run", "-p", "which fox sleeps by night?"], []],
	[["skill", "run", hostile("asked")], ["asked"]],
	[["plan", "resume", ids.openPlan], ["plan-2"]],
	[["plan", "discard", ids.openPlan], ["plan-2"]],
	[["plan", "pause", ids.openPlan], ["plan-2"]],
	[["skill", "discard", ids.openSkillRun], ["skill-2"]],
	[
		["script", "run", "review.ts"],
		["labelled", "printed", "thrown"],
	],
	[
		["script", "run", "review.ts", ...stream],
		["labelled", "printed", "thrown"],
	],
	[["script", "resume", ids.openScript], ["script_started.name"]],
	[["rewind", "3", "--yes"], ["plan-2"]],
	[["--json", "checkout", "3", "--yes"], ["plan-2"]],
	[["label", "@", hostile("asked"), "--actor", hostile("actor")], ["asked"]],
];

test.each(some(works, 3).map(([argv, marks]) => [argv.join(" ").replace(/[^ -~]/g, ""), argv, marks] as const))(
	"%s, of what is under way",
	async (_, argv, marks) => {
		const said = await reyn(
			["-v", "--trust", ...argv.map((word) => (word === "review.ts" ? join(cwd, word) : word))],
			await copied(),
		);
		// It has worked, and was not refused.
		expect([0, 1, 2, 3], said.stderr).toContain(said.code);
		expect(raw((said.stdout + said.stderr).replaceAll(/[\n\t]/g, ""))).toEqual([]);
		// An answer may have as many lines as it likes; what is said of it has none but its own.
		expect(said.stderr).not.toMatch(/^FAKE/m);
		for (const mark of marks) expect(said.stdout + said.stderr).toContain(mark);
	},
);

test("chat, of all that it has to show", async () => {
	const words = [
		"/tree",
		"/plan list",
		"/skill list",
		"/rewind",
		"/rewind 3",
		"/checkout 3",
		"/diff 1 @",
		"/undo --yes",
		"/meter",
		hostile("/asked").split("\n")[0],
	];
	const asks = [`/plan discard ${"asked"}\u009b\u202e`, "which fox sleeps by night?", "/exit"];
	const stdin = Object.assign(Readable.from([`${[...words, ...asks].join("\n")}\n`]), { isTTY: false });
	vi.spyOn(process, "stdin", "get").mockReturnValue(stdin as never);
	const said = await reyn(["--trust", "chat", "--no-restore"], await copied());
	expect(raw((said.stdout + said.stderr).replaceAll(/[\n\t]/g, ""))).toEqual([]);
	for (const mark of ["plan-2", "skill-2", "user_prompt.text", "checkpoint.title", "/asked", "label_1"])
		expect(said.stdout).toContain(mark);
});

test("a damaged log is told of with none of its bytes", async () => {
	const copy = await copied();
	const file = join(layoutOf(copy).wal, "wal.jsonl");
	const lines = (await readFile(file, "utf8")).split("\n");
	await writeFile(file, [...lines.slice(0, 9), `{"v":1,"seq":9,"kind":"${HOSTILE}"}`, ...lines.slice(10)].join("\n"));
	for (const argv of [["wal", "verify"], ["wal", "repair"], ["wal", "stats"], ["log"], ["wal", "tail"]])
		for (const how of ["-v", "--json"]) {
			const said = await reyn([how, ...argv], copy);
			expectClean(said);
		}
});
