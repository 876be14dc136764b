/** What lies in the directory of a log and is no file of this user alone is neither followed, waited for, read nor written. */
import { execFileSync } from "node:child_process";
import { chmod, link, mkdir, mkdtemp, readFile, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { defineRecord, fileEngine, openWal } from "../src/index.ts";
import { appendOwn, readOwnPart } from "../src/internal.ts";
import { applyRepair, proposeRepair, statLog, verifyLog } from "../src/tools.ts";

const said = defineRecord("said", z.object({ text: z.string() }));

let root: string;
let directory: string;
let outside: string;

beforeEach(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-own-"));
	directory = join(root, "log");
	outside = join(root, "outside");
	await mkdir(outside);
});
afterEach(() => rm(root, { recursive: true, force: true }));

const openSaid = (readOnly = false) =>
	openWal(fileEngine(directory, { segmentBytes: 512 }), { records: [said], readOnly });

/** Three segments, and a base. */
async function history(): Promise<void> {
	await using wal = await openSaid();
	for (let n = 0; n < 6; n++) await wal.append(said({ text: `number ${n}` }), {}).durable;
	await wal.truncate({ before: 4 });
}

const refused = (path: string, found: RegExp) => ({
	code: "WAL_UNSAFE",
	detail: { path, found: expect.stringMatching(found) },
});

const looks = {
	read: async () => {
		await using wal = await openSaid(true);
		for await (const _ of wal.read());
	},
	verify: () => verifyLog(directory),
	stats: () => statLog(directory),
	"plan a repair": () => proposeRepair(directory),
};
const works = {
	open: async () => (await openSaid()).close(),
	repair: () => applyRepair(directory, { acceptLoss: "none" }),
};

describe.runIf(process.platform !== "win32")("a link", () => {
	test.each(["wal.lock", "wal.head", "wal.base", "wal.jsonl"])(
		"%s to a file: its bytes stay as they are",
		async (name) => {
			await history();
			const victim = join(outside, "thesis.txt");
			await rename(join(directory, name), victim);
			const before = await readFile(victim);
			await symlink(victim, join(directory, name));
			for (const work of Object.values(works))
				await expect(work()).rejects.toMatchObject(refused(join(directory, name), /symbolic link/));
			if (name !== "wal.lock")
				for (const look of Object.values(looks))
					await expect(look()).rejects.toMatchObject(refused(join(directory, name), /symbolic link/));
			expect(await readFile(victim)).toEqual(before);
		},
	);

	test.each(["wal.lock", "wal.head"])(
		"%s in a directory that has no log yet, as a clone may bring it",
		async (name) => {
			const victim = join(outside, "thesis.txt");
			await writeFile(victim, "years of work");
			await mkdir(directory);
			await symlink(victim, join(directory, name));
			await expect(openSaid()).rejects.toMatchObject(refused(join(directory, name), /symbolic link/));
			expect(await readFile(victim, "utf8")).toBe("years of work");
		},
	);

	test("the directory itself is not worked in; one that is reached through a link is", async () => {
		await history();
		await rename(directory, join(outside, "log"));
		await symlink(join(outside, "log"), directory);
		for (const work of Object.values({ ...looks, ...works }))
			await expect(work()).rejects.toMatchObject(refused(directory, /symbolic link/));
		await symlink(outside, join(root, "var"));
		directory = join(root, "var/log");
		for (const work of Object.values({ ...looks, ...works })) await work();
	});
});

test("a file with a second name is refused, and says how to go on", async () => {
	await history();
	await link(join(directory, "wal.jsonl"), join(outside, "other"));
	await expect(openSaid()).rejects.toMatchObject(refused(join(directory, "wal.jsonl"), /2 names/));
	await expect(openSaid()).rejects.toThrow("put a copy in its place");
});

describe.runIf(process.platform !== "win32")("others", () => {
	test("who may write to the directory could plant anything: it is refused until they may not", async () => {
		await history();
		await chmod(directory, 0o777);
		for (const work of Object.values({ ...looks, ...works }))
			await expect(work()).rejects.toMatchObject(refused(directory, /all users may write/));
		await expect(openSaid()).rejects.toThrow(`chmod o-w ${directory}`);
		// As a umask of 002 makes it: the group of a user is most often hers alone.
		await chmod(directory, 0o775);
		for (const work of Object.values({ ...looks, ...works })) await work();
	});

	test("a pipe is not waited for where there is no log yet", async () => {
		await mkdir(directory);
		for (const name of ["wal.lock", "wal.jsonl"]) {
			execFileSync("mkfifo", [join(directory, name)]);
			await expect(openSaid()).rejects.toMatchObject(refused(join(directory, name), /pipe/));
			await rm(join(directory, name));
		}
	});
});

describe("what is appended", () => {
	const some = Buffer.from("some");

	test("makes a file that is not there, or adds to one that is, and neither does the other", async () => {
		const path = join(outside, "lines");
		await expect(appendOwn(path, some, "more")).rejects.toMatchObject({ code: "ENOENT" });
		await appendOwn(path, some, "new");
		await expect(appendOwn(path, some, "new")).rejects.toMatchObject({ code: "EEXIST" });
		await appendOwn(path, Buffer.from(" more"), "more");
		expect(await readFile(path, "utf8")).toBe("some more");
		expect((await stat(path)).mode & 0o077).toBe(0);
	});

	test("is read in parts, as far as there are any", async () => {
		const path = join(outside, "lines");
		expect(await readOwnPart(path, 0, 9)).toBeUndefined();
		await appendOwn(path, some, "new");
		const part = async (position: number, most: number) => (await readOwnPart(path, position, most))?.toString();
		expect([await part(0, 2), await part(1, 9), await part(4, 9), await part(9, 9)]).toEqual(["so", "ome", "", ""]);
	});

	test.runIf(process.platform !== "win32")("follows no link, and waits for no pipe", async () => {
		const [link, pipe, victim] = [join(outside, "link"), join(outside, "pipe"), join(outside, "thesis.txt")];
		await writeFile(victim, "mine");
		await symlink(victim, link);
		execFileSync("mkfifo", [pipe]);
		for (const path of [link, pipe]) {
			await expect(appendOwn(path, some, "more")).rejects.toMatchObject({ code: "WAL_UNSAFE" });
			await expect(readOwnPart(path, 0, 9)).rejects.toMatchObject({ code: "WAL_UNSAFE" });
		}
		expect(await readFile(victim, "utf8")).toBe("mine");
	});
});
