/** A journal of typed entries: appends, reads and recovers them, and rewinds one process of it as planned. */
import { join } from "node:path";
import { inspect, isDeepStrictEqual } from "node:util";
import { type AnyProjection, fileSnapshots, memorySnapshots, type SnapshotStore } from "@reyn/snapshot";
import {
	type Live,
	openTimeline,
	reset,
	type Timeline,
	type TimelineOptions,
	timetravelRecords,
} from "@reyn/timetravel";
import { assertActor, isMeta } from "@reyn/timetravel/internal";
import {
	type Clock,
	fileEngine,
	type LogEngine,
	memoryEngine,
	openWal,
	type Seq,
	type Wal,
	type WalError,
	type WalRecord,
} from "@reyn/wal";
import { asStale } from "../apply-rewind.ts";
import { RewindError } from "../errors.ts";
import type { Facet } from "../facets.ts";
import { dropOf, meaningOf, type RewindMode } from "../modes.ts";
import { type Counts, only, total } from "../preview-rewind.ts";
import { rewindNote, rewindRecords } from "../records.ts";
import { Counting } from "./counting.ts";
import { AGENT, type Entry, entryOf, scopeOf, seqOf } from "./entry.ts";
import { type EntriesPlan, noteText, parsePlan, summaryOf } from "./plan.ts";
import { type EntryFold, projectionOf } from "./state.ts";
import { kindOf, type Types, typesOf } from "./types.ts";

export interface OfProcess {
	/** Whose entries: a name of yours. Nothing of another process is read, counted or moved. */
	readonly processId: string;
}

export interface AppendEntry extends OfProcess {
	/** One of `entryTypes`, or of your own. */
	readonly type: string;
	/** JSON. Default: `{}`. */
	readonly data?: Readonly<Record<string, unknown>>;
}

export interface PlanRewind extends OfProcess {
	/** The id of an entry that `read` gives. Exclusive: the state just before it. Before a rewind: what that rewind took back. */
	readonly beforeEntry: string;
	/** Default: `cancel`, a plan alone. */
	readonly mode?: RewindMode;
}

export interface ApplyPlan extends OfProcess {
	/** What `plan` gave, unchanged: also as JSON, from another process. */
	readonly plan: EntriesPlan;
	/** Who asks, in 1 to 256 bytes. */
	readonly actor: string;
}

export interface EntriesOptions<S> {
	/** Types of your own, with their facets. One of `other` is taken back by `both` alone. Default: none. */
	readonly types?: Readonly<Record<string, Facet>>;
	/** What `recover` gives. Default: the entries that count, oldest first. */
	readonly state?: EntryFold<S>;
	/** As of `openWal`: called with an error when the disk is full and appends wait, and with undefined when they go on. */
	onWait?(why: WalError | undefined): void;
	readonly clock?: Clock;
}

/** A journal of the entries of many processes. Nothing in it is ever edited. */
export interface Entries<S = readonly Entry[]> extends AsyncDisposable {
	/**
	 * Appends an entry. It is durable when this resolves.
	 *
	 * @throws RewindError `REWIND_ENTRY_TYPE`, `REWIND_PROCESS`; WalError `WAL_INVALID_RECORD`, `WAL_TOO_LARGE`, `WAL_FULL`. Nothing is written then
	 */
	append(entry: AppendEntry): Promise<Entry>;
	/** The entries of a process that count now, oldest first; and its rewinds, also those that were taken back. */
	read(of: OfProcess): AsyncIterable<Entry>;
	/**
	 * Says what a rewind to just before an entry would do. Writes nothing.
	 *
	 * @throws RewindError `REWIND_ENTRY`, `REWIND_MODE`, `REWIND_PROCESS`
	 */
	plan(rewind: PlanRewind): Promise<EntriesPlan>;
	/**
	 * Does what was planned, or nothing. It is durable when this resolves.
	 *
	 * @returns the entry of the rewind; undefined for `cancel`
	 * @throws RewindError `REWIND_STALE`: since the plan an entry of the process came, or a rewind of any; `REWIND_NOT_PREVIEWED`, `REWIND_MODE`,
	 * `REWIND_PROCESS`; TimetravelError `TIMETRAVEL_ACTOR`, `TIMETRAVEL_BUSY`. Nothing is written then
	 */
	apply(plan: ApplyPlan): Promise<Entry | undefined>;
	/** The state of a process: the fold of the entries that count, from its newest checkpoint on. */
	recover(of: OfProcess): Promise<S>;
	/** Stores the state of a process, so that a recovery folds only what comes after: at the end of a turn, say. Without `state` there is none. */
	checkpoint(of: OfProcess): Promise<void>;
	/** Waits until all is durable, then frees the journal for another process. */
	close(): Promise<void>;
}

/** Opens a journal in memory, which ends with the process. @throws RewindError `REWIND_ENTRY_TYPE` */
export const memoryEntries = <S = readonly Entry[]>(options?: EntriesOptions<S>): Promise<Entries<S>> =>
	openEntries(memoryEngine(), memorySnapshots(), options);

