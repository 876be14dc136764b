/** What a file holds now, for who asks through the door of the tools, and what a change of it keeps of it. */
import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type FileChange, fileChangeSchema, type Keeping, type Tool } from "@reyn/journal";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createFileTools, createWorkFiles } from "../src/index.ts";
import { versionOf } from "../src/text-file.ts";

let root: string;
beforeEach(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-work-files-"));
	await writeFile(join(root, "a.txt"), "one\n");
});
afterEach(() => rm(root, { recursive: true }));

const { signal } = new AbortController();
const bytes = (text: string): Buffer => Buffer.from(text);

describe("a look at a file", () => {
	test("says what it holds, its permissions, or that there is none", async () => {
		await chmod(join(root, "a.txt"), 0o2751);
		const files = createWorkFiles(root);
		expect(await files.read("./a.txt")).toEqual({ kind: "file", bytes: bytes("one\n"), mode: 0o751 });
		expect(await files.read("b.txt")).toEqual({ kind: "none" });
		expect(await files.read("no/such/b.txt")).toEqual({ kind: "none" });
	});

	test.each([
		["../a.txt", /never leave the root/],
		["/etc/passwd", /is absolute/],
		[".reyn/own", /closed/],
		["sub/.GIT/config", /closed/],
		["link", /symbolic link/],
		["away/passwd", /symbolic link/],
		["sub", /is a directory/],
		["large", /more than 10 B/],
		["secret/key", /closed/],
		["", /the root/],
		["nul\0", /NUL/],
	])("at %j does not", async (path, why) => {
		await mkdir(join(root, "sub"));
		await mkdir(join(root, "secret"));
		await writeFile(join(root, "secret/key"), "key");
		await writeFile(join(root, "large"), "eleven byte");
		await symlink("/etc/passwd", join(root, "link"));
		await symlink("/etc", join(root, "away"));
		const files = createWorkFiles(root, { maxFileBytes: 10, isClosed: (at) => at === "secret" });
		expect(await files.read(path)).toEqual({ kind: "unknown", why: expect.stringMatching(why) });
	});
});

describe("a change", () => {
	const toolOf = (name: string): Tool =>
		createFileTools(root, { writes: true }).find((each) => each.name === name) as Tool;
	const args = { path: "./a.txt", old: "one", new: "two" };
	const kept: string[] = [];
	const keep: Keeping["keep"] = async (given) => {
		kept.push(Buffer.from(given).toString());
		return { sha256: "ab".repeat(32), bytes: given.length };
	};
	beforeEach(() => void kept.splice(0));

	test("keeps what the file holds, and says so with its permissions; where there is no file, nothing", async () => {
		await chmod(join(root, "a.txt"), 0o640);
		const prepared = await toolOf("edit").prepare?.(args, { signal, keep });
		expect(fileChangeSchema.parse(prepared)).toEqual({
			path: "a.txt",
			before: versionOf(bytes("one\n")),
			after: versionOf(bytes("two\n")),
			image: { sha256: "ab".repeat(32), bytes: 4, mode: 0o640 },
		});
		const made = (await toolOf("write").prepare?.({ path: "b.txt", text: "b" }, { signal, keep })) as FileChange;
		expect([made.before, made.image, kept]).toEqual([null, undefined, ["one\n"]]);
	});

	test("keeps nothing where nobody keeps, and is the same", async () => {
		const [with_, without] = await Promise.all(
			[{ signal, keep }, { signal }].map((context) => toolOf("edit").prepare?.(args, context)),
		);
		const { image, ...rest } = with_ as FileChange;
		expect([without, image?.bytes]).toEqual([rest, 4]);
	});

	test("is refused, and changes nothing, where what the file holds cannot be kept", async () => {
		const full = async () => {
			throw Object.assign(new Error("no space"), { code: "ENOSPC" });
		};
		await expect(toolOf("edit").prepare?.(args, { signal, keep: full })).rejects.toMatchObject({
			code: "TOOL_UNWRITABLE",
			message: "./a.txt is not changed: what it holds could not be kept before (ENOSPC)",
		});
		expect(await readFile(join(root, "a.txt"), "utf8")).toBe("one\n");
	});

	test("beside another one of the same file sees what that has left: of many one is made, and the others are refused", async () => {
		const tools = createFileTools(root, { writes: true });
		const edit = tools.find(({ name }) => name === "edit") as Tool;
		const calls = await Promise.all(
			Array.from({ length: 20 }, async (_, at) => {
				const given = { ...args, path: at % 2 ? "a.txt" : "./a.txt", new: `by ${at}` };
				return { given, prepared: (await edit.prepare?.(given, { signal })) as FileChange };
			}),
		);
		const ends = await Promise.allSettled(
			calls.map(({ given, prepared }) =>
				edit.call(given, { signal, prepared: { ...prepared }, idempotencyKey: given.new }),
			),
		);
		expect(ends.map(({ status }) => status).filter((status) => status === "fulfilled")).toHaveLength(1);
		for (const end of ends) if (end.status === "rejected") expect(end.reason).toMatchObject({ code: "TOOL_CHANGED" });
		const made = ends.findIndex(({ status }) => status === "fulfilled");
		expect(await readFile(join(root, "a.txt"), "utf8")).toBe(`by ${made}\n`);
	});

	test("that cannot be made keeps nothing", async () => {
		await expect(toolOf("edit").prepare?.({ ...args, old: "three" }, { signal, keep })).rejects.toMatchObject({
			code: "TOOL_NO_MATCH",
		});
		expect(kept).toEqual([]);
	});
});
