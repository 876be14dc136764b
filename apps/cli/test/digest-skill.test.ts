/** The skill that comes with the command line. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { offlineModel } from "@reyn/offline-model";
import { openRuntime } from "@reyn/runtime";
import { createFileTools } from "@reyn/tools";
import { expect, test } from "vitest";
import { digestSkill } from "../src/digest-skill.ts";

test("the bundled skill writes its digest once, and delivers it", async () => {
	const cwd = await mkdtemp(join(tmpdir(), "reyn-digest-"));
	const workspace = join(cwd, "out");
	await writeFile(join(cwd, "parser.ts"), "/** The parser reads an expression. */\n");
	const tools = createFileTools(cwd);
	const shown: string[] = [];
	const runtime = await openRuntime({
		state: join(cwd, ".reyn"),
		model: offlineModel(),
		tools,
		skills: [digestSkill(tools, workspace)],
		onMessage: async ({ text }) => void shown.push(text),
	});
	await runtime.runSkill("digest", { topic: "parser" });
	await runtime.idle();
	expect(await readFile(join(workspace, "digest-parser.md"), "utf8")).toContain("parser.ts:");
	expect(shown).toHaveLength(1);
	expect(runtime.timeline.checkpoints().map(({ kind }) => kind)).toEqual(["phase", "phase"]);
	await runtime.checkout(runtime.timeline.checkpoints()[0]?.seq ?? 0, "test");
	const [{ run = "", status = "" } = {}] = runtime.restored().runs;
	expect(status).toBe("paused");
	await runtime.resumeSkillRun(run);
	await runtime.idle();
	expect(shown).toHaveLength(2); // once on each line of history
	await expect(runtime.runSkill("digest", { topic: 7 })).rejects.toMatchObject({ code: "SKILL_INVALID_INPUT" });
	await expect(runtime.runSkill("dig", {})).rejects.toMatchObject({ code: "SKILL_UNKNOWN" });
	await runtime.close();
	await rm(cwd, { recursive: true, force: true });
});
