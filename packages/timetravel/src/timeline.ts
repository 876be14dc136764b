/** The log as a place to move in: any state, any branch, and back. */
import {
	type AnyProjection,
	capture,
	collect,
	kindsOf,
	type Path,
	restore,
	type SnapshotError,
	type SnapshotStore,
	type Sources,
	type View,
} from "@reyn/snapshot";
import {
	type Appended,
	type Appender,
	type BlobStore,
	type Draft,
	type Scope,
	type Seq,
	type Wal,
	type WalRecord,
	within,
} from "@reyn/wal";
import { assertActor, type Beginnings, speaksAgainst } from "./bound.ts";
import { type BranchIndex, pathIn, withRanges } from "./branch-index.ts";
import type { Branch } from "./branches.ts";
import { diffViews, type StateDiff } from "./diff.ts";
import { TimetravelError } from "./errors.ts";
import { type Foresight, foresee } from "./foresight.ts";
import { Kept } from "./kept.ts";
import { Lineage, type Reset } from "./lineage.ts";
import { type Live, type LiveState, Lives } from "./live.ts";
import { type Coverage, covers, type Deeds, type Move, type Moves, moveKinds } from "./moves.ts";
import { type Outcomes, outcomesBeyond, scopesBeyond } from "./outcomes.ts";
import { recordAt } from "./record-at.ts";
import {
	type CheckpointData,
	checkpoint,
	isMeta,
	isOutside,
	label,
	labelName,
	reset,
	resetSettled,
	stepLate,
} from "./records.ts";
import { type Mark, Register } from "./register.ts";
import { type Floor, firstToKeep, floorOf, type RetentionPolicy } from "./retention.ts";
import { type Moved, type MovedBy, type MoveParts, type MovePlan, type Moving, moveWith, settleWith } from "./steps.ts";
import { assertKeepable, keepBefore } from "./truncation.ts";

/** A boundary that one can go back to. */
export interface Checkpoint {
	readonly seq: Seq;
	readonly ts: number;
	readonly scope: Scope;
	/** What ended: 1 to 64 letters a to z, digits and `_`. */
	readonly kind: string;
	/** What happened there, in a few words. */
	readonly title: string;
	/** Is it on the line of history that leads to the tip? */
	readonly active: boolean;
}

export interface CheckoutOptions {
	/** Kinds to take back to the target; absent: all. */
	readonly drop?: readonly string[];
	/** Whose records move. Default: the whole process. */
	readonly scope?: Scope;
	/** Who asked, in 1 to 256 bytes. Default: `"user"`. */
	readonly actor?: string;
	/** The tip of the preview that was confirmed: what speaks against it since is `TIMETRAVEL_STALE`. Absent: nothing does. */
	readonly expect?: Seq;
	/** A name for what is meant, for people. Default: `"both"`. */
	readonly mode?: string;
	readonly counts?: Readonly<Record<string, number>>;
}

export interface StepOptions {
	/** Who asked, in 1 to 256 bytes. Default: `"user"`. */
	readonly actor?: string;
	/** The move that was confirmed, by its seq: another one is `TIMETRAVEL_STALE`. Absent: the newest, whichever it is. */
	readonly of?: Seq;
	/** The tip when that was shown, as for a checkout. Default: with `of` the tip of now. */
	readonly expect?: Seq;
}

/** What a checkout did. */
export interface Checkout {
	/** `none`: the target is the tip already, and nothing was written. */
	readonly kind: "undo" | "fork_switch" | "none";
	/** The seq of the reset that was written; the tip for `none`. */
	readonly seq: Seq;
	readonly target: Seq;
	/** The seq that was asked for, where it lay inside a tool cycle: the target is then the checkpoint before it. */
	readonly snappedFrom?: Seq;
}

/** What a checkout would do. */
export interface Preview extends Omit<Checkout, "seq"> {
	/** The tip that this is said of: give it as `expect`. */
	readonly tip: Seq;
}

/** What an undo or a redo did. */
export interface Stepped {
	/** The seq of the record that was written. */
	readonly seq: Seq;
	/** The move that was taken back, or made again. */
	readonly of: Seq;
	/** The seq whose state it is now for what was moved; absent for a label. */
	readonly target?: Seq;
}

/** A name that a person gave a seq. */
export interface Label {
	readonly name: string;
	readonly seq: Seq;
}

export interface TimelineOptions {
	readonly wal: Wal;
	readonly snapshots: SnapshotStore;
	readonly projections: readonly AnyProjection[];
	/** Look without writing. Default: false. */
	readonly readOnly?: boolean;
	/** Is a tool cycle open in this state: calls made, results missing? A cut is never made there. Default: never. */
	inCycle?(view: View): boolean;
	/**
	 * Stops what is under way in the classes that a move covers, and waits until it is quiet. If it throws, nothing is written.
	 * `over` resolves when the move has ended, made or not: until then nothing should be begun there. Default: nothing runs.
	 */
	quiesce?(scope: Scope, move: { readonly drop?: readonly string[]; readonly over: Promise<void> }): Promise<void>;
	/** Is it time for a snapshot, at a checkpoint with this state? Default: `view.isDue`. */
	snapshotDue?(view: View): boolean;
	/** The snapshot of a checkpoint could not be stored; the checkpoint stands. Default: `checkpoint` throws the error. */
	snapshotFailed?(error: SnapshotError): void;
	/** Brings what is in memory beside live states in line with the log after the reset at `seq`. Doing it twice changes nothing. */
	rebuild?(seq: Seq, scope: Scope): Promise<void>;
	/**
	 * Keeps what has to outlive the records that `gc` takes away: the index of branches, and the states that stand for them.
	 * It is truth then, and not a cache. Absent: nothing is ever taken away.
	 */
	readonly kept?: BlobStore;
	/** Kinds of yours whose records outlive the others: few and small ones, see `records`. Default: none. */
	readonly keptKinds?: readonly string[];
	/** The scopes whose states are asked for, those of abandoned branches too. Default: the whole process. */
	keptScopes?(): Promise<readonly Scope[]>;
	/** Records of yours that `undo` takes back, or after which nothing can be redone. Resets and labels are known. */
	readonly deeds?: Deeds;
	/**
	 * How your records tell what began and how it ended: what another line of history knows is then known on this one too, and
	 * what work finds out too late is kept. Default: nothing is.
	 */
	readonly outcomes?: Outcomes;
	/**
	 * Kinds of yours that begin something: one that comes between a preview and its move in the move's scope makes the preview
	 * stale, and so does a deed. Other records are progress. Default: all kinds.
	 */
	readonly begins?: readonly string[];
}

