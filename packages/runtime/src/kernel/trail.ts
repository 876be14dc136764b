/**
 * The audit trail: a line for each durable record that is worth one, for people and their tools. It follows the log, goes on behind its
 * own last line, and is read by nothing else, so nothing waits for it and nothing stops where it cannot be written.
 */
import { codeOf, type Seq, type Timers, type Wal, type WalRecord } from "@reyn/wal";
import { type NewLine, type TrailDirectory, type TrailLimits, TrailWriter } from "../stores/trail-files.ts";
import { dayOf, trailLine } from "../stores/trail-line.ts";
import type { Audit, Audited } from "./audit.ts";
import type { KernelEvent } from "./events.ts";

export interface TrailPorts {
	readonly wal: Wal;
	readonly directory: TrailDirectory;
	readonly limits: TrailLimits;
	readonly audits: readonly Audit[];
	readonly timers: Timers;
	tell(event: KernelEvent): void;
}

/** After an error it is tried again so much later. */
const RETRY_MS = 30_000;
/** After a write it rests for so long: what comes meanwhile is read and written at once, and costs the log next to nothing. */
const REST_MS = 200;
/** So many records behind, an end does not wait: the next start goes on. */
const MOST_BEHIND = 10_000;
/** So many lines are written at once, and no more are held in memory. */
const MOST_LINES = 1000;

export class Trail {
	readonly #ports: TrailPorts;
	readonly #writer: TrailWriter;
	readonly #over = new AbortController();
	/** What is worth a line of the records up to this one is written. Undefined: it is not known yet how far the trail has come. */
	#reached: Seq | undefined;
	/** What was durable when the log was opened. */
	readonly #begun: Seq;
	/** Is nothing written now? */
	#isFailing = false;
	/** Was an error told, since something was written? */
	#isTold = false;
	#waiting: (() => void)[] = [];
	/** Somebody waits for the end: there is no rest any more. */
	readonly #ending = new AbortController();
	readonly #work: Promise<void>;

	/** It begins at once, and never throws. */
	constructor(ports: TrailPorts) {
		this.#ports = ports;
		this.#writer = new TrailWriter(ports.directory, ports.limits);
		this.#begun = ports.wal.durableTip;
		this.#work = this.#keepWriting();
	}

