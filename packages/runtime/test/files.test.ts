/** What tools have changed in files: what each held is durable before, can be said as of any moment, and is kept as long as one can go there. */
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createFileTools, createWorkFiles } from "@reyn/tools";
import { afterEach, beforeEach, expect, test } from "vitest";
import { makeProject, open, type Project, scripted } from "./project.ts";

let project: Project;
beforeEach(async () => {
	project = await makeProject();
});
afterEach(() => project[Symbol.asyncDispose]());

test("slice", async () => {
	const model = scripted(({ messages }) =>
		messages.at(-1)?.role === "user"
			? [
					{ name: "edit", args: { path: "./src//parser.ts", old: "Reads", new: "Parses" } },
					{ name: "write", args: { path: "new.md", text: "new\n" } },
				]
			: "done",
	);
	const { runtime } = await open(project, {
		model,
		tools: createFileTools(project.cwd, { writes: true }),
		files: createWorkFiles(project.cwd),
	});
	await runtime.prompt("go");
	await runtime.idle();
	const since = await runtime.files.since(0);
	console.log(JSON.stringify(since, null, 1));
	for (const file of since.files) console.log(JSON.stringify(await runtime.files.compare(file)));
	await runtime.close();
});