/**
 * Opens a journal in a directory, which is made when it is missing. One process at a time.
 *
 * @throws RewindError `REWIND_ENTRY_TYPE`; WalError `WAL_LOCKED`, `WAL_CORRUPT`, `WAL_NEWER_FORMAT`, `WAL_IO`
 */
export const fileEntries = <S = readonly Entry[]>(
	directory: string,
	options?: EntriesOptions<S>,
): Promise<Entries<S>> => openEntries(fileEngine(directory), fileSnapshots(join(directory, "snapshots")), options);

/** As {@link fileEntries}, over any engine. */
export async function openEntries<S>(
	engine: LogEngine,
	snapshots: SnapshotStore,
	{ types: own = {}, state, onWait, clock, snapshotDue }: EntriesOptions<S> & Pick<TimelineOptions, "snapshotDue"> = {},
): Promise<Entries<S>> {
	const types = typesOf(own);
	const folded = state && projectionOf(state, types);
	const wal = await openWal(engine, {
		records: [...types.kinds.values(), ...timetravelRecords, ...rewindRecords],
		...(onWait && { onWait }),
		...(clock && { clock }),
	});
	try {
		const projections = folded ? [folded] : [];
		// A snapshot only saves reading: without it the checkpoint stands.
		const when = snapshotDue && { snapshotDue };
		const timeline = await openTimeline({ wal, snapshots, projections, snapshotFailed: () => {}, ...when });
		await timeline.settle();
		return new OpenEntries<S>(wal, timeline, types, folded);
	} catch (error) {
		await wal.close();
		throw error;
	}
}

class OpenEntries<S> implements Entries<S> {
	readonly #wal: Wal;
	readonly #timeline: Timeline;
	readonly #types: Types;
	readonly #folded: AnyProjection | undefined;
	readonly #counting: Counting;

	/** Use {@link openEntries}. */
	constructor(wal: Wal, timeline: Timeline, types: Types, folded: AnyProjection | undefined) {
		this.#wal = wal;
		this.#timeline = timeline;
		this.#types = types;
		this.#folded = folded;
		this.#counting = new Counting(wal, timeline, types);
	}

