/** The log as its users see it: typed records in, typed records out, one seq clock. */
import { hostname } from "node:os";
import { basename } from "node:path";
import { answering } from "./engine/answering.ts";
import { CLOSE_MS, isAway, retryMs } from "./engine/away.ts";
import type {
	Acquire,
	Behind,
	Lease,
	LogEngine,
	Opening,
	Place,
	RealmLog,
	Tail,
	TornTail,
	Wants,
} from "./engine/engine.ts";
import { truncated } from "./engine/engine-errors.ts";
import { untilAborted } from "./engine/unless-aborted.ts";
import { codeOf, isReynError, WalError } from "./errors.ts";
import { fileEngine } from "./file/engine.ts";
import { assertDraft, assertNames, assertOptions, assertRange, assertSeq, checkedScope } from "./given.ts";
import { inOrder } from "./in-order.ts";
import { registered, registry } from "./kinds.ts";
import type { LogWriter } from "./log-writer.ts";
import { owner } from "./owner.ts";
import { type Clock, type Ids, randomIds, systemClock, systemTimers, type Timers } from "./ports.ts";
import { Reading } from "./reading.ts";
import { encodeRecord, MAX_LINE_BYTES, type StoredRecord } from "./record/codec.ts";
import { type AnyRecordKind, type Draft, parseData, type Scope, type Seq, type WalRecord } from "./record/record.ts";
import { serialised, tooLarge } from "./record/serialised.ts";
import { walEpoch, walRecovered } from "./record/wal-records.ts";
import { isIn, wanting } from "./wanted.ts";

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
	/** The kinds whose data is wanted, or what says of a kind that it is; other records come without it, for half of the time. Default: all. */
	readonly dataOf?: readonly string[] | ((kind: string) => boolean);
}

/** What to follow. */
export interface Follow extends Partial<Pick<Range, "after" | "scope" | "kinds">> {
	readonly signal?: AbortSignal;
}

export interface Wal extends Appender, AsyncDisposable {
	/** The log's id: artifacts made from it carry this, so that nothing of another log ever matches. */
	readonly id: string;
	/** The first seq that this log still has. */
	readonly first: Seq;
	/** The last seq given out. A reader's is the last one that was durable when it opened, or was refreshed; `follow` goes on from there. */
	readonly tip: Seq;
	/** The last seq that is on disk. A reader's is its tip. */
	readonly durableTip: Seq;
	/** Aborts with a WalError once nothing can be appended any more: `WAL_FENCED`, `WAL_POISONED`, `WAL_CLOSED`. For effects of a writer. */
	readonly signal: AbortSignal;
	/** Until when nobody else can become the writer, by this log's clock; undefined when that is as long as this process has it open. */
	readonly leaseUntil: number | undefined;
	/** Why more may be durable than a reader's tip, as found when it looked last; undefined for a writer, and where nothing is wrong. */
	readonly behind: Behind | undefined;
	/** Where the log lies, and so what `durable` means: on tmpfs nothing survives a power loss. */
	readonly place: Place;
	/** What was cut from the end when the log was opened, if anything was, or before by an opening that came no further. */
	readonly torn: TornTail | undefined;
	/**
	 * Takes the next seq for a record and queues it. The data is serialised now: a later change of it changes nothing.
	 * Throws `WAL_INVALID_RECORD` (unknown kind, data that does not fit) or `WAL_TOO_LARGE` before a seq is taken, and
	 * `WAL_POISONED`, `WAL_CLOSED` or `WAL_READ_ONLY` when nothing can be written any more, `WAL_FULL` while the disk is full
	 * and `WAL_OVERLOADED` while too much waits: see `ready`.
	 *
	 * @param scope whose record it is. Default: `{}`, the whole process's
	 */
	append(draft: Draft, scope?: Scope): Appended;
	/** The records of a range in seq order. Those that are queued are waited for, unless the disk is full or broken. A kind that is not registered is passed on as it is. */
	read(range?: Partial<Range>): AsyncIterable<WalRecord>;
	/**
	 * The records after a seq, as they become durable, until the signal, a `break`, or the end of this log: none is lost,
	 * none comes twice. Default: those that come after now. A reader follows a writer in another process too.
	 */
	follow(options?: Follow): AsyncIterable<WalRecord>;
	/**
	 * Moves a reader's tip to what is durable by now. A writer's log is never behind: for it nothing happens. Calls beside each other
	 * come one after the other.
	 *
	 * @param taken gets the new records in order, some at a time, in the step in which the tip moves past them: it must not be asynchronous
	 * @returns the tip
	 * @throws WalError `WAL_READ_ONLY` for a look `as recovered`, which is of one moment; `WAL_TRUNCATED` if new records are gone already;
	 * `WAL_CORRUPT` if the log is another one, or shorter than it was. What `taken` got until then counts
	 */
	refresh(taken?: (records: readonly WalRecord[]) => void): Promise<Seq>;
	/** Takes records before a seq away, in steps as large as the engine has: who reads them gets `WAL_TRUNCATED`. Nothing checks who still needs them. */
	truncate(options: { readonly before: Seq }): Promise<void>;
	/** Resolves when so little waits to be written that it is well to append more: for who appends faster than a disk syncs. */
	ready(): Promise<void>;
	/**
	 * Waits until all is durable, then frees the lock. Rejects with `WAL_FULL` where there is no space for that, and with
	 * `WAL_UNAVAILABLE` where the engine is away for longer than it says (`answerMs`, else 10 s): what waits is given up, and was
	 * never acknowledged. Closing twice does nothing.
	 */
	close(): Promise<void>;
}

