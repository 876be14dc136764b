/** The writer of the files, over a disk that does what a test says. */
import { hash } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { pointsOf, sample } from "../../../tests/sample.ts";
import {
	type Disk,
	type DiskFile,
	defineRecord,
	fileEngine,
	type OpenWalOptions,
	openWal,
	type Wal,
	walRecovered,
} from "../src/index.ts";
import { decodeLine, encodeBase, encodeHead, encodeHeader, encodeRecord, type Head } from "../src/record/codec.ts";
import { CrashDisk, MemoryDisk, MortalDisk } from "../src/testing/index.ts";
import { applyRepair, proposeRepair } from "../src/tools.ts";

const said = defineRecord("said", z.object({ text: z.string() }));
const nested = defineRecord("nested", z.object({ value: z.unknown() }));

/** A disk in memory that can be told to fail, and remembers what was asked of it. */
class TestDisk extends MemoryDisk {
	/** Called before each write and sync of a file; it may throw, or say how many bytes a write may have. */
	before: (call: "write" | "sync", path: string, length: number) => number | undefined = () => undefined;
	readonly calls: string[] = [];

	override open(path: string, how: Parameters<Disk["open"]>[1]): DiskFile {
		const file = super.open(path, how);
		return {
			...file,
			write: (bytes, position) => {
				this.calls.push(`write ${path}`);
				return file.write(bytes.subarray(0, this.before("write", path, bytes.length) ?? bytes.length), position);
			},
			sync: () => {
				this.calls.push(`sync ${path}`);
				this.before("sync", path, 0);
				file.sync();
			},
		};
	}

	text(path: string): string {
		return Buffer.from(this.files.get(path)?.bytes ?? []).toString();
	}

	names(): string[] {
		return [...this.files.keys()].sort();
	}
}

let disk: TestDisk;
beforeEach(() => {
	disk = new TestDisk();
});

const small = { segmentBytes: 2048, allocateBytes: 512 };
const open = (readOnly = false, proven = 0): Promise<Wal> =>
	openWal(fileEngine("/log", { disk, ...small }), { records: [said, nested], readOnly, proven: async () => proven });

async function say(wal: Wal, ...texts: string[]): Promise<void> {
	for (const text of texts) await wal.append(said({ text }), {}).durable;
}

async function texts(wal: Wal, after = 0): Promise<string[]> {
	const found: string[] = [];
	for await (const record of wal.read({ after })) if (said.is(record)) found.push(record.data.text);
	return found;
}

const errno = (code: string): Error => Object.assign(new Error(code), { code });
const many = Array.from({ length: 40 }, (_, i) => `${i} `.padEnd(100, "."));

describe("segments", () => {
	test("a full one is sealed with a footer and its name, and the log is read across them from anywhere", async () => {
		await using wal = await open();
		await say(wal, ...many);
		expect(disk.names().filter((name) => /wal-\d{20}\.jsonl$/.test(name)).length).toBeGreaterThan(3);
		expect(await texts(wal)).toEqual(many);
		expect(await texts(wal, 30)).toEqual(many.slice(29));
		await wal.close();
		await using again = await open();
		expect(await texts(again)).toEqual(many);
		await using reader = await open(true);
		expect(await texts(reader, 39)).toEqual(many.slice(38));
		for (const name of disk.names().filter((each) => each.includes("wal-"))) {
			expect(disk.text(name).trimEnd().split("\n").at(-1)).toMatch(
				/^\{"v":1,"sealed":\{"first":\d+,"last":\d+,"prev":"[0-9a-f]{8}","epoch":\d+\},"crc":"[0-9a-f]{8}"\}$/,
			);
		}
	});

	test("damage inside a sealed one is found when it is read, and never skipped", async () => {
		const wal = await open();
		await say(wal, ...many);
		await wal.close();
		const [name = ""] = disk.names().filter((each) => each.includes("wal-"));
		const inode = disk.files.get(name);
		if (inode) inode.bytes = Buffer.from(disk.text(name).replace("3 ..", "3 ,."));
		await using again = await open();
		await expect(texts(again)).rejects.toMatchObject({ code: "WAL_CORRUPT", detail: { path: name } });
		expect(await texts(again, 30)).toEqual(many.slice(29));
	});

	test("one that is missing, or of another log, is refused by name", async () => {
		const wal = await open();
		await say(wal, ...many);
		await wal.close();
		const [first = "", second = ""] = disk.names().filter((each) => each.includes("wal-"));
		const kept = disk.files.get(second);
		disk.remove(second);
		await expect(open()).rejects.toMatchObject({ code: "WAL_CORRUPT" });
		const stranger = disk.files.get(first);
		if (stranger) disk.files.set(second, stranger);
		await expect(open()).rejects.toMatchObject({ code: "WAL_CORRUPT", detail: { path: second } });
		if (kept) disk.files.set(second, kept);
		await using again = await open();
		expect(await texts(again)).toEqual(many);
	});
});

