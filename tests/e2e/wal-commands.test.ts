/** `reyn wal`, as a person or a script meets it: what it prints, how it ends, and what it leaves alone. */
import { appendFile, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineRecord, openWal } from "@reyn/wal";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { carryOut as run } from "../carry-out.ts";
import { type Place, start } from "../cli.ts";
import type { Ended } from "../kit/killable.ts";

let root: string;
let here: Place;
let copies = 0;

beforeAll(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-wal-cli-"));
	await mkdir(join(root, "project"));
	await writeFile(join(root, "project/foxes.md"), "# Foxes\n\nA fox sleeps by day. The den of a fox has two doors.\n");
	here = { cwd: join(root, "project"), state: join(root, "state"), trace: join(root, "calls.jsonl") };
	const ended = await run(here, ["run", "-p", "where does a fox sleep?"]);
	expect(ended.code, ended.stderr).toBe(0);
});
afterAll(() => rm(root, { recursive: true, force: true }));

const logOf = ({ state }: Place): string => join(state, "state/wal.jsonl");

async function copy(change: (log: string) => string = (log) => log): Promise<Place> {
	const state = join(root, `copy-${++copies}`);
	await cp(here.state, state, { recursive: true });
	const place: Place = { ...here, state, isCopy: true };
	await writeFile(logOf(place), change(await readFile(logOf(place), "utf8")));
	return place;
}

/** A byte of the record with this seq is changed. */
const spoiled = (seq: number) => (log: string) =>
	log.replace(`{"v":1,"seq":${seq},"ts":1`, `{"v":1,"seq":${seq},"ts":2`);

const json = ({ stdout }: Ended) => JSON.parse(stdout);

async function filesOf({ state }: Place): Promise<Record<string, string>> {
	const names = (await readdir(join(state, "state"), { withFileTypes: true }))
		.filter((entry) => entry.isFile() && entry.name !== "wal.lock")
		.map(({ name }) => name)
		.sort();
	return Object.fromEntries(
		await Promise.all(names.map(async (name) => [name, await readFile(join(state, "state", name), "latin1")])),
	);
}

test("verify: a sound log ends with 0, and is not touched by any command that looks", async () => {
	const before = await filesOf(here);
	const ended = await run(here, ["wal", "verify"]);
	expect(ended, ended.stderr).toMatchObject({ code: 0 });
	expect(ended.stdout).toMatch(/^sound {4}wal\.jsonl {2}seq 1\.\.\d+/);
	expect(json(await run(here, ["wal", "verify", "--json"]))).toMatchObject({ state: "sound", problems: [] });
	for (const args of [["stats"], ["tail"], ["inspect"], ["repair"]]) {
		const looked = await run(here, ["wal", ...args]);
		expect(looked, looked.stderr).toMatchObject({ code: 0 });
	}
	expect(await filesOf(here)).toEqual(before);
});

test("verify: a torn tail is a note, and ends with 0", async () => {
	const place = await copy((log) => `${log}{"v":1,"se`);
	const ended = await run(place, ["wal", "verify"]);
	expect(ended.code).toBe(0);
	expect(ended.stdout).toContain("note: 10 bytes after seq");
	expect(json(await run(place, ["wal", "verify", "--json"]))).toMatchObject({ state: "torn", torn: { bytes: 10 } });
});

test("verify: damage and missing records end with 5, and are named", async () => {
	const damaged = await copy(spoiled(4));
	const ended = await run(damaged, ["wal", "verify"]);
	expect(ended.code).toBe(5);
	expect(ended.stdout).toMatch(/✗ wal\.jsonl, line 5, byte \d+, seq 4: its checksum is not/);
	const parsed = await run(damaged, ["wal", "verify", "--json"]);
	expect(parsed.code).toBe(5);
	expect(json(parsed)).toMatchObject({ state: "damaged", problems: [{ line: 5, seq: 4, acknowledged: true }] });

	const cut = await copy((log) => `${log.split("\n").slice(0, 5).join("\n")}\n`);
	const missing = await run(cut, ["wal", "verify", "--json"]);
	expect(missing.code).toBe(5);
	expect(json(missing)).toMatchObject({ state: "missing", problems: [{ seq: 5 }] });
});