/** What `gc` has done, or would do. */
export interface Collection {
	/** The first record that stays. What is before it can be reached by a label only. */
	readonly retainedFrom: Seq;
	/** The one that was the first before. */
	readonly was: Seq;
	/** The first record that is still on disk: the log goes in whole segments. */
	readonly first: Seq;
	/** Live work that needs older records than the policy keeps. */
	readonly heldBy?: Floor;
	/** Labels of what was before; their states are kept. */
	readonly labels: readonly Label[];
	/** The seqs whose states outlive their records, newest first: that before the cut, labels, and rewinds that mix lines. */
	readonly kept: readonly Seq[];
	/** Stored states, and parts of them, that nothing needs any more. */
	readonly snapshots: number;
	readonly chunks: number;
}

/**
 * Reads a log once.
 *
 * @throws TimetravelError `TIMETRAVEL_INDEX`
 */
export async function openTimeline(options: TimelineOptions): Promise<Timeline> {
	const { wal, kept: blobs, deeds = {}, keptKinds = [] } = options;
	const kept = await Kept.open(blobs, wal);
	const register = new Register(wal, kept.index, deeds, keptKinds);
	await register.catchUp();
	return new Timeline(options, kept, register);
}

/** So many records that nobody has looked through are read over with the rest. */
const UNSEEN = 1024;

export class Timeline {
	readonly #wal: Wal;
	readonly #options: TimelineOptions;
	readonly #kept: Kept;
	readonly #register: Register;
	readonly #folded: readonly string[];
	readonly #foldsFacts: boolean;
	readonly #lives: Lives;
	#lineage: Lineage;
	/** The move that is under way: resolves when it has ended. */
	#moving: Promise<void> | undefined;
	/** The plan that alone may be written meanwhile. */
	#held: MovePlan | undefined;
	/** Moves whose rebuild nobody has finished, oldest first. */
	#unsettled: readonly Moved[];
	readonly #beginnings: Beginnings;
	/** Each hears of what is appended here, while somebody looks whether a preview still holds. */
	readonly #listening = new Set<WalRecord[]>();

