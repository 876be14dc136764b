/** What `write`, `edit` and `remove` do to files, what they refuse, and how it is told after a crash whether they did it. */
import { spawn } from "node:child_process";
import {
	chmod,
	chown,
	lstat,
	mkdir,
	mkdtemp,
	readdir,
	readFile,
	rename,
	rm,
	stat,
	symlink,
	writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Json, Tool } from "@reyn/journal";
import { testTool } from "@reyn/journal/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { SEED, seeded } from "../../../tests/kit/seeded.ts";
import { sample } from "../../../tests/sample.ts";
import { createFileTools, type FileToolOptions } from "../src/file-tools.ts";
import { ToolError } from "../src/index.ts";
import { openRoot, temporary } from "../src/root-directory.ts";
import { versionOf } from "../src/text-file.ts";

let root: string;
beforeEach(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-writes-"));
});
afterEach(() => rm(root, { recursive: true }));

const { signal } = new AbortController();
const toolOf = (name: string, options: FileToolOptions = {}): Tool =>
	createFileTools(root, { writes: true, ...options }).find((each) => each.name === name) as Tool;

/** As a journal calls it: prepared first. */
async function call(name: string, args: object, options?: FileToolOptions): Promise<string> {
	const tool = toolOf(name, options);
	const prepared = (await tool.prepare?.(args, { signal })) as Json;
	return String(await tool.call(args, { signal, ...(prepared !== undefined && { prepared, idempotencyKey: "key" }) }));
}

const put = async (path: string, content: string | Uint8Array): Promise<string> => {
	await mkdir(join(root, path, ".."), { recursive: true });
	await writeFile(join(root, path), content);
	return versionOf(Buffer.from(content as string));
};
const at = (path: string): Promise<string> => readFile(join(root, path), "utf8");
/** All that lies in the root, also what is written before it is whole. */
const all = async (): Promise<readonly string[]> => (await readdir(root, { recursive: true })).sort();

describe("each holds to the contract", () => {
	beforeEach(() => put("a.txt", "one\n"));
	const runner = { describe, test, expect };
	testTool(runner, {
		name: "write",
		make: () => toolOf("write"),
		args: { path: "b.txt", text: "two\n" },
		refused: [
			{},
			{ path: "a.txt", text: "" },
			{ path: "../x", text: "" },
			{ path: "b.txt", text: "", version: "none" },
		],
	});
	testTool(runner, {
		name: "edit",
		make: () => toolOf("edit"),
		args: { path: "a.txt", old: "one", new: "one" },
		refused: [{}, { path: "a.txt", old: "", new: "" }, { path: "gone.txt", old: "a", new: "b" }],
	});
	testTool(runner, {
		name: "remove",
		make: () => toolOf("remove"),
		args: { path: "a.txt", version: versionOf(Buffer.from("one\n")) },
		refused: [{}, { path: "a.txt" }, { path: "a.txt", version: "other" }, { path: "gone.txt", version: "none" }],
	});
});

test("they are there for who wants them, and read says the version then", async () => {
	const version = await put("a.txt", "one\n");
	const names = (options?: FileToolOptions) => createFileTools(root, options).map(({ name }) => name);
	expect(names()).toEqual(["list", "search", "read"]);
	expect(names({ writes: true })).toEqual(["list", "search", "read", "write", "edit", "remove"]);
	expect(await call("read", { path: "a.txt" })).toBe(`a.txt (lines 1-1 of 1, version ${version})\n1| one`);
	await put("empty.txt", "");
	expect(await call("read", { path: "empty.txt" })).toMatch(/^empty.txt is empty, version [0-9a-f]{16}$/);
});

test("a file is made, with the directories that it needs, is changed and removed; nothing else is left", async () => {
	expect(await call("write", { path: "src/new/a.ts", text: "const a = 1;\n" })).toMatch(
		/^src\/new\/a.ts is made: 1 line, version [0-9a-f]{16}$/,
	);
	expect(await call("edit", { path: "src/new/a.ts", old: "a = 1", new: "a = 2" })).toMatch(
		/changed in 1 place, version/,
	);
	expect(await at("src/new/a.ts")).toBe("const a = 2;\n");
	const version = versionOf(Buffer.from("const a = 2;\n"));
	expect(await call("write", { path: "src/new/a.ts", text: "", version })).toMatch(
		/^src\/new\/a.ts is replaced: 0 lines/,
	);
	expect(await call("remove", { path: "src/new/a.ts", version: versionOf(Buffer.from("")) })).toBe(
		"src/new/a.ts is removed",
	);
	expect(await all()).toEqual(["src", "src/new"]);
});