test("where there is no log, each command says so and ends with 3", async () => {
	const nowhere = { ...here, state: join(root, "nowhere") };
	for (const args of [["verify"], ["inspect"], ["tail"], ["stats"], ["repair"]]) {
		const ended = await run(nowhere, ["wal", ...args]);
		expect(ended.code, args.join()).toBe(3);
		expect(ended.stderr).toContain("there is no history in");
	}
	expect(await readdir(root)).not.toContain("nowhere");
});

test("a log of a newer format is refused with 4", async () => {
	const newer = await copy((log) => log.replaceAll('{"v":1,', '{"v":2,').replaceAll('"crc"', '"sum"'));
	for (const command of ["verify", "stats", "repair"])
		expect(await run(newer, ["wal", command])).toMatchObject({
			code: 4,
			stderr: expect.stringContaining("newer Reyn"),
		});
});

test("inspect shows records as they are stored, one or a range", async () => {
	const lines = (await readFile(logOf(here), "utf8")).split("\n").filter((line) => line !== "");
	const stored = lines.map((line) => {
		const { v: _, ...rest } = JSON.parse(line);
		return rest;
	});
	const one = await run(here, ["wal", "inspect", "2"]);
	expect(JSON.parse(one.stdout)).toEqual(stored[2]);
	const range = await run(here, ["wal", "inspect", "--from", "2", "--to", "4", "--json"]);
	const seqs = range.stdout
		.trim()
		.split("\n")
		.map((line) => JSON.parse(line).seq);
	expect(seqs).toEqual([2, 3, 4]);
	const tip = await run(here, ["wal", "inspect", "@", "--json"]);
	expect(JSON.parse(tip.stdout)).toEqual(stored.at(-1));
	expect(await run(here, ["wal", "inspect", "9999"])).toMatchObject({ code: 3 });
	expect(await run(here, ["wal", "inspect", "yesterday"])).toMatchObject({ code: 2 });
	expect(await run(here, ["wal", "inspect", "2", "--from", "1"])).toMatchObject({ code: 2 });
	expect(await run(here, ["wal", "inspect", "--from", "-1"])).toMatchObject({ code: 2 });
});

test("stats counts what is there", async () => {
	const stored = (await readFile(logOf(here), "utf8")).split("\n").filter((line) => line !== "");
	const stats = json(await run(here, ["wal", "stats", "--json"]));
	expect(stats).toMatchObject({ segments: 1, records: stored.length - 1, first: 1, last: stored.length - 1 });
	const kinds = stats.kinds.map(({ kind }: { kind: string }) => kind);
	expect(kinds).toContain("user_prompt");
	expect((await run(here, ["wal", "stats"])).stdout).toMatch(/user_prompt\s+1 {2}\d+ bytes/);
});

test("text from the log cannot reach the terminal as a command", async () => {
	const state = join(root, "hostile");
	const evil = defineRecord("evil", {
		"~standard": { version: 1, vendor: "test", validate: (value: unknown) => ({ value }) },
	});
	{
		await using wal = await openWal(join(state, "state"), { records: [evil] });
		await wal.append(evil({ text: "\u202egnp.exe \u009b31m \u001b]0;x\u0007" } as never), {}).durable;
	}
	for (const args of [["tail"], ["inspect", "2"], ["stats"], ["verify"]]) {
		const { stdout } = await run({ ...here, state }, ["wal", ...args]);
		// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this is about.
		expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/);
	}
});

test("tail shows the newest; with -f what comes while another process writes, until Ctrl-C", async () => {
	const place = await copy();
	const two = await run(place, ["wal", "tail", "-n", "2", "--json"]);
	const tip = JSON.parse(two.stdout.trim().split("\n").at(-1) as string).seq;
	expect(two.stdout.trim().split("\n")).toHaveLength(2);

	const { child, ended, line, lines } = start(place, ["wal", "tail", "-n", "1", "-f", "--json"]);
	const seqIn = (said: string): number => JSON.parse(said).seq;
	await line("");
	const note = defineRecord("note", {
		"~standard": { version: 1, vendor: "test", validate: (value: unknown) => ({ value }) },
	});
	await using wal = await openWal(join(place.state, "state"), { records: [note] });
	for (let i = 0; i < 3; i++) await wal.append(note({ i } as never), {}).durable;
	await line((said) => seqIn(said) === tip + 4);
	// Beside the writer that is open here the others look as well.
	expect(await run(place, ["wal", "verify"])).toMatchObject({ code: 0 });
	expect(await run(place, ["wal", "stats"])).toMatchObject({ code: 0 });
	child.kill("SIGINT");
	expect((await ended).code).toBe(130);
	expect(lines.map(seqIn)).toEqual([tip, tip + 1, tip + 2, tip + 3, tip + 4]);
});

