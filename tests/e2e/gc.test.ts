/** `reyn gc` with files beside the log: it says how many, and takes those that nothing refers to. */
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { carryOut as run } from "../carry-out.ts";
import type { Place } from "../cli.ts";

let root: string;
let here: Place;
beforeEach(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-gc-"));
	here = { cwd: join(root, "project"), state: join(root, ".reyn"), trace: join(root, "calls.jsonl") };
	await mkdir(here.cwd);
	await writeFile(join(here.cwd, "foxes.md"), "# Foxes\n\nA fox sleeps by day.\n");
});
afterEach(() => rm(root, { recursive: true, force: true }));

const orphan = `state/scripts/ab/${"ab".repeat(32)}.blob`;

test("an orphan is counted, then taken away, and then there is nothing to do", async () => {
	expect(await run(here, ["run", "-p", "where does a fox sleep?"])).toMatchObject({ code: 0 });
	await writeFile(join(root, "work.ts"), "export default (ctx) => ctx.agent('where does a fox sleep?');");
	expect(await run(here, ["script", "run", join(root, "work.ts")])).toMatchObject({ code: 0 });
	await mkdir(dirname(join(here.state, orphan)), { recursive: true });
	await writeFile(join(here.state, orphan), '"lost"');
	const filesOfRuns = async () =>
		(await readdir(join(here.state, "state/scripts"), { recursive: true, withFileTypes: true })).filter((each) =>
			each.isFile(),
		);
	expect(await filesOfRuns()).toHaveLength(4);

	const foreseen = await run(here, ["gc", "--dry-run"]);
	expect(foreseen.stdout).toContain("1 file beside the log (6 bytes) would go: nothing refers to them any more");
	expect(JSON.parse((await run(here, ["gc", "--dry-run", "--json"])).stdout)).toMatchObject({
		artifacts: { files: 1, bytes: 6 },
		applied: false,
	});
	expect(await filesOfRuns()).toHaveLength(4);

	const done = await run(here, ["gc", "--yes"]);
	expect([done.code, done.stdout]).toEqual([0, expect.stringContaining("1 file beside the log (6 bytes) went")]);
	expect(await filesOfRuns()).toHaveLength(3);
	const idle = await run(here, ["gc", "--yes", "--json"]);
	expect(JSON.parse(idle.stdout)).toMatchObject({ artifacts: { files: 0, bytes: 0 }, applied: false });
});
