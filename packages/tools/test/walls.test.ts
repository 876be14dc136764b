/** No file tool leaves its root, by links, names or races. */
import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Tool } from "@reyn/journal";
import { systemTimers } from "@reyn/wal";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Effort } from "../src/effort.ts";
import { createFileTools, defaultLimits, fileToolsOver } from "../src/file-tools.ts";
import { compareBytes, openRoot, parsePath, type RootOptions } from "../src/root-directory.ts";
import { readText } from "../src/text-file.ts";

let base: string;
let root: string;

beforeEach(async () => {
	base = await mkdtemp(join(tmpdir(), "reyn-walls-"));
	root = join(base, "root");
	await file("secret/outside.txt", "the secret");
	await file("root/src/inside.txt", "inside");
});

afterEach(async () => {
	await rm(base, { recursive: true });
});

async function file(path: string, content: string): Promise<void> {
	await mkdir(dirname(join(base, path)), { recursive: true });
	await writeFile(join(base, path), content);
}

const { signal } = new AbortController();

const call = (name: string, args: unknown): Promise<string> =>
	(createFileTools(root).find((each) => each.name === name) as Tool).call(args, { signal }).then(String);

describe("nothing leaves the root", () => {
	test.each([
		["../secret/outside.txt", /contains "\.\."/],
		["src/../../secret/outside.txt", /contains "\.\."/],
		["src/../src/inside.txt", /contains "\.\."/],
		["/etc/passwd", /is absolute/],
		["src/inside.txt\0.png", /NUL/],
		[".git/config", /lies in \.git, which is closed/],
		["sub/.Git/config", /closed/],
		[".reyn/state/wal.jsonl", /lies in \.reyn, which is closed/],
	])("%j is refused by every tool", async (path, message) => {
		for (const [name, args] of [
			["read", { path }],
			["list", { path }],
			["search", { path, query: "secret" }],
		] as const) {
			await expect(call(name, args)).rejects.toMatchObject({
				code: "TOOL_OUTSIDE_ROOT",
				message: expect.stringMatching(message),
			});
		}
	});

	test("a symbolic link is shown but never followed, wherever it points", async () => {
		await symlink(join(base, "secret"), join(root, "door"));
		await symlink(join(base, "secret/outside.txt"), join(root, "src/peep.txt"));
		await symlink("inside.txt", join(root, "src/alias.txt"));
		for (const path of ["door/outside.txt", "src/peep.txt", "src/alias.txt"]) {
			await expect(call("read", { path })).rejects.toMatchObject({
				code: "TOOL_OUTSIDE_ROOT",
				message: expect.stringContaining("is a symbolic link"),
			});
		}
		await expect(call("list", { path: "door" })).rejects.toMatchObject({ code: "TOOL_OUTSIDE_ROOT" });
		expect(await call("search", { query: "secret" })).toMatch(/^No line contains/);
		expect((await call("list", {})).split("\n").slice(1)).toEqual([
			"door  (symbolic link, not followed)",
			"src/alias.txt  (symbolic link, not followed)",
			"src/inside.txt  6 B, 1 line",
			"src/peep.txt  (symbolic link, not followed)",
		]);
	});

	test("what its embedder closes is closed", async () => {
		const [list] = createFileTools(root, { closed: [join(root, "src")] });
		expect(await list?.call({}, { signal })).toBe("the root has no files to show");
	});

	test("the root itself may be reached through a link", async () => {
		await symlink(root, join(base, "shortcut"));
		const [list] = createFileTools(join(base, "shortcut"));
		expect(await list?.call({}, { signal })).toContain("src/inside.txt");
	});

	test.runIf(process.platform === "linux")("a pipe is not waited for", async () => {
		execFileSync("mkfifo", [join(root, "pipe")]);
		await expect(call("read", { path: "pipe" })).rejects.toMatchObject({ code: "TOOL_NOT_TEXT" });
	});

	test.runIf(process.platform === "linux")(
		"a directory swapped for a link while it is in use leads nowhere else",
		async () => {
			const directory = await (await openRoot(root)).directory(["src"]);
			await rename(join(root, "src"), join(root, "moved"));
			await symlink(join(base, "secret"), join(root, "src"));
			await expect(directory.file("outside.txt")).rejects.toMatchObject({ code: "TOOL_NOT_FOUND" });
			expect(await readText(await directory.file("inside.txt"), 100)).toMatchObject({ kind: "text", text: "inside" });
			await directory.close();
		},
	);

	test("without procfs, where that is allowed, every component is looked at, and links are refused all the same", async () => {
		await symlink(join(base, "secret"), join(root, "door"));
		await symlink(join(base, "secret/outside.txt"), join(root, "peep.txt"));
		const plain = await openRoot(root, { allowUnsafePaths: true }, []);
		expect(await readText(await plain.file(["src", "inside.txt"]), 100)).toMatchObject({
			kind: "text",
			text: "inside",
		});
		await expect(plain.file(["door", "outside.txt"])).rejects.toMatchObject({ code: "TOOL_OUTSIDE_ROOT" });
		await expect(plain.file(["peep.txt"])).rejects.toMatchObject({ code: "TOOL_OUTSIDE_ROOT" });
		await expect(plain.directory(["nowhere"])).rejects.toMatchObject({ code: "TOOL_NOT_FOUND" });
	});
});

