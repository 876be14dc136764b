/** What `list`, `search` and `read` answer. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Tool } from "@reyn/journal";
import { testTool } from "@reyn/journal/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createFileTools, type FileToolOptions } from "../src/file-tools.ts";

let root: string;

beforeEach(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-tools-"));
});

afterEach(async () => {
	await rm(root, { recursive: true });
});

async function files(contents: Readonly<Record<string, string | Uint8Array>>): Promise<void> {
	for (const [path, content] of Object.entries(contents)) {
		await mkdir(dirname(join(root, path)), { recursive: true });
		await writeFile(join(root, path), content);
	}
}

const { signal } = new AbortController();

function call(name: string, args: unknown, options?: FileToolOptions): Promise<string> {
	const tool = createFileTools(root, options).find((each) => each.name === name) as Tool;
	return tool.call(args, { signal }).then(String);
}

describe("each file tool holds to the contract", () => {
	beforeEach(() => files({ "src/fox.md": "# Foxes\n\nA fox sleeps by day.\n" }));

	const of = (name: string) => (): Tool => createFileTools(root).find((each) => each.name === name) as Tool;
	const runner = { describe, test, expect };
	testTool(runner, {
		name: "list",
		make: of("list"),
		args: { path: "src" },
		refused: [{ path: "../x" }, { depth: 0.5 }],
	});
	testTool(runner, {
		name: "search",
		make: of("search"),
		args: { query: "fox" },
		refused: [{}, { query: "" }, { query: "fox", path: "/etc" }],
	});
	testTool(runner, {
		name: "read",
		make: of("read"),
		args: { path: "src/fox.md" },
		refused: [{}, { path: "src" }, { path: "src/gone.md" }, { path: "src/fox.md", from: 99 }],
	});
});

describe("an image or a PDF", () => {
	const png = Buffer.from("\x89PNG\r\n\x1a\n\0 a fox", "latin1");
	const kept: [string, Uint8Array][] = [];
	const attach = async (name: string, bytes: Uint8Array) => {
		kept.push([name, bytes]);
		return { name, mediaType: "image/png", bytes: bytes.length, sha256: "ab".repeat(32) };
	};
	const ask = (path: string, more = {}, options: FileToolOptions = {}) =>
		(createFileTools(root, options).find(({ name }) => name === "read") as Tool).call({ path }, { signal, ...more });
	beforeEach(() =>
		files({
			"src/shot.txt": png,
			"fake.png": "no image",
			"big.pdf": Buffer.concat([Buffer.from("%PDF-"), Buffer.alloc(4e6)]),
		}),
	);

	test("is shown as it is, whatever its name and the limit of texts; a text that is called so is read as one", async () => {
		expect(await ask("src/shot.txt", { attach }, { maxFileBytes: 4 })).toEqual({
			text: "src/shot.txt (image/png) is shown:",
			files: [{ name: "src/shot.txt", mediaType: "image/png", bytes: 15, sha256: "ab".repeat(32) }],
		});
		expect(kept.splice(0)).toEqual([["src/shot.txt", png]]);
		expect(await ask("fake.png", { attach })).toBe("fake.png (lines 1-1 of 1)\n1| no image");
	});

	test("that is too large, or that nobody keeps, is refused", async () => {
		await expect(ask("big.pdf", { attach })).rejects.toMatchObject({ code: "TOOL_TOO_LARGE" });
		await expect(ask("src/shot.txt")).rejects.toMatchObject({ code: "TOOL_NOT_TEXT" });
		expect(kept).toEqual([]);
	});
});

test("the file tools are list, search and read; they only look, and say what they take", () => {
	const tools = createFileTools(root);
	expect(tools.map(({ name, purity }) => [name, purity])).toEqual([
		["list", "world"],
		["search", "world"],
		["read", "world"],
	]);
	for (const { parameters } of tools) {
		expect(parameters).toMatchObject({ type: "object", additionalProperties: false });
		expect(parameters).not.toHaveProperty("$schema");
	}
	expect(tools.map(({ parameters }) => Object.keys(parameters.properties as object))).toEqual([
		["path", "depth"],
		["query", "path", "maxResults"],
		["path", "from", "lines"],
	]);
	expect(tools.map(({ parameters }) => parameters.required ?? [])).toEqual([[], ["query"], ["path"]]);
});

test.each([
	["read", {}, /read: "path": .*expected string/],
	["read", { path: "a.txt", from: 0 }, /read: "from": /],
	["read", { path: "a.txt", line: 3 }, /read: .*"line"/],
	["search", { query: 3 }, /search: "query": .*expected string/],
	["search", { query: '  "" ' }, /search: "query": expected at least one word/],
	["list", { depth: "deep" }, /list: "depth": /],
	["list", null, /list: .*expected object/],
])("%s with %j is refused in one line that names the field", async (name, args, message) => {
	const error = await call(name, args).catch((thrown: Error) => thrown);
	expect(error).toMatchObject({ code: "TOOL_INVALID_ARGS", message: expect.stringMatching(message) });
	expect((error as Error).message).not.toContain("\n");
});

describe("list", () => {
	test("shows files with size and lines in byte order of their paths, and directories that are not opened", async () => {
		await files({ "b/x.ts": "1\n2\n", "a.txt": "one", "b-c.txt": "", "b/deep/y.ts": "\n", "B.md": "# B\n" });
		expect(await call("list", { depth: 2 })).toBe(
			[
				"the root: 5 files (2 .ts, 2 .txt, 1 .md)",
				"B.md  4 B, 1 line",
				"a.txt  3 B, 1 line",
				"b-c.txt  0 B, 0 lines",
				"b/deep/  (1 file)",
				"b/x.ts  4 B, 2 lines",
			].join("\n"),
		);
		expect(await call("list", { depth: 1 })).toContain("\nb/  (2 files)");
		expect(await call("list", { path: "b" })).toBe(
			["b: 2 files (2 .ts)", "b/deep/y.ts  1 B, 1 line", "b/x.ts  4 B, 2 lines"].join("\n"),
		);
	});

	test("opens as many levels as fit, and says how many entries it leaves out", async () => {
		const many = Object.fromEntries(
			Array.from({ length: 230 }, (_, n) => [`many/${String(n).padStart(3, "0")}.md`, ""]),
		);
		await files({ ...many, "top.md": "" });
		expect(await call("list", {})).toBe("the root: 231 files (231 .md)\nmany/  (230 files)\ntop.md  0 B, 0 lines");
		const deep = (await call("list", { path: "many" })).split("\n");
		expect(deep).toHaveLength(202);
		expect(deep.at(-1)).toBe("… and 30 more");
	});

	test("a walk that stops early says so", async () => {
		await files({ "a.md": "", "b.md": "", "c.md": "" });
		expect(await call("list", {}, { maxFiles: 2 })).toMatch(/^the root: 2 files and more; the walk stopped there/);
		expect(await call("search", { query: "x" }, { maxFiles: 2 })).toContain(
			"2 files searched, then the search stopped",
		);
	});

	test("an empty directory is said to be empty, and a missing one to be missing", async () => {
		expect(await call("list", {})).toBe("the root has no files to show");
		await expect(call("list", { path: "nowhere/at/all" })).rejects.toMatchObject({
			code: "TOOL_NOT_FOUND",
			message: "no such file or directory: nowhere",
		});
		await files({ "a.txt": "" });
		await expect(call("list", { path: "a.txt" })).rejects.toMatchObject({
			message: "a.txt is not a directory; read shows a file",
		});
	});
});

describe("search", () => {
	test("lines with more of the words come first, then definitions, then mentions", async () => {
		await files({
			"src/log.ts": "const a = 1;\nexport function openLog() {}\n// the log of the writer\n",
			"src/use.ts": "call(log);\n",
		});
		expect(await call("search", { query: "writer log" })).toBe(
			[
				'3 lines in 2 files (2 files searched). "writer" 1 in 1 file; "log" 3 in 2 files.',
				"src/log.ts:3: // the log of the writer",
				"src/log.ts:2: export function openLog() {}",
				"src/use.ts:1: call(log);",
				"Matching paths: src/log.ts",
			].join("\n"),
		);
	});

	test("finds words in any case, phrases in quotes, and a part of a word only when it is nowhere a word", async () => {
		await files({ "a.txt": "The Clock ticks\n", "b.txt": "A LOCK is here\nfirst the second\n" });
		expect(await call("search", { query: "lock" })).toContain("1 line in 1 file");
		expect(await call("search", { query: "ock" })).toContain("2 lines in 2 files");
		expect(await call("search", { query: '"the second"' })).toContain("b.txt:2: first the second");
		expect(await call("search", { query: '"second the"' })).toMatch(
			/^No line contains "second the" \(2 files searched\)/,
		);
	});

	test("a word is not a pattern", async () => {
		await files({ "a.txt": "axb\na.*b\n((a+)+)+$\n" });
		expect(await call("search", { query: "a.*b" })).toMatch(/^1 line in 1 file .*\na\.txt:2: a\.\*b$/);
		expect(await call("search", { query: "((a+)+)+$" })).toContain("a.txt:3:");
	});

	test("shows at most so many lines, no file crowding out the others, and counts the rest", async () => {
		await files({ "a.txt": "needle\n".repeat(50), "b.txt": "needle\n" });
		const lines = (await call("search", { query: "needle", maxResults: 5 })).split("\n");
		expect(lines[0]).toMatch(/^51 lines in 2 files/);
		expect(lines.slice(1, 6)).toContain("b.txt:1: needle");
		expect(lines.slice(6)).toEqual(["… and 46 more lines"]);
	});

	test("a long line is cut around the word", async () => {
		await files({ "long.txt": `${"x ".repeat(400)}needle${" y".repeat(400)}\n` });
		const line = (await call("search", { query: "needle" })).split("\n")[1] ?? "";
		expect(line).toMatch(/^long\.txt:1: ….*needle.*…$/);
		expect(line.length).toBeLessThan(220);
	});

	test("never answers with more than 16 KB", async () => {
		const line = `needle ${"w".repeat(190)}\n`;
		await files(Object.fromEntries(Array.from({ length: 150 }, (_, n) => [`f${n}.txt`, line])));
		const found = await call("search", { query: "needle", maxResults: 200 });
		expect(Buffer.byteLength(found)).toBeLessThan(17_000);
		expect(found).toMatch(/… and \d+ more lines$/);
	});

	test("generated files come last", async () => {
		await files({ "package-lock.json": '"zod": 1,\n"zod": 2,\n', "z.ts": "zod()\n" });
		expect((await call("search", { query: "zod" })).split("\n")[1]).toBe("z.ts:1: zod()");
	});

	test("looks into one directory or one file when a path is given", async () => {
		await files({ "a/x.txt": "needle", "b/y.txt": "needle" });
		expect(await call("search", { query: "needle", path: "a" })).toContain("(1 file searched)");
		expect(await call("search", { query: "needle", path: "b/y.txt" })).toContain("b/y.txt:1: needle");
		await expect(call("search", { query: "needle", path: "c" })).rejects.toMatchObject({ code: "TOOL_NOT_FOUND" });
	});

	test("binary and very large files are not searched, and it says so", async () => {
		await files({
			"a.bin": new Uint8Array([110, 101, 101, 100, 0, 108, 101]),
			"b.txt": `need ${"x".repeat(2_000)}`,
			"c.txt": "need",
		});
		expect(await call("search", { query: "need" }, { maxFileBytes: 1_500 })).toMatch(
			/^1 line in 1 file \(1 file searched\)[\s\S]*Not searched: 1 binary; too large: b\.txt \(2\.0 KB\)$/,
		);
	});

	test("the same search gives the same text", async () => {
		await files(Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`d${n % 7}/f${n}.txt`, `needle ${n % 5}\n`])));
		const first = await call("search", { query: "needle 3" });
		for (let run = 0; run < 3; run++) expect(await call("search", { query: "needle 3" })).toBe(first);
	});
});

describe("read", () => {
	test("numbers the lines and says where to go on", async () => {
		await files({ "a.txt": "one\r\ntwo\nthree\nfour\n" });
		expect(await call("read", { path: "a.txt" })).toBe("a.txt (lines 1-4 of 4)\n1| one\n2| two\n3| three\n4| four");
		expect(await call("read", { path: "./a.txt", from: 2, lines: 1 })).toBe(
			"a.txt (lines 2-2 of 4)\n2| two\n… 2 more lines; go on with from=3",
		);
		await expect(call("read", { path: "a.txt", from: 9 })).rejects.toMatchObject({
			message: 'read: "from": a.txt has only 4 lines',
		});
	});

	test("shows 200 lines unless asked otherwise, and never more than 16 KB", async () => {
		await files({ "short.txt": "x\n".repeat(1_000), "wide.txt": `${"é".repeat(300)}\n`.repeat(100) });
		expect(await call("read", { path: "short.txt" })).toContain("\n… 800 more lines; go on with from=201");
		const wide = await call("read", { path: "wide.txt" });
		expect(Buffer.byteLength(wide)).toBeLessThan(16_300);
		expect(wide).toMatch(/… \d+ more lines; go on with from=\d+$/);
	});

	test("cuts a very long line, without breaking a character", async () => {
		await files({ "a.txt": `x${"😀".repeat(1_500)}` });
		const text = await call("read", { path: "a.txt" });
		expect(text).toMatch(/… \(1,001 more characters\)$/);
		expect(text.isWellFormed()).toBe(true);
	});

	test("bytes that are not UTF-8 become U+FFFD", async () => {
		await files({ "latin.txt": new Uint8Array([99, 97, 102, 233, 10]) });
		expect(await call("read", { path: "latin.txt" })).toContain("1| caf\ufffd");
	});

	test.each([
		["a.bin", "TOOL_NOT_TEXT", "a.bin is a binary file"],
		["big.txt", "TOOL_TOO_LARGE", "big.txt has 3.0 KB; files above 2.0 KB are not read"],
		["folder", "TOOL_NOT_TEXT", "folder is a directory; list shows it"],
		["missing.txt", "TOOL_NOT_FOUND", "no such file or directory: missing.txt"],
		["a.bin/b", "TOOL_NOT_FOUND", "a.bin is not a directory; read shows a file"],
		[".", "TOOL_NOT_TEXT", "the root is a directory, not a file; list shows it"],
	])("says why %s cannot be read", async (path, code, message) => {
		await files({ "a.bin": new Uint8Array([0, 1]), "big.txt": "x".repeat(3_000), "folder/x.txt": "" });
		await expect(call("read", { path }, { maxFileBytes: 2_000 })).rejects.toMatchObject({ code, message });
	});

	test("an empty file is said to be empty", async () => {
		await files({ "a.txt": "" });
		expect(await call("read", { path: "a.txt" })).toBe("a.txt is empty");
	});
});

test("a root that does not exist is named", async () => {
	const [list] = createFileTools(join(root, "gone"));
	await expect(list?.call({}, { signal })).rejects.toMatchObject({
		message: expect.stringContaining(join(root, "gone")),
	});
});

test("an aborted call stops with the signal's reason", async () => {
	await files({ "a/a.txt": "x", "b/b.txt": "x" });
	const stopped = new AbortController();
	const reason = new Error("enough");
	stopped.abort(reason);
	for (const tool of createFileTools(root)) {
		await expect(tool.call({ query: "x", path: "a" }, { signal: stopped.signal })).rejects.toBe(reason);
	}
});
