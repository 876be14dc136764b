/** Where an agent's files lie: below its own directory, whatever its name is, and where an older version has put them. */
import { mkdir, readdir, rename } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { PLAN_TOOL } from "@reyn/plan";
import { scopeKey } from "@reyn/wal";
import { afterEach, beforeEach, expect, test } from "vitest";
import { layoutOf } from "../src/index.ts";
import { makeOld } from "./kept-files.ts";
import { gate, lastOf, makeProject, open, type Project, type Script, scripted, until } from "./project.ts";

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
		const [folder = "", ...others] = await readdir(join(project.state, "agents"));
		expect(others).toEqual([]);
		expect(await readdir(join(project.state, "agents", folder, "state", "plans"))).toHaveLength(1);
	},
);

test("agents whose names differ in case alone have a directory each, where case is folded too", () => {
	const { workspace } = layoutOf(project.state);
	const paths = ["writer", "Writer", "WRITER"].map((agent) => workspace({ agent, session: "main" }));
	expect(new Set(paths.map((path) => path.toLowerCase())).size).toBe(3);
	expect(relative(project.state, paths[0] ?? "")).toBe(join("agents", "writer", "workspace"));
});

test.each(["Old Writer", "あ", "a*b"])("the files of %j stay where an older version has put them", async (agent) => {
	const scope = { agent, session: "main" };
	const layout = layoutOf(project.state);
	const old = join(layout.agents, scopeKey({ agent }));
	const held = gate();
	const slow: Script = async (request) => {
		if (lastOf(request).startsWith("Goal:")) await held.opened;
		return planning(request);
	};
	const first = await open(project, { model: scripted(slow) });
	await first.runtime.prompt("plan!", scope);
	await until(() => first.events.some(({ type }) => type === "plan_step"));
	await first.runtime.close();
	await mkdir(layout.agents, { recursive: true });
	const written = dirname(layout.workspace(scope));
	expect(written).not.toBe(old);
	await rename(written, old);
	await makeOld(project.state);

	expect([dirname(layout.workspace(scope)), dirname(dirname(layout.plans(scope)))]).toEqual([old, old]);
	const { runtime, shown } = await open(project, { model: scripted(planning) });
	expect(await runtime.gc()).toMatchObject({ artifacts: { files: 0 } });
	runtime.resume();
	await runtime.idle();
	expect(shown).toMatchObject([{ text: "did b" }]);
	expect(await readdir(layout.agents)).toEqual([scopeKey({ agent })]);
	await runtime.close();
});