describe("repair", () => {
	test("shows what it would cost, and changes nothing", async () => {
		const place = await copy(spoiled(4));
		const before = await filesOf(place);
		const ended = await run(place, ["wal", "repair"]);
		expect(ended.code).toBe(0);
		expect(ended.stdout).toContain("lost: seq 4: 1 record");
		expect(ended.stdout).toMatch(/reyn .* wal repair --apply --accept-loss 4\.\.4/);
		expect(json(await run(place, ["wal", "repair", "--json"]))).toMatchObject({
			applied: false,
			proposal: { accept: "4..4", lost: [[4, 4]] },
		});
		expect(await filesOf(place)).toEqual(before);
	});

	test("is refused with 4 without the exact loss, and changes nothing", async () => {
		const place = await copy(spoiled(4));
		const before = await filesOf(place);
		for (const more of [[], ["--accept-loss", "4"], ["--accept-loss", "3..4"], ["--accept-loss", "4..5"]]) {
			const ended = await run(place, ["wal", "repair", "--apply", ...more]);
			expect(ended.code).toBe(4);
			expect(ended.stderr).toContain("--apply --accept-loss 4..4");
		}
		expect(await filesOf(place)).toEqual(before);
	});

	test("is refused with 4 beside a writer", async () => {
		const place = await copy();
		await using _wal = await openWal(join(place.state, "state"), { records: [] });
		await writeFile(logOf(place), spoiled(4)(await readFile(logOf(place), "utf8")));
		const ended = await run(place, ["wal", "repair", "--apply", "--accept-loss", "4..4"]);
		expect(ended.code).toBe(4);
		expect(ended.stderr).toContain(`process ${process.pid}`);
	});

	test("gives up what was accepted, keeps the original, and the history reads and goes on", async () => {
		const place = await copy(spoiled(4));
		const original = await readFile(logOf(place), "utf8");
		expect(await run(place, ["log"])).toMatchObject({ code: 5 });
		const ended = await run(place, ["wal", "repair", "--apply", "--accept-loss", "4..4"]);
		expect(ended, ended.stderr).toMatchObject({ code: 0 });
		expect(Object.entries(await filesOf(place)).filter(([name]) => name.includes(".repaired-4-"))).toEqual([
			[expect.stringMatching(/^wal\.jsonl\.repaired-4-[0-9a-f]{8}$/), Buffer.from(original).toString("latin1")],
		]);
		expect(await run(place, ["wal", "verify"])).toMatchObject({ code: 0 });
		expect(await run(place, ["log"])).toMatchObject({ code: 0 });
		expect(await run(place, ["run", "-p", "how many doors has a den?"])).toMatchObject({ code: 0 });
		const after = await filesOf(place);
		expect(await run(place, ["wal", "repair", "--apply", "--accept-loss", "4..4"])).toMatchObject({
			code: 0,
			stdout: expect.stringContaining("nothing to repair"),
		});
		expect(await filesOf(place)).toEqual(after);
	});

	test("gives up only what is damaged, in however many places", async () => {
		const place = await copy((log) => spoiled(6)(spoiled(3)(log)));
		const proposal = await run(place, ["wal", "repair"]);
		expect(proposal.stdout).toContain("lost: seq 3, seq 6: 2 records");
		expect(proposal.stdout).toContain("--accept-loss 3..3,6..6");
		expect(await run(place, ["wal", "repair", "--apply", "--accept-loss", "3..6"])).toMatchObject({ code: 4 });
		expect(await run(place, ["wal", "repair", "--apply", "--accept-loss", "3..3,6..6"])).toMatchObject({ code: 0 });
		const records = (await run(place, ["wal", "inspect", "--json"])).stdout.trim().split("\n");
		const lost = records.map((line) => JSON.parse(line)).filter(({ kind }) => kind === "wal_lost");
		expect(lost.map(({ seq }) => seq)).toEqual([3, 6]);
	});

	test("a torn tail needs none", async () => {
		const place = await copy();
		await appendFile(logOf(place), '{"v":1,');
		expect(await run(place, ["wal", "repair"])).toMatchObject({
			code: 0,
			stdout: expect.stringContaining("nothing to repair"),
		});
	});
});
