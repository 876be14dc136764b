/** Files go along with a rewind of the command line where the configuration says so, unless one says otherwise there. */
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
// Each in a process of its own: a process reads its configuration once.
import { run } from "../cli.ts";

test("with rewind.files: always they go along, but for --no-files", async () => {
	const root = await mkdtemp(join(tmpdir(), "reyn-along-"));
	const here = { cwd: join(root, "project"), state: join(root, "state"), trace: join(root, "calls.jsonl") };
	await mkdir(here.cwd);
	const [script, made] = [join(here.cwd, "write.ts"), join(here.cwd, "new.txt")];
	await writeFile(script, `export default (ctx) => ctx.tool("write", { path: "new.txt", text: "made" });`);
	process.env.REYN_REWIND_FILES = "always";
	try {
		const ended = await run(here, ["script", "run", script, "--mode", "all"]);
		expect(ended.code, ended.stderr).toBe(0);
		const stays = await run(here, ["rewind", "0", "--dry-run", "--no-files"]);
		expect(stays.stdout).toContain("1 file was written since; --files takes along those that differ from then\n");
		const back = await run(here, ["rewind", "0", "--yes"]);
		expect(back.stdout).toContain("1 file holds what it held at #0; undo brings it forward");
		expect(existsSync(made)).toBe(false);
	} finally {
		delete process.env.REYN_REWIND_FILES;
		await rm(root, { recursive: true, force: true });
	}
});