test("mode, line ends and the mark of byte order stay as they are", async () => {
	const version = await put("run.sh", "echo one\r\necho two\r\n");
	await chmod(join(root, "run.sh"), 0o750);
	await call("edit", { path: "run.sh", old: "one\necho", new: "1\necho" });
	expect(await at("run.sh")).toBe("echo 1\r\necho two\r\n");
	expect((await stat(join(root, "run.sh"))).mode & 0o7777).toBe(0o750);
	await call("write", { path: "run.sh", text: "a\nb\n", version: versionOf(Buffer.from("echo 1\r\necho two\r\n")) });
	expect(await at("run.sh")).toBe("a\r\nb\r\n");
	expect((await stat(join(root, "run.sh"))).mode & 0o7777).toBe(0o750);
	await put("bom.txt", "\ufeffone\n");
	await call("edit", { path: "bom.txt", old: "one", new: "two" });
	expect(await at("bom.txt")).toBe("\ufefftwo\n");
	expect(version).not.toBe("");
	await call("write", { path: "bom.txt", text: "three\n", version: versionOf(Buffer.from("\ufefftwo\n")) });
	expect(await at("bom.txt")).toBe("\ufeffthree\n");
	expect(await call("edit", { path: "bom.txt", old: "three", new: "three" })).toBe(
		'bom.txt is as it was: "new" is what stands there',
	);
});

test("what runs with the rights of its owner does so no more once it is written; the owner stays", async () => {
	const version = await put("tool", "echo\n");
	const isRoot = process.getuid?.() === 0;
	if (isRoot) await chown(join(root, "tool"), 12_345, 12_346);
	await chmod(join(root, "tool"), 0o6755);
	await call("write", { path: "tool", text: "echo new\n", version });
	const { mode, uid } = await stat(join(root, "tool"));
	expect([mode & 0o7777, uid]).toEqual([0o755, isRoot ? 12_345 : process.getuid?.()]);
});

test("what a log says was prepared for a call is held against what the call asks for", async () => {
	const present = await put("a.txt", "one\n");
	await put("b.txt", "two\n");
	const forged = { path: "a.txt", before: present, after: versionOf(Buffer.from("two\n")), says: "forged" };
	const tries: readonly (readonly [string, object, object])[] = [
		["write", { path: "a.txt", text: "evil\n" }, forged],
		["write", { path: "a.txt", text: "evil\n", version: present }, forged],
		["edit", { path: "a.txt", old: "one", new: "evil" }, forged],
		["edit", { path: "b.txt", old: "two", new: "evil" }, forged],
		["remove", { path: "a.txt", version: "0".repeat(16) }, { ...forged, after: null }],
		["write", { path: "a.txt", text: "evil\n" }, {}],
	];
	for (const [name, args, prepared] of tries) {
		const asked = toolOf(name).call(args, { signal, prepared: prepared as Json, idempotencyKey: "k" });
		await expect(asked, JSON.stringify([name, args])).rejects.toBeInstanceOf(ToolError);
	}
	expect([await at("a.txt"), await at("b.txt")]).toEqual(["one\n", "two\n"]);
	await expect(toolOf("edit").reconcile?.("k", {}, { signal })).rejects.toBeInstanceOf(ToolError);
});

test("what a change that was cut has left is shown and found by no tool", async () => {
	await put("a.txt", "one\n");
	await writeFile(join(root, temporary("a.txt", "k")), "one half\n");
	expect(await call("list", {})).not.toContain(".reyn-");
	expect(await call("search", { query: "half" })).not.toContain(".reyn-");
});

