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
	WalError,
	type WalRecord,
} from "@reyn/wal";
import { ProgramEnded } from "./failure.ts";
import { assertPath, Lane } from "./lane.ts";
import { Order } from "./order.ts";
import type { GatedCall, Verdict } from "./permit.ts";
import { Recorded } from "./recorded.ts";
import { journalRecords, laneClosed } from "./records.ts";
import type { InDoubtPolicy, Step, StepContext, StepEvent, Using } from "./step.ts";

export interface OpenJournalOptions {
	/** What to do with a started step whose outcome is unknown, when the far side does not know it either. Default: `retry`. */
	whenInDoubt?(step: { readonly name: string; readonly lane: string }): InDoubtPolicy;
	/** Decides on each call of a tool or a model before it is made; recalled calls are not asked about. Default: all pass. */
	gate?(call: GatedCall): Promise<Verdict>;
	/** Stops all calls under way. Effects that were cut stay in doubt, and are settled at the next start. */
	readonly signal?: AbortSignal;
	/** Gets an event for each step. */
	observe?(event: StepEvent): void;
	/** As of `openWal`: called with an error when the disk is full or the engine away and appends wait, and with undefined when they go on. */
	onWait?(why: WalError | undefined): void;
	/** Takes secrets out of a text before it is recorded. The run goes on with the redacted text, as every replay will. */
	redact?(text: string): string;
	/**
	 * What to do with a new effect while recorded steps of the same lanes were not asked for, once steps overlap: the effect may be one
	 * of those, in another order. `stop`: it fails with `REPLAY_DIVERGENCE`, and nothing is called. `go on`: it is called, and
	 * `observe` gets an event. Default: `stop`.
	 */
	readonly changed?: "stop" | "go on";
	/** The name of the log, in an engine that holds several. Default: `main`. */
	readonly realm?: string;
	readonly clock?: Clock;
	readonly ids?: Ids;
	readonly timers?: Timers;
}

export type StepOptions<T> = Pick<Step<T>, "usage" | "reconcile" | "empty" | "retry" | "timeoutMs"> & {
	/** Default: `side_effect`. */
	readonly purity?: Step<T>["purity"];
	/** What the call depends on, as JSON: a call with other arguments is another step. Default: none. */
	readonly args?: unknown;
};

export interface Journal extends AsyncDisposable {
	/** The id of the log; idempotency keys are made of it and a seq. */
	readonly id: string;
	/**
	 * Calls a function, or returns its recorded outcome. Steps are recognised by name, arguments and order.
	 *
	 * @throws as `Lane.perform` does
	 */
	step<T>(name: string, call: (context: StepContext) => T | Promise<T>, options?: StepOptions<T>): Promise<T>;
	/**
	 * A separate line of steps, for a job that runs beside others. The same path gives the same line again.
	 *
	 * @throws WalError `WAL_INVALID_RECORD` for a path with half a character
	 */
	lane(path: string): Lane;
	/** Forgets the steps of a lane and of the lanes below it, once its job is over. They would be called again. @throws as `lane` does */
	closeLane(path: string): void;
	/** Resolves when all records so far are on disk. */
	durable(): Promise<void>;
	/** Begins no step any more, waits until those under way are over and all is durable, then frees the lock. Do not await it inside a step. */
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
	/** Resolves when the log has no space. */
	let full = Promise.withResolvers<void>();
	const opening = openWal(engine, {
		records: journalRecords,
		realm,
		...ports,
		...(ids && { ids }),
		onWait(why) {
			if (why?.code === "WAL_FULL") full.resolve();
			else full = Promise.withResolvers();
			options.onWait?.(why);
		},
	});
	// The writer of a directory is a thread that takes a while to start, so the log is read meanwhile.
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
	const { redact, gate, signal = new AbortController().signal } = options;
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
		...(gate && { gate: (call) => gate.call(options, call) }),
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
	const close = async (): Promise<void> => {
		const cause = new WalError("WAL_CLOSED", "this journal is closed; open it again with openJournal");
		order.end(new ProgramEnded(cause.message, { cause }));
		// What waits for space waits until it is cancelled, and a close waits for no space.
		await Promise.race([order.over(), full.promise]);
		await wal.close();
	};
	return {
		id: wal.id,
		step: (name, call, { purity = "side_effect", args = {}, ...more } = {}) =>
			laneAt(MAIN).perform({ kind: "step", name, args, purity, call: async (context) => call(context), ...more }),
		lane: laneAt,
		closeLane(path) {
			assertPath(path);
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

/** Reads the log before its writer is open; undefined when there is none, or on any error, which the writer will report. */
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

/** Reads the records after those that were read ahead. If the open log does not have the last of them, it reads all anew. */
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
