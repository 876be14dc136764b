/** Files that go along with a move onto a disk that is full, or may not be written: they stay, are named, and undo is exact. */
import { spawnSync } from "node:child_process";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createFileTools, createWorkFiles } from "@reyn/tools";
import { expect, test } from "vitest";
import { mounted, remount } from "../../../tests/faults/lab/tmpfs.ts";
import { makeProject, open, scripted } from "./project.ts";

const isAble =
	process.platform === "linux" && process.getuid?.() === 0 && spawnSync("mount", ["--version"]).status === 0;
if (!isAble) console.log("not here: a small disk can be mounted by root alone, on Linux");

const FILES = 12;
const text = (word: string, i: number): string => `${word} ${i} ${"x".repeat(20_000)}\n`;
const files = Array.from({ length: FILES }, (_, i) => `d${i % 3}/f${i}.txt`);

test.runIf(isAble).each([
	["full", "size=300k", "ENOSPC"],
	["read-only", "ro", "EROFS"],
])(
	"on a disk that is %s none is half written, and each that stays is named with its reason",
	async (_, options, code) => {
		await using project = await makeProject();
		const cwd = join(project.root, "small");
		await mkdir(cwd);
		await mounted(cwd, "8m", async () => {
			const tree = async () => {
				const found = (await readdir(cwd, { recursive: true, withFileTypes: true })).filter((each) => each.isFile());
				const all = found.map(async ({ parentPath, name }) => [name, await readFile(join(parentPath, name), "latin1")]);
				return Object.fromEntries(await Promise.all(all)) as Readonly<Record<string, string>>;
			};
			const { runtime } = await open(project, {
				model: scripted(({ messages }) => {
					const last = messages.at(-1);
					return last?.role === "user" ? JSON.parse(last.text) : "done";
				}),
				tools: createFileTools(cwd, { writes: true }),
				files: createWorkFiles(cwd),
			});
			const turn = async (calls: readonly unknown[]) => {
				await runtime.prompt(JSON.stringify(calls));
				await runtime.idle();
			};
			await turn(files.map((path, i) => ({ name: "write", args: { path, text: text("one", i) } })));
			const { tip: target } = runtime.wal;
			await turn(files.map((path) => ({ name: "edit", args: { path, old: "one", new: "two" } })));
			await writeFile(join(cwd, "fill.txt"), "");
			remount(cwd, options);
			// To the last page.
			await writeFile(join(cwd, "fill.txt"), "z".repeat(1_000_000)).catch(() => {});
			const before = await tree();
			const done = await runtime.checkout(target, "me", {}, { files: true });
			expect(done.files?.kept).toEqual(
				files.toSorted().map((path) => ({ path, why: `${path} cannot be written (${code}); nothing of it was` })),
			);
			expect(await tree()).toEqual(before);
			remount(cwd, "rw,size=8m");
			await runtime.undo("me");
			expect(await tree()).toEqual(before);
			// With space, all of them.
			const again = await runtime.checkout(target, "me", {}, { files: true, allOrNothing: true });
			expect(again.files?.changes).toHaveLength(FILES);
			expect((await tree())["f1.txt"]).toBe(text("one", 1));
			await runtime.close();
		});
	},
);