	/** Writes what is durable by now, unless that cannot be or is a long way, and ends. It never throws. */
	async end(): Promise<void> {
		const { durableTip } = this.#ports.wal;
		this.#ending.abort();
		await this.#until(() => this.#reached !== undefined);
		if (durableTip - (this.#reached ?? 0) <= MOST_BEHIND) await this.#until(() => (this.#reached ?? 0) >= durableTip);
		this.#over.abort();
		await this.#work;
	}

	async #keepWriting(): Promise<void> {
		while (!this.#isOver) {
			try {
				await this.#follow();
				break;
			} catch (error) {
				if (this.#isOver) break;
				this.#fail(error);
				await this.#pause(RETRY_MS, this.#over.signal);
			}
		}
		this.#isFailing = true;
		this.#wake();
	}

	/** Goes on behind the last line, until the log is closed. */
	async #follow(): Promise<void> {
		const { wal } = this.#ports;
		const stop = new AbortController();
		const signal = AbortSignal.any([this.#over.signal, stop.signal]);
		let lines: NewLine[] = [];
		const found = await this.#writer.open();
		const write = async (): Promise<void> => {
			if (lines.length > 0) await this.#write(lines);
			lines = [];
		};
		await this.#prune();
		// In another log, or in an older copy that was brought back, it begins anew: rather twice than not at all.
		const most = this.#reached === undefined ? this.#begun : wal.durableTip;
		let after = found?.log === wal.id && found.seq <= most ? found.seq : wal.first - 1;
		let missing = after + 1;
		after = Math.max(after, wal.first - 1);
		this.#reach(after);
		const records = wal.follow({ after, signal })[Symbol.asyncIterator]();
		let next = records.next();
		try {
			for (let tip = after; ; ) {
				const come = await (lines.length === 0 ? next : Promise.race([next, quiet()]));
				if (come === undefined || come.done || lines.length === MOST_LINES) await write();
				if (lines.length === 0) this.#reach(tip);
				if (come === undefined) {
					await this.#pause(REST_MS, this.#ending.signal);
					continue;
				}
				if (come.done) return;
				tip = come.value.seq;
				if (missing < tip) lines.push(this.#missing(missing, come.value));
				missing = Number.POSITIVE_INFINITY;
				lines.push(...this.#linesOf(come.value));
				if (lines.length === 0) this.#reach(tip);
				next = records.next();
			}
		} finally {
			stop.abort();
			next.catch(() => {});
		}
	}

	async #write(lines: readonly NewLine[]): Promise<void> {
		await this.#writer.write(lines);
		this.#isTold = false;
		await this.#prune();
	}

	/** What cannot be taken away takes space, and holds nothing up; it is tried again at the next start. */
	async #prune(): Promise<void> {
		await this.#writer.prune().catch((error: unknown) => this.#tell(error));
	}

	#linesOf(record: WalRecord): readonly NewLine[] {
		const found = this.#audited(record);
		if (!found) return [];
		const { kind, what, ...more } = found;
		const { seq, ts, scope } = record;
		return [{ day: dayOf(ts), text: trailLine({ ts, seq, scope, kind, what, log: this.#ports.wal.id }, more) }];
	}

	/** An audit of a feature's own may throw, and give what is no JSON. */
	#audited(record: WalRecord): Audited | undefined {
		try {
			for (const audit of this.#ports.audits) {
				const found = audit(record);
				if (found) return JSON.parse(JSON.stringify(found));
			}
			return undefined;
		} catch (error) {
			return { kind: "trail", what: "untold", of: record.kind, why: (error as Error).message };
		}
	}

	/** Records went with `gc` before they were written here, since the trail could not be written for that long. */
	#missing(from: Seq, { seq, ts }: WalRecord): NewLine {
		const entry = { ts, seq: seq - 1, scope: {}, kind: "trail", what: "missing", log: this.#ports.wal.id };
		return { day: dayOf(ts), text: trailLine(entry, { from, to: seq - 1 }) };
	}

	#fail(error: unknown): void {
		// Somebody took the files away, or `gc` the records: it begins anew with what is there.
		const isGone = ["ENOENT", "WAL_TRUNCATED"].includes(codeOf(error) ?? "");
		if (!isGone && !this.#isTold) {
			this.#isTold = true;
			this.#tell(error);
		}
		this.#isFailing = true;
		this.#wake();
	}

	#tell(error: unknown): void {
		this.#ports.tell({ type: "trail_failed", reason: (error as Error).message });
	}

	get #isOver(): boolean {
		return this.#over.signal.aborted;
	}

	#reach(seq: Seq): void {
		this.#reached = seq;
		this.#isFailing = false;
		this.#wake();
	}

	/** Resolves once it holds, or nothing is written. */
	async #until(holds: () => boolean): Promise<void> {
		while (!holds() && !this.#isFailing) await new Promise<void>((resolve) => this.#waiting.push(resolve));
	}

	#wake(): void {
		for (const resolve of this.#waiting.splice(0)) resolve();
	}

	async #pause(ms: number, signal: AbortSignal): Promise<void> {
		if (signal.aborted) return;
		const { promise, resolve } = Promise.withResolvers<void>();
		const stop = (): void => resolve();
		const cancel = this.#ports.timers.after(ms, stop, false);
		signal.addEventListener("abort", stop);
		await promise;
		signal.removeEventListener("abort", stop);
		cancel();
	}
}

/** Resolves when nothing that is there already comes any more. */
const quiet = (): Promise<undefined> => new Promise((resolve) => setImmediate(() => resolve(undefined)));
