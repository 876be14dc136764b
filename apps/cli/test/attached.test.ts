/** Which files a person may give with a prompt, and which of its words name one. */
import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, open, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { namedIn, readAttached } from "../src/attached.ts";

let root: string;
beforeAll(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-attached-"));
	await writeFile(join(root, "shot.png"), Buffer.from("\x89PNG\r\n\x1a\n", "latin1"));
	await writeFile(join(root, "notes.png"), "a text");
	await mkdir(join(root, "d.png"));
	execFileSync("mkfifo", [join(root, "pipe.png")]);
	const large = await open(join(root, "large.png"), "w");
	await large.truncate(100_000_000);
	await large.close();
});
afterAll(() => rm(root, { recursive: true, force: true }));

test("a file is read as what it holds, by a path from a directory", async () => {
	const { name, bytes } = await readAttached("shot.png", root);
	expect([name, bytes.length]).toEqual(["shot.png", 8]);
});

test.each([
	["notes.png", "FILE_REFUSED", /notes\.png is neither an image \(PNG, JPEG, GIF, WebP\) nor a PDF/],
	["large.png", "FILE_REFUSED", /large\.png has 100 MB, and up to 3\.75 MB can be attached/],
	["pipe.png", "CLI_USAGE", /pipe\.png is no regular file/],
	["d.png", "CLI_USAGE", /d\.png is no regular file/],
	["missing.png", "CLI_NOT_FOUND", /there is no file .*missing\.png/],
	["/dev/zero", "CLI_USAGE", /zero is no regular file/],
])("%s is refused at once, in words", async (path, code, message) => {
	await expect(readAttached(path, root)).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
});

test.each([
	["what is @shot.png?", ["shot.png"]],
	["@a/b.PDF, and (see) @c.jpeg: and @a/b.PDF", ["a/b.PDF", "c.jpeg"]],
	["read @notes.md, and mail me@home.png", []],
	["@ shot.png @.png", []],
])("%j names %j", (prompt, paths) => {
	expect(namedIn(prompt)).toEqual(paths);
});
