/** Where an agent's files lie: below its own directory, whatever its name is, and where an older version has put them. */
import { mkdir, readdir } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { PLAN_TOOL } from "@reyn/plan";
import { scopeKey } from "@reyn/wal";
import { afterEach, beforeEach, expect, test } from "vitest";
import { layoutOf } from "../src/index.ts";
import { blobsOf } from "./kept-files.ts";
import { lastOf, makeProject, open, type Project, type Script, scripted } from "./project.ts";

let project: Project;
beforeEach(async () => {
	project = await makeProject();
});
afterEach(() => project[Symbol.asyncDispose]());

const plan = {
	goal: "find out",
	steps: [
		{ id: "a", description: "look", tools: [], depends_on: [] },
		{ id: "b", description: "say so", tools: [], depends_on: ["a"] },
	],
};
const planning: Script = (request) =>
	lastOf(request) === "plan!" ? [{ name: PLAN_TOOL, args: plan }] : `did ${/Step (\w)/.exec(lastOf(request))?.[1]}`;

test.each(["あ".repeat(36), "a".repeat(300), "..", "CON", "a/b", "a\nb"])(
	"an agent called %j has plans",
	async (agent) => {
		const { runtime, shown } = await open(project, { model: scripted(planning) });
		await runtime.prompt("plan!", { agent, session: "main" });
		await runtime.idle();
		expect(shown).toMatchObject([{ text: "did b" }]);
		await runtime.close();
		// Its name is in none of theirs.
		expect([...(await blobsOf(project.state)).keys()]).toEqual([expect.stringMatching(/^plans\/..\/[0-9a-f]{64}$/)]);
	},
);

test("agents whose names differ in case alone have a directory each, where case is folded too", () => {
	const { workspace } = layoutOf(project.state);
	const paths = ["writer", "Writer", "WRITER"].map((agent) => workspace({ agent, session: "main" }));
	expect(new Set(paths.map((path) => path.toLowerCase())).size).toBe(3);
	expect(relative(project.state, paths[0] ?? "")).toBe(join("agents", "writer", "workspace"));
});

test.each(["Old Writer", "あ", "a*b"])("the workspace of %j stays where an older version has put it", async (agent) => {
	const layout = layoutOf(project.state);
	const workspace = (): string => layout.workspace({ agent, session: "main" });
	const old = join(layout.agents, scopeKey({ agent }));
	expect(dirname(workspace())).not.toBe(old);
	await mkdir(old, { recursive: true });
	expect(dirname(workspace())).toBe(old);
	expect(await readdir(layout.agents)).toEqual([scopeKey({ agent })]);
});
