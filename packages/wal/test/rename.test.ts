/** Renames that fail while somebody has a file open, as on Windows: tried again, so many times, and nowhere else. */
import { beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { nodeFiles } from "../src/disk/node-files.ts";
import { defineRecord, fileBlobs, fileEngine, nodeDisk, openWal } from "../src/index.ts";
import { MemoryDisk } from "../src/testing/index.ts";
import { applyRepair, proposeRepair } from "../src/tools.ts";

const said = defineRecord("said", z.object({ text: z.string() }));

/** Refuses each rename so many times, and counts what is waited for. */
class BusyDisk extends MemoryDisk {
	refusals = 3;
	code = "EPERM";
	readonly pauses: number[] = [];
	readonly #refused = new Map<string, number>();

	override rename(from: string, to: string): void {
		const refused = this.#refused.get(`${from} ${to}`) ?? 0;
		if (refused < this.refusals) {
			this.#refused.set(`${from} ${to}`, refused + 1);
			throw Object.assign(new Error(`${this.code}: ${to}`), { code: this.code });
		}
		this.#refused.delete(`${from} ${to}`);
		super.rename(from, to);
	}

	pause(ms: number): void {
		this.pauses.push(ms);
	}
}

let disk: BusyDisk;
beforeEach(() => {
	disk = new BusyDisk();
});

const open = (on: MemoryDisk = disk) =>
	openWal(fileEngine("/log", { disk: on, segmentBytes: 700, allocateBytes: 512 }), { records: [said] });

test.each(["EPERM", "EACCES", "EBUSY"])("a log begins, seals and truncates through %s", async (code) => {
	disk.code = code;
	await using wal = await open();
	for (let i = 0; i < 12; i++) await wal.append(said({ text: `text ${i}` })).durable;
	await wal.truncate({ before: 8 });
	expect(wal.first).toBeGreaterThan(1);
	expect(wal.durableTip).toBe(13);
	expect(disk.pauses.slice(0, 3)).toEqual([5, 10, 20]);
});

test("blobs and a repair are written through it", async () => {
	await fileBlobs("/blobs", { disk }).put("a", Buffer.from("b"));
	expect(disk.files.get("/blobs/a.blob")?.bytes).toEqual(new Uint8Array(Buffer.from("b")));
	const wal = await open();
	for (let i = 0; i < 3; i++) await wal.append(said({ text: `text ${i}` })).durable;
	await wal.close();
	const inode = disk.files.get("/log/wal.jsonl");
	if (inode) inode.bytes[inode.bytes.length - 250] = 0x21;
	const { accept } = await proposeRepair("/log", { disk });
	await applyRepair("/log", { disk, acceptLoss: accept });
	await using again = await open();
	expect(again.tip).toBeGreaterThan(5);
});

test("who has it open for long is told of, after so many tries, and the old file is there", async () => {
	await fileBlobs("/blobs", { disk }).put("a", Buffer.from("old"));
	disk.pauses.length = 0;
	disk.refusals = Number.POSITIVE_INFINITY;
	await expect(fileBlobs("/blobs", { disk }).put("a", Buffer.from("new"))).rejects.toMatchObject({ code: "EPERM" });
	expect(disk.pauses).toHaveLength(10);
	expect(Buffer.from(disk.files.get("/blobs/a.blob")?.bytes ?? []).toString()).toBe("old");
	expect([...disk.files.keys()].filter((path) => path.endsWith(".tmp"))).toEqual([]);
	await expect(open()).rejects.toMatchObject({ code: "WAL_IO", detail: { code: "EPERM" } });
});

test("another error, and a disk on which nobody is in the way, fail at once", async () => {
	disk.code = "EROFS";
	await expect(open()).rejects.toMatchObject({ code: "WAL_IO", detail: { code: "EROFS" } });
	expect(disk.pauses).toEqual([]);
	class Plain extends BusyDisk {
		override pause = undefined as unknown as (ms: number) => void;
	}
	const plain = new Plain();
	await expect(open(plain)).rejects.toMatchObject({ code: "WAL_IO", detail: { code: "EPERM" } });
	expect(plain.pauses).toEqual([]);
});

test("the real disk pauses on Windows alone", async () => {
	const isWindows = process.platform === "win32";
	expect([nodeDisk.pause !== undefined, nodeFiles.pause !== undefined]).toEqual([isWindows, isWindows]);
});
