/** `reyn events`: the audit trail as a person reads it, beside a running process, after `gc`, and whatever lies in its files. */
import { appendFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { carryOut as run } from "../carry-out.ts";
import { type Place, start } from "../cli.ts";

let root: string;
let here: Place;

beforeAll(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-events-cli-"));
	await mkdir(join(root, "project"));
	await writeFile(join(root, "project/foxes.md"), "# Foxes\n\nA fox sleeps by day. The den of a fox has two doors.\n");
	here = { cwd: join(root, "project"), state: join(root, "state"), trace: join(root, "calls.jsonl") };
	await done("run", "-p", "where does a fox sleep?");
	await done("label", "@", "good");
});
afterAll(() => rm(root, { recursive: true, force: true }));

async function done(...args: string[]): Promise<string> {
	const ended = await run(here, args);
	expect(ended.code, ended.stderr).toBe(0);
	return ended.stdout;
}

const kindsOf = (stdout: string): readonly string[] =>
	(JSON.parse(stdout) as { lines: { kind: string; what: string }[] }).lines.map(({ kind, what }) => `${kind} ${what}`);

test("it says what happened, oldest first, of the kinds and the time that are asked for", async () => {
	const all = kindsOf(await done("events", "--json"));
	expect(all.slice(0, 2)).toEqual(["process opened", "turn begun"]);
	expect(all.at(-1)).toBe("move labelled");
	expect(kindsOf(await done("events", "--json", "--kind", "turn,move", "--since", "1h"))).toEqual([
		"turn begun",
		"turn ended",
		"move labelled",
	]);
	expect(await done("events", "-n", "1")).toMatch(
		/^older ones: .*events -n 10\n#\d+ .* {2}move {2}labelled {2}label=good .*actor=user\n$/,
	);
	expect(await done("events", "--since", "2099-01-01")).toBe("nothing is there\n");
	for (const since of ["soon", "30x", "#x", "2026-99-99"]) {
		const refused = await run(here, ["events", "--since", since]);
		expect(refused.code).toBe(2);
		expect(refused.stderr).toContain("expected 30m, 2h, 7d, a date");
	}
	expect((await run(here, ["events", "--kind", "a, b"])).code).toBe(2);
});

test("with --follow it goes on while another process works, until Ctrl-C", async () => {
	const { child, ended, line, lines } = start(here, ["events", "-n", "1", "--follow", "--json"]);
	await line("");
	await done("label", "@", "better");
	await line((said) => said.includes('"better"'));
	child.kill("SIGINT");
	expect((await ended).code).toBe(130);
	const said = lines.map((each) => JSON.parse(each) as { what: string; label?: string });
	expect(said.map(({ what, label = "" }) => `${what} ${label}`)).toEqual([
		"labelled good",
		"opened ",
		"labelled better",
	]);
});

test("what cannot be read is counted and named, acts on no terminal, and what can be read is said", async () => {
	const directory = join(here.state, "events");
	const [name = ""] = await readdir(directory);
	const hostile = "\u001b[2J\u009b\u202e\nFAKE";
	const line = JSON.stringify({
		...{
			v: 1,
			at: "2099-01-01T00:00:00.000Z",
			seq: 7,
			kind: hostile,
			what: hostile,
			scope: { agent: hostile },
			log: "x",
		},
		[hostile]: hostile,
	});
	const before = await readFile(join(directory, name));
	await appendFile(join(directory, name), `rubbish\n${line}\n${line.slice(0, 40)}`);
	const said = await done("events");
	// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this is about.
	expect(said).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/);
	expect(said).not.toMatch(/^FAKE/m);
	expect(said).toContain("labelled");
	expect(said).toMatch(new RegExp(`^1 line cannot be read: ${name}:\\d+$`, "m"));
	await writeFile(join(directory, name), before);
});

test("it outlives the log that gc takes away, and needs no log that is sound", async () => {
	for (let n = 0; n < 3; n++) await done("run", "-p", `where does a fox sleep ${n}?`);
	const before = kindsOf(await done("events", "--json", "-n", "1000"));
	await done("gc", "--keep-days", "0", "--keep-checkpoints", "1", "--yes");
	const after = kindsOf(await done("events", "--json", "-n", "1000"));
	expect(after.slice(0, before.length)).toEqual(before);
	await writeFile(join(here.state, "state/wal.jsonl"), "no log\n");
	expect((await run(here, ["log"])).code).not.toBe(0);
	expect(kindsOf(await done("events", "--json", "-n", "1000"))).toEqual(after);
});