describe("space ahead", () => {
	test("is blank lines, cut on a clean close, and left by a kill without harm", async () => {
		const wal = await open();
		await say(wal, "a");
		expect(disk.text("/log/wal.jsonl")).toMatch(/\}\n\n+$/);
		for (const line of disk.text("/log/wal.jsonl").split("\n")) if (line !== "") JSON.parse(line);
		const killed = new TestDisk(
			[...disk.files].map(([path, { bytes }]) => [path, bytes] as const),
			disk.directories,
		);
		await wal.close();
		expect(disk.text("/log/wal.jsonl")).toMatch(/\}\n$/);
		disk = killed;
		await using again = await open();
		expect(again.torn).toBeUndefined();
		expect(await texts(again)).toEqual(["a"]);
	});
});

describe("what was acknowledged", () => {
	test.each<[string, (wal: string) => string]>([
		["its last line", (wal) => wal.trimEnd().split("\n").slice(0, -1).join("\n").concat("\n")],
		["its last three lines", (wal) => wal.trimEnd().split("\n").slice(0, -3).join("\n").concat("\n")],
		["the middle of its last line", (wal) => wal.slice(0, -30)],
		["everything", () => ""],
	])("is missed though nothing but wal.head says so: %s", async (_, cut) => {
		const wal = await open();
		await say(wal, "a", "b", "c");
		await wal.close();
		const inode = disk.files.get("/log/wal.jsonl");
		if (inode) inode.bytes = Buffer.from(cut(disk.text("/log/wal.jsonl")));
		const before = disk.text("/log/wal.jsonl");
		await expect(open()).rejects.toMatchObject({ code: "WAL_CORRUPT" });
		await expect(open(true)).rejects.toMatchObject({ code: "WAL_CORRUPT" });
		expect(disk.text("/log/wal.jsonl")).toBe(before);
	});

	test("is missed when the file is gone", async () => {
		const wal = await open();
		await say(wal, "a");
		await wal.close();
		disk.remove("/log/wal.jsonl");
		await expect(open()).rejects.toMatchObject({ code: "WAL_CORRUPT", message: expect.stringContaining("is gone") });
	});

	test("is missed when something outside proves more than the log has", async () => {
		const wal = await open();
		await say(wal, "a");
		await wal.close();
		disk.remove("/log/wal.head");
		await expect(open(false, 99)).rejects.toMatchObject({ code: "WAL_CORRUPT", detail: { acknowledged: 99 } });
		await using again = await open(false, 2);
		expect(await texts(again)).toEqual(["a"]);
	});

	test("a head that is missing, rotten or old only says less", async () => {
		for (const change of [
			() => disk.remove("/log/wal.head"),
			() => disk.files.get("/log/wal.head")?.bytes.fill(0),
			() => disk.files.get("/log/wal.head")?.bytes.set([0x39], 80),
		]) {
			const wal = await open();
			await say(wal, "a");
			await wal.close();
			change();
			await (await open()).close();
		}
	});
});

describe("a disk that fails", () => {
	test("writes that are short leave whole records", async () => {
		disk.before = (call, _, length) => (call === "write" ? Math.max(1, Math.floor(length / 3)) : undefined);
		await using wal = await open();
		await say(wal, ...many.slice(0, 5));
		expect(await texts(wal)).toEqual(many.slice(0, 5));
	});

	test("a full one refuses new records, keeps those that wait, and takes them first when there is space again", async () => {
		await using wal = await open();
		await say(wal, "a");
		const { tip } = wal;
		let full = true;
		disk.before = (call, path) => {
			if (full && call === "write" && path.endsWith("wal.jsonl")) throw errno("ENOSPC");
			return undefined;
		};
		const waiting = wal.append(said({ text: "b" }), {});
		let settled = false;
		void waiting.durable.then(() => {
			settled = true;
		});
		// A read waits for what is queued, or until the disk has said that it is full.
		expect(await texts(wal)).toEqual(["a"]);
		expect(codeOf(() => wal.append(said({ text: "too much" }), {}))).toBe("WAL_FULL");
		expect([settled, wal.tip]).toEqual([false, tip + 1]);
		full = false;
		await expect.poll(() => codeOf(() => wal.append(said({ text: "c" }), {}))).toBe(undefined);
		await wal.append(said({ text: "d" }), {}).durable;
		expect(settled).toBe(true);
		expect((await texts(wal)).slice(0, 2)).toEqual(["a", "b"]);
	});

	test("a sync that fails is the last thing that happens to the file", async () => {
		const wal = await open();
		await say(wal, "a");
		disk.before = (call, path) => {
			if (call === "sync" && path.endsWith("wal.jsonl")) throw errno("EIO");
			return undefined;
		};
		await expect(wal.append(said({ text: "b" }), {}).durable).rejects.toMatchObject({ code: "WAL_POISONED" });
		const { length } = disk.calls;
		expect(codeOf(() => wal.append(said({ text: "c" }), {}))).toBe("WAL_POISONED");
		await expect(wal.close()).rejects.toMatchObject({ code: "WAL_POISONED" });
		expect(disk.calls.slice(length)).toEqual([]);
	});

	test("after an unclean end, what the head does not prove is written again before it is shown", async () => {
		const wal = await open();
		await say(wal, "a", "b");
		const files = [...disk.files].map(([path, { bytes }]) => [path, bytes] as const);
		await wal.close();
		disk = new TestDisk(files, disk.directories);
		disk.remove("/log/wal.head");
		const wrote: string[] = [];
		disk.before = (call, path) => {
			if (path.endsWith("wal.jsonl")) wrote.push(call);
			return undefined;
		};
		await using again = await open();
		expect(wrote.slice(0, 2)).toEqual(["write", "sync"]);
		expect(await texts(again)).toEqual(["a", "b"]);
	});
});

