/**
 * Blobs in files: the contract, what lies in the directory, and whatever can happen in the middle of a `put` or a `delete`.
 * Kills, power cuts and failed syncs are enumerated over simulated disks, at each operation; the real files run the same
 * steps. `REYN_STATES` sets how many states are looked at for each power cut (default 512), `REYN_SEED` which.
 */
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { SEED, seeded } from "../../../tests/kit/seeded.ts";
import { sample } from "../../../tests/sample.ts";
import { atomicWrite, removeFiles } from "../src/disk/atomic-write.ts";
import { isTemporaryName } from "../src/disk/durable-files.ts";
import { type BlobStore, type DiskFile, fileBlobs, memoryBlobs } from "../src/index.ts";
import { CrashDisk, MemoryDisk, MortalDisk, testBlobs } from "../src/testing/index.ts";

const STATES = Number(process.env.REYN_STATES ?? sample(32, 512));
/** Two directories have to be made for it. */
const ROOT = "/state/blobs";

const made: string[] = [];
afterAll(async () => {
	for (const directory of made) await rm(directory, { recursive: true, force: true });
});

async function fresh(): Promise<string> {
	const directory = await mkdtemp(join(tmpdir(), "reyn-blobs-"));
	made.push(directory);
	return join(directory, "above", "blobs");
}

test("a name has one spelling: others of it are not listed, however deep", async () => {
	const directory = await fresh();
	const blobs = fileBlobs(directory);
	for (const name of ["a", "A/con", "x.blob/y."]) await blobs.put(name, Buffer.from(name));
	let at = directory;
	for (let i = 0; i < 38; i++) {
		await mkdir(join(at, "%61"));
		await mkdir(join(at, "a"));
		at = join(at, "a");
	}
	for (const name of ["B.blob", "%62.blob", "con.blob"]) await writeFile(join(directory, name), "", { mode: 0o600 });
	expect(await blobs.list("")).toEqual(["A/con", "a", "x.blob/y."]);
});

testBlobs(
	{ describe, test, expect },
	{
		name: "real files alone",
		async make() {
			const directory = await fresh();
			return () => fileBlobs(directory);
		},
	},
);
testBlobs(
	{ describe, test, expect },
	{
		name: "files on a simulated disk alone",
		async make() {
			const disk = new MemoryDisk();
			return () => fileBlobs(ROOT, { disk });
		},
	},
);
testBlobs(
	{ describe, test, expect },
	{
		name: "memory alone",
		async make() {
			const blobs = memoryBlobs();
			return () => blobs;
		},
	},
);