test.each([
	["write", { path: "a.txt", text: "x" }, "TOOL_CHANGED", /a.txt is there already; read it/],
	["write", { path: "a.txt", text: "x", version: "0".repeat(16) }, "TOOL_CHANGED", /not as it was when it was read/],
	["write", { path: "b.txt", text: "x", version: "0".repeat(16) }, "TOOL_CHANGED", /b.txt is not there any more/],
	["write", { path: "a.txt/b", text: "x" }, "TOOL_NOT_FOUND", /a.txt is not a directory/],
	["write", { path: "dir", text: "x" }, "TOOL_NOT_TEXT", /dir is a directory/],
	["write", { path: "big.txt", text: "x".repeat(1_000_001) }, "TOOL_TOO_LARGE", /big.txt would have more than 1.0 MB/],
	["edit", { path: "a.txt", old: "three", new: "x" }, "TOOL_NO_MATCH", /"old" is not in a.txt/],
	["edit", { path: "a.txt", old: "o", new: "x" }, "TOOL_NO_MATCH", /is in a.txt 2 times/],
	["edit", { path: "twice.txt", old: "aba", new: "x" }, "TOOL_NO_MATCH", /is in twice.txt 2 times; give more/],
	[
		"edit",
		{ path: "twice.txt", old: "aba", new: "x", all: true },
		"TOOL_NO_MATCH",
		/2 times, which lie over each other/,
	],
	["edit", { path: "ends.txt", old: "a\nb", new: "x" }, "TOOL_NO_MATCH", /line ends of both kinds/],
	[
		"edit",
		{ path: "a.txt", old: "o", new: "x".repeat(900_000), all: true },
		"TOOL_TOO_LARGE",
		/would have more than 1.0 MB/,
	],
	["write", { path: "half.txt", text: "a\ud800b" }, "TOOL_INVALID_ARGS", /half a character/],
	["write", { path: "nul.txt", text: "a\0b" }, "TOOL_INVALID_ARGS", /NUL/],
	["write", { path: `.reyn-${"0".repeat(24)}.tmp`, text: "x" }, "TOOL_OUTSIDE_ROOT", /closed/],
	["edit", { path: "bytes", old: "o", new: "x" }, "TOOL_NOT_TEXT", /no text in UTF-8/],
	["edit", { path: "nul", old: "o", new: "x" }, "TOOL_NOT_TEXT", /no text in UTF-8/],
	["edit", { path: "gone.txt", old: "o", new: "x" }, "TOOL_NOT_FOUND", /no such file/],
	["remove", { path: "a.txt", version: "0".repeat(16) }, "TOOL_CHANGED", /not as it was/],
	["remove", { path: "dir", version: "0".repeat(16) }, "TOOL_NOT_TEXT", /dir is a directory/],
	["write", { path: "../x", text: "x" }, "TOOL_OUTSIDE_ROOT", /contains/],
	["write", { path: "/tmp/x", text: "x" }, "TOOL_OUTSIDE_ROOT", /absolute/],
	["write", { path: ".git/hooks/pre-commit", text: "x" }, "TOOL_OUTSIDE_ROOT", /lies in .git/],
	["write", { path: ".Reyn/x", text: "x" }, "TOOL_OUTSIDE_ROOT", /closed/],
	["write", { path: "link.txt", text: "x" }, "TOOL_OUTSIDE_ROOT", /symbolic link/],
	["edit", { path: "link.txt", old: "outside", new: "x" }, "TOOL_OUTSIDE_ROOT", /symbolic link/],
	["remove", { path: "link.txt", version: "0".repeat(16) }, "TOOL_OUTSIDE_ROOT", /symbolic link/],
	["write", { path: "out/new.txt", text: "x" }, "TOOL_OUTSIDE_ROOT", /symbolic link/],
	["write", { path: "", text: "x" }, "TOOL_INVALID_ARGS", /"path"/],
])("%s %j is refused (%s), and nothing is written", async (name, args, code, message) => {
	const outside = await mkdtemp(join(tmpdir(), "reyn-outside-"));
	await writeFile(join(outside, "secret.txt"), "outside\n");
	await put("a.txt", "one two\n");
	await put("bytes", new Uint8Array([0x6f, 0xff, 0xfe]));
	await put("nul", "o\0");
	await put("twice.txt", "ababa\n");
	await put("ends.txt", "a\nb\r\na\r\nb\n");
	await mkdir(join(root, "dir"));
	await symlink(join(outside, "secret.txt"), join(root, "link.txt"));
	await symlink(outside, join(root, "out"));
	const before = await all();
	await expect(call(name, args)).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
	expect([await all(), await at("a.txt")]).toEqual([before, "one two\n"]);
	expect(await readdir(outside)).toEqual(["secret.txt"]);
	expect(await readFile(join(outside, "secret.txt"), "utf8")).toBe("outside\n");
	await rm(outside, { recursive: true });
});

