/** What a person does to a plan in a chat is said once: by the command, and not by its event too. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { carryOut as run } from "../carry-out.ts";
import { modelCalls, type Place, start } from "../cli.ts";

let root: string;
let here: Place;
beforeEach(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-said-once-"));
	here = { cwd: join(root, "project"), state: join(root, "state"), trace: join(root, "calls.jsonl") };
	await mkdir(here.cwd);
	await writeFile(join(here.cwd, "foxes.md"), "# Foxes\n\nA fox sleeps by day.\n");
});
afterEach(() => rm(root, { recursive: true, force: true }));

test("an amendment and a pause", async () => {
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
});

test("one that is over is shown, and run again from a step; a step that has not failed is not retried", async () => {
	expect(await run(here, ["run", "-p", "compare foxes and owls in detail"])).toMatchObject({ code: 0 });
	const [{ plan }] = JSON.parse((await run(here, ["plan", "list", "--all", "--json"])).stdout);
	const { steps } = JSON.parse((await run(here, ["plan", "show", plan, "--json"])).stdout);
	const last = steps.at(-1).id;
	const calls = modelCalls(here).length;
	const typed = [`/plan show ${plan}`, `/plan retry ${plan} ${last}`, `/plan resume ${plan} --from ${last}`, "/exit"];
	const { code, stdout, stderr } = await run(here, ["chat"], `${typed.join("\n")}\n`);
	const all = `${stdout}\n${stderr}`;
	// Lines that are piped in and refused say so at the end too.
	expect(code).toBe(2);
	for (const { id } of steps) expect(all).toMatch(new RegExp(`^${id} {2}completed {2}`, "m"));
	expect(all.match(new RegExp(`step ${last} of plan ${plan} is completed, and has not failed`, "g"))).toHaveLength(1);
	expect(all.match(new RegExp(`runs again: ${last}`, "g"))).toHaveLength(1);
	expect(JSON.parse((await run(here, ["plan", "show", plan, "--json"])).stdout).steps.at(-1).attempt).toBe(1);
	expect(modelCalls(here).length).toBeGreaterThan(calls);
});