test("data that is too deep is refused before a seq is taken", async () => {
	await using wal = await open();
	let value: unknown = "bottom";
	for (let depth = 0; depth < 70; depth++) value = [value];
	expect(codeOf(() => wal.append(nested({ value }), {}))).toBe("WAL_TOO_LARGE");
	expect(wal.tip).toBe(1);
});

test("who appends faster than the disk syncs is told to wait, and may ask when to go on", async () => {
	await using wal = await open();
	const text = "x".repeat(1_000_000);
	let refused: unknown;
	for (let i = 0; i < 80 && refused === undefined; i++) refused = codeOf(() => wal.append(said({ text }), {}));
	expect(refused).toBe("WAL_OVERLOADED");
	await wal.ready();
	expect(codeOf(() => wal.append(said({ text: "now" }), {}))).toBe(undefined);
});

function codeOf(run: () => unknown): unknown {
	try {
		run();
		return undefined;
	} catch (error) {
		return (error as { code?: unknown }).code;
	}
}

describe("a full disk in the middle of a seal", () => {
	test("leaves the next segment for the next try, and loses nothing", async () => {
		await using wal = await open();
		const fitting = many.slice(0, 9);
		await say(wal, ...fitting);
		let full = true;
		disk.before = (call, path) => {
			if (full && call === "write" && path.endsWith(".tmp")) throw errno("ENOSPC");
			return undefined;
		};
		const waiting: Promise<void>[] = [];
		for (const text of many.slice(9, 30)) {
			if (codeOf(() => waiting.push(wal.append(said({ text }), {}).durable)) === "WAL_FULL") break;
			await new Promise((resolve) => setImmediate(resolve));
		}
		// It waits for what is queued, or until the disk has said that it is full.
		await texts(wal);
		expect(codeOf(() => wal.append(said({ text: "no" }), {}))).toBe("WAL_FULL");
		full = false;
		await expect.poll(() => codeOf(() => wal.append(said({ text: "last" }), {}))).toBe(undefined);
		await Promise.all(waiting);
		expect((await texts(wal)).at(-1)).toBe("last");
		await wal.close();
		await using again = await open();
		expect((await texts(again)).slice(0, 9)).toEqual(fitting);
	});
});

