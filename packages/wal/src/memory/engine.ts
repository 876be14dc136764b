/** An engine whose logs end with their process: for tests, and for what need not survive. */
import { Bell } from "../engine/bell.ts";
import type { Acquire, BlobStore, EngineCaps, Lease, LogEngine, RealmLog, Tail } from "../engine/engine.ts";
import { endsEarly, fenced, seqMismatch, truncated } from "../engine/engine-errors.ts";
import { realmPage } from "../engine/realm-page.ts";
import { subscription } from "../engine/subscription.ts";
import { WalError } from "../errors.ts";
import { assertNames } from "../given.ts";
import type { StoredRecord } from "../record/codec.ts";
import type { Seq } from "../record/record.ts";
import { crcOf, storedRecords } from "../record/stored-records.ts";
import { memoryBlobs } from "./blobs.ts";

const caps: EngineCaps = {
	atomicBatch: true,
	durability: "memory",
	maxBatchRecords: 512,
	maxBatchBytes: 1024 * 1024,
	leaseMs: undefined,
	answerMs: undefined,
};

/** Logs in memory: the same lines in an array. They can be closed and opened again, and end with the process. */
export function memoryEngine(options: Readonly<Record<never, never>> = {}): LogEngine {
	assertNames("memoryEngine", options, []);
	const logs = new Map<string, MemoryLog>();
	const blobs = new Map<string, BlobStore>();
	return {
		caps,
		log: (realm) => made(logs, realm, () => new MemoryLog()),
		blobs: (realm) => made(blobs, realm, memoryBlobs),
		realms: async (after) =>
			realmPage(
				[...logs].flatMap(([realm, log]) => (log.exists ? [realm] : [])),
				after,
			),
		close: async () => {},
	};
}

function made<T>(all: Map<string, T>, name: string, make: () => T): T {
	const found = all.get(name) ?? make();
	all.set(name, found);
	return found;
}

class MemoryLog implements RealmLog {
	/** Those from `#first` on. */
	#lines: string[] = [];
	#first: Seq = 1;
	#id: string | undefined;
	/** What the next line follows. */
	#crc = "";
	#epoch = 0;
	/** The one that is held, and the name of the call that acquired it. */
	#held: { readonly lease: Lease; readonly nonce: string } | undefined;
	/** Rings when there are more lines. */
	readonly #bell = new Bell();

	get exists(): boolean {
		return this.#id !== undefined;
	}

	get #last(): Seq {
		return this.#first + this.#lines.length - 1;
	}

	async acquire({ fresh, nonce, steal, proven, opening }: Acquire): Promise<Lease> {
		const before = this.#lent(nonce, steal);
		if (before) return before;
		const known = this.#id === undefined ? 0 : await proven(this.#id);
		// From here on in one step: another one may have come while that was asked.
		const meanwhile = this.#lent(nonce, steal);
		if (meanwhile) return meanwhile;
		if (known > this.#last) throw endsEarly(this.#last, known);
		const epoch = this.#epoch + 1;
		const prev = this.#id === undefined ? fresh.salt : this.#crc;
		// What it throws leaves the log as it was.
		const lines = [...opening({ seq: this.#last + 1, prev, epoch, torn: [] })];
		this.#id ??= fresh.log;
		this.#crc = prev;
		this.#epoch = epoch;
		this.#store(lines);
		const tail = { seq: this.#last, crc: this.#crc };
		const lease = { log: this.#id, epoch, first: this.#first, tail, torn: [] };
		this.#held = { lease, nonce };
		return lease;
	}

	/** The lease that is held, where it is of this name. */
	#lent(nonce: string, steal = false): Lease | undefined {
		if (this.#held?.nonce === nonce) return this.#held.lease;
		if (!this.#held || steal) return undefined;
		const text = "this memory log already has a writer; close it first, or open it with readOnly";
		throw new WalError("WAL_LOCKED", text);
	}

	async renew(lease: Lease): Promise<void> {
		this.#check(lease);
	}

	async release(lease: Lease): Promise<void> {
		if (lease.epoch === this.#epoch) this.#held = undefined;
	}

	async append(lease: Lease, expect: Seq, lines: readonly string[]): Promise<void> {
		this.#check(lease);
		if (expect !== this.#last) throw seqMismatch(expect, this.#last);
		this.#store(lines);
	}

	async tail(): Promise<Tail | undefined> {
		if (this.#id === undefined) return undefined;
		return { log: this.#id, first: this.#first, seq: this.#last, epoch: this.#epoch, torn: [] };
	}

	async *read(after: Seq, through: Seq): AsyncGenerator<readonly StoredRecord[]> {
		if (after + 1 < this.#first) throw truncated(after + 1, this.#first);
		const lines = this.#lines.slice(after + 1 - this.#first, Math.max(0, through + 1 - this.#first));
		if (lines.length > 0) yield storedRecords(lines, after + 1);
	}

	subscribe(after: Seq, { signal }: { readonly signal: AbortSignal }): AsyncGenerator<readonly StoredRecord[]> {
		return subscription(this, after, signal, () => this.#bell.next(signal));
	}

	async truncateBefore(lease: Lease, seq: Seq): Promise<Seq> {
		this.#check(lease);
		const count = Math.min(Math.max(0, seq - this.#first), this.#lines.length);
		this.#lines = this.#lines.slice(count);
		this.#first += count;
		return this.#first;
	}

	#store(lines: readonly string[]): void {
		// All of them or none: the list itself may break off.
		for (const line of [...lines]) this.#lines.push(line);
		this.#crc = crcOf(lines.at(-1) ?? "") || this.#crc;
		this.#bell.ring();
	}

	#check({ epoch }: Lease): void {
		if (epoch !== this.#epoch || !this.#held) throw fenced(epoch, this.#epoch);
	}
}
