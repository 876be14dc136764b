/** A state that came from elsewhere, as a person meets it: it is looked at, and nothing in it goes on before they trust it. */
import { createHash } from "node:crypto";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { offlineModel } from "@reyn/offline-model";
import { openRuntime } from "@reyn/runtime";
import { createFileTools } from "@reyn/tools";
import { afterAll, beforeAll, expect, test } from "vitest";
import { carryOut as run } from "../carry-out.ts";
import { modelCalls, type Place } from "../cli.ts";
import { leaves, onTerminal, QUESTION, says } from "../faults/lab/command-line.ts";
import { needsAll } from "../faults/lab/needs.ts";

const noTerminal = needsAll("script", "stty");

let root: string;
/** Made by a process that keeps no secret for this user. */
let foreign: Place;
let script: string;

beforeAll(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-trust-"));
	foreign = { cwd: join(root, "project"), state: join(root, ".reyn"), trace: join(root, "calls.jsonl") };
	await mkdir(foreign.cwd);
	await writeFile(join(foreign.cwd, "foxes.md"), "# Foxes\n\nA fox sleeps by day. The den of a fox has two doors.\n");
	const planned = Promise.withResolvers<void>();
	const runtime = await openRuntime({
		state: foreign.state,
		model: offlineModel({ paceMs: 10 }),
		tools: createFileTools(foreign.cwd),
		onEvent: ({ type }) => type === "plan_started" && planned.resolve(),
	});
	const source = 'export default async (ctx) => ctx.agent("What is a fox?");';
	const started = await runtime.scripts.start({ name: "fox.ts", source }, {});
	await started.end;
	script = started.run;
	await runtime.prompt(QUESTION);
	await planned.promise;
	await runtime.close();
});
afterAll(() => rm(root, { recursive: true, force: true }));

/** One hash over the names and bytes of all files of the state. */
async function hash(): Promise<string> {
	const all = createHash("sha256");
	const entries = await readdir(foreign.state, { recursive: true, withFileTypes: true });
	for (const path of entries.map((entry) => join(entry.parentPath, entry.name)).sort())
		all.update(path).update(await readFile(path).catch(() => ""));
	return all.digest("hex");
}

test("off a terminal nothing in it goes on, and what would is said; looking works", async () => {
	const before = await hash();
	const goingOn = [
		["run", "-p", "what is a fox?"],
		["resume"],
		["label", "@", "here"],
		["script", "verify", script],
		["script", "resume", script, "--explain"],
		["chat"],
	];
	for (const args of goingOn) {
		const { code, stderr } = await run(foreign, args, args[0] === "chat" ? "hello\n" : undefined);
		expect({ args, code, stderr }).toMatchObject({
			args,
			code: 4,
			stderr: expect.stringContaining("was not made there by this user"),
		});
		expect(stderr).toMatch(/in flight in it: restored: plan \S+, \d of \d steps done.*--trust/);
	}
	for (const args of [
		["log"],
		["show", "@"],
		["plan", "list"],
		["script", "list"],
		["wal", "verify"],
		["gc", "--dry-run"],
	])
		expect(await run(foreign, args)).toMatchObject({ code: 0, stderr: "" });
	expect([await hash(), modelCalls(foreign)]).toEqual([before, []]);
});

test("files of a log that come into a state of one's own make it another's, and what only a start would find is said", async () => {
	const here: Place = { ...foreign, state: join(root, "pulled") };
	await mkdir(here.state);
	// As a repository may have it: what ignores nothing is no file of ours.
	await writeFile(join(here.state, ".gitignore"), "!*\n");
	expect(await run(here, ["run", "-p", "what is a fox?"])).toMatchObject({ code: 0 });
	expect(await readFile(join(here.state, ".gitignore"), "utf8")).toBe("*\n");
	expect(await run(here, ["script", "list"])).toMatchObject({ code: 0 });
	await cp(join(foreign.state, "state"), join(here.state, "state"), { recursive: true });
	await rm(join(here.state, "state/wal.head"));
	const { code, stderr } = await run(here, ["resume"]);
	expect({ code, stderr }).toMatchObject({
		code: 4,
		stderr: expect.stringContaining("was not made there by this user"),
	});
	expect(stderr).toContain("in flight in it: restored: plan");
});

test("--trust with nothing in flight trusts, and says that there is nothing; a repair trusts nothing", async () => {
	const here: Place = { ...foreign, state: join(root, "quiet") };
	const label = (name: string) => run(here, ["label", "@", name]);
	expect(await run(here, ["run", "-p", "what is a fox?"])).toMatchObject({ code: 0 });
	await rm(join(here.state, "own"));
	const nothing = { code: 3, stderr: expect.stringContaining("nothing is in flight") };
	expect(await run(here, ["resume", "--trust"])).toMatchObject(nothing);
	expect(await label("here")).toMatchObject({ code: 0 });

	// A segment that was there when it was trusted has to stay as it was.
	const path = join(here.state, "state");
	const [name = ""] = (await readdir(path)).filter((each) => /^wal-/.test(each));
	const text = await readFile(join(path, name), "utf8");
	await writeFile(join(path, name), text.replace("what is a fox", "what is a box"));
	const { stdout } = await run(here, ["wal", "repair"]);
	const [, accept = ""] = /--accept-loss (\S+)/.exec(stdout) ?? [];
	expect(await run(here, ["wal", "repair", "--apply", "--accept-loss", accept])).toMatchObject({ code: 0 });
	expect(await label("there")).toMatchObject({ code: 4 });
});

test("a directory in the place of a file that is written is refused with its path", async () => {
	const here: Place = { ...foreign, state: join(root, "with directories") };
	for (const name of [".gitignore", "state/wal.x.tmp"]) {
		await cp(foreign.state, here.state, { recursive: true });
		await rm(join(here.state, name), { force: true });
		await mkdir(join(here.state, name));
		const { code, stderr } = await run(here, ["label", "@", "here", "--trust"]);
		expect({ code, stderr }).toMatchObject({ code: 5, stderr: expect.stringContaining(join(here.state, name)) });
		expect(stderr).toContain("expected a plain file of this user, found a directory");
		await rm(here.state, { recursive: true });
	}
});

test.skipIf(typeof noTerminal === "string")("on a terminal a person is asked once", async () => {
	const asked = async (args: readonly string[], answer: string, code: number): Promise<void> => {
		const terminal = await onTerminal(foreign, args);
		await says(terminal, "trust it, and go on? [y/N]");
		terminal.child.stdin?.write(`${answer}\n`);
		await leaves(foreign, code);
	};
	const before = await hash();
	await asked(["script", "verify", script], "n", 4);
	expect(await hash()).toBe(before);
	await asked(["script", "verify", script], "y", 0);
	expect(await run(foreign, ["resume"])).toMatchObject({ code: 0 });
	expect(modelCalls(foreign).length).toBeGreaterThan(0);
});

test("a log in which nothing was ever done needs no trust; one with a single prompt does", async () => {
	for (const prompts of [0, 1]) {
		const place: Place = { ...foreign, state: join(root, `blank-${prompts}`) };
		const runtime = await openRuntime({ state: place.state, model: offlineModel(), tools: [] });
		for (let i = 0; i < prompts; i++) await runtime.prompt("What is a fox?");
		await runtime.close();
		const ended = await run(place, ["run", "-p", "What is a fox?"]);
		expect([prompts, ended.code]).toEqual([prompts, prompts === 0 ? 0 : 4]);
	}
});