describe("what lies in the directory", () => {
	test("a file for each blob, in directories as its name says, for the owner alone, and nothing else", async () => {
		const directory = await fresh();
		const blobs = fileBlobs(directory);
		await blobs.put("roots/x/0001", Buffer.from("one"));
		await blobs.put("roots/x/0001", Buffer.from("another"));
		await blobs.put("roots/x", Buffer.from("beside"));
		expect((await readdir(directory, { recursive: true })).sort()).toEqual(
			["roots", "roots/x", "roots/x.blob", "roots/x/0001.blob"].map((path) => join(path)),
		);
		expect(await readFile(join(directory, "roots/x/0001.blob"), "utf8")).toBe("another");
		if (process.platform === "win32") return;
		expect((await stat(join(directory, "roots"))).mode & 0o777).toBe(0o700);
		expect((await stat(join(directory, "roots/x.blob"))).mode & 0o777).toBe(0o600);
	});

	test("names that are one where case is folded, and those that Windows keeps back, are other names there", async () => {
		const disk = new MemoryDisk();
		const blobs = fileBlobs(ROOT, { disk });
		const names = ["a", "A", "a.", "con", "CON", "con.x", "nul/a", "lpt1/a", "context", "com", "b./c", "B./c"];
		for (const name of names) await blobs.put(name, Buffer.from(name));
		const paths = [...disk.files.keys()].map((path) => path.toLowerCase());
		expect(new Set(paths).size).toBe(names.length);
		for (const path of paths) for (const part of path.split("/")) expect(part).not.toMatch(/^(con|nul|lpt1)(\.|$)|\.$/);
		expect(paths).toEqual(expect.arrayContaining([`${ROOT}/context.blob`, `${ROOT}/com.blob`]));
	});

	test("a list reads only the directories that its prefix leads to", async () => {
		const read: string[] = [];
		class Watched extends MemoryDisk {
			override list(directory: string): readonly string[] {
				read.push(directory);
				return super.list(directory);
			}
		}
		const disk = new Watched();
		const blobs = fileBlobs(ROOT, { disk });
		for (const name of ["roots/x/1", "roots/x/2", "roots/xy/1", "roots/y/1", "chunks/a"])
			await blobs.put(name, Buffer.from(name));
		disk.open(`${ROOT}/roots/x/0123456789abcdef.tmp`, "create");
		expect(await blobs.list("roots/x/")).toEqual(["roots/x/1", "roots/x/2"]);
		expect(read.splice(0)).toEqual([`${ROOT}/roots/x`]);
		expect(await blobs.list("roots/x")).toEqual(["roots/x/1", "roots/x/2", "roots/xy/1"]);
		expect(read).toEqual([`${ROOT}/roots`, `${ROOT}/roots/x`, `${ROOT}/roots/xy`]);
	});

	test("nothing is done behind a link, also where the directory itself is one", async () => {
		const outside = await fresh();
		const theirs = fileBlobs(outside);
		for (const name of ["a", "b/a"]) await theirs.put(name, Buffer.from(name));
		const directory = await fresh();
		const blobs = fileBlobs(directory);
		await blobs.put("mine/a", Buffer.from("mine"));
		await symlink(outside, join(directory, "theirs"), "junction");
		const refused = { code: "WAL_UNSAFE", detail: { path: join(directory, "theirs") } };
		for (const prefix of ["", "the", "theirs/", "theirs/b"])
			await expect(blobs.list(prefix)).rejects.toMatchObject(refused);
		expect(await blobs.list("mine/")).toEqual(["mine/a"]);
		for (const name of ["theirs/a", "theirs/b/a"]) {
			await expect(blobs.delete(name)).rejects.toMatchObject(refused);
			await expect(blobs.get(name)).rejects.toMatchObject(refused);
			await expect(blobs.put(name, Buffer.from("mine"))).rejects.toMatchObject(refused);
		}
		expect(await theirs.list("")).toEqual(["a", "b/a"]);
		expect(await theirs.get("a")).toEqual(Buffer.from("a"));

		await symlink(outside, `${directory}-moved`, "junction");
		const moved = fileBlobs(`${directory}-moved`);
		for (const use of [moved.put("c", Buffer.from("c")), moved.delete("a"), moved.list(""), moved.get("b/a")])
			await expect(use).rejects.toMatchObject({ code: "WAL_UNSAFE", detail: { path: `${directory}-moved` } });
		expect(await theirs.list("")).toEqual(["a", "b/a"]);
		expect(await Promise.all([theirs, blobs, moved].map((each) => each.isOwn?.()))).toEqual([true, true, false]);
	});

	test("temporary files, and what others left there, are no blobs", async () => {
		const directory = await fresh();
		const blobs = fileBlobs(directory);
		await blobs.put("a/b", Buffer.from("blob"));
		for (const name of ["0123456789abcdef.tmp", ".DS_Store", "with a space.blob", "100%", "a/x.tmp"])
			await writeFile(join(directory, name), "");
		expect(await blobs.list("")).toEqual(["a/b"]);
	});
});