export interface OpenWalOptions {
	/** The kinds that may be written; their data is checked on reading too. */
	readonly records: readonly AnyRecordKind[];
	/**
	 * Look without the lock: nothing is repaired or written. `true` shows what is known to be durable. `as recovered` shows what a
	 * writer would find now: behind a kill, records that were written and never acknowledged, too. For who says what a writer would
	 * do; a power cut may yet take them. Default: false.
	 */
	readonly readOnly?: boolean | "as recovered";
	/**
	 * The highest seq that something outside the log proves to have been durable, such as its newest snapshot: a log that
	 * ends before it has lost acknowledged records, and is refused. Default: 0, nothing.
	 */
	proven?(logId: string): Promise<Seq>;
	/** Which log of an engine that has several. Default: `main`, which for a directory is the directory itself. */
	readonly realm?: string;
	/** Take over from a writer whose lease has not ended; it gets `WAL_FENCED`. Default: false. */
	readonly steal?: boolean;
	/** What is to be written of a record: takes out what must not be, a key say. Readers, this process among them, see what it leaves. */
	redact?(draft: Draft): Draft;
	/**
	 * Told when the log begins to wait, with why: `WAL_FULL` (the disk is), `WAL_UNAVAILABLE` or `WAL_INDETERMINATE` (the engine is away);
	 * and with nothing when it goes on.
	 */
	onWait?(why: WalError | undefined): void;
	readonly clock?: Clock;
	readonly ids?: Ids;
	readonly timers?: Timers;
}

let writerModule: typeof import("./log-writer.ts") | undefined;

/**
 * Opens the log in a directory (made when it is missing), or a realm of an engine.
 *
 * @throws WalError `WAL_LOCKED`, `WAL_CORRUPT`, `WAL_NEWER_FORMAT`, `WAL_IO`
 */
