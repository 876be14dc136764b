/**
 * Row 18 on a real kernel. The log lies on an image whose disk beneath has lost the room for some of it: a write takes the
 * bytes, the write-back fails, the sync says so once, the next sync succeeds, and the bytes can be read until the cache goes.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { closeSync, fdatasyncSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { fileEngine, openWal } from "@reyn/wal";
import { type Random, seeded } from "../../kit/seeded.ts";
import { type Case, type Fault, runCases, type Settings } from "../fault.ts";
import { type Acked, checkLog, checkRecords, codeOf, readAll } from "../lab/check.ts";
import { type LoopDisk, needsDisk, unmount, withDisk } from "../lab/loop-disk.ts";
import { needsAll } from "../lab/needs.ts";
import { numbered } from "../lab/numbered.ts";
import { startWriter, withDirectory } from "../lab/start.ts";

const BLOCK = 4096;

const cases: readonly Case[] = [
	{ name: "a plain file, to see that it happens here", run: () => withThinDisk(plainFile) },
	{
		name: "opened while the cache has the bytes, then a power cut",
		run: (settings) => rounds(settings, openedFromTheCache),
	},
	{ name: "a power cut, then opened", run: (settings) => rounds(settings, openedFromTheDisk) },
	{ name: "no room for the space allocated ahead", run: (settings) => rounds(settings, noNewSpace) },
];

export const fault: Fault = {
	name: "writeback",
	title: "a real sync that fails and then succeeds without the bytes",
	promise: "poisoned, and rewritten by the next open",
	rows: [
		{
			row: 18,
			title: "a sync that fails, then succeeds without the bytes, by the kernel itself",
			how: "ext4 on an image on a tmpfs; the blocks after the end of the log are taken away from beneath it, and the room for them. `fdatasync` says ENOSPC, the next one success, and of a plain file nothing of what was written is on the disk",
			promise: "poisoned; the next open writes it again; NULs are never replayed",
			seen: "opened from the cache, then a power cut: 12 of 12 rounds, 972 records shown, lost 0. A power cut first: 12 of 12, acknowledged lost 0, 3,096,576 NUL bytes met, none replayed. No room for the space ahead: 12 of 12, 2,976 acknowledged, lost 0",
		},
	],
	privileged: true,
	needs: () => needsDisk("ext4") ?? needsAll("filefrag", "fallocate", "fstrim", "dd"),
	run: (settings) => runCases(cases, settings),
};

type Try = (thin: ThinDisk, random: Random) => Promise<Readonly<Record<string, number>>>;

/** So many times on a new disk each; what was counted is added up. */
async function rounds({ rounds, short, seed }: Settings, run: Try): Promise<string> {
	const total = rounds ?? (short ? 2 : 12);
	const random = seeded(seed);
	const sums = new Map<string, number>();
	for (let i = 0; i < total; i++) {
		const counts = await withThinDisk((thin) => run(thin, random));
		for (const [what, count] of Object.entries(counts)) sums.set(what, (sums.get(what) ?? 0) + count);
	}
	return `${total} of ${total} rounds, ${[...sums].map(([what, sum]) => `${what} ${sum}`).join(", ")}`;
}

/** Without this the rest would show nothing. */
async function plainFile(thin: ThinDisk): Promise<string> {
	const path = thin.disk.path("plain");
	const file = openSync(path, "w");
	const lines = (text: string): Buffer => Buffer.alloc(64 * 1024, `${text.repeat(63)}\n`);
	writeSync(file, lines("a"), 0, undefined, 0);
	fdatasyncSync(file);
	thin.thinOut(path, 0);
	writeSync(file, lines("b"), 0, undefined, 0);
	const first = syncOf(file);
	const second = syncOf(file);
	closeSync(file);
	const cached = linesOf(path);
	thin.makeRoom();
	thin.disk.cut();
	thin.disk.again();
	const stored = linesOf(path);
	assert.notEqual(first, "success", "no sync failed");
	assert.equal(second, "success", "the second sync failed too: this kernel does not forget");
	assert.ok(stored < cached, "nothing was lost");
	return `the sync: ${first}, the next: ${second}; ${cached} lines in the cache, ${stored} on the disk, the rest NUL`;
}

/** What this open shows is on the disk: the pages in the cache say that they are clean, so a sync alone would skip them. */
async function openedFromTheCache(thin: ThinDisk, random: Random) {
	const { state } = thin.disk;
	const acked = await poisoned(thin, random);
	const { records } = await readAll(state);
	checkRecords(records, acked);
	thin.disk.cut();
	thin.disk.again();
	await checkLog(state, records);
	return { acknowledged: acked.length, "more shown": records.length - 1 - acked.length, lost: 0 };
}

async function openedFromTheDisk(thin: ThinDisk, random: Random) {
	const { state } = thin.disk;
	const acked = await poisoned(thin, random);
	thin.disk.cut();
	thin.disk.again();
	const path = join(state, "wal.jsonl");
	const nul = readFileSync(path).filter((byte) => byte === 0).length;
	const { records } = await checkLog(state, acked);
	assert.equal(records.length, acked.length + 1, "what the disk never had was replayed");
	assert.ok(!readFileSync(path).includes(0), "NULs are left in the log");
	return { acknowledged: acked.length, lost: 0, "NUL bytes met": nul, replayed: 0 };
}