test("what somebody else has changed between the look and the call stays, and so does a file that came meanwhile", async () => {
	await put("a.txt", "one\n");
	const edit = { path: "a.txt", old: "one", new: "two" };
	const prepared = (await toolOf("edit").prepare?.(edit, { signal })) as Json;
	await put("a.txt", "one, and more\n");
	await expect(toolOf("edit").call(edit, { signal, prepared, idempotencyKey: "k" })).rejects.toMatchObject({
		code: "TOOL_CHANGED",
	});
	expect(await at("a.txt")).toBe("one, and more\n");
	const write = { path: "b.txt", text: "mine\n" };
	const made = (await toolOf("write").prepare?.(write, { signal })) as Json;
	await put("b.txt", "theirs\n");
	await expect(toolOf("write").call(write, { signal, prepared: made, idempotencyKey: "k" })).rejects.toMatchObject({
		code: "TOOL_CHANGED",
	});
	expect(await at("b.txt")).toBe("theirs\n");
});

test("the door itself puts nothing over what has come meanwhile: a file where none was, a link, a directory", async () => {
	const door = await openRoot(root);
	await put("b.txt", "theirs\n");
	const how = { token: "k", isNew: true };
	await expect(door.change(["b.txt"], Buffer.from("mine\n"), how)).rejects.toMatchObject({ code: "TOOL_CHANGED" });
	await symlink(join(root, "b.txt"), join(root, "link"));
	await mkdir(join(root, "dir"));
	for (const name of ["link", "dir"])
		for (const content of [Buffer.from("mine\n"), undefined])
			await expect(door.change([name], content, { token: "k", isNew: false })).rejects.toBeInstanceOf(ToolError);
	expect([await at("b.txt"), (await lstat(join(root, "link"))).isSymbolicLink(), await all()]).toEqual([
		"theirs\n",
		true,
		["b.txt", "dir", "link"],
	]);
});

test("a link that takes the place of a file or of a directory in the right moment leads nowhere", async () => {
	const outside = await mkdtemp(join(tmpdir(), "reyn-outside-"));
	await writeFile(join(outside, "a.txt"), "outside\n");
	let isOver = false;
	const swaps = (async () => {
		for (let i = 0; !isOver; i++) {
			await mkdir(join(root, "sub"), { recursive: true }).catch(() => {});
			await writeFile(join(root, "sub/a.txt"), "inside\n").catch(() => {});
			await rename(join(root, "sub"), join(root, `old-${i}`)).catch(() => {});
			await symlink(outside, join(root, "sub")).catch(() => {});
			await new Promise((resolve) => setImmediate(resolve));
			await rm(join(root, "sub"), { recursive: true, force: true }).catch(() => {});
			await rm(join(root, `old-${i}`), { recursive: true, force: true }).catch(() => {});
		}
	})();
	let written = 0;
	for (let i = 0; i < sample(200, 600); i++) {
		const done = await call("edit", { path: "sub/a.txt", old: "inside", new: "changed" }).catch(() => undefined);
		if (done) written++;
		await call("write", { path: `sub/new-${i}.txt`, text: "x" }).catch(() => undefined);
	}
	isOver = true;
	await swaps;
	expect(await readdir(outside)).toEqual(["a.txt"]);
	expect(await readFile(join(outside, "a.txt"), "utf8")).toBe("outside\n");
	expect(written).toBeGreaterThanOrEqual(0);
	await rm(outside, { recursive: true });
});

