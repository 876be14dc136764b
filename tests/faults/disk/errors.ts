/** Rows 6, 15, 17 to 22: the disk is full, fails, writes too little, or may not be touched. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmod, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type DiskFile, fileEngine } from "@reyn/wal";
import { MemoryDisk } from "@reyn/wal/testing";
import { type Case, type Fault, runCases } from "../fault.ts";
import { type Acked, checkLog, checkRecords, codeOf, openLog, readAll } from "../lab/check.ts";
import { DIRECTORY, engineOn } from "../lab/memory.ts";
import { needsAll } from "../lab/needs.ts";
import { numbered } from "../lab/numbered.ts";
import { sleep, startWriter, withDirectory } from "../lab/start.ts";
import { countCalls, pathsOf, strace } from "../lab/strace.ts";
import { mounted } from "../lab/tmpfs.ts";

const cases: readonly Case[] = [
	{
		name: "short writes (row 6)",
		async run({ short }) {
			const most = short ? 24 : 300;
			for (let bytes = 1; bytes <= most; bytes++) {
				const disk = new ShortDisk(bytes);
				const wal = await openLog(engineOn(disk, { segmentBytes: 900 }));
				const acked: Acked[] = [];
				for (let n = 1; n <= 6; n++) {
					const { record, durable } = wal.append(numbered({ n, text: "one whole record" }), {});
					await durable;
					acked.push(record);
				}
				await wal.close();
				const { torn } = await checkLog(
					engineOn(new MemoryDisk(plain(disk), [DIRECTORY]), { segmentBytes: 900 }),
					acked,
				);
				assert.equal(torn, undefined);
			}
			return `${most} lengths ok of ${most}`;
		},
	},
	{
		name: "disk full, in memory: at every byte, then space again (row 15)",
		async run({ short }) {
			let full = 0;
			let cases = 0;
			for (let space = 700; space < 6000; space += short ? 61 : 7) {
				cases++;
				if (await fillsInMemory(space, { segmentBytes: 1 << 20 })) full++;
			}
			return `${cases} sizes, full in ${full}, acked lost 0`;
		},
	},
	{
		name: "disk full where a segment is sealed, in memory (row 15)",
		async run({ short }) {
			let full = 0;
			let cases = 0;
			for (let space = 700; space < 6000; space += short ? 61 : 7) {
				cases++;
				if (await fillsInMemory(space, { segmentBytes: 1500 })) full++;
			}
			return `${cases} sizes, full in ${full}, acked lost 0`;
		},
	},
	{
		name: "EIO at the n-th operation of an open in memory, then opened again (row 19)",
		async run() {
			let n = 0;
			for (; ; n++) {
				const disk = new FailingDisk([...(await closedLog())], [DIRECTORY]);
				disk.failAt(n);
				const code = await codeOf(async () => (await openLog(engineOn(disk))).close());
				const reached = disk.reached;
				disk.failAt(-1);
				await checkLog(engineOn(disk), []);
				if (!reached) break;
				assert.ok(["WAL_IO", "WAL_POISONED", "EIO"].includes(code), `operation ${n}: ${code}`);
			}
			return `${n} operations failed, each gave an error, and the next open worked`;
		},
	},
	{
		name: "a sync that fails and then succeeds, the bytes lost (row 18, in memory)",
		async run() {
			let cases = 0;
			for (let fails = 0; fails < 12; fails++) {
				const disk = new ForgetfulDisk();
				const acked: Acked[] = [];
				disk.failAt(fails);
				try {
					const wal = await openLog(engineOn(disk));
					try {
						for (let n = 1; n <= 12; n++) {
							const { record, durable } = wal.append(numbered({ n, text: "" }), {});
							await durable;
							acked.push(record);
						}
					} finally {
						await codeOf(() => wal.close());
					}
				} catch {}
				// The next open reads from the cache what never reached the disk: it has to be written again.
				const { records } = await readAll(engineOn(disk));
				checkRecords(records, acked);
				await checkLog(engineOn(disk.cut()), records);
				cases++;
			}
			return `${cases} of ${cases} ok, acked lost 0`;
		},
	},
	{
		name: "EIO on fdatasync, call 1 to K (row 17)",
		needs: () => needsAll("strace"),
		async run({ short }) {
			const calls = short ? [4] : Array.from({ length: 12 }, (_, i) => i + 1);
			let poisoned = 0;
			for (const call of calls) {
				await withDirectory(async (root) => {
					const [state, log] = [join(root, "state"), join(root, "strace")];
					const inject = ["-e", "trace=fdatasync", "-e", `inject=fdatasync:error=EIO:when=${call}`];
					const writer = startWriter(
						state,
						{ count: 40, batch: 4, hold: true },
						strace(log, [join(state, "wal.jsonl")], ...inject),
					);
					await Promise.race([writer.line("error"), writer.ended]);
					const { length } = writer.acked;
					if (writer.lines.some((line) => line.startsWith("opened"))) {
						await writer.line("holding");
						await writer.tell("append 4");
						await writer.tell("append 4");
						assert.equal(writer.errors.at(-1)?.code, "WAL_POISONED");
						// What was acknowledged can still be read.
						assert.ok((await writer.tell("read"))[0]?.startsWith("read "), "reading failed after the poison");
						poisoned++;
					}
					writer.child.stdin?.end();
					await writer.ended;
					assert.equal(writer.acked.length, length, "acknowledged after a failed sync");
					const syncs = (await readFile(log, "utf8")).split("\n").filter((line) => line.includes("fdatasync("));
					const failed = syncs.findIndex((line) => line.includes("EIO"));
					assert.ok(failed >= 0, "there was no such sync to fail");
					assert.equal(failed + 1, syncs.length, `${syncs.length - failed - 1} syncs after the one that failed`);
					await checkLog(state, writer.acked);
				});
			}
			return `${calls.length} of ${calls.length} ok (${poisoned} while it ran), acks after it 0, second syncs 0`;
		},
	},
	{
		name: "EIO on every call at the open (row 19)",
		needs: () => needsAll("strace"),
		run: ({ short }) => failsAtOpen(100_000, short ? 1 : 100),
	},
	{
		name: "EIO on every call at an open that seals (row 19)",
		needs: () => needsAll("strace"),
		run: ({ short }) => failsAtOpen(900, short ? 1 : 100),
	},
	{
		name: "file-size limit (row 20)",
		needs: () => needsAll("prlimit"),
		async run() {
			return withDirectory(async (root) => {
				const state = join(root, "state");
				const limit = 64 * 1024;
				const writer = startWriter(state, { bytes: 300, batch: 20, allocateBytes: 1000, hold: true }, [
					"prlimit",
					`--fsize=${limit}:${limit * 4}`,
				]);
				await writer.line("holding");
				assert.equal(writer.errors[0]?.code, "WAL_FULL");
				assert.match(writer.errors[0]?.message ?? "", /EFBIG/);
				const { length } = writer.acked;
				assert.equal((await writer.tell("read"))[0], `read ${writer.acked.at(-1)?.seq}`);
				spawnSync("prlimit", ["--pid", String(writer.child.pid), `--fsize=${limit * 4}`]);
				await resumes(writer);
				await writer.tell("close");
				await writer.kill();
				await checkLog(state, writer.acked);
				return `WAL_FULL after ${length} records, resumed with ${writer.acked.length - length} more, acked lost 0`;
			});
		},
	},
	{
		name: "no descriptors left, at the start and live (row 21)",
		needs: () => needsAll("prlimit"),
		async run() {
			return withDirectory(async (root) => {
				const state = join(root, "state");
				const writer = startWriter(state, { count: 4, hold: true });
				await writer.line("holding");
				const used = new Set(await readdir(`/proc/${writer.child.pid}/fd`));
				let free = 0;
				while (used.has(String(free))) free++;
				spawnSync("prlimit", ["--pid", String(writer.child.pid), `--nofile=${free}:${free}`]);
				await writer.tell("append 8");
				assert.equal(writer.errors.length, 0, "the log needs no new descriptor to go on");
				await writer.tell("read");
				const atRead = writer.errors.at(-1);
				await writer.tell("append 4");
				await writer.tell("close");
				writer.child.stdin?.end();
				await writer.ended;
				assert.equal(writer.acked.length, 16);
				const inject = strace("/dev/null", [join(state, "wal.jsonl")], "-e", "inject=openat:error=EMFILE:when=1");
				const starved = startWriter(state, { count: 0 }, needsAll("strace") === undefined ? inject : []);
				await starved.ended;
				if (needsAll("strace") === undefined) {
					assert.equal(starved.errors[0]?.code, "WAL_IO");
					assert.equal(starved.errors[0]?.system, "EMFILE");
				}
				await checkLog(state, writer.acked);
				return `appends go on, a read gives ${atRead?.code ?? "no error"} ${atRead?.system ?? ""}, the start WAL_IO (EMFILE)`;
			});
		},
	},
	{
		name: "a read without a descriptor (row 21)",
		async run() {
			const disk = new FailingDisk([], [DIRECTORY]);
			const wal = await openLog(engineOn(disk));
			disk.failAt(0);
			const code = await codeOf(async () => {
				for await (const _ of wal.read()) break;
			});
			assert.equal(code, "WAL_IO", `${code}: no error of the log, and it says nothing of what to do`);
			return "WAL_IO";
		},
	},
	{
		name: "1 MB tmpfs (row 15)",
		privileged: true,
		needs: () => needsAll("root", "mount"),
		run: () =>
			onTmpfs(async (mounted) => {
				const state = join(mounted, "state");
				const ballast = join(mounted, "ballast");
				await writeFile(ballast, Buffer.alloc(200 * 1024));
				const writer = startWriter(state, { bytes: 900, batch: 20, allocateBytes: 64 * 1024, hold: true });
				await writer.line("holding");
				assert.equal(writer.errors[0]?.code, "WAL_FULL");
				const { length } = writer.acked;
				assert.equal(
					(await writer.tell("read"))[0],
					`read ${writer.acked.at(-1)?.seq}`,
					"what is acknowledged is readable",
				);
				await writer.tell("append 1");
				assert.equal(writer.errors.at(-1)?.code, "WAL_FULL");
				await rm(ballast);
				await resumes(writer);
				await writer.tell("close");
				await writer.kill();
				await checkLog(small(state), writer.acked);
				return `WAL_FULL after ${length} records, resumed with ${writer.acked.length - length} more, acked lost 0`;
			}),
	},
	{
		name: "1 MB tmpfs, full, killed and opened (row 15)",
		privileged: true,
		needs: () => needsAll("root", "mount"),
		run: () =>
			onTmpfs(async (mounted) => {
				const state = join(mounted, "state");
				const writer = startWriter(state, { bytes: 900, batch: 20, allocateBytes: 64 * 1024, hold: true });
				await writer.line("holding");
				await writeFile(join(mounted, "ballast"), Buffer.alloc(1 << 20)).catch(() => {});
				await writer.kill();
				await checkReadOnly(state, writer.acked);
				const code = await codeOf(async () => (await openLog(small(state))).close());
				await rm(join(mounted, "ballast"));
				await checkLog(small(state), writer.acked);
				return `read-only works; opened for writing while full: ${code}; with space: ok, acked lost 0`;
			}),
	},
	{
		name: "read-only directory, another's files (row 22)",
		privileged: true,
		needs: () => needsAll("root", "setpriv") ?? nobodyMayRun(),
		async run() {
			return withDirectory(async (root) => {
				await chmod(root, 0o755);
				const state = join(root, "state");
				const refused = startWriter(state, { count: 1 }, NOBODY);
				await refused.ended;
				isRefused(refused.errors[0], "EACCES", root);
				const mine = startWriter(state, { count: 4 });
				await mine.ended;
				await chmod(state, 0o755);
				const before = await contents(state);
				const others = startWriter(state, { count: 1 }, NOBODY);
				await others.ended;
				const [{ code, message } = { code: "none", message: "" }] = others.errors;
				assert.equal(code, "WAL_UNSAFE");
				assert.ok(message.includes(state), `the message does not name ${state}: ${message}`);
				assert.deepEqual(await contents(state), before);
				await checkLog(state, mine.acked);
				return "below another's: WAL_IO (EACCES); another's: WAL_UNSAFE; with the path, nothing changed";
			});
		},
	},
	{
		name: "immutable file, read-only mount (row 22)",
		privileged: true,
		needs: () => needsAll("root", "chattr", "mount"),
		async run() {
			return withDirectory(async (root) => {
				const state = join(root, "state");
				const mine = startWriter(state, { count: 4 });
				await mine.ended;
				const path = join(state, "wal.jsonl");
				if (spawnSync("chattr", ["+i", path]).status !== 0) return "chattr does not work here";
				try {
					isRefused(await refusalOf(state), "EPERM", state);
					await checkReadOnly(state, mine.acked);
				} finally {
					spawnSync("chattr", ["-i", path]);
				}
				spawnSync("mount", ["--bind", state, state]);
				spawnSync("mount", ["-o", "remount,bind,ro", state]);
				try {
					isRefused(await refusalOf(state), "EROFS", state);
					await checkReadOnly(state, mine.acked);
				} finally {
					spawnSync("umount", [state]);
				}
				await checkLog(state, mine.acked);
				return "WAL_IO (EPERM, EROFS) with the path, reading works";
			});
		},
	},
];

export const fault: Fault = {
	name: "errors",
	title: "the disk is full, fails, writes too little, or may not be touched",
	promise: "an error that says so, and nothing acknowledged is lost",
	rows: [
		{
			row: 6,
			title: "short writes",
			how: "a disk in memory that writes at most n bytes",
			promise: "one whole record",
			seen: "300 of 300 lengths",
		},
		{
			row: 15,
			title: "disk full",
			how: "a tmpfs of 1 MB; disks of every size in memory, also where a segment is sealed",
			promise: "`WAL_FULL`, readable, goes on with space",
			seen: "tmpfs: full after 800 records, 20 more with space; memory: 758 sizes twice; acknowledged lost 0",
		},
		{
			row: 17,
			title: "EIO at the k-th `fdatasync`",
			how: "strace, limited to `wal.jsonl`",
			promise: "poisoned, no acknowledgement after it, no second sync",
			seen: "12 of 12; 0; 0",
		},
		{
			row: 18,
			title: "a sync that fails, then succeeds without the bytes",
			how: "in memory: a disk that forgets its dirty pages",
			promise: "what is shown after the next open is on the disk",
			seen: "12 of 12, lost 0",
		},
		{
			row: 19,
			title: "EIO on each call of an open",
			how: "strace; in memory at every operation",
			promise: "an error with the system's code, nothing lost, the next open works",
			seen: "strace: 49 points of an open and its close, 65 with a seal, each `WAL_IO`; memory: 35 operations; nothing lost, each next open worked",
		},
		{
			row: 20,
			title: "file-size limit",
			how: "`prlimit --fsize`",
			promise: "as row 15",
			seen: "`WAL_FULL` (EFBIG) after 140 records, 20 more with space, lost 0",
		},
		{
			row: 21,
			title: "no descriptors left, live and at the start",
			how: "`prlimit --nofile`, strace",
			promise: "appends go on; the start is refused",
			seen: "appends go on; the start: `WAL_IO` (EMFILE), a read meanwhile likewise",
		},
		{
			row: 22,
			title: "read-only directory, immutable file, read-only mount, another's files",
			how: "`setpriv` to nobody, `chattr +i`, bind mount",
			promise: "refused with path and code; reading works; nothing changed",
			seen: "EACCES, EPERM, EROFS, each as `WAL_IO` with the path; another's directory as `WAL_UNSAFE`",
		},
	],
	needs: () => undefined,
	run: (settings) => runCases(cases, settings),
};

/** Writes at most so many bytes at once. */
class ShortDisk extends MemoryDisk {
	readonly #most: number;

