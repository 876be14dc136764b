/**
 * A disk that remembers what was never made durable, and can say what a power cut may leave: every unsynced write and
 * every unsynced directory operation may have happened or not, a write may be torn at a sector or a page, and what was
 * added to a file may be zeros. After "All File Systems Are Not Created Equal" (ALICE, OSDI '14), section 3.
 */
import { dirname } from "node:path";
import type { DiskFile } from "../disk.ts";
import { type Inode, MemoryDisk, truncateTo, writeTo } from "./memory-disk.ts";

type Operation =
	| { readonly type: "write"; readonly inode: number; readonly position: number; readonly bytes: Uint8Array }
	| { readonly type: "truncate"; readonly inode: number; readonly size: number }
	| { readonly type: "link"; readonly path: string; readonly inode: number }
	| { readonly type: "rename"; readonly from: string; readonly to: string; readonly inode: number }
	| { readonly type: "remove"; readonly path: string }
	| { readonly type: "directory"; readonly path: string };

type Event =
	| Operation
	| { readonly type: "sync"; readonly inode: number }
	| { readonly type: "sync_directory"; readonly path: string };

export interface CrashOptions {
	/** States to look at for each cut; when there are more, this many are drawn. Default: 4096. */
	readonly limit?: number;
	/** A number in [0, 1), for drawing. */
	random(): number;
}

export class CrashDisk extends MemoryDisk {
	readonly #events: Event[] = [];
	readonly #start: readonly (readonly [string, number, Uint8Array])[];
	readonly #startDirectories: readonly string[];

	constructor(files: Iterable<readonly [string, Uint8Array]> = [], directories: Iterable<string> = []) {
		super(files, directories);
		this.#start = [...this.files].map(([path, { id, bytes }]) => [path, id, bytes]);
		this.#startDirectories = [...this.directories];
	}

	/** How many operations there were: a power cut may come after any of them. */
	get cuts(): number {
		return this.#events.length;
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
		this.#events.push({ type: "sync_directory", path });
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
				this.#events.push({ type: "write", inode: inode.id, position, bytes: Uint8Array.from(bytes) });
				return file.write(bytes, position);
			},
			truncate: (size) => {
				this.#events.push({ type: "truncate", inode: inode.id, size });
				file.truncate(size);
			},
			sync: () => {
				this.#events.push({ type: "sync", inode: inode.id });
			},
		};
	}

	/** The disks that a power cut after the first `cut` operations may leave. */
	*states(cut: number, { limit = 4096, random }: CrashOptions): Generator<MemoryDisk> {
		const { certain, pending } = this.#split(cut);
		const choices = pending.map(outcomesOf);
		const total = choices.reduce((product, each) => product * each.length, 1);
		if (total <= limit) {
			for (let n = 0; n < total; n++) yield this.#state(certain, pick(choices, n));
			return;
		}
		for (let n = 0; n < limit; n++)
			yield this.#state(
				certain,
				choices.map((each) => each[Math.floor(random() * each.length)] as Outcome),
			);
	}

	/** What is durable for certain, in order, and what may have happened or not. */
	#split(cut: number): { certain: Operation[]; pending: Operation[] } {
		const done = this.#events.slice(0, cut);
		const isDurable = (operation: Operation, at: number): boolean =>
			done.some((event, i) => {
				if (i <= at) return false;
				if (operation.type === "write" || operation.type === "truncate")
					return event.type === "sync" && event.inode === operation.inode;
				const path = operation.type === "rename" ? operation.to : operation.path;
				return event.type === "sync_directory" && event.path === dirname(path);
			});
		const certain: Operation[] = [];
		const pending: Operation[] = [];
		for (const [at, event] of done.entries()) {
			if (event.type === "sync" || event.type === "sync_directory") continue;
			(isDurable(event, at) ? certain : pending).push(event);
		}
		return { certain, pending };
	}

	/** Operations are played in the order of the events, those that did not happen left out. */
	#state(certain: readonly Operation[], outcomes: readonly Outcome[]): MemoryDisk {
		const happened = new Map<Operation, Outcome>(certain.map((operation) => [operation, { operation, keep: whole }]));
		for (const outcome of outcomes) happened.set(outcome.operation, outcome);
		const inodes = new Map<number, Inode>(this.#start.map(([, id, bytes]) => [id, { id, bytes }]));
		const names = new Map<string, number>(this.#start.map(([path, id]) => [path, id]));
		const directories = new Set(this.#startDirectories);
		const inodeOf = (id: number): Inode => {
			const inode = inodes.get(id) ?? { id, bytes: new Uint8Array() };
			inodes.set(id, inode);
			return inode;
		};
		for (const event of this.#events) {
			if (event.type === "sync" || event.type === "sync_directory") continue;
			const outcome = happened.get(event);
			if (!outcome || outcome.keep === none) continue;
			switch (event.type) {
				case "write":
					outcome.keep(inodeOf(event.inode), event);
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
		const reachable = [...names].filter(([path]) => directories.has(dirname(path)));
		return new MemoryDisk(
			reachable.map(([path, id]) => [path, inodeOf(id).bytes] as const),
			directories,
		);
	}
}

type Write = Operation & { readonly type: "write" };

interface Outcome {
	readonly operation: Operation;
	/** What of it happened. */
	readonly keep: (inode: Inode, write: Write) => void;
}

const none = (): void => {};
const whole = (inode: Inode, { bytes, position }: Write): void => writeTo(inode, bytes, position);

/** The file grew, but what was to stand there did not come: where it held something, that stays. */
const zeros = (inode: Inode, { bytes, position }: Write): void => {
	if (position + bytes.length > inode.bytes.length) truncateTo(inode, position + bytes.length);
};

/** Only what lies before, or only what lies after, the last boundary of `size` inside the write. */
function torn(size: number, side: "before" | "after"): (inode: Inode, write: Write) => void {
	return (inode, { bytes, position }) => {
		const boundary = Math.floor((position + bytes.length - 1) / size) * size - position;
		if (boundary <= 0) return;
		if (side === "before") writeTo(inode, bytes.subarray(0, boundary), position);
		else writeTo(inode, bytes.subarray(boundary), position + boundary);
	};
}

function outcomesOf(operation: Operation): readonly Outcome[] {
	const keeps =
		operation.type === "write"
			? [none, whole, zeros, torn(512, "before"), torn(512, "after"), torn(4096, "before"), torn(4096, "after")]
			: [none, whole];
	return keeps.map((keep) => ({ operation, keep }));
}

/** The n-th combination of one outcome each. */
function pick(choices: readonly (readonly Outcome[])[], n: number): Outcome[] {
	let rest = n;
	return choices.map((each) => {
		const outcome = each[rest % each.length] as Outcome;
		rest = Math.floor(rest / each.length);
		return outcome;
	});
}
