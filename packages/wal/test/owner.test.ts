/** What a log says of who has it open. */
import { spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { openWal } from "../src/index.ts";
import { hasEnded, owner } from "../src/owner.ts";

const { argv } = process;
afterEach(() => {
	process.argv = argv;
});

test.each([
	[["run", "-p", "use s3cret-value"], "reyn.js run"],
	[["run", "--prompt=use s3cret-value"], "reyn.js run"],
	[["--key=s3cret-value", "run"], "reyn.js"],
	[["s3cret-value"], "reyn.js"],
	[[], "reyn.js"],
])("of the command line it says the program and a word: %j", async (args, command) => {
	const directory = await mkdtemp(join(tmpdir(), "reyn-owner-"));
	process.argv = [process.execPath, "/home/s3cret-value/reyn.js", ...args];
	await using wal = await openWal(directory, { records: [] });
	expect(JSON.parse(await readFile(join(directory, "wal.lock"), "utf8"))).toMatchObject({ command });
	await wal.close();
	await rm(directory, { recursive: true });
});

test("only a process of this host, this boot and these process ids is known to have ended", () => {
	const { status, pid = 0 } = spawnSync(process.execPath, ["-e", ""]);
	expect(status).toBe(0);
	const gone = { ...owner(), pid };
	expect(hasEnded(gone)).toBe(true);
	expect(hasEnded(owner())).toBe(false);
	for (const other of [{ host: "elsewhere" }, { boot: "another" }, { pids: "pid:[1]" }])
		expect(hasEnded({ ...gone, ...other }), JSON.stringify(other)).toBe(false);
});