test("another program's bytes are never overwritten, not even when a segment is full", async () => {
	const wal = await open();
	await say(wal, ...many.slice(0, 8));
	const inode = disk.files.get("/log/wal.jsonl");
	if (inode) inode.bytes = Buffer.concat([inode.bytes, Buffer.from("somebody else's")]);
	await expect(wal.append(said({ text: "x".repeat(1500) }), {}).durable).rejects.toMatchObject({
		code: "WAL_POISONED",
	});
	expect(disk.text("/log/wal.jsonl")).toMatch(/somebody else's$/);
	await expect(wal.close()).rejects.toMatchObject({ code: "WAL_POISONED" });
});

test("epochs count the writers, across segments too", async () => {
	for (let i = 0; i < 4; i++) {
		await using wal = await open();
		await say(wal, ...many.slice(0, 20));
	}
	await using wal = await open();
	const epochs: unknown[] = [];
	for await (const { kind, data } of wal.read())
		if (kind === "wal_epoch") epochs.push((data as { epoch: number }).epoch);
	expect(epochs).toEqual([1, 2, 3, 4, 5]);
});

describe("what no reader would accept is not written", () => {
	test.each([{ agent: null }, { agent: 5 }, { agent: "a", session: {} }])("the scope %o", async (scope) => {
		await using wal = await open();
		expect(codeOf(() => wal.append(said({ text: "x" }), scope as never))).toBe("WAL_INVALID_RECORD");
		expect(wal.tip).toBe(1);
	});

	test("a time that is no number, and a clock that appends itself", async () => {
		let now: () => number = () => 1;
		await using wal = await openWal(fileEngine("/log", { disk, ...small }), {
			records: [said],
			clock: { now: () => now() },
		});
		now = () => Number.NaN;
		expect(codeOf(() => wal.append(said({ text: "x" }), {}))).toBe("WAL_INVALID_RECORD");
		now = () => {
			now = () => 2;
			wal.append(said({ text: "first" }), {});
			return 3;
		};
		await wal.append(said({ text: "second" }), {}).durable;
		expect(await texts(wal)).toEqual(["first", "second"]);
	});

	test("data that its schema changes each time it reads it", async () => {
		const louder = defineRecord("louder", z.object({ text: z.string().transform((text) => `${text}!`) }));
		await using wal = await openWal(fileEngine("/log", { disk, ...small }), { records: [louder] });
		expect(codeOf(() => wal.append(louder({ text: "hey" }), {}))).toBe("WAL_INVALID_RECORD");
	});
});

test("a log that was cut while it is open is no shorter log", async () => {
	const wal = await open();
	await say(wal, "a", "b", "c");
	const inode = disk.files.get("/log/wal.jsonl");
	if (inode) inode.bytes = Buffer.from(`${disk.text("/log/wal.jsonl").split("\n").slice(0, 3).join("\n")}\n`);
	await expect(texts(wal)).rejects.toMatchObject({ code: "WAL_CORRUPT", detail: { seq: 3, durable: 4 } });
	for (const range of [{ after: Number.NaN }, { after: 2.5 }, { through: -1 }]) {
		await expect(wal.read(range)[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: "WAL_OUT_OF_RANGE" });
	}
	const found = disk.text("/log/wal.jsonl");
	await expect(wal.close()).rejects.toMatchObject({ code: "WAL_CORRUPT" });
	expect(disk.text("/log/wal.jsonl")).toBe(found);
});

test("what waits for space goes out by itself when there is some, and is rejected when the log is closed before", async () => {
	let full = false;
	disk.before = (call, path) => {
		if (full && call === "write" && path.endsWith("wal.jsonl")) throw errno("ENOSPC");
		return undefined;
	};
	const wal = await open();
	full = true;
	const patient = wal.append(said({ text: "patient" }), {}).durable;
	await expect.poll(() => codeOf(() => wal.append(said({ text: "no" }), {}))).toBe("WAL_FULL");
	full = false;
	await patient;
	full = true;
	const late = wal.append(said({ text: "late" }), {}).durable;
	const rejected = expect(late).rejects.toMatchObject({ code: "WAL_FULL" });
	await expect(wal.close()).rejects.toMatchObject({ code: "WAL_FULL" });
	await rejected;
});

describe("another program at the files of an open log", () => {
	test("an older copy put into the same file is noticed before anything is added to it", async () => {
		const wal = await openWal(fileEngine("/log", { disk, allocateBytes: 4096 }), { records: [said] });
		await say(wal, "a");
		const older = disk.files.get("/log/wal.jsonl")?.bytes as Uint8Array;
		await say(wal, "b");
		const file = disk.files.get("/log/wal.jsonl");
		if (file) file.bytes = older;
		await expect(wal.append(said({ text: "c" }), {}).durable).rejects.toMatchObject({
			code: "WAL_POISONED",
			message: expect.stringContaining("seq 3 does not end at byte"),
		});
		expect(disk.files.get("/log/wal.jsonl")?.bytes).toEqual(older);
	});

	test("a lock file that was removed lets no second writer in", async () => {
		const wal = await open();
		await say(wal, "a");
		// `wal.lock` is another file now, which nobody holds.
		disk.lock = () => ({ release() {} });
		await expect(open()).rejects.toMatchObject({ code: "WAL_LOCKED", message: expect.stringContaining("wal.lock") });
		await say(wal, "b");
		await wal.close();
		await using again = await open();
		expect(await texts(again)).toEqual(["a", "b"]);
	});
});

describe("a log that is not the one that was there", () => {
	test("is refused when the head is of another log, and nothing is changed", async () => {
		await using wal = await open();
		await say(wal, "a", "b");
		await wal.close();
		const mine = disk;
		disk = new TestDisk();
		await using other = await open();
		await say(other, "c");
		await other.close();
		const theirs = disk.files.get("/log/wal.jsonl")?.bytes as Uint8Array;
		disk = mine;
		const file = disk.files.get("/log/wal.jsonl");
		if (file) file.bytes = theirs;
		await expect(open()).rejects.toMatchObject({
			code: "WAL_CORRUPT",
			message: expect.stringContaining("wal.head is of another log"),
		});
		expect(disk.files.get("/log/wal.jsonl")?.bytes).toBe(theirs);
		const { accept, why } = await proposeRepair("/log", { disk });
		expect({ accept, why }).toEqual({ accept: "none", why: expect.stringContaining("durable up to seq 3") });
		await applyRepair("/log", { disk, acceptLoss: "none" });
		await using repaired = await open();
		expect(await texts(repaired)).toEqual(["c"]);
	});

	test("is refused when its oldest segment is gone", async () => {
		await using wal = await open();
		await say(wal, ...many);
		await wal.close();
		disk.remove("/log/wal-00000000000000000001.jsonl");
		await expect(open()).rejects.toMatchObject({ code: "WAL_CORRUPT", detail: { seq: 1 } });
		await expect(open(true)).rejects.toMatchObject({ code: "WAL_CORRUPT" });
	});

	test("an empty log may be removed by hand, whatever its head says", async () => {
		disk.makeDirectory("/log");
		const head = disk.open("/log/wal.head", "create");
		head.write(
			Buffer.from(encodeHead({ log: "0".repeat(32), segment: 1, seq: 0, offset: 0, sum: "00000000", epoch: 0 })),
			0,
		);
		await using wal = await open();
		expect(wal.tip).toBe(1);
	});
});

test("an error of the disk at a read or at the close is WAL_IO, with its code and the path", async () => {
	const wal = await open();
	await say(wal, "a");
	const { open: opens } = disk;
	disk.open = () => {
		throw errno("EMFILE");
	};
	await expect(texts(wal)).rejects.toMatchObject({
		code: "WAL_IO",
		message: expect.stringContaining("cannot read /log"),
	});
	disk.open = opens;
	disk.before = (call) => {
		if (call === "sync") throw errno("EIO");
		return undefined;
	};
	await expect(wal.close()).rejects.toMatchObject({ code: "WAL_IO", message: expect.stringContaining("cannot close") });
});

test("a torn tail that was cut by an opening that failed afterwards is recorded by the next one", async () => {
	const wal = await open();
	await say(wal, "a");
	await wal.close();
	const file = disk.files.get("/log/wal.jsonl");
	if (file) file.bytes = Buffer.concat([file.bytes, Buffer.from('{"v":1,"seq":3')]);
	// What comes after the cut fails: the head, and so the opening.
	disk.before = (call, path) => {
		if (call === "sync" && path.endsWith("wal.head")) throw errno("EIO");
		return undefined;
	};
	await expect(open()).rejects.toMatchObject({ code: "WAL_IO" });
	expect(disk.text("/log/wal.jsonl")).not.toContain('"seq":3');
	disk.before = () => undefined;
	await using again = await open();
	expect(again.torn).toMatchObject({ seq: 3, bytes: 14 });
	const recovered: unknown[] = [];
	for await (const record of again.read()) if (walRecovered.is(record)) recovered.push(record.data);
	expect(recovered).toEqual([{ ...again.torn, keptIn: again.torn?.keptIn?.replace("/log/", "") }]);
	await again.close();
	await using third = await open();
	expect(third.torn).toBeUndefined();
});

describe("what the head vouches for", () => {
	const setHead = (change: (head: Head) => Head): void => {
		const file = disk.files.get("/log/wal.head");
		const decoded = decodeLine(Buffer.from(disk.text("/log/wal.head").trimEnd()));
		if (file && decoded.type === "head") file.bytes = Buffer.from(encodeHead(change(decoded.head)));
	};

	test("is not read line by line, and the log goes on behind it", async () => {
		const wal = await open();
		await say(wal, "a", "b");
		await wal.close();
		await using again = await open();
		await say(again, "c");
		expect(await texts(again)).toEqual(["a", "b", "c"]);
	});

	test.each([
		["a seq that its last line has not", (head: Head): Head => ({ ...head, seq: head.seq + 3 })],
		["an offset in the middle of a line", (head: Head): Head => ({ ...head, offset: head.offset - 5 })],
		["another sum", (head: Head): Head => ({ ...head, sum: "00000000" })],
	])("is read line by line when it says %s", async (_, change) => {
		const wal = await open();
		await say(wal, "a", "b");
		await wal.close();
		setHead(change);
		const opened = await open().catch((error: Error) => error);
		if (opened instanceof Error) expect(opened).toMatchObject({ code: "WAL_CORRUPT" });
		else {
			expect(await texts(opened)).toEqual(["a", "b"]);
			await opened.close();
		}
	});
});

test("a line that does not follow the one before it is found at the open, without a head and with the right seq", async () => {
	const lines: string[][] = [];
	for (let log = 0; log < 2; log++) {
		disk = new TestDisk();
		const wal = await open();
		await say(wal, "a", "b", "c");
		await wal.close();
		lines.push(disk.text("/log/wal.jsonl").split("\n"));
	}
	const [theirs, ours] = lines as [string[], string[]];
	disk.remove("/log/wal.head");
	const file = disk.files.get("/log/wal.jsonl");
	ours[2] = theirs[2] as string;
	if (file) file.bytes = Buffer.from(ours.join("\n"));
	await expect(open()).rejects.toMatchObject({ code: "WAL_CORRUPT", detail: { seq: 2 } });
});

test("a torn tail of another place, which came with a copy, is not taken for one of this log", async () => {
	const wal = await open();
	await say(wal, "a", "b");
	await wal.close();
	for (const seq of [2, 3, 900]) {
		const file = disk.open(`/log/wal.jsonl.broken-${seq}-00000000`, "create");
		file.write(Buffer.from("{"), 0);
	}
	await using again = await open();
	expect(again.torn).toBeUndefined();
	expect(await texts(again)).toEqual(["a", "b"]);
});

/** What a file of this name would have to hold, as whoever puts one here knows it. */
const brokenName = (seq: number, bytes: string, adopted = ""): string =>
	`/log/wal.jsonl.broken-${seq}-${hash("sha256", adopted + bytes).slice(0, 8)}`;

const put = (path: string, text: string): void => {
	disk.files.delete(path);
	disk.open(path, "create").write(Buffer.from(text), 0);
};

/** @param adopt as in `LogFileOptions` */
const takeOver = (adopt: string): Promise<Wal> =>
	openWal(fileEngine("/log", { disk, ...small, adopt }), { records: [said, nested] });

describe("files that whoever a log came from puts beside it later", () => {
	const mine = "a".repeat(32);

	test("a torn tail is not this log's, whether or not its name fits its bytes", async () => {
		await say(await open(), "a", "b");
		disk = new TestDisk(
			disk.files.entries().map(([path, { bytes }]) => [path, bytes] as const),
			disk.directories,
		);
		await (await takeOver(mine)).close();
		const { tip } = await open(true);
		for (const seq of [4, tip + 1]) for (const bytes of ["{", "planted"]) put(brokenName(seq, bytes), bytes);
		put(`/log/wal.jsonl.broken-${tip + 1}-00000000`, "planted");
		await using again = await open();
		expect(again.torn).toBeUndefined();
		for await (const record of again.read()) expect(record.kind).not.toBe(walRecovered.kind);
	});

	test("one of its own is, also where the opening that set it aside was stopped", async () => {
		await (await takeOver(mine)).close();
		const { tip } = await open(true);
		const torn = '{"v":1,"seq":';
		put(brokenName(tip + 1, torn, mine), torn);
		await using again = await open();
		expect(again.torn).toMatchObject({ seq: tip + 1, bytes: torn.length, sha256: hash("sha256", torn) });
	});

	test("so is one that was set aside as the log was taken over, wherever that was stopped", async () => {
		for (let n = 1; ; n++) {
			const mortal = new MortalDisk();
			disk = mortal as unknown as TestDisk;
			const wal = await open();
			await say(wal, "a");
			await wal.close();
			const file = mortal.files.get("/log/wal.jsonl");
			if (file) file.bytes = Buffer.concat([file.bytes, Buffer.from('{"v":1,"seq":')]);
			mortal.dieAt(n);
			await takeOver(mine).catch(() => {});
			const { dead } = mortal;
			mortal.live();
			await using again = await open();
			const recovered = [];
			for await (const record of again.read()) if (walRecovered.is(record)) recovered.push(record.data.seq);
			expect([n, ...recovered]).toEqual([n, 3]);
			if (dead) continue;
			expect(n).toBeGreaterThan(10);
			return;
		}
	});

	test("a base takes nothing away, and nothing is changed", async () => {
		const wal = await open();
		await say(wal, ...many.slice(0, 20));
		const { id } = wal;
		await wal.close();
		await (await takeOver(mine)).close();
		const names = disk.names();
		const [second = ""] = names.filter((name) => /wal-\d+/.test(name)).slice(1);
		const { tip } = await open(true);
		for (const first of [Number(/\d{20}/.exec(second)?.[0]), tip, tip + 1])
			for (const adopted of [undefined, "b".repeat(32)]) {
				put("/log/wal.base", encodeBase({ log: id, first, ...(adopted === undefined ? {} : { adopted }) }));
				for (const readOnly of [true, false])
					await expect(open(readOnly)).rejects.toMatchObject({
						code: "WAL_CORRUPT",
						detail: { path: "/log/wal.base" },
						message: expect.stringContaining("move it away"),
					});
				await expect(proposeRepair("/log", { disk })).rejects.toMatchObject({ code: "WAL_CORRUPT" });
				expect(disk.names()).toEqual([...names, "/log/wal.base"].sort());
			}
		disk.files.delete("/log/wal.base");
		await using again = await open();
		expect((await texts(again)).slice(0, 20)).toEqual(many.slice(0, 20));
	});
});

test("a base that passes over all there is, is refused", async () => {
	const wal = await open();
	await say(wal, ...many.slice(0, 20));
	const { id } = wal;
	await wal.close();
	for (const name of ["/log/wal.jsonl", "/log/wal.head"]) disk.files.delete(name);
	put("/log/wal.base", encodeBase({ log: id, first: 500 }));
	const names = disk.names();
	await expect(open()).rejects.toMatchObject({ code: "WAL_CORRUPT", detail: { path: "/log/wal.base" } });
	expect(disk.names()).toEqual(names);
});

test("an opening takes away nothing of what a base passes over: who opens the log may yet refuse it", async () => {
	const wal = await open();
	await say(wal, ...many.slice(0, 20));
	const sealed = [...disk.files].filter(([path]) => /wal-\d+/.test(path));
	await wal.truncate({ before: 15 });
	const { first } = wal;
	await wal.close();
	for (const [path, file] of sealed) disk.files.set(path, file);
	const names = disk.names();
	await using again = await open();
	expect([again.first, disk.names()]).toEqual([first, names]);
	await again.truncate({ before: first });
	expect(disk.names()).toEqual(names.filter((name) => !(Number(/\d{20}/.exec(name)?.[0]) < first)));
});

test("what looks like torn tails holds no opening up, however much it is", async () => {
	const wal = await open();
	await say(wal, "a");
	await wal.close();
	const size = 1024 ** 4;
	for (let i = 0; i < 3; i++) put(`/log/wal.jsonl.broken-3-0000000${i}`, "x");
	const { open: openFile } = disk;
	let read = 0;
	disk.open = (path, how) => {
		const file = openFile.call(disk, path, how);
		if (!path.includes(".broken-")) return file;
		const counted: DiskFile["read"] = (into) => {
			read += into.length;
			return into.length;
		};
		return { ...file, size: () => (path.endsWith("0") ? size : 100 * 1024 * 1024), read: counted };
	};
	await using again = await open();
	expect(again.torn).toBeUndefined();
	expect(read).toBe(100 * 1024 * 1024);
});

test.each([
	["epoch", (n: number) => ({ seq: 1, epoch: n })],
	["seq", (n: number) => ({ seq: n - 1, epoch: 1 })],
])("a log whose last %s leaves no room for the next one is refused before anything is written", async (_, make) => {
	for (const n of [2 ** 52, Number.MAX_SAFE_INTEGER]) {
		disk = new TestDisk();
		const { seq, epoch } = make(n);
		disk.makeDirectory("/log");
		const head = { log: "c".repeat(32), first: seq, prev: "00000000", epoch: 0, created: 1 };
		const data = JSON.stringify({ epoch, pid: 1, host: "x" });
		const record = { seq, ts: 1, kind: "wal_epoch", scope: {}, data, dur: seq - 1, prev: "00000000" };
		put("/log/wal.jsonl", encodeHeader(head) + encodeRecord(record).line);
		if (seq > 1) put("/log/wal.base", encodeBase({ log: head.log, first: seq }));
		const before = [...disk.names(), disk.text("/log/wal.jsonl")];
		for (const opening of [() => open(), () => takeOver("a".repeat(32))]) {
			await expect(opening()).rejects.toMatchObject({
				code: "WAL_CORRUPT",
				message: expect.stringContaining("another directory"),
			});
			expect([...disk.names(), disk.text("/log/wal.jsonl")]).toEqual(before);
		}
		await (await open(true)).close();
	}
});

test.each(["", "c".repeat(31), "C".repeat(32), "c".repeat(33), "the log of somebody"])(
	"a segment of a log called %j is none",
	async (log) => {
		disk.makeDirectory("/log");
		put("/log/wal.jsonl", encodeHeader({ log, first: 1, prev: "00000000", epoch: 0, created: 1 }));
		for (const readOnly of [true, false]) await expect(open(readOnly)).rejects.toMatchObject({ code: "WAL_CORRUPT" });
	},
);

test("epochs count the writers when nothing is read but what the head vouches for", async () => {
	for (let i = 0; i < 3; i++) await (await open()).close();
	await using wal = await open();
	const epochs: unknown[] = [];
	for await (const { data } of wal.read()) epochs.push((data as { epoch: number }).epoch);
	expect(epochs).toEqual([1, 2, 3, 4]);
});

test("any record of a long segment is found, and what follows it, whatever is asked for", async () => {
	await using wal = await openWal(fileEngine("/log", { disk }), { records: [said] });
	const last = Array.from({ length: 3000 }, (_, i) => wal.append(said({ text: `${i} `.repeat(1 + (i % 97)) }), {})).at(
		-1,
	);
	await last?.durable;
	expect(disk.files.get("/log/wal.jsonl")?.bytes.length).toBeGreaterThan(5 * 64 * 1024);
	await using reader = await openWal(fileEngine("/log", { disk }), { records: [said], readOnly: true });
	for (let after = 0; after < 3000; after += 7) {
		const through = Math.min(after + 3, 3001);
		const seqs: number[] = [];
		for await (const { seq } of (after % 2 ? wal : reader).read({ after, through })) seqs.push(seq);
		expect(seqs).toEqual(Array.from({ length: through - after }, (_, i) => after + 1 + i));
	}
});

test("a line that is too long, or a place that has no end, is bad, and costs no more memory than a line may", async () => {
	const wal = await open();
	await say(wal, "a");
	await wal.close();
	const file = disk.files.get("/log/wal.jsonl");
	if (file) file.bytes = Buffer.concat([file.bytes, Buffer.alloc(20 * 1024 * 1024, "x"), Buffer.from("\n")]);
	await using again = await open();
	expect(again.torn).toMatchObject({ seq: 3, bytes: 20 * 1024 * 1024 });
	expect(await texts(again)).toEqual(["a"]);
});

test("after a clean close the head is durable, and says where the log ends", async () => {
	const cut = new CrashDisk();
	const wal = await openWal(fileEngine("/log", { disk: cut }), { records: [said] });
	for (const text of many.slice(0, 5)) await wal.append(said({ text }), {}).durable;
	await wal.close();
	for (const { files } of cut.states(cut.cuts, { random: Math.random })) {
		const text = Buffer.from(files.get("/log/wal.head")?.bytes ?? []).toString();
		expect(decodeLine(Buffer.from(text.trimEnd()))).toMatchObject({ type: "head", head: { seq: 6 } });
	}
});

test("a disk with less room than is allocated ahead takes what fits", async () => {
	const wal = await open();
	await say(wal, "a");
	disk.before = (call, path, length) => {
		if (call === "write" && path.endsWith("wal.jsonl") && length > 300) throw errno("ENOSPC");
		return undefined;
	};
	for (const text of many.slice(0, 8)) await say(wal, text);
	await wal.close();
	disk.before = () => undefined;
	await using again = await open();
	expect(await texts(again)).toEqual(["a", ...many.slice(0, 8)]);
});

test("a wrong answer from outside, or a wrong list of kinds, opens nothing and leaves no lock", async () => {
	const wal = await open();
	await say(wal, "a");
	await wal.close();
	await expect(open(false, Number.NaN)).rejects.toMatchObject({ code: "WAL_OUT_OF_RANGE" });
	await expect(openWal(fileEngine("/log", { disk }), { records: [said, said] })).rejects.toMatchObject({
		code: "WAL_INVALID_RECORD",
	});
	await using again = await open();
	expect(await texts(again)).toEqual(["a"]);
});

test("a reader is told of records that the writer has taken away since it looked, and not of damage", async () => {
	await using wal = await open();
	await say(wal, ...many);
	await using reader = await open(true);
	await wal.truncate({ before: 30 });
	expect(wal.first).toBeGreaterThan(10);
	await expect(texts(reader)).rejects.toMatchObject({ code: "WAL_TRUNCATED", detail: { first: wal.first } });
	await using later = await open(true);
	expect((await texts(later, later.first - 1)).at(-1)).toBe(many.at(-1));
});

test("behind a kill at any change of any file, a look as recovered shows what the next writer finds; any other what is proven", async () => {
	const lookAt = async (disk: Disk, readOnly: NonNullable<OpenWalOptions["readOnly"]>): Promise<string[]> => {
		await using wal = await openWal(fileEngine("/log", { disk, ...small }), { records: [said], readOnly });
		const all = await texts(wal);
		// From any place on, what is not known to be durable too.
		for (let after = 0; after <= wal.tip; after++) for await (const { seq } of wal.read({ after })) void seq;
		return all;
	};
	let more = 0;
	for (const n of pointsOf(20, Number.POSITIVE_INFINITY, 4)) {
		const disk = new MortalDisk();
		disk.dieAt(n);
		const acknowledged: string[] = [];
		try {
			const wal = await openWal(fileEngine("/log", { disk, ...small }), { records: [said] });
			for (const text of many.slice(0, 24)) {
				await Promise.all([text, `${text}, too`].map((each) => wal.append(said({ text: each }), {}).durable));
				acknowledged.push(text, `${text}, too`);
			}
			await wal.close();
		} catch (error) {
			if (!disk.dead) throw error;
		}
		const hasEnded = !disk.dead;
		disk.live();
		const proven = await lookAt(disk, true);
		const found = await lookAt(disk, "as recovered");
		expect(await lookAt(disk, false), `killed before change ${n}`).toEqual(found);
		expect(proven).toEqual(found.slice(0, proven.length));
		expect(proven.slice(0, acknowledged.length)).toEqual(acknowledged);
		if (found.length > proven.length) more++;
		if (hasEnded) break;
	}
	expect(more).toBeGreaterThan(sample(2, 10));
});