describe("what is cut", () => {
	const NAME = "roots/x/0001";
	/** They share no byte; both have more than one page. */
	const older = Buffer.alloc(5000, "o");
	const newer = Buffer.alloc(4500, "n");

	interface Deed {
		readonly of: string;
		/** Under the name before it, and after it. */
		readonly before: Buffer | undefined;
		readonly after: Buffer | undefined;
		run(blobs: BlobStore): Promise<void>;
	}
	const deeds: readonly Deed[] = [
		{ of: "put of a new name", before: undefined, after: newer, run: (blobs) => blobs.put(NAME, newer) },
		{ of: "put over an old one", before: older, after: newer, run: (blobs) => blobs.put(NAME, newer) },
		{ of: "delete", before: older, after: undefined, run: (blobs) => blobs.delete(NAME) },
	];

	/** A disk as it is before the deed, everything on it durable. */
	async function diskBefore<T>(
		{ before }: Deed,
		Disk: new (files: Iterable<readonly [string, Uint8Array]>, directories: Iterable<string>) => T,
	): Promise<T> {
		const disk = new MemoryDisk();
		if (before) await fileBlobs(ROOT, { disk }).put(NAME, before);
		return new Disk(
			[...disk.files].map(([path, { bytes }]) => [path, bytes] as const),
			disk.directories,
		);
	}

	/** A process that starts on this disk finds one of these under the name. */
	async function check(disk: MemoryDisk, expected: readonly (Buffer | undefined)[]): Promise<void> {
		const blobs = fileBlobs(ROOT, { disk });
		const found = await blobs.get(NAME);
		expect(expected.map(brief)).toContain(brief(found));
		expect(await blobs.list("roots/")).toEqual(found ? [NAME] : []);
	}

	/** The states that a power cut at any operation from `start` on may leave; the deed had resolved at the last one. */
	async function checkCuts(disk: CrashDisk, start: number, { before, after }: Deed): Promise<number> {
		let states = 0;
		const random = seeded(SEED);
		for (let cut = start; cut <= disk.cuts; cut++) {
			for (const state of disk.states(cut, { limit: STATES, random })) {
				states++;
				await check(state, cut === disk.cuts ? [after] : [before, after]);
			}
		}
		return states;
	}

	test.each(deeds)(
		"a $of by a power cut: the old bytes or the new ones, and once it resolved the new ones",
		async (deed) => {
			const disk = await diskBefore(deed, CrashDisk);
			await deed.run(fileBlobs(ROOT, { disk }));
			expect(await checkCuts(disk, 0, deed)).toBeGreaterThan(disk.cuts);
		},
	);

	test.each(deeds)("a $of by a kill: as by a power cut, also when the next process has done it again", async (deed) => {
		for (let n = 1; ; n++) {
			const disk = await diskBefore(deed, MortalDisk);
			disk.dieAt(n);
			await deed.run(fileBlobs(ROOT, { disk })).catch(() => {});
			if (!disk.dead) {
				expect(n).toBeGreaterThan(2);
				return;
			}
			disk.live();
			await check(disk, [deed.before, deed.after]);
			const start = disk.cuts;
			await deed.run(fileBlobs(ROOT, { disk }));
			await checkCuts(disk, start, deed);
		}
	});

	test.each(deeds)("a $of by a sync that fails: no temporary file, and done again it is durable", async (deed) => {
		for (let n = 1; ; n++) {
			const disk = await diskBefore(deed, CrashDisk);
			disk.failSync(n);
			const blobs = fileBlobs(ROOT, { disk });
			const error = await deed.run(blobs).catch(({ code }: NodeJS.ErrnoException) => code);
			if (!disk.failed) {
				expect(n).toBeGreaterThan(1);
				return;
			}
			expect(error).toBe("EIO");
			expect(temporaries(disk)).toEqual([]);
			await check(disk, [deed.before, deed.after]);
			const start = disk.cuts;
			await deed.run(blobs);
			await checkCuts(disk, start, deed);
		}
	});

	test("puts at once, however they meet: each is durable when it resolves", async () => {
		// So deep that to make it durable takes longer than to write a file in it.
		const deep = "a/b/c/d/e/f/g/h/i/j";
		for (let delay = 0; delay < 60; delay++) {
			const disk = new CrashDisk();
			const blobs = fileBlobs(ROOT, { disk });
			const puts = [`${deep}/1`, `${deep}/2`, "a/b/3"].map(async (name, i) => {
				for (let turn = 0; turn < i * delay; turn++) await undefined;
				await blobs.put(name, newer);
				return { name, cut: disk.cuts };
			});
			for (const { name, cut } of await Promise.all(puts)) {
				for (const state of disk.states(cut, { limit: 32, random: seeded(SEED + delay) }))
					expect(brief(await fileBlobs(ROOT, { disk: state }).get(name))).toBe(brief(newer));
			}
		}
	});
});

