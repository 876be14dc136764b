/**
 * A disk that remembers what was never made durable, and can say what a power cut may leave. Every unsynced write and every
 * unsynced directory operation may have happened or not. A write may also lack its end, one sector or one page; what it
 * lacks may be seen as zeros or as stale bytes, where the file had no bytes before. After "All File Systems Are Not Created
 * Equal" (ALICE, OSDI '14), section 3, and "Can Applications Recover from fsync Failures?" (ATC '20).
 *
 * It assumes of a real disk:
 * - a sector is written as a whole or not at all, and nothing beside it is harmed;
 * - bytes that are durable are overwritten in place: a cut leaves the old ones or the new ones, never zeros;
 * - names are kept by a journal: after a failed sync of a directory they may be lost, but a later sync that succeeds has them.
 */
import { dirname } from "node:path";
import type { DiskFile } from "../disk/disk.ts";
import { type Inode, MemoryDisk, truncateTo, writeTo } from "./memory-disk.ts";

type Operation =
	| { readonly type: "write"; readonly inode: number; readonly position: number; readonly bytes: Uint8Array }
	| { readonly type: "truncate"; readonly inode: number; readonly size: number }
	| { readonly type: "link"; readonly path: string; readonly inode: number }
	| { readonly type: "rename"; readonly from: string; readonly to: string; readonly inode: number }
	| { readonly type: "remove"; readonly path: string }
	| { readonly type: "directory"; readonly path: string };

/** A file by its inode, a directory by its path. */
interface Sync {
	readonly type: "sync";
	readonly of: number | string;
	readonly failed: boolean;
}

export interface CrashOptions {
	/** States to look at for each cut; when there are more, this many are drawn. Default: 4096. */
	readonly limit?: number;
	/** A number in [0, 1), for drawing. */
	random(): number;
}

export class CrashDisk extends MemoryDisk {
	readonly #events: (Operation | Sync)[] = [];
	readonly #start: readonly (readonly [string, number, Uint8Array])[];
	readonly #startDirectories: readonly string[];
	/** How many syncs until the one that fails. */
	#untilFailure = 0;

	constructor(files: Iterable<readonly [string, Uint8Array]> = [], directories: Iterable<string> = []) {
		super(files, directories);
		this.#start = [...this.files].map(([path, { id, bytes }]) => [path, id, bytes]);
		this.#startDirectories = [...this.directories];
	}

	/** How many operations there were: a power cut may come after any of them. */
	get cuts(): number {
		return this.#events.length;
	}

	/**
	 * The n-th sync from now on, of a file or a directory, fails with EIO; 1 is the next one. What it was to make durable
	 * can still be read, but counts as clean: a later sync succeeds and leaves it out, and only what is written again is
	 * synced again. (A system that drops such bytes from its cache instead shows what a power cut may leave.)
	 */
	failSync(n: number): void {
		this.#untilFailure = n;
	}

	/** Has a sync failed? */
	get failed(): boolean {
		return this.#events.some((event) => event.type === "sync" && event.failed);
	}

	override makeDirectory(path: string): boolean {
		const made = super.makeDirectory(path);
		if (made) this.#events.push({ type: "directory", path });
		return made;
	}

	override rename(from: string, to: string): void {
		super.rename(from, to);
		this.#events.push({ type: "rename", from, to, inode: this.files.get(to)?.id ?? 0 });
	}

	override remove(path: string): void {
		super.remove(path);
		this.#events.push({ type: "remove", path });
	}

	override syncDirectory(path: string): void {
		super.syncDirectory(path);
		this.#sync(path);
	}

	protected override link(path: string, inode: Inode): void {
		super.link(path, inode);
		this.#events.push({ type: "link", path, inode: inode.id });
	}

	protected override file(inode: Inode): DiskFile {
		const file = super.file(inode);
		return {
			...file,
			write: (bytes, position) => {
				this.#events.push({ type: "write", inode: inode.id, position, bytes: new Uint8Array(bytes) });
				return file.write(bytes, position);
			},
			truncate: (size) => {
				this.#events.push({ type: "truncate", inode: inode.id, size });
				file.truncate(size);
			},
			sync: () => this.#sync(inode.id),
		};
	}

