/** `reyn doctor`: what it looks at, what it says of it, and that it leaves nothing behind. */
import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { examine, findingLine } from "../src/doctor.ts";

let cwd: string;
beforeEach(async () => {
	cwd = await mkdtemp(join(tmpdir(), "reyn-doctor-"));
});
afterEach(() => rm(cwd, { recursive: true, force: true }));

const found = async (what: string) => (await examine({ cwd, pace: 0 })).find((each) => each.what === what);

test("a good place is good in every way that can be told, and is as it was", async () => {
	const findings = await examine({ cwd, pace: 0 });
	expect(findings.map(({ what }) => what)).toEqual([
		"Node",
		"state",
		"file system",
		"space",
		"lock and sync",
		"left over",
		"terminal",
	]);
	expect(findings.filter(({ verdict }) => verdict === "bad")).toEqual([]);
	expect(await readdir(cwd)).toEqual([]);
	for (const finding of findings) expect(findingLine(finding)).toMatch(/^([✓!] (ok|look)) /);
});

test("a state of nobody knows whom, old temporary files and torn tails are something to look at", async () => {
	const state = join(cwd, ".reyn", "state");
	await mkdir(state, { recursive: true });
	const old = join(state, "0123456789abcdef.tmp");
	await writeFile(old, "half");
	await utimes(old, 0, 0);
	await writeFile(join(state, "wal.jsonl.broken-7"), "half");
	expect(await found("state")).toMatchObject({ verdict: "look", said: expect.stringContaining("--trust") });
	expect(await found("left over")).toEqual({
		what: "left over",
		verdict: "look",
		said: "1 temporary file of writes that were cut; gc takes them away; 1 torn tail, kept for you to look at",
	});
});

test("a look that fails is said, and the others go on", async () => {
	await writeFile(join(cwd, ".reyn"), "a file");
	expect(await found("state")).toMatchObject({ verdict: "bad", said: expect.stringContaining(".reyn") });
	expect(await found("Node")).toMatchObject({ verdict: "ok" });
});