describe("where the system has no safe way to open a file below a directory", () => {
	const bare = (options: RootOptions = {}): readonly Tool[] =>
		fileToolsOver({
			maxFileBytes: 1_000,
			root: () => openRoot(root, options, []),
			effort: (its) => new Effort(defaultLimits, its, systemTimers),
		});

	test.each([
		["list", {}],
		["search", { query: "inside" }],
		["read", { path: "src/inside.txt" }],
	])("%s refuses, and says why and how to go on", async (name, args) => {
		const of = (tools: readonly Tool[]) => tools.find((each) => each.name === name)?.call(args, { signal });
		await expect(of(bare())).rejects.toMatchObject({
			code: "TOOL_UNSAFE_PATHS",
			message: expect.stringMatching(
				/no \/proc\/self\/fd, .*--allow-unsafe-paths \(allowUnsafePaths of createFileTools\)$/,
			),
		});
		expect(await of(bare({ allowUnsafePaths: true }))).toContain("inside");
	});

	test("a place that only looks like one is none", async () => {
		await mkdir(join(base, "fd"));
		for (let fd = 0; fd < 100; fd++) await mkdir(join(base, "fd", String(fd)));
		await expect(openRoot(root, {}, [join(base, "fd")])).rejects.toMatchObject({ code: "TOOL_UNSAFE_PATHS" });
	});
});

describe.each([
	["with procfs", undefined],
	["without", []],
])("the state directory is closed to the tools, %s", (_, descriptors) => {
	const over = (state: string, at = root): readonly Tool[] =>
		fileToolsOver({
			maxFileBytes: 1_000,
			root: () => openRoot(at, { closed: [join(base, "gone"), state], allowUnsafePaths: true }, descriptors),
			effort: (its) => new Effort(defaultLimits, its, systemTimers),
		});
	const use = async (state: string, name: string, args: object, at?: string): Promise<string> =>
		(await over(state, at)
			.find((each) => each.name === name)
			?.call(args, { signal })
			.then(String)) ?? "";

	beforeEach(async () => {
		await file("root/work/history/state/wal.jsonl", "needle");
		await symlink(join(base, "root"), join(base, "other"));
	});

	test.each(["root/work/history", "root/./work/../work/history/", "other/work/history"])(
		"called anything, given as %s",
		async (spelling) => {
			const state = `${base}/${spelling}`;
			for (const [name, args] of [
				["read", { path: "work/./history/state/wal.jsonl" }],
				["list", { path: "work/history" }],
				["list", { path: "work/history/state" }],
				["search", { path: "work/history/state", query: "needle" }],
				["search", { path: "work/history/state/wal.jsonl", query: "needle" }],
			] as const) {
				await expect(use(state, name, args)).rejects.toMatchObject({
					code: "TOOL_OUTSIDE_ROOT",
					message: "work/history is closed to the file tools",
				});
			}
			expect(await use(state, "search", { query: "needle" })).toBe('No line contains "needle" (1 file searched).');
			expect(await use(state, "list", { depth: 9 })).not.toContain("history");
			expect(await use(state, "list", { depth: 2 })).not.toContain("history");
		},
	);

	test("when it is renamed, and when the root lies in it", async () => {
		const state = join(base, "root/work/history");
		const tools = await openRoot(root, { closed: [state], allowUnsafePaths: true }, descriptors);
		await rename(state, join(base, "root/src/else"));
		await expect(tools.directory(["src", "else"])).rejects.toMatchObject({ code: "TOOL_OUTSIDE_ROOT" });
		await rename(join(base, "root/src/else"), state);
		for (const at of ["root/work/history", "root/work/history/state", "other/work/history/state"]) {
			await expect(use(state, "list", {}, join(base, at))).rejects.toMatchObject({
				code: "TOOL_OUTSIDE_ROOT",
				message: expect.stringContaining("lies in a directory that is closed to the file tools"),
			});
		}
	});

	test("and a state that is not there yet closes nothing", async () => {
		expect(await use(join(base, "root/nowhere"), "read", { path: "src/inside.txt" })).toContain("inside");
	});
});

