/** docs/formats/state-directory.md names every path that a session leaves, and gives each a class. */
import { appendFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative, sep } from "node:path";
import type { Model } from "@reyn/journal";
import { offlineModel } from "@reyn/offline-model";
import { openRuntime } from "@reyn/runtime";
import { createFileTools } from "@reyn/tools";
import { afterAll, beforeAll, expect, test } from "vitest";
import { carryOut as run } from "../carry-out.ts";
import type { Place } from "../cli.ts";

const page = await readFile(join(import.meta.dirname, "../../docs/formats/state-directory.md"), "utf8");

interface Row {
	readonly path: string;
	readonly kind: string;
	readonly matches: (path: string) => boolean;
}

const classes = [...page.matchAll(/^\| ([a-z -]+) \| [A-Z].*\|$/gm)].map(([, name = ""]) => name);
const rows: Row[] = [...page.matchAll(/^\| `([^`]+)` \| ([a-z -]+) \|/gm)].map(([line, path = "", kind = ""]) => {
	const atAnyDepth = line.includes("at any depth");
	const pattern = path.replace(/[.+?^${}()|[\]\\]/g, "\\$&").replaceAll("*", atAnyDepth ? ".*" : "[^/]*");
	const whole = new RegExp(`^${pattern}$`);
	return { path, kind, matches: (found) => whole.test(found) };
});

let root: string;
let here: Place;
let found: readonly string[];

// A plan, a second session's worth of turns, a skill, a script, and the crash of a write.
beforeAll(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-state-"));
	here = { cwd: join(root, "project"), state: join(root, ".reyn"), trace: join(root, "calls.jsonl") };
	await mkdir(here.cwd);
	await writeFile(join(here.cwd, "foxes.md"), "# Foxes\n\nA fox sleeps by day. The den of a fox has two doors.\n");
	await writeFile(join(here.cwd, "owls.md"), "# Owls\n\nAn owl sleeps by day too. It hunts mice at night.\n");
	await work("run", "-p", "How do foxes and owls work together, and what could break? Compare their days in detail");
	await work("skill", "run", "digest", "--input", '{"topic":"foxes"}');
	await writeFile(join(root, "asks.ts"), 'export default (ctx) => ctx.ask("How much?");');
	await work("script", "run", join(root, "asks.ts"), "--answer", "much ".repeat(10_000));
	await appendFile(join(here.state, "state/wal.jsonl"), '{"v":1,"seq":');
	await work("run", "-p", "where does a fox sleep?");
	await talk();
	await change();
	await work("config", "set", "plan.concurrency", "2");
	await work("gc", "--keep-days", "0", "--keep-checkpoints", "30", "--yes");
	const entries = await readdir(here.state, { recursive: true, withFileTypes: true });
	found = entries
		.filter((entry) => !entry.isDirectory())
		.map((entry) => relative(here.state, join(entry.parentPath, entry.name)).replaceAll(sep, "/"));
});
afterAll(() => rm(root, { recursive: true, force: true }));

/** A conversation that is long enough for a snapshot. */
async function talk(): Promise<void> {
	const runtime = await openRuntime({ state: here.state, model: offlineModel(), tools: createFileTools(here.cwd) });
	for (let n = 0; n < 40; n++) {
		await runtime.prompt(`hello for the ${n}th time`);
		await runtime.idle();
	}
	await runtime.close();
}

/** A tool changes a file. */
async function change(): Promise<void> {
	const model: Model = {
		id: "writer",
		async *generate({ messages }) {
			const args = { path: "owls.md", old: "mice", new: "voles" };
			if (messages.at(-1)?.role === "user") yield { type: "toolCall", call: { id: "1", name: "edit", args } };
			else yield { type: "text", text: "done" };
			yield { type: "usage", usage: { inputTokens: 1, outputTokens: 1 } };
		},
	};
	const runtime = await openRuntime({ state: here.state, model, tools: createFileTools(here.cwd, { writes: true }) });
	await runtime.prompt("they hunt voles");
	await runtime.idle();
	await runtime.close();
}

async function work(...args: string[]): Promise<void> {
	const ended = await run(here, args);
	expect(ended.code, ended.stderr).toBe(0);
}

test("each row has one of the five classes", () => {
	expect(classes).toHaveLength(5);
	expect(rows.length).toBeGreaterThan(10);
	expect(rows.filter(({ kind }) => !classes.includes(kind))).toEqual([]);
});

test("every path that a session leaves has a row", () => {
	expect(found.filter((path) => !rows.some(({ matches }) => matches(path)))).toEqual([]);
});

test.each([
	".gitignore",
	"state/wal.jsonl",
	"state/wal.head",
	"state/wal.lock",
	"state/wal.jsonl.broken-*",
	"state/snapshots/log.blob",
	"state/snapshots/roots/*/*.blob",
	"state/snapshots/chunks/*.blob",
	"state/kept/branches.blob",
	"state/kept/log.blob",
	"state/kept/roots/*/*.blob",
	"state/kept/chunks/*.blob",
	"state/results/*/*.blob",
	"state/images/*/*.blob",
	"state/scripts/*/*.blob",
	"state/plans/*/*.blob",
	"events/*.jsonl",
	"config/settings.yaml",
	"agents/*/workspace/*",
])("the row of %s is of a path that this session left", (path) => {
	const row = rows.find((each) => each.path === path);
	expect(row).toBeDefined();
	expect(found.some((each) => row?.matches(each))).toBe(true);
});