/** Every free block is one that the disk beneath has no room for. */
async function noNewSpace(thin: ThinDisk) {
	const { state } = thin.disk;
	const writer = startWriter(state, { count: 8, allocateBytes: 16 * 1024, hold: true });
	await writer.line("holding");
	thin.thinOutAll();
	// Some space is kept for this file already.
	for (let tries = 0; tries < 200 && writer.errors.length === 0; tries++) await writer.tell("append 80");
	assert.equal(writer.errors[0]?.code, "WAL_POISONED", writer.errors[0]?.message);
	const { length } = writer.acked;
	await writer.tell("append 4");
	assert.equal(writer.errors.at(-1)?.code, "WAL_POISONED");
	assert.equal(writer.acked.length, length, "acknowledged after a failed sync");
	await writer.kill();
	thin.makeRoom();
	const { records } = await readAll(state);
	thin.disk.cut();
	thin.disk.again();
	await checkLog(state, records);
	checkRecords(records, writer.acked);
	return { acknowledged: writer.acked.length, lost: 0 };
}

/**
 * A log that was poisoned in the middle of the space that it had, closed, and room again. Gives what was acknowledged, the
 * log's own records too. It ends where a block does: the loop driver takes a write that was cut short, between a block that
 * is there and one that is not, for a whole one, and a disk that lies is another fault.
 */
async function poisoned(thin: ThinDisk, random: Random): Promise<Acked[]> {
	const path = join(thin.disk.state, "wal.jsonl");
	const end = (): number => readFileSync(path).lastIndexOf("}\n") + 2;
	const wal = await openWal(fileEngine(thin.disk.state, { allocateBytes: 256 * 1024 }), { records: [numbered] });
	const append = (length: number) => wal.append(numbered({ n: 100, text: "x".repeat(length) }), {});
	// From seq 10 on lines of the same text are of the same length.
	while (wal.tip < 12 + random() * 30) await append(0).durable;
	const before = end();
	await append(0).durable;
	const lineBytes = end() - before;
	await append(BLOCK - ((end() + lineBytes) % BLOCK)).durable;
	assert.equal(end() % BLOCK, 0);
	const acked: Acked[] = [];
	for await (const { seq, crc } of wal.read()) acked.push({ seq, crc });

	thin.thinOut(path, end());
	const first = append(40).durable;
	const rest = Array.from({ length: 80 }, () => append(random.below(400)).durable);
	for (const { status } of await Promise.allSettled([first, ...rest]))
		assert.equal(status, "rejected", "acknowledged after a failed sync");
	assert.equal(await codeOf(() => first), "WAL_POISONED");
	assert.equal(await codeOf(async () => append(0)), "WAL_POISONED");
	let last = 0;
	for await (const { seq } of wal.read({ through: wal.durableTip })) last = seq;
	assert.equal(last, acked.at(-1)?.seq, "what is acknowledged cannot be read");
	await codeOf(() => wal.close());
	thin.makeRoom();
	return acked;
}

/** An ext4 image on a tmpfs that has just room for it, and for parts of it no more. */
class ThinDisk {
	readonly disk: LoopDisk;
	readonly #beneath: string;

	constructor(disk: LoopDisk, beneath: string) {
		this.disk = disk;
		this.#beneath = beneath;
	}

	get #ballast(): string {
		return join(this.#beneath, "ballast");
	}

	get #image(): string {
		return join(this.#beneath, "image");
	}

	/** Every block of it is there beneath, so that only what is taken away later is missing. */
	async fresh(): Promise<void> {
		await this.disk.fresh();
		this.disk.unmount();
		execFileSync("dd", [`if=${this.#image}`, `of=${this.#image}`, "bs=1M", "conv=notrunc", "status=none"]);
		this.disk.again();
	}

	/** Takes the blocks of a file from this offset on away from beneath it, and the room for them. */
	thinOut(path: string, from: number): void {
		const first = Math.ceil(from / BLOCK);
		const extents = execFileSync("filefrag", ["-v", `-b${BLOCK}`, path], { encoding: "latin1" });
		for (const [, start, end, physical] of extents.matchAll(/^ *\d+: +(\d+)\.\. +(\d+): +(\d+)\.\./gm)) {
			const skipped = Math.max(0, first - Number(start));
			const blocks = Number(end) - Number(start) + 1 - skipped;
			if (blocks <= 0) continue;
			const [offset, length] = [(Number(physical) + skipped) * BLOCK, blocks * BLOCK];
			execFileSync("fallocate", ["-p", "-o", String(offset), "-l", String(length), this.#image]);
		}
		this.#fill();
	}

	/** The same for every block that is free. */
	thinOutAll(): void {
		execFileSync("fstrim", [this.disk.path("")]);
		this.#fill();
	}

	makeRoom(): void {
		rmSync(this.#ballast);
	}

	#fill(): void {
		const file = openSync(this.#ballast, "w");
		const block = Buffer.alloc(BLOCK);
		try {
			for (;;) writeSync(file, block);
		} catch (error) {
			assert.equal((error as NodeJS.ErrnoException).code, "ENOSPC");
		} finally {
			closeSync(file);
		}
	}
}

async function withThinDisk<T>(use: (thin: ThinDisk) => Promise<T>): Promise<T> {
	return withDirectory(async (root) => {
		const beneath = join(root, "beneath");
		await mkdir(beneath);
		execFileSync("mount", ["-t", "tmpfs", "-o", "size=72m", "tmpfs", beneath]);
		try {
			const format = ["-b", String(BLOCK), "-E", "nodiscard,lazy_itable_init=0"];
			return await withDisk(
				"ext4",
				async (disk) => {
					const thin = new ThinDisk(disk, beneath);
					await thin.fresh();
					return use(thin);
				},
				beneath,
				format,
			);
		} finally {
			unmount(beneath);
		}
	});
}

function syncOf(file: number): string {
	try {
		fdatasyncSync(file);
		return "success";
	} catch (error) {
		return (error as NodeJS.ErrnoException).code ?? String(error);
	}
}

/** Sound lines; a NUL makes none. */
const linesOf = (path: string): number => readFileSync(path, "latin1").match(/^[ab]{63}$/gm)?.length ?? 0;