	#sync(of: number | string): void {
		const failed = --this.#untilFailure === 0;
		this.#events.push({ type: "sync", of, failed });
		if (failed) throw Object.assign(new Error(`EIO: sync of ${of}`), { code: "EIO" });
	}

	/** The disks that a power cut after the first `cut` operations may leave. */
	*states(cut: number, { limit = 4096, random }: CrashOptions): Generator<MemoryDisk> {
		const { certain, pending } = this.#split(cut);
		const choices = pending.map(({ operation, durable }) => ({ operation, kinds: outcomesOf(operation, durable) }));
		const draw = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
		const state = (outcomes: readonly Outcome[]): MemoryDisk =>
			this.#state(
				new Map([...certain, ...choices.map(({ operation }, i) => [operation, outcomes[i] ?? none] as const)]),
			);
		const all = choices.map(({ kinds }) => kinds.flat());
		const total = all.reduce((product, each) => product * each.length, 1);
		if (total <= limit) for (let n = 0; n < total; n++) yield state(combination(all, n));
		// The kind is drawn first: else the many places where a long write may tear would crowd out the rest.
		else for (let n = 0; n < limit; n++) yield state(choices.map(({ kinds }) => draw(draw(kinds))));
	}

	/** What is durable for certain, and what may have happened or not; with the durable size of its file then. */
	#split(cut: number): { certain: Map<Operation, Outcome>; pending: { operation: Operation; durable: number }[] } {
		const done = this.#events.slice(0, cut);
		const certain = new Map<Operation, Outcome>();
		const failedAfter = new Map<number | string, boolean>();
		for (const event of done.toReversed()) {
			if (event.type === "sync") {
				// A file's bytes are decided by the first sync after them, names by any that succeeds.
				if (typeof event.of === "number" || !event.failed) failedAfter.set(event.of, event.failed);
			} else if (failedAfter.get(keptIn(event)) === false) certain.set(event, whole);
		}
		const pending: { operation: Operation; durable: number }[] = [];
		const sizes = new Map(this.#start.map(([, id, bytes]) => [id, bytes.length]));
		for (const event of done) {
			if (event.type === "sync") continue;
			const size = "inode" in event ? (sizes.get(event.inode) ?? 0) : 0;
			if (!certain.has(event)) pending.push({ operation: event, durable: size });
			else if (event.type === "write") sizes.set(event.inode, Math.max(size, event.position + event.bytes.length));
			else if (event.type === "truncate") sizes.set(event.inode, event.size);
		}
		return { certain, pending };
	}

	/** Operations are played in the order of the events, those that did not happen left out. */
	#state(outcomes: ReadonlyMap<Operation, Outcome>): MemoryDisk {
		const inodes = new Map<number, Inode>(this.#start.map(([, id, bytes]) => [id, { id, bytes }]));
		const names = new Map<string, number>(this.#start.map(([path, id]) => [path, id]));
		const directories = new Set(this.#startDirectories);
		const inodeOf = (id: number): Inode => {
			const inode = inodes.get(id) ?? { id, bytes: new Uint8Array() };
			inodes.set(id, inode);
			return inode;
		};
		for (const event of this.#events) {
			if (event.type === "sync") continue;
			const outcome = outcomes.get(event);
			if (!outcome || outcome === none) continue;
			switch (event.type) {
				case "write":
					outcome(inodeOf(event.inode), event);
					break;
				case "truncate":
					truncateTo(inodeOf(event.inode), event.size);
					break;
				case "link":
					names.set(event.path, event.inode);
					break;
				case "rename":
					// An entry names a file, not another entry: the new one may be there though the old one never was.
					if (names.get(event.from) === event.inode) names.delete(event.from);
					names.set(event.to, event.inode);
					break;
				case "remove":
					names.delete(event.path);
					break;
				case "directory":
					directories.add(event.path);
			}
		}
		// What is in a directory that never came to be is nowhere.
		const exists = (path: string): boolean => path === "/" || (directories.has(path) && exists(dirname(path)));
		const reachable = [...names].filter(([path]) => exists(dirname(path)));
		return new MemoryDisk(
			reachable.map(([path, id]) => [path, inodeOf(id).bytes] as const),
			[...directories].filter(exists),
		);
	}
}

/** What has to be synced for it to be durable. */
function keptIn(operation: Operation): number | string {
	if (operation.type === "write" || operation.type === "truncate") return operation.inode;
	return dirname(operation.type === "rename" ? operation.to : operation.path);
}

type Write = Operation & { readonly type: "write" };

/** What of a write happened; of any other operation, none or the whole. */
type Outcome = (inode: Inode, write: Write) => void;

const none: Outcome = () => {};
const whole: Outcome = (inode, { bytes, position }) => writeTo(inode, bytes, position);

/** What is seen in place of bytes that did not arrive. */
type Filling = (inode: Inode, from: number, to: number) => Uint8Array;

/** Space that was allocated, and never written. */
const zeros: Filling = (_, from, to) => new Uint8Array(to - from);
/** Space that held something else. */
const foreign: Filling = (_, from, to) => new Uint8Array(to - from).fill(0xff);
/** Space that held an older copy of the sectors before it. */
const older: Filling = (inode, from, to) => {
	const back = Math.ceil((to - from) / SECTOR) * SECTOR;
	return Uint8Array.from({ length: to - from }, (_, i) => inode.bytes[from - back + i] ?? 0xff);
};

interface ByteRange {
	readonly from: number;
	readonly to: number;
}

/** What may have come of an operation, by kind. */
function outcomesOf(operation: Operation, durable: number): readonly (readonly Outcome[])[] {
	if (operation.type !== "write") return [[none, whole]];
	const { position, bytes } = operation;
	const end = position + bytes.length;
	const fillings = (lost: ByteRange): Outcome[] =>
		lost.to > durable ? [zeros, foreign, older].map((filling) => without(lost, durable, filling)) : [];
	return [
		[none],
		[whole],
		rangesOf(position, end).flatMap((lost) => [without(lost, durable), ...fillings(lost)]),
		fillings({ from: position, to: end }),
	].filter((kind) => kind.length > 0);
}

/** All of a write but a range of bytes. A filling is seen only where the file had no durable bytes. */
function without(lost: ByteRange, durable: number, filling?: Filling): Outcome {
	return (inode, { bytes, position }) => {
		const from = Math.max(lost.from, durable);
		if (lost.from > position) writeTo(inode, bytes.subarray(0, lost.from - position), position);
		if (filling && from < lost.to) writeTo(inode, filling(inode, from, lost.to), from);
		if (lost.to < position + bytes.length) writeTo(inode, bytes.subarray(lost.to - position), lost.to);
	};
}

const SECTOR = 512;
const PAGE = 4096;

/** What a write may lack: its end from any sector on, any one sector, any one page. */
function rangesOf(position: number, end: number): readonly ByteRange[] {
	const pieces = (size: number): ByteRange[] => {
		const found: ByteRange[] = [];
		for (let from = position; from < end; ) {
			const to = Math.min(end, (Math.floor(from / size) + 1) * size);
			found.push({ from, to });
			from = to;
		}
		return found;
	};
	// The last piece alone is an end too.
	const sectors = pieces(SECTOR);
	return [
		...sectors.slice(1).map(({ from }) => ({ from, to: end })),
		...sectors.slice(0, -1),
		...pieces(PAGE).slice(0, -1),
	];
}

/** The n-th combination of one outcome each. */
function combination(choices: readonly (readonly Outcome[])[], n: number): Outcome[] {
	let rest = n;
	return choices.map((each) => {
		const outcome = each[rest % each.length] as Outcome;
		rest = Math.floor(rest / each.length);
		return outcome;
	});
}
