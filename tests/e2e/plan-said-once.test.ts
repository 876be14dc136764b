/** What a person does to a plan in a chat is said once: by the command, and not by its event too. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { carryOut as run } from "../carry-out.ts";
import { start } from "../cli.ts";

test("an amendment and a pause", async () => {
	const root = await mkdtemp(join(tmpdir(), "reyn-said-once-"));
	try {
		const here = { cwd: join(root, "project"), state: join(root, "state"), trace: join(root, "calls.jsonl") };
		await mkdir(here.cwd);
		await writeFile(join(here.cwd, "foxes.md"), "# Foxes\n\nA fox sleeps by day.\n");
		const args = ["run", "-p", "compare foxes and owls, with references", "--output-format", "stream-json"];
		const killed = start(here, ["--pace", "150", ...args]);
		await killed.line((line) => line.includes('"plan_step"') && line.includes('"completed"'));
		await killed.kill();
		const [{ plan }] = JSON.parse((await run(here, ["plan", "list", "--json"])).stdout);
		const { steps } = JSON.parse((await run(here, ["plan", "show", plan, "--json"])).stdout);
		const last = steps.at(-1).id;
		const typed = [`/plan pause ${plan} --yes`, `/plan amend ${plan} --describe ${last}=shortly --yes`, "/exit"];
		const { stdout, stderr } = await run(here, ["--pace", "20000", "chat"], `${typed.join("\n")}\n`);
		const all = `${stdout}\n${stderr}`;
		expect(all.match(new RegExp(`plan ${plan} is paused`, "g"))).toHaveLength(1);
		expect(all.match(new RegExp(`plan ${plan} is amended`, "g"))).toHaveLength(1);
		expect(all).not.toContain("from here on");
	} finally {
		await rm(root, { recursive: true, force: true });
	}
});
