/**
 * Rows 3, 4 and 24: a real power cut. The log lies on an ext4 image; the "going down" ioctl stops it with nothing flushed, as
 * if the plug were pulled, and what was never synced is gone when it is mounted again.
 */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Acked, checkLog, checkRecords, codeOf, openLog, readAll } from "./check.ts";
import { type Fault, needsAll, random, type Settings } from "./fault.ts";
import { kill, sleep, startWriter, withDirectory } from "./start.ts";
import { strace } from "./strace.ts";

const SHUTDOWN = `
#include <fcntl.h>
#include <linux/types.h>
#include <sys/ioctl.h>
/* EXT4_IOC_SHUTDOWN; 2 is NOLOGFLUSH: nothing is flushed, not even the journal. */
int main(int n, char **args) {
	__u32 how = 2;
	int directory = open(args[1], O_RDONLY);
	return directory < 0 || ioctl(directory, _IOR('X', 125, __u32), &how) < 0;
}
`;

export const fault: Fault = {
	name: "powercut",
	rows: [3, 4, 24],
	title: "power cuts on a real ext4; with fdatasync a lie, the loss is found at the open",
	privileged: true,
	needs: () => needsAll("root", "gcc", "mount", "losetup", "mkfs.ext4"),
	async run({ rounds, seed, short }: Settings) {
		const total = rounds ?? (short ? 2 : 25);
		const next = random(seed);
		return withDirectory(async (root) => {
			const disk = await Disk.make(root);
			const [acked, torn] = await underLoad(disk, total, next);
			const shown = await killRecoverCut(disk, total, next);
			const lied = needsAll("strace") ?? (await lyingSync(disk, total, next));
			return {
				rounds: total,
				acked,
				lost: 0,
				"torn tails set aside": torn,
				"shown by a recovery, then cut": `${shown} records, lost 0`,
				"fdatasync a no-op": lied,
			};
		});
	},
};

async function underLoad(disk: Disk, rounds: number, next: () => number): Promise<[number, number]> {
	let acked = 0;
	let torn = 0;
	for (let i = 0; i < rounds; i++) {
		await disk.fresh();
		const writer = startWriter(disk.state, { segmentBytes: 64 * 1024, allocateBytes: 16 * 1024 });
		await writer.line("acked");
		await sleep(20 + next() * 250);
		disk.cut();
		await kill(writer);
		disk.again();
		const { torn: tail } = await checkLog(disk.state, writer.acked);
		if (tail) torn++;
		acked += writer.acked.length;
		disk.unmount();
	}
	return [acked, torn];
}

/** Killed, recovered by another process that shows what it found, and cut before anything more is written. */
async function killRecoverCut(disk: Disk, rounds: number, next: () => number): Promise<number> {
	let shown = 0;
	for (let i = 0; i < rounds; i++) {
		await disk.fresh();
		const writer = startWriter(disk.state, {});
		await writer.line("acked");
		await sleep(20 + next() * 100);
		await kill(writer);
		const wal = await openLog(disk.state);
		const records: Acked[] = [];
		for await (const { seq, crc } of wal.read()) records.push({ seq, crc });
		checkRecords((await collect(wal)).records, writer.acked);
		disk.cut();
		await wal.close().catch(() => {});
		disk.again();
		await checkLog(disk.state, records);
		shown += records.length;
		disk.unmount();
	}
	return shown;
}

/** The negative control: with a sync that does nothing acknowledged records are lost, and this test sees it. */
async function lyingSync(disk: Disk, rounds: number, next: () => number): Promise<string> {
	let lost = 0;
	let lostWithHead = 0;
	let found = 0;
	let foundWithHead = 0;
	const tries = Math.max(2, Math.min(rounds, 10));
	for (let i = 0; i < tries; i++) {
		const headSurvives = i % 2 === 0;
		await disk.fresh();
		// The directory, header and first space are honest; the lie begins under load.
		const honest = startWriter(disk.state, { count: 4 });
		await honest.ended;
		const paths = ["wal.jsonl", "wal.head"].map((name) => join(disk.state, name));
		const writer = startWriter(disk.state, {}, strace("/dev/null", paths, "-e", "inject=fdatasync:retval=0:when=6+"));
		await writer.line("acked");
		await sleep(100 + next() * 150);
		if (headSurvives) spawnSync("sync", ["-d", join(disk.state, "wal.head")]);
		disk.cut();
		await kill(writer);
		disk.again();
		const acked = [...honest.acked, ...writer.acked];
		let missing = 0;
		const code = await codeOf(async () => {
			const { records } = await readAll(disk.state);
			missing = acked.filter(({ seq, crc }) => records[seq - 1]?.crc !== crc).length;
		});
		if (code !== "none" || missing > 0) {
			lost++;
			if (headSurvives) lostWithHead++;
		}
		if (code === "WAL_CORRUPT") {
			found++;
			if (headSurvives) foundWithHead++;
		}
		disk.unmount();
	}
	assert.ok(lost > 0, "a sync that does nothing loses nothing: this test sees no power cut");
	assert.equal(foundWithHead, lostWithHead, "the head survived, and the loss was not found");
	return `${lost} of ${tries} rounds lost acknowledged records; found at the open ${found}; where the head survived ${foundWithHead} of ${lostWithHead}`;
}

async function collect(wal: Awaited<ReturnType<typeof openLog>>) {
	const records = [];
	for await (const record of wal.read()) records.push(record);
	return { records };
}

/** An ext4 file system in a file, mounted through a loop device. */
class Disk {
	readonly #image: string;
	readonly #mounted: string;
	readonly #shutdown: string;

	private constructor(root: string) {
		this.#image = join(root, "image");
		this.#mounted = join(root, "mounted");
		this.#shutdown = join(root, "shutdown");
	}

	static async make(root: string): Promise<Disk> {
		const disk = new Disk(root);
		await writeFile(`${disk.#shutdown}.c`, SHUTDOWN);
		execFileSync("gcc", ["-o", disk.#shutdown, `${disk.#shutdown}.c`]);
		await mkdir(disk.#mounted);
		return disk;
	}

	get state(): string {
		return join(this.#mounted, "state");
	}

	async fresh(): Promise<void> {
		execFileSync("truncate", ["-s", "0", this.#image]);
		execFileSync("truncate", ["-s", "64M", this.#image]);
		execFileSync("mkfs.ext4", ["-q", "-F", this.#image]);
		this.#mount();
	}

	#mount(): void {
		execFileSync("mount", ["-o", "loop", this.#image, this.#mounted]);
	}

	/** Pulls the plug. */
	cut(): void {
		execFileSync(this.#shutdown, [this.#mounted]);
	}

	/** Plugs it in again. */
	again(): void {
		this.unmount();
		this.#mount();
	}

	unmount(): void {
		for (let tries = 0; spawnSync("umount", [this.#mounted]).status !== 0; tries++)
			if (tries === 20) execFileSync("umount", ["-l", this.#mounted]);
			else spawnSync("sleep", ["0.05"]);
	}
}
