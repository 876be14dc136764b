/** A disk that is full in the middle of a write: the file holds what it held, nothing half written is left, and once there is room the same call is made. */
import { spawnSync } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Json, Tool } from "@reyn/journal";
import { afterEach, beforeEach, expect, test } from "vitest";
import { needsAll } from "../../../tests/faults/lab/needs.ts";
import { mounted } from "../../../tests/faults/lab/tmpfs.ts";
import { createFileTools } from "../src/file-tools.ts";
import { versionOf } from "../src/text-file.ts";

// Root of a container may not mount; in a space of its own a trial leaves nothing.
const trial = () => spawnSync("sh", ["-c", "unshare -m mount -t tmpfs tmpfs /mnt"]).status === 0;
const why = needsAll("root", "mount", "unshare") ?? (trial() ? undefined : "needs to mount");
if (why !== undefined) console.log(`skipped: a small disk ${why}`);

let root: string;
beforeEach(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-full-"));
});
afterEach(() => rm(root, { recursive: true }));

const { signal } = new AbortController();

/** As a journal calls it: prepared first. */
async function call(name: string, args: object): Promise<string> {
	const tool = createFileTools(root, { writes: true }).find((each) => each.name === name) as Tool;
	const prepared = (await tool.prepare?.(args, { signal })) as Json;
	return String(await tool.call(args, { signal, prepared, idempotencyKey: "key" }));
}

const old = `one ${"x".repeat(40_000)}\n`;
const long = "y".repeat(300_000);

test.skipIf(why !== undefined).each<[path: string, how: string, args: object]>([
	["new.md", "write", { text: long }],
	["sub/below/new.md", "write", { text: long }],
	["old.md", "write", { text: long, version: versionOf(Buffer.from(old)) }],
	["old.md", "edit", { old: "one", new: long }],
])("%s: %s", async (path, name, args) => {
	await mounted(root, "400k", async () => {
		await writeFile(join(root, "old.md"), old);
		// Of what is written a part finds room.
		await writeFile(join(root, "fill"), "z".repeat(150_000));
		const files = async () => (await readdir(root, { recursive: true })).sort();
		await expect(call(name, { path, ...args })).rejects.toMatchObject({
			code: "TOOL_UNWRITABLE",
			message: `${path} cannot be written (ENOSPC); nothing of it was`,
		});
		expect((await readFile(join(root, "old.md"), "utf8")) === old).toBe(true);
		expect(await files()).toEqual(["fill", "old.md"]);
		await rm(join(root, "fill"));
		await call(name, { path, ...args });
		expect((await readFile(join(root, path), "utf8")).startsWith(long)).toBe(true);
		const way = path.split("/").map((_, at, names) => names.slice(0, at + 1).join("/"));
		expect(await files()).toEqual([...new Set(["old.md", ...way])].sort());
	});
});
