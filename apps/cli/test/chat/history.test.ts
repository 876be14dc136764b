/** What was sent is there after a restart, for this user alone, and without secrets; a damaged line costs no other. */
import { appendFile, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { SentBefore } from "../../src/chat/history.ts";

let root: string;
let path: string;
beforeEach(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-sent-"));
	path = join(root, "reyn", "history.jsonl");
});
afterEach(() => rm(root, { recursive: true, force: true }));

const sent = (): SentBefore => new SentBefore(path, (text) => text.replaceAll("hunter2", "[secret]"));

test("it is kept in order, with its line breaks, without secrets, and read by nobody else", async () => {
	expect(await sent().read()).toEqual([]);
	const one = sent();
	await Promise.all(["a", "b\nc", "the password is hunter2"].map((text) => one.add(text)));
	expect(await sent().read()).toEqual(["a", "b\nc", "the password is [secret]"]);
	expect((await stat(path)).mode & 0o777).toBe(0o600);
	expect((await stat(join(root, "reyn"))).mode & 0o777).toBe(0o700);
});

test("a damaged line is left out, and what would act on a terminal is taken out", async () => {
	await sent().add("a");
	await appendFile(path, '{"text":"half\n{"other":1}\n\u0000\n{"text":7}\n{"text":"b\\u001b[2Jc"}\n');
	await sent().add("d");
	expect(await sent().read()).toEqual(["a", "b[2Jc", "d"]);
});

test("the last 1,000 are kept, and the file is cut once it has twice as many", async () => {
	await sent().add("first");
	await writeFile(path, Array.from({ length: 2001 }, (_, n) => `${JSON.stringify({ text: `${n}` })}\n`).join(""));
	const texts = await sent().read();
	expect([texts.length, texts[0], texts.at(-1)]).toEqual([1000, "1001", "2000"]);
	expect((await readFile(path, "utf8")).trimEnd().split("\n")).toHaveLength(1000);
});

test("where it cannot be written, nothing is the worse for it", async () => {
	await writeFile(join(root, "reyn"), "no directory");
	await sent().add("a");
	expect(await sent().read()).toEqual([]);
});