describe("what stays out of sight", () => {
	const listed = async (args: object = {}): Promise<readonly string[]> =>
		(await call("list", { depth: 9, ...args }))
			.split("\n")
			.slice(1)
			.map((line) => line.split("  ")[0] ?? "");

	test(".gitignore files speak for their own directory, and the inner one has the last word", async () => {
		await file("root/.gitignore", "*.log\n/build\ndeep/skip/\n# comment\n!keep.log\n");
		await file("root/src/.gitignore", "!loud.log\nlocal.txt\n");
		for (const path of ["a.log", "keep.log", "build/x.txt", "src/build/x.txt", "src/loud.log", "src/quiet.log"]) {
			await file(`root/${path}`, "x");
		}
		for (const path of ["src/local.txt", "local.txt", "deep/skip/x.txt", "deep/stay/x.txt"])
			await file(`root/${path}`, "x");
		expect(await listed()).toEqual([
			".gitignore",
			"deep/stay/x.txt",
			"keep.log",
			"local.txt",
			"src/.gitignore",
			"src/build/x.txt",
			"src/inside.txt",
			"src/loud.log",
		]);
		expect(await listed({ path: "src" })).not.toContain("src/quiet.log");
		expect(await listed({ path: "build" })).toEqual(["build/x.txt"]);
	});

	test(".git, .reyn and node_modules are never walked into, at any depth", async () => {
		for (const path of [
			".git/x.txt",
			".reyn/x.txt",
			"node_modules/x.txt",
			"src/node_modules/x.txt",
			"src/.git/x.txt",
		]) {
			await file(`root/${path}`, "needle");
		}
		expect(await listed()).toEqual(["src/inside.txt"]);
		expect(await call("search", { query: "needle" })).toMatch(/^No line contains "needle" \(1 file searched\)/);
	});

	test("a file that is ignored can still be read by its name", async () => {
		await file("root/.gitignore", "*.log\n");
		await file("root/a.log", "line");
		expect(await call("read", { path: "a.log" })).toContain("1| line");
	});

	test("a .gitignore made to hang the matcher does not", async () => {
		await file("root/.gitignore", `${"**/a/".repeat(20)}b\n`);
		await file(`root/${"a/".repeat(40)}c.txt`, "needle");
		expect(await call("search", { query: "needle" })).toContain("1 line in 1 file");
	});

	test("a name that would break the line is quoted", async () => {
		await file("root/two\nlines.txt", "needle");
		expect(await call("search", { query: "needle" })).toContain('"two\\nlines.txt":1: needle');
	});
});

test("paths are split into names, and dots and doubled slashes drop out", () => {
	expect(parsePath("./src//a.ts")).toEqual(["src", "a.ts"]);
	expect(parsePath("")).toEqual([]);
	expect(parsePath("..a/b..")).toEqual(["..a", "b.."]);
});

test("byte order is that of UTF-8, also beyond the basic plane", () => {
	const names = ["b", "a-b", "a/b", "é", "\uffee", "😀", "Z", ""];
	const bytes = [...names].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
	expect([...names].sort(compareBytes)).toEqual(bytes);
});