	/** Use {@link openTimeline}. */
	constructor(options: TimelineOptions, kept: Kept, register: Register) {
		this.#options = options;
		this.#wal = options.wal;
		this.#kept = kept;
		this.#register = register;
		this.#folded = kindsOf(options.projections);
		this.#foldsFacts = this.#folded.some(isOutside);
		this.#lives = new Lives({
			now: (scope) => ({ tip: this.#wal.tip, reset: this.#newest, view: this.at(this.#wal.tip, scope) }),
			handle: (newest) => this.#handle(newest),
		});
		this.#beginnings = { deeds: options.deeds ?? {}, begins: options.begins };
		const resets = register.kept.flatMap((record) => (reset.is(record) ? [asReset(record)] : []));
		this.#lineage = new Lineage(resets, options.wal.tip, { isMeta });
		this.#unsettled = register.kept.flatMap((record) =>
			reset.is(record) && record.seq > register.settled ? [asMoved(record)] : [],
		);
	}

	/** The resets up to now as a value: paths, ancestry, branches. */
	get lineage(): Lineage {
		if (this.#lineage.tip !== this.#wal.tip) this.#lineage = this.#lineage.advance(this.#wal.tip);
		return this.#lineage;
	}

	/** The first record that counts; 1 until `gc` has taken some away. */
	get retainedFrom(): Seq {
		return this.#kept.retainedFrom;
	}

	/**
	 * The state of a scope at a seq, on that seq's own path: an abandoned one is as good as any.
	 *
	 * @throws TimetravelError `TIMETRAVEL_OUT_OF_RANGE`, `TIMETRAVEL_PRUNED`
	 */
	async at(seq: Seq, scope: Scope): Promise<View> {
		this.#kept.assertHas(seq);
		return this.#restore(this.lineage.path(seq, scope));
	}

	/**
	 * The state of a scope as it is now, and from now on. It knows how everything ended that is open on its line of history, if any
	 * line knows that. One for each scope: whoever asks gets the same.
	 *
	 * @throws as {@link at} does
	 */
	async live(scope: Scope): Promise<Live> {
		const known = this.#lives.find(scope);
		const live = known ?? this.#lives.add(scope);
		if (!known) live.opened = this.#open(live);
		await live.opened;
		return live;
	}

	async #open(live: LiveState): Promise<void> {
		try {
			await live.rebuild();
			await this.#adopt([live]);
		} catch (error) {
			live.close();
			throw error;
		}
	}

	/**
	 * What differs between the states of a scope at two seqs, each on its own path.
	 *
	 * @param projections which to compare; default: all
	 * @throws TimetravelError `TIMETRAVEL_OUT_OF_RANGE`; SnapshotError `SNAPSHOT_UNREGISTERED`
	 */
	async diff(a: Seq, b: Seq, scope: Scope, projections?: readonly AnyProjection[]): Promise<StateDiff> {
		return diffViews(await this.at(a, scope), await this.at(b, scope), projections);
	}

	/**
	 * The history as a checkout of exactly `target` would leave it, without doing it.
	 *
	 * @throws TimetravelError `TIMETRAVEL_OUT_OF_RANGE`
	 */
	foresee(target: Seq, { drop, scope = {} }: Pick<CheckoutOptions, "drop" | "scope"> = {}): Foresight {
		this.#kept.assertHas(target);
		return foresee(this.lineage, target, { scope, ...(drop ? { drop } : {}) }, (path) => this.#restore(path));
	}

	/** The records that count at `through`, the tip by default, in order. */
	async *history(after: Seq = 0, scope: Scope = {}, through: Seq = this.#wal.tip): AsyncIterable<WalRecord> {
		const path = this.lineage.path(through, {});
		const from = Math.max(after, this.retainedFrom - 1);
		for await (const record of this.#wal.read({ after: from, through, scope })) if (path.has(record)) yield record;
	}

	/** The records that outlive the others, abandoned ones too, in order: resets, labels, facts, and those of `keptKinds`. */
	async records(): Promise<readonly WalRecord[]> {
		await this.#register.catchUp();
		return this.#register.kept;
	}

	/** The record at a seq that can be gone back to; genesis has none. */
	async record(seq: Seq): Promise<WalRecord | undefined> {
		this.#kept.assertHas(seq);
		if (seq === 0) return undefined;
		return this.#kept.index.records.find((record) => record.seq === seq) ?? recordAt(this.#wal, seq);
	}

	/** Every boundary that can be gone back to, oldest first, the abandoned ones too. */
	checkpoints(scope: Scope = {}): readonly Checkpoint[] {
		const { lineage } = this;
		return this.#register.checkpoints
			.filter((mark) => within(mark.scope, scope))
			.map((mark) => ({ ...mark, active: lineage.isActive({ ...mark, kind: checkpoint.kind }) }));
	}

	branches(): readonly Branch[] {
		return this.lineage.branches();
	}

	/**
	 * Writes a checkpoint and, once it is durable and a snapshot is due, that too: any checkpoint's state is a snapshot before
	 * it and a short replay.
	 *
	 * @param kind what ended, as {@link Checkpoint} has it: `turn`, say
	 * @param view the state of now, which has seen every record of its scope
	 * @throws TimetravelError `STALE_LINEAGE` when that is the state of a line that was left since; WalError `WAL_INVALID_RECORD` of another
	 * kind or title
	 */
	async checkpoint(kind: string, title: string, scope: Scope, view: View): Promise<Seq> {
		if (!this.lineage.path(this.#wal.tip, view.scope).isBase(view.seq, this.#folded))
			throw new TimetravelError(
				"STALE_LINEAGE",
				`this checkpoint is of a line of history that was left after seq ${view.seq}; its state may not be stored on the new one`,
				{ seq: view.seq },
			);
		const { seq, record, durable } = this.#append(checkpoint({ kind, title }), scope);
		const state = view.at(seq);
		this.#register.wrote(record as WalRecord<CheckpointData>);
		await durable;
		if (!(this.#options.snapshotDue?.(state) ?? state.isDue)) return seq;
		try {
			await capture(this.#sources, state);
		} catch (error) {
			if (!isOfSnapshots(error) || !this.#options.snapshotFailed) throw error;
			this.#options.snapshotFailed(error);
		}
		return seq;
	}

	/**
	 * A log for the line of history of now: from a reset on it refuses, with `STALE_LINEAGE`, the records that the reset
	 * covers. So work that was started before a rewind cannot write after it, and work that it does not touch goes on. What it
	 * appends is in live states at once. Of what it refuses, an outcome is kept where there are `outcomes`.
	 */
	handle(): Appender {
		return this.#handle(this.#newest);
	}

	#handle(bound: Seq): Appender {
		return {
			append: (draft: Draft, at: Scope): Appended => {
				const moved = this.#movedSince(bound, { scope: at, kind: draft.kind });
				if (moved === undefined) return this.#append(draft, at);
				this.#keep(draft, at, moved);
				throw new TimetravelError(
					"STALE_LINEAGE",
					`this work belongs to a line of history that was left by the rewind at seq ${moved}; its records may not land on the new one`,
					{ reset: moved, kind: draft.kind },
				);
			},
		};
	}

	/** Live states and whoever judges a move hear of it at once. */
	#append(draft: Draft, at: Scope): Appended {
		const appended = this.#wal.append(draft, at);
		this.#lives.take(appended.record);
		for (const heard of this.#listening) heard.push(appended.record);
		return appended;
	}

	/** Whoever appends too late has to stop. An outcome is kept all the same: as it is where a live state waits for it, else aside. */
	#keep(draft: Draft, at: Scope, moved: Seq): void {
		const { outcomes } = this.#options;
		const said = outcomes?.kinds.includes(draft.kind) ? outcomes.read(draft) : undefined;
		if (!outcomes || !said || said.what === "begun") return;
		const waits = (live: LiveState): boolean => live.knows >= moved && outcomes.isAwaited(live.view, draft);
		const { kind, data } = draft;
		const aside = (): Draft => stepLate({ reset: moved, kind, data: data as Record<string, unknown> });
		this.#append(this.#lives.holding(at).some(waits) ? draft : aside(), at);
	}

	/** What is open in these states, and known on another line of history, is known here from now on. */
	async #adopt(lives: readonly LiveState[]): Promise<void> {
		const { outcomes, readOnly = false } = this.#options;
		if (!outcomes || readOnly) return;
		const starts = new Set(lives.flatMap(({ view }) => outcomes.openStarts(view)));
		const first = [...starts].reduce((least, start) => Math.min(least, start), this.#wal.tip);
		// Without a rewind since, there is no other line that could know.
		if (starts.size === 0 || this.#newest < first) return;
		const ports = { wal: this.#wal, lineage: this.lineage, outcomes };
		for (const { draft, scope } of await outcomesBeyond(first, (start) => starts.has(start), ports)) {
			const waits = (live: LiveState): boolean =>
				within(scope, live.scope) &&
				this.#movedSince(live.knows, { scope, kind: draft.kind }) === undefined &&
				outcomes.isAwaited(live.view, draft);
			if (lives.some(waits)) this.#append(draft, scope);
		}
	}

	/**
	 * Does something in the moment in which nothing speaks against what was previewed: no other move, and nothing that began in
	 * the scope since then. Progress of work does not.
	 *
	 * @param expect the tip of the preview; undefined: there was none, and nothing is looked at
	 * @param act appends, or does nothing; may not be asynchronous
	 * @throws TimetravelError `TIMETRAVEL_STALE`; `act` was not called then
	 */
	async ifStill<T>(expect: Seq | undefined, scope: Scope, act: () => T): Promise<T> {
		if (expect === undefined) return act();
		const { tip } = this.#wal;
		if (!Number.isSafeInteger(expect) || expect < this.retainedFrom - 1 || expect > tip)
			throw new TimetravelError(
				"TIMETRAVEL_STALE",
				`nothing can be said of what came since seq ${expect}: this log has ${this.retainedFrom} to ${tip}. Preview it again`,
				{ previewed: expect, first: this.retainedFrom, last: tip },
			);
		const heard: WalRecord[] = [];
		this.#listening.add(heard);
		try {
			let seen = expect;
			const judge = (record: WalRecord): void => {
				if (speaksAgainst(record, scope, this.#beginnings)) throw this.#stale(expect, record);
				seen = record.seq;
			};
			for (;;) {
				const { tip: through } = this.#wal;
				const dataOf = moveKinds(this.#beginnings.deeds);
				for await (const record of this.#wal.read({ after: seen, through, dataOf })) judge(record);
				// From here to `act` nobody else's turn comes: what was heard of meanwhile is all there is, or it is read too.
				for (const record of heard) if (record.seq === seen + 1) judge(record);
				// A full disk is not waited for, and takes no record either: to append says so.
				if (seen === this.#wal.tip || this.#wal.durableTip < through) return act();
			}
		} finally {
			this.#listening.delete(heard);
		}
	}

	/**
	 * What a checkout of `seq` would do, without doing it.
	 *
	 * @throws TimetravelError `TIMETRAVEL_OUT_OF_RANGE`, `TIMETRAVEL_PRUNED`
	 */
	async preview(seq: Seq, { drop, scope = {} }: CheckoutOptions = {}): Promise<Preview> {
		const { kind, target, snappedFrom, seen } = await this.plan(seq, { scope, ...(drop ? { drop } : {}) });
		return { kind: kind as Preview["kind"], target, ...(snappedFrom === undefined ? {} : { snappedFrom }), tip: seen };
	}

	/**
	 * The first step of a move: what going to a seq would do. {@link moveWith} does the others.
	 *
	 * @param coverage what moves; default: all
	 * @throws TimetravelError `TIMETRAVEL_OUT_OF_RANGE`, `TIMETRAVEL_PRUNED`
	 */
	async plan(seq: Seq, { drop, scope = {} }: Partial<Coverage> = {}): Promise<MovePlan> {
		// Of this moment: what comes while it is worked out is not planned.
		const { lineage } = this;
		const { tip } = lineage;
		this.#kept.assertHas(seq);
		const target = await this.#snapped(seq);
		const coverage = { scope, ...(drop ? { drop } : {}) };
		const where = { target, ...(target === seq ? {} : { snappedFrom: seq }), coverage, seen: tip };
		if (target === tip) return { kind: "none", ...where };
		this.#kept.assertCanGo({ target, ...coverage }, lineage, this.#folded);
		return { kind: lineage.isAncestor(target, scope, drop) ? "undo" : "fork_switch", ...where };
	}

	/**
	 * What {@link undo} would do.
	 *
	 * @param options `of`: the move that is meant, by its seq; default: the newest
	 * @throws TimetravelError `NOTHING_TO_UNDO`, `TIMETRAVEL_STALE`, `TIMETRAVEL_PRUNED`
	 */
	planUndo({ of }: Pick<StepOptions, "of"> = {}): Promise<MovePlan> {
		return this.#planStep("undo", of, undefined);
	}

	/**
	 * What {@link redo} would do.
	 *
	 * @param options as of {@link planUndo}
	 * @throws TimetravelError `NOTHING_TO_REDO`, `TIMETRAVEL_STALE`, `TIMETRAVEL_PRUNED`
	 */
	planRedo({ of }: Pick<StepOptions, "of"> = {}): Promise<MovePlan> {
		return this.#planStep("redo", of, undefined);
	}

	/**
	 * The second step: writes a plan as one durable record, unless something speaks against it. All that it covers has to be quiet.
	 *
	 * @param plan as it was given, in this process or another; with `along`, if something goes along
	 * @throws TimetravelError `TIMETRAVEL_STALE`, `TIMETRAVEL_BUSY`, `TIMETRAVEL_PRUNED`, `TIMETRAVEL_ACTOR`; nothing is written then
	 */
	async write(plan: MovePlan, by: MovedBy): Promise<Moved> {
		if (this.#held !== plan) return this.exclusively(plan, () => this.write(plan, by));
		if (plan.kind === "none") throw new RangeError("a plan of nothing cannot be written; leave it");
		// It may have been planned before a truncation.
		if (plan.kind !== "label" || plan.undoes === undefined) this.#kept.assertHas(plan.target);
		if (plan.kind !== "label")
			this.#kept.assertCanGo({ target: plan.target, ...plan.coverage }, this.lineage, this.#folded);
		return this.#write(plan, by, plan.seen);
	}

	/** Moves whose reset is durable and whose rebuild nobody has finished, oldest first: after {@link write}, and at an open after a crash. */
	unsettled(): readonly Moved[] {
		return this.#unsettled;
	}

	/** The third step, of what is the timeline's own: live states are made anew, and know what is known beyond the cut. Twice is once. */
	async rebuild({ target, coverage }: Moved): Promise<void> {
		await this.#rebuildLives(target, coverage.scope);
	}

	/** Says that all is in line with a move, the oldest that is unsettled. One that is settled already changes nothing. */
	settled({ seq }: Moved): void {
		const [oldest] = this.#unsettled;
		if (!this.#unsettled.some((each) => each.seq === seq)) return;
		if (oldest?.seq !== seq)
			throw new RangeError(`expected the move at seq ${oldest?.seq} to be settled first; got that at seq ${seq}`);
		// Not waited for: without it the next start does the same once more, which changes nothing.
		this.#append(resetSettled({ reset: seq }), {});
		this.#unsettled = this.#unsettled.slice(1);
	}

	/**
	 * One move at a time: while `work` runs, this plan alone can be written, and nothing is collected.
	 *
	 * @throws TimetravelError `TIMETRAVEL_BUSY`; `work` was not called then
	 */
	exclusively<T>(plan: MovePlan, work: () => Promise<T>): Promise<T> {
		return this.#alone(work, plan);
	}

	/**
	 * Makes the state as of `seq` the current one: an undo when it is an ancestor of the tip, else a switch to the branch
	 * that holds it. One durable record; nothing is erased.
	 *
	 * @throws TimetravelError `TIMETRAVEL_OUT_OF_RANGE`, `TIMETRAVEL_BUSY`, `TIMETRAVEL_STALE`; and what `quiesce` throws. Nothing is
	 * written then
	 */
	checkout(seq: Seq, options: CheckoutOptions = {}): Promise<Checkout> {
		return this.#go(seq, options, { onlyUndo: false });
	}

	#go(seq: Seq, options: CheckoutOptions, { onlyUndo }: { onlyUndo: boolean }): Promise<Checkout> {
		const { drop, scope = {}, actor = "user", mode = "both", counts, expect } = options;
		return this.#alone(async () => {
			assertActor(actor);
			// What comes while the work gets quiet changes neither kind nor target: only a reset would, and this is the only one.
			const plan = await this.plan(seq, { scope, ...(drop ? { drop } : {}) });
			const { target, snappedFrom } = plan;
			// Before anything is stopped for it.
			await this.ifStill(expect, scope, () => {});
			if (expect !== undefined && target > expect) throw this.#stale(expect, { seq: target });
			// Work may have gone on since what was confirmed, which takes nothing of it back then.
			const isNone = target === (expect ?? plan.seen);
			if (!isNone && onlyUndo && plan.kind === "fork_switch") throw this.#notActive(seq);
			const how = { mode, actor, ...(counts ? { counts } : {}) };
			const moved = isNone ? undefined : await moveWith(this.#parts, this.#steps(expect), plan, how);
			return {
				kind: moved ? (plan.kind as Checkout["kind"]) : "none",
				seq: moved?.seq ?? this.#wal.tip,
				target,
				...(snappedFrom === undefined ? {} : { snappedFrom }),
			};
		});
	}

	/**
	 * Takes the newest move back that was not yet: what it covered is again as it was just before it. Moves are rewinds,
	 * labels, and what `deeds` says.
	 *
	 * @throws TimetravelError `NOTHING_TO_UNDO`, `TIMETRAVEL_BUSY`, `TIMETRAVEL_STALE`; and what `quiesce` throws. Nothing is written then
	 */
	undo(options: StepOptions = {}): Promise<Stepped> {
		return this.#take("undo", options);
	}

	/**
	 * Makes the newest move again that was taken back.
	 *
	 * @throws TimetravelError `NOTHING_TO_REDO`, `TIMETRAVEL_BUSY`, `TIMETRAVEL_STALE`; and what `quiesce` throws. Nothing is written then
	 */
	redo(options: StepOptions = {}): Promise<Stepped> {
		return this.#take("redo", options);
	}

	/** What can be undone and redone, the newest last. */
	async moves(): Promise<Moves> {
		await this.#register.catchUp();
		const { past, future } = this.#register.moves;
		return { past: this.#possible("undo", past), future: this.#possible("redo", future) };
	}

	/**
	 * Names a seq.
	 *
	 * @throws TimetravelError `TIMETRAVEL_OUT_OF_RANGE`, `TIMETRAVEL_LABEL`, `TIMETRAVEL_STALE`
	 */
	async label(
		seq: Seq,
		name: string,
		{ actor = "user", expect }: Pick<CheckoutOptions, "actor" | "expect"> = {},
	): Promise<void> {
		assertActor(actor);
		this.#kept.assertHas(seq);
		const { error } = labelName.safeParse(name);
		if (error)
			throw new TimetravelError(
				"TIMETRAVEL_LABEL",
				`"${name}" cannot be a label: expected ${error.issues[0]?.message}`,
				{ name },
			);
		await this.#alone(async () => {
			await this.#register.catchUp();
			const known = this.#register.labels.get(name);
			if (known !== undefined)
				throw new TimetravelError(
					"TIMETRAVEL_LABEL",
					`"${name}" is the label of seq ${known} already; choose another`,
					{ name, seq: known },
				);
			const { durable } = await this.ifStill(expect, {}, () => this.#append(label({ name, target: seq, actor }), {}));
			await durable;
		});
	}

	/** All labels, by seq. */
	async labels(): Promise<readonly Label[]> {
		await this.#register.catchUp();
		return [...this.#register.labels].map(([name, seq]) => ({ name, seq })).sort((a, b) => a.seq - b.seq);
	}

	/**
	 * Takes away what is older than the policy keeps: records before a checkpoint, and stored states that nothing needs. What
	 * has a label stays, and the state of that checkpoint; what live work needs holds it back. Nothing but this ever removes
	 * anything.
	 *
	 * @throws TimetravelError `TIMETRAVEL_BUSY`, `TIMETRAVEL_NOT_KEPT`, `TIMETRAVEL_UNKEPT`
	 */
	gc({ dryRun = false, ...policy }: RetentionPolicy & { readonly dryRun?: boolean }): Promise<Collection> {
		return this.#alone(async () => {
			const was = this.retainedFrom;
			const { before, heldBy } = await this.#retention(policy);
			const labels = (await this.labels()).filter(({ seq }) => seq > 0 && seq < before - 1);
			const index = before > was ? await this.#indexBefore(before, dryRun) : this.#kept.index;
			if (!dryRun) {
				await (before > was ? this.#truncate(index) : this.#kept.finish());
				await this.#kept.collect();
			}
			const { roots, chunks } = await collect(this.#options.snapshots, { keep: (_, seq) => seq >= before - 1, dryRun });
			return {
				retainedFrom: before,
				was,
				first: this.#wal.first,
				...(heldBy ? { heldBy } : {}),
				labels,
				kept: index.bases.map(({ seq }) => seq),
				snapshots: roots.length,
				chunks,
			};
		});
	}

	/** Finishes what was cut short: a truncation after its index, a move between its reset and the rebuild. Nothing to finish: does nothing. */
	async settle(): Promise<void> {
		await this.#kept.finish();
		await settleWith(this.#parts.rebuild, this);
	}

	async #rebuildLives(target: Seq, scope: Scope): Promise<void> {
		const lives = this.#lives.overlapping(scope);
		for (const live of lives) await live.rebuild();
		if (lives.length > 0) return this.#adopt(lives);
		const { outcomes } = this.#options;
		if (!outcomes) return;
		// Who follows its states itself finds in them what was known beyond the cut.
		for (const each of await scopesBeyond(target, { wal: this.#wal, lineage: this.lineage, outcomes }))
			(await this.live(each)).close();
	}

	/**
	 * An undo only: refuses a seq that is not on the line of history that leads to the tip.
	 *
	 * @throws TimetravelError `TIMETRAVEL_NOT_ACTIVE`, and as {@link checkout}
	 */
	rewindTo(seq: Seq, options: CheckoutOptions = {}): Promise<Checkout> {
		return this.#go(seq, options, { onlyUndo: true });
	}

	async #restore(path: Path): Promise<View> {
		const register = this.#register;
		const { index } = this.#kept;
		if (path.tip - register.seen > UNSEEN) await register.catchUp();
		const kept = pathIn(index, path);
		const read = withRanges(kept, register.spans.within(path.scope, kept.ranges));
		try {
			return await restore(this.#sources, this.#foldsFacts ? withFacts(read, register) : read);
		} catch (error) {
			// Truncated meanwhile: there is a state now for what was being read.
			if (index !== this.#kept.index) return this.#restore(path);
			throw error;
		}
	}

	/** Where the log may be cut: behind a checkpoint, as far as policy and live work allow. */
	async #retention(policy: RetentionPolicy): Promise<{ before: Seq; heldBy?: Floor }> {
		const was = this.retainedFrom;
		const checkpoints = this.#register.checkpoints.filter(({ seq }) => seq >= was);
		const scopes = await this.#scopes();
		let last = firstToKeep(checkpoints, policy);
		let heldBy: Floor | undefined;
		while (last !== undefined && last >= was) {
			const before = last + 1;
			const lowest = await this.#lowestFloor(before, scopes);
			if (lowest === undefined || lowest.seq >= before) return { before, ...(heldBy ? { heldBy } : {}) };
			heldBy = lowest;
			last = checkpoints.findLast(({ seq }) => seq < lowest.seq)?.seq;
		}
		return { before: was, ...(heldBy ? { heldBy } : {}) };
	}

	/** Work may be live at the tip, at the cut, or in what a reset behind the cut went back to. */
	async #lowestFloor(before: Seq, scopes: readonly Scope[]): Promise<Floor | undefined> {
		const back = this.lineage.resets.filter(({ seq, target }) => seq >= before && target < before);
		let lowest: Floor | undefined;
		for (const scope of scopes) {
			for (const seq of [this.#wal.tip, before - 1, ...back.map((each) => each.seq)]) {
				const floor = floorOf(await this.at(seq, scope));
				if (floor && floor.seq < (lowest?.seq ?? Number.POSITIVE_INFINITY)) lowest = floor;
			}
		}
		return lowest;
	}

	/** What stands for all before a seq, once it is gone; the states are stored, unless it is only to be said. */
	async #indexBefore(before: Seq, dryRun: boolean): Promise<BranchIndex> {
		const labelled = new Map<Seq, Seq>();
		for (const { seq } of await this.labels()) labelled.set(seq, await this.#snapped(seq));
		return keepBefore({
			before,
			wal: this.#wal,
			index: this.#kept.index,
			lineage: this.lineage,
			labelled,
			scopes: await this.#scopes(),
			folded: this.#folded,
			keeps: (kind) => this.#register.keeps(kind),
			deeds: this.#options.deeds ?? {},
			store: async (seq, scope) => {
				if (dryRun) return;
				const { bases } = this.#kept.place;
				await capture({ ...this.#sources, snapshots: bases }, await this.at(seq, scope));
			},
		});
	}

	async #truncate(index: BranchIndex): Promise<void> {
		await this.#kept.truncate(index);
		this.#register.checkpoints = this.#register.checkpoints.filter(({ seq }) => this.#kept.has(seq));
	}

	async #scopes(): Promise<readonly Scope[]> {
		const scopes = (await this.#options.keptScopes?.()) ?? [{}];
		assertKeepable(this.#kept.index, scopes);
		return scopes;
	}

	get #sources(): Sources {
		return this.#kept.sources(this.#options);
	}

	/** Moves up from the newest that led away from something that is gone, or names it. */
	#possible(verb: "undo" | "redo", moves: readonly Move[]): readonly Move[] {
		const needs = ({ seq, inverse }: Move): Seq => {
			if (inverse.kind === "reset") return seq - 1;
			return verb === "redo" ? inverse.target : 0;
		};
		return moves.slice(moves.findLastIndex((move) => !this.#kept.has(needs(move))) + 1);
	}

	/** What `quiesce` and `rebuild` of the options do. */
	get #parts(): MoveParts {
		const { quiesce, rebuild } = this.#options;
		return {
			quiet: async ({ coverage: { scope, drop } }) => {
				await quiesce?.(scope, { ...(drop ? { drop } : {}), over: this.#moving ?? Promise.resolve() });
				return () => {};
			},
			rebuild: async ({ seq, coverage }) => rebuild?.(seq, coverage.scope),
		};
	}

	/** The steps of a move that has this timeline alone already, and is bound to what was shown of it, if anything was. */
	#steps(expect: Seq | undefined): Moving {
		return {
			exclusively: (_, work) => work(),
			write: (plan, by) => this.#write(plan, by, expect),
			unsettled: () => this.unsettled(),
			rebuild: (move) => this.rebuild(move),
			settled: (move) => this.settled(move),
		};
	}

	/** One durable record. */
	async #write(plan: MovePlan, by: MovedBy, expect: Seq | undefined): Promise<Moved> {
		assertActor(by.actor);
		const { scope } = plan.coverage;
		const { seq, durable } = await this.ifStill(expect, scope, () => {
			if (plan.kind === "label") return this.#append(labelOf(plan, by), {});
			const appended = this.#append(resetOf(plan, by), scope);
			this.#lineage = this.lineage.with(asReset(appended.record as WalRecord<ResetData>));
			return appended;
		});
		await durable;
		const { target, coverage, undoes, redoes, label: name, along } = plan;
		const moved = { seq, target, coverage, ...given({ undoes, redoes, label: name, along }) };
		if (plan.kind !== "label") this.#unsettled = [...this.#unsettled, moved];
		return moved;
	}

	#take(verb: "undo" | "redo", { actor = "user", of, expect }: StepOptions): Promise<Stepped> {
		return this.#alone(async () => {
			assertActor(actor);
			const shown = expect ?? (of === undefined ? undefined : this.#wal.tip);
			const plan = await this.#quietStep(verb, of, shown);
			const { seq } = await this.#write(plan, { actor }, shown);
			const stepped = { seq, of: (plan.undoes ?? plan.redoes) as Seq };
			if (plan.kind === "label") return stepped;
			await settleWith(this.#parts.rebuild, this);
			return { ...stepped, target: plan.target };
		});
	}

	/**
	 * The move to take back or to make again, with all that it covers quiet. What a person does while that takes its time
	 * counts: the move may not be the newest any more, or there may be none.
	 */
	async #quietStep(verb: "undo" | "redo", of: Seq | undefined, expect: Seq | undefined): Promise<MovePlan> {
		let quiet: Seq | undefined;
		for (;;) {
			const plan = await this.#planStep(verb, of, expect);
			const move = plan.undoes ?? plan.redoes;
			if (plan.kind === "label" || move === quiet) return plan;
			await this.#parts.quiet(plan);
			quiet = move;
		}
	}

	async #planStep(verb: "undo" | "redo", of: Seq | undefined, expect: Seq | undefined): Promise<MovePlan> {
		// Waits for what is queued: of what is not durable yet, the stacks know nothing.
		await recordAt(this.#wal, this.#wal.tip);
		const { past, future } = await this.moves();
		// What the stacks are of: a move that has come since then is none of theirs.
		const { seen } = this.#register;
		const move = (verb === "undo" ? past : future).at(-1);
		if (of !== undefined && move?.seq !== of)
			throw new TimetravelError(
				"TIMETRAVEL_STALE",
				`${verb} was asked of what was done at seq ${of}, and ${move ? `seq ${move.seq} is next` : "there is none any more"}; look again what it would be`,
				{ of, ...(move ? { newest: move.seq } : {}) },
			);
		// Nothing is stopped for what will not be done.
		await this.ifStill(expect, move ? scopeOf(move) : {}, () => {});
		if (!move) throw this.#nothing(verb);
		const { seq, inverse } = move;
		const step = { seen, [verb === "undo" ? "undoes" : "redoes"]: seq };
		if (inverse.kind === "label") {
			const { name, target } = inverse;
			return { kind: "label", target, coverage: { scope: {}, drop: [] }, label: name, ...step };
		}
		const { kind: _, ...coverage } = inverse;
		const target = seq - 1;
		this.#kept.assertCanGo({ target, ...coverage }, this.lineage, this.#folded);
		const isUndo = this.lineage.isAncestor(target, coverage.scope, coverage.drop);
		return { kind: isUndo ? "undo" : "fork_switch", target, coverage, ...step };
	}

	/** One move at a time. */
	async #alone<T>(work: () => Promise<T>, plan?: MovePlan): Promise<T> {
		if (this.#moving)
			throw new TimetravelError("TIMETRAVEL_BUSY", "another rewind is under way; wait until it is done");
		const { promise, resolve } = Promise.withResolvers<void>();
		this.#moving = promise;
		this.#held = plan;
		try {
			return await work();
		} finally {
			this.#moving = undefined;
			this.#held = undefined;
			resolve();
		}
	}

	#stale(previewed: Seq, { seq, kind = "it" }: { readonly seq: Seq; readonly kind?: string }): TimetravelError {
		return new TimetravelError(
			"TIMETRAVEL_STALE",
			`this was previewed at seq ${previewed}, and ${kind} came at seq ${seq}; nothing was written. Preview it again`,
			{ previewed, seq, kind },
		);
	}

	#notActive(seq: Seq): TimetravelError {
		const branch = this.branches().findLast(({ first }) => first <= seq)?.name;
		return new TimetravelError(
			"TIMETRAVEL_NOT_ACTIVE",
			`seq ${seq} lies on the abandoned branch ${branch}; a rewind stays on the current one. Use checkout to go there`,
			{ seq, branch },
		);
	}

	#nothing(verb: "undo" | "redo"): TimetravelError {
		const branches = this.branches().map(({ name, last }) => `${name} (to seq ${last})`);
		return new TimetravelError(
			verb === "undo" ? "NOTHING_TO_UNDO" : "NOTHING_TO_REDO",
			`there is nothing to ${verb}; to go elsewhere, check out one of ${branches.slice(-8).join(", ")}`,
			{ branches: this.branches().map(({ name }) => name) },
		);
	}

	/** A cut inside a tool cycle would leave calls without results: go to the checkpoint before, on the same path. */
	async #snapped(seq: Seq): Promise<Seq> {
		const { inCycle } = this.#options;
		if (!inCycle || seq === 0) return seq;
		// Found out before what is around it was taken away.
		if (seq < this.retainedFrom) return this.#kept.index.bases.find((base) => base.seq === seq)?.snapsTo ?? seq;
		const owner = await this.#scopeAt(seq);
		if (!owner || !inCycle(await this.at(seq, owner))) return seq;
		const path = this.lineage.path(seq, owner);
		const { checkpoints } = this.#register;
		for (let i = checkpoints.findLastIndex((mark) => mark.seq < seq); i >= 0; i--) {
			const mark = checkpoints[i] as Mark;
			if (!within(mark.scope, owner) || !path.has({ ...mark, kind: checkpoint.kind })) continue;
			// A plan in the background may have cut it inside the same cycle.
			if (!inCycle(await this.at(mark.seq, owner))) return mark.seq;
		}
		const { retainedFrom } = this;
		if (retainedFrom === 1 || pathIn(this.#kept.index, path).ranges.every(({ after }) => after >= retainedFrom - 1))
			return 0;
		throw new TimetravelError(
			"TIMETRAVEL_PRUNED",
			`seq ${seq} lies inside a tool cycle, and the checkpoint before it was taken away by gc. Go to a later checkpoint, or to a label`,
			{ seq, retainedFrom },
		);
	}

	/** The session that a record belongs to, if it belongs to one. */
	async #scopeAt(seq: Seq): Promise<Scope | undefined> {
		const { agent, session } = (await recordAt(this.#wal, seq))?.scope ?? {};
		return agent !== undefined && session !== undefined ? { agent, session } : undefined;
	}

	/** The seq of the newest reset, or 0. */
	get #newest(): Seq {
		return this.#lineage.resets.at(-1)?.seq ?? 0;
	}

	/** The newest reset after `bound` that covers a record's class. */
	#movedSince(bound: Seq, record: Pick<WalRecord, "scope" | "kind">): Seq | undefined {
		const { resets } = this.#lineage;
		if (isMeta(record.kind)) return undefined;
		for (let i = resets.length - 1; i >= 0; i--) {
			const each = resets[i] as Reset;
			if (each.seq <= bound) return undefined;
			if (covers(each, record)) return each.seq;
		}
		return undefined;
	}
}

/** The same path with the facts: those that nobody has looked for yet are read, wherever they lie. */
function withFacts(path: Path, register: Register): Path {
	const { seen } = register;
	const atHand = (after: Seq) => register.factsAfter(after);
	if (seen >= path.tip) return { ...path, atHand };
	const known = path.ranges
		.filter(({ after }) => after < seen)
		.map(({ after, through }) => ({ after, through: Math.min(through, seen) }));
	return { ...path, ranges: [...known, { after: seen, through: path.tip }], atHand };
}

const scopeOf = ({ inverse }: Move): Scope => (inverse.kind === "reset" ? inverse.scope : {});

type ResetData = Parameters<typeof reset>[0];

function asReset({ seq, scope, data }: WalRecord<ResetData>): Reset {
	return { seq, scope, target: data.target, ...(data.drop ? { drop: data.drop } : {}) };
}

function asMoved({ seq, scope, data }: WalRecord<ResetData>): Moved {
	const { target, drop, undoes, redoes, along } = data;
	return { seq, target, coverage: { scope, ...given({ drop }) }, ...given({ undoes, redoes, along }) };
}

function resetOf({ target, coverage, undoes, redoes, along }: MovePlan, by: MovedBy): Draft {
	const { drop } = coverage;
	const mode = undoes === undefined ? (redoes === undefined ? "both" : "redo") : "undo";
	return reset({
		target,
		mode: by.mode ?? mode,
		actor: by.actor,
		...given({ drop: drop && [...drop], counts: by.counts && { ...by.counts }, undoes, redoes }),
		...(along ? { along: along as NonNullable<ResetData["along"]> } : {}),
	});
}

function labelOf({ label: name = "", target, undoes, redoes }: MovePlan, { actor }: MovedBy): Draft {
	return label({ name, target, actor, ...given({ gone: undoes === undefined ? undefined : true, undoes, redoes }) });
}

/** Without what is undefined. */
function given<T extends object>(fields: T): { [Key in keyof T]?: Exclude<T[Key], undefined> } {
	return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;
}

const isOfSnapshots = (error: unknown): error is SnapshotError =>
	String((error as { code?: unknown }).code).startsWith("SNAPSHOT_");
