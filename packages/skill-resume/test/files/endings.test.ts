/** Which of several files of one name is the skill: as the guide for people says. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findSkills } from "../../src/files/index.ts";

test("of files of one name the first of .js, .mjs, .mts and .ts stays, and the others are named", async () => {
	const directory = await mkdtemp(join(tmpdir(), "reyn-endings-"));
	const endings = [".ts", ".mts", ".mjs", ".js"];
	for (const ending of endings)
		await writeFile(
			join(directory, `a${ending}`),
			`export default { name: "a", description: "", input: { "~standard": { validate: (value) => ({ value }) } }, start: "b", phases: { b: async () => ({ kind: "done" }) } };`,
		);
	for (const stays of [".js", ".mjs", ".mts", ".ts"]) {
		const { skills, problems } = await findSkills({ directories: [{ directory }] });
		expect(skills.map(({ source }) => source?.path)).toEqual([join(directory, `a${stays}`)]);
		expect(problems.every(({ error }) => error.code === "SKILL_TWICE")).toBe(true);
		await rm(join(directory, `a${stays}`));
	}
	await rm(directory, { recursive: true });
});
