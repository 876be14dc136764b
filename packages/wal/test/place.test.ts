/** Where a log may lie: what is refused by name, what has to show what it can, and what an embedder is told of it. */
import { statfsSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import {
	type Disk,
	type DiskFile,
	defineRecord,
	type FileSystem,
	fileEngine,
	memoryEngine,
	openWal,
} from "../src/index.ts";
import { MemoryDisk } from "../src/testing/index.ts";

const said = defineRecord("said", z.object({ text: z.string() }));

/** Lies on what it says, and does what the test does to its files. */
class PlacedDisk extends MemoryDisk {
	lies: FileSystem | undefined;
	change: (file: DiskFile, path: string) => Partial<DiskFile> = () => ({});
	/** How many files are open. */
	opened = 0;

	override fileSystem(): FileSystem | undefined {
		return this.lies;
	}

	override open(path: string, how: Parameters<Disk["open"]>[1]): DiskFile {
		const file = super.open(path, how);
		this.opened++;
		const close = (): void => {
			this.opened--;
			file.close();
		};
		return { ...file, close, ...this.change(file, path) };
	}
}

let disk: PlacedDisk;
beforeEach(() => {
	disk = new PlacedDisk();
});

const open = ({ readOnly = false, ...options }: { allowNetwork?: boolean; readOnly?: boolean } = {}) =>
	openWal(fileEngine("/log", { disk, ...options }), { records: [said], readOnly });

const fails = (code: string) => (): never => {
	throw Object.assign(new Error(code), { code });
};

test("a log on a disk of this machine says so, and one in memory", async () => {
	await using wal = await open();
	expect(wal.place).toEqual({ durability: "disk" });
	await using memory = await openWal(memoryEngine(), { records: [] });
	expect(memory.place).toEqual({ durability: "memory" });
});

test("a log that ends with the power of the machine says so to a writer and a reader", async () => {
	disk.lies = { name: "tmpfs", kind: "memory" };
	await using wal = await open();
	expect(wal.place).toEqual({ durability: "machine", fileSystem: "tmpfs" });
	await using reader = await open({ readOnly: true });
	expect(reader.place).toEqual({ durability: "machine", fileSystem: "tmpfs" });
});

test("a network file system is refused by name, unless it is forced: then it says so", async () => {
	disk.lies = { name: "NFS", kind: "network" };
	await expect(open()).rejects.toMatchObject({
		code: "WAL_IO",
		message: expect.stringContaining("NFS"),
		detail: { network: "NFS" },
	});
	await using forced = await open({ allowNetwork: true });
	expect(forced.tip).toBe(1);
	expect(forced.place).toEqual({ durability: "unproven", fileSystem: "NFS" });
});

describe("a file system whose name says nothing", () => {
	beforeEach(() => {
		disk.lies = { name: "virtiofs", kind: "opaque" };
	});

	test("is taken when it does what a log needs, says so, and keeps nothing of the trial", async () => {
		const wal = await open();
		await wal.append(said({ text: "a" })).durable;
		await wal.close();
		expect(disk.opened).toBe(0);
		expect(wal.place).toEqual({ durability: "unproven", fileSystem: "virtiofs" });
		expect(disk.list("/log").toSorted()).toEqual(["wal.head", "wal.jsonl"]);
	});

	test("is tried before each writer, also over what a killed trial has left, and no reader tries it", async () => {
		await (await open()).close();
		disk.open("/log/wal.trial.tmp", "create").close();
		disk.open("/log/wal.tried.tmp", "create").close();
		disk.change = () => ({ sync: fails("EIO") });
		await expect(open()).rejects.toMatchObject({ code: "WAL_IO", detail: { network: "virtiofs" } });
		await using reader = await open({ readOnly: true });
		expect(reader.tip).toBe(1);
		expect(disk.list("/log").toSorted()).toEqual(["wal.head", "wal.jsonl"]);
	});

	const isTrial = (path: string): boolean => path.endsWith(".tmp");
	test.each<[string, (disk: PlacedDisk) => void, string]>([
		[
			"locks that keep nobody out",
			(disk) => {
				disk.change = () => ({ tryLock: () => true });
			},
			"a lock keeps nobody out",
		],
		[
			"no locks",
			(disk) => {
				disk.change = (_, path) => (isTrial(path) ? { tryLock: fails("ENOLCK") } : {});
			},
			"when it is locked, it says ENOLCK",
		],
		[
			"no locks, of which the first one is asked",
			(disk) => {
				disk.lock = fails("EINVAL");
			},
			"when it is locked, it says EINVAL",
		],
		[
			"a lock that nobody gets",
			(disk) => {
				disk.change = (_, path) => (isTrial(path) ? { tryLock: () => false } : {});
			},
			"a lock on a file that nobody else has is refused",
		],
		[
			"no sync",
			(disk) => {
				disk.change = (_, path) => (isTrial(path) ? { sync: fails("ENOSYS") } : {});
			},
			"when it is written to and synced, it says ENOSYS",
		],
		[
			"a cache for each open file",
			(disk) => {
				disk.change = (_, path) => (isTrial(path) ? { read: () => 0 } : {});
			},
			"what is written through one open file is not seen through another",
		],
		[
			"no rename",
			(disk) => {
				disk.rename = fails("EXDEV");
			},
			"when it is renamed, it says EXDEV",
		],
		[
			"a rename that copies",
			(disk) => {
				disk.rename = (from, to) => {
					disk.open(to, "create").close();
					disk.remove(from);
				};
			},
			"a file that is renamed is another one then",
		],
	])("is refused for %s: the message says so, and how to go on; forced it is taken", async (_, change, why) => {
		change(disk);
		const error = await open().then(
			() => undefined,
			(error) => error,
		);
		expect(error).toMatchObject({ code: "WAL_IO", detail: { path: "/log", network: "virtiofs", why } });
		expect(error.message).toMatch(/^\/log is on virtiofs, which was tried: .*allowNetwork/);
		expect(error.message).toContain(why);
		expect(disk.opened).toBe(0);
		expect(disk.list("/log")).toEqual([]);
		disk = Object.assign(new PlacedDisk(), { lies: disk.lies });
		await using forced = await open({ allowNetwork: true });
		expect(forced.place).toEqual({ durability: "unproven", fileSystem: "virtiofs" });
	});

	test("frees the lock when it is refused", async () => {
		disk.change = () => ({ sync: fails("ENOSYS") });
		await expect(open()).rejects.toMatchObject({ detail: { network: "virtiofs" } });
		disk.change = () => ({});
		await using wal = await open();
		expect(wal.tip).toBe(1);
	});
});

const TMPFS = 0x01021994;
const shared = "/dev/shm";
const hasTmpfs = ((): boolean => {
	try {
		return statfsSync(shared).type === TMPFS;
	} catch {
		return false;
	}
})();

test.skipIf(!hasTmpfs)("a real tmpfs is named (it needs /dev/shm)", async () => {
	const directory = await mkdtemp(join(shared, "reyn-place-"));
	onTestFinished(() => rm(directory, { recursive: true }));
	const wal = await openWal(directory, { records: [said] });
	expect(wal.place).toEqual({ durability: "machine", fileSystem: "tmpfs" });
	await wal.close();
	await using reader = await openWal(directory, { records: [said], readOnly: true });
	expect(reader.place).toEqual({ durability: "machine", fileSystem: "tmpfs" });
	expect((await readdir(directory)).sort()).toEqual(["wal.head", "wal.jsonl", "wal.lock"]);
});

test("a real directory says where it lies", async () => {
	const directory = await mkdtemp(join(tmpdir(), "reyn-place-"));
	onTestFinished(() => rm(directory, { recursive: true }));
	await using wal = await openWal(directory, { records: [said] });
	expect(["disk", "machine"]).toContain(wal.place.durability);
});
