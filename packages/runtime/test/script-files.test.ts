/** What a script run keeps beside the log: how much of it is read, and that a hash of a record is no path. */
import { mkdtemp, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileBlobs } from "@reyn/wal";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ScriptFiles } from "../src/features/script/script-files.ts";

let root: string;
let directory: string;
let files: ScriptFiles;
beforeEach(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-scripts-"));
	directory = join(root, "scripts");
	files = new ScriptFiles(fileBlobs(directory));
});
afterEach(() => rm(root, { recursive: true, force: true }));

const MAX = 8 * 1024 * 1024;

test("a script and its arguments have 8 MiB at most: more is not written, and what is larger now is not read", async () => {
	expect(await files.readScript(await files.keepScript("x".repeat(MAX)))).toHaveLength(MAX);
	await expect(files.keepScript("x".repeat(MAX + 1))).rejects.toMatchObject({ code: "WAL_TOO_LARGE" });
	await expect(files.keepArgs("x".repeat(MAX))).rejects.toMatchObject({ code: "WAL_TOO_LARGE" });
	const [script, args] = [await files.keepScript("return 1"), await files.keepArgs([1])];
	for (const name of [script, args]) await truncate(join(directory, name.slice(0, 2), `${name}.blob`), 8 * 1024 ** 3);
	for (const read of [() => files.readScript(script), () => files.readArgs(args)])
		await expect(read()).rejects.toMatchObject({
			code: "RUNTIME_SCRIPT_LOST",
			message: expect.stringContaining("8589934592 bytes; at most 8388608"),
		});
});

test("a hash that leads elsewhere leads nowhere", async () => {
	await files.keepScript("return 1");
	await writeFile(join(root, "e.blob"), "somebody else's");
	for (const hash of ["/../../e", "../e", "", "e".repeat(63)])
		await expect(files.readScript(hash)).rejects.toMatchObject({
			code: "RUNTIME_SCRIPT_LOST",
			message: expect.stringContaining(`${JSON.stringify(hash)} is no hash`),
			detail: { what: "text", sha256: hash },
		});
});