describe("what fails", () => {
	type Call = "create" | "write" | "sync" | "close" | "rename" | "remove" | "makeDirectory" | "syncDirectory";

	/** A disk that asks before each change: the answer may be an error, or how many bytes a write may have. */
	class Asking extends MemoryDisk {
		before: (call: Call, path: string) => number | undefined = () => undefined;

		override open(path: string, how: "read" | "write" | "create"): DiskFile {
			if (how === "create") this.before("create", path);
			const file = super.open(path, how);
			return {
				...file,
				write: (bytes, position) => file.write(bytes.subarray(0, this.before("write", path)), position),
				sync: () => void this.before("sync", path),
				close: () => void this.before("close", path),
			};
		}

		override makeDirectory(path: string): boolean {
			this.before("makeDirectory", path);
			return super.makeDirectory(path);
		}

		override rename(from: string, to: string): void {
			this.before("rename", to);
			super.rename(from, to);
		}

		override remove(path: string): void {
			this.before("remove", path);
			super.remove(path);
		}

		override syncDirectory(path: string): void {
			this.before("syncDirectory", path);
			super.syncDirectory(path);
		}
	}

	const NAME = "a/b";
	const older = Buffer.alloc(300, "o");
	const newer = Buffer.alloc(1000, "n");

	async function disk(): Promise<{ disk: Asking; blobs: BlobStore }> {
		const disk = new Asking();
		await fileBlobs(ROOT, { disk }).put(NAME, older);
		return { disk, blobs: fileBlobs(ROOT, { disk }) };
	}

	test.each(["ENOSPC", "EIO"])(
		"an error (%s) of any call leaves the old bytes and no temporary file, and no sync is tried again",
		async (code) => {
			const seen = new Set<Call>();
			for (let n = 1, failed = true; failed; n++) {
				failed = false;
				const at = await disk();
				let calls = 0;
				let call: Call | undefined;
				const synced: string[] = [];
				at.disk.before = (next, path) => {
					if (next === "sync") synced.push(path);
					// A write of 1000 bytes takes three calls.
					if (++calls !== n) return next === "write" ? 400 : undefined;
					call = next;
					failed = true;
					throw Object.assign(new Error(code), { code });
				};
				const error = await at.blobs.put(NAME, newer).catch((error) => error.code);
				at.disk.before = () => undefined;
				if (!failed) break;
				seen.add(call as Call);
				expect([call, error]).toEqual([call, code]);
				expect(temporaries(at.disk)).toEqual([]);
				const isRenamed = call === "syncDirectory" && synced.length > 0;
				expect(brief(await at.blobs.get(NAME))).toBe(brief(isRenamed ? newer : older));
				expect(new Set(synced).size).toBe(synced.length);
				await at.blobs.put(NAME, newer);
				expect(brief(await at.blobs.get(NAME))).toBe(brief(newer));
			}
			expect([...seen].sort()).toEqual([
				"close",
				"create",
				"makeDirectory",
				"rename",
				"sync",
				"syncDirectory",
				"write",
			]);
		},
	);

	test("a disk that takes no more bytes, without an error, is full", async () => {
		const { disk: full, blobs } = await disk();
		let writes = 0;
		full.before = (call) => (call === "write" ? (writes++ === 0 ? 400 : 0) : undefined);
		await expect(blobs.put(NAME, newer)).rejects.toMatchObject({ code: "ENOSPC" });
		expect(temporaries(full)).toEqual([]);
		expect(brief(await blobs.get(NAME))).toBe(brief(older));
	});

	test("what cannot be removed either stays, is no blob, and the first error is told", async () => {
		const { disk: broken, blobs } = await disk();
		broken.before = (call) => {
			if (call !== "sync" && call !== "remove") return undefined;
			throw Object.assign(new Error(call), { code: call === "sync" ? "EIO" : "EROFS" });
		};
		await expect(blobs.put(NAME, newer)).rejects.toMatchObject({ code: "EIO" });
		expect(temporaries(broken)).toHaveLength(1);
		expect(await blobs.list("")).toEqual([NAME]);
	});

	test("a directory above that may not be read is none that it has made, and no reason to fail", async () => {
		const { disk: closed, blobs } = await disk();
		closed.before = (call, path) => {
			if (call === "syncDirectory" && path === "/") throw Object.assign(new Error(path), { code: "EACCES" });
			return undefined;
		};
		await blobs.put(NAME, newer);
		expect(brief(await blobs.get(NAME))).toBe(brief(newer));
	});

	test("a directory that was removed meanwhile is made again", async () => {
		const directory = await fresh();
		const blobs = fileBlobs(directory);
		await blobs.put(NAME, older);
		await rm(directory, { recursive: true });
		expect(await blobs.get(NAME)).toBe(undefined);
		await blobs.delete(NAME);
		await blobs.put(NAME, newer);
		expect(brief(await blobs.get(NAME))).toBe(brief(newer));
	});
});

