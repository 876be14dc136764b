/** Durable steps over a directory or memory, with nothing else of Reyn: open, call, kill, open again. */
import {
	type Appended,
	type Appender,
	type Clock,
	fileEngine,
	type Ids,
	type LogEngine,
	openWal,
	type Scope,
	systemTimers,
	type Timers,
	type Wal,
	type WalError,
	type WalRecord,
} from "@reyn/wal";
import { Lane } from "./lane.ts";
import { Order } from "./order.ts";
import type { GatedCall, Verdict } from "./permit.ts";
import { Recorded } from "./recorded.ts";
import { journalRecords, laneClosed } from "./records.ts";
import type { InDoubtPolicy, Step, StepContext, StepEvent, Using } from "./step.ts";

export interface OpenJournalOptions {
	/** What to do with a step that was started and whose outcome nobody knows, when the far side does not know either. Default: `retry`. */
	whenInDoubt?(step: { readonly name: string; readonly lane: string }): InDoubtPolicy;
	/** Asked before each call of a tool or a model that is made, and not recalled. Default: all pass. */
	gate?(call: GatedCall): Promise<Verdict>;
	/** Stops what is under way. Effects stay in doubt then, and are settled at the next start. */
	readonly signal?: AbortSignal;
	/** Told of each step. */
	observe?(event: StepEvent): void;
	/** As of `openWal`: told when the disk is full and all waits for space, and when it goes on. */
	onFull?(why: WalError | undefined): void;
	/** Takes out of a text what must not be written, a key say. The run goes on with what it leaves, as every replay will. */
	redact?(text: string): string;
	/**
	 * What becomes of an effect of which nothing is recorded, once steps overlap, while recorded steps of the same lanes were not
	 * asked for: it may be one of them, in another order. `stop`: it fails with `REPLAY_DIVERGENCE`, and nothing is called. `go on`:
	 * it is called, and `observe` is told. Default: `stop`.
	 */
	readonly changed?: "stop" | "go on";
	/** Which log of an engine that has several. Default: `main`. */
	readonly realm?: string;
	readonly clock?: Clock;
	readonly ids?: Ids;
	readonly timers?: Timers;
}

export type StepOptions<T> = Pick<Step<T>, "usage" | "reconcile" | "empty" | "retry" | "timeoutMs"> & {
	/** Default: `side_effect`. */
	readonly purity?: Step<T>["purity"];
	/** What the call depends on, as JSON: other arguments are another step. Default: none. */
	readonly args?: unknown;
};

export interface Journal extends AsyncDisposable {
	/** The id of the log below; with a seq it makes the idempotency keys. */
	readonly id: string;
	/**
	 * Calls a function, unless the journal already knows how that ended. Steps are recognised by name, arguments and order.
	 *
	 * @throws as `Lane.perform` does
	 */
	step<T>(name: string, call: (context: StepContext) => T | Promise<T>, options?: StepOptions<T>): Promise<T>;
	/** A line of steps of its own, for a job or a branch that runs beside others. The same path gives the same line again. */
	lane(path: string): Lane;
	/** The job of a lane is over: its steps, and those of the lanes below, are forgotten, and would be called again. */
	closeLane(path: string): void;
	/** Resolves when all that was recorded is on disk. */
	durable(): Promise<void>;
	/** Waits until all is durable, then frees the lock. */
	close(): Promise<void>;
}

/**
 * Opens the journal in a directory, which is made when it is missing, or in an engine: `memoryEngine()` for one that ends with
 * the process. One process at a time.
 *
 * @throws WalError `WAL_LOCKED`, `WAL_CORRUPT`, `WAL_NEWER_FORMAT`, `WAL_IO`
 */