	constructor(most: number) {
		super();
		this.#most = most;
	}

	protected override file(...args: Parameters<MemoryDisk["file"]>): DiskFile {
		const file = super.file(...args);
		return { ...file, write: (bytes, position) => file.write(bytes.subarray(0, this.#most), position) };
	}
}

/** So many bytes fit on it, and no more: what does not fit is not written, without an error, as the system does it. */
class SmallDisk extends MemoryDisk {
	space: number;

	constructor(space: number) {
		super();
		this.space = space;
	}

	protected override file(...args: Parameters<MemoryDisk["file"]>): DiskFile {
		const [inode] = args;
		const file = super.file(...args);
		return {
			...file,
			write: (bytes, position) => {
				const used = [...this.files.values()].reduce((sum, each) => sum + each.bytes.length, 0);
				const grows = Math.max(0, position + bytes.length - inode.bytes.length);
				const fits = bytes.length - Math.max(0, grows - Math.max(0, this.space - used));
				if (fits <= 0) throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
				return file.write(bytes.subarray(0, fits), position);
			},
		};
	}
}

/** Its n-th operation fails. */
class FailingDisk extends MemoryDisk {
	#left = -1;
	reached = false;

	failAt(n: number): void {
		this.#left = n;
		this.reached = false;
	}

	#step(): void {
		if (this.#left-- !== 0) return;
		this.reached = true;
		throw Object.assign(new Error("EIO: i/o error"), { code: "EIO" });
	}

	override open(...args: Parameters<MemoryDisk["open"]>): DiskFile {
		this.#step();
		return super.open(...args);
	}

	override list(directory: string): readonly string[] {
		this.#step();
		return super.list(directory);
	}

	override rename(from: string, to: string): void {
		this.#step();
		super.rename(from, to);
	}

	override syncDirectory(path: string): void {
		this.#step();
		super.syncDirectory(path);
	}

	protected override file(...args: Parameters<MemoryDisk["file"]>): DiskFile {
		const file = super.file(...args);
		return {
			...file,
			read: (into, position) => {
				this.#step();
				return file.read(into, position);
			},
			write: (bytes, position) => {
				this.#step();
				return file.write(bytes, position);
			},
			truncate: (size) => {
				this.#step();
				file.truncate(size);
			},
			sync: () => {
				this.#step();
				file.sync();
			},
		};
	}
}

/**
 * What Linux does when a write-back fails: the sync gives an error, the pages are marked clean, and the next sync succeeds
 * without them. They can be read until the power goes.
 */
class ForgetfulDisk extends MemoryDisk {
	/** What is on the disk itself, by inode. */
	readonly #stored = new Map<number, Uint8Array>();
	/** What a sync would write. */
	readonly #dirty = new Map<number, [start: number, end: number][]>();
	#left = -1;

	failAt(sync: number): void {
		this.#left = sync;
	}

	/** The disk after a power cut. */
	cut(): MemoryDisk {
		const files = [...this.files].map(([path, { id }]) => [path, this.#stored.get(id) ?? new Uint8Array()] as const);
		return new MemoryDisk(files, this.directories);
	}

	protected override file(...args: Parameters<MemoryDisk["file"]>): DiskFile {
		const [inode] = args;
		const file = super.file(...args);
		return {
			...file,
			write: (bytes, position) => {
				const dirty = this.#dirty.get(inode.id) ?? [];
				this.#dirty.set(inode.id, [...dirty, [position, position + bytes.length]]);
				return file.write(bytes, position);
			},
			sync: () => {
				const dirty = this.#dirty.get(inode.id) ?? [];
				this.#dirty.delete(inode.id);
				if (this.#left-- === 0) throw Object.assign(new Error("EIO: i/o error, fdatasync"), { code: "EIO" });
				const next = new Uint8Array(inode.bytes.length);
				next.set((this.#stored.get(inode.id) ?? new Uint8Array()).subarray(0, next.length));
				for (const [start, end] of dirty) next.set(inode.bytes.subarray(start, end), start);
				this.#stored.set(inode.id, next);
			},
		};
	}
}

const plain = (disk: MemoryDisk): [string, Uint8Array][] => [...disk.files].map(([path, { bytes }]) => [path, bytes]);

async function closedLog(): Promise<[string, Uint8Array][]> {
	const disk = new MemoryDisk();
	const wal = await openLog(engineOn(disk));
	for (let n = 1; n <= 3; n++) await wal.append(numbered({ n, text: "" }), {}).durable;
	await wal.close();
	return plain(disk);
}

/** Fills a disk of that size, frees some space and goes on. Was it ever full? */
async function fillsInMemory(space: number, options: { readonly segmentBytes: number }): Promise<boolean> {
	const disk = new SmallDisk(space);
	const engine = () => fileEngine(DIRECTORY, { disk, allocateBytes: 512, ...options });
	const acked: Acked[] = [];
	let wal: Awaited<ReturnType<typeof openLog>>;
	try {
		wal = await openLog(engine());
	} catch (error) {
		// No space for even the first records: an error that says so, and a log that opens later.
		assert.ok(["WAL_FULL", "WAL_IO"].includes((error as { code: string }).code), `opening with ${space}: ${error}`);
		disk.space += 1e6;
		await checkLog(engine(), []);
		return true;
	}
	let waiting: { seq: number; crc: string; durable: Promise<void> } | undefined;
	for (let n = 1; n <= 40 && !waiting; n++) {
		const { record, durable } = wal.append(numbered({ n, text: "x".repeat(n * 3) }), {});
		const full = await Promise.race([durable.then(() => false), settled(wal)]);
		if (!full) acked.push(record);
		else waiting = { ...record, durable };
	}
	if (waiting) {
		const code = await codeOf(async () => wal.append(numbered({ n: 0, text: "" }), {}));
		assert.equal(code, "WAL_FULL", `full with ${space}`);
		let last = 0;
		for await (const { seq } of wal.read({ through: wal.durableTip })) last = seq;
		assert.equal(last, acked.at(-1)?.seq ?? wal.first, "what is acknowledged is readable while the disk is full");
		disk.space += 1e6;
		await codeOf(async () => wal.append(numbered({ n: 0, text: "" }), {}));
		await waiting.durable;
		acked.push(waiting);
	}
	await wal.close();
	const { records } = await checkLog(engine(), acked);
	assert.equal(new Set(records.map(({ crc }) => crc)).size, records.length, "a record is there twice");
	return waiting !== undefined;
}

/** Resolves with true once the log has tried, and is full or broken: its durable tip stands still. */
async function settled(wal: { readonly tip: number; readonly durableTip: number }): Promise<boolean> {
	for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
	return wal.durableTip < wal.tip;
}

/** There is space again: the next append asks for it, what waited goes first, and then all is as before. */
async function resumes(writer: ReturnType<typeof startWriter>): Promise<void> {
	const { length } = writer.acked;
	for (let i = 0; i < 20 && writer.acked.length === length; i++) {
		await writer.tell("append 4");
		await sleep(20);
	}
	assert.ok(writer.acked.length > length, `it does not go on: ${writer.errors.at(-1)?.code}`);
}

const NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];

function nobodyMayRun(): string | undefined {
	const [command = "", ...args] = [...NOBODY, process.execPath, "--check", import.meta.filename];
	return spawnSync(command, args).status === 0 ? undefined : "needs a checkout that every user can read";
}

async function checkReadOnly(state: string, acked: readonly Acked[]): Promise<void> {
	const reader = await openLog(state, true);
	const crcs = new Map<number, string>();
	for await (const { seq, crc } of reader.read()) crcs.set(seq, crc);
	for (const { seq, crc } of acked) assert.equal(crcs.get(seq), crc, `the reader lacks seq ${seq}`);
	await reader.close();
}

async function refusalOf(state: string): Promise<{ code: string; system: string; message: string }> {
	const writer = startWriter(state, { count: 1 });
	await writer.ended;
	const [error] = writer.errors;
	assert.ok(error, "it was opened");
	return error;
}

function isRefused(
	error: { code: string; system: string; message: string } | undefined,
	system: string,
	path: string,
): void {
	assert.equal(error?.code, "WAL_IO");
	assert.equal(error?.system, system);
	assert.ok(error?.message.includes(path), `the message does not name ${path}: ${error?.message}`);
}

async function contents(directory: string): Promise<Map<string, Buffer>> {
	const files = new Map<string, Buffer>();
	for (const name of await readdir(directory)) files.set(name, await readFile(join(directory, name)));
	return files;
}

/** 1 MiB of space allocated ahead, as by default, does not fit there. */
const small = (state: string) => fileEngine(state, { allocateBytes: 64 * 1024 });

async function onTmpfs(use: (mounted: string) => Promise<string>): Promise<string> {
	return withDirectory(async (root) => {
		const small = join(root, "small");
		await mkdir(small);
		return mounted(small, "1m", () => use(small));
	});
}

/** A log of two segments, opened while one call fails: an error that says so, and nothing lost. */
async function failsAtOpen(segmentBytes: number, most: number): Promise<string> {
	return withDirectory(async (root) => {
		const state = join(root, "state");
		const log = join(root, "strace");
		const first = startWriter(state, { count: 12, segmentBytes: 900 });
		await first.ended;
		const before = await contents(state);
		const restore = async (): Promise<void> => {
			await rm(state, { recursive: true });
			await mkdir(state);
			for (const [name, bytes] of before) await writeFile(join(state, name), bytes);
		};
		const paths = [...pathsOf(state), join(state, "wal-00000000000000000001.jsonl")];
		await startWriter(state, { count: 0, segmentBytes }, strace(log, paths)).ended;
		const counts = await countCalls(log);
		let points = 0;
		const codes = new Map<string, number>();
		for (const call of [
			"openat",
			"pread64",
			"read",
			"rename",
			"getdents64",
			"ftruncate",
			"fsync",
			"fdatasync",
			"pwrite64",
		]) {
			const count = counts.get(call) ?? 0;
			for (let n = 1; n <= Math.min(count, most); n++) {
				await restore();
				const inject = ["-e", `inject=${call}:error=EIO:when=${n}`];
				const writer = startWriter(state, { count: 0, segmentBytes }, strace("/dev/null", paths, ...inject));
				const { code } = await writer.ended;
				points++;
				const { code: found = "none" } = writer.errors[0] ?? {};
				codes.set(found, (codes.get(found) ?? 0) + 1);
				if (code !== 0)
					assert.ok(["WAL_IO", "WAL_POISONED"].includes(found), `${call} ${n}: ${found} ${writer.stderr()}`);
				if (found !== "none") assert.match(writer.errors[0]?.message ?? "", /EIO/, `${call} ${n}: it does not say EIO`);
				await checkLog(state, first.acked);
			}
		}
		return `${points} points: ${[...codes].map(([code, count]) => `${code} ${count}`).join(", ")}; nothing lost`;
	});
}
