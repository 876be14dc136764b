/** What a script run keeps beside the log: how much of it is read, and that a hash of a record is no path. */
import { mkdir, mkdtemp, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ScriptFiles } from "../src/features/script/script-files.ts";
import { Gate } from "../src/kernel/shared-lock.ts";

let root: string;
let directory: string;
let files: ScriptFiles;
beforeEach(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-scripts-"));
	directory = join(root, "run");
	await mkdir(directory, { mode: 0o700 });
	files = new ScriptFiles(directory, new Gate());
});
afterEach(() => rm(root, { recursive: true, force: true }));

const MAX = 8 * 1024 * 1024;

test("a script and its arguments have 8 MiB at most: more is not written, and what is larger now is not read", async () => {
	expect(await files.readScript(await files.keepScript("x".repeat(MAX)))).toHaveLength(MAX);
	await expect(files.keepScript("x".repeat(MAX + 1))).rejects.toMatchObject({ code: "WAL_TOO_LARGE" });
	await expect(files.keepArgs("x".repeat(MAX))).rejects.toMatchObject({ code: "WAL_TOO_LARGE" });
	const [script, args] = [await files.keepScript("return 1"), await files.keepArgs([1])];
	for (const name of [`script-${script.slice(0, 16)}.ts`, `args-${args.slice(0, 16)}.json`])
		await truncate(join(directory, name), 8 * 1024 ** 3);
	for (const reading of [files.readScript(script), files.readArgs(args)])
		await expect(reading).rejects.toMatchObject({
			code: "RUNTIME_SCRIPT_LOST",
			message: expect.stringContaining("8589934592 bytes; at most 8388608"),
		});
});

test("a hash that leads elsewhere leads nowhere", async () => {
	// As such a name is joined: `run/script-x`, and from there up.
	await mkdir(join(directory, "script-"), { mode: 0o700 });
	await writeFile(join(root, "e.ts"), "somebody else's");
	const hash = "/../../e";
	expect(join(directory, `script-${hash}.ts`)).toBe(join(root, "e.ts"));
	await expect(files.readScript(hash)).rejects.toMatchObject({
		code: "RUNTIME_SCRIPT_LOST",
		message: expect.stringContaining("it is gone"),
		detail: { path: expect.stringContaining(join(directory, "script-")) },
	});
});
