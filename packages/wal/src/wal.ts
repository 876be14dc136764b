/** The log as its users see it: typed records in, typed records out, one seq clock. */
import { hostname } from "node:os";
import { basename } from "node:path";
import { encodeRecord, isSeq, MAX_DEPTH, MAX_LINE_BYTES, type StoredRecord } from "./codec.ts";
import type { LogEngine, OpenLog, TornTail } from "./engine.ts";
import { WalError } from "./errors.ts";
import { fileEngine } from "./file/engine.ts";
import { LogWriter } from "./log-writer.ts";
import { type Clock, type Ids, randomIds, systemClock } from "./ports.ts";
import { Reading } from "./reading.ts";
import { type AnyRecordKind, type Draft, parseData, type Scope, type Seq, type WalRecord, within } from "./record.ts";
import { walEpoch, walRecords, walRecovered } from "./wal-records.ts";

/** What an append gives back at once. */
export interface Appended {
	readonly seq: Seq;
	/** The record as every reader will see it. */
	readonly record: WalRecord;
	/** Resolves when the record is on disk, and with it all before it. No promise is made until this is read. */
	readonly durable: Promise<void>;
}

/** Something that records can be appended to: a log, or a handle that is bound to one line of its history. */
export interface Appender {
	append(draft: Draft, scope: Scope): Appended;
}

/** Which records to read: those in `(after, through]`, in a scope, of some kinds. */
export interface Range {
	readonly after: Seq;
	readonly through: Seq;
	readonly scope?: Scope;
	readonly kinds?: { readonly only: readonly string[] } | { readonly except: readonly string[] };
}

export interface Wal extends Appender, AsyncDisposable {
	/** The log's id: artifacts made from it carry this, so that nothing of another log ever matches. */
	readonly id: string;
	/** The first seq of this log. */
	readonly first: Seq;
	/** The last seq given out; `first - 1` when there is none. */
	readonly tip: Seq;
	/** The last seq that is on disk. */
	readonly durableTip: Seq;
	/** What was cut from the end when the log was opened, if anything was, or before by an opening that came no further. */
	readonly torn: TornTail | undefined;
	/**
	 * Takes the next seq for a record and queues it. The data is serialised now: a later change of it changes nothing.
	 * Throws `WAL_INVALID_RECORD` (unknown kind, data that does not fit) or `WAL_TOO_LARGE` before a seq is taken, and
	 * `WAL_POISONED`, `WAL_CLOSED` or `WAL_READ_ONLY` when nothing can be written any more, `WAL_FULL` while the disk is full
	 * and `WAL_OVERLOADED` while too much waits: see `ready`.
	 */
	append(draft: Draft, scope: Scope): Appended;
	/** The records of a range in seq order. Those that are queued are waited for, unless the disk is full or broken. A kind that is not registered is passed on as it is. */
	read(range?: Partial<Range>): AsyncIterable<WalRecord>;
	/** Resolves when so little waits to be written that it is well to append more: for who appends faster than a disk syncs. */
	ready(): Promise<void>;
	/** Waits until all is durable, then frees the lock. Closing twice does nothing. */
	close(): Promise<void>;
}

export interface OpenWalOptions {
	/** The kinds that may be written; their data is checked on reading too. */
	readonly records: readonly AnyRecordKind[];
	/** Look without the lock: nothing is repaired or written. Default: false. */
	readonly readOnly?: boolean;
	/**
	 * The highest seq that something outside the log proves to have been durable, such as its newest snapshot: a log that
	 * ends before it has lost acknowledged records, and is refused. Default: 0, nothing.
	 */
	proven?(logId: string): Promise<Seq>;
	readonly clock?: Clock;
	readonly ids?: Ids;
}

/**
 * Opens the log in a directory (made when it is missing), or over an engine.
 *
 * @throws WalError `WAL_LOCKED`, `WAL_CORRUPT`, `WAL_NEWER_FORMAT`, `WAL_IO`
 */
export async function openWal(at: string | LogEngine, options: OpenWalOptions): Promise<Wal> {
	const { records, readOnly = false, clock = systemClock, ids = randomIds, proven } = options;
	const engine = typeof at === "string" ? fileEngine(at) : at;
	const log = await engine.open({
		readOnly,
		fresh: { log: ids.hex(16), salt: ids.hex(4), now: clock.now() },
		proven: async (logId) => (await proven?.(logId)) ?? 0,
	});
	const wal = new OpenedWal(log, registry(records), clock, readOnly);
	if (readOnly) return wal;
	try {
		wal.append(walEpoch({ epoch: log.epoch + 1, pid: process.pid, host: hostname() }), {});
		for (const torn of log.torn) wal.append(walRecovered({ ...torn, keptIn: basename(torn.keptIn ?? "") }), {});
		await wal.settled();
	} catch (error) {
		await log.close();
		throw error;
	}
	return wal;
}