describe("atomicWrite", () => {
	test("writes text or bytes, over what is there, and makes the directories", async () => {
		const path = join(await fresh(), "a", "file.txt");
		await atomicWrite(path, "żółw");
		expect(await readFile(path, "utf8")).toBe("żółw");
		await atomicWrite(path, Uint8Array.of(1, 2));
		expect([...(await readFile(path))]).toEqual([1, 2]);
		expect(await readdir(join(path, ".."))).toEqual(["file.txt"]);
	});

	test("what cannot be replaced stays, and nothing is left beside it", async () => {
		const directory = await fresh();
		await mkdir(join(directory, "taken"), { recursive: true });
		await expect(atomicWrite(join(directory, "taken"), "x")).rejects.toThrow();
		await writeFile(join(directory, "file"), "x");
		await expect(atomicWrite(join(directory, "file", "below"), "x")).rejects.toThrow();
		expect((await readdir(directory)).sort()).toEqual(["file", "taken"]);
	});
});

const temporaries = (disk: MemoryDisk): string[] =>
	[...disk.files.keys()].map((path) => basename(path)).filter((name) => !name.endsWith(".blob"));

/** Bytes in one line, equal only where they are. */
const brief = (bytes: Uint8Array | undefined): string =>
	bytes
		? Buffer.from(bytes)
				.toString("latin1")
				.replace(/(.)\1*/gs, (run, one) => `${JSON.stringify(one)}x${run.length} `)
		: "none";

test("some files of a directory are taken away, and what is not there, or has no directory, is no error", async () => {
	const directory = await fresh();
	for (const name of ["a", "b", "c"]) await atomicWrite(join(directory, name), name);
	await removeFiles(directory, ["a", "c", "missing"]);
	expect(await readdir(directory)).toEqual(["b"]);
	await removeFiles(join(directory, "missing"), ["a"]);
});

test("what a killed write leaves has the name of a temporary file, and somebody else's file has not", async () => {
	const disk = new MortalDisk();
	const blobs = fileBlobs(ROOT, { disk });
	await blobs.put("a", Buffer.from("old"));
	disk.dieAt(2);
	await blobs.put("a", Buffer.from("new")).catch(() => {});
	disk.live();
	const left = disk.list(ROOT).filter((name) => name !== "a.blob");
	expect(left.map(isTemporaryName)).toEqual([true]);
	for (const name of ["a.blob", "notes.tmp", "0123456789abcdef.tmp.bak", "wal.new.tmp"])
		expect(isTemporaryName(name), name).toBe(false);
});