/** What a crash may leave of one call, and what others may have done since. */
const moments = ["before it", "half of it is written", "all of it is written", "it is in its place"] as const;
const meanwhile = ["nothing", "others write the same", "others write something else", "others remove it"] as const;

test("after a crash at any moment of any call, whatever others did, the file tells what became of it, and a repeat never does it twice", async () => {
	const random = seeded(SEED);
	const verdicts = new Map<string, number>();
	for (let run = 0; run < sample(150, 800); run++) {
		const present = random.pick([undefined, "one\n", "two\ntwo\n", ""]);
		if (present === undefined) await rm(join(root, "f"), { force: true });
		else await put("f", present);
		const version = versionOf(Buffer.from(present ?? ""));
		const kinds =
			present === undefined
				? (["write"] as const)
				: (["write", "remove", ...(present === "one\n" ? ["edit" as const] : [])] as const);
		const name = random.pick(kinds);
		const args = {
			write: { path: "f", text: random.pick(["three\n", "one\n"]), ...(present !== undefined && { version }) },
			edit: { path: "f", old: "one", new: "one more" },
			remove: { path: "f", version },
		}[name];
		const after = { write: (args as { text?: string }).text, edit: "one more\n", remove: undefined }[name];
		const tool = toolOf(name);
		const prepared = (await tool.prepare?.(args, { signal })) as Json;
		const key = `key-${run}`;
		const moment = random.pick(moments);
		const part = join(root, temporary("f", key));
		if (moment === "half of it is written") await writeFile(part, (after ?? "").slice(0, 2));
		if (moment === "all of it is written") await writeFile(part, after ?? "");
		if (moment === "it is in its place") await tool.call(args, { signal, prepared, idempotencyKey: key });
		const others = random.pick(meanwhile);
		if (others === "others write the same" && after !== undefined) await put("f", after);
		if (others === "others write something else") await put("f", `theirs ${run}\n`);
		if (others === "others remove it") await rm(join(root, "f"), { force: true });
		const found = await at("f").catch(() => undefined);
		const told = await tool.reconcile?.(key, prepared, { signal });
		const story = `${name} of ${JSON.stringify(present)}, killed ${moment}, ${others}`;
		verdicts.set(`${told?.kind}`, (verdicts.get(`${told?.kind}`) ?? 0) + 1);
		expect(told?.kind, story).toBe(found === after ? "done" : found === present ? "not_done" : "unknown");
		expect(await at("f").catch(() => undefined), story).toBe(found);
		if (told?.kind !== "unknown") {
			await tool.call(args, { signal, prepared, idempotencyKey: key });
			expect(await at("f").catch(() => undefined), story).toBe(after);
		}
		expect(
			(await all()).filter((each) => each.startsWith(".reyn-")),
			story,
		).toEqual([]);
	}
	expect([...verdicts.keys()].sort()).toEqual(["done", "not_done", "unknown"]);
});

test("a process that counts in a file, and is killed again and again, counts each once", async () => {
	const work = join(import.meta.dirname, "counting.ts");
	const until = sample(30, 80);
	let kills = 0;
	for (let isOver = false; !isOver; ) {
		const child = spawn(process.execPath, ["--conditions=@reyn/source", work, root, String(until)], {
			stdio: ["ignore", "pipe", "inherit"],
		});
		const ended = new Promise<number | NodeJS.Signals | null>((resolve) =>
			child.once("exit", (code, how) => resolve(code ?? how)),
		);
		// Killed while it is at work: it says each number once that is done.
		let said = 0;
		const killAt = 1 + ((kills * 7) % 11);
		child.stdout.on("data", (piece: Buffer) => {
			said += piece.toString().split("\n").length - 1;
			if (said >= killAt && kills < sample(5, 12)) child.kill("SIGKILL");
		});
		const how = await ended;
		expect([0, "SIGKILL"]).toContain(how);
		isOver = how === 0;
		if (!isOver) kills++;
	}
	expect(await at("files/count.txt")).toBe(`counted to ${until}\n`);
	expect(await readdir(join(root, "files"))).toEqual(["count.txt"]);
	expect(kills).toBeGreaterThan(0);
	expect((await lstat(join(root, "files/count.txt"))).isFile()).toBe(true);
});