class OpenedWal implements Wal {
	readonly id: string;
	readonly first: Seq;
	readonly torn: TornTail | undefined;
	readonly #log: OpenLog;
	readonly #writer: LogWriter;
	readonly #kinds: ReadonlyMap<string, AnyRecordKind>;
	readonly #clock: Clock;
	readonly #readOnly: boolean;
	#tip: Seq;
	#crc: string;
	#closing: Promise<void> | undefined;

	constructor(log: OpenLog, kinds: ReadonlyMap<string, AnyRecordKind>, clock: Clock, readOnly: boolean) {
		this.id = log.id;
		this.first = log.first;
		this.torn = log.torn.at(-1);
		this.#log = log;
		this.#writer = new LogWriter(log, log.tail.seq);
		this.#kinds = kinds;
		this.#clock = clock;
		this.#readOnly = readOnly;
		this.#tip = log.tail.seq;
		this.#crc = log.tail.crc;
	}

	get tip(): Seq {
		return this.#tip;
	}

	get durableTip(): Seq {
		return this.#writer.durableTip;
	}

	append(draft: Draft, scope: Scope): Appended {
		this.#assertWritable();
		const { kind } = draft;
		const { json, data } = this.#serialised(draft);
		const checked = checkedScope(scope);
		const ts = this.#clock.now();
		if (!Number.isFinite(ts))
			throw new WalError("WAL_INVALID_RECORD", `the clock says ${ts}; expected milliseconds since 1970`, { kind });
		// From here on nothing of the caller's runs: the seq that is read is the seq that is taken.
		const seq = this.#tip + 1;
		const parts = {
			seq,
			ts,
			kind,
			scope: checked,
			data: json,
			dur: this.#writer.durableTip,
			prev: this.#crc,
		};
		const { line, crc } = encodeRecord(parts);
		if (line.length > MAX_LINE_BYTES || Buffer.byteLength(line) > MAX_LINE_BYTES) {
			throw new WalError(
				"WAL_TOO_LARGE",
				`"${kind}" would be ${Buffer.byteLength(line)} bytes; a record may have ${MAX_LINE_BYTES}. Store the payload in a file and record its hash`,
				{ kind },
			);
		}
		this.#writer.push(line, crc);
		this.#tip = seq;
		this.#crc = crc;
		return new AppendedRecord(this.#writer, { seq, ts: parts.ts, kind, scope: parts.scope, data, crc });
	}

	read({ after = 0, through = this.#tip, scope = {}, kinds }: Partial<Range> = {}): AsyncIterableIterator<WalRecord> {
		return new Reading(this.#batches(after, through), (record) => {
			if (!wanted(record.kind, kinds) || !within(record.scope, scope)) return undefined;
			const kind = this.#kinds.get(record.kind);
			// Made for this reader a moment ago, so it may be changed in place.
			if (kind) (record as { data: unknown }).data = parseData(kind, record.data, record.seq);
			return record;
		});
	}

	/** What is stored of `(after, through]`. */
	async *#batches(after: Seq, through: Seq): AsyncGenerator<readonly StoredRecord[]> {
		if (this.#closing) throw closed();
		for (const [name, seq] of [
			["after", after],
			["through", through],
		] as const) {
			if (!isSeq(seq))
				throw new WalError("WAL_INVALID_RECORD", `${name} is ${seq}; expected a seq: 0, 1, 2 …`, { [name]: seq });
		}
		const last = await this.#writer.reach(Math.min(through, this.#tip));
		let reached = Math.max(after, this.first - 1);
		if (reached >= last) return;
		for await (const records of this.#log.read(reached)) {
			const over = records.findIndex(({ seq }) => seq > last);
			yield over === -1 ? records : records.slice(0, over);
			reached = records.at(over === -1 ? -1 : over - 1)?.seq ?? reached;
			if (over !== -1 || reached >= last) return;
		}
		// A log that ends before what it had is no shorter log: something has cut it.
		throw new WalError(
			"WAL_CORRUPT",
			`the log ends at seq ${reached}, though ${last} was durable. Look with: reyn wal verify`,
			{ seq: reached + 1, durable: last },
		);
	}

	ready(): Promise<void> {
		return this.#writer.ready();
	}

	settled(): Promise<void> {
		return this.#writer.drain();
	}

	close(): Promise<void> {
		this.#closing ??= this.#close();
		return this.#closing;
	}

	[Symbol.asyncDispose](): Promise<void> {
		return this.close();
	}

	async #close(): Promise<void> {
		try {
			await this.#writer.drain();
		} finally {
			this.#writer.end();
			await this.#log.close();
		}
	}

