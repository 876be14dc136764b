/** What a directory tells agents is read like any file of it, and never becomes a long read. */
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { instructionsIn } from "../src/index.ts";

let root: string;
beforeEach(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-instructions-"));
});
afterEach(() => rm(root, { recursive: true }));

const write = (name: string, content: string | Uint8Array): Promise<void> => writeFile(join(root, name), content);

test("AGENTS.md counts, else CLAUDE.md, else there are none; a link, an empty file and a closed one are none", async () => {
	expect(await instructionsIn(root)).toBeUndefined();
	await write("CLAUDE.md", "Use tabs.\n");
	expect(await instructionsIn(root)).toEqual({ name: "CLAUDE.md", text: "Use tabs." });
	await symlink("CLAUDE.md", join(root, "AGENTS.md"));
	expect(await instructionsIn(root)).toMatchObject({ name: "CLAUDE.md" });
	await rm(join(root, "AGENTS.md"));
	await write("AGENTS.md", " \n");
	expect(await instructionsIn(root)).toMatchObject({ name: "CLAUDE.md" });
	await write("AGENTS.md", "Use spaces.\n");
	expect(await instructionsIn(root)).toEqual({ name: "AGENTS.md", text: "Use spaces." });
	expect(await instructionsIn(root, { isClosed: (path) => path === "AGENTS.md" })).toMatchObject({ name: "CLAUDE.md" });
});

test("of a long one come the whole lines of its first 32 KB, and that it is cut", async () => {
	await write("AGENTS.md", `${"Keep it simple: ä\n".repeat(5_000)}`);
	const { text = "" } = (await instructionsIn(root)) ?? {};
	const lines = text.split("\n");
	expect(lines.pop()).toBe("[cut: the first 32 KB of 95 KB]");
	expect(new Set(lines)).toEqual(new Set(["Keep it simple: ä"]));
	expect(Buffer.byteLength(text)).toBeLessThan(32_100);
});

test.each<[string, () => Promise<unknown>, string]>([
	["a binary file", () => write("AGENTS.md", new Uint8Array([1, 0, 2])), "TOOL_NOT_TEXT"],
	["a directory", () => mkdir(join(root, "AGENTS.md")), "TOOL_NOT_TEXT"],
])("%s of that name is an error, and not passed over", async (_, make, code) => {
	await make();
	await write("CLAUDE.md", "Use tabs.\n");
	await expect(instructionsIn(root)).rejects.toMatchObject({ code });
});