export async function openWal(at: string | LogEngine, options: OpenWalOptions): Promise<Wal> {
	assertOptions(at, options);
	const { records, realm = "main", readOnly = false, steal = false } = options;
	const { clock = systemClock, ids = randomIds, timers = systemTimers, proven, redact, onWait } = options;
	const kinds = registry(records);
	const engine = typeof at === "string" ? fileEngine(at) : at;
	const log = answering(engine.log(realm), engine.caps.answerMs, timers);
	const usual: Place = { durability: engine.caps.durability };
	if (readOnly) {
		const tail = await log.tail();
		if (!tail)
			throw new WalError(
				"WAL_IO",
				`there is no log here yet (${typeof at === "string" ? at : realm}); a writer makes one`,
				{
					realm,
					code: "ENOENT",
				},
			);
		const { seq, found = seq } = tail;
		const shown = { ...tail, seq: readOnly === "as recovered" ? found : seq };
		const isOfOneMoment = readOnly === "as recovered";
		return new OpenedWal({ log, kinds, clock, at: { place: usual, ...shown }, writer: undefined, isOfOneMoment });
	}
	// Who only reads needs none of it.
	writerModule ??= await import("./log-writer.ts");
	const { LogWriter } = writerModule;
	const { leaseMs } = engine.caps;
	const maxLineBytes = Math.min(engine.caps.maxLineBytes ?? MAX_LINE_BYTES, MAX_LINE_BYTES);
	const asked = clock.now();
	const fresh = { log: ids.hex(16), salt: ids.hex(4), now: clock.now() };
	const acquire: Acquire = {
		owner: owner(),
		// Drawn for this call, whether a new log needs it or not.
		nonce: fresh.log,
		steal,
		fresh,
		async proven(logId) {
			const seq = proven ? await proven(logId) : 0;
			assertSeq("proven", seq, Number.MAX_SAFE_INTEGER);
			return seq;
		},
		opening: (opening) => openingLines(opening, clock.now()),
	};
	const lease = await acquired(log, acquire).catch((error) => {
		if (codeOf(error) === "WAL_INDETERMINATE")
			void import("./give-back.ts").then(({ giveBack }) => giveBack(engine.log(realm), acquire, timers));
		throw error;
	});
	const lost = new AbortController();
	const writer = new LogWriter({ log, lease, caps: engine.caps, timers, onWait, onFailed: (why) => lost.abort(why) });
	const { first, tail, torn, place = usual } = lease;
	const opened = { log: lease.log, first, seq: tail.seq, torn, place };
	return new OpenedWal({
		log,
		kinds,
		clock,
		at: opened,
		writer: {
			...{ writer, lease, leaseMs, leaseUntil: leaseMs && asked + leaseMs, lost, maxLineBytes, timers, redact },
			patienceMs: engine.caps.answerMs ?? CLOSE_MS,
		},
	});
}

/** Of an answer that is lost the engine is asked again, under the same name: else this process would lock itself out. */
async function acquired(log: RealmLog, options: Acquire): Promise<Lease> {
	for (let tries = 1; ; tries++) {
		try {
			return await log.acquire(options);
		} catch (error) {
			if (tries === ACQUIRE_TRIES || codeOf(error) !== "WAL_INDETERMINATE") throw error;
		}
	}
}

const ACQUIRE_TRIES = 3;
/** Who writes from here on, and what was cut before. */
function openingLines({ seq, prev, epoch, torn, follows }: Opening, ts: number): readonly string[] {
	const drafts = [
		walEpoch({ epoch, pid: process.pid, host: hostname(), ...(follows && { follows }) }),
		...torn.map((each) => walRecovered({ ...each, keptIn: basename(each.keptIn ?? "") })),
	];
	let last = prev;
	return drafts.map(({ kind, data }, i) => {
		const parts = { seq: seq + i, ts, kind, scope: {}, data: JSON.stringify(data), dur: seq - 1, prev: last };
		const { line, crc } = encodeRecord(parts);
		last = crc;
		return line;
	});
}

/** What a log that is open to be written has more. */
interface Writing {
	readonly writer: LogWriter;
	readonly lease: Lease;
	readonly leaseMs: number | undefined;
	leaseUntil: number | undefined;
	/** Aborted when nothing can be written any more. */
	readonly lost: AbortController;
	readonly maxLineBytes: number;
	/** How long an engine that is away is asked again where somebody waits. */
	readonly patienceMs: number;
	readonly timers: Timers;
	readonly redact: OpenWalOptions["redact"];
}

interface OpenedWalOptions {
	readonly log: RealmLog;
	readonly kinds: ReadonlyMap<string, AnyRecordKind>;
	readonly clock: Clock;
	readonly at: Pick<Tail, "log" | "first" | "seq" | "torn" | "behind"> & { readonly place: Place };
	readonly writer: Writing | undefined;
	/** A look as recovered shows what a power cut may still take: there is no later look that goes on from it. */
	readonly isOfOneMoment?: boolean;
}

class OpenedWal implements Wal {
	readonly id: string;
	readonly place: Place;
	readonly #log: RealmLog;
	readonly #kinds: ReadonlyMap<string, AnyRecordKind>;
	readonly #clock: Clock;
	readonly #writing: Writing | undefined;
	readonly #abort = new AbortController();
	readonly #isOfOneMoment: boolean;
	#torn: TornTail | undefined;
	#behind: Behind | undefined;
	#first: Seq;
	/** Was the answer of a truncation lost? Who reads asks then. */
	#isFirstOld = false;
	#tip: Seq;
	#crc: string;
	#refreshing: Promise<unknown> = Promise.resolve();
	#closing: Promise<void> | undefined;
	#cancelRenewal = (): void => {};