	async append({ processId, type, data = {} }: AppendEntry): Promise<Entry> {
		assertProcess(processId);
		const kind = kindOf(type, this.#types);
		const { record, durable } = this.#timeline.handle().append(kind(data as never), scopeOf(processId));
		await durable;
		return entryOf(record);
	}

	async *read({ processId }: OfProcess): AsyncIterable<Entry> {
		assertProcess(processId);
		const now = this.#timeline.lineage.path(this.#wal.tip, {});
		for await (const record of this.#wal.read({ scope: scopeOf(processId) }))
			if (reset.is(record) || (!isMeta(record.kind) && now.has(record))) yield entryOf(record);
	}

	async plan({ processId, beforeEntry, mode = "cancel" }: PlanRewind): Promise<EntriesPlan> {
		assertProcess(processId);
		meaningOf(mode);
		const { tip } = this.#wal;
		const first = await this.#find(processId, beforeEntry);
		const target = targetOf(beforeEntry);
		const scope = scopeOf(processId);
		const { drops } = meaningOf(mode);
		const { counts: affected, unclassified } = await this.#counting.after(target, scope);
		const { kind } = await this.#timeline.preview(target, { scope, ...this.#drop(mode) });
		const { left, back } = kind === "fork_switch" ? await this.#counting.across(target, scope) : same;
		const plan: Omit<EntriesPlan, "summary"> = {
			...{ journal: this.#wal.id, processId, beforeEntry, mode, at: first.at },
			...{ total: await this.#counting.total(processId), affected },
			...{ dropped: only(sum(affected, left), drops), restored: only(back, drops), unclassified, tip },
		};
		return { ...plan, summary: summaryOf(plan, first) };
	}

	async apply({ processId, plan: given, actor }: ApplyPlan): Promise<Entry | undefined> {
		assertProcess(processId);
		assertActor(actor);
		const plan = parsePlan(given);
		const scope = scopeOf(processId);
		const { beforeEntry, mode, tip, affected } = plan;
		meaningOf(mode);
		if (plan.journal !== this.#wal.id || plan.processId !== processId)
			throw notPlanned(plan, "of another journal, or of another process");
		try {
			await this.#timeline.ifStill(tip, scope, () => {});
			const now = await this.plan({ processId, beforeEntry, mode });
			if (!isDeepStrictEqual(plan, { ...now, tip })) {
				// What came while it was worked out is the better reason.
				await this.#timeline.ifStill(tip, scope, () => {});
				throw notPlanned(plan, "not what `plan` says here");
			}
			if (mode === "cancel") return undefined;
			const target = targetOf(beforeEntry);
			return await (mode === "summarize"
				? this.#note(plan, {
						target,
						actor,
						counts: { ...affected },
						text: noteText(plan, await this.#counting.after(target, scope)),
					})
				: this.#reset(plan, target, actor));
		} catch (error) {
			throw asStale(error);
		}
	}

	async recover(of: OfProcess): Promise<S> {
		assertProcess(of.processId);
		if (this.#folded) return (await this.#live(of)).view.get(this.#folded);
		const entries: Entry[] = [];
		for await (const record of this.#timeline.history(0, scopeOf(of.processId)))
			if (!isMeta(record.kind)) entries.push(entryOf(record));
		return entries as S;
	}

	async checkpoint(of: OfProcess): Promise<void> {
		assertProcess(of.processId);
		const { scope, view } = await this.#live(of);
		await this.#timeline.checkpoint("entries", "", scope, view);
	}

	close(): Promise<void> {
		return this.#wal.close();
	}

	[Symbol.asyncDispose](): Promise<void> {
		return this.close();
	}

	#live({ processId }: OfProcess): Promise<Live> {
		return this.#timeline.live(scopeOf(processId));
	}

	async #reset(plan: EntriesPlan, to: Seq, actor: string): Promise<Entry> {
		const { processId, mode, tip, total: before, affected, dropped, restored } = plan;
		const { seq } = await this.#timeline.checkout(to, {
			scope: scopeOf(processId),
			mode,
			actor,
			expect: tip,
			counts: { ...affected, dropped: dropped.all, restored: restored.all },
			...this.#drop(mode),
		});
		this.#counting.rewound(processId, seq, before - dropped.all + restored.all);
		return entryOf((await this.#timeline.record(seq)) as WalRecord);
	}

	/** The kinds that a mode takes back, for a reset; absent: all. */
	#drop(mode: RewindMode): { readonly drop?: readonly string[] } {
		const drop = dropOf(mode, this.#types.facets);
		return drop ? { drop } : {};
	}

	async #note(plan: EntriesPlan, data: Parameters<typeof rewindNote>[0]): Promise<Entry> {
		const scope = scopeOf(plan.processId);
		const { record, durable } = await this.#timeline.ifStill(plan.tip, scope, () =>
			this.#timeline.handle().append(rewindNote(data), scope),
		);
		await durable;
		return entryOf(record);
	}

	/** The entry of an id, if it is one that `read` gives. @throws RewindError `REWIND_ENTRY` */
	async #find(processId: string, id: string): Promise<Entry> {
		const seq = seqOf(id);
		const { lineage } = this.#timeline;
		const record = seq !== undefined && seq <= lineage.tip ? await this.#timeline.record(seq) : undefined;
		if (!record || !(reset.is(record) || isEntry(record)))
			throw await this.#noEntry(processId, id, "there is no such entry");
		const { session } = record.scope;
		if (session !== processId)
			throw await this.#noEntry(processId, id, `it is of the process ${JSON.stringify(session)}`);
		if (!reset.is(record) && !lineage.isActive(record))
			throw await this.#noEntry(processId, id, "a rewind took it back; go to before that rewind");
		return entryOf(record);
	}

	async #noEntry(processId: string, id: string, why: string): Promise<RewindError> {
		const entries: string[] = [];
		for await (const each of this.read({ processId })) {
			entries.push(each.id);
			if (entries.length > NAMED) entries.shift();
		}
		return new RewindError(
			"REWIND_ENTRY",
			`${JSON.stringify(id)} is no entry to rewind ${JSON.stringify(processId)} to: ${why}. The newest that it has: ${entries.join(", ") || "none"}`,
			{ entry: id, entries },
		);
	}
}

/** Where the target lies on the present line, nothing up to it differs. */
const none = total({ conversation: 0, code: 0, other: 0 });
const same = { left: none, back: none };

const sum = (a: Counts, b: Counts): Counts =>
	total({ conversation: a.conversation + b.conversation, code: a.code + b.code, other: a.other + b.other });

/** The target of a reset is inclusive. */
const targetOf = (beforeEntry: string): Seq => (seqOf(beforeEntry) as Seq) - 1;

/** How many ids an error lists. */
const NAMED = 8;

const isEntry = ({ kind, scope }: WalRecord): boolean => !isMeta(kind) && scope.agent === AGENT;

function assertProcess(processId: string): void {
	if (typeof processId === "string" && processId !== "" && processId.isWellFormed()) return;
	throw new RewindError(
		"REWIND_PROCESS",
		`expected the \`processId\` that each call names, a text that is not empty; found ${inspect(processId, { depth: 0 })}`,
	);
}

const notPlanned = ({ beforeEntry }: EntriesPlan, why: string): RewindError =>
	new RewindError(
		"REWIND_NOT_PREVIEWED",
		`this plan of a rewind to before ${beforeEntry} is ${why}; nothing was written. Give what \`plan\` gave, unchanged`,
		{ entry: beforeEntry },
	);