export async function openJournal(at: string | LogEngine, options: OpenJournalOptions = {}): Promise<Journal> {
	const { realm = "main", clock, ids, timers } = options;
	const ports = { ...(clock && { clock }), ...(timers && { timers }) };
	const engine = typeof at === "string" ? fileEngine(at, timers && { timers }) : at;
	const opening = openWal(engine, {
		records: journalRecords,
		realm,
		...ports,
		...(ids && { ids }),
		onFull: (why) => options.onFull?.(why),
	});
	// A directory's writer is a thread that takes a while to start: what is there is read meanwhile.
	const ahead = typeof at === "string" ? readAhead(at, realm) : undefined;
	const wal = await opening;
	let recorded: Recorded;
	try {
		recorded = await readOn(wal, await ahead);
	} catch (error) {
		await wal.close();
		throw error;
	}
	let last: Appended | undefined;
	const log: Appender = {
		append(draft, scope) {
			last = wal.append(draft, scope);
			recorded.record(last.record);
			return last;
		},
	};
	const { redact, signal = new AbortController().signal } = options;
	const order = new Order({
		program: "",
		recordedIn: (lane) => recorded.stepsIn(lane),
		timers: timers ?? systemTimers,
		changed: options.changed,
		onChanged: ({ lane, kind, name }, unasked) => options.observe?.({ lane, kind, name, type: "changed", unasked }),
	});
	const using: Using = {
		log,
		logId: wal.id,
		recall: (step, program) => recorded.recall(step, program),
		stepsIn: (lane) => recorded.stepsIn(lane),
		firstBelow: (lane) => recorded.firstBelow(lane),
		order,
		whenInDoubt: (step) => (options.whenInDoubt ? options.whenInDoubt(step) : "retry"),
		...(options.gate && { gate: (call) => (options.gate as NonNullable<typeof options.gate>)(call) }),
		signal,
		observe: (event) => options.observe?.(event),
		...(redact && { redact }),
		results: engine.blobs(realm),
		...ports,
	};
	const lanes = new Map<string, Lane>();
	const laneAt = (path: string): Lane => {
		const lane = lanes.get(path) ?? new Lane(path, PROCESS, using);
		lanes.set(path, lane);
		return lane;
	};
	const close = (): Promise<void> => wal.close();
	return {
		id: wal.id,
		step: (name, call, { purity = "side_effect", args = {}, ...more } = {}) =>
			laneAt(MAIN).perform({ kind: "step", name, args, purity, call: async (context) => call(context), ...more }),
		lane: laneAt,
		closeLane(path) {
			const closing = [...lanes.values()].filter((lane) => lane.path === path || lane.path.startsWith(`${path}/`));
			for (const lane of closing) lane.assertQuiet();
			for (const lane of closing) {
				lanes.delete(lane.path);
				order.close(lane.path);
			}
			log.append(laneClosed({ lane: path }), PROCESS);
		},
		durable: async () => last?.durable,
		close,
		[Symbol.asyncDispose]: close,
	};
}

interface Ahead {
	readonly recorded: Recorded;
	readonly last: WalRecord;
}

/** What a reader finds; nothing where it finds no log, or trouble: the writer says what is the matter. */
async function readAhead(directory: string, realm: string): Promise<Ahead | undefined> {
	try {
		const reader = await openWal(directory, { records: journalRecords, realm, readOnly: true });
		const recorded = new Recorded();
		let last: WalRecord | undefined;
		for await (const record of reader.read()) {
			recorded.record(record);
			last = record;
		}
		await reader.close();
		return last && { recorded, last };
	} catch {
		return undefined;
	}
}

/** What was read counts if the log that is open now has its last record; else all of it is read anew. */
async function readOn(wal: Wal, ahead: Ahead | undefined): Promise<Recorded> {
	const { seq = 0, crc } = ahead?.last ?? {};
	const isSame = ahead && seq >= wal.first && seq <= wal.tip && (await recordAt(wal, seq))?.crc === crc;
	const recorded = isSame ? ahead.recorded : new Recorded();
	for await (const record of wal.read(isSame ? { after: seq } : {})) recorded.record(record);
	return recorded;
}

async function recordAt(wal: Wal, seq: number): Promise<WalRecord | undefined> {
	for await (const record of wal.read({ after: seq - 1, through: seq })) return record;
	return undefined;
}

const MAIN = "main";
const PROCESS: Scope = {};