	constructor({ log, kinds, clock, at, writer, isOfOneMoment = false }: OpenedWalOptions) {
		this.id = at.log;
		this.#isOfOneMoment = isOfOneMoment;
		this.#torn = at.torn.at(-1);
		this.#behind = at.behind;
		this.place = at.place;
		this.#log = log;
		this.#kinds = kinds;
		this.#clock = clock;
		this.#writing = writer;
		this.#first = at.first;
		this.#tip = at.seq;
		this.#crc = writer?.lease.tail.crc ?? "";
		this.#renewLater();
	}

	get torn(): TornTail | undefined {
		return this.#torn;
	}

	get behind(): Behind | undefined {
		return this.#behind;
	}

	get first(): Seq {
		return this.#first;
	}

	get tip(): Seq {
		return this.#tip;
	}

	get durableTip(): Seq {
		return this.#writing?.writer.durableTip ?? this.#tip;
	}

	get signal(): AbortSignal {
		return (this.#writing?.lost ?? this.#abort).signal;
	}

	get leaseUntil(): number | undefined {
		return this.#writing?.leaseUntil;
	}

	append(draft: Draft, scope: Scope = {}): Appended {
		const { writer, maxLineBytes, redact } = this.#assertWritable();
		writer.assertOpen();
		assertDraft(draft);
		const { kind } = draft;
		const shown = redact ? redact(draft) : draft;
		if (shown !== draft) assertDraft(shown, "`redact` of openWal gives");
		const { json, data } = serialised(registered(this.#kinds, kind), shown.data, maxLineBytes);
		const checked = checkedScope(scope);
		const ts = this.#clock.now();
		if (!Number.isFinite(ts))
			throw new WalError("WAL_INVALID_RECORD", `the clock says ${ts}; expected milliseconds since 1970`, { kind });
		// From here on nothing of the caller's runs: the seq that is read is the seq that is taken.
		const seq = this.#tip + 1;
		const { line, crc } = encodeRecord({
			seq,
			ts,
			kind,
			scope: checked,
			data: json,
			dur: writer.durableTip,
			prev: this.#crc,
		});
		// A character is three bytes at most.
		if (line.length * 3 > maxLineBytes && Buffer.byteLength(line) > maxLineBytes)
			throw tooLarge(kind, maxLineBytes, Buffer.byteLength(line));
		writer.push(line, crc);
		this.#tip = seq;
		this.#crc = crc;
		return new AppendedRecord(writer, { seq, ts, kind, scope: checked, data, crc });
	}

	read(range: Partial<Range> = {}): AsyncIterableIterator<WalRecord> {
		assertRange("read", range);
		const { after, through = this.#tip, scope, kinds, dataOf } = range;
		const isWanted = wanting(scope, kinds);
		const hasData = typeof dataOf === "object" ? isIn(dataOf) : dataOf;
		const wantsData: Wants = (kind, each) => hasData?.(kind) !== false && isWanted(kind, each);
		return new Reading(this.#batches(after, through, wantsData), this.#taking(isWanted, hasData));
	}

	/** Use {@link unparsed}. */
	static unparsed(wal: Wal): Unparsed | undefined {
		return #kinds in wal ? wal.#unparsed() : undefined;
	}

	#unparsed(): Unparsed {
		return {
			read: ({ after, through, dataOf }) => {
				const wants: Wants = (kind) => dataOf(kind);
				return new Reading(this.#batches(after, through, wants), (record) => record);
			},
			parsed: (record) => {
				const kind = this.#kinds.get(record.kind);
				return kind ? { ...record, data: parseData(kind, record.data, record.seq) } : record;
			},
		};
	}

	follow(options: Follow = {}): AsyncIterableIterator<WalRecord> {
		assertRange("follow", options);
		const { after = this.#tip, scope, kinds, signal } = options;
		return new Reading(this.#subscription(after, signal), this.#taking(wanting(scope, kinds)));
	}

	/** What becomes of a stored record for a reader; undefined when it is not wanted. */
	#taking(isWanted: Wants, hasData?: (kind: string) => boolean) {
		return (record: StoredRecord): WalRecord | undefined => {
			if (!isWanted(record.kind, record.scope)) return undefined;
			const kind = this.#kinds.get(record.kind);
			// Made for this reader a moment ago, so it may be changed in place.
			const changing = record as { data: unknown };
			if (hasData?.(record.kind) === false) changing.data = undefined;
			else if (kind) changing.data = parseData(kind, record.data, record.seq);
			return record;
		};
	}

	/** What is stored of `(after, through]`. */
	async *#batches(from: Seq | undefined, through: Seq, wants: Wants): AsyncGenerator<readonly StoredRecord[]> {
		if (this.#closing) throw closed();
		if (this.#isFirstOld) this.#first = (await this.#log.tail())?.first ?? this.#first;
		const after = from ?? this.#first - 1;
		assertSeq("after", after, this.#tip);
		assertSeq("through", through, this.#tip);
		if (from !== undefined) assertSeq("after", after, through);
		if (after < this.#first - 1) throw truncated(after + 1, this.#first);
		const last = (await this.#writing?.writer.reach(through)) ?? through;
		let reached = after;
		if (reached >= last) return;
		for await (const records of inOrder(this.#log.read(reached, last, wants), reached)) {
			reached = records.at(-1)?.seq ?? reached;
			yield records;
		}
		if (reached < last) throw endsEarly(reached, last);
	}

	async *#subscription(after: Seq, signal: AbortSignal | undefined): AsyncGenerator<readonly StoredRecord[]> {
		if (this.#closing) throw closed();
		assertSeq("after", after, this.#tip);
		if (after < this.#first - 1) throw truncated(after + 1, this.#first);
		const either = signal ? AbortSignal.any([signal, this.#abort.signal]) : this.#abort.signal;
		yield* inOrder(untilAborted(this.#log.subscribe(after, { signal: either }), either), after);
	}

	refresh(taken: (records: readonly WalRecord[]) => void = () => {}): Promise<Seq> {
		const refreshed = this.#refreshing.then(() => this.#refresh(taken));
		this.#refreshing = refreshed.catch(() => {});
		return refreshed;
	}

	async #refresh(taken: (records: readonly WalRecord[]) => void): Promise<Seq> {
		if (this.#closing) throw closed();
		if (this.#writing) return this.#tip;
		if (this.#isOfOneMoment)
			throw new WalError("WAL_READ_ONLY", "a look as recovered is of one moment; to look again, open the log again");
		const tail = await this.#log.tail();
		if (tail?.log !== this.id) throw replaced(this.id, tail?.log);
		// What was durable once is so where nothing says any more how far that is.
		const through = tail.behind ? Math.max(tail.seq, this.#tip) : tail.seq;
		if (through < this.#tip) throw endsEarly(through, this.#tip);
		const take = this.#taking(() => true);
		for await (const stored of inOrder(this.#log.read(this.#tip, through), this.#tip)) {
			if (this.#closing) throw closed();
			const records = stored.flatMap((each) => take(each) ?? []);
			this.#tip = records.at(-1)?.seq ?? this.#tip;
			taken(records);
		}
		if (this.#tip < through) throw endsEarly(this.#tip, through);
		[this.#first, this.#torn, this.#behind] = [tail.first, tail.torn.at(-1), tail.behind];
		return this.#tip;
	}

	async truncate(options: { readonly before: Seq }): Promise<void> {
		const { lease } = this.#assertWritable();
		assertNames("truncate", options, ["before"]);
		const { before } = options;
		assertSeq("before", before, this.durableTip + 1);
		try {
			this.#first = await this.#insisting(() => this.#log.truncateBefore(lease, before));
		} catch (error) {
			if (!isAway(error)) throw error;
			this.#isFirstOld = true;
			const text = `the engine could not be reached (${error.message}): records before seq ${before} may be gone or not. Truncate again`;
			throw new WalError("WAL_UNAVAILABLE", text, { before }, { cause: error });
		}
		this.#isFirstOld = false;
	}

	async ready(): Promise<void> {
		if (this.#closing) throw closed();
		await this.#writing?.writer.ready();
	}

	close(): Promise<void> {
		this.#closing ??= this.#close();
		return this.#closing;
	}

	[Symbol.asyncDispose](): Promise<void> {
		return this.close();
	}

	async #close(): Promise<void> {
		this.#abort.abort(closed());
		if (!this.#writing) return;
		const { writer, lease, lost } = this.#writing;
		try {
			await writer.drain();
		} finally {
			this.#cancelRenewal();
			writer.end();
			lost.abort(closed());
			await this.#release(lease);
		}
	}

	/** A lease that cannot be given back ends by itself, and all is durable: no reason to reject. */
	async #release(lease: Lease): Promise<void> {
		try {
			await this.#insisting(() => this.#log.release(lease));
		} catch (error) {
			if (this.#writing?.leaseMs === undefined && !isAway(error)) throw error;
		}
	}

	/** A call that may be made twice, until there is an answer, or for as long as one has patience. */
	async #insisting<T>(call: () => Promise<T>): Promise<T> {
		const { timers, patienceMs } = this.#writing as Writing;
		let isLate = false;
		const cancel = timers.after(patienceMs, () => {
			isLate = true;
		});
		try {
			for (let tries = 0; ; tries++) {
				try {
					return await call();
				} catch (error) {
					if (isLate || !isAway(error)) throw error;
					await new Promise<void>((resolve) => timers.after(retryMs(tries), resolve));
				}
			}
		} finally {
			cancel();
		}
	}

	#assertWritable(): Writing {
		if (!this.#writing)
			throw new WalError("WAL_READ_ONLY", "this log was opened with readOnly; open it for writing to append");
		if (this.#closing) throw closed();
		return this.#writing;
	}

	/** A lease that lasts for a time is kept for as long as the log is open. An engine that is not there is asked again. */
	#renewLater(ms?: number): void {
		const writing = this.#writing;
		if (writing?.leaseMs === undefined) return;
		const { writer, lease, leaseMs, timers } = writing;
		const renew = async (): Promise<void> => {
			const asked = this.#clock.now();
			let after: number | undefined;
			try {
				await this.#log.renew(lease);
				writing.leaseUntil = asked + leaseMs;
				writer.renewed();
			} catch (error) {
				if (isReynError(error, "WAL_FENCED")) return writer.fence(error as WalError);
				writer.renewed(error ?? "nothing");
				after = leaseMs / 12;
			}
			if (!this.#closing) this.#renewLater(after);
		};
		// An open log alone keeps no process alive.
		this.#cancelRenewal = timers.after(ms ?? leaseMs / 3, renew, false);
	}
}

/** A log's records as they are stored, for who keeps some and has to tell later what this log would have given. */
export interface Unparsed {
	/** All records of a range; the data of those that are not named is left out. */
	read(range: { readonly after: Seq; readonly through: Seq; dataOf(kind: string): boolean }): AsyncIterable<WalRecord>;
	/** The record as the log gives it: parsed by its kind, if that is registered. @throws WalError `WAL_INVALID_RECORD` */
	parsed(record: WalRecord): WalRecord;
}

/** Undefined for a log that is not of `openWal`. */
export const unparsed = (wal: Wal): Unparsed | undefined => OpenedWal.unparsed(wal);

/** Makes its promise only when asked: most appends need none. */
class AppendedRecord implements Appended {
	readonly seq: Seq;
	readonly record: WalRecord;
	readonly #writer: LogWriter;

	constructor(writer: LogWriter, record: WalRecord) {
		this.#writer = writer;
		this.seq = record.seq;
		this.record = record;
	}

	get durable(): Promise<void> {
		return this.#writer.wait(this.seq);
	}
}

/** A log that ends before what it had is no shorter log: something has cut it. */
function endsEarly(reached: Seq, durable: Seq): WalError {
	const text = `the log ends at seq ${reached}, though ${durable} was durable. verifyLog says what is whole`;
	return new WalError("WAL_CORRUPT", text, { seq: reached + 1, durable });
}

function replaced(log: string, found: string | undefined): WalError {
	const text = `the log ${log} is gone, and ${found ? `the log ${found} is in its place` : "there is none in its place"}. Open it again`;
	return new WalError("WAL_CORRUPT", text, { log, found });
}

const closed = (): WalError => new WalError("WAL_CLOSED", "this log is closed; open it again with openWal");