	#assertWritable(): void {
		if (this.#readOnly)
			throw new WalError("WAL_READ_ONLY", "this log was opened with readOnly; open it for writing to append");
		if (this.#closing) throw closed();
		this.#writer.assertOpen();
	}

	/** The data as JSON, and as every reader will get it back: what could not be read must not be written. */
	#serialised({ kind, data }: Draft): { json: string; data: unknown } {
		const registered = this.#kinds.get(kind);
		if (!registered) {
			throw new WalError(
				"WAL_INVALID_RECORD",
				`no kind "${kind}" is registered; openWal({ records }) was given: ${[...this.#kinds.keys()].join(", ")}`,
				{ kind },
			);
		}
		const value = parseData(registered, data);
		let json: string | undefined;
		try {
			json = JSON.stringify(value);
		} catch (cause) {
			throw new WalError(
				"WAL_INVALID_RECORD",
				`the data of "${kind}" is not JSON: ${(cause as Error).message}`,
				{ kind },
				{ cause },
			);
		}
		if (json === undefined)
			throw new WalError("WAL_INVALID_RECORD", `the data of "${kind}" is ${typeof value}, which JSON does not know`, {
				kind,
			});
		const parsed: unknown = JSON.parse(json);
		if (isDeeper(parsed, MAX_DEPTH))
			throw new WalError(
				"WAL_TOO_LARGE",
				`the data of "${kind}" is nested more than ${MAX_DEPTH} deep; flatten it, or record it as text`,
				{ kind },
			);
		const read = parseData(registered, parsed);
		if (JSON.stringify(read) !== json) {
			throw new WalError(
				"WAL_INVALID_RECORD",
				`the schema of "${kind}" changes its own output when it reads it back; give it one that does not`,
				{ kind },
			);
		}
		return { json, data: read };
	}
}

/** Makes its promise only when asked: most appends need none. */
class AppendedRecord implements Appended {
	readonly record: WalRecord;
	readonly #writer: LogWriter;

	constructor(writer: LogWriter, record: WalRecord) {
		this.#writer = writer;
		this.record = record;
	}

	get seq(): Seq {
		return this.record.seq;
	}

	get durable(): Promise<void> {
		return this.#writer.wait(this.seq);
	}
}

function isDeeper(value: unknown, limit: number): boolean {
	if (typeof value !== "object" || value === null) return false;
	if (limit === 0) return true;
	for (const part of Object.values(value)) if (isDeeper(part, limit - 1)) return true;
	return false;
}

function registry(records: readonly AnyRecordKind[]): ReadonlyMap<string, AnyRecordKind> {
	const kinds = new Map<string, AnyRecordKind>();
	for (const kind of [...walRecords, ...records]) {
		if (kinds.has(kind.kind))
			throw new WalError("WAL_INVALID_RECORD", `two kinds are named "${kind.kind}"; a name may be registered once`, {
				kind: kind.kind,
			});
		kinds.set(kind.kind, kind);
	}
	return kinds;
}

/** A part of a scope stands only under the part above it. */
function checkedScope(scope: Scope): Scope {
	const { agent, session, run } = scope;
	const isPart = (part: unknown): boolean => part === undefined || typeof part === "string";
	const gap = (session !== undefined && agent === undefined) || (run !== undefined && session === undefined);
	if (gap || ![agent, session, run].every(isPart))
		throw new WalError(
			"WAL_INVALID_RECORD",
			`a scope nests agent, session, run, each a string; found ${JSON.stringify(scope)}`,
			{
				scope,
			},
		);
	return {
		...(agent === undefined ? {} : { agent }),
		...(session === undefined ? {} : { session }),
		...(run === undefined ? {} : { run }),
	};
}

function wanted(kind: string, kinds: Range["kinds"]): boolean {
	if (!kinds) return true;
	return "only" in kinds ? kinds.only.includes(kind) : !kinds.except.includes(kind);
}

const closed = (): WalError => new WalError("WAL_CLOSED", "this log is closed; open it again with openWal");
